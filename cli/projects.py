"""Paths that belong to several projects: each project's files are checked with its own settings, in one command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from fullgraph.lint.config import AssumeCompiled, Config, load, nearest_files, override
from fullgraph.lint.discover import lexically_absolute, python_files
from fullgraph.lint.findings import CheckReport, Entry
from fullgraph.lint.request import CheckRequest
from fullgraph.lint.target import resolve
from fullgraph.rules import load as load_rules


def requests_of(
    paths: tuple[Path, ...],
    config_file: Path | None,
    use_cache: bool,
    jobs: int | None,
    judge_comments: bool,
    **options: Any,
) -> tuple[CheckRequest, ...]:
    """One request for each config file that is the nearest one of some of the files, the outermost first."""
    whole = build_request(paths, config_file, use_cache, jobs, judge_comments, **options)
    if config_file is not None or whole.config.entry:
        return (whole,)
    nearest = nearest_files(file.parent for file in whole.files)
    requests = [whole]
    for source in sorted({source for source in nearest.values() if source not in (None, whole.config.source)}):
        inside = tuple(part for path in paths or (Path(),) for part in _within(path, source.parent))
        requests.append(build_request(inside, source, use_cache, jobs, judge_comments, **options))
        nearest |= nearest_files(file.parent for file in requests[-1].files)
    if len(requests) == 1:
        return (whole,)
    own = (
        replace(request, files=tuple(file for file in request.files if nearest[file.parent] == request.config.source))
        for request in requests
    )
    return tuple(request for request in own if request.files)


def build_request(
    paths: tuple[Path, ...],
    config_file: Path | None,
    use_cache: bool,
    jobs: int | None = None,
    judge_comments: bool = False,
    **options: Any,
) -> CheckRequest:
    """The request that command-line options and one config file, the nearest one, amount to."""
    paths = paths or (Path(),)
    known_codes = frozenset(load_rules())
    own = load(paths, known_codes, config_file)
    config = override(own, known_codes, options)
    target = resolve(config.target_torch, config.root)
    return CheckRequest(
        files=python_files(paths, config.root, config.exclude),
        config=config,
        torch=target.torch,
        remarks=(target.remark,) if target.remark else (),
        use_cache=use_cache,
        jobs=jobs,
        judge_comments=judge_comments
        and _looks_as_configured(own, config)
        and target.torch == resolve(own.target_torch, own.root).torch,
    )


def _looks_as_configured(own: Config, config: Config) -> bool:
    """Whether no option leaves out what the project's own settings look for, beside the choice of rules."""
    alike = (own.mode, own.entry, own.types) == (config.mode, config.entry, config.types)
    return alike and config.assume_compiled in (own.assume_compiled, AssumeCompiled.FORWARD, AssumeCompiled.ALL)


def _within(path: Path, root: Path) -> tuple[Path, ...]:
    """The part of a path that lies in a project."""
    whole = lexically_absolute(path)
    if whole.is_relative_to(root):
        return (path,)
    return (root,) if root.is_relative_to(whole) else ()


def merged(reports: Sequence[CheckReport]) -> CheckReport:
    """What the projects' reports say together."""
    first = reports[0]
    if len(reports) == 1:
        return first
    entries: dict[tuple[str, str], Entry] = {}
    for entry in (entry for report in reports for entry in report.entries):
        known = entries.get((entry.path, entry.qualname))
        if known is None or entry.asked:
            entries[entry.path, entry.qualname] = entry
    versions = sorted({report.torch for report in reports})
    mixed = (f"judged by several torch versions: {', '.join(versions)}",) if len(versions) > 1 else ()
    return msgspec.structs.replace(
        first,
        entries=tuple(entries[key] for key in sorted(entries)),
        findings=tuple(
            sorted((finding for report in reports for finding in report.findings), key=lambda finding: finding.sort_key)
        ),
        files=sum(report.files for report in reports),
        projects=len(reports),
        remarks=tuple(dict.fromkeys((*mixed, *(remark for report in reports for remark in report.remarks)))),
    )
