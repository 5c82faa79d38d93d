"""What else kernels may be given: other dtypes and ranks, shapes that do not fit, indices that are none, billions of
elements. And the small examples that the design of arrays is made for."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat
from pyflat.ir.loops import all_ops

both = pytest.mark.parametrize("target", ["numpy", "numba"])


def double(a, out):
    for i in range(len(a)):
        out[i] = a[i] * 2


def same(fn, target, *args):
    """Twin and original on copies: arrays, result, or exception."""
    seen = []
    for call in (pyflat.twin(fn, target=target), fn):
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        try:
            found = repr(call(*given))
        except Exception as error:  # noqa: BLE001 - the exception is what is compared
            found = f"{type(error).__name__}: {error}"
        seen.append((found, [a.tobytes() if isinstance(a, np.ndarray) else a for a in given]))
    assert seen[0] == seen[1]
    return seen[1][0]


@both
def test_another_dtype_or_rank_is_another_version_made_once(target):
    twin = pyflat.twin(double, target=target)
    counts = []
    for dtype in ("f8", "f4", "f8", "i8", "f4"):
        a = np.arange(3).astype(dtype)
        out = np.zeros_like(a)
        twin(a, out)
        assert out.tolist() == [0, 2, 4]
        counts.append(twin._caller.kernels.count(twin.options))
    assert counts == [1, 2, 2, 3, 3]
    rows = np.zeros((3, 2))
    twin(np.ones((3, 2)), rows)
    assert rows.tolist() == [[2.0, 2.0]] * 3


@pytest.mark.parametrize("odd", [np.array([1, "x", None], object), np.zeros(3, [("x", float)]), np.zeros(3, complex),
                                 np.zeros(3, "M8[s]"), np.zeros(3, np.float16), np.ma.masked_array(np.zeros(3))])
def test_other_arrays_are_a_type_error_that_names_the_argument(odd):
    with pytest.raises(TypeError, match="'out'"):
        pyflat.twin(double)(np.zeros(3), odd)


@both
@pytest.mark.parametrize("out", [np.zeros(2), np.zeros(0), np.zeros((3, 2)), np.zeros((1, 3)), np.zeros(3, np.int8),
                                 np.zeros(3, bool), np.zeros(3, np.float32), np.zeros(6)[::-2]])
def test_shapes_and_dtypes_that_do_not_fit(out, target):
    same(double, target, np.array([1.5, -2.5, 300.0]), out)


def at(a, i):
    return a[i] + 1


@both
@pytest.mark.parametrize("index", [1.0, float("nan"), -3, -4, 3, 2**62, -(2**63), np.float32(1), np.int8(-1), True, np.True_])
def test_indices_that_may_be_none(index, target):
    if isinstance(index, bool | np.bool_):
        with pytest.raises(pyflat.FlattenError, match="indexed with a bool"):
            pyflat.twin(at, target=target)(np.arange(3.0), index)
    else:
        same(at, target, np.arange(3.0), index)


def by_a_number(a, x):
    return a[int(x)]


@both
@pytest.mark.parametrize("x", [1.9, -0.5, float("nan"), float("inf"), 1e300])
def test_floats_made_ints(x, target):
    same(by_a_number, target, np.arange(3.0), x)


def backwards(a, out):
    for i in range(len(a) - 1, -1, -2):
        out[i] = a[::-1][i] - a[i:i - 3:-1].sum()


@both
@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_negative_steps(count, target):
    same(backwards, target, np.arange(count) * 0.5, np.zeros(count))


def rows(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j]
    return s, a.sum(), a.T @ a, np.zeros_like(a)


@both
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 3)])
def test_dimensions_of_no_length(shape, target):
    same(rows, target, np.ones(shape))


def the_last(a, k):
    s = 0
    for i in range(len(a) - k, len(a)):
        s += a[i]
    return s, a[-k:].max()


@both
def test_more_elements_than_32_bits_count(target):
    a = np.zeros(2**31 + 100, np.int8)  # pages that nothing touches take no memory
    a[-3:] = 1, 2, 3
    assert pyflat.twin(the_last, target=target)(a, 3) == (6, 3)


# --- the small examples of the design


def temporary(a, out):
    t = np.zeros_like(a)
    for i in range(len(a)):
        t[i] = a[i] * 2
    for i in range(len(a)):
        out[i] = t[i] + 1


def product(a, b):
    c = a @ b
    return c * c


def neighbours(a, out):
    t = np.zeros_like(a)
    for i in range(len(a)):
        t[i] = a[i] * a[i] + 1.0
    for i in range(1, len(a) - 1):
        out[i] = t[i - 1] + t[i + 1]


def diagonals(a, out):
    n = len(out)
    t = np.zeros((n, n))
    for i in range(n):
        t[i, i] = a[i]
    for i in range(n - 1):
        t[i, i + 1] = 2 * a[i]
    for i in range(n - 1):
        out[i] = t[i, i] + t[i, i + 1] + t[i + 1, i]


def siblings(a, out):
    for i in range(len(a)):
        s = a[0]
        for j in range(2):
            a[j] = a[j] + 1
        for j in range(2):
            out[i] += a[j] * s


def triangle(out):
    k = 0
    for i in range(len(out)):
        for j in range(i):
            out[i, j] = k
            k += 1


def combined(t):
    out = np.zeros((3, 2))
    for oh in range(3):
        for wh in range(2):
            out[oh, wh] = t[2 * oh + wh]
    return out


@both
@pytest.mark.parametrize(("fn", "args", "wanted"), [
    (temporary, (np.arange(1.0, 5), np.zeros(4)), [3, 5, 7, 9]),
    (neighbours, (np.arange(5.0), np.zeros(5)), [0, 6, 12, 22, 0]),
    (diagonals, (np.arange(1.0, 5), np.zeros(4)), [3, 6, 9, 0]),
    (siblings, (np.zeros(2), np.zeros(2)), [0, 4]),
    (triangle, (np.zeros((4, 4)),), [[0, 0, 0, 0], [0, 0, 0, 0], [1, 2, 0, 0], [3, 4, 5, 0]]),
])
def test_small_examples(fn, args, wanted, target):
    given = [a.copy() for a in args]
    pyflat.twin(fn, target=target)(*given)
    assert given[-1].tolist() == wanted
    same(fn, target, *args)


@both
def test_a_product_is_made_once(target):
    twin = pyflat.twin(product, target=target)
    assert twin(np.arange(12).reshape(3, 4), np.arange(4)).tolist() == [196, 1444, 3844]
    ops = all_ops(twin._caller.kernels.latest.kernel.function.body)
    assert sum(op.opcode == "routine" for op in ops) == 1


@both
def test_several_counters_in_an_index(target):
    assert pyflat.twin(combined, target=target)(np.arange(10.0, 16)).tolist() == [[10, 11], [12, 13], [14, 15]]


def identities(a, out):
    for i in range(len(a)):
        x = a[i]
        out[i] = (x * 1.0 - 0.0) + 0.0 * (x - x) + (x + 0.0) / 1.0


@both
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_what_is_no_identity_of_floats_stays(dtype, target):
    a = np.array([0.0, -0.0, 1.5, -3.0, 5e-324, 1e-45, 1e30], dtype)
    same(identities, target, a, np.zeros_like(a))


def heated(u, n):
    for _ in range(n):
        new = u.copy()
        for i in range(1, len(u) - 1):
            new[i] = u[i - 1] + u[i + 1]
        u = new
    return u


def exchanged(u, n):
    new = u.copy()
    for _ in range(n):
        for i in range(1, len(u) - 1):
            new[i] = u[i - 1] + u[i + 1]
        u, new = new, u
    return u


def copied(u, n):
    for _ in range(n):
        new = u.copy()
        for i in range(1, len(u) - 1):
            new[i] = u[i - 1] + u[i + 1]
        u[:] = new
    return u


def test_an_array_that_another_one_replaces_is_to_be_copied():
    with pytest.raises(pyflat.FlattenError, match=r"or a view of one\n +help: +copy into the array .*`u\[:\] = \.\.\.`"):
        pyflat.twin(heated)(np.arange(5.0), 3)
    assert same(exchanged, "numpy", np.arange(5.0), 3)
    assert same(copied, "numpy", np.arange(5.0) ** 2, 3)
