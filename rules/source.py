"""Rule files: YAML becomes a `Rule`, or an error that names the file, line and key of every mistake. Needs PyYAML and
jsonschema, which only development and users' own rule files do.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
import jsonschema
import yaml

from .codec import from_plain, schema
from .model import Example, Rule

Key = str | int


def read_folder(folder: Path) -> list[Rule]:
    """Every built-in rule file of a folder."""
    return read_files(sorted(folder.glob("FG*.yaml")), named=True)


def read_files(
    paths: Iterable[Path], known: Iterable[Rule] = (), checks: Container[str] | None = None, named: bool = False
) -> list[Rule]:
    """Rules in order of their codes; a code or name used twice, or by one that is `known`, is a mistake, and so is a
    check that there is not. `named`: the files are called after their rules.
    """
    places = {word: "built in" for rule in known for word in (rule.code, rule.name)}
    rules = []
    for path in paths:
        shown = Path(os.path.relpath(path)).as_posix()
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise click.UsageError(f"{shown}: not a text file in UTF-8") from None
        rule = parse(text, shown, path.stem if named else None, places, checks)
        places |= dict.fromkeys((rule.code, rule.name), f"in {shown}")
        rules.append(rule)
    return sorted(rules, key=lambda rule: rule.code)


def parse(
    text: str,
    name: str,
    expected_stem: str | None = None,
    places: Mapping[str, str] = MappingProxyType({}),
    checks: Container[str] | None = None,
) -> Rule:
    """A rule from YAML text; `name` is what errors call the file, `places` where codes and names are that are taken."""
    try:
        node = yaml.compose(text)
        data = _string_keys(yaml.safe_load(text))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise click.UsageError(f"{name}:{line}: not valid YAML: {error.problem}") from None
    mistakes = [*_duplicates(node, ()), *_violations(data)]
    if not mistakes:
        rule = from_plain(Rule, data)
        mistakes = [*_nonsense(rule, expected_stem), *_clashes(rule, places, checks)]
    if mistakes:
        found = [(_line(node, where), ".".join(map(str, where)) or "file", what) for where, what in mistakes]
        raise click.UsageError("\n".join(f"{name}:{line}: {key}: {what}" for line, key, what in sorted(found)))
    return rule


def rule_schema() -> dict[str, Any]:
    """The JSON schema of a rule file, for editors and for `parse`."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "fullgraph rule", **schema(Rule)}


def _violations(data: Any) -> Iterator[tuple[tuple[Key, ...], str]]:
    for error in jsonschema.Draft202012Validator(rule_schema()).iter_errors(data):
        where = tuple(error.absolute_path)
        match error.validator:
            case "additionalProperties":
                known = error.schema["properties"]
                for key in error.instance.keys() - known.keys():
                    yield (*where, key), f"unknown key; the keys are {', '.join(known)}"
            case "pattern" if error.validator_value == r"\S":
                yield where, "must not be empty"
            case "type":
                yield where, f"must be of type {error.validator_value}, not {error.instance!r}"
            case _:
                yield where, error.message


def _clashes(
    rule: Rule, places: Mapping[str, str], checks: Container[str] | None
) -> Iterator[tuple[tuple[Key, ...], str]]:
    for key, word in (("code", rule.code), ("name", rule.name)):
        if word in places:
            yield (key,), f"there is a rule {word} already, {places[word]}"
    if rule.check is not None and checks is not None and rule.check not in checks:
        yield ("check",), f"there is no check {rule.check!r}"


def _nonsense(rule: Rule, expected_stem: str | None) -> Iterator[tuple[tuple[Key, ...], str]]:
    """What a schema cannot say."""
    stem = f"{rule.code}_{rule.name.replace('-', '_')}"
    if expected_stem not in (None, stem):
        yield ("code",), f"the file must be called {stem}.yaml"
    if not (rule.match or rule.check or rule.code.startswith("FG9")):
        yield (), "needs `match`, `check` or both"
    for index, match in enumerate(rule.match):
        if not (match.call or match.attribute or match.measured):
            yield ("match", index), "needs `call`, `attribute` or `measured`"
    if not (rule.bad and rule.good):
        yield (), "needs at least one `bad` and one `good` example"
    for kind, examples in (("bad", rule.bad), ("good", rule.good)):
        for index, example in enumerate(examples):
            yield from _unrunnable(example, (kind, index)) if not rule.code.startswith("FG9") else ()
    marker = re.compile(rf"#.*\b{rule.code}\b")
    for index, example in enumerate(rule.bad):
        if not marker.search(example.code):
            yield ("bad", index, "code"), f"no line is marked with `# {rule.code}`"
    for index, example in enumerate(rule.good):
        if marker.search(example.code):
            yield ("good", index, "code"), f"a good example must not be marked with `# {rule.code}`"


def _unrunnable(example: Example, where: tuple[Key, ...]) -> Iterator[tuple[tuple[Key, ...], str]]:
    parts = [(("code",), example.code), *((("run", number), text) for number, text in enumerate(example.run))]
    for part, text in parts:
        try:
            ast.parse(text)
        except SyntaxError as error:
            yield (*where, *part), f"not valid Python: {error.msg} (line {error.lineno} of the snippet)"


def _string_keys(data: Any) -> Any:
    """YAML reads the `1` of `given: {1: tensor}` as a number; all our keys are strings."""
    match data:
        case dict():
            return {str(key): _string_keys(value) for key, value in data.items()}
        case list():
            return [_string_keys(item) for item in data]
    return data


def _duplicates(node: yaml.Node | None, where: tuple[Key, ...]) -> Iterator[tuple[tuple[Key, ...], str]]:
    for key, child in _children(node):
        yield from _duplicates(child, (*where, key))
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value]
        yield from (((*where, key), "given twice") for key in sorted(set(keys)) if keys.count(key) > 1)


def _children(node: yaml.Node | None) -> list[tuple[Key, yaml.Node]]:
    match node:
        case yaml.MappingNode():
            return [(key.value, child) for key, child in node.value]
        case yaml.SequenceNode():
            return list(enumerate(node.value))
    return []


def _line(node: yaml.Node | None, where: tuple[Key, ...]) -> int:
    """The line on which the value at `where` is written, or the nearest value around it that is."""
    line = 1
    while node is not None:
        line = max(line, int(node.start_mark.line) + 1)
        if not where:
            break
        if isinstance(node, yaml.MappingNode):
            line = max((key.start_mark.line + 1 for key, _ in node.value if key.value == where[0]), default=line)
        node, where = dict(_children(node)).get(where[0]), where[1:]
    return line
