"""Conditions: decide a test where its value is known, report it where only the running tensor knows, narrow what it
implies.
"""

from __future__ import annotations

from msgspec.structs import replace

from ..facts import Branch
from ..guards import Kind
from ..ir import Block, Node
from ..values import (
    CONTAINERS,
    NONE,
    UNKNOWN,
    Class,
    Const,
    External,
    ExternalObject,
    Host,
    Instance,
    Mapping,
    Maybe,
    Scalar,
    Sequence,
    SizeInt,
    Tensor,
    Tuple_,
    Value,
    kind_of,
    known,
    truth_of,
)
from . import expressions, protocols, statements
from .frame import Frame

ORIGIN_TRAINING = "training"
TYPE_CHECKING = External("typing.TYPE_CHECKING")
SIZE_TEST = Host("bool", "size")
"""A comparison of sizes."""


def test(frame: Frame, node: Node, construct: str, negated: bool = False) -> bool | None:
    """Evaluate `node` as a condition: its truth where decided; facts for the parts that need a tensor's value."""
    match node[0]:
        case "bool":
            return _connective(frame, node, construct, negated)
        case "unary" if node[2] == "not":
            inner = test(frame, node[3], construct, not negated)
            return None if inner is None else not inner
        case "cmp" if len(node[3]) == 1 and node[3][0] in ("is", "is not"):
            return _identity(frame, node)
    value = expressions.evaluate(frame, node)
    return truth(frame, node, value, construct, negated)


def truth(frame: Frame, node: Node, value: Value, construct: str, negated: bool = False) -> bool | None:
    """The truth of an evaluated condition; reports a branch that Python can't take without the tensor's value."""
    if isinstance(value, Maybe):
        inner = truth(frame, node, value.value, construct, negated)
        return False if inner is False else None
    if isinstance(value, (Tensor, Scalar)):
        frame.observe(Branch(node[1], value, construct, negated))
        frame.tested = "tensor"
        return None
    if isinstance(value, Instance):
        return protocols.truth(frame, node[1], value)
    if isinstance(value, ExternalObject):
        protocols.special(frame, node[1], value, "__bool__")
    if value == TYPE_CHECKING:
        return False
    frame.tested = "size" if isinstance(value, SizeInt) or value == SIZE_TEST else "host"
    outcome = truth_of(value)
    if outcome is not None:
        frame.guard(Kind.BRANCH, node[1], outcome)
    return outcome


def is_training(frame: Frame, node: Node) -> bool:
    """Whether the condition is `self.training` or its negation, both of which programs run."""
    inner = node[3] if node[0] == "unary" else node
    value = expressions.peek(frame, inner) if inner[0] in ("attr", "name") else UNKNOWN
    return isinstance(value, Host) and value.origin == ORIGIN_TRAINING


def _connective(frame: Frame, node: Node, construct: str, negated: bool) -> bool | None:
    """`a and b`, `a or b`: later parts run only when the earlier ones let them, and know what those imply."""
    decides = node[2] == "or"
    before, when, conditions, doubts = dict(frame.env), frame.when, frame.conditions, frame.doubts
    outcome: bool | None = not decides
    for part in node[3]:
        value = test(frame, part, construct, negated)
        if value is decides:
            outcome = decides if outcome is not None else None
            break
        if value is None:
            outcome = None
            frame.conditions = conditions + 1
            frame.doubts = max(frame.doubts, doubts + (frame.tested == "host"))
        narrow(frame, part, not decides)
    frame.env, frame.when, frame.conditions, frame.doubts = before, when, conditions, doubts
    return outcome


def _identity(frame: Frame, node: Node) -> bool | None:
    """`a is b`, `a is not b`: never breaks, and is decided when one side is None."""
    left = expressions.evaluate(frame, node[2])
    right = expressions.evaluate(frame, node[4][0])
    same: bool | None = None
    if right == NONE:
        same = is_none(left)
    elif isinstance(left, Const) and isinstance(right, Const):
        same = left == right
    if same is None:
        return None
    frame.guard(Kind.BRANCH, node[1], same)
    positive: bool = node[3][0] == "is"
    return same == positive


def is_none(value: Value) -> bool | None:
    match value:
        case Const(value=None):
            return True
        case Maybe() | Host(kind="") | Host(kind="NoneType"):
            return None
    return None if value == UNKNOWN else False


def narrow(frame: Frame, node: Node, outcome: bool) -> None:
    """Let the frame's variables know that `node` came out as `outcome`."""
    match node[0]:
        case "unary" if node[2] == "not":
            narrow(frame, node[3], not outcome)
        case "bool":
            if (node[2] == "and") == outcome:
                for part in node[3]:
                    narrow(frame, part, outcome)
        case "cmp" if len(node[3]) == 1:
            _narrow_comparison(frame, node, outcome)
        case "call":
            _narrow_call(frame, node, outcome)
        case "name" | "attr":
            _narrow_truthy(frame, node, outcome)
        case "named":
            narrow(frame, node[2], outcome)


def _narrow_comparison(frame: Frame, node: Node, outcome: bool) -> None:
    operator, right = node[3][0], node[4][0]
    if operator in ("is", "is not") and right[0] == "const" and right[2] is None:
        _narrow_none(frame, node[2], (operator == "is") == outcome)
    elif operator in ("==", "!=") and (operator == "==") == outcome:
        _narrow_dtype(frame, node[2], right)


