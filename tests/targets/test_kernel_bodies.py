"""Bodies of parallel loops that run as flat functions: the bits, exceptions and arrays of the original, both ways."""

from __future__ import annotations

import math
import threading
import warnings

import numpy as np
import pytest

import pyflat
from pyflat.functions import ways


@pytest.fixture(params=["numba", "numpy"])
def target(request):
    return request.param


def steps(x):
    n = 0
    while x > 1.0 and n < 60:
        x = x * 0.7
        n += 1
    return n


def root(x):
    y = max(1.0, x)
    for _ in range(50):
        z = 0.5 * (y + x / y)
        if abs(z - y) < 1e-12:
            break
        y = z
    return y


def called(a, out):
    for i in range(len(a)):
        out[i] = root(abs(a[i])) + steps(a[i])


def in_place(a, w=2.0):
    for i in range(1, len(a) - 1):
        if a[i] > 0.0:
            a[i] = math.exp(math.sin(a[i]) * w)


def guarded(a, b, out):
    for i in range(len(a)):
        if b[i] != 0.0:
            out[i] = math.atan(a[i] / b[i])


def two_axes(a, out):
    for r in range(a.shape[0]):
        scale = 1.0 + r
        for c in range(a.shape[1]):
            out[r, c] = root(abs(a[r, c]) * scale) + c


def over_columns(x, out):
    """An operand of fewer axes than the nest."""
    for r in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[r, c] = root(abs(x[c]))


def last_of_two(a, out):
    for i in range(len(a)):
        out[i] = math.cos(a[i])
        if a[i] < 0.0:
            out[i] = math.exp(out[i])
        out[i] = math.log(abs(out[i]) + 1.0) + out[i]


def skipping(a, out, mask):
    for i in range(len(a)):
        if mask[i]:
            continue
        out[i] = a[i] % 3.0
        mask[i] = a[i] > 0.0


def narrow(a, out):
    for i in range(len(a)):
        out[i] = a[i] * math.exp(a[i]) if a[i] < 1.0 else a[i]


def edges(a, out):
    for i in range(len(a)):
        before = a[i - 1] if i > 0 else 0.0
        after = a[i + 1] if i + 1 < len(a) else 1.0
        out[i] = math.exp(math.sin(before)) + after


def strides(a, out):
    for i in range(len(out) - 1, -1, -2):
        out[len(out) - 1 - i] = root(a[i]) if a[i] > 1.0 else 1.0


def escape(a, out, limit=40):
    for i in range(len(a)):
        z = 0.0
        n = 0
        while n < limit and z * z <= 4.0:
            z = z * z + a[i]
            n += 1
        out[i] = n + z * 0.5


def left(a, out):
    """What is left with is made by the test."""
    for i in range(len(a)):
        z = abs(a[i]) + 0.1
        while (d := math.sqrt(z)) < 7.0:
            z = z * 1.5
        out[i] = d


def shifted(a, low=-1.0, high=1.5):
    """A loop that carries nothing but memory."""
    for i in range(len(a)):
        while a[i] >= high:
            a[i] -= high - low
        while a[i] < low:
            a[i] += high - low


def both_ways(function, *arguments, target, form="flat"):
    """What a kernel leaves in copies of its arguments; its bodies run in this form."""
    given = [each.copy(order="K") if isinstance(each, np.ndarray) else each for each in arguments]
    with ways.forced(kernel_bodies=form):
        twin = pyflat.twin(function, target=target)
        twin(*given)
        again = [each.copy(order="K") if isinstance(each, np.ndarray) else each for each in arguments]
        twin(*again)
    for one, other in zip(given, again, strict=True):
        assert np.array_equal(one, other, equal_nan=True)
    return given, twin


A = np.random.default_rng(3).normal(size=3_001) * 5
CASES = [
    (called, (A, np.zeros(3_001))), (called, (A[:3], np.zeros(3))), (called, (A[:0], np.zeros(0))),
    (called, (A[::3], np.zeros(1_001))), (called, (A[:500].astype(np.int32), np.zeros(500))),
    (in_place, (A,)), (in_place, (A[:2],)), (in_place, (A, 0.25)),
    (guarded, (A, np.where(A > 1.0, 0.0, A), np.full(3_001, 7.0))),
    (two_axes, (A[:3_000].reshape(30, 100), np.zeros((30, 100)))),
    (two_axes, (A[:3_000].reshape(30, 100).T, np.zeros((100, 30), np.float32))),
    (over_columns, (A, np.zeros((3, 3_001)))), (over_columns, (A, np.zeros((3, 3_001), np.float32))),
    (last_of_two, (A, np.zeros(3_001))),
    (edges, (A, np.zeros(3_001))), (edges, (A[:1], np.zeros(1))), (edges, (A[:0], np.zeros(0))),
    (strides, (A, np.zeros(3_001))), (strides, (A[::3], np.zeros(1_000))),
    (skipping, (A, np.zeros(3_001), A > 2.0)),
    (escape, (A, np.zeros(3_001))), (escape, (A, np.zeros(3_001), 4_000)), (left, (A, np.zeros(3_001))), (shifted, (A,)),
    (narrow, (A[:700].astype(np.float32), np.zeros(700, np.float32))),
]


