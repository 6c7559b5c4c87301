"""Finds the object that a target names, imports what holds it, and makes instances of module classes."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from .infer import configuration, required
from .inputs import build, parse_all
from .targets import Object, TargetError, package_of

Tell = Callable[[str], None]
"""Takes a remark for the user."""


def load(path: Path) -> ModuleType:
    """Import a file, as part of its package if it lies in one."""
    root, dotted = package_of(path)
    sys.path.insert(0, str(root))
    sys.path.append(str(Path.cwd()))
    if "." in dotted:
        return importlib.import_module(dotted.removesuffix(".__init__"))
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path.name} is not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_module(name: str) -> ModuleType:
    """Import a module by its name, from the working directory first."""
    sys.path.insert(0, str(Path.cwd()))
    return importlib.import_module(name)


class Constructor:
    """Walks from a module of Python's to the object meant; `init` is for the first class of `nn.Module` on the way."""

    def __init__(self, init: str | None, training: bool, tell: Tell) -> None:
        self._init = parse_all(init or "")
        self._training = training
        self._tell = tell

    def resolve(self, module: ModuleType, wanted: Object) -> Any:
        """The object with that name; classes of modules on the way to it become instances of them."""
        found: Any = module
        for name in wanted.qualname.split("."):
            if not hasattr(found, name):
                raise TargetError(f"{wanted.qualname}: {described(found)} has no {name!r}")
            found = self._entered(getattr(self._owner(found, name), name))
        if isinstance(found, type) and not wanted.make:
            raise TargetError(
                f"{wanted.qualname} is a class and no module; name a method of it, {wanted.qualname}.NAME"
            )
        if not callable(found):
            raise TargetError(f"{wanted.qualname} is {described(found)}, which cannot be called")
        return self.made(found) if wanted.make else found

    def _owner(self, found: Any, name: str) -> Any:
        """What to read an attribute from: of a class whose method is meant, an instance."""
        if isinstance(found, type) and inspect.isfunction(inspect.getattr_static(found, name)):
            return self._instance(found)
        return found

    def made(self, factory: Callable[..., Any]) -> Any:
        """What a function without required parameters returns."""
        if isinstance(factory, torch.nn.Module):
            return factory
        args, kwargs = self._given()
        made = self._entered(factory(*args, **kwargs))
        if not callable(made):
            raise TargetError(f"{_name(factory)}() returned {described(made)}, which cannot be called")
        self._tell(f"{_name(factory)}() made {described(made)}")
        return made

    def _entered(self, found: Any) -> Any:
        if isinstance(found, type) and issubclass(found, torch.nn.Module):
            found = self._instance(found)
        if isinstance(found, torch.nn.Module):
            found.train(self._training)
        return found

    def _given(self) -> tuple[list[Any], dict[str, Any]]:
        args = [build(item.value) for item in self._init if item.name is None]
        return args, {item.name: build(item.value) for item in self._init if item.name is not None}

    def _instance(self, cls: type[Any]) -> Any:
        args, kwargs = self._given()
        signature = inspect.signature(cls)
        try:
            bound = signature.bind_partial(*args, **kwargs).arguments
        except TypeError as error:
            raise TargetError(f"{cls.__name__}: --init does not fit: {error}; it takes {signature}") from None
        missing = [item for item in required(signature) if item.name not in bound]
        for parameter in missing:
            if (config := configuration(parameter, cls.__init__)) is None:
                names = ", ".join(item.name for item in missing)
                raise TargetError(
                    f"{cls.__name__}() needs {names}; give it with --init '{parameter.name}=…', or name an instance, "
                    "or a function that returns one"
                )
            kwargs[parameter.name] = config
            self._tell(f"{cls.__name__} made with {parameter.name}={type(config).__name__}()")
        return cls(*args, **kwargs)


def returns_module(function: Any) -> bool:
    """Whether a function says that what it returns is an `nn.Module`."""
    try:
        annotation = typing.get_type_hints(function).get("return")
    except Exception:  # names that only a type checker knows
        return False
    return isinstance(annotation, type) and issubclass(annotation, torch.nn.Module)


def described(value: object) -> str:
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    kind = type(value).__name__
    return f"an {kind}" if kind[:1].lower() in "aeiou" else f"a {kind}"


def _name(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__)
