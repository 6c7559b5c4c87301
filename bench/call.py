"""Times what a call of a native region costs beside its computation: two inputs of four elements, one output.

Checking the inputs, allocating the output and entering native code are in it; `torch.add` of the same tensors is the
measure. Medians of blocks of calls, in turn.
"""

from __future__ import annotations

import gc
import statistics
import timeit

import torch

from fullgraph.jit.region import NativeRegion

BLOCKS = 50
CALLS = 2000


def main() -> None:
    torch.set_num_threads(1)
    x, y = torch.randn(2, 4)
    torch.compile(lambda x, y: x * y + x, backend="mlir", dynamic=False)(x, y)
    (region,) = (item for item in gc.get_objects() if type(item) is NativeRegion)
    ways = {"native region": lambda: region(x, y), "torch.add": lambda: torch.add(x, y)}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(BLOCKS):
        for name, call in ways.items():
            seconds[name].append(timeit.timeit(call, number=CALLS) / CALLS)
    for name, blocks in seconds.items():
        print(f"{name:<14} {statistics.median(blocks) * 1e6:6.2f} us, at least {min(blocks) * 1e6:.2f}")


if __name__ == "__main__":
    main()
