"""Times the static half: the command itself, one file, whole installed packages, a key pressed in an editor; writes
bench/results/lint.json and docs/speed.{md,svg}.

Everything is a process of its own on the same files in one run, so that the ratios hold although the machine is busy.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fullgraph.cli.projects import build_request
from fullgraph.lint.session import Session
from server import FILE, KEYSTROKES, absolute, keystrokes

RESULTS = Path(__file__).resolve().parent / "results"
DOCS = Path(__file__).resolve().parents[1] / "docs"
TREES = (("torch", "nn"), ("transformers", "."))
PEERS = ("torch", "transformers", "ruff", "flake8", "torchfix")
FILE_LINES = 300
WITHOUT_PLUGIN = """
import importlib.metadata, sys
installed = importlib.metadata.distributions
importlib.metadata.distributions = lambda: (each for each in installed() if each.metadata["Name"] != "TorchFix")
from flake8.main.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""flake8 runs every plugin that it finds, whatever is selected."""
FEW = 5
LARGE = 200_000
"""Lines from which on one run has to do."""
UNIT = 2**20 if sys.platform == "darwin" else 2**10
"""What `ru_maxrss` has to be divided by to be in MB."""
PARSE = """
import ast, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    ast.parse(path.read_bytes())
"""


@dataclass(frozen=True, slots=True)
class Row:
    """Medians over some runs of one command; the ratio is of CPU times, to the first row of the group.

    The peak is that of the largest process.
    """

    group: str
    what: str
    runs: int
    wall_s: float
    cpu_s: float
    cpu_ratio: float
    peak_mb: float


RUFF = (str(Path(sys.executable).with_name("ruff")), "check", "--isolated", "--no-cache", "--exit-zero", ".")


@dataclass(frozen=True, slots=True)
class Command:
    what: str
    arguments: tuple[str, ...]


class Bench:
    """Runs commands in one folder, with a cache of their own and compiled modules, as users have them."""

    def __init__(self, home: Path) -> None:
        self._environment = {**os.environ, "XDG_CACHE_HOME": str(home), "NO_COLOR": "1"}
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def group(self, name: str, folder: Path, runs: int, commands: Sequence[Command]) -> Iterator[Row]:
        base = None
        for command in commands:
            if runs > 1 or "cached" in command.what:
                self._run(command, folder)
            measured = [self._run(command, folder) for _ in range(runs)]
            wall, cpu, peak = (statistics.median(column) for column in zip(*measured, strict=True))
            base = base or cpu
            yield Row(name, command.what, runs, round(wall, 4), round(cpu, 4), round(cpu / base, 2), round(peak, 1))

    def _run(self, command: Command, folder: Path) -> tuple[float, float, float]:
        """Wall seconds, CPU seconds, peak MB."""
        with tempfile.TemporaryFile() as errors:
            start = time.perf_counter()
            process = subprocess.Popen(
                command.arguments, cwd=folder, env=self._environment, stdout=subprocess.DEVNULL, stderr=errors
            )
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)  # or the destructor waits for it again
            if process.returncode not in (0, 1):
                errors.seek(0)
                last = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
                sys.exit(f"bench: {command.what} ended with exit code {process.returncode}: {last}")
        return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / UNIT


def program(name: str) -> str | None:
    """A command of the same environment as this interpreter, else any."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


def checks(fullgraph: str, folder: Path, large: bool) -> list[Command]:
    """What is run on the same files; the first is what the others are compared with."""
    check = (fullgraph, "check", "--assume-compiled", "forward")
    few = [str(path) for path in sorted(folder.rglob("modeling_*.py"))[:: 40 if large else 1][:FEW]]
    commands = [Command("ruff check", RUFF), Command("ast.parse", (sys.executable, "-c", PARSE, "."))]
    commands += [
        Command("fullgraph check --no-cache", (*check, "--no-cache", "--jobs=1", ".")),
        Command("fullgraph check --no-cache, 2 processes", (*check, "--no-cache", "--jobs=2", ".")),
        Command("fullgraph check, cached", (*check, ".")),
    ]
    if len(few) == FEW:
        commands += [
            Command(f"fullgraph check, cached, {FEW} of the files, nothing found", (fullgraph, "check", *few)),
            Command(f"fullgraph check, cached, {FEW} of the files", (*check, *few)),
        ]
    options = ("--isolated", "--exit-zero", "--jobs=1")
    if not large:
        commands.append(Command("flake8", (sys.executable, "-c", WITHOUT_PLUGIN, *options, ".")))
        commands.append(Command("flake8 with TorchFix", (str(program("flake8")), *options, "--select=TOR", ".")))
    return commands


def copied_trees(into: Path) -> Iterator[tuple[str, Path]]:
    """Python files of installed packages, where they count as the user's own."""
    for package, folder in TREES:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            source = Path(spec.submodule_search_locations[0], folder)
            for path in source.rglob("*.py"):
                target = into / package / folder / path.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
            yield f"{package}/{folder}".removesuffix("/."), into / package


