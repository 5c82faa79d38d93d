"""Plans: calls that take the short way give what the long way gives, and what is unusual takes the long way."""

from __future__ import annotations

import copy
import enum
import gc
import inspect
import math
import os
import pickle
import signal
import sys
import threading
import weakref
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import pyflat
from pyflat.functions import libm, ways
from pyflat.runtime import plan_text
from pyflat.runtime.calls import Caller
from pyflat.runtime.twins import Twin
from pyflat.targets import threads
from pyflat.testing import same_bits
from tests.support.concurrency import on_threads

LIMIT = 2 * 16_384


def curve(x, y):
    if x > y:
        return math.sqrt(x - y)
    return x * 2.0 + y


def whole(n, m):
    if n > m:
        return n // 3 + m
    return n * m


def above(x, y):
    return x > y


def both(x, y):
    if x > y:
        return x - y, x > 0.0
    return y - x, x > 1.0


def one(x):
    return 1.0 / x if x > 0.0 else -x


def inverse(x):
    return 1.0 / x


def choose(flag, n, x):
    return x + n if flag else x - n


def collatz(n):
    steps = 0
    while n != 1 and steps < 1000:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def collatz_of(x, y):
    return collatz(int(abs(x) * 10 if abs(x) < 100 else 1) + 1) + (y if y > 0 else 0.0)


def copies(x, y):
    return x, y, x + x, x + x


def fixed(x, y):
    return 1.0 if K > 1.0 else x, y > 0, K * 2.0


def endless(x):
    while x != 0.0:
        x = x + 1.0
    return x


def twin_of(fn, **options):
    return pyflat.twin(fn, target="numba", **options)


@contextmanager
def way(monkeypatch, calls):
    """Counts in `calls` the calls that take the long way."""
    long = Caller.__call__

    def counted(self, *args, **kwargs):
        calls.append(args)
        return long(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Caller, "__call__", counted)
        yield


@pytest.fixture
def short(monkeypatch):
    """Calls a twin and says that it took the short way."""

    def call(twin, *args, **kwargs):
        calls = []
        with way(monkeypatch, calls):
            found = twin(*args, **kwargs)
        assert not calls
        return found

    return call


@pytest.fixture
def long(monkeypatch):
    """Calls a twin and says that it took the long way."""

    def call(twin, *args, **kwargs):
        calls = []
        with way(monkeypatch, calls):
            try:
                return twin(*args, **kwargs)
            finally:
                assert calls

    return call


def without(twin, *args, **kwargs):
    """What the call gives without plans."""
    return twin._caller(args, kwargs, twin.options)


def assert_same(found, wanted):
    assert type(found) is type(wanted)
    if isinstance(found, tuple):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted):
            assert_same(a, b)
    elif isinstance(found, np.ndarray):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        assert found.flags.forc and (found.strides == wanted.strides or not found.size)
        assert found.tobytes() == wanted.tobytes()
        assert found.flags.writeable
    else:
        assert np.asarray(found).dtype == np.asarray(wanted).dtype
        assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()


RNG = np.random.default_rng(7)
FLOATS = RNG.normal(size=(6, 4))
READ_ONLY = FLOATS[0].copy()
READ_ONLY.flags.writeable = False
UNALIGNED = np.frombuffer(b"\0" + FLOATS[0].tobytes(), np.uint8)[1:].view(np.float64)
SHORT = {
    "1-d": (FLOATS[0], FLOATS[1]),
    "one element": (FLOATS[0, :1], FLOATS[1, :1]),
    "2-d": (FLOATS, FLOATS + 0.5),
    "3-d": (FLOATS.reshape(2, 3, 4), FLOATS[0]),
    "C and F": (FLOATS, np.asfortranarray(FLOATS)),
    "F": (np.asfortranarray(FLOATS), np.asfortranarray(FLOATS)),
    "transposed": (FLOATS.T, FLOATS[:4, :].T.copy()[:, :1]),
    "rows and columns": (FLOATS[:, :1], FLOATS[:1]),
    "columns and rows": (FLOATS[:1], FLOATS[:, :1]),
    "strided": (FLOATS[:, 1], FLOATS[:, 2]),
    "reversed": (FLOATS[0, ::-1], FLOATS[1]),
    "every other": (FLOATS.reshape(-1)[::2], FLOATS.reshape(-1)[1::2]),
    "spread": (np.broadcast_to(FLOATS[0, 0], 5), FLOATS[0, :1]),
    "read-only": (READ_ONLY, READ_ONLY),
    "unaligned": (UNALIGNED, FLOATS[1]),
    "overlapping": (FLOATS.reshape(-1)[:-1], FLOATS.reshape(-1)[1:]),
    "empty": (FLOATS[:0, 0], FLOATS[:0, 1]),
    "empty 2-d": (FLOATS[:0], FLOATS[:0, :1]),
    "0-d": (np.array(2.0), np.array(3.0)),
    "0-d and 1-d": (np.array(2.0), FLOATS[0]),
    "array and Python": (FLOATS[0], 0.25),
    "Python and 2-d F": (0.25, np.asfortranarray(FLOATS)),
    "array and NumPy": (np.float64(0.5), FLOATS[0]),
    "0-d and Python": (np.array(2.0), 1.0),
    "NumPy": (np.float64(0.5), np.float64(0.25)),
    "NumPy and Python": (np.float64(0.5), 0.25),
    "Python": (0.5, 0.25),
    "specials": (np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324]), 0.0),
    "shorter than a gang": (np.arange(3.0), np.arange(3.0)[::-1]),
    "just below the limit": (np.linspace(0, 1, LIMIT - 1), np.linspace(1, 0, LIMIT - 1)),
    "large, for one thread": (np.linspace(0, 1, LIMIT), np.linspace(1, 0, LIMIT)),
    "float32": (FLOATS[0].astype(np.float32), FLOATS[1]),
    "float16 and bool": (FLOATS[0].astype(np.float16), np.arange(4) > 1),
    "other byte order": (FLOATS[0].astype(">f8"), FLOATS[1][::-1].astype(">i2")),
    "int32": (np.arange(4, dtype=np.int32), FLOATS[1]),
    "uint64": (np.arange(4, dtype=np.uint64), FLOATS[1]),
    "bytes, 2-d F": (np.asfortranarray(np.arange(8, dtype=np.uint8).reshape(2, 4)), FLOATS[:2]),
    "unaligned int16": (np.zeros(5, [("a", "u1"), ("b", "<i2")])["b"], 0.5),
    "NumPy float32": (np.float32(0.5), 0.25),
    "NumPy int8": (np.int8(1), 0.25),
    "large by broadcasting": (np.linspace(0, 1, 150)[:, None], np.linspace(1, 0, 200)),
}
LONG = {
    "NumPy uint64": (np.uint64(1), FLOATS[1]),
}


