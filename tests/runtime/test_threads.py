"""Several threads: the same results, the same exceptions, pieces that are worth it, forks and interrupts."""

from __future__ import annotations

import math
import os
import signal
import threading

import numpy as np
import pytest

import pyflat
from pyflat.targets import threads
from tests.generator import generate
from tests.generator.differential import loaded
from tests.generator.lanes import lanes_for
from tests.support.patience import HANG

TARGETS = ("numpy", "numba")


def curve(x, y):
    if x > y:
        return math.exp(x) * math.log(x) + math.sin(y)
    return math.log(y) / x


def trips(x):
    n = 0
    while x > 1.0 and n < 50:
        x = x * 0.9
        n += 1
    return n, x


@pytest.fixture(params=TARGETS)
def target(request):
    if request.param == "numba":
        pytest.importorskip("numba")
    return request.param


@pytest.fixture
def pieces(monkeypatch):
    """The pieces that are run, with their thread, as if the machine had four cores and all work were worth it."""
    seen = []
    do = threads._Work.do

    def noted(self, start, stop):
        seen.append((start, stop, threading.current_thread().name))
        do(self, start, stop)

    monkeypatch.setattr(threads._Work, "do", noted)
    monkeypatch.setenv("PYFLAT_NUM_THREADS", "4")
    monkeypatch.setattr(threads, "PIECE", 1e-9)
    return seen


@pytest.mark.parametrize("n", [2 * threads.GRAIN, 3 * threads.GRAIN + 1, 200_001])
@pytest.mark.parametrize("function", [curve, trips])
def test_results_do_not_depend_on_the_threads(target, pieces, function, n):
    random = np.random.default_rng(n)
    arrays = [random.uniform(0.1, 3.0, n) for _ in range(function.__code__.co_argcount)]
    one = pyflat.twin(function, target=target, parallel=False)(*arrays)
    several = pyflat.twin(function, target=target, parallel=True)(*arrays)
    for a, b in zip(np.atleast_2d(one), np.atleast_2d(several), strict=True):
        assert np.array_equal(a, b)
    covered = sorted(piece[:2] for piece in pieces)
    assert covered[0][0] == 0 and covered[-1][1] == n
    assert all(a[1] == b[0] for a, b in zip(covered, covered[1:], strict=False))
    assert all(start % threads.GRAIN == 0 for start, _ in covered)


def test_other_threads_help(pieces, monkeypatch):
    several = threading.Event()

    class Slow:
        dtypes = (np.dtype(np.float64),)

        def stop(self, stopped):
            pass

        def into(self, lanes, n, results):
            if len({name for *_, name in pieces}) >= 2:
                several.set()
            if n != threads.GRAIN:  # the first pieces are run alone
                several.wait(HANG)
            results[0][:] = lanes[0]
            return lanes[0] < 0.0 if (lanes[0] < 0.0).any() else None

    x = np.ones(20 * threads.GRAIN)
    x[-5] = -1.0
    values = np.empty_like(x)
    suspects = threads.run(Slow(), [x], len(x), [values], True)
    assert np.array_equal(values, x) and np.flatnonzero(suspects).tolist() == [len(x) - 5]
    assert len({name for *_, name in pieces}) >= 2


def test_lanes_that_fail_are_the_same_on_several_threads(target, pieces):
    x = np.full(100_000, 2.0)
    y = np.ones(100_000)
    x[[40_000, 90_000]] = y[[40_000, 90_000]] = 0.0
    with pytest.raises(ValueError, match="math domain error") as caught:
        pyflat.twin(curve, target=target, parallel=True)(x, y)
    assert "lane 40000" in caught.value.__notes__[0] and "2 of 100,000 lanes failed" in caught.value.__notes__[0]
    values, faults = pyflat.twin(curve, target=target, parallel=True, errors="mask")(x, y)
    assert faults.flat.tolist() == [40_000, 90_000]


@pytest.mark.parametrize("seed", range(100, 112))
def test_random_programs_on_several_threads(target, pieces, monkeypatch, seed):
    """The same bits, and the same lanes that fail, as on one thread."""
    monkeypatch.setattr(threads, "GRAIN", 16)
    program = generate(seed)
    rows = list(lanes_for(program, 300))
    if len(rows) < 2 * threads.GRAIN:
        rows *= 2 * threads.GRAIN
    dtypes = {"f": np.float64, "i": np.int64, "b": np.bool_}
    arrays = [np.array([row[k] for row in rows], dtypes[kind]) for k, kind in enumerate(program.kinds)]
    with loaded(program.source) as main:
        try:
            one = pyflat.twin(main, target=target, errors="mask", parallel=False)(*arrays)
        except pyflat.FlattenError:
            return
        several = pyflat.twin(main, target=target, errors="mask", parallel=True)(*arrays)
    assert several[1].flat.tolist() == one[1].flat.tolist()
    values = [found if isinstance(found, tuple) else (found,) for found in (several[0], one[0])]
    for a, b in zip(*values, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), program.source
    assert len(pieces) > 2


