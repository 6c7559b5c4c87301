"""The counts that each test is allowed, in a file that may only get smaller."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = "fullgraph.tests/1"


class RatchetError(Exception):
    """The file holds no such counts; the message names it."""


@dataclass(frozen=True, slots=True)
class Counts:
    breaks: int = 0
    recompiles: int = 0

    def exceeds(self, allowed: Counts) -> bool:
        return self.breaks > allowed.breaks or self.recompiles > allowed.recompiles

    def __str__(self) -> str:
        breaks = f"{self.breaks} graph break{'' if self.breaks == 1 else 's'}"
        return f"{breaks} and {self.recompiles} recompile{'' if self.recompiles == 1 else 's'}"


def read(file: Path) -> dict[str, Counts]:
    """Test → counts; a test that is not named is allowed nothing.

    Raises RatchetError where the file can't be read or is of another kind.
    """
    try:
        document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise RatchetError(f"{file} has the schema {document['schema']!r}, not {SCHEMA!r}")
        return {name: Counts(**counts) for name, counts in document["tests"].items()}
    except OSError as error:
        raise RatchetError(f"can't read {file}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RatchetError(f"{file} holds no counts of tests; write it with --fullgraph-write-baseline") from None


def write(file: Path, counts: Mapping[str, Counts]) -> None:
    """Tests without any are left out."""
    tests = {
        name: {"breaks": found.breaks, "recompiles": found.recompiles}
        for name, found in sorted(counts.items())
        if found != Counts()
    }
    file.write_text(json.dumps({"schema": SCHEMA, "tests": tests}, indent=1) + "\n", encoding="utf-8")


def tightened(old: Mapping[str, Counts], new: Mapping[str, Counts]) -> dict[str, Counts]:
    """The old counts with every one lowered that has become less; what has become more stays as it was."""
    result = dict(old)
    for name, found in new.items():
        allowed = old.get(name, Counts())
        result[name] = Counts(min(found.breaks, allowed.breaks), min(found.recompiles, allowed.recompiles))
    return result
