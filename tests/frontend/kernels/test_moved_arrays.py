"""Functions of NumPy's that give a kernel's arrays in another shape, joined, or found by NumPy: bits of the original."""

import numpy as np
import pytest

import pyflat
from tests.generator.kernels.differential import Outcome, compare
from tests.generator.kernels.inputs import Written


def flipped(a):
    return np.flip(a)[1:] + a[1:], np.flip(a, 0)


def sides(m):
    return np.fliplr(m), np.flipud(m)[0], np.transpose(m)[1], m.transpose(1, 0)[2], np.swapaxes(m, 0, 1), \
        np.expand_dims(m[0], 0)


def rolled(a, n):
    b = np.roll(a, n)
    s = 0.0
    for i in range(len(a)):
        s += a[i] * b[i]
    return s


def joined(a, b):
    c = np.concatenate((a[::-1], b[:2], a))
    for i in range(len(c)):
        c[i] *= i
    return c, np.append(a, 2.0), np.stack([a, b]), np.vstack((a, b)), np.column_stack((a, b)), np.hstack((a, b))


def joined_axes(m):
    return np.concatenate((m, 2 * m), axis=1), np.vstack((m, m[0])), np.hstack((m, m))


def as_arrays(a):
    a = np.asarray(a, dtype=np.float64)
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s, np.asarray(a)[0]


def raveled(m):
    b, c, t = m.ravel(), np.ascontiguousarray(m), m.reshape(-1)
    s = 0.0
    for i in range(b.size):
        s += b[i] * i + t[i] * c[0, 0]
    return s


def reshaped(a):
    out = np.zeros(6)
    for i in range(6):
        out[i] = a[i] * 2
    b = a.reshape((2, 3))
    return out.reshape(2, -1), b[1, 2] + b[0, 1], a.flatten()


def indices(m):
    out = np.empty_like(m)
    for i, j in np.ndindex(m.shape):
        out[i, j] = m[i, j] * i + j
    for at in np.ndindex(m.shape[0], 2):
        out[at] += 1.0
    unit, s = np.eye(m.shape[1]), 0.0
    for (i, j), x in np.ndenumerate(m):
        unit[j, 0] += x * i
        s += x
    return out, unit, s


def of_linalg(m, b):
    x = np.linalg.solve(m, b)
    return x[0] + x[2], np.linalg.inv(m), np.linalg.det(m), np.linalg.norm(b) * b[1]


def counted(k):
    u = np.unique(k)
    values, counts = np.unique(k, return_counts=True)
    return u, values[0] + counts[1], np.bincount(k), np.flatnonzero(k > 1), np.nonzero(k)[0], np.where(k > 2)[0][0]


def spread(a):
    heights, edges = np.histogram(a, bins=4)
    return heights[0] + edges[1], np.percentile(a, 30), np.quantile(a, a[:2] ** 2 / 10), np.repeat(a, 2), np.tile(a, 2)


def convolved(a, k):
    return np.convolve(a, k), np.convolve(a, k, "same"), np.convolve(k, a, mode="valid"), np.triu(np.outer(a, k))


LINE, ROWS, SMALL = "np.sin(np.arange(6.0))", "np.cos(np.arange(12.0)).reshape(4, 3)", "np.array([3, 1, 2, 3, 0, 1])"
SQUARE = "np.cos(np.arange(9.0)).reshape(3, 3) + 3 * np.eye(3)"


@pytest.mark.parametrize("target", ["numba", "numpy"])
@pytest.mark.parametrize(("function", "arguments"), [
    (flipped, LINE), (flipped, f"{LINE}[::2]"), (sides, ROWS), (sides, f"{ROWS}.T"), (rolled, f"{LINE}, 2"),
    (rolled, f"{LINE}, -9"), (joined, f"{LINE}, {LINE} + 1"), (joined, f"{LINE}, {SMALL}"), (joined_axes, ROWS),
    (joined_axes, f"{ROWS}.T.copy('F')"), (as_arrays, LINE), (as_arrays, SMALL), (as_arrays, f"{LINE}.astype('f4')"),
    (raveled, ROWS), (raveled, f"{ROWS}.T"), (raveled, f"{ROWS}[::2]"), (reshaped, LINE), (reshaped, f"{LINE}[::-1]"),
    (reshaped, "np.ones(7)"), (indices, ROWS), (indices, f"{ROWS}.T"), (indices, f"{ROWS}[:0]"),
    (of_linalg, f"{SQUARE}, np.arange(3.0)"), (of_linalg, f"({SQUARE}).T, np.arange(3.0)"),
    (of_linalg, f"0 * ({SQUARE}), np.arange(3.0)"), (of_linalg, f"({SQUARE}).astype('f4'), np.arange(3, dtype='f4')"),
    (counted, SMALL), (counted, f"{SMALL} - 2"), (spread, LINE), (spread, f"{LINE}[:0]"),
    (convolved, f"{LINE}, np.arange(3.0)"), (convolved, f"{LINE}, {LINE}[:0]"),
])
def test_moved_arrays(function, arguments, target):
    outcome = Outcome()
    compare(function, pyflat.twin(function, target=target), Written(arguments), outcome)
    assert not outcome.failures, str(outcome.failures[0])
    assert not outcome.refusals, outcome.refusals[0]
    assert not outcome.vain


def written(a):
    b = a.ravel()
    b[0] = 1.0


def written_before(a):
    b = a.reshape(-1)
    a[0, 0] = 1.0
    return b[0]


def returned(a):
    return a.ravel(), a[0, 0]


@pytest.mark.parametrize("function", [written, written_before, returned])
def test_what_may_be_a_view_is_not_written_or_returned(function):
    with pytest.raises(pyflat.FlattenError, match=r"use \.flatten\(\) or \.copy\(\)"):
        pyflat.twin(function)(np.ones((2, 3)))


def only_passed(a, b):
    return np.linalg.solve(np.asarray(a), b)


def grown(x, n):
    found = []
    for _ in range(3):
        found.append(x)
    return found[0] * n


def test_what_goes_into_functions_of_arrays_is_one():
    assert set(pyflat.twin(only_passed).roles.values()) == {"array"}
    assert pyflat.twin(grown).roles["x"] == "lanes"
