"""Editors that end with their test, whatever it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from editor import Editor

MODEL = """\
import torch

@torch.compile
def scale(x):
    return x * x.sum().item()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What projects lie in."""
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def edit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Editor]]:
    """Starts editors, which end with the tests of the module, whatever those do."""
    started: list[Editor] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))

        def start(*folders: Path, **options: Any) -> Editor:
            started.append(Editor(*folders, **options))
            return started[-1]

        yield start
        for editor in started:
            editor.stop()


@pytest.fixture(scope="module")
def shared(edit: Callable[..., Editor], place: Path) -> Editor:
    return edit(place)


@pytest.fixture
def editor(shared: Editor) -> Editor:
    """One that other tests have used: starting takes longer than most of them."""
    shared.messages.clear()
    shared.documents.clear()
    return shared


@pytest.fixture
def project(place: Path, request: pytest.FixtureRequest) -> Path:
    folder = place / request.node.name.partition("[")[0]
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.fullgraph]\n")
    (folder / "m.py").write_text(MODEL)
    return folder
