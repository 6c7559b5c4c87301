"""Stands around every function that `torch.compile` makes: each call goes through one of ours."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, NamedTuple

import torch
from torch._dynamo import eval_frame
from torch.utils import _pytree as pytree

OPERATORS = "torch._higher_order_ops."
"""Whose functions compile their arguments by themselves, in eager code too."""


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

    def eagerly(self) -> Any:
        return self.function(*self.args, **self.kwargs)


def copied(call: Call) -> Call:
    """With tensors that the program does not change any more."""

    def copy(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)

    args, kwargs = pytree.tree_map_only(torch.Tensor, copy, (call.args, call.kwargs))
    return call._replace(args=args, kwargs=kwargs)


@contextlib.contextmanager
def intercepted(around: Callable[[Call], Any], inner: Callable[[Call], Any] = Call.__call__) -> Iterator[None]:
    """Until the context closes, `around` makes the calls, and `inner` those that come while it does."""
    context: Any = eval_frame._TorchDynamoContext
    original = context.__call__
    inside = False

    def compiled(self: Any, fn: Any) -> Any:
        made = original(self, fn)
        if not inspect.isfunction(made) or getattr(fn, "__module__", "").startswith(OPERATORS):
            return made
        owner = getattr(fn, "__self__", None)
        entry = type(owner).__qualname__ if owner is not None else getattr(fn, "__qualname__", type(fn).__qualname__)

        @wraps(made)
        def run(*args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            call = Call(entry, owner, fn, made, args, kwargs)
            if inside:
                return inner(call)
            inside = True
            try:
                return around(call)
            finally:
                inside = False

        run._torchdynamo_wrapper_id = id(run)  # type: ignore[attr-defined]
        return run

    context.__call__ = compiled
    try:
        yield
    finally:
        context.__call__ = original
