"""Which expressions of a slice are pure arithmetic on tensors, and which names they are made of: what fixes may move.

Importing this module imports libcst.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache

import libcst as cst
import libcst.matchers as m

from .search import children, comments_in, findall, holds, names_in
from .slice import Slice
from .symbols import Module
from .vocabulary import words

ELEMENTWISE = words(
    """
    abs acos acosh add asin asinh atan atan2 atanh ceil clamp clamp_max clamp_min clip clone cos cosh detach div elu erf
    exp exp2 expm1 floor frac gelu hardtanh leaky_relu lerp log log10 log1p log2 masked_fill maximum minimum mish mul
    nan_to_num neg negative pow reciprocal relu relu6 round rsqrt selu sigmoid sign silu sin sinh softplus sqrt square
    sub tan tanh trunc xlogy
    """
)
"""Functions and methods of tensors that give each element a new value of its own dtype, fail for none, and change
nothing else.
"""

PREDICATES = words("eq ge gt isfinite isinf isnan isneginf isposinf le lt ne")
"""The same, but the values are bools."""

REDUCTIONS = words("all amax amin any max mean median min norm prod std sum var")
"""Without a dimension they make a tensor of one element and no dimension."""

VIEWS = words(
    """
    contiguous detach expand expand_as flatten mT movedim narrow permute reshape select squeeze swapaxes t to transpose
    type_as unflatten unsqueeze view view_as
    """
)
"""Methods and functions whose result may share the memory of their argument."""

MAKERS = words(
    """
    addmm argmax argmin argsort bmm cat clone conv1d conv2d cross_entropy cummax cummin cumprod cumsum double einsum
    embedding empty_like flip float full full_like gather half index_add index_select interpolate isclose layer_norm
    linear log_softmax logsumexp long masked_fill matmul mse_loss new_full new_ones new_zeros norm normalize one_hot
    ones ones_like outer pad repeat repeat_interleave roll scaled_dot_product_attention scatter scatter_add softmax
    stack tensor tril triu where zeros zeros_like
    """
)
"""Functions and methods whose result is a new tensor, of whatever shape."""

DRAWS = words("alpha_dropout dropout feature_alpha_dropout rand rand_like randn randn_like")
"""Functions of namespaces whose result is a new tensor, drawn at random."""

TRUTHS = m.Comparison() | m.Call(func=m.Attribute(attr=m.Name(m.MatchIfTrue(PREDICATES.__contains__))))
"""Of tensors, they are bool tensors."""

DTYPE_BOUND = m.Attribute(
    value=m.Call(func=m.Attribute(value=m.Name("torch"), attr=m.Name("finfo")), args=[m.Arg(m.Attribute(m.Name()))]),
    attr=m.Name("max") | m.Name("min") | m.Name("eps") | m.Name("tiny"),
)
PYTHON_TESTS = (cst.Is, cst.IsNot, cst.In, cst.NotIn)
MAY_FAIL = (cst.MatrixMultiply, cst.FloorDivide, cst.Modulo)
"""Operators that are not elementwise, or that fail for some integers."""

NAMESPACES = frozenset({"torch", "F", "functional"})


@lru_cache(maxsize=16)
def torch_name(module: Module, function: cst.FunctionDef | None = None) -> str | None:
    """`torch`, or what `import torch as …` calls it; None where the file has no name for it, or a function its own."""
    for name, nodes in module.bindings.items():
        aliases = [alias for node in nodes if node[0] == "import" for alias in node[2]]
        only_imports = all(node[0] == "import" for node in nodes)
        if only_imports and any(imported == "torch" and (renamed or imported) == name for imported, renamed in aliases):
            own = m.Param(name=m.Name(name)) | m.AssignTarget(target=m.Name(name))
            return None if function is not None and findall(function, own) else name
    return None


class Scope:
    """The names of the function that a slice is of."""

    def __init__(self, found: Slice, function: cst.FunctionDef) -> None:
        self._found = found
        self._function = function
        self._tensors = frozenset(_tensor_parameters(function))
        self._parameters = frozenset(_parameters(function))
        self._arguments = frozenset(parameter.name.value for parameter in _all_parameters(function))
        self._bindings = _bindings(function)
        self._seen = frozenset() if found.underlined is None else frozenset(_passed_to_torch(found.underlined))
        self._open: set[str] = set()
        """Names being looked up: in a loop, two may be made of each other."""

    def leaves(self, expression: cst.CSTNode) -> frozenset[str] | None:
        """The names that an elementwise expression is made of, numbers left out; None where it is none, or not pure.

        A local that is assigned once, from such an expression, counts as that: equal leaves mean equal shapes.
        """
        match expression:
            case cst.Integer() | cst.Float():
                return frozenset()
            case cst.Name(value=name):
                return self._resolved(name)
            case cst.Attribute(value=cst.Name("self"), attr=cst.Name(value=name)):
                return frozenset({f"self.{name}"})
            case cst.UnaryOperation(operator=cst.Minus() | cst.BitInvert(), expression=inner):
                return self.leaves(inner)
            case cst.BinaryOperation(operator=operator) if not isinstance(operator, MAY_FAIL):
                return self._all(expression.left, expression.right)
            case cst.Comparison(comparisons=[target]) if not isinstance(target.operator, PYTHON_TESTS):
                return self._all(expression.left, target.comparator)
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=name)), args=args) if (
                name in ELEMENTWISE | PREDICATES and all(not arg.star for arg in args)
            ):
                own = () if _is_namespace(receiver) else (receiver,)
                return self._all(*own, *(arg.value for arg in args))
        return None

    def _all(self, *parts: cst.CSTNode) -> frozenset[str] | None:
        found = [self.leaves(part) for part in parts]
        return None if None in found else frozenset().union(*(names for names in found if names is not None))

    def _resolved(self, name: str) -> frozenset[str] | None:
        values = self._bindings.get(name, [])
        if name in self._parameters:
            return frozenset({name})
        if not values:
            return None  # a global, of which nothing is known
        if all(value is not None and self.is_number(value) for value in values):
            return frozenset()
        if len(values) == 1 and values[0] is not None and name not in self._open:
            self._open.add(name)
            made_of = self.leaves(values[0])
            self._open.discard(name)
            if made_of is not None and not any(self._bindings.get(leaf) for leaf in made_of):
                return made_of
        return frozenset({name})

    def is_number(self, expression: cst.CSTNode) -> bool:
        """Whether it is a Python number that costs nothing to compute: a literal, or a bound of a dtype."""
        match expression:
            case cst.Integer() | cst.Float():
                return True
            case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
                return self.is_number(inner)
            case cst.BinaryOperation(left=left, right=right, operator=cst.Add() | cst.Subtract() | cst.Multiply()):
                return self.is_number(left) and self.is_number(right)
        return m.matches(expression, DTYPE_BOUND)

    def is_tensor(self, expression: cst.CSTNode) -> bool:
        """Whether it is surely a tensor, as far as the function shows: arithmetic on one, or a reduction of one."""
        match expression:
            case cst.Name(value=name) if name in self._seen:
                return True
            case cst.Name(value=name) if name in self._parameters:
                return name in self._tensors and all(
                    value is not None and self._is_made(name, value) for value in self._bindings.get(name, ())
                )
            case cst.Name(value=name):
                values = self._bindings.get(name, [])
                return bool(values) and all(value is not None and self._is_made(name, value) for value in values)
            case cst.UnaryOperation(operator=cst.Minus() | cst.BitInvert(), expression=inner):
                return self.is_tensor(inner)
            case cst.IfExp(body=body, orelse=orelse):
                return self.is_tensor(body) and self.is_tensor(orelse)
            case cst.BinaryOperation(left=left, right=right):
                return self.is_tensor(left) or self.is_tensor(right)
            case cst.Comparison(left=left, comparisons=[target]):
                return self.is_tensor(left) or self.is_tensor(target.comparator)
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=name))) if name in DRAWS:
                return _is_namespace(receiver)
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=name)), args=args) if (
                name in ELEMENTWISE | PREDICATES | REDUCTIONS | VIEWS | MAKERS
            ):
                if name in MAKERS and _is_namespace(receiver):
                    return True
                return self.is_tensor(args[0].value if _is_namespace(receiver) and args else receiver)
        return False

    def _is_made(self, name: str, value: cst.BaseExpression) -> bool:
        """A value that is a tensor whatever `name` itself was."""
        if name in self._open:
            return name in self._tensors
        self._open.add(name)
        made = self.is_tensor(value)
        self._open.discard(name)
        return made

    def is_scalar_test(self, test: cst.CSTNode) -> bool:
        """Whether it is a bool tensor of no dimension: a reduction compared with a number or another, `any`, `all`."""
        match test:
            case cst.Comparison(left=left, comparisons=[target]) if not isinstance(target.operator, PYTHON_TESTS):
                sides = (left, target.comparator)
                return any(map(self.is_reduction, sides)) and all(map(self._is_single, sides))
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name("any" | "all")), args=args):
                whole = args[0].value if _is_namespace(receiver) and len(args) == 1 else receiver
                plain = len(args) == _is_namespace(receiver)
                return plain and m.matches(whole, TRUTHS) and self.leaves(whole) is not None and self.is_tensor(whole)
        return False

    def _is_single(self, side: cst.CSTNode) -> bool:
        return self.is_reduction(side) or self.leaves(side) == frozenset()

    def is_reduction(self, side: cst.CSTNode) -> bool:
        """Whether it is a tensor of one element and no dimension."""
        match side:
            case cst.Name(value=name) if name not in self._open:
                value = self.value_of(name)
                return value is not None and not isinstance(value, cst.Name) and self.is_reduction(value)
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=name)), args=args):
                whole = args[0].value if _is_namespace(receiver) and len(args) == 1 else receiver
                plain = len(args) == _is_namespace(receiver) and name in REDUCTIONS
                return plain and self.leaves(whole) is not None and self.is_tensor(whole)
        return False

    def is_mutated(self, name: str) -> bool:
        """Whether anything in the function changes the tensor of that name in place."""
        return mutates(self._function, name)

    def is_bound(self, expression: cst.CSTNode, also: frozenset[str] = frozenset()) -> bool:
        """Whether all its names but those have a value before the statement, whichever way the function came."""
        before = {*also, *self._parameters, *_bound_before(self._function.body, self._found.line)}
        used = {node.value for node in names_in(expression)}
        return all(name in before for name in used & {*self._bindings, *self._parameters})

    def assigned_once(self, name: str) -> bool:
        return len(self._bindings.get(name, ())) == 1 and name not in self._parameters

    def values_of(self, name: str) -> list[cst.BaseExpression | None]:
        """What is assigned to a local, None for what binds it otherwise; empty for a parameter."""
        return [] if name in self._parameters else self._bindings.get(name, [])

    def is_parameter(self, name: str) -> bool:
        """Whether it is one that has a usable value."""
        return name in self._parameters

    def is_argument(self, name: str) -> bool:
        """Whether the caller gives it a value, usable or not."""
        return name in self._arguments

    def times_bound(self, name: str) -> int:
        return len(self._bindings.get(name, ())) + (name in self._parameters)

    def value_of(self, name: str) -> cst.BaseExpression | None:
        """What the name stands for, where it is bound only once."""
        return self._bindings[name][0] if self.assigned_once(name) else None


def mutates(node: cst.CSTNode, name: str) -> bool:
    """Whether anything in the node changes the tensor of that name in place."""
    tensor = m.Name(name)

    def holds(part: cst.CSTNode) -> bool:
        return bool(findall(part, tensor))

    in_place = (
        m.AugAssign(target=m.MatchIfTrue(holds))
        | m.AssignTarget(target=m.Subscript(value=m.MatchIfTrue(holds)))
        | m.Call(func=m.Attribute(value=m.MatchIfTrue(holds), attr=m.Name(m.MatchRegex(r"[a-z].*_"))))
        | m.Arg(keyword=m.Name("out"), value=tensor)
    )
    return bool(findall(node, in_place))


def has_comments(node: cst.CSTNode) -> bool:
    """Whether a statement has comments inside, which would be lost with it."""
    bare = node.with_changes(leading_lines=()) if isinstance(node, (cst.If, cst.SimpleStatementLine)) else node
    return bool(comments_in(bare))


def _is_namespace(node: cst.CSTNode) -> bool:
    match node:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name in NAMESPACES
    return False


def _passed_to_torch(expression: cst.BaseExpression) -> Iterator[str]:
    """Names that torch's own functions take for tensors in the expression."""
    for call in findall(expression, m.Call(func=m.Attribute(value=m.Name("torch")), args=[m.Arg(m.Name())])):
        match call:
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=name)), args=[cst.Arg(value=cst.Name(value=tensor))]):
                if name in PREDICATES | REDUCTIONS:
                    yield tensor


