"""Calls of kernels that take the short way give what the long way gives, and what is unusual takes the long way."""

from __future__ import annotations

import gc
import pickle
import types
import warnings
import weakref
from collections import namedtuple

import numpy as np
import pytest

import pyflat
from pyflat.runtime.kernels import Kernels
from pyflat.targets.numba.kernels import boxed
from pyflat.targets.numpy.kernels import engine as numpy_calls
from pyflat.testing import same_bits
from tests.support.concurrency import on_threads

SCALE = 2.0
Pair = namedtuple("Pair", "low high")


def smooth(a, out, w=0.5):
    for i in range(1, len(a) - 1):
        out[i] = w * (a[i - 1] + a[i + 1]) * SCALE


def total(a):
    s = 0.0
    for x in a:
        s += x
    return s


def running(a):
    for i in range(1, len(a)):
        a[i] = a[i] + a[i - 1]
    return a


def shares(a, n):
    for i in range(len(a)):
        a[i] = a[i] // n
    return n


def parts(a, b):
    for i in range(len(a)):
        a[i] = a[i] // b[i]


def ends(a, flag, n):
    low, high = a[0], a[0]
    for i in range(1, len(a)):
        low = min(low, a[i])
        high = max(high, a[i])
    if flag:
        n += 1
    return Pair(low, high), n, flag


