"""The reports of all targets as JSON, schema `fullgraph.verify/1`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fullgraph.lint.emit.json import finding_as_json

from .events import Graph, Observation, Recompile, Share
from .mend.report import Mended
from .verify import Judged, TargetReport, rules_for


def render(reports: Sequence[TargetReport]) -> str:
    torch = next((report.observation.torch for report in reports), "")
    document = {"schema": "fullgraph.verify/1", "torch": torch, "targets": [_target(report) for report in reports]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _target(report: TargetReport) -> dict[str, Any]:
    seen = report.observation
    return {
        "target": seen.target,
        "status": seen.status.value,
        "detail": seen.detail,
        "breaks": [asdict(item) for item in seen.breaks],
        "remarks": list(seen.remarks),
        "output": list(seen.output),
        "processes": [_share(item) for item in seen.shares],
        "calls": [asdict(item) for item in seen.calls],
        "recompiles": [asdict(item) for item in sorted(seen.recompiles, key=_recompile_key)],
        "frames": [asdict(item) for item in sorted(seen.frames, key=lambda item: (item.path, item.line, item.id))],
        "graphs": [_graph(item, seen) for item in seen.graphs],
        "no_mlir": seen.no_mlir,
        "errors": [asdict(item) for item in seen.failures],
        "backend_errors": [asdict(item) for item in seen.backend_errors],
        "findings": [_judged(item) for item in report.judged],
        "unpredicted": [{**asdict(item), "rules": rules_for(item)} for item in report.unpredicted],
        "stale": [asdict(item) for item in report.stale],
        **({"fixes": _mended(report.mended)} if report.mended else {}),
    }


def _mended(mended: Mended) -> dict[str, Any]:
    rows = [
        {
            **asdict(row),
            "outcome": row.outcome.value,
            "difference": _finite(row.difference),
            "gradient_difference": _finite(row.gradient_difference),
        }
        for row in mended.rows
    ]
    return {"modes": list(mended.modes), "remark": mended.remark, "sites": rows, "diff": mended.diff}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _share(item: Share) -> dict[str, Any]:
    return {**asdict(item.process), "breaks": item.breaks, "recompiles": item.recompiles, "graphs": item.graphs}


def _recompile_key(item: Recompile) -> tuple[str, int, int, int]:
    frame, _, number = item.frame.partition("/")
    return item.path, item.line, int(frame), int(number)


def _graph(graph: Graph, seen: Observation) -> dict[str, Any]:
    """Forward and backward together; other backends than ours run every operator as torch does, with no comparison."""
    lowered = [item for item in seen.lowered if item.graph == graph.number]
    errors = [item.max_abs_error for item in lowered if item.max_abs_error is not None]
    return {
        **asdict(graph),
        "mlir_ops": sum(item.mlir_ops for item in lowered),
        "eager_ops": sum(item.eager_ops for item in lowered) if lowered else graph.ops,
        "max_abs_error": max(errors, default=None),
        "lowered": [{**asdict(item), "eager_ops": item.eager_ops} for item in lowered],
        "ir": [asdict(item) for item in seen.stages if item.graph == graph.number],
    }


def _judged(item: Judged) -> dict[str, Any]:
    judged = {"verdict": item.verdict.value, "evidence": item.evidence, "basis": asdict(item.basis)}
    return finding_as_json(item.finding) | judged
