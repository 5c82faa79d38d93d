"""NumPy's functions of NumPy's narrow scalars: the loop that NumPy takes, with its digits and its dtype."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat
from tests.generator.kernels.differential import Outcome, compare
from tests.generator.kernels.inputs import Written

ELEMENTS = {
    "int8": "[0, 1, 127, -128, -3, 100]", "uint16": "[0, 1, 65535, 3, 100]",
    "int32": "[0, 1, 2**31 - 1, -2**31, -3, 100]", "uint64": "[0, 1, 2**53 + 1, 3, 2**63]",
    "float32": "[0.0, -0.0, 0.1, -2.5, 3e38, 1e-45, np.nan, np.inf, -np.inf]",
}


def exact(a, b, out, result):
    for i in range(len(a)):
        out[i] = np.maximum(a[i], b[-i]) + np.minimum(b[i], 3) * np.sign(a[i])
        result[i] = np.floor(a[i]) - np.ceil(np.abs(a[i])) + np.trunc(b[-i])
    return np.maximum(a[2], 100), np.fmin(b[1], a[0]), np.sign(a[1]), np.abs(b[-1]), np.floor(a[-1]), np.fmax(a[3], i)


def in_float64(a, out):
    for i in range(len(a)):
        out[i] = np.exp(-np.sqrt(np.fabs(a[i]))) + np.arctan(a[i])
    return np.sqrt(a[1]), np.sin(a[0]), np.copysign(a[1], a[2]), np.rint(a[4]), np.hypot(a[3], 2)


def beside_a_float(a, b):
    return np.maximum(a[0], 0.1), np.minimum(a[1], b[1]), np.copysign(a[2], -1.5), np.fmax(b[2], a[2])


def checked(fn, target, arguments):
    outcome = Outcome()
    compare(fn, pyflat.twin(fn, target=target), Written(arguments), outcome)
    assert not outcome.failures, str(outcome.failures[0])
    assert not outcome.refusals, outcome.refusals


@pytest.mark.parametrize(("dtype", "target"), [
    ("int8", "numpy"), ("int32", "numba"), ("uint64", "numpy"), ("float32", "numpy"), ("float32", "numba")])
def test_what_is_exact_keeps_the_dtype(dtype, target):
    a = f"np.array({ELEMENTS[dtype]}, np.{dtype})"
    checked(exact, target, f"{a}, {a}[::-1].copy(), np.zeros(9), np.zeros(9, np.float32)")


@pytest.mark.parametrize("dtypes", [("int32", "int8"), ("float32", "uint16")])
def test_two_dtypes_have_the_loop_of_both(dtypes):
    a, b = (f"np.array({ELEMENTS[dtype]}[:5], np.{dtype})" for dtype in dtypes)
    checked(exact, "numpy", f"{a}, {b}, np.zeros(5), np.zeros(5)")


@pytest.mark.parametrize(("dtype", "target"), [("int32", "numba"), ("uint64", "numpy")])
def test_ints_of_which_numpy_makes_float64(dtype, target):
    checked(in_float64, target, f"np.array({ELEMENTS[dtype]}, np.{dtype}), np.zeros(9)")


@pytest.mark.parametrize("dtypes", [("int16", "float32"), ("int64", "float32")])
def test_a_float_beside(dtypes):
    a, b = (f"np.array([3, 4, 5], np.{dtype}) / np.{dtype}(2)".replace("/", "/" if "f" in dtype else "//") for dtype in dtypes)
    checked(beside_a_float, "numpy", f"{a}, {b}")


@pytest.mark.parametrize(("dtype", "call"), [
    ("float32", "np.exp(a[0])"), ("float32", "np.hypot(a[0], a[1])"), ("int16", "np.exp(a[0])"), ("int8", "np.sqrt(a[0])"),
    ("uint8", "np.maximum(a[0], 300)"), ("int32", "np.isnan(a[0])"),
])
def test_digits_of_numpys_narrow_code_are_refused(dtype, call, tmp_path):
    names = {"np": np}
    source = tmp_path / "narrow.py"
    source.write_text(f"def main(a):\n    return {call}\n")
    exec(compile(source.read_text(), source, "exec"), names)
    twin = pyflat.twin(names["main"])
    with pytest.raises((pyflat.FlattenError, OverflowError)):
        twin(np.ones(3, dtype))
