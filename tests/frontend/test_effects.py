"""Functions that write to captured objects: scratch, counters and caches flatten, what a lane could see of another is
refused. The originals run in between, and change the objects."""

import functools
import math
import sys
import warnings
from types import FunctionType

import numpy as np
import pytest

import pyflat
from pyflat.testing import in_kind, lane_of, same_bits

XS = np.array([0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 2.5, -7.25, 100.0, math.inf, -math.inf, math.nan, 4.0, 1e300])
NS = np.array([0, 1, 2, 3, 7, -1, 5, 2, 12, 3])
BUFFER = [0.0] * 3
STATS = {"scale": 2.0, "calls": 0, "last": None}
COUNT = 0
LAST = 0.0
EMPTY: dict = {}
FILLED = {0: 100, 1: 200}
PAIRS: dict = {}
SHARED: dict = {}
NO_KEY: dict = {}
ROOTS: dict = {}
TRIED: dict = {}
ASKED: dict = {3: 7}
HALVES: dict = {}
FULL = {k: k for k in range(100)}


class Solver:
    def __init__(self):
        self.n, self.k, self.pair, self.cache, self.buffer = 0, 3.0, (0.0, 0.0), {}, [0.0, 0.0]

    def solve(self, x):
        self.n += 1
        self.pair = (x, x * self.k)
        return self.sum()

    def sum(self):
        return self.pair[0] + self.pair[1]

    @property
    def second(self):
        return self.pair[1]

    @property
    def doubled(self):
        return self.n * 2

    def filled(self, x):
        self.buffer[0] = x
        self.buffer[1] = self.buffer[0] * 2
        return self.buffer

    def remembered(self, n):
        if n not in self.cache:
            self.cache[n] = n * self.k
        return self.cache[n]

    def __call__(self, x):
        self.n += 1
        return x + self.k


SOLVER = Solver()
SOLVERS = (Solver(), Solver())


def scratch_list(x):
    BUFFER[0] = x
    BUFFER[1] = 2 * x
    BUFFER[-1] = BUFFER[0] * BUFFER[1]
    return sum(BUFFER) + len(BUFFER) + BUFFER[2]


def scratch_in_a_loop(x):
    BUFFER[0] = 0.0
    for i in range(4):
        BUFFER[0] += x * i
    return BUFFER[0]


def scratch_in_a_kept_loop(n):
    BUFFER[0], i = 0.0, 0
    while i < n:
        BUFFER[0] = BUFFER[0] * 0.5 + i
        i += 1
    return BUFFER[0]


def scratch_on_both_paths(x):
    if x > 0:
        BUFFER[0] = x
    else:
        BUFFER[0] = -x
    return BUFFER[0] * 2


def _put(v):
    BUFFER[0] = v


def _take():
    return BUFFER[0]


def scratch_between_helpers(x):
    _put(x)
    a = _take()
    _put(x + 1)
    b = _take()
    _put(x * 2)
    return a - b * _take()


def scratch_around_an_exception(x):
    try:
        BUFFER[0] = 1 / x
    except ZeroDivisionError:
        BUFFER[0] = 7.0
    return BUFFER[0]


def scratch_and_a_constant_of_a_dict(x):
    STATS["calls"] += 1
    STATS["last"] = x
    return STATS["last"] * STATS["scale"]


def counter_under_a_condition(x):
    if x > 0:
        STATS["calls"] += 1
    return x


def counter_that_is_global(x):
    global COUNT
    COUNT += 1
    return x * 2


def scratch_that_is_global(x):
    global LAST
    LAST = x * 2
    return LAST + _last()


def _last():
    return LAST


def scratch_read_by_the_module(x):
    global LAST
    LAST = x
    return sys.modules[__name__].LAST + 1 if THIS is None else THIS.LAST + 1


THIS = sys.modules[__name__]


def attributes(x):
    return SOLVER.solve(x)


def attribute_by_a_property(x):
    SOLVER.solve(x)
    return SOLVER.second


def list_of_an_object(x):
    a, b = SOLVER.filled(x)
    return a + b


def cache_of_an_object(n):
    return SOLVER.remembered(n)


def counting_object(x):
    return SOLVER(x)


def objects_in_a_tuple(x):
    total = 0.0
    for solver in SOLVERS:
        solver.pair = (x, 1.0)
        total += solver.sum()
    return total


def _counted(fn):
    @functools.wraps(fn)
    def inner(*args):
        inner.calls += 1
        return fn(*args)

    inner.calls = 0
    return inner


