"""`twin.ufunc`: a numpy.ufunc with NumPy's rules, the original's values and the original's exceptions."""

from __future__ import annotations

import functools
import gc
import math
import sys
import warnings

import numpy as np
import pytest

import pyflat
from pyflat.errors import FlattenError

TARGETS = ("numba", "numpy")


def gap(x: float, y: float) -> float:
    if x > y:
        return math.sqrt(x - y)
    return y / x


def polar(x: float, y: float):
    if x == 0.0 and y == 0.0:
        return 0.0, 0.0
    return math.hypot(x, y), math.atan2(y, x)


def halved(n: int, most: int = 3) -> int:
    count = 0
    while n % 2 == 0 and count < most:
        n = n // 2
        count += 1
    return n


SCALE = 2.0


def scaled(x):
    return x * SCALE if x > 0.0 else x


def square(x):
    return x * x + 1


@pytest.fixture(params=TARGETS)
def target(request):
    if request.param == "numba":
        pytest.importorskip("numba")
    return request.param


@pytest.fixture
def operands():
    x = np.linspace(0.5, 3.0, 1001)
    return x, x[::-1].copy() - 1e-3


def expected(function, *arrays):
    return np.array([function(*row) for row in zip(*(a.tolist() for a in arrays), strict=True)])


def test_it_is_a_ufunc(target):
    made = pyflat.twin(gap, target=target).ufunc
    assert isinstance(made, np.ufunc)
    assert (made.nin, made.nout, made.__name__, made.identity) == (2, 1, "gap_flat", None)
    assert pyflat.twin(gap, target=target).ufunc(3.0, 2.0) == 1.0


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 31, 64, 65])
def test_values_at_every_length(target, operands, n):
    x, y = (a[:n] for a in operands)
    assert np.array_equal(pyflat.twin(gap, target=target).ufunc(x, y), expected(gap, x, y))


def test_strides_byte_order_and_alignment(target, operands):
    x, y = operands
    made, want = pyflat.twin(gap, target=target).ufunc, expected(gap, x, y)
    assert np.array_equal(made(x[::-3], y[::-3]), want[::-3])
    assert np.array_equal(made(x.astype(">f8"), y), want)
    bytes_ = np.zeros(8 * len(x) + 1, np.uint8)
    shifted = bytes_[1:].view(np.float64)
    shifted[:] = x
    assert not shifted.flags.aligned
    assert np.array_equal(made(shifted, y), want)
    out = np.zeros(2 * len(x))
    made(x, y, out=out[::2])
    assert np.array_equal(out[::2], want)
    assert not out[1::2].any()


def test_broadcasting_where_and_outer(target, operands):
    x, y = operands
    made = pyflat.twin(gap, target=target).ufunc
    assert np.array_equal(made(x, 2.0), [gap(a, 2.0) for a in x.tolist()])
    table = made.outer(x[:5], y[:3])
    assert table.tolist() == [[gap(a, b) for b in y[:3].tolist()] for a in x[:5].tolist()]
    out = np.full(len(x), -7.0)
    made(x, y, out=out, where=x > 1.5)
    assert np.array_equal(out, np.where(x > 1.5, expected(gap, x, y), -7.0))


def test_a_lane_that_where_leaves_out_cannot_fail(target):
    x = np.array([0.0, 2.0])
    out = np.zeros(2)
    pyflat.twin(gap, target=target).ufunc(x, 4.0, out=out, where=x != 0.0)
    assert out.tolist() == [0.0, 2.0]


def test_results_may_overlap_operands(target, operands):
    x, y = operands
    made, want = pyflat.twin(gap, target=target).ufunc, expected(gap, x, y)
    same = x.copy()
    assert made(same, y, out=same) is same
    assert np.array_equal(same, want)
    memory = np.concatenate([x, [0.0]])
    made(memory[:-1], y, out=memory[1:])
    assert np.array_equal(memory[1:], want)


