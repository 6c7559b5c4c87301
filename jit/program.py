"""Runs a target's program in this process: a script as `__main__`, or one compiled call of an object of a file."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from . import inputs
from .targets import Job, TargetError


def run(job: Job) -> None:
    """Return when the program has ended; whatever it raises passes through."""
    if job.target.qualname is None:
        run_script(job.target.path)
    else:
        call(resolve(load(job.target.path), job.target.qualname, job.settings.training), job)
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def run_script(path: Path) -> None:
    code = compile(path.read_bytes(), str(path), "exec")
    module = ModuleType("__main__")
    module.__dict__.update(__file__=str(path), __builtins__=__builtins__)
    sys.modules["__main__"] = module
    sys.argv[:] = [str(path)]
    sys.path.insert(0, str(path.parent))
    exec(code, module.__dict__)


def load(path: Path) -> ModuleType:
    """Import a file, as part of its package if it lies in one."""
    root, names = path.parent, [path.stem]
    while (root / "__init__.py").is_file():
        names.insert(0, root.name)
        root = root.parent
    sys.path.insert(0, str(root))
    if len(names) > 1:
        return importlib.import_module(".".join(names[:-1] if names[-1] == "__init__" else names))
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path.name} is not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def resolve(module: ModuleType, qualname: str, training: bool) -> Any:
    """The object with that name; classes of modules on the way to it become instances of them."""
    found: Any = module
    for name in qualname.split("."):
        if not hasattr(found, name):
            raise TargetError(f"{qualname}: {_described(found)} has no {name!r}")
        found = getattr(found, name)
        if isinstance(found, type) and issubclass(found, torch.nn.Module):
            found = _instance(found)
        if isinstance(found, torch.nn.Module):
            found.train(training)
    if not callable(found):
        raise TargetError(f"{qualname} is {_described(found)}, which cannot be called")
    return found


def _described(value: object) -> str:
    return f"the module {value.__name__}" if isinstance(value, ModuleType) else f"a {type(value).__name__}"


def _instance(cls: type[torch.nn.Module]) -> torch.nn.Module:
    required = _required(cls)
    if required:
        raise TargetError(
            f"{cls.__name__}() needs {', '.join(required)}; name an instance, or a function that takes none"
        )
    return cls()


def _required(function: Any) -> list[str]:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [item.name for item in parameters if item.default is item.empty and item.kind not in variadic]


def call(function: Any, job: Job) -> None:
    """Compile, unless the program has done so itself, and call once."""
    arguments = [inputs.build(inputs.parse(text)) for text in job.settings.inputs]
    target = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        inspect.signature(target).bind(*arguments)
    except TypeError as error:
        raise TargetError(f"{job.target.qualname}: {error}; give each argument with --input") from None
    compiled = hasattr(function, "_torchdynamo_orig_callable") or hasattr(function, "_orig_mod")
    (function if compiled else torch.compile(function))(*arguments)
