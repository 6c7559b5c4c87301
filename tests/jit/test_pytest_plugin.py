"""The pytest plugin on a sample project: what it counts, what it fails, and that it is off unless asked."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.torch

PROJECT = """
    import pytest
    import torch

    @torch.compile(backend="eager")
    def branch(x):
        if x.sum() > 0:
            return x + 1
        return x - 1

    @torch.compile(backend="eager")
    def read(x):
        return x * x.mean().item()

    @torch.compile(backend="eager")
    def repeat(x, n):
        for _ in range(n):
            x = x + 1
        return x

    @torch.compile(backend="eager")
    def clean(x):
        return x * 2

    @pytest.mark.parametrize("size", range(2, 14))
    def test_clean(size):
        assert clean(torch.ones(size)).sum() == 2 * size

    def test_branch(): branch(torch.ones(3))
    def test_branch_again(): branch(torch.ones(4))
    def test_read(): read(torch.ones(3))
    def test_both(): branch(torch.ones(3)), read(torch.ones(3))
    def test_repeat(): [repeat(torch.ones(3), n) for n in (2, 3, 4)]
    def test_repeat_once(): repeat(torch.ones(3), 2)
    def test_eager(): assert torch.ones(3).sum().item() == 3
    def test_nothing(): pass
"""
FOUND = {
    "test_branch": (1, 0),
    "test_branch_again": (1, 0),
    "test_read": (1, 0),
    "test_both": (2, 0),
    "test_repeat": (0, 2),
}


ORDER = """
    import random

    def pytest_addoption(parser):
        parser.addoption("--order")

    def pytest_collection_modifyitems(config, items):
        match config.getoption("--order"):
            case "backwards": items.reverse()
            case str(seed): random.Random(seed).shuffle(items)
"""


def counts(pytester: pytest.Pytester) -> dict[str, tuple[int, int]]:
    """What the JUnit file tells of the tests; those with nothing are left out."""
    found = {}
    for case in ElementTree.parse(pytester.path / "junit.xml").iter("testcase"):
        told = {str(item.get("name")): str(item.get("value")) for item in case.iter("property")}
        pair = int(told["fullgraph_breaks"]), int(told["fullgraph_recompiles"])
        if pair != (0, 0):
            found[str(case.get("name"))] = pair
    return found


def test_planted_breaks_are_counted_in_any_order_and_number_of_processes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_sample=PROJECT)
    pytester.makeconftest(ORDER)
    summaries = set()
    for options in ((), ("--order", "backwards"), ("--order", "1", "-n2")):
        done = pytester.runpytest_subprocess(
            "-p", "no:cacheprovider", "--fullgraph", "--junit-xml", "junit.xml", *options
        )
        done.assert_outcomes(passed=20)
        assert counts(pytester) == FOUND
        summaries.add(done.stdout.str().partition("= torch.compile =")[2].partition("in 20 tests")[0])
    (text,) = summaries
    assert re.search(r"3 × test_sample\.py:6: graph-break GB0170: ", text)
    assert re.search(r"2 × test_sample\.py:12: graph-break GB0124: ", text)
    assert re.search(r"1 × test_sample\.py:14: recompile: .*n == 2", text)
    assert text.endswith("5 graph breaks and 2 recompiles ")


def test_it_is_off_unless_asked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys
        def test_light(): assert "torch" not in sys.modules
        """
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=1)
    assert "torch.compile" not in done.stdout.str()


