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


def of_float32(a, out):
    for i in range(len(a)):
        x = a[i]
        out[i, 0] = np.exp(-np.abs(x)) + np.sin(x) * np.cos(x)
        out[i, 1] = np.log(x * x + np.float32(0.1)) - np.tanh(x)
        out[i, 2] = np.arctan2(x, a[-i]) + np.hypot(x, 2)
        out[i, 3] = x ** 2 + abs(x) ** 2.2 + x ** 3
        out[i, 4] = np.log10(x)
    return np.log1p(a[1]), np.exp(a[0]), a[1] ** a[2], 2 ** a[0], np.cbrt(a[2])


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("values", ["0.5, 1.25, 3.75, 0.1", "0.5, -1.25, 100.0, 3e38, np.nan, 0.0, -np.inf, 1e-40"])
def test_functions_of_float32_have_numpys_digits(target, values):
    """The second ones warn."""
    checked(of_float32, target, f"np.array([{values}], np.float32), np.zeros(({values.count(',') + 1}, 5), np.float32)")


def powers(a, b, y, out):
    for i in range(len(a)):
        out[i, 0] = a[i] ** 2.2
        out[i, 1] = a[i] ** b[i]
        out[i, 2] = a[i] ** y
        out[i, 3] = 1.1 ** b[i]
    return a[1] ** 0.5, b[2] ** a[1]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("first", "second"), [("int64", "float32"), ("int16", "float32"), ("int32", "float64"), ("uint8", "float32")])
def test_a_power_is_the_librarys_or_the_ufuncs(first, second, target):
    """NumPy's scalars call the C library where the result has the dtype of one of them, else np.power."""
    a, b = f"np.arange(1, 40).astype(np.{first})", f"np.linspace(0.1, 2.7, 39).astype(np.{second})"
    checked(powers, target, f"{a}, {b}, 1.7, np.zeros((39, 4))")


@pytest.mark.parametrize(("dtype", "call"), [
    ("float32", "np.power(a[0], a[1])"), ("int8", "np.exp(a[0])"), ("int8", "np.sqrt(a[0])"),
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
