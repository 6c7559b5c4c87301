"""What an edit of an open file is said to have changed."""

from __future__ import annotations

import itertools

from fullgraph.lint.open_module import OpenModule

TEXT = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return x + 1

    def scale(self, x):
        return x * 2
"""


def _opened(text: str) -> OpenModule:
    bits = itertools.count()
    return OpenModule("/m.py", text.encode(), "m", "", "/", (), bit=lambda: 1 << next(bits))


def test_a_line_typed_key_by_key_changes_one_method() -> None:
    module = _opened(TEXT)
    (forward,) = (symbol for symbol in module.classes["Net"].methods.values() if symbol.name == "forward")
    for typed, changed in (
        ("hidden", forward.mask),
        ("hidden ", 0),
        ("hidden  ", 0),
        ("hidden = 1", forward.mask),
        ("hidden = 12", forward.mask),
        ("hidden = 12  # so much", 0),
        ("hidden = x", forward.mask),
    ):
        source = TEXT.replace("        return x + 1", f"        {typed}\n        return x + 1")
        assert module.edited(source.encode()) == changed, typed


def test_lines_above_move_a_method_without_changing_it() -> None:
    module = _opened(TEXT)
    (scale,) = (symbol for symbol in module.classes["Net"].methods.values() if symbol.name == "scale")
    changed = module.edited(TEXT.replace("class", "\n\nclass").encode())
    assert not changed & scale.mask
    assert module.place(scale.node[1][0]) == (None, 13)
