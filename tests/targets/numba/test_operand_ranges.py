"""Where operands of elementary functions lie, and that twins which use it have the bits of the originals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.analysis.ranges import Interval
from pyflat.functions import vmath
from pyflat.functions.vmath import exact
from pyflat.ir.nodes import Block, Op, Param
from pyflat.ir.ops import VECTOR
from pyflat.ir.parse import parse_function
from pyflat.ir.types import FLOAT
from pyflat.ir.uses import results_of
from pyflat.passes.gather_suspects import gather_suspects
from pyflat.targets.numba import kernel as numba_kernel
from pyflat.targets.numba import loop_variance as operand_ranges
from pyflat.targets.numba.compilation import compile_kernel
from pyflat.targets.numba.kernel import LaneLoop
from pyflat.targets.numba.library import is_vector_function
from tests.analysis.test_ranged_machine import intervals, lanes_in, same, thresholds

INF = math.inf


def ranges(body: str, params: str = "%x: f8, %y: f8, %p: b, %n: i8", form: str = "flat") -> dict[str, Any]:
    """The operands of the functions with a name; the last result of a body with faults is the suspect bit."""
    kinds = "" if not (ends := body.rsplit("yield", 1)[1].strip()) else ", ".join("f8" for _ in ends.split(","))
    fn = gather_suspects(parse_function(f"func @f({params}) -> ({kinds}) {form} @return {{\n{body}\n}}"))
    results = results_of(fn)
    found = operand_ranges.operand_ranges(fn.body, results, results[-1], fn.floats, is_vector_function)
    return {op.name: tuple(map(tuple, each)) for op, each in found.items()}


def lines(text: str) -> str:
    return "\n".join(text.split(" | "))


NEXT = math.nextafter


@pytest.mark.parametrize(
    ("body", "found"),
    [
        # nothing is known
        ("%e = exp %x : f8 | yield %e", None),
        # what the operands say
        ("%a = mul %x, %x : f8 | %b = neg %a : f8 | %e = exp %b : f8 | yield %e", (-INF, 0.0, True)),
        ("%a = abs %x : f8 | %b = add %a, 1.0 : f8 | %e = log %b : f8 | yield %e", (1.0, INF, True)),
        ("%a = mod %x, 360.0 : f8 | %e = sin %a : f8 | yield %e", (0.0, 360.0, True)),
        # an arm of a select
        ("%c = lt %x, 2.0 : b | %e = exp %x : f8 | %r = select %c, %e, 0.0 : f8 | yield %r", (-INF, NEXT(2.0, 0.0), False)),
        ("%c = lt %x, 2.0 : b | %e = exp %x : f8 | %r = select %c, 0.0, %e : f8 | yield %r", (2.0, INF, True)),
        ("%c = lt %x, 2.0 : b | %e = exp %x : f8 | %r = select %c, %e, 0.0 : f8 | yield %r, %e", None),
        ("%c = lt %x, 2.0 : b | %e = exp %x : f8 | %f = mul %e, %y : f8 | %r = select %c, %f, 0.0 : f8 | yield %r",
         (-INF, NEXT(2.0, 0.0), False)),
        # both arms: what they have in common
        ("%c = lt %x, 2.0 : b | %d = lt %x, 1.0 : b | %e = exp %x : f8 | %r = select %c, %e, 0.0 : f8 | %s = select %d, %e, 0.0 : f8 | yield %r, %s", None),
        ("%c = lt %x, 2.0 : b | %e = exp %x : f8 | %r = select %c, %e, 0.0 : f8 | %s = select %c, %e, 1.0 : f8 | yield %r, %s",
         (-INF, NEXT(2.0, 0.0), False)),
        # conditions made of others
        ("%c = lt %x, 2.0 : b | %d = not %c : b | %e = exp %x : f8 | %r = select %d, 0.0, %e : f8 | yield %r",
         (-INF, NEXT(2.0, 0.0), False)),
        ("%c = gt %x, 2.0 : b | %d = lt %x, -2.0 : b | %o = or %c, %d : b | %e = exp %x : f8 | %r = select %o, 0.0, %e : f8 | yield %r", (-2.0, 2.0, True)),
        ("%c = gt %x, 2.0 : b | %d = lt %x, -2.0 : b | %o = or %c, %d : b | %e = exp %x : f8 | %r = select %o, %e, 0.0 : f8 | yield %r", None),
        # the second operand of a conjunction
        ("%c = gt %x, 2.0 : b | %e = exp %x : f8 | %d = lt %e, %y : b | %a = and %c, %d : b | %r = select %a, 1.0, 0.0 : f8 | yield %r", (NEXT(2.0, 3.0), INF, False)),
        ("%c = gt %x, 2.0 : b | %e = exp %x : f8 | %d = lt %e, %y : b | %a = and %d, %c : b | %r = select %a, 1.0, 0.0 : f8 | yield %r", None),
        # lanes in which the original raises
        ('%c = gt %x, 2.0 : b | fault %c ValueError("") | %e = exp %x : f8 | yield %e', (-INF, 2.0, True)),
        ('%c = gt %x, 2.0 : b | %q = and %p, %c : b | fault %q ValueError("") | %e = exp %x : f8 | %r = select %p, %e, 0.0 : f8 | yield %r', (-INF, 2.0, True)),
        ('%c = gt %x, 2.0 : b | %q = and %p, %c : b | fault %q ValueError("") | %e = exp %x : f8 | yield %e', None),
        # what says whether it raises is asked in all lanes, but for those that an earlier fault has
        ('%e = exp %x : f8 | %c = gt %e, 2.0 : b | fault %c ValueError("") | yield 0.0', None),
        ('%c = gt %x, 2.0 : b | fault %c ValueError("") | %e = exp %x : f8 | %d = gt %e, 1.0 : b | fault %d ValueError("") | yield 0.0', (-INF, 2.0, True)),
        ('%e = exp %x : f8 | %d = gt %e, 9.0 : b | fault %d ValueError("") | %c = gt %x, 2.0 : b | fault %c ValueError("") | yield 0.0', None),
        # tests for infinity
        ("%c = isfinite %x : b | %e = exp %x : f8 | %r = select %c, %e, 0.0 : f8 | yield %r",
         (-1.7976931348623157e308, 1.7976931348623157e308, False)),
    ],
)
def test_what_is_found(body, found):
    assert ranges(lines(body)).get("e") == (None if found is None else (found,))


def test_sine_and_cosine_of_an_angle_share_an_interval():
    body = lines("%c = lt %x, 2.0 : b | %d = lt %x, 1.0 : b | %e = sin %x : f8 | %r = select %c, %e, 0.0 : f8 | %f = cos %x : f8 | %s = select %d, %f, 0.0 : f8 | yield %r, %s")
    assert ranges(body) == {"e": ((-INF, NEXT(2.0, 0.0), False),), "f": ((-INF, NEXT(2.0, 0.0), False),)}
    assert ranges(lines("%c = lt %x, 2.0 : b | %e = sin %x : f8 | %r = select %c, %e, 0.0 : f8 | %f = cos %x : f8 | yield %r, %f")) == {}


# --- bits


def compiled(opcode: str, within: Sequence[Interval] | None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The operation as a kernel; with its operands in intervals."""
    params = [Param(FLOAT, f"x{k}") for k in range(2 if opcode.removeprefix("vec_") in ("pow", "atan2", "fmod") else 1)]
    op = Op(opcode, params, FLOAT)
    kernel = LaneLoop(tuple(params), (Block([op]),), (op,), None)
    monkeypatch.setattr(numba_kernel, "ranges_of", lambda _: {} if within is None else {op: tuple(within)})
    return compile_kernel(kernel, (False,) * len(params))[0]


