"""An editor for tests: a real client that talks to `fullgraph server` over its standard input and output."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from lsprotocol import types
from pygls.lsp.client import LanguageClient

T = TypeVar("T")
PATIENCE_S = 60.0
COMMAND = (sys.executable, "-m", "fullgraph.cli", "server", "--stdio")
PUSHED = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(workspace_folders=True),
    window=types.WindowClientCapabilities(
        work_done_progress=True, show_document=types.ShowDocumentClientCapabilities(True)
    ),
)
"""Of an editor that waits for diagnostics."""
PULLING = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
)
"""Of one that asks for them."""


class _Client(LanguageClient):
    """Counts errors in answers to what was sent behind its back."""

    def __init__(self, name: str, version: str) -> None:
        super().__init__(name, version)
        self.refused: list[Any] = []
        handle = self.protocol.handle_message

        def handled(message: Any) -> None:
            if getattr(message, "error", None) is not None:
                self.refused.append(message.error)
            handle(message)

        self.protocol.handle_message = handled


class Editor:
    """What the user does, each step done when it returns; the loop of the client runs in a thread."""

    def __init__(self, *folders: Path, capabilities: types.ClientCapabilities = PUSHED, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        Thread(target=self._loop.run_forever, daemon=True).start()
        self.client = _Client("test", "1")
        self.pushed: dict[str, types.PublishDiagnosticsParams] = {}
        self.messages: list[str] = []
        self.documents: list[str] = []
        """Those that the server wants shown."""
        self.progress: list[Any] = []
        self.registered: list[str] = []
        self.refused = self.client.refused
        self._listen()
        self._folders = folders
        self._await(self.client.start_io(*COMMAND))
        self._versions: dict[str, int] = {}
        initialize = types.InitializeParams(
            capabilities, workspace_folders=[_folder(each) for each in folders], initialization_options=options
        )
        self.server = self.ask(lambda client: client.initialize_async(initialize))
        self._loop.call_soon_threadsafe(self.client.initialized, types.InitializedParams())

    def _listen(self) -> None:
        client = self.client

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.pushed[params.uri] = params

        @client.feature(types.WINDOW_SHOW_MESSAGE)
        def message(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)

        @client.feature(types.WINDOW_SHOW_DOCUMENT)
        def document(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
            self.documents.append(params.uri)
            return types.ShowDocumentResult(True)

        @client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
        def create(params: types.WorkDoneProgressCreateParams) -> None:
            self.progress.append(params.token)

        @client.feature(types.PROGRESS)
        def progress(params: types.ProgressParams) -> None:
            self.progress.append(params.value)

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            self.registered += [each.method for each in params.registrations]

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)

    def ask(self, request: Callable[[LanguageClient], Coroutine[Any, Any, T]]) -> T:
        return self._await(request(self.client))

    def begin(self, request: Callable[[LanguageClient], Coroutine[Any, Any, T]]) -> Future[T]:
        """Ask and go on."""
        return asyncio.run_coroutine_threadsafe(request(self.client), self._loop)

    def tell(self, notify: Callable[[LanguageClient], None]) -> None:
        async def told() -> None:
            notify(self.client)

        self._await(told())

    def wait(self, ready: Callable[[], T]) -> T:
        """Until something is true, or the test fails."""

        end = time.monotonic() + PATIENCE_S
        while not (result := ready()):
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.001)
        return result

    def send(self, data: bytes) -> None:
        """Whatever it is."""

        async def sent() -> None:
            assert self.client._server is not None and self.client._server.stdin is not None
            self.client._server.stdin.write(data)
            await self.client._server.stdin.drain()

        self._await(sent())

    def open(self, path: Path, text: str | None = None) -> str:
        uri = path.as_uri()
        item = types.TextDocumentItem(uri, "python", 1, path.read_text(encoding="utf-8") if text is None else text)
        self._versions[uri] = 1
        self.tell(lambda client: client.text_document_did_open(types.DidOpenTextDocumentParams(item)))
        return uri

    def change(self, uri: str, *changes: tuple[tuple[int, int], tuple[int, int], str] | str) -> int:
        """Ranges in the units of the protocol, or the whole text; gives the new version."""
        self._versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(self._versions[uri], uri)
        params = types.DidChangeTextDocumentParams(identifier, [_change(each) for each in changes])
        self.tell(lambda client: client.text_document_did_change(params))
        return self._versions[uri]

    def save(self, uri: str) -> None:
        params = types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri))
        self.tell(lambda client: client.text_document_did_save(params))

    def close(self, uri: str) -> None:
        params = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        self.tell(lambda client: client.text_document_did_close(params))

    def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """What is shown of the newest text."""

        def current() -> types.PublishDiagnosticsParams | None:
            shown = self.pushed.get(uri)
            return shown if shown is not None and shown.version == self._versions[uri] else None

        return self.wait(current).diagnostics

    def codes(self, uri: str) -> list[tuple[Any, int]]:
        """Code and line, from 1."""
        return sorted((each.code, each.range.start.line + 1) for each in self.diagnostics(uri))

    def pull(self, uri: str, previous: str | None = None) -> types.DocumentDiagnosticReport:
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri), previous_result_id=previous)
        return self.ask(lambda client: client.text_document_diagnostic_async(params))

    def actions(self, uri: str, line: int, *only: str) -> list[Any]:
        """Those for one line, from 1; lsprotocol takes an action that has a command for a command."""
        where = types.Range(types.Position(line - 1, 0), types.Position(line - 1, 200))
        context = types.CodeActionContext([], only=[*only] or None)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), where, context)
        found = self.ask(lambda client: client.text_document_code_action_async(params))
        return list(found or ())

    def execute(self, command: str, *arguments: Any) -> Any:
        params = types.ExecuteCommandParams(command, list(arguments))
        return self.ask(lambda client: client.workspace_execute_command_async(params))

    def lenses(self, uri: str) -> list[types.CodeLens]:
        params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
        return list(self.ask(lambda client: client.text_document_code_lens_async(params)) or ())

    def hover(self, uri: str, line: int, character: int) -> str:
        where = types.Position(line - 1, character)
        params = types.HoverParams(types.TextDocumentIdentifier(uri), where)
        found = self.ask(lambda client: client.text_document_hover_async(params))
        return "" if found is None else str(getattr(found.contents, "value", ""))

    def configure(self, **settings: Any) -> None:
        params = types.DidChangeConfigurationParams({"fullgraph": settings})
        self.tell(lambda client: client.workspace_did_change_configuration(params))

    def quit(self) -> int:
        """End as editors do; gives the server's exit code."""
        self.ask(lambda client: client.shutdown_async(None))
        self.tell(lambda client: client.exit(None))
        return self.wait_for_end()

    def wait_for_end(self) -> int:
        server = self.client._server
        assert server is not None
        return self._await(asyncio.wait_for(server.wait(), PATIENCE_S))

    def stop(self) -> None:
        """Whatever state the server is in."""
        server = self.client._server
        if server is not None and server.returncode is None:
            self._loop.call_soon_threadsafe(server.kill)
            self.wait_for_end()


def _folder(path: Path) -> types.WorkspaceFolder:
    return types.WorkspaceFolder(path.as_uri(), path.name)


def _change(change: tuple[tuple[int, int], tuple[int, int], str] | str) -> types.TextDocumentContentChangeEvent:
    if isinstance(change, str):
        return types.TextDocumentContentChangeWholeDocument(change)
    start, end, text = change
    return types.TextDocumentContentChangePartial(types.Range(types.Position(*start), types.Position(*end)), text)


def applied(text: str, edit: types.WorkspaceEdit | None) -> str:
    """The text of one document after an edit, whose columns count UTF-16 units."""
    assert edit is not None and edit.document_changes is not None
    (change,) = edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    lines = text.splitlines(keepends=True)
    raw = [line.encode("utf-16-le") for line in lines]

    def offset(position: types.Position) -> int:
        return sum(map(len, raw[: position.line])) + 2 * position.character

    whole = b"".join(raw)
    for each in sorted(change.edits, key=lambda each: each.range.start, reverse=True):
        assert isinstance(each, types.TextEdit)
        whole = whole[: offset(each.range.start)] + each.new_text.encode("utf-16-le") + whole[offset(each.range.end) :]
    return whole.decode("utf-16-le")
