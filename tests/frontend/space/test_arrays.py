"""What NumPy arrays are in Python: views, aliases, casts, broadcasting, through helpers, branches, loops and
containers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.twins import agree

T = np.array([[1.0, 2.0], [3.0, 4.0]])
V = np.array([1.0, 2.0, 3.0])
B = np.array([True, False, True])


def bump(v, d):
    v += d
    return v


def setit(v, i, x):
    v[i] = x


def written_by_a_helper(x):
    v = np.array([x, 1.0])
    w = bump(v, 2.0)
    setit(v, 0, x * 3)
    return v[0] + 10 * w[0] + 100 * w[1] + (w is v)


def inlist(x):
    v = np.array([x, 1.0])
    L = [v, v.copy()]
    L[0][0] = 5.0
    L[1][1] = 7.0
    return v[0] + L[0][1] * 10 + L[1][0] * 100 + L[1][1] * 1000


def in_tuple(x):
    t = (np.array([x, 2.0]), x)
    t[0][1] = x
    a, b = t
    return a[1] + b


def in_dict(x):
    d = {"a": np.zeros(2)}
    d["a"][0] = x
    d["b"] = d["a"] * 2
    return d["b"][0] + d["a"][1]


def brview(x):
    m = np.array([[x, 1.0], [2.0, 3.0]])
    r = m[0] if x > 0 else m[1]
    r[0] = 9.0
    r += 1.0
    return m[0, 0] + 10 * m[1, 0] + 100 * m[0, 1] + 1000 * r[1]


def early(x):
    v = np.zeros(2)
    if x < 0:
        v[0] = 1.0
        return v[0]
    v[1] = x
    if x > 5:
        return v.sum()
    v[:] = [x, 2 * x]
    return v[0] - v[1]


def index_error(x):
    v = np.array([x, 1.0, 2.0])
    try:
        return v[int(x)]
    except IndexError:
        return -1.0


def shape_error(x):
    try:
        return (np.array([x, 1.0]) + np.array([1.0, 2.0, 3.0]))[0]
    except ValueError:
        return 3.0


def generator(x):
    return sum(v * v for v in np.array([x, 2.0, 3.0]) if v > 1)


def zipped(x):
    s = 0.0
    for a, b in zip(np.array([x, 1.0]), V):
        s += a * b
    for i, a in enumerate(np.array([x, 1.0])):
        s += i * a
    return s


def closure(x):
    v = np.array([x, 1.0])

    def g(k):
        return v[k] * 2

    v[0] += 1
    return g(0) + g(1)


def intwrap(x):
    n = int(x) if abs(x) < 1e18 else 7
    v = np.array([n, 2])
    return (v * 2**62)[0]


def intdiv(x):
    n = int(x) if abs(x) < 1e18 else 7
    v = np.array([n, 2])
    return (7 // v)[0] + (v % 3)[0] + (v / 2)[0]


def fdiv0(x):
    v = np.array([x, 0.0])
    return (1.0 / v)[0], (v / v)[1], (v // 0.0)[0]


def sqrtneg(x):
    return np.sqrt(np.array([x, -1.0]))[1] if x > 3 else np.log(np.array([x]))[0]


def powers(x):
    return (
        (np.array([x, 2.0]) ** 0.5)[0]
        + (np.array([x, 2.0]) ** 3)[0]
        + (2.0 ** np.array([x, 2.0]))[0]
        + (np.array([x]) ** np.array([2.0]))[0]
    )


def bools(x):
    b = np.array([x > 1, x < 0])
    return (b | [True, False])[1], (~b)[0], b.sum(), (b & b).any(), b.astype(float)[0]


def maskst(x):
    v = V * x
    return v[B].sum() + v[~B][0] + v[[0, 2]][1] + v[-1]


def slices(x):
    v = np.arange(6) * x
    v[1:3] = v[3:5]
    v[::2] += 1.0
    return v[0] + v[1] * 10 + v[2] * 100 + v[5]


def overlap(x):
    v = np.array([x, 1.0, 2.0, 3.0])
    v[1:] = v[:-1]
    v[:-1] += v[1:]
    return v[0] + v[1] * 10 + v[2] * 100 + v[3] * 1000


def fancyassign(x):
    v = np.zeros(4)
    v[[0, 2]] = [x, 2 * x]
    v[[1, 1]] = [5.0, 6.0]
    return v[0] + v[1] + v[2]


def newaxis(x):
    v = np.array([x, 1.0])
    m = v[:, None] * v[None, :]
    m[0] = 0.0
    return m[1, 0] + m.shape[0] + m[..., 1][1]


def reshape(x):
    m = np.arange(6).reshape(2, 3) * x
    m.T[0, 1] = 9.0
    r = m.reshape(-1)
    r[0] = 4.0
    return m[0, 0] + m[1, 0] + m.ravel()[5]


def to_float(x):
    return float(np.array([x, 2.0])[0]) + int(np.array([x if abs(x) < 1e9 else 0.0])[0])


def rounded(x):
    return round(float(np.array([x, 2.0])[1]), 1) + np.floor(np.array([x]))[0]


def of_math(x):
    return math.sqrt(abs(np.array([x])[0])) + math.floor(V[1] + 0.5)


def minmax(x):
    return min(np.array([x, 2.0])) + max(V[0], x) + np.minimum(np.array([x, 1.0]), [0.5, x])[1]


def eqlist(x):
    return bool((np.array([x, 1.0]) == [1.0, 1.0]).all())


def membership(x):
    return 1.0 if x in V else 0.0


def lengths(x):
    return len(np.array([[x, 1.0, 2.0]])) + np.array([[x]]).size + np.ndim([x, x]) + np.size([x]) + np.shape([[x, 1]])[1]


def isinst(x):
    v = np.asarray([x, 1.0])
    return 1.0 if isinstance(v, np.ndarray) else 0.0


def asarr(x):
    x = np.asarray(x)
    if x.ndim == 0:
        return x * 2.0
    return x[0]


def atl(x):
    x = np.atleast_1d(x)
    y = np.zeros_like(x)
    y[x > 1] = 2.0
    y[x <= 1] = 1.0
    return y[0]


def loopview(x):
    m = np.zeros((3, 2))
    n = 0
    while n < x and n < 9:
        m[n % 3] += np.array([n, x])
        n += 1
    return m.sum(axis=0)[0] + m[1, 1]


def loopmat(x):
    m = np.eye(2)
    r = np.array([[1.0, x], [0.5, 1.0]])
    n = 0
    while n < x and n < 5:
        m = m * r
        n += 1
    return m[0, 0] + m[0, 1] + m[1, 1]


def looparrif(x):
    v = np.zeros(2)
    n = 0
    while n < x and n < 6:
        if v[0] > 2:
            v = v * 0.5
        else:
            v = v + np.array([1.0, x])
        n += 1
    return v[0] + v[1]


def sorted_in_place(x):
    v = np.array([x, 2.0, 1.0])
    v.sort()
    return v[0] + 10 * v[1] if x == x else 0.0


def emptyread(x):
    w = np.empty(2)
    w[0] = x
    w[1] = 2 * x
    return w.sum()


def norm2d(x):
    return np.linalg.norm(np.array([[x, 1.0], [2.0, x]])) + np.linalg.norm(np.array([[x, 1.0], [2.0, x]]), axis=1)[0]


def cumprod(x):
    return np.cumprod([x, 2.0, x])[2] + np.cumsum(np.array([x, 2.0]))[-1]


def dotn(x):
    return np.dot([x, 1.0, 2.0, x], [1.0, x, 3.0, 0.1]) + np.array([x, 0.1]).dot(V[:2])


def outer(x):
    return np.outer([x, 2.0], V)[1, 2] + (V @ np.array([x, x, 1.0]))


def matT(x):
    R = np.array([[(x * 0.5), -(x - 1.0), 0.0], [(x - 1.0), (x * 0.5), 0.0], [0.0, 0.0, 1.0]])
    return (R.T @ V)[0] + (R @ V)[1] + (V @ R)[2] + (R[0] @ R[1]) + R[:, 0] @ R[:, 1]


def captdot(x):
    return (T @ np.array([x, 1.0]))[1] + np.dot(T, T)[0, 1] * x + T[0] @ [x, 1.0]


def nans(x):
    return np.nanmax([x, 1.0, np.nan]) + np.nansum([x, np.nan]) + np.nan_to_num(np.array([x, 1.0]))[0]


def while_idx(x):
    v = np.zeros(5)
    i = 0
    while i < 5:
        v[i] = i * x
        i += 1
        if v.sum() > 10:
            break
    return v.sum() + i


CASES: list[Callable[..., Any]] = [
    written_by_a_helper,
    inlist,
    in_tuple,
    in_dict,
    brview,
    early,
    index_error,
    shape_error,
    generator,
    zipped,
    closure,
    intwrap,
    intdiv,
    fdiv0,
    sqrtneg,
    powers,
    bools,
    maskst,
    slices,
    overlap,
    fancyassign,
    newaxis,
    reshape,
    to_float,
    rounded,
    of_math,
    minmax,
    eqlist,
    membership,
    lengths,
    isinst,
    asarr,
    atl,
    loopview,
    loopmat,
    looparrif,
    sorted_in_place,
    emptyread,
    norm2d,
    cumprod,
    dotn,
    outer,
    matT,
    captdot,
    nans,
    while_idx,
]


ELEMENTARY = (sqrtneg, powers)
"""They call NumPy's own elementary functions, which the numba target computes within some ulps."""


