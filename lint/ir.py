"""Python source → the interpreter's IR: nested tuples `(op, span, …)`, small enough to cache and fast to load with
`marshal`. The body of a function that lies in no other may be packed: most are never asked for.

A span is `(line, column, end_line, end_column)` with `ast`'s columns, which count UTF-8 bytes; a compound statement's
span covers its header only.
"""

from __future__ import annotations

import ast
import marshal
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias, cast

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


def lower(tree: ast.Module, pack: bool = False) -> Block:
    """The module's body as IR, with `pack` the bodies of functions packed."""
    return _Lowering(pack).block(tree.body)


def body_of(function: Node) -> Block:
    """The body of a `def` node, unpacked anew where it is packed."""
    held = function[6]
    return cast(Block, marshal.loads(held)) if isinstance(held, bytes) else held


def opened(node: Node) -> Node:
    """The node with nothing packed in itself."""
    return (*node[:6], body_of(node), *node[7:]) if node[0] == "def" and isinstance(node[6], bytes) else node


def _packed(body: Block) -> Block | bytes:
    try:
        return marshal.dumps(body)
    except ValueError:  # nested deeper than marshal allows
        return body


def span_of(node: Any) -> Span:
    return (node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


def _header(node: Any, last: Any) -> Span:
    """From the statement's first character to the end of `last`, the header's last expression."""
    return (node.lineno, node.col_offset, last.end_lineno or node.lineno, last.end_col_offset or 0)


class _Lowering:
    """Dispatches on the type of each node: `match` would try the classes one after another, for every node."""

    def __init__(self, pack: bool) -> None:
        self._pack = pack
        self._yields = False
        """Whether the function at hand has been seen to yield."""
        self._stored: list[str] = []
        """Attributes of variables that it assigns."""

    def block(self, body: list[ast.stmt]) -> Block:
        statements = self._STATEMENTS
        return tuple([statements[type(node)](self, node) for node in body])

    def _exprs(self, nodes: list[Any]) -> tuple[Node, ...]:
        expressions = self._EXPRESSIONS
        return tuple([expressions[type(node)](self, node) for node in nodes])

    def _expr(self, node: Any) -> Node:
        return self._EXPRESSIONS[type(node)](self, node)

    def _optional(self, node: Any) -> Node | None:
        return None if node is None else self._EXPRESSIONS[type(node)](self, node)

    # statements

    def _expression_statement(self, node: ast.Expr) -> Node:
        return ("expr", span_of(node), self._expr(node.value))

    def _assign(self, node: ast.Assign) -> Node:
        return ("assign", span_of(node), self._exprs(node.targets), self._expr(node.value))

    def _augmented(self, node: ast.AugAssign) -> Node:
        operands = (self._expr(node.target), self._expr(node.value))
        return ("augassign", span_of(node), OPERATORS[type(node.op)], *operands)

    def _annotated(self, node: ast.AnnAssign) -> Node:
        parts = (self._expr(node.target), self._expr(node.annotation), self._optional(node.value))
        return ("annassign", span_of(node), *parts)

    def _return(self, node: ast.Return) -> Node:
        return ("return", span_of(node), self._optional(node.value))

    def _branch(self, node: ast.If | ast.While) -> Node:
        name = "if" if isinstance(node, ast.If) else "while"
        test = self._expr(node.test)
        return (name, _header(node, node.test), test, self.block(node.body), self.block(node.orelse))

    def _for(self, node: ast.For | ast.AsyncFor) -> Node:
        header, target, iterable = _header(node, node.iter), self._expr(node.target), self._expr(node.iter)
        return ("for", header, target, iterable, self.block(node.body), self.block(node.orelse))

    def _with(self, node: ast.With | ast.AsyncWith) -> Node:
        last = node.items[-1].optional_vars or node.items[-1].context_expr
        items = tuple((self._expr(item.context_expr), self._optional(item.optional_vars)) for item in node.items)
        return ("with", _header(node, last), items, self.block(node.body))

    def _try(self, node: Any) -> Node:
        body = self.block(node.body)
        handlers = tuple((self._optional(h.type), h.name, self.block(h.body)) for h in node.handlers)
        span = (node.lineno, node.col_offset, node.lineno, node.col_offset + len("try"))
        return ("try", span, body, handlers, self.block(node.orelse), self.block(node.finalbody))

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Node:
        span = (node.lineno, node.col_offset, node.lineno, node.col_offset + len("def ") + len(node.name))
        first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        signature = (self._parameters(node.args), self._exprs(node.decorator_list), self._optional(node.returns))
        outer, self._yields, self._pack, self._stored = (self._yields, self._pack, self._stored), False, False, []
        body = self.block(node.body)
        kind = "async" if isinstance(node, ast.AsyncFunctionDef) else "generator" if self._yields else "plain"
        stored = tuple(dict.fromkeys(self._stored))
        self._yields, self._pack, self._stored = outer
        held = _packed(body) if self._pack else body
        return ("def", span, node.name, *signature, held, kind, (first, node.end_lineno or node.lineno), stored)

    def _class(self, node: ast.ClassDef) -> Node:
        span = (node.lineno, node.col_offset, node.lineno, node.col_offset + len("class ") + len(node.name))
        bases, keywords, decorators = (
            self._exprs(node.bases),
            self._keywords(node.keywords),
            self._exprs(node.decorator_list),
        )
        return ("class", span, node.name, bases, keywords, decorators, self.block(node.body))

    def _import(self, node: ast.Import) -> Node:
        return ("import", span_of(node), tuple([(alias.name, alias.asname) for alias in node.names]))

    def _import_from(self, node: ast.ImportFrom) -> Node:
        names = tuple([(alias.name, alias.asname) for alias in node.names])
        return ("importfrom", span_of(node), node.module or "", node.level, names)

    def _global(self, node: ast.Global | ast.Nonlocal) -> Node:
        return (type(node).__name__.lower(), span_of(node), tuple(node.names))

    def _raise(self, node: ast.Raise) -> Node:
        return ("raise", span_of(node), self._optional(node.exc))

    def _assert(self, node: ast.Assert) -> Node:
        return ("assert", span_of(node), self._expr(node.test), self._optional(node.msg))

    def _delete(self, node: ast.Delete) -> Node:
        return ("delete", span_of(node), self._exprs(node.targets))

    def _match(self, node: ast.Match) -> Node:
        cases = tuple((self._pattern(c.pattern), self._optional(c.guard), self.block(c.body)) for c in node.cases)
        return ("match", _header(node, node.subject), self._expr(node.subject), cases)

    def _bare(self, node: ast.stmt) -> Node:
        return (type(node).__name__.lower(), span_of(node))

    # parts of statements

    def _parameters(self, args: ast.arguments) -> tuple[Node, ...]:
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
        return tuple(
            [(arg.arg, kind, self._optional(arg.annotation), self._optional(default)) for arg, kind, default in rows]
        )

    def _keywords(self, keywords: list[ast.keyword]) -> tuple[Node, ...]:
        return tuple([(keyword.arg, self._expr(keyword.value)) for keyword in keywords])

    def _pattern(self, pattern: ast.pattern) -> Node:
        """Only what matters: does it compare values (`value`), bind a name (`capture`), look at structure (`shape`)."""
        match pattern:
            case ast.MatchValue():
                return ("value", self._expr(pattern.value))
            case ast.MatchSingleton():
                return ("singleton", pattern.value)
            case ast.MatchAs(pattern=None):
                return ("capture", pattern.name)
            case ast.MatchOr():
                return ("or", tuple(self._pattern(p) for p in pattern.patterns))
        names = tuple(p.name for p in ast.walk(pattern) if isinstance(p, (ast.MatchAs, ast.MatchStar)) and p.name)
        return ("shape", names)

    def _generators(self, generators: list[ast.comprehension]) -> tuple[Node, ...]:
        return tuple([(self._expr(g.target), self._expr(g.iter), self._exprs(g.ifs)) for g in generators])

    # expressions

    def _name(self, node: ast.Name) -> Node:
        return ("name", span_of(node), node.id)

    def _constant(self, node: ast.Constant) -> Node:
        return ("const", span_of(node), node.value)

    def _attribute(self, node: ast.Attribute) -> Node:
        if type(node.ctx) is ast.Store and type(node.value) is ast.Name:
            self._stored.append(node.attr)
        return ("attr", span_of(node), self._expr(node.value), node.attr)

    def _call(self, node: ast.Call) -> Node:
        keywords = self._keywords(node.keywords) if node.keywords else ()
        return ("call", span_of(node), self._expr(node.func), self._exprs(node.args), keywords)

    def _subscript(self, node: ast.Subscript) -> Node:
        return ("sub", span_of(node), self._expr(node.value), self._expr(node.slice))

    def _binary(self, node: ast.BinOp) -> Node:
        return ("bin", span_of(node), OPERATORS[type(node.op)], self._expr(node.left), self._expr(node.right))

    def _comparison(self, node: ast.Compare) -> Node:
        operators = tuple([OPERATORS[type(op)] for op in node.ops])
        return ("cmp", span_of(node), self._expr(node.left), operators, self._exprs(node.comparators))

    def _connective(self, node: ast.BoolOp) -> Node:
        return ("bool", span_of(node), OPERATORS[type(node.op)], self._exprs(node.values))

    def _unary(self, node: ast.UnaryOp) -> Node:
        return ("unary", span_of(node), OPERATORS[type(node.op)], self._expr(node.operand))

    def _display(self, node: ast.Tuple | ast.List | ast.Set) -> Node:
        return (type(node).__name__.lower(), span_of(node), self._exprs(node.elts))

    def _conditional(self, node: ast.IfExp) -> Node:
        return ("ifexp", span_of(node), self._expr(node.test), self._expr(node.body), self._expr(node.orelse))

    def _dict(self, node: ast.Dict) -> Node:
        return ("dict", span_of(node), tuple([self._optional(key) for key in node.keys]), self._exprs(node.values))

    def _slice(self, node: ast.Slice) -> Node:
        bounds = (self._optional(node.lower), self._optional(node.upper), self._optional(node.step))
        return ("slice", span_of(node), *bounds)

    def _starred(self, node: ast.Starred) -> Node:
        return ("star", span_of(node), self._expr(node.value))

    def _fstring(self, node: ast.JoinedStr) -> Node:
        fields = [part for part in node.values if isinstance(part, ast.FormattedValue)]
        parts = [self._expr(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values]
        plain = all(field.conversion < 0 and field.format_spec is None for field in fields)
        return ("fstr", span_of(node), tuple(parts), plain)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Node:
        elements = (self._expr(node.elt),)
        return ("comp", span_of(node), type(node).__name__, elements, self._generators(node.generators))

    def _dict_comprehension(self, node: ast.DictComp) -> Node:
        elements = (self._expr(node.key), self._expr(node.value))
        return ("comp", span_of(node), "DictComp", elements, self._generators(node.generators))

    def _lambda(self, node: ast.Lambda) -> Node:
        outer = self._yields
        lowered = ("lambda", span_of(node), self._parameters(node.args), self._expr(node.body))
        self._yields = outer
        return lowered

    def _named(self, node: ast.NamedExpr) -> Node:
        return ("named", span_of(node), self._expr(node.target), self._expr(node.value))

    def _await(self, node: ast.Await) -> Node:
        return ("yield", span_of(node), self._expr(node.value))

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> Node:
        self._yields = True
        return ("yield", span_of(node), self._optional(node.value))

    def _unmodelled(self, node: ast.expr) -> Node:
        return ("const", span_of(node), None)

    _STATEMENTS: ClassVar[Mapping[type[ast.stmt], Callable[[_Lowering, Any], Node]]] = defaultdict(
        lambda: _Lowering._bare,
        {
            ast.Expr: _expression_statement,
            ast.Assign: _assign,
            ast.AugAssign: _augmented,
            ast.AnnAssign: _annotated,
            ast.Return: _return,
            ast.If: _branch,
            ast.While: _branch,
            ast.For: _for,
            ast.AsyncFor: _for,
            ast.With: _with,
            ast.AsyncWith: _with,
            ast.Try: _try,
            ast.TryStar: _try,
            ast.FunctionDef: _function,
            ast.AsyncFunctionDef: _function,
            ast.ClassDef: _class,
            ast.Import: _import,
            ast.ImportFrom: _import_from,
            ast.Global: _global,
            ast.Nonlocal: _global,
            ast.Raise: _raise,
            ast.Assert: _assert,
            ast.Delete: _delete,
            ast.Match: _match,
        },
    )
    _EXPRESSIONS: ClassVar[Mapping[type[ast.expr], Callable[[_Lowering, Any], Node]]] = defaultdict(
        lambda: _Lowering._unmodelled,
        {
            ast.Name: _name,
            ast.Constant: _constant,
            ast.Attribute: _attribute,
            ast.Call: _call,
            ast.Subscript: _subscript,
            ast.BinOp: _binary,
            ast.Compare: _comparison,
            ast.BoolOp: _connective,
            ast.UnaryOp: _unary,
            ast.Tuple: _display,
            ast.List: _display,
            ast.Set: _display,
            ast.IfExp: _conditional,
            ast.Dict: _dict,
            ast.Slice: _slice,
            ast.Starred: _starred,
            ast.JoinedStr: _fstring,
            ast.ListComp: _comprehension,
            ast.SetComp: _comprehension,
            ast.GeneratorExp: _comprehension,
            ast.DictComp: _dict_comprehension,
            ast.Lambda: _lambda,
            ast.NamedExpr: _named,
            ast.Await: _await,
            ast.Yield: _yield,
            ast.YieldFrom: _yield,
        },
    )