def test_without_torch_and_with_a_marker_that_is_none(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('import sys; sys.modules["torch"] = None')
    pytester.makepyfile(
        """
        import pytest
        def test_plain(): pass
        def test_fixture(assert_compiles): pass
        @pytest.mark.fullgraph
        def test_marked(): pass
        @pytest.mark.fullgraph(max_break=1)
        def test_misspelt(): pass
        @pytest.mark.fullgraph(0, "1")
        def test_text(): pass
        """
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-rfE")
    done.assert_outcomes(passed=1, errors=4)
    text = done.stdout.str()
    assert text.count("\ncounting graph breaks needs torch (") == 2
    assert text.count("\nthe marker is written fullgraph(max_breaks=0, max_recompiles=0), with integers") == 2
    assert "pytest_plugin.py" not in text


def test_the_baseline_may_only_get_smaller(pytester: pytest.Pytester) -> None:
    path = pytester.makepyfile(test_sample=PROJECT)
    file = pytester.path / "known.json"
    write = ("-p", "no:cacheprovider", "--fullgraph-write-baseline", "known.json")
    pytester.runpytest_subprocess(*write).assert_outcomes(passed=20)
    known = json.loads(file.read_text())["tests"]
    assert known["test_sample.py::test_both"] == {"breaks": 2, "recompiles": 0}
    assert len(known) == len(FOUND)

    worse = path.read_text().replace("return x * 2", "return x * 2 * x.max().item()")
    path.write_text(worse.replace("(2, 3, 4)", "(2, 3)"))
    done = pytester.runpytest_subprocess(*write, "--fullgraph-baseline", "known.json")
    done.assert_outcomes(passed=8, failed=12)
    failure = "torch.compile: 1 graph break and 0 recompiles, the baseline allows 0 graph breaks and 0 recompiles"
    assert failure in done.stdout.str()
    assert "test_repeat has 0 graph breaks and 1 recompile now" in done.stdout.str()
    lower = json.loads(file.read_text())["tests"]
    assert lower == known | {"test_sample.py::test_repeat": {"breaks": 0, "recompiles": 1}}


def test_a_baseline_of_another_kind_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makefile(".json", known="{}")
    done = pytester.runpytest_subprocess("--fullgraph-baseline", "known.json")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "known.json holds no counts of tests" in done.stderr.str()


def test_marker_and_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_own="""
        import numpy, pytest, torch

        def branch(x):
            return x + 1 if x.sum() > 0 else x

        def repeat(x, n):
            for _ in range(n): x = x + 1
            return x

        @pytest.mark.fullgraph
        def test_marked_fails(): torch.compile(branch, backend="eager")(torch.ones(3))

        @pytest.mark.fullgraph(max_breaks=1)
        def test_marked(): torch.compile(branch, backend="eager")(torch.ones(3))

        def test_fixture(assert_compiles):
            assert assert_compiles(repeat, torch.ones(3), n=2).sum() == 9
            assert assert_compiles(repeat, torch.ones(3), n=3, recompiles=1).sum() == 12
            assert_compiles(torch.compile(branch, backend="eager"), torch.ones(3), breaks=1)
            assert_compiles(torch.nn.Linear(3, 3), torch.ones(3))

        def test_fixture_fails(assert_compiles): assert_compiles(branch, torch.ones(3))

        def test_fixture_fails_to_recompile(assert_compiles):
            assert_compiles(repeat, torch.ones(3), 2)
            assert_compiles(repeat, torch.ones(3), 3)
        """
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-rN")
    done.assert_outcomes(passed=2, failed=3)
    text = done.stdout.str()
    assert text.count("1 graph break and 0 recompiles, its marker allows 0 graph breaks and 0 recompiles") == 1
    assert text.count("1 graph break and 0 recompiles, expected are at most 0 graph breaks and 0 recompiles") == 1
    assert text.count("0 graph breaks and 1 recompile, expected are at most 0 graph breaks and 0 recompiles") == 1
    assert "test_own.py:4: graph-break GB0170: " in text


def test_fixtures_and_tests_that_fail_are_counted_in_any_order(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_fixtures="""
        import pytest, torch

        @torch.compile(backend="eager")
        def branch(x):
            return x + 1 if x.sum() > 0 else x

        @torch.compile(backend="eager")
        def repeat(x, n):
            for _ in range(n): x = x + 1
            return x

        @pytest.fixture(scope="module")
        def shared(): branch(torch.ones(3))
        @pytest.fixture
        def own(): [repeat(torch.ones(3), n) for n in (2, 3)]
        @pytest.fixture
        def broken(): branch(torch.ones(3)), 1 / 0

        def test_shared(shared): pass
        def test_both(own, shared): pass
        def test_own(own): repeat(torch.ones(3), 4)
        def test_none(): pass
        def test_fails(): branch(torch.ones(3)), 1 / 0
        def test_broken(broken): pass
        class TestOld:
            def setup_method(self): branch(torch.ones(3))
            def test_method(self): pass
        """
    )
    found = {
        "test_broken": (1, 0),
        "test_shared": (1, 0),
        "test_both": (1, 1),
        "test_own": (0, 2),
        "test_fails": (1, 0),
        "TestOld::test_method": (1, 0),
    }
    order = [f"test_fixtures.py::{name}" for name in ("test_none", *reversed(found))]
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--fullgraph", "--junit-xml", "junit.xml", *order)
    done.assert_outcomes(passed=5, failed=1, errors=1)
    assert counts(pytester) == {name.rpartition(":")[2]: pair for name, pair in found.items()}
    assert "5 graph breaks and 3 recompiles in 7 tests" in done.stdout.str()