def test_a_lane_that_fails_in_place_is_run_on_its_own_operands(target):
    """Its operand must not be overwritten when the original runs it."""

    def wide(x):
        return (x * x) // 3

    made = pyflat.twin(wide, target=target).ufunc
    x = np.array([2**32, 5, -7])
    assert made(x.copy()).tolist() == (x.astype(object) ** 2 // 3).tolist()
    made(x, out=x)
    assert x.tolist() == [2**64 // 3, 8, 16]


@pytest.mark.parametrize("n", [1, 2, 63, 5000])
def test_every_layout_of_operands_gives_the_same(target, n):
    """Dense, strided, backwards, one value for all, in place: bools, ints and floats."""

    def mixed(flag: bool, k: int, x: float):
        if flag:
            return x * k > 1.0, k * k % 1009, x / (k - 7)
        return x > 0.0, k - 1, x

    made = pyflat.twin(mixed, target=target).ufunc
    random = np.random.default_rng(n)
    flag, x = random.random(n) > 0.3, random.normal(size=n)
    k = random.integers(8, 100, n)
    k[:: 400] = 2**33 + 1
    rows = [mixed(*row) for row in zip(flag.tolist(), k.tolist(), x.tolist(), strict=True)]
    want = [np.array(column) for column in zip(*rows, strict=True)]

    def check(found, lanes=slice(None)):
        for a, b in zip(found, want, strict=True):
            assert np.array_equal(a, b[lanes])

    check(made(flag, k, x))
    check(made(flag[::-2], k[::-2], x[::-2]), slice(None, None, -2))
    check(made(np.repeat(flag, 3)[::3], k, np.repeat(x, 2)[1::2]))
    own = flag.copy(), k.copy(), x.copy()
    check(made(*own, out=own))
    for found, expected_ in zip(made(True, k, x[0]), zip(*[mixed(True, a, float(x[0])) for a in k.tolist()],
                                                         strict=True), strict=True):
        assert found.tolist() == list(expected_)
    out = [np.zeros(2 * n, a.dtype) for a in want]
    check(made(flag, k, x, out=tuple(a[::2] for a in out)))
    assert not any(a[1::2].any() for a in out)


def test_long_reductions(target):
    def worst(a: int, b: int) -> int:
        return a * a // (a + 1) + b if a > b else b

    x = np.random.default_rng(2).integers(0, 2**30, 3000)
    x[1500] = 2**40
    made = pyflat.twin(worst, target=target).ufunc
    steps = [int(x[0])]
    for item in x[1:].tolist():
        steps.append(worst(steps[-1], item))
    assert made.accumulate(x).tolist() == steps
    assert made.reduce(x) == steps[-1]


def test_kinds_choose_the_loop(target):
    made = pyflat.twin(square, target=target).ufunc
    assert made(np.arange(4, dtype=np.int16)).dtype == np.int64
    assert made(np.arange(4, dtype=np.float32)).dtype == np.float64
    assert made(np.array([True])).tolist() == [2]
    assert type(made(3)) is np.int64
    assert made(np.arange(4), dtype=float).tolist() == [1.0, 2.0, 5.0, 10.0]
    assert made(np.arange(3), casting="safe").tolist() == [1, 2, 5]
    out = np.zeros(3, np.float32)
    made(np.arange(3.0), out=out)
    assert out.tolist() == [1.0, 2.0, 5.0]


@pytest.mark.parametrize("operand", [np.array([2**63], np.uint64), np.array([1j]), np.array(["a"]),
                                     np.array([1.0], np.longdouble), np.array([None])], ids=str)
def test_operands_that_no_lane_holds_are_refused(target, operand):
    with pytest.raises(TypeError, match="lanes hold bool"):
        pyflat.twin(square, target=target).ufunc(operand)


def test_an_int_beyond_int64_is_an_error(target):
    with pytest.raises((TypeError, OverflowError)):
        pyflat.twin(square, target=target).ufunc(2**70)


def test_a_dtype_that_no_loop_gives_is_refused(target):
    with pytest.raises(TypeError, match="gives float64 for these operands, not float32"):
        pyflat.twin(gap, target=target).ufunc(1.0, 2.0, dtype="float32")
    with pytest.raises(TypeError):
        pyflat.twin(gap, target=target).ufunc(np.ones(2), 2.0, out=np.zeros(2, np.int64))


def test_several_results(target, operands):
    x, y = operands
    made = pyflat.twin(polar, target=target).ufunc
    radius, angle = made(x, y)
    assert np.array_equal(radius, [math.hypot(*row) for row in zip(x.tolist(), y.tolist(), strict=True)])
    out = np.zeros((2, len(x)))
    made(x, y, out=(out[0], out[1]))
    assert np.array_equal(out, [radius, angle])


def test_defaults_are_operands_and_partials_fix_them(target):
    assert pyflat.twin(halved, target=target).ufunc.nin == 2
    made = pyflat.twin(functools.partial(halved, most=1), target=target).ufunc
    assert (made.nin, made(np.array([8, 12, 7])).tolist()) == (1, [4, 6, 7])


def test_python_raises(target):
    made = pyflat.twin(gap, target=target).ufunc
    with pytest.raises(ZeroDivisionError, match="float division by zero") as caught:
        made(np.array([1.0, 0.0]), 4.0)
    assert caught.value.__notes__ == ["in a lane of the ufunc gap_flat: x=0.0, y=4.0"]
    assert made(1.0, 4.0) == 4.0


def test_lanes_that_fail_may_be_nan(target):
    made = pyflat.twin(gap, target=target, errors="nan").ufunc
    assert np.isnan(made(np.array([1.0, 0.0]), 4.0)).tolist() == [False, True]
    with pytest.raises(FlattenError, match="nan"):
        pyflat.twin(halved, target=target, errors="nan").ufunc


def test_suspect_lanes_that_do_not_fail_get_the_originals_value(target):
    def wide(x: int) -> int:
        return (x * x) // (x * x)

    assert pyflat.twin(wide, target=target).ufunc(np.array([2**40, 3])).tolist() == [1, 1]


def test_no_warning_from_arms_that_are_not_taken(target):
    x = np.array([-1.0, 0.0, 4.0, np.nan])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = pyflat.twin(lambda x: math.log(x) if x > 0.0 else 1.0 / (x - 1.0), target=target).ufunc
        assert np.isnan(made(x)).tolist() == [False, False, False, True]


def test_reductions_are_left_folds(target):
    x = np.array([8.0, 2.0, 5.0, 3.0, 1.0])
    made = pyflat.twin(gap, target=target).ufunc
    assert made.reduce(x) == functools.reduce(gap, x.tolist())
    assert made.accumulate(x)[-1] == made.reduce(x)
    assert made.reduce(np.stack([x, x + 1.0]), axis=0).tolist() == [gap(a, a + 1.0) for a in x.tolist()]
    assert made.reduceat(x, [0, 2]).tolist() == [gap(8.0, 2.0), functools.reduce(gap, x[2:].tolist())]
    with pytest.raises(ZeroDivisionError):
        made.reduce(np.array([0.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match="zero-size"):
        made.reduce(np.zeros(0))


def test_at_counts_every_index(target):
    def add(a: float, b: float) -> float:
        return a + b

    out = np.zeros(3)
    pyflat.twin(add, target=target).ufunc.at(out, [0, 2, 2], 1.5)
    assert out.tolist() == [1.5, 0.0, 3.0]


def test_a_changed_global_makes_a_new_ufunc(target, monkeypatch):
    twin = pyflat.twin(scaled, target=target)
    before = twin.ufunc
    assert before is twin.ufunc
    monkeypatch.setitem(scaled.__globals__, "SCALE", 3.0)
    assert (twin.ufunc(2.0), before(2.0)) == (6.0, 4.0)


def test_disabled_ufuncs_run_the_original(target, monkeypatch):
    seen = []

    def noted(x: float) -> float:
        return x + 1.0

    twin = pyflat.twin(noted, target=target)
    compiled = twin.ufunc
    monkeypatch.setenv("PYFLAT_DISABLE", "1")
    original = twin.ufunc
    assert original is not compiled and original is twin.ufunc
    before = sys.gettrace()
    sys.settrace(lambda frame, event, _: seen.append(frame.f_code.co_name))
    try:
        compiled(np.ones(3))
        assert "noted" not in seen
        assert original(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    finally:
        sys.settrace(before)
    assert seen.count("noted") == 3


def test_it_outlives_its_twin(target):
    made = pyflat.twin(lambda x: 1.0 / x if x > 1.0 else x, target=target).ufunc
    gc.collect()
    assert made(np.array([4.0, 0.5])).tolist() == [0.25, 0.5]
    references = [made]
    del made
    references.clear()
    gc.collect()


@pytest.mark.parametrize(("function", "options", "error"), [
    (lambda z: (z, "text"), {}, FlattenError),
    (lambda: 1.0, {}, FlattenError),
    (lambda x, z=1j: x, {}, FlattenError),
    (gap, {"errors": "mask"}, ValueError),
    (gap, {"target": "dataflow"}, ValueError),
])
def test_what_is_no_ufunc_is_refused(function, options, error):
    with pytest.raises(error):
        pyflat.twin(function, **options).ufunc  # noqa: B018


def test_fast_functions_decide_as_the_originals(operands):
    pytest.importorskip("numba")

    def chosen(x: float, y: float) -> float:
        return math.exp(x) if math.log(x) > math.log(y) else y

    x, _ = operands
    made = pyflat.twin(chosen, target="numba", math="fast").ufunc
    assert np.array_equal(made(x, x), x)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_types_lists_the_loops(target):
    def scaled(x: float, n: int):
        return x * n, x > n

    made = pyflat.twin(scaled, target=target).ufunc
    assert made.types == ["d" + np.dtype(int).char + "->d?"]
    assert (made.ntypes, made.nin, made.nout, made.nargs) == (1, 2, 2, 4)
    assert (made.signature, made.identity) == (None, None)
    made(np.ones(3), np.ones(3))
    assert made.types[1:] == ["dd->d?"]
    made(np.ones(3, bool), True)
    assert made.types[2:] == ["??->" + made.types[2][4:]]
    assert made.ntypes == 3
    with pytest.raises(TypeError):
        made(np.ones(3), "a")
    assert made(np.float32(2.0), np.int8(3)) == (6.0, False)
    assert np.array_equal(made.resolve_dtypes((np.dtype(float), np.dtype(float), None, None))[2:], [np.dtype(float), np.dtype(bool)])


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_a_ufunc_of_a_twin_is_no_loop_for_compiled_code(target):
    inner = pyflat.twin(lambda x, y: x + y).ufunc

    with pytest.raises(pyflat.FlattenError, match="no loop that compiled code can call"):
        pyflat.twin(lambda x: inner(x, 2.0) + 1.0, target=target)(np.ones(3))
