"""Stands around every function that `torch.compile` makes: each call goes through one of ours."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, NamedTuple

from torch._dynamo import eval_frame


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

    def __call__(self) -> Any:
        return self.compiled(*self.args, **self.kwargs)


@contextlib.contextmanager
def intercepted(around: Callable[[Call], Any]) -> Iterator[None]:
    """Until the context closes, `around` makes the calls; those that come meanwhile are made as they are."""
    context: Any = eval_frame._TorchDynamoContext
    original = context.__call__
    inside = False

    def compiled(self: Any, fn: Any) -> Any:
        made = original(self, fn)
        if not inspect.isfunction(made):
            return made
        owner = getattr(fn, "__self__", None)
        entry = type(owner).__qualname__ if owner is not None else getattr(fn, "__qualname__", type(fn).__qualname__)

        @wraps(made)
        def run(*args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            if inside:
                return made(*args, **kwargs)
            inside = True
            try:
                return around(Call(entry, owner, fn, made, args, kwargs))
            finally:
                inside = False

        run._torchdynamo_wrapper_id = id(run)  # type: ignore[attr-defined]
        return run

    context.__call__ = compiled
    try:
        yield
    finally:
        context.__call__ = original
