"""Ints of 64 bits that become float32: NumPy rounds its own once, and Python's by way of a float64."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat

HALVES = [2**60 + 2**36 + 1, 2**60 - 2**35 - 1, 2**63 - 1, 2**62 + 2**38 + 1, 2**24 + 1, 2**24 + 3, 2**54 + 2**30 + 1,
          2**55 + 2**31 + 1, 2**53 + 2**29 + 1, 2**53 - 1, 0, 1]


def stored(a, out):
    for i in range(len(a)):
        out[i] = a[i]


def converted(a, out):
    for i in range(len(a)):
        out[i] = np.float32(a[i])


def of_python(a, out):
    for i in range(len(a)):
        out[i] = int(a[i])


def converted_of_python(a, out):
    for i in range(len(a)):
        out[i] = np.float32(int(a[i]))


def product(a, out):
    for i in range(len(a)):
        out[i] = out[i] * int(a[i])


def sums(a, out):
    for i in range(len(a)):
        out[i] += a[i]


def as_type(a, out):
    b = a.astype(np.float32)
    for i in range(len(a)):
        out[i] = b[i]


def whole(a, out):
    out[:] = a


def filled(a, out):
    b = np.full(3, a[0], np.float32)
    for i in range(3):
        out[i] = b[i]


def one_by_one(a, out):
    for i in range(1, len(a)):
        out[i] = a[i]
        out[i - 1] = out[i] * out[i - 1]


def of_either(a, out):
    for i in range(len(a)):
        s = 0
        for _ in range(i % 2):
            s = s + a[i]
        out[i] = s


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("fn", [stored, converted, of_python, converted_of_python, product, sums, as_type, whole, filled,
                                one_by_one, of_either])
def test_an_int_is_rounded_as_numpy_does(fn, dtype, target):
    values = HALVES * 4 if dtype == "uint64" else [*HALVES, *[-each for each in HALVES]] * 4
    twin = pyflat.twin(fn).with_options(target=target)
    for given in (values, [2**63 + 2**39 + 1, 2**64 - 1, 5, 6] if dtype == "uint64" else values[::-1]):
        a = np.array(given, dtype)
        expected, got = np.ones(len(a), np.float32), np.ones(len(a), np.float32)
        with np.errstate(over="ignore"):
            fn(a, expected)
            twin(a, got)
        assert expected.tobytes() == got.tobytes()
        if max(given) < 2**63 and fn is not of_either:
            assert twin.stats.replayed == 0
