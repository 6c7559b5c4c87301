"""`fullgraph check` where a machine reads it: output formats, the baseline, and the lines of a change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from checkout import ROOT
from in_process import check

BREAKS = """\
import torch

@torch.compile
def scale(x):
    s = x.sum().item()
    return x * s
"""
PUT_OFF = "fullgraph: 1 finding put off by known.json\n"
PRINTS = """\
import torch

@torch.compile
def shout(x):
    print(x)
    return x
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (tmp_path / "m.py").write_text(BREAKS)
    return tmp_path


def sarif(*arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(check("--output-format", "sarif", *arguments).stdout)
    return document


# formats


def test_sarif_describes_the_rule_the_place_and_the_fix() -> None:
    Path("m.py").write_text(PRINTS)
    (run,) = sarif()["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    (result,) = run["results"]
    assert rule["id"] == result["ruleId"] == "FG301"
    assert rule["help"]["markdown"].startswith("# FG301")
    region = {"startLine": 5, "startColumn": 5, "endLine": 5, "endColumn": 13}
    assert result["locations"][0]["physicalLocation"]["region"] == region
    assert result["level"] == "warning"
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "m.py"
    assert "is_compiling" in "".join(part["insertedContent"]["text"] for part in change["replacements"])


def test_sarif_of_clean_code_and_of_odd_paths() -> None:
    Path("m.py").write_text("import torch\n")
    assert sarif()["runs"][0]["results"] == []
    Path("a b%ü.py").write_text(BREAKS)
    (result,) = sarif()["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b%25%C3%BC.py"


def test_sarif_tells_rules_of_one_code_apart() -> None:
    """Of a repository with two projects that have rules of their own, and what the tool says of itself."""
    rule = (
        (ROOT / "rules/FG301_print.yaml")
        .read_text()
        .replace("code: FG301", "code: ACME101")
        .replace("FG301", "ACME101")
    )
    for name in ("one", "two"):
        Path(name).mkdir()
        Path(name, "pyproject.toml").write_text('[tool.fullgraph]\nrules = ["rule.yaml"]\nselect = ["ACME", "FG9"]\n')
        Path(name, "rule.yaml").write_text(rule.replace("name: print", f"name: print-{name}"))
        Path(name, "m.py").write_text(PRINTS)
        Path(name, "broken.py").write_text("import torch\ndef f(:\n")
    (run,) = sarif("one", "two")["runs"]
    described = run["tool"]["driver"]["rules"]
    told = {(result["ruleId"], described[result["ruleIndex"]]["name"]) for result in run["results"]}
    assert told == {("ACME101", "PrintOne"), ("ACME101", "PrintTwo"), ("FG901", "SyntaxError")}


def names() -> list[str]:
    return [result["partialFingerprints"]["fullgraph/v1"] for result in sarif()["runs"][0]["results"]]


def test_fingerprints_survive_moves_and_tell_twins_apart() -> None:
    before = names()
    Path("m.py").write_text("# a line\n\nimport os\n" + BREAKS)
    assert names() == before
    Path("m.py").write_text(BREAKS.replace("    return x * s", "    s = x.sum().item()\n    return x * s"))
    assert names()[0] == before[0]
    assert len(set(names())) == 2
    Path("m.py").write_text(BREAKS.replace("x.sum()", "x.mean()"))
    assert names() != before


def test_github_annotations_and_summary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    Path("a,b.py").write_text(PRINTS.replace("print(x)", 'print("50%",\n          x)'))
    done = check("--output-format", "github", "a,b.py")
    (line,) = done.stdout.splitlines()
    assert line.startswith("::warning file=a%2Cb.py,title=FG301 print,line=5,endLine=6::")
    assert "50%25" in line
    summary = (tmp_path / "summary.md").read_text()
    assert "| FG301 print | 1 |" in summary
    assert "```diff\n@@ " in summary
    assert "\n-    print(" in summary
    check("--output-format", "github", "m.py")
    assert (tmp_path / "summary.md").read_text().startswith(summary)


def test_gitlab_names_every_issue_once() -> None:
    Path("n.py").write_text(BREAKS)
    issues = json.loads(check("--output-format", "gitlab").stdout)
    assert [issue["location"] for issue in issues] == [
        {"path": path, "lines": {"begin": 5, "end": 5}} for path in ("m.py", "n.py")
    ]
    assert len({issue["fingerprint"] for issue in issues}) == 2
    assert {issue["check_name"] for issue in issues} == {"FG201"}


def test_junit_counts_failures_and_passes() -> None:
    root = ElementTree.fromstring(check("--output-format", "junit").stdout.split("\n", 1)[1])
    (case,) = root.iter("testcase")
    assert (root.get("failures"), case.get("classname"), case.get("name")) == ("1", "m.py", "FG201: scale (m.py:5)")
    assert case.find("failure") is not None
    Path("m.py").write_text("import torch\n")
    root = ElementTree.fromstring(check("--output-format", "junit").stdout.split("\n", 1)[1])
    assert (root.get("tests"), root.get("failures")) == ("1", "0")


# the baseline


def repository() -> None:
    """Three packages with a hundred findings each."""
    Path("m.py").unlink()
    for package in ("one", "two", "three"):
        Path(package).mkdir()
        Path(package, "__init__.py").touch()
        for part in range(10):
            lines = "".join(f"    s{i} = x[{i}].item()\n" for i in range(10))
            Path(package, f"part{part}.py").write_text(BREAKS.replace("    s = x.sum().item()\n", lines))


def test_a_baseline_makes_a_repository_green_until_it_gets_worse() -> None:
    repository()
    assert len(check("--output-format", "concise").stdout.splitlines()) == 300
    done = check("--write-baseline", "known.json")
    assert (done.exit_code, "wrote 300 findings to known.json" in done.stderr) == (0, True)
    green = check("--baseline", "known.json", "--output-format", "github")
    assert (green.exit_code, green.stdout) == (0, "")
    assert green.stderr == "fullgraph: 300 findings put off by known.json\n"

    path = Path("two/part3.py")
    path.write_text("import os\n" + path.read_text().replace("    return", "    t = x.mean().item()\n    return"))
    red = check("--baseline", "known.json", "--output-format", "github")
    (line,) = red.stdout.splitlines()
    assert red.exit_code == 1
    assert "file=two/part3.py" in line
    states = [result["baselineState"] for result in sarif("--baseline", "known.json")["runs"][0]["results"]]
    assert (states.count("unchanged"), states.count("new")) == (300, 1)

    path.write_text(path.read_text().replace("    t = x.mean().item()\n", "").replace("    s4 = x[4].item()\n", ""))
    fewer = check("--baseline", "known.json")
    assert fewer.exit_code == 0
    assert "no longer found, drop it from known.json: two/part3.py: FG201 in scale" in fewer.stderr


def test_notes_are_in_no_baseline_and_so_are_not_new_beside_one() -> None:
    Path("m.py").write_text("import torch\n\ndef f(x):\n    return x\n\nfor x in (1, 2):\n    g = torch.compile(f)\n")
    assert "wrote 0 findings" in check("--write-baseline", "known.json").stderr
    (result,) = sarif("--baseline", "known.json")["runs"][0]["results"]
    assert (result["level"], result.get("baselineState")) == ("note", None)


def test_a_baseline_may_only_get_shorter() -> None:
    check("--write-baseline", "known.json")
    Path("m.py").write_text(PRINTS)
    done = check("--baseline", "known.json", "--write-baseline", "known.json")
    assert done.exit_code == 1
    assert json.loads(Path("known.json").read_text())["findings"] == []


def test_entries_of_files_that_were_not_looked_at_are_not_stale() -> None:
    Path("n.py").write_text(PRINTS)
    check("--write-baseline", "known.json")
    assert check("--baseline", "known.json", "n.py").stderr == PUT_OFF
    Path("m.py").unlink()
    assert "m.py" in check("--baseline", "known.json", "n.py").stderr


def test_a_baseline_counts_paths_from_its_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pyproject.toml").write_text("[tool.fullgraph]\n")
    Path("package").mkdir()
    Path("m.py").rename("package/m.py")
    check("--write-baseline", "known.json")
    Path("other").mkdir()
    monkeypatch.chdir("other")
    done = check("--baseline", "../known.json", "../package")
    assert (done.exit_code, done.stderr) == (0, PUT_OFF.replace("known", "../known"))
    monkeypatch.chdir("../package")
    assert check("--baseline", "../known.json").exit_code == 0


def test_a_baseline_may_be_a_link_and_is_no_device() -> None:
    Path("elsewhere").mkdir()
    Path("known.json").symlink_to("elsewhere/known.json")
    check("--write-baseline", "known.json")
    assert Path("known.json").is_symlink()
    assert check("--baseline", "known.json").exit_code == 0
    os.mkfifo("pipe")
    refused = check("--write-baseline", "pipe")
    assert refused.exit_code == 2
    assert "it is no file" in refused.stderr


def test_a_file_name_that_is_no_text_in_every_format_and_in_a_baseline() -> None:
    name = os.fsdecode(b"a\xff.py")
    Path("m.py").rename(name)
    for output_format in ("sarif", "github", "gitlab", "junit"):
        assert check("--output-format", output_format).exit_code == 1
    check("--write-baseline", "known.json")
    done = check("--baseline", "known.json")
    assert (done.exit_code, done.stderr) == (0, PUT_OFF)
    Path(name).unlink()
    assert "known.json: a\\udcff.py: FG201" in check("--baseline", "known.json").stderr


@pytest.mark.parametrize("option", ["--baseline=known.json", "--changed-since=HEAD", "--output-format=sarif"])
def test_a_comparison_refuses_what_it_would_leave_out(option: str) -> None:
    done = check("--compare-torch", "2.9", option)
    assert done.exit_code == 2
    assert "--compare-torch " in done.stderr


def test_a_summary_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "nowhere/summary.md")
    done = check("--output-format", "github")
    assert done.exit_code == 2
    assert "nowhere/summary.md" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "can't read the baseline known.json: No such file or directory"),
        ("{", "known.json is no baseline"),
        ("[]", "known.json is no baseline"),
        ('{"schema": "other/1", "findings": []}', "known.json has the schema 'other/1'"),
    ],
)
def test_what_is_no_baseline(text: str | None, expected: str) -> None:
    if text is not None:
        Path("known.json").write_text(text)
    done = check("--baseline", "known.json")
    assert done.exit_code == 2
    assert expected in done.stderr


