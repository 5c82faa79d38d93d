"""Whole-array expressions, masks and arrays of indices are in the language; float32's `//` and `%` have NumPy's bits."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

import pyflat
from tests.generator.kernels.inputs import Written
from tests.support.kernels import wholes

CASES = [fn for name, fn in vars(wholes).items() if name.startswith("case_")]


@pytest.mark.parametrize("fn", CASES)
def test_the_first_arguments_are_not_refused(fn):
    with np.errstate(all="ignore"), contextlib.suppress(IndexError):
        pyflat.twin(fn, target="numpy")(*Written(fn.given[0]).arguments())


def quotients(a, b, q, r):
    for i in range(len(a)):
        q[i] = a[i] // b[i]
        r[i] = a[i] % b[i]


def _drawn(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.concatenate([
        rng.integers(0, 2**32, count, dtype=np.uint64).astype(np.uint32).view(np.float32),
        (rng.normal(size=count) * 10.0 ** rng.integers(-10, 10, count)).astype(np.float32),
        rng.integers(-50, 50, count).astype(np.float32), (rng.integers(-50, 50, count) * 0.1).astype(np.float32),
        rng.integers(-2**24, 2**24, count).astype(np.float32)])


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_quotients_of_float32_have_the_bits_of_numpy(target):
    if target == "numba":
        pytest.importorskip("llvmlite")
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        a, b = rng.permutation(_drawn(rng, 400)), rng.permutation(_drawn(rng, 400))
        kept = np.isfinite(a) & np.isfinite(b) & (b != 0) & np.isfinite(a // b)
        a, b = a[kept], b[kept]
        expected, found = [[np.zeros_like(a), np.zeros_like(a)] for _ in range(2)]
        quotients(a, b, *expected)
    twin = pyflat.twin(quotients, target=target)
    twin(a, b, *found)
    assert all(one.tobytes() == other.tobytes() for one, other in zip(expected, found, strict=True))
    assert twin.stats.replayed == 0


def window(a, start, width):
    return a[start:min(start + 2**width, len(a)):1].sum()


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_the_bound_of_a_slice_may_be_an_int_or_a_float(target):
    twin, a = pyflat.twin(window, target=target), np.arange(20.0)
    for start, width in ((3, 2), (0, 0), (10, 6), (-4, 1)):
        assert twin(a, start, width) == window(a, start, width)
    with pytest.raises(TypeError, match="slice indices must be integers"):
        twin(a, 3, -1)


def lengths_of_parts(a, out):
    out[0], out[1], out[2], out[3] = len(a[1:-1]), len(a[3:-3]), len(a[-2:]), len(a[-2:-3])
    out[4], out[5] = len(a[1:-2**62]), len(a[5:2])
    out[6], out[7], out[8] = len(a[6:-1:3]), len(a[-2:0:-1]), len(a[2**70:])


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 5, 8, 11])
def test_lengths_of_parts_whose_bounds_are_literals(target, length):
    a, out, wanted = np.arange(length * 1.0), np.zeros(9), np.zeros(9)
    pyflat.twin(lengths_of_parts, target=target)(a, out)
    lengths_of_parts(a, wanted)
    assert out.tolist() == wanted.tolist()


def smoothed(a):
    out = np.zeros_like(a)
    out[1:-1] = a[2:] - a[:-2]
    return out


def test_parts_of_equal_lengths_are_slices_of_numpy():
    twin = pyflat.twin(smoothed, target="numpy")
    twin(np.arange(5.0))
    text = twin.source
    assert "s.write" not in text and "s.read" not in text and "- 0" not in text


def filled_from(a, start, number):
    a[start:] = number


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("number", [-1, 300, 7, 1e300, float("nan")])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint64", "int64", "float32"])
def test_a_number_is_converted_even_if_no_element_gets_it(dtype, number, target):
    for start in (0, 2, 3):
        expected, found = np.ones((2, 3), dtype)
        seen = []
        for fn, array in ((filled_from, expected), (pyflat.twin(filled_from, target=target), found)):
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    fn(array, start, number)
                    seen.append([str(each.message) for each in warned])
                except (OverflowError, ValueError) as error:
                    seen.append(repr(error))
        assert seen[0] == seen[1]
        assert expected.tobytes() == found.tobytes()


def places(a):
    return (np.arange(len(a), dtype=np.intp), np.arange(0.5, len(a), dtype=np.float32), np.eye(len(a), dtype=int),
            np.linspace(0, 1, num=len(a)), np.linspace(0, len(a), len(a), dtype=np.int32))


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("length", [0, 1, 2, 300])
def test_progressions_have_the_dtype_that_is_asked_for(length, target):
    expected, found = places(np.ones(length)), pyflat.twin(places, target=target)(np.ones(length))
    assert all(one.dtype == other.dtype and one.tobytes() == other.tobytes()
               for one, other in zip(expected, found, strict=True))
