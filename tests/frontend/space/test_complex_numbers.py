"""Complex lanes: the language, the forms of arguments and results, faults and texts."""

from __future__ import annotations

import cmath
import dataclasses
import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import pyflat
from pyflat.testing import same_bits, verify
from tests.support.twins import COMPLEX, agree

TARGETS = ("numpy", "numba")
TABLE = (1j, 2 + 0.5j, -3j)

# --- operators


def arithmetic(a: complex, b: complex) -> Any:
    return a + b, a - b, a * b, -a, +a, a.conjugate()


def quotient(a: complex, b: complex) -> complex:
    return a / b


def mixed(x: float, n: int, z: complex) -> Any:
    return x + z, z - x, x - z, n * z, z * n, x * z, True + z


def mixed_quotients(x: float, z: complex) -> Any:
    return x / z, z / 3, z / 2j


def constant_powers(z: complex) -> Any:
    return z**2, z**0, z**3.0, z**0.5, z ** (1 / 3)


def negative_power(z: complex) -> complex:
    return z**-3


def power(z: complex, w: complex) -> complex:
    return z**w


def real_powers(x: float, n: int, z: complex) -> Any:
    return x**z, z**x, pow(z, n)


def comparisons(a: Any, b: complex, n: int) -> Any:
    return a == b, a != b, a == n, n != a, a == 1.0, a != 1j, a == "a", a is None


def truth(a: complex, b: complex) -> Any:
    return (a or b), (a and b), not a, bool(a), 1 if a else 2


def parts(z: complex, x: float) -> Any:
    return z.real - z.imag, z.real.imag, x.conjugate(), (x + z).imag


def constructed(x: float, n: int, z: complex, w: complex) -> Any:
    return complex(x), complex(n, x), complex(z, w), complex(z, x), complex(x, w), complex(real=2, imag=x), complex(z)


def classes(z: Any) -> Any:
    return z if isinstance(z, complex) and type(z) is complex and not isinstance(z, float) else 1.0


# --- cmath


def roots(x: float, z: complex) -> Any:
    return cmath.sqrt(x), cmath.sqrt(z), cmath.sqrt(-1)


def polar_and_back(z: complex) -> Any:
    r, phi = cmath.polar(z)
    return r, cmath.rect(r, phi / 2)


def kinds_of_parts(z: complex, x: float) -> Any:
    return cmath.isnan(z), cmath.isinf(z), cmath.isfinite(z), cmath.isfinite(x)


def close(a: complex, b: complex) -> Any:
    return cmath.isclose(a, b), cmath.isclose(a, b, abs_tol=1), cmath.isclose(a, b, rel_tol=0.5, abs_tol=0.1)


def constants(z: complex) -> Any:
    return z * cmath.pi + cmath.infj, z + cmath.e, cmath.nanj


def logarithms(z: complex, w: complex) -> Any:
    return cmath.log(z, w), cmath.log10(z), cmath.log(z, 2)


# --- joins and loops


def joined(x: float, z: complex) -> Any:
    w = x if x > 0 else z
    u = w * 2
    return u + 1j if x < 5 else 3


def negated_join(x: float, z: complex) -> Any:
    w = 0 if x > 0 else z
    return -w


def two_joins(z: complex, x: float) -> Any:
    a = z if x > 1 else 2
    b = z * 2 if x > 1 else 0.5
    c = a * b
    d = c - a
    return d / b if b else d, abs(d)


def maybe_unbound(x: float, z: complex) -> complex:
    if x > 0:
        w = z
    return w


def escape_time(c: complex) -> int:
    z = 0j
    for k in range(10):
        if abs(z) > 2:
            return k
        z = z**2 + c
    return -1


def kept_escape_time(c: complex, n: int) -> Any:
    z: Any = 0
    k = 0
    while k < n % 12 and abs(z) <= 2.0:
        z = z * z + c
        k += 1
    return z, k


def newton(z: complex) -> complex:
    for _ in range(6):
        d = 3 * z**2
        if d == 0:
            return z
        z = z - (z**3 - 1) / d
    return z


def number_then_complex(z: complex, n: int) -> Any:
    w: Any = 0.5
    before = None
    for i in range(n % 7):
        before = w
        w = w * z + i
    return w if before is None else before - w


def largest(z: complex, n: int) -> Any:
    best = None
    for k in range(n % 5):
        w = z * k
        if best is None or abs(w) > abs(best):
            best = w
    return 0 if best is None else best


# --- containers, calls, exceptions


class Pair(NamedTuple):
    z: complex
    w: complex


@dataclasses.dataclass
class Wave:
    amplitude: complex

    def power(self) -> float:
        return abs(self.amplitude) ** 2


def containers(a: complex, b: complex) -> Any:
    xs = [a, b, a * b]
    total: Any = 0
    for x in xs:
        total += x
    return total, sum(xs), xs[-1].real, math.prod([a, b, 2]), {"x": a}["x"]


def chosen(a: complex, b: complex, n: int) -> Any:
    return (a, b, 1.5)[n % 3], TABLE[n % 3] * a, max(a, b, key=lambda z: z.real), sorted([a, b], key=lambda z: z.imag)


