"""Native code is kept between processes, and whatever happens to what is kept, the result is right."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mlir_regions import SCALED, SCALED_SIGNATURE

from fullgraph.jit import object_cache
from fullgraph.jit.lower.signature import Artifact, Failed
from fullgraph.jit.object_cache import ObjectCache
from fullgraph.jit.worker import Child, Limits, Worker

pytestmark = [pytest.mark.torch, pytest.mark.slow]
SUPPORT = Path(__file__).parents[2] / "support"
PROGRAM = """
import sys
from pathlib import Path
from mlir_regions import SCALED, SCALED_SIGNATURE
from fullgraph.jit.object_cache import ObjectCache
from fullgraph.jit.worker import Worker
worker = Worker(cache=ObjectCache(Path(sys.argv[1])))
artifact = worker.compile(SCALED, SCALED_SIGNATURE)
print(artifact.entry, len(artifact.code), worker.pid is not None)
"""


@pytest.fixture(scope="module")
def artifact() -> Iterator[Artifact]:
    worker = Worker(Limits(seconds=20))
    made = worker.compile(SCALED, SCALED_SIGNATURE)
    worker.close()
    assert isinstance(made, Artifact)
    yield made


def compile_with(cache: ObjectCache) -> tuple[Artifact, bool]:
    """The region's code, and whether the compiler was needed."""
    worker = Worker(Limits(seconds=20), cache)
    made = worker.compile(SCALED, SCALED_SIGNATURE)
    needed = worker.pid is not None
    worker.close()
    assert isinstance(made, Artifact)
    return made, needed


def entries(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_another_process_needs_no_compiler(tmp_path: Path) -> None:
    folder = tmp_path / "objects"
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    env = {**os.environ, "PYTHONPATH": str(SUPPORT)}
    several = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    together = {process.communicate(timeout=120)[0].split()[0:2] == [*_expected(folder)] for process in several}
    assert together == {True}
    again = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=60)
    assert again.stdout.split()[2] == "False"
    assert len(entries(folder)) == 1
    assert not folder.stat().st_mode & 0o077


def _expected(folder: Path) -> tuple[str, str]:
    kept = ObjectCache(folder).load(SCALED, SCALED_SIGNATURE)
    assert kept is not None
    return kept.entry, str(len(kept.code))


def test_a_cache_is_empty_until_something_is_kept(artifact: Artifact, tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path / "objects")
    assert cache.is_empty
    cache.store(SCALED, SCALED_SIGNATURE, artifact)
    assert not cache.is_empty


@pytest.mark.parametrize("warm_up", [True, False])
def test_a_child_gives_the_same_whether_it_warms_up_or_not(artifact: Artifact, warm_up: bool) -> None:
    child = Child(Limits(seconds=20), warm_up)
    try:
        assert child.ask((SCALED, SCALED_SIGNATURE, False), 20) == artifact
    finally:
        child.end()


def test_what_is_damaged_is_made_again(artifact: Artifact, tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path / "objects")
    cache.store(SCALED, SCALED_SIGNATURE, artifact)
    assert compile_with(cache) == (artifact, False)
    (entry,) = entries(tmp_path / "objects")
    for damage in (b"", b"x" * 40, entry.read_bytes()[:-1], entry.read_bytes() + b"x"):
        entry.write_bytes(damage)
        made, needed = compile_with(cache)
        assert (made.entry, needed) == (artifact.entry, True)
        assert compile_with(cache) == (made, False)


def test_a_verdict_is_for_all_processes_and_one_region(artifact: Artifact, tmp_path: Path) -> None:
    folder = tmp_path / "objects"
    first, other = Worker(Limits(seconds=20), ObjectCache(folder)), f"{SCALED}// another"
    assert first.compile(SCALED, SCALED_SIGNATURE) == artifact
    first.quarantine(SCALED, SCALED_SIGNATURE, "it is off by 1")
    assert first.compile(SCALED, SCALED_SIGNATURE) == Failed("as was seen before, it is off by 1")
    first.close()
    second = Worker(Limits(seconds=20), ObjectCache(folder))
    for dump in (False, True):
        assert second.compile(SCALED, SCALED_SIGNATURE, dump) == Failed("as was seen before, it is off by 1")
    assert second.pid is None
    assert isinstance(second.compile(other, SCALED_SIGNATURE), Artifact)
    second.close()


def test_without_a_cache_a_verdict_is_for_this_process(artifact: Artifact) -> None:
    worker = Worker(Limits(seconds=20))
    worker.quarantine(SCALED, SCALED_SIGNATURE, "it is off by 1")
    assert isinstance(worker.compile(SCALED, SCALED_SIGNATURE), Failed)
    worker.close()


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_can_write_is_not_trusted(artifact: Artifact, tmp_path: Path, mode: int) -> None:
    cache = ObjectCache(tmp_path / "objects")
    cache.store(SCALED, SCALED_SIGNATURE, artifact)
    (tmp_path / "objects").chmod(mode)
    assert cache.load(SCALED, SCALED_SIGNATURE) is None
    (tmp_path / "objects").chmod(0o700)
    assert cache.load(SCALED, SCALED_SIGNATURE) == artifact


def test_a_place_that_cannot_be_written_costs_nothing_but_time(artifact: Artifact, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    made, needed = compile_with(ObjectCache(tmp_path / "file" / "objects"))
    assert (made.entry, needed) == (artifact.entry, True)


def test_what_lies_on_a_disk_that_can_only_be_read_is_used(
    artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ObjectCache(tmp_path / "objects")
    cache.store(SCALED, SCALED_SIGNATURE, artifact)

    def refuse(path: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    assert compile_with(cache) == (artifact, False)


def test_what_decides_the_code_is_in_the_key(
    artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ObjectCache(tmp_path)
    cache.store(SCALED, SCALED_SIGNATURE, artifact)
    assert cache.load(SCALED + " ", SCALED_SIGNATURE) is None
    for part in ("_lowering", "_processor"):
        with monkeypatch.context() as patch:
            patch.setattr(object_cache, part, lambda: "another")
            object_cache._surroundings.cache_clear()
            assert cache.load(SCALED, SCALED_SIGNATURE) is None
        object_cache._surroundings.cache_clear()
    assert cache.load(SCALED, SCALED_SIGNATURE) == artifact


def test_what_was_used_longest_ago_goes_first(
    artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_cache, "PRUNED_EVERY", 2)
    monkeypatch.setattr(object_cache, "MOST", 2 * len(artifact.code) + 200)
    cache = ObjectCache(tmp_path)
    texts = [f"{SCALED}// {number}" for number in range(3)]
    for age, text in enumerate(texts[:2]):
        cache.store(text, SCALED_SIGNATURE, artifact)
        for entry in entries(tmp_path):
            os.utime(entry, (1000 + age, 1000 + age))
    assert cache.load(texts[0], SCALED_SIGNATURE) is not None
    cache.store(texts[2], SCALED_SIGNATURE, artifact)
    assert [cache.load(text, SCALED_SIGNATURE) is not None for text in texts] == [True, False, True]
