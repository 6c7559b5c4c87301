"""Rules as plain data (dicts, lists, strings, numbers) and back, and the JSON schema of that data."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """A rule, or a part of one, as JSON-ready data without what equals its default."""
    if is_dataclass(value):
        return {
            key(field): _field_to_plain(field, getattr(value, field.name))
            for field in fields(value)
            if getattr(value, field.name) != field.default
        }
    return [to_plain(item) for item in value] if isinstance(value, tuple) else value


def _field_to_plain(field: Field[Any], value: Any) -> Any:
    return dict(value) if field.name == "given" else to_plain(value)


def from_plain(cls: type[T], data: dict[str, Any]) -> T:
    """The inverse of `to_plain`; the data must fit the schema."""
    hints = _hints(cls)  # type: ignore[arg-type]  # mypy takes no class for hashable
    names = {key(field): field.name for field in fields(cls)}  # type: ignore[arg-type]
    return cls(**{names[name]: _value(hints[names[name]], value) for name, value in data.items()})


def _value(hint: Any, data: Any) -> Any:
    if is_dataclass(hint):
        return from_plain(hint, data)  # type: ignore[arg-type]
    if get_origin(hint) is tuple:
        return (
            tuple(data.items()) if isinstance(data, dict) else tuple(_value(get_args(hint)[0], item) for item in data)
        )
    return data


def schema(cls: type[Any]) -> dict[str, Any]:
    """The JSON schema of `cls` as plain data; unknown keys are errors."""
    hints = _hints(cls)  # type: ignore[arg-type]
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [key(field) for field in fields(cls) if field.default is MISSING],
        "properties": {
            key(field): _schema(hints[field.name], field.metadata.get("pattern", r"\S")) for field in fields(cls)
        },
    }


def _schema(hint: Any, pattern: str) -> dict[str, Any]:
    if is_dataclass(hint):
        return schema(hint)  # type: ignore[arg-type]
    match get_origin(hint), get_args(hint):
        case origin, options if origin is Literal:
            return {"enum": list(options)}
        case origin, options if origin is UnionType:
            # YAML authors leave out what they do not say, so a null is a mistake.
            return _schema(next(option for option in options if option is not NoneType), pattern)
        case origin, (item, _) if origin is tuple and get_origin(item) is tuple:
            values = _schema(get_args(item)[1], pattern)
            return {"type": "object", "propertyNames": {"pattern": pattern}, "additionalProperties": values}
        case origin, (item, _) if origin is tuple:
            return {"type": "array", "items": _schema(item, pattern)}
    return {"type": "integer", "minimum": 0} if hint is int else {"type": "string", "pattern": pattern}


def key(field: Field[Any]) -> str:
    """The key that stands for a field in YAML and JSON: `except_` avoids a keyword."""
    return field.name.rstrip("_")


@cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    return get_type_hints(cls)
