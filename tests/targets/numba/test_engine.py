"""The numba engine: the interpreter's bits in every lane that is not suspect, one flag, the mask on demand."""

from __future__ import annotations

import ctypes
import math
import re
import signal

import numpy as np
import pytest

import pyflat
from pyflat.errors import FlattenError
from pyflat.functions import libm
from pyflat.ir.build import Builder
from pyflat.ir.nodes import FALSE, TRUE, Const, Function, Label, Param, Yield
from pyflat.ir.ops import PRIMITIVES
from pyflat.ir.parse import parse_function
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.ir.uses import results_of
from pyflat.targets.numba import arms as numba_arms
from pyflat.targets.numba import compiled_kernel
from pyflat.targets.numba import costs as numba_costs
from pyflat.targets.numba import engine as target
from pyflat.targets.numba.costs import MeasuredCosts
from pyflat.targets.numba.kernel import LaneLoop, Shape, write_kernel
from pyflat.targets.numpy import engine as numpy_target
from pyflat.testing import same_bits
from tests.support.concurrency import on_threads
from tests.targets.flat_functions import (
    CASE_IDS,
    CASES,
    DAG_PARAMS,
    EDGES,
    STRAIGHT,
    assert_is_interp,
    columns,
    identity,
    one_operation,
    random_dag,
    rows_of,
)


@pytest.mark.parametrize(("opcode", "kinds", "result"), CASES, ids=CASE_IDS)
def test_every_operation_is_the_interpreters(opcode, kinds, result):
    fn = one_operation(opcode, kinds, result)
    assert_is_interp(fn, target.compile(fn), rows_of(kinds))


@pytest.mark.parametrize("seed", range(15))
def test_random_functions_are_the_interpreters_and_numpys(seed):
    fn = random_dag(60, seed)
    rows = rows_of(DAG_PARAMS, 100, 200)
    engine = target.compile(fn)
    assert_is_interp(fn, engine, rows)
    lanes = columns(DAG_PARAMS, rows)
    results, suspects = engine(lanes, len(rows))
    others, other_suspects = numpy_target.compile(fn)(lanes, len(rows))
    marked = np.zeros(len(rows), bool) if suspects is None else suspects
    assert np.array_equal(marked, np.zeros(len(rows), bool) if other_suspects is None else other_suspects)
    for a, b in zip(results, others, strict=True):
        assert np.array_equal(a[~marked], b[~marked], equal_nan=a.dtype == np.float64)


@pytest.mark.parametrize("operations", [STRAIGHT, (*STRAIGHT, "exp", "mod")], ids=["vectorised", "calls"])
def test_a_long_function_stores_its_mask_at_once(operations):
    fn = random_dag(1_500, 2, operations)
    engine = target.compile(fn)
    assert engine.values.size > target.STORED_MASK
    assert_is_interp(fn, engine, rows_of(DAG_PARAMS, 40, 40))


@pytest.mark.parametrize("operation", ["exp", "pow", "log"])
def test_the_c_library_is_not_recognised(operation):
    """LLVM would fold pow(x, 0.5) into sqrt(x), pow(x, 2) into x*x, and constants into its own results."""
    (kinds, _), *_ = PRIMITIVES[operation].signatures
    for exponent in (0.5, 2.0, -1.0, 3.0):
        build, x = Builder(), Param(FLOAT, "x")
        op = build.op(operation, *[x, Const(FLOAT, exponent)][: len(kinds)])
        folded = build.op(operation, *[Const(FLOAT, 1.1), Const(FLOAT, exponent)][: len(kinds)])
        build.end(Yield([op, folded, FALSE]))
        fn = Function("f", [x], build.items, Label("return"), [FLOAT, FLOAT, BOOL], "flat")
        rows = [(v,) for v in EDGES[FLOAT] if v >= 1e-300 and v < 500] + [(k / 97,) for k in range(1, 3000)]
        assert_is_interp(fn, target.compile(fn), rows)


