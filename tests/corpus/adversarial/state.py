# %% a_draw_in_one_way: later draws would be others
import torch

def run(x: torch.Tensor):
    if x.sum() > 0:
        y = x + torch.rand(x.shape)
    else:
        y = x * 2
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% dropout_in_one_way: it draws as well
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x: torch.Tensor):
        if x.sum() > 0:
            y = self.drop(x)
        else:
            y = x * 2
        return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% python_draws_in_one_way: from the generator of `random`
import random
import torch

def run(x: torch.Tensor):
    if x.sum() > 0:
        y = x * random.random()
    else:
        y = x * 2
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% numpy_draws: another generator with its own seed
import numpy as np
import torch

def run(x: torch.Tensor):
    return x * np.random.rand() + np.random.uniform(0, 1)
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1, 2])
t([1.0]).double()

# %% a_patched_draw: a test puts its own function there
import random
import torch

def run(x: torch.Tensor):
    return x * random.random()
# given: f32[4]
# hidden:
t([1.0, 2.0])
def use(m):
    import random
    kept, random.random = random.random, lambda: 2.0
    try:
        return m.run(t([1.0]))
    finally:
        random.random = kept

# %% a_generator_called_random: not the module
import torch

class Draws:
    def random(self):
        return 0.25

random = Draws()

def run(x: torch.Tensor):
    y = x * random.random()
    print("drawn")
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])

# %% a_draw_as_a_default: drawn once, when the function is made
import random as r
import torch

def run(x: torch.Tensor, k=r.random()):
    y = x * r.random() * 2
    return y, r.random() < 0.5
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1, 2])
t([1.0]).double()

# %% layers_left_out: what is left out draws nothing
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout()) for _ in range(3)])

    def forward(self, x: torch.Tensor):
        for layer in self.layers:
            if self.training and torch.rand(()) < 0.5:
                continue
            x = layer(x)
        return x
# given: f32[2,3]
# hidden:
t([[1.0, 2.0, 3.0]])
t([[1.0, 2.0, 3.0]])
t([[1.0, 2.0, inf]])
g([[1.0, 2.0, 3.0]])

# %% a_stochastic_depth: drawn once a call
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor):
        if torch.rand(()) < 0.5:
            x = x + self.block(x)
        return x
# given: f32[2,3]
# hidden:
t([[1.0, 2.0, 3.0]])
t([[1.0, 2.0, 3.0]])
t([[1.0, 2.0, inf]])
g([[1.0, 2.0, 3.0]])

# %% small_draws: `random_` into a narrow dtype
import torch

def run(x: torch.Tensor):
    y = torch.empty_like(x)
    y.random_(0, 200)
    return x + y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1, 2])
t([1, 2]).to(torch.int8)
t([1, 2]).to(torch.uint8)
t([1.0]).half()
t([True])

# %% a_uniform_of_a_dict: keywords in another order
import torch

def run(x: torch.Tensor):
    y = torch.empty_like(x).uniform_(**{"to": 3.0, "from": 2.0})
    z = torch.empty_like(x).uniform_(**{"to": 0.5})
    return x + y + z
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0]).half()
t([1])

# %% a_counter_that_is_logged: from outside it is a number
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor):
        self.calls += 1
        return x * self.calls
# given: script
net = torch.compile(Net())
for _ in range(12):
    net(torch.ones(3))
# hidden:
t([1.0, 2.0])
t([1.0, 2.0])
def use(m):
    net = m.Net()
    net(t([1.0]))
    seen = {net.calls: "once"}
    return f"{net.calls}", net.calls == 1, net.calls is True, isinstance(net.calls, int), seen, len(list(net.buffers()))

# %% a_counter_of_a_list: indexes and compares elsewhere in the file
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0
        self.history = []

    def forward(self, x: torch.Tensor):
        self.step = self.step + 1
        return x / self.step

    def extra_repr(self):
        return f"step={self.step}"

    def note(self):
        self.history.append(self.step)
# given: script
net = torch.compile(Net())
for _ in range(12):
    net(torch.ones(3))
# hidden:
t([1.0, 2.0])
t([1, 2])
t([1.0]).half()
def use(m):
    net = m.Net()
    for _ in range(3):
        net(t([1.0]))
        net.note()
    return repr(net), net.history, max(net.history), net.half().step

# %% a_counter_that_is_saved: pickled and copied
import copy
import pickle
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0

    def forward(self, x: torch.Tensor):
        self.count += 1
        return x + 1.0 / self.count
# given: script
net = torch.compile(Net())
for _ in range(12):
    net(torch.ones(3))