@pytest.mark.parametrize("form", ["flat", "in place"])
@pytest.mark.parametrize(("function", "arguments"), CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_bits_are_the_originals(function, arguments, form, target):
    wanted = [each.copy(order="K") if isinstance(each, np.ndarray) else each for each in arguments]
    function(*wanted)
    found, twin = both_ways(function, *arguments, target=target, form=form)
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one, other, equal_nan=True)
    if function is not strides:
        assert form in twin.stats.ways["kernel bodies"]
    assert not twin.stats.replayed


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_fast_mathematics_has_the_first_digits(function, arguments):
    found = []
    for each in (function, pyflat.twin(function, target="numba", math="fast")):
        given = [each.copy(order="K") if isinstance(each, np.ndarray) else each for each in arguments]
        each(*given)
        found.append(given)
    for one, other in zip(*found, strict=True):
        rounded = getattr(one, "dtype", None) == np.float32
        assert np.allclose(one, other, rtol=1e-6 if rounded else 1e-12, atol=1e-12, equal_nan=True)


def test_expensive_bodies_are_flat_and_cheap_ones_stay(target):
    def cheap(a, out):
        for i in range(len(a)):
            out[i] = a[i] * 2.0 + 1.0 if a[i] > 0.0 else 0.0

    def expensive(a, out):
        for i in range(len(a)):
            out[i] = root(a[i]) if a[i] > 0.0 else math.exp(a[i])

    def divides(a, out):
        for i in range(len(a)):
            out[i] = math.atan(2.0 / a[i]) if a[i] != 0.0 else 0.0

    for function, wanted in ((expensive, "flat"), (divides, "flat"), (cheap, "in place")):
        twin = pyflat.twin(function, target=target)
        twin(np.where(A > 1.0, 0.0, A), np.zeros(3_001))
        assert twin.stats.ways["kernel bodies"] == (wanted,)


def endless(a, b, out):
    for i in range(len(a)):
        y = math.sqrt(a[i])
        x = b[i]
        while x > 0.0:
            x = 3.0 - x
        out[i] = x + y


@pytest.mark.filterwarnings("default")  # with errors for warnings the code around waits for no lane
def test_a_lane_that_the_original_never_comes_to_ends(target):
    a, b, out = np.full(40, 4.0), np.zeros(40), np.full(40, 7.0)
    a[3], b[3:] = -1.0, 1.0
    with ways.forced(kernel_bodies="flat"), np.errstate(all="ignore"), pytest.raises(ValueError, match="math domain"):
        pyflat.twin(endless, target=target)(a, b, out)
    assert out.tolist() == [2.0] * 3 + [7.0] * 37


def test_a_fault_leaves_what_the_original_leaves(target):
    def logs(a, out):
        for i in range(len(a)):
            out[i] = math.log(a[i]) if a[i] != 5.0 else 0.0

    a, out, wanted = np.full(2_000, 3.0), np.zeros(2_000), np.zeros(2_000)
    a[1_500] = -1.0
    for function, array in ((logs, wanted), (pyflat.twin(logs, target=target), out)):
        with pytest.raises(ValueError):
            function(a, array)
    assert np.array_equal(out, wanted)


def test_an_exception_of_the_body_leaves_what_the_original_leaves(target):
    def checked(a, out):
        for i in range(len(a)):
            if a[i] < 0.0:
                raise ValueError(f"negative at {i}")
            out[i] = math.exp(a[i])
            a[i] = 0.5

    left = []
    for function in (checked, pyflat.twin(checked, target=target)):
        a, out = np.full(2_000, 3.0), np.zeros(2_000)
        a[1_500] = -1.0
        with pytest.raises(ValueError, match="negative at 1500"):
            function(a, out)
        left.append((a.tolist(), out.tolist()))
    assert left[0] == left[1]


def only_checked(a):
    for i in range(len(a)):
        if a[i] < 0.0 or a[i] > 10.0:
            raise ValueError(f"beyond at {i}")


def test_a_body_that_only_raises(target):
    a = np.full(70_000, 3.0)
    twin = pyflat.twin(only_checked, target=target)
    assert twin(a) is None and not twin.stats.replayed
    a[60_000] = 11.0
    with pytest.raises(ValueError, match="beyond at 60000"):
        twin(a)


