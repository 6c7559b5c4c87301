"""The `fullgraph` command: a group that imports a command's module only when that command runs."""

from __future__ import annotations

import importlib
import os
import sys
import traceback

import click

COMMANDS = {
    "check": "Find graph breaks, recompiles and frozen values without importing torch.",
    "rules": "List the rules and explain them.",
    "verify": "Compile the code and say which findings Dynamo confirms.",
}
"""Command name to the line that `--help` shows; `fullgraph.cli.<name>` holds a command called `<name>`."""


class LazyGroup(click.Group):
    """Knows its commands by name, so that neither `--help` nor another command pays for importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"fullgraph.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def show_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"fullgraph {version('fullgraph')}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=show_version, help="Show it.")
def fullgraph() -> None:
    """Tell where torch.compile will break the graph, recompile or freeze a value, and prove it by compiling.

    Exit codes: 0 nothing found, 1 findings, 2 wrong usage or an internal error.
    """


def main() -> None:
    """Run the command line and exit; a mistake of the user's is one line on stderr and exit code 2."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    try:
        code = fullgraph.main(arguments, prog_name="fullgraph", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.ClickException as error:
        click.echo(f"fullgraph: {error.format_message()}", err=True)
        return 2
    except BrokenPipeError:
        # The reader has gone (`| head`). Python flushes stdout once more while exiting; give that flush a place to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("fullgraph: interrupted", err=True)
        return 130
    except Exception:
        # Python's own exit code for an uncaught exception is 1, which here means 'findings'.
        traceback.print_exc()
        click.echo("fullgraph: this is a bug in fullgraph, please report it with the traceback above", err=True)
        return 2
    return code if isinstance(code, int) else 0
