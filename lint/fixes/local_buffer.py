"""`self.x = self.x.to(…)`, which Dynamo does not trace of an `nn.Buffer`, → a local, which the lines after it read.

The attribute stays what it was, so that each call converts it anew. Legal only at the top of a method, where nothing
after it changes the attribute, and where no other function of the file that may run then names it.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from ..blocks import around, block_of
from ..findings import Fix
from ..search import findall, names_in
from ..slice import Slice
from ..symbols import Module
from ..vocabulary import words
from ..ways import fresh_name

CONVERSIONS = words("bfloat16 cpu cuda double float half to type type_as")


def fix(found: Slice, path: str) -> Fix | None:
    function = found.function
    match found.statement:
        case cst.Assign(
            targets=[
                cst.AssignTarget(target=cst.Attribute(value=cst.Name("self"), attr=cst.Name(value=name)) as target)
            ],
            value=cst.Call(
                func=cst.Attribute(
                    value=cst.Attribute(value=cst.Name("self"), attr=cst.Name(value=converted)),
                    attr=cst.Name(value=method),
                )
            ),
        ) if function and name == converted and method in CONVERSIONS:
            reads = _later(found, function, name)
            if not reads or _may_be_seen(found.module, function.name.value, name):
                return None
            local = cst.Name(_local(found, function, name))
            edits = tuple(found.replace(path, node, local) for node in (target, *reads))
            return Fix("keep the converted buffer in a local", "unsafe", edits)
    return None


def _later(found: Slice, function: cst.FunctionDef, name: str) -> list[cst.CSTNode] | None:
    """The reads of the attribute after the statement; None where it is changed there, or may come twice."""
    block = block_of(found.tree, found.line)
    if block is None or block is not function.body:
        return None
    at = next(at for at, line in enumerate(block.body) if line is found.line)
    attribute = m.Attribute(value=m.Name("self"), attr=m.Name(name))
    nodes = [node for line in block.body[at + 1 :] for node in findall(line, attribute)]
    return nodes if not any(_changes(around(found.tree, node), node) for node in nodes) else None


def _changes(parents: list[cst.CSTNode], node: cst.CSTNode) -> bool:
    """Whether what stands around the attribute binds it, or changes it in place."""
    match parents[-1]:
        case cst.Attribute(attr=cst.Name(value=method)) if method.endswith("_"):
            return True
        case cst.AugAssign(target=target) if target is node:
            return True
        case cst.Subscript(value=value) as part if value is node:
            return _changes(parents[:-1], part)
        case cst.Arg(keyword=cst.Name("out")):
            return True
    return isinstance(parents[-1], cst.AssignTarget | cst.Del)


def _may_be_seen(module: Module, function: str, attribute: str) -> bool:
    """Whether a function that this one may call, as far as the names in the file tell, names the attribute."""
    named: defaultdict[str, set[str]] = defaultdict(set)
    for node in ast.walk(module.syntax_tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            named[node.name].update(_names(node))
    reached, waiting = {function}, [function]
    while waiting:
        new = {name for name in named[waiting.pop()] if name in named} - reached
        reached |= new
        waiting += new
    return any(attribute in named[name] for name in reached - {function})


def _names(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name


def _local(found: Slice, function: cst.FunctionDef, name: str) -> str:
    """The attribute's own name, if the function and the file have no other use for it."""
    attributes = {id(cst.ensure_type(node, cst.Attribute).attr) for node in findall(function, m.Attribute())}
    used = {node.value for node in names_in(function) if id(node) not in attributes}
    return fresh_name(found, f"local_{name}") if name in used or name in found.module.bindings else name
