"""What is changed from call to call, and how arguments are made up that nobody gave."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from fullgraph.jit import infer  # noqa: E402
from fullgraph.jit.inputs import TensorSpec, parse  # noqa: E402
from fullgraph.jit.targets import VARIATIONS, TargetError  # noqa: E402
from fullgraph.jit.vary import KINDS, Call, Variation, variations  # noqa: E402

pytestmark = pytest.mark.torch


class Net(torch.nn.Module):
    """A net.

    x: (batch, 4)
    """

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)
        self.d = 6

    def forward(self, x: Any, d: Any = None) -> Any:
        return self.layer(x)


def call(*args: Any, module: Any = None, **kwargs: Any) -> Call:
    return Call(args, kwargs, module)


def changed(kind: str, base: Call) -> list[Variation]:
    return list(variations(kind, base))


def test_every_kind_that_is_offered_exists() -> None:
    assert tuple(KINDS) == VARIATIONS


@pytest.mark.parametrize(("kind", "shapes"), [("batch", [(3, 4), (4, 4), (7, 4)]), ("seq", [(2, 5), (2, 6), (2, 9)])])
def test_sizes_grow_everywhere_and_integers_stay_valid(kind: str, shapes: list[tuple[int, ...]]) -> None:
    base = call(torch.ones(2, 4), {"ids": [torch.tensor([[5, 1, 0, 9], [5, 1, 0, 9]])]}, torch.tensor(3))
    found = changed(kind, base)
    assert [tuple(item.call.args[0].shape) for item in found] == shapes
    assert [tuple(item.call.args[1]["ids"][0].shape) for item in found] == shapes
    assert {int(value) for item in found for value in item.call.args[1]["ids"][0].flatten()} == {5, 1, 0, 9}
    assert all(item.call.args[2].shape == () for item in found)


def test_there_may_be_nothing_to_change() -> None:
    base = call(torch.tensor(1), "text"[:0] or None)
    assert {kind: len(changed(kind, base)) for kind in VARIATIONS} == {
        "batch": 0,
        "seq": 0,
        "dtype": 0,
        "strides": 0,
        "mode": 0,
        "grad": 1,
        "scalars": 0,
    }


def test_types_change_with_the_module_and_change_back() -> None:
    net = Net()
    (found,) = changed("dtype", call(torch.ones(2, 4), torch.ones(2, dtype=torch.int64), module=net))
    assert found.change == "float32 → bfloat16"
    assert [tensor.dtype for tensor in found.call.tensors] == [torch.bfloat16, torch.int64]
    with found.call.around():
        assert net.layer.weight.dtype is torch.bfloat16
    assert net.layer.weight.dtype is torch.float32


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4)])
def test_strides_change_and_values_do_not(shape: tuple[int, ...]) -> None:
    tensor = torch.randn(shape)
    (found,) = changed("strides", call(tensor))
    assert not found.call.args[0].is_contiguous()
    assert torch.equal(found.call.args[0], tensor)


def test_modes() -> None:
    net = Net().eval()
    there, back = changed("mode", call(module=net))
    with there.call.around():
        assert net.training
    with back.call.around():
        assert not net.training


def test_gradients() -> None:
    without, requiring = changed("grad", call(torch.ones(2), torch.ones(2, dtype=torch.int64)))
    with without.call.around():
        assert not torch.is_grad_enabled()
    assert [tensor.requires_grad for tensor in requiring.call.tensors] == [True, False]


def test_scalars_change_one_by_one() -> None:
    found = changed("scalars", call(torch.ones(2), [1, {"a": 0.5}], flag=True, name="x", none=None))
    assert [(item.label, item.change) for item in found] == [
        ("scalars: argument 2[0]", "1 → 2"),
        ("scalars: argument 2[0]", "1 → 3"),
        ("scalars: argument 2[0]", "1 → 4"),
        ("scalars: argument 2[1]['a']", "0.5 → 1.0"),
        ("scalars: argument 2[1]['a']", "0.5 → 1.5"),
        ("scalars: argument 2[1]['a']", "0.5 → 2.0"),
        ("scalars: flag", "True → False"),
        ("scalars: name", "'x' → 'x_'"),
        ("scalars: name", "'x' → 'x__'"),
        ("scalars: name", "'x' → 'x___'"),
    ]
    assert found[0].call.args[1] == [2, {"a": 0.5}]


def guess(source: str, name: str = "f") -> dict[str, str]:
    """What is made up for a function's parameters, as the user is told."""
    namespace: dict[str, Any] = {"torch": torch}
    exec("from __future__ import annotations\n" + source, namespace)
    told = infer.arguments(namespace[name], (), {}, name).remarks
    return dict(remark.split(": ", 1) for remark in told)


