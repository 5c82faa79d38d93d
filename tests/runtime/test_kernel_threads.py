"""Kernels on several threads: the bits, exceptions and partial writes of one, and which calls are for several."""

from __future__ import annotations

import concurrent.futures
import math
import multiprocessing.process
import os
import signal
import threading
import time
import types
import warnings

import numpy as np
import pytest

import pyflat
from pyflat.functions import ways
from pyflat.runtime import kernel_threads
from pyflat.targets import threads
from tests.generator.kernels.differential import bits
from tests.support.concurrency import on_threads
from tests.support.patience import HANG

pytest.importorskip("numba")
from numba import prange  # noqa: E402

RANDOM = np.random.default_rng(41)
A = RANDOM.normal(size=(37, 21))


def product(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            out[i, j] = s


def backwards(a, out):
    if len(a) != len(out):
        raise ValueError("lengths")
    for i in range(len(a) - 2, 0, -3):
        out[i] = math.exp(a[i - 1]) + a[i + 1]


def triangle(a, out):
    n = len(a)
    for i in range(n):
        s = 0.0
        for j in range(i):
            s += math.sqrt(abs(a[i] - a[j]))
        out[i] = s


def waves(a, out):
    for i in range(len(a)):
        out[i] = math.sin(a[i])


def shifted(a, k):
    for i in range(k, len(a)):
        a[i] = a[i] * 2.0 + k


def picked(a, index, out):
    for i in range(len(index)):
        out[i] = a[index[i]]


def from_the_end(a):
    for i in range(len(a) - 1, -1, -2):
        a[i - 1] = a[i]


def divided(a, out):
    for i in range(len(a)):
        if a[i] < 0.0:
            raise ValueError(f"negative at {i}")
        out[i] = 1.0 / np.sqrt(a[i])
        a[i] = 0.5


def steps(a, out, times):
    for i in prange(a.shape[0]):
        for _ in range(times):
            for j in range(a.shape[1]):
                out[i, j] = out[i, j] * 0.5 + a[i, j]


def turns(a, out, times):
    for i in range(a.shape[0]):
        for _ in range(times):
            for j in range(a.shape[1]):
                out[i, j] = out[i, j] * 0.5 + a[i, j]


def new_arrays(a):
    n, m = a.shape
    out, sums = np.zeros((n, m), np.float32), np.full(n, 2.5)
    for i in range(1, n):
        for j in range(m):
            out[i, j] = math.sin(a[i - 1, j])
            sums[i] += a[i, j]
    return out, sums, a


def total(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s


def running(a, out):
    for i in range(1, len(a)):
        out[i] = out[i - 1] + a[i]


def squares(x, out):
    for i in range(len(x)):
        out[i] = x[i] * x[i]


CALLS = {
    product: (A, A.T.copy(), np.zeros((37, 37))), backwards: (A.ravel(), np.zeros(A.size)), triangle: (A.ravel(), np.zeros(A.size)),
    waves: (A.ravel(), np.zeros(A.size)), shifted: (A.ravel(), 5), picked: (A.ravel(), np.arange(300)[::-1].copy(), np.zeros(300)),
    new_arrays: (A,), steps: (A, np.zeros(A.shape), 7), turns: (A, np.zeros(A.shape), 7),
}


def copied(arguments):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def new(function, **options):
    """The twin of a copy, which knows no calls."""
    return pyflat.twin(types.FunctionType(function.__code__, function.__globals__, function.__name__), target="numba", **options)


def ran(call, arguments):
    """What a call gives, raises, warns and leaves in its arguments."""
    given = copied(arguments)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = bits(call(*given))
        except Exception as error:  # noqa: BLE001 - compared
            result = type(error), str(error)
    return result, [bits(a) for a in given], [str(w.message) for w in caught if w.category is not pyflat.PerformanceWarning]


@pytest.fixture
def shares(monkeypatch):
    """How many pieces calls on threads had, as if there were three cores and all work were worth it."""
    seen, share = [], threads.share
    monkeypatch.setattr(threads, "share", lambda part, n, seconds: (seen.append(n), share(part, n, seconds))[1])
    monkeypatch.setattr(threads, "PIECE", 1e-9)
    monkeypatch.setenv("PYFLAT_NUM_THREADS", "3")
    return seen


@pytest.mark.parametrize("count", ["1", "2", "3"])
@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_the_bits_do_not_depend_on_the_threads(shares, monkeypatch, function, count):
    monkeypatch.setenv("PYFLAT_NUM_THREADS", count)
    wanted = ran(function, CALLS[function])
    twin = pyflat.twin(function, target="numba", parallel=True)
    for _ in range(3):
        assert ran(twin, CALLS[function]) == wanted
    assert bool(shares) == (count != "1")
    assert twin.stats.replayed == 0


def with_index(at, value):
    index = np.arange(300)
    index[at] = value
    return A.ravel(), index, np.zeros(300)


@pytest.mark.parametrize(("function", "arguments"), [
    (divided, (np.where(np.arange(400) == 250, -1.0, 2.0), np.zeros(400))),
    (divided, (np.where(np.isin(np.arange(400), [30, 390]), -1.0, 2.0), np.zeros(400))),
    (divided, (np.where(np.arange(400) == 250, 0.0, 2.0), np.zeros(400))),
    (picked, with_index(200, 5000)), (picked, with_index([3, 250], -5000)), (picked, with_index(7, -1)),
    (backwards, (np.where(np.arange(60) == 31, 1e3, 0.0), np.zeros(60))), (backwards, (A.ravel(), np.zeros(3))),
    (new_arrays, (np.zeros((1, 4)),)), (new_arrays, (np.zeros((0, 4)),)), (new_arrays, (np.full((9, 2), np.inf),)),
    (waves, (np.zeros(0), np.zeros(0))), (waves, (np.ones(1), np.zeros(1))), (shifted, (np.zeros(10), 50)),
    (shifted, (np.ones(10), -3)), (waves, (np.zeros(9), np.zeros(5)))], ids=lambda each: getattr(each, "__name__", ""))
def test_exceptions_warnings_and_partial_writes_are_those_of_one_thread(shares, function, arguments):
    wanted = ran(function, arguments)
    twin = pyflat.twin(function, target="numba", parallel=True)
    for _ in range(2):
        assert ran(twin, arguments) == wanted


def test_warnings_that_are_errors_leave_what_the_original_leaves(shares):
    a = np.where(np.isin(np.arange(400), [100, 350]), 0.0, 2.0)
    with np.errstate(divide="raise"):
        wanted = ran(divided, (a, np.zeros(400)))
        assert ran(pyflat.twin(divided, target="numba", parallel=True), (a, np.zeros(400))) == wanted
    assert wanted[0][0] is FloatingPointError


@pytest.mark.parametrize(("function", "arguments", "why"), [
    (total, (A.ravel(),), "it returns a number"), (running, (A.ravel(), np.zeros(A.size)), "may depend on each other")])
def test_what_threads_cannot_share_is_said_once(shares, function, arguments, why):
    twin = pyflat.twin(function, target="numba", parallel=True)
    with pytest.warns(pyflat.PerformanceWarning, match=f"parallel=True: calls stay on one thread, as .*{why}"):
        twin(*copied(arguments))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin(*copied(arguments))
    assert not shares
    assert why in twin.explain().one_thread and why in str(twin.explain())
    with pyflat.options(parallel=True), warnings.catch_warnings():
        warnings.simplefilter("error")
        pyflat.twin(function, target="numba")(*copied(arguments))


def test_an_index_from_the_end_is_for_one_thread(shares):
    """The last iteration writes what the first one has read."""
    twin, a = new(from_the_end, parallel=True), RANDOM.normal(size=301)
    for _ in range(2):
        assert ran(twin, (a,)) == ran(from_the_end, (a,))
    assert shares == [151] and twin.stats.replayed == 0
    assert "from the end" in twin.explain().one_thread


def test_an_array_that_overlaps_itself_is_for_one_thread(shares):
    a = np.lib.stride_tricks.as_strided(np.zeros(60), (40, 20), (8, 8))

    def numbered(a):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = i

    with pytest.warns(pyflat.PerformanceWarning, match="an argument overlaps itself"):
        pyflat.twin(numbered, target="numba", parallel=True)(a)
    assert a[:, 0].tolist() == list(range(40)) and not shares


def test_prange_asks_for_threads(shares):
    twin = pyflat.twin(steps, target="numba")
    assert ran(twin, CALLS[steps]) == ran(steps, CALLS[steps])
    assert len(shares) == 1 and "threads share its iterations" in str(twin.explain())
    assert ran(pyflat.twin(steps, target="numba", parallel=False), CALLS[steps]) and len(shares) == 1

    def summed(a):
        s = 0.0
        for i in prange(len(a)):
            s += a[i]
        return s

    with pytest.warns(pyflat.PerformanceWarning, match="prange: calls stay on one thread, as it returns a number"):
        pyflat.twin(summed, target="numba")(A.ravel())


# --- where nothing is said
@pytest.fixture
def free(monkeypatch, shares):
    """Calls that take longer than nothing are for threads, where cores are free."""
    monkeypatch.setattr(threads, "WORTH_IT", 1e-9)
    monkeypatch.setattr(threads, "_running", lambda: 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    return shares


def called(times=4):
    twin = new(product)
    for _ in range(times):
        assert ran(twin, CALLS[product])[:2] == ran(product, CALLS[product])[:2]


def test_calls_that_take_long_are_for_threads(free):
    called(2)
    assert free == []  # the first has compiled, and the second was timed
    called(4)
    assert free == [37, 37]


def test_busy_cores_and_workers_of_pools_are_left_alone(free, monkeypatch):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(called).result()
    monkeypatch.setattr(multiprocessing.process, "parent_process", lambda: object())
    called()
    monkeypatch.setattr(multiprocessing.process, "parent_process", lambda: None)
    monkeypatch.setattr(threads, "_running", lambda: 2)
    called()
    assert free == []


def test_a_plan_gives_long_calls_back(free, monkeypatch):
    monkeypatch.setattr(threads, "WORTH_IT", 1e-3)
    twin = new(triangle)
    small, large = (RANDOM.normal(size=n) for n in (20, 6000))
    for _ in range(4):
        twin(small, np.zeros(20))
    assert twin.stats.in_steps < 4
    for _ in range(4):
        twin(large, np.zeros(6000))
    assert free == [6000] * len(free) and free
    before = twin.stats.in_steps
    twin(small, np.zeros(20))
    assert twin.stats.in_steps == before, "small ones have their plan still"


def test_one_call_that_was_held_up_does_not_end_a_plan(free, monkeypatch):
    monkeypatch.setattr(threads, "WORTH_IT", 5e-3)
    twin, a = new(turns), np.ones((40, 40))
    for times in (1, 1, 1, 20_000, 1, 1, 1, 1):  # with arrays of one size
        before = twin.stats.in_steps
        twin(a, np.zeros((40, 40)), times)
    assert twin.stats.in_steps == before


def test_kernels_of_numpy_stay_on_one_thread(shares):
    with pytest.warns(pyflat.PerformanceWarning, match="runs on one core"):
        pyflat.twin(waves, target="numpy", parallel=True)(*copied(CALLS[waves]))
    assert not shares


# --- calls that meet
def test_calls_at_once(shares):
    twin, wanted, found = pyflat.twin(triangle, target="numba", parallel=True), ran(triangle, CALLS[triangle]), []
    on_threads(lambda _: found.extend(ran(twin, CALLS[triangle])[1] for _ in range(5)))
    assert found == [wanted[1]] * 20


def test_the_original_runs_where_pyflat_is_disabled(shares, monkeypatch):
    monkeypatch.setenv("PYFLAT_DISABLE", "1")
    called(3)
    assert not shares


def test_ctrl_c_ends_a_call_when_no_thread_writes_any_more(shares, monkeypatch):
    begun, running = threading.Event(), []
    do = threads._Iterations.do

    def slow(self, start, stop):
        running.append(start)
        begun.set()
        time.sleep(0.2)
        do(self, start, stop)
        running.remove(start)

    twin = pyflat.twin(waves, target="numba", parallel=True)
    twin(*copied(CALLS[waves]))
    monkeypatch.setattr(threads._Iterations, "do", slow)

    def interrupt():
        begun.wait(HANG)
        os.kill(os.getpid(), signal.SIGINT)

    timer, handler = threading.Thread(target=interrupt), signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            twin(*copied(CALLS[waves]))
        assert len(running) <= 1  # the piece of this thread, which the exception has left
    finally:
        timer.join()
        signal.signal(signal.SIGINT, handler)


# --- outer dimensions of gufuncs
@pytest.mark.parametrize(("function", "signature"), [(squares, "(n)->(n)"), (total, "(n)->()")])
def test_gufuncs_share_their_outer_dimensions(shares, function, signature):
    x = RANDOM.normal(size=(1300, 6))
    one = pyflat.twin(function, target="numba", signature=signature, parallel=False).gufunc(x)
    assert not shares
    several = pyflat.twin(function, target="numba", signature=signature, parallel=True)
    for _ in range(2):
        assert bits(several.gufunc(x)) == bits(one)
    assert shares == [1300, 1300]


def test_items_of_gufuncs_that_fail_are_run_by_the_original(shares):
    def checked(x, out):
        for i in range(len(x)):
            if x[i] > 5.0:
                raise ValueError(f"{x[i]}")
            out[i] = 1.0 / x[i]

    x = np.ones((900, 4))
    with np.errstate(divide="ignore"):
        twin = pyflat.twin(checked, target="numba", signature="(n)->(n)", parallel=True).gufunc
    assert (twin(x) == 1.0).all()
    x[[300, 700], 2] = 6.0, 7.0
    with pytest.raises(ValueError, match=r"6\.0"):
        twin(x)


def test_forced_threads_run_calls_of_any_length():
    with ways.forced(threads="several"):
        twin = pyflat.twin(waves, target="numba")
        assert ran(twin, CALLS[waves]) == ran(waves, CALLS[waves])
        assert twin.stats.ways["threads"] == ("several",)


def test_sizes_that_are_known_are_few():
    sharing = kernel_threads.Sharing(None, print)
    for size in range(2 * kernel_threads.MOST_KNOWN):
        sharing.note(size, float(size))
    assert len(sharing._seconds) == kernel_threads.MOST_KNOWN
    assert sharing._known(10_000) == 2 * kernel_threads.MOST_KNOWN - 1 and sharing._known(3) is None
