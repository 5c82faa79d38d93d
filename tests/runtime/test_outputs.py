"""`out=`: results in given arrays are those of a call without, by NumPy's rules, on every way that a call can take."""

from __future__ import annotations

import cmath
import dataclasses
import math
from typing import NamedTuple

import numpy as np
import pytest

import pyflat
from pyflat.targets import threads

XS = np.array([0.5, -1.5, 2.0, 4.0, -0.25, 3.0])
YS = np.array([1.0, 2.0, -3.0, 0.5, 8.0, 0.0])


def curve(x, y):
    return x * y + 1.0 if x > y else y - x


def both(x, y):
    return (x + y, x > y) if x > 0.0 else (x - y, y > 1.0)


def inverse(x, y):
    return y / x


def whole(n, m):
    return n * m if n > m else n - m


def power(x, y):
    return complex(x, y) * 2.0 if x > 0.0 else cmath.sqrt(x)


class Pair(NamedTuple):
    low: float
    rest: tuple[float, int]


def nested(x, y):
    return Pair(min(x, y), (max(x, y), 3))


@dataclasses.dataclass
class Box:
    size: float
    full: bool

    def __post_init__(self):
        self.full = bool(self.full)


def boxed(x, y):
    return Box(x - y, x > 2.0)


def texts(x, y):
    return x - y, None


def fixed(x, y):
    return 2.5, x > y


def keeps(x, out):
    return x - out


def takes_any(x, **more):
    return x - more["out"]


def option(x, how):
    return x + 1.0 if how == "up" else x - 1.0


def writes(x, box):
    box[0] = x + 1.0
    return x * 2.0


@pytest.fixture(params=["numba", "numpy"])
def target(request):
    return request.param


def calls(twin, *args, **kwargs):
    """The result of a call the long way and, where there is one, by a plan."""
    for _ in range(3):
        yield twin(*args, **kwargs)


def fresh(wanted):
    return np.full(wanted.shape, 77, wanted.dtype)


@pytest.mark.parametrize("shape", [(6,), (2, 3), (1,), (0,), (3, 0), ()])
@pytest.mark.parametrize("fn", [curve, inverse, whole])
def test_one_array(fn, shape, target):
    xs, ys = (np.resize(a[a != 0.0], shape) for a in (XS, YS))
    if fn is whole:
        xs, ys = xs.astype(int), ys.astype(int)
    twin = pyflat.twin(fn, target=target)
    wanted = np.asarray(twin(xs, ys))
    for _ in range(3):
        out = fresh(wanted)
        assert twin(xs, ys, out=out) is out
        assert out.tobytes() == wanted.tobytes()
        assert twin(xs, **{"m" if fn is whole else "y": ys}, out=(out,)) is out


def test_a_plan_makes_the_call(target, monkeypatch):
    from pyflat.runtime.calls import Caller

    one, two = pyflat.twin(curve, target=target), pyflat.twin(both, target=target)
    for _ in range(2):
        one(XS, YS), two(XS, YS)
    wanted = [one(XS, YS), *two(XS, YS)]
    monkeypatch.setattr(Caller, "__call__", None)
    out, values, flags = np.empty(6), np.empty(6), np.empty(6, bool)
    assert one(XS, YS, out=out) is out
    found = two(x=XS, y=YS, out=(values, flags))
    assert found[0] is values and found[1] is flags
    for array, want in zip([out, values, flags], wanted, strict=True):
        assert array.tobytes() == want.tobytes()


@pytest.mark.parametrize("given", [
    lambda a: a[::2], lambda a: a[::-2], lambda a: a.reshape(2, 6)[:, ::2].T.reshape(-1)[:0], lambda a: a[3:9],
], ids=["strided", "reversed", "empty", "part"])
def test_views(given, target):
    twin = pyflat.twin(curve, target=target)
    out = given(np.zeros(12))
    xs, ys = XS[: len(out)], YS[: len(out)]
    wanted = twin(xs, ys)
    for _ in range(3):
        out[...] = 77.0
        assert twin(xs, ys, out=out) is out
        assert out.tolist() == wanted.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_two_axes(order, target):
    twin = pyflat.twin(curve, target=target)
    xs, ys = XS.reshape(2, 3), YS.reshape(2, 3)
    for out in (np.zeros((2, 3), order=order), np.zeros((4, 6), order=order)[::2, ::2], np.zeros((3, 2), order=order).T):
        for _ in range(3):
            out[...] = 77.0
            assert twin(xs, ys, out=out) is out
            assert out.tolist() == [[curve(x, y) for x, y in zip(*rows)] for rows in zip(xs.tolist(), ys.tolist())]