@pytest.mark.parametrize("n", [0, 1, 7, 64, 1001])
def test_results_do_not_depend_on_the_place_of_a_lane(n):
    fn = random_dag(40, 3, STRAIGHT)
    engine = target.compile(fn)
    rows = rows_of(DAG_PARAMS, 50, 50)
    few, few_suspects = engine(columns(DAG_PARAMS, rows), len(rows))
    results, suspects = engine([np.resize(column, n) for column in columns(DAG_PARAMS, rows)], n)
    for result, pattern in zip(results, few, strict=True):
        assert len(result) == n
        assert result.tobytes() == np.resize(pattern, n).tobytes() if n else True
    assert suspects is None or np.array_equal(suspects, np.resize(few_suspects, n))


def test_calls_of_bounded_length_give_the_same(monkeypatch):
    fn = random_dag(40, 3, STRAIGHT)
    lanes = columns(DAG_PARAMS, rows_of(DAG_PARAMS, 50, 50))
    lanes[0] = lanes[0][0]
    whole, suspects = target.compile(fn)(lanes, 100)
    monkeypatch.setattr(compiled_kernel, "CALL_WORK", 41 * 7)
    parts, part_suspects = target.compile(fn)(lanes, 100)
    assert [a.tobytes() for a in whole] == [b.tobytes() for b in parts]
    assert np.array_equal(suspects, part_suspects)


@pytest.mark.parametrize("uniform", [0b0001, 0b0110, 0b1111])
def test_uniform_arguments_are_scalars(uniform):
    fn = random_dag(50, 11)
    engine = target.compile(fn)
    fixed = rows_of(DAG_PARAMS, 30, 30)[-1]
    rows = [tuple(fixed[k] if uniform >> k & 1 else row[k] for k in range(4)) for row in rows_of(DAG_PARAMS, 30, 30)]
    lanes = columns(DAG_PARAMS, rows)
    results, suspects = engine(lanes, len(rows))
    mixed, mixed_suspects = engine([lane[0] if uniform >> k & 1 else lane for k, lane in enumerate(lanes)], len(rows))
    assert [a.tobytes() for a in results] == [b.tobytes() for b in mixed]
    assert (suspects is None) == (mixed_suspects is None)
    assert suspects is None or np.array_equal(suspects, mixed_suspects)


def test_results_are_fresh_arrays_and_inputs_may_be_read_only():
    fn = identity((FLOAT, BOOL), (0, 0, 1, Const(INT, 7), Const(FLOAT, None)))
    x, p = np.arange(5.0), np.array([True, False, True, False, True])
    x.flags.writeable = False
    (a, b, q, c, d), suspects = target.compile(fn)([x, p], 5)
    assert suspects is None
    assert c.tolist() == [7] * 5
    assert [r.dtype for r in (a, q, c, d)] == [np.float64, np.bool_, np.int64, np.float64]
    a[0] = b[1] = 99.0
    assert x.tolist() == [0, 1, 2, 3, 4]
    assert a.tolist() == [99, 1, 2, 3, 4]
    assert np.array_equal(p, q)


def test_the_mask_comes_only_with_suspect_lanes():
    engine = target.compile(identity((BOOL,), (0,), suspect=0))
    assert engine([np.zeros(3, bool)], 3)[1] is None
    assert engine([np.array([False, True, False])], 3)[1].tolist() == [False, True, False]
    assert engine([np.True_], 3)[1].tolist() == [True] * 3
    assert target.compile(identity((BOOL,), (0,), suspect=TRUE))([np.False_], 2)[1].tolist() == [True, True]


def test_unchecked_does_not_compute_the_suspect_bit():
    fn = one_operation("truediv", (FLOAT, FLOAT), FLOAT)
    engine = target.compile(fn, unchecked=True)
    (values,), suspects = engine([np.array([1.0, 2.0]), np.array([0.0, 4.0])], 2)
    assert suspects is None
    assert values.tolist() == [math.inf, 0.5]
    assert engine.values.size == 1


