"""Programs on which a careless fix would be wrong, from tests/corpus/adversarial.

A file holds several: `# %% name: what goes wrong`, the program, `# given:` with the inputs that `verify` is told (or
`script` and lines that end the program), and `# hidden:` with what the judge alone calls it with.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent.parent / "corpus/adversarial"
SECTIONS = re.compile(r"(?P<program>.*?)^# given:(?P<given>.*?)^# hidden:\n(?P<hidden>.*)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    why: str
    text: str
    inputs: tuple[str, ...] | None  # None: a script
    calls: tuple[str, ...]  # argument lists
    use: str  # the source of a function `use` of the module, or nothing

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """Dtype and number of dimensions of each tensor among the given inputs."""
        found = (re.match(r"([a-z]+\d+)\[(.*?)\]", entry) for entry in self.inputs or ())
        return [(match[1], len(match[2].split(","))) for match in found if match]

    @property
    def target(self) -> str:
        return "Net" if "\nclass Net(" in self.text else "run"


def programs() -> list[Program]:
    files = sorted(CORPUS.glob("*.py"))
    cells = [cell for file in files for cell in re.split(r"^# %% ", file.read_text(), flags=re.MULTILINE)[1:]]
    return [_program(cell) for cell in cells]


def _program(cell: str) -> Program:
    title, _, body = cell.partition("\n")
    name, _, why = title.partition(": ")
    parts = SECTIONS.fullmatch(body)
    assert parts, f"{name}: a program, `# given:`, `# hidden:`"
    text, given = parts["program"].rstrip() + "\n", parts["given"].strip()
    calls, use, rest = parts["hidden"].partition("def use(m):\n")
    if script := given.removeprefix("script\n") if given.startswith("script\n") else "":
        text += '\nif __name__ == "__main__":\n' + textwrap.indent(script, "    ") + "\n"
    inputs = None if script else tuple(entry.strip() for entry in given.split(";"))
    return Program(name, why, text, inputs, tuple(calls.split("\n")[:-1]), use + rest)


def write(folder: Path, chosen: Iterable[Program]) -> None:
    """Each program in a file of its own, and settings that name all of them as entries and as targets."""
    settings = ["[tool.fullgraph]", 'target-torch = "2.13"', 'assume-compiled = "none"']
    targets = []
    entries = []
    for program in chosen:
        (folder / f"{program.name}.py").write_text(program.text)
        place = f"{program.name}.py" + ("" if program.inputs is None else f"::{program.target}")
        targets += [f"[tool.fullgraph.targets.{program.name}]", f"target = {json.dumps(place)}"]
        if program.inputs is not None:
            targets.append(f"inputs = {json.dumps(program.inputs)}")
            entries.append(place + (".forward" if program.target == "Net" else ""))
    settings.append(f"entry = {json.dumps(entries)}")
    (folder / "pyproject.toml").write_text("\n".join([*settings, *targets]) + "\n")
