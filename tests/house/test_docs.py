"""README and the site: every command runs, every screenful is what is printed now, every snippet is valid."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import screens
import yaml
from checkout import ROOT
from screens import Fence, fences

from fullgraph.rules import load

WRITTEN = (*screens.PAGES, ROOT / "CONTRIBUTING.md", ROOT / "editors/README.md")
LANGUAGES = {"console", "sh", "python", "toml", "yaml"}
COMMAND = re.compile(r"(\$ |fullgraph |pip |pytest |python |make |git |pre-commit )")
SCHEMAS = {
    ".github/workflows": ("--builtin-schema", "vendor.github-workflows"),
    ".gitlab-ci.yml": ("--builtin-schema", "vendor.gitlab-ci"),
    "lint-rules": ("--schemafile", ROOT / "rules/schema.json"),
}
USES_TORCH = re.compile(r"^(\$ )?(fullgraph (verify|run|rules prove)|pytest)\b")


class Snippet(NamedTuple):
    page: Path
    fence: Fence
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, ""])

    def __str__(self) -> str:
        return f"{self.page.name}:{self.fence.start}"


def of_page(page: Path) -> Iterator[Snippet]:
    lines = page.read_text(encoding="utf-8").splitlines()
    return (Snippet(page, fence, screens.content(fence, lines)) for fence in fences(lines))


def snippets(*languages: str) -> list[Snippet]:
    return [item for page in WRITTEN for item in of_page(page) if not languages or item.fence.language in languages]


def needs_torch(page: Path) -> bool:
    run = (snippet.lines for snippet in of_page(page) if not snippet.fence.not_run)
    return any(USES_TORCH.match(line) for lines in run for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.torch] if needs_torch(page) else [])
        for page in screens.PAGES
    ],
)
def test_commands_print_what_is_shown(page: Path) -> None:
    if difference := screens.difference(page):
        pytest.fail(f"`make screens` writes what they print now:\n{difference}", pytrace=False)


def test_every_block_says_what_it_is() -> None:
    """A command in a block of another language would not be run."""
    for snippet in snippets():
        assert snippet.fence.language in LANGUAGES, snippet
        if snippet.fence.language not in ("console", "sh"):
            assert not [line for line in snippet.lines if COMMAND.match(line)], snippet
        if snippet.fence.language == "console":
            assert snippet.lines[0].startswith("$ "), snippet


@pytest.mark.parametrize("snippet", snippets("python"), ids=str)
def test_python_compiles(snippet: Snippet) -> None:
    compile(snippet.text, str(snippet), "exec")


@pytest.mark.parametrize("snippet", snippets("toml"), ids=str)
def test_toml_is_valid(snippet: Snippet) -> None:
    """What is in `tool.fullgraph` is read by the commands of its page."""
    assert tomllib.loads(snippet.text)


@pytest.mark.parametrize("snippet", snippets("yaml"), ids=str)
def test_yaml_is_valid(snippet: Snippet, tmp_path: Path) -> None:
    assert yaml.safe_load(snippet.text)
    folder, _, name = (snippet.fence.title or "").rpartition("/")
    if schema := SCHEMAS.get(folder or name):
        (tmp_path / "file.yml").write_text(snippet.text)
        command = [sys.executable, "-m", "check_jsonschema", *schema, tmp_path / "file.yml"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_site_is_built_strictly_and_asks_no_network(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path / "site"]
    proxies = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    environment = {**os.environ, **proxies, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    loaded = re.compile(
        r"<(?:script|img|iframe)[^>]* src=\"?https?:|<link[^>]* href=\"?https?:|@import|url\(\"?https?:"
    )
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert [page.name for page in pages if loaded.search(page.read_text(encoding="utf-8"))] == []
    found = json.loads((tmp_path / "site/search/search_index.json").read_text(encoding="utf-8"))["docs"]
    assert {f"rules/{code}.html" for code in load()} < {entry["location"] for entry in found}


# the mechanism itself


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(screens, "ROOT", tmp_path)
    return tmp_path / "page.md"


def test_what_a_command_prints_is_written_below_it(page: Path) -> None:
    page.write_text(
        '```sh title="a.sh"\necho one\n```\n\n- item\n\n  ```console\n  $ sh a.sh\n  old\n  $ echo \\\n  two\n  ```\n'
    )
    assert "  $ sh a.sh\n  one\n  $ echo \\\n  two\n  two\n  ```\n" in screens.renewed(page)
    assert "-  old" in screens.difference(page)


def test_times_differ_and_are_left_as_they_are(page: Path) -> None:
    page.write_text("```console\n$ echo '1 graph, 0.7 s'\n1 graph, 12.5 s\n```\n")
    assert screens.difference(page) == ""
    page.write_text("```console\n$ echo '1 graph, 0.7 s'\n2 graphs, 12.5 s\n```\n")
    assert screens.difference(page) != ""


def test_paragraphs_may_be_left_out(page: Path) -> None:
    shown = "```console\n$ printf 'a 1\\n\\nb 2\\n\\nc 3\\n'\n{}\n\n…\n\nc 3\n```\n"
    page.write_text(shown.format("a 1"))
    assert screens.difference(page) == ""
    page.write_text(shown.format("a 7"))
    assert screens.renewed(page) == shown.format("a 1")


def test_blocks_that_are_not_run_stay(page: Path) -> None:
    page.write_text("<!-- not run: no network -->\n\n```console\n$ exit 7\nnothing\n```\n")
    assert screens.difference(page) == ""


def test_a_command_without_output_has_to_work(page: Path) -> None:
    page.write_text("```sh\nexit 1\n```\n")
    assert screens.difference(page) == ""
    page.write_text("```sh\nexit 2\n```\n")
    with pytest.raises(screens.CommandFailed, match="`exit 2` ended with 2"):
        screens.difference(page)
