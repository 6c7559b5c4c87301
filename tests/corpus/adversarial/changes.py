# %% a_buffer_in_one_way: the other way leaves it alone
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: torch.Tensor):
        if x.sum() > 0:
            y = x + self.seen.add_(1)
        else:
            y = x - 1
        return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])
t([1.0, 2.0])

# %% an_element_in_one_way: a write that must not happen
import torch

def run(x: torch.Tensor):
    if x.sum() > 0:
        x[0] = 9.0
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% an_augmented_argument: `+=` changes what the caller has
import torch

def run(x: torch.Tensor, y: torch.Tensor):
    if x.sum() > 0:
        y += x
    return y * 2
# given: f32[4]; f32[4]
# hidden:
t([1.0, 2.0]), t([1.0, 2.0])
t([-1.0, -2.0]), t([1.0, 2.0])

# %% a_helper_that_changes: the call looks pure
import torch

def shifted(x):
    x -= x.max()
    return x

def run(x: torch.Tensor):
    if x.max() > 3:
        y = shifted(x)
    else:
        y = x * 1
    return y.exp()
# given: f32[4]
# hidden:
t([1.0, 8.0])
t([1.0, 2.0])

# %% an_out_argument: computed into a buffer of the caller
import torch

def run(x: torch.Tensor, space: torch.Tensor):
    if x.sum() > 0:
        y = torch.mul(x, 2, out=space)
    else:
        y = x + 1
    return y
# given: f32[4]; f32[4]
# hidden:
t([1.0, 2.0]), t([5.0, 5.0])
t([-1.0, -2.0]), t([5.0, 5.0])

# %% statistics_in_one_way: batch norm learns from what it sees
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(3)

    def forward(self, x: torch.Tensor):
        if x.mean() > 0:
            y = self.norm(x)
        else:
            y = x * 1
        return y
# given: f32[4,3]
# hidden:
t([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
t([[-1.0, -2.0, -3.0], [2.0, -3.0, 4.0]])

# %% an_attribute_in_one_way: set only where it was taken
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x: torch.Tensor):
        if x.sum() > 0:
            self.last = x * 2
        else:
            x = x - 1
        return x
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% an_entry_in_one_way: a list of the module grows only there
import torch

KEPT: list[torch.Tensor] = []

def run(x: torch.Tensor):
    y = x * 2
    if y.sum() > 0:
        KEPT.append(y)
        y = y + len(KEPT)
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])
def use(m):
    return m.KEPT

# %% integers_take_no_gradient: the error says so
import torch

def run(x: torch.Tensor):
    y = x.detach()
    y.requires_grad = True
    total = (y * 2).sum()
    return total.detach()
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1, 2])
t([True])
g([1.0, 2.0])
def use(m):
    with torch.inference_mode():
        x = t([1.0])
    return m.run(x)

# %% a_flag_of_the_caller: what is assigned is not always true
import torch

def run(x: torch.Tensor, train: bool):
    y = x.detach()
    y.requires_grad = train
    z = x.detach(); z.requires_grad = False
    total = (y * 2 + z).sum()
    return total.detach()
# given: f32[4]; True
# hidden:
t([1.0, 2.0]), True
t([1.0, 2.0]), False
t([1, 2]), False

# %% a_box_with_detach: not everything that detaches is a tensor
import torch

class Box:
    def __init__(self, held):
        self.held = held
        self.requires_grad = False

    def detach(self):
        return Box(self.held.detach())

def run(x):
    y = x.detach()
    y.requires_grad = True
    return y.detach()
# given: f32[4]
# hidden:
t([1.0, 2.0])
def use(m):
    made = m.run(m.Box(t([1.0])))
    return made.held

# %% a_subclass_with_a_property: setting the attribute does more
import torch

class Watched(torch.Tensor):
    asked = 0

    def requires_grad_(self, wanted=True):
        Watched.asked += 1
        return super().requires_grad_(wanted)

def run(x: torch.Tensor):
    y = x.detach()
    y.requires_grad = True
    total = (y * 2).sum()
    return total.detach()
# given: f32[4]
# hidden:
t([1.0, 2.0])
def use(m):
    x = t([1.0, 2.0]).as_subclass(m.Watched)
    return m.run(x).sum().item(), m.Watched.asked

# %% several_targets: one assignment to two tensors, on one line with others
import torch

def run(x: torch.Tensor):
    y = x.detach(); z = x.detach()
    y.requires_grad = z.requires_grad = True; w = (y * z).sum()
    return w.detach()
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1, 2])

# %% rebound_between: the name holds something else by then
import torch

class Options:
    requires_grad = False

def run(x: torch.Tensor, options):
    y = x.detach()
    for y in [options]:
        y.requires_grad = True
    return x + 1, options.requires_grad
# given: f32[4]; None
# hidden:
def use(m):
    return m.run(t([1.0]), m.Options())
