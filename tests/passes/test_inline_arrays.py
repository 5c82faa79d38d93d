"""Arrays that are computed where they are read: which do, that bits, exceptions, warnings and arrays are the original's,
and what settings decide."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import pyflat
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import TRUE, Loop, walk


def stencils(a, out):
    n = len(a)
    t = np.empty(n)
    for i in range(1, n - 1):
        t[i] = a[i - 1] + a[i] + a[i + 1]
    for i in range(2, n - 2):
        out[i] = t[i - 1] * 0.5 + t[i] - t[i + 1]


def planes(a, out):
    n, m = a.shape
    t = np.empty((n, m))
    for i in range(1, n - 1):
        for j in range(m):
            t[i, j] = a[i - 1, j] - a[i + 1, j]
    for i in range(2, n - 2):
        for j in range(1, m - 1):
            out[i, j] = t[i, j - 1] + t[i, j + 1]


def transposed(a, out):
    n, m = a.shape
    t = np.empty((m, n))
    for i in range(n):
        for j in range(m):
            t[j, i] = a[i, j] * 2.0
    for j in range(m):
        for i in range(n - 1, -1, -1):
            out[i, j] = t[j, i] + 1.0


def whole(a, b, out):
    t = a * 2.0 + b
    u = t - a
    out[:] = t * u


def smoothed(x):
    s = np.empty(len(x))
    for k in range(len(x)):
        s[k] = x[k] * 0.5
    return s


def helped(a, out):
    t = smoothed(a)
    for i in range(1, len(a)):
        out[i] = t[i] - t[i - 1]


def summed(a, b, out):
    t = np.zeros(len(a))
    for i in range(len(a)):
        t[i] += a[i] * b[i]
    for i in range(len(a) - 1):
        out[i] = t[i] + t[i + 1]


def clipped(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        x = a[i] * 3.0
        if x > 1.0:
            x = 1.0
        t[i] = x
    for i in range(len(a) - 1):
        out[i] = t[i + 1] - t[i]


def constants(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = 2.5
    for i in range(len(a) - 2):
        out[i] = t[i] * a[i] + t[i + 1] + t[i + 2]


def copied(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i]
    for i in range(len(a)):
        for j in range(len(a)):
            out[i] = out[i] + t[j]


def by_counter(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = i * 0.5
    for i in range(len(a) - 1):
        out[i] = t[i + 1] - t[i]


def single(a, out):
    t = np.empty(len(a), np.float32)
    for i in range(len(a)):
        t[i] = a[i] * 0.1
    for i in range(1, len(a)):
        out[i] = t[i] + t[i - 1]


def early(a, out):
    """Every second reader of one array in another one."""
    n = len(a)
    t, u = np.empty(n), np.empty(n)
    for i in range(n):
        t[i] = a[i] * 0.5
    for i in range(n - 1):
        u[i] = t[i + 1] - t[i]
    for i in range(1, n - 1):
        out[i] = u[i - 1] * t[i] + u[i]


def in_steps(a, out):
    """Again and again, in a loop around both."""
    t = np.empty(len(a))
    for _ in range(len(a)):
        for i in range(1, len(a) - 1):
            t[i] = out[0] + a[i - 1] + a[i + 1]
        for i in range(2, len(a) - 2):
            out[i] = t[i - 1] + t[i + 1]


def gaps(a, out):
    """Of three elements one is not read."""
    n = len(a)
    t = np.empty(n)
    for i in range(n):
        t[i] = a[i] * 2.0
    for i in range(n - 4):
        out[i] = t[i] + t[i + 1] + t[i + 4]


def corners(a, out):
    n, m = a.shape
    t = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            t[i, j] = a[i, j] * 2.0
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = t[i - 1, j - 1] + t[i + 1, j + 1]


def middle(a, out):
    n, m = a.shape
    t = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            t[i, j] = a[i, j] * 2.0
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = t[i, j]


def pair(a, out):
    """One nest writes two arrays, of which not the same is read."""
    n = len(a)
    t, u = np.empty(n), np.empty(n)
    for i in range(n):
        t[i] = a[i] * 2.0
        u[i] = a[i] * 2.5
    for i in range(2, n):
        out[i] = t[i]
    for i in range(n - 2):
        out[i] = u[i]


def without_the_last(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 2.0
    for i in range(len(a) - 1):
        out[i] = t[i]


def in_arms(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 2.0
    for i in range(1, len(a)):
        if i % 2 == 0:
            out[i] = t[i]
        out[i] = out[i] + t[i]


def of_python(a, out):
    """Its last elements, as NumPy's, warn where they are multiplied."""
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = i * 1e306
    for i in range(1, len(a)):
        out[i] = t[i] * 10.0


