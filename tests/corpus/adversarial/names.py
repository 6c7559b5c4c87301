# %% torch_under_another_name: and its own name is taken
import torch as th

torch = None

def run(x: th.Tensor):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% an_argument_called_torch: what the caller passes
import torch

def run(x: "torch.Tensor", torch=None):
    print("run")
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0]), 3

# %% no_module_of_that_name: only classes of it are imported
"""Has no `import torch`."""
from __future__ import annotations
from torch import Tensor as T, where as pick

def run(x: T):
    where = 3
    if x.sum() > 0:
        y = x * where
    else:
        y = x - 1
    def inner(pick):
        s = x.mean().item()
        if x.max() > 2: z = pick + y
        else: z = pick - y
        return z * s
    return inner(x)
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])
t([-1.0, 9.0])

# %% imported_in_the_function: elsewhere the name means nothing
def helper(x):
    import torch
    return torch.relu(x)

def run(x):
    from torch import sum as total
    if total(x) > 0:
        y = helper(x) * 2
    else:
        y = helper(x) - 1
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% a_name_in_the_test: used afterwards, and before
import torch

def run(x: torch.Tensor):
    if (s := x.sum()) > 0:
        y = x * s
    else:
        y = x - (s := s * 2)
    return y + s
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% names_of_one_way: used later, only where it was taken
import torch

def run(x: torch.Tensor, again: bool = False):
    if x.sum() > 0:
        y = x * 2
        extra = x + 5
    else:
        y = x - 1
    if again:
        y = y + extra
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0]), True
t([-1.0, -2.0])
t([-1.0, -2.0]), True

# %% both_ways_in_turn: the second line reads what the first has changed
import torch

def run(a: torch.Tensor, b: torch.Tensor):
    if a.sum() > b.sum():
        a = a * 2
        b = a + b
    else:
        b = b * 3
        a = a - b
    return a, b
# given: f32[4]; f32[4]
# hidden:
t([1.0, 2.0]), t([0.0, 1.0])
t([0.0, 1.0]), t([1.0, 2.0])
t([0.0, nan]), t([1.0, 2.0])

# %% the_test_is_overwritten: a way assigns what was tested
import torch

def run(x: torch.Tensor):
    if x.sum() > 0:
        x = -x
        y = x * 2
    else:
        y = x - 1
    return x, y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% an_outer_name: a closure binds it again
import torch

def run(x: torch.Tensor):
    total = x * 0
    def add(y):
        nonlocal total
        if y.sum() > 0:
            total = total + y
        else:
            total = total - 1
        return total
    add(x)
    add(-x)
    return total
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% a_global_in_one_way: seen by everybody
import torch

BEST = torch.zeros(())

def run(x: torch.Tensor):
    global BEST
    s = x.sum()
    if s > BEST:
        BEST = s * 1
    else:
        s = s - 1
    return x + s
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])
def use(m):
    m.run(t([8.0]))
    return m.BEST

# %% functions_made_in_a_way: they look up the name when called
import torch

def run(x: torch.Tensor):
    k = 1.0
    scale = lambda v: v * k
    if x.sum() > 0:
        k = 2.0
    else:
        k = 3.0
    return scale(x), [scale(v) for v in x]
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% in_a_comprehension: its names are its own
import torch

def run(x: torch.Tensor):
    y = x * 5
    rows = [y * 2 if y.sum() > 0 else y - 1 for y in x]
    return torch.stack(rows) + y
# given: f32[4,2]
# hidden:
t([[1.0, 2.0], [-1.0, -2.0]])
t([[nan, 2.0], [0.0, 0.0]])

# %% a_generator_of_rows: it stops where nobody asks on
import torch

def rows(x):
    for row in x:
        if row.sum() > 0:
            yield row * 2
        else:
            yield row - 1
        print("next")

def run(x: torch.Tensor):
    made = rows(x)
    return next(made) + next(made)
# given: f32[4,2]
# hidden:
t([[1.0, 2.0], [-1.0, -2.0], [1.0, 1.0]])
t([[1.0, 2.0]])

# %% while_else: the else runs if nothing broke out
import torch

def run(x: torch.Tensor):
    n = 0
    while x.sum() < 100:
        x = x * 2
        n += 1
        if n > 5:
            break
    else:
        x = x - 1
    return x
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([50.0, 20.0])
t([-1.0, -2.0])
t([nan, -2.0])

# %% for_else: leaving the loop at the first that fits
import torch

def run(x: torch.Tensor):
    for row in x:
        if row.sum() > 0:
            y = row * 2
            break
    else:
        y = x[0] - 1
    return y
# given: f32[4,2]
# hidden:
t([[-1.0, 2.0], [1.0, 5.0]])
t([[-1.0, -2.0], [-1.0, -5.0]])

# %% returns_in_a_loop: the first row that fits
import torch

