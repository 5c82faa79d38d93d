"""NumPy used inside scalar functions: small arrays, tables, reductions, products; the twin has NumPy's bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyflat
from tests.support.twins import agree, refused

X = (0.0, 1.0, 2.0, 5.0, 9.0)
Y = (1.0, 4.0, 2.0, 8.0, 3.0)
XA, YA = np.array(X), np.array(Y)
LONG = np.linspace(-3.0, 3.0, 41)
LONG_Y = np.cos(LONG)
STEPS, STEP_VALUES = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 1.0, 5.0, np.inf])
COUNTS = np.array([-2, 0, 3, 3, 10])
TABLE = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])
POLYNOMIAL = np.poly1d([1.0, -2.0, 0.5])


# --- tables
def interp(x: float):
    return np.interp(x, X, Y), np.interp(x, XA, YA, left=-1.0, right=x), np.interp(x, [3.0], [7.0])


def interp_long(x: float):
    return np.interp(x, LONG, LONG_Y), np.interp(x, STEPS, STEP_VALUES)


def interp_of_array(x: float):
    return np.interp([x, 2.0 * x], X, Y)


def searchsorted(x: float):
    return (np.searchsorted(XA, x), np.searchsorted(LONG, x, side="right"), np.searchsorted(COUNTS, x),
            np.searchsorted(STEPS, x, "right"))


def searchsorted_int(n: int):
    return np.searchsorted(COUNTS, n), np.searchsorted(COUNTS, n, side="right"), np.searchsorted(XA, n)


def digitize(x: float):
    return np.digitize(x, X), np.digitize(x, X, right=True), np.digitize(x, X[::-1]), np.digitize(x, LONG[::-1])


def table_of_two_axes(i: int, j: int):
    return TABLE[i, j] + TABLE[i][j] + TABLE[1, j] + TABLE[i, 2] + TABLE[:, j][0] + TABLE[i].sum()


# --- reductions
def sums(x: float, y: float):
    v = np.array([x, y, 1.0, x * y])
    return v.sum(), np.sum([x, y]), np.mean(v), np.mean([x, 1.0, 2 * x]), np.prod(v), v.prod(), np.sum((x, 1, True))


def long_sums(x: float, y: float):
    v = LONG * x + y
    return np.sum(v), v.mean(), np.sum(v[:9]), np.sum(v[::2]), np.cumsum(v[:5])[3], np.var(v[:4]), np.std(v[:9])


def extremes(x: float, y: float):
    v = np.array([x, y, 1.5])
    return np.max(v), v.min(), np.amax([x, 2.0]), np.ptp(v), np.argmax(v), v.argmin(), np.nanmax(v), np.fmin(x, y)


def truths(x: float, y: float):
    v = np.array([x, y])
    return np.any(v > 1), np.all([x > 1, y > 1]), (v < 1).any(), np.count_nonzero(v > 0), np.all(v == v), bool(np.any(v))


def reductions_of_ints(n: int, m: int):
    v = np.array([n % 100, m % 100, 3])
    return v.sum(), v.mean(), v.max(), v.argmax(), v.prod(), np.cumsum(v)[2], (v > 2).sum(), v.dtype == np.int64


def by_axis(x: float, y: float):
    m = np.array([[x, 1.0, y], [2.0, x, y]])
    return m.sum(axis=0)[1], m.sum(axis=1)[0], m.sum(), m.max(axis=0)[0], np.mean(m, axis=1)[1], m.T.sum(axis=1)[2]


def middle(x: float, y: float):
    return np.median([x, y, 1.5]), np.median(np.array([x, y, 3.0, -0.25])), np.sort([x, y, 1.5])[1]


def differences(x: float, y: float):
    v = np.array([x, y, x * y, 1.0])
    return np.diff(v).sum(), np.diff(v, 2)[0], np.trapezoid(v), np.trapezoid(v, [0.0, 1.0, 3.0, x]), \
        np.average(v, weights=[1.0, 2.0, 3.0, 4.0]), np.average([x, y])


# --- formulas
def formulas(x: float, y: float):
    return (np.square(x), np.reciprocal(x), np.isclose(x, y), np.isclose(x, 1.0, atol=0.5, equal_nan=True),
            np.nan_to_num(x), np.nan_to_num(x, nan=2.0, posinf=y if y == 1.0 else 3.0), np.sinc(x))


def two_numbers(x: float, y: float):
    return (np.hypot(x, y), np.float_power(x, 2.0), np.true_divide(x, y), np.remainder(x, y), np.fmax(x, y),
            np.logaddexp(x, y), np.deg2rad(x), np.clip(x, -1.0, y), np.clip(x, None, 2.0), np.maximum(x, y))


def rounding(x: float):
    return np.round(x), np.round(x, 2), np.around(x, -1), np.array([x, 0.125]).round(2)[1]


def selecting(x: float, y: float):
    return (float(np.select([x < 0, x < 1], [x * 2, y], default=9.0)), np.select([x < 0], [1.0]) * 1.0,
            float(np.where(x < y, 0, x)), np.where(np.array([x, y]) > 1, [x, y], 0.5)[1])


def python_numbers(x: float):
    """float(), .item() and math give Python's numbers, whose round() is Python's."""
    v = np.array([abs(x), 1.0])
    return round(float(np.sqrt(v[0])), 2), round(v[0].item(), 1), np.add.reduce(v), np.isscalar(v[1])


def pieces(x: float):
    return (float(np.piecewise(x, [x < 0, x >= 1], [lambda v: -(v**2), lambda v: v * 2, 0.25])),
            float(np.piecewise(x, [x > 2], [x, -x])))


def polynomials(x: float, y: float):
    return np.polyval([1.0, 2.0, 3.0], x), np.polyval([y, 1.0], x), POLYNOMIAL(x), np.poly1d([2, 1])(x)


# --- arrays
def item_assignment(x: float, y: float):
    w = np.zeros(3)
    w[1] = x
    w[2] = w[1] * y
    w[-3] += 1
    w[0:2] *= 2.0
    return w[0], w[1], w[2], w.sum()


def int_array(x: float, n: int):
    w = np.zeros(2, dtype=int)
    w[0] = n
    w[1] = 7.9
    full = np.full(2, x)
    full[:] = w % 5
    return w[0], w[1], full[0], full[1]


def lane_index(i: int, x: float):
    w = np.arange(4) * 1.0
    w[i] = x
    return w[0], w[1], w[3], w[i], w.sum()


def masks(x: float, y: float):
    w = np.array([x, y, -1.0])
    w[w < 0] = 0.5
    static = np.array([True, False, True])
    return w[0], w[1], w[2], w[static][1], w[[2, 0]].sum()


def views(x: float, y: float):
    m = np.array([[x, y], [1.0, 2.0]])
    row, column, part = m[0], m[:, 1], m.T
    m[0, 1] = 5.0
    row[0] = 7.0
    part[1] += 1.0
    return row[1], column[0], column[1], m[0, 0], m.sum(), m.ravel()[1], m.copy()[0, 1]


def aliases(x: float, y: float):
    a = np.array([x, y])
    b = a
    c = a.copy()
    b += 1.0
    a = a * 2.0
    return a[0], b[0], c[0]


def one_of_two(x: float, y: float):
    a, b = np.array([x, 1.0]), np.array([2.0, y])
    c = a if x < y else b
    c[0] = 9.0
    d = c * 2.0
    return a[0], b[0], c[1], d[0], np.sum(c)


def joined(x: float, y: float):
    if x < 0:
        v = np.array([x, y])
    elif y < 0:
        v = np.array([y, 1.0]) * x
    else:
        v = np.ones(2)
    return v[0] + v[1], v.max(), len(v), v.shape


def lane_rows(i: int, x: float):
    m = np.array([[x, 1.0], [2.0, 3.0], [4.0, 5.0]])
    row = m[i]
    row[1] = 8.0
    return m[0, 1], m[1, 1], m[2, 1], row.sum(), m[i, 0], m[i][1]


def shapes(x: float, y: float):
    v = np.array([x, y, 1.0])
    return (v.shape, v.size, v.ndim, np.stack([v, v])[1, 0], np.concatenate([v, [y]])[3], np.hstack((v, 2.0))[3],
            np.reshape(v, (3, 1))[1, 0], v[:, None].shape, np.atleast_1d(x)[0], float(np.squeeze(np.array([[x]]))), v[::-1][0],
            np.eye(2)[1, 1] * x, np.full_like(v, y)[2], np.zeros_like(v)[0], np.roll(v, 1)[0], np.flip(v)[1])


def made(x: float, y: float):
    return (np.linspace(x, y, 5), np.linspace(0.0, 1.0, 4)[1] * x, np.arange(0, 3, 0.5).sum() * x, np.ones(3)[1] * y,
            np.outer([x, 1.0], [y, 2.0])[0, 0], np.diag([x, y])[1, 1], np.append([x], y)[1])


def elementwise(x: float, y: float):
    v = np.array([x, y])
    return (np.exp(-v * v)[0], np.sqrt(np.abs(v))[1], (v**2)[0], (-v)[1], abs(v)[0], (v > 1)[0], ((v > 0) & (v < 2))[1],
            np.maximum(v, 0.25)[0], np.copysign(v, [1.0, x])[1], (v[:, None] * v)[0, 1], (~(v > 0))[0], (v // 2.0)[0],
            np.isnan(v)[1])


def iteration(x: float, y: float):
    total = 0.0
    for row in np.array([[x, y], [1.0, 2.0]]):
        for item in row:
            total += item
    a, b = np.array([x, y]) + 1.0
    return total, a, b, [v for v in np.array([x, y])][1], max(np.array([x, y])), sum(np.array([x, y]))


def kept_loop(x: float):
    v, n = np.array([x, 1.0]), 0
    w = np.zeros(3)
    while v[0] > 1.0 and n < 30:
        v = v * np.array([0.5, 1.25])
        w[n % 3] += v[1]
        n += 1
    return v[0], v[1], w[0], w[2], n


def swapped_in_a_loop(x: float):
    a, b, n = np.array([x, 1.0]), np.array([2.0, x]), 0
    while n < x and n < 9:
        a, b = b, a + b
        n += 1
    return a[0], b[1]


# --- products
def dots(x: float, y: float):
    v, w = np.array([x, y, 1.0]), np.array([0.5, x, y])
    return v @ w, np.dot(v, w), np.vdot(v, w), np.inner(v, w), v.dot(w), np.linalg.norm(v), np.linalg.norm([x, y])


def matrices(x: float, y: float):
    m, v = np.array([[x, 1.0], [y, 3.0]]), np.array([1.0, x])
    r, t, p = m @ v, v @ m, m @ np.array([[1.0, y], [x, 0.5]])
    return r[0], r[1], t[0], t[1], p[0, 0], p[1, 1], np.dot(m, v)[1], (m.T @ v)[0]


def rotation(x: float, y: float):
    c, s = np.cos(x), np.sin(x)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return np.dot(turn, np.array([y, 1.0, 2.0]))


def squares_of_two_rows(x: float, y: float):
    m = np.array([[x, y], [1.0, x + y]])
    return m @ m, m @ m.T, m.T @ m, m @ np.ones((2, 2))


def squares_of_three_rows(x: float, y: float):
    m = np.array([[x, y, 1.0], [x + y, 2.0, x * y], [x - y, 0.5, y]])
    return m @ m, m @ m.T, m.T @ m, np.dot(m, m)


def overlapping_factors(x: float, y: float):
    m = np.array([[x, y, 1.0], [x + y, 2.0, x * y], [x - y, 0.5, y]])
    return m[:2, :2] @ m[1:, 1:], m[::-1] @ m[:, ::-1], m[:2] @ m[:2].T


def copies_of_turned_arrays(x: float, y: float):
    m, v = np.array([[x, y], [1.0, x + y]]), np.array([y, x])
    return (m.T * 2.0).copy() @ v, m.T.copy() @ v, np.array([[x, 1.0], [y, 2.0]]) @ v


def int_products(n: int, m: int):
    v = np.array([n % 1000, m % 1000])
    return v @ v, np.dot(np.array([[1, 2], [3, 4]]), v)[1], np.dot(3, n % 7)


def crossed(x: float, y: float):
    c = np.cross([x, 1.0, y], [3.0, y, x])
    return c[0], c[1], c[2], np.linalg.norm(c, 1), np.linalg.norm(c, np.inf), np.linalg.norm(c, axis=0)


# --- results
def vector(x: float, y: float):
    return np.array([x, y, x / y])


def matrix(x: float, y: float):
    if x < 0:
        return np.zeros((2, 2))
    return np.array([[x, y], [1.0, x + y]])


AGREE: list[tuple[Callable[..., Any], str]] = [
    (interp, "f"), (interp_long, "f"), (interp_of_array, "f"), (searchsorted, "f"), (searchsorted_int, "i"),
    (digitize, "f"), (table_of_two_axes, "ii"), (sums, "ff"), (long_sums, "ff"), (extremes, "ff"), (truths, "ff"),
    (reductions_of_ints, "ii"), (by_axis, "ff"), (middle, "ff"), (differences, "ff"), (formulas, "ff"),
    (two_numbers, "ff"), (rounding, "f"), (selecting, "ff"), (pieces, "f"), (python_numbers, "f"), (polynomials, "ff"),
    (item_assignment, "ff"), (int_array, "fi"), (lane_index, "if"), (masks, "ff"), (views, "ff"), (aliases, "ff"),
    (one_of_two, "ff"), (joined, "ff"), (lane_rows, "if"), (shapes, "ff"), (made, "ff"), (elementwise, "ff"),
    (iteration, "ff"), (kept_loop, "f"), (swapped_in_a_loop, "f"), (dots, "ff"), (matrices, "ff"), (rotation, "ff"),
    (squares_of_two_rows, "ff"), (squares_of_three_rows, "ff"), (overlapping_factors, "ff"), (copies_of_turned_arrays, "ff"),
    (int_products, "ii"), (crossed, "ff"), (vector, "ff"), (matrix, "ff"),
]


ELEMENTARY = (formulas, two_numbers, elementwise, rotation)
"""They call NumPy's own elementary functions, which the numba target computes within some ulps."""


