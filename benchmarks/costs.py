"""Measures what operations and branches cost on this machine: `python -m benchmarks.costs [--write]`.

In the engine itself: kernels of a few copies of one operation, written by the numba target, run on lanes that stay in
the first cache. The difference between twelve and four copies is what eight cost, with the add that makes an operand of
each and the operation that joins the results; both are taken off again. The unit is an add of a register of floats,
measured by turns with each operation. Every number is the median of several rounds, a round takes the shortest of
several runs. A branch is measured around an arm that all gangs take, that none takes, and that every second one takes
at random, in an order that is too long to be learnt; lanes that wait for each other, one of each gang.

`--write` puts the numbers into the package (pyflat/targets/numba/costs.json), with the processor, the versions and
the date; the cost model of the numba target reads them. Run it on a quiet machine, bound to one core: `taskset -c 0`.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import math
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np
from llvmlite import binding as llvm

from pyflat.ir.nodes import FALSE, Block, Const, Function, Label, Op, Param, Value, Yield
from pyflat.ir.ops import OPERATIONS, Accuracy, Primitive
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.numba import costs as numba_costs
from pyflat.targets.numba import engine as numba
from pyflat.targets.numba.costs import MeasuredCosts
from pyflat.targets.numba.jit import processor
from pyflat.targets.numba.ops import EMITTERS, OPERATORS

FILE = Path(numba_costs.__file__).with_name(numba_costs.FILE)
LANES, FEW, MANY = 1024, 4, 12
GANGS, SETS = 1024, 128
"""Gangs in a call around a branch, and how many calls on other lanes come before the same again: a branch predictor
learns tens of thousands of outcomes by heart."""
SHORTEST = 3e-4
LEAST = 1.0
"""What an operation counts at least: the cheap ones run beside the adds of the measured kernel, on units of their own,
and beside each other they take turns."""

STARTS = {"acosh": 1.0, "gamma": 1.5, "lgamma": 1.5, "log": 0.5, "log2": 0.5, "log10": 0.5, "pow": 0.5, "floordiv": 8.0,
          "mod": 8.0, "fmod": 8.0, "remainder": 8.0}
"""Where the first operand starts, in which an interval of length one is used; 0 for all others."""
LEFT_OUT = {"ufunc", "np_dot", "fault", "gamma", "lgamma"}
"""The cost of a ufunc is its own; a dot product is as long as it is; a call of Python is not measured in additions."""

Run = Callable[[], Any]


def first_operand(row: Primitive, kind: Kind, params: dict[Kind, Param], copy: int) -> Op:
    """A value that is another one in each copy, made by one operation."""
    base = row.name.removeprefix("vec_").removeprefix("np_")
    match kind:
        case Kind.FLOAT:
            return Op("add", [params[FLOAT], Const(FLOAT, STARTS.get(base, 0.0) + copy / (MANY + 1))], FLOAT)
        case Kind.INT:
            return Op("add", [params[INT], Const(INT, 1000 + 77 * copy)], INT)
    return Op("lt", [params[FLOAT], Const(FLOAT, copy / (20 * MANY))], BOOL)


def kernel(row: Primitive | None, kinds: tuple[Kind, ...], result: Kind, copies: int) -> Function:
    """`copies` of an operation (None: of nothing) on different operands, joined to one result."""
    params = {FLOAT: Param(FLOAT, "x"), INT: Param(INT, "i")}
    others = {FLOAT: Param(FLOAT, "y"), INT: Param(INT, "j"), BOOL: Param(BOOL, "p")}
    attrs: tuple[tuple[str, Any], ...] = ()
    if row is not None and row.name == "gather":
        attrs = (("table", tuple(np.linspace(0, 1, 64))),)
    ops: list[Op] = []
    total: Value | None = None
    for copy in range(copies):
        value = first_operand(row, kinds[0], params, copy) if row else Op(
            "add", [params[FLOAT], Const(FLOAT, copy / 13)], FLOAT)
        ops.append(value)
        if row is not None:
            value = Op(row.name, [value, *[others[kind] for kind in kinds[1:]]], result, attrs=attrs)
            ops.append(value)
        if total is not None:
            ops.append(Op("xor" if result is BOOL else "add", [total, value], result))
        total = ops[-1]
    assert total is not None
    body = [Block(ops, Yield([total, FALSE]))]
    return Function("measured", [*params.values(), *others.values()], body, Label("return"), [result, BOOL], "flat")


def runner(fn: Function, lanes: Sequence[np.ndarray]) -> Run:
    """A call of the compiled function."""
    engine = numba.compile(fn, unchecked=True)
    count = len(lanes[0])
    results = [np.empty(count, dtype) for dtype in engine.dtypes]
    return lambda: engine.into(lanes, count, results)


def operands(count: int) -> list[np.ndarray]:
    """x, i, y, j, p: x is small, y within one interval, j a small count."""
    random = np.random.default_rng(5)
    return [random.uniform(0.01, 0.05, count), random.integers(0, 50, count), random.uniform(0.6, 3.0, count),
            random.integers(1, 12, count), random.random(count) < 0.5]


def shortest(runs: dict[Any, Run], repeats: int) -> dict[Any, float]:
    """Seconds of the shortest run of each; they take turns."""
    best = dict.fromkeys(runs, math.inf)
    calls = {name: max(2, int(SHORTEST / _seconds(run, 2))) for name, run in runs.items()}
    for _ in range(repeats):
        for name, run in runs.items():
            best[name] = min(best[name], _seconds(run, calls[name]))
    return best


def _seconds(run: Run, count: int) -> float:
    start = time.thread_time()
    for _ in range(count):
        run()
    return max(time.thread_time() - start, 1e-9) / count


def signatures(row: Primitive) -> dict[Kind, tuple[tuple[Kind, ...], Kind]]:
    """One for each kind of the first operand."""
    found: dict[Kind, tuple[tuple[Kind, ...], Kind]] = {}
    for kinds, result in row.signatures:
        if row.name != "gather" or result is FLOAT:
            found.setdefault(kinds[0], (kinds, result))
    return found


def measure_operations(rounds: int, repeats: int) -> tuple[dict[str, float], dict[str, float], float]:
    """Costs for a register and for a lane, and the nanoseconds of the unit."""
    lanes = operands(LANES)
    width = processor().vector_bytes // 8
    registers: dict[str, float] = {}
    called: dict[str, float] = {}
    units = []
    adds = {("unit", n): runner(kernel(None, (FLOAT,), FLOAT, n), lanes) for n in (FEW, MANY)}
    for row in OPERATIONS.values():
        if row.name in LEFT_OUT or not (row.name in EMITTERS or row.name in OPERATORS):
            continue
        for kind, (kinds, result) in signatures(row).items():
            runs = {**adds, **{("op", n): runner(kernel(row, kinds, result, n), lanes) for n in (FEW, MANY)}}
            costs = []
            for _ in range(rounds):
                seconds = shortest(runs, repeats)
                unit = (seconds["unit", MANY] - seconds["unit", FEW]) / 2  # an add for the operand, an add for the sum
                units.append(unit / (MANY - FEW) / (LANES // width) * 1e9)
                costs.append((seconds["op", MANY] - seconds["op", FEW]) / unit - 2)
            cost = max(statistics.median(costs), LEAST)
            key = f"{row.name} {kind.value}"
            if row.accuracy in (Accuracy.LIBM, Accuracy.CALL):
                called[key] = round(cost / width, 1)
            else:
                registers[key] = round(cost, 1)
            print(f"  {key:20} {cost:8.1f}", flush=True)
    return registers, called, statistics.median(units)


def branchy(guarded: bool) -> Function:
    """An arm of twenty products, under a branch or for all lanes. The condition is that of a product: a
    wrong guess costs more the later the condition is known."""
    number, x = Param(FLOAT, "number"), Param(FLOAT, "x")
    square = Op("mul", [number, number], FLOAT)
    arm = Op("lt", [square, Const(FLOAT, 0.5)], BOOL)
    products = [Op("mul", [x, Const(FLOAT, 1.0 + k / 64)], FLOAT) for k in range(20)]
    sums = list(itertools.accumulate(products, lambda total, each: Op("add", [total, each], FLOAT)))
    choice = (arm, sums[-1], x) if guarded else (arm, x, Const(FLOAT, 0.0))
    ops = [square, arm, *products, *sums[1:], Op("select", choice, FLOAT)]
    if not guarded:
        ops.append(Op("add", [ops[-1], sums[-1]], FLOAT))
    body = [Block(ops, Yield([ops[-1], FALSE]))]
    return Function("branchy", [number, x], body, Label("return"), [FLOAT, BOOL], "flat")


def measure_branches(unit: float, rounds: int, repeats: int) -> tuple[float, float, float]:
    """A branch that is guessed right, what a wrong guess costs on top, and what it costs to let one lane of each gang
    wait for seven others."""
    width = processor().vector_bytes // 8
    random = np.random.default_rng(3)
    x = random.uniform(0.1, 1.0, GANGS * width)

    def gangs(share: float) -> np.ndarray:
        """The share of the gangs that take the arm."""
        return np.repeat(random.random(GANGS) < share, width)

    def one_lane() -> np.ndarray:
        """One lane of each gang takes it."""
        return (np.arange(width) == random.integers(0, width, GANGS)[:, None]).ravel()

    def calls(fn: Function, assumed: MeasuredCosts, draw: Callable[[], np.ndarray]) -> Run:
        engine = numba.compile(fn, unchecked=True)
        arms = [1.0 - draw() for _ in range(SETS)]
        results = [np.empty(GANGS * width)]

        def run() -> None:
            for arm in arms:
                engine.into([arm, x], GANGS * width, results)

        with numba_costs.assume(assumed):
            run()
        return run

    direct = MeasuredCosts(branch=0.0, guessed_wrong=1.0, regroup=1e9)
    waiting = MeasuredCosts(branch=0.0, guessed_wrong=1.0, regroup=1.0)
    runs = {
        "all": calls(branchy(True), direct, lambda: gangs(1.0)),
        "none": calls(branchy(True), direct, lambda: gangs(0.0)),
        "random": calls(branchy(True), direct, lambda: gangs(0.5)),
        "straight": calls(branchy(False), direct, lambda: gangs(1.0)), "one": calls(branchy(True), waiting, one_lane),
    }
    right, wrong, regroup = [], [], []
    for _ in range(rounds):
        cost = {name: seconds / SETS / GANGS * 1e9 / unit for name, seconds in shortest(runs, repeats).items()}
        right.append(cost["all"] - cost["straight"])
        wrong.append(2 * cost["random"] - cost["all"] - cost["none"])
        regroup.append(cost["one"] - cost["none"] - (cost["all"] - cost["none"]) / width)
    return (max(round(statistics.median(right), 1), LEAST), round(statistics.median(wrong), 1),
            round(statistics.median(regroup), 1))


def provenance(unit: float) -> dict[str, Any]:
    cpu = processor()
    extensions = sorted(each[1:] for each in cpu.features.split(",")
                        if each.startswith(("+avx", "+fma", "+sse4", "+bmi", "+f16c")))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False,
                            cwd=FILE.parent).stdout.strip()
    return {
        "processor": cpu.name, "model": _model(), "extensions": extensions, "vector bytes": cpu.vector_bytes,
        "llvm": ".".join(map(str, llvm.llvm_version_info)), "llvmlite": llvmlite.__version__,
        "c library": " ".join(platform.libc_ver()), "python": platform.python_version(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(), "commit": commit,
        "nanoseconds of the unit": round(unit, 3), "command": "python -m benchmarks.costs --write",
    }


def _model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    found = {key.strip(): value for key, _, value in (line.partition(": ") for line in lines)}
    return ", ".join(f"{key} {found.get(key, '?')}" for key in ("model name", "cpu family", "model"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    registers, lanes, unit = measure_operations(options.rounds, options.repeats)
    branch, guessed_wrong, regroup = measure_branches(unit, options.rounds, options.repeats)
    costs = MeasuredCosts(registers, lanes, branch, guessed_wrong, regroup, provenance(unit))
    print(f"branch {branch}, guessed wrong {guessed_wrong}, an arm is worth one from {costs.worth:.0f}; "
          f"lanes that wait {regroup}")
    if options.write:
        FILE.write_text(json.dumps(asdict(costs), indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