def test_a_baseline_that_cannot_be_written() -> None:
    done = check("--write-baseline", "nowhere/known.json")
    assert done.exit_code == 2
    assert "can't write the baseline nowhere/known.json: No such file or directory" in done.stderr


# the lines of a change


def git(*arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def test_only_the_lines_of_a_change_are_reported() -> None:
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "one")
    assert check("--changed-since", "main").exit_code == 0
    Path("m.py").write_text(BREAKS.replace("    return x * s", "    t = x.mean().item()\n    return x * s"))
    Path("a ü.py").write_text(PRINTS)
    done = check("--changed-since", "HEAD", "--output-format", "concise")
    assert [line.split(":")[:2] for line in done.stdout.splitlines()] == [["a ü.py", "5"], ["m.py", "6"]]
    git("add", ".")
    git("commit", "-qm", "two")
    assert len(check("--changed-since", "HEAD~1", "--output-format", "concise").stdout.splitlines()) == 2
    assert check("--changed-since", "HEAD").exit_code == 0


def test_a_repository_inside_a_repository_is_asked_too() -> None:
    Path("inner").mkdir()
    Path("inner/n.py").write_text(BREAKS)
    for folder in (".", "inner"):
        git("-C", folder, "init", "-q", "-b", "main")
        git("-C", folder, "add", "n.py" if folder == "inner" else "m.py")
        git("-C", folder, "commit", "-qm", "one")
    assert check("--changed-since", "main").exit_code == 0
    Path("inner/n.py").write_text(BREAKS.replace("s = x", "s = 2 * x"))
    done = check("--changed-since", "main", "--output-format", "concise")
    assert [line.split(":")[:2] for line in done.stdout.splitlines()] == [["inner/n.py", "5"]]


