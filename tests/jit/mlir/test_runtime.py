"""Native code is called on tensors' own memory, whatever their shapes, strides and types."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest
import torch
from mlir_regions import SCALED, SCALED_SIGNATURE

from fullgraph.jit.lower.signature import Artifact, ScalarSpec, Signature, TensorSpec
from fullgraph.jit.runtime import Kernel, contiguous
from fullgraph.jit.worker import Worker

pytestmark = pytest.mark.torch


TIMES = """
func.func @main(%a: !torch.vtensor<[3],f32>, %n: !torch.int) -> !torch.vtensor<[3],f32> {
  %r = torch.aten.mul.Scalar %a, %n : !torch.vtensor<[3],f32>, !torch.int -> !torch.vtensor<[3],f32>
  return %r : !torch.vtensor<[3],f32>
}"""
TIMES_SIGNATURE = Signature((TensorSpec("float32", (3,)), ScalarSpec("int64")), (TensorSpec("float32", (3,)),))


@cache
def kernel(text: str, signature: Signature) -> Kernel:
    worker = Worker()
    artifact = worker.compile(text, signature)
    worker.close()
    assert isinstance(artifact, Artifact), artifact
    return Kernel(artifact, signature)


def doubled(shape: str, kind: str = "f32") -> str:
    tensor = f"!torch.vtensor<[{shape}],{kind}>"
    return f"""
func.func @main(%a: {tensor}) -> {tensor} {{
  %one = torch.constant.int 1
  %r = torch.aten.add.Tensor %a, %a, %one : {tensor}, {tensor}, !torch.int -> {tensor}
  return %r : {tensor}
}}"""


def same(*shape: int | None, dtype: str = "float32", strides: tuple[int, ...] | None = None) -> Signature:
    return Signature((TensorSpec(dtype, shape, strides),), (TensorSpec(dtype, shape),))


def check_doubled(run: Kernel, tensor: torch.Tensor) -> None:
    assert run.accepts([tensor])
    before = tensor.clone()
    (result,) = run.call([tensor], [tensor.shape])
    assert result.is_contiguous()
    torch.testing.assert_close(result, tensor * 2, rtol=0, atol=0)
    assert torch.equal(tensor, before)


def test_two_inputs() -> None:
    a, b = torch.randn(4), torch.randn(4)
    (result,) = kernel(SCALED, SCALED_SIGNATURE).call([a, b], [(4,)])
    torch.testing.assert_close(result, a.exp() * b)


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ("float64", "f64"),
        ("float16", "f16"),
        ("bfloat16", "bf16"),
        ("int64", "si64"),
        ("int32", "si32"),
        ("int16", "si16"),
        ("int8", "si8"),
    ],
)
def test_types(dtype: str, kind: str) -> None:
    check_doubled(kernel(doubled("3,5", kind), same(3, 5, dtype=dtype)), torch.ones(3, 5, dtype=getattr(torch, dtype)))


def test_bool_is_a_byte_on_both_sides() -> None:
    text = """
