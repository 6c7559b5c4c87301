"""The baseline: findings that a project knows of and has put off, kept in a JSON file that may only get shorter."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from .findings import Finding, Severity
from .fingerprint import fingerprints, relative

SCHEMA = "fullgraph.baseline/1"


class BaselineError(Exception):
    """The file is no baseline; the message names it and says what to do."""


class Known(msgspec.Struct, frozen=True, order=True):
    """A finding put off. Only the fingerprint counts, the rest is for people."""

    path: str
    function: str
    code: str
    fingerprint: str
    message: str


class _File(msgspec.Struct):
    schema: str
    findings: list[Known]


@dataclass(frozen=True, slots=True)
class Sorted:
    """Findings held against a baseline."""

    new: tuple[Finding, ...]
    known: tuple[Finding, ...]
    stale: tuple[Known, ...]
    """Entries of the baseline that are not found any more, in the files that were looked at."""


def read(file: Path) -> tuple[Known, ...]:
    """The entries of a baseline file.

    Raises BaselineError for a file that can't be read or is no baseline.
    """
    try:
        # Not msgspec's own parser: it refuses file names that are no text.
        document = msgspec.convert(json.loads(file.read_bytes()), _File)
    except OSError as error:
        raise BaselineError(f"can't read the baseline {file}: {error.strerror}") from None
    except (ValueError, msgspec.ValidationError) as error:
        raise BaselineError(f"{file} is no baseline ({error}); write one with --write-baseline") from None
    if document.schema != SCHEMA:
        raise BaselineError(f"{file} has the schema {document.schema!r}, not {SCHEMA!r}; write it anew")
    return tuple(document.findings)


def compare(findings: Iterable[Finding], known: Iterable[Known], base: Path, checked: Iterable[Path]) -> Sorted:
    """Tell new findings from those in the baseline. Notes need no baseline and stay as they are.

    `base` is the baseline's folder, from which its paths count; `checked` are the files that were looked at.
    """
    names = fingerprints(countable(findings), base)
    entries = {entry.fingerprint: entry for entry in known}
    found = set(names.values())
    looked_at = {relative(str(path), base) for path in checked}
    return Sorted(
        new=tuple(finding for finding in findings if names.get(finding) not in entries),
        known=tuple(finding for finding in findings if names.get(finding) in entries),
        stale=tuple(
            entry
            for name, entry in sorted(entries.items(), key=lambda item: item[1])
            if name not in found and (entry.path in looked_at or not (base / entry.path).exists())
        ),
    )


def entries_of(findings: Iterable[Finding], base: Path) -> tuple[Known, ...]:
    """What a baseline of these findings holds."""
    names = fingerprints(countable(findings), base)
    return tuple(
        sorted(
            Known(relative(finding.span.path, base), finding.function, finding.code, name, finding.message)
            for finding, name in names.items()
        )
    )


def countable(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity is not Severity.NOTE]


def write(file: Path, entries: Iterable[Known]) -> None:
    """Replace the file, or the one that it is a link to, at once or not at all.

    Raises BaselineError where the folder can't be written to, or what is there is no file.
    """
    place = file.resolve()
    if place.exists() and not place.is_file():
        raise BaselineError(f"can't write the baseline {file}: it is no file")
    document = {"schema": SCHEMA, "findings": [msgspec.to_builtins(entry) for entry in sorted(entries)]}
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    try:
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}.") as folder:
            fresh = Path(folder, place.name)
            fresh.write_text(text, encoding="utf-8", errors="backslashreplace")
            fresh.replace(place)
    except OSError as error:
        raise BaselineError(f"can't write the baseline {file}: {error.strerror}") from None
