"""Makes `python -m fullgraph.cli` the same as the `fullgraph` command."""

from .main import main

main()
