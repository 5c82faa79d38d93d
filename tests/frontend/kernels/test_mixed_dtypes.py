"""Numbers that have one of several dtypes: operators compute with each, and take the result of the one that it is."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pyflat
from tests.frontend.kernels.test_uint64 import checked
from tests.generator.kernels.differential import Outcome, compare
from tests.generator.kernels.inputs import Written

TARGETS = pytest.mark.parametrize("target", ["numpy", "numba"])
WIDE = "np.arange(6, dtype=np.int64) - 2, np.linspace(-3, 3, 6).astype(np.float32), np.linspace(-1, 5, 6)"


def envelope(x, out, attack, release):
    e = 0.0
    for i in range(len(x)):
        v = abs(x[i])
        if v > e:
            e = attack * e + (1.0 - attack) * v
        else:
            e = release * e + (1.0 - release) * v
        out[i] = e
    return e


def by_a_condition(a, b, c, out):
    for i in range(len(a)):
        t = b[i] if a[i] > 0 else c[i]
        out[i] = t * 1.1 + abs(t) - (-t) / 3
    return float(t)


def by_arms(a, b, c, out):
    for i in range(len(a)):
        if a[i] < 1:
            t = b[i] * 0.1
        elif a[i] == 2:
            t = 0.1
        else:
            t = c[i]
        out[i] = t * 0.3 if t > 0.1 else t // 0.7
    return float(t)


def by_iterations(a, b, c, out):
    s = 1
    for i in range(len(a)):
        out[i] = s // 2 + s % 3
        s = np.int32(i) if a[i] > 1 else 7
    return int(s)


def of_a_search(a, b, c, out):
    best = 0
    for i in range(len(b)):
        best = max(best, b[i])
        out[i] = best + 0.1
    return float(best)


def squares(a, b, c, out):
    e = 0.5
    for i in range(len(b)):
        out[i] = e ** 2 + e % 0.3
        e = b[i]
        if a[i] == 3:
            e = c[i]
    return float(e)


def of_functions(a, b, c, out):
    m, s = 0.0, 0.0
    for i in range(len(a)):
        m = max(m, b[i])
        s += b[i] if a[i] > 0 else c[i]
        out[i] = np.maximum(m, 1.5) + np.abs(s)
    return np.sqrt(m), np.isfinite(s), np.isnan(m), abs(s), np.exp(m), np.floor(s), np.minimum(m, s), math.sqrt(m)


@TARGETS
@pytest.mark.parametrize("length", [0, 1, 6])
@pytest.mark.parametrize("fn", [by_a_condition, by_arms, by_iterations, of_a_search, squares, of_functions])
def test_each_dtype_computes_as_it_is(fn, length, target):
    arrays = ", ".join(f"({text})[:{length}]" for text in (
        "np.arange(6, dtype=np.int64) - 2", "np.linspace(-3, 3, 6).astype(np.float32)", "np.linspace(-1, 5, 6)"))
    checked(fn, target, f"{arrays}, np.zeros(6)", "default", vain=1)


@TARGETS
def test_an_envelope_of_float32(target):
    checked(envelope, target, "np.sin(np.arange(30)).astype(np.float32), np.zeros(30, np.float32), 0.9, 0.99", "default")


def booleans(f, g, u, out):
    for i in range(len(f)):
        out[i] = (f[i] & u[i]) | (u[i] ^ g[i])
    return f[0] & g[0], f[0] | u[0], f[0] + g[0], f[0] * g[1], u[1] ^ np.int16(300)


@TARGETS
def test_bits_of_bools_and_narrow_ints(target):
    flags = "np.array([True, False, True])"
    checked(booleans, target, f"{flags}, {flags}[::-1].copy(), np.array([1, 2, 255], np.uint8), np.zeros(3, np.int16)")


def bits_of_floats(f, x):
    for i in range(len(f)):
        f[i] = not f[i]
    return f[0] | x[0]


def test_what_has_no_loop_raises_at_its_place():
    twin = pyflat.twin(bits_of_floats)
    flags = np.array([True, False])
    with pytest.raises((TypeError, pyflat.FlattenError)):
        twin(flags, np.ones(2))


def by_way_of_a_float(a, out):
    for i in range(len(a)):
        out[i] = math.floor(a[i]) + math.ceil(a[i] - 1) + round(a[i])
    return math.floor(a[1])


@TARGETS
def test_the_floor_of_an_int_of_numpys_is_that_of_a_float(target):
    checked(by_way_of_a_float, target, "np.array([3, 2**53 + 1, -2**60 - 1]), np.zeros(3, np.int64)", "default")
    checked(by_way_of_a_float, target, "np.array([3, 2**63 - 1]), np.zeros(3, np.int64)", "default")  # raises
    checked(by_way_of_a_float, target, "np.array([3, 7], np.int8), np.zeros(3, np.int64)", "default")


def pairs(p, out):
    s = 0.0
    for i in range(len(p)):
        x, y = p[i]
        s += x * y
        out[i] = x - y
    for u, v in p:
        s -= u
    return s


def a_stack(img, r, c):
    stack = np.zeros((img.size * 4 + 1, 2), np.int64)
    stack[0, 0], stack[0, 1] = r, c
    top, count = 1, 0
    while top > 0:
        top -= 1
        i, j = stack[top]
        if i < 0 or j < 0 or i >= img.shape[0] or j >= img.shape[1] or img[i, j]:
            continue
        img[i, j] = 1
        count += 1
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            stack[top, 0] = i + di
            stack[top, 1] = j + dj
            top += 1
    return count


@TARGETS
def test_rows_are_unpacked(target):
    checked(pairs, target, "np.arange(8.0).reshape(4, 2), np.zeros(4)")
    checked(pairs, target, "np.arange(12.0).reshape(4, 3), np.zeros(4)")  # too many values
    checked(a_stack, target, "np.array([[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]]), 0, 0")


# --- functions of NumPy's that are no ufuncs, of numbers and of lists of them

CHOICES = [f"np.where(a[i] > b[i], {x}, {y})" for x in ("a[i]", "0.1", "2") for y in ("b[i]", "a[i]", "0.1", "1")]
LISTS = [f"np.{name}([a[i], b[i], a[0]])" for name in ("max", "min", "sum", "prod", "mean", "median", "std", "nansum")]
SINGLE = ["np.clip(a[i], -1, 2)", *(f"np.{name}(a[i])" for name in (
    "sum", "max", "mean", "std", "median", "nansum", "cumsum", "ravel", "nan_to_num", "round", "fix", "sinc", "count_nonzero",
    "zeros_like"))]
METHODS = ["a[i].max() + a[i].round(1).squeeze()[()]", "a[i].mean()", "a[i][a[i] > 1].size", "a[i][a[i] > 0.5][0:1].sum()",
           "a[i][b[i] >= 0][0]"]


def _kernel(expression, tmp_path):
    text = "import numpy as np\ndef kernel(a, b, out):\n    t = 0\n    for i in range(len(a)):\n"
    text += f"        z = {expression}\n        t += z * z\n        out[i] = np.float64(0.0) + (z / 3)\n    return t\n"
    (tmp_path / "kernels.py").write_text(text)
    found = {}
    exec(compile(text, tmp_path / "kernels.py", "exec"), found)
    return found["kernel"]


@pytest.mark.filterwarnings("ignore::pyflat.LaneWarning")
@pytest.mark.parametrize("dtypes", [("f4", "f4"), ("f4", "f8"), ("i1", "f4"), ("i8", "i1"), ("u1", "u1"), ("f8", "b1")])
@pytest.mark.parametrize("expression", [*CHOICES, *LISTS, *SINGLE, *METHODS])
def test_functions_have_numpys_dtype_or_are_refused(expression, dtypes, tmp_path):
    kernel, outcome = _kernel(expression, tmp_path), Outcome()
    arrays = [f"np.array([{row}], np.dtype('{dtype}'))" for row, dtype in zip(
        ("1, 2, 1, 0, 3", "2, 0, 1, 3, 1"), dtypes, strict=True)]
    compare(kernel, pyflat.twin(kernel), Written(f"{', '.join(arrays)}, np.zeros(5)", "ignore"), outcome)
    assert not outcome.failures, str(outcome.failures[0])
    if expression in CHOICES or expression in LISTS and len(set(dtypes)) == 1:
        assert not outcome.refusals