def windows(a, out):
    """A loop in what makes an element, read in a loop: counters of the copies are their own."""
    t = np.empty(len(a))
    for i in range(2, len(a) - 2):
        total = 0.0
        for k in range(i % 5):
            total += a[i + k - 2]
        t[i] = total
    for i in range(3, len(a) - 2):
        out[i] = t[i] - t[i - 1]


def moved_twice(a, out):
    """Sums in sums: the element of `u` is the one of `a` at 2 * j + 1."""
    n = len(a)
    t, u = np.empty(n), np.empty(n)
    for i in range(n - 2):
        t[i + 1] = a[i]
    for i in range(n - 3):
        u[i + 2] = t[i + 2]
    for j in range((n - 3) // 2):
        out[j] = u[2 * j + 2]


def zeros(a, out):
    """Nothing writes it: each element is what it was filled with."""
    t = np.zeros(len(a))
    for i in range(1, len(a)):
        out[i] = a[i] + t[i - 1]


def tenths(a, out):
    """Filled with a number that a float32 does not hold."""
    t = np.full(len(a), 0.1, np.float32)
    for i in range(len(a)):
        t[i] += a[i] * 1e-9
    for i in range(1, len(a)):
        out[i] = t[i]


def two_stores(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i]
        out[i] = a[i] * 2.0
    for i in range(1, len(a)):
        out[i] = out[i] + t[i]


# --- that stay


def in_place(a, out):
    t = np.empty(len(a))
    for i in range(1, len(a)):
        t[i] = a[i - 1]
    for i in range(1, len(a)):
        a[i] = t[i] + t[len(a) - i]


def beyond(a, out):
    t = np.zeros(len(a))
    for i in range(1, len(a) - 1):
        t[i] = a[i]
    for i in range(1, len(a) - 1):
        out[i] = t[i - 1] + t[i + 1]


def from_the_end(a, out):
    t = np.zeros(len(a))
    for i in range(len(a)):
        t[i - 1] = a[i]
    for i in range(len(a)):
        out[i] = t[i]


def given_back(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] + 1.0
    for i in range(len(a) - 1):
        out[i] = t[i + 1]
    return t


def behind_a_test(a, out):
    """What an arm reads may be read before the test."""
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 2.0
    for i in range(len(a)):
        if i + 1 < len(a):
            out[i] = t[i + 1]
        else:
            out[i] = t[i]


def diagonal(a, out):
    t = np.zeros((len(a), len(a)))
    for i in range(len(a)):
        t[i, i] = a[i]
    for i in range(1, len(a)):
        out[i] = t[i, 0]


def skewed(a, out):
    t = np.zeros(2 * len(a))
    for i in range(len(a)):
        for j in range(len(a)):
            t[i + j] = a[i] + a[j]
    for i in range(len(a)):
        out[i] = t[i]


def scattered(a, out):
    t = np.zeros(len(a) + 10)
    for i in range(len(a)):
        t[int(a[i]) % 7] = a[i]
    for i in range(len(a)):
        out[i] = t[i]


def running(a, out):
    t = np.empty(len(a))
    total = 0.0
    for i in range(len(a)):
        total += a[i]
        t[i] = total
    for i in range(1, len(a)):
        out[i] = t[i] - t[i - 1]


def sometimes_read(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 1e200
    for i in range(1, len(a)):
        if a[i] > 0.0:
            out[i] = t[i - 1]


def logarithms(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = math.log(a[i])
    for i in range(1, len(a)):
        out[i] = t[i - 1] + t[i]


def often(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = np.sqrt(a[i]) / (a[i] + 1.0) + a[i] / 3.0
    for i in range(2, len(a) - 2):
        out[i] = t[i - 2] + t[i - 1] + t[i] + t[i + 1] + t[i + 2]


def every_second_written(a, out):
    t = np.zeros(len(a))
    for i in range(0, len(a), 2):
        t[i] = a[i]
    for i in range(1, len(a)):
        out[i] = t[i]


def beyond_the_end(a, out):
    t = np.zeros(len(a))
    for i in range(len(a) - 1):
        t[i] = a[i]
    for i in range(len(a)):
        out[i] = t[i]


def before_the_start(a, out):
    t = np.zeros(len(a))
    for i in range(1, len(a)):
        t[i] = a[i]
    for i in range(len(a)):
        out[i] = t[i]


def other_row(a, out):
    t = np.zeros((2, len(a)))
    for i in range(len(a)):
        t[0, i] = a[i]
    for i in range(1, len(a)):
        out[i] = t[1, i]


def falling(a, out):
    """The index of `a` is beyond its end where the counter is smallest."""
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[len(a) - i]
    for i in range(1, len(a)):
        out[i] = t[i]


def index_in_an_arm(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        x = 1.0
        if a[i] > 1.0:
            x = a[i + 1]
        t[i] = x
    for i in range(1, len(a)):
        out[i] = t[i]


def left_early(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 1e200
    for i in range(len(a)):
        if a[i] > 2.0:
            break
        out[i] = t[i]


def every_second_read(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 1e200
    for i in range(0, len(a), 2):
        out[i] = t[i]


def backwards(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 1e200
    for i in range(len(a)):
        out[i] = t[len(a) - 1 - i]


def diagonal_read(a, out):
    t = np.empty((len(a), len(a)))
    for i in range(len(a)):
        for j in range(len(a)):
            t[i, j] = a[i] * a[j]
    for i in range(1, len(a)):
        out[i] = t[i, i]


def trapezium(a, out):
    """Each row is longer than the one before it."""
    n = len(a)
    t = np.empty((n, 2 * n))
    for i in range(n):
        for j in range(i + n):
            t[i, j] = a[i] * (j + 1.0)
    for i in range(1, n):
        for j in range(n):
            out[i] = t[i, j]


def read_before(a, out):
    t = np.zeros(len(a))
    for i in range(1, len(a)):
        out[i] = t[i] + 1.0
    for i in range(len(a)):
        t[i] = a[i]
    for i in range(1, len(a)):
        out[i] = out[i] - t[i]


def added_up(a, out):
    t = np.zeros(len(a))
    for _ in range(len(a)):
        for i in range(len(a)):
            t[i] += a[i]
    for i in range(1, len(a)):
        out[i] = t[i]


def added_up_inside(a, out):
    t = np.zeros(len(a))
    for _ in range(len(a)):
        for i in range(len(a)):
            t[i] += a[i]
        for i in range(1, len(a)):
            out[i] = t[i]


def never_written(a, out):
    t = np.empty(len(a))
    for i in range(1, len(a)):
        out[i] = t[i - 1] if a[i] < 0.0 else 1.0


def in_a_routine(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] + 1.0
    for i in range(1, len(a)):
        out[i] = t[i] + np.sum(t)


def exponentials(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = np.exp(a[i])
    for i in range(1, len(a)):
        out[i] = t[i] - t[i - 1]


def beside_a_sum(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 2.0
        out[i] = a[i] * 1e200
    for i in range(1, len(a)):
        out[i] = out[i] + t[i]


A = np.linspace(0.5, 3.0, 40)
G = (A[:35] * A[::-1][:35]).reshape(5, 7)
LINES = (A, np.zeros(40))
GONE = [(stencils, LINES), (planes, (G, np.zeros((5, 7)))), (transposed, (G, np.zeros((5, 7)))),
        (whole, (A, A[::-1].copy(), np.zeros(40))), (helped, LINES), (summed, (A, A[::-1].copy(), np.zeros(40))),
        (clipped, LINES), (constants, LINES), (copied, LINES), (by_counter, LINES), (single, LINES), (early, LINES),
        (gaps, LINES), (corners, (G, np.zeros((5, 7)))), (middle, (G, np.zeros((5, 7)))), (pair, LINES), (without_the_last, LINES), (in_arms, LINES),
        (two_stores, LINES), (windows, LINES), (zeros, LINES), (moved_twice, LINES), (tenths, LINES)]
STAY = [(in_place, "changed"), (beyond, "index-mismatch"), (from_the_end, "index-mismatch"), (given_back, "returned"),
        (behind_a_test, "index-mismatch"), (diagonal, "shared-counter"), (skewed, "several-counters"), (scattered, "escaping-index"),
        (running, "untraced-loop"), (sometimes_read, "unread"), (logarithms, "raises"), (often, "visits"),
        (in_steps, "changed"), (every_second_written, "untraced-loop"), (beyond_the_end, "index-mismatch"),
        (before_the_start, "index-mismatch"), (other_row, "index-mismatch"), (falling, "raises"),
        (index_in_an_arm, "raises"), (left_early, "unread"), (every_second_read, "unread"), (backwards, "unread"),
        (diagonal_read, "unread"), (trapezium, "unread"), (read_before, "index-mismatch"), (added_up, "index-mismatch"), (added_up_inside, "index-mismatch"),
        (in_a_routine, "routine"), (never_written, "no-setter"), (exponentials, "visits"), (beside_a_sum, "shared-loop")]


def named(case):
    return getattr(case, "__name__", "")


def outcome(function, arguments):
    given = [each.copy() for each in arguments]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            result = function(*given)
        except (ArithmeticError, ValueError, IndexError) as error:
            result = type(error)
    said = sorted({(each.category, str(each.message)) for each in found if each.category is RuntimeWarning}, key=str)
    return [each.tobytes() for each in given], np.asarray(result).tobytes() if result is not None else None, said


def version(twin):
    return twin._caller.kernels.latest.kernel


def allocations(twin):
    return sum(op.opcode == "alloc" for op in all_ops(version(twin).function.body))


@pytest.mark.parametrize(("function", "arguments"), GONE, ids=named)
def test_an_array_goes(function, arguments):
    twin = pyflat.twin(function, target="numba")
    for rows in (len(arguments[0]), 4, 3, 2, 1, 0):
        given = [each[:rows] for each in arguments]
        for _ in range(2):
            assert outcome(twin, given) == outcome(function, given)
    assert allocations(twin) == 0
    assert {each.mode for each in version(twin).decided.values()} <= {"virtual"}
    assert twin.stats.replayed == 0


@pytest.mark.parametrize(("function", "reason"), STAY, ids=named)
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_an_array_stays(function, reason, target):
    twin = pyflat.twin(function, target=target)
    for rows in (40, 5, 2, 1, 0):
        given = [each[:rows] for each in LINES]
        assert outcome(twin, given) == outcome(function, given)
    assert version(twin).decided["t"].reason == reason


@pytest.mark.parametrize(("function", "arguments"), GONE, ids=named)
@pytest.mark.parametrize("visits", [0, 1, 100])
def test_numpy_does_what_it_is_told(function, arguments, visits):
    twin = pyflat.twin(function, target="numpy", max_visits=visits)
    for rows in (len(arguments[0]), 3, 0):
        given = [each[:rows] for each in arguments]
        assert outcome(twin, given) == outcome(function, given)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("at", [0, 1, 2, 20, 37, 38, 39])
def test_an_element_that_is_not_read_warns(target, at):
    """`t[0]` and `t[39]` of the sums are not computed, `t[1]` is read once."""
    a = A.copy()
    a[at] = 1.7e308
    twin = pyflat.twin(stencils, target=target)
    assert outcome(twin, (a, np.zeros(40))) == outcome(stencils, (a, np.zeros(40)))


@pytest.mark.parametrize("function", [gaps, corners, middle, pair, without_the_last, in_arms, helped, planes], ids=named)
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_whatever_element_warns_it_is_told(function, target):
    """`a` has one element that is too large, in turn each."""
    twin = pyflat.twin(function, target=target, max_visits=3)
    shape = (4, 5) if function in (corners, middle, planes) else (9,)
    for rows in range(1, shape[0] + 1):
        for at in range(int(np.prod((rows, *shape[1:])))):
            a = np.ones((rows, *shape[1:]))
            a.reshape(-1)[at] = 1.7e308
            given = (a, np.zeros(a.shape))
            assert outcome(twin, given) == outcome(function, given)


def test_operations_on_whole_arrays_leave_no_rest_of_a_nest():
    twin = pyflat.twin(corners, target="numpy", max_visits=3)
    twin(G, np.zeros((5, 7)))
    assert version(twin).decided["t"].reason == "unread"


def test_a_number_of_python_is_of_numpy_where_it_is_read():
    twin = pyflat.twin(of_python, target="numba")
    assert outcome(twin, LINES) == outcome(of_python, LINES)
    assert version(twin).decided["t"].mode == "virtual"
    assert any(op.opcode == "select" and op.args[0] is TRUE for op in all_ops(version(twin).function.body))


def kept_fill(a):
    t = np.full(len(a), 7.0)
    for i in range(1, len(a)):
        t[i] = a[i]
    return t


def fill_of_a_branch(a):
    t = np.full(len(a), 7.0)
    if a[0] > 1.0:
        for i in range(len(a)):
            t[i] = a[i]
        for i in range(1, len(a)):
            a[i] = t[i] * 0.5
    return t


@pytest.mark.parametrize("function", [kept_fill, fill_of_a_branch])
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_a_fill_that_is_given_back_stays(function, target):
    twin = pyflat.twin(function, target=target)
    assert outcome(twin, (A,)) == outcome(function, (A,))


@pytest.mark.parametrize("shorter", [0, 1, 39])
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_an_index_that_is_outside_raises_before_anything_is_stored(target, shorter):
    given = (A, A[:shorter], np.zeros(40))
    twin = pyflat.twin(summed, target=target)
    assert outcome(twin, given) == outcome(summed, given)
    assert twin.stats.replayed == 1


def beside(a, b, out):
    t = np.empty(len(a))
    for i in range(len(a) - 1):
        t[i] = b[i] + a[i] * b[i + 1]
    for i in range(len(a) - 2):
        out[i] = t[i] + t[i + 1]


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_the_largest_index_is_tested(target):
    given = (A, A[:39], np.zeros(40))
    twin = pyflat.twin(beside, target=target, max_visits=2)
    assert outcome(twin, given) == outcome(beside, given)
    assert outcome(twin, (A, A, np.zeros(40))) == outcome(beside, (A, A, np.zeros(40)))
    assert twin.stats.replayed == 1


def columns(a, b, out):
    n, m = a.shape
    t = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            t[i, j] = a[i, j] + b[j]
    for i in range(1, n):
        for j in range(m):
            out[i, j] = t[i, j]


def test_indices_of_a_nest_that_does_not_run_are_not_tested():
    twin = pyflat.twin(columns, target="numba")
    for rows in (0, 2):
        given = (np.ones((rows, 7)), np.ones(3), np.zeros((rows, 7)))
        assert outcome(twin, given) == outcome(columns, given)
        assert twin.stats.replayed == rows // 2


def test_reads_beside_each_other_are_computed_once():
    """Of `(a[i-2] + a[i-1] + a[i]) + ...` five elements are loaded."""
    twin = pyflat.twin(stencils, target="numba")
    twin(*map(np.copy, LINES))
    loop = [item for item in walk(version(twin).function.body) if isinstance(item, Loop)][-1]
    assert sum(op.opcode == "load" for op in all_ops(loop.body)) == 5


def test_a_fill_that_is_overwritten_goes():
    twin = pyflat.twin(given_back, target="numba")
    twin(*map(np.copy, LINES))
    zeros = pyflat.twin(beyond, target="numba")
    zeros(*map(np.copy, LINES))
    fills = [next(op.args[-1].value for op in all_ops(version(each).function.body) if op.opcode == "alloc")
             for each in (twin, zeros)]
    assert fills == [None, 0.0]


SETTINGS = [
    (stencils, {"max_visits": 2}, "visits"), (stencils, {"max_visits": 3}, ""),
    (stencils, {"inline_complex_computations": False}, "complex"), (often, {"inline_complex_computations": True, "max_visits": 5}, ""),
    (often, {"memory": {"t": "virtual"}}, ""), (stencils, {"memory": {"t": "stored"}}, "asked"),
    (copied, {"inline_simple_computations": False}, "visits"), (constants, {"inline_scalar_constexprs": False, "max_visits": 2}, "visits"),
    (constants, {"max_visits": 0}, ""), (zeros, {"inline_scalar_constexprs": False}, "no-setter"),
]


@pytest.mark.parametrize(("function", "settings", "reason"), SETTINGS,
                         ids=[f"{f.__name__}-{'-'.join(map(str, s))}-{r or 'virtual'}" for f, s, r in SETTINGS])
def test_settings_decide(function, settings, reason):
    twin = pyflat.twin(function, target="numba", **settings)
    assert outcome(twin, LINES) == outcome(function, LINES)
    decision = version(twin).decided["t"]
    assert (decision.reason, decision.mode) == (reason, "stored" if reason else "virtual")


def filled(a, out):
    t = np.full(len(a), 0.1)
    for i in range(len(a)):
        for j in range(3):
            out[i] = out[i] + t[i] * a[i] - t[j]


def filled_and_given_back(a, out):
    t = np.full(len(a), 0.1, np.float32)
    for i in range(len(a)):
        out[i] = t[i] + a[i]
    return t


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("function", "settings", "mode"), [
    (filled, {}, "virtual"), (filled, {"inline_scalar_constexprs": False}, "stored"), (filled, {"memory": {"t": "stored"}}, "stored"),
    (filled_and_given_back, {}, "stored")], ids=["plain", "not-wanted", "asked", "returned"])
def test_an_array_of_one_number(target, function, settings, mode):
    twin = pyflat.twin(function, target=target, **settings)
    for rows in (40, 3, 2, 0):
        given = [each[:rows] for each in LINES]
        assert outcome(twin, given) == outcome(function, given)
    assert (version(twin).decided["t"].mode, allocations(twin)) == (mode, int(mode == "stored"))


def one_after_the_other(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 2.0
    for i in range(len(a)):
        out[i] = t[i] + 1.0


def at_once(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 2.0
        out[i] = t[i] + 1.0


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("function", [one_after_the_other, at_once], ids=named)
def test_an_array_that_shall_be_stored_is(target, function):
    twin = pyflat.twin(function, target=target, memory={"t": "stored"})
    assert outcome(twin, LINES) == outcome(function, LINES)
    assert (allocations(twin), version(twin).decided["t"].reason) == (1, "asked")


def test_explain_does_not_count_the_reads_of_a_loop():
    twin = pyflat.twin(copied, target="numba", inline_simple_computations=False)
    twin(*map(np.copy, LINES))
    assert "read repeatedly in a loop" in str(twin.explain())


def by_row(a, b, out):
    """What is done for a row is done where the row is empty, too."""
    t = np.empty((len(a), len(out)))
    for i in range(len(a)):
        x = b[i] * 1e300
        for j in range(len(out)):
            t[i, j] = x + a[i]
    for i in range(len(a)):
        for j in range(len(out)):
            out[j] = out[j] + t[i, j]


@pytest.mark.parametrize("columns", [0, 3])
@pytest.mark.parametrize("rows", [4, 2])
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_what_is_done_for_a_row(target, rows, columns):
    for large in (1.0, 1e30):
        given = (A[:4], A[:rows] * large, np.zeros(columns))
        twin = pyflat.twin(by_row, target=target)
        assert outcome(twin, given) == outcome(by_row, given)


def of_two(a, b, out):
    t, u = smoothed(a), smoothed(b)
    for i in range(1, len(a)):
        out[i] = t[i] - u[i - 1]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("longer", "shorter"), [(40, 40), (40, 39), (40, 38), (3, 40), (1, 0), (0, 0), (2, 1)])
def test_arrays_of_two_lengths(target, longer, shorter):
    """Where the second is shorter by more than one, an index is outside."""
    given = (A[:longer], A[::-1][:shorter], np.zeros(longer))
    twin = pyflat.twin(of_two, target=target)
    for _ in range(2):
        assert outcome(twin, given) == outcome(of_two, given)
    assert allocations(twin) == 0
    assert bool(twin.stats.replayed) == (longer - shorter > 1)