@pytest.mark.parametrize("args", SHORT.values(), ids=SHORT)
@pytest.mark.parametrize("fn", [curve, above, both])
def test_the_short_way_gives_what_the_long_way_gives(fn, args, short):
    twin = twin_of(fn)
    twin(*[np.arange(3.0) if isinstance(a, np.ndarray) else a for a in args])  # compiles for these types
    wanted = without(twin, *args)
    twin(*args)
    assert_same(short(twin, *args), wanted)


SHORT_ON_NUMPY = {"1-d", "one element", "2-d", "strided", "reversed", "every other", "spread and 1-d", "read-only", "unaligned", "overlapping",
                  "array and Python", "array and NumPy", "NumPy", "NumPy and Python", "Python", "specials", "shorter than a gang"}


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("fn", [curve, above, both, collatz_of])
def test_on_numpy(fn, name, monkeypatch):
    twin, args = pyflat.twin(fn, target="numpy"), SHORT[name]
    wanted = without(twin, *args)
    twin(*args)
    calls = []
    with way(monkeypatch, calls):
        assert_same(twin(*args), wanted)
    assert not calls or name not in SHORT_ON_NUMPY or (fn is collatz_of and name == "2-d")


@pytest.mark.parametrize("n", [1, 1023, 1024, 1025, 16_384, 16_385])
def test_selects_of_numpy_give_the_same_bits(n, monkeypatch):
    xs, ys = np.resize([np.nan, -0.0, 0.0, 1.5, -np.inf, 3.0, -2.5], n), np.resize([0.0, -0.0, 1.0, np.inf, -1.0], n)
    for fn in (curve, above, both, copies, fixed):
        twin = pyflat.twin(fn, target="numpy")
        wanted = without(twin, xs, ys)
        for _ in range(3):
            assert_same(twin(xs, ys), wanted)


def test_results_of_numpy_are_the_callers_own(monkeypatch):
    twin = pyflat.twin(copies, target="numpy")
    xs, ys = np.arange(3.0), np.ones(3)
    for _ in range(3):
        a, b, c, d = twin(xs, ys)
        for result in (a, b, c, d):
            result += 7.0
        assert (xs.tolist(), ys.tolist()) == ([0.0, 1.0, 2.0], [1.0] * 3)
        assert (a.tolist(), c.tolist(), d.tolist()) == ([7.0, 8.0, 9.0], [7.0, 9.0, 11.0], [7.0, 9.0, 11.0])


def test_bools_of_any_byte_on_numpy(monkeypatch):
    twin = pyflat.twin(choose, target="numpy")
    flags = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    for _ in range(3):
        assert twin(flags, 2, np.arange(4.0)).tolist() == [-2.0, 3.0, 4.0, 5.0]


def test_failing_lanes_on_numpy(long):
    twin = pyflat.twin(inverse, target="numpy")
    good = np.array([1.0, 2.0])
    for _ in range(3):
        twin(good)
        twin(2.0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="division") as found:
            long(twin, np.array([1.0, 0.0]))
        assert "lane 1 (x=0.0)" in found.value.__notes__[0]
        with pytest.raises(ZeroDivisionError):
            long(twin, 0.0)
        assert twin(good).tolist() == [1.0, 0.5]
    with np.errstate(all="raise"):
        assert twin(good).tolist() == [1.0, 0.5]
        assert np.geterr()["divide"] == "raise"


