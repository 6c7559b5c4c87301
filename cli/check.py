"""`fullgraph check`: the options of the static half. What they ask for is done in `checking`, imported when needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .words import ASSUME_COMPILED, CONFIDENCES, FORMATS, MODES, TYPES


class PathArgument(click.Path):
    """A path that names something: an empty one would mean the working directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            raise click.UsageError("an empty PATH names nothing; `.` is the working directory")
        return super().convert(value, param, ctx)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, type=PathArgument(path_type=Path, readable=False), metavar="[PATH]...")
@click.option("--entry", multiple=True, metavar="PATH::QUALNAME", help="Take this function for compiled. Repeatable.")
@click.option(
    "--assume-compiled",
    type=click.Choice(ASSUME_COMPILED),
    help="What to take for compiled beside the compile calls found. auto (default): every nn.Module.forward if the "
    "project has no compile call at all.",
)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    help="Judge by this mode instead of what the compile call says.",
)
@click.option("--target-torch", metavar="VERSION", help="Judge by this torch version, such as 2.13.")
@click.option(
    "--compare-torch",
    metavar="VERSION",
    help="Say which findings appear and which vanish when that version takes the place of the target.",
)
@click.option(
    "--select", multiple=True, metavar="CODES", help="Report only these rules: codes or prefixes, with commas."
)
@click.option("--ignore", multiple=True, metavar="CODES", help="Leave these rules out.")
@click.option(
    "--min-confidence",
    type=click.Choice(CONFIDENCES),
    help="Leave out what is less sure (default: likely).",
)
@click.option("--notes", is_flag=True, help="Show notes too; they never change the exit code.")
@click.option("--first-party", multiple=True, metavar="NAME|PATH", help="Trace into this package too. Repeatable.")
@click.option("--include-libraries", is_flag=True, help="Report findings in installed libraries too.")
@click.option(
    "--types",
    type=click.Choice(TYPES),
    help="Ask mypy what an expression is of which nothing is known (default: none). Takes longer.",
)
@click.option("--output-format", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option(
    "--baseline",
    "known_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Leave out the findings that this file puts off.",
)
@click.option(
    "--write-baseline",
    "written_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Put off all findings in this file; together with --baseline only drop what is no longer found.",
)
@click.option("--changed-since", metavar="REVISION", help="Report only on lines that differ from this git revision.")
@click.option("--fix", is_flag=True, help="Apply the safe fixes, then report what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="Let the other three take fixes that may change results.")
@click.option("--fix-only", is_flag=True, help="Apply the fixes and report nothing; exit with 0.")
@click.option("--diff", is_flag=True, help="Print what --fix would change, write nothing; exit with 1 if there is any.")
@click.option(
    "--add-ignores",
    is_flag=True,
    help="Write a comment at each finding that hides it; with --diff only print what would change.",
)
@click.option("--watch", is_flag=True, help="Check again whenever a file changes, until interrupted.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Use this file's settings.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Use at most this many processes (default: one a core)."
)
def check(paths: tuple[Path, ...], watch: bool, **options: Any) -> int:
    """Say where compiling the Python files in PATH (default: here) will break graphs, recompile or freeze values.

    Nothing is imported or run. Exit codes: 0 nothing found, 1 findings, 2 wrong usage or an internal error; with
    --compare-torch, 1 says that findings appear.
    """
    from . import checking

    if watch:
        from .watch import watching

        return watching(lambda: checking.run(paths, **options), paths)
    return checking.run(paths, **options)