@_counted
def _doubled(x):
    return x * 2


def counted_calls(x):
    return _doubled(x) + _doubled(1.0)


def _counting():
    count, last = 0, 0.0

    def run(x):
        nonlocal count, last
        count += 1
        last = x * 3
        return last + 1

    return run


count_of_a_closure = _counting()


def cache(n):
    if n in EMPTY:
        return EMPTY[n]
    found = n * n - 1
    EMPTY[n] = found
    return found


def cache_with_entries(n):
    if n not in FILLED:
        FILLED[n] = n * n
    return FILLED[n]


def cache_asked_with_get(n):
    found = ASKED.get(n)
    if found is None:
        found = n + 1
        ASKED[n] = found
    return found


def cache_that_is_tried(n):
    try:
        return TRIED[n]
    except KeyError:
        pass
    TRIED[n] = n * 3
    return TRIED[n]


def _product(n, k):
    if (n, k) not in PAIRS:
        PAIRS[n, k] = n * k
    return PAIRS[n, k]


def cache_of_pairs(n):
    return _product(n, 2) + _product(2, n) + _product(n, 3)


def _square(n, memo={}):  # noqa: B006
    if n not in memo:
        memo[n] = n * n
    return memo[n]


def cache_in_a_default(n):
    return _square(n) + _square(n + 1) + _square(n)


def _fibonacci(n, memo={0: 0, 1: 1}):  # noqa: B006
    if n not in memo:
        memo[n] = _fibonacci(n - 1) + _fibonacci(n - 2)
    return memo[n]


def cache_of_a_recursion(n):
    return _fibonacci(20) * n + _fibonacci(7)


def _memoised(fn):
    results = {}

    @functools.wraps(fn)
    def inner(*args):
        if args not in results:
            results[args] = fn(*args)
        return results[args]

    return inner


@_memoised
def _slow(n, k):
    return n * 10 + k


def cache_of_a_decorator(n):
    return _slow(n, 1) + _slow(n, 2)


def cache_under_a_condition(x):
    if x > 0:
        if x not in ROOTS:
            ROOTS[x] = math.sqrt(x)
        return ROOTS[x]
    return -1.0


def REFUSED_reads_before_it_writes(x):
    before = BUFFER[0]
    BUFFER[0] = x
    return before


def REFUSED_writes_on_one_path(x):
    if x > 0:
        BUFFER[0] = x
    return BUFFER[0]


def REFUSED_writes_in_a_loop_that_may_not_run(n):
    i = 0
    while i < n:
        BUFFER[0] = 1.0
        i += 1
    return BUFFER[0]


def REFUSED_helper_reads_before(x):
    a = _take()
    _put(x)
    return a + _take()


def REFUSED_item_that_differs_by_lane(n):
    BUFFER[n % 3] = 1.0
    return BUFFER[0]


def REFUSED_counter_that_is_read(x):
    STATS["calls"] += 1
    return STATS["calls"] * x


def REFUSED_counter_that_is_multiplied(x):
    STATS["scale"] *= 1.5
    return x


def REFUSED_length_of_a_written_dict(x):
    STATS["last"] = x
    return len(STATS) + x


def REFUSED_keys_of_a_written_dict(x):
    STATS["last"] = x
    return sum(1 for _ in STATS)


def REFUSED_counter_by_a_property(x):
    SOLVER.solve(x)
    return SOLVER.doubled


def REFUSED_counter_by_dict(x):
    SOLVER.n += 1
    return SOLVER.__dict__["n"] * x


def REFUSED_writes_by_dict(x):
    SOLVER.__dict__["k"] = x
    return SOLVER.k


def REFUSED_global_that_is_a_result(x):
    global LAST
    LAST = x
    return x


def REFUSED_item_that_is_a_result(x):
    BUFFER[0] = x
    BUFFER[1] = BUFFER[0]
    return BUFFER[0]


def REFUSED_attribute_that_is_a_result(x):
    SOLVER.pair = (x, 1.0)
    return x


def REFUSED_log(x):
    HISTORY.append(x)
    return x


HISTORY: list = []


def REFUSED_global_read_before(x):
    global LAST
    before = LAST
    LAST = x
    return before


def REFUSED_global_read_by_the_module_before(x):
    global LAST
    before = THIS.LAST
    LAST = x
    return before


def REFUSED_calls_of_a_counted_function(x):
    return _doubled(x) + _doubled.calls


