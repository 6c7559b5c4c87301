"""`fullgraph rules prove` and `fullgraph rules diff`: what torch really does to the rules' examples and to symbols."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fullgraph.lint.cache import cache_folder
from fullgraph.rules import load
from fullgraph.rules.model import Rule

from .known_rules import known_rules

if TYPE_CHECKING:
    from fullgraph.rules.measured import Evidence


@click.command()
@click.argument("codes", nargs=-1, metavar="[CODE]...")
@click.option(
    "--torch-python",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=sys.executable,
    metavar="PATH",
    help="The interpreter whose torch is asked; it needs nothing else (default: this one).",
)
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True, metavar="N", help="Processes.")
@click.option("--fresh", is_flag=True, help="Measure again what earlier runs have measured.")
def prove(codes: tuple[str, ...], torch_python: Path, jobs: int, fresh: bool) -> int:
    """Compile the examples of the rules with these codes or prefixes, and with none of them every probe of a symbol
    too, and write down what happened.

    A run that was interrupted goes on where it stopped. Exit codes: 0 every rule holds, 1 some do not, 2 wrong usage.
    """
    from fullgraph.jit.prove import prove as prover
    from fullgraph.jit.prove.journal import Journal
    from fullgraph.jit.prove.pool import NoTorch, Pool
    from fullgraph.jit.prove.probes import read as read_probes
    from fullgraph.rules import changes
    from fullgraph.rules.measured import FOLDER, Evidence, read, render

    rules = list(selected(codes))
    sheets = () if codes else read_probes()
    try:
        with Pool(torch_python, jobs) as pool:
            version = pool.version()
            journal = Journal(cache_folder() / "prove", version)
            if fresh:
                journal.clear()
            count = prover.count(rules, sheets)
            with click.progressbar(length=count, label=f"torch {version.torch}", file=sys.stderr) as bar:
                found = prover.prove(pool, rules, sheets, journal=journal, step=lambda: bar.update(1))
    except NoTorch as error:
        raise click.UsageError(str(error)) from None
    if missing := list(missing_modules(rules, found)):
        raise click.UsageError("\n".join(missing))
    path = FOLDER / found.name
    before = read(path) if path.is_file() else Evidence(*version)
    written = prover.laid_over(found, before, load())
    if any(rule.code in load() for rule in rules):
        path.write_text(render(written), encoding="utf-8")
        for line in changes.render(changes.changes(before, written)):
            click.echo(line)
    broken = list(doubts(rules, found))
    for line in broken:
        click.echo(line)
    hold = len({rule.code for rule in rules} - {line.partition(":")[0] for line in broken})
    click.echo(f"torch {version.torch}, Python {version.python}: {hold} of {len(rules)} rules hold")
    return int(bool(broken))


def selected(codes: tuple[str, ...]) -> Iterator[Rule]:
    """The rules with these codes or prefixes; all that have anything to prove if there are none."""
    rules = [rule for rule in known_rules().values() if not rule.code.startswith("FG9")]
    for code in codes:
        if not any(rule.code.startswith(code.upper()) for rule in rules):
            raise click.UsageError(f"no rule has the code or prefix {code!r}; `fullgraph rules list` shows all")
    wanted = tuple(code.upper() for code in codes)
    return (rule for rule in rules if not wanted or rule.code.startswith(wanted))


def missing_modules(rules: Iterable[Rule], evidence: Evidence) -> Iterator[str]:
    """Examples that import what the interpreter does not have."""
    for rule in rules:
        proven = evidence.rules[rule.code]
        for kind, cells in (("bad", proven.bad), ("good", proven.good)):
            for number, cell in enumerate(cells.values(), 1):
                if "ModuleNotFoundError" in cell.default.what:
                    reason = cell.default.what.partition(": ")[2]
                    yield f"{rule.code}: {kind} example {number} cannot run on that interpreter: {reason}"


def doubts(rules: Iterable[Rule], evidence: Evidence) -> Iterator[str]:
    """Where a rule does not hold on that torch."""
    from fullgraph.rules.summarise import SHOWN

    for rule in rules:
        proven = evidence.rules[rule.code]
        for number, (example, cell) in enumerate(zip(rule.bad, proven.bad.values(), strict=True), 1):
            proof = rule.proof(example)
            if proof in SHOWN and cell.default.kind not in SHOWN[proof]:
                yield f"{rule.code}: bad example {number} is expected to show a {proof}, and was: {cell.default}"
        for number, cell in enumerate(proven.good.values(), 1):
            if cell.default.kind != "captured":
                yield f"{rule.code}: good example {number} is expected to be captured, and was: {cell.default}"


@click.command()
@click.argument("old")
@click.argument("new")
def diff(old: str, new: str) -> None:
    """Say what changes between two versions of torch, such as 2.9.1 and 2.14.1, by the evidence."""
    from fullgraph.rules import changes

    for line in changes.render(changes.changes(evidence_of(old), evidence_of(new))):
        click.echo(line)


def evidence_of(version: str) -> Evidence:
    """The evidence of a version; `2.13` stands for the newest 2.13 there is."""
    from fullgraph.rules.measured import FOLDER, read

    paths = sorted([*FOLDER.glob(f"torch-{version}-py*.yaml"), *FOLDER.glob(f"torch-{version}.*-py*.yaml")])
    if not paths:
        known = sorted({path.name.split("-")[1] for path in FOLDER.glob("torch-*.yaml")})
        raise click.UsageError(f"there is no evidence for torch {version}, only for {', '.join(known) or 'none'}")
    return read(paths[-1])
