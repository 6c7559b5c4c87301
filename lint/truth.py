"""A test that Python would read → a tensor that says the same and stays in the graph.

Importing this module imports libcst.
"""

from __future__ import annotations

import math

import libcst as cst
import libcst.matchers as m

from .arithmetic import TRUTHS, Scope
from .search import findall, names_in
from .slice import Slice

WHOLE = m.Call(func=m.Attribute(attr=m.Name("any") | m.Name("all")))
"""Of bool tensors they are bool tensors."""
UNREADABLE = m.NamedExpr() | m.Await() | m.Yield() | m.Lambda() | m.GeneratorExp() | m.ListComp()
"""What may not move, or runs at another time."""
NUMBERS = (
    m.Call(func=m.Name())
    | m.Call(func=m.Attribute(value=m.Name("math")))
    | m.Call(func=m.Attribute(attr=m.Name("equal") | m.Name("is_nonzero") | m.Name("tolist")))
)
"""What gives Python values, however it is written."""
NUMPY = m.Name("np") | m.Name("numpy")
"""An array, which is a tensor in the graph only; `numpy` is the method's name as well."""
PLAIN = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)
"""Expressions that need no parentheses after a sign or before a dot."""
ORDERED = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual, cst.Equal, cst.NotEqual)


class Truth:
    """Tests in the statement of a finding, which says of one expression that it is a tensor."""

    def __init__(self, found: Slice, scope: Scope) -> None:
        self._found = found
        self._scope = scope
        self._seen = found.underlined

    def of(self, test: cst.BaseExpression) -> str | None:
        """A tensor of one element that is true where the test is; None where none surely is."""
        match test:
            case cst.UnaryOperation(operator=cst.Not(), expression=inner):
                return self.opposite(inner)
            case cst.BooleanOperation(left=left, operator=operator, right=right):
                sides = [self.of(side) if self._is_bool(side) else None for side in (left, right)]
                sign = "&" if isinstance(operator, cst.And) else "|"
                return None if None in sides else f" {sign} ".join(f"({side})" for side in sides)
        return self._text(test) if self._is_tensor(test) else None

    def opposite(self, test: cst.BaseExpression) -> str | None:
        """The same where the test is false."""
        match test:
            case cst.UnaryOperation(operator=cst.Not(), expression=inner):
                return self.of(inner)
        text = self.of(test) if self._is_bool(test) else None
        return None if text is None else f"~{text}" if isinstance(test, PLAIN) else f"~({text})"

    def _text(self, test: cst.BaseExpression) -> str:
        return self._found.code(kept(test))

    def _is_tensor(self, test: cst.BaseExpression) -> bool:
        tensor = kept(test)
        if findall(tensor, UNREADABLE | NUMBERS) or self._is_foreign(tensor):
            return False
        return self._is_seen(test) or self._scope.is_scalar_test(test) or self._compares_seen(test)

    def _is_foreign(self, test: cst.CSTNode) -> bool:
        names = [node.value for node in names_in(test)]
        values = [value for name in names for value in self._scope.values_of(name) if value is not None]
        return any(findall(part, NUMPY) for part in (test, *values))

    def _is_seen(self, test: cst.BaseExpression) -> bool:
        return self._seen is not None and test.deep_equals(self._seen)

    def _compares_seen(self, test: cst.BaseExpression) -> bool:
        match test:
            case cst.Comparison(left=left, comparisons=[target]) if isinstance(target.operator, ORDERED):
                return self._is_seen(left) or self._is_seen(target.comparator)
        return False

    def _is_bool(self, test: cst.BaseExpression) -> bool:
        """Whether it is a bool tensor, of which `~` is the opposite."""
        match test:
            case cst.UnaryOperation(operator=cst.Not(), expression=inner):
                return self._is_bool(inner)
            case cst.BooleanOperation(left=left, right=right):
                return self._is_bool(left) and self._is_bool(right)
            case cst.Name(value=name):
                value = self._scope.value_of(name)
                return value is not None and self._scope.is_scalar_test(value)
        return m.matches(kept(test), TRUTHS | WHOLE)


def kept(expression: cst.BaseExpression) -> cst.BaseExpression:
    """A test with its values left in tensors: `.item()`, `bool()`, `float()` and `allclose` need not be read.

    A number that is reckoned with or compared becomes a double, as it was in Python.
    """
    changed = expression.visit(_Kept())
    assert isinstance(changed, cst.BaseExpression)
    return changed


class _Kept(cst.CSTTransformer):
    def __init__(self) -> None:
        super().__init__()
        self._depth = 0
        self._plain: set[cst.BaseExpression] = set()
        """Operands that no rounding could part from what they are compared with."""

    def visit_Comparison(self, node: cst.Comparison) -> None:
        self._depth += 1
        match node:
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(comparator=right)]):
                self._plain |= {one for one, other in ((left, right), (right, left)) if _in_all_dtypes(other)}

    def leave_Comparison(self, original_node: cst.Comparison, updated_node: cst.Comparison) -> cst.BaseExpression:
        self._depth -= 1
        return updated_node

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        self._depth += 1

    def leave_BinaryOperation(
        self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation
    ) -> cst.BaseExpression:
        self._depth -= 1
        return updated_node

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        match updated_node:
            case (
                cst.Call(func=cst.Attribute(value=tensor, attr=cst.Name("item")), args=[])
                | cst.Call(func=cst.Name("float"), args=[cst.Arg(value=cst.BaseExpression() as tensor, star="")])
            ):
                alone = tensor if isinstance(tensor, PLAIN) or tensor.lpar else _parenthesised(tensor)
                exact = self._depth == 0 or original_node in self._plain
                return alone if exact else cst.Call(cst.Attribute(alone, cst.Name("double")))
            case cst.Call(func=cst.Name("bool"), args=[cst.Arg(value=cst.BaseExpression() as value, star="")]):
                return value if isinstance(value, PLAIN) or value.lpar else _parenthesised(value)
            case cst.Call(func=cst.Attribute(attr=cst.Name("allclose") as name) as method):
                near = updated_node.with_changes(func=method.with_changes(attr=name.with_changes(value="isclose")))
                return cst.Call(cst.Attribute(near, cst.Name("all")))
        return updated_node


def _in_all_dtypes(expression: cst.BaseExpression) -> bool:
    """Whether it is a number that every dtype of tensors can hold, or a wider one that they are promoted to."""
    match expression:
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Float() as inner):
            return _in_all_dtypes(inner)
        case cst.Integer():
            return expression.evaluated_value <= 127
        case cst.Float():
            digits, exponent = math.frexp(expression.evaluated_value)
            return (digits * 256).is_integer() and -13 <= exponent <= 15
        case cst.Name("True" | "False"):
            return True
    return False


def _parenthesised(value: cst.BaseExpression) -> cst.BaseExpression:
    return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
