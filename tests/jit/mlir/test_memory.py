"""What calls and compilations leave behind in the process, as `bench/memory.py` measures it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from checkout import ROOT

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def test_ten_thousand_calls_leave_nothing_behind() -> None:
    """Nothing that comes to 1 MiB."""
    command = [sys.executable, ROOT / "bench/memory.py", "--child", "calls", "mlir", "10000"]
    assert float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) < 1


def test_what_a_compilation_leaves_behind() -> None:
    """At the rate that comes to 50 MiB for 200."""
    command = [sys.executable, ROOT / "bench/memory.py", "--child", "compilations", "mlir", "20"]
    assert float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) < 5