@pytest.mark.parametrize(("fn", "kinds"), AGREE, ids=lambda v: getattr(v, "__name__", None))
def test_every_lane_agrees(fn: Callable[..., Any], kinds: str) -> None:
    with np.errstate(all="ignore"):
        agree(fn, kinds)


@pytest.mark.parametrize(("fn", "kinds"), [row for row in AGREE if row[0] not in ELEMENTARY],
                         ids=lambda v: getattr(v, "__name__", None))
def test_every_lane_agrees_on_numba(fn: Callable[..., Any], kinds: str) -> None:
    with np.errstate(all="ignore"):
        agree(fn, kinds, target="numba")


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_fix(target: str) -> None:
    """NumPy 2.5 warns of it in the original."""
    x = np.array([0.0, -0.0, 2.5, -2.5, 0.3, -0.3, 1e300, np.inf, -np.inf, np.nan])
    fixed = pyflat.twin(lambda x: np.fix(x), target=target)(x)
    assert fixed.tobytes() == np.array([np.fix(v) for v in x.tolist()]).tobytes()


# --- refusals
def unsorted_table(x: float):
    return np.interp(x, Y, X)


def periodic(x: float):
    return np.interp(x, X, Y, period=360.0)


def lane_table(x: float):
    return np.interp(0.5, [0.0, x], [1.0, 2.0])


