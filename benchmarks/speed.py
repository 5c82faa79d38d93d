"""Speed ratios against what people use instead, in one process: `python -m benchmarks.speed` (the examples).

Contenders take turns (round-robin) on the same lanes, and each one's shortest run counts. Every contender's
result is compared with the original first. np.vectorize runs on a sample; the rest run on all lanes. "numba loop"
is the unmodified function (and its helpers) under numba.njit, called in a compiled loop over the lanes; "-" where
numba refuses it.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np

import pyflat

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

from kernels import KERNELS, Kernel, Lanes
from lanewise import columns, differing_lanes, original_columns, seconds

CONTENDERS = ("np.vectorize", "numba loop", "pyflat numpy", "pyflat numba")


def compiled(function: Callable[..., Any]) -> Any:
    """numba.njit of the unmodified function, and of the plain Python helpers that it names."""
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        if isinstance(scope.get(name), FunctionType):
            scope[name] = compiled(scope[name])
    return numba.njit(FunctionType(function.__code__, scope, function.__name__, function.__defaults__))


def numba_loop(kernel: Kernel, lanes: Lanes) -> Callable[..., Any] | None:
    """The branchy original, compiled, lane after lane; None if numba cannot compile it."""
    names = ", ".join(f"a{i}" for i in range(len(lanes)))
    items = ", ".join(f"a{i}[i]" for i in range(len(lanes)))
    first = kernel.function(*(column[0].item() for column in lanes))
    width = len(first) if isinstance(first, tuple) else 0
    store = "; ".join(f"out[{k}, i] = r[{k}]" for k in range(width)) if width else "out[0, i] = r"
    text = (
        f"def run({names}):\n    n = len(a0)\n    out = np.empty(({max(width, 1)}, n))\n"
        f"    for i in range(n):\n        r = fn({items})\n        {store}\n    return out\n"
    )
    scope = {"np": np, "fn": compiled(kernel.function)}
    exec(text, scope)
    run = numba.njit(scope["run"])
    try:
        run(*lanes)
    except (numba.core.errors.NumbaError, AttributeError):  # the latter: numba's own, for a tuple that may be None
        return None
    return run


def contenders(kernel: Kernel, lanes: Lanes, sampled: int) -> dict[str, tuple[Callable[[], Any], int]]:
    """Name -> (call, how many lanes it runs)."""
    count = len(lanes[0])
    sample = tuple(column[-sampled:] for column in lanes)
    calls: dict[str, tuple[Callable[[], Any], int]] = {
        "np.vectorize": (partial(np.vectorize(kernel.function), *sample), sampled)
    }
    loop = numba_loop(kernel, lanes)
    if loop is not None:
        calls["numba loop"] = (partial(loop, *lanes), count)
    for target in ("numpy", "numba"):
        twin = pyflat.twin(kernel.function).with_options(target=target, math="exact")
        calls[f"pyflat {target}"] = (partial(twin, *lanes), count)
    return calls


def check(kernel: Kernel, lanes: Lanes, call: Callable[[], Any], checked: int) -> int:
    """How many of the last `checked` lanes of a contender's result differ from the original."""
    expected = original_columns(kernel.function, tuple(column[-checked:] for column in lanes))
    result = call()
    result = tuple(result) if isinstance(result, np.ndarray) and result.ndim == 2 else columns(result)
    return len(differing_lanes(tuple(column[-checked:] for column in result), expected))


def measure(kernel: Kernel, count: int, sampled: int, repeats: int) -> dict[str, float]:
    """Contender -> nanoseconds for each lane; stops the benchmark if a twin is wrong."""
    lanes = kernel.lanes(count)
    calls = contenders(kernel, lanes, sampled)
    for name, (call, _) in calls.items():
        wrong = check(kernel, lanes, call, min(sampled, 2_000))
        if wrong and name.startswith("pyflat"):
            raise SystemExit(f"{kernel.name}: {name} differs from the original in {wrong} lanes")
    best = dict.fromkeys(calls, math.inf)
    for _ in range(repeats):
        for name, (call, ran) in calls.items():
            best[name] = min(best[name], seconds(call, 1) / ran * 1e9)
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lanes", type=int, default=256_000)
    parser.add_argument("--sampled", type=int, default=20_000, help="lanes on which np.vectorize is timed")
    parser.add_argument("--repeats", type=int, default=7)
    chosen = parser.parse_args()

    print(f"{chosen.lanes:,} lanes ({chosen.sampled:,} for np.vectorize); how many times as fast as np.vectorize\n")
    print(f"{'function':<18}" + "".join(f"{name:>14}" for name in CONTENDERS[1:]) + f"{'np.vectorize ns/lane':>22}")
    ratios: dict[str, list[float]] = {name: [] for name in CONTENDERS[1:]}
    for kernel in KERNELS:
        best = measure(kernel, chosen.lanes, chosen.sampled, chosen.repeats)
        line = f"{kernel.name:<18}"
        for name in CONTENDERS[1:]:
            if name not in best:
                line += f"{'-':>14}"
                continue
            ratios[name].append(best["np.vectorize"] / best[name])
            line += f"{ratios[name][-1]:>13.1f}x"
        print(line + f"{best['np.vectorize']:>22.0f}", flush=True)
    means = "".join(f"{math.exp(np.mean(np.log(values))):>13.1f}x" for values in ratios.values())
    print(f"{'geometric mean':<18}{means}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