def member(a: complex, b: complex) -> Any:
    return a in (b, 1, 2j), [a, b].index(b)


def objects(z: complex, w: complex) -> Any:
    return Pair(z, w + 1), Wave(z).power() if z == z else 0.0  # abs() of nan raises by a stale error number


def closures(z: complex, x: float) -> complex:
    def scaled(u: Any) -> Any:
        return u * z

    return (lambda u: scaled(u) + x)(scaled(1))  # type: ignore[no-any-return]


def augmented(z: complex, x: Any) -> Any:
    z += x
    z *= 2
    z -= 1j
    z /= 3
    x += z
    return z, x


def caught(z: complex) -> Any:
    try:
        return cmath.log(z) / cmath.sinh(z)
    except (ValueError, ZeroDivisionError):
        return 0
    except OverflowError:
        return -1


def caught_order(a: complex, b: complex) -> float:
    try:
        return 1.0 if a < b else 2.0  # type: ignore[operator]
    except TypeError:
        return 3.0


def caught_conversion(z: complex) -> float:
    try:
        return float(int(z))  # type: ignore[call-overload]
    except TypeError:
        return -1.0


def raises(z: complex) -> complex:
    if z.imag < 0:
        raise ValueError(f"below the axis: {z}")
    return z


def of_numpy(z: complex) -> Any:
    return np.real(z), np.imag(z), np.isnan(z), np.isfinite(z)


ALL: list[tuple[Callable[..., Any], str]] = [
    (arithmetic, "cc"), (quotient, "cc"), (mixed, "fic"), (mixed_quotients, "fc"), (constant_powers, "c"),
    (negative_power, "c"), (power, "cc"), (real_powers, "fic"), (comparisons, "cci"), (truth, "cc"), (parts, "cf"),
    (constructed, "ficc"), (classes, "c"), (roots, "fc"), (polar_and_back, "c"), (kinds_of_parts, "cf"), (close, "cc"),
    (constants, "c"), (logarithms, "cc"), (joined, "fc"), (negated_join, "fc"), (two_joins, "cf"),
    (maybe_unbound, "fc"), (escape_time, "c"), (kept_escape_time, "ci"), (newton, "c"), (number_then_complex, "ci"),
    (largest, "ci"), (containers, "cc"), (chosen, "cci"), (member, "cc"), (objects, "cc"), (closures, "cf"),
    (augmented, "cf"), (caught, "c"), (caught_order, "cc"), (caught_conversion, "c"), (raises, "c"), (of_numpy, "c"),
]


@pytest.mark.turns(2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("fn", "kinds"), ALL, ids=lambda v: getattr(v, "__name__", v))
def test_every_lane_agrees(fn: Callable[..., Any], kinds: str, target: str) -> None:
    agree(fn, kinds, target=target)


FUNCTIONS = ("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh",
             "atanh", "phase")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_cmath(name: str) -> None:
    fn = getattr(cmath, name)

    def call(z: complex) -> Any:
        return fn(z)

    def of_real(x: float) -> Any:
        return fn(x)

    agree(call, "c")
    agree(of_real, "f")


@pytest.mark.parametrize("name", ["exp", "tan"])
def test_arms_that_wait_for_each_other(name: str) -> None:
    """Two arms of the numba kernel, each of which needs a value of the other."""
    fn = getattr(cmath, name)
    agree(lambda z: fn(z), "c", target="numba")


# --- arguments and results


def turned(z: complex, x: float = 2.0) -> complex:
    return z * 1j + x


def test_forms_of_complex_arguments() -> None:
    twin = pyflat.twin(turned)
    z = np.array([[1 + 2j, -0.0 - 3j], [complex(math.inf, math.nan), 5j]])
    expected = np.array([[turned(v.item()) for v in row] for row in z])
    for form in (z, np.asfortranarray(z), np.repeat(z, 2, axis=1)[:, ::2], z.astype(">c16")):
        assert same_bits(twin(form), expected)
    small = np.array([1.1 + 2.3j], np.complex64)
    assert same_bits(twin(small), np.array([turned(small[0].item())]))
    assert same_bits(twin(z[0], 3), np.array([turned(v.item(), 3) for v in z[0]]))
    assert twin(np.array([], complex)).dtype == np.complex128


def test_scalars_come_back_as_they_went_in() -> None:
    twin = pyflat.twin(turned)
    assert same_bits(twin(1 - 2j), 4 + 1j)
    assert type(twin(1 - 2j)) is complex
    assert type(twin(np.complex128(1 - 2j))) is np.complex128
    assert type(twin(np.array(1 - 2j))) is np.complex128
    assert pyflat.twin(lambda x: cmath.sqrt(x))(-4.0) == 2j


def test_long_complex_is_refused() -> None:
    with pytest.raises(TypeError, match=r"lanes hold bool, int, float and complex.*astype\(np.complex128\)"):
        pyflat.twin(turned)(np.array([1j], np.clongdouble))


def square_roots(a: float, c: float) -> Any:
    d = -4.0 * a * c
    if d < 0.0:
        return 1j * math.sqrt(-d), d
    return math.sqrt(d), d


