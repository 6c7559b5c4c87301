"""Writes `docs/fixes.md`: every site that `fullgraph verify --fix` finds in the examples and in models of transformers.

    python tools/fix_table.py measure FOLDER [TARGET …]    # resumable; stop it whenever you like
    python tools/fix_table.py write FOLDER                 # the page, of what was measured

Models are left out where transformers is not installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from checkout import ROOT

PAGE = ROOT / "docs/fixes.md"
SCRIPTS = ("audio_tagger/tagger", "detector", "layerdrop_transformer", "moe_router", "train_step", "vision_transformer")
MODELS = {
    "text": ("ctrl", "longformer", "mixtral", "reformer", "xlm"),
    "words": ("opt",),
    "pair": ("bart", "led", "m2m", "nllb_moe", "nllb_moe_drop", "switch"),
    "patches": ("glm4v", "qwen_vl"),
    "picture": ("internvl",),
    "sound": ("wav2vec", "wav2vec_drop"),
}
"""Functions of `fix_models.py`: what makes the inputs → what makes the models."""
TRAINED = frozenset({"bart", "m2m", "nllb_moe_drop", "opt", "wav2vec", "wav2vec_drop"})
"""Those that leave layers out or mask their input, which they do in training only."""
LEAVING = ("compile only the forward pass", "compile only the lines above", "compile the parts that are captured whole")
"""Fixes that leave the break outside of what is compiled."""
LIMIT_S = 3600
Report = Mapping[str, Any] | str
"""Of one target, or why there is none."""
HEADER = """\
# Which fixes hold

What `fullgraph verify --fix` makes of every site in the examples and in small models of transformers with random
weights: the fix that was verified, or why none was. A fix may remove more sites than the one it was found for: those
name its line. Where nothing removes a break, less is compiled, so that it lies outside, and what that takes out of the
compiled part is compared as before; in parentheses stands how much of what graphs computed they still compute, in
elements of results. Models with layers that are left out at times, or with experts, have no dropout here: a layer that
always runs draws more numbers, and all later draws are others. Written by `python tools/fix_table.py` with the backend
`eager`, {versions}."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place, and what became of it."""

    place: str
    code: str
    verified: str
    share: float
    """Of what graphs computed, what they still do with that fix."""
    reasons: tuple[str, ...]

    @property
    def is_left_out(self) -> bool:
        return self.verified.startswith(LEAVING)


def commands() -> Iterator[tuple[str, str, list[str]]]:
    """Group, name and arguments of each target."""
    for script in SCRIPTS:
        yield "Examples", f"examples/{script}.py", [f"examples/{script}.py"]
    if find_spec("transformers") is None:
        return
    makers = sorted((model, inputs) for inputs, models in MODELS.items() for model in models)
    for model, inputs in makers:
        mode = ["train"] * (model in TRAINED)
        yield "Models", model, ["--first-party", "transformers", "tools/fix_models.py", "--", model, inputs, *mode]


def measure(arguments: list[str], kept: Path) -> None:
    """Keep what the command reports of its one target, or why it reports nothing."""
    command = [sys.executable, "-m", "fullgraph.cli", "verify", "--fix", "--diff", "--backend", "eager"]
    command += ["--output-format", "json", *arguments]
    try:
        done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=LIMIT_S)
        text = done.stdout or json.dumps(done.stderr.strip().rpartition("\n")[2])
    except subprocess.TimeoutExpired:
        text = json.dumps(f"not done within {LIMIT_S} s")
    kept.write_text(text, encoding="utf-8")


def observed(kept: Path) -> Report:
    if not kept.exists():
        return "not measured"
    found = json.loads(kept.read_text(encoding="utf-8"))
    return found if isinstance(found, str) else found["targets"][0]


def sites(report: Mapping[str, Any]) -> Iterator[Site]:
    rows: dict[tuple[str, int, str], list[Mapping[str, Any]]] = {}
    for row in report["fixes"]["sites"]:
        rows.setdefault((short(row["path"]), row["line"], row["code"]), []).append(row)
    for (path, line, code), tried in sorted(rows.items()):
        verified = [row for row in tried if row["outcome"] == "verified"]
        reasons = [f"{row['title']}: {row['reason']}" if row["title"] else row["reason"] for row in tried]
        told = tuple(dict.fromkeys(map(short, reasons)))
        title, share = (verified[0]["title"], _share(verified[0])) if verified else ("", 1.0)
        yield Site(f"{path}:{line}", code, title, share, told)


def _share(row: Mapping[str, Any]) -> float:
    before, after = (row[when]["elements"] for when in ("before", "after"))
    return after / before if before else 1.0


def short(text: str) -> str:
    """With the files of an installed package named from the package on, as on every machine."""
    return re.sub(r"\S*site-packages/", "", text)


def section(group: str, targets: list[tuple[str, Report]]) -> Iterator[str]:
    every = [(name, report if isinstance(report, str) else list(sites(report))) for name, report in targets]
    found = [site for _, result in every if not isinstance(result, str) for site in result]
    removed = sum(bool(site.verified) for site in found)
    share = f"{removed} of {len(found)} sites" + (f", {removed / len(found):.0%}," if found else "")
    left_out = sum(site.is_left_out for site in found)
    told = sum(not isinstance(result, str) for _, result in every)
    ways = f"{removed - left_out} by a change of the line, {left_out} because less is compiled"
    yield f"\n## {group}\n\n{share} are removed and verified: {ways}. {told} of {len(every)} targets were measured.\n"
    yield "| target | site | rule or break | verified fix, or why there is none |\n| --- | --- | --- | --- |"
    for name, result in every:
        if isinstance(result, str):
            yield f"| {name} | | | {cell(result)} |"
        elif not result:
            yield f"| {name} | | | nothing breaks |"
        else:
            for site in result:
                share = f" ({site.share:.0%})" * site.is_left_out
                answer = f"**{cell(site.verified)}**{share}" if site.verified else "; ".join(map(cell, site.reasons))
                yield f"| {name} | {site.place} | {site.code} | {answer} |"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main(step: str, folder: Path, chosen: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    targets = [(*target, folder / f"{target[1].replace('/', '-')}.json") for target in commands()]
    if step == "measure":
        for _, name, arguments, kept in targets:
            if not kept.exists() and (not chosen or name in chosen):
                print(name, flush=True)
                measure(arguments, kept)
        return
    groups: dict[str, list[tuple[str, Report]]] = {}
    for group, name, _, kept in targets:
        groups.setdefault(group, []).append((name, observed(kept)))
    packages = [name for name in ("torch", "transformers") if find_spec(name) is not None]
    versions = " and ".join(f"{name} {version(name).partition('+')[0]}" for name in packages)
    lines = [line for group, reports in groups.items() for line in section(group, reports)]
    PAGE.write_text("\n".join([HEADER.format(versions=versions), *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("measure", "write"):
        sys.exit("usage: python tools/fix_table.py measure|write FOLDER [TARGET …]")
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
