"""What is remembered from one check to the next never shows in what they report."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from project_on_disk import ProjectOnDisk, lines

from fullgraph.lint import units, workers
from fullgraph.lint.cache import prune
from fullgraph.lint.config import AssumeCompiled
from fullgraph.lint.findings import CheckReport
from fullgraph.lint.results import Result
from fullgraph.lint.units import Units

FILES = {
    "pkg/__init__.py": "",
    "pkg/helper.py": "def positive(x):\n    return x.sum() > 0\n",
    "pkg/net.py": """
        import torch
        from .helper import positive

        class Net(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                if positive(x):
                    return x + 1
                return x
        """,
    "main.py": "import torch\nfrom pkg.net import Net\n\nnet = torch.compile(Net())\nnet(torch.ones(3))\n",
    "other.py": "import torch\n\n@torch.compile\ndef f(x):\n    print(x)\n    return x\n",
}
BREAK = [("net.py", "FG101", 7)]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "fullgraph"


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The work done afresh: files assumed, and `together` for what compiles something."""
    names: list[str] = []

    def counted(original: Callable[..., object], name: Callable[..., str]) -> Callable[..., object]:
        def call(self: Units, *arguments: object) -> object:
            names.append(name(*arguments))
            return original(self, *arguments)

        return call

    monkeypatch.setattr(Units, "assumed", counted(Units.assumed, lambda task: Path(task.path).name))
    monkeypatch.setattr(Units, "found", counted(Units.found, lambda paths, named: "together"))
    return names


def test_nothing_is_done_twice(project: ProjectOnDisk, done: list[str]) -> None:
    project.write(FILES)
    first = project.check(use_cache=True)
    assert [*BREAK, ("other.py", "FG301", 5)] == sorted(lines(first))
    assert done
    done.clear()
    assert project.check(use_cache=True) == first
    assert done == []


def test_files_that_compile_nothing_are_not_looked_at_again_either(project: ProjectOnDisk, done: list[str]) -> None:
    project.write(FILES)
    project.write(
        {
            "drive.py": "from main import net\n\nnet(1)\n",
            "pattern.py": "import re\nimport torch\n\nPATTERN = re.compile('x')\n",
        }
    )
    first = project.check(use_cache=True)
    assert done.count("together") == 2, "the callers of what is compiled are known only then"
    done.clear()
    assert project.check(use_cache=True) == first
    assert done == []


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param("pkg/helper.py", "def positive(x):\n    return x.shape[0] > 0\n", [], id="callee two files away"),
        pytest.param("main.py", "import torch\n", [], id="entry gone"),
        pytest.param("pkg/net.py", "import torch\n\nclass Net(torch.nn.Module):\n    pass\n", [], id="callee itself"),
        pytest.param("unrelated.py", "import torch\n", BREAK, id="a new file"),
        pytest.param("pkg/helper/__init__.py", "def positive(x):\n    return True\n", [], id="package over a module"),
    ],
)
def test_what_rests_on_a_changed_file_is_done_again(
    project: ProjectOnDisk, name: str, text: str, expected: list[tuple[str, str, int]]
) -> None:
    project.write(FILES)
    project.check(use_cache=True)
    project.write({name: text})
    warm, cold = project.check(use_cache=True), project.check(use_cache=False)
    assert warm == cold
    assert [line for line in lines(warm) if line[0] != "other.py"] == expected


def test_an_edit_in_one_model_leaves_the_others_alone(project: ProjectOnDisk, done: list[str]) -> None:
    net = "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x.item()\n"
    project.write({f"model_{number}.py": net for number in range(5)})
    project.check(use_cache=True)
    done.clear()
    project.write({"model_3.py": net + "# a remark\n"})
    project.check(use_cache=True)
    assert done == ["model_3.py"]


def test_an_environment_variable_set_elsewhere_counts_at_once(project: ProjectOnDisk) -> None:
    reads = "import os\nimport torch\n\n@torch.compile\ndef f(x):\n    return x * len(os.getenv('SCALE', ''))\n"
    project.write({"reads.py": reads})
    assert lines(project.check(use_cache=True)) == []
    project.write({"writes.py": "import os\nimport torch\n\ndef change(n):\n    os.environ['SCALE'] = n\n"})
    assert lines(project.check(use_cache=True)) == [("reads.py", "FG501", 6)]


