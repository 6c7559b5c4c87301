"""The words that options take, apart from the enums they become: `--help` has no time to import those."""

from __future__ import annotations

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")
ASSUME_COMPILED = ("auto", "none", "forward", "all")
MODES = ("default", "fullgraph")
CONFIDENCES = ("certain", "likely", "possible")
TYPES = ("none", "mypy")