def option_of_ufunc(x: float):
    return np.sqrt(x, where=x > 0)


def option_of_sum(x: float):
    return np.sum([x, 1.0], dtype=np.float32)


def lane_mask(x: float):
    v = np.array([x, 1.0])
    return v[v > 0].sum()


def writes_captured(x: float):
    XA[0] = x
    return XA[0]


def written_under_another_name(x: float):
    w, v, total, n = np.array([x, 1.0]), np.zeros(2), 0.0, 0
    while n < x and n < 50:
        w[0] += 1
        total += v[0]
        v = w
        n += 1
    return total


def different_shapes(x: float):
    return np.zeros(2) if x < 0 else np.ones(3)


def small_floats(x: float):
    return np.array([x], dtype=np.float32)[0]


def many_terms(x: float):
    return np.dot(LONG * x, LONG)


@pytest.mark.parametrize(("fn", "code", "words"), [
    (unsorted_table, "flatten/unsupported-expression", "not sorted"),
    (periodic, "flatten/unsupported-expression", "period="),
    (lane_table, "flatten/lane-to-object", "xp of np.interp"),
    (option_of_ufunc, "flatten/unsupported-expression", "options of np.sqrt"),
    (option_of_sum, "flatten/unsupported-expression", "dtype= of np.sum"),
    (lane_mask, "flatten/lane-to-object", "mask"),
    (writes_captured, "flatten/effect", "an array that is not made in the function"),
    (written_under_another_name, "flatten/list-mutation", "written in place"),
    (different_shapes, "flatten/result-kind", "different shapes"),
    (small_floats, "flatten/unsupported-expression", "float32"),
    (many_terms, "flatten/unsupported-expression", "BLAS"),
], ids=lambda v: getattr(v, "__name__", ""))
def test_refusals_name_the_construct(fn: Callable[..., Any], code: str, words: str) -> None:
    error = refused(fn, np.array([1.0, -2.0]))
    assert error.code == code
    assert words in str(error)


