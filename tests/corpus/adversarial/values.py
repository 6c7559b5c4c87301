# %% integers_or_floats: dividing makes floats, doubling doesn't
import torch

def run(x: torch.Tensor):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x / 2
    return y
# given: i64[4]
# hidden:
t([1, 2])
t([-1, -2])
t([1.5])

# %% half_or_float: only one way is widened
import torch

def run(x: torch.Tensor):
    if x.mean() > 0:
        y = x + 1
    else:
        y = x.float() + 1
    return y
# given: f16[4]
# hidden:
t([1.0, 2.0]).half()
t([-1.0, -2.0]).half()
t([-1.0, -2.0])

# %% a_number_or_a_tensor: one way is a Python number
import torch

def run(x: torch.Tensor):
    if x.sum() > 0:
        scale = 2.0
    else:
        scale = x.sum()
    return x * scale, scale
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])
t([-1.0, -2.0]).half()

# %% two_numbers: what is chosen stays a number
import torch

def run(x: torch.Tensor):
    k = 2 if x.sum() > 0 else 3
    return x * k, [0] * k
# given: f32[4]
# hidden:
t([1, 2])
t([-1.0, -2.0])

# %% two_numbers_that_widen: integers times a float of no dimension
import torch

def run(x: torch.Tensor):
    k = 2 if x.sum() > 0 else 0.5
    return x * k
# given: i64[4]
# hidden:
t([1, 2])
t([-1, -2])
t([1.0, 2.0]).half()
t([-1.0, -2.0])

# %% nothing_in_one_way: None
import torch

def run(x: torch.Tensor):
    extra = None
    if x.sum() > 0:
        extra = x * 2
    return x, extra
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% tuples_of_two_lengths: the caller looks at the length
import torch

def run(x: torch.Tensor):
    if x.sum() > 0:
        return x * 2, x * 3
    return (x * 1,)
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% shapes_that_broadcast: `where` widens the smaller way
import torch

def run(x: torch.Tensor):
    if x.sum() > 0:
        y = x.mean(0, keepdim=True)
    else:
        y = x * 2
    return y
# given: f32[4,3]
# hidden:
t([[1.0, 2.0], [3.0, 4.0]])
t([[-1.0, -2.0], [3.0, -4.0]])
t([[1.0, 2.0]])

# %% broadcast_with_another: one way has the larger shape of both
import torch

def run(x: torch.Tensor, b: torch.Tensor):
    if x.sum() > 0:
        y = x + b
    else:
        y = x * 2
    return y
# given: f32[4]; f32[4]
# hidden:
t([1.0, 2.0]), t([1.0, 2.0])
t([1.0, 2.0]), t([[1.0, 2.0], [3.0, 4.0]])
t([-1.0, -2.0]), t([[1.0, 2.0], [3.0, 4.0]])
t([-1.0, -2.0]), t([1.0, 2.0]).double()

# %% a_test_of_one_element: of shape (1,), it would widen both ways
import torch

def run(flag: torch.Tensor, x: torch.Tensor):
    if flag > 0:
        y = x.sum() * 2
    else:
        y = x.sum() - 1
    return y
# given: f32[1]; f32[4]
# hidden:
t([1.0]), t([1.0, 2.0])
t([-1.0]), t([1.0, 2.0])
t(1.0), t([1.0, 2.0])
t([[1.0]]), t([1.0, 2.0])
t([1.0, 1.0]), t([1.0, 2.0])

# %% truth_of_a_number: not a bool, and NaN is true
import torch

def run(x: torch.Tensor):
    if x.sum():
        y = x * 2
    else:
        y = x + 1
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0, -1.0])
t([nan, -1.0])
t([1, -1])
t([])

# %% not_greater: of NaN nothing is greater, and nothing is less or equal
import torch

def run(x: torch.Tensor):
    if not x.sum() > 0:
        y = x * 2
    else:
        y = x + 1
    if not (x.max() <= 5):
        y = y * 3
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])
t([nan, 1.0])
t([9.0, 1.0])

# %% chained_comparison: two tests, the second only if the first holds
import torch