def test_blocks_before_the_one_that_raises_are_stored(target):
    """Also into an array that nothing reads, of which no copy is kept."""
    def stored(a, out):
        for i in range(len(a)):
            out[i] = math.log(a[i]) if a[i] != 5.0 else 0.0

    a, out = np.linspace(1.0, 2.0, 70_000), np.full(70_000, 7.0)
    a[40_000], wanted = -1.0, out.copy()
    for function, array in ((stored, wanted), (pyflat.twin(stored, target=target), out)):
        with pytest.raises(ValueError):
            function(a, array)
    assert np.array_equal(out, wanted) and out[39_999] != 7.0 == out[40_000]


def an_index_that_is_not_tested(a, k, out):
    for i in range(len(out)):
        if out[i] > 0.0:
            out[i] = math.exp(a[i + k])


@pytest.mark.parametrize(("k", "error"), [(1, None), (-1, None), (2, IndexError), (-3, IndexError)])
def test_indices_in_branches(target, k, error):
    a, results = np.linspace(0.0, 1.0, 6), []
    for function in (an_index_that_is_not_tested, pyflat.twin(an_index_that_is_not_tested, target=target)):
        out, raised = np.array([1.0, 1.0, 0.0, 0.0, 1.0]) if k > 0 else np.ones(2), None
        try:
            function(a[:2] if k < 0 else a, k, out)
        except IndexError as found:
            raised = type(found)
        results.append((out.tolist(), raised))
    assert results[0] == results[1] and results[0][1] is error


def columns(a, out):
    for i in range(len(out)):
        out[i, 0] = math.exp(a[i, 0])
        if a[i, 0] > 0.0:
            out[i, 1] = math.exp(a[i, 2])


@pytest.mark.parametrize(("read", "written", "error"), [(3, 2, False), (2, 2, True), (3, 1, True), (1, 1, True)])
@pytest.mark.parametrize("arm", [True, False])
def test_columns_that_an_arm_may_come_to(target, read, written, error, arm):
    a, results = np.full((5, read), -0.5), []
    a[3, 0] = 0.5 if arm else -0.5
    for function in (columns, pyflat.twin(columns, target=target)):
        out, raised = np.ones((5, written)), False
        try:
            function(a, out)
        except IndexError:
            raised = True
        results.append((out.tolist(), raised))
    assert results[0] == results[1] and results[0][1] is (error and arm)


def unread(a, out):
    for i in range(len(a)):
        a[i] + a[i]
        out[i] = math.exp(min(a[i], 1.0))


def overwritten(a, out):
    for i in range(len(a)):
        out[i] = a[i] * a[i]
        out[i] = math.exp(min(a[i], 1.0))


def cleared(a, out):
    for i in range(len(a)):
        x = a[i] * a[i]
        for _ in range(2):
            x = np.tanh(x)
        out[i] = x


def read_in_an_arm(a, out):
    for i in range(len(a)):
        x = a[i] * a[i]
        if out[i] > 0.0:
            out[i] = math.tanh(x)


def last_trip(a, out):
    """What the last of three trips computes is not read."""
    for i in range(len(a)):
        x = a[i]
        for _ in range(3):
            out[i] += math.atan(x)
            x = x * 10.0


def constant(a, out):
    for i in range(len(a)):
        np.float64(1e308) * 10.0
        out[i] = math.sin(a[i])


def left_with(a, out):
    for i in range(len(a)):
        x, n = a[i], 0.0
        while n < 3.0 and x < 1e307:
            x = x * x * x
            n += 1.0
        out[i] = n


@pytest.mark.parametrize("math", ["exact", "fast"])
@pytest.mark.parametrize("function", [
    guarded, unread, overwritten, cleared, read_in_an_arm, last_trip, left_with, constant])
def test_warnings_are_the_originals(function, target, math):
    big = np.array([1.0, 1e308 if function is not left_with else 1e120, 3.0] * 400)
    arguments = (big, np.full(1_200, 1e-300), np.zeros(1_200)) if function is guarded else (big, np.zeros(1_200))
    told = []
    for each in (function, pyflat.twin(function, target=target, math=math)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            each(*arguments)
        told.append([str(warning.message) for warning in caught])
    assert told[0] and set(told[0]) == set(told[1])


def unread_sum(a, out):
    for i in range(len(a)):
        1 + a[i]
        out[i] = root(out[i])


def test_a_sum_of_ints_that_nothing_takes_warns(target):
    told = []
    for each in (unread_sum, pyflat.twin(unread_sum, target=target)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            each(np.array([1, 2**63 - 1, 3]), np.ones(3))
        told.append([str(warning.message) for warning in caught])
    assert told[0] == told[1] == ["overflow encountered in scalar add"]


def test_two_threads_share_a_twin():
    twin = pyflat.twin(called, target="numba")
    wanted = np.zeros(3_001)
    called(A, wanted)
    results = [np.zeros(3_001) for _ in range(4)]
    threads = [threading.Thread(target=lambda out=out: [twin(A, out) for _ in range(20)]) for out in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(out, wanted) for out in results)
