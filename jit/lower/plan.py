"""Enters a functional ATen graph, leaves it split into regions ready for the compiler and calls that stay in ATen."""

from __future__ import annotations

from collections import Counter
from functools import partial

from torch.fx import GraphModule

from ..events import Left
from .importer import NotImported, RegionImporter
from .partition import partition
from .planned import Plan, Region
from .products import Choose, products_apart
from .support import Reason, Table, hindrance, measured


def plan(graph: GraphModule, table: Table | None = None, choose: Choose | None = None) -> Plan:
    """`graph` carries fake values, as AOTAutograd's graphs do; the table is the measured one unless given.

    Products are regions with what follows them where `choose` says so, which is asked for none by default.
    """
    refusal = partial(hindrance, table=measured() if table is None else table)
    graph, products = (graph, {}) if choose is None else products_apart(graph, refusal, choose)
    split = partition(graph, refusal)
    regions: dict[str, Region] = {}
    refused: Counter[str] = Counter()
    importer = RegionImporter()
    for name, module in (products | dict(split.regions)).items():
        match importer.enter(module):
            case Region() as region:
                regions[name] = region
            case NotImported(ops):
                refused.update(ops)
    left = (Left(operator, Reason.NOT_IMPORTED, count) for operator, count in sorted(refused.items()))
    return Plan(split.graph, regions, (*split.left, *left))
