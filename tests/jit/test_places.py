"""Columns of instructions as code points."""

from __future__ import annotations

import pytest

from fullgraph.jit.places import all_extents, code_points


@pytest.mark.parametrize(("column", "expected"), [(0, 0), (4, 4), (6, 5), (8, 6), (99, 7), (None, 7)])
def test_bytes_become_code_points(column: int | None, expected: int) -> None:
    assert code_points("x = ää!\n", column) == expected


def test_every_expression_of_a_file_has_its_place() -> None:
    source = 'def f(x):\n    y = "ä"; return x.item(\n    )\n'
    assert (2, 20, 3, 5) in all_extents(source)
    assert all(extent.line >= 1 for extent in all_extents(source))


def test_a_file_that_does_not_compile_has_none() -> None:
    with pytest.raises(SyntaxError):
        all_extents("def (")
