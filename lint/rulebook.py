"""Facts → hits: each fact is put to the rules that declare interest in it, by symbol or through their check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from importlib import import_module

from fullgraph.rules.model import Match, Rule

from .facts import Attribute, Call, Fact
from .findings import Confidence, Effect
from .interpret.frame import Frame, Hit
from .torch_api import TorchApi
from .values import (
    NONE,
    Arguments,
    Const,
    External,
    Host,
    Scalar,
    Sequence,
    SizeInt,
    Tensor,
    Tuple_,
    Value,
    element_of,
    known,
)

Check = Callable[[Fact, Frame, Rule], Iterable[Hit]]


class RuleBook:
    """The rules of one run, indexed by what they react to."""

    def __init__(self, rules: Mapping[str, Rule], api: TorchApi) -> None:
        self._rules = rules
        self._api = api
        self._symbols: dict[tuple[type[Fact], str], tuple[tuple[Rule, Match], ...]] = {}
        self._checks: dict[type[Fact], list[tuple[Rule, Check]]] = {}
        self.classes = frozenset(
            symbol.rpartition(".")[0] for rule in rules.values() for match in rule.match for symbol in match.call
        )
        """What rules name a method of; modules are among them, which nobody calls."""
        self.effects = {code: Effect(rule.effect) for code, rule in rules.items()}
        for rule in rules.values():
            if rule.check is not None:
                module = import_module(f".checks.{rule.check}", __package__)
                for fact in module.FACTS:
                    self._checks.setdefault(fact, []).append((rule, module.check))

    def judge(self, fact: Fact, frame: Frame) -> Iterator[Hit]:
        """Every rule's answer to the fact, in order of the codes."""
        if isinstance(fact, Call) and _moved(fact, frame):
            return
        if isinstance(fact, (Call, Attribute)):
            for rule, match in self._interested(type(fact), fact.symbol):
                if not captured(rule, frame) and self._holds(match, fact):
                    yield Hit(rule.code, fact.span, confidence_of(fact))
        for rule, check in self._checks.get(type(fact), ()):
            if not captured(rule, frame):
                yield from check(fact, frame, rule)

    def _interested(self, kind: type[Fact], symbol: str) -> tuple[tuple[Rule, Match], ...]:
        key = (kind, symbol)
        if key not in self._symbols:
            self._symbols[key] = tuple(
                (rule, match) for rule in self._rules.values() for match in rule.match if _names(match, kind, symbol)
            )
        return self._symbols[key]

    def _holds(self, match: Match, fact: Call | Attribute) -> bool:
        if isinstance(fact, Attribute):
            return True
        arguments = fact.arguments
        if match.arguments is not None:
            count = len(arguments.positional) + len(arguments.keywords)
            if arguments.open_ended or count != match.arguments:
                return False
        if any(self._argument(fact.symbol, arguments, key) is not None for key in match.absent):
            return False
        if match.absent and arguments.open_ended:
            return False
        return all(_is_kind(self._argument(fact.symbol, arguments, key), kind) for key, kind in match.given)

    def _argument(self, symbol: str, arguments: Arguments, key: str) -> Value | None:
        """The argument that `name`, `position` or `position|name` means."""
        position, _, name = key.rpartition("|") if "|" in key else ("", "", key)
        if name.isdigit():
            position, name = name, ""
        found = arguments.keyword(name) if name else None
        if found is None and not position and name:
            arity = self._api.arity(symbol)
            if arity is not None and name in arity.names:
                position = str(arity.names.index(name))
        if found is None and position and int(position) < len(arguments.positional):
            found = arguments.positional[int(position)]
        return found


def _moved(fact: Call, frame: Frame) -> bool:
    """A logging call that Dynamo was told to move; it can't when an argument is a size or a container."""
    if fact.symbol not in frame.settings.reorderable:
        return False
    return not any(isinstance(known(value), (SizeInt, Tuple_, Sequence)) for value in fact.arguments.positional)


def _names(match: Match, kind: type[Fact], symbol: str) -> bool:
    patterns = match.call if kind is Call else match.attribute
    return any(fits(pattern, symbol) for pattern in patterns) and not any(fits(p, symbol) for p in match.except_)


def fits(pattern: str, symbol: str) -> bool:
    """`*` stands for one name, as in `time.*`."""
    if "*" not in pattern:
        return pattern == symbol
    return pattern.count(".") == symbol.count(".") and fnmatchcase(symbol, pattern)


def _is_kind(value: Value | None, kind: str) -> bool:
    if value is None:
        return False
    value = known(value)
    match kind:
        case "tensor":
            return isinstance(value, Tensor) or (
                isinstance(value, (Tuple_, Sequence)) and isinstance(known(element_of(value)), Tensor)
            )
        case "host":
            return isinstance(value, Scalar)
        case "size":
            return isinstance(value, SizeInt)
        case "string":
            return isinstance(value, (Const, Host)) and value.kind == "str"
        case "constant":
            return isinstance(value, (Const, External, Host))
        case "none":
            return value == NONE
    return True


def captured(rule: Rule, frame: Frame) -> bool:
    """Whether the entry's settings make Dynamo capture what the rule is about."""
    if frame.settings.fullgraph and rule.modes.fullgraph == "captured":
        return True
    return any(frame.settings.flag(switch) for switch in rule.unless_config)


def confidence_of(fact: Call | Attribute) -> Confidence:
    """Certain, unless the receiver being a tensor at all is an assumption."""
    receiver = fact.receiver
    if isinstance(receiver, Tensor) and not receiver.sure:
        return Confidence.LIKELY
    return Confidence.CERTAIN