@pytest.mark.parametrize("engine", [target, numpy_target])
def test_the_floating_point_status_stays(engine):
    get = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int)(libm.library_symbol("fetestexcept"))
    clear = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int)(libm.library_symbol("feclearexcept"))
    run = engine.compile(one_operation("truediv", (FLOAT, FLOAT), FLOAT))
    run([np.ones(64), np.zeros(64)], 64)
    with libm.saved_status():
        clear(0x1F)
        run([np.ones(64), np.zeros(64)], 64)
        assert get(0x1F) == 0


def test_straight_functions_are_vectorised():
    engine = target.compile(random_dag(60, 4, (*STRAIGHT, "floor_int", "to_float", "shl", "isnan", "copysign")))
    engine(columns(DAG_PARAMS, rows_of(DAG_PARAMS, 5, 5)), 10)
    assert "x double>" in engine.inspect_llvm()
    assert "kernel:" in engine.inspect_asm()


def test_threads_share_an_engine():
    engine = target.compile(random_dag(30, 4, STRAIGHT))
    lanes = columns(DAG_PARAMS, rows_of(DAG_PARAMS, 50, 50))
    seen: list[bytes] = []
    on_threads(lambda _: seen.append(engine(lanes, 100)[0][0].tobytes()))
    assert len(seen) == 4
    assert len(set(seen)) == 1


def test_an_interrupt_inside_a_called_function_is_raised(monkeypatch):
    calls = []

    def interrupted(x, mean, deviation):
        calls.append(x)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return mean + x * deviation

    location = libm.callback(interrupted, *[ctypes.c_double] * 3)
    monkeypatch.setattr(libm, "address", lambda name: location)
    engine = target.compile(one_operation("normal_quantile", (FLOAT,) * 3, FLOAT))
    with pytest.raises(KeyboardInterrupt):
        engine([np.arange(1.0, 5.0)] * 3, 4)


def test_too_many_operations_are_refused_with_the_other_target_named(monkeypatch):
    monkeypatch.setattr(target, "MAX_OPERATIONS", 100)
    with pytest.raises(FlattenError, match=r'target="numpy"') as refused:
        target.compile(random_dag(2_000, 1, STRAIGHT))
    assert refused.value.code == "flatten/too-large"


def test_the_source_is_the_ir():
    source = target.compile(one_operation("exp", (FLOAT,), FLOAT)).source
    assert "exp %x0" in source


def with_costly_arms(x, y):
    if x > y:
        return math.exp(x - y) / (1.0 + math.exp(x - y))
    return math.log1p(math.exp(y - x)) * math.atan(y)


def test_one_lane_and_uniform_arguments_of_arms_that_may_be_skipped():
    twin = pyflat.twin(with_costly_arms, target="numba", math="exact")
    for x, y in ((0.5, 0.25), (0.25, 0.5), (math.nan, 1.0)):
        wanted = with_costly_arms(x, y)
        assert same_bits(twin(x, y), wanted)
        assert same_bits(twin(np.array([x]), np.array([y]))[0].item(), wanted)
        assert same_bits(twin(np.full(9, x), y)[8].item(), wanted)


FREE_BRANCHES = MeasuredCosts(branch=0.0, guessed_wrong=1.0)


@pytest.mark.turns(2)
@pytest.mark.parametrize("seed", range(12))
def test_arms_are_skipped_without_changing_a_bit(seed):
    """With every arm behind a branch, however cheap; few lanes, so that many branches are not taken."""
    fn = random_dag(80, seed)
    engine = target.compile(fn)
    rows = rows_of(DAG_PARAMS, 60, 60)
    with numba_costs.assume(FREE_BRANCHES):
        assert_is_interp(fn, engine, rows)
        for row in rows[:20]:
            assert_is_interp(fn, engine, [row])
        results, suspects = engine([column[0] for column in columns(DAG_PARAMS, rows)], 3)
        wanted, wanted_suspects = engine([column[:1] for column in columns(DAG_PARAMS, rows)], 1)
    assert [r.tobytes() for r in results] == [np.resize(w, 3).tobytes() for w in wanted]
    assert (suspects is None) == (wanted_suspects is None)


