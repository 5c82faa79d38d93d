"""Dense arrays of one shape go to the kernel by machine code; it gives what NumPy's way gives, and leaves others to it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import pyflat
from pyflat.targets.numba import compiled_kernel, dense_calls
from pyflat.testing import same_bits
from tests.support.concurrency import on_threads

XS = np.linspace(-3.0, 3.0, 103)
YS = XS[::-1].copy()


def curve(x, y):
    return x * y + 1.0 if x > y else y - x


def both(x, y):
    return (x - y, x > y) if x > 0.0 else (y - x, False)


def scaled(x, n, flag, z):
    return (x * z if flag else x - z) + n


def inverse(x):
    return 1.0 / x


def kinds(n, m):
    return n * m + 1 if n > m else n - m


def word(x):
    return "low" if x < 0.0 else "high"


@pytest.fixture
def taken(monkeypatch):
    """What the machine function gave, by call."""
    given, make = [], dense_calls.dense_call

    def spied(*args):
        later = make(*args)
        if later is not None:
            call = later._make()

            def counted(*arguments):
                given.append(call(*arguments))
                return given[-1]

            later.cell.cell_contents = counted
        return later

    monkeypatch.setattr(compiled_kernel, "dense_call", spied)
    return given


def planned(fn, *args, **options):
    """A twin that has a plan for such arguments."""
    twin = pyflat.twin(fn, target="numba", **options)
    for _ in range(2):
        twin(*args)
    return twin


def is_made(given):
    return bool(given) and given[-1] is not NotImplemented and given[-1] is not ...


def reference(fn, *args):
    """By NumPy's broadcasting and the original, lane by lane."""
    arrays = np.broadcast_arrays(*args)
    return np.array([fn(*[a.item() for a in lane]) for lane in zip(*[a.flat for a in arrays], strict=True)]
                    ).reshape(arrays[0].shape)


@pytest.mark.parametrize("shape", [(103,), (1,), (4, 5), (2, 3, 4), (1, 7), (7, 1)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_arrays(shape, order, taken):
    xs = np.asarray(np.random.default_rng(1).normal(size=shape), order=order)
    ys = np.asarray(np.random.default_rng(2).normal(size=shape), order=order)
    twin = planned(curve, xs, ys)
    found = twin(xs, y=ys)
    assert is_made(taken) and found is taken[-1]
    assert same_bits(found, reference(curve, xs, ys))
    assert found.shape == shape and found.flags.owndata and found.strides == np.empty_like(xs).strides
    with pyflat.options(cache=False):
        assert twin(xs, ys).strides == found.strides


@pytest.mark.parametrize("args", [
    (XS[::2], YS[::2]), (XS[::-1], YS), (XS[::-3], YS[::3]), (np.broadcast_to(1.0, 103), YS),
    (np.arange(12.0).reshape(4, 3)[:, 1], np.arange(4.0)), (XS[50:51:2], YS[:1])])
def test_rows_with_gaps(args, taken):
    twin = planned(curve, XS, YS)
    found = twin(*args)
    assert is_made(taken) and same_bits(found, reference(curve, *args)) and found.flags.c_contiguous


def strided():
    return [
        (np.arange(24.0).reshape(4, 6)[:, ::2], np.full((4, 3), 7.5)), (XS, 2.0 * YS.reshape(-1, 1)), (XS.reshape(1, -1), YS), (XS, np.float64(0.5)),
        (np.asfortranarray(np.arange(12.0).reshape(3, 4)), np.full((3, 4), 5.5)), (XS[:0], YS[:0]), (np.array(1.5), np.array(0.5)),
        (XS.astype(">f8"), YS), (XS.astype(np.float32), YS), (np.frombuffer(b"\0" * 25, offset=1), np.ones(3)),
        (XS, YS[:1]),
    ]


@pytest.mark.parametrize("number", range(len(strided())))
def test_others_are_left_to_numpy(number, taken):
    """A plan for dense float64 arrays meets something else, and something else has a plan of its own."""
    xs, ys = strided()[number]
    plain = pyflat.twin(curve, target="numba")(xs, ys)
    twin = planned(curve, XS, YS)
    for _ in range(3):
        found = twin(xs, ys)
        assert same_bits(found, plain) and type(found) is type(plain)
        assert np.shape(found) == np.broadcast_shapes(np.shape(xs), np.shape(ys))
    assert same_bits(twin(XS, YS), reference(curve, XS, YS))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.bool_])
