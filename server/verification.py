"""Runs `fullgraph verify` on one function in a child process; what it prints becomes a `Target`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path

import msgspec

from fullgraph.lint.config import Config, ConfiguredTarget
from fullgraph.lint.discover import lexically_absolute

from .settings import Settings
from .verdicts import Target, Verified, merged

PATIENCE_S = 5.0
"""For the child to end what it has started."""


class VerificationError(Exception):
    """Why there is no result, in one line."""


async def verify(path: str, qualname: str, config: Config, settings: Settings) -> Target:
    """When cancelled the child is ended first, with all that it runs."""
    target = target_for(path, qualname, config.targets, config.root)
    command = [settings.interpreter, "-m", "fullgraph.cli", "verify", target]
    try:
        child = await asyncio.create_subprocess_exec(
            *command,
            *settings.verify_arguments,
            "--output-format=json",
            cwd=config.root,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise VerificationError(f"{settings.interpreter} cannot be run: {error.strerror}") from None
    try:
        output, errors = await child.communicate()
    except asyncio.CancelledError:
        await _end(child)
        raise
    try:
        return merged(msgspec.json.decode(output, type=Verified).targets)
    except msgspec.DecodeError:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise VerificationError(last or f"it ended with exit code {child.returncode}") from None


def target_for(path: str, qualname: str, named: Iterable[ConfiguredTarget], root: Path) -> str:
    """The name of a target in the settings, which has inputs, for the function or the module it belongs to."""
    own = {qualname, qualname.removesuffix(".forward")}
    for each in named:
        file, _, name = each.target.partition("::")
        if name in own and lexically_absolute(root / file) == Path(path):
            return each.name
    return f"{path}::{qualname}"


async def _end(child: asyncio.subprocess.Process) -> None:
    """As Ctrl-C does, so that the child ends its own children; then by force."""
    with contextlib.suppress(ProcessLookupError):
        child.send_signal(signal.SIGINT)
        try:
            await asyncio.wait_for(child.wait(), PATIENCE_S)
        except TimeoutError:
            os.killpg(child.pid, signal.SIGKILL)
            await child.wait()