def test_threads_on_numpy():
    twin = pyflat.twin(inverse, target="numpy", errors="nan")
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(200):
            xs = rng.integers(0, 200, 64).astype(float)
            with np.errstate(all="ignore"):
                wanted = np.where(xs == 0, np.nan, 1.0 / xs)
            if not np.array_equal(twin(xs), wanted, equal_nan=True):
                wrong.append(xs)

    on_threads(work)
    assert not wrong
    assert twin.stats.calls == 800


@pytest.mark.parametrize("args", LONG.values(), ids=LONG)
def test_what_takes_the_long_way(args, long):
    twin = twin_of(curve)
    twin(np.arange(3.0), np.arange(3.0))
    wanted = without(twin, *args)
    for _ in range(3):
        assert_same(long(twin, *args), wanted)


@pytest.mark.parametrize("args", [
    (np.arange(-5, 5), np.arange(10)[::-1]), (7, 2), (2, 7), (np.int64(7), 2), (np.arange(3), 2), (np.arange(4).reshape(2, 2), 1),
])
def test_ints(args, short):
    twin = twin_of(whole)
    wanted = without(twin, *args)
    twin(*args)
    assert_same(short(twin, *args), wanted)


@pytest.mark.parametrize("args", [
    (True, 3, 0.5), (np.array([True, False]), 3, 0.5), (False, np.arange(2), 0.5), (np.bool_(True), np.int64(3), np.float64(0.5)),
    (np.array([0, 1, 2, 255], np.uint8).view(np.bool_), np.arange(4), np.arange(4.0)), (1, 3, 0.5), (0.0, 1.5, 0.5),
])
def test_kinds_are_those_of_the_types(args, short):
    twin = twin_of(choose)
    wanted = without(twin, *args)
    twin(*args)
    assert_same(short(twin, *args), wanted)


def test_kinds_do_not_mix(short):
    twin = twin_of(whole)
    for args in ((7, 2), (7.0, 2.0), (7.0, 2), (7, 2.0), (True, 2), (7, True)) * 4:
        assert_same(twin(*args), whole(*args))
    assert_same(short(twin, 7, 2), whole(7, 2))


@pytest.mark.parametrize("n", [2**63, -2**63 - 1, 2**64, 2**200])
def test_python_ints_beyond_int64(n, long):
    twin = twin_of(whole)
    for _ in range(3):
        twin(7, 2)
    assert long(twin, n, 1) == whole(n, 1) if abs(whole(n, 1)) < 2**63 else True
    with pytest.raises(pyflat.LaneError):
        long(twin, n, n + 1)
    assert twin(7, 2) == whole(7, 2)


def test_the_largest_python_ints(short):
    twin = twin_of(above)
    for args in ((2**63 - 1, -2**63), (-2**63, 2**63 - 1)) * 2:
        assert twin(*args) is above(*args)
    assert short(twin, 2**63 - 1, 2**63 - 2) is True


def test_enums_and_subclasses_take_the_long_way(long):
    class Small(enum.IntEnum):
        ONE = 1

    class Mine(float):
        pass

    class Own(float):
        def __neg__(self):
            return 7.0

    twin = twin_of(one)
    for _ in range(3):
        twin(1.0)
        twin(1)
    for value in (Small.ONE, Mine(2.0)):
        for _ in range(2):
            assert same_bits(long(twin, value), without(twin, value))
        assert long(twin, value) == one(value)
    for _ in range(2):
        with pytest.raises(TypeError, match="__neg__"):
            long(twin, Own(2.0))


@pytest.mark.parametrize("value", [
    np.ma.array([1.0, 2.0], mask=[True, False]), np.array([1.0], object), np.array([1j]).real.astype("M8[s]"),
    np.longdouble(1.0),
], ids=lambda v: type(v).__name__)
@pytest.mark.filterwarnings("ignore")
def test_foreign_arguments_are_refused_as_ever(value, long):
    twin = twin_of(one)
    for _ in range(3):
        twin(np.ones(2))
    with pytest.raises(TypeError) as found:
        without(twin, value)
    with pytest.raises(TypeError) as again:
        long(twin, value)
    assert str(again.value) == str(found.value)


def test_shapes_that_do_not_fit_have_the_same_message(long):
    twin = twin_of(curve)
    for _ in range(3):
        twin(np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match=r"x has \(2,\), y has \(3,\)"):
        long(twin, np.ones(2), np.ones(3))


@pytest.mark.parametrize("args", [(), (1.0,), (1.0, 2.0, 3.0)])
def test_a_wrong_number_of_arguments(args, long):
    twin = twin_of(curve)
    for _ in range(3):
        twin(1.0, 2.0)
    with pytest.raises(TypeError, match=r"curve_flat\(\) "):
        long(twin, *args)


# --- by name


def several(x, y=2.0, /, z=3.0, *, k=0.5, w=True):
    return (x - y) * z + (k if w else -k)


def named_like_ours(self, args, more, found=2.0):
    return self * args - more / found


X, Y, Z = np.array([0.5, 1.5, -2.0]), np.array([4.0, 0.25, 1.0]), np.array([1.0, -3.0, 0.0])
BY_NAME = [
    ((X,), {}), ((X, Y), {}), ((X,), {"z": Z}), ((X,), {"k": 2.0, "z": Z}), ((X, Y, Z), {"w": False}), ((X, 1), {"z": 2}),
    ((X, 1.0), {"z": np.float64(2.0)}), ((X,), {"w": np.array([True, False, True]), "k": 1}), ((1.0,), {"z": Z}), ((1.0,), {"k": 2.0}),
]


