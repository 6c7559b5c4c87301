"""`fullgraph server`: the language server, on standard input and output."""

from __future__ import annotations

import click


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--stdio", is_flag=True, help="The only way it talks; editors give this.")
def server(stdio: bool) -> int:
    """Tell an editor what `check` finds while somebody types, fix it, and verify functions on demand.

    Talks the Language Server Protocol on stdin and stdout; editors/ has settings for some editors.
    """
    try:
        from fullgraph.server.app import serve
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise click.UsageError(f"{package} is not installed; pip install 'fullgraph[lsp]'") from None
    serve()
    return 0
