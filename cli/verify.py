"""`fullgraph verify`: compiles targets in processes of their own, and says which findings Dynamo confirms."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fullgraph.jit.targets import STAGES, VARIATIONS, FailOn
from fullgraph.lint.config import Mode, load
from fullgraph.lint.findings import Confidence
from fullgraph.rules import load as load_rules

from . import html_report, mending
from .projects import build_request
from .terminal import show, width

if TYPE_CHECKING:
    from fullgraph.jit.events import Observation

BACKENDS = ("mlir", "eager", "aot_eager", "inductor")
FULLGRAPH = {None: None, "default": False, "fullgraph": True}
DYNAMIC = {"auto": None, "true": True, "false": False}
ARGUMENTS = "fullgraph.arguments"


class WithArguments(click.Command):
    """A command for which `--` begins the arguments of somebody else."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = args[: args.index("--")] if "--" in args else args
        ctx.meta[ARGUMENTS] = tuple(args[len(own) + 1 :])
        return super().parse_args(ctx, own)


def one_mode(context: click.Context, parameter: click.Parameter, value: bool) -> bool:
    """Refuse --train together with --eval."""
    if value and any(context.params.get(name) for name in ("train", "evaluate")):
        raise click.UsageError("--train and --eval exclude each other; leave both out to have both modes looked at")
    return value


