"""Stands around every function that `torch.compile` makes: each call goes through one of ours."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch._dynamo import eval_frame
from torch.utils import _pytree as pytree

OPERATORS = "torch._higher_order_ops."
"""Whose functions compile their arguments by themselves, in eager code too."""
INNER = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
"""Folders of torch and of this program."""


class Call(NamedTuple):
    """A call of a compiled function, which may be repeated."""

    entry: str
    """The name of what was compiled; of a module its class's."""
    owner: Any
    """Of a method, the object."""
    function: Callable[..., Any]
    compiled: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    place: tuple[str, int] = ("", 0)
    """File and line that compiled it."""

    def __call__(self) -> Any:
        return self.compiled(*self.args, **self.kwargs)

    def eagerly(self) -> Any:
        return self.function(*self.args, **self.kwargs)


def copied(call: Call) -> Call:
    """With tensors that the program does not change any more."""

    def copy(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)

    args, kwargs = pytree.tree_map_only(torch.Tensor, copy, (call.args, call.kwargs))
    return call._replace(args=args, kwargs=kwargs)


Function = Callable[..., Any]


class Interception:
    """`around` makes the calls, and `inner` those that come while it does."""

    def __init__(self, around: Callable[[Call], Any], inner: Callable[[Call], Any]) -> None:
        self._around = around
        self._inner = inner
        self._inside = False

    def make(self, call: Call) -> Any:
        if self._inside:
            return self._inner(call)
        self._inside = True
        try:
            return self._around(call)
        finally:
            self._inside = False

    def standing(self, function: Function, made: Function) -> Function:
        """What is called in place of `made`, which is `function` compiled, or itself where nothing is."""
        owner = getattr(function, "__self__", None)
        named = type(owner) if owner is not None else function
        entry = getattr(named, "__qualname__", type(function).__qualname__)
        place = _place(sys._getframe(1))

        @wraps(made)
        def run(*args: Any, **kwargs: Any) -> Any:
            return self.make(Call(entry, owner, function, made, args, kwargs, place))

        return run


def _place(frame: FrameType | None) -> tuple[str, int]:
    """The innermost line that is neither torch's nor ours."""
    while frame is not None and frame.f_code.co_filename.startswith(INNER):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


@contextlib.contextmanager
def intercepted(around: Callable[[Call], Any], inner: Callable[[Call], Any] = Call.__call__) -> Iterator[Interception]:
    """Until the context closes, every call of a compiled function goes through what is given."""
    context: Any = eval_frame._TorchDynamoContext
    original = context.__call__
    interception = Interception(around, inner)

    def compiled(self: Any, fn: Any) -> Any:
        made = original(self, fn)
        if not inspect.isfunction(made) or getattr(fn, "__module__", "").startswith(OPERATORS):
            return made
        run: Any = interception.standing(fn, made)
        run._torchdynamo_wrapper_id = id(run)
        return run

    context.__call__ = compiled
    try:
        yield interception
    finally:
        context.__call__ = original
