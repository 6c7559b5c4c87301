"""The language server: requests and notifications in, answers out. What they are about is done by the other modules."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import msgspec
from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.lsp.server import LanguageServer

from fullgraph.lint.cache import cache_folder
from fullgraph.rules import __version__
from fullgraph.rules.page import page

from . import actions, hover, lenses, verification
from .checked import Checked
from .checker import Checker
from .diagnostics import SOURCE, diagnostics
from .documents import Documents, path_of
from .pages import Pages
from .protocol import Protocol
from .publisher import Publisher
from .settings import settings
from .state import State
from .text import ENCODINGS, Columns
from .verdicts import Target

NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithNotebook("jupyter-notebook", [types.NotebookCellLanguage("python")])]
)
WATCHED = "**/{*.py,*.ipynb,pyproject.toml,fullgraph.toml,.gitignore,requirements*.txt,*.lock}"
ACTIONS = types.CodeActionOptions([types.CodeActionKind.QuickFix, actions.FIX_ALL], resolve_provider=True)
PULLING = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier=SOURCE)


class Server(LanguageServer):
    """Holds the state, and tells the client what it did not ask for."""

    def __init__(self) -> None:
        super().__init__(
            "fullgraph",
            __version__,
            notebook_document_sync=NOTEBOOKS,
            protocol_cls=Protocol,
            converter_factory=get_converter,
        )
        documents = Documents()
        pages = Pages(cache_folder() / "pages")
        self.state = State(documents, Checker(documents), pages)
        self.publisher = Publisher(self.publish)
        self.publishing: asyncio.Task[None] | None = None
        self.running: dict[tuple[str, str], asyncio.Task[Target]] = {}
        """Verifications by path and function."""
        self.folders: dict[str, Path] = {}
        self.complaint = ""
        protocol: Any = self.protocol
        protocol.documents = documents
        protocol.opened = protocol.edited = self.edited
        protocol.closed = self.closed

    def report_server_error(self, error: Exception, source: object) -> None:
        """On stderr, where editors keep a log: there is nothing that who types could do about it."""
        logging.getLogger("fullgraph").error("%s: %s", type(error).__name__, error)

    def path(self, uri: str) -> str | None:
        path = self.state.documents.path_with(uri)
        return path if path is not None and path.endswith((".py", ".ipynb")) else None

    def edited(self, uri: str) -> None:
        if (path := self.path(uri)) is not None:
            self.state.checker.changed(path)
            if not self.client_pulls:
                self.publisher.edited(path, self.state.documents.paths())

    def closed(self, uri: str) -> None:
        if (path := path_of(uri)) is None:
            return
        self.state.checker.changed(path)
        self.state.checker.forget(path)
        if not self.client_pulls:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
            self.publisher.stale(self.state.documents.paths())

    @property
    def client_pulls(self) -> bool:
        """Whether the client asks for diagnostics; if they were sent too, it would show them twice."""
        document = self.client_capabilities.text_document
        return document is not None and document.diagnostic is not None

    @property
    def client_watches(self) -> bool:
        """Whether the client tells of files that change on disk."""
        workspace = self.client_capabilities.workspace
        watching = None if workspace is None else workspace.did_change_watched_files
        return watching is not None and bool(watching.dynamic_registration)

    async def check(self, path: str, fixes: bool = False) -> Checked:
        """What is found in the file, nothing where that can't be told; the user hears of wrong settings, once."""
        checker = self.state.checker
        try:
            checked = await (checker.with_fixes(path) if fixes else checker.check(path))
        except click.ClickException as error:
            self.complain(error.format_message())
        except Exception:
            logging.getLogger("fullgraph").exception("checking %s failed; this is a bug in fullgraph", path)
        else:
            self.complaint = ""
            return checked.at(self.state.documents.text(path).lines) if path.endswith(".py") else checked
        return Checked(path, ())

    def complain(self, message: str) -> None:
        if message != self.complaint:
            self.complaint = message
            self.tell(message, types.MessageType.Error)

    def tell(self, message: str, kind: types.MessageType = types.MessageType.Warning) -> None:
        self.window_show_message(types.ShowMessageParams(kind, f"fullgraph: {message}"))

    async def publish(self, path: str) -> None:
        self.send(await self.check(path))

    def send(self, checked: Checked) -> None:
        """They are about the text of now, unless it has changed since the check began: then about what is left."""
        current = self.state.checker.knows(checked.path)
        for uri, found in diagnostics(self.state, checked).items():
            document = self.state.documents.get(uri)
            version = document.version if document is not None and current else None
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def configure(self, given: Any) -> None:
        try:
            self.state.settings = settings(given)
        except msgspec.ValidationError as error:
            self.complain(f"in the editor's settings: {error}")

    async def reload(self) -> None:
        """Settings or folders have changed, so that everything may look different."""
        folders = tuple(self.folders.values())
        await self.state.checker.alone(lambda workspace: workspace.forget(folders))
        self.refresh()

    def refresh(self) -> None:
        """Have the client show anew what it shows."""
        workspace = self.client_capabilities.workspace
        if not self.client_pulls:
            self.publisher.stale(self.state.documents.paths())
        elif workspace is not None and workspace.diagnostics is not None and workspace.diagnostics.refresh_support:
            self.workspace_diagnostic_refresh(None)
        if workspace is not None and workspace.code_lens is not None and workspace.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)

    async def verify(self, path: str, qualname: str) -> Target | None:
        """None where the user stops it. Raises VerificationError."""
        settings, checker = self.state.settings, self.state.checker
        if not settings.trusted:
            raise verification.VerificationError(
                "verifying runs the code of this workspace, which is not trusted; trust it in the editor, or let the "
                "server's setting `trusted` be true"
            )
        if (path, qualname) in self.running:
            raise verification.VerificationError(f"{qualname} is being verified already")
        text = self.state.documents.text(path)
        if _on_disk(path) != text.content:
            raise verification.VerificationError(f"save {Path(path).name} first: what is on disk is what runs")
        config = await checker.alone(lambda workspace: workspace.config(path))
        task = asyncio.ensure_future(verification.verify(path, qualname, config, settings))
        self.running[path, qualname] = task
        token = await self.begin(f"Verifying {qualname}", task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            del self.running[path, qualname]
            if token is not None:
                self.work_done_progress.end(token, types.WorkDoneProgressEnd())
        if task.cancelled():
            return None
        target = task.result()
        self.state.verdicts.learn(path, qualname, target, config.root, self.state.documents.text)
        self.refresh()
        return target

    async def begin(self, title: str, task: asyncio.Task[Target]) -> str | None:
        """Show progress that can be cancelled, if the client can."""
        window = self.client_capabilities.window
        if window is None or not window.work_done_progress:
            return None
        token = str(uuid.uuid4())
        await self.work_done_progress.create_async(token)
        self.work_done_progress.tokens[token].add_done_callback(lambda _: task.cancel())
        self.work_done_progress.begin(token, types.WorkDoneProgressBegin(title, cancellable=True))
        return token


def _on_disk(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None


def server() -> Server:
    """With everything that it answers to."""
    ls = Server()

    @ls.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        encoding = ls.workspace.position_encoding
        ls.state.documents.columns = ENCODINGS.get(types.PositionEncodingKind(encoding or "utf-16"), Columns())
        ls.configure(params.initialization_options)
        folders = params.workspace_folders or ()
        roots = [folder.uri for folder in folders] or ([params.root_uri] if params.root_uri else [])
        _add(roots)

    def _add(uris: Iterable[str]) -> None:
        ls.folders |= {uri: Path(path) for uri in uris if (path := path_of(uri)) is not None}

    @ls.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        if not ls.client_pulls:
            ls.publishing = asyncio.create_task(ls.publisher.run())
        await ls.reload()
        if ls.client_watches:
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(WATCHED)])
            registration = types.Registration("watch", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await ls.client_register_capability_async(types.RegistrationParams([registration]))

    @ls.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def did_save(params: types.DidSaveTextDocumentParams) -> None:
        ls.edited(params.text_document.uri)
        if not ls.client_watches:
            await ls.reload()  # who knows what else was saved

    @ls.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        paths = [path for change in params.changes if (path := path_of(change.uri)) is not None]
        for path in paths:
            if path.endswith((".py", ".ipynb")):
                ls.state.checker.changed(path)
        if all(path.endswith((".py", ".ipynb")) for path in paths):
            ls.refresh()
        else:
            await ls.reload()

    @ls.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        if params.settings is not None:
            ls.configure(params.settings)
        await ls.reload()

    @ls.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def did_change_workspace_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            ls.folders.pop(folder.uri, None)
        _add(folder.uri for folder in params.event.added)
        await ls.reload()

    @ls.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, PULLING)
    async def pull(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        uri = params.text_document.uri
        path = ls.path(uri)
        found = diagnostics(ls.state, await ls.check(path)) if path is not None else {}
        document = ls.state.documents.get(uri)
        items = found.get(document.uri if document is not None else uri, [])
        name = str(hash(repr(items)))
        if params.previous_result_id == name:
            return types.RelatedUnchangedDocumentDiagnosticReport(name)
        return types.RelatedFullDocumentDiagnosticReport(items, result_id=name)

    @ls.feature(types.TEXT_DOCUMENT_CODE_ACTION, ACTIONS)
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        path = ls.path(uri)
        if path is None or ls.state.documents.get(uri) is None:
            return []
        checked = await ls.check(path, fixes=True)
        return list(actions.actions(ls.state, checked, ls.state.documents.cell(path, uri), params))

    @ls.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(params: types.CodeAction) -> types.CodeAction:
        path = ls.path(params.data) if isinstance(params.data, str) else None
        content = None if path is None else ls.state.documents.content(path)
        if path is not None and content is not None:
            after = await ls.state.checker.alone(lambda workspace: actions.fix_all_in(workspace, path, content))
            if ls.state.documents.content(path) == content:
                params.edit = actions.replacement(ls.state, path, after)
        return params

    @ls.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(params: types.HoverParams) -> types.Hover | None:
        found = await _known(params.text_document.uri)
        return None if found is None else hover.hover(ls.state, *found, params.position)

    @ls.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        found = await _known(params.text_document.uri)
        return [] if found is None else lenses.lenses(ls.state, found[0])

    async def _known(uri: str) -> tuple[Checked, int | None] | None:
        """What is known of a document without checking it again, and the number of its cell in a notebook."""
        path = ls.path(uri)
        if path is None or ls.state.documents.get(uri) is None:
            return None
        return ls.state.checker.last(path) or await ls.check(path), ls.state.documents.cell(path, uri)

    @ls.command(actions.EXPLAIN)
    async def explain(ls: Server, code: str, *uris: str) -> str | None:
        """The rule's page; the URI of a file says whose rules count beside the built-in ones."""
        path = ls.path(uris[0]) if uris else None
        checked = None if path is None else ls.state.checker.last(path)
        rule = ls.state.pages.rule(code, None if checked is None else checked.config)
        if rule is None:
            ls.tell(f"no rule {code!r}; `fullgraph rules list` shows all")
            return None
        window, where = ls.client_capabilities.window, ls.state.pages.uri(rule)
        if window is not None and window.show_document is not None and window.show_document.support and where:
            await ls.window_show_document_async(types.ShowDocumentParams(where, take_focus=True))
        return page(rule)

    @ls.command(lenses.VERIFY)
    async def verify(ls: Server, uri: str, qualname: str) -> str | None:
        if (path := ls.path(uri)) is None:
            return None
        try:
            target = await ls.verify(path, qualname)
        except verification.VerificationError as error:
            ls.tell(str(error))
            return None
        if target is None:
            return None
        if target.status != "ok":
            ls.tell(f"{qualname}: {target.summary}" + (f": {target.detail}" if target.detail else ""))
        return target.summary

    return ls


def serve() -> None:
    """Talk over stdin and stdout until the client says that it is over, or has gone."""
    logging.basicConfig(level=logging.ERROR, format="fullgraph: %(message)s")
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    # No folder that may be deleted: the linter can't work where there is no working directory.
    os.chdir(Path.cwd().anchor)
    # What prints by mistake must not get between the messages.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server().start_io(stdout=out)
