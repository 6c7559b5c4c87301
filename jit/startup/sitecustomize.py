"""What every Python process of a program under `fullgraph run` imports first, because this folder is on its PYTHONPATH.

It leaves no trace but a hook that waits for `torch._dynamo`: only then is anything of fullgraph imported.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

AWAITED = "torch._dynamo"


class Hook(MetaPathFinder):
    """Starts observing as soon as the module that it waits for has been imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != AWAITED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and spec.loader:
            self._follow(spec.loader)
        return spec

    def _follow(self, loader: Any) -> None:
        original = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            original(module)
            with contextlib.suppress(ValueError):
                sys.meta_path.remove(self)
                # By name: to this process, fullgraph is a package like any other, or not installed at all.
                with contextlib.suppress(ModuleNotFoundError):
                    importlib.import_module("fullgraph.jit.observer").begin()

        loader.exec_module = exec_module


def _make_way() -> None:
    """Import the `sitecustomize` that this one stands before, if there is one."""
    here = Path(__file__).parent
    sys.path[:] = [entry for entry in sys.path if Path(entry) != here]
    if importlib.machinery.PathFinder.find_spec("sitecustomize"):
        del sys.modules["sitecustomize"]
        importlib.import_module("sitecustomize")


sys.meta_path.insert(0, Hook())
_make_way()