def run(x: torch.Tensor):
    if 0 < x.sum() < 4:
        y = x * 2
    else:
        y = x + 1
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])
t([9.0, -2.0])
t([nan, -2.0])

# %% and_of_numbers: 1 and 2 are both true, 1 & 2 is 0
import torch

def run(a: torch.Tensor, b: torch.Tensor):
    if a.sum() and b.sum():
        y = a * 2
    else:
        y = a + 1
    return y
# given: i64[4]; i64[4]
# hidden:
t([1]), t([2])
t([0]), t([2])
t([1.0]), t([2.0])

# %% and_with_a_side_effect: asked only if the first holds
import torch

STACK = [1, 2, 3, 4, 5, 6, 7, 8]

def pop():
    return STACK.pop()

def run(x: torch.Tensor):
    if x.sum() > 0 and pop() > 2:
        y = x * 2
    else:
        y = x - 1
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])
def use(m):
    return m.STACK

# %% or_gives_a_value: the second operand itself
import torch

def run(x: torch.Tensor):
    y = (x.sum() > 0) or x.mean()
    return y * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% a_guard_before_and: the second test would fail without the first
import torch

def run(x: torch.Tensor):
    if x.numel() > 0 and x.max() > 1:
        y = x / x.max()
    else:
        y = x * 1
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([0.5, 0.2])
t([])

# %% small_integers: Python numbers don't overflow
import torch

def run(x: torch.Tensor):
    top = x.max().item()
    return x.float() + top * top
# given: i8[4]<5
# hidden:
t([1, 2]).to(torch.int8)
t([100, 2]).to(torch.int8)

# %% large_integers: the sum is no longer exact in float32
import torch

def run(x: torch.Tensor):
    n = x.sum().item()
    return torch.zeros(2, dtype=torch.float64) + n * n
# given: i64[4]
# hidden:
t([1, 2])
t([5000000000, 1])

# %% double_precision: Python reckons in 64 bits
import torch

def run(x: torch.Tensor):
    s = x.abs().mean().item()
    return x * (s / 3 + 1e-9)
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([0.1, 0.7])
t([1e-30, 3e-38])
t([0.1, 0.7]).half()

# %% a_number_does_not_widen: an integer tensor times a float number
import torch

def run(x: torch.Tensor, w: torch.Tensor):
    s = w.mean().item()
    return x * s
# given: f32[4]; f32[4]
# hidden:
t([1.0, 2.0]), t([0.5, 0.3])
t([1.0, 2.0]).half(), t([0.5, 0.3])
t([1, 2]), t([0.5, 0.3]).double()
t(1.0), t([0.5, 0.3]).double()

# %% negative_powers: of integers, Python makes floats
import torch

def run(x: torch.Tensor, n: torch.Tensor):
    k = n.max().item()
    return x * (2 ** k) + x * (7 // (k - 50)) + x * (-7 % (k + 100))
# given: f32[4]; i64[3]
# hidden:
t([1.0, 2.0]), t([1, 3])
t([1.0, 2.0]), t([-1, -3])
t([1.0, 2.0]), t([50, -3])

# %% rounding_to_even: Python's `round` and `int`
import torch

def run(x: torch.Tensor):
    s = x.sum().item()
    return x * round(s) + int(s)
# given: f32[4]
# hidden:
t([1.0, 1.5])
t([-1.0, -2.5])
t([nan, 1.0])
t([inf, 1.0])

# %% a_key_of_a_dict: tensors are found by identity
import torch

NAMES = {0: 0.5, 1: 1.5, 2: 2.5}

def run(x: torch.Tensor):
    k = x.argmax().item()
    return x * NAMES[k]
# given: f32[3]
# hidden:
t([1.0, 2.0, 0.0])
t([1.0, 0.0, 7.0])

# %% an_index_and_a_range: lists and loops want integers
import torch

def run(x: torch.Tensor):
    n = x.argmin().item()
    y = [x, x * 2, x * 3, x * 4][n]
    for i in range(n):
        y = y + i
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0, 0.0])
t([1.0, 0.0, 7.0])

# %% text_of_a_number: JSON, f-strings and `isinstance`
import json
import torch