def test_real_in_some_lanes_complex_in_others() -> None:
    """An array is complex; a single lane is what Python gives."""
    twin = pyflat.twin(square_roots)
    roots, _ = twin(np.array([1.0, -1.0]), 1.0)
    assert same_bits(roots, np.array([2j, 2 + 0j]))
    assert same_bits(twin(-1.0, 1.0), (2.0, 4.0))
    assert same_bits(twin(1.0, 1.0), (2j, -4.0))
    assert isinstance(twin(np.float64(-1.0), 1.0)[0], np.float64)
    agree(square_roots, "ff", target="numba")


def real_or_none(z: complex) -> Any:
    return None if z.real > 2 else z


def test_what_no_complex_lane_holds_is_a_fault() -> None:
    with pytest.raises(pyflat.LaneError, match="returned None here"):
        pyflat.twin(real_or_none)(np.array([1j, 3 + 0j]))


@pytest.mark.parametrize("target", TARGETS)
def test_failing_lanes_are_kept(target: Any) -> None:
    z = np.array([1j, -1j, 2 + 3j, -0.5 - 2j])
    values, faults = pyflat.twin(raises, errors="mask", target=target)(z)
    assert faults.lanes.tolist() == [1, 3]
    assert faults[1].message == "below the axis: (-0-1j)"
    assert faults[1].arguments == {"z": -1j}
    assert same_bits(values, np.array([1j, complex(math.nan, math.nan), 2 + 3j, complex(math.nan, math.nan)]))
    assert same_bits(pyflat.twin(raises, errors="nan", target=target)(z), values)
    with pytest.raises(ValueError, match="below the axis") as error:
        pyflat.twin(raises, target=target)(z)
    assert 'errors="nan" or "mask" keeps the rest' in error.value.__notes__[0]


def test_mixed_results_allow_nan() -> None:
    def root_of(x: float) -> Any:
        return 1 / math.sqrt(x) if x >= 0 else complex(0.0, x)

    values = pyflat.twin(root_of, errors="nan")(np.array([4.0, 0.0, -1.0]))
    assert same_bits(values, np.array([0.5 + 0j, complex(math.nan, math.nan), complex(0.0, -1.0)]))


def by_method(z: complex, method: str) -> Any:
    if method == "size":
        return abs(z)
    if method == "turn":
        return z * 1j
    return 2


def test_groups_join_to_complex() -> None:
    z = np.array([3 + 4j, 1 + 1j, 2j, 1j])
    out = pyflat.twin(by_method)(z, np.array(["size", "turn", "none", "turn"]))
    assert same_bits(out, np.array([5 + 0j, complex(-1, 1), 2 + 0j, complex(-1, 0)]))


def test_originals_when_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYFLAT_DISABLE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pyflat.PerformanceWarning)
        assert same_bits(pyflat.twin(square_roots)(np.array([1.0, -1.0]), 1.0)[0], np.array([2j, 2 + 0j]))
        assert same_bits(pyflat.twin(turned)(np.array([1j])), np.array([turned(1j)]))


def test_records_of_complex_lanes() -> None:
    waves = Pair(np.array([1j, 2j]), np.array([2.0, 3.0]))  # type: ignore[arg-type]

    def total(p: Pair) -> Pair:
        return Pair(p.z + p.w, p.w)

    out = pyflat.twin(total)(waves)
    assert isinstance(out, Pair)
    assert same_bits(out.z, np.array([2 + 1j, 3 + 2j]))


# --- seeing


def test_replay_and_verify() -> None:
    twin = pyflat.twin(newton)
    z = np.array(COMPLEX[:40])
    assert twin.verify(z).lanes == 40
    shown = twin.replay(z, lane=3)
    assert shown.agrees
    assert "z = " in str(shown)
    verify(two_joins, kinds=("c16", "f8"), examples=20)
    verify(quotient, examples=20)


def pole(z: complex, w: complex) -> Any:
    # the distance
    u = z * w + 1
    return u, abs(u) > 2


def test_text_is_arithmetic_of_the_parts() -> None:
    text = str(pyflat.twin(pole).show())
    assert "kinds (z: complex, w: complex)" in text
    assert "u_real = z.real * w.real - z.imag * w.imag + 1.0" in text
    assert "u_imag = z.real * w.imag + z.imag * w.real + 0.0" in text
    assert "complex(u_real, u_imag), abs(complex(u_real, u_imag)) > 2" in text
    assert "kinds (z: float, w: complex)" in pyflat.twin(pole).show(kinds="f8,c16")


@pytest.mark.parametrize("fn", [pole, newton, quotient, polar_and_back])
def test_the_numpy_text_runs(fn: Callable[..., Any]) -> None:
    twin = pyflat.twin(fn)
    z = np.array([1.5 + 2j, -0.25 - 3j, complex(3, -0.0)])
    args = (z, z[::-1].copy())[: fn.__code__.co_argcount]
    text, result = twin.function(*args), twin(*args)
    for ours, theirs in zip(*(r if isinstance(r, tuple) else (r,) for r in (text, result)), strict=True):
        assert same_bits(np.asarray(ours), np.asarray(theirs))
