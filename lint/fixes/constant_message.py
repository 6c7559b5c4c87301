"""`assert t, f"…{x}"` → in the graph `assert t, "…{x}"`, and `assert not t.any()` → `assert (~t).all()`.

That is what Dynamo captures; eagerly the message stays what it was.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from ..arithmetic import TRUTHS, torch_name
from ..findings import Fix
from ..search import findall
from ..slice import Slice

TITLE = "assert what Dynamo captures"
OPPOSITE = {"any": "all", "all": "any"}


def fix(found: Slice, path: str) -> Fix | None:
    statement = found.statement
    if not isinstance(statement, cst.Assert):
        return None
    test, message = _affirmed(found, statement.test), constant(found, statement.msg)
    if test is None or (statement.msg is not None and message is None):
        return None
    change = _change(found, statement, statement.with_changes(test=test, msg=message))
    return None if change is None else Fix(TITLE, "unsafe", (found.replace(path, *change),))


def _change(found: Slice, statement: cst.Assert, changed: cst.Assert) -> tuple[cst.CSTNode, cst.CSTNode] | None:
    """What takes the place of what: a message that says the same for the graph, one that does not beside the old."""
    torch, line = torch_name(found.module, found.function), found.line
    if changed.deep_equals(statement):
        return None
    if statement.msg is None or changed.msg is statement.msg:
        return statement, changed
    if torch is None or not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        return None
    otherwise = cst.Else(cst.IndentedBlock([line.with_changes(leading_lines=[])]))
    return line, in_graph(torch, cst.SimpleStatementLine([changed]), otherwise, line.leading_lines)


def in_graph(
    torch: str, inside: cst.BaseStatement, otherwise: cst.Else | cst.If, above: Sequence[cst.EmptyLine]
) -> cst.If:
    """A branch that compiled code takes, and another way for eager code."""
    test = cst.parse_expression(f"{torch}.compiler.is_compiling()")
    return cst.If(test, cst.IndentedBlock([inside]), orelse=otherwise, leading_lines=above)


def _affirmed(found: Slice, test: cst.BaseExpression) -> cst.BaseExpression | None:
    """The test without `not`; None where that has to stay."""
    match test:
        case cst.UnaryOperation(
            operator=cst.Not(),
            expression=cst.Call(func=cst.Attribute(value=bools, attr=cst.Name("any" | "all" as name)), args=[]),
        ) if m.matches(bools, TRUTHS):
            inner = f"({found.code(bools)})" if isinstance(bools, cst.Comparison) else found.code(bools)
            return cst.parse_expression(f"(~{inner}).{OPPOSITE[name]}()")
        case cst.UnaryOperation(operator=cst.Not()):
            return None
    return test


def constant(found: Slice, message: cst.BaseExpression | None) -> cst.BaseExpression | None:
    """The message with its gaps left open, as the text to be filled in is written; None for any other expression."""
    match message:
        case cst.SimpleString(prefix=prefix) if "b" not in prefix.lower():
            return message
        case cst.ConcatenatedString() if not findall(message, m.FormattedString()):
            return message
        case cst.List() | cst.Tuple() | cst.Dict() | cst.Set() | cst.Integer() | cst.Float() if _is_literal(message):
            return cst.SimpleString(repr(str(literal_eval(f"({found.code(message)})"))))
        case cst.FormattedString(start=start, parts=parts) if not _quotes_inside(message):
            text = "".join(
                part.value.replace("{{", "{").replace("}}", "}")
                if isinstance(part, cst.FormattedStringText)
                else found.tree.code_for_node(part)
                for part in parts
            )
            return cst.SimpleString(start.replace("f", "").replace("F", "") + text + message.end)
        case cst.BinaryOperation(left=cst.SimpleString() as text, operator=cst.Modulo()):
            return text
        case cst.Call(func=cst.Attribute(value=cst.SimpleString() as text, attr=cst.Name("format"))):
            return text
    return None


def _is_literal(message: cst.BaseExpression) -> bool:
    return not findall(message, m.Name() | m.Call() | m.FormattedString())


def _quotes_inside(message: cst.FormattedString) -> bool:
    """Whether a gap holds a quote or a backslash, which would end or change the plain string."""
    gaps = [part for part in message.parts if isinstance(part, cst.FormattedStringExpression)]
    code = "".join(cst.Module([]).code_for_node(gap) for gap in gaps)
    return any(character in code for character in "\"'\\\n")
