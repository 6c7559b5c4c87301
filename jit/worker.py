"""The supervised compiler: a region's MLIR text and signature go to a child, native code or a reason comes back.

The compiler can crash, hang or eat memory on some inputs, so it runs where it can be killed. The child is started
before its first region is there, is kept warm, and is replaced after it failed; this process never waits for it
without a deadline.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import importlib.metadata
import importlib.util
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import cache

from .loader import unsupported_machine
from .lower.serve import LAST_WORDS, LENGTH
from .lower.signature import Artifact, Failed, Signature
from .object_cache import ObjectCache

GRACE_S = 2.0
"""By so much the child's own alarm is later than the deadline on this side."""
TORCH = "2.13"
"""The version whose operators are lowered."""
REMEMBERED = 32
"""Regions whose code is kept in memory: those of a model's layers, which are alike."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one compilation may cost."""

    seconds: float = 60.0
    memory_mb: int = 4096


@cache
def unavailable() -> str | None:
    """Why no region can be compiled here; None if one can."""
    if (reason := unsupported_machine()) is not None:
        return reason
    for module in ("torch_mlir", "torch"):
        if importlib.util.find_spec(module) is None:
            return f"{module.replace('_', '-')} is not installed; pip install 'fullgraph[jit]'"
    if (version := importlib.metadata.version("torch")).split(".")[:2] != TORCH.split("."):
        return f"the MLIR backend is for torch {TORCH}, not {version}"
    return None


class Worker:
    """Compiles one region at a time, for any thread. A process made by `os.fork` gets a child of its own."""

    def __init__(self, limits: Limits | None = None, cache: ObjectCache | None = None) -> None:
        """What is in `cache` is not compiled again, whichever process put it there."""
        self.limits = limits or Limits()
        self.cache = cache
        self._closed = False
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._compiled: dict[tuple[str, Signature, bool], Artifact | Failed] = {}
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._forget)

    def start(self) -> None:
        """Let the child come up while this process has other things to do; a failure shows with the first region."""
        with self._lock, contextlib.suppress(OSError, RuntimeError):
            self._running()

    def compile(self, text: str, signature: Signature, dump: bool = False) -> Artifact | Failed:
        """The region's native code; the layers of a model being alike, many a region has been compiled before."""
        key = (text, signature, dump)
        with self._lock:
            if (known := self._compiled.get(key)) is not None:
                return known
            answer = self._kept(*key)
            if isinstance(answer, Artifact):
                self._remember(key, answer)
            return answer

    def quarantine(self, text: str, signature: Signature, reason: str) -> None:
        """No longer give the code of a region that was seen to differ from eager, nor in any process to come."""
        with self._lock:
            for dump in (False, True):
                self._remember((text, signature, dump), _condemned(reason))
            if self.cache is not None:
                self.cache.condemn(text, signature, reason)

    def has_agreed(self, text: str, signature: Signature) -> bool:
        """Whether the region's code gave what eager does, in this process or another."""
        return self.cache is not None and self.cache.has_agreed(text, signature)

    def approve(self, text: str, signature: Signature) -> None:
        if self.cache is not None:
            self.cache.approve(text, signature)

    def _remember(self, key: tuple[str, Signature, bool], answer: Artifact | Failed) -> None:
        if len(self._compiled) >= REMEMBERED:
            del self._compiled[next(iter(self._compiled))]
        self._compiled[key] = answer

    def _kept(self, text: str, signature: Signature, dump: bool) -> Artifact | Failed:
        """The code from the cache, or from the compiler for the cache."""
        if self.cache is None:
            return self._ask(text, signature, dump)
        if (reason := self.cache.verdict(text, signature)) is not None:
            return _condemned(reason)
        if dump:
            return self._ask(text, signature, dump)
        if (known := self.cache.load(text, signature)) is not None:
            return known
        answer = self._ask(text, signature, dump)
        if isinstance(answer, Artifact):
            self.cache.store(text, signature, answer)
        return answer

    def _ask(self, text: str, signature: Signature, dump: bool) -> Artifact | Failed:
        try:
            child = self._running()
        except (OSError, RuntimeError) as error:  # RuntimeError: the interpreter is shutting down
            return Failed(f"the compiler's process cannot be started: {error}")
        try:
            return child.ask((text, signature, dump), self.limits.seconds)
        except TimeoutError:
            return Failed(f"compiling took longer than {self.limits.seconds:g} s")
        except (OSError, EOFError, pickle.UnpicklingError):
            return Failed(child.last_words())
        finally:
            if not child.idle:
                child.end()
                self._child = None

    def close(self) -> None:
        """End the child, under the hands of a thread that waits for it if need be."""
        self._closed = True
        if (child := self._child) is not None:
            child.process.kill()
        with self._lock:
            if self._child is not None:
                self._child.end()
                self._child = None

    @property
    def pid(self) -> int | None:
        """Of the child, if there is one."""
        child = self._child
        return child.process.pid if child is not None else None

    def _running(self) -> Child:
        if self._child is not None and self._child.process.poll() is not None:
            self._child.end()
            self._child = None
        if self._child is None:
            self._child = Child(self.limits, warm_up=self.cache is None or self.cache.is_empty)
        if self._closed:
            raise RuntimeError("the interpreter is shutting down")
        return self._child

    def _forget(self) -> None:
        # The lock may be held by a thread that does not exist in this process.
        self._lock = threading.Lock()
        if self._child is not None:
            self._child.abandon()
            self._child = None