def test_short_calls_stay_in_one_piece(target, pieces):
    pyflat.twin(curve, target=target, parallel=True)(np.ones(100) * 2.0, 1.0)
    pyflat.twin(curve, target=target, parallel=False)(np.ones(100_000) * 2.0, 1.0)
    assert pieces == []


class Clock:
    """What `pyflat.targets.threads` has for time: it goes on where work is pretended, and nowhere else."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(threads, "time", self)

    def perf_counter(self):
        return self.now


def test_the_automatic_rule(monkeypatch):
    ran, clock = [], Clock(monkeypatch)

    class Timed:
        dtypes = (np.dtype(np.float64),)
        shares = True

        def __init__(self, seconds):
            self.seconds = seconds

        def stop(self, stopped):
            pass

        def into(self, lanes, n, results):
            ran.append(n)
            clock.now += self.seconds * n / threads.GRAIN

    monkeypatch.setenv("PYFLAT_NUM_THREADS", "2")
    lanes = [np.zeros(40 * threads.GRAIN)]
    monkeypatch.setattr(threads, "_cores_free", lambda: False)
    threads.run(Timed(1e-3), lanes, len(lanes[0]), [], None)
    assert len(ran) == 3 and ran[-1] == 38 * threads.GRAIN
    ran.clear()
    monkeypatch.setattr(threads, "_cores_free", lambda: True)
    threads.run(Timed(1e-3), lanes, len(lanes[0]), [], None)
    assert len(ran) == 2 + 2 * threads.PIECES
    ran.clear()
    threads.run(Timed(0.0), lanes, 4 * threads.GRAIN, [], None)
    assert len(ran) == 2
    ran.clear()
    monkeypatch.setenv("PYFLAT_NUM_THREADS", "1")
    threads.run(Timed(1e-3), lanes, len(lanes[0]), [], True)
    assert len(ran) == 1
    ran.clear()
    monkeypatch.setenv("PYFLAT_NUM_THREADS", "2")
    monkeypatch.setattr(Timed, "shares", False)
    threads.run(Timed(1e-3), lanes, len(lanes[0]), [], None)
    assert ran == [len(lanes[0])], "an engine that gains nothing by threads"
    threads.run(Timed(1e-3), lanes, len(lanes[0]), [], True)
    assert len(ran) > 3, "unless they are asked for"


def test_pieces_have_half_a_millisecond_of_work(monkeypatch):
    ran, clock = [], Clock(monkeypatch)

    class Timed:
        dtypes = ()

        def stop(self, stopped):
            pass

        def into(self, lanes, n, results):
            ran.append(n)
            clock.now += 2e-3 * n / threads.GRAIN

    monkeypatch.setattr(threads, "PIECE", 20e-3)
    monkeypatch.setenv("PYFLAT_NUM_THREADS", "64")
    threads.run(Timed(), [], 60 * threads.GRAIN, [], True)
    assert min(ran[1:-1]) * 2e-3 / threads.GRAIN >= 10e-3


def test_an_exception_of_a_piece_is_raised(pieces):
    class Broken:
        dtypes = ()

        def stop(self, stopped):
            pass

        def into(self, lanes, n, results):
            if n != threads.GRAIN or len(pieces) > 4:
                raise RuntimeError("of the engine")

    with pytest.raises(RuntimeError, match="of the engine"):
        threads.run(Broken(), [], 40 * threads.GRAIN + 1, [], True)


def test_one_twin_for_all_settings_of_parallel():
    one, other = (pyflat.twin(curve, parallel=p) for p in (True, False))
    one(2.0, 1.0)
    assert other._caller.compilations.count(other.options.as_built) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_makes_threads_of_its_own(target, pieces):
    x = np.linspace(1.0, 3.0, 100_000)
    twin = pyflat.twin(curve, target=target, parallel=True)
    before = twin(x, 0.5)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(twin(x, 0.5), before) else 1)
    killer = threading.Timer(HANG, os.kill, (child, signal.SIGKILL))
    killer.start()
    try:
        _, status = os.waitpid(child, 0)
    finally:
        killer.cancel()
    assert os.waitstatus_to_exitcode(status) == 0


def test_ctrl_c_ends_a_call_on_several_threads(pieces):
    pytest.importorskip("numba")

    def endless(x):
        while x > 0.0:
            x = x * 1.0
        return x

    x = np.zeros(200_000)
    twin = pyflat.twin(endless, target="numba", parallel=True)
    twin(x)
    x[-1:] = x[3 * threads.GRAIN] = 1.0
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # pdb leaves its own behind
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            twin(x)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, handler)
    pool = threads._pool()
    idle = threading.Barrier(pool._count + 1, timeout=HANG)
    for _ in range(pool._count):
        pool.put(idle.wait)
    idle.wait()  # no thread is in the loop any more
    assert twin(np.zeros(200_000))[0] == 0.0
