"""`fullgraph doctor`: what is installed, what is missing, and how to get it."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from tempfile import TemporaryFile

import click

from fullgraph.lint.cache import cache_folder
from fullgraph.rules import __version__

INSTALL = "pip install 'fullgraph[jit]'"
SMOKE_TEST = """
func.func @main(%a: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %r = torch.aten.exp %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %r : !torch.vtensor<[4],f32>
}
"""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing looked at; `needed_by` are the commands that cannot do all of their work without it."""

    name: str
    needed_by: tuple[str, ...]
    found: str
    remedy: str | None = None
    """What to do; None if all is well."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", show_default=True)
def doctor(output_format: str) -> int:
    """Say what is installed, what is missing and how to get it.

    Exit codes: 0 `fullgraph check` has all it needs, 1 it lacks something. What `fullgraph verify` lacks is shown too.
    """
    diagnoses = tuple(_diagnoses())
    if output_format == "json":
        document = {"schema": "fullgraph.doctor/1", "diagnoses": [asdict(item) for item in diagnoses]}
        click.echo(json.dumps(document, indent=2))
    else:
        click.echo("\n".join(_lines(diagnoses)))
    return int(bool(_lacks("check", diagnoses)))


def _lines(diagnoses: tuple[Diagnosis, ...]) -> Iterator[str]:
    width = max(len(item.name) for item in diagnoses)
    for item in diagnoses:
        yield f"{'missing' if item.remedy else 'ok':<7}  {item.name:<{width}}  {item.found}"
        if item.remedy:
            yield f"{'':<7}  {'':<{width}}  → {item.remedy}"
    yield ""
    for command in ("check", "verify"):
        missing = _lacks(command, diagnoses)
        yield f"fullgraph {command} " + (f"lacks {', '.join(missing)}" if missing else "has all it needs")


def _lacks(command: str, diagnoses: tuple[Diagnosis, ...]) -> list[str]:
    return [item.name for item in diagnoses if item.remedy and command in item.needed_by]


def _diagnoses() -> Iterator[Diagnosis]:
    both = ("check", "verify")
    yield Diagnosis("platform", both, f"{platform.system()} {platform.release()} on {platform.machine()}")
    yield Diagnosis("python", both, f"{platform.python_version()}, {sys.executable}")
    yield Diagnosis("fullgraph", both, __version__)
    yield _package("libcst", both, "pip install libcst")
    yield _cache()
    yield _torch()
    yield _package("torch-mlir", ("verify",), INSTALL)
    yield _native()


def _package(name: str, needed_by: tuple[str, ...], remedy: str) -> Diagnosis:
    try:
        return Diagnosis(name, needed_by, version(name))
    except PackageNotFoundError:
        return Diagnosis(name, needed_by, "not installed", remedy)


def _cache() -> Diagnosis:
    """Nothing needs it: without it, all is done anew each time."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return Diagnosis("cache", (), str(folder))
    except OSError as error:
        remedy = "make it writable, or set XDG_CACHE_HOME to a folder that is"
        return Diagnosis("cache", (), f"{folder} cannot be written: {error.strerror}", remedy)


def _torch() -> Diagnosis:
    from fullgraph.jit.measured import MEASURED, remark

    found = _package("torch", ("verify",), INSTALL)
    if found.remedy is None and remark(found.found):
        return replace(found, found=f"{found.found}; verify has been tested with {', '.join(MEASURED)}")
    return found


def _native() -> Diagnosis:
    """Compiles a small region in the compiler's process and loads the code. Without it, verify runs graphs eagerly."""
    from fullgraph.jit.loader import Code, LoadError
    from fullgraph.jit.lower.signature import Failed, Signature, TensorSpec
    from fullgraph.jit.worker import Worker, unavailable

    def trouble(reason: str) -> Diagnosis:
        return Diagnosis("native code", ("verify",), reason, "verify runs graphs eagerly until this is solved")

    if (reason := unavailable()) is not None:
        return trouble(reason)
    spec = TensorSpec("float32", (4,))
    worker = Worker()
    artifact = worker.compile(SMOKE_TEST, Signature((spec,), (spec,)))
    worker.close()
    if isinstance(artifact, Failed):
        return trouble(artifact.reason)
    try:
        Code(artifact.code).address(artifact.entry)
    except LoadError as error:
        return trouble(str(error))
    return Diagnosis("native code", ("verify",), "a test region was compiled and loaded")
