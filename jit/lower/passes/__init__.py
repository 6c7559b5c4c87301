"""Rewrites of MLIR modules in Python, one a file: each takes a module and changes it in place."""

from __future__ import annotations
