"""Torch 2.9: breaks are logged by a function that gets no exception, and a break in a loop skips the frame silently."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from torch._dynamo import convert_frame, exc, symbolic_convert

LOOP = "there is a graph break in a for/while loop"


def break_wrappers(
    report: Callable[[BaseException], None], skipped: Callable[[], None]
) -> tuple[tuple[Any, str, Callable[[Any], Any]], ...]:
    def wrap_log(original: Any) -> Any:
        def log_graph_break(code_options: Any, reason: str = "", exc_info: bool = False, **options: Any) -> None:
            report((exc_info and sys.exception()) or _error(reason))
            original(code_options, reason, exc_info, **options)

        return log_graph_break

    def wrap_compile(original: Any) -> Any:
        def compile_frame(*args: Any, **options: Any) -> Any:
            try:
                return original(*args, **options)
            except exc.SkipFrame as error:
                if LOOP in str(error):
                    skipped()
                raise

        return compile_frame

    return (
        (symbolic_convert, "log_graph_break", wrap_log),
        (convert_frame, "compile_frame", wrap_compile),
    )


def _error(reason: str) -> exc.Unsupported:
    """What later versions raise and log; it knows the user's stack."""
    error = exc.Unsupported(reason)
    error.remove_from_stats()
    return error
