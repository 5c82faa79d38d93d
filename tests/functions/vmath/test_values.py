"""The special values of C and IEEE 754, the reference on Python floats, and symmetries that hold bit for bit."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pyflat.functions import vmath
from pyflat.functions.vmath.machine import F4, F8, ScalarMachine
from pyflat.ir.interp import run
from pyflat.ir.ops import OPERATIONS, PRIMITIVES, VECTOR, Accuracy
from pyflat.ir.types import FLOAT
from tests.targets.flat_functions import one_operation

INF, NAN = math.inf, math.nan
DTYPES = (np.float64, np.float32)

# name -> (operand, result); a nan result stands for Python's ValueError too.
SPECIAL = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e4, INF), (-1e4, 0.0)],
    "exp2": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (10.0, 1024.0), (-1.0, 0.5), (1e4, INF), (-1e4, 0.0)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (1e4, INF), (-1e4, -1.0), (1e-30, 1e-30)],
    "log": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-1.0, NAN), (-INF, NAN), (-1e-40, NAN)],
    "log2": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (8.0, 3.0), (0.25, -2.0), (INF, INF), (-1.0, NAN), (-INF, NAN)],
    "log10": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (1000.0, 3.0), (INF, INF), (-1.0, NAN), (-INF, NAN)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (INF, INF), (-2.0, NAN), (-INF, NAN), (1e-30, 1e-30)],
    "cbrt": [(0.0, 0.0), (-0.0, -0.0), (8.0, 2.0), (-27.0, -3.0), (INF, INF), (-INF, -INF)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (1e-40, 1e-40)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (1e-40, 1e-40)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1.0, math.pi / 2), (-1.0, -math.pi / 2), (1.5, NAN), (-1.5, NAN), (INF, NAN)],
    "acos": [(1.0, 0.0), (0.0, math.pi / 2), (-1.0, math.pi), (1.5, NAN), (-1.5, NAN), (INF, NAN)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2), (1.0, math.pi / 4), (1e-40, 1e-40)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e4, INF), (-1e4, -INF), (1e-30, 1e-30)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (1e4, INF), (-1e4, INF)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (50.0, 1.0), (-50.0, -1.0), (1e-30, 1e-30)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e-30, 1e-30)],
    "acosh": [(1.0, 0.0), (INF, INF), (0.5, NAN), (-1.0, NAN), (-INF, NAN)],
    "atanh": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-2.0, NAN), (INF, NAN), (1e-30, 1e-30)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (30.0, 1.0), (-30.0, -1.0)],
    "gamma": [(0.0, INF), (-0.0, -INF), (1.0, 1.0), (2.0, 1.0), (5.0, 24.0), (11.0, 3628800.0), (-1.0, NAN), (-7.0, NAN),
              (INF, INF), (-INF, NAN), (200.0, INF), (-200.5, -0.0), (-201.5, 0.0)],
    "lgamma": [(0.0, INF), (-0.0, INF), (1.0, 0.0), (2.0, 0.0), (INF, INF), (-INF, INF), (-1.0, NAN), (3.0, math.log(2))],
    "erfc": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (40.0, 0.0), (-30.0, 2.0)],
}


def same(got: np.ndarray, expected: np.ndarray) -> bool:
    """Equal, with equally signed zeros; any nan is any other."""
    there = ~np.isnan(expected)
    return (np.array_equal(got, expected, equal_nan=True)
            and np.array_equal(np.signbit(got[there]), np.signbit(expected[there])))


def test_every_unary_function_has_special_values():
    assert set(SPECIAL) == {name for name, row in vmath.TABLE.items() if row.operands == 1}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name, dtype):
    pairs = [*SPECIAL[name], (NAN, NAN)]
    x, expected = (np.array(column, dtype=dtype) for column in zip(*pairs))
    assert same(vmath.evaluate(name, x), expected)


EDGES = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 2.5, -2.5, 1e-40, -1e-40, 1e30, -1e30, INF, -INF, NAN)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["pow", "atan2", "fmod"])
def test_special_pairs_are_the_c_librarys(name, dtype):
    """Every pair of edges: the same zeros, infinities and nans, and elsewhere within 2 ulp."""
    x, y = (np.array(column, dtype=dtype) for column in zip(*itertools.product(EDGES, repeat=2)))
    ufunc = {"pow": np.power, "atan2": np.arctan2, "fmod": np.fmod}[name]
    with np.errstate(all="ignore"):
        wide = ufunc(x.astype(np.float64), y.astype(np.float64))
        expected = wide.astype(dtype)
        got = vmath.evaluate(name, x, y)
        distance = np.abs(got - expected) / np.spacing(np.abs(expected))
    settled = ~np.isfinite(expected) | (expected == 0)
    assert same(got[settled], expected[settled])
    assert (distance[~settled] <= (0 if name == "fmod" else 2)).all()


@pytest.mark.parametrize("name", ["sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "cbrt", "erf", "log1p", "expm1"])
def test_odd_functions_and_tiny_operands(name):
    for dtype in DTYPES:
        info = np.finfo(dtype)
        tiny = np.array([info.smallest_subnormal, info.tiny, info.tiny * 3, info.smallest_subnormal * 5], dtype=dtype)
        got = vmath.evaluate(name, tiny)
        if name not in ("cbrt", "erf"):
            assert np.array_equal(got, tiny)
        assert np.array_equal(vmath.evaluate(name, -tiny), -got)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_beyond_the_reduction_are_the_c_librarys(name):
    function = getattr(math, name)
    for dtype, limit in ((np.float64, 2.0**45), (np.float32, 2.0**17)):
        x = np.array([limit, np.nextafter(dtype(limit), dtype(INF)), -limit * 3, limit * 1e20, np.finfo(dtype).max], dtype=dtype)
        got = vmath.evaluate(name, x)
        expected = np.array([function(v) for v in x.tolist()], dtype=dtype)
        assert np.array_equal(got[1:], expected[1:])
        assert abs(got[0] - expected[0]) <= 2 * np.spacing(abs(expected[0]))


def test_fmod_with_long_quotients():
    x, y = np.array([1e300, 2.0**60 + 256, -1e18, 5e-324, 1.7e308]), np.array([3.0, 7.0, 0.1, 5e-324, 5e-324])
    assert same(vmath.evaluate("fmod", x, y), np.fmod(x, y))


def test_the_reference_is_the_function_on_python_floats():
    value = vmath.reference("pow")(2.0, 0.5)
    assert type(value) is float
    assert value == vmath.evaluate("pow", np.full(100, 2.0), np.full(100, 0.5))[37]


@pytest.mark.parametrize("name", VECTOR)
def test_a_lane_in_which_python_raises_is_suspect(name):
    """Also where the library's function overflows and the vector function, a unit in the last place less, does not."""
    ((kinds, result),) = VECTOR[name].signatures
    fn = one_operation(name, kinds, result)
    edges = {"vec_exp": 709.782712893384, "vec_exp2": 1024.0, "vec_expm1": 709.782712893384, "vec_sinh": 710.4758600739439,
             "vec_cosh": 710.4758600739439, "vec_gamma": 171.6243769563027}
    numbers = [0.5, 0.0, -0.0, -1.0, 1.0, -3.0, 2.5, 1e-300, 1e300, -1e300, INF, -INF, NAN, edges.get(name, 700.0)]
    numbers += [math.nextafter(numbers[-1], INF), math.nextafter(numbers[-1], 0.0)]
    raising = 0
    for args in itertools.product(numbers, repeat=len(kinds)):
        try:
            PRIMITIVES[name.removeprefix("vec_")].python(*args)
        except (ValueError, ArithmeticError):
            raising += 1
            assert run(fn, args).values[1], args
    assert raising or not VECTOR[name].faults


