"""Attributes worked out when they are read hold what a constructor run from end to end leaves in them."""

from __future__ import annotations

import itertools
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fullgraph.lint import torch_api
from fullgraph.lint.findings import Effect
from fullgraph.lint.interpret import calls, objects
from fullgraph.lint.interpret.analysis import Analysis
from fullgraph.lint.project import Project
from fullgraph.lint.values import Arguments, Class, Const, Host, Instance, Value

NAMES = ("a", "b", "c")
LOCALS = ("u", "v")
NUMBER = itertools.count()
API = torch_api.load()
HERE = (1, 0, 1, 0)

statements = st.one_of(
    st.builds("self.{} = {}".format, st.sampled_from(NAMES), st.integers(0, 9)),
    st.builds("self.{} = self.{}".format, st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.builds("self.{} = {}".format, st.sampled_from(NAMES), st.sampled_from(LOCALS)),
    st.builds("{} = self.{}".format, st.sampled_from(LOCALS), st.sampled_from(NAMES)),
    st.builds("{} = {} + {}".format, st.sampled_from(LOCALS), st.sampled_from(LOCALS), st.integers(0, 9)),
    st.builds("self.{}, {} = {}, self.{}".format, *map(st.sampled_from, (NAMES, LOCALS, LOCALS, NAMES))),
    st.builds("self.{}.append({})".format, st.just("rows"), st.sampled_from(LOCALS)),
    st.builds("setattr(self, '{}', {})".format, st.sampled_from(NAMES), st.sampled_from(LOCALS)),
    st.builds("if {}: self.{} = {}".format, *map(st.sampled_from, (("u == 3", "flag"), NAMES, LOCALS))),
    st.builds("if {}: return".format, st.sampled_from(("u == 3", "flag"))),
    st.just("self._more()"),
    st.just("super()._more()"),
    st.builds("{} = self._value()".format, st.sampled_from(LOCALS)),
)
bodies = st.lists(statements, max_size=6)


def _method(name: str, parameters: str, lines: list[str], first: tuple[str, ...] = ()) -> str:
    body = "".join(f"\n        {line}" for line in [*first, *lines, "pass"])
    return f"\n    def {name}({parameters}):{body}"


def _program(base: list[str], more: list[str], own: list[str], tail: list[str], over: list[str] | None) -> str:
    first = ("self.a = self.b = self.c = 0", "self.rows = []", "u = v = 1")
    text = "class Base:" + _method("__init__", "self, flag", base, first)
    text += _method("_more", "self, flag=None", more, ("u = v = 2",)) + "\n    def _value(self): return self.a\n"
    text += "class Net(Base):" + _method(
        "__init__", "self, flag", [*own, "super().__init__(flag)", *tail], ("u = v = 5",)
    )
    if over is not None:
        text += _method("_more", "self, flag=None", [line for line in over if "self._more" not in line], ("u = v = 7",))
    return text + "\n"


def _attributes(path: Path, order: tuple[str, ...], flag: Value, lazy: bool) -> dict[str, Value | None]:
    """What an object's attributes hold: made in one go, or worked out one by one in that order."""
    project = Project(path.parent, None)
    module = project.load(str(path))
    assert module is not None
    analysis = Analysis(project, API, lambda fact, frame: (), lambda code: Effect.GRAPH_BREAK)
    frame = analysis.module_frame(module)
    frame.lazy = lazy
    made = calls.call(frame, HERE, Class(module.classes["Net"]), Arguments((flag,)))
    assert isinstance(made, Instance)
    assert (made in analysis.constructions) == lazy
    return {name: objects.built(frame, made, name) for name in order}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    bodies,
    bodies,
    bodies,
    bodies,
    st.none() | bodies,
    st.permutations((*NAMES, "rows")),
    st.sampled_from((Const(True), Host("bool"))),
)
def test_lazy_attributes_are_the_eager_ones(
    tmp_path: Path,
    base: list[str],
    more: list[str],
    own: list[str],
    tail: list[str],
    over: list[str] | None,
    order: tuple[str, ...],
    flag: Value,
) -> None:
    path = tmp_path / f"net{next(NUMBER)}.py"
    path.write_text(_program(base, more, own, tail, over))
    assert _attributes(path, order, flag, lazy=True) == _attributes(path, order, flag, lazy=False)


def test_only_what_an_attribute_takes_is_interpreted(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(
        "def costly(flag): return flag\nclass Net:"
        + _method("__init__", "self, flag", ["w = costly(flag)", "self.a = w", "self.b = 4", "self._more()"])
        + _method("_more", "self", ["self.c = costly(3)"])
    )
    project = Project(tmp_path, None)
    module = project.load(str(path))
    assert module is not None
    analysis = Analysis(project, API, lambda fact, frame: (), lambda code: Effect.GRAPH_BREAK)
    frame = analysis.module_frame(module)
    instance = Instance(module.classes["Net"], Arguments((Const(True),)))
    costly = module.functions["costly"]
    assert objects.built(frame, instance, "b") == Const(4)
    assert costly not in analysis.driven
    assert objects.built(frame, instance, "a") == Const(True)
    assert costly in analysis.driven
    assert objects.built(frame, instance, "c") == Const(3)