@pytest.mark.parametrize(
    ("annotation", "made"),
    [
        ('Float[Tensor, "batch 3 h w"]', "f32[2,3,32,32]"),
        ('jaxtyping.Int64[torch.Tensor, "b n"]', "i64[2,2]"),
        ('BFloat16[Tensor, "2*b b+1 7//2 rows=5"]', "bf16[4,3,3,5]"),
        ('Bool[Tensor, "*batch #d _ ..."]', "bool[2,8,8]"),
        ('UInt8[Tensor, ""]', "u8[]"),
        ('Float[Tensor, "b"] | None', "f32[2]"),
    ],
)
def test_annotations_say_what_a_tensor_is(annotation: str, made: str) -> None:
    assert guess(f"def f(x: {annotation}): pass")["x"].startswith(f"{made}, from its annotation")


@pytest.mark.parametrize(
    ("doc", "made"),
    [
        ("x: (batch, seq, 4)", "f32[2,8,4]"),
        ("x (Tensor): shape (B, T)", "f32[2,8]"),
        ("x (torch.LongTensor, optional): `(batch, 3)`", "i64[2,3]<10"),
        (":param x: of [N, C, H, W]", "f32[2,3,32,32]"),
        ("x : Tensor\n        the indices, (batch,)", "i64[2]<10"),
    ],
)
def test_docstrings_say_what_a_tensor_is(doc: str, made: str) -> None:
    assert guess(f'def f(x):\n    """Do.\n\n    {doc}\n    """')["x"].startswith(f"{made}, from the docstring's")


def test_one_name_is_one_size_and_a_module_knows_better() -> None:
    class Own(Net):
        def forward(self, x: Float[torch.Tensor, "b d"], y: Float[torch.Tensor, "d b"] = None) -> Any:  # type: ignore[override] # noqa: F722, F821
            return x

    assert infer.arguments(Own(), (), {}, "Own").args == ()
    assert tuple(infer.arguments(Own(), (), {}, "Own").kwargs["x"].shape) == (2, 6)


def test_the_docstring_of_the_class_counts_for_forward() -> None:
    assert tuple(infer.arguments(Net(), (), {}, "Net").kwargs["x"].shape) == (2, 4)


def test_a_module_may_bring_its_inputs() -> None:
    net = Net()
    net.example_input_array = torch.ones(3, 4)  # type: ignore[assignment]
    found = infer.arguments(net, (), {}, "Net")
    assert (found.args[0].shape, found.remarks) == ((3, 4), ("inputs: the module's own example_input_array",))


@pytest.mark.parametrize(
    "source", ["def f(x): pass", "def f(x: torch.Tensor): pass", 'def f(x):\n    """x: a (thing)"""']
)
def test_what_nobody_says_has_to_be_given(source: str) -> None:
    with pytest.raises(TargetError, match=re.escape("f: nothing says what 'x' is; give it with --input 'x=f32[8,64]'")):
        guess(source)


def test_only_what_is_required_is_made_up() -> None:
    def f(a: Any, b: Float[torch.Tensor, "n 1"], /, c: Any = 1, *args: Any, **kwargs: Any) -> None: ...  # type: ignore[name-defined] # noqa: F722, F821

    found = infer.arguments(f, (1,), {}, "f")
    assert (found.args[0], tuple(found.args[1].shape), found.kwargs) == (1, (2, 1), {})
    with pytest.raises(TargetError, match="f: too many positional arguments; it takes"):
        infer.arguments(lambda a: a, (1, 2), {}, "f")


@pytest.mark.parametrize(
    ("value", "args", "kwargs"),
    [
        ((1, 2), (1, 2), {}),
        ({"a": 1}, (), {"a": 1}),
        (((1,), {"a": 2}), (1,), {"a": 2}),
        (([1, 2], {}), (1, 2), {}),
        ([3], (3,), {}),
        (4, (4,), {}),
    ],
)
def test_what_a_function_of_inputs_may_return(value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    assert infer.spread(value) == (args, kwargs)


class Config:
    def __init__(self, dim: int = 4) -> None:
        self.dim = dim


class Strict:
    def __init__(self, dim: int) -> None: ...


@pytest.mark.parametrize(
    ("annotation", "made"),
    [
        (Config, Config),
        ("Config", Config),
        (Strict, type(None)),
        (int, type(None)),
        (inspect.Parameter.empty, type(None)),
    ],
)
def test_a_configuration_is_made_if_its_class_has_defaults(annotation: Any, made: type) -> None:
    parameter = inspect.Parameter("config", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation)
    assert type(infer.configuration(parameter, test_modes)) is made


def test_guesses_are_told_in_the_language_of_inputs() -> None:
    spec = TensorSpec("int64", (2, 3), 10)
    assert parse(infer.shown(spec)).value == spec  # type: ignore[union-attr]
