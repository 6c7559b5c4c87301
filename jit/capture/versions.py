"""Where versions of torch differ for an observer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from torch._dynamo.symbolic_convert import InstructionTranslatorBase

from . import torch_2_9

Wrapper: TypeAlias = tuple[Any, str, Callable[[Any], Any]]
"""What to replace: owner, attribute, and what makes the replacement of the original."""


def break_wrappers(report: Callable[[BaseException], None], skipped: Callable[[], None]) -> tuple[Wrapper, ...]:
    """They `report` each break that Dynamo is about to log, and say if the last one has cost the whole frame and no
    exception comes out of that.
    """
    if not hasattr(InstructionTranslatorBase, "log_graph_break"):
        return torch_2_9.break_wrappers(report, skipped)

    def wrap(original: Any) -> Any:
        def log_graph_break(translator: Any, code_options: Any, reason: str, exc: Any) -> None:
            if not exc.logged:
                report(exc)
            original(translator, code_options, reason, exc)

        return log_graph_break

    return ((InstructionTranslatorBase, "log_graph_break", wrap),)


def source_name(source: Any) -> str:
    """Before torch 2.10 that was a method."""
    name = source.name
    return str(name() if callable(name) else name)
