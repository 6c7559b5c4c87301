from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

# Before anything imports torch: threads that wait for work leave the core to the other tests.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing that this machine knows from before counts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
