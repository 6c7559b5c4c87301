"""Torch's own operator tests: the samples, an operator as a function of their tensors, and how results compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from unittest.mock import patch

import torch
from torch.testing._internal import common_utils
from torch.testing._internal.opinfo import core
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 2e-5, torch.float64: 1e-10}
FIXED, SYMBOLIC = 2, 3
"""Samples of an operator that are traced with fixed sizes, forward and backward, and with symbolic sizes, forward."""

LOOKED_AT = 32
"""Samples among which the most telling one is chosen."""


def positional(info: OpInfo, sample: SampleInput) -> tuple[Callable[..., list[torch.Tensor]], list[torch.Tensor]]:
    """The operator on the sample as a function of the sample's tensors alone."""
    leaves, spec = tree_flatten((sample.input, sample.args, sample.kwargs))

    def call(*values: torch.Tensor) -> list[torch.Tensor]:
        remaining = iter(values)
        filled = [next(remaining) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        given, args, kwargs = tree_unflatten(filled, spec)
        return [result for result in tree_leaves(info.op(given, *args, **kwargs)) if is_tensor(result)]

    return call, [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)


def samples(info: OpInfo, dtype: torch.dtype, dynamic: bool, gradient: bool) -> list[SampleInput]:
    """The largest where sizes are symbolic: a tensor without dimensions has none."""
    torch.manual_seed(0)
    gradient = gradient and dtype in info.supported_backward_dtypes("cpu")
    every = _first(8, info, dtype, gradient)
    if dynamic:
        return sorted(every, key=elements)[-SYMBOLIC:]
    return every[:: -(-len(every) // FIXED) or 1]


def telling(info: OpInfo, dtype: torch.dtype) -> SampleInput:
    """Of its first samples one with a result, most tensors that have a layout, and the largest."""
    torch.manual_seed(0)
    return max(_first(LOOKED_AT, info, dtype), key=partial(_tells, info))


def _first(count: int, info: OpInfo, dtype: torch.dtype, gradient: bool = False) -> list[SampleInput]:
    """Without the two walks over the whole stack in which torch looks for the unittest that asks."""
    unasked = [patch.object(module, "extract_test_fn", lambda: None) for module in (core, common_utils)]
    with unasked[0], unasked[1]:
        return list(islice(info.sample_inputs("cpu", dtype, requires_grad=gradient), count))


def _tells(info: OpInfo, sample: SampleInput) -> tuple[bool, int, int, int]:
    call, tensors = positional(info, sample)
    try:
        results = sum(result.numel() for result in call(*[tensor.clone() for tensor in tensors]))
    except Exception:  # samples are not all for all dtypes
        results = 0
    return results > 0, min(_matrices(sample), 2), elements(sample), results


def _matrices(sample: SampleInput) -> int:
    leaves = tree_leaves((sample.input, sample.args, sample.kwargs))
    return sum(isinstance(leaf, torch.Tensor) and leaf.ndim >= 2 and min(leaf.shape[-2:]) > 1 for leaf in leaves)


def elements(sample: SampleInput) -> int:
    return sum(leaf.numel() for leaf in tree_leaves(sample.input) if isinstance(leaf, torch.Tensor))


def compare(got: Sequence[torch.Tensor], wanted: Sequence[torch.Tensor]) -> str | None:
    for ours, eager in zip(got, wanted, strict=True):
        tolerance = TOLERANCE.get(eager.dtype, 0.0)
        try:
            torch.testing.assert_close(ours, eager, rtol=tolerance, atol=tolerance, equal_nan=True)
        except AssertionError as error:
            return " ".join(str(error).split())[:200]
    return None
