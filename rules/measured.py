"""What was measured on each version of torch: for every example of a rule and every probe of a symbol, what happened.

`fullgraph rules prove` writes a YAML file a version into `evidence/`; `tools/generate.py` packs them for the linter.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

from .model import Example

FOLDER = Path(__file__).with_name("evidence")

Kind = Literal["captured", "breaks", "skips", "recompiles", "frozen", "error", "crashed", "hung", "not measured"]
KINDS: tuple[Kind, ...] = (
    "captured",
    "breaks",
    "skips",
    "recompiles",
    "frozen",
    "error",
    "crashed",
    "hung",
    "not measured",
)


class Outcome(NamedTuple):
    """What happened in one mode; `what` is the GB id, the error, the signal or the reason."""

    kind: Kind
    what: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.what}".strip()

    @classmethod
    def parsed(cls, text: str) -> Outcome:
        for kind in KINDS:
            if text == kind or text.startswith(f"{kind} "):
                return cls(kind, text.removeprefix(kind).strip())
        raise ValueError(f"{text!r} does not begin with any of {', '.join(KINDS)}")


class Cell(NamedTuple):
    """What happened to one program in default mode and with `fullgraph=True`."""

    default: Outcome
    fullgraph: Outcome

    def __str__(self) -> str:
        return str(self.default) if self.default == self.fullgraph else f"{self.default} | {self.fullgraph}"

    @classmethod
    def parsed(cls, text: str) -> Cell:
        default, _, fullgraph = text.partition(" | ")
        return cls(Outcome.parsed(default), Outcome.parsed(fullgraph or default))


@dataclass(frozen=True, slots=True)
class Proven:
    """The examples of a rule in their order, by their digests: one that was edited has not been measured."""

    bad: Mapping[str, Cell] = field(default_factory=dict)
    good: Mapping[str, Cell] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One file."""

    torch: str
    python: str
    rules: Mapping[str, Proven] = field(default_factory=dict)
    symbols: Mapping[str, Mapping[str, Cell]] = field(default_factory=dict)
    """Symbol → expression → what happened."""

    @property
    def name(self) -> str:
        return f"torch-{self.torch}-py{self.python}.yaml"

    @property
    def version(self) -> tuple[list[int], ...]:
        """Of torch, then of Python."""
        return tuple([int(part) for part in re.findall(r"\d+", text)[:3]] for text in (self.torch, self.python))


def digest(example: Example) -> str:
    """Of all that decides how it ends."""
    return hashlib.blake2b(json.dumps([example.code, *example.run]).encode(), digest_size=3).hexdigest()


def read(path: Path) -> Evidence:
    data: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    return Evidence(
        torch=data["torch"],
        python=data["python"],
        rules={code: Proven(_cells(rule["bad"]), _cells(rule["good"])) for code, rule in (data["rules"] or {}).items()},
        symbols={symbol: _cells(found) for symbol, found in (data["symbols"] or {}).items()},
    )


def _cells(texts: Mapping[str, str]) -> dict[str, Cell]:
    return {name: Cell.parsed(text) for name, text in texts.items()}


def read_all(folder: Path = FOLDER) -> list[Evidence]:
    """Every file, from the oldest version of torch to the newest."""
    return sorted(map(read, folder.glob("torch-*.yaml")), key=lambda evidence: evidence.version)


def render(evidence: Evidence) -> str:
    """The file's text: sorted, one symbol or one group of examples a line."""
    return "\n".join(_lines(evidence))


def _lines(evidence: Evidence) -> Iterator[str]:
    yield "# Written by `fullgraph rules prove`: default mode | fullgraph=True, where they differ."
    yield f"torch: {evidence.torch}"
    yield f"python: {json.dumps(evidence.python)}"
    yield "rules:"
    for code, proven in sorted(evidence.rules.items()):
        yield f"  {code}:"
        yield f"    bad: {_mapping(proven.bad)}"
        yield f"    good: {_mapping(proven.good)}"
    yield "symbols:"
    for symbol, found in sorted(evidence.symbols.items()):
        yield f"  {symbol}: {_mapping(dict(sorted(found.items())))}"
    yield ""


def _mapping(cells: Mapping[str, Cell]) -> str:
    return f"{{{', '.join(f'{json.dumps(name)}: {_scalar(str(cell))}' for name, cell in cells.items())}}}"


def _scalar(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9 |]+", text) else json.dumps(text)
