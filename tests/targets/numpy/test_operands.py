"""Arguments of every dtype, byte order and layout: the lanes of dense arrays, without a copy of a whole operand."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

import pyflat
from pyflat.runtime.calls import Caller
from pyflat.targets.numpy import engine as target
from pyflat.targets.numpy import memory as numpy_memory
from pyflat.targets.operands import Spread, operand

INTS = ("i1", "u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", ">i8", "<u8", ">u8")
FLOATS = ("<f2", ">f2", "<f4", ">f4", ">f8")
COUNTS = (1, 7, target.FEW + 1, 1_000, target.LEAST + 1, 2 * target.BLOCK + 5)


def counted(n, m):
    if n > m:
        return n * m + 1
    return n - m


def mixed(n, x, flag):
    if flag:
        return math.floor(x * 4.0) + n
    return n - 3


def scaled(x, y):
    return x * 0.5 + y if x > y else np.exp(y) - x


def halves(n):
    steps = 0
    while n > 1:
        n = n // 2
        steps += 1
    return steps


def inverse(n, x):
    return x / n


def ints(dtype, count, seed=0):
    return np.random.default_rng(seed).integers(0, 100, count).astype(dtype)


def floats(dtype, count, seed=0):
    return (np.random.default_rng(seed).normal(size=count) * 3).astype(dtype)


LAYOUTS = {
    "dense": lambda a: a,
    "reversed": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "apart": lambda a: np.repeat(a, 3)[::3],
    "a field": lambda a: _field(a),
    "a read-only array": lambda a: _frozen(a),
}


def _field(a):
    table = np.zeros(len(a), [("before", "u1"), ("values", a.dtype), ("after", "u2")])
    table["values"] = a
    return table["values"]


def _frozen(a):
    a = a.copy()
    a.flags.writeable = False
    return a


@pytest.fixture
def long(monkeypatch):
    """The calls that take the long way."""
    calls, way = [], Caller.__call__

    def noted(self, args, *rest):
        calls.append(args)
        return way(self, args, *rest)

    monkeypatch.setattr(Caller, "__call__", noted)
    return calls


def same(twin, args, dense, long):
    """What a call gives on the long way and by a plan is what it gives for dense arrays of the lanes' dtypes."""
    wanted = pyflat.twin(twin.original, target="numpy")(*dense)
    first = twin(*args)
    del long[:]
    second = twin(*args)
    assert not long
    for found in (first, second):
        assert found.dtype == wanted.dtype
        assert found.tobytes() == wanted.tobytes()
        assert found.flags.c_contiguous


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", INTS)
def test_ints(dtype, layout, long):
    twin = pyflat.twin(counted, target="numpy")
    for count in COUNTS:
        a, b = ints(dtype, count), ints(dtype, count, 1)
        args = [LAYOUTS[layout](x) for x in (a, b)]
        same(twin, args, (a.astype(int), b.astype(int)), long)
        same(twin, (args[0], b.astype(int)), (a.astype(int), b.astype(int)), long)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [*FLOATS, "<f8"])
def test_floats(dtype, layout, long):
    """With a function of NumPy's, whose loops take operands that run backwards in another way."""
    twin = pyflat.twin(scaled, target="numpy")
    for count in COUNTS:
        x, y = floats(dtype, count), floats(dtype, count, 1)
        same(twin, [LAYOUTS[layout](a) for a in (x, y)], (x.astype(float), y.astype(float)), long)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_mixed_kinds(layout, long):
    twin = pyflat.twin(mixed, target="numpy")
    for count in COUNTS:
        n, x, flag = ints("u1", count), floats("f2", count), ints("u1", count, 2) > 50
        same(twin, [LAYOUTS[layout](a) for a in (n, x, flag)], (n.astype(int), x.astype(float), flag), long)


@pytest.mark.parametrize("dtype", INTS)
def test_loops(dtype, long):
    twin = pyflat.twin(halves, target="numpy")
    for count in COUNTS:
        n = ints(dtype, count)
        same(twin, (n,), (n.astype(int),), long)


def _matrices(a, b):
    """Pairs of arrays that can be broadcast to forty columns."""
    rows = a.reshape(-1, 40)
    yield np.asfortranarray(rows), b.reshape(-1, 40)
    yield rows.T.copy().T, np.asfortranarray(b.reshape(-1, 40))
    yield rows, b[:40]
    yield rows[:, :1], b[:40]
    yield rows[::-1, ::2], b.reshape(-1, 40)[:, 20:]
    yield rows.reshape(-1, 2, 20).transpose(1, 0, 2), b[:20]
    yield rows, b[:1].reshape(1, 1)
    yield rows[:0], b[:40]


@pytest.mark.parametrize("dtype", ["i8", "i4", ">i2", "u8", ">u8"])
@pytest.mark.parametrize("count", [80, 4_000, 40_000])
def test_several_axes(dtype, count):
    twin = pyflat.twin(counted, target="numpy")
    for a, b in _matrices(ints(dtype, count), ints(dtype, count, 1)):
        wanted = np.where(a.astype(int) > b, a.astype(int) * b.astype(int) + 1, a.astype(int) - b.astype(int))
        for _ in range(3):
            found = twin(a, b)
            assert found.shape == wanted.shape
            assert np.array_equal(found, wanted)
            assert found.flags.fnc if a.flags.fnc and b.flags.fnc and a.shape == b.shape else found.flags.c_contiguous


def test_shapes_that_do_not_fit_say_which(long):
    twin = pyflat.twin(counted, target="numpy")
    twin(ints("i4", 3), ints("i4", 3))
    with pytest.raises(ValueError, match=r"n has \(3,\), m has \(2,\)"):
        twin(ints("i4", 3), ints("i4", 2))