func.func @main(%a: !torch.vtensor<[3],i1>) -> !torch.vtensor<[3],i1> {
  %r = torch.aten.logical_not %a : !torch.vtensor<[3],i1> -> !torch.vtensor<[3],i1>
  return %r : !torch.vtensor<[3],i1>
}"""
    mask = torch.tensor([True, False, True])
    (result,) = kernel(text, same(3, dtype="bool")).call([mask], [(3,)])
    assert torch.equal(result, ~mask)


def test_rank_zero() -> None:
    check_doubled(kernel(doubled(""), same()), torch.tensor(2.5))


@pytest.mark.parametrize("shape", [(2, 3), (5, 1), (0, 4), (1, 0)])
def test_symbolic_sizes(shape: tuple[int, int]) -> None:
    check_doubled(kernel(doubled("?,?"), same(None, None)), torch.randn(shape))


@pytest.mark.parametrize(
    "tensor",
    [
        torch.randn(4, 3).t(),
        torch.randn(3, 8)[:, ::2],
        torch.randn(4).expand(3, 4),
        torch.randn(13)[1:].view(3, 4),
        torch.as_strided(torch.randn(10), (3, 4), (2, 1)),
        torch.nn.Parameter(torch.randn(3, 4)),
        torch._neg_view(torch.randn(3, 4)),
    ],
    ids=["transposed", "sliced", "expanded", "offset", "overlapping", "parameter", "negative"],
)
def test_inputs_of_any_strides(tensor: torch.Tensor) -> None:
    with torch.no_grad():
        check_doubled(kernel(doubled("3,4"), same(3, 4)), tensor)


def test_strides_that_were_compiled_for_need_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    run = kernel(doubled("3,4"), same(3, 4, strides=(1, 3)))
    check_doubled(run, torch.randn(3, 4))
    monkeypatch.setattr(torch.Tensor, "copy_", None)
    monkeypatch.setattr(torch.Tensor, "contiguous", None)
    check_doubled(run, torch.randn(4, 3).t())


def test_numbers() -> None:
    run = kernel(TIMES, TIMES_SIGNATURE)
    (result,) = run.call([torch.ones(3), -7], [(3,)])
    assert result.tolist() == [-7.0] * 3
    assert not run.accepts([torch.ones(3), 1 << 63])
    assert not run.accepts([torch.ones(3), 1.5])


@pytest.mark.parametrize(
    "inputs",
    [
        [],
        [torch.ones(3, 4), torch.ones(3, 4)],
        [3.0],
        [torch.ones(3, 5)],
        [torch.ones(12)],
        [torch.ones(3, 4, dtype=torch.float64)],
        [torch.ones(3, 4, device="meta")],
        [torch.ones(3, 4).to_sparse()],
    ],
)
def test_what_was_not_compiled_for_is_not_accepted(inputs: list[object]) -> None:
    assert not kernel(doubled("3,4"), same(3, 4)).accepts(inputs)


def test_tensors_of_other_classes_are_not_accepted() -> None:
    class Own(torch.Tensor):
        pass

    assert not kernel(doubled("3,4"), same(3, 4)).accepts([torch.ones(3, 4).as_subclass(Own)])


def test_a_guard_takes_inputs_like_those_it_was_made_of_and_no_others() -> None:
    class Own(torch.Tensor):
        pass

    guard = kernel(doubled("3,4"), same(3, 4)).guard([torch.ones(3, 4)])
    assert guard is not None
    assert guard(torch.zeros(3, 4))
    others = [
        *(torch.ones(4, 3).t(), torch.ones(3, 5), torch.ones(12), torch.ones(3, 8)[:, ::2]),
        *(torch.ones(3, 4, dtype=torch.float64), torch.ones(3, 4, device="meta"), torch.ones(3, 4).to_sparse()),
        *(torch._neg_view(torch.ones(3, 4)), torch.ones(3, 4).as_subclass(Own)),
    ]
    assert not any(map(guard, others))


@pytest.mark.parametrize("inputs", [[torch.ones(4, 3).t()], [torch._neg_view(torch.ones(3, 4))]])
def test_inputs_that_have_to_be_laid_out_anew_make_no_guard(inputs: list[torch.Tensor]) -> None:
    run = kernel(doubled("3,4"), same(3, 4))
    assert run.accepts(inputs)
    assert run.guard(inputs) is None


def test_symbolic_sizes_and_numbers_make_no_guard() -> None:
    assert kernel(doubled("?,?"), same(None, None)).guard([torch.ones(3, 4)]) is None
    assert kernel(TIMES, TIMES_SIGNATURE).guard([torch.ones(3), -7]) is None


def test_threads() -> None:
    run = kernel(doubled("?,?"), same(None, None))

    def work(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for size in range(1, 200):
            check_doubled(run, torch.randn(size, seed, generator=generator))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(1, 5)))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4), (2, 0, 3), (1, 1), (4, 1, 5)])
def test_contiguous_strides_are_torchs(shape: tuple[int, ...]) -> None:
    assert contiguous(shape) == torch.empty(shape).stride()
