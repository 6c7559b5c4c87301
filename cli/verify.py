"""`fullgraph verify`: compiles targets in processes of their own, and says which findings Dynamo confirms."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import click

from fullgraph.jit import emit_json, emit_text
from fullgraph.jit.events import Observation
from fullgraph.jit.inputs import InputError, parse
from fullgraph.jit.isolate import ServerError, observations
from fullgraph.jit.targets import Job, Target, TargetError, parse_target
from fullgraph.jit.verify import TargetReport, exit_code, files, judge, read_source
from fullgraph.lint.config import EntryPoint, Mode
from fullgraph.lint.findings import Confidence
from fullgraph.lint.request import CheckRequest
from fullgraph.lint.target import resolve

from .check import build_request

BACKENDS = ("eager", "aot_eager", "inductor")
DYNAMIC = {"auto": None, "true": True, "false": False}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="INPUT",
    help="An argument for each PATH::QUALNAME, in order: 'f32[8,64]', 'i64[2,16]<1000', 'bool[3]', a Python "
    "literal, or a list, tuple or dict of these. Integers are below 10 if no bound is given.",
)
@click.option("--train/--eval", "training", default=False, help="Put modules in this mode (default: eval).")
@click.option("--backend", type=click.Choice(BACKENDS), help="Force it; otherwise eager where none is named.")
@click.option(
    "--mode", type=click.Choice([mode.value for mode in Mode]), help="Compile in this mode whatever the call says."
)
@click.option("--dynamic", type=click.Choice(tuple(DYNAMIC)), default="auto", help="Force torch.compile's `dynamic`.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=300.0, show_default=True, metavar="SECONDS"
)
@click.option(
    "--memory-mb", type=click.IntRange(min=1), metavar="N", help="Limit the memory that a target may allocate."
)
@click.option(
    "--select", multiple=True, metavar="CODES", help="Judge only these rules: codes or prefixes, with commas."
)
@click.option("--ignore", multiple=True, metavar="CODES", help="Leave these rules out.")
@click.option(
    "--min-confidence", type=click.Choice([level.value for level in Confidence]), help="Leave out what is less sure."
)
@click.option("--notes", is_flag=True, help="Show notes too; they never change the exit code.")
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Use this file's settings.")
def verify(targets: tuple[str, ...], output_format: str, config_file: Path | None, notes: bool, **options: Any) -> int:
    """Compile each TARGET and say which findings Dynamo confirms, and what it did that nobody predicted.

    TARGET is a script, run as __main__, or PATH::QUALNAME: a function, or a torch.nn.Module class or instance, compiled
    and called once. Each runs in a process of its own.

    Exit codes: 0 nothing broke, 1 breaks or repeated recompiles, 2 wrong usage or a target that did not run to its end
    or compiled nothing.
    """
    try:
        parsed = [parse_target(text) for text in targets]
        checks = {name: options[name] for name in ("mode", "select", "ignore", "min_confidence")}
        request = build_request(tuple(target.path for target in parsed), config_file, use_cache=True, **checks)
        jobs = [_job(target, request.config.root, options) for target in parsed]
        seen = list(observations(jobs))
    except (TargetError, InputError, ServerError) as error:
        raise click.UsageError(str(error)) from None
    reports = list(_judged(jobs, seen, request))
    text = emit_json.render(reports) if output_format == "json" else emit_text.render(reports, notes)
    click.echo(text, nl=False, color=False if os.environ.get("NO_COLOR") else None)
    return exit_code(reports)


def _job(target: Target, root: Path, options: dict[str, Any]) -> Job:
    for text in options["inputs"]:
        parse(text)
    if target.qualname is None and options["inputs"]:
        raise TargetError(f"--input is for PATH::QUALNAME; {target.text} is a script, which makes its own inputs")
    return Job(
        target=target,
        inputs=options["inputs"],
        training=options["training"],
        backend=options["backend"],
        fullgraph={None: None, "default": False, "fullgraph": True}[options["mode"]],
        dynamic=DYNAMIC[options["dynamic"]],
        timeout_s=options["timeout"],
        memory_mb=options["memory_mb"],
        roots=(root, Path.cwd(), target.path.parent),
    )


def _judged(jobs: list[Job], seen: list[Observation], request: CheckRequest) -> Iterator[TargetReport]:
    """Reports for the targets that were run, from what `fullgraph check` says about all files that they touched."""
    from fullgraph.lint import engine

    touched = [files(item) | {_shown(job.target.path)} for job, item in zip(jobs, seen, strict=False)]
    names = frozenset[str]().union(*touched)
    entries = [entry for job, item in zip(jobs, seen, strict=False) for entry in _entry(job.target, item)]
    version = ".".join(seen[0].torch.split(".")[:2])
    findings = engine.check(
        replace(
            request,
            files=tuple(sorted(Path(name).absolute() for name in names)),
            config=replace(request.config, entry=(*request.config.entry, *entries)),
            torch=resolve(version, request.config.root).torch,
        )
    ).findings
    for item, own in zip(seen, touched, strict=True):
        yield judge(item, (finding for finding in findings if finding.span.path in own), read_source)


def _entry(target: Target, seen: Observation) -> tuple[EntryPoint, ...]:
    """What was called: the outermost first-party function that was traced."""
    if target.qualname is None:
        return ()
    named = (item for item in seen.traced if all(part.isidentifier() for part in item.function.split(".")))
    return tuple(EntryPoint(Path(item.path).absolute(), item.function) for item in islice(named, 1))


def _shown(path: Path) -> str:
    """As events show it: relative inside the working directory, else absolute."""
    working = Path.cwd()
    return path.relative_to(working).as_posix() if path.is_relative_to(working) else path.as_posix()
