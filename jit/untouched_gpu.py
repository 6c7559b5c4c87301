"""Keeps a process from waking the GPU's driver: none that is forked from it could use a GPU afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from unittest import mock


def asking_gently() -> AbstractContextManager[object]:
    """Importing torch's parts may count the GPUs: with this, without their driver."""
    return mock.patch.dict(os.environ, PYTORCH_NVML_BASED_CUDA_CHECK="1")


@contextmanager
def seeing_none() -> Iterator[None]:
    """Compiling would keep the state of the GPU's random numbers, and set a guard for its streams."""
    import torch
    from torch.utils import _triton

    with (
        mock.patch.object(torch.cuda, "is_available", lambda: False),
        mock.patch.object(torch._C, "_ensureCUDADeviceGuardSet", lambda: None, create=True),
    ):
        yield
    for function in vars(_triton).values():  # some remember whether there is a GPU
        if hasattr(function, "cache_clear"):
            function.cache_clear()