def test_stored_dtypes(dtype, taken):
    ns = np.arange(-50, 51).astype(dtype)
    found = [planned(kinds, ns, ns[::-1].copy())(ns, ns[::-1].copy()) for _ in range(2)][-1]
    assert is_made(taken)
    assert same_bits(found, pyflat.twin(kinds, target="numpy")(ns, ns[::-1]))


@pytest.mark.parametrize("numbers", [(3, True, 0.5), (np.int64(3), np.bool_(True), np.float64(0.5)), (-2, False, -0.0)])
def test_numbers_among_arrays(numbers, taken):
    twin = planned(scaled, XS, *numbers)
    taken.clear()
    found = twin(XS, *numbers)
    assert is_made(taken)
    assert same_bits(found, reference(scaled, XS, *numbers))


@pytest.mark.parametrize("number", [2**63, -2**63 - 1, np.int32(3), np.uint8(3), "3", None])
def test_other_numbers(number, taken):
    """Of other types, or too large: what the twin without plans says."""
    def outcome(twin):
        try:
            return twin(XS, number, True, 0.5)
        except (TypeError, ValueError, OverflowError, pyflat.FlattenError) as error:
            return type(error), str(error)

    twin = planned(scaled, XS, 3, True, 0.5)
    expected = outcome(pyflat.twin(scaled, target="numba"))
    for _ in range(3):
        found = outcome(twin)
        assert found == expected if isinstance(expected, tuple) else same_bits(found, expected)


@pytest.mark.parametrize("length", [103, 499, 500, 501, 8_192, 40_000])
def test_several_results(length, taken):
    xs = np.random.default_rng(3).normal(size=length)
    ys = xs[::-1].copy()
    twin = planned(both, xs, ys)
    found = twin(xs, ys)
    assert is_made(taken) or length >= 32_768
    assert isinstance(found, tuple) and [a.dtype for a in found] == [np.float64, np.bool_]
    assert all(same_bits(a, b) for a, b in zip(found, pyflat.twin(both, target="numpy")(xs, ys), strict=True))
    left, right = np.empty(length), np.empty(length, bool)
    given = twin(xs, ys, out=(left, right))
    assert given[0] is left and all(same_bits(a, b) for a, b in zip(given, found, strict=True))


def test_many_lanes_on_one_thread(taken):
    xs = np.random.default_rng(3).normal(size=100_000)
    twin = planned(curve, xs, xs, parallel=False)
    found = twin(xs, xs)
    assert is_made(taken) and taken[-2] is NotImplemented
    assert same_bits(found, pyflat.twin(curve, target="numpy")(xs, xs))


def test_out(taken):
    twin, out = planned(curve, XS, YS), np.empty_like(XS)
    assert twin(XS, YS, out=out) is out and taken[-1] is out
    assert same_bits(out, reference(curve, XS, YS))
    for other in (np.empty(206)[::2], XS.copy(), np.empty((1, 103)), np.empty(103, np.float32), np.empty(103, ">f8")):
        try:
            expected = pyflat.twin(curve, target="numba")(XS, YS, out=other)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                twin(XS, YS, out=other)
        else:
            assert twin(XS, YS, out=other) is other and same_bits(expected, other)


