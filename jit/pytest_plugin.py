"""The pytest plugin: counts the graph breaks and recompiles of each test, and fails those that have too many.

Off unless asked by `--fullgraph`, the marker or the fixture; then torch is imported, not before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from . import ratchet
from .ratchet import Counts
from .tally import Site, Tally, watched

SITES = "fullgraph_sites"
BREAKS, RECOMPILES = "fullgraph_breaks", "fullgraph_recompiles"
FIXTURES = pytest.StashKey[WeakKeyDictionary["pytest.FixtureDef[Any]", Tally]]()
"""What fixtures did when they were set up last."""
SHOWN = 30
"""Root sites listed in the summary."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fullgraph", "graph breaks and recompiles of torch.compile")
    group.addoption("--fullgraph", action="store_true", help="Count graph breaks and recompiles in every test.")
    group.addoption(
        "--fullgraph-baseline",
        type=Path,
        metavar="FILE",
        help="Fail a test that has more graph breaks or recompiles than FILE allows it. Implies --fullgraph.",
    )
    group.addoption(
        "--fullgraph-write-baseline",
        type=Path,
        metavar="FILE",
        help="Write what each test has; together with --fullgraph-baseline only lower what it allows.",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "fullgraph(max_breaks=0, max_recompiles=0): fail the test if torch.compile breaks the graph, or compiles a "
        "function again, more often than this.",
    )
    config.stash[FIXTURES] = WeakKeyDictionary()
    if _asked(config):
        config.pluginmanager.register(Session(config), "fullgraph-session")


def _asked(config: pytest.Config) -> bool:
    options = ("fullgraph", "fullgraph_baseline", "fullgraph_write_baseline")
    return any(config.getoption(name) for name in options)


def _watches(item: pytest.Item) -> bool:
    return _asked(item.config) or item.get_closest_marker("fullgraph") is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Each test begins with a fresh Dynamo; one that ends in its fixtures is counted too."""
    if not _watches(item):
        return (yield)
    _limits(item.get_closest_marker("fullgraph"))
    _reset()
    try:
        return (yield)
    except BaseException:
        _record(item, *_used_fixtures(item))
        raise


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """What a fixture does is kept with it: several tests may use what is made once, and each answers for it."""
    item = request._pyfuncitem
    if not _watches(item):
        return (yield)
    shared = fixturedef.scope != "function"
    if shared:
        _reset()
    with watched(item.config.rootpath) as tally:
        try:
            return (yield)
        finally:
            item.config.stash[FIXTURES][fixturedef] = tally
            if shared:  # the next test that uses it begins with a fresh Dynamo too
                _reset()


def _used_fixtures(item: pytest.Item) -> tuple[list[Site], list[Site]]:
    """Breaks and recompiles in the fixtures of a test, whichever test they were made for."""
    known = item.config.stash[FIXTURES]
    named = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    tallies = [known[each] for definitions in named.values() for each in definitions if each in known]
    breaks = {site for tally in tallies for site in tally.breaks(libraries=False)}
    return sorted(breaks), sorted(site for tally in tallies for site in tally.recompiles())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    if not _watches(item):
        return (yield)
    marker = item.get_closest_marker("fullgraph")
    limits = _limits(marker)
    before = _used_fixtures(item)
    with watched(item.config.rootpath) as tally:
        try:
            result = yield
        finally:
            breaks = sorted({*before[0], *tally.breaks(libraries=False)})
            recompiles = sorted([*before[1], *tally.recompiles()])
            _record(item, breaks, recompiles)
    if marker is not None:
        _hold(breaks, recompiles, limits, "its marker allows")
    elif (session := item.config.pluginmanager.get_plugin("fullgraph-session")) and session.allowed is not None:
        _hold(breaks, recompiles, session.allowed.get(item.nodeid, Counts()), "the baseline allows")
    return result


def _limits(marker: pytest.Mark | None) -> Counts:
    limits = {"max_breaks": 0, "max_recompiles": 0}
    if marker is not None:
        given = {**dict(zip(limits, marker.args, strict=False)), **marker.kwargs}
        if (
            len(marker.args) > len(limits)
            or not given.keys() <= limits.keys()
            or set(map(type, given.values())) - {int}
        ):
            pytest.fail("the marker is written fullgraph(max_breaks=0, max_recompiles=0), with integers", pytrace=False)
        limits |= given
    return Counts(*limits.values())


def _reset() -> None:
    """Forget what has been compiled so far."""
    try:
        import torch
    except ModuleNotFoundError as error:
        pytest.fail(f"counting graph breaks needs torch ({error})", pytrace=False)
    torch._dynamo.reset()


def _record(item: pytest.Item, breaks: list[Site], recompiles: list[Site]) -> None:
    """In the report, which goes from a worker to the terminal and into JUnit files."""
    item.user_properties += [(BREAKS, len(breaks)), (RECOMPILES, len(recompiles))]
    if breaks or recompiles:
        item.user_properties.append((SITES, [site.as_plain() for site in (*breaks, *recompiles)]))


def _hold(breaks: list[Site], recompiles: list[Site], allowed: Counts, source: str) -> None:
    found = Counts(len(breaks), len(recompiles))
    if found.exceeds(allowed):
        sites = "\n".join(f"  {site}" for site in (*breaks, *recompiles))
        pytest.fail(f"torch.compile: {found}, {source} {allowed}\n{sites}", pytrace=False)


@pytest.fixture
def assert_compiles(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`assert_compiles(fn, *inputs, breaks=0, recompiles=0, first_party=True, **options)`.

    Calls `fn`, compiled unless it is already, with the inputs, and fails where Dynamo broke the graph or compiled
    again more often than said during this call. With `first_party` breaks inside libraries do not count. Further
    calls with the same function in one test go on with what has been compiled. Gives what `fn` returns.
    """
    _reset()
    import torch

    compiled: dict[int, Any] = {}

    def call(
        fn: Callable[..., Any],
        *inputs: Any,
        breaks: int = 0,
        recompiles: int = 0,
        first_party: bool = True,
        **options: Any,
    ) -> Any:
        if (target := compiled.get(id(fn))) is None:
            plain = not (hasattr(fn, "_torchdynamo_orig_callable") or isinstance(fn, torch._dynamo.OptimizedModule))
            target = compiled[id(fn)] = torch.compile(fn, backend="eager") if plain else fn
        with watched(request.config.rootpath) as tally:
            result = target(*inputs, **options)
        _hold(tally.breaks(not first_party), tally.recompiles(), Counts(breaks, recompiles), "expected are at most")
        return result

    return call