def test_moved_files_and_lines_that_look_like_a_diff() -> None:
    Path("gone.py").write_text("import torch\n")
    Path("doc.py").write_text(f'"""\n"""\n{BREAKS}')
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "one")
    git("mv", "m.py", "moved.py")
    Path("gone.py").unlink()
    Path("doc.py").write_text(f'"""\n++ m.py\n\f\n"""\n{BREAKS.replace("s = x", "s = 2 * x")}')
    done = check("--changed-since", "HEAD", "--output-format", "concise")
    assert [line.split(":")[:2] for line in done.stdout.splitlines()] == [["doc.py", "9"]]


def test_a_revision_without_a_common_ancestor() -> None:
    git("init", "-q", "-b", "main")
    git("commit", "-qm", "one", "--allow-empty")
    git("checkout", "-q", "--orphan", "other")
    git("commit", "-qm", "two", "--allow-empty")
    for revision, expected in (("main", "no commit in common with HEAD"), ("-h", "'-h' is no revision")):
        done = check(f"--changed-since={revision}")
        assert (done.exit_code, expected in done.stderr) == (2, True)


@pytest.mark.parametrize("prepare", [False, True])
def test_a_revision_that_git_does_not_know(prepare: bool) -> None:
    if prepare:
        git("init", "-q")
    done = check("--changed-since", "nowhere")
    assert done.exit_code == 2
    assert "--changed-since: fatal: " in done.stderr


