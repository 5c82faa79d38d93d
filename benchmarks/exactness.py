"""What exactness costs, as ratios measured in one process: `python -m benchmarks.exactness`.

For five kernels on both targets, on lanes that do not fail:

    flag      errors="raise" against "unchecked": every fault condition computed, and one OR-reduced bit
    overflow  the engine with the conditions for overflow of ints against the engine without them (kernels of ints)
    mask      errors="mask" against "unchecked"
    guards    a call that checks what was captured against one that does not: on all lanes, and on a single lane

Contenders take turns, and the shortest run of each counts, in CPU time of the thread. Values above 1 are slower.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

import pyflat
from pyflat.ir.nodes import Block, Function
from pyflat.passes.gather_suspects import gather_suspects
from pyflat.runtime.arguments import classify
from pyflat.runtime.arrays import prepare
from pyflat.runtime.compiled import Built, flatten
from pyflat.targets.numba import engine as numba_engine
from pyflat.targets.numpy import engine as numpy_engine

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

from kernels import KERNELS, Lanes

Call = Callable[[], Any]
COMPILERS: dict[str, Callable[..., Any]] = {"numpy": numpy_engine.compile, "numba": numba_engine.compile}


def digit_sum(n: int) -> int:
    """The sum of the last eight decimal digits."""
    total = 0
    for _ in range(8):
        total += n % 10
        n //= 10
    return total


def mixed_hash(a: int, b: int) -> int:
    """Two numbers below 2**30 stirred; every product and sum may overflow as far as the twin knows."""
    h = a * 31 + b
    h = h * 17 + a - b
    if h % 3 == 0:
        return h * 5 - a
    return (h + b) * 7


INTS = {"digit_sum": (digit_sum, 1), "mixed_hash": (mixed_hash, 2)}
FLOATS = ("rgb_to_hsv", "hls_to_rgb", "call_price")


def kernels(count: int) -> dict[str, tuple[Callable[..., Any], Lanes]]:
    rng = np.random.default_rng(1)
    found: dict[str, tuple[Callable[..., Any], Lanes]] = {}
    for kernel in KERNELS:
        if kernel.name in FLOATS:
            lanes = kernel.random_lanes(count, rng)
            found[kernel.name] = (kernel.function, lanes)
    for name, (function, arity) in INTS.items():
        found[name] = (function, tuple(rng.integers(0, 2**30, count) for _ in range(arity)))
    return found


def without_overflow(fn: Function) -> Function:
    """The flat form as if no operation on ints could overflow."""
    ops = [op for op in fn.flat_block.ops if op.opcode != "fault" or op.attr("fault").type != "OverflowError"]
    return Function(fn.name, fn.params, [Block(ops, fn.flat_block.end)], fn.label, fn.result_kinds, fn.form)


def engines(function: FunctionType, lanes: Lanes, target: str) -> dict[str, Call]:
    """The engine with and without overflow detection, on prepared lanes."""
    twin = pyflat.twin(function, target=target, math="exact")
    call = classify(twin._parameters.bind(lanes, {}), twin._parameters, ())
    flat = flatten(function, call.arguments, twin.options).flat
    prepared = prepare(call)
    return {
        name: partial(COMPILERS[target](gather_suspects(form), unchecked=False), prepared.inputs, prepared.count)
        for name, form in (("engine", flat), ("engine, no overflow", without_overflow(flat)))
    }


class _Trusting:
    """Guards that never look."""

    def stale(self) -> None:
        return None


def unguarded(function: FunctionType, lanes: Lanes, target: str) -> Any:
    """A twin of a copy of the function that never checks what was captured."""
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    twin = pyflat.twin(copy, target=target, math="exact")
    twin(*lanes)
    entries = twin._caller.compilations._entries
    for key, built in entries.items():
        entries[key] = dataclasses.replace(built, guards=_Trusting())
    assert isinstance(next(iter(entries.values())), Built)
    return twin


def contenders(function: FunctionType, lanes: Lanes, target: str, *, ints: bool) -> dict[str, Call]:
    made = {e: pyflat.twin(function, target=target, math="exact", errors=e) for e in ("unchecked", "raise", "mask")}
    trusting = unguarded(function, lanes, target)
    one = tuple(lane[:1] for lane in lanes)
    calls: dict[str, Call] = {name: partial(twin, *lanes) for name, twin in made.items()}
    calls["unguarded"] = partial(trusting, *lanes)
    calls["one lane"] = partial(repeated, made["raise"], one)
    calls["one lane, unguarded"] = partial(repeated, trusting, one)
    return {**calls, **(engines(function, lanes, target) if ints else {})}


def repeated(twin: Any, lanes: Lanes) -> None:
    for _ in range(50):
        twin(*lanes)


def measure(calls: dict[str, Call], repeats: int) -> dict[str, float]:
    best = dict.fromkeys(calls, math.inf)
    for call in calls.values():
        call()
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.thread_time()  # of this thread alone, so that other work on the machine counts less
            call()
            best[name] = min(best[name], time.thread_time() - start)
    return best


RATIOS = {
    "flag": ("raise", "unchecked"), "overflow": ("engine", "engine, no overflow"), "mask": ("mask", "unchecked"),
    "guards": ("raise", "unguarded"), "guards, one lane": ("one lane", "one lane, unguarded"),
}


def ratios(best: dict[str, float]) -> dict[str, float | None]:
    return {name: best[a] / best[b] if a in best else None for name, (a, b) in RATIOS.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lanes", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=15)
    chosen = parser.parse_args()
    print(f"{chosen.lanes:,} lanes; times as long as without\n")
    print(f"{'kernel':<14}{'target':<8}" + "".join(f"{name:>18}" for name in RATIOS))
    for name, (function, lanes) in kernels(chosen.lanes).items():
        for target in ("numpy", "numba"):
            assert isinstance(function, FunctionType)
            found = ratios(measure(contenders(function, lanes, target, ints=name in INTS), chosen.repeats))
            line = "".join("                 -" if value is None else f"{value:>18.2f}" for value in found.values())
            print(f"{name:<14}{target:<8}{line}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