def _narrow_none(frame: Frame, subject: Node, none: bool) -> None:
    path = expressions.path_of(subject)
    if path is None:
        return
    value = expressions.peek(frame, subject)
    frame.env[path] = NONE if none else known(value)
    if not none and isinstance(value, Maybe) and value.origin:
        frame.when = replace(frame.when, given=tuple(dict.fromkeys((*frame.when.given, value.origin))))


def _narrow_dtype(frame: Frame, left: Node, right: Node) -> None:
    """`x.dtype == torch.float16`: what follows holds for that dtype only."""
    if left[0] == "attr" and left[3] == "dtype":
        dtype = expressions.peek(frame, right)
        if isinstance(dtype, External):
            frame.when = replace(frame.when, dtype=dtype.name.rpartition(".")[2])


def _narrow_truthy(frame: Frame, node: Node, outcome: bool) -> None:
    path = expressions.path_of(node)
    if path is None:
        return
    value = expressions.peek(frame, node)
    match value:
        case Maybe() if outcome:
            _narrow_none(frame, node, False)
        case Host(origin=origin) if origin == ORIGIN_TRAINING:
            frame.when = replace(frame.when, training=outcome)
        case Host(kind="bool"):
            frame.env[path] = Const(outcome)


def _narrow_call(frame: Frame, node: Node, outcome: bool) -> None:
    function = expressions.peek(frame, node[2])
    match function:
        case External(name="builtins.isinstance") if len(node[3]) == 2:
            subject, classes = node[3]
            _narrow_isinstance(frame, subject, expressions.peek(frame, classes), outcome)
        case External(name="torch.is_tensor") if node[3]:
            _narrow_isinstance(frame, node[3][0], External("torch.Tensor"), outcome)


def _narrow_isinstance(frame: Frame, subject: Node, classes: Value, outcome: bool) -> None:
    path = expressions.path_of(subject)
    if path is None:
        return
    value = expressions.peek(frame, subject)
    narrowed = _as_instance(value, classes) if outcome else _not_instance(value, classes)
    if narrowed is not None:
        frame.env[path] = narrowed


def _as_instance(value: Value, classes: Value) -> Value | None:
    if kind_of(known(value)) in class_names(classes):
        return known(value)
    match classes:
        case External(name="torch.Tensor" | "torch.nn.Parameter"):
            return Tensor()
        case External(name=name) if name.startswith("builtins."):
            kind = name.removeprefix("builtins.")
            return (
                Sequence(UNKNOWN, kind)
                if kind in CONTAINERS - {"dict"}
                else Mapping()
                if kind == "dict"
                else Host(kind)
            )
        case Class(symbol=symbol):
            return value if isinstance(value, Instance) else Instance(symbol)
    return UNKNOWN


def _not_instance(value: Value, classes: Value) -> Value | None:
    """A value that isn't of these classes: an assumed tensor is no tensor after all."""
    if "Tensor" in class_names(classes) and isinstance(known(value), Tensor):
        return UNKNOWN
    return None


def isinstance_of(value: Value, classes: Value) -> bool | None:
    """The result of `isinstance(value, classes)` where it is decided."""
    names = class_names(classes)
    if not names or isinstance(value, Maybe) or (isinstance(value, Tensor) and not value.sure):
        return None
    kind = "NoneType" if value == NONE else kind_of(value)
    if isinstance(value, Instance) or not kind:
        return None
    if kind in names or (kind == "bool" and "int" in names):
        return True
    plain = all(name in _PLAIN_KINDS for name in names)
    return False if plain and kind in _PLAIN_KINDS else None


_PLAIN_KINDS = CONTAINERS | {"int", "float", "bool", "str", "bytes", "complex", "NoneType", "Tensor", "ndarray"}


def class_names(classes: Value) -> tuple[str, ...]:
    """Short names of the classes in `isinstance`'s second argument; empty where some are unknown."""
    match classes:
        case External(name="torch.Tensor" | "torch.FloatTensor" | "torch.LongTensor"):
            return ("Tensor",)
        case External(name="numpy.ndarray"):
            return ("ndarray",)
        case External(name=name):
            return (name.rpartition(".")[2],) if name.startswith("builtins.") else (name,)
        case Class(symbol=symbol):
            return (symbol.qualname,)
        case Tuple_(items=items):
            found = [class_names(item) for item in items]
            return () if () in found else tuple(name for names in found for name in names)
    return ()


def check_assert(frame: Frame, node: Node) -> None:
    """An assert on a tensor is captured when its message is absent or a plain string, and no `not` turns its jump
    around.
    """
    condition, message = node[2], node[3]
    said = None if message is None else expressions.peek(frame, message)  # runs only when the assert fails
    for part, negated in _assert_parts(condition, False):
        value = known(expressions.evaluate(frame, part))
        if isinstance(value, (Tensor, Scalar)):
            frame.observe(Branch(part[1], value, "assert", negated, said))


def _assert_parts(node: Node, negated: bool) -> list[tuple[Node, bool]]:
    match node[0]:
        case "unary" if node[2] == "not":
            return _assert_parts(node[3], not negated)
        case "bool":
            return [part for value in node[3] for part in _assert_parts(value, negated)]
    return [(node, negated)]


def run_rarely(frame: Frame, body: Block) -> None:
    """Interpret an exception handler for its bindings; what it calls is not reported."""
    traced, frame.traced = frame.traced, False
    statements.run(frame, body)
    frame.traced = traced
