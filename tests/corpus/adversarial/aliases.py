# %% the_argument_itself: one way hands back the argument, which the caller changes
import torch

def run(x: torch.Tensor):
    if x.sum() > 0:
        return x
    else:
        return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])
def use(m):
    x = t([1.0, 2.0])
    m.run(x).zero_()
    return x

# %% a_view_in_one_way: what is added to a view is added to the argument
import torch

def run(x: torch.Tensor):
    if x.sum() > 0:
        y = x[:2]
    else:
        y = x[:2] * 2
    y.add_(1)
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0, 3.0])
t([-1.0, -2.0, -3.0])

# %% one_of_two_arguments: whichever was picked is doubled in place
import torch

def run(a: torch.Tensor, b: torch.Tensor):
    picked = a if a.sum() > b.sum() else b
    picked *= 2
    return a + b
# given: f32[4]; f32[4]
# hidden:
t([1.0, 2.0]), t([0.0, 0.0])
t([0.0, 0.0]), t([1.0, 2.0])

# %% the_same_object_twice: the two results are one object in one way
import torch

def run(x: torch.Tensor):
    first = x.abs()
    if first.max() > 1:
        second = first
    else:
        second = first / 2
    return first, second
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([0.1, 0.2])
def use(m):
    first, second = m.run(t([3.0, 4.0]))
    first.zero_()
    return second, first is second

# %% rarely_the_argument: only for one value does the caller get its own tensor back
import torch

def run(x: torch.Tensor):
    if x[0] == 12345:
        return x
    return x + 1
# given: f32[4]
# hidden:
t([12345.0, 2.0])
t([1.0, 2.0])

# %% a_deep_copy_is_a_leaf: gradients end in the copy
import copy
import torch

def run(x: torch.Tensor):
    y = copy.deepcopy(x)
    return (y * 2).sum() + x.sum(), y.is_leaf
# given: f32[4]
# hidden:
t([1.0, 2.0])
g([1.0, 2.0])

# %% a_deep_copy_that_raises: only leaves can be copied
import copy
import torch

def run(x: torch.Tensor, w: torch.Tensor):
    y = x * w
    z = copy.deepcopy(y)
    return z + 1
# given: f32[4]; f32[4]
# hidden:
t([1.0, 2.0]), t([1.0, 2.0])
t([1.0, 2.0]), g([1.0, 2.0])

# %% a_deep_copy_keeps_strides: what is expanded stays so, and can't be written
import copy
import torch

def run(x: torch.Tensor):
    y = copy.deepcopy(x)
    y.add_(1)
    return y, y.stride()
# given: f32[4,4]
# hidden:
t([[1.0, 2.0]]).t()
t([1.0]).expand(3)
t([[1.0, 2.0, 3.0]])[:, ::2]

# %% a_deep_copy_keeps_the_class: a parameter stays a parameter
import copy
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor):
        w = copy.deepcopy(self.weight)
        return x * w, isinstance(w, torch.nn.Parameter)
# given: f32[3]
# hidden:
t([1.0, 2.0, 3.0])
g([1.0, 2.0, 3.0])

# %% a_deep_copy_keeps_attributes: what hangs on the tensor is copied with it
import copy
import torch

def run(x: torch.Tensor):
    y = copy.deepcopy(x)
    return y + 1, getattr(y, "label", None), y.grad
# given: f32[4]
# hidden:
t([1.0])
def use(m):
    x = g([1.0, 2.0])
    x.sum().backward()
    x.label = "kept"
    return m.run(x)

# %% a_deep_copy_of_two: both share their memory still
import copy
import torch

def run(x: torch.Tensor):
    pair = [x, x[1:]]
    a, b = copy.deepcopy(pair)
    a.mul_(2)
    return b, x
# given: f32[4]
# hidden:
t([1.0, 2.0, 3.0])

# %% numbers_that_are_views: a list is a copy, what `unbind` returns is not
import torch

def run(x: torch.Tensor):
    a, b = x.tolist()
    a += 1
    return x * a + b
# given: f32[2]
# hidden:
t([1.0, 2.0])
t([-3.0, 0.5])

# %% numbers_read_before_a_change: the list keeps what the tensor had
import torch

def run(x: torch.Tensor):
    v = x.tolist()
    x.mul_(2)
    return x * v[0] + v[1]
# given: f32[2]
# hidden:
t([1.0, 2.0])
t([-3.0, 0.5])

# %% two_names_for_a_number: numbers don't change in place, tensors do
import torch

def run(x: torch.Tensor):
    total = x.sum().item()
    before = total
    total += 1
    return x * before + total
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-3.0, 0.5])

# %% a_number_of_a_view: the element is changed after it was read
import torch

def run(x: torch.Tensor):
    head = x[0].item()
    x.add_(1)
    return x * head
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-3.0, 0.5])

# %% a_number_of_one_element: `max` of a view that is written afterwards
import torch

def run(x: torch.Tensor):
    top = float(x.amax())
    x /= 2
    top *= 3
    return x + top, x
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([nan, 0.5])
t(4.0)
