"""`if torch.rand(()) < p: continue` in a loop over layers → the layer runs, and `torch.where` takes its result or not.

The draw is made where it was made; the layer runs when it is left out as well, so that it draws what it draws, and its
parameters get gradients of zero in place of none. Legal only where what follows in the loop is plain assignments of
pure expressions, and what they give to the next round are tensors. What a flag decides to do at the loop's end, such as
collecting attentions, keeps the `continue` as it is where it is set.
"""

from __future__ import annotations

import libcst as cst

from ..arithmetic import torch_name
from ..blocks import lines_of, only
from ..findings import Fix
from ..masking import PYTHON_DRAW, Layers, line, loop_around
from ..search import findall
from ..slice import Slice
from ..ways import fresh_name

TITLE = "leave the layer out by a mask"


def fix(found: Slice, path: str) -> Fix | None:
    torch, function, branch = torch_name(found.module, found.function), found.function, found.statement
    if torch is None or function is None or not isinstance(branch, cst.If) or branch.orelse is not None:
        return None
    where = loop_around(found, branch)
    if where is None or not isinstance(only(branch.body), cst.Continue) or findall(branch.test, PYTHON_DRAW):
        return None
    loop, inside = where
    new = _masked(found, Layers(found, function, torch, loop), loop, branch, inside)
    return None if new is None else Fix(TITLE, "unsafe", (found.replace(path, loop.body, new),))


def _masked(
    found: Slice, layers: Layers, loop: cst.For, branch: cst.If, inside: list[cst.CSTNode]
) -> cst.IndentedBlock | None:
    body, drop = loop.body, fresh_name(found, "drop")
    asked, draw = _parts(branch)
    extras: list[cst.If] = []
    match inside:
        case [cst.IndentedBlock()]:
            header: cst.BaseStatement = branch
            choice = "" if asked is None else f" if {found.code(asked)} else None"
            drawn: list[cst.BaseStatement] = [_drawn(branch, f"{drop} = {found.code(draw)}{choice}")]
            decided = None if asked is None else f"{drop} is not None"
        case [cst.IndentedBlock(), cst.If(orelse=None) as header, cst.IndentedBlock() as block] if (
            block.body[-1] is branch
        ):
            extras = _extras(layers, loop)
            last = _unless(extras, branch, _drawn(branch, f"{drop} = {found.code(branch.test)}"))
            drawn = [
                line(f"{drop} = None"),
                header.with_changes(body=block.with_changes(body=[*block.body[:-1], last])),
            ]
            decided = f"{drop} is not None"
        case _:
            return None
    assert isinstance(body, cst.IndentedBlock)
    at = [other is header for other in body.body].index(True)
    rest = body.body[at + 1 : len(body.body) - len(extras)]
    chosen = layers.chosen(rest, drop, decided, apart=extras)
    return None if chosen is None else body.with_changes(body=[*body.body[:at], *drawn, *chosen, *extras])


def _extras(layers: Layers, loop: cst.For) -> list[cst.If]:
    """The last statements of the loop's body that a flag decides about, one that the loop does not change."""
    found: list[cst.If] = []
    for part in reversed(lines_of(loop.body)):
        match part:
            case cst.If(test=cst.Name(value=name), orelse=None) if layers.is_settled(name):
                found.insert(0, part)
            case _:
                break
    return found


def _unless(extras: list[cst.If], branch: cst.If, drawn: cst.BaseStatement) -> cst.BaseStatement:
    """The branch as it is where anything extra is asked for."""
    if not extras:
        return drawn
    tests = dict.fromkeys(cst.ensure_type(extra.test, cst.Name).value for extra in extras)
    bare, other = branch.with_changes(leading_lines=()), drawn.with_changes(leading_lines=())
    asked = cst.parse_expression(" or ".join(tests))
    return cst.If(
        asked, cst.IndentedBlock([bare]), cst.Else(cst.IndentedBlock([other])), leading_lines=branch.leading_lines
    )


def _parts(branch: cst.If) -> tuple[cst.BaseExpression | None, cst.BaseExpression]:
    """What Python decides, and the draw."""
    match branch.test:
        case cst.BooleanOperation(left=left, operator=cst.And(), right=right):
            return left, right
    return None, branch.test


def _drawn(branch: cst.If, code: str) -> cst.SimpleStatementLine:
    """The line in the branch's place, with the comments above and beside it."""
    beside = branch.body.header if isinstance(branch.body, cst.IndentedBlock) else cst.TrailingWhitespace()
    return line(code).with_changes(leading_lines=branch.leading_lines, trailing_whitespace=beside)