# hidden:
g([1.0, 2.0])
t([1.0, 2.0]).double()
def use(m):
    net = m.Net()
    net(t([1.0]))
    return m.copy.deepcopy(net).__dict__.get("count"), list(net.state_dict())

# %% a_rate_that_others_hold: changed in place it changes everywhere
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rate = 10

    def forward(self, x: torch.Tensor):
        return x * (self.rate / 10)

def decay(net):
    before = net.rate
    net.rate *= 2
    return before
# given: script
net = Net()
step = torch.compile(net)
for rate in (9, 8, 7, 6, 5, 4):
    net.rate = rate
    step(torch.ones(3))
# hidden:
t([1.0, 2.0])
t([1, 2])
t([1.0]).double()
t(1.0)
def use(m):
    net = m.Net()
    start = net.rate
    held = m.decay(net)
    return start, held, net.rate, {20: 1}.get(net.rate), f"{net.rate}"

# %% the_environment_changes: read anew at each call
import os
import torch

def run(x: torch.Tensor):
    scale = float(os.environ.get("ADVERSARY_SCALE", "1"))
    mode = os.getenv("ADVERSARY_MODE")
    return x * scale if mode is None else x
# given: f32[4]
# hidden:
t([1.0, 2.0])
def use(m):
    import os
    before = m.run(t([1.0]))
    os.environ["ADVERSARY_SCALE"] = "3"
    try:
        return before, m.run(t([1.0]))
    finally:
        del os.environ["ADVERSARY_SCALE"]

# %% a_patched_clock: reading it is the effect
import time
import torch

def run(x: torch.Tensor):
    start = time.time()
    y = x * 2
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
def use(m):
    import time
    calls = []
    kept, time.time = time.time, lambda: calls.append(1)
    try:
        m.run(t([1.0]))
    finally:
        time.time = kept
    return calls

# %% a_clock_in_locals: nothing names it, and still it is read
import time
import torch

def run(x: torch.Tensor):
    start = time.time()
    y = x * 2
    return y, sorted(locals()), "start" in vars()
# given: f32[4]
# hidden:
t([1.0, 2.0])

# %% a_clock_that_others_read: a global, a closure, a deleted name
import time
import torch

STARTED = None

def run(x: torch.Tensor):
    global STARTED
    STARTED = time.time()
    other = time.monotonic()
    del other
    inner = 0.0
    def mark():
        nonlocal inner
        inner = time.perf_counter()
    mark()
    return x * 2, inner > 0
# given: f32[4]
# hidden:
t([1.0, 2.0])
def use(m):
    m.run(t([1.0]))
    return m.STARTED is None

# %% a_clock_that_is_no_module: an argument of that name
import torch

class Clock:
    def __init__(self):
        self.asked = 0

    def time(self):
        self.asked += 1
        return self.asked

def run(x: torch.Tensor, time=None):
    started = time.time() if time else 0
    begun = time.time() if time else 0
    print("x")
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
def use(m):
    clock = m.Clock()
    m.run(t([1.0]), clock)
    return clock.asked

# %% a_clock_alone: the only statement, on one line, in a chain
import time
import torch

def run(x: torch.Tensor, verbose: bool = True):
    if verbose: t0 = time.time()
    if verbose:
        t1 = time.perf_counter()  # when
    else:
        x = x + 1
    a = b = time.time(); c: float = time.time(); y = x * 2
    (d := time.monotonic_ns())
    e, f = time.time(), y
    try:
        t2 = time.time()
    finally:
        y = y + (b > 0)
    return y + f
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0, 2.0]), False

# %% a_print_that_pops: what is printed is taken from a list
import torch

STACK = [5, 4, 3, 2, 1] * 20

def run(x: torch.Tensor):
    print(STACK.pop())
    return x * len(STACK)
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0, 2.0])
def use(m):
    return m.STACK

# %% a_print_over_lines: its text has an indentation of its own
import torch

def run(x: torch.Tensor, loud: bool = True):
    y = x * 2; print("""one
  two
\tthree"""); z = y + 1
    if loud: print("a", \
        "b", end="!\n")
    else: print(f"""{z.shape}
    x""")
    return z
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0, 2.0]), False

# %% a_print_of_its_own: a function of that name
import torch

LINES = []

def print(*items):
    LINES.append(len(items))
    return len(LINES)

def run(x: torch.Tensor):
    if x.sum() > 0:
        print("positive", 1)
    n = print("all")
    return x * n
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])
def use(m):
    return m.LINES

# %% a_print_of_the_object: `__str__` counts
import torch

class Counted:
    def __init__(self):
        self.printed = 0

    def __str__(self):
        self.printed += 1
        return "counted"

ONE = Counted()