def REFUSED_key_without_an_argument(n):
    return _keyless(n, 2) + _keyless(n, 3)


def _keyless(n, k):
    if n not in NO_KEY:
        NO_KEY[n] = n * k
    return NO_KEY[n]


def _one(n):
    SHARED[n] = n + 1
    return SHARED[n]


def _other(n):
    SHARED[n] = n + 2
    return SHARED[n]


def REFUSED_two_functions_of_one_cache(n):
    return _one(n) + _other(n)


def REFUSED_two_kinds_of_keys(n):
    return _half(n) + _half(float(n))


def _half(n):
    if n not in HALVES:
        HALVES[n] = n / 2
    return HALVES[n]


def REFUSED_full_cache(n):
    if n not in FULL:
        FULL[n] = n
    return FULL[n]


def REFUSED_number_of_entries(n):
    EMPTY[n] = n
    return len(EMPTY)


FUNCTIONS = [v for k, v in list(globals().items())
             if callable(v) and getattr(v, "__module__", "") == __name__ and k[0] != "_" and isinstance(v, FunctionType)]
FLATTENED = [fn for fn in FUNCTIONS if not fn.__name__.startswith("REFUSED_")]
REFUSED = [fn for fn in FUNCTIONS if fn.__name__.startswith("REFUSED_")]


def arguments(fn):
    return NS if fn.__code__.co_varnames[0] == "n" else XS


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", FLATTENED, ids=lambda fn: fn.__name__)
def test_every_lane_is_pythons(fn, target):
    xs = arguments(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pyflat.LaneWarning)
        twin = pyflat.twin(fn, target=target, errors="mask")
        first = twin(xs)
    expected = [fn(x) for x in xs.tolist()]
    for values, faults in (first, twin(xs)):
        assert not faults.any()
        for lane, want in enumerate(expected):
            got = lane_of(values, lane, len(xs))
            assert same_bits(got, in_kind(want, got)), (xs[lane], want, got)


@pytest.mark.parametrize("fn", REFUSED, ids=lambda fn: fn.__name__)
def test_what_a_lane_could_see_of_another_is_refused(fn):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(pyflat.FlattenError) as caught:
            pyflat.twin(fn)(arguments(fn))
    assert caught.value.diagnostic.span is not None
    assert caught.value.diagnostic.help


def test_what_the_twin_leaves_unwritten_is_told_once():
    BUFFER[:] = [5.0, 6.0, 7.0]

    def writes(x):
        BUFFER[0] = x
        return BUFFER[0] + 1

    twin = pyflat.twin(writes)
    with pytest.warns(pyflat.LaneWarning, match=r"the original writes \[0\] of a captured list"):
        twin(np.array([1.5, 2.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin(np.array([1, 2]))
    assert BUFFER == [5.0, 6.0, 7.0]


def test_a_constant_beside_a_counter_is_watched():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pyflat.LaneWarning)
        twin = pyflat.twin(scratch_and_a_constant_of_a_dict)
        assert twin(3.0) == 6.0
        STATS["scale"] = 5.0
        try:
            assert twin(3.0) == 15.0
        finally:
            STATS["scale"] = 2.0


def large(x):
    buffer = np.zeros(2000)
    buffer[5] = x
    return buffer[5]


def large_in_place(x):
    buffer = np.zeros(2000)
    buffer += x
    return buffer[5]


def of_another_dtype(x):
    buffer = np.zeros(3, "f4")
    buffer[0] = x
    return buffer[0]


TABLE = np.zeros(3)


def captured(x):
    TABLE[0] = x
    return x


@pytest.mark.parametrize(("fn", "code", "message"), [
    (large, "flatten/too-large", "an item of an array of 2,000 elements is written"),
    (large_in_place, "flatten/too-large", "changes an array of 2,000 elements in place"),
    (of_another_dtype, "flatten/effect", "an item of an array of dtype float32 is written"),
    (captured, "flatten/effect", "an item of an array that is not made in the function is written")])
def test_a_written_array_is_called_what_it_is(fn, code, message):
    with pytest.raises(pyflat.FlattenError, match=message) as refused:
        pyflat.twin(fn)(np.ones(2))
    assert refused.value.code == code


def test_an_array_argument_of_a_graph_is_called_what_it_is():
    from pyflat.inspection import dataflow

    def written(a, x):
        a[0] = x
        return x

    with pytest.raises(pyflat.FlattenError, match="an array that is not made in the function"):
        dataflow.lower(written, [np.zeros(3), 1.0])