class Session:
    """What a run as a whole knows: the baseline, and every test's counts, whichever worker it ran in."""

    def __init__(self, config: pytest.Config) -> None:
        self._baseline: Path | None = config.getoption("fullgraph_baseline")
        self._written: Path | None = config.getoption("fullgraph_write_baseline")
        self._counts: dict[str, Counts] = {}
        self._sites: Counter[Site] = Counter()
        try:
            self.allowed = None if self._baseline is None else ratchet.read(self._baseline)
        except ratchet.RatchetError as error:
            raise pytest.UsageError(str(error)) from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and not (report.when == "setup" and report.failed):
            return
        properties = dict(report.user_properties)
        if BREAKS in properties:
            self._counts[report.nodeid] = Counts(int(str(properties[BREAKS])), int(str(properties[RECOMPILES])))
        sites: Any = properties.get(SITES, ())
        self._sites.update(Site(**site) for site in sites)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """One line for each root site, the worst first."""
        write = terminalreporter.write_line
        terminalreporter.section("torch.compile")
        worst = sorted(self._sites.items(), key=lambda item: (-item[1], item[0]))
        for site, count in worst[:SHOWN]:
            write(f"{count:>4} × {site}")
        if len(worst) > SHOWN:
            write(f"   … and {len(worst) - SHOWN} more sites")
        total = Counts(
            sum(found.breaks for found in self._counts.values()),
            sum(found.recompiles for found in self._counts.values()),
        )
        write(f"{total} in {len(self._counts)} tests")
        for line in self._settled():
            write(line)

    def _settled(self) -> list[str]:
        """What is to be said of the baseline, which is written here, once, by the process that has a terminal."""
        told = []
        allowed = self.allowed or {}
        for name, found in sorted(self._counts.items()):
            if name in allowed and allowed[name].exceeds(found):
                told.append(f"{name} has {found} now; the baseline allows {allowed[name]}")
        if absent := sorted(allowed.keys() - self._counts.keys()):
            more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
            told.append(f"in the baseline, and not run to the end: {', '.join(absent[:3])}{more}")
        if self._written is not None:
            counts = self._counts if self.allowed is None else ratchet.tightened(self.allowed, self._counts)
            try:
                ratchet.write(self._written, counts)
            except OSError as error:
                return [*told, f"can't write {self._written}: {error.strerror}"]
            told.append(f"wrote the counts of {len(counts)} tests to {self._written}")
        return told
