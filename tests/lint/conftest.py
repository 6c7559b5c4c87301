from __future__ import annotations

from pathlib import Path

import pytest
from project_on_disk import ProjectOnDisk


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectOnDisk:
    """An empty project that is also the working directory."""
    monkeypatch.chdir(tmp_path)
    return ProjectOnDisk(tmp_path)