@pytest.mark.parametrize("target", ["numba", "numpy"])
@pytest.mark.parametrize(("args", "kwargs"), BY_NAME)
def test_calls_by_name_and_with_defaults(args, kwargs, target, short):
    twin = pyflat.twin(several, target=target)
    wanted = without(twin, *args, **kwargs)
    twin(*args, **kwargs)
    assert_same(short(twin, *args, **kwargs), wanted)
    assert_same(short(twin, *args, **dict(reversed(kwargs.items()))), wanted)


@pytest.mark.parametrize("target", ["numba", "numpy"])
def test_calls_by_name_in_turn(target):
    twin = pyflat.twin(several, target=target)
    for args, kwargs in BY_NAME * 20:
        assert_same(twin(*args, **kwargs), without(twin, *args, **kwargs))


def test_parameters_with_the_names_of_a_plan(short):
    twin = twin_of(named_like_ours)
    for _ in range(2):
        assert twin(1.0, 2.0, 3.0) == twin(more=3.0, self=1.0, args=2.0) == 0.5
    assert short(twin, args=2.0, self=1.0, more=3.0) == 0.5
    for _ in range(2):
        twin(1.0, 2.0, found=4.0, more=3.0)
    assert short(twin, 1.0, 2.0, found=4.0, more=3.0) == 1.25


def test_changed_defaults_of_keywords(short):
    def f(x, *, k=2.0, m=1.0):
        return x * k - m

    twin = twin_of(f)
    for _ in range(2):
        assert twin(X).tolist() == (X * 2.0 - 1.0).tolist()
    short(twin, X)
    f.__kwdefaults__["k"] = 3.0
    assert [twin(X).tolist() for _ in range(3)] == [(X * 3.0 - 1.0).tolist()] * 3
    f.__kwdefaults__ = {"k": 4.0, "m": 0.0}
    assert [twin(X).tolist() for _ in range(3)] == [(X * 4.0).tolist()] * 3


def alike(p, p_0, s_p, i1, r0=((1.0, 2.0), 3.0)):
    return p[0][1] - p_0[1] * s_p[0] + i1 - r0[0][1]


@pytest.mark.parametrize("target", ["numba", "numpy"])
def test_items_of_tuples_have_names_of_their_own(target, short):
    twin = pyflat.twin(alike, target=target)
    for args in ((((X, 1.0), 2.0), (3.0, 4.0), (5.0,), 6.0), (((X, Y), 2), (3, Z), (5.0,), Z, ((1, 2), 3))):
        wanted = without(twin, *args)
        twin(*args)
        assert_same(short(twin, *args), wanted)


@pytest.mark.parametrize(("args", "kwargs"), [
    ((), {}), ((1.0,), {"x": 2.0}), ((1.0,), {"y": 2.0}), ((1.0,), {"q": 2.0}), ((1.0, 2.0, 3.0, 4.0), {}), ((1.0, 2.0, 3.0), {"z": 1.0}),
    ((1.0, 2.0, 3.0, 4.0), {"k": 1.0}), ((), {"z": 1.0}),
])
def test_wrong_keywords_raise_what_python_raises(args, kwargs):
    twin = twin_of(several)
    with pytest.raises(TypeError) as wanted:
        several(*args, **kwargs)
    for _ in range(3):
        with pytest.raises(TypeError) as found:
            twin(*args, **kwargs)
        assert str(found.value) == str(wanted.value).replace("several()", "several_flat()")
        twin(1.0)


def test_scalars_of_other_kinds_have_plans_of_their_own(short):
    twin = twin_of(whole)
    ns = np.array([7, -7, 2])
    for m in (2, 2.0, True, np.int64(2), np.float64(2.0), np.array(2), np.array(2.0)) * 3:
        assert_same(twin(ns, m=m), without(twin, ns, m))
    for m in (2, 2.0, True, np.int64(2), np.float64(2.0), np.array(2), np.array(2.0)) * 3:
        assert_same(short(twin, ns, m=m), without(twin, ns, m))


def mode(x, how="up", scale=None):
    if scale is None:
        return x + 1.0 if how == "up" else x - 1.0
    return x * scale


def bracket(x, rates, limits=(1.0, 2)):
    low, (middle, high) = limits[0], rates
    return x * middle if x < low else x * high + limits[1]


def test_strings_and_none(short):
    twin = twin_of(mode)
    calls = [{}, {"how": "up"}, {"how": "down"}, {"scale": 2.0}, {"scale": None, "how": "".join(["do", "wn"])}]
    for kwargs in calls * 3:
        assert twin(X, **kwargs).tolist() == [mode(x, **kwargs) for x in X.tolist()]
    for kwargs in calls:
        assert short(twin, X, **kwargs).tolist() == [mode(x, **kwargs) for x in X.tolist()]


