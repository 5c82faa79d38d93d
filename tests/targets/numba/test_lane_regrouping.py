"""Lanes that wait for others that take the same expensive arm: the same bits as without, for every mix of lanes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import pyflat
from pyflat.analysis.liveness import sliced
from pyflat.functions import ways
from pyflat.ir.interp import run
from pyflat.ir.nodes import Function
from pyflat.ir.parse import parse_function
from pyflat.ir.uses import results_of
from pyflat.passes.gather_suspects import gather_suspects
from pyflat.targets.numba import costs as numba_costs
from pyflat.targets.numba import engine as target
from pyflat.targets.numba import lane_regrouping
from pyflat.targets.numba.costs import MeasuredCosts
from pyflat.targets.numba.jit import processor
from pyflat.testing import same_bits
from tests.targets.flat_functions import DAG_PARAMS, assert_is_interp, random_dag, rows_of
from tests.targets.test_masked_loops import compare, rolled_programs

WIDE = processor().vector_bytes >= lane_regrouping.REGISTER
"""Whether lanes can wait for each other: with narrower registers the same tests run without queues."""
ALWAYS = MeasuredCosts(lanes=dict.fromkeys(("exp f8", "log f8", "pow f8"), 2.0), branch=0.0, guessed_wrong=1.0, regroup=0.0)


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Every arm has a queue, in every call; notes for which kernels there were any."""
    monkeypatch.setattr(lane_regrouping, "EARLY", math.inf)
    from pyflat.targets.numba import kernel as numba_kernel

    noted: list[bool] = []
    plan = lane_regrouping.plan_regrouping

    def noting(*args):
        found = plan(*args)
        noted.append(found is not None)
        return found

    monkeypatch.setattr(numba_kernel, "plan_regrouping", noting)
    with numba_costs.assume(ALWAYS), ways.forced(refill="plain", regroup="waiting"):
        yield noted


def planned(fn: Function, costs: MeasuredCosts) -> lane_regrouping.Regrouping | None:
    with numba_costs.assume(costs):
        return lane_regrouping.plan_regrouping(sliced(fn.body, results_of(fn)), results_of(fn), (), fn.params, 8, 1)


ARM = """
func @f(%x: f8, %y: f8) -> (f8) flat @return {
  %p = lt %x, 0.0 : b
  %a = vec_log %y : f8
  %b = select %p, %a, %x : f8
  yield %b
}
"""


def test_expensive_arms_have_a_queue_and_cheap_ones_none():
    fn = parse_function(ARM)
    found = planned(fn, MeasuredCosts(registers={"vec_log f8": 400.0}, branch=1.0, guessed_wrong=20.0, regroup=100.0))
    assert found is not None
    assert [(queue.conditions[0][1], queue.most) for queue in found.arms] == [(True, 6)]
    assert [op.opcode for op in found.early[0].ops] == ["lt"]
    assert planned(fn, MeasuredCosts(registers={"vec_log f8": 150.0}, branch=1.0, guessed_wrong=20.0, regroup=100.0)) is None


def test_a_condition_that_costs_as_much_as_its_arm_is_not_computed_twice():
    fn = parse_function(ARM.replace("%p = lt %x, 0.0 : b", "%z = vec_exp %x : f8\n  %p = lt %z, 0.5 : b"))
    expensive = {"vec_log f8": 400.0}
    assert planned(fn, MeasuredCosts(registers={**expensive, "vec_exp f8": 90.0}, branch=1.0, guessed_wrong=20.0)) is not None
    assert planned(fn, MeasuredCosts(registers={**expensive, "vec_exp f8": 110.0}, branch=1.0, guessed_wrong=20.0)) is None


def test_conditions_that_are_the_same_in_all_lanes_make_no_queue():
    fn = parse_function(ARM)
    costs = MeasuredCosts(registers={"vec_log f8": 400.0}, branch=1.0, guessed_wrong=20.0)
    x, y = fn.params
    with numba_costs.assume(costs):
        assert lane_regrouping.plan_regrouping(fn.body, results_of(fn), [x], [y], 8, 1) is None
        assert lane_regrouping.plan_regrouping(fn.body, results_of(fn), [], [x, y], 8, 1) is not None


@pytest.mark.turns(2)
@pytest.mark.parametrize("seed", range(20))
def test_random_functions(seed, queues):
    fn = random_dag(80, seed)
    assert_is_interp(fn, target.compile(fn), rows_of(DAG_PARAMS, 100, 300))


def test_random_functions_have_queues(queues):
    for seed in range(20):
        fn = random_dag(80, seed)
        engine = target.compile(fn)
        assert_is_interp(fn, engine, rows_of(DAG_PARAMS, 20, 30))
    assert (sum(queues) >= 5) == WIDE


def test_random_loops(queues):
    for seed, fn, masked in rolled_programs(range(300, 330)):
        fused = gather_suspects(masked)
        compare(fused, fn, seed, target.compile(fused), 100)
    assert (sum(queues) >= 5) == WIDE


CONDITION = """
func @f(%x: f8, %y: f8) -> (f8, b) flat @return {
  %p = lt %x, 0.0 : b
  %n = mul %y, 3.0 : f8
  %m = select %p, %n, %x : f8
  %q = gt %m, 1.0 : b
  %a = mul %y, %y : f8
  %d = add %a, %x : f8
  %b = select %q, %d, %y : f8
  yield %b, false
}
"""