def _all_parameters(function: cst.FunctionDef) -> tuple[cst.Param, ...]:
    parameters = function.params
    return (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)


def _parameters(function: cst.FunctionDef) -> Iterator[str]:
    """Those that have a usable value: one that is None at times is not."""
    for parameter in _all_parameters(function):
        if not m.matches(parameter, m.Param(default=m.Name("None"))):
            yield parameter.name.value


def _tensor_parameters(function: cst.FunctionDef) -> Iterator[str]:
    """Those that are tensors by annotation, or of which nothing says otherwise."""
    for parameter in _all_parameters(function):
        match parameter.annotation:
            case None if parameter.default is None and parameter.name.value not in ("self", "cls"):
                yield parameter.name.value
            case cst.Annotation(annotation=cst.Name("Tensor") | cst.Attribute(attr=cst.Name("Tensor"))):
                if not m.matches(parameter, m.Param(default=m.Name("None"))):
                    yield parameter.name.value


@lru_cache(maxsize=16)
def _bindings(function: cst.FunctionDef) -> dict[str, list[cst.BaseExpression | None]]:
    """Names bound in the function → the values assigned, None for what is bound otherwise."""
    found: defaultdict[str, list[cst.BaseExpression | None]] = defaultdict(list)
    stack: list[cst.CSTNode] = [function.body]
    while stack:
        node = stack.pop()
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                found[name].append(value)
                stack.append(value)
                continue
            case cst.AnnAssign(target=cst.Name(value=name), value=cst.BaseExpression() as value):
                found[name].append(value)
            case cst.Assign(targets=targets):
                for name in {inner.value for target in targets for inner in names_in(target.target)}:
                    found[name].append(None)
            case cst.AugAssign(target=target) | cst.For(target=target) | cst.NamedExpr(target=target):
                for inner in names_in(target):
                    found[inner.value].append(None)
            case cst.Del() | cst.Global() | cst.Nonlocal() | cst.AsName() | cst.MatchAs() | cst.MatchStar():
                for inner in names_in(node):
                    found[inner.value].append(None)
            case cst.FunctionDef(name=cst.Name(value=name)) | cst.ClassDef(name=cst.Name(value=name)):
                found[name].append(None)
            case cst.ImportAlias():
                for inner in names_in(node):
                    found[inner.value].append(None)
        stack.extend(children(node))
    return dict(found)


def _bound_before(block: cst.BaseSuite, line: cst.CSTNode) -> set[str]:
    """Names assigned by statements that run before `line`, on the way from the block down to it."""
    names: set[str] = set()
    for statement in block.body:
        if statement is line:
            return names
        if holds(statement, line):
            for inner in children(statement):
                suite = inner.body if isinstance(inner, (cst.Else, cst.Finally)) else inner
                if isinstance(suite, cst.IndentedBlock):
                    names |= _bound_before(suite, line)
            return names
        if isinstance(statement, cst.SimpleStatementLine):
            for part in statement.body:
                match part:
                    case cst.Assign(targets=targets):
                        names |= {node.value for target in targets for node in names_in(target.target)}
                    case cst.AnnAssign(target=cst.Name(value=name), value=cst.BaseExpression()):
                        names.add(name)
    return names
