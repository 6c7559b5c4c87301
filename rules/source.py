"""Rule files: YAML becomes a `Rule`, or an error that names the file, line and key of every mistake. Needs PyYAML and
jsonschema, which only development and users' own rule files do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import yaml

from .codec import from_plain, schema
from .model import Rule

Key = str | int


def read_folder(folder: Path) -> list[Rule]:
    """Every rule file of a folder, in order of the codes; a code or name used twice is a mistake."""
    rules: dict[str, Rule] = {}
    for path in sorted(folder.glob("FG*.yaml")):
        rule = read(path)
        for word in (rule.code, rule.name):
            if word in rules:
                raise click.UsageError(f"{path}: {rules[word].code} ({rules[word].name}) has the {word} already")
            rules[word] = rule
    return sorted(set(rules.values()), key=lambda rule: rule.code)


def read(path: Path) -> Rule:
    """One rule file."""
    return parse(path.read_text(encoding="utf-8"), path.as_posix(), expected_stem=path.stem)


def parse(text: str, name: str, expected_stem: str | None = None) -> Rule:
    """A rule from YAML text; `name` is what errors call the file."""
    try:
        node = yaml.compose(text)
        data = _string_keys(yaml.safe_load(text))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise click.UsageError(f"{name}:{line}: not valid YAML: {error.problem}") from None
    mistakes = [*_duplicates(node, ()), *_violations(data)]
    if not mistakes:
        rule = from_plain(Rule, data)
        mistakes = list(_nonsense(rule, expected_stem))
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


def _nonsense(rule: Rule, expected_stem: str | None) -> Iterator[tuple[tuple[Key, ...], str]]:
    """What a schema cannot say."""
    stem = f"{rule.code}_{rule.name.replace('-', '_')}"
    if expected_stem not in (None, stem):
        yield ("code",), f"the file must be called {stem}.yaml"
    if not (rule.match or rule.check or rule.code.startswith("FG9")):
        yield (), "needs `match`, `check` or both"
    for index, match in enumerate(rule.match):
        if not (match.call or match.attribute):
            yield ("match", index), "needs `call` or `attribute`"
    if not (rule.bad and rule.good):
        yield (), "needs at least one `bad` and one `good` example"
    marker = re.compile(rf"#.*\b{rule.code}\b")
    for index, example in enumerate(rule.bad):
        if not marker.search(example.code):
            yield ("bad", index, "code"), f"no line is marked with `# {rule.code}`"
    for index, example in enumerate(rule.good):
        if marker.search(example.code):
            yield ("good", index, "code"), f"a good example must not be marked with `# {rule.code}`"


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
