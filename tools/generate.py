"""Writes every generated file from the rule files and the data models; with --check, says which ones are stale.

Generated: the packed catalogue and evidence, the JSON schema of rule files, which rule foresees which graph break, and
a page per rule with an index. Run by `make generate`; `make check` runs it with --check.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from fullgraph.rules import summarise
from fullgraph.rules.catalogue import pack
from fullgraph.rules.coverage import coverage
from fullgraph.rules.measured import read_all
from fullgraph.rules.model import Rule
from fullgraph.rules.page import index, page
from fullgraph.rules.source import read_folder, rule_schema

ROOT = Path(__file__).resolve().parent.parent


def generated(rules: list[Rule]) -> Iterator[tuple[Path, str]]:
    """Every generated file and its text."""
    yield ROOT / "rules/catalogue.json", pack(rules)
    yield ROOT / "rules/schema.json", as_json(rule_schema())
    evidence = read_all()
    yield ROOT / "rules/support.json", summarise.pack(rules, evidence)
    yield ROOT / "rules/coverage.md", coverage(registry(), rules, evidence)
    yield ROOT / "docs/rules/index.md", index(rules)
    for rule in rules:
        yield ROOT / f"docs/rules/{rule.code}.md", page(rule)


def registry() -> dict[str, str]:
    """The ids of the installed torch, which is not imported, with the newest name of each."""
    path = importlib.metadata.distribution("torch").locate_file("torch/_dynamo/graph_break_registry.json")
    entries = json.loads(Path(str(path)).read_text(encoding="utf-8"))
    return {gb: versions[0]["Gb_type"] for gb, versions in entries.items()}


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def orphans(wanted: Iterable[Path]) -> set[Path]:
    """Pages of rules that no longer exist."""
    return set((ROOT / "docs/rules").glob("*.md")) - set(wanted)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 if a file is stale")
    check = parser.parse_args().check
    try:
        files = dict(generated(read_folder(ROOT / "rules")))
    except click.UsageError as error:
        print(error.message, file=sys.stderr)
        return 2
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    gone = orphans(files)
    for path in sorted([*stale, *gone]):
        print(f"{'stale' if check else 'wrote' if path in files else 'removed'}: {path.relative_to(ROOT)}")
    if check:
        return 1 if stale or gone else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
    for path in gone:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
