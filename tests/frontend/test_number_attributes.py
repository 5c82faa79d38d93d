"""Attributes and methods of numbers, and instances of subclasses of float and int, which are numbers with methods."""

from __future__ import annotations

import enum
import fractions
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import pyflat
from pyflat.errors import FlattenError


def default(x):
    return getattr(x, "real", 0.0) + getattr(x, "unit", 2.0) + getattr(x, "imag", 5.0)


def caught(x):
    try:
        return x.magnitude
    except AttributeError:
        return x * 2


def ratio(x):
    above, below = x.as_integer_ratio()
    return above / below + below % 7


def plain(x):
    return x.conjugate() + x.imag + x.is_integer()


def of_an_int(x):
    n = int(x)
    return n.bit_length() + n.bit_count() + n.numerator * n.denominator + n.as_integer_ratio()[1]


class Angle(float):
    @property
    def radians(self):
        return math.radians(self)

    def __add__(self, other):
        return Angle(float(self) + float(other))

    __radd__ = __add__


class Celsius(float):
    unit = "C"

    def fahrenheit(self):
        return self * 9 / 5 + 32


class Cents(int):
    def __new__(cls, x):
        return super().__new__(cls, round(x * 100))

    def euros(self):
        return self / 100


class Clamped(float):
    def __new__(cls, x, low=0.0, high=2.0):
        return float.__new__(cls, min(max(x, low), high))

    def __bool__(self):
        return self > 1.0

    def __lt__(self, other):
        return float(self) < float(other) - 0.5


class Checked(float):
    def __init__(self, x):
        if x > 3:
            raise ValueError(x)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


def grown(x):
    t = Celsius(0.0)
    for k in range(5):
        if x > k:
            t = Celsius(t + x)
    return t.fahrenheit()


def either(x):
    t = Celsius(x)
    return t if t > 0 else Celsius(0.0)


def much(x):
    t = Celsius(x)
    return max(t, Celsius(1.0)) + abs(t) + math.sin(t) + round(t) + int(t) - t + t**2 + divmod(t, 0.3)[1]


FUNCTIONS = [default, caught, ratio, plain, of_an_int, grown, either, much, *(
    lambda x: Angle(x).radians + Angle(x) * 2, lambda x: Angle(x) + 1.5, lambda x: 1.5 + Angle(x),
    lambda x: sum([Angle(x), Angle(2.0)]), lambda x: Angle(2.0) + x, lambda x: -Angle(x) + Angle(x).conjugate(),
    lambda x: Cents(x).euros() + Cents(x) % 7, lambda x: (1.0 if Clamped(x) else 2.0) + Clamped(x),
    lambda x: Clamped(x) < 1.2, lambda x: Clamped(x) > 1.2,
    lambda x: isinstance(Angle(x), float) and type(Angle(x)) is Angle and Angle(x).is_integer(),
    lambda x: Checked(x) + 1, lambda x: (Celsius(x), Angle(x) + Angle(x)), lambda x: Celsius(x).unit,
    lambda x: f"{Celsius(x):.2f}", lambda x: Celsius(x) in (0.5, 1.0), lambda x: Celsius(Celsius(x)).fahrenheit(),
    lambda x: Celsius("1.5") * x, lambda x: Celsius() + x, lambda x: [Celsius(x)][0] * 2,
    lambda x: {Celsius(1.0): 5.0}[1.0] * x, lambda x: Level.HIGH if x > 0 else Level.LOW,
    lambda x: int(x).is_integer() if x > 1 else x.numerator if x < 0 else 2.5,
    lambda x: x.bit_length() if x > 1 else (x > 0).is_integer() if x < 0 else x.denominator if x == 1 else 2.5,
    lambda x: str(Level.LOW) + repr(Level.HIGH), lambda x: float(fractions.Fraction(int(x), 3) + 1))]