def is_infinite(x):
    return math.isinf(255.0 - x)


def arc(x):
    return math.acos(x * 0.125)


@pytest.mark.parametrize("step", [1, 2, 3, -1])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
@pytest.mark.parametrize(("fn", "mode"), [(is_infinite, "exact"), (arc, "exact"), (arc, "fast")])
def test_items_of_the_array_that_lie_apart(fn, mode, dtype, step, target):
    """NumPy 2.4 writes wrong items of such an array for isinf."""
    x = np.array([1.0, 2.0, -np.inf, 3.0, 5.0, np.inf, np.nan, 0.5] * 5, dtype)
    x = x if fn is is_infinite else np.nan_to_num(x, posinf=1.0, neginf=-1.0)
    twin = pyflat.twin(fn, target=target, math=mode)
    expected = twin(x)
    for _ in range(3):
        out = np.ones(40 * abs(step), expected.dtype)[::step][:40]
        assert twin(x, out=out) is out
        assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["f4", "f2", ">f8", "c16", "f8"])
def test_casting_is_same_kind(dtype, target):
    twin = pyflat.twin(curve, target=target)
    wanted = twin(XS, YS)
    for _ in range(3):
        out = np.zeros(6, dtype)
        assert twin(XS, YS, out=out) is out
        assert out.tobytes() == wanted.astype(dtype).tobytes()


def test_casting_does_not_warn(target):
    twin = pyflat.twin(curve, target=target)
    for _ in range(3):
        with np.errstate(all="raise"):
            assert twin(np.array([1e10]), 1e30, out=np.zeros(1, "f4")).tolist() == [np.float32(1e30 - 1e10)]
            assert twin(np.array([1e300]), 1e-3, out=np.zeros(1, "f4")).tolist() == [np.inf]


@pytest.mark.parametrize("dtype", ["i8", "?", "O"])
def test_other_casts_are_refused(dtype, target):
    twin = pyflat.twin(curve, target=target)
    out = np.zeros(6, dtype)
    for _ in range(3):
        if dtype == "O":
            assert twin(XS, YS, out=out) is out
            continue
        with pytest.raises(TypeError, match="'out' is an array of .* float64"):
            twin(XS, YS, out=out)
        assert not out.any()
        twin(XS, YS)


@pytest.mark.parametrize(("make", "error", "match"), [
    (lambda: np.broadcast_to(0.0, 6), ValueError, "'out' is read-only"),
    (lambda: [0.0] * 6, TypeError, "'out' is a list"),
    (lambda: np.ma.zeros(6), TypeError, "'out' is a numpy.ma"),
    (lambda: np.float64(2.0), TypeError, "'out' is a numpy.float64"),
    (lambda: np.zeros(5), ValueError, r"out has \(5,\)"),
    (lambda: np.zeros(1), ValueError, r"'out' has shape \(1,\), and the results have \(6,\)"),
    (lambda: np.zeros((2, 1)), ValueError, r"'out' has shape \(2, 1\), and the results have \(2, 6\)"),
    (lambda: (np.zeros(6), None), TypeError, "'out' is a tuple of 2"),
])
def test_what_does_not_fit_is_refused_before_anything_is_written(make, error, match, target):
    twin = pyflat.twin(curve, target=target)
    for _ in range(3):
        out = make()
        with pytest.raises(error, match=match):
            twin(XS, YS, out=out)
        assert not np.any(out[0] if isinstance(out, tuple) else out) or np.ndim(out) == 0
        twin(XS, YS)


def test_arguments_are_broadcast_to_a_larger_array(target):
    twin, out = pyflat.twin(curve, target=target), np.zeros((3, 6))
    for args in ((XS, YS), (XS, 2.0), (1.0, 2.0), (np.float64(1.0), np.array(2.0))) * 3:
        out[...] = 77.0
        assert twin(*args, out=out) is out
        assert np.array_equal(out, np.broadcast_to(twin(*args), (3, 6)))
    first, rest = pyflat.twin(both, target=target)(XS, YS, out=(out, None))
    assert first is out and rest.shape == (3, 6)


@pytest.mark.parametrize("fn", [curve, inverse])
@pytest.mark.parametrize("shift", [-2, -1, 0, 1, 2])
def test_overlap(fn, shift, target):
    twin = pyflat.twin(fn, target=target, errors="nan")
    base = np.concatenate([[9.0] * 3, XS, [9.0] * 3])
    wanted = twin(XS, YS)
    for k in range(3):
        memory = base.copy()
        xs, out = memory[3:9], memory[3 + shift : 9 + shift]
        assert twin(xs, YS, out=out) is out
        assert out.tobytes() == wanted.tobytes()
        memory = base.copy()
        xs, out = memory[3:9], memory[3:9][::-1]
        assert twin(xs, YS, out=out).tobytes() == wanted.tobytes()