# what is staged, and all


def test_the_files_of_a_commit_have_the_root_sites_that_the_whole_project_has() -> None:
    Path("helpers.py").write_text("def read(x):\n    return x.sum().item()\n")
    Path("m.py").write_text(
        "import torch\nfrom helpers import read\n\n@torch.compile\ndef f(x):\n    print(x)\n    return read(x)\n"
    )

    def roots(*paths: str) -> list[tuple[str, str]]:
        document = json.loads(check("--output-format", "json", *paths).stdout)
        return sorted((finding["code"], finding["root"]) for finding in document["findings"])

    assert roots("m.py") == roots() == [("FG201", "helpers.py:2"), ("FG301", "m.py:6")]


# the files that others include


@pytest.mark.parametrize(
    ("schema", "file"), [("vendor.github-actions", "action.yml"), ("vendor.gitlab-ci", "docs/gitlab-ci.yml")]
)
def test_what_others_include_is_valid(schema: str, file: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(ROOT / file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_review_has_a_suggestion_for_each_fix_of_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FULLGRAPH_REVIEW", "review.json")
    Path("m.py").write_text(
        "import torch\n\n@torch.compile\ndef f(x):\n    print(x)\n    y = x + 1\n    print(y)\n"
        "    return y.sum().item()\n"
    )
    for _ in range(2):
        check("--output-format", "github", "m.py")
    review = json.loads(Path("review.json").read_text())
    assert review["event"] == "COMMENT"
    lines = Path("m.py").read_text().split("\n")
    for comment in review["comments"]:
        _, fence, text = comment["body"].partition("```suggestion\n")
        assert (comment["path"], comment["side"], bool(fence)) == ("m.py", "RIGHT", True)
        first = comment.get("start_line", comment["line"])
        lines_now = [*lines[: first - 1], *text.removesuffix("\n```").split("\n"), *lines[comment["line"] :]]
        compile("\n".join(lines_now), "m.py", "exec", dont_inherit=True)
        assert lines_now != lines
    assert [comment["line"] for comment in review["comments"]] == [5, 7]
    assert "**FG" in review["comments"][0]["body"]
