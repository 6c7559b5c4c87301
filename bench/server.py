"""Times the language server: from a keystroke in a long file to the diagnostics for it, over the same pipes as in an
editor; writes bench/results/server.{json,md}.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from lsprotocol import types

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/support"))

from editor import PULLING, PUSHED, Editor

RESULTS = Path(__file__).resolve().parent / "results"
FILE = Path("models/perceiver/modeling_perceiver.py")
KEYSTROKES = 60
TYPED = "hidden = 1"


@dataclass(frozen=True, slots=True)
class Row:
    """Milliseconds from the last key to the diagnostics."""

    what: str
    keystrokes: int
    first_ms: float
    """From opening the file, nothing of it known before."""
    p50_ms: float
    p95_ms: float
    worst_ms: float


def absolute(text: str) -> str:
    """The file as one outside of its package, which imports the same."""
    package = ("transformers", *FILE.parts[:-1])
    for dots in (3, 2, 1):
        base = ".".join(package[: len(package) - dots + 1])
        text = re.sub(rf"^from \.{{{dots}}}(?=\w)", f"from {base}.", text, flags=re.M)
        text = re.sub(rf"^from \.{{{dots}}}(?= )", f"from {base}", text, flags=re.M)
    return text


def keystrokes(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int], str]]:
    """Somebody types a statement at the end of each of some functions all over the file, key by key."""
    lines = text.split("\n")
    ends = [number for number, line in enumerate(lines) if line.startswith("        return ")]
    for added, end in enumerate(ends[:: len(ends) // (KEYSTROKES // len(TYPED))]):
        number = end + added
        for column, key in enumerate(TYPED):
            if column == 0:
                yield (number, 0), (number, 0), "        " + key + "\n"
            else:
                yield (number, 8 + column), (number, 8 + column), key


def measured(what: str, folder: Path, capabilities: types.ClientCapabilities) -> Row:
    file = folder / FILE.name
    text = file.read_text(encoding="utf-8")
    editor = Editor(folder, capabilities=capabilities)
    pulls = capabilities is PULLING

    def diagnosed(uri: str) -> object:
        return editor.pull(uri) if pulls else editor.diagnostics(uri)

    try:
        start = time.perf_counter()
        uri = editor.open(file)
        diagnosed(uri)
        first = time.perf_counter() - start
        times = []
        for change in list(keystrokes(text))[:KEYSTROKES]:
            start = time.perf_counter()
            editor.change(uri, change)
            diagnosed(uri)
            times.append(time.perf_counter() - start)
    finally:
        editor.stop()
    cuts = statistics.quantiles(times, n=20)
    return Row(what, len(times), *(round(1000 * each, 1) for each in (first, cuts[9], cuts[18], max(times))))


def main() -> None:
    spec = importlib.util.find_spec("transformers")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("bench: transformers is not installed, so there is no file to measure")
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_CACHE_HOME"] = str(Path(home, "cache"))
        folder = Path(home, "project")
        folder.mkdir()
        (folder / "pyproject.toml").write_text("[tool.fullgraph]\n")
        file = folder / FILE.name
        file.write_text(absolute(Path(spec.submodule_search_locations[0], FILE).read_text(encoding="utf-8")))
        lines = file.read_bytes().count(b"\n")
        rows = [measured("pushed", folder, PUSHED), measured("pulled", folder, PULLING)]
    versions = {name: importlib.metadata.version(name) for name in ("transformers", "pygls")}
    about = {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        **versions,
        "lines": lines,
    }
    table = [
        "# From a keystroke to its diagnostics",
        "",
        f"{FILE.name}, {', '.join(f'{key} {value}' for key, value in about.items())}. Written by `make bench`.",
        "",
        "| diagnostics are | keystrokes | after opening, ms | p50 ms | p95 ms | worst ms |",
        "|---|--:|--:|--:|--:|--:|",
        *(
            f"| {row.what} | {row.keystrokes} | {row.first_ms:,.0f} | {row.p50_ms:,.1f} | {row.p95_ms:,.1f} "
            f"| {row.worst_ms:,.1f} |"
            for row in rows
        ),
    ]
    (RESULTS / "server.md").write_text("\n".join(table) + "\n")
    (RESULTS / "server.json").write_text(json.dumps({"about": about, "rows": list(map(asdict, rows))}, indent=1) + "\n")
    print(*table, sep="\n")


if __name__ == "__main__":
    main()
