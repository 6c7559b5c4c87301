"""Where a statement stands in a slice, and what a suite holds.

Importing this module imports libcst.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import libcst as cst

from .search import children, descendants


def around(tree: cst.CSTNode, part: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes that `part` lies in, the outermost first; empty where it does not lie in `tree`."""
    parents, found = _parents(tree), list[cst.CSTNode]()
    while (parent := parents.get(id(part))) is not None:
        found.append(parent)
        part = parent
    return found[::-1]


@lru_cache(maxsize=16)
def _parents(tree: cst.CSTNode) -> dict[int, cst.CSTNode]:
    """By identity: nodes that look alike are not the same. The tree keeps them alive, and the cache the tree."""
    return {id(child): node for node in descendants(tree) for child in children(node)}


def block_of(tree: cst.CSTNode, line: cst.CSTNode) -> cst.IndentedBlock | None:
    """The block that a statement is a line of; None for an `elif`."""
    parents = around(tree, line)
    return parents[-1] if parents and isinstance(parents[-1], cst.IndentedBlock) else None


def lines_of(body: cst.BaseSuite) -> Sequence[cst.BaseStatement]:
    match body:
        case cst.SimpleStatementSuite(body=statements):
            return [cst.SimpleStatementLine(statements)]
        case cst.IndentedBlock(body=lines):
            return lines
    raise AssertionError(body)


def only(body: cst.BaseSuite) -> cst.BaseSmallStatement | None:
    """The simple statement that is all there is in a suite."""
    match lines_of(body):
        case [line]:
            return single(line)
    return None


def single(line: cst.BaseStatement) -> cst.BaseSmallStatement | None:
    match line:
        case cst.SimpleStatementLine(body=[statement]):
            return statement
    return None