def test_a_write_to_a_list_that_takes_turns_in_a_loop_is_refused() -> None:
    def under_another_name(x: float) -> float:
        w, v, total, n = [x, 1.0], [0.0, 0.0], 0.0, 0
        while n < x and n < 50:
            w[0] += 1
            total += v[0]
            v = w
            n += 1
        return total

    assert refused(under_another_name, np.array([1.0, 5.0])).code == "flatten/list-mutation"


def test_results_have_the_lanes_axes_first() -> None:
    x = np.linspace(-1.0, 2.0, 6).reshape(2, 3)
    result = pyflat.twin(matrix)(x, 1.0)
    assert result.shape == (2, 3, 2, 2)
    assert result[1, 2].tolist() == matrix(2.0, 1.0).tolist()
    values, faults = pyflat.twin(vector, errors="mask")(x, 0.0)
    assert values.shape == (2, 3, 3)
    assert faults.mask.all()


def test_a_changed_table_is_seen() -> None:
    table = np.array([[1.0, 2.0], [3.0, 4.0]])

    def read(i: int) -> Any:
        return table[i, 0]

    twin = pyflat.twin(read)
    assert twin(np.array([0, 1])).tolist() == [1.0, 3.0]
    table[1, 0] = 7.0
    assert twin(np.array([0, 1])).tolist() == [1.0, 7.0]


