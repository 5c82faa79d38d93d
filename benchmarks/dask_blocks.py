"""A twin over a dask array on a local cluster, against the same blocks without dask: processes of a pool that call it.

    python -m benchmarks.dask_blocks --lanes 2e8 --processes 2

Blocks are made where they are needed and reduced to one number each, so that no process holds more than a few: the most
memory that a process had is printed. Dask by hand is `map_blocks` of a function that calls the twin with plain arrays:
what dask itself takes. The ways run in turn, the best of each counts. With --keep-memory workers keep
what a block has used for the next one (see docs/how-to/processes.md); how often they compiled is printed too.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import pyflat


def levy(income: float, wealth: float) -> float:
    """Three brackets, a phase-out and a compound rate: some 20 ns for each lane."""
    if income < 9744.0:
        due = 0.0
    elif income < 57918.0:
        part = (income - 9744.0) / 10000.0
        due = (995.21 * part + 1400.0) * part
    else:
        due = 0.42 * income - 9136.63
    if wealth > 40000.0:
        due = due + (wealth - 40000.0) ** 0.5 * 1.5
    return due - 0.1 * due * 2.0 ** (-due / 5000.0)


KEPT = {"MALLOC_ARENA_MAX": 1, "MALLOC_MMAP_THRESHOLD_": 2**30, "MALLOC_TRIM_THRESHOLD_": 2**30}
"""What makes the C library of Linux keep the memory of a block."""
TWIN = pyflat.twin(levy, target="numba", parallel=False)


def lanes_of(number: int, size: int) -> np.ndarray:
    """The incomes of one block: the same for the same number."""
    return np.linspace(float(number % 7), 250000.0, size)


def plain_block(job: tuple[int, int]) -> float:
    number, size = job
    values = lanes_of(number, size)
    return float(TWIN(values, values * 0.5).sum())


def dask_sum(blocks: int, size: int, by_hand: bool = False) -> float:
    import dask.array as da

    def make(block_info=None):
        return lanes_of(block_info[None]["chunk-location"][0], size)

    values = da.map_blocks(make, chunks=((size,) * blocks,), dtype=float, meta=np.empty(0))
    if by_hand:
        found = da.map_blocks(TWIN, values, values * 0.5, dtype=float, meta=np.empty(0))
    else:
        found = TWIN(values, values * 0.5)
    return float(found.sum().compute())


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


MADE: list[str] = []
"""What this process has flattened and compiled, and not loaded."""


def _listen() -> None:
    handler = logging.Handler()
    handler.emit = lambda record: MADE.append(record.getMessage())
    logging.getLogger("pyflat").addHandler(handler)
    logging.getLogger("pyflat").setLevel("INFO")


def _compiled() -> bool:
    return bool(MADE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", type=float, default=2e8)
    parser.add_argument("--block", type=float, default=2e6)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--keep-memory", action="store_true")
    order = parser.parse_args()
    size, blocks = int(order.block), round(order.lanes / order.block)
    import dask
    from distributed import Client, LocalCluster

    if order.keep_memory:
        dask.config.set({"distributed.nanny.pre-spawn-environ": KEPT})
    os.environ["PYFLAT_CACHE_DIR"] = tempfile.mkdtemp()

    context = multiprocessing.get_context("spawn")
    began = time.perf_counter()
    with (LocalCluster(n_workers=order.processes, threads_per_worker=1, dashboard_address=None) as cluster,
          Client(cluster) as client, ProcessPoolExecutor(order.processes, mp_context=context) as pool):
        client.run(_listen)
        first = dask_sum(2, 1000)
        print(f"{time.perf_counter() - began:.2f} s from the start of the workers to the first result ({first:.6g})")
        list(pool.map(plain_block, [(0, 1000)] * 4))
        ways = {
            "dask": lambda: dask_sum(blocks, size), "by hand": lambda: dask_sum(blocks, size, by_hand=True),
            "plain": lambda: sum(pool.map(plain_block, [(number, size) for number in range(blocks)])),
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(order.repeat):
            found = []
            for name, way in ways.items():
                start = time.perf_counter()
                found.append(way())
                times[name].append(time.perf_counter() - start)
            assert max(found) - min(found) <= 1e-9 * abs(found[0])
        most = max(client.run(_memory).values())
        compiled = sum(client.run(_compiled).values())
    dask, by_hand, plain = (min(times[name]) for name in ways)
    print(f"{blocks * size:.3g} lanes in {blocks} blocks, {order.processes} processes: dask {dask:.2f} s, the same "
          f"blocks without it {plain:.2f} s, ratio {plain / dask:.3f} (by hand {plain / by_hand:.3f}); "
          f"the most memory of a worker {most:.0f} MiB; {compiled} of them compiled")


if __name__ == "__main__":
    main()
