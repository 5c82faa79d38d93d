"""Dtypes and layouts of arguments, ways to pass them, numbers among them and `out=`, all at once: each call gives what
dense float64, int64 and bool arrays give by position, bit by bit."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import pyflat
from pyflat.runtime.calls import Caller
from pyflat.targets import threads
from pyflat.targets.numpy import engine as numpy_target
from tests.support.concurrency import on_threads

TARGETS = ("numba", "numpy")
INTS = ("i1", "u1", "<i2", ">i2", "<u4", ">u4", "<i4", ">i4", "q", ">i8", "<u8", ">u8")
FLOATS = ("<f2", ">f2", "<f4", ">f4", ">f8", "<f8")
PAIRS = tuple(zip(INTS, itertools.cycle(FLOATS), strict=False))
COUNTS = (1, 7, 1_000, numpy_target.LEAST + 3)


def blended(n, x, flag, low=-1.0, step=3, high=2.0, up=True):
    if flag and x > low:
        return np.exp(x * 0.25) * step + n if up else x - n
    return x * high - n


def parts(n, x, flag, low=-1.0, step=3, high=2.0, up=True):
    return (n * step if up else n - step), min(max(x, low), high), flag and x > low


def numpys(n, x, flag, low=-1.0, step=3, high=2.0, up=True):
    """The results are those of NumPy's functions, written where they stay."""
    return np.arcsinh(x * high), np.exp(n * low)


def ratio(n, x, a=1.0, b=2.0, c=3.0):
    return (x * a + b) / n + c


def grown(n, x, a=1, b=2, c=3):
    return n * a + b if x > 0.0 else n - c


FUNCTIONS = (blended, parts, numpys)

LAYOUTS = {
    "dense": lambda a: a,
    "reversed": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "apart": lambda a: np.repeat(a, 3)[::3],
    "field": lambda a: _field(a),
    "read-only": lambda a: _frozen(a),
    "column": lambda a: np.stack([a, a, a], 1)[:, 1],
}


def _field(a):
    table = np.zeros(len(a), [("before", "u1"), ("values", a.dtype), ("after", "u2")])
    table["values"] = a
    return table["values"]


def _frozen(a):
    a = a.copy()
    a.flags.writeable = False
    return a


NUMBERS = {
    "left out": (),
    "Python's": (-0.5, 2, 1.5, False),
    "NumPy's": (np.float32(-0.5), np.uint8(2), np.float16(1.5), np.bool_(False)),
    "without axes": (np.array(-0.5, ">f4"), np.array(2, "i2"), np.array(1.5), np.array(False)),
    "one": (-0.5,),
}
"""Values for `low`, `step`, `high` and `up`."""

OUTPUTS = {
    "none": lambda like: None,
    "dense": lambda like: np.empty(like.shape, like.dtype),
    "apart": lambda like: np.empty((*like.shape[:-1], 2 * like.shape[-1]), like.dtype)[..., ::2],
    "field": lambda like: np.empty(like.shape, [("before", "u1"), ("values", like.dtype)])["values"],
    "reversed": lambda like: np.empty(like.shape, like.dtype)[..., ::-1],
    "of another dtype": lambda like: np.empty(like.shape, ">c16"),
}


def columns(ints, floats, count):
    random = np.random.default_rng(count)
    n = random.integers(0, 100, count).astype(ints)
    x = (random.normal(size=count) * 3).astype(floats)
    return n, x, random.random(count) < 0.7


def plain(arrays):
    """The same lanes as engines compute with them."""
    return [a.astype({"f": np.float64, "b": np.bool_}.get(a.dtype.kind, np.int64)) for a in arrays]


def passed(arrays, numbers, how):
    """Arguments and keywords of a call of one of `FUNCTIONS`."""
    names = ("n", "x", "flag", "low", "step", "high", "up")
    given = dict(zip(names, [*arrays, *numbers], strict=False))
    count = {"by position": len(given), "by keyword": 0, "mixed": 2}[how]
    rest = list(given.items())[count:]
    return list(given.values())[:count], dict(reversed(rest))


