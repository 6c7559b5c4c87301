"""How a report for people looks: how wide, and where rule codes lead; and text that may go to a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

WIDTH = 120


@dataclass(frozen=True, slots=True)
class Look:
    width: int = WIDTH
    """Columns."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Rule code → the page that it leads to; empty where the reader knows no links."""

    def linked(self, text: str, code: str) -> str:
        """The text, leading to the rule's page in a terminal that knows how."""
        url = self.links.get(code)
        return text if url is None else f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\"


PLAIN = Look()


def printable(text: str) -> str:
    """Text on one line; what could move the cursor or turn the reading direction is shown as an escape."""
    return text if text.isprintable() else "".join(map(_printable, text))


def readable(text: str) -> str:
    """The same for text of several lines, with tabs."""
    return "".join(part if part in "\n\t" else printable(part) for part in re.split("([\n\t])", text))


def _printable(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
