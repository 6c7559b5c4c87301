"""What the processor that code is made for can do; the compiler runs on the one that will run the code."""

from __future__ import annotations

from functools import cache
from pathlib import Path

VECTORS = {"avx512f": 64, "avx2": 32}
"""Sizes in bytes that Sleef has functions for, by the flag that they need."""


def vector_sizes() -> tuple[int, ...]:
    """The largest first."""
    return tuple(size for flag, size in VECTORS.items() if flag in _flags())


@cache
def _flags() -> frozenset[str]:
    lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    return frozenset(next((line for line in lines if line.startswith("flags")), "").split())
