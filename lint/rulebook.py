"""Facts → hits: each fact is put to the rules that declare interest in it, by symbol or through their check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from fullgraph.rules.model import Match, Rule
from fullgraph.rules.support import Support

from .emission import Hit
from .facts import Attribute, Call, Fact
from .findings import Confidence, Effect
from .interpret.frame import Frame, Settings
from .ruleset import RuleSet
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


class Interest(NamedTuple):
    """The rules that a kind of fact concerns, those apart whose subject Dynamo captures under the settings at hand."""

    matches: tuple[tuple[Rule, Match], ...]
    checks: tuple[tuple[Rule, Check], ...]
    measured: Rule | None = None
    """The one to name where no other has anything to say."""
    most: Confidence = Confidence.CERTAIN


class RuleBook:
    """The rules of one run, indexed by what they react to."""

    def __init__(self, ruleset: RuleSet, api: TorchApi) -> None:
        rules = ruleset.hold
        self._rules = rules
        self._version = ruleset.version
        self._api = api
        self._interests: dict[object, Interest] = {}
        self._checks: dict[type[Fact], list[tuple[Rule, ModuleType]]] = {}
        self.classes = frozenset(
            symbol.rpartition(".")[0] for rule in rules.values() for match in rule.match for symbol in match.call
        )
        """What rules name a method of; modules are among them, which nobody calls."""
        self._named = {symbol for rule in rules.values() for match in rule.match for symbol in match.call}
        """What rules name for themselves, on whatever conditions; checks that listen to it are among them."""
        self.effects = {code: Effect(rule.effect) for code, rule in rules.items()}
        for rule in rules.values():
            if rule.check is not None:
                module = import_module(f".checks.{rule.check}", __package__)
                self._named.update(getattr(module, "CALLS", ()))
                for fact in module.FACTS:
                    self._checks.setdefault(fact, []).append((rule, module))

    def judge(self, fact: Fact, frame: Frame) -> list[Hit]:
        """Every rule's answer to the fact, in order of the codes."""
        symbol = fact.symbol if isinstance(fact, (Call, Attribute)) else ""
        key = (type(fact), symbol, frame.settings.fullgraph, frame.settings.flags)
        interest = self._interests.get(key)
        if interest is None:
            interest = self._interests[key] = self._interest(type(fact), symbol, frame.settings)
        if not (interest.matches or interest.checks or interest.measured) or (
            isinstance(fact, Call) and _moved(fact, frame)
        ):
            return []
        hits: list[Hit] = []
        if isinstance(fact, (Call, Attribute)):
            for rule, match in interest.matches:
                if self._holds(match, fact):
                    hits.append(Hit(rule.code, fact.span, min(confidence_of(fact), interest.most, key=rank)))
        for rule, check in interest.checks:
            hits.extend(check(fact, frame, rule))
        if interest.measured is not None and not any(self.effects[hit.code] is Effect.GRAPH_BREAK for hit in hits):
            return [Hit(interest.measured.code, fact.span, Confidence.LIKELY)]
        return hits

    def _interest(self, kind: type[Fact], symbol: str, settings: Settings) -> Interest:
        rules = [rule for rule in self._rules.values() if not captured(rule, settings)]
        left = {rule.code for rule in rules}
        checks = self._checks.get(kind, ())
        matches = [(rule, match) for rule in rules for match in rule.match if _names(match, kind, symbol)]
        proven = self._version.symbol(symbol)
        return Interest(
            tuple(
                (rule, match)
                for rule, match in matches
                if not (match.unconditional and rule.effect == "graph-break" and proven.captured(settings.fullgraph))
            ),
            tuple(
                (rule, module.check)
                for rule, module in checks
                if rule.code in left and (kind is not Call or _listens(module, symbol))
            ),
            self._measured(symbol) if kind is Call and proven.breaks(settings.fullgraph) else None,
            Confidence.LIKELY if proven in (Support.UNMEASURED, Support.MIXED) else Confidence.CERTAIN,
        )

    def _measured(self, symbol: str) -> Rule | None:
        """The rule for what breaks in the innermost module or class around the symbol, if none names the symbol."""
        matches = [match for rule in self._rules.values() for match in rule.match if _names(match, Call, symbol)]
        explained = symbol in self._named and symbol not in self._version.changed
        if explained or any(match.unconditional for match in matches):
            return None
        around = [
            (len(prefix), rule)
            for rule in self._rules.values()
            for match in rule.match
            for prefix in match.measured
            if symbol.startswith(f"{prefix}.")
        ]
        return max(around, key=lambda item: item[0])[1] if around else None

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


def _listens(check: ModuleType, symbol: str) -> bool:
    """Whether a check wants to hear of calls of `symbol`: it names what it listens to, or hears everything."""
    names: tuple[str, ...] = getattr(check, "CALLS", ("",))
    return any(symbol.startswith(name) if name[-1:] in ("", ".") else symbol == name for name in names)


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


def captured(rule: Rule, settings: Settings) -> bool:
    """Whether the entry's settings make Dynamo capture what the rule is about."""
    if settings.fullgraph and rule.modes.fullgraph == "captured":
        return True
    return any(settings.flag(switch) for switch in rule.unless_config)


def rank(confidence: Confidence) -> int:
    return confidence.rank


def confidence_of(fact: Call | Attribute) -> Confidence:
    """Certain, unless the receiver being a tensor at all is an assumption."""
    receiver = fact.receiver
    if isinstance(receiver, Tensor) and not receiver.sure:
        return Confidence.LIKELY
    return Confidence.CERTAIN