def line_count(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def model_file(tree: Path) -> Path:
    """The file that defines modules by itself and whose length is nearest to `FILE_LINES`."""
    models = [path for path in sorted(tree.rglob("*.py")) if b"(nn.Module):" in path.read_bytes()]
    return min(models, key=lambda path: abs(line_count(path) - FILE_LINES))


def texts(text: str) -> Iterator[str]:
    """The file after each key."""
    rows = text.split("\n")
    for (line, column), _, typed in list(keystrokes(text))[:KEYSTROKES]:
        rows[line : line + 1] = (rows[line][:column] + typed + rows[line][column:]).split("\n")
        yield "\n".join(rows)


def typing(bench: Bench, folder: Path, tree: Path) -> Iterator[Row]:
    """What the engine does for a key, as the editor's server asks it to: beside a process of ruff's for the file."""
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.fullgraph]\n")
    file = folder / FILE.name
    text = absolute((tree / FILE).read_text(encoding="utf-8"))
    file.write_text(text, encoding="utf-8")
    group = f"A key pressed in {FILE.name}, {line_count(file):,} lines"
    (ruff,) = bench.group(group, folder, 9, (Command("ruff check, a process a key", RUFF),))
    yield ruff
    session = Session(build_request((folder,), None, use_cache=False))
    session.report(str(file))
    times: list[tuple[float, float]] = []
    for typed in texts(text):
        wall, cpu = time.perf_counter(), time.process_time()
        session.update(str(file), typed.encode())
        session.report(str(file))
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / UNIT, 1)
    cuts = [statistics.quantiles(column, n=20) for column in zip(*times, strict=True)]
    for what, at in (("median", 9), ("95th percentile", 18)):
        wall, cpu = (round(column[at], 4) for column in cuts)
        yield Row(group, f"fullgraph, {what}", len(times), wall, cpu, round(cpu / ruff.cpu_s, 2), peak)


def measure(home: Path) -> Iterator[Row]:
    fullgraph = program("fullgraph")
    trees = list(copied_trees(home / "trees"))
    if fullgraph is None or len(trees) < len(TREES) or missing():
        sys.exit(f"bench: not installed: {', '.join(missing()) or 'fullgraph'}; run `make bench`, or pip install them")
    bench = Bench(home / "cache")
    startup = (Command("python -c pass", (sys.executable, "-c", "pass")), Command("--help", (fullgraph, "--help")))
    yield from bench.group("Start", home, 15, startup)
    single = home / "file"
    single.mkdir()
    model = Path(shutil.copy(model_file(trees[-1][1]), single))
    yield from bench.group(f"{model.name}, {line_count(model)} lines", single, 9, checks(fullgraph, single, False))
    yield from typing(bench, home / "typing", trees[-1][1])
    for name, folder in trees:
        files = list(folder.rglob("*.py"))
        lines = sum(map(line_count, files))
        large = lines > LARGE
        commands = checks(fullgraph, folder, large)
        yield from bench.group(f"{name}, {len(files)} files, {lines:,} lines", folder, 1 if large else 3, commands)


def missing() -> list[str]:
    """What the others are that this is measured beside, as far as they are not installed."""
    return [name for name in PEERS if not importlib.util.find_spec(name)]


def machine() -> dict[str, str | int]:
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count() or 0,
        "load": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PEERS},
    }


def page(about: dict[str, str | int], rows: Sequence[Row]) -> str:
    """Markdown."""
    whole = rows[-1].group
    lines = [
        "# How fast it is",
        "",
        "`make bench` times `fullgraph check` beside other tools on the same files, each command a process of its own,",
        f"and writes this page: {', '.join(f'{key} {value}' for key, value in about.items())}.",
        "What counts are the ratios of CPU times, to the first row of each table: ruff reads files one by one and",
        "without types, `fullgraph check` follows calls through all of them. The peak is that of the largest process,",
        "and no less than the bench's own.",
        "",
        f"![CPU seconds for {whole}](speed.svg)",
    ]
    group = None
    for row in rows:
        if row.group != group:
            group = row.group
            lines += ["", f"## {group}", ""]
            lines += ["| command | wall ms | CPU ms | CPU ratio | peak MB | runs |", "|---|--:|--:|--:|--:|--:|"]
        times = f"{row.wall_s * 1000:,.0f} | {row.cpu_s * 1000:,.0f}"
        lines.append(f"| {row.what} | {times} | {row.cpu_ratio:.2f} | {row.peak_mb:.0f} | {row.runs} |")
    return "\n".join(lines) + "\n"


def bars(title: str, rows: Sequence[Row]) -> str:
    """An SVG chart of CPU times, a bar for each row."""
    longest = max(row.cpu_s for row in rows)
    height = 28 * len(rows) + 44
    size = f'width="760" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">',
        f'<text x="8" y="22" font-weight="bold">CPU seconds: {title}</text>',
    ]
    for number, row in enumerate(rows):
        top, width = 36 + 28 * number, 360 * row.cpu_s / longest
        colour = "#3b6fb6" if row.what.startswith("fullgraph") else "#9aa5b1"
        parts += [
            f'<text x="318" y="{top + 15}" text-anchor="end">{row.what}</text>',
            f'<rect x="326" y="{top}" width="{max(width, 1):.0f}" height="20" fill="{colour}"/>',
            f'<text x="{332 + width:.0f}" y="{top + 15}">{row.cpu_s:.2f}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    about = machine()
    with tempfile.TemporaryDirectory() as home:
        rows = list(measure(Path(home)))
    text = page(about, rows)
    (DOCS / "speed.md").write_text(text, encoding="utf-8")
    whole = [row for row in rows if row.group == rows[-1].group]
    (DOCS / "speed.svg").write_text(bars(whole[0].group, whole), encoding="utf-8")
    document = {"machine": about, "rows": [asdict(row) for row in rows]}
    (RESULTS / "lint.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
