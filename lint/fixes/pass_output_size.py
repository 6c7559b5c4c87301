"""`x.repeat_interleave(r, dim=d)` with a tensor of repeats → the same with `output_size`, where the code shows it.

That is so for repeats written out as numbers or by `torch.full`, and where the result meets a tensor in arithmetic,
which has to have that many rows.
"""

from __future__ import annotations

from ast import literal_eval

import libcst as cst
import libcst.matchers as m

from ..arithmetic import Scope
from ..blocks import around
from ..findings import Fix
from ..joining import EXACT
from ..slice import Slice

NUMBERS = m.List([m.ZeroOrMore(m.Element(m.Integer()))])
COUNT = m.Integer() | m.Name() | m.Attribute(value=m.Name("self"))
DIMENSION = m.Integer() | m.UnaryOperation(m.Minus(), m.Integer())


def fix(found: Slice, path: str) -> Fix | None:
    call, function = found.underlined, found.function
    if function is None or not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    given = _repeats(call)
    if given is None or any(arg.star for arg in call.args):
        return None
    size = _total(found, given) or _partner(found, Scope(found, function), function, call)
    if size is None:
        return None
    keyword = cst.ensure_type(cst.parse_expression(f"f(output_size={size})"), cst.Call).args[0]
    last = call.args[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    changed = call.with_changes(args=[*call.args[:-1], last, keyword])
    return Fix("pass `output_size`", "unsafe", (found.replace(path, call, changed),))


def _repeats(call: cst.Call) -> cst.BaseExpression | None:
    """The tensor of repeats: the second argument of the function, the first of the method."""
    named = [arg.value for arg in call.args if m.matches(arg, m.Arg(keyword=m.Name("repeats")))]
    placed = [arg.value for arg in call.args if arg.keyword is None]
    own = m.matches(call.func, m.Attribute(value=m.Name("torch")))
    return next(iter([*named, *placed[1 if own else 0 :][:1]]), None)


def _total(found: Slice, repeats: cst.BaseExpression) -> str | None:
    """The sum of repeats that are written out."""
    function = found.function
    assert function is not None
    written = Scope(found, function).value_of(repeats.value) if isinstance(repeats, cst.Name) else repeats
    match written:
        case cst.Call(
            func=cst.Attribute(value=cst.Name("torch"), attr=cst.Name("tensor")), args=[cst.Arg(value=numbers), *_]
        ) if m.matches(numbers, NUMBERS):
            return str(sum(literal_eval(found.code(numbers))))
        case cst.Call(
            func=cst.Attribute(value=cst.Name("torch"), attr=cst.Name("full")),
            args=[cst.Arg(value=cst.Tuple(elements=[cst.Element(value=rows)])), cst.Arg(value=each), *_],
        ) if m.matches(rows, COUNT | _length()) and m.matches(each, COUNT):
            return f"{found.code(rows)} * {found.code(each)}"
    return None


def _length() -> m.Subscript:
    """`x.shape[0]`."""
    return m.Subscript(value=m.Attribute(value=m.Name(), attr=m.Name("shape")))


def _partner(found: Slice, scope: Scope, function: cst.FunctionDef, call: cst.Call) -> str | None:
    """The size, in the dimension of the repeats, of a tensor that the result meets."""
    dimensions = [arg.value for arg in call.args if m.matches(arg, m.Arg(keyword=m.Name("dim"), value=DIMENSION))]
    match around(function, call)[-1]:
        case cst.BinaryOperation(left=left, operator=operator, right=right) if isinstance(operator, EXACT):
            other = right if left is call else left
            if isinstance(other, cst.Name) and scope.is_tensor(other) and dimensions:
                return f"{other.value}.shape[{found.code(dimensions[0])}]"
    return None
