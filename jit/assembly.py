"""Enters a relocatable object, leaves its instructions as text, as `objdump` of the binutils reads them."""

from __future__ import annotations

import shutil
import subprocess
import tempfile

DISASSEMBLER = "objdump"


def no_disassembler() -> str | None:
    """Why there is no assembly to show; None if there is."""
    return None if shutil.which(DISASSEMBLER) else f"assembly is read by {DISASSEMBLER}, which is not installed"


def disassembled(code: bytes) -> str:
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(code)
        file.flush()
        command = [DISASSEMBLER, "--disassemble", "--reloc", "--no-show-raw-insn", file.name]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return printed.partition("\n\n")[2].strip() + "\n"  # without the file's name
