"""What is reported against torch's own log of breaks, over all programs of the corpus: nothing is missed."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
REFUSED = {
    # Dynamo refuses a generator, and a call from inside a transform of functorch's, before the first line, with an
    # exception that never comes to its log.
    "verify/GB0003_generator_top.py": [(2, "Attempt to trace generator")],
    "verify/GB0149_functorch_vmap_outside.py": [(2, "Unsupported functorch tracing attempt")],
    "verify/GB0170_min_builtin.py": [(4, "Attempt to trace generator")],
    "verify/GB2533_return_contextmanager.py": [(3, "Attempt to trace generator")],
}
pytestmark = [pytest.mark.torch, pytest.mark.slow]


def breaks(which: str) -> dict[str, set[tuple[str, int, str]]]:
    """`logged`, `reported` or `skipped`."""
    return {
        name: {(path, line, kind) for path, line, kind in sites[which]}
        for name, sites in breaks_of_all_scripts().items()
    }


@cache
def breaks_of_all_scripts() -> dict[str, dict[str, list[tuple[str, int, str]]]]:
    scripts = sorted(file for name in ("guide", "verify") for file in (TESTS / "corpus" / name).glob("*.py"))
    command = [sys.executable, TESTS / "support/breaks_of.py", *scripts]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    found: dict[str, dict[str, list[tuple[str, int, str]]]] = json.loads(done.stdout)
    assert len(found) == len(scripts) > 50
    return found


def test_all_that_torch_logs_is_reported() -> None:
    reported = breaks("reported")
    assert {name: missed for name, sites in breaks("logged").items() if (missed := sites - reported[name])} == {}
    assert sum(map(len, breaks("logged").values())) > 40


def test_what_is_reported_and_not_logged_cost_a_whole_frame_silently() -> None:
    import torch

    logged, skipped = breaks("logged"), breaks("skipped")
    more = {name: sites - logged[name] for name, sites in breaks("reported").items() if sites - logged[name]}
    assert {name: sites - skipped[name] for name, sites in more.items() if sites - skipped[name]} == {}
    if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 10):
        # Before, no break that costs a whole frame is in the log.
        short = {name.removeprefix(f"{TESTS}/corpus/"): [site[1:] for site in sites] for name, sites in more.items()}
        assert short == REFUSED
