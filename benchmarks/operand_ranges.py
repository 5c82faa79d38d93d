"""What vector code gains where its operands are known to lie in intervals: `python -m benchmarks.operand_ranges`.

    python -m benchmarks.operand_ranges [--functions sin,exp] [--kind exact|fast]

Kernels of one function each, the one for all numbers and the one for an interval, take turns over lanes of that
interval in one process; their results are compared bit for bit. Nanoseconds a lane, and how many times faster.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

from pyflat.analysis.ranges import Interval
from pyflat.ir.nodes import Block, Op, Param
from pyflat.ir.types import FLOAT
from pyflat.targets.numba.compilation import compile_kernel
from pyflat.targets.numba.compiled_kernel import CompiledKernel
from pyflat.targets.numba.kernel import LaneLoop

LANES, REPEATS = 1 << 13, 100

INTERVALS: dict[str, tuple[tuple[Interval, ...], ...]] = {
    **dict.fromkeys(("sin", "cos"), ((Interval(-0.8, 0.8),), (Interval(-1.571, 1.571),),
                                     (Interval(-1.571, 1.571, True),), (Interval(0.0, 6.3),))),
    "tan": ((Interval(-0.78, 0.78),), (Interval(-1.5, 1.5),)),
    "exp": ((Interval(-50.0, 0.0),), (Interval(-50.0, 0.0, True),), (Interval(-math.inf, 0.0, True),)),
    "log": ((Interval(1.5, 100.0),), (Interval(1.0, math.inf),), (Interval(1e-300, 1e300),),
            (Interval(5e-324, math.inf, True),)),
    "log1p": ((Interval(-0.2, 0.2),), (Interval(0.0, 100.0),)),
    "expm1": ((Interval(-0.3, 0.3),), (Interval(-5.0, 5.0),)),
    "tanh": ((Interval(-0.9, 0.9),), (Interval(-5.0, 5.0),)),
    "sinh": ((Interval(-5.0, 5.0),),),
    "cosh": ((Interval(-5.0, 5.0),),),
    "asin": ((Interval(-0.95, 0.95),), (Interval(0.0, 1.0, True),)),
    "acos": ((Interval(-0.95, 0.95),),),
    "atan": ((Interval(-0.95, 0.95),), (Interval(1.0, 5.0),)),
    "atan2": ((Interval(-1e3, 1e3), Interval(0.01, 1e3)),),
    "pow": ((Interval(0.09, 1.0), Interval(2.4, 2.4)), (Interval(0.09, 1.0, True), Interval(2.4, 2.4)),
            (Interval(1e-3, 1e3), Interval(-3.0, 3.0))),
    "erf": ((Interval(-0.8, 0.8),),),
    "gamma": ((Interval(1.0, 9.0),),),
}


def compiled(opcode: str, within: tuple[Interval, ...], *, known: bool) -> CompiledKernel:
    """The function as a kernel, which knows the intervals or does not."""
    params = [Param(FLOAT, f"x{k}") for k in range(len(within))]
    op = Op(opcode, params, FLOAT)
    kernel = LaneLoop(tuple(params), (Block([op]),), (op,), None)
    vars(kernel)["ranges"] = {op: within} if known else {}
    return compile_kernel(kernel, (False,) * len(params))[0]


def measured(opcode: str, within: tuple[Interval, ...]) -> tuple[float, float]:
    """Nanoseconds a lane of both."""
    random = np.random.default_rng(0)
    lanes = [random.uniform(max(each.low, -600.0), min(each.high, 1e4), LANES) for each in within]
    kernels = [compiled(opcode, within, known=known) for known in (False, True)]
    outs = [np.empty(LANES), np.empty(LANES)]
    best = [math.inf, math.inf]
    for _ in range(REPEATS):
        for k, (kernel, out) in enumerate(zip(kernels, outs, strict=True)):
            start = time.perf_counter()
            kernel.run(LANES, [*lanes, out])
            best[k] = min(best[k], time.perf_counter() - start)
    if outs[0].tobytes() != outs[1].tobytes():
        raise SystemExit(f"{opcode} has other bits where its operands are in {within}")
    return best[0] / LANES * 1e9, best[1] / LANES * 1e9


def shown(each: Interval) -> str:
    return f"[{each.low:g}, {each.high:g}]" + (" or nan" if each.nan else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", default=",".join(INTERVALS))
    parser.add_argument("--kind", choices=("exact", "fast"), default="exact")
    options = parser.parse_args()
    print("| function | operands | all, ns | these, ns | gain |\n|---|---|---|---|---|")
    for name in options.functions.split(","):
        for within in INTERVALS[name]:
            whole, part = measured(name if options.kind == "exact" else "vec_" + name, within)
            operands = ", ".join(map(shown, within))
            print(f"| `{name}` | {operands} | {whole:.2f} | {part:.2f} | {whole / part:.2f}x |", flush=True)


if __name__ == "__main__":
    main()