def run(x: torch.Tensor):
    print(ONE)
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
def use(m):
    m.run(t([1.0]))
    return m.ONE.printed

# %% a_log_that_counts: handlers see each record
import logging
import torch

LOG = logging.getLogger("adversary")
SEEN = []

class Count(logging.Handler):
    def emit(self, record):
        SEEN.append(record.getMessage())

LOG.addHandler(Count())
LOG.setLevel(logging.INFO)

def run(x: torch.Tensor):
    LOG.info("shape %s", tuple(x.shape))
    return x * (1 + len(SEEN))
# given: f32[4]
# hidden:
t([1.0, 2.0])
def use(m):
    m.run(t([1.0]))
    return m.SEEN

# %% a_next_in_a_print: an iterator moves on
import torch

NUMBERS = iter(range(1000))

def run(x: torch.Tensor):
    print("step", next(NUMBERS))
    return x * next(NUMBERS)
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0, 2.0])

# %% the_only_statement: nothing may be left without a body
import time
import torch

def run(x: torch.Tensor, verbose: bool = True):
    if verbose:
        start = time.time()  # when
    elif x.dim() > 3:
        x = x + 2
    else:
        x = x + 1
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0, 2.0]), False

# %% on_one_line: what stands beside it stays
import time
import torch

def run(x: torch.Tensor, verbose: bool = True):
    y = x * 2; start = time.time(); z = y + 1
    if verbose: begun = time.perf_counter(); y = y * 3
    if z.dim() > 0: last = time.perf_counter()
    for row in x: at = time.monotonic()
    return y + z
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0, 2.0]), False

# %% a_clock_called_wrongly: the error is what the caller waits for
import time
import torch

def run(x: torch.Tensor):
    start = time.time(1)
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])

# %% a_clock_of_ones_own: the module is another object by then
import time
import torch

ASKED = []

def read():
    ASKED.append(1)
    return 0.0

def run(x: torch.Tensor):
    start = time.time()
    return x * 2

time.time, kept = read, time.time
# given: f32[4]
# hidden:
def use(m):
    m.run(t([1.0]))
    m.time.time = m.kept
    return m.ASKED

# %% a_clock_seen_by_its_name: evaluated, and in the frame
import inspect
import time
import torch

def local(name):
    return name in inspect.currentframe().f_back.f_locals

def run(x: torch.Tensor):
    start = time.time()
    return x * 2, local("start")
# given: f32[4]
# hidden:
t([1.0, 2.0])

# %% evaluated_text: a string reads the name
import time
import torch

def run(x: torch.Tensor):
    start = time.time()
    y = x * 2
    return y + (eval("start") > 0)
# given: f32[4]
# hidden:
t([1.0, 2.0])

# %% directives_in_text: comments that are no comments
import torch

TEXT = """
x = 1  # noqa: FG101
y = 2  # fullgraph: ignore[FG101]
"""

def run(x: torch.Tensor):
    y = x * 2  # noqa: FG101
    text = f"{x.shape} # noqa: FG101"  # fullgraph: ignore[FG101]
    return y, TEXT, text + '# fullgraph: ignore[FG201]'  # fullgraph: ignore[FG201]  kept
# given: f32[4]
# hidden:
t([1.0, 2.0])

# %% a_renamed_draw: imported by itself, and patched in this file
import random
from random import random as draw
import torch

def run(x: torch.Tensor):
    a = random.random() * x
    return a * draw() + x * random.Random(3).random()

random.random, kept = (lambda: 2.0), random.random
# given: f32[4]
# hidden:
def use(m):
    shown = m.run(t([1.0]))
    m.random.random = m.kept
    return shown

# %% an_operator_of_integers: its result is a float
import torch

@torch.library.custom_op("adversary::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    return x / 2

def run(x: torch.Tensor):
    return halved(x) + 1
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1, 2])
t([True])
t([[1.0, 2.0], [3.0, 4.0]]).t()

# %% forward_mode: derivatives that go with the inputs
import torch

class Double(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2

def run(x: torch.Tensor):
    return Double.apply(x)
# given: f32[4]
# hidden:
t([1.0, 2.0])
g([1.0, 2.0])
def use(m):
    return torch.func.jvp(m.run, (t([1.0]),), (t([3.0]),))

# %% a_gradient_asked_for_within: who calls it elsewhere relies on that
import torch

def run(x: torch.Tensor):
    x.requires_grad_()
    return (x * 2).sum()
# given: script
w = torch.ones(3)
torch.compile(run)(w).backward()
# hidden:
t([1.0, 2.0])
def use(m):
    x = t([1.0])
    m.run(x).backward()
    return x.grad
