from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fullgraph.lint.closure import Closure

Graph = dict[str, list[str]]
NAMES = "abcdefgh"
GRAPHS = st.fixed_dictionaries({name: st.lists(st.sampled_from(NAMES), max_size=3) for name in NAMES})


def digests(graph: Graph, changed: str = "", order: str = NAMES) -> dict[str, bytes]:
    closure = Closure(lambda path: path.encode() + b"!" * (path == changed), graph.__getitem__)
    return {path: closure.digest(path) for path in order}


def reached(graph: Graph, path: str) -> set[str]:
    found, stack = set(), [path]
    while stack:
        if (top := stack.pop()) not in found:
            found.add(top)
            stack += graph[top]
    return found


@given(GRAPHS, st.sampled_from(NAMES))
def test_a_digest_changes_exactly_with_what_is_imported(graph: Graph, changed: str) -> None:
    before, after = digests(graph), digests(graph, changed)
    assert {path for path in NAMES if before[path] != after[path]} == {
        path for path in NAMES if changed in reached(graph, path)
    }


@given(GRAPHS, st.permutations(NAMES))
def test_the_order_of_asking_does_not_matter(graph: Graph, order: list[str]) -> None:
    assert digests(graph, order="".join(order)) == digests(graph)


def test_a_long_chain_of_imports_needs_no_recursion() -> None:
    chain = {str(number): [str(number + 1)] for number in range(5000)} | {"5000": ["0"]}
    closure = Closure(str.encode, chain.__getitem__)
    assert closure.digest("0") == closure.digest("4999")
