"""The printed NumPy text computes what the interpreter computes on the flat function, bit for bit."""

from __future__ import annotations

import math
import random
import warnings

import numpy as np
import pytest

from pyflat.ir.build import Builder, const
from pyflat.ir.interp import run
from pyflat.ir.nodes import Op, Param, Value
from pyflat.ir.types import BOOL, FLOAT, INT
from tests.targets.text.text_support import DTYPES, function, run_numpy, specialised

NAMES = ["x", "y", "n", "p", "h", "x_1", "t0", "c0", "np", "lanes", "select", "abs", "math", "lambda_", "twin"]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.75, 1e300, 1e-310, math.inf, -math.inf, math.nan]
INTS = [0, 1, -1, 2, 7, -13, 2**31, 2**53 + 1, -(2**62)]
UNARY = {FLOAT: ["neg", "abs", "floor", "sqrt"], INT: ["neg", "abs", "invert"], BOOL: ["not"]}
BINARY = {FLOAT: ["add", "sub", "mul", "truediv", "copysign"], INT: ["add", "sub", "mul", "and", "or", "xor"],
          BOOL: ["and", "or", "xor"]}
COMPARE = ["eq", "ne", "lt", "le", "gt", "ge"]


def random_function(seed: int, size: int = 30):
    """A flat function with user names that collide and live ranges that overlap."""
    rng = random.Random(seed)
    params = [Param(FLOAT, "x"), Param(FLOAT, "y"), Param(INT, "n"), Param(BOOL, "p")]
    if seed % 3 == 0:
        params.append(Param(FLOAT, rng.choice(["np", "select", "lanes", "abs"])))
    build = Builder()
    pool: dict = {kind: [v for v in params if v.kind is kind] for kind in (FLOAT, INT, BOOL)}

    def pick(kind) -> Value:
        if rng.random() < 0.15:
            return const(rng.choice({FLOAT: FLOATS, INT: INTS, BOOL: [True, False]}[kind]))
        recent = pool[kind][-4:] if rng.random() < 0.7 else pool[kind]
        return rng.choice(recent)

    for _ in range(size):
        kind = rng.choice([FLOAT, FLOAT, INT, BOOL])
        shape = rng.random()
        name = rng.choice(NAMES) if rng.random() < 0.45 else ""
        if shape < 0.2:
            op = build.op(rng.choice(UNARY[kind]), pick(kind), name=name)
        elif shape < 0.6:
            op = build.op(rng.choice(BINARY[kind]), pick(kind), pick(kind), name=name)
        elif shape < 0.75:
            op = build.op(rng.choice(COMPARE), pick(kind), pick(kind), name=name)
        elif shape < 0.95:
            op = build.op("select", pick(BOOL), pick(kind), pick(kind), name=name)
        else:
            op = build.op("to_float", pick(INT), name=name)
        pool[op.kind].append(op)
    ops = [v for values in pool.values() for v in values]
    results = [rng.choice(ops) for _ in range(rng.randint(1, 3))] + [pool[FLOAT][-1]]
    return function(params, build, results)


def lanes_of(fn, seed: int, n: int = 24) -> list[np.ndarray]:
    rng = random.Random(seed)
    values = {FLOAT: FLOATS, INT: INTS, BOOL: [True, False]}
    return [np.array([rng.choice(values[p.kind]) for _ in range(n)], dtype=DTYPES[p.kind]) for p in fn.params]


def _total(ufunc):
    def call(*args):
        with np.errstate(all="ignore"):
            return float(ufunc(*map(np.float64, args)))
    return call


TOTAL = {"exact_float": float, "truediv": _total(np.divide), "sqrt": _total(np.sqrt)}
"""What flat operations give in lanes where Python raises: the interpreter would give just anything."""


def same_bits(a, b) -> bool:
    return repr(a) == repr(b) or (a != a and b != b)


@pytest.mark.parametrize("seed", range(250))
def test_text_computes_what_interp_computes(seed):
    fn = random_function(seed)
    source = f"def f({', '.join(p.name for p in fn.params)}): return made_up()"
    spec = specialised(source, fn)
    arrays = lanes_of(fn, seed)
    before = [a.copy() for a in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = run_numpy(spec, fn, arrays)
    for lane in range(len(arrays[0])):
        wanted = run(fn, [a[lane].item() for a in arrays], elementary=TOTAL).values
        got = [np.broadcast_to(np.asarray(v), (24,))[lane].item() for v in found]
        assert len(got) == len(wanted)
        assert all(same_bits(a, b) for a, b in zip(got, wanted, strict=True)), lane
    for a, b in zip(arrays, before, strict=True):
        assert a.tobytes() == b.tobytes()


def test_random_functions_have_what_the_printer_must_survive():
    """The generator really makes collisions: names used twice, names of ours, values that outlive their name."""
    names = [op.name for seed in range(250) for op in random_function(seed).flat_block.ops if isinstance(op, Op)]
    assert {"np", "select", "c0", "t0", "x_1"} <= set(names)
    assert sum(names.count(n) for n in ("x", "h")) > 300
