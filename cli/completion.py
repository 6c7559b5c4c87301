"""`fullgraph completion`: prints what makes a shell complete commands and options, and answers that shell."""

from __future__ import annotations

import importlib

import click
from click.shell_completion import get_completion_class

from .main import ASKED, COMMANDS

SHELLS = ("bash", "zsh", "fish")


class _Commands(click.Group):
    """All commands, each imported when somebody completes its name or options."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"fullgraph.cli.{cmd_name}"), cmd_name)
        return command


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script that makes SHELL complete the commands, options and paths of fullgraph.

    \b
    bash  eval "$(fullgraph completion bash)" in ~/.bashrc
    zsh   eval "$(fullgraph completion zsh)" in ~/.zshrc, after compinit
    fish  fullgraph completion fish > ~/.config/fish/completions/fullgraph.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(_Commands(), {}, "fullgraph", ASKED).source())


def answer(instruction: str) -> int:
    """Tell the shell what may come next; `instruction` is such as `bash_complete`."""
    kind = get_completion_class(instruction.partition("_")[0])
    if kind is None:
        return 2
    click.echo(kind(_Commands(), {}, "fullgraph", ASKED).complete())
    return 0