def test_conditions_with_arms_of_their_own(queues):
    """What decides who waits is computed as a whole, also what it would have in an arm."""
    fn = parse_function(CONDITION)
    engine = target.compile(fn)
    x, y = np.array(list(itertools.product(np.linspace(-3, 3, 25), repeat=2))).T
    (got,), _ = engine([x, y], len(x))
    assert queues == [True] * WIDE
    assert got.tolist() == [run(fn, row).values[0] for row in zip(x.tolist(), y.tolist(), strict=True)]


def mixed(arm: float, x: float, y: float) -> tuple[float, bool, int]:
    """Arms with functions, one with a loop, one that fails for some lanes; results of all kinds."""
    trips = 0
    if arm < 1.0:
        while y < 1e6 and trips < 90:
            y = y * math.exp(x) + 1.0
            trips += 1
        return y, True, trips
    if arm < 2.0:
        return math.log(x - 0.25) * math.exp(y) + y ** (x + 1.5), False, 1
    return x + y, x < y, 2


MIXES = {
    "random": lambda rng, n: rng.integers(0, 3, n),
    "one in ten": lambda rng, n: np.where(rng.random(n) < 0.1, rng.integers(0, 2, n), 2),
    "one in a hundred": lambda rng, n: np.where(rng.random(n) < 0.01, 0, 2),
    "sorted": lambda rng, n: np.sort(rng.integers(0, 3, n)),
    "all in 0": lambda rng, n: np.zeros(n, int),
    "all in 2": lambda rng, n: np.full(n, 2),
}


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("count", [1, 7, 96, 97, 1003])
def test_values_faults_and_kinds_of_every_mix(mix, count, queues):
    rng = np.random.default_rng(count)
    arm = MIXES[mix](rng, count).astype(float)
    x, y = rng.uniform(0.2, 2.0, count), rng.uniform(0.1, 2.0, count)
    twin = pyflat.twin(mixed, target="numba", math="exact", errors="mask", loops="masked", cache=False)
    values, faults = twin(arm, x, y)
    for i in range(count):
        if arm[i] == 1.0 and x[i] <= 0.25:
            assert faults[i].type is ValueError
            continue
        wanted = mixed(arm[i].item(), x[i].item(), y[i].item())
        assert faults[i] is None
        assert all(same_bits(column[i].item(), want) for column, want in zip(values, wanted, strict=True))
    assert any(queues) == WIDE


def test_results_may_be_written_over_operands(queues):
    rng = np.random.default_rng(2)
    arm, x, y = rng.integers(0, 2, 800).astype(float), rng.uniform(0.5, 2.0, 800), rng.uniform(0.5, 2.0, 800)
    ufunc = pyflat.twin(lambda arm, x, y: math.log(x) + x**y if arm < 1.0 else x * y, target="numba").ufunc
    wanted = ufunc(arm, x, y)
    assert ufunc(arm, x, y, out=x) is x
    assert np.array_equal(x, wanted)
    assert any(queues) == WIDE


def test_bool_operands_and_float32_lanes_wait_too(queues):
    def choose(rare: bool, x: float, k: int) -> float:
        return math.exp(x) * math.log(x + k) if rare else x

    rng = np.random.default_rng(4)
    rare, x, k = rng.random(500) < 0.2, rng.uniform(0.5, 2.0, 500), rng.integers(1, 9, 500)
    found = pyflat.twin(choose, target="numba", math="exact")(rare, x, k)
    assert [choose(*row) for row in zip(rare.tolist(), x.tolist(), k.tolist(), strict=True)] == found.tolist()
    narrow = pyflat.twin(lambda rare, x: math.exp(x) * math.log(x) if rare else x, target="numba", dtype="float32")
    half = x.astype(np.float32)
    together, alone = narrow(rare, half), [narrow(rare[i:i + 1], half[i:i + 1])[0] for i in range(500)]
    assert together.dtype == np.float32
    assert np.array_equal(together, np.array(alone))
    assert (sum(queues) >= 2) == WIDE


def test_the_choice_between_both_ways_changes_nothing(monkeypatch):
    """Trials of one gang each, so that both ways run parts of the same call, and stretches of all lengths."""
    from pyflat.targets.numba import kernel as numba_kernel

    def fn(x: float) -> float:
        if x > 0.75:
            return math.log(x) ** 1.5 + math.exp(-x) ** x if x > 1.0 else math.pow(x, 3.3)
        return x

    xs = np.random.default_rng(4).uniform(0.0, 2.0, 20_011)
    with numba_costs.assume(ALWAYS):
        reference = pyflat.twin(fn, target="numba", math="fast", cache=False)
        monkeypatch.setattr(numba_kernel, "plan_regrouping", lambda *_: None)
        wanted = reference(xs)
        monkeypatch.undo()
    with numba_costs.assume(ALWAYS), ways.forced(regroup="turns"):
        twin = pyflat.twin(fn, target="numba", math="fast", cache=False)
        assert same_bits(twin(xs), wanted)
        assert same_bits(twin(xs[::3]), wanted[::3])


def test_narrower_registers_have_no_queues(monkeypatch):
    """Also where all operands are bools, which are bytes in memory."""
    from pyflat.targets.numba import lane_regrouping
    from pyflat.targets.numba.jit import Processor

    narrow = Processor("haswell", "+avx,+avx2")
    assert narrow.vector_bytes == 32
    monkeypatch.setattr(lane_regrouping, "processor", lambda: narrow)
    assert not lane_regrouping.can_wait(4, [lane_regrouping.I8])
    assert not lane_regrouping.can_wait(8, [lane_regrouping.I8])