@pytest.mark.parametrize("target", ["numba", "numpy"])
def test_tuples_of_numbers(target, short):
    twin = pyflat.twin(bracket, target=target)
    calls = [((0.1, 0.2),), ((0.1, 1),), ((0.1, 0.3), (0.5, 1)), ((0.1, X), (0.5, 1.5)), ((0.5, 0.25), (3, 1))]
    for args in calls * 3:
        assert_same(twin(X, *args), without(twin, X, *args))
    for args in calls:
        assert_same(short(twin, X, *args), without(twin, X, *args))
        assert_same(short(twin, X, rates=args[0], **dict(zip(["limits"], args[1:]))), without(twin, X, *args))
    with pytest.raises((pyflat.FlattenError, ValueError)):
        twin(X, (0.1, 0.2, 0.3))


class Band(NamedTuple):
    low: float
    rates: tuple[float, float]


@dataclass
class Scheme:
    factor: float
    band: Band

    def times(self, x):
        return x * self.factor


def taxed(x, scheme, parts):
    rate = scheme.band.rates[0] if x < scheme.band.low else scheme.band.rates[1]
    return scheme.times(x) * rate + parts[0] * parts[1]


@pytest.mark.parametrize("target", ["numba", "numpy"])
def test_records(target, short):
    twin = pyflat.twin(taxed, target=target)
    calls = [(Scheme(2.0, Band(0.1, (0.1, 0.2))), [X, 2.0]), (Scheme(3, Band(X, (0.1, 2))), [2.0, X]),
             (Scheme(X, Band(1, (0.5, 2.5))), (X, X)), (Scheme(2.0, Band(0.5, [X, 2.0])), [1, X])]
    for args in calls * 3:
        assert_same(twin(X, *args), without(twin, X, *args))
    for args in calls:
        assert_same(short(twin, X, *args), without(twin, X, *args))
    other = DoubleScheme(2.0, Band(0.1, (0.1, 0.2)))
    for _ in range(3):
        assert_same(twin(X, other, [X, 2.0]), twin(X, Scheme(4.0, other.band), [X, 2.0]))


class DoubleScheme(Scheme):
    def times(self, x):
        return x * (2.0 * self.factor)


def mixed(d, rates, scale=1.0):
    total = 0.0
    for key in d:
        total = total * 2.0 + d[key]["MISS"] if key == "a" else total - d[key] * rates["low"]
    return total * scale if rates["how"] == "up" else total


@pytest.mark.parametrize("target", ["numba", "numpy"])
def test_dicts(target, short):
    """Keys, their order and strings belong to a plan; a dict of numbers alone is static, and its values count."""
    twin = pyflat.twin(mixed, target=target)
    rates = {"low": X, "how": "up"}
    calls = [({"a": {"MISS": X}, "b": 2.0}, rates), ({"b": 2.0, "a": {"MISS": X}}, rates), ({"b": X, "c": X}, rates),
             ({"a": {"MISS": X}}, {"how": "down", "low": X}), ({"a": {"MISS": X}, "b": 2.0}, {**rates, "how": "down"})]
    for args in calls * 3:
        assert_same(twin(*args), without(twin, *args))
    for d, r in calls:
        assert_same(short(twin, d, r), without(twin, d, r))
        assert_same(short(twin, rates=r, d=d), without(twin, d, r))
    for low in (0.5, 2.0, 0.5):
        assert_same(twin({"b": X}, {"low": low, "how": "up"}), without(twin, {"b": X}, {"low": low, "how": "up"}))
    with pytest.raises(KeyError, match="low"):
        twin({"b": X}, {"lower": X, "how": "up"})
    with pytest.raises(TypeError, match="'d' is a dict with arrays in it"):
        twin({type("Name", (str,), {})("b"): X, "c": X}, rates)


def powers(x, n, how, scale):
    for _ in range(n):
        x = x * scale if how[0] == "up" else x - how[1]
    return x


@pytest.mark.parametrize("target", ["numba", "numpy"])
def test_static_arguments(target, short):
    twin = pyflat.twin(powers, target=target, static=("n", "how", "scale"))
    calls = [(2, ("up", 1), 2.0), (3, ("up", 1), 2.0), (3, ("down", 1), 2.0), (3, ("down", 1.0), 2)]
    for args in calls * 3:
        assert_same(twin(X, *args), without(twin, X, *args))
    for args in calls:
        assert_same(short(twin, X, *args), without(twin, X, *args))
        assert_same(short(twin, X, scale=args[2], how=args[1], n=args[0]), without(twin, X, *args))
    ints = np.array([1, 2])
    for args in ((1, ("up", 1), 2), (1, ("up", 1), 2.0), (True, ("up", 1), 2)) * 3:
        assert twin(ints, *args).dtype == without(twin, ints, *args).dtype


def test_zeros_that_are_static_keep_their_sign():
    twin = twin_of(copysigned, static="y")
    for y in (0.0, -0.0, 1.0, math.nan) * 3:
        assert_same(twin(X, y), without(twin, X, y))


def copysigned(x, y):
    return math.copysign(x, y)


# --- failing lanes


