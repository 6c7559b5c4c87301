"""Loads a relocatable ELF object into this process without a linker: bytes go in, callable addresses come out.

Memory is never writable and executable at once. What the code may call outside itself is a fixed list of functions of
the C library; everything else that an object could ask for is refused.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct
import sys
import weakref
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

LIBM = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor fma fmax fmin fmod
ldexp lgamma log log10 log1p log2 nearbyint pow remainder rint round roundeven sin sincos sinh sqrt
tan tanh tgamma trunc
"""
SLEEF = frozenset(
    f"Sleef_{name}{suffix}_{bound}"
    for name in LIBM.split()
    for suffix in ("f8", "f16", "d4", "d8")
    for bound in ("u10", "u35")
)
LIBRARIES = {
    "libm.so.6": frozenset(name + suffix for name in LIBM.split() for suffix in ("", "f")),
    "libc.so.6": frozenset({"aligned_alloc", "calloc", "free", "malloc", "memcpy", "memmove", "memset"}),
    "libtorch_cpu.so": SLEEF,
    "libgomp.so.1": frozenset(
        {"GOMP_parallel", "omp_get_max_threads", "omp_get_num_threads", "omp_get_thread_num", "omp_in_parallel"}
    ),
}
"""The functions that native code may call."""

MAGIC = b"\x7fELF\x02\x01"
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")
RELOCATABLE, X86_64 = 1, 62
SYMTAB, RELA, NOBITS = 2, 4, 8
ALLOC, EXECUTE = 2, 4
JUMP = struct.Struct("<6sQ2x")
JUMP_THROUGH = b"\xff\x25\x00\x00\x00\x00"
"""`jmp *0(%rip)`: to the address that follows it."""
REACH = range(-(1 << 31), 1 << 31)


class LoadError(ValueError):
    """The object cannot be loaded; the text says what it asks for."""


class Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class Symbol(NamedTuple):
    name: str
    section: int
    value: int


