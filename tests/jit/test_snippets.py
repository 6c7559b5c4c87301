"""A file is cut down to what one of its lines needs."""

from __future__ import annotations

import pytest

from fullgraph.jit.snippets import Snippet, cut

SOURCE = """\
import json
import torch
from torch import nn as layers

WIDTH, DEPTH = 4, 2
UNUSED = json.dumps({})

def unused():
    return UNUSED

def helper(x):
    return x.sum().item() * WIDTH

@torch.compile
def f(x):
    text = '''
    inside'''
    return helper(x), layers

for size in (1, 2):
    f(torch.ones(size))
print("done")
"""
CUT = """\
import torch
from torch import nn as layers
WIDTH, DEPTH = 4, 2

def helper(x):
    return x.sum().item() * WIDTH

@torch.compile
def f(x):
    text = '''
    inside'''
    return helper(x), layers

for size in (1, 2):
    f(torch.ones(size))
"""


@pytest.mark.parametrize(("line", "moved"), [(12, 6), (14, 8), (17, 11), (21, 15)])
def test_what_a_line_needs_and_what_comes_to_it_is_kept(line: int, moved: int) -> None:
    assert cut(SOURCE, line) == Snippet(CUT, moved)


@pytest.mark.parametrize("source", ["def (", CUT, ""])
def test_where_nothing_can_be_left_out_there_is_no_snippet(source: str) -> None:
    assert cut(source, 8) is None


def test_the_line_is_marked_unless_it_lies_in_a_string() -> None:
    assert "    return x.sum().item() * WIDTH  # FG201\n" in Snippet(CUT, 6).marked("FG201")
    assert Snippet(CUT, 10).marked("FG201") == CUT