def test_lanes_that_are_run_again_see_their_arguments(target):
    twin = pyflat.twin(whole, target=target)
    small, wide = np.array([3, 2, 5]), np.array([3, 2**62, 5])
    wanted = whole(3, 1), 2**62 * 1, 5
    for _ in range(3):
        for values in (small.copy(), wide.copy()):
            first = twin(values, 1)
            assert twin(values, 1, out=values) is values
            assert values.tolist() == first.tolist()
    assert wanted[1] == 2**62


@pytest.mark.parametrize("errors", ["nan", "mask", "raise", "unchecked"])
def test_failing_lanes(errors, target):
    twin = pyflat.twin(inverse, target=target, errors=errors)
    xs, good = np.array([1.0, 0.0, 4.0]), np.array([1.0, 2.0, 4.0])
    for _ in range(3):
        out = np.full(3, 77.0)
        if errors == "raise":
            with pytest.raises(ZeroDivisionError):
                twin(xs, 1.0, out=out)
        elif errors == "mask":
            values, faults = twin(xs, 1.0, out=out)
            assert values is out and faults.lanes.tolist() == [1]
            assert np.array_equal(out, [1.0, np.nan, 0.25], equal_nan=True)
        else:
            assert twin(xs, 1.0, out=out) is out
            assert np.isnan(out[1]) if errors == "nan" else np.isinf(out[1])
        found = twin(good, 1.0, out=out)
        assert (found[0] if errors == "mask" else found) is out
        assert out.tolist() == [1.0, 0.5, 0.25]
        xs[...] = [1.0, 0.0, 4.0]
        if errors == "nan":
            assert np.array_equal(twin(xs, 1.0, out=xs), [1.0, np.nan, 0.25], equal_nan=True)


def test_tuples_of_arrays(target):
    twin = pyflat.twin(both, target=target)
    wanted = twin(XS, YS)
    for _ in range(3):
        values, flags = np.empty(6), np.empty(6, bool)
        found = twin(XS, YS, out=(values, flags))
        assert found[0] is values and found[1] is flags
        first, second = twin(XS, YS, out=(None, flags))
        assert second is flags and first is not values
        for result, want in zip([values, flags, first], [*wanted, wanted[0]], strict=True):
            assert result.tobytes() == want.tobytes()
        assert twin(XS, YS, out=(None, None))[0].tobytes() == wanted[0].tobytes()
    for out, match in ((np.empty(6), "one array"), ((values,), "a tuple of 1"), ((values, None, None), "a tuple of 3")):
        with pytest.raises(TypeError, match=f"'out' is {match}, and both_flat returns 2 results"):
            twin(XS, YS, out=out)
    with pytest.raises(TypeError, match=r"'out\[1\]' is an array of int64, and the results are float64"):
        pyflat.twin(copies, target=target)(XS, 2.0, out=(None, np.zeros(6, int)))


def copies(x, y):
    return x, x + y


def test_one_array_twice(target):
    twin, same = pyflat.twin(copies, target=target), np.empty(6)
    for _ in range(3):
        found = twin(XS, 2.0, out=(same, same))
        assert found[0] is same and found[1] is same
        assert same.tolist() == (XS + 2.0).tolist()


def test_structures(target):
    twin = pyflat.twin(nested, target=target)
    low, high, whole_ = np.empty(6), np.empty(6), np.empty(6, int)
    for _ in range(3):
        found = twin(XS, YS, out=(low, (high, whole_)))
        assert type(found) is Pair and found.low is low and found.rest[0] is high and found.rest[1] is whole_
        assert (low == np.minimum(XS, YS)).all() and (high == np.maximum(XS, YS)).all() and (whole_ == 3).all()
    box = pyflat.twin(boxed, target=target)(XS, YS, out=(low, None))
    assert type(box) is Box and box.size is low and box.full.tolist() == (XS > 2.0).tolist()
    number, flags = pyflat.twin(fixed, target=target)(XS, YS, out=(low, np.zeros(6, bool)))
    assert number is low and (low == 2.5).all() and flags.tolist() == (XS > YS).tolist()
    with pytest.raises(TypeError, match=r"'out\[1\]': texts_flat does not return a number there"):
        pyflat.twin(texts, target=target)(XS, YS, out=(low, np.zeros(6)))
    assert pyflat.twin(texts, target=target)(XS, YS, out=(low, None))[1] is None


