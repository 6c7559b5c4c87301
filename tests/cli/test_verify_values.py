"""`fullgraph verify` on labelled programs whose values change between calls: what recompiles and what is frozen.

Some look like it and do neither. The labels in `corpus/values` were made by running torch 2.13 with `backend="eager"`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).parent.parent / "corpus/values"
LABELS: dict[str, Any] = json.loads((CORPUS / "labels.json").read_text())
CALLED = {
    # A hook is compiled inside a function of torch's, which the label names; what is reported is the user's own.
    "hook_reads_list.py": {"inner": "<lambda>"},
}
UNCOMPILED = {
    # There is nothing to observe, and the target says so.
    # The program asks for eager code.
    "stance_forced_eager.py",
    # The program calls the modules that it had before it compiled them.
    "cache_wrapper_before_compile/main.py",
}

pytestmark = [pytest.mark.torch, pytest.mark.slow]


@cache
def sweep() -> dict[str, Any]:
    """One command over all scripts."""
    command = [sys.executable, "-m", "fullgraph.cli", "verify", "--backend", "eager", "--output-format", "json"]
    done = subprocess.run([*command, *sorted(LABELS)], cwd=CORPUS, capture_output=True, text=True, timeout=500)
    assert (done.stderr, done.returncode) == ("", 2), "one of these programs compiles nothing"
    return {target["target"]: target for target in json.loads(done.stdout)["targets"]}


@pytest.mark.parametrize("script", sorted(LABELS))
def test_changing_values(script: str) -> None:
    target, label = sweep()[script], LABELS[script]
    names = CALLED.get(script, {})
    assert target["status"] == ("nothing-compiled" if script in UNCOMPILED else "ok")
    assert [item["line"] for item in target["breaks"]] == label["breaks"]
    assert sum(frame["graphs"] for frame in target["frames"]) == label["graphs"]
    assert any(item["limit_hit"] for item in target["recompiles"]) == label["limit_hit"]
    assert Counter(item["function"].rpartition(".")[2] for item in target["recompiles"]) == Counter(
        names.get(function, function) for function, _ in label["recompiles"]
    )
    for item, (_, line) in zip(target["recompiles"], label["recompiles"], strict=True):
        # The label's line is the one that made the guard, where Dynamo says so.
        assert line in {item["line"], *(site[1] for site in item["guard_sites"])}


@pytest.mark.parametrize("script", sorted(LABELS))
def test_frozen_values_are_proven_and_others_are_not(script: str) -> None:
    target = sweep()[script]
    frozen = {item["verdict"] for item in target["findings"] if item["effect"] == "frozen-value"}
    assert frozen == ({"confirmed"} if LABELS[script]["frozen"] else set())
    assert target["stale"] == []


def test_programs_of_several_files() -> None:
    """The labels name the resumptions that Dynamo makes, and tell a site apart that first breaks a graph and then, in
    such a resumption, a whole frame. Reported are the user's functions, and one break a site.
    """
    folder = CORPUS.parent / "reports"
    labels = json.loads((folder / "labels.json").read_text())
    command = [sys.executable, "-m", "fullgraph.cli", "verify", "--backend", "eager", "--output-format", "json"]
    done = subprocess.run([*command, *labels], cwd=folder, capture_output=True, text=True, timeout=500)
    for target in json.loads(done.stdout)["targets"]:
        label = labels[target["target"]]
        assert target["status"] == ("nothing-compiled" if target["target"] in UNCOMPILED else "ok")
        assert {(item["path"], item["line"], item["gb"]) for item in target["breaks"]} == {
            (path, line, gb) for path, line, gb, _ in label["breaks"]
        }
        assert Counter((item["path"], item["function"].rpartition(".")[2]) for item in target["recompiles"]) == Counter(
            (path, re.sub("torch_dynamo_resume_in_(.*)_at_.*", r"\1", function))
            for path, function, _, count in label["recompiles"]
            for _ in range(count)
        )
        assert sum(frame["graphs"] for frame in target["frames"]) == label["graphs"]
        assert {item["verdict"] for item in target["findings"]} == ({"confirmed"} if label["graphs"] else set())
        assert target["unpredicted"] == []
