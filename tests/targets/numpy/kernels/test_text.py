"""The text of kernels on the NumPy target: it runs alone, is short, and says what a careful person would."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat
from benchmarks.array_kernels import ARRAY_KERNELS
from benchmarks.arrays import outputs, same_bits
from pyflat.functions import array_lanes


def smooth(a, out):
    rows, columns = a.shape
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            out[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def marked(a, out):
    for i in range(a.shape[0]):
        if a[i] < 0.0:
            continue
        out[i] = a[i] * 2.0


def turned(a, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[j, i] + 1.0


def outer(x, y, out):
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            out[i, j] = x[i] * y[j]


def scattered(a, where, out):
    for i in range(a.shape[0]):
        out[i] = a[where[i]] * 2.0


def shifted(a, out, k):
    for i in range(k, a.shape[0]):
        out[i] = a[i - k] + 1.0


def saved(a, b):
    for i in range(a.shape[0]):
        old = a[i]
        a[i] = b[i]
        b[i] = old


def wrapped(b):
    for i in range(b.shape[0] - 2, -1, -1):
        b[i, -1] = b[i + 1, 0] + 1.0


def bits(a):
    return [np.asarray(each).tobytes() for each in a]


def compared(function, *args):
    """A twin that has run with the bits of the original."""
    twin = pyflat.twin(function).with_options(target="numpy")
    given = [each.copy() if isinstance(each, np.ndarray) else each for each in args]
    function(*given)
    mine = [each.copy() if isinstance(each, np.ndarray) else each for each in args]
    twin(*mine)
    assert bits(mine) == bits(given)
    return twin


def test_slices_are_written_as_one_writes_them():
    a = np.arange(30.0).reshape(5, 6) ** 2
    text = compared(smooth, a, np.zeros((5, 6))).source
    assert "rows, columns = a.shape\n" in text and "a[start - 1:stop - 1, 1:columns - 1]" in text
    assert "s.read" not in text and "s.inside" not in text and "s.Line" not in text and "pass" not in text


@pytest.mark.parametrize("name", sorted({*ARRAY_KERNELS} - {"lcs", "azimuthal", "crc16"}))
def test_the_text_runs_alone(name):
    kernel = ARRAY_KERNELS[name]
    twin = pyflat.twin(kernel.function).with_options(target="numpy")
    given, reference = kernel.arguments("small"), kernel.arguments("small")
    twin(*kernel.arguments("small"))
    names: dict[str, object] = {}
    exec(twin.source, names)
    with np.errstate(all="ignore"):
        returned = names[name](*given)
    assert same_bits(outputs(returned, given), outputs(kernel.function(*reference), reference))


def test_continue_is_a_mask():
    text = compared(marked, np.array([1.0, -2.0, 3.0]), np.zeros(3)).source
    assert "np.copyto(out[" in text or "s.write(out" in text
    assert "for i in" not in text


@pytest.mark.parametrize(("function", "args"), [
    (turned, (np.arange(9.0).reshape(3, 3), np.zeros((3, 3)))),
    (outer, (np.arange(3.0), np.arange(4.0), np.zeros((3, 4)))),
    (scattered, (np.arange(5.0), np.array([3, 1, 0, 0, 4]), np.zeros(5))),
    (scattered, (np.arange(5.0), np.array([3, -1, 0, 0, -5]), np.zeros(5))),
    (shifted, (np.arange(5.0), np.zeros(5), 2)),
    (shifted, (np.arange(5.0), np.zeros(5), 0)),
    (shifted, (np.arange(5.0), np.zeros(5), -2)),
    (saved, (np.arange(5.0), np.arange(5.0) * 3.0)),
    (wrapped, (np.arange(4.0).reshape(4, 1),)),
    (wrapped, (np.arange(8.0).reshape(4, 2),)),
    (smooth, (np.zeros((0, 4)), np.zeros((0, 4)))),
    (smooth, (np.zeros((2, 4)), np.zeros((0, 0)))),
])
def test_bits_of_the_loop(function, args):
    try:
        function(*[each.copy() if isinstance(each, np.ndarray) else each for each in args])
    except IndexError:
        with pytest.raises(IndexError):
            pyflat.twin(function).with_options(target="numpy")(*args)
        return
    compared(function, *args)


def test_an_index_outside_raises_as_the_loop_with_its_writes():
    a, out, expected = np.arange(25.0).reshape(5, 5), np.zeros((4, 5)), np.zeros((4, 5))
    expected[1:4] = 0.0
    short = np.zeros((3, 5))
    ours = short.copy()
    with pytest.raises(IndexError) as theirs:
        smooth(a, short)
    with pytest.raises(IndexError) as found:
        pyflat.twin(smooth).with_options(target="numpy")(a, ours)
    assert str(found.value) == str(theirs.value)
    assert ours.tobytes() == short.tobytes()
    compared(smooth, a, out)


def test_large_nests_run_in_blocks(monkeypatch):
    """All elements once, whatever the size of a block."""
    a = np.arange(400.0).reshape(20, 20) ** 2
    for size in (1, 7, 50, 10_000):
        monkeypatch.setattr(array_lanes, "LANES_AT_ONCE", size)
        compared(smooth, a, np.zeros((20, 20)))


@pytest.mark.parametrize(("lower", "upper", "each"), [(0, 0, 1), (5, 3, 2), (2, 9, 100_000), (0, 100_000, 3)])
def test_blocks_cover_a_range_once(lower, upper, each):
    found = [k for start, stop in array_lanes.blocks(lower, upper, each) for k in range(start, stop)]
    assert found == list(range(lower, upper))


def test_blocks_bound_the_lanes():
    assert max(stop - start for start, stop in array_lanes.blocks(0, 10**6, 64)) * 64 <= array_lanes.LANES_AT_ONCE


def first_above(a, x):
    for k in range(len(a)):
        if a[k] > x:
            return k
    return -1


def in_two_loops(a, x):
    for k in range(len(a)):
        for j in range(k):
            if a[j] > x:
                return j + k
    return -1


def searched_by_all(a, b, out):
    for i in range(len(out)):
        x = first_above(a, 2.0)
        y = in_two_loops(a, 2.0)
        out[i] = x + 10 * y if b[i] > 0.0 else out[i] - x


@pytest.mark.parametrize("high", [0, 3, 7])
def test_all_lanes_leave_a_search_where_it_finds(high):
    a, b = np.zeros(7), np.linspace(-1.0, 1.0, 9)
    a[high:] = 5.0
    one, other = np.arange(9.0), np.arange(9.0)
    searched_by_all(a, b, one)
    twin = pyflat.twin(searched_by_all)
    twin(a, b, other)
    assert "start:stop" in twin.show()
    assert one.tobytes() == other.tobytes()