OPCODES = [*exact.TABLE, *VECTOR]
ROUNDS, LANES = 8, 130_000


@pytest.mark.skipif(not exact.has_tables(), reason="needs the tables of the C library")
@pytest.mark.slow
@pytest.mark.parametrize("opcode", OPCODES)
def test_a_million_lanes(opcode, monkeypatch):
    """Kernels for operands in intervals against the one for all numbers, the ends of the intervals among the lanes."""
    whole, random, compared = compiled(opcode, None, monkeypatch), np.random.default_rng(len(opcode)), 0
    name = opcode.removeprefix("vec_")
    row = vmath.TABLE[name] if opcode in VECTOR else exact.TABLE[name]
    edges = thresholds(row.algorithm, row.operands)
    for _ in range(ROUNDS):
        within = intervals(random, edges, row.operands)
        args = [random.permutation(np.resize(lanes_in(random, each, edges, LANES // 2), LANES)) for each in within]
        part, found, expected = compiled(opcode, within, monkeypatch), np.empty(LANES), np.empty(LANES)
        part.run(LANES, [*args, found])
        whole.run(LANES, [*args, expected])
        assert same(found, expected), within
        compared += LANES
    assert compared > 1_000_000


def checked(lat: float, lon: float) -> float:
    if not -90.0 <= lat <= 90.0:
        raise ValueError("no latitude")
    p = math.radians(lat)
    return math.cos(p) * math.sin(math.radians(lon % 360.0)) + math.exp(-p * p) + math.log(1.0 + p * p)


def in_arms(lat: float, lon: float) -> float:
    if lat > 90.0 or lat < -90.0:
        return -1.0
    if lon < 1.0:
        return math.sin(lat) + math.tanh(min(max(lon, -2.0), 2.0)) ** 3.0
    if lon < 50.0:
        return math.log(lon) * math.atan(lat / 90.0) + math.asin(1.0 / lon)
    return (lon / 50.0) ** 1.7 + math.cosh(lat / 100.0)


def in_a_loop(lat: float, lon: float) -> float:
    total, x = 0.0, min(max(lat, 0.0), 1.0)
    while x < 3.0:
        total += math.sin(x) + math.exp(-x) + math.log(x + 1.0)
        if total > lon:
            break
        x += 0.5
    return total


def found_by_isfinite(lat: float, lon: float) -> float:
    if not math.isfinite(lat) or abs(lon) > 5.0:
        return 0.0
    return math.sin(lat * 1e-300) + math.sinh(lon) + math.atan2(abs(lon), 1.0 + lat * lat)


def operands(count: int = 20_000) -> list[np.ndarray]:
    random = np.random.default_rng(3)
    edges = np.array([90.0, -90.0, NEXT(90.0, INF), NEXT(-90.0, -INF), NEXT(90.0, 0.0), 0.0, -0.0, 1.0, NEXT(1.0, 0.0), 50.0,
                      NEXT(50.0, 0.0), 5e-324, -5e-324, 1e300, -1e300, INF, -INF, math.nan, 360.0, 5.0, -5.0, NEXT(5.0, 6.0)])
    lat = np.concatenate([random.uniform(-95, 95, count), np.repeat(edges, len(edges))])
    lon = np.concatenate([random.uniform(-200, 200, count), np.tile(edges, len(edges))])
    return [lat, lon]


@pytest.mark.parametrize("original", [checked, in_arms, in_a_loop, found_by_isfinite])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_twins_have_the_bits_of_the_originals(original, dtype):
    args = operands(3_000)
    twin = pyflat.flatten(original, target="numba", dtype=dtype, errors="mask")
    found, faults = twin.flat(*args)
    other, others = pyflat.flatten(original, target="numpy", dtype=dtype, errors="mask").flat(*args)
    assert same(np.asarray(found), np.asarray(other))
    assert np.array_equal(faults.mask, others.mask)
    if dtype == "float64":
        for k in range(0, len(args[0]), 7):
            lane = [float(each[k]) for each in args]
            try:
                expected = original(*lane)
            except (ValueError, OverflowError, ZeroDivisionError):
                assert faults.mask[k], lane
                continue
            assert not faults.mask[k], lane
            assert same(np.array([found[k]]), np.array([expected])), lane
