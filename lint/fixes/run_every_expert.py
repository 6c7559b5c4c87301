"""A loop over the experts that some token chose → over all of them, each on all tokens, whose results count or not.

`hit = (mask.sum(…) > 0).nonzero()`, `for expert in hit:`, `slot, token = torch.where(mask[expert])`, and at the end
`out.index_add_(0, token, y)` become a loop over `range(mask.shape[0])` that takes every pair of a slot and a token, and
adds `torch.where(chosen, y, 0)`. Legal only where the places picked are used to pick and to add alone, and where the
rest of the loop leaves it to the experts: what they make of one row may not depend on the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from ..arithmetic import Scope, torch_name
from ..blocks import around, lines_of, single
from ..findings import Fix
from ..joining import reads_of
from ..masking import line
from ..search import findall, holds
from ..slice import Slice
from ..ways import fresh_name

SUMMED = m.Call(func=m.Attribute(value=m.Name(), attr=m.Name("sum")))
SOME = m.Call(
    func=m.Attribute(value=m.Name("torch"), attr=m.Name("greater")), args=[m.Arg(SUMMED), m.Arg(m.Integer("0"))]
)
HIT = m.Call(
    func=m.Attribute(
        value=SOME | m.Comparison(left=SUMMED, comparisons=[m.ComparisonTarget(m.GreaterThan(), m.Integer("0"))]),
        attr=m.Name("nonzero"),
    ),
    args=[],
)
LEAVING = m.Return() | m.Break() | m.Yield() | m.For() | m.While()


def fix(found: Slice, path: str) -> Fix | None:
    torch, function = torch_name(found.module, found.function), found.function
    if torch is None or function is None:
        return None
    for loop in findall(function.body, m.For(iter=m.Name(), target=m.Name(), orelse=None)):
        assert isinstance(loop, cst.For)
        hit = _hit(found, function, loop)
        if hit is None or not (found.statement is hit or found.statement is loop or _holds(loop, found)):
            continue
        new = _Experts(found, function, torch, loop, _mask(hit)).everywhere()
        left = _without(function, hit)
        if new is not None and left is not None:
            edits = (found.replace(path, *left), found.replace(path, loop, new))
            return Fix("run every expert on all tokens", "unsafe", edits)
    return None


def _without(function: cst.FunctionDef, statement: cst.BaseSmallStatement) -> tuple[cst.CSTNode, cst.CSTNode] | None:
    """The block that the statement is a line of, and what is left of it."""
    *_, block, row = around(function, statement)
    if (
        not isinstance(block, cst.IndentedBlock)
        or len(block.body) == 1
        or not m.matches(row, m.SimpleStatementLine([m.Assign()]))
    ):
        return None
    return block, block.with_changes(body=[other for other in block.body if other is not row])


def _hit(found: Slice, function: cst.FunctionDef, loop: cst.For) -> cst.BaseSmallStatement | None:
    """The statement that finds the experts, which nothing else reads."""
    name = cst.ensure_type(loop.iter, cst.Name).value
    given = m.Assign(targets=[m.AssignTarget(m.Name(name))], value=HIT)
    made = [node for node in findall(function.body, given) if isinstance(node, cst.Assign)]
    alone = Scope(found, function).assigned_once(name) and len(reads_of(function, name)) == 1
    return made[0] if made and alone else None


def _holds(loop: cst.For, found: Slice) -> bool:
    return holds(loop, found.statement)


def _mask(hit: cst.BaseSmallStatement) -> str:
    summed = findall(hit, SUMMED)[0]
    return cst.ensure_type(cst.ensure_type(cst.ensure_type(summed, cst.Call).func, cst.Attribute).value, cst.Name).value


class _Experts:
    """A loop over experts that is to run them all."""

    def __init__(self, found: Slice, function: cst.FunctionDef, torch: str, loop: cst.For, mask: str) -> None:
        self._found = found
        self._function = function
        self._torch = torch
        self._loop = loop
        self._mask = mask
        self._expert = cst.ensure_type(loop.target, cst.Name).value
        self._chosen = fresh_name(found, "chosen")

    def everywhere(self) -> cst.For | None:
        lines = lines_of(self._loop.body)
        places = [at for at, part in enumerate(lines) if self._picked(part) is not None]
        if len(places) != 1 or any(findall(part, LEAVING) for part in lines):
            return None
        picked = self._picked(lines[places[0]])
        added = self._added(lines[-1], picked or ())
        if picked is None or added is None or not all(self._only_picks(name) for name in picked):
            return None
        pairs = f"{self._torch}.arange({self._chosen}.numel(), device={self._chosen}.device)"
        first = line(f"{self._chosen} = {self._mask}[{self._expert}]")
        both = line(f"{', '.join(picked)} = {self._torch}.unravel_index({pairs}, {self._chosen}.shape)")
        first = first.with_changes(leading_lines=getattr(lines[places[0]], "leading_lines", ()))
        before = [self._plain(part) for part in lines[: places[0]] if not self._is_unpacking(part)]
        between = [self._plain(part) for part in lines[places[0] + 1 : -1]]
        body = self._loop.body.with_changes(body=[*before, first, both, *between, added])
        return self._loop.with_changes(iter=cst.parse_expression(f"range({self._mask}.shape[0])"), body=body)

    def _picked(self, part: cst.BaseStatement) -> tuple[str, str] | None:
        """The names of `slot, token = torch.where(mask[expert])`."""
        own = m.Subscript(value=m.Name(self._mask), slice=[m.SubscriptElement(m.Index(m.Name(self._expert)))])
        squeezed = m.Call(func=m.Attribute(value=own, attr=m.Name("squeeze")), args=[m.Arg(m.Integer("0"))])
        where = m.Call(func=m.Attribute(m.Name(self._torch), m.Name("where")), args=[m.Arg(own | squeezed)])
        match single(part):
            case cst.Assign(
                targets=[cst.AssignTarget(cst.Tuple([cst.Element(cst.Name(slot)), cst.Element(cst.Name(token))]))],
                value=value,
            ) if m.matches(value, where):
                return slot, token
        return None

    def _added(self, part: cst.BaseStatement, picked: Sequence[str]) -> cst.BaseStatement | None:
        """`out.index_add_(0, token, torch.where(chosen, y, 0))`."""
        match single(part):
            case cst.Expr(
                value=cst.Call(
                    func=cst.Attribute(attr=cst.Name("index_add_")) as method,
                    args=[
                        cst.Arg(value=cst.Integer("0")),
                        cst.Arg(value=cst.Name(token)),
                        cst.Arg(value=value, keyword=None),
                    ],
                )
            ) if token in picked[1:]:
                counted = f"{self._torch}.where({self._chosen}.flatten()[:, None] > 0, {self._found.code(value)}, 0)"
                new = line(f"{self._found.code(method)}(0, {token}, {counted})")
                return part.with_changes(body=new.body)
        return None

    def _only_picks(self, name: str) -> bool:
        """Whether each use of places is an index, or the one where results are added."""
        uses = [around(self._function, use) for use in reads_of(self._function, name)]
        index = m.Index() | m.Arg()
        own = [parents for parents in uses if self._loop in parents]
        return len(own) == len(uses) and all(
            m.matches(parents[-1], index)
            and (
                isinstance(parents[-1], cst.Index)
                or m.matches(parents[-2], m.Call(func=m.Attribute(attr=m.Name("index_add_"))))
            )
            for parents in own
        )

    def _is_unpacking(self, part: cst.BaseStatement) -> bool:
        """`expert = expert[0]`, of the row that `nonzero` gives."""
        return m.matches(part, m.SimpleStatementLine([m.Assign([m.AssignTarget(m.Name(self._expert))], self._first())]))

    def _first(self) -> m.Subscript:
        return m.Subscript(value=m.Name(self._expert), slice=[m.SubscriptElement(m.Index(m.Integer("0")))])

    def _plain(self, part: cst.BaseStatement) -> cst.BaseStatement:
        """With the number of the expert in place of the row that holds it."""
        changed = m.replace(part, self._first(), cst.Name(self._expert))
        assert isinstance(changed, cst.BaseStatement)
        return changed
