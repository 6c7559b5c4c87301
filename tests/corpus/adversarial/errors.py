# %% a_caller_that_catches: the class of the error is a part of the interface
import torch

def checked(x: torch.Tensor):
    if x.isnan().any():
        raise ValueError("nan")
    return x * 2

def run(x: torch.Tensor):
    return checked(x) + 1
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0, nan])
def use(m):
    try:
        return m.run(t([nan]))
    except ValueError:
        return "caught"

# %% a_rare_error: no made-up input has this value
import torch

def run(x: torch.Tensor):
    if (x == 12345).any():
        raise ValueError("reserved")
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0, 12345.0])

# %% a_rare_index_error: the class says what to do
import torch

def run(tokens: torch.Tensor, table: torch.Tensor):
    if tokens.max() >= 1000:
        raise IndexError("no such token")
    return table[tokens % 4]
# given: i64[4]; f32[4]
# hidden:
t([1, 2]), t([1.0, 2.0, 3.0, 4.0])
t([1, 1000]), t([1.0, 2.0, 3.0, 4.0])

# %% raised_from: the cause goes along
import torch

class Bad(Exception):
    pass

def run(x: torch.Tensor, cause=None):
    if (x > 1e6).any():
        raise Bad("too large") from OverflowError("first")
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0, 2e6])
def use(m):
    try:
        m.run(t([3e6]))
    except m.Bad as error:
        return repr(error.__cause__)

# %% the_value_in_the_error: the message tells which
import torch

def run(x: torch.Tensor):
    if x.max() > 100000:
        raise ValueError(f"{x.max().item():.1f} is too much")
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0, 2e6])

# %% an_assert_that_is_caught: AssertionError, and a message that counts
import torch

COUNT = [0]

def message():
    COUNT[0] += 1
    return f"failed {COUNT[0]}"

def run(x: torch.Tensor):
    assert (x < 12345).all(), f"{message()} of {x.shape}"
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0, 2e6])
def use(m):
    try:
        m.run(t([3e6]))
    except AssertionError as error:
        return str(error), m.COUNT

# %% an_assert_of_nothing: the largest of no elements is an error of its own
import torch

def run(x: torch.Tensor):
    assert x.max() < 1e6, f"large: {x.shape}"
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([])
t([1e7])

# %% an_assert_of_a_number: integers are true if they are not 0
import torch

def run(x: torch.Tensor):
    assert x.sum(), "nothing there"
    assert not (x == 54321).any()
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([0.0, 0.0])
t([nan, 0.0])
t([54321.0, 0.0])

# %% an_error_that_selects: raising is how the other way is taken
import torch

def run(x: torch.Tensor):
    try:
        if x.sum() > 0:
            raise ValueError
        y = x * 2
    except ValueError:
        y = x - 1
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% suppressed: a block that ends early
import contextlib
import torch

def run(x: torch.Tensor):
    y = x
    with contextlib.suppress(ValueError):
        if x.sum() > 0:
            raise ValueError("skip")
        y = x * 2
    return y + 1
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% finally_runs: after either return
import torch

LOG = []

def run(x: torch.Tensor):
    try:
        if x.sum() > 0:
            return x * 2
        return x * 3
    finally:
        LOG.append(1)
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])
def use(m):
    return m.LOG

# %% errors_of_the_other_way: the way not taken would raise
import torch

def run(x: torch.Tensor, w: torch.Tensor):
    if x.sum() > 0:
        y = x * 2
    else:
        y = torch.linalg.inv(w) @ x
    return y
# given: f32[3]; f32[3,3]
# hidden:
t([1.0, 2.0, 3.0]), torch.eye(3)
t([1.0, 2.0, 3.0]), torch.zeros(3, 3)
t([-1.0, -2.0, -3.0]), torch.eye(3)
t([-1.0, -2.0, -3.0]), torch.zeros(3, 3)

# %% an_index_of_the_other_way: guarded, for it would be out of range
import torch

def run(x: torch.Tensor, i: torch.Tensor):
    if i.max() < 4:
        y = x[i]
    else:
        y = i * 0.0
    return y
# given: f32[4]; i64[2]<4
# hidden:
t([1.0, 2.0, 3.0, 4.0]), t([0, 3])
t([1.0, 2.0, 3.0, 4.0]), t([0, 4])

# %% division_by_zero: a number raises, a tensor gives infinity
import torch

def run(x: torch.Tensor):
    return x * (1 / x.abs().sum().item())
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([0.0, 0.0])

# %% overflow_of_a_number: Python raises where tensors go to infinity
import torch

def run(x: torch.Tensor):
    s = x.abs().max().item()
    return x * (s ** 40)
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1e9, 2.0])
t([inf, 2.0])

# %% runtime_errors_are_expected: a handler for another class must not see it
import torch

def checked(x):
    if (x < -9000).any():
        raise KeyError("low")
    return x + 1

def run(x: torch.Tensor):
    return checked(x)

def caller(x):
    try:
        return run(x)
    except RuntimeError:
        return None
# given: f32[4]
# hidden:
t([1.0])
t([-1e5])
def use(m):
    try:
        return m.caller(t([-1e5]))
    except LookupError:
        return "lookup"

# %% warnings_are_errors: raised once told so
import warnings
import torch

def run(x: torch.Tensor):
    if x.sum() > 0:
        warnings.warn("positive", stacklevel=2)
    return x * 2
# given: f32[4]
# hidden:
t([1.0])
def use(m):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.run(t([1.0]))
