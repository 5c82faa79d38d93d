"""Small flat functions, edge lanes, and the comparison of an engine with the interpreter."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyflat.functions.libm import same_bits
from pyflat.ir.build import Builder
from pyflat.ir.faults import fault_condition
from pyflat.ir.interp import run
from pyflat.ir.nodes import FALSE, Const, Function, Label, Param, Value, Yield
from pyflat.ir.ops import PRIMITIVES
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

DTYPES: dict[Kind, Any] = {BOOL: np.bool_, INT: np.int64, FLOAT: np.float64}
EDGES: dict[Kind, tuple[Any, ...]] = {
    BOOL: (False, True),
    INT: (0, 1, -1, 2, -2, 3, 5, 22, 62, 63, 64, 65, 100, 308, -400, 7, -7, 2**31, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)),
    FLOAT: (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 5e-324, -5e-324, 2.2e-308, 1.7e308, -1e308, math.inf, -math.inf,
            math.nan, 2.0**52 + 0.5, 2.0**53, 2.0**63, -(2.0**63), 0.1, 0.3, 1 / 3, 2.675, 3.0, 7.0, -7.0, -8.0, 1e-300, 1e16, 1000.0),
}
TABLES: dict[Kind, tuple[Any, ...]] = {BOOL: (True, False, True), INT: (5, 6, 7, 8), FLOAT: (0.5, -0.0, math.nan)}
CASES = [(row.name, kinds, result) for row in PRIMITIVES.values() if row.name not in ("fault", "ufunc")
         for kinds, result in row.signatures if len(kinds) <= 3]
"""All edge values of all operands together: four operands would be a million rows."""
CASE_IDS = [f"{name}-{''.join(map(str, kinds))}-{result}" for name, kinds, result in CASES]


def one_operation(opcode: str, kinds: Sequence[Kind], result: Kind) -> Function:
    """The fused function of one operation: its value, and its fault condition as the suspect bit."""
    build = Builder()
    params = [Param(kind, f"x{k}") for k, kind in enumerate(kinds)]
    attrs = {"table": TABLES[result]} if opcode == "gather" else {}
    op = build.op(opcode, *params, kind=result, **attrs)
    build.end(Yield([op, fault_condition(build, op) or FALSE]))
    return Function("one", params, build.items, Label("return"), [result, BOOL], "flat")


def identity(kinds: Sequence[Kind], results: Sequence[Any], suspect: Any = FALSE) -> Function:
    """A function without operations; an int in `results` is the number of a parameter."""
    params = [Param(kind, f"x{k}") for k, kind in enumerate(kinds)]
    values = [params[r] if isinstance(r, int) else r for r in results]
    build = Builder()
    build.end(Yield([*values, params[suspect] if isinstance(suspect, int) else suspect]))
    return Function("identity", params, build.items, Label("return"), [*(v.kind for v in values), BOOL], "flat")


OPERATIONS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "neg", "abs", "select", "lt", "eq", "and", "or", "xor", "not",
              "shl", "shr", "ipow", "to_float", "to_int", "floor_int", "round_int", "sqrt", "exp", "pow", "atan2", "hypot",
              "round_digits", "fmod", "copysign", "isnan", "gather", "ldexp")
STRAIGHT = ("add", "sub", "mul", "select", "lt", "and", "sqrt", "abs")
DAG_PARAMS = (FLOAT, FLOAT, INT, BOOL)


def random_dag(size: int, seed: int, operations: Sequence[str] = OPERATIONS, *, faults: bool = True) -> Function:
    """A random fused function of `size` operations with the kinds DAG_PARAMS and one result of each kind."""
    choose, build = random.Random(seed), Builder()
    params = [Param(kind, f"x{k}") for k, kind in enumerate(DAG_PARAMS)]
    pool: dict[Kind, list[Value]] = {
        FLOAT: [*params[:2], Const(FLOAT, 0.5), Const(FLOAT, -0.0), Const(FLOAT, math.inf)],
        INT: [params[2], Const(INT, 3), Const(INT, -(2**63))], BOOL: [params[3], Const(BOOL, True)],
    }
    suspect: Value = FALSE
    while build.built < size:
        row = PRIMITIVES[choose.choice(operations)]
        kinds, result = choose.choice(row.signatures)
        operands = [pool[k][-1 - min(int(choose.expovariate(0.3)), len(pool[k]) - 1)] for k in kinds]
        attrs = {"table": TABLES[result]} if row.name == "gather" else {}
        op = build.op(row.name, *operands, kind=result, **attrs)
        pool[result].append(op)
        condition = fault_condition(build, op) if faults else None
        if condition is not None:
            suspect = build.op("or", suspect, condition)
    build.end(Yield([pool[FLOAT][-1], pool[INT][-1], pool[BOOL][-1], suspect]))
    return Function("dag", params, build.items, Label("return"), [FLOAT, INT, BOOL, BOOL], "flat")


def rows_of(kinds: Sequence[Kind], more: int = 200, most: int = 1500) -> list[tuple[Any, ...]]:
    """Products of edge values, and ordinary random values."""
    choose = random.Random(len(kinds))
    rows = list(itertools.product(*(EDGES[kind] for kind in kinds)))
    rows = rows if len(rows) <= most else choose.sample(rows, most)
    ordinary = {BOOL: lambda: choose.random() < 0.5, INT: lambda: choose.randint(-40, 40),
                FLOAT: lambda: choose.gauss(0, 1) * 10.0 ** choose.uniform(-4, 4)}
    return rows + [tuple(ordinary[kind]() for kind in kinds) for _ in range(more)]


def columns(kinds: Sequence[Kind], rows: Sequence[Sequence[Any]]) -> list[np.ndarray]:
    return [np.array([row[k] for row in rows], dtype=DTYPES[kind]) for k, kind in enumerate(kinds)]


def same_value(a: Any, b: Any) -> bool:
    """The same Python type and the same bits."""
    return type(a) is type(b) and (same_bits(a, b) if isinstance(a, float) else a == b)


def assert_is_interp(fn: Function, engine: Any, rows: Sequence[Sequence[Any]]) -> None:
    """The engine gives the interpreter's values in every lane that is not suspect, and suspects the same lanes."""
    results, suspects = engine(columns([p.kind for p in fn.params], rows), len(rows))
    marks = [False] * len(rows) if suspects is None else suspects.tolist()
    lists = [result.tolist() for result in results]
    assert [result.dtype for result in results] == [DTYPES[kind] for kind in fn.result_kinds[:-1]]
    for lane, row in enumerate(rows):
        *expected, suspect = run(fn, row).values
        assert marks[lane] == suspect, row
        got = [values[lane] for values in lists]
        assert suspect or all(map(same_value, got, expected)), (row, got, expected)