def _condemned(reason: str) -> Failed:
    return Failed(f"as was seen before, {reason}")


class Child:
    """One process, spoken to through a socket of its own, so that what it prints cannot be taken for an answer."""

    def __init__(self, limits: Limits, warm_up: bool) -> None:
        """One that warms up is faster with its first region, and in the way of a program that needs no compiler."""
        self._socket, theirs = socket.socketpair()
        self._output = os.memfd_create("fullgraph-worker")
        fcntl.fcntl(self._output, fcntl.F_SETFL, os.O_APPEND)
        self.idle = True
        """Whether it waits for a request. Interrupted in the middle of one, it cannot be used again."""
        call = f"serve({limits.seconds + GRACE_S}, {limits.memory_mb}, {warm_up})"
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", f"from fullgraph.jit.lower.serve import serve; {call}"],
                stdin=theirs.fileno(),
                stdout=self._output,
                stderr=self._output,
            )
        except BaseException:
            self._close()
            raise
        finally:
            theirs.close()

    def ask(self, request: tuple[str, Signature, bool], seconds: float) -> Artifact | Failed:
        """Raises TimeoutError, and EOFError or another OSError if the child has gone."""
        self.idle = False
        deadline = time.monotonic() + seconds
        body = pickle.dumps(request)
        self._wait_until(deadline)
        self._socket.sendall(LENGTH.pack(len(body)) + body)
        answer: Artifact | Failed = pickle.loads(
            self._read(LENGTH.unpack(self._read(LENGTH.size, deadline))[0], deadline)
        )
        os.ftruncate(self._output, 0)  # afterwards, so that the words of a child that is already dead are kept
        self.idle = True
        return answer

    def last_words(self) -> str:
        """How it ended, and the last line that it printed."""
        try:
            status = self.process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            return "the compiler's process closed the connection"
        size = os.fstat(self._output).st_size
        printed = os.pread(self._output, LAST_WORDS, max(0, size - LAST_WORDS)).decode(errors="replace")
        last = printed.strip().rpartition("\n")[2]
        how = f"was killed by {_signal(-status)}" if status < 0 else f"ended with exit code {status}"
        return f"the compiler's process {how}" + (f": {last}" if last else "")

    def end(self) -> None:
        self._close()
        self.process.kill()
        self.process.wait()

    def abandon(self) -> None:
        """In a fork of the process that owns it: drop the shared ends and let the owner's child be."""
        self._close()
        self.process.returncode = 0

    def _close(self) -> None:
        self._socket.close()
        with contextlib.suppress(OSError):  # the program may close every descriptor it finds
            os.close(self._output)

    def _read(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._wait_until(deadline)
            chunk = self._socket.recv(min(size - len(data), 1 << 20))
            if not chunk:
                raise EOFError
            data += chunk
        return bytes(data)

    def _wait_until(self, deadline: float) -> None:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        self._socket.settimeout(remaining)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