@pytest.mark.parametrize("cls", [np.int8, np.uint16, np.int32, np.uint32])
def test_scalars_of_other_types(cls, long):
    twin, a = pyflat.twin(counted, target="numpy"), ints("i2", 50)
    assert np.array_equal(twin(a, cls(100)), a.astype(int) - 100)
    del long[:]
    assert np.array_equal(twin(a, cls(100)), a.astype(int) - 100)
    assert not long
    assert twin(cls(100), cls(100)) == 0
    assert twin(cls(100), cls(99)) == 9_901


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("count", [5, 20_000])
def test_numbers_beyond_int64(order, count):
    a = np.full(count, 7, order + "u8")
    twin = pyflat.twin(counted, target="numpy")
    twin(a, a)
    twin(a, a)
    a[3] = 2**63 + 1
    ones = np.ones(count, order + "u8")
    with pytest.raises(pyflat.LaneError, match=f"the integer {2**63 + 2}") as caught:
        twin(a, ones)
    assert "lane 3 (n=9223372036854775809, m=1)" in caught.value.__notes__[0]
    a[3] = 7
    assert np.array_equal(twin(a, ones), np.full(count, 8))


@pytest.mark.parametrize("dtype", ["f2", ">f4", "f4"])
@pytest.mark.parametrize("count", [9, 20_000])
def test_lanes_that_fail_have_the_numbers_of_the_array(dtype, count):
    x = np.full(count, 0.1, dtype)
    n = np.ones(count, "u1")
    twin = pyflat.twin(inverse, target="numpy", errors="mask")
    n[5] = 0
    values, faults = twin(n, x)
    assert np.array_equal(np.isnan(values), n == 0)
    assert values[0] == float(x[0])
    with pytest.raises(ZeroDivisionError) as caught:
        pyflat.twin(inverse, target="numpy")(n, x)
    assert f"lane 5 (n=0, x={float(x[5])!r})" in caught.value.__notes__[0]
    assert faults[5].type is ZeroDivisionError


@pytest.mark.parametrize("dtype", ["f8", ">f8", "f2", "f4"])
@pytest.mark.parametrize("count", [9, 20_000])
def test_float32_lanes_are_rounded_where_they_are_read(dtype, count, long):
    x = floats("f8", count)
    if dtype in ("f8", ">f8"):
        x[2] = 1e300  # no warning
    x = x.astype(dtype)
    twin = pyflat.twin(counted, target="numpy", dtype="float32")
    with np.errstate(over="ignore"):
        narrow = x.astype("f4")
    wanted = np.where(narrow > 1, narrow * 1 + 1, narrow - 1)
    assert twin(x, 1).tobytes() == wanted.tobytes()
    del long[:]
    assert twin(x, 1).tobytes() == wanted.tobytes()
    assert not long
    n = np.ones(count, "u1")
    n[5] = 0
    with pytest.raises(ZeroDivisionError) as caught:
        pyflat.twin(inverse, target="numpy", dtype="float32")(n, x)
    assert f"x={float(narrow[5])!r}" in caught.value.__notes__[0]


@pytest.mark.parametrize("dtype", ["u1", ">i4", "i4", "u8", "f2", "f4", ">f8"])
@pytest.mark.parametrize("options", [{}, {"dtype": "float32"}, {"parallel": True}, {"errors": "mask"}], ids=str)
def test_a_call_holds_the_result_and_no_copy(dtype, options):
    count = 600_000
    cells = np.ones((1_000, 600), dtype)
    arrays = [cells.reshape(-1), cells.reshape(-1)[::-1], np.asfortranarray(cells)]
    twin = pyflat.twin(scaled if np.dtype(dtype).kind == "f" else counted, target="numpy", **options)
    for _ in range(numpy_memory.KEPT):  # each thread takes one
        numpy_memory.give_back(numpy_memory.Arena())
    for a in arrays:
        twin(a, a)
        tracemalloc.start()
        result = twin(a, a)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        result = result[0] if isinstance(result, tuple) else result
        assert peak < result.itemsize * count + 1_000_000


def test_ranges_of_lanes_of_any_array():
    rng = np.random.default_rng(3)
    whole = np.arange(2 * 3 * 5 * 7).reshape(2, 3, 5, 7)
    views = [whole, whole.T, whole[::-1, :, ::2], whole[:, 1:2], whole.transpose(2, 0, 3, 1), whole[:, :, :, ::-1],
             np.broadcast_to(whole[0, 0], whole.shape), np.broadcast_to(whole[:, :, :, :1], whole.shape)]
    for view in views:
        lanes, flat = operand(view, view.shape), view.reshape(-1)
        if not isinstance(lanes, Spread):
            assert np.array_equal(lanes, flat)
            assert np.shares_memory(lanes, whole)
            continue
        for _ in range(50):
            start, stop = sorted(rng.integers(0, flat.size + 1, 2))
            out = np.empty(stop - start, np.float64)
            lanes[start:stop].copy_to(out)
            assert np.array_equal(out, flat[start:stop])
        picked = rng.integers(0, flat.size - 4, 20)
        assert np.array_equal(lanes[4:][picked], flat[4:][picked])


def test_lanes_a_constant_distance_apart_are_a_view():
    image = np.zeros((20, 30, 3), np.uint8)
    assert operand(image[..., 1], (20, 30)).strides == (3,)
    assert isinstance(operand(np.asfortranarray(image), image.shape), Spread)
    assert operand(np.zeros((1, 4, 1))[:, ::2], (1, 2, 1)).strides == (16,)