def test_a_failing_lane_raises_what_the_long_way_raises(long, short):
    twin = twin_of(inverse)
    xs = np.array([1.0, 2.0, 4.0])
    for _ in range(3):
        twin(xs)
        twin(2.0)
    xs[1] = 0.0
    for _ in range(3):
        with pytest.raises(ZeroDivisionError) as found:
            twin(xs)
        assert "lane 1 (x=0.0); 1 of 3 lanes failed" in found.value.__notes__[0]
        with pytest.raises(ZeroDivisionError):
            twin(0.0)
    good = np.array([1.0, 2.0])
    assert twin(good).tolist() == [1.0, 0.5]
    for _ in range(300):
        twin(good)
    assert short(twin, good).tolist() == [1.0, 0.5]


def test_lanes_that_are_replayed_are_patched(short):
    twin = twin_of(whole)
    small, large = np.array([1, 2]), np.array([2**62, 5])
    for _ in range(3):
        twin(small, small)
    for _ in range(5):
        with pytest.raises(pyflat.LaneError):
            twin(large, np.array([2**62, 5]))
        assert twin(np.array([2**62, 5]), np.array([1, 2])).tolist() == [2**62 // 3 + 1, 5 // 3 + 2]


def test_a_twin_that_often_fails_is_not_planned_again_each_time(monkeypatch):
    made = []
    recipe = plan_text.recipe
    monkeypatch.setattr(plan_text, "recipe", lambda *args: made.append(args) or recipe(*args))
    twin = twin_of(inverse, errors="nan")
    bad = np.array([0.0, 1.0])
    for _ in range(200):
        assert math.isnan(twin(bad)[0])
    assert 1 < len(made) < 12
    good = np.ones(2)
    for _ in range(1000):
        twin(good)
    count = len(made)
    for _ in range(3):
        twin(good)
    assert len(made) == count
    assert twin.stats.failed == 200


@pytest.mark.parametrize("errors", ["nan", "unchecked"])
def test_other_ways_with_errors(errors, short):
    twin = twin_of(inverse, errors=errors)
    xs = np.array([1.0, 4.0])
    twin(xs)
    assert short(twin, xs).tolist() == [1.0, 0.25]
    assert np.isinf(twin(np.array([0.0])))[0] if errors == "unchecked" else math.isnan(twin(np.array([0.0]))[0])


def test_mask_takes_the_long_way(long):
    twin = twin_of(inverse, errors="mask")
    for _ in range(3):
        values, faults = long(twin, np.array([1.0, 0.0]))
        assert faults.lanes.tolist() == [1]


def test_faults_and_replay_go_beside_plans():
    twin = twin_of(inverse)
    xs = np.array([1.0, 0.0])
    for _ in range(3):
        twin(xs[:1])
        assert twin.faults(xs).lanes.tolist() == [1]
    twin.verify(xs[:1])


def test_fast_functions_near_a_decision():
    def step(x):
        return 1.0 if math.exp(x) > 2.0 else 0.0

    twin = twin_of(step, math="fast")
    edge = math.log(2.0)
    xs = np.array([0.0, edge, np.nextafter(edge, 1), np.nextafter(edge, 0), 1.0])
    for _ in range(4):
        assert twin(xs).tolist() == [step(x) for x in xs.tolist()]
        assert twin(np.zeros(3)).tolist() == [0.0] * 3


# --- the world outside


def test_options_in_force_are_looked_at(monkeypatch, fresh_defaults, long, short):
    twin = pyflat.twin(inverse)
    monkeypatch.setenv("PYFLAT_TARGET", "numba")
    xs = np.array([1.0, 2.0])
    for _ in range(2):
        twin(xs)
    short(twin, xs)
    with pyflat.options(errors="mask"):
        values, faults = long(twin, xs)
        assert not faults.any()
    short(twin, xs)
    with pyflat.options(errors="nan"):
        assert math.isnan(twin(np.array([0.0]))[0])
    pyflat.set_defaults(errors="mask")
    assert len(twin(xs)) == 2
    pyflat.set_defaults(errors="raise")
    assert twin(xs).tolist() == [1.0, 0.5]
    monkeypatch.setenv("PYFLAT_TARGET", "numpy")
    long(twin, xs)
    monkeypatch.delenv("PYFLAT_TARGET")
    long(twin, xs)
    assert twin.options.target == "numpy"


def test_the_same_block_again_finds_its_plan(short):
    twin = pyflat.twin(inverse)
    xs = np.array([1.0, 2.0])
    for _ in range(2):
        with pyflat.options(target="numba"):
            twin(xs)
    with pyflat.options(target="numba"):
        assert short(twin, xs).tolist() == [1.0, 0.5]


def test_a_block_of_another_thread(short):
    twin = twin_of(inverse)
    xs = np.array([1.0, 2.0])
    for _ in range(2):
        twin(xs)
    found = []

    def other():
        with pyflat.options(errors="mask"):
            found.append(twin(xs))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert isinstance(found[0], tuple)
    assert short(twin, xs).tolist() == [1.0, 0.5]


@pytest.mark.filterwarnings("ignore:PYFLAT_DISABLE")
def test_disabling(monkeypatch, long, short):
    twin = twin_of(inverse)
    xs = np.array([1.0, 2.0])
    for _ in range(2):
        twin(xs)
    monkeypatch.setenv("PYFLAT_DISABLE", "1")
    assert long(twin, xs).tolist() == [1.0, 0.5]
    monkeypatch.delenv("PYFLAT_DISABLE")
    short(twin, xs)
    monkeypatch.setattr(os, "environ", {**os.environ, "PYFLAT_DISABLE": "1"})
    assert long(twin, xs).tolist() == [1.0, 0.5]


def test_code_and_defaults(short):
    def f(x, k=2.0):
        return x * k

    def g(x, k=2.0):
        return x - k

    twin = twin_of(f)
    for _ in range(2):
        assert (twin(3.0), twin(3.0, 4.0)) == (6.0, 12.0)
    short(twin, 3.0)
    f.__defaults__ = (5.0,)
    for _ in range(3):
        assert (twin(3.0), twin(3.0, 4.0)) == (15.0, 12.0)
    f.__code__ = g.__code__
    for _ in range(3):
        assert (twin(3.0), twin(3.0, 4.0)) == (-2.0, -1.0)


def test_defaults_that_a_function_uses_when_it_calls_itself(short):
    def f(n, k=2.0, last=False):
        return n * k if last else f(n + 1.0, last=True)

    twin = twin_of(f)
    for _ in range(2):
        twin(3.0, 1.0, False)
    assert twin(3.0, 1.0, False) == f(3.0, 1.0, False) == 8.0
    f.__defaults__ = (7.0, False)
    for _ in range(3):
        assert twin(3.0, 1.0, False) == f(3.0, 1.0, False) == 28.0


K = 2.0
args = 3.0
self = 4.0


def scaled(x):
    return x * K + args - self


def test_globals_with_the_names_of_a_plan(monkeypatch, short):
    twin = twin_of(scaled)
    for _ in range(2):
        twin(3.0)
    assert short(twin, 3.0) == 5.0
    for name, value in (("args", 10.0), ("self", 1.0), ("K", 1.0)):
        monkeypatch.setitem(globals(), name, value)
        for _ in range(2):
            assert twin(3.0) == scaled(3.0)
    monkeypatch.delitem(globals(), "K")
    with pytest.raises((NameError, pyflat.FlattenError)):
        twin(3.0)


def test_equal_values_set_again_and_again(monkeypatch, builds, short):
    twin = twin_of(scaled)
    for k in range(20):
        monkeypatch.setitem(globals(), "K", float("2.0"))
        assert twin(float(k)) == scaled(float(k))
    assert len(builds) == 1


def test_a_captured_list_and_an_object(short):
    table = [1.0, 2.0]

    class Settings:
        gain = 2.0

    settings = Settings()

    def f(x):
        return x * table[1] + settings.gain

    twin = twin_of(f)
    for _ in range(2):
        twin(1.0)
    assert short(twin, 1.0) == 4.0
    table[1] = 5.0
    assert [twin(1.0) for _ in range(3)] == [7.0] * 3
    settings.gain = 4.0
    assert [twin(1.0) for _ in range(3)] == [9.0] * 3
    settings = Settings()
    assert [twin(1.0) for _ in range(3)] == [7.0] * 3


# --- several plans, several threads


def test_types_in_turn(short):
    twin = twin_of(curve)
    calls = [(1.0, 2.0), (np.ones(2), np.ones(2)), (np.ones(2), 1.0), (np.float64(1), 2.0)]
    for args in calls * 40:
        assert_same(twin(*args), without(twin, *args))
    for args in calls * 40:
        assert_same(short(twin, *args), without(twin, *args))


def test_counts_are_the_same(short):
    twin, other = twin_of(curve), twin_of(curve, parallel=False)
    calls = [(1.0, 2.0), (np.ones(5), np.ones((3, 1))), (np.ones((2, 2)), 1.0), (np.ones(0), np.ones(0))] * 5
    for args in calls:
        twin(*args)
        without(other, *args)
    assert (twin.stats.calls, twin.stats.lanes) == (other.stats.calls, other.stats.lanes) == (20, 5 * 20)
    assert repr(twin.stats) == "Stats(calls=20, lanes=100, replayed=0, failed=0)"


def test_threads_at_once():
    twin = twin_of(inverse, errors="nan")
    for _ in range(3):
        twin(np.ones(4))
    before, wrong = twin.stats.calls, []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(400):
            xs = rng.integers(0, 40, 64).astype(float)
            with np.errstate(all="ignore"):
                wanted = np.where(xs == 0, np.nan, 1.0 / xs)
            if not np.array_equal(twin(xs), wanted, equal_nan=True):
                wrong.append(xs)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        on_threads(work)
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
    assert twin.stats.calls - before == 1600


def test_loops(short):
    twin = twin_of(collatz)
    ns = np.arange(1, 200)
    twin(ns)
    assert short(twin, ns).tolist() == list(map(collatz, range(1, 200)))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals")
@pytest.mark.parametrize("raised", [KeyboardInterrupt, ValueError, TimeoutError])
def test_a_signal_ends_a_planned_loop(raised, short):
    def interrupt(*_):
        raise raised("enough")

    twin = twin_of(endless)
    for _ in range(3):
        twin(np.array([-5.0, -3.0]))
    assert short(twin, np.array([-5.0])).tolist() == [0.0]
    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(2):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(raised, match="enough"):
                twin(np.array([0.5]))
            assert twin(np.array([-5.0])).tolist() == [0.0]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def rounded(x, n):
    return round(x, 2) + math.gamma(x) if n > 2 else x


def test_functions_that_call_python_have_plans(short):
    twin, xs, ns = twin_of(rounded), np.array([2.345, 3.5, 1.005]), np.array([1, 5, 4])
    wanted = without(twin, xs, ns)
    twin(xs, ns)
    assert_same(short(twin, xs, ns), wanted)
    with pytest.raises(OverflowError):
        twin(np.array([3000.0]), 7)


@pytest.mark.parametrize("dense", ["direct", "ufunc"])
def test_what_a_callback_of_a_plan_could_not_raise_is_raised(dense):
    twin = twin_of(lambda x, n: rounded(x, n))  # whose plans have not been made for other calls
    with ways.forced(dense=dense):
        for _ in range(2):
            twin(np.array([2.345]), 4)
        libm.raised.append(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            twin(np.array([2.345]), 4)
        assert not libm.raised
        assert twin(np.array([2.345]), 1).tolist() == [2.345]


def test_dtypes_that_come_from_other_processes(short):
    xs = pickle.loads(pickle.dumps(np.arange(4.0), protocol=5))
    assert xs.dtype is not np.dtype("f8")
    twin, out = twin_of(curve), pickle.loads(pickle.dumps(np.zeros(4), protocol=5))
    for _ in range(2):
        twin(xs, 0.5)
    assert short(twin, xs, 0.5, out=out) is out
    assert_same(out, without(twin, xs, 0.5))


# --- the object


def test_no_floating_point_errors_come_from_a_plan(short):
    twin = twin_of(one)
    xs = np.array([0.0, 1e-320, 1.0])
    for _ in range(2):
        twin(xs[1:])
    with np.errstate(all="raise"):
        assert short(twin, np.array([0.0, 5.0])).tolist() == [-0.0, 0.2]


def test_a_planned_twin_is_a_twin():
    twin = twin_of(inverse)
    for _ in range(3):
        twin(1.0)
    assert isinstance(twin, Twin)
    assert type(twin).__name__ == "Twin"
    assert pickle.loads(pickle.dumps(twin)) is twin
    assert copy.copy(twin) is twin
    assert repr(twin).startswith("<pyflat twin inverse_flat(x), target='numba'")


@pytest.mark.parametrize("decorated", [False, True])
def test_a_twin_with_plans_can_go(decorated):
    def made():
        class Box:
            k = 2.0

        box = Box()

        def helper(x):
            return x * 2.0

        def f(x):
            return helper(x) * box.k

        twin = pyflat.flatten(target="numba")(f).flat if decorated else twin_of(f)
        for _ in range(3):
            twin(1.0)
            twin(np.ones(2))
        return [weakref.ref(thing) for thing in (twin, f, helper, box)]

    gone = made()
    gc.collect()
    assert [ref() for ref in gone] == [None] * 4


def test_warnings_name_the_callers_line(monkeypatch):
    def wrap(n, m):
        return (n * m) % 1000

    twin = twin_of(wrap)
    for _ in range(2):
        twin(np.arange(3), np.arange(3))
    large = np.full(100_000, 2**40)
    large[2_000:] = 1
    with pytest.warns(pyflat.PerformanceWarning) as found:
        twin(large, large)
    assert [w.filename for w in found] == [__file__]


def test_what_has_no_plan():
    class Box:
        def area(self, x):
            return x * 2.0

        @staticmethod
        def twice(x):
            return x * 2.0

    def listed(x):
        return [x, x]

    def constant(x):
        return 1.0

    def nothing():
        return 1.0

    for fn, args in ((Box().area, (1.0,)), (Box.twice, (1.0,)), (listed, (1.0,)), (constant, (1.0,)), (nothing, ())):
        twin = twin_of(fn)
        assert [twin(*args) for _ in range(4)] == [fn(*args)] * 4
    twin = twin_of(one, cache=False)
    assert [twin(2.0) for _ in range(3)] == [0.5] * 3
    twin = twin_of(scaled, static="x")
    assert [twin(2.0) for _ in range(3)] == [scaled(2.0)] * 3


def test_what_is_worth_threads_takes_the_long_way(long, short, monkeypatch):
    twin, args = twin_of(curve), (np.linspace(0, 1, LIMIT), np.linspace(1, 0, LIMIT))
    monkeypatch.setenv("PYFLAT_NUM_THREADS", "2")  # on one core calls are not timed
    monkeypatch.setattr(threads, "WORTH_IT", 1e6)  # however long a call takes here
    for _ in range(3):
        twin(*args)
    short(twin, *args)
    monkeypatch.setattr(threads, "WORTH_IT", 0.0)
    long(twin, *args)
    twin = twin.with_options(parallel=True)
    for _ in range(3):
        twin(*args)
    long(twin, *args)


def test_inspecting_the_call_shows_nothing_of_the_plan():
    """Notebooks show the signature of `twin.__call__` too."""
    twin = twin_of(lambda x, y=1.0: x * y)
    before = inspect.signature(twin.__call__)
    twin(np.ones(3))
    assert type(twin) is not Twin
    assert inspect.signature(twin.__call__) == before
