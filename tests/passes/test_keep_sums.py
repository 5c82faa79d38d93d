"""Elements that loops add to are numbers while the loops run: which are, and that bits are the original's."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Loop, walk


def row_sums(m, out):
    s = np.zeros(len(m))
    for i in range(len(m)):
        for j in range(m.shape[1]):
            s[i] += m[i, j]
    for i in range(len(m)):
        out[i] = s[i] * 2.0


def from_one(m, out):
    s = np.empty(len(m))
    for i in range(len(m)):
        s[i] = 1.0
        for j in range(m.shape[1]):
            s[i] = s[i] * m[i, j]
    for i in range(len(m)):
        out[i] = s[i] - 1.0


def rectified(m, out):
    t = np.zeros(m.shape)
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            for k in range(m.shape[1]):
                t[i, j] += m[i, k] * 0.5
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            out[i] = out[i] + max(t[i, j], 0.0)


def single(m, out):
    s = np.zeros(len(m), np.float32)
    for i in range(len(m)):
        for j in range(m.shape[1]):
            s[i] += m[i, j]
    for i in range(len(m)):
        out[i] = s[i]


def not_read(m, out):
    s = np.zeros(len(out))
    if len(out) > 0:
        for i in range(len(m)):
            s[0] += m[i, 0]
    for i in range(len(out)):
        out[i] = m[i, 0]


# --- that stay in memory


def sometimes(m, out):
    s = np.zeros(len(m))
    for i in range(len(m)):
        for j in range(m.shape[1]):
            if m[i, j] > 0.5:
                s[i] += m[i, j]
    for i in range(len(m)):
        out[i] = s[i]


def beside(m, out):
    """The element before is read, too, which is another one."""
    s = np.zeros(len(m) + 1)
    for i in range(1, len(m)):
        for j in range(m.shape[1]):
            s[i] = s[i] + m[i, j] + s[i - 1]
    for i in range(len(m)):
        out[i] = s[i]


def moving(m, out):
    s = np.zeros(m.shape[1])
    for i in range(len(m)):
        for j in range(m.shape[1]):
            s[j] += m[i, j]
    for i in range(len(m)):
        out[i] = s[0]


def left(m, out):
    s = np.zeros(len(m))
    for i in range(len(m)):
        for j in range(m.shape[1]):
            if m[i, j] > 0.9:
                break
            s[i] += m[i, j]
    for i in range(len(m)):
        out[i] = s[i]


def at_the_end(m, out):
    """Of no rows there is no last one."""
    s = np.zeros(len(m))
    for i in range(len(m)):
        s[len(m) - 1] += m[i, 0]
    for i in range(len(m)):
        out[i] = s[i]


M = (np.arange(35.0) % 11 / 10).reshape(5, 7)


def stored_in_innermost(twin):
    fn = twin._caller.kernels.latest.kernel.function
    loops = [item for item in walk(fn.body) if isinstance(item, Loop)]
    inner = [each for each in loops if not any(isinstance(item, Loop) for item in walk(each.body))]
    return any(op.opcode == "store" and op.attr("array") != "out" for each in inner for op in all_ops(each.body))


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("function", "stays"), [
    *((each, False) for each in (row_sums, from_one, rectified, single, not_read)),
    *((each, True) for each in (sometimes, beside, moving, left, at_the_end))], ids=lambda each: getattr(each, "__name__", ""))
def test_a_sum_is_a_number(target, function, stays):
    twin = pyflat.twin(function, target=target)
    for rows, columns in ((5, 7), (5, 1), (5, 0), (1, 7), (0, 7)):
        if function in (moving, at_the_end, not_read) and not columns:
            continue
        m = np.ascontiguousarray(M[:rows, :columns])
        expected, got = np.ones(rows), np.ones(rows)
        function(m, expected)
        twin(m, got)
        assert got.tobytes() == expected.tobytes()
    assert stored_in_innermost(twin) == stays


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_a_sum_that_warns(target):
    m = np.full((2, 3), 1e308)
    twin = pyflat.twin(row_sums, target=target)
    with pytest.warns(RuntimeWarning, match="overflow"):
        twin(m, got := np.zeros(2))
    assert got.tolist() == [np.inf, np.inf]