def run(x: torch.Tensor):
    s = x.sum().item()
    return x * s, f"{s:.3f}", json.dumps({"s": s}), isinstance(s, float), s is None
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([nan, 0.0])

# %% a_sum_that_is_returned: the caller gets a number
import torch

def run(x: torch.Tensor):
    total = 0.0
    for row in x:
        total += row.sum().item()
    return total
# given: f32[3,2]
# hidden:
t([[1.0, 2.0], [0.1, 0.7]])
t([[1, 2], [3, 4]])
def use(m):
    return {m.run(t([[1.0, 2.0]])): 1}

# %% an_allclose_that_is_returned: the caller compares with `is`
import torch

def run(a: torch.Tensor, b: torch.Tensor):
    return torch.allclose(a, b)
# given: f32[4]; f32[4]
# hidden:
t([1.0, 2.0]), t([1.0, 2.0])
t([1.0, 2.0]), t([1.0, 3.0])
t([1.0, nan]), t([1.0, nan])
def use(m):
    return m.run(t([1.0]), t([1.0])) is True

# %% a_list_that_grows: what `tolist` returns is a list
import torch

def run(x: torch.Tensor):
    v = x.tolist()
    v[0] = 5.0
    v.append(2.0)
    return x * v[0] + v[-1] + len(v)
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([-1.0, -2.0])

# %% unpacked_integers: more than a small dtype holds
import torch

def run(x: torch.Tensor, n: torch.Tensor):
    a, b = n.tolist()
    return x + a * b
# given: f32[4]; i8[2]<5
# hidden:
t([1.0, 2.0]), t([3, 4]).to(torch.int8)
t([1.0, 2.0]), t([100, 100]).to(torch.int8)
t([1.0, 2.0]), t([0.1, 0.2]).double()
t([1, 2]), t([0.5, 2.0])
t([1, 2]), t([0.5, 2.0, 3.0])

# %% infinite_times_zero: what the mask leaves out is infinite or NaN
import torch

def run(x: torch.Tensor):
    return x[x < 1e30].sum(), x[x.isfinite()].mean()
# given: f32[6]
# hidden:
t([1.0, 2.0])
t([1.0, inf, nan])
g([1.0, inf, nan])
t([nan])
t([])
t([1, 2])
t([[60000.0, 60000.0, 1.0]]).half()
torch.arange(1000.0) * 0.1

# %% a_mask_of_rows: fewer dimensions than what it selects from
import torch

def run(x: torch.Tensor):
    keep = x > 0
    rows = x[x[:, 0] > 0].sum()
    return x[keep].sum() + rows, x.masked_select(keep).mean()
# given: f32[3,2]
# hidden:
t([[1.0, 2.0], [-1.0, 5.0]])
t([[-1.0, -2.0], [-1.0, -5.0]])
t([[1, 2], [-1, 5]])
t([[True, False]])

# %% a_root_not_taken: its gradient is NaN all the same
import torch

def run(x: torch.Tensor):
    s = x.sum()
    if s > 0:
        y = s.sqrt()
    else:
        y = s * 0
    return y
# given: f32[4]
# hidden:
g([1.0, 2.0])
g([-1.0, -2.0])
g([1.0, -1.0])
t([-1.0, -2.0])

# %% a_division_not_taken: by zero, at one point only
import torch

def run(x: torch.Tensor):
    d = (x - 7.25).sum()
    if d != 0:
        y = x / d
    else:
        y = x * 1
    return y
# given: f32[2]
# hidden:
g([1.0, 2.0])
g([7.25, 7.25])
t([7.25, 7.25])

# %% a_logarithm_not_taken: far beyond what is tried
import torch

def run(x: torch.Tensor):
    top = 123456.0 - x.max()
    return torch.log(top) * x if top > 0 else x * 2
# given: f32[4]
# hidden:
g([1.0, 2.0])
g([123456.0, 2.0])
g([123457.0, 2.0])

# %% a_norm_not_taken: normalizing nothing
import torch

def run(x: torch.Tensor):
    n = x.norm()
    if n > 0:
        x = x / n
    return x + 1
