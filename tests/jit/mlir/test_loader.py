"""Objects become callable code without a linker, or are refused with a reason."""

from __future__ import annotations

import ctypes
import gc
import struct
from functools import cache
from pathlib import Path

import pytest
from mlir_regions import SCALED, SCALED_SIGNATURE

from fullgraph.jit.loader import HEADER, RELA, RELOCATION, SECTION, Code, LoadError
from fullgraph.jit.lower.signature import Artifact
from fullgraph.jit.worker import Worker

pytestmark = pytest.mark.torch


@cache
def compiled() -> Artifact:
    worker = Worker()
    artifact = worker.compile(SCALED, SCALED_SIGNATURE)
    worker.close()
    assert isinstance(artifact, Artifact)
    return artifact


def protection(address: int) -> str:
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, access = line.split()[:2]
        start, end = (int(bound, 16) for bound in span.split("-"))
        if start <= address < end:
            return access
    return ""


def relocations(data: bytes) -> list[int]:
    """Where in the file the relocations are."""
    header = HEADER.unpack_from(data)
    sections = [SECTION.unpack_from(data, header[6] + SECTION.size * i) for i in range(header[12])]
    return [p for s in sections if s[1] == RELA for p in range(s[4], s[4] + s[5], RELOCATION.size)]


def with_relocations(kind: int) -> bytes:
    """The object, all its relocations turned into another kind."""
    data = bytearray(compiled().code)
    for position in relocations(compiled().code):
        offset, info, addend = RELOCATION.unpack_from(data, position)
        RELOCATION.pack_into(data, position, offset, info >> 32 << 32 | kind, addend)
    return bytes(data)


def test_code_is_never_writable_and_executable() -> None:
    code = Code(compiled().code)
    assert protection(code.address(compiled().entry)) == "r-xp"


def test_memory_is_given_back() -> None:
    code = Code(compiled().code)
    address = code.address(compiled().entry)
    del code
    gc.collect()
    assert protection(address) == ""


def test_an_unknown_symbol() -> None:
    with pytest.raises(LoadError, match="no symbol nowhere"):
        Code(compiled().code).address("nowhere")


def test_an_unknown_relocation() -> None:
    with pytest.raises(LoadError, match="unknown kind 77"):
        Code(with_relocations(77))


@pytest.mark.parametrize("name", [b"kill", b"sync", b"exit"])
def test_only_listed_functions_may_be_called(name: bytes) -> None:
    with pytest.raises(LoadError, match="which native code may not"):
        Code(object_with_call(2, name))


@pytest.mark.parametrize("kind", [2, 4, 9, 24, 41, 42])
def test_every_kind_of_relocation_that_is_understood_can_be_applied(kind: int) -> None:
    Code(with_relocations(kind))


@pytest.mark.parametrize("size", [0, 3, 63, 64, 200])
def test_a_damaged_object(size: int) -> None:
    with pytest.raises(LoadError):
        Code(compiled().code[:size])


def test_an_object_for_another_machine() -> None:
    data = bytearray(compiled().code)
    struct.pack_into("<H", data, 18, 183)
    with pytest.raises(LoadError, match="not a relocatable ELF object for x86-64"):
        Code(bytes(data))


def object_with_call(kind: int, function: bytes = b"free") -> bytes:
    """A hand-made object: `entry` calls a function with 0 through a relocation and returns 42."""
    names = b"\0entry\0" + function + b"\0"
    symbols = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)
    symbols += struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0, 6) + struct.pack("<IBBHQQ", 7, 0x10, 0, 0, 0, 0)
    text = bytes.fromhex("4883ec08 31ff") + (
        bytes.fromhex("e800000000") if kind in (2, 4) else bytes.fromhex("ff1500000000")
    )
    position = len(text) - 4
    text += bytes.fromhex("4883c408 b82a000000 c3")
    rela = struct.pack("<QQq", position, 2 << 32 | kind, -4)
    body, sections = bytearray(64), [(0,) * 10]
    for type_, flags, content, link, info in (
        (1, 6, text, 0, 0),
        (2, 0, symbols, 3, 1),
        (3, 0, names, 0, 0),
        (4, 0, rela, 2, 1),
    ):
        sections.append((0, type_, flags, 0, len(body), len(content), link, info, 16, 24))
        body += content
    head = HEADER.pack(b"\x7fELF\x02\x01\x01".ljust(16, b"\0"), 1, 62, 1, 0, 0, len(body), 0, 64, 0, 0, 64, 5, 3)
    body[:64] = head
    return bytes(body) + b"".join(struct.pack("<IIQQQQIIQQ", *section) for section in sections)


@pytest.mark.parametrize("kind", [2, 4, 9, 41, 42])
def test_calls_out_of_the_code_arrive(kind: int) -> None:
    code = Code(object_with_call(kind))
    assert ctypes.CFUNCTYPE(ctypes.c_int)(code.address("entry"))() == 42