@pytest.mark.parametrize("use", [
    lambda x, y: np.array([[x, y], [1.0, x + y]]).T * 2.0 @ np.array([y, x]),
    lambda x, y: np.sqrt(np.array([[x * x, y * y], [1.0, 2.0]]).T) @ np.array([y, x]),
    lambda x, y: np.copy(np.array([[x, y], [1.0, x + y]]).T) @ np.array([y, x]),
    lambda x, y: (-np.array([[x, y], [1.0, x + y]]).T) @ np.array([y, x]),
    lambda x, y: np.array(np.array([[x, y], [1.0, x + y]]).T) @ np.array([y, x]),
    lambda x, y: np.where(np.array([[x, y], [1.0, 2.0]]).T > 0.0, x, y) @ np.array([y, x]),
    lambda x, y: (np.array([[x, y, 1e30], [1.0, x + y, -1e30]]).T * 2.0).sum(),
    lambda x, y: np.linalg.norm(np.array([[x, y, 3.0], [1.0, x + y, 0.1]]).T * 2.0),
    lambda x, y: np.mean(TURNED * x + y),
], ids=lambda fn: str(fn.__code__.co_firstlineno))
def test_what_is_computed_with_a_turned_array_keeps_its_order(use: Callable[..., Any]) -> None:
    """NumPy gives a new array the order of its operands in memory, by which BLAS and sums choose that of additions."""
    rng = np.random.default_rng(7)
    try:
        pyflat.twin(use).verify(*rng.standard_normal((2, 200)))
    except pyflat.FlattenError as refusal:
        assert ".copy()" in refusal.diagnostic.help  # noqa: PT017 - what is not known is refused


TURNED = np.asfortranarray(np.arange(24.0).reshape(4, 6) / 7.0)


def test_strings_made_from_lanes_are_scalars():
    def count(n):
        return np.isscalar(str(n)) + 2 * np.isscalar(f"{n} m") + 4 * np.isscalar((n, n))

    assert pyflat.twin(count)(np.arange(3)).tolist() == [count(n) for n in range(3)]


def test_is_scalar_of_pandas():
    types = pytest.importorskip("pandas").api.types

    def count(x, mode=None):
        return types.is_scalar(x) + 2 * types.is_scalar(mode) + 4 * types.is_scalar([x]) + 8 * types.is_scalar(str(x))

    assert pyflat.twin(count)(np.array([1.0, 2.0])).tolist() == [count(1.0)] * 2


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_missing_numbers_of_pandas(target):
    pandas = pytest.importorskip("pandas")

    def fill(x, n, other=None):
        return 0.25 if pandas.isna(x) else x + (0.5 if pandas.isnull(other) else 2.0) + pandas.notna(n)

    agree(fill, "fi", target=target)
