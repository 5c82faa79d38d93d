"""Numbers beside arrays of a kernel: their dtypes, and what NumPy makes of numbers and lists."""

import numpy as np
import pytest

from tests.frontend.kernels.test_uint64 import checked

NARROW = "np.linspace(-1, 3, 7).astype(np.float32), np.arange(7) / 8"


def without_axes(x, y):
    c = np.zeros((len(x), 3))
    for i in range(len(x)):
        c[i] = np.cos(np.asarray(x[i])), np.asarray(x[i], dtype=float) * 0.1, np.copy(y[i]) * 0.1
    return c


def mean_taken_off(x, y):
    s = 0.0
    for v in x[1:]:
        s += v
    return (x - s / len(x)) * 0.1, y - float(s), x < s


def between(x, y):
    found = np.interp(0.1, [y[1], y[2]], [x[1], x[2]])
    return found, np.interp(y[3], [y[1], y[2]], [0.0, 1.0]), np.quantile(x[2], 0.5), np.shape(x)[0], np.ndim(y)


def in_order(x, y):
    x[::2].sort()
    y[::-1].sort()
    return np.uint32(len(x) ** 3)


def flat_items(x, y):
    m = y[:6].reshape(2, 3) * 1.0
    for i in range(6):
        m.flat[-1 - i] += x.flat[i]
    return m, m.flat[len(y) - 3]


def stepped(x, y):
    total = 0.0
    for i in range(1, 4):
        total += np.sum(x[i::i]) + len(y[:5:i])
    return total


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("kernel", [without_axes, mean_taken_off, between, in_order, flat_items, stepped])
def test_bits_of_the_original(kernel, target):
    checked(kernel, target, NARROW)
    checked(kernel, target, NARROW.replace("np.arange(7) / 8", "np.arange(7.0)[::-1].copy()"))


def masked_truths(a, b):
    for i in range(len(b)):
        for j in range(b.shape[1]):
            x = b[i, j] * i + 0.75
            if j % 2 == 1:
                a[i, j] = x * j >= 1 + x


def test_truths_are_numbers_in_lanes_that_do_not_run():
    checked(masked_truths, "numba", "np.zeros((5, 70), bool), np.arange(350).reshape(5, 70) % 3 == 0")
