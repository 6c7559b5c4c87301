"""The child's side of the compiler: reads regions from its standard input, writes native code or a reason.

Imports little, for the first region waits for it.
"""

from __future__ import annotations

import pickle
import resource
import signal
import socket
import struct
from collections.abc import Callable
from typing import TypeAlias

from .signature import Artifact, Failed, Signature, TensorSpec

Compiler: TypeAlias = Callable[[str, Signature, bool], Artifact | Failed]

LENGTH = struct.Struct("!Q")
"""What goes before each message: how many bytes it has."""
OUTPUT_LIMIT = 64 << 20
"""Bytes that the child may write to one file; what it prints goes to memory."""
LAST_WORDS = 400
"""Characters."""
SMALLEST = """
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %y = torch.aten.exp %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %y : !torch.vtensor<[4],f32>
}
"""
"""A region that takes the way of most through the compiler."""


def serve(seconds: float, memory_mb: int, warm_up: bool) -> None:
    """In the child: answer requests on standard input until its other end closes.

    An alarm ends the process should nobody be there to do so.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    _limit(resource.RLIMIT_DATA, memory_mb << 20)
    _limit(resource.RLIMIT_FSIZE, OUTPUT_LIMIT)
    _limit(resource.RLIMIT_CORE, 0)
    with socket.socket(fileno=0) as connection, connection.makefile("rwb") as stream:
        answer = _compiler()
        if warm_up:
            _warm_up(answer)
        while header := stream.read(LENGTH.size):
            signal.setitimer(signal.ITIMER_REAL, seconds)
            body = pickle.dumps(answer(*pickle.loads(stream.read(LENGTH.unpack(header)[0]))))
            stream.write(LENGTH.pack(len(body)) + body)
            stream.flush()
            signal.setitimer(signal.ITIMER_REAL, 0)


def _limit(kind: int, value: int) -> None:
    """A limit of its own, whatever the process that started this one has set for itself."""
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _compiler() -> Compiler:
    try:
        from .compile import compile_module
    except ImportError as error:
        missing = Failed(f"torch-mlir cannot be imported: {error}")
        return lambda text, signature, dump: missing

    def answer(text: str, signature: Signature, dump: bool) -> Artifact | Failed:
        try:
            return compile_module(text, signature, dump)
        except Exception as error:
            return Failed(_line(error))

    return answer


def _warm_up(compile_region: Compiler) -> None:
    """Make LLVM set up what the first compilation would wait for, while there is nothing else to do."""
    compile_region(SMALLEST, Signature((TensorSpec("float32", (4,)),), (TensorSpec("float32", (4,)),)), False)


def _line(error: Exception) -> str:
    """The error's first two lines as one: where MLIR says what failed, and why."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join([f"{type(error).__name__}:", *lines[:2]])[:LAST_WORDS]
