"""The `fullgraph` command: picks a command by name, imports only its module, and turns errors into exit codes.

Importing click alone takes longer than `fullgraph --help` may, so this module does without it until a command runs.
"""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

COMMANDS = {
    "check": "find graph breaks, recompiles and frozen values, without importing torch",
    "verify": "compile the code and say which findings Dynamo confirms",
    "run": "run a program as it is, watch what torch.compile does in it and report at its end",
    "rules": "list the rules and explain them",
    "server": "serve an editor: findings, fixes and verdicts where code is written (LSP)",
    "cache": "say what is kept between runs, or delete it",
    "doctor": "say what is installed, what is missing and how to get it",
    "completion": "print what makes bash, zsh or fish complete commands and options",
}
"""`fullgraph.cli.<name>` holds a click command called `<name>`; the text is its line in `--help`."""

HELP = """\
Usage: fullgraph COMMAND [OPTIONS] [ARGUMENTS]

Tells where torch.compile will break the graph, recompile or freeze a value, and proves it by compiling.

Commands:
{commands}

Options:
  -h, --help  show this text; `fullgraph COMMAND --help` shows a command's options
  --version   show the versions of fullgraph, torch and torch-mlir

Exit codes: 0 nothing found, 1 findings, 2 wrong usage or an internal error."""


ASKED = "_FULLGRAPH_COMPLETE"
"""In this variable a shell asks what may come next."""


def main() -> None:
    if instruction := os.environ.get(ASKED):
        from .completion import answer

        sys.exit(answer(instruction))
    code = run(sys.argv[1:])
    gc.freeze()  # Python looks for garbage once more while exiting, which only takes time
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    match arguments:
        case [] | ["-h" | "--help", *_]:
            print(HELP.format(commands="\n".join(f"  {name:<12}{line}" for name, line in COMMANDS.items())))
            return 0 if arguments else 2
        case ["--version", *_]:
            from .version import versions

            print(versions())
            return 0
        case [name, *rest] if name in COMMANDS:
            return run_command(getattr(importlib.import_module(f"fullgraph.cli.{name}"), name), rest)
        case [name, *_]:
            return fail(f"no command {name!r}; the commands are {', '.join(COMMANDS)}")
    raise AssertionError(arguments)


def run_command(command: click.Command, arguments: list[str]) -> int:
    """A mistake of the user's becomes one line on stderr, any other exception a traceback; both exit with 2."""
    import click

    if sys.stdout is None:
        return 2  # closed by the caller: nobody to tell anything
    try:
        # Not `command.main`: it exits with 1, which here means 'findings', when the reader of stdout has gone.
        with command.make_context(f"fullgraph {command.name}", arguments) as context:
            code = command.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        return fail(error.format_message())
    except BrokenPipeError:
        # The reader has gone (`| head`). Python flushes stdout once more while exiting; give that flush a place to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except (KeyboardInterrupt, click.Abort):
        return fail("interrupted")
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return fail("no space is left where the output goes")
        # Python's own exit code for an uncaught exception is 1, which here means 'findings'.
        sys.excepthook(*sys.exc_info())
        return fail("this is a bug in fullgraph, please report it with the traceback above")
    return code if isinstance(code, int) else 0


def fail(message: str) -> int:
    print(f"fullgraph: {message}", file=sys.stderr)
    return 2
