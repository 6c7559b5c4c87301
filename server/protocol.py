"""The protocol layer: text synchronisation goes to `Documents`, and a request that makes no sense gets an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method

from .documents import Documents


class Protocol(LanguageServerProtocol):
    """Takes the place of the documents in pygls, which split lines where neither the protocol nor Python does."""

    documents: Documents
    opened: Callable[[str], None]
    edited: Callable[[str], None]
    saved: Callable[[str], None]
    closed: Callable[[str], None]

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self._open(params.text_document)
        self.opened(params.text_document.uri)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        self.documents.change(document.uri, document.version, params.content_changes)
        self.edited(document.uri)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self.documents.close(params.text_document.uri)
        self.closed(params.text_document.uri)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        for cell in params.cell_text_documents:
            self._open(cell)
        self.documents.open_notebook(params.notebook_document.uri, params.notebook_document.cells)
        self.opened(params.notebook_document.uri)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: types.DidChangeNotebookDocumentParams) -> None:
        cells = params.change.cells
        if cells is None:
            return
        if cells.structure is not None:
            array = cells.structure.array
            self.documents.splice(params.notebook_document.uri, array.start, array.delete_count, array.cells or ())
            for opened in cells.structure.did_open or ():
                self._open(opened)
            for closed in cells.structure.did_close or ():
                self.documents.close(closed.uri)
        for content in cells.text_content or ():
            self.documents.change(content.document.uri, content.document.version, content.changes)
        self.edited(params.notebook_document.uri)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: types.DidCloseNotebookDocumentParams) -> None:
        self.documents.close_notebook(params.notebook_document.uri)
        self.closed(params.notebook_document.uri)

    def _open(self, item: types.TextDocumentItem) -> None:
        self.documents.open(item.uri, item.version, item.text)
