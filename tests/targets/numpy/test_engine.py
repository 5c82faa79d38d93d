"""The NumPy engine: the interpreter's bits in every lane that is not suspect, fresh results, blocks, no warnings."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pyflat
from pyflat.functions import ways
from pyflat.ir.build import Builder
from pyflat.ir.formats import F8, dtypes
from pyflat.ir.nodes import FALSE, TRUE, Const, Function, Label, Op, Param, Yield
from pyflat.ir.ops import PRIMITIVES
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.targets.numba import engine as numba_target
from pyflat.targets.numpy import blocks as numpy_blocks
from pyflat.targets.numpy import engine as target
from pyflat.targets.numpy import memory as numpy_memory
from pyflat.targets.numpy.spelling import spelling
from tests.targets.flat_functions import (
    CASE_IDS,
    CASES,
    DAG_PARAMS,
    STRAIGHT,
    assert_is_interp,
    columns,
    identity,
    one_operation,
    random_dag,
    rows_of,
)


@pytest.fixture(params=["few", "bits", "compiled"])
def style(request):
    """Selects as they are written for few lanes and for many, before and after there is compiled code."""
    with ways.forced(selects=request.param, library="vector" if request.param == "compiled" else "plain"):
        yield


@pytest.fixture(params=["gathered", "whole"])
def cheap_arms(request, monkeypatch):
    """Everything under a condition is an arm, whose lanes are always gathered or never."""
    monkeypatch.setattr(target, "FEW", 0)
    monkeypatch.setattr(target, "LEAST", 0)
    monkeypatch.setattr(numpy_blocks, "WORTH", 0.1)
    monkeypatch.setattr(numpy_blocks, "_all_of_them", lambda *_: "c == n" if request.param == "gathered" else "c")


@pytest.fixture
def poisoned(monkeypatch):
    """All temporaries begin with random bytes."""
    random = np.random.default_rng(7)

    def take():
        arena = numpy_memory.Arena(1 << 18)
        arena._seen["i1"][:] = random.integers(-128, 128, 1 << 18, np.int8)
        return arena

    monkeypatch.setattr(numpy_memory, "take", take)


SELECTS = ("select",) * 6 + ("lt", "gt", "eq", "not", "and", "or", "add", "sub", "mul", "neg", "gather", "to_float", "sqrt")


@pytest.mark.parametrize(("opcode", "kinds", "result"), CASES, ids=CASE_IDS)
def test_every_operation_is_the_interpreters(opcode, kinds, result, style):
    fn = one_operation(opcode, kinds, result)
    assert_is_interp(fn, target.compile(fn), rows_of(kinds))


@pytest.mark.parametrize("seed", range(25))
def test_random_functions_are_the_interpreters(seed, style):
    fn = random_dag(60, seed)
    assert_is_interp(fn, target.compile(fn), rows_of(DAG_PARAMS, 100, 200))


@pytest.mark.parametrize("seed", range(200, 230))
def test_selects_are_the_interpreters(seed, style, poisoned):
    fn = random_dag(60, seed, SELECTS)
    assert_is_interp(fn, target.compile(fn), rows_of(DAG_PARAMS, 100, 200))


@pytest.mark.parametrize("seed", range(300, 340))
def test_arms_of_selects_are_the_interpreters(seed, cheap_arms, poisoned):
    fn = random_dag(90, seed, SELECTS)
    assert_is_interp(fn, target.compile(fn), rows_of(DAG_PARAMS, 100, 200))


@pytest.mark.parametrize(("opcode", "literal"), [("add", 3), ("mul", 3), ("and", -2), ("and", 7), ("mod", 5), ("mod", -5)])
def test_indices_of_a_table_may_be_negative(opcode, literal, style):
    build = Builder()
    x = Param(INT, "x")
    index = build.op(opcode, x, Const(INT, literal))
    table = tuple(float(k) for k in range(20))
    build.end(Yield([build.op("gather", index, kind=FLOAT, table=table), FALSE]))
    fn = Function("f", [x], build.items, Label("return"), [FLOAT, BOOL], "flat")
    assert_is_interp(fn, target.compile(fn, unchecked=True), [(k,) for k in range(-6, 6)])


@pytest.mark.parametrize("seed", [seed for seed in range(100, 140) if seed not in (101, 115)])  # these have none
def test_arms_are_the_interpreters(seed, cheap_arms):
    fn = random_dag(80, seed)
    engine = target.compile(fn)
    assert "def arm" in engine.source
    assert_is_interp(fn, engine, rows_of(DAG_PARAMS, 100, 200))


@pytest.mark.parametrize("n", [0, 1, target.BLOCK - 1, target.BLOCK, target.BLOCK + 1, 40_000])
def test_results_do_not_depend_on_the_block_a_lane_is_in(n):
    fn = random_dag(40, 3)
    engine = target.compile(fn)
    rows = rows_of(DAG_PARAMS, 50, 50)
    whole = [np.resize(column, n) for column in columns(DAG_PARAMS, rows)]
    results, suspects = engine(whole, n)
    few, few_suspects = engine(columns(DAG_PARAMS, rows), len(rows))
    assert all(len(result) == n for result in results)
    for result, pattern in zip(results, few, strict=True):
        assert result.tobytes() == np.resize(pattern, n).tobytes() if n else result.size == 0
    assert (suspects is None) == (n == 0)
    if suspects is not None:
        assert np.array_equal(suspects, np.resize(few_suspects, n))


@pytest.mark.parametrize("uniform", range(16))
def test_uniform_arguments_are_scalars(uniform):
    fn = random_dag(50, 11)
    engine = target.compile(fn)
    row = rows_of(DAG_PARAMS, 30, 30)[-1]
    rows = [tuple(row[k] if uniform >> k & 1 else other[k] for k in range(4)) for other in rows_of(DAG_PARAMS, 30, 30)]
    lanes = columns(DAG_PARAMS, rows)
    results, suspects = engine(lanes, len(rows))
    mixed, mixed_suspects = engine([lane[0] if uniform >> k & 1 else lane for k, lane in enumerate(lanes)], len(rows))
    marked = np.zeros(len(rows), bool) if suspects is None else suspects
    assert np.array_equal(marked, np.zeros(len(rows), bool) if mixed_suspects is None else mixed_suspects)
    for a, b in zip(results, mixed, strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a[~marked], b[~marked], equal_nan=a.dtype == np.float64)


def test_results_are_fresh_arrays():
    fn = identity((FLOAT,), (0, 0, Const(INT, 7), Const(FLOAT, None)))
    x = np.arange(5.0)
    (a, b, c, d), suspects = target.compile(fn)([x], 5)
    assert suspects is None
    assert c.tolist() == [7] * 5
    assert c.dtype == np.int64
    assert d.dtype == np.float64
    a[0] = b[1] = 99.0
    assert x.tolist() == [0, 1, 2, 3, 4]
    assert a.tolist() == [99, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", [BOOL, INT, FLOAT])
def test_a_condition_is_true_for_any_byte(kind):
    fn = one_operation("select", (BOOL, kind, kind), kind)
    condition = np.array([0, 1, 2, 255], dtype=np.uint8).view(np.bool_)
    a, b = np.array([1, 1, 1, 1], dtype=dtypes(F8)[kind]), np.zeros(4, dtype=dtypes(F8)[kind])
    for engine in (target.compile(fn), numba_target.compile(fn)):
        assert engine([condition, a, b], 4)[0][0].tolist() == [0, 1, 1, 1]


def test_one_mask_serves_all_selects_of_a_condition():
    build = Builder()
    c, x, n = params = [Param(BOOL, "c"), Param(FLOAT, "x"), Param(INT, "n")]
    first = build.op("select", c, x, Const(FLOAT, -0.0))
    second = build.op("select", c, Const(INT, 3), n)
    third = build.op("select", c, Const(FLOAT, math.nan), first)
    build.end(Yield([first, second, third, FALSE]))
    fn = Function("f", params, build.items, Label("return"), [FLOAT, INT, FLOAT, BOOL], "flat")
    engine = target.compile(fn)
    assert engine.source.count("negative(") == 1
    assert_is_interp(fn, engine, rows_of((BOOL, FLOAT, INT)))


def test_the_mask_comes_only_with_suspect_lanes():
    fn = identity((BOOL,), (0,), suspect=0)
    engine = target.compile(fn)
    assert engine([np.zeros(3, bool)], 3)[1] is None
    assert engine([np.array([False, True, False])], 3)[1].tolist() == [False, True, False]
    assert engine([np.True_], 3)[1].tolist() == [True] * 3
    assert target.compile(identity((BOOL,), (0,), suspect=TRUE))([np.False_], 2)[1].tolist() == [True, True]
    assert target.compile(identity((BOOL,), (0,), suspect=FALSE))([np.False_], 2)[1] is None


def test_unchecked_does_not_compute_the_suspect_bit():
    fn = one_operation("truediv", (FLOAT, FLOAT), FLOAT)
    checked, unchecked = target.compile(fn), target.compile(fn, unchecked=True)
    lanes = [np.array([1.0, 2.0]), np.array([0.0, 4.0])]
    assert checked(lanes, 2)[1].tolist() == [True, False]
    (values,), suspects = unchecked(lanes, 2)
    assert suspects is None
    assert values.tolist() == [math.inf, 0.5]
    assert "equal(" in checked.source
    assert "equal(" not in unchecked.source


def test_no_warning_and_the_error_state_stays(recwarn):
    fn = one_operation("exp", (FLOAT,), FLOAT)
    engine = target.compile(fn)
    with np.errstate(all="raise"):
        before = np.geterr()
        engine([np.array([1e9, math.nan, -1e9])], 3)
        engine([np.float64(1e9)], 3)
        assert np.geterr() == before
    assert not recwarn.list


def test_temporaries_are_deleted_after_their_last_use():
    source = target.compile(random_dag(200, 5, STRAIGHT)).source
    alive = most = 0
    for line in source.splitlines():
        if line.startswith(("    t", "    m")):
            alive += 1
        elif line.startswith("    del "):
            alive -= line.count(",") + 1
        most = max(most, alive)
    assert most < 60


@pytest.mark.parametrize("row", PRIMITIVES.values(), ids=PRIMITIVES)
def test_every_operation_has_a_spelling(row):
    if row.name == "fault":
        return
    (kinds, result), *_ = row.signatures
    text = spelling(Op(row.name, [Const(kind, None) for kind in kinds], result))
    named = {"table": "(1, 2)"} if row.name == "gather" else {}
    assert compile(text.format(*"abcd", **named), "spelling", "eval")


def test_a_long_function_compiles():
    fn = random_dag(30_000, 1, STRAIGHT)
    (_, _, _), _ = target.compile(fn)(columns(DAG_PARAMS, rows_of(DAG_PARAMS, 5, 5)), 10)


def rotated(x, n):
    a, b, c, d, e, f, g, h = x, x + 1.0, x + 2.0, x * 2.0, x - 1.0, x - 2.0, x * 3.0, x
    while n > 0:
        a, b, c, d, e, f, g, h = (2.5 if b > a else b), c, d, e, f, g, h, a
        n -= 1
    return a + b * c - d + e * f - g + h


def test_names_of_literals_are_no_names_of_loop_variables():
    """With many lanes a select has the bits of its literal."""
    rng = np.random.default_rng(1)
    x, n = rng.normal(size=2 * target.LEAST), rng.integers(0, 6, 2 * target.LEAST)
    found = pyflat.twin(rotated, target="numpy")(x, n)
    assert found.tolist() == [rotated(*lane) for lane in zip(x.tolist(), n.tolist(), strict=True)]


def under_two_conditions(x: float, y: float) -> tuple[float, bool, bool]:
    both, neither = x > 1.0 and y > 1.0, not x > 1.0 and not y > 1.0
    found = 0.0
    if x > 1.0:
        if y > 1.0:
            found = math.erf(x) * math.gamma(y)
        else:
            found = math.lgamma(x) + math.erfc(y)
    elif y <= 1.0:
        found = math.gamma(1.5 + x) - math.erf(y)
    return found, both, neither


def test_an_arm_takes_the_mask_of_a_bool_with_its_conditions():
    columns = np.random.default_rng(0).uniform(0, 2, (2, 9_000))
    twin = pyflat.twin(under_two_conditions, target="numpy", math="exact")
    wanted = [under_two_conditions(*row) for row in columns.T.tolist()]
    for found, column in zip(twin(*columns), zip(*wanted, strict=True), strict=True):
        assert np.array_equal(found, column)
