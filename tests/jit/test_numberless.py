"""Tensors without numbers: what a program gets that asks for one."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from fullgraph.jit.numberless import Numberless  # noqa: E402

pytestmark = pytest.mark.torch


def test_every_number_is_one_and_every_condition_true() -> None:
    with Numberless():
        x = torch.zeros(2, 3)
        assert (x.sum().item(), int(x.long().sum()), complex(x.sum() + 0j)) == (1.0, 1, 1)
        assert x.sum() > 5
        assert torch.tensor(3).item() == 3, "a constant is known"


def test_sizes_that_the_data_decides_are_as_if_all_were_chosen() -> None:
    with Numberless():
        x, mask = torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.bool)
        assert x.nonzero().shape == (6, 2)
        assert x[mask].shape == (6,)
        assert x[:, mask[0]].shape == (2, 3)
        assert x.masked_select(mask[0]).shape == (6,)
        assert x.repeat_interleave(torch.ones(3, dtype=torch.int64), dim=1).shape == (2, 3)
        assert [item.shape for item in x.unique(return_inverse=True, return_counts=True)] == [(6,), (2, 3), (6,)]
        assert len(torch.where(mask)) == 2


def test_what_no_answer_is_known_for_is_still_an_error() -> None:
    with Numberless(), pytest.raises(Exception, match="unique"):
        torch.zeros(2, 3).unique(dim=0)