def doubled(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        out[i] = 2 * a[i]
    return out, len(a)


def table(a, mode):
    out = np.empty((len(a), 2))
    for i in range(len(a)):
        out[i, 0] = a[i]
        out[i, 1] = a[i] if mode == "same" else -a[i]
    return out


def quotients(a, b, out):
    for i in range(len(a)):
        out[i] = a[i] / b[i]


class Calls:
    """Calls of a twin, and how many of them took the long way."""

    def __init__(self, function, monkeypatch, target):
        own = types.FunctionType(function.__code__, globals(), function.__name__, function.__defaults__)
        self.function, self.long = own, 0
        self.twin = pyflat.twin(own, target=target, parallel=False)  # whether threads are worth it goes by a clock
        whole = Kernels.__call__

        def counting(*args, **kwargs):
            self.long += 1
            return whole(*args, **kwargs)

        monkeypatch.setattr(Kernels, "__call__", counting)

    def learn(self, make):
        """Three calls: the first compiles, the second learns, the third is short."""
        for _ in range(3):
            self.check(make)
        assert self.long == 2
        self.long = 0

    def check(self, make, **named):
        """The twin does what the original does to arguments like these."""
        one, other = make(), make()
        outcomes = []
        for call, given in ((self.function, one), (self.twin, other)):
            try:
                outcomes.append(call(*given, **named))
            except Exception as error:  # noqa: BLE001 - it is what is compared
                outcomes.append((type(error), str(error)))
        assert all(map(same_bits, [outcomes[0]], [outcomes[1]])), outcomes
        assert type(outcomes[0]) is type(outcomes[1])
        for a, b in zip(one, other, strict=True):
            assert same_bits(a, b) if isinstance(a, np.ndarray) else a == b

    def is_short(self, make, **named):
        before = self.long
        self.check(make, **named)
        return self.long == before


@pytest.fixture(params=["numba", "numpy"])
def target(request):
    return request.param


@pytest.fixture
def calls(monkeypatch, target):
    return lambda function: Calls(function, monkeypatch, target)


def numbers(n=8):
    return np.linspace(-1.0, 3.0, n)


CASES = {
    "two arrays": (smooth, lambda: (numbers(), np.zeros(8))),
    "a number": (smooth, lambda: (numbers(), np.zeros(8), 0.25)),
    "NumPy's number": (smooth, lambda: (numbers(), np.zeros(8), np.float64(0.25))),
    "a sum of NumPy's numbers": (total, lambda: (numbers(),)),
    "a sum of none": (total, lambda: (np.zeros(0),)),
    "float32": (total, lambda: (numbers().astype("f4"),)),
    "ints": (shares, lambda: (np.arange(-4, 4), 3)),
    "an array that is written and returned": (running, lambda: (numbers(),)),
    "a tuple, an int and a bool": (ends, lambda: (numbers(), True, 4)),
    "an array made, and an int": (doubled, lambda: (numbers(),)),
    "an array of two axes, a string": (table, lambda: (numbers(), "same")),
}


@pytest.mark.parametrize("name", CASES)
def test_the_third_call_is_short(calls, name):
    function, make = CASES[name]
    calls(function).learn(make)


def rows(a, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = 2.0 * a[i, j] - j


def sheet(n=4, m=6):
    return np.arange(n * m, dtype=float).reshape(n, m)


LAYOUTS = {
    "a column": (smooth, lambda: (sheet(8, 3)[:, 1], np.zeros(8))),
    "every other element": (smooth, lambda: (numbers(16)[::2], np.zeros(8))),
    "backwards": (smooth, lambda: (numbers()[::-1], np.zeros(8)[::-1])),
    "a column that is written": (smooth, lambda: (numbers(), sheet(8, 3)[:, 2])),
    "columns side by side": (rows, lambda: (sheet()[:, 1:3], np.zeros((4, 2)))),
    "Fortran's order": (rows, lambda: (np.asfortranarray(sheet()), np.zeros((4, 6)))),
    "both in Fortran's order": (rows, lambda: (np.asfortranarray(sheet()), np.asfortranarray(np.zeros((4, 6))))),
    "a corner, backwards": (rows, lambda: (sheet()[2::-1, ::-2], np.zeros((3, 3)))),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_calls_with_gaps_are_short(calls, name):
    function, make = LAYOUTS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # else what is written is saved, but for gaps
        calls(function).learn(make)


def test_a_warning_that_is_an_error_ends_the_original_after_its_writes(calls):
    made = calls(quotients)
    for _ in range(3):
        for action in ("default", "error", "ignore", "error"):
            with warnings.catch_warnings():
                warnings.simplefilter(action)
                made.check(lambda: (numbers(), numbers() + 9.0, np.zeros(8)))
                with warnings.catch_warnings(record=action != "error"):
                    made.check(lambda: (numbers(), np.arange(-3.0, 5.0), np.zeros(8)))


GAPS = {
    "other columns": lambda: (sheet()[:, 2:4], np.zeros((4, 2))),
    "other strides": lambda: (sheet()[:, 0:4:2], np.zeros((4, 2))),
    "no gaps": lambda: (sheet(4, 2), np.zeros((4, 2))),
    "one row": lambda: (sheet()[:1, 1:3], np.zeros((1, 2))),
    "two axes that are one": lambda: (np.broadcast_to(numbers(2), (4, 2)), np.zeros((4, 2))),
    "elements that are shared": lambda: (np.lib.stride_tricks.sliding_window_view(numbers(5), 2), np.zeros((4, 2))),
    "one within the other": lambda: (lambda a: (a[:, :2], a[:, 1:3]))(sheet()),
    "columns of one sheet": lambda: (lambda a: (a[:, :2], a[:, 2:4]))(sheet()),
    "turned": lambda: (sheet(2, 4).T, np.zeros((4, 2))),
    "nothing": lambda: (sheet()[:0, 1:3], np.zeros((0, 2))),
}


@pytest.mark.parametrize("name", GAPS)
def test_what_is_unusual_about_gaps(calls, name):
    made = calls(rows)
    made.learn(lambda: (sheet()[:, 1:3], np.zeros((4, 2))))
    for _ in range(3):
        made.check(GAPS[name])
    made.check(lambda: (sheet()[:, 1:3], np.zeros((4, 2))))


def test_what_lies_in_gaps_is_not_put_back(calls, target):
    made = calls(shares)
    for n in (3, 3, 3, 0, 3, 0):
        memory = []

        def make(memory=memory, n=n):
            memory.append(np.arange(12).reshape(6, 2))
            return memory[-1][:, 1], n

        short = made.is_short(make)
        assert same_bits(memory[0], memory[1])
        assert not short or target == "numpy"  # which puts back elements


def doubled_in_place(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = 2.0 * a[i, j] + 1.0


def test_elements_that_are_one_are_written_in_order(calls):
    def make():
        return (np.lib.stride_tricks.sliding_window_view(numbers(5), 2, writeable=True),)

    made = calls(doubled_in_place)
    for given in (make, make, make, lambda: (sheet(),), lambda: (sheet(),), lambda: (sheet(),)):
        made.check(given)
    assert made.is_short(lambda: (sheet(),))
    assert not made.is_short(make)


def test_one_array_that_is_read_twice(calls, target):
    made = calls(quotients)
    for _ in range(4):
        made.check(lambda: (lambda a: (a, a, np.zeros(8)))(numbers() + 9.0))
    assert target == "numba" or made.is_short(lambda: (numbers() + 9.0, numbers() + 8.0, np.zeros(8)))
    made.check(lambda: (lambda a: (a, a, a))(numbers() + 9.0))


def reversed_output():
    return numbers(), np.zeros(8)[::-1]


def overlapping():
    memory = numbers(9)
    return memory[1:], memory[:-1]


def unaligned():
    return np.frombuffer(b"." + numbers().tobytes(), "f8", offset=1), np.zeros(8)


def read_only():
    out = np.zeros(8)
    out.flags.writeable = False
    return numbers(), out


UNUSUAL = {
    "another dtype": lambda: (numbers().astype("f4"), np.zeros(8)),
    "another rank": lambda: (np.zeros((4, 2)), np.zeros((4, 2))),
    "another layout": reversed_output,
    "one array twice": lambda: (lambda a: (a, a))(numbers()),
    "arrays that overlap": overlapping,
    "an array that is not aligned": unaligned,
    "the other byte order": lambda: (numbers().astype(">f8"), np.zeros(8)),
    "a read-only argument that is read": lambda: (read_only()[1], np.zeros(8)),
    "a number more": lambda: (numbers(), np.zeros(8), 3.0),
    "an int for a float": lambda: (numbers(), np.zeros(8), 3),
    "a shorter output": lambda: (numbers(), np.zeros(5)),
    "no elements": lambda: (np.zeros(0), np.zeros(0)),
    "a list": lambda: ([1.0, 2.0, 3.0, 4.0], np.zeros(4)),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_unusual_is_as_the_original_has_it(calls, name):
    made = calls(smooth)
    made.learn(CASES["two arrays"][1])
    if name == "a list":
        with pytest.raises(TypeError, match="numpy|array|list"):
            made.twin(*UNUSUAL[name]())
    else:
        for _ in range(3):
            made.check(UNUSUAL[name])
    made.check(CASES["two arrays"][1])


def test_a_read_only_output_is_refused_before_anything_is_written(calls):
    made = calls(smooth)
    made.learn(CASES["two arrays"][1])
    with pytest.raises(ValueError, match="read-only"):
        made.twin(*read_only())


def test_a_fault_puts_back_what_is_read_again(calls):
    made = calls(shares)
    made.learn(lambda: (np.arange(-4, 4), 3))
    for given in (0, 2**62, True):
        for _ in range(3):
            made.check(lambda given=given: (np.arange(-4, 4), given))
    with pytest.raises(OverflowError, match="64 bits"):
        made.twin(np.arange(4), 2**63)


def test_what_was_written_before_a_fault_is_written_once(calls):
    made = calls(parts)
    made.learn(lambda: (np.arange(40, 48), np.arange(2, 10)))
    for _ in range(3):
        made.check(lambda: (np.arange(40, 48), np.array([2, 3, 2, 3, 2, 0, 2, 3])))


@pytest.mark.parametrize("bad", [(1.0, 0.0), (0.0, 0.0), (np.inf, np.inf), (1e300, 1e-300)])
@pytest.mark.parametrize("how", ["warn", "raise", "ignore"])
def test_warnings_are_the_originals(calls, bad, how):
    made = calls(quotients)
    made.learn(lambda: (numbers(), numbers() + 9.0, np.zeros(8)))

    def make():
        a, b = numbers(), numbers() + 9.0
        a[3], b[3] = bad
        return a, b, np.zeros(8)

    with np.errstate(divide=how, over=how, invalid=how):
        for _ in range(3):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                made.check(make)
            assert [str(w.message) for w in found] == 2 * [str(w.message) for w in found[:1]]  # by both
            assert bool(found) == (how == "warn")
    assert made.is_short(lambda: (numbers(), numbers() + 9.0, np.zeros(8)))


def test_an_error_state_that_is_set_again_and_again_is_no_other_one(calls):
    made = calls(quotients)

    def make():
        return numbers(), numbers() + 9.0, np.zeros(8)

    for _ in range(2):
        with np.errstate(divide="ignore"):
            made.check(make)
    with np.errstate(divide="ignore"):
        assert made.is_short(make)
    assert not made.is_short(make)


def test_a_global_that_changes_makes_another_plan(calls, monkeypatch):
    made = calls(smooth)
    made.learn(CASES["two arrays"][1])
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert not made.is_short(CASES["two arrays"][1])
    for _ in range(2):
        made.check(CASES["two arrays"][1])
    assert made.is_short(CASES["two arrays"][1])


def test_a_default_that_changes(calls, monkeypatch):
    made = calls(smooth)
    made.learn(CASES["two arrays"][1])
    monkeypatch.setattr(made.function, "__defaults__", (7.0,))
    made.check(CASES["two arrays"][1])
    assert made.is_short(CASES["two arrays"][1], w=0.75) is False
    made.check(CASES["two arrays"][1])


def test_originals_run_where_pyflat_is_disabled(calls, monkeypatch):
    made = calls(smooth)
    made.learn(CASES["two arrays"][1])
    monkeypatch.setenv("PYFLAT_DISABLE", "1")
    assert not made.is_short(CASES["two arrays"][1])


def test_calls_are_counted(calls):
    made = calls(total)
    made.learn(lambda: (numbers(),))
    before = made.twin.stats.calls
    made.twin(numbers())
    assert made.twin.stats.calls == before + 1


def test_wrong_arguments_are_the_originals_errors(calls):
    made = calls(smooth)
    made.learn(CASES["two arrays"][1])
    for args, kwargs in (((numbers(),), {}), ((), {}), ((numbers(),) * 4, {}), ((numbers(),) * 2, {"v": 1})):
        with pytest.raises(TypeError, match=r"smooth_flat\(\)|smooth\(\)"):
            made.twin(*args, **kwargs)


def test_arrays_of_many_bytes_are_saved_elsewhere(calls, target):
    made = calls(shares)
    made.learn(lambda: (np.arange(-4, 4), 3))
    large = {"numba": boxed, "numpy": numpy_calls}[target].MOST_SAVED // 8
    assert made.is_short(lambda: (np.arange(large), 3))
    assert not made.is_short(lambda: (np.arange(large + 1), 3))


def test_unpickled_arrays(calls):
    made = calls(total)
    made.learn(lambda: (numbers(),))
    made.check(lambda: (pickle.loads(pickle.dumps(numbers())),))


def test_threads_share_a_plan(target):
    twin = pyflat.twin(running, target=target)
    expected = running(numbers(3000))

    good = []

    def run(_):
        good.append(all(same_bits(twin(numbers(3000)), expected) for _ in range(50)))

    on_threads(run, 4)
    assert good == [True] * 4


def test_nothing_is_kept_alive_and_nothing_is_lost(target):
    twin = pyflat.twin(doubled, target=target)
    for _ in range(3):
        twin(numbers())
    array = numbers()
    found = weakref.ref(twin(array)[0])
    held = weakref.ref(array)
    del array
    gc.collect()
    assert found() is None
    assert held() is None
    kept = [twin(np.full(4, k))[0] for k in range(100)]
    assert [float(a[3]) for a in kept] == [2.0 * k for k in range(100)]


def test_another_layout_of_objects_has_no_short_way(monkeypatch, calls):
    monkeypatch.setattr(boxed, "supported", lambda: False)
    monkeypatch.setattr(numpy_calls, "_make_state", None)
    made = calls(smooth)
    for _ in range(4):
        assert not made.is_short(CASES["two arrays"][1])


STEP = 1.0


def raised_later(a, most):
    for i in range(len(a)):
        a[i] += STEP
    if a[0] > most:
        raise TypeError("too much")


def test_an_exception_of_the_original_is_none_of_the_plan(monkeypatch):
    """What the plan knows does not hold any more: the long way raises once, and is not gone again."""
    twin = pyflat.twin(raised_later, target="numba")
    for _ in range(5):
        twin(np.zeros(4), 9.0)
    monkeypatch.setitem(globals(), "STEP", 10.0)
    a = np.zeros(4)
    with pytest.raises(TypeError, match="too much"):
        twin(a, 9.0)
    assert a.tolist() == [10.0] * 4