def test_complex_results(target):
    twin = pyflat.twin(power, target=target)
    wanted = twin(XS, YS)
    for dtype in ("c16", "c8"):
        out = np.zeros(6, dtype)
        assert twin(XS, YS, out=out) is out
        assert (out == wanted.astype(dtype)).all()
    with pytest.raises(TypeError, match="complex128"):
        twin(XS, YS, out=np.zeros(6))


def test_scalars(target):
    twin, out = pyflat.twin(curve, target=target), np.empty(())
    for x in (1.0, np.float64(1.0), np.array(1.0)):
        for _ in range(3):
            assert twin(x, 2.0, out=out) is out
            assert out[()] == curve(1.0, 2.0)
    assert twin(1.0, 2.0, out=np.zeros((), "f4")).dtype == np.float32
    assert pyflat.twin(whole, target=target)(300, 2, out=np.zeros((), "i1"))[()] == np.int64(600).astype("i1")


def test_float32(target):
    twin = pyflat.twin(curve, target=target, dtype="float32")
    xs, ys = XS.astype("f4"), YS.astype("f4")
    wanted = twin(xs, ys)
    for dtype in ("f4", "f8"):
        for _ in range(3):
            out = np.zeros(6, dtype)
            assert twin(xs, ys, out=out) is out
            assert (out == wanted).all()


@pytest.mark.parametrize("parallel", [True, False, None])
@pytest.mark.parametrize("n", [threads.GRAIN, 100_000])
def test_many_lanes(n, parallel, target):
    twin = pyflat.twin(curve, target=target, parallel=parallel)
    rng = np.random.default_rng(3)
    xs, ys = rng.normal(size=(2, n))
    wanted = twin(xs, ys)
    for out in (np.empty(n), np.empty(2 * n)[::2], xs):
        for given in (xs.copy(), xs) if out is xs else (xs, xs):
            values = out if out is not xs else given
            assert twin(given, ys, out=values) is values
            assert values.tobytes() == wanted.tobytes()


def test_an_engine_writes_where_it_can(target, monkeypatch):
    """No array is made for results that are given."""
    twin = pyflat.twin(curve, target=target, parallel=True)
    xs, out = np.linspace(-1.0, 1.0, 100_000), np.empty(100_000)
    twin(xs, 0.0)
    made, empty = [], np.empty

    def counted(*args, **kwargs):
        made.append(args)
        return empty(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr("pyflat.runtime.compiled.np.empty", counted)
        twin(xs, 0.0, out=out)
    assert not made


def test_a_parameter_named_out_keeps_its_meaning(target):
    for fn in (keeps, takes_any):
        twin = pyflat.twin(fn, target=target)
        other = YS.copy()
        for _ in range(3):
            assert twin(XS, out=other).tolist() == (XS - YS).tolist()
            assert (other == YS).all()
            assert twin(XS, out=2.0).tolist() == (XS - 2.0).tolist()


def test_columns_of_options(target):
    twin, how = pyflat.twin(option, target=target), np.array(["up", "down"] * 3, object)
    wanted = twin(XS, how)
    for out in (np.empty(6), np.empty(6, "f4"), np.empty((2, 6))):
        assert twin(XS, how, out=out) is out
        assert (out == wanted.astype(out.dtype)).all()
    with pytest.raises(ValueError, match="read-only"):
        twin(XS, how, out=np.broadcast_to(0.0, 6))


@pytest.mark.filterwarnings("ignore:PYFLAT_DISABLE")
def test_disabled(target, monkeypatch):
    twin, out = pyflat.twin(curve, target=target), np.empty(6)
    monkeypatch.setenv("PYFLAT_DISABLE", "1")
    assert twin(XS, YS, out=out) is out
    assert out.tolist() == [curve(x, y) for x, y in zip(XS.tolist(), YS.tolist())]
    with pytest.raises(TypeError, match="int8"):
        twin(XS, YS, out=np.zeros(6, "i1"))


def test_what_a_function_writes_stays_where_it_is(target):
    twin = pyflat.twin(writes, target=target)
    box, out = [np.zeros(6)], np.empty(6)
    assert twin(XS, box, out=out) is out
    assert out.tolist() == (XS * 2.0).tolist() and box[0].tolist() == (XS + 1.0).tolist()


def test_other_methods_have_no_out(target):
    twin = pyflat.twin(curve, target=target)
    for method in (twin.faults, twin.verify, twin.profile):
        with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
            method(XS, YS, out=np.empty(6))
