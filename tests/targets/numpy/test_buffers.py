"""Buffers of the NumPy engine: nothing else has them while a run goes on, results are never in them, and they are given
back."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import pyflat
from pyflat.ir.build import Builder
from pyflat.ir.nodes import FALSE, Const, Function, Label, Param, Yield
from pyflat.ir.opaque_calls import Call
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.targets.numpy import engine as target
from pyflat.targets.numpy import extremes as numpy_extremes
from pyflat.targets.numpy import frames as numpy_frames
from pyflat.targets.numpy import library as numpy_library
from pyflat.targets.numpy import memory as numpy_memory
from tests.support.concurrency import on_threads
from tests.targets.flat_functions import EDGES, assert_is_interp, identity

BLOCK = target.BLOCK


def wave(x: float, y: float) -> float:
    if x > y:
        return math.sqrt(x * x + 1.0) * y - x
    if x < 0.25:
        return (x - y) * (x + y) * 0.5
    return x * y + 1.0


def steps(x: float) -> int:
    n = 0
    while x > 1.0:
        x = x * 0.5
        n += 1
    return n


def data(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.uniform(-2.0, 2.0, n), random.uniform(-2.0, 2.0, n)


def expected(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array([wave(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)])


# --- memory


def test_views_of_a_frame_do_not_overlap():
    layout = numpy_memory.ArenaLayout([("f8", "i8"), ("b1", "i1"), ("f4",), ("f8",)])
    arena = numpy_memory.Arena(1 << 16)
    for n in (1, 7, 1024):
        arena.top = 0
        first, second = arena.bottom(layout, n), arena.frame(layout, n)
        groups = [[frame[0], frame[2], frame[4], frame[5]] for frame in (first, second)]
        for a, b in itertools.combinations([*groups[0], *groups[1]], 2):
            assert not np.may_share_memory(a, b)
        assert np.shares_memory(first[0], first[1])
        assert first[2].dtype == np.bool_
        assert all(view.size == n and view.flags.aligned for view in first)


def test_what_does_not_fit_is_made_anew():
    layout = numpy_memory.ArenaLayout([("f8", "i8")] * 4)
    arena = numpy_memory.Arena(1 << 10)
    views = arena.bottom(layout, 64)
    for a, b in itertools.combinations(views[::2], 2):
        assert not np.may_share_memory(a, b)
    assert np.shares_memory(views[6], views[7])


def test_frames_are_remembered_but_not_for_ever():
    layout = numpy_memory.ArenaLayout([("f8",)])
    arena = numpy_memory.Arena(1 << 16)
    assert arena.bottom(layout, 10)[0] is arena.bottom(layout, 10)[0]
    for n in range(1, 3 * numpy_memory.REMEMBERED):
        arena.bottom(layout, n)
    assert len(arena._frames) <= numpy_memory.REMEMBERED


def test_arenas_are_given_back_and_few_are_kept():
    numpy_memory.forget()
    taken = [numpy_memory.take() for _ in range(3 * numpy_memory.KEPT)]
    assert len(set(map(id, taken))) == len(taken)
    for arena in taken:
        numpy_memory.give_back(arena)
    assert len(numpy_memory._free) == numpy_memory.KEPT
    numpy_memory.forget()
    assert not numpy_memory._free
    twin = pyflat.twin(wave, target="numpy")
    for n in (3, 300, 3_000, 50_000):
        for _ in range(4):
            twin(*data(n))
    assert len(numpy_memory._free) == 1


# --- who runs at the same time


def doubled(x: float) -> float:
    return x * 2.0


def around(x: float, y: float) -> float:
    a = x * y + 1.0
    b = doubled(a)
    return b - a * x if x > 0.0 else b + a * y


@pytest.mark.parametrize("n", [5, 300, 3_000, BLOCK + 100])
def test_a_twin_called_inside_of_a_run_of_itself(n):
    depth = [0]

    def arrays(x):
        if depth[0] < 3:
            depth[0] += 1
            twin(*data(n, depth[0]))
        return x * 2.0

    twin = pyflat.twin(around, target="numpy", whitelist=[Call("doubled", arrays=arrays)])
    x, y = data(n)
    for _ in range(3):
        depth[0] = 0
        assert np.array_equal(twin(x, y), [around(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)])
        assert depth[0] == 3


def test_a_kept_call_may_keep_its_arguments():
    seen = []

    def arrays(x):
        seen.append(x)
        return x * 2.0

    twin = pyflat.twin(around, target="numpy", whitelist=[Call("doubled", arrays=arrays)])
    x, y = data(1_000)
    twin(x, y)
    before = seen[0].copy()
    twin(*data(1_000, 1))
    assert np.array_equal(seen[0], before)


def test_an_exception_in_the_middle_of_a_run():
    calls = itertools.count()

    def arrays(x):
        if next(calls) == 1:
            raise ZeroDivisionError("in the second block")
        return x * 2.0

    twin = pyflat.twin(around, target="numpy", whitelist=[Call("doubled", arrays=arrays)])
    x, y = data(3 * BLOCK)
    with pytest.raises(ZeroDivisionError, match="second block"):
        twin(x, y)
    assert np.array_equal(twin(x, y), [around(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)])


@pytest.mark.parametrize("n", [40, 900, 5_000, 3 * BLOCK])
def test_several_threads_run_one_twin(n):
    twin = pyflat.twin(wave, target="numpy", parallel=False)
    lanes = [data(n, seed) for seed in range(4)]
    wanted = [expected(*each) for each in lanes]
    wrong = []

    def work(k):
        for _ in range(60_000 // n + 5):
            if not np.array_equal(twin(*lanes[k]), wanted[k]):
                wrong.append(k)

    on_threads(work)
    assert not wrong


# --- results


@pytest.mark.parametrize("dtype", ["float64", "float32", "input"])
def test_blocks_of_all_sizes(dtype):
    twin = pyflat.twin(wave, target="numpy", dtype=dtype)
    kind = np.float32 if dtype != "float64" else np.float64
    x, y = (column.astype(kind) for column in data(2 * BLOCK + 77))
    whole = twin(x, y)
    assert whole.dtype == kind
    for n in (0, 1, 2, target.FEW, target.FEW + 1, target.LEAST, target.LEAST + 1, BLOCK - 1, BLOCK, BLOCK + 1):
        for _ in range(3):
            assert twin(x[:n], y[:n]).tobytes() == whole[:n].tobytes()
    few = [twin(x[k:k + 1], y[k:k + 1])[0] for k in range(0, 2 * BLOCK, 999)]
    assert np.array_equal(few, whole[:2 * BLOCK:999])


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 5), (40, 50), (1, 1), (200, 300)])
def test_arrays_of_several_axes(shape):
    twin = pyflat.twin(wave, target="numpy")
    x, y = (column.reshape(shape) for column in data(math.prod(shape)))
    wanted = expected(x.ravel(), y.ravel()).reshape(shape)
    for _ in range(3):
        assert np.array_equal(twin(x, y), wanted)
        assert np.array_equal(twin(x.copy(order="F"), y), wanted)
        assert np.array_equal(twin(x[::-1], y[::-1]), wanted[::-1])
        assert np.array_equal(twin(x, 0.5), twin(x, np.full(shape, 0.5)))


@pytest.mark.parametrize("n", [4, 1_000, 2 * BLOCK + 5])
def test_results_share_no_memory(n):
    build = Builder()
    x, k = params = [Param(FLOAT, "x"), Param(INT, "k")]
    total = build.op("add", x, x)
    build.end(Yield([total, x, total, k, Const(FLOAT, 2.5), total, FALSE]))
    fn = Function("f", params, build.items, Label("return"), [FLOAT, FLOAT, FLOAT, INT, FLOAT, FLOAT, BOOL], "flat")
    engine = target.compile(fn)
    given = [np.arange(n, dtype=np.float64), np.arange(n)]
    first, _ = engine(given, n)
    kept = [result.copy() for result in first]
    again, _ = engine([given[0] * 3.0, given[1]], n)
    for a, b in zip(first, kept, strict=True):
        assert np.array_equal(a, b)
    for a, b in itertools.combinations([*first, *again, *given], 2):
        assert not np.may_share_memory(a, b)
    assert np.array_equal(first[0], given[0] * 2)
    assert np.array_equal(first[5], first[2])


def test_the_mask_shares_no_memory():
    build = Builder()
    x = Param(FLOAT, "x")
    negative = build.op("lt", x, Const(FLOAT, 0.0))
    build.end(Yield([x, negative]))
    fn = Function("f", [x], build.items, Label("return"), [FLOAT, BOOL], "flat")
    engine = target.compile(fn)
    _, first = engine([np.array([1.0, -1.0, 2.0])], 3)
    _, second = engine([np.array([-1.0, 1.0, 2.0])], 3)
    assert first.tolist() == [False, True, False]
    assert second.tolist() == [True, False, False]


def test_loops_beside_other_temporaries():
    def both(x: float, y: float) -> float:
        a = x * y
        return a * steps(abs(x) * 100.0) + steps(abs(y) * 1000.0) - a

    twin = pyflat.twin(both, target="numpy")
    for n in (1, 200, 5_000, 2 * BLOCK + 1):
        x, y = data(n)
        wanted = [both(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        for _ in range(3):
            assert np.array_equal(twin(x, y), wanted)
        assert twin(float(x[0]), float(y[0])) == wanted[0]


# --- ways that are measured


@pytest.fixture
def nothing_compiled(monkeypatch):
    monkeypatch.setattr(numpy_library.Patience, "after", lambda self, n: None)


def test_both_ways_are_tried_and_one_is_chosen(nothing_compiled):
    engine = target.compile(identity((FLOAT,), (0,)))
    made = engine._patterns.of(("lanes",))
    x = np.arange(1_000.0)
    size = (1_000).bit_length()
    for _ in range(2 * target.TRIES):
        assert isinstance(made.choices[size], target._Choice)
        assert np.array_equal(engine.entry_point([np.dtype(float)]).run(x)[0], x)
    assert made.choices[size] in [made.function(style)[0] for style in ("few", "bits")]
    for _ in range(target.AGAIN):
        engine.entry_point([np.dtype(float)]).run(x)
    assert isinstance(made.choices[size], target._Choice) or made.choices[size] in [
        made.function(style)[0] for style in ("few", "bits")]
    assert made._ticks() > target.AGAIN


@pytest.mark.parametrize("few", [True, False])
def test_the_way_that_takes_less_time_is_chosen(few, nothing_compiled, monkeypatch):
    engine = target.compile(identity((FLOAT,), (0,)))
    made = engine._patterns.of(("lanes",))
    clock = itertools.count()
    styles = itertools.cycle(["few", "bits"])
    now = [0.0]

    def perf_counter():
        if next(clock) % 2:
            now[0] += 1.0 if (next(styles) == "few") is few else 2.0
        return now[0]

    monkeypatch.setattr(target.time, "perf_counter", perf_counter)
    for _ in range(2 * target.TRIES):
        engine.entry_point([np.dtype(float)]).run(np.arange(1_000.0))
    assert made.choices[(1_000).bit_length()] is made.function("few" if few else "bits")[0]


def test_with_compiled_code_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(numpy_library.Patience, "after", lambda self, n: "compiled")
    engine = target.compile(identity((FLOAT,), (0,)))
    made = engine._patterns.of((False,))
    x = np.arange(1_000.0)
    assert np.array_equal(made.entry_point((x.dtype,)).run(x)[0], x)
    assert set(made._functions) == {"compiled"}


# --- extremes


@pytest.mark.parametrize("comparison", ["lt", "le", "gt", "ge"])
@pytest.mark.parametrize("order", list(itertools.product([0, 1], repeat=2)))
@pytest.mark.parametrize("literal", [2.0, -1.5, math.inf, -math.inf, 0.0, -0.0, math.nan])
def test_extremes_of_a_literal_are_the_interpreters(comparison, order, literal, monkeypatch):
    monkeypatch.setattr(target, "FEW", 0)
    monkeypatch.setattr(target, "LEAST", 0)
    build = Builder()
    x, other = Param(FLOAT, "x"), Const(FLOAT, literal)
    first, second = ((x, other), (other, x))[order[0]]
    condition = build.op(comparison, first, second)
    taken, left = ((x, other), (other, x))[order[1]]
    build.end(Yield([build.op("select", condition, taken, left), FALSE]))
    fn = Function("f", [x], build.items, Label("return"), [FLOAT, BOOL], "flat")
    found = numpy_extremes.find_extremes(fn)
    assert (found is fn) == (literal == 0.0 or math.isnan(literal))
    rows = [(value,) for value in [*EDGES[FLOAT], literal, math.nextafter(literal, 9.0)]]
    assert_is_interp(fn, target.compile(fn), rows)


@pytest.mark.parametrize("comparison", ["lt", "le", "gt", "ge"])
@pytest.mark.parametrize("swapped", [False, True])
def test_extremes_of_ints_are_the_interpreters(comparison, swapped):
    build = Builder()
    a, b = params = [Param(INT, "a"), Param(INT, "b")]
    condition = build.op(comparison, a, b)
    build.end(Yield([build.op("select", condition, *((b, a) if swapped else (a, b))), FALSE]))
    fn = Function("f", params, build.items, Label("return"), [INT, BOOL], "flat")
    assert numpy_extremes.find_extremes(fn) is not fn
    assert_is_interp(fn, target.compile(fn), list(itertools.product(EDGES[INT], repeat=2)))


NUMBERS = [1.5, -2.0, 3.25, -0.5, 7.0, math.inf, -math.inf]
SPECIAL = [0.0, -0.0, math.nan]


@pytest.mark.parametrize("comparison", ["lt", "le", "gt", "ge"])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("values", [NUMBERS, [*NUMBERS, *SPECIAL], SPECIAL], ids=["numbers", "all", "special"])
@pytest.mark.parametrize(("few", "extremes"), [(0, 0), (512, 1024), (512, 0)])
def test_extremes_of_two_floats_are_the_interpreters(comparison, swapped, values, few, extremes, monkeypatch):
    monkeypatch.setattr(target, "FEW", few)
    monkeypatch.setattr(target, "LEAST", 0)
    monkeypatch.setattr(numpy_frames, "FEW_EXTREMES", extremes)
    build = Builder()
    x, y = params = [Param(FLOAT, "x"), Param(FLOAT, "y")]
    condition = build.op(comparison, x, y)
    one = build.op("select", condition, *((y, x) if swapped else (x, y)))
    build.end(Yield([one, build.op("sub", one, x), FALSE]))
    fn = Function("f", params, build.items, Label("return"), [FLOAT, FLOAT, BOOL], "flat")
    assert numpy_extremes.find_extremes(fn) is not fn
    engine = target.compile(fn)
    assert ("maximum(" in engine.source) != ("minimum(" in engine.source)
    for _ in range(6):  # more often than it is tried
        assert_is_interp(fn, engine, list(itertools.product(values, repeat=2)))
    rows = list(itertools.product(values, repeat=2))
    mixed, _ = engine([np.array([row[0] for row in rows]), np.float64(values[0])], len(rows))
    assert_is_interp(fn, engine, [(row[0], values[0]) for row in rows])
    whole, _ = engine([np.array([row[0] for row in rows]), np.full(len(rows), values[0])], len(rows))
    assert [each.tobytes() for each in mixed] == [each.tobytes() for each in whole]


def test_an_extreme_that_fails_is_not_tried_for_ever(monkeypatch):
    monkeypatch.setattr(target, "FEW", 0)
    monkeypatch.setattr(target, "LEAST", 0)
    twin = pyflat.twin(lambda x, y: max(x, y), target="numpy")
    tried = []
    monkeypatch.setitem(target._NAMES, "maximum", lambda *args, out: (tried.append(1), np.maximum(*args, out=out)))
    x = np.array([0.0, 1.0])
    for _ in range(9):
        assert twin(x, -x).tobytes() == np.array([0.0, 1.0]).tobytes()
    assert len(tried) == 3


def test_other_selects_are_no_extremes():
    build = Builder()
    x, y = params = [Param(FLOAT, "x"), Param(FLOAT, "y")]
    condition = build.op("lt", x, y)
    equal = build.op("eq", x, y)
    one = build.op("select", equal, x, y)
    two = build.op("select", condition, x, Const(FLOAT, 2.0))
    build.end(Yield([one, two, FALSE]))
    fn = Function("f", params, build.items, Label("return"), [FLOAT, FLOAT, BOOL], "flat")
    assert numpy_extremes.find_extremes(fn) is fn
