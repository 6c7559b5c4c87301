"""What keeps a program's meaning keeps its findings: renamed locals, moved functions, extracted helpers, dead code."""

from __future__ import annotations

import ast
import builtins
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from project_on_disk import ProjectOnDisk

from fullgraph.rules.source import read_folder

RULES = read_folder(Path(__file__).parents[2] / "rules")
EXAMPLES = [example for rule in RULES for example in (*rule.bad, *rule.good) if rule.code != "FG901"]
PROGRAMS = ["\n".join([example.code, *example.run, ""]) for example in EXAMPLES]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SCOPES = (*FUNCTIONS, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.ClassDef)
UNMOVABLE = (*SCOPES, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await, ast.Starred)
Meaning = Counter[tuple[str, str]]

checked = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)


def meaning(project: ProjectOnDisk, files: dict[str, str]) -> Meaning:
    """How often each rule is reported, and how severely."""
    for old in project.root.glob("*.py"):
        old.unlink()
    project.write(files)
    return Counter((finding.code, finding.severity.value) for finding in project.check().findings)


def same(project: ProjectOnDisk, before: str, after: str, **others: str) -> None:
    more = {f"{name}.py": text for name, text in others.items()}
    assert meaning(project, {"m.py": after, **more}) == meaning(project, {"m.py": before}), f"{after}\n{others}"


def functions(tree: ast.AST) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def names(tree: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


def parameters(function: ast.FunctionDef) -> set[str]:
    return {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}


def locals_of(function: ast.FunctionDef) -> set[str]:
    shared = {name for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    return names(function, ast.Store) - parameters(function) - shared


@checked
@given(data=st.data())
def test_a_local_may_be_renamed(project: ProjectOnDisk, data: st.DataObject) -> None:
    tree = ast.parse(data.draw(st.sampled_from(PROGRAMS)))
    before = ast.unparse(tree)
    choices = [(function, name) for function in functions(tree) for name in sorted(locals_of(function))]
    assume(choices)
    function, name = data.draw(st.sampled_from(choices))
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == name:
            node.id = "renamed"
    same(project, before, ast.unparse(tree))


def imports(tree: ast.Module) -> list[ast.stmt]:
    return [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]


def imported(tree: ast.Module) -> set[str]:
    aliases = [alias for node in imports(tree) for alias in getattr(node, "names", [])]
    return {alias.asname or alias.name.partition(".")[0] for alias in aliases}


def movable(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Top-level functions that use nothing of their module but its imports."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not any(isinstance(inner, ast.Global) for inner in ast.walk(node)):
            own = parameters(node) | names(node, ast.Store) | {inner.name for inner in functions(node)}
            free = names(node, ast.Load) - own - imported(tree) - set(vars(builtins))
            if not free - {node.name}:
                yield node


@checked
@given(data=st.data())
def test_a_function_may_move_to_another_module(project: ProjectOnDisk, data: st.DataObject) -> None:
    # `torch._dynamo.config` is taken to hold for the file that sets it, and what another file defines as an operator
    # may get its fake implementation in a third one.
    kept = [text for text in PROGRAMS if "_dynamo.config" not in text and "custom_op" not in text]
    tree = ast.parse(data.draw(st.sampled_from(kept)))
    before = ast.unparse(tree)
    choices = list(movable(tree))
    assume(choices)
    function = data.draw(st.sampled_from(choices))
    moved = ast.unparse(ast.Module([*imports(tree), function], []))
    tree.body[tree.body.index(function)] = ast.ImportFrom("moved", [ast.alias(function.name)], 0)
    same(project, before, ast.unparse(tree), moved=moved)


def extractable(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, ast.Assign, list[str]]]:
    """Plain assignments of an expression over locals, and those locals."""
    for function in functions(tree):
        own = parameters(function) | locals_of(function)
        for node in function.body:
            if isinstance(node, ast.Assign) and not any(isinstance(inner, UNMOVABLE) for inner in ast.walk(node.value)):
                used = names(node.value, ast.Load) | {
                    part.attr for part in ast.walk(node.value) if isinstance(part, ast.Attribute)
                } & {"compile"}
                free = used - own - imported(tree) - set(vars(builtins))
                if isinstance(node.targets[0], ast.Name) and not free and not used & {"super", "compile"}:
                    yield function, node, sorted(used & own)


@checked
@given(data=st.data())
def test_a_helper_may_be_extracted(project: ProjectOnDisk, data: st.DataObject) -> None:
    tree = ast.parse(data.draw(st.sampled_from(PROGRAMS)))
    before = ast.unparse(tree)
    choices = list(extractable(tree))
    assume(choices)
    _, statement, used = data.draw(st.sampled_from(choices))
    helper = f"def helper({', '.join(used)}):\n    return {ast.unparse(statement.value)}"
    statement.value = ast.parse(f"helper({', '.join(used)})", mode="eval").body
    tree.body.insert(len(imports(tree)), ast.parse(helper).body[0])
    same(project, before, ast.unparse(tree))


DEAD = [
    'if False:\n    print("dead")',
    "'text'",
    "pass",
    "# a comment",
    "def unused(x):\n    print(x)",
    "0 and print()",
]


@checked
@given(data=st.data())
def test_dead_code_and_comments_say_nothing(project: ProjectOnDisk, data: st.DataObject) -> None:
    before = ast.unparse(ast.parse(data.draw(st.sampled_from(PROGRAMS))))
    blocks = [node.body for node in ast.walk(ast.parse(before)) if isinstance(node, ast.FunctionDef | ast.Module)]
    statement = data.draw(st.sampled_from([inner for block in blocks for inner in block]))
    lines = before.split("\n")
    first = min([statement.lineno, *(node.lineno for node in getattr(statement, "decorator_list", []))])
    assume(not isinstance(statement, ast.ImportFrom) or statement.module != "__future__")
    lines[first - 1 : first - 1] = textwrap.indent(data.draw(st.sampled_from(DEAD)), " " * statement.col_offset).split(
        "\n"
    )
    same(project, before, "\n".join(lines))
