"""NumPy's routines on whole arrays and parts of them: sums, products, sorting, functions, masks, progressions."""

from __future__ import annotations

import numpy as np

from tests.support.kernels import on

R = "r = np.random.default_rng(3); "
GRIDS = (R + "r.random((5, 4))", R + "r.random((137, 9))[::3, ::-1]", R + "r.random((9, 50)).T", "np.zeros((0, 3))",
         "np.zeros((3, 0))", R + "r.random((4, 30)).astype(np.float32)", "np.arange(12, dtype=np.int8).reshape(3, 4)",
         "np.array([[1e308, 1e308], [-1e308, np.nan]])", "np.array([[True, False]])", "np.full((2, 2), 2**62)")
ROWS = (R + "r.random(137)", R + "r.normal(size=301)[::-2]", "np.zeros(0)", "np.array([0.0, -0.0])",
        "np.array([-0.0, 0.0, np.nan])", "np.arange(-3, 4)", "np.arange(9, dtype=np.float32)", "np.array([200, 100], np.uint8)",
        "np.array([1e308, 1e308])", "np.array([True, False, True])")


@on(*GRIDS)
def case_sums(a):
    return np.sum(a[:]), a.sum(axis=0), np.sum(a, axis=1), a.sum(axis=-1, keepdims=True), np.sum(a, dtype=np.float32)


@on(*GRIDS)
def case_means(a):
    return a.mean(axis=1), np.mean(a), a.std(), np.var(a, axis=0, ddof=1)


@on(*GRIDS)
def case_extremes_by_axis(a):
    return a.max(axis=1), np.argmin(a, axis=1), np.any(a, axis=0), a.all()


@on(*ROWS)
def case_extremes(v):
    return v.max(), v.argmax(), v.min(), np.argmin(v), np.ptp(v * 1)


@on(*ROWS)
def case_orders(v):
    w = np.sort(v)
    return w, np.argsort(v), np.cumsum(v), v.cumprod(), np.diff(v * 1.0), np.searchsorted(w, v), np.median(v)


@on(*ROWS)
def case_what_is_left_behind_stays(v):
    total = 0.0
    for i in range(len(v)):
        v[i] = v[i] * 2
        total += np.sum(v[:i + 1])
    np.max(v[5:9])
    return total


@on(*ROWS, R + "r.random((3, 4))")
def case_functions(v):
    return np.exp(v[:]), np.sin(v) ** 2, np.hypot(v, 1.0), np.where(v > 0.5, v, -1), np.minimum(v, v[::-1])


@on(*ROWS)
def case_operators(v):
    return v[:] ** 2, v // 3, v % 0.7, 2 ** v[:], v[::-1] ** -1


@on("np.arange(5), np.arange(5)", "np.arange(5, dtype=np.uint8), np.full(5, 3)", "np.arange(5), np.full(5, -1)",
    "np.arange(5.0), np.arange(5)")
def case_shifts(a, b):
    a <<= b
    return a >> b[::-1]


@on(R + "r.random((5, 4)), r.random((4, 6))", R + "r.random((5, 4)), r.random(4)", R + "r.random((50, 40)).T, r.random((50, 4))",
    R + "a = r.random((5, 5)); a, a.T", "np.arange(12).reshape(3, 4), np.arange(4)", "np.zeros((3, 4)), np.zeros((5, 2))",
    "np.ones((3, 4), np.float32), np.ones((4, 2))", "np.zeros((3, 0)), np.zeros((0, 2))", "np.full((2, 2), 1e200), np.full(2, 1e200)")
def case_products(a, b):
    c = a @ b
    return c, np.dot(a, b), np.sum(c)


@on(R + "r.random((7, 5)), np.zeros(7)", "np.zeros((2, 0)), np.ones(2)", R + "r.random((7, 5)).astype(np.float32), np.zeros(7)")
def case_rows_one_by_one(a, out):
    for i in range(a.shape[0]):
        m = np.max(a[i])
        e = np.exp(a[i] - m)
        out[i] = (e / np.sum(e)).max() + np.dot(a[i], a[i])


@on(*ROWS)
def case_masks(v):
    w = v[v > 0.5]
    return w, w.sum(), len(w), v[~(v > 0.5)] * 2


@on("np.arange(4.0), 7", "np.arange(4.0), 0", "np.arange(4.0), -3", "np.arange(4.0), np.int32(5)")
def case_progressions(v, n):
    s = 0.0
    for x in np.arange(n):
        s += x * v[x % 4]
    return s, np.arange(1, n, 2), np.arange(0.0, n, 0.3), np.arange(n, -n, -2)


@on("np.arange(1.0, 4.0), 7", "np.arange(1.0, 4.0), 1", "np.arange(1.0, 4.0), 0", "np.arange(1.0, 4.0), -1",
    "np.ones(3), 5", "np.arange(3, dtype=np.float32), 9")
def case_spaces(v, n):
    return np.linspace(v[0], v[1], n), np.linspace(0, 1, n)[1:-1]


@on("np.ones(6), 2", "np.ones(6), 0", "np.ones(6), -1", "np.arange(6, dtype=np.float32), 1")
def case_an_array_of_one_path(v, pad):
    if pad > 0:
        w = np.zeros(len(v) + 2 * pad)
        w[pad:-pad] = v
    elif pad < 0:
        raise ValueError(pad)
    else:
        w = v
    s = 0.0
    for i in range(len(w)):
        s += w[i]
    return s


@on("np.arange(6.0)", "np.arange(6)", "np.arange(6, dtype=np.float32)", "np.arange(6, dtype=np.uint8)")
def case_sequences_beside_arrays(v):
    v[1:3] = (v[0], 7)
    v[4:] = [v[1], v[2]]
    return v[:3] * np.array([1.0, 2.0, 4.0]), v[:2] + [1, 2]


@on("np.arange(6.0)", "np.arange(6, dtype=np.float32)", "np.arange(6, dtype=np.int32)")
def case_arrays_of_elements(v):
    x = np.array([v[1], v[2], v[3]])
    y = np.array([[v[1], 2.5], [0, v[2]]])
    return x, x[0] * x[1] * 0.1, y, x[1] * y[0, 1]


@on("np.arange(6.0).reshape(2, 3)", "np.arange(6).reshape(2, 3).T", "np.zeros((2, 0))", "np.arange(3.0)")
def case_flat(a):
    s = 0.0
    for x in a.flat:
        s = s * 2 + x
    return s


@on("np.array([1.0, 2.0, np.nan])", "np.array([np.nan, np.nan])", "np.zeros(0)", "np.arange(3.0)")
def case_without_nans(v):
    return np.nansum(v[:]), np.nanmean(v), np.nanmax(v), np.nanstd(v)


@on(R + "r.random((4, 4)), r.random((4, 4))", R + "r.random((4, 4)), r.random(4)")
def case_sum_of_an_expression(a, b):
    return np.sum((a[:] - b) ** 2), np.mean(a * b + 1.0)


@on("np.arange(9.0), np.array([2.0, 4.0])", "np.arange(9.0), np.array([4.0, 2.0])", "np.arange(9.0), np.zeros(0)")
def case_tables(v, t):
    return np.digitize(v, t), np.interp(v, t, t * 2), np.clip(v, 1, t[0])


def total(v: np.ndarray, w: float) -> float:
    return np.sum(v * w)


@on("np.arange(9.0), 2.0", "np.arange(9), 3")
def case_annotations_say_what_arrays_are(v: np.ndarray, w):
    return np.sum(v * w) + total(v, 0.5)
