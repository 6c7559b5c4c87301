"""What the parts of the server share."""

from __future__ import annotations

from dataclasses import dataclass, field

from .checker import Checker
from .documents import Documents
from .pages import Pages
from .settings import Settings
from .verdicts import Verdicts


@dataclass(slots=True)
class State:
    documents: Documents
    checker: Checker
    pages: Pages
    verdicts: Verdicts = field(default_factory=Verdicts)
    settings: Settings = field(default_factory=Settings)
