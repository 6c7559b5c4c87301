"""What the editor holds: open files and notebooks by URI, each change makes a new `Text`; closed files are read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol.types import (
    NotebookCell,
    NotebookCellKind,
    TextDocumentContentChangeEvent,
    TextDocumentContentChangePartial,
)
from pygls.uris import to_fs_path

from fullgraph.lint.lines import lines_of

from .text import Columns, Text


def path_of(uri: str) -> str | None:
    """The absolute path of a file, None for what is no file."""
    if urlsplit(uri).scheme != "file":
        return None
    path = to_fs_path(uri)
    return None if path is None else os.path.normpath(path)


@dataclass(frozen=True, slots=True)
class Document:
    """An open Python file, or a cell of an open notebook."""

    uri: str
    version: int | None
    text: Text


@dataclass(slots=True)
class Notebook:
    """An open notebook: its cells in order, text cells included."""

    uri: str
    cells: list[NotebookCell] = field(default_factory=list)


Change = TextDocumentContentChangeEvent
CODE = NotebookCellKind.Code


class Documents:
    """Keeps to the protocol's order of events; what is said of documents that are not open is passed over."""

    def __init__(self) -> None:
        self.columns = Columns()
        self._open: dict[str, Document] = {}
        self._notebooks: dict[str, Notebook] = {}

    def open(self, uri: str, version: int | None, source: str) -> None:
        self._open[_key(uri)] = Document(uri, version, Text.received(source, self.columns))

    def change(self, uri: str, version: int | None, changes: Iterable[Change]) -> None:
        document = self._open.get(_key(uri))
        if document is None:
            return
        text = document.text
        for change in changes:
            text = text.changed(
                change.range if isinstance(change, TextDocumentContentChangePartial) else None, change.text
            )
        self._open[_key(uri)] = replace(document, version=version, text=text)

    def close(self, uri: str) -> None:
        self._open.pop(_key(uri), None)

    def open_notebook(self, uri: str, cells: Iterable[NotebookCell]) -> None:
        self._notebooks[_key(uri)] = Notebook(uri, list(cells))

    def close_notebook(self, uri: str) -> None:
        notebook = self._notebooks.pop(_key(uri), None)
        for cell in notebook.cells if notebook else ():
            self.close(cell.document)

    def splice(self, uri: str, start: int, deleted: int, cells: Iterable[NotebookCell]) -> None:
        """Replace some cells of a notebook by others."""
        if (notebook := self._notebooks.get(_key(uri))) is not None:
            notebook.cells[start : start + deleted] = cells

    def get(self, uri: str) -> Document | None:
        return self._open.get(_key(uri))

    def at(self, path: str, cell: int | None = None) -> Document | None:
        """The open document that a finding is about."""
        if cell is None:
            return self.get(Path(path).as_uri())
        notebook = self._notebooks.get(_key(Path(path).as_uri()))
        inside = notebook is not None and 0 < cell <= len(notebook.cells)
        return self.get(notebook.cells[cell - 1].document) if notebook is not None and inside else None

    def path_with(self, uri: str) -> str | None:
        """The file that an open document is, or is a cell of."""
        for notebook in self._notebooks.values():
            if any(_key(cell.document) == _key(uri) for cell in notebook.cells):
                return path_of(notebook.uri)
        return path_of(uri)

    def paths(self) -> list[str]:
        """The open files and notebooks."""
        uris = (*(document.uri for document in self._open.values()), *(book.uri for book in self._notebooks.values()))
        return list(dict.fromkeys(path for uri in uris if (path := path_of(uri)) is not None))

    def cell(self, path: str, uri: str) -> int | None:
        """The number of a cell among its notebook's; None for a file."""
        notebook = self._notebooks.get(_key(Path(path).as_uri()))
        names = [] if notebook is None else [_key(cell.document) for cell in notebook.cells]
        return names.index(_key(uri)) + 1 if _key(uri) in names else None

    def documents(self, path: str) -> list[Document]:
        """The open documents that show a file: itself, or its cells."""
        notebook = self._notebooks.get(_key(Path(path).as_uri()))
        uris = [Path(path).as_uri()] if notebook is None else [cell.document for cell in notebook.cells]
        return [document for uri in uris if (document := self.get(uri)) is not None]

    def content(self, path: str) -> bytes | None:
        """What the editor holds of a file, None if it is not open."""
        notebook = self._notebooks.get(_key(Path(path).as_uri()))
        if notebook is not None:
            return json.dumps({"cells": [self._written(cell) for cell in notebook.cells]}).encode()
        document = self.get(Path(path).as_uri())
        return None if document is None else document.text.content

    def text(self, path: str, cell: int | None = None) -> Text:
        """The text of a file or cell, open or not; empty where it can't be read."""
        document = self.at(path, cell)
        return Text("\n".join(lines_of(path, cell)), self.columns) if document is None else document.text

    def uri(self, path: str, cell: int | None = None) -> str:
        """By the name that the client uses."""
        document = self.at(path, cell)
        return Path(path).as_uri() if document is None else document.uri

    def _written(self, cell: NotebookCell) -> dict[str, str]:
        document = self.get(cell.document)
        kind = "code" if cell.kind is CODE and document is not None else "markdown"
        return {"cell_type": kind, "source": "" if document is None else "\n".join(document.text.lines)}


def _key(uri: str) -> str:
    """Clients and servers escape different characters."""
    return unquote(uri)
