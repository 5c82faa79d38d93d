"""Arguments of every dtype, byte order and layout on numba: conversions block by block, the lanes of dense arrays."""

from __future__ import annotations

import ctypes
import math
import mmap
import tracemalloc

import numpy as np
import pytest

import pyflat
from pyflat.functions import ways
from pyflat.ir.parse import parse_function
from pyflat.runtime.calls import Caller
from pyflat.targets.numba import compilation, conversions, feed
from pyflat.targets.numba import engine as target
from pyflat.targets.numba.compiled_kernel import MOST_KERNELS
from pyflat.targets.numba.feed import SUSPECTS
from tests.targets.flat_functions import DAG_PARAMS, STRAIGHT, columns, random_dag, rows_of

INTS = ("i1", "u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8")
FLOATS = ("<f2", ">f2", "<f4", ">f4", "<f8", ">f8")
PAIRS = [*[(dtype, "i8") for dtype in INTS], *[(dtype, "f8") for dtype in FLOATS], *[(dtype, "f4") for dtype in FLOATS],
         ("?", "?")]
STEPS = (1, -1, 2, 3, 4, 5, -2)


def counted(n, m):
    if n > m:
        return n * m + 1
    return n - m


def scaled(x, y):
    return x * 0.5 + y if x > y else y - x * x


def inverse(n, x):
    return x / n


def total(*values):
    return sum(values)


def escapes(x, y):
    a, b, trips = 0.0, 0.0, 0
    while trips < 80 and a * a + b * b < 4.0:
        a, b, trips = a * a - b * b + x, 2.0 * a * b + y, trips + 1
    return trips


def dear(x, y):
    return math.log(x) * math.exp(y) if x > y else x


# --- the functions that convert


def bits(dtype: str, count: int) -> np.ndarray:
    """Any bits: subnormal numbers, infinities and nan too."""
    raw = np.random.default_rng(count).integers(0, 256, count * np.dtype(dtype).itemsize, np.uint8)
    return (raw & 1 if dtype == "?" else raw).view(dtype)


def converted(a: np.ndarray, lane: str) -> tuple[np.ndarray, int]:
    function = ctypes.CFUNCTYPE(ctypes.c_byte, *[ctypes.c_void_p] * 2, *[ctypes.c_ssize_t] * 2)(
        conversions.conversion(a.dtype, np.dtype(lane)))
    found = np.empty(len(a), lane)
    return found, function(found.ctypes.data, a.ctypes.data, a.strides[0], len(a))


@pytest.mark.parametrize(("dtype", "lane"), PAIRS)
def test_conversions_are_numpys(dtype, lane):
    for count in (0, 1, 15, 16, 17, 33, 500):
        for step in STEPS:
            a = bits(dtype, count * abs(step))[::step]
            for view in (a, np.broadcast_to(a[:1], (count,)) if count else a):
                found, beyond = converted(view, lane)
                with np.errstate(all="ignore"):
                    wanted = view.astype(lane)
                large = wanted < 0 if dtype in ("<u8", ">u8") else np.zeros(count, bool)
                assert beyond == large.any()
                wanted[large] = 0
                assert np.array_equal(found, wanted, equal_nan=lane in ("f8", "f4"))
                assert np.array_equal(np.signbit(found), np.signbit(wanted)) if lane in ("f8", "f4") else True