def test_a_damaged_cache_is_made_again(project: ProjectOnDisk, cache: Path) -> None:
    project.write(FILES)
    first = project.check(use_cache=True)
    for number, file in enumerate(sorted(path for path in cache.rglob("*") if path.is_file())):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes([bytes(data), b"", bytes(data[:9])][number % 3])
    assert project.check(use_cache=True) == first


def test_the_cache_stays_below_its_bound(cache: Path) -> None:
    import os

    for number in range(5):
        file = cache / "summaries" / str(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * 100)
        os.utime(file, (number, number))
    prune(cache, most=250)
    assert sorted(file.name for file in (cache / "summaries").iterdir()) == ["3", "4"]


def test_a_file_written_twice_at_one_time_is_read_again(project: ProjectOnDisk) -> None:
    import os

    project.write(FILES)
    project.check(use_cache=True)
    helper = project.root / "pkg/helper.py"
    state = helper.stat()
    helper.write_text(helper.read_text().replace("x.sum()", "len(x)"))  # the same size
    os.utime(helper, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert project.check(use_cache=True) == project.check(use_cache=False)


def many(project: ProjectOnDisk) -> list[str]:
    """Models that share bases and helpers, in several folders, some in circles."""
    generator = random.Random(0)
    names = [f"part_{number % 5}/model_{number}.py" for number in range(30)]
    for number, name in enumerate(names):
        other = generator.randrange(30)
        text = f"""
            import torch
            from part_{other % 5} import model_{other}

            class Net{number}(torch.nn.Module):
                def __init__(self, inner=None):
                    super().__init__()
                    self.inner = model_{other}.Net{other}(self)

                def forward(self, x, flag: bool = False):
                    if flag and x.sum() > {number}:
                        return self.inner(x)
                    return self.inner.forward(x).item() if self.training else x
            """
        project.write({name: text, f"part_{number % 5}/__init__.py": ""})
    return names


def test_order_and_processes_do_not_show(project: ProjectOnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    names = many(project)
    forward = AssumeCompiled.FORWARD
    alone = project.check(*names, assume=forward)
    assert len(alone.findings) > 30
    assert project.check(*reversed(names), assume=forward) == alone
    monkeypatch.setattr(workers, "WORTH_IT", 5)
    assert project.check(*names, assume=forward, jobs=3) == alone
    monkeypatch.setattr(workers, "TOO_MANY", 5)
    assert project.check(*names, assume=forward, jobs=1) == alone


def test_a_process_that_is_full_gives_way_to_another(project: ProjectOnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each folder of files is done by a process of its own then."""
    many(project)
    forward = AssumeCompiled.FORWARD
    alone = project.check(assume=forward)
    monkeypatch.setattr(workers, "WORTH_IT", 5)
    begun: list[int] = []
    start = multiprocessing.Process.start

    def counted(self: multiprocessing.Process) -> None:
        begun.append(1)
        start(self)

    monkeypatch.setattr(multiprocessing.process.BaseProcess, "start", counted)
    assert project.check(assume=forward, jobs=2) == alone
    few = len(begun)
    begun.clear()
    monkeypatch.setattr(units, "ROOM", 0)
    assert project.check(assume=forward, jobs=2, use_cache=True) == alone
    assert few == 2 < len(begun)
    assert project.check(assume=forward, jobs=2, use_cache=True) == alone


def test_a_worker_that_fails_says_so(project: ProjectOnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Units, task: object) -> Result:
        raise ZeroDivisionError("on purpose")

    many(project)
    monkeypatch.setattr(workers, "WORTH_IT", 5)
    monkeypatch.setattr(Units, "assumed", fail)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        project.check(assume=AssumeCompiled.FORWARD, jobs=2)


def test_reports_differ_by_what_was_asked(project: ProjectOnDisk) -> None:
    project.write(FILES)

    def reports() -> list[CheckReport]:
        return [project.check(use_cache=True), project.check("main.py", "pkg/net.py", use_cache=True)]

    first = reports()
    assert first[0] != first[1]
    assert reports() == first


def test_two_sets_of_files_asked_about_in_turn_are_not_worked_out_again(
    project: ProjectOnDisk, done: list[str]
) -> None:
    project.write(FILES)
    forward = AssumeCompiled.FORWARD

    def reports() -> list[CheckReport]:
        return [project.check("other.py", use_cache=True), project.check("pkg/net.py", assume=forward, use_cache=True)]

    first = reports()
    done.clear()
    assert reports() == first
    assert done == []