@pytest.fixture(scope="module", params=TARGETS)
def twins(request):
    """A twin to try, and one that is called with plain arrays by position, for each function."""
    if request.param == "numba":
        pytest.importorskip("numba")
    return {fn: (pyflat.twin(fn, target=request.param), pyflat.twin(fn, target=request.param))
            for fn in FUNCTIONS}


@pytest.fixture(params=TARGETS)
def target(request):
    if request.param == "numba":
        pytest.importorskip("numba")
    return request.param


def tupled(value):
    return value if isinstance(value, tuple) else (value,)


def agrees(twin, args, kwargs, wanted, make):
    """One call gives `wanted`, in the arrays of `out=` that `make` gives for it."""
    outs = tuple(make(w) for w in tupled(wanted))
    more = {} if outs[0] is None else {"out": outs if isinstance(wanted, tuple) else outs[0]}
    found = tupled(twin(*args, **kwargs, **more))
    for result, out, want in zip(found, outs, tupled(wanted), strict=True):
        assert out is None or result is out
        held = want if out is None else want.astype(out.dtype)
        assert result.dtype == held.dtype
        assert result.shape == want.shape
        assert result.tobytes() == held.tobytes()


@pytest.mark.turns(2)
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtypes", PAIRS, ids="-".join)
def test_lanes_do_not_depend_on_the_form_of_a_call(dtypes, layout, numbers, twins):
    hows = itertools.cycle(["by position", "by keyword", "mixed"])
    for fn, count in itertools.product(twins, COUNTS):
        twin, reference = twins[fn]
        arrays = columns(*dtypes, count)
        wanted = reference(*plain(arrays), *NUMBERS[numbers])
        given = [LAYOUTS[layout](a) for a in arrays]
        for make in OUTPUTS.values():
            agrees(twin, *passed(given, NUMBERS[numbers], next(hows)), wanted, make)


@pytest.mark.turns(2)
@pytest.mark.parametrize("out", ["none", "dense", "apart"])
@pytest.mark.parametrize("how", ["by position", "by keyword", "mixed"])
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("dtypes", [("<i4", "<f4"), (">i2", ">f8"), ("u1", "<f2"), (">u8", "<f8")], ids="-".join)
def test_plans_make_these_calls(dtypes, numbers, how, out, target, monkeypatch):
    for fn, layout in itertools.product(FUNCTIONS, LAYOUTS):
        twin = pyflat.twin(fn, target=target)
        arrays = columns(*dtypes, 1_000)
        wanted = twin(*plain(arrays), *NUMBERS[numbers])
        args, kwargs = passed([LAYOUTS[layout](a) for a in arrays], NUMBERS[numbers], how)
        twin(*args, **kwargs)
        with monkeypatch.context() as patch:
            if (target, out) != ("numpy", "apart"):  # NumPy's own functions are not trusted with such an array
                patch.setattr(Caller, "__call__", None)
            agrees(twin, args, kwargs, wanted, OUTPUTS[out])


MATRICES = {
    "C order": lambda n, x, flag: (n, x, flag),
    "Fortran's order": lambda n, x, flag: tuple(map(np.asfortranarray, (n, x, flag))),
    "both": lambda n, x, flag: (n, np.asfortranarray(x), flag),
    "a row": lambda n, x, flag: (n[0], x, flag[:, :1]),
    "a row and a column": lambda n, x, flag: (n[0], x[:, :1], flag[:1, :1]),
    "no copies": lambda n, x, flag: (np.broadcast_to(n[:1], n.shape), x[:, ::-1], flag[::-1]),
}