@pytest.mark.parametrize("step", [1, 2, -1, -2])
@pytest.mark.parametrize("place", range(-2, 5))
def test_out_beside_operands_with_gaps(step, place, taken):
    """Where they share memory the results are those of arguments that stay as they are."""
    memory = np.zeros(24)
    xs = memory[8:16][::step]
    xs[:] = np.arange(len(xs)) - 2.5
    out, ys = memory[8 + 2 * place:][: len(xs)], np.arange(len(xs)) * 0.5
    twin, expected = planned(curve, XS, YS), reference(curve, xs.copy(), ys)
    assert same_bits(twin(xs, ys, out=out).copy(), expected)
    assert (taken[-1] is NotImplemented) is np.may_share_memory(xs, out)


@pytest.mark.parametrize("shift", [0, 1, -1])
def test_out_on_top_of_an_argument(shift, taken):
    memory = np.concatenate([[0.5], XS, [0.25]])
    xs, out = memory[1:-1], memory[1 + shift : 104 + shift]
    expected = reference(curve, xs.copy(), YS)
    twin = planned(curve, XS, YS)
    assert same_bits(twin(xs, YS, out=out), expected)
    assert taken[-1] is NotImplemented


def test_out_that_is_read_only(taken):
    twin, out = planned(curve, XS, YS), np.zeros_like(XS)
    out.flags.writeable = False
    with pytest.raises(ValueError, match=r"read-only"):
        twin(XS, YS, out=out)
    assert not out.any()


def test_objects_are_made_of_codes(taken):
    twin = planned(word, XS)
    assert list(twin(XS)) == [word(x) for x in XS] and is_made(taken)


def test_a_suspect_lane(taken):
    twin = planned(inverse, XS + 7.0)
    bad = np.array([1.0, 0.0, 2.0])
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            twin(bad)
    assert any(given is ... for given in taken)
    assert same_bits(twin(XS + 7.0), 1.0 / (XS + 7.0))


def test_references(taken):
    """Nothing is kept, nothing is given away."""
    twin, out = planned(both, XS, YS), np.empty_like(XS)
    single = planned(curve, XS, YS)
    held = [XS, YS, out, XS.dtype, np.dtype(bool), None, NotImplemented, ...]

    def calls():
        for _ in range(1_000):
            single(XS, YS)
            single(XS, YS, out=out)
            single(XS[::2], YS[::2])
            twin(XS, YS)

    calls()
    taken.clear()
    before = [sys.getrefcount(each) for each in held]
    calls()
    taken.clear()
    assert all(abs(sys.getrefcount(each) - count) < 100 for each, count in zip(held, before, strict=True))


def test_threads_at_once():
    twin = planned(curve, XS, YS)
    inputs = [np.random.default_rng(k).normal(size=(2, 700)) for k in range(4)]
    expected = [pyflat.twin(curve, target="numpy")(*pair) for pair in inputs]
    right = []
    on_threads(lambda k: right.append(all(same_bits(twin(*inputs[k]), expected[k]) for _ in range(300))))
    assert right == [True] * 4


def test_it_is_ready_after_some_calls(monkeypatch):
    function = dense_calls._function
    ready = function.__wrapped__.cache_info
    monkeypatch.setattr(dense_calls, "_function", lambda: function())
    dense_calls._function.__wrapped__ = type("", (), {"cache_info": staticmethod(lambda: ready()._replace(currsize=0))})
    made = []
    monkeypatch.setattr(dense_calls, "bound", lambda *given, bound=dense_calls.bound: made.append(1) or bound(*given))
    twin = planned(curve, XS, YS)
    for _ in range(dense_calls.PATIENCE - 2):
        twin(XS, YS)
    assert not made
    for _ in range(5):
        assert same_bits(twin(XS, YS), reference(curve, XS, YS))
    assert made == [1]


def test_without_it(monkeypatch):
    """Where objects are laid out otherwise, NumPy makes all calls."""
    monkeypatch.setattr(dense_calls, "supported", lambda: False)
    twin = planned(curve, XS, YS)
    assert same_bits(twin(XS, YS), reference(curve, XS, YS))