def test_a_power_just_below_overflow_is_suspect():
    fn = one_operation("vec_pow", (FLOAT, FLOAT), FLOAT)
    largest = 1.7976931348623157e308
    assert run(fn, (largest, 1.0)).values[1]
    assert not run(fn, (largest / 2, 1.0)).values[1]
    assert VECTOR["vec_pow"].python(largest, 1.0) == largest


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", vmath.TABLE)
def test_one_lane_is_computed_like_many(name, dtype):
    """The machine of one lane and that of arrays."""
    row = vmath.TABLE[name]
    numbers = np.array([*EDGES, 0.7, -0.3, 7.25, 1.5e-3, 88.0, -600.0, 1e5, 1e18, 5e-310], dtype=dtype)
    args = [a.ravel()[::row.operands] for a in np.meshgrid(*[numbers] * row.operands)]
    many = vmath.evaluate(name, *args)
    machine = ScalarMachine(F8 if dtype is np.float64 else F4)
    for k, operands in enumerate(zip(*args)):
        with np.errstate(all="ignore"):
            if row.far is not None and row.far(machine, *operands):
                continue
            one = row.algorithm(machine, *operands)
        assert one.dtype == dtype
        assert same(np.array([one]), many[k : k + 1]), operands
        if dtype is np.float64:
            assert same(np.array([vmath.reference(name)(*map(float, operands))]), many[k : k + 1])


@pytest.mark.parametrize("name", VECTOR)
def test_rows_of_the_operation_table(name):
    """A vec_ row has the signature, the faults and, where CPython raises, the exceptions of the library's row."""
    row, library = VECTOR[name], PRIMITIVES[name.removeprefix("vec_")]
    assert OPERATIONS[name] is row
    assert (row.accuracy, row.signatures) == (Accuracy.VECTOR, library.signatures)
    for args in itertools.product((0.5, -0.5, 0.0, -1.0, 2.0, 1e4, -1e4, INF, -INF, NAN), repeat=len(row.signatures[0][0])):
        try:
            expected = library.python(*args)
        except (ValueError, ArithmeticError) as error:
            with pytest.raises(type(error)):
                row.python(*args)
            continue
        value = row.python(*args)
        assert (math.isnan(value) and math.isnan(expected)) or value == pytest.approx(expected, rel=2**-50, abs=0)
