"""`fullgraph verify`: compiles targets in processes of their own, and says which findings Dynamo confirms."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from fullgraph.jit.targets import STAGES
from fullgraph.lint.config import Mode
from fullgraph.lint.findings import Confidence

from .check import build_request

BACKENDS = ("mlir", "eager", "aot_eager", "inductor")
FULLGRAPH = {None: None, "default": False, "fullgraph": True}
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
@click.option("--backend", type=click.Choice(BACKENDS), help="Force it; otherwise mlir where none is named.")
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
    "--show-ir", type=click.Choice(STAGES), help="Show the IR of every graph at this stage of the MLIR backend."
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
def verify(
    targets: tuple[str, ...],
    mode: str | None,
    dynamic: str,
    timeout: float,
    notes: bool,
    output_format: str,
    config_file: Path | None,
    **options: Any,
) -> int:
    """Compile each TARGET and say which findings Dynamo confirms, and what it did that nobody predicted.

    TARGET is a script, run as __main__, or PATH::QUALNAME: a function, or a torch.nn.Module class or instance, compiled
    and called once. Each runs in a process of its own.

    Exit codes: 0 nothing broke, 1 breaks or repeated recompiles, 2 wrong usage or a target that did not run to its end
    or compiled nothing.
    """
    # Imported here, because --help has to be quick.
    from fullgraph.jit import emit_json, emit_text, session
    from fullgraph.jit.inputs import InputError
    from fullgraph.jit.isolate import ServerError
    from fullgraph.jit.targets import Settings, TargetError, parse_target
    from fullgraph.jit.verify import exit_code

    checked = {name: options.pop(name) for name in ("select", "ignore", "min_confidence")}
    settings = Settings(fullgraph=FULLGRAPH[mode], dynamic=DYNAMIC[dynamic], timeout_s=timeout, **options)
    try:
        parsed = [parse_target(text) for text in targets]
        paths = tuple(target.path for target in parsed)
        request = build_request(paths, config_file, use_cache=True, mode=mode, **checked)
        reports = session.reports(parsed, settings, request)
    except (TargetError, InputError, ServerError) as error:
        raise click.UsageError(str(error)) from None
    text = emit_json.render(reports) if output_format == "json" else emit_text.render(reports, notes)
    click.echo(text, nl=False, color=False if os.environ.get("NO_COLOR") else None)
    return exit_code(reports)
