"""Rule pages as files, for what wants a link: written when first asked for, out of the rule itself."""

from __future__ import annotations

import contextlib
from pathlib import Path

from fullgraph.lint.config import Config
from fullgraph.rules import load as load_rules
from fullgraph.rules.model import Rule
from fullgraph.rules.page import page


class Pages:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._uris: dict[str, str | None] = {}

    def rule(self, code: str, config: Config | None = None) -> Rule | None:
        """A built-in rule, or one of the project's own."""
        own = config.rules if config is not None else ()
        return load_rules().get(code) or next((rule for rule in own if rule.code == code), None)

    def uri(self, rule: Rule) -> str | None:
        """Where the page lies; None where it can't be written."""
        text = page(rule)
        if text not in self._uris:
            self._uris[text] = None
            file = self._folder / f"{rule.code}.md"
            with contextlib.suppress(OSError):  # a full or read-only disk only costs the link
                self._folder.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
                self._uris[text] = file.as_uri()
        return self._uris[text]