def outcome(function, x):
    try:
        found = function(x)
    except (ValueError, OverflowError, ZeroDivisionError, AttributeError) as error:
        return type(error).__name__
    parts = found if isinstance(found, tuple) else (found,)
    return tuple(int(part) if isinstance(part, enum.IntEnum) else
                 float(part) if isinstance(part, float) else part for part in parts)


def by_twin(twin, x):
    def alone(*arrays):
        return tuple(array[0].item() if hasattr(array[0], "item") else array[0] for array in arrays)

    def call(x):
        found = twin(np.array([x]))
        return alone(*found) if isinstance(found, tuple) else alone(found)
    return outcome(call, x)


@pytest.mark.parametrize("function", FUNCTIONS, ids=range(len(FUNCTIONS)))
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_numbers_have_the_attributes_of_pythons(function, target):
    twin = pyflat.twin(function, target=target)
    for x in (0.5, 1.0, 2.25, -3.0, 7.0, 2.0**-20, 1e6 / 3):
        want, got = outcome(function, x), by_twin(twin, x)
        assert repr(want) == repr(got)


def at_a_pole(x):
    y, near = np.sin(x), np.abs(np.cos(x)) < 0.5
    try:
        y[near] = np.sign(np.tan(x)[near]) * np.inf
    except TypeError:
        if near:
            y = np.sign(np.tan(x)) * np.inf
    try:
        return y.squeeze()[()]
    except AttributeError:
        return y


def of_its_axis(x):
    y = np.sin(x)
    above = y[y > 0.5]
    return y.max() + y.round(2) * y.any() + (above[0] if len(above) else -1.0) + above.sum() + y[True].size + y[()]


@pytest.mark.parametrize("function", [at_a_pole, of_its_axis, lambda x: np.sin(x)[np.bool_(True)][0]])
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.filterwarnings("ignore::pyflat.LaneWarning")
def test_numbers_of_numpys_are_arrays_without_axes(function, target):
    twin = pyflat.twin(function, target=target)
    for x in (0.0, -0.0, 0.5, 1.5, -3.0, 4.6, 1e6):
        with np.errstate(invalid="ignore"):
            want = outcome(function, x)
        assert repr(want) == repr(by_twin(twin, x))


def both_parts(x):
    return x.as_integer_ratio()


PARTS = pyflat.twin(both_parts)


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_ratios(x):
    want = outcome(both_parts, x)
    assume(all(isinstance(part, str) or abs(part) < 2**62 for part in want))
    assert want == by_twin(PARTS, x)


@pytest.mark.parametrize(("function", "sentence"), [
    (lambda x: Decimal(x) * 2, "ints of the smallest unit"), (lambda x: x.hex(), "attribute .hex of a number"),
    (lambda x: x.magnitude, "no path returns"), (lambda x: x.sum(), "attribute .sum of a number")])
def test_refusals_help(function, sentence):
    with pytest.raises(FlattenError, match=sentence):
        pyflat.twin(function)(np.array([1.5]))


# --- powers of ints


def power(n):
    return 2**n


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_powers_of_ints_are_ints_where_that_is_asked_for(target):
    twin = pyflat.twin(power, target=target, results="ints")
    found = twin(np.array([0, 5, 62]))
    assert found.dtype == np.int64 and found.tolist() == [1, 32, 2**62]
    with pytest.raises(pyflat.LaneError):
        twin(np.array([3, -1]))
    values, faults = twin.with_options(errors="mask")(np.array([3, -1]))
    assert values.tolist() == [8, 0] and faults.mask.tolist() == [False, True]
    assert pyflat.twin(power, target=target)(np.array([3])).dtype == np.float64


def test_the_text_and_explain_say_that_a_power_is_a_float():
    def known(n):
        assert n >= 0
        return 2**n

    kinds = "i8"
    assert "always a float" in str(pyflat.twin(power).show(kinds=kinds))
    assert 'results="ints"' in str(pyflat.twin(power).explain(kinds=kinds))
    assert "always a float" not in str(pyflat.twin(known).show(kinds=kinds))
    assert "always a float" not in str(pyflat.twin(power, results="ints").show(kinds=kinds))