# given: f32[4]
# hidden:
g([1.0, 2.0])
g([0.0, 0.0])
g([])

# %% no_elements: of nothing all are greater
import torch

def run(x: torch.Tensor):
    if (x > 0).all():
        y = x * 2
    else:
        y = x.flip(0)
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0, -2.0])
t([])
t([1, 2])

# %% nan_is_replaced: one value in place of all
import torch

def run(x: torch.Tensor):
    if torch.isfinite(x).all():
        return x * 1
    return torch.nan_to_num(x, nan=0.0, posinf=1.0)
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([1.0, nan])
g([inf, nan])
t([1, 2])

# %% gradients_of_a_way: what takes none in one way
import torch

def run(x: torch.Tensor, w: torch.Tensor):
    if x.sum() > 0:
        y = w * 2
    else:
        y = w.detach() + 1
    return y, y.requires_grad
# given: f32[4]; f32[4]
# hidden:
t([1.0, 2.0]), g([1.0, 2.0])
t([-1.0, -2.0]), g([1.0, 2.0])
g([-1.0, -2.0]), t([1.0, 2.0])

# %% an_unused_weight: no gradient is not a gradient of zero
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(3, 3)
        self.b = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor):
        if x.sum() > 0:
            y = self.a(x)
        else:
            y = self.b(x)
        return y
# given: f32[2,3]
# hidden:
t([[1.0, 2.0, 3.0]])
t([[-1.0, -2.0, -3.0]])
t([[nan, -2.0, -3.0]])

# %% a_threshold_between_floats: 0.1 of float32 is more than 0.1
import torch

def run(x: torch.Tensor):
    assert x.max().item() > 0.1
    if x.min().item() <= 0.7:
        raise ValueError("small")
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([0.1])
t([0.7, 0.7])
t([0.8, nan])

# %% an_assert_between_floats: exact as a number, rounded as a tensor
import torch

def run(x: torch.Tensor):
    assert x.abs().max().item() != 0.1
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([0.1])

# %% an_assert_of_integers: beyond what float32 can hold
import torch

def run(x: torch.Tensor):
    assert float(x.max()) < 16777217
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([16777216.0])

# %% a_way_by_a_rounded_test: two ways that hardly ever differ
import torch

def run(x: torch.Tensor):
    if x.max().item() > 0.1:
        y = x * 2
    else:
        y = x - 1
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([0.1, 0.1])

# %% a_rarely_wider_way: a view of float64 only for one value
import torch

def run(x: torch.Tensor):
    if (x == 12345).any():
        y = x.double()
    else:
        y = x * 2
    return y
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([12345.0, 2.0])

# %% a_rarely_other_type: what no made-up input reaches
import torch

def run(x: torch.Tensor):
    if (x == 12345).any():
        return x.sum()
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([12345.0, 2.0])

# %% a_rare_root: at one value only is its gradient lost
import torch

def run(x: torch.Tensor):
    s = x.sum() - 12345
    if s != 0:
        y = s.abs().sqrt() * x
    else:
        y = x * 3
    return y
# given: f32[4]
# hidden:
g([1.0, 2.0])
g([12345.0, 0.0])
t([12345.0, 0.0])

# %% a_rare_division_by_zero: Python raises, tensors go on
import torch

def run(x: torch.Tensor):
    return x * (1.0 / (x.max().item() - 12345))
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([12345.0])

# %% a_mean_of_integers: no mean without a float
import torch

def run(x: torch.Tensor):
    return x[x > 0].sum() + x[x < 5].sum()
# given: f32[64]
# hidden:
t([1, 2])
t([1, 2]).to(torch.int8)
torch.arange(3000.0) * 0.1
torch.arange(3000.0).sin() * 1e4
t([inf, -inf, 1.0])
g([inf, -inf, nan])
t([1.0, 2.0]).half()

# %% a_rare_nan: the message of an assert tells the shape
import torch

def run(x: torch.Tensor):
    assert not (x == 12345).any(), f"reserved: {x.shape}"
    return x * 2
# given: f32[4]
# hidden:
t([1.0, 2.0])
t([12345.0])
