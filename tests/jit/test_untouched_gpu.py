"""Verifying where there is a GPU: what the programs are forked from must not have used it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch

WITH_GPU = """
import torch

def forbidden(name):
    def used(*_):
        raise SystemExit(f"{name} was used")
    return used

import torch._dynamo
from fullgraph.jit import child

torch.cuda.is_available = lambda: True
for name in ("_lazy_init", "get_rng_state", "set_rng_state"):
    setattr(torch.cuda, name, forbidden(name))
torch._C._ensureCUDADeviceGuardSet = forbidden("a guard")

from torch.utils._triton import has_triton

print(child._prepare(native=False).problem, torch.cuda.is_available(), has_triton.cache_info().currsize)
"""


def test_preparing_uses_no_gpu() -> None:
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", WITH_GPU], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("None True 0\n", 0), done.stderr
