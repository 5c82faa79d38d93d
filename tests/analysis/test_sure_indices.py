"""Indices that are inside whatever a kernel is given, and twins that rely on it."""

import numpy as np
import pytest

import pyflat
from pyflat.frontend.kernels import specialise_kernel
from pyflat.ir.memory import ArrayArgument
from pyflat.ir.shape import Leaf
from pyflat.ir.types import INT

A, INTS, BYTES = ArrayArgument("f8", 1, 0), ArrayArgument("i8", 1, 1), ArrayArgument("u1", 1, 2)


def rows(a):
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1]


def backwards(a):
    n = a.shape[0]
    for i in range(n):
        a[n - 1 - i] = a[i]


def triangle(a):
    for i in range(a.shape[0]):
        for j in range(i + 1, a.shape[0]):
            a[j - i - 1] = a[j]


def every_other(a):
    for i in range(a.shape[0] // 2):
        a[2 * i + 1] = a[2 * i]


def halves(a):
    h = (a.shape[0] + 1) // 2
    for i in range(a.shape[0] - h):
        a[i + h] = a[i]


def beyond_half(a):
    h = (a.shape[0] + 1) // 2
    for i in range(h):
        a[i + h] = a[i]


def of_a_row(a):
    if a.shape[0] > 3:
        for i in range(a.shape[0]):
            a[i % 4] = 0.0


def run_length(a, k):
    n = 0
    while n < len(k) and k[n] == 3:
        n += 1
    a[0] = n


def sift(a):
    for i in range(1, a.shape[0]):
        k, x = i, a[i]
        while k > 0 and a[k - 1] > x:
            a[k] = a[k - 1]
            k -= 1
        a[k] = x


def clipped(a, m):
    for i in range(min(m, a.shape[0])):
        a[i] = 0.0


def counted(a, b):
    for i in range(len(b)):
        at = b[i]
        if at < a.shape[0]:
            a[at] += 1.0


def after_the_test(a, k):
    for i in range(len(k)):
        at = k[i]
        if at < 0 or at >= a.shape[0]:
            continue
        a[at] = 1.0


def beyond(a):
    for i in range(a.shape[0]):
        a[i] = a[i + 1]


def before(a):
    for i in range(a.shape[0]):
        a[i] = a[i - 1]


def after_the_loop(a):
    i = 0
    while i < a.shape[0]:
        i += 1
    a[i] = 1.0


def by_two(a):
    i = 0
    while i < a.shape[0]:
        a[i] = a[i + 1]
        i += 2


def given(a, m):
    for i in range(m):
        a[i] = 0.0


def falling(a):
    k = a.shape[0] - 1
    while a[k] > 0.0:
        k -= 1


def jumped(a, k):
    n = 0
    while n < a.shape[0]:
        a[n] = 0.0
        n += k[0]


def found(function, *arguments):
    kernel = specialise_kernel(function, dict(zip(function.__code__.co_varnames, arguments, strict=False)))
    every = sum(op.opcode == "index" for item in _blocks(kernel.function.body) for op in item.ops)
    return len(kernel.indices.always), len(kernel.indices.here), every


def _blocks(items):
    from pyflat.ir.nodes import Block, walk
    return [item for item in walk(items) if isinstance(item, Block)]


@pytest.mark.parametrize(("function", "arguments", "expected"), [
    (rows, [A], (2, 2, 2)), (backwards, [A], (2, 2, 2)), (triangle, [A], (2, 2, 2)), (run_length, [A, INTS], (0, 1, 2)),
    (sift, [A], (1, 1, 5)), (clipped, [A, Leaf(INT)], (1, 1, 1)), (counted, [A, BYTES], (1, 3, 3)),
    (after_the_test, [A, INTS], (1, 2, 2)), (beyond, [A], (1, 1, 2)), (before, [A], (1, 1, 2)),
    (after_the_loop, [A], (0, 0, 1)), (by_two, [A], (1, 1, 2)), (given, [A, Leaf(INT)], (0, 0, 1)),
    (falling, [A], (0, 0, 1)), (jumped, [A, INTS], (0, 0, 2)), (every_other, [A], (2, 2, 2)), (halves, [A], (2, 2, 2)), (beyond_half, [A], (0, 0, 2)),
    (of_a_row, [A], (0, 1, 1))],
    ids=lambda value: getattr(value, "__name__", None))
def test_which_are_inside(function, arguments, expected):
    assert found(function, *arguments) == expected


KERNELS = [rows, backwards, triangle, every_other, halves, beyond_half, of_a_row, sift, beyond, before, after_the_loop,
           by_two, falling]


@pytest.mark.parametrize("target", ["numba", "numpy"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_twins_are_their_originals(kernel, target):
    twin = pyflat.twin(kernel, target=target)
    for size in (0, 1, 2, 3, 5, 8, 33):
        for step in (1, 2, -1):
            values = np.random.default_rng(size).permutation(2 * size).astype(float)[::step][:size]
            compare(kernel, twin, values)


@pytest.mark.parametrize("target", ["numba", "numpy"])
@pytest.mark.parametrize("kernel", [run_length, after_the_test, counted, jumped])
def test_indices_that_are_loaded(kernel, target):
    twin = pyflat.twin(kernel, target=target)
    for size, values in ((4, [3, 3, 3, 1]), (4, [3, 3]), (0, []), (2, [-1, 9, 1]), (3, [250, 2, 0])):
        wide = np.array(values, np.int64)
        k = np.array(values).astype(np.uint8) if kernel is counted else np.maximum(wide, 1) if kernel is jumped else wide
        compare(kernel, twin, np.zeros(size), k)
        compare(kernel, twin, np.zeros(2 * size)[::2], np.repeat(k, 2)[::2])


@pytest.mark.parametrize(("kernel", "given"), [(given, (3, 5, -2)), (clipped, (3, 5, -2))])
def test_bounds_that_are_given(kernel, given):
    twin = pyflat.twin(kernel, target="numba")
    for number in given:
        compare(kernel, twin, np.ones(4), number)


def compare(kernel, twin, *arguments):
    """Results, what is written, and exceptions; three calls, of which the last ones are planned."""
    for _ in range(4):
        mine, other = ([np.copy(each) if isinstance(each, np.ndarray) else each for each in arguments] for _ in "ab")
        outcomes = []
        for call, given in ((kernel, mine), (twin, other)):
            try:
                outcomes.append((call(*given), None))
            except IndexError as error:
                outcomes.append((None, str(error)))
        assert outcomes[0] == outcomes[1]
        assert np.array_equal(mine[0], other[0])


def test_overflow_beside_a_loop_leaves_what_was_written():
    def shifted(a, n):
        for i in range(a.shape[0]):
            a[i] = 1.0
        for i in range(3):
            m = n + i
            for j in range(2):
                a[j] = m

    twin = pyflat.twin(shifted, target="numba")
    for n in (5, 2**63 - 2, 5, 2**63 - 1, 5, 2**63 - 2):
        compare(shifted, twin, np.zeros(4), n)


def test_what_is_saved():
    def saved(function, *arguments):
        kernel = specialise_kernel(function, dict(zip(function.__code__.co_varnames, arguments, strict=False)))
        from pyflat.targets.numba.kernels.engine import NumbaKernel
        return kernel.undone(NumbaKernel(kernel, dict.fromkeys(kernel.arguments, "C")).ends, strict=False)

    def raised(a):
        for i in range(a.shape[0]):
            a[i] = a[a.shape[0] - 1 - i]
            if a[i] < 0.0:
                raise ValueError("negative")

    def doubled(a):
        for i in range(a.shape[0]):
            a[i] = a[i] * 2.0

    assert saved(rows, A) == saved(backwards, A) == saved(given, A, Leaf(INT)) == ()
    assert saved(beyond, A) == saved(before, A) == saved(raised, A) == saved(doubled, A) == ("a",)


@pytest.mark.parametrize("target", ["numba", "numpy"])
def test_a_counter_is_known_behind_its_loop(target):
    def ends(a, out):
        i = k = 0
        while i < a.shape[0]:
            out[i] = a[i]
            i += 3
        for j in range(2):
            k = 5
            while k > 0:
                out[k] = a[j]
                k -= 2
        return i, k

    for size in (6, 7, 8):
        out = np.zeros(12)
        assert pyflat.twin(ends, target=target)(np.arange(float(size)), out) == ends(np.arange(float(size)), out)
