"""`fullgraph run`: runs a program unchanged, with all its processes, and reports what Dynamo did when it has ended."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from fullgraph.jit.targets import FailOn

from . import html_report
from .projects import build_request
from .terminal import colour
from .verify import BACKENDS


@click.command(
    context_settings={
        "help_option_names": ["-h", "--help"],
        "allow_interspersed_args": False,
    },
    options_metavar="[OPTIONS]",
)
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-m] SCRIPT [ARGUMENT]...")
@click.option("-m", "as_module", is_flag=True, help="SCRIPT is a module, run as `python -m` does.")
@click.option("--backend", type=click.Choice(BACKENDS), help="Force it, whatever the program asks for.")
@click.option(
    "--collect",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the events of all processes in this folder, and report on all that it holds: of other nodes too.",
)
@click.option(
    "--max-calls",
    type=click.IntRange(min=1),
    metavar="N",
    help="Watch each process for N calls of compiled functions only; the program goes on.",
)
@click.option(
    "--fail-on",
    type=click.Choice([what.value for what in FailOn]),
    help="Exit with 1 where the program would with 0, if there was a confirmed finding, an unpredicted break, repeated "
    "recompiles, or any of these.",
)
@click.option("--notes", is_flag=True, help="Show notes too; they never change the exit code.")
@click.option("--first-party", multiple=True, metavar="NAME|PATH", help="Count this package as yours too. Repeatable.")
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.option(
    "--report-file", type=click.Path(dir_okay=False, path_type=Path), help="Write the report here, not to stderr."
)
@html_report.option
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Use this file's settings.")
def run(
    program: tuple[str, ...],
    as_module: bool,
    backend: str | None,
    collect: Path | None,
    max_calls: int | None,
    fail_on: str | None,
    notes: bool,
    first_party: tuple[str, ...],
    output_format: str,
    report_file: Path | None,
    page: Path | None,
    config_file: Path | None,
) -> int:
    """Run SCRIPT with this Python as if it were run alone, and say what Dynamo did when it has ended, however it ends.

    Python processes that it starts are watched too: forked, spawned or started by a command, as long as they keep the
    environment and have fullgraph installed. The program has stdin, stdout and stderr for itself; the report goes to
    stderr at its end. Signals are passed on.

    Exit codes: the program's own, 128 + N if signal N ended it. With --fail-on, 1 in place of 0 if that happened, and 2
    if nothing was compiled. Wrong usage is 2.
    """
    from fullgraph.jit import emit_json, emit_text
    from fullgraph.jit.events import Status
    from fullgraph.jit.kept import Kept
    from fullgraph.jit.launch import collected, launch, torch_version
    from fullgraph.jit.observer import Orders
    from fullgraph.jit.session import roots, with_findings
    from fullgraph.jit.targets import TargetError, parse_module, parse_script
    from fullgraph.lint.libraries import is_installed

    if not program:
        raise click.UsageError("Missing argument 'SCRIPT': name a script, or a module after -m")
    if report_file and not report_file.absolute().parent.is_dir():
        raise click.UsageError(f"--report-file {report_file}: there is no folder {report_file.parent}")
    write_page = html_report.writer(page)
    name, *arguments = program
    try:
        target = parse_module(name, tuple(arguments)) if as_module else parse_script(name, tuple(arguments))
        version = torch_version()
    except TargetError as error:
        raise click.UsageError(str(error)) from None
    paths = () if is_installed(target.path) else (target.path,)
    request = build_request(
        paths, config_file, use_cache=True, first_party=first_party, target_torch=version, backend=backend
    )
    kept = Kept.of([target])
    with _folder(collect) as folder:
        orders = Orders(
            folder=str(folder),
            working=str(Path.cwd()),
            roots=tuple(map(str, roots(target, request))),
            first_party=request.config.first_party,
            backend=backend,
            max_calls=max_calls,
        )
        ended = launch(target.program, orders)
        seen = collected(target, folder, ended, version)
    reports = list(with_findings([target], [seen], request, kept))
    text = (
        emit_json.render(reports) if output_format == "json" else emit_text.render(reports, notes, _width(report_file))
    )
    if report_file:
        report_file.write_text(click.unstyle(text), encoding="utf-8")
    else:
        click.echo(text, nl=False, err=True, color=colour())
    write_page(reports, kept)
    if ended or fail_on is None:
        return ended if ended >= 0 else 128 - ended
    if seen.status is Status.NOTHING_COMPILED:
        return 2
    return int(reports[0].fails(FailOn(fail_on)))


@contextlib.contextmanager
def _folder(collect: Path | None) -> Iterator[Path]:
    """Where processes write their events."""
    if collect is None:
        with tempfile.TemporaryDirectory(prefix="fullgraph-") as made:
            yield Path(made)
        return
    collect.mkdir(parents=True, exist_ok=True)
    yield collect.absolute()


def _width(report_file: Path | None) -> int | None:
    """Of the terminal that the report goes to, if it does."""
    return shutil.get_terminal_size().columns if report_file is None and sys.stderr.isatty() else None