@pytest.mark.turns(2)
@pytest.mark.parametrize("shape", [(2, 3), (40, 50), (9, numpy_target.LEAST // 4)])
@pytest.mark.parametrize("form", MATRICES)
@pytest.mark.parametrize("dtypes", PAIRS[::3], ids="-".join)
def test_matrices(dtypes, form, shape, twins):
    for fn, numbers in itertools.product(twins, NUMBERS):
        twin, reference = twins[fn]
        given = MATRICES[form](*[a.reshape(shape) for a in columns(*dtypes, math.prod(shape))])
        whole = [np.ascontiguousarray(np.broadcast_to(a, shape)) for a in given]
        wanted = reference(*plain(whole), *NUMBERS[numbers])
        for how, make in itertools.product(("by position", "by keyword"), (*OUTPUTS.values(), _in_fortran_order)):
            args, kwargs = passed(given, NUMBERS[numbers], how)
            agrees(twin, args, kwargs, wanted, make)


def _in_fortran_order(like):
    return np.empty(like.shape, like.dtype, order="F")


@pytest.mark.parametrize("dtypes", PAIRS[::4], ids="-".join)
def test_an_output_of_another_shape(dtypes, target):
    """A larger one takes part in broadcasting; a smaller one is refused, and left as it is."""
    twin = pyflat.twin(blended, target=target)
    n, x, flag = columns(*dtypes, 6)
    wanted = twin(*plain((n, x, flag)))
    for _ in range(4):
        twin(n, x, flag=flag)
        out = np.zeros((3, 6))
        assert twin(n, x=x, flag=flag, out=out) is out
        assert (out == wanted).all()
        for wrong in (np.zeros(5), np.zeros(1), np.zeros((2, 1)), np.zeros((6, 1))[:, 0:0]):
            with pytest.raises(ValueError, match="out"):
                twin(n, x, flag=flag, out=wrong)
            assert not wrong.any()
        with pytest.raises(ValueError, match="out"):
            twin(n[:, None], x, flag=flag, out=np.zeros(6))


@pytest.mark.parametrize("errors", ["raise", "mask", "nan"])
@pytest.mark.parametrize("dtypes", PAIRS, ids="-".join)
def test_lanes_that_fail_are_run_with_what_the_caller_gave(dtypes, errors, target):
    twin = pyflat.twin(ratio, target=target, errors=errors)
    n, x, _ = columns(*dtypes, 50)
    n[n == 0] = 1
    good = twin(*plain((n, x)))
    good = good[0] if errors == "mask" else good
    n[[3, 8]] = 0
    for layout in LAYOUTS.values():
        given, out = {"x": layout(x), "n": layout(n), "c": np.float32(3.0), "b": 2, "a": np.array(1.0)}, np.empty(50)
        if errors == "raise":
            with pytest.raises(ZeroDivisionError) as caught:
                twin(**given, out=out)
            assert f"lane 3 (n=0, x={x[3].item()!r}," in "".join(caught.value.__notes__)
            continue
        found = twin(**given, out=out)
        if errors == "mask":
            found, faults = found
            assert faults.lanes.tolist() == [3, 8]
        assert found is out
        assert np.isnan(out[[3, 8]]).all()
        assert np.delete(out, [3, 8]).tobytes() == np.delete(good, [3, 8]).tobytes()


@pytest.mark.parametrize("order", "<>")
def test_numbers_beyond_int64_are_what_the_caller_gave(order, target):
    twin = pyflat.twin(grown, target=target)
    n, x = np.array([5, 2**63 + 1, 7, 2**63 + 5], f"{order}u8"), np.array([1.0, -1.0, 1.0, -1.0], f"{order}f4")
    for layout, c in itertools.product(LAYOUTS.values(), (7, np.uint64(7), np.array(7, "u8"), np.int8(7))):
        for values in (n % 256, n % 256, n, n):
            wanted, out = [grown(k, y, c=7) for k, y in zip(values.tolist(), x.tolist(), strict=True)], np.zeros(4, int)
            assert twin(x=layout(x), n=layout(values), c=c, b=np.int16(2)).tolist() == wanted
            assert twin(layout(values), layout(x), c=c, out=out) is out
            assert out.tolist() == wanted


@pytest.mark.parametrize("dtype", ["float32", "input"])
@pytest.mark.parametrize("floats", FLOATS)
def test_float32(floats, dtype, target):
    twin = pyflat.twin(blended, target=target, dtype=dtype)
    for count, numbers in itertools.product(COUNTS, NUMBERS):
        n, x, flag = columns("<i4", floats, count)
        with np.errstate(all="ignore"):
            own = x.astype("f4") if dtype == "float32" or x.dtype.itemsize == 4 else x.astype("f8")
        values = [v.item() if isinstance(v, np.generic | np.ndarray) else v for v in NUMBERS[numbers]]
        if dtype == "input" and numbers in ("NumPy's", "without axes"):
            values, own = NUMBERS[numbers], x.astype("f8")
        wanted = twin(n.astype(int), own, flag, *values)
        for layout, how, out in itertools.product(LAYOUTS.values(), ("by position", "by keyword"), ("none", "dense")):
            args, kwargs = passed([layout(a) for a in (n, x, flag)], NUMBERS[numbers], how)
            agrees(twin, args, kwargs, wanted, OUTPUTS[out])


@pytest.mark.parametrize("numbers", [(), (3, 2.0, True)])
@pytest.mark.parametrize("form", [float, np.float64, np.array])
def test_numbers_beyond_float32(form, numbers, target):
    """They are infinite in float32, without a warning."""
    twin = pyflat.twin(blended, target=target, dtype="float32")
    n, x, flag = columns(">i2", ">f8", 20)
    for beyond in (1.0, 1e300, -1e300) * 2:
        with np.errstate(all="raise"):
            wanted = twin(*plain((n, x, flag)), np.full(20, beyond), *numbers)
            assert twin(n, x, flag, form(beyond), *numbers).tobytes() == wanted.tobytes()
            out = np.empty(20, "f4")
            assert twin(flag=flag, x=x, n=n, low=form(beyond), **dict(zip(("step", "high", "up"), numbers, strict=False)),
                        out=out) is out
        assert out.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("parallel", [True, False, None])
@pytest.mark.parametrize("dtypes", [("<i4", ">f8"), (">u2", "<f4"), ("<u8", "<f2")], ids="-".join)
def test_many_lanes_on_several_threads(dtypes, parallel, target, monkeypatch):
    monkeypatch.setenv("PYFLAT_NUM_THREADS", "4")
    monkeypatch.setattr(threads, "PIECE", 1e-9)
    for fn, layout in itertools.product(FUNCTIONS, ("dense", "reversed", "column")):
        twin = pyflat.twin(fn, target=target, parallel=parallel)
        arrays = columns(*dtypes, 3 * threads.GRAIN + 1)
        for numbers in NUMBERS.values():
            wanted = pyflat.twin(fn, target=target, parallel=False)(*plain(arrays), *numbers)
            args, kwargs = passed([LAYOUTS[layout](a) for a in arrays], numbers, "mixed")
            for make in OUTPUTS.values():
                agrees(twin, args, kwargs, wanted, make)


def test_calls_at_the_same_time(target):
    """Plans for several dtypes, each with a block of memory for its numbers."""
    twin = pyflat.twin(blended, target=target)
    calls = []
    for k, dtypes in enumerate(PAIRS[:6]):
        numbers = (k * 0.5, k, 2.0 - k, bool(k % 2))
        arrays = columns(*dtypes, 500 + k)
        args, kwargs = passed(arrays, numbers, "by keyword")
        calls.append((args, kwargs, twin(*plain(arrays), *numbers)))

    done = []

    def work(index):
        for step in range(60):
            args, kwargs, wanted = calls[(index + step) % len(calls)]
            agrees(twin, args, kwargs, wanted, OUTPUTS["dense" if step % 2 else "none"])
        done.append(index)

    on_threads(work)
    assert sorted(done) == [0, 1, 2, 3]
