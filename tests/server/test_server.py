"""What a client is told: findings as somebody types, in files, notebooks and several folders, pushed and pulled."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from editor import PULLING, Editor, applied
from lsprotocol import types

MODEL = """\
import torch

@torch.compile
def scale(x):
    return x * x.sum().item()
"""
Edit = Callable[..., Editor]


def test_a_finding_is_shown_where_it_is_with_all_that_is_known_of_it(editor: Editor, project: Path) -> None:
    (project / "helpers.py").write_text("def read(x):\n    return x.sum().item()\n")
    text = "import torch\nfrom helpers import read\n\n@torch.compile\ndef f(x):\n    '😀'; return read(x)\n"
    (project / "caller.py").write_text(text)
    (found,) = editor.diagnostics(editor.open(project / "caller.py"))
    assert (found.code, found.source, found.severity) == ("FG201", "fullgraph", types.DiagnosticSeverity.Warning)
    place = found.range
    assert (place.start.line, place.start.character, place.end.character) == (5, 17, 24), "two units for one emoji"
    assert found.code_description is not None
    assert found.code_description.href.endswith("/FG201.md")
    told = [
        (Path(each.location.uri).name, each.location.range.start.line, each.message)
        for each in found.related_information or ()
    ]
    assert told == [
        ("caller.py", 4, "f is decorated with torch.compile"),
        ("helpers.py", 1, "the cause"),
    ]


def test_what_is_typed_counts_and_not_what_is_on_disk(editor: Editor, project: Path) -> None:
    uri = editor.open(project / "m.py")
    assert editor.codes(uri) == [("FG201", 5)]
    editor.change(uri, ((0, 0), (0, 0), "# 😀\n"), ((0, 4), (0, 4), "!"), ((5, 22), (5, 29), ""))
    assert editor.codes(uri) == []
    editor.change(uri, MODEL + "\n")
    assert editor.codes(uri) == [("FG201", 5)]
    editor.change(uri, "x = 1\n")
    editor.close(uri)
    editor.wait(lambda: editor.pushed[uri].version is None and not editor.pushed[uri].diagnostics)
    assert editor.codes(editor.open(project / "m.py")) == [("FG201", 5)]


def test_a_syntax_error_leaves_the_findings_elsewhere(editor: Editor, project: Path) -> None:
    uri = editor.open(project / "m.py", MODEL + "\n\ndef later():\n    pass\n")
    assert editor.codes(uri) == [("FG201", 5)]
    editor.change(uri, ((7, 0), (7, 0), "def def\n"))
    assert editor.codes(uri) == [("FG201", 5), ("FG901", 8)]
    editor.change(uri, ((0, 0), (0, 0), "\n\n"))
    assert editor.codes(uri) == [("FG201", 7), ("FG901", 10)]
    assert [action.title for action in editor.actions(uri, 7)][-1:] == ["Explain FG201"]
    assert [lens.range.start.line for lens in editor.lenses(uri)] == [5]
    editor.change(uri, ((6, 4), (6, 10), "return return"))
    assert [code for code, _ in editor.codes(uri)] == ["FG901"], "what was said of a changed line is not said any more"


def test_fixes_ignoring_and_explaining(editor: Editor, project: Path) -> None:
    text = 'import torch\n\n@torch.compile\ndef f(x):\n    "ä😀"; print(x)\n    return x  # fullgraph: ignore[FG301]\n'
    uri = editor.open(project / "m.py", text)
    shown = {each.code: each for each in editor.diagnostics(uri)}
    assert list(shown) == ["FG301", "FG902"]
    assert shown["FG902"].tags == (types.DiagnosticTag.Unnecessary,)
    removal, explain = editor.actions(uri, 6, "quickfix")
    assert (removal.is_preferred, explain.title) == (True, "Explain FG902")
    assert applied(text, removal.edit) == text.replace("  # fullgraph: ignore[FG301]", "")
    ignore = next(each for each in editor.actions(uri, 5, "quickfix") if each.title == "Ignore FG301 here")
    assert applied(text, ignore.edit) == text.replace("print(x)", "print(x)  # fullgraph: ignore[FG301]")
    assert editor.actions(uri, 1, "quickfix") == editor.actions(uri, 5, "refactor") == []

    page = editor.execute("fullgraph.explain", "FG301", uri)
    assert page.startswith("# FG301: ")
    assert editor.execute("fullgraph.explain", "FG301") == page
    assert editor.execute("fullgraph.explain", "FG999") is None
    assert editor.messages == ["fullgraph: no rule 'FG999'; `fullgraph rules list` shows all"]
    assert editor.documents[0].endswith("/FG301.md")
    assert page in editor.hover(uri, 5, 14)
    assert editor.hover(uri, 1, 0) == ""


def test_what_is_only_to_be_read_is_not_offered_as_an_edit(editor: Editor, project: Path) -> None:
    text = "import torch\n\n@torch.compile\ndef f(x: torch.Tensor):\n    return x.nonzero()\n"
    text += "\n@torch.compile\ndef g(x):\n    pass\n"
    uri = editor.open(project / "m.py", text)
    assert [each.code for each in editor.diagnostics(uri)] == ["FG203"]
    assert {each.title for each in editor.actions(uri, 5, "quickfix")} == {"Ignore FG203 here", "Explain FG203"}


def test_all_safe_fixes_are_worked_out_when_they_are_chosen(editor: Editor, project: Path) -> None:
    line = "    return x  # fullgraph: ignore[FG301]\r\n"
    text = "".join(f"import torch\r\n@torch.compile\r\ndef f{n}(x):\r\n{line}" for n in range(3))
    uri = editor.open(project / "m.py", text)
    assert [code for code, _ in editor.codes(uri)] == ["FG902"] * 3
    (action,) = editor.actions(uri, 1, "source.fixAll")
    assert (action.kind, action.edit) == ("source.fixAll.fullgraph", None)
    resolved = editor.ask(lambda client: client.code_action_resolve_async(action))
    assert applied(text, resolved.edit) == text.replace("  # fullgraph: ignore[FG301]", "")
    assert (project / "m.py").read_text() == MODEL, "nothing is written"
    assert [code for code, _ in editor.codes(uri)] == ["FG902"] * 3, "nothing is changed either"


def test_each_folder_has_its_own_settings(edit: Edit, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "fullgraph.toml").write_text('ignore = ["FG201"]\n')
    (other / "m.py").write_text(MODEL)
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "m.py").write_text(MODEL)
    editor = edit(project, other, bare)
    opened = [editor.open(folder / "m.py") for folder in (project, other, bare)]
    assert [editor.codes(uri) for uri in opened] == [[("FG201", 5)], [], [("FG201", 5)]]

    (other / "fullgraph.toml").write_text("select = 3\n")
    editor.tell(lambda client: client.workspace_did_change_watched_files(_changed(other / "fullgraph.toml")))
    editor.wait(lambda: editor.messages)
    assert "fullgraph.toml: `select` must be a list of strings" in editor.messages[0]
    (other / "fullgraph.toml").write_text("")
    editor.tell(lambda client: client.workspace_did_change_watched_files(_changed(other / "fullgraph.toml")))
    editor.wait(lambda: editor.pushed[opened[1]].diagnostics)
    assert len(editor.messages) == 1

    event = types.WorkspaceFoldersChangeEvent([], [types.WorkspaceFolder(bare.as_uri(), "bare")])
    editor.tell(
        lambda client: client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
    )
    editor.change(opened[2], MODEL.replace("item", "tolist"))
    assert [code for code, _ in editor.codes(opened[2])] == ["FG202"]


def _changed(path: Path) -> types.DidChangeWatchedFilesParams:
    return types.DidChangeWatchedFilesParams([types.FileEvent(path.as_uri(), types.FileChangeType.Changed)])


def test_files_that_rest_on_an_edited_one_follow(editor: Editor, project: Path) -> None:
    (project / "helpers.py").write_text("def read(x):\n    return x\n")
    (project / "m.py").write_text(
        "import torch\nfrom helpers import read\n\n@torch.compile\ndef f(x):\n    return read(x)\n"
    )
    caller, helper = editor.open(project / "m.py"), editor.open(project / "helpers.py")
    assert editor.codes(caller) == editor.codes(helper) == []
    editor.change(helper, "def read(x):\n    return x.item()\n")
    assert editor.codes(helper) == [("FG201", 2)]
    (found,) = editor.wait(lambda: editor.pushed[caller].diagnostics)
    assert found.range.start.line == 5


def test_notes_are_shown_to_those_who_want_them(editor: Editor, project: Path) -> None:
    text = "import torch\n\n@torch.compiler.disable(reason='it logs')\ndef log(x):\n    pass\n\n"
    text += "@torch.compile\ndef f(x):\n    log(x)\n    return x\n"
    uri = editor.open(project / "m.py", text)
    assert editor.diagnostics(uri) == ()
    editor.configure(notes=True)
    (note,) = editor.wait(lambda: editor.pushed[uri].diagnostics)
    assert note.severity is types.DiagnosticSeverity.Information
    editor.configure(notes="perhaps")
    editor.wait(lambda: editor.messages)
    editor.configure()
    assert editor.messages == ["fullgraph: in the editor's settings: Expected `bool`, got `str` - at `$.notes`"]


def test_diagnostics_can_be_asked_for(edit: Edit, project: Path) -> None:
    editor = edit(project, capabilities=PULLING)
    uri = editor.open(project / "m.py")
    report = editor.pull(uri)
    assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
    assert [each.code for each in report.items] == ["FG201"]
    again = editor.pull(uri, report.result_id)
    assert isinstance(again, types.RelatedUnchangedDocumentDiagnosticReport)
    editor.change(uri, "x = 1\n")
    empty = editor.pull(uri, report.result_id)
    assert isinstance(empty, types.RelatedFullDocumentDiagnosticReport)
    assert (list(empty.items), editor.pushed) == ([], {})


def test_a_request_can_be_cancelled(edit: Edit, project: Path) -> None:
    editor = edit(project, capabilities=PULLING)
    uri = editor.open(project / "m.py")
    ask = {"jsonrpc": "2.0", "id": "q", "method": "textDocument/diagnostic", "params": {"textDocument": {"uri": uri}}}
    stop = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "q"}}
    bodies = [json.dumps(each).encode() for each in (ask, stop)]
    editor.send(b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies))
    (refusal,) = editor.wait(lambda: editor.refused)
    assert refusal.code == types.LSPErrorCodes.RequestCancelled
    report = editor.pull(uri)
    assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
    assert [each.code for each in report.items] == ["FG201"]


def test_settings_that_nobody_watches_are_read_again_when_something_is_saved(editor: Editor, project: Path) -> None:
    uri = editor.open(project / "m.py")
    assert editor.codes(uri) == [("FG201", 5)]
    (project / "pyproject.toml").write_text('[tool.fullgraph]\nignore = ["FG201"]\n')
    editor.save(uri)
    editor.wait(lambda: not editor.pushed[uri].diagnostics)


def test_a_watching_client_is_asked_to_watch(edit: Edit, project: Path) -> None:
    watching = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
    workspace = types.WorkspaceClientCapabilities(did_change_watched_files=watching)
    editor = edit(project, capabilities=types.ClientCapabilities(workspace))
    assert editor.wait(lambda: editor.registered) == ["workspace/didChangeWatchedFiles"]


def test_without_the_extra_the_command_says_what_is_missing() -> None:
    program = (
        "import sys; sys.modules['lsprotocol'] = None; from fullgraph.cli.main import run; sys.exit(run(['server']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "fullgraph: lsprotocol is not installed; pip install 'fullgraph[lsp]'\n"


def test_cells_of_a_notebook_are_one_program(editor: Editor, project: Path) -> None:
    cells = [
        "import torch\ndef helper(x):\n    return x.item()",
        "# A title",
        "@torch.compile\ndef run(x):\n    return helper(x)",
    ]
    kinds = [types.NotebookCellKind.Code, types.NotebookCellKind.Markup, types.NotebookCellKind.Code]
    uris = [f"vscode-notebook-cell:{project}/n.ipynb#{number}" for number in range(len(cells))]
    notebook = types.NotebookDocument(
        (project / "n.ipynb").as_uri(),
        "jupyter-notebook",
        1,
        [types.NotebookCell(kind, uri) for kind, uri in zip(kinds, uris, strict=True)],
    )
    texts = [types.TextDocumentItem(uri, "python", 1, text) for uri, text in zip(uris, cells, strict=True)]
    editor.tell(lambda client: client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, texts)))
    shown = editor.wait(lambda: all(uri in editor.pushed for uri in uris) and editor.pushed)
    assert [[each.code for each in shown[uri].diagnostics] for uri in uris] == [["FG201"], [], []]
    assert [each.title for each in editor.actions(uris[0], 3)] == ["Explain FG201"], "notebooks are never edited"
    assert "# FG201" in editor.hover(uris[0], 3, 12)

    content = types.NotebookDocumentCellContentChanges(
        types.VersionedTextDocumentIdentifier(2, uris[0]),
        [types.TextDocumentContentChangeWholeDocument(cells[0].replace(".item()", ""))],
    )
    change = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(text_content=[content]))
    identifier = types.VersionedNotebookDocumentIdentifier(2, notebook.uri)
    editor.tell(
        lambda client: client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(identifier, change))
    )
    editor.wait(lambda: not editor.pushed[uris[0]].diagnostics)


UNANSWERABLE = b'{"jsonrpc": "2.0", "id": 78, "method": "textDocument/hover", "params": {"position": 3}}'
NONSENSE = (
    b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": '
    b'{"textDocument": {"uri": "file:///x.py", "version": 1}, "contentChanges": [{"text": ""}]}}',
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b'{"jsonrpc": "1.0"}',
    b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": 3}}',
    b'{"jsonrpc": "2.0", "method": "textDocument/didOpen"}',
    b'{"jsonrpc": "2.0", "method": "no/such"}',
    b'{"jsonrpc": "2.0", "id": 77, "result": 1}',
)


def test_nonsense_from_a_client_does_no_harm(editor: Editor, project: Path) -> None:
    uri = editor.open(project / "m.py")
    for body in NONSENSE:
        editor.send(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    editor.send(b"no header at all\r\nContent-Length: many\r\n\r\n")
    editor.send(b"Content-Length: %d\r\n\r\n%s" % (len(UNANSWERABLE), UNANSWERABLE))
    editor.wait(lambda: editor.refused)
    editor.close("untitled:Untitled-1")
    editor.change(uri, ((99, 5), (200, 7), "\ud83d\nx = 1\n"), ((4, 3), (1, 2), "# back\n"))
    assert isinstance(editor.codes(uri), list)
    editor.change(uri, MODEL)
    assert editor.codes(uri) == [("FG201", 5)]


def test_ten_thousand_edits_end_in_the_right_text(editor: Editor, project: Path) -> None:
    uri = editor.open(project / "m.py")
    editor.change(uri, ((0, 0), (0, 0), "# \n"))
    typed = [((0, 2 + number), (0, 2 + number), "x") for number in range(5_000)]
    erased = [((0, 2 + number), (0, 3 + number), "") for number in range(5_000)][::-1]
    edits = [*typed, *erased]
    for first in range(0, len(edits), 20):
        editor.change(uri, *edits[first : first + 20])
    assert editor.codes(uri) == [("FG201", 6)]
    editor.change(uri, ((0, 2), (0, 2), "😀"), ((0, 4), (1, 0), "\n"), ((0, 0), (1, 0), ""))
    assert editor.codes(uri) == [("FG201", 5)]


def test_a_workspace_may_vanish_and_come_back(editor: Editor, tmp_path: Path) -> None:
    project = tmp_path / "gone"
    project.mkdir()
    (project / "m.py").write_text(MODEL)
    uri = editor.open(project / "m.py")
    assert editor.codes(uri) == [("FG201", 5)]
    shutil.rmtree(project)
    editor.change(uri, MODEL + "\n")
    assert editor.codes(uri) == []
    project.mkdir()
    (project / "m.py").write_text(MODEL)
    editor.change(uri, MODEL)
    assert editor.codes(uri) == [("FG201", 5)]


def test_the_server_ends_when_it_is_told_to(edit: Edit, project: Path) -> None:
    editor = edit(project)
    editor.open(project / "m.py")
    assert editor.quit() == 0


def test_a_client_that_dies_takes_the_server_with_it(edit: Edit, project: Path) -> None:
    editor = edit(project)
    editor.codes(editor.open(project / "m.py"))
    server = editor.client._server
    assert server is not None and server.stdin is not None
    editor._loop.call_soon_threadsafe(server.stdin.close)
    assert editor.wait_for_end() == 0