def run(x: torch.Tensor):
    for row in x:
        if row.max() > 1:
            return row * 2
        print("no")
    return x.sum(0)
# given: f32[4,2]
# hidden:
t([[-1.0, 0.0], [1.0, 5.0]])
t([[-1.0, -2.0], [-1.0, -5.0]])

# %% a_countdown: a while whose body says how long
import torch

def run(x: torch.Tensor):
    steps = x * 0
    while x.abs().max() > 1:
        x = x / 2
        steps = steps + 1
    return x, steps
# given: f32[4]
# hidden:
t([9.0, 2.0])
t([0.5, 0.2])
t([nan, 0.2])
t([900, 3])
g([9.0, 2.0])

# %% odd_layout: comments, continuations and semicolons around the site
import torch
def decorated(f): return f
@decorated  # kept
def run(x: torch.Tensor, *, y=None):   # header
    z = x \
        + 1; w = z
    if (  # why
        x.sum()
        > 0  # positive
    ): z = z * 2; w = w - 1  # both
    else:  # otherwise

        # nothing much
        z = (z
             - 1); w = \
            w * 3
    return (z,
            w)   # the end
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% elif_and_tabs: a ladder, indented with tabs
import torch

class Net(torch.nn.Module):
	def forward(self, x: torch.Tensor):
		if x.sum() > 10:
			y = x * 2
		elif x.sum() > 0:
			y = x * 3
		elif self.training:
			y = x * 4
		else:
			y = x - 1
		return y
# given: f32[4]
# hidden:
t([1.0, 20.0])
t([1.0, 2.0])
t([-1.0, -2.0])
t([nan, -2.0])

# %% a_property_that_counts: each way reads one
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.reads = 0

    @property
    def scale(self):
        self.reads += 1
        return 2.0 + self.reads

    def forward(self, x: torch.Tensor):
        if x.sum() > 0:
            y = x * self.scale
        else:
            y = x - 1
        return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])
t([1.0, 2.0])

# %% setattr_that_checks: assigning an attribute runs code
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0

    def __setattr__(self, name, value):
        if name == "n":
            value = min(value, 3)
        super().__setattr__(name, value)

    def forward(self, x: torch.Tensor):
        self.n += 1
        return x * self.n
# given: script
net = torch.compile(Net())
for _ in range(12):
    net(torch.ones(3))
# hidden:
t([1.0, 2.0])
t([1.0, 2.0])
t([1.0, 2.0])
t([1.0, 2.0])
t([1.0, 2.0])

# %% getattr_that_makes: a missing attribute is made when asked for
import torch

class Net(torch.nn.Module):
    def __getattr__(self, name):
        if name == "made":
            self.__dict__["made"] = 3.0
            return 3.0
        return super().__getattr__(name)

    def forward(self, x: torch.Tensor):
        if x.sum() > 0:
            y = x * self.made
        else:
            y = x - 1
        return y
# given: f32[4]
# hidden:
t([-1.0, -2.0])
t([1.0, 2.0])

# %% a_counter_of_the_class: shared by all instances
import torch

class Net(torch.nn.Module):
    calls = 0

    def __init__(self):
        super().__init__()
        self.own = 0

    def forward(self, x: torch.Tensor):
        Net.calls += 1
        self.own += Net.calls
        return x * self.own
# given: script
net = torch.compile(Net())
for _ in range(12):
    net(torch.ones(3))
# hidden:
t([1.0, 2.0])
t([1.0, 2.0])
def use(m):
    net, other = m.Net(), m.Net()
    net(t([1.0]))
    other(t([1.0]))
    return net.own, other.own, m.Net.calls

# %% operators_of_a_subclass: multiplying is counted
import torch

class Counted(torch.Tensor):
    count = 0

    def __mul__(self, other):
        Counted.count += 1
        return super().__mul__(other)

def run(x: torch.Tensor):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])
def use(m):
    m.run(t([1.0, 2.0]).as_subclass(m.Counted))
    m.run(t([-1.0, 2.0]).as_subclass(m.Counted))
    m.run(t([-1.0, -2.0]).as_subclass(m.Counted))
    return m.Counted.count

# %% not_a_tensor_at_all: numbers and arrays go through as well
import torch

def half(x):
    if x > 0:
        y = x * 2
    else:
        y = x - 1
    return y

def run(x: torch.Tensor):
    return half(x.sum()) + half(3) + half(-2)
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])
def use(m):
    return m.half(3), m.half(-2.5)

# %% a_wrapper_with_operators: its truth is what it says
import torch

class Wrapped:
    def __init__(self, held):
        self.held = held
        self.log = []

    def sum(self):
        return self.held.sum()

    def __mul__(self, other):
        self.log.append("mul")
        return self.held * other

    def __sub__(self, other):
        self.log.append("sub")
        return self.held - other

def run(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
def use(m):
    wrapped = m.Wrapped(t([1.0, 2.0]))
    m.run(wrapped)
    return wrapped.log
