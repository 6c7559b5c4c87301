"""Python source → the interpreter's IR: nested tuples `(op, span, …)`, small enough to cache and fast to load with
`marshal`.

A span is `(line, column, end_line, end_column)` with `ast`'s columns, which count UTF-8 bytes; a compound statement's
span covers its header only.
"""

from __future__ import annotations

import ast
from typing import Any, TypeAlias

Node: TypeAlias = tuple[Any, ...]
Span: TypeAlias = tuple[int, int, int, int]
Block: TypeAlias = tuple[Node, ...]

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.And: "and",
    ast.Or: "or",
    ast.Not: "not",
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Invert: "invert",
}

POSITIONAL, KEYWORD, VARIADIC, VARIADIC_KEYWORD = "positional", "keyword", "*", "**"


def lower(tree: ast.Module) -> Block:
    """The module's body as IR."""
    return _block(tree.body)


def span_of(node: Any) -> Span:
    return (node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


def _header(node: Any, last: Any) -> Span:
    """From the statement's first character to the end of `last`, the header's last expression."""
    return (node.lineno, node.col_offset, last.end_lineno or node.lineno, last.end_col_offset or 0)


def _block(body: list[ast.stmt]) -> Block:
    return tuple(_statement(node) for node in body)


def _statement(node: ast.stmt) -> Node:
    match node:
        case ast.Expr():
            return ("expr", span_of(node), _expr(node.value))
        case ast.Assign():
            return ("assign", span_of(node), _exprs(node.targets), _expr(node.value))
        case ast.AugAssign():
            return ("augassign", span_of(node), OPERATORS[type(node.op)], _expr(node.target), _expr(node.value))
        case ast.AnnAssign():
            return ("annassign", span_of(node), _expr(node.target), _expr(node.annotation), _optional(node.value))
        case ast.Return():
            return ("return", span_of(node), _optional(node.value))
        case ast.If():
            return ("if", _header(node, node.test), _expr(node.test), _block(node.body), _block(node.orelse))
        case ast.For() | ast.AsyncFor():
            header = _header(node, node.iter)
            return ("for", header, _expr(node.target), _expr(node.iter), _block(node.body), _block(node.orelse))
        case ast.While():
            return ("while", _header(node, node.test), _expr(node.test), _block(node.body), _block(node.orelse))
        case ast.With() | ast.AsyncWith():
            last = node.items[-1].optional_vars or node.items[-1].context_expr
            items = tuple((_expr(item.context_expr), _optional(item.optional_vars)) for item in node.items)
            return ("with", _header(node, last), items, _block(node.body))
        case ast.Try() | ast.TryStar():
            handlers = tuple((_optional(h.type), h.name, _block(h.body)) for h in node.handlers)
            parts = (_block(node.body), handlers, _block(node.orelse), _block(node.finalbody))
            return ("try", (node.lineno, node.col_offset, node.lineno, node.col_offset + 3), *parts)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _function(node)
        case ast.ClassDef():
            return _class(node)
        case ast.Import():
            return ("import", span_of(node), tuple((alias.name, alias.asname) for alias in node.names))
        case ast.ImportFrom():
            names = tuple((alias.name, alias.asname) for alias in node.names)
            return ("importfrom", span_of(node), node.module or "", node.level, names)
        case ast.Global() | ast.Nonlocal():
            return (type(node).__name__.lower(), span_of(node), tuple(node.names))
        case ast.Raise():
            return ("raise", span_of(node), _optional(node.exc))
        case ast.Assert():
            return ("assert", span_of(node), _expr(node.test), _optional(node.msg))
        case ast.Delete():
            return ("delete", span_of(node), _exprs(node.targets))
        case ast.Match():
            cases = tuple((_pattern(c.pattern), _optional(c.guard), _block(c.body)) for c in node.cases)
            return ("match", _header(node, node.subject), _expr(node.subject), cases)
    return (type(node).__name__.lower(), span_of(node))


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Node:
    span = (node.lineno, node.col_offset, node.lineno, node.col_offset + len("def ") + len(node.name))
    extent = (node.decorator_list[0].lineno if node.decorator_list else node.lineno, node.end_lineno or node.lineno)
    decorators = _exprs(node.decorator_list)
    returns = _optional(node.returns)
    kind = "async" if isinstance(node, ast.AsyncFunctionDef) else "generator" if _yields(node.body) else "plain"
    return ("def", span, node.name, _parameters(node.args), decorators, returns, _block(node.body), kind, extent)


def _yields(body: list[ast.stmt]) -> bool:
    """Whether this function's own body yields (nested functions apart)."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        match node:
            case ast.Yield() | ast.YieldFrom():
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
                continue
        stack.extend(ast.iter_child_nodes(node))
    return False


def _parameters(args: ast.arguments) -> tuple[Node, ...]:
    """`(name, kind, annotation, default)` in order."""
    positional = [*args.posonlyargs, *args.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
    rows: list[tuple[ast.arg, str, ast.expr | None]] = [
        (arg, POSITIONAL, default) for arg, default in zip(positional, missing + list(args.defaults), strict=False)
    ]
    if args.vararg:
        rows.append((args.vararg, VARIADIC, None))
    rows += [(arg, KEYWORD, default) for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=False)]
    if args.kwarg:
        rows.append((args.kwarg, VARIADIC_KEYWORD, None))
    return tuple((arg.arg, kind, _optional(arg.annotation), _optional(default)) for arg, kind, default in rows)


def _class(node: ast.ClassDef) -> Node:
    span = (node.lineno, node.col_offset, node.lineno, node.col_offset + len("class ") + len(node.name))
    keywords = tuple((keyword.arg, _expr(keyword.value)) for keyword in node.keywords)
    return ("class", span, node.name, _exprs(node.bases), keywords, _exprs(node.decorator_list), _block(node.body))


def _pattern(pattern: ast.pattern) -> Node:
    """Only what matters: does it compare values (`value`), bind a name (`capture`), or look at structure (`shape`)."""
    match pattern:
        case ast.MatchValue():
            return ("value", _expr(pattern.value))
        case ast.MatchSingleton():
            return ("singleton", pattern.value)
        case ast.MatchAs(pattern=None):
            return ("capture", pattern.name)
        case ast.MatchOr():
            return ("or", tuple(_pattern(p) for p in pattern.patterns))
    names = tuple(p.name for p in ast.walk(pattern) if isinstance(p, (ast.MatchAs, ast.MatchStar)) and p.name)
    return ("shape", names)


def _exprs(nodes: list[Any]) -> tuple[Node, ...]:
    return tuple(_expr(node) for node in nodes)


def _optional(node: ast.expr | None) -> Node | None:
    return None if node is None else _expr(node)


def _expr(node: ast.expr) -> Node:
    span = span_of(node)
    match node:
        case ast.Name():
            return ("name", span, node.id)
        case ast.Constant():
            return ("const", span, node.value)
        case ast.Attribute():
            return ("attr", span, _expr(node.value), node.attr)
        case ast.Call():
            keywords = tuple((keyword.arg, _expr(keyword.value)) for keyword in node.keywords)
            return ("call", span, _expr(node.func), _exprs(node.args), keywords)
        case ast.Subscript():
            return ("sub", span, _expr(node.value), _expr(node.slice))
        case ast.BinOp():
            return ("bin", span, OPERATORS[type(node.op)], _expr(node.left), _expr(node.right))
        case ast.Compare():
            operators = tuple(OPERATORS[type(op)] for op in node.ops)
            return ("cmp", span, _expr(node.left), operators, _exprs(node.comparators))
        case ast.BoolOp():
            return ("bool", span, OPERATORS[type(node.op)], _exprs(node.values))
        case ast.UnaryOp():
            return ("unary", span, OPERATORS[type(node.op)], _expr(node.operand))
        case ast.Tuple() | ast.List() | ast.Set():
            return (type(node).__name__.lower(), span, _exprs(node.elts))
        case ast.IfExp():
            return ("ifexp", span, _expr(node.test), _expr(node.body), _expr(node.orelse))
        case ast.Dict():
            return ("dict", span, tuple(_optional(key) for key in node.keys), _exprs(node.values))
        case ast.Slice():
            return ("slice", span, _optional(node.lower), _optional(node.upper), _optional(node.step))
        case ast.Starred():
            return ("star", span, _expr(node.value))
        case ast.JoinedStr():
            return ("fstr", span, tuple(_expr(v.value) for v in node.values if isinstance(v, ast.FormattedValue)))
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            return ("comp", span, type(node).__name__, (_expr(node.elt),), _generators(node.generators))
        case ast.DictComp():
            return ("comp", span, "DictComp", (_expr(node.key), _expr(node.value)), _generators(node.generators))
        case ast.Lambda():
            return ("lambda", span, _parameters(node.args), _expr(node.body))
        case ast.NamedExpr():
            return ("named", span, _expr(node.target), _expr(node.value))
        case ast.Await() | ast.Yield() | ast.YieldFrom():
            return ("yield", span, _optional(node.value))
    return ("const", span, None)


def _generators(generators: list[ast.comprehension]) -> tuple[Node, ...]:
    return tuple((_expr(g.target), _expr(g.iter), _exprs(g.ifs)) for g in generators)