@pytest.mark.skipif(not hasattr(mmap, "PROT_NONE") and not hasattr(ctypes.CDLL(None), "mprotect"), reason="no mprotect")
@pytest.mark.parametrize(("dtype", "lane"), [("u1", "i8"), ("<i4", "i8"), ("<f8", "f8"), ("u2", "u2")])
def test_nothing_behind_the_last_element_is_read(dtype, lane):
    """The page behind the array cannot be read."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    whole = np.frombuffer(memory, np.uint8)
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    assert protect(whole.ctypes.data + page, page, 0) == 0
    try:
        ends = whole[:page].view(dtype)
        for step in (1, 2, 3, 4):
            for count in (16, 17, 32, 33, 100):
                a = ends[len(ends) - (count - 1) * step - 1 :: step]
                found, _ = converted(a, lane)
                assert len(found) == count
    finally:
        protect(whole.ctypes.data + page, page, 3)


# --- kernels


@pytest.mark.parametrize("block", [2**8, feed.BUFFERS])
def test_a_kernel_takes_every_mix_of_dtypes_and_layouts(block, monkeypatch):
    """One kernel, compiled once, and where functions are cheap some that read what they get as it is stored."""
    monkeypatch.setattr(feed, "BUFFERS", block)
    monkeypatch.setattr(feed, "LEAST_LANES", 1)
    rng = np.random.default_rng(5)
    engine = target.compile(random_dag(40, 3, STRAIGHT))
    made = []
    compile_ = compilation.write_kernel
    monkeypatch.setattr(compilation, "write_kernel", lambda *args: made.append(args) or compile_(*args))
    base = columns(DAG_PARAMS, rows_of(DAG_PARAMS, 50, 50))
    for n in (0, 1, 31, 32, 33, 64, 1_000, 5_003):
        for _ in range(12):
            with np.errstate(all="ignore"):
                lanes = [np.resize(column, n * 3).astype(_stored(rng, column.dtype))[:: int(rng.choice([3, 1, -2]))][:n]
                         for column in base]
                dense = [np.ascontiguousarray(lane.astype(column.dtype))
                         for lane, column in zip(lanes, base, strict=True)]
            wanted, suspects = engine(dense, n)
            found, marked = engine(lanes, n)
            assert [a.tobytes() for a in found] == [b.tobytes() for b in wanted]
            assert (suspects is None) == (marked is None)
            assert suspects is None or np.array_equal(suspects, marked)
    assert len(made) <= 2 + MOST_KERNELS  # the values and the mask


SWITCHED = """
func @f(%p: b, %q: b, %n: i8, %m: i8, %x: f8) -> (f8, b) fused @return {
  %both = and %p, %q : b
  %a = mul %n, %n : i8
  %b = add %a, %n : i8
  %c = mul %b, %b : i8
  %d = add %c, %m : i8
  %e = mul %d, %m : i8
  %0 = lt %e, 0 : b
  %1 = and %both, %0 : b
  %g = to_float %d : f8
  %r = select %p, %g, %x : f8
  yield %r, %1
}
"""


@pytest.mark.parametrize("n", [5, 5_003])
@pytest.mark.parametrize(("first", "second", "read"), [(False, False, ""), (False, True, ""), (True, False, "nm")])
def test_what_this_call_does_not_read_is_not_converted(first, second, read, n):
    """The numbers are beyond int64, which whoever converts them sees; the third condition is `and` of the others."""
    for name in ("n", "m"):
        engine = target.compile(parse_function(SWITCHED))
        ints = [np.full(n, 2**63 if each == name else 1, np.uint64) for each in ("n", "m")]
        x = np.arange(float(n))
        (found,), _ = engine([np.bool_(first), np.bool_(second), *ints, x], n)
        calls = engine._compiled["values", (True, True, False, False, False), ()]._calls.values()
        assert any(call.state.words[SUSPECTS] for call in calls) == (name in read)
        assert first or found.tolist() == x.tolist()


def _stored(rng, lane):
    choices = {"i": INTS[:12], "f": FLOATS, "b": ("?",)}[lane.kind]
    return np.dtype(str(rng.choice(choices)))


@pytest.mark.parametrize("fn", [escapes, dear])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<f2"])
def test_kernels_with_two_ways_try_both_with_any_dtype(fn, dtype):
    rng = np.random.default_rng(1)
    x, y = (np.abs(rng.normal(size=6_000)).astype(dtype) + np.array(0.01, dtype) for _ in range(2))
    with ways.forced(refill="turns", regroup="turns"):
        twin = pyflat.twin(fn, target="numba", cache=False)
        wanted = twin(x.astype(float), y.astype(float))
        assert twin(x, y).tobytes() == twin(x[::-1], y[::-1])[::-1].tobytes() == wanted.tobytes()


# --- calls


@pytest.fixture
def long(monkeypatch):
    """The calls that take the long way."""
    calls, way = [], Caller.__call__

    def noted(self, args, *rest):
        calls.append(args)
        return way(self, args, *rest)

    monkeypatch.setattr(Caller, "__call__", noted)
    return calls


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
@pytest.mark.parametrize("options", [{}, {"dtype": "float32"}, {"dtype": "input"}], ids=str)
def test_plans_are_taken(dtype, options, long):
    fn, rng = scaled if "f" in dtype else counted, np.random.default_rng(2)
    for count in (1, 7, 100, 3_000):
        twin = pyflat.twin(fn, target="numba", **options)
        a, b = (rng.integers(0, 100, count).astype(dtype) for _ in range(2))
        with np.errstate(over="ignore"):
            lane = np.float32 if options.get("dtype") == "float32" or (options and dtype in ("<f4", ">f4")) else float
            dense = [x.astype(lane if "f" in dtype else int) for x in (a, b)]
        wanted = pyflat.twin(fn, target="numba", **options)(*dense)
        for name, given in {"dense": (a, b), "reversed": (a[::-1], b[::-1]), "2-d": (a.reshape(1, -1), b[None])}.items():
            twin(*given)
            del long[:]
            found = twin(*given)
            assert not long
            assert found.dtype == wanted.dtype
            assert np.array_equal(found.reshape(-1)[:: -1 if name == "reversed" else 1], wanted)


def test_more_operands_than_a_ufunc_has():
    rng = np.random.default_rng(4)
    arrays = [rng.integers(0, 100, 1_001).astype(INTS[k % 14])[:: 1 if k % 3 else -1] for k in range(40)]
    twin = pyflat.twin(total, target="numba")
    assert twin(*arrays).tolist() == [sum(int(a[i]) for a in arrays) for i in range(1_001)]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("options", [{}, {"errors": "unchecked"}], ids=str)
def test_numbers_beyond_int64(order, options):
    a, ones = np.full(500, 7, order + "u8"), np.ones(500, order + "u8")
    twin = pyflat.twin(counted, target="numba", **options)
    for _ in range(3):
        assert twin(a, ones).tolist() == [8] * 500
    a[3] = 2**63 + 1
    with pytest.raises(pyflat.LaneError, match=f"the integer {2**63 + 2}") as caught:
        twin(a, ones)
    assert "lane 3 (n=9223372036854775809, m=1)" in caught.value.__notes__[0]


@pytest.mark.parametrize("dtype", ["f2", ">f4", "f4"])
@pytest.mark.parametrize("errors", ["raise", "mask", "nan"])
def test_lanes_that_fail_have_the_numbers_of_the_array(dtype, errors):
    x, n = np.full(900, 0.1, dtype), np.ones(900, "u1")
    twin = pyflat.twin(inverse, target="numba", errors=errors)
    twin(n, x)
    n[5] = 0
    if errors == "raise":
        with pytest.raises(ZeroDivisionError) as caught:
            twin(n, x)
        assert f"lane 5 (n=0, x={float(x[5])!r})" in caught.value.__notes__[0]
        return
    values = twin(n, x)[0] if errors == "mask" else twin(n, x)
    assert np.array_equal(np.isnan(values), n == 0)
    assert values[0] == float(x[0])


@pytest.mark.parametrize("dtype", ["u1", ">i4", "u8", "f2", ">f8"])
@pytest.mark.parametrize("options", [{}, {"dtype": "float32"}, {"parallel": True}, {"errors": "mask"}], ids=str)
def test_a_call_holds_the_result_and_no_copy(dtype, options):
    count = 600_000
    cells = np.ones((1_000, 600), dtype)
    twin = pyflat.twin(scaled if np.dtype(dtype).kind == "f" else counted, target="numba", **options)
    for a in (cells.reshape(-1), cells.reshape(-1)[::-1], np.asfortranarray(cells)):
        twin(a, a)
        tracemalloc.start()
        result = twin(a, a)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        result = result[0] if isinstance(result, tuple) else result
        assert peak < result.itemsize * count + 1_000_000


def test_a_ufunc_takes_them():
    a, b = np.arange(100, dtype=np.uint8), np.arange(100, dtype=">i4")[::-1]
    assert np.array_equal(pyflat.twin(counted, target="numba").ufunc(a, b), pyflat.twin(counted)(a, b))