@click.command(
    cls=WithArguments,
    context_settings={"help_option_names": ["-h", "--help"]},
    options_metavar="[OPTIONS]",
)
@click.argument("targets", nargs=-1, metavar="[TARGET]... [-- ARGUMENT...]")
@click.option("-m", "modules", multiple=True, metavar="MODULE", help="Run this module as `python -m` does. Repeatable.")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="[NAME=]INPUT",
    help="An argument for each function or module, in order or by name: 'f32[8,64]', 'i64[2,16]<1000', 'bool[3]', a "
    "Python literal, or a list, tuple or dict of these; integers are below 10 if no bound is given. Or "
    "PATH::FUNCTION or package.module:function, which returns all of them. What is not given is taken from defaults, "
    "annotations and docstrings, and the output says so.",
)
@click.option(
    "--init", metavar="ARGUMENTS", help="Make modules with these: 'dim=64, depth=2', in the language of --input."
)
@click.option(
    "--vary",
    multiple=True,
    metavar="KINDS",
    help=f"Call again with other values and say what recompiles and why: {', '.join(VARIATIONS)}; with commas.",
)
@click.option("--train", is_flag=True, callback=one_mode, help="Put modules in training mode.")
@click.option(
    "--eval",
    "evaluate",
    is_flag=True,
    callback=one_mode,
    help="Put modules in evaluation mode. Without either: evaluation, and training too where findings hold only there.",
)
@click.option(
    "--fake", is_flag=True, help="Make and trace modules without numbers, memory or GPU: graph breaks, nothing else."
)
@click.option("--device", metavar="cpu|cuda", help="Where to put modules and inputs; with --fake it needs no GPU.")
@click.option("--backend", type=click.Choice(BACKENDS), help="Force it; otherwise mlir where none is named.")
@click.option(
    "--mode", type=click.Choice([mode.value for mode in Mode]), help="Compile in this mode whatever the call says."
)
@click.option("--dynamic", type=click.Choice(tuple(DYNAMIC)), default="auto", help="Force torch.compile's `dynamic`.")
@click.option(
    "--compare-eager",
    is_flag=True,
    help="Run every target eagerly too, and report calls of compiled functions that gave an old result: frozen values "
    "that no finding foresaw. Without it, only where findings name frozen values.",
)
@click.option(
    "--record",
    "record_folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write refuted findings and unpredicted breaks there, each as a small example for a rule.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Run so many at a time."
)
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=300.0, show_default=True, metavar="SECONDS"
)
@click.option(
    "--memory-mb", type=click.IntRange(min=1), metavar="N", help="Limit the memory that a target may allocate."
)
@click.option(
    "--max-calls", type=click.IntRange(min=1), metavar="N", help="End a target after N calls of compiled functions."
)
@click.option(
    "--fail-on",
    type=click.Choice([what.value for what in FailOn]),
    default="any",
    show_default=True,
    help="What makes the exit code 1: a confirmed finding, an unpredicted break, repeated recompiles, or any of these.",
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
@click.option("--first-party", multiple=True, metavar="NAME|PATH", help="Count this package as yours too. Repeatable.")
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", show_default=True)
@html_report.option
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Use this file's settings.")
@click.option(
    "--fix",
    "fixing",
    is_flag=True,
    help="Try the fixes of confirmed findings, the unsafe ones too: run with and without each, and apply those that "
    "remove the cause and change nothing else.",
)
@click.option("--diff", is_flag=True, help="Print what --fix would change, write nothing; exit with 1 if there is any.")
@click.option("--watch", is_flag=True, help="Verify again whenever a file changes, until interrupted.")
@click.pass_context
def verify(context: click.Context, /, watch: bool, **options: Any) -> int:
    """Compile each TARGET and say which findings Dynamo confirms, and what it did that nobody predicted.

    TARGET is a script, run as __main__; PATH::QUALNAME or package.module:name, a function, or a torch.nn.Module class
    or instance, compiled and called, or NAME() for what a function returns; a pytest test, such as
    test_net.py::test_forward; or a name from [tool.fullgraph.targets], all of which are run if there is no TARGET. What
    follows `--` goes to scripts, modules and pytest. Each target runs in a process of its own.

    Exit codes: 0 nothing broke, 1 breaks or repeated recompiles, 2 wrong usage or a target that did not run to its end
    or compiled nothing.
    """
    arguments = context.meta[ARGUMENTS]
    if (options["fixing"] or options["diff"]) and (watch or options["record_folder"]):
        other = "--watch" if watch else "--record"
        raise click.UsageError(f"{other} and fixing can't be asked for together: run one after the other")
    if watch:
        from .watch import watching

        return watching(lambda: verified(arguments, **options), ())
    return verified(arguments, **options)


def verified(
    arguments: tuple[str, ...],
    targets: tuple[str, ...],
    modules: tuple[str, ...],
    vary: tuple[str, ...],
    train: bool,
    evaluate: bool,
    mode: str | None,
    dynamic: str,
    compare_eager: bool,
    record_folder: Path | None,
    jobs: int,
    timeout: float,
    fail_on: str,
    notes: bool,
    output_format: str,
    show_ir: str | None,
    page: Path | None,
    config_file: Path | None,
    fixing: bool,
    diff: bool,
    **options: Any,
) -> int:
    """Verify once; `arguments` are for the programs. Gives the exit code."""
    # Imported here, because --help has to be quick.
    from fullgraph.jit import emit_json, emit_text, session
    from fullgraph.jit.inputs import InputError
    from fullgraph.jit.isolate import ServerError
    from fullgraph.jit.kept import Kept
    from fullgraph.jit.launch import torch_version
    from fullgraph.jit.plan import plans
    from fullgraph.jit.targets import Settings, TargetError
    from fullgraph.jit.verify import exit_code

    write_page = html_report.writer(page)
    checked = {name: options.pop(name) for name in ("select", "ignore", "min_confidence", "first_party")}
    settings = Settings(
        fullgraph=FULLGRAPH[mode],
        dynamic=DYNAMIC[dynamic],
        timeout_s=timeout,
        training=train if train or evaluate else None,
        stages=html_report.stages(show_ir, page),
        vary=tuple(kind.strip() for item in vary for kind in item.split(",") if kind.strip()),
        **options,
    )
    try:
        config = load((), frozenset(load_rules()), config_file)
        planned = plans(targets, modules, arguments, settings, config)
        paths = tuple(plan.target.path for plan in planned)
        named = {target.name for target in config.targets}
        own_file = config.source if any(plan.target.text in named for plan in planned) else None
        checked["target_torch"] = torch_version()  # what the findings are held against
        checked["backend"] = "eager" if settings.fake else settings.backend
        request = build_request(paths, config_file or own_file, use_cache=True, mode=mode, **checked)
        kept = Kept.of(plan.target for plan in planned)
        if fixing or diff:
            fixed = session.fixed(planned, request, jobs, watched, compare_eager)
        else:
            reports = session.reports(planned, request, jobs, watched, compare_eager, record_folder)
            fixed = session.Fixed(reports, reports)
    except (TargetError, InputError, ServerError) as error:
        raise click.UsageError(str(error)) from None
    shown = html_report.without_ir(fixed.reports, but=show_ir)
    as_json = output_format == "json"
    # The patch has stdout for itself.
    show(emit_json.render(shown) if as_json else emit_text.render(shown, notes, width()), err=diff and not as_json)
    write_page(fixed.reports, kept)
    if fixing or diff:
        mending.finish(fixed, diff, printed=as_json)
    return max(exit_code(fixed.left, FailOn(fail_on)), int(diff and bool(fixed.changed)))


def watched(seen: Iterator[Observation], count: int) -> Iterable[Observation]:
    """Show on stderr how many targets are done, if somebody looks."""
    if not sys.stderr.isatty():
        yield from seen
        return
    with click.progressbar(
        seen, count, "verifying", file=sys.stderr, item_show_func=lambda item: item and item.target
    ) as bar:
        yield from bar