@pytest.mark.turns(2)
@pytest.mark.parametrize("seed", range(12))
def test_arms_on_what_all_lanes_share(seed):
    """With every arm behind a branch: arguments that are scalars decide about many of them."""
    fn = random_dag(80, seed)
    engine = target.compile(fn)
    fixed, *rows = rows_of(DAG_PARAMS, 40, seed)
    for pattern in ((seed + k) % 15 + 1 for k in (0, 5, 9)):
        shared = [tuple(fixed[k] if pattern >> k & 1 else row[k] for k in range(4)) for row in rows]
        lanes = columns(DAG_PARAMS, shared)
        wanted, wanted_suspects = engine(lanes, len(shared))
        with numba_costs.assume(FREE_BRANCHES):
            mixed = [lane[0] if pattern >> k & 1 else lane for k, lane in enumerate(lanes)]
            results, suspects = target.compile(fn)(mixed, len(shared))
        assert [r.tobytes() for r in results] == [w.tobytes() for w in wanted]
        assert (suspects is None) == (wanted_suspects is None)
        assert suspects is None or np.array_equal(suspects, wanted_suspects)


SCALED = """
func @f(%x: f8, %y: f8, %p: b) -> (f8) flat @return {
  %a = mul %y, %y : f8
  %b = sub %a, %y : f8
  %c = mul %b, %a : f8
  %d = add %c, %b : f8
  %e = mul %d, %x : f8
  %r = select %p, %e, %x : f8
  yield %r
}
"""


@pytest.mark.parametrize(("shared", "loads"), [(True, [1, 1]), (False, [2])])
def test_what_only_an_arm_reads_is_loaded_there(shared, loads):
    fn = parse_function(SCALED)
    kernel = LaneLoop(tuple(fn.params), tuple(fn.body), tuple(results_of(fn)), None)
    text, _ = write_kernel(kernel, (False, False, shared), Shape(8, 1))
    blocks = re.split(r"\n\S+:\n", text)
    assert [block.count("load <8 x double>") for block in blocks if "load <8 x double>" in block] == loads


ARMS = """
func @f(%x: f8, %y: f8) -> (f8, b) flat @return {
  %p = lt %x, 0.0 : b
  %q = gt %y, 1.0 : b
  %0 = and %p, %q : b
  %a = log %y : f8
  %b = exp %a : f8
  %c = eq %b, 0.0 : b
  %d = and %0, %c : b
  %e = select %0, %b, %x : f8
  %g = add %e, 1.0 : f8
  %h = pow %g, %y : f8
  %i = select %0, %h, %g : f8
  yield %i, %d
}
"""


def test_what_arms_hold():
    """The first log and exp wait for both conditions, and the select takes one of them; the power for a value that depends on them: a second arm."""
    fn = parse_function(ARMS)
    ops = fn.flat_block.ops
    steps = numba_arms.plan_arms(ops, results_of(fn), 8)
    assert steps is not None
    arms = [step for step in steps if isinstance(step, numba_arms.Arm)]
    first, second = [[op.opcode for op in arm.items if op.opcode != "and"] for arm in arms]
    assert (first, second) == (["log", "exp", "eq", "select"], ["pow"])
    assert {op.opcode for op in arms[0].results} == {"select", "and"}, "the condition leaves the arm with what it depends on"
    assert all(len(arm.conditions) == 2 and all(wanted for _, wanted in arm.conditions) for arm in arms)
    x, y = np.meshgrid([-1.0, 1.0, math.nan], [0.5, 2.0, -3.0])
    rows = list(zip(x.ravel().tolist(), y.ravel().tolist(), strict=True))
    assert_is_interp(fn, target.compile(fn), rows)


def test_cheap_arms_stay_in_line():
    fn = random_dag(60, 4, STRAIGHT, faults=False)
    assert numba_arms.plan_arms(fn.flat_block.ops[:20], [], 8) is None