def unsupported_machine() -> str | None:
    """Why native code cannot be loaded here; None if it can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"native code is made for Linux on x86-64 only, and this is {sys.platform} on {platform.machine()}"
    if platform.libc_ver()[0] != "glibc":
        return "native code needs the GNU C library, and this Python uses another"
    return None


class Code:
    """Loaded code; its memory is given back with the last reference to it."""

    def __init__(self, data: bytes) -> None:
        image = _parsed(data)
        layout = Layout(image)
        base = _map(layout.size)
        # Not at exit: other threads may be running the code to the last.
        weakref.finalize(self, _unmap, base, layout.size).atexit = False
        memory = memoryview((ctypes.c_char * layout.size).from_address(base)).cast("B")
        self._addresses = Writer(image, layout, memory, base).write()
        _make_executable(base, layout.code_size)

    def address(self, symbol: str) -> int:
        if (address := self._addresses.get(symbol)) is None:
            raise LoadError(f"the object has no symbol {symbol}")
        return address


class Image(NamedTuple):
    """A parsed object."""

    data: bytes
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]


def _parsed(data: bytes) -> Image:
    try:
        header = HEADER.unpack_from(data)
        if not data.startswith(MAGIC) or header[1:3] != (RELOCATABLE, X86_64):
            raise LoadError("not a relocatable ELF object for x86-64")
        sections = tuple(Section(*SECTION.unpack_from(data, header[6] + SECTION.size * i)) for i in range(header[12]))
        return Image(data, sections, tuple(_symbols(data, sections)))
    except (struct.error, IndexError):
        raise LoadError("the ELF object is damaged") from None


def _symbols(data: bytes, sections: tuple[Section, ...]) -> Iterator[Symbol]:
    for table in sections:
        if table.type == SYMTAB:
            names = sections[table.link].offset
            for position in range(table.offset, table.offset + table.size, SYMBOL.size):
                name, _, _, section, value, _ = SYMBOL.unpack_from(data, position)
                text = data[names + name : data.find(b"\0", names + name)]
                yield Symbol(text.decode(errors="replace"), section, value)


class Layout:
    """Where things go, counted from the start of the memory: the code, then from the next page on everything else."""

    def __init__(self, image: Image) -> None:
        loaded = [i for i, section in enumerate(image.sections) if section.flags & ALLOC]
        code = [i for i in loaded if image.sections[i].flags & EXECUTE]
        self.sections: dict[int, int] = {}
        end = self._place(image, code, 0)
        self.jumps = _aligned(end, JUMP.size)
        """One for each symbol: the C library may be further away than 32 bits reach."""
        self.code_size = _aligned(self.jumps + JUMP.size * len(image.symbols), mmap.PAGESIZE)
        end = self._place(image, [i for i in loaded if i not in code], self.code_size)
        self.pointers = _aligned(end, 8)
        """One for each symbol, for code that looks addresses up (the global offset table)."""
        self.size = _aligned(self.pointers + 8 * len(image.symbols) + 1, mmap.PAGESIZE)

    def _place(self, image: Image, sections: list[int], end: int) -> int:
        for i in sections:
            self.sections[i] = _aligned(end, image.sections[i].alignment)
            end = self.sections[i] + image.sections[i].size
        return end


class Writer:
    """Fills memory that will be used at the address `base`."""

    def __init__(self, image: Image, layout: Layout, memory: memoryview, base: int) -> None:
        self._image = image
        self._layout = layout
        self._memory = memory
        self._base = base

    def write(self) -> dict[str, int]:
        """The object's own symbols and their addresses."""
        for i, position in self._layout.sections.items():
            section = self._image.sections[i]
            if section.type != NOBITS:
                contents = self._image.data[section.offset : section.offset + section.size]
                self._memory[position : position + len(contents)] = contents
        for section in self._image.sections:
            if section.type == RELA and section.info in self._layout.sections:
                for position in range(section.offset, section.offset + section.size, RELOCATION.size):
                    offset, info, addend = RELOCATION.unpack_from(self._image.data, position)
                    self._relocate(self._layout.sections[section.info] + offset, info & 0xFFFFFFFF, info >> 32, addend)
        own = ((i, symbol) for i, symbol in enumerate(self._image.symbols) if symbol.section in self._layout.sections)
        return {symbol.name: self._address(i) for i, symbol in own}

    def _relocate(self, position: int, kind: int, symbol: int, addend: int) -> None:
        address, here = self._address(symbol), self._base + position
        match kind:
            case 1:  # R_X86_64_64
                struct.pack_into("<Q", self._memory, position, (address + addend) % (1 << 64))
            case 24:  # PC64
                struct.pack_into("<q", self._memory, position, address + addend - here)
            case 2 | 4:  # PC32, PLT32
                if address + addend - here not in REACH:
                    jump = self._layout.jumps + JUMP.size * symbol
                    JUMP.pack_into(self._memory, jump, JUMP_THROUGH, address)
                    address = self._base + jump
                struct.pack_into("<i", self._memory, position, address + addend - here)
            case 9 | 41 | 42:  # GOTPCREL, GOTPCRELX, REX_GOTPCRELX
                pointer = self._layout.pointers + 8 * symbol
                struct.pack_into("<Q", self._memory, pointer, address)
                struct.pack_into("<i", self._memory, position, self._base + pointer + addend - here)
            case _:
                name = self._image.symbols[symbol].name
                raise LoadError(f"the object has a relocation of the unknown kind {kind} (symbol {name!r})")

    def _address(self, index: int) -> int:
        symbol = self._image.symbols[index]
        match symbol.section:
            case 0:
                return _external(symbol.name)
            case section if section in self._layout.sections:
                return self._base + self._layout.sections[section] + symbol.value
            case section:
                raise LoadError(f"the symbol {symbol.name!r} lies in section {section:#x}, which is not loaded")


def _aligned(position: int, alignment: int) -> int:
    return -(-position // max(alignment, 1)) * max(alignment, 1)


@cache
def _external(name: str) -> int:
    for library, names in LIBRARIES.items():
        if name in names:
            return ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value or 0
    raise LoadError(f"the object calls {name!r}, which native code may not")


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL("libc.so.6", use_errno=True)
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    libc.mmap.restype, libc.mmap.argtypes = pointer, (pointer, size, *[ctypes.c_int] * 3, ctypes.c_long)
    libc.mprotect.argtypes = (pointer, size, ctypes.c_int)
    libc.munmap.argtypes = (pointer, size)
    return libc


def _map(size: int) -> int:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address: int | None = _libc().mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise LoadError(f"no memory for the code: {os.strerror(ctypes.get_errno())}")
    return address


def _unmap(address: int, size: int) -> None:
    _libc().munmap(address, size)


def _make_executable(address: int, size: int) -> None:
    if _libc().mprotect(address, size, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        raise LoadError(f"this system forbids memory to become executable: {os.strerror(ctypes.get_errno())}")