@pytest.mark.parametrize("fn", CASES, ids=lambda fn: fn.__name__)
def test_every_lane_agrees(fn: Callable[..., Any]) -> None:
    with np.errstate(all="ignore"):
        agree(fn, "f")


@pytest.mark.parametrize("fn", [fn for fn in CASES if fn not in ELEMENTARY], ids=lambda fn: fn.__name__)
def test_every_lane_agrees_on_numba(fn: Callable[..., Any]) -> None:
    with np.errstate(all="ignore"):
        agree(fn, "f", target="numba")


BIG = np.random.default_rng(0).standard_normal((120, 90))
LONG = np.arange(50_000) * 0.5
CUBE = np.arange(24.0).reshape(2, 3, 4)


def cell_of_a_large_table(i, j):
    return BIG[i % 120, j % 90] + LONG[i % 50_000]


def part_of_a_large_table(i, j):
    return BIG[i % 100][3] + BIG[:, j % 90].sum() + BIG[i % 100, 2:5][1] + BIG[j % 90, ..., 4], LONG[i : i + 3].sum()


def three_axes(i, j):
    return CUBE[i, 1, j] + CUBE[1, j].sum() + CUBE[:, j, i][1] + CUBE[None, i, 2][0, 1] + CUBE[i][j][2]


def window_of_a_local_array(i, x):
    v = np.arange(6) * x
    w = v[i : i + 2]
    v[0] = 9.0
    return w[0] + w[1]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("fn", "kinds"), [(cell_of_a_large_table, "ii"), (part_of_a_large_table, "ii"),
                                           (three_axes, "ii"), (window_of_a_local_array, "if")])
def test_lane_indices_agree(fn: Callable[..., Any], kinds: str, target: str) -> None:
    with np.errstate(all="ignore"):
        agree(fn, kinds, target=target)
