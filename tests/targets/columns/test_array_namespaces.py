"""Functions over NumPy, JAX and PyTorch: Python's values, and slopes that the arm not taken does not spoil."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import pyflat
from pyflat.backend import flatten_function, target
from pyflat.errors import FlattenError
from pyflat.targets import xp
from tests.targets.columns.engine_functions import CASES, Case, brackets, expected, heat_index, overflowing, rows_of


@pytest.fixture(scope="module")
def jax() -> Iterator[Any]:
    """JAX with 64 bits."""
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)


def function(fn: Callable[..., Any], **options: Any) -> Any:
    from pyflat.targets import jax as to_jax

    return to_jax.function(fn, **options)


# --- values

IDS = [case.fn.__name__ for case in CASES]


def agree(got: Any, want: Any, ulps: int, flushed: float) -> bool:
    if isinstance(want, float) and math.isfinite(want):
        return bool(abs(got - want) <= ulps * math.ulp(want) + flushed)
    return bool(got == want or got != got and want != want)


def compare(case: Case, make: Callable[[Callable[..., Any]], Any], ulps: int,
            flushed: float = 0.0) -> None:
    kinds = tuple(node.kind for node in flatten_function(case.fn).params)
    ordinary, edges = rows_of(kinds, case.columns)
    rows = [row for row in [*ordinary, *edges] if None not in row
            and not any(isinstance(value, float) and 0.0 < abs(value) < flushed for value in row)]
    with np.errstate(all="ignore"):
        result, mask = make(case.fn)(*map(np.array, zip(*rows, strict=True)))
    values = result if isinstance(result, tuple) else (result,)
    columns = [np.broadcast_to(np.asarray(value), len(rows)).tolist() for value in values]
    failed = np.broadcast_to(np.asarray(mask), len(rows))
    for k, row in enumerate(rows):
        want = expected(case.fn, row)
        if want is None:
            assert failed[k], row
        elif failed[k]:
            assert k >= len(ordinary), row  # only at edges is the mask wider than Python's exceptions
        else:
            wanted = want if isinstance(want, tuple) else (want,)
            largest = max((abs(value) for value in row if math.isfinite(value)), default=0.0)
            slack = max(flushed, 2.0**-46 * largest) if flushed else 0.0  # what cancels keeps the error of its operands
            assert all(agree(c[k], w, ulps, slack) for c, w in zip(columns, wanted, strict=True)), (row, want)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_numpy_as_a_namespace(case: Case) -> None:
    compare(case, lambda fn: xp.function(fn, np, faults="mask"), case.ulps)


@pytest.mark.parametrize("case", CASES[::3], ids=IDS[::3])
def test_jax_compiled(jax: Any, case: Case) -> None:
    """XLA contracts products and sums, divides by way of reciprocals and flushes subnormal numbers: where terms cancel
    or a decimal is rounded, that shows."""
    if case.fn.__name__ in ("income_tax", "money", "modulus"):
        return
    compare(case, lambda fn: jax.jit(function(fn, faults="mask")), max(case.ulps, 4096), 1e-300)


# --- slopes: each function has an arm whose slope is nan or infinite where it is not taken

def root(x: float) -> float:
    return math.sqrt(x) if x > 0.0 else -x


def logarithm(x: float) -> float:
    if x <= 0.0:
        return 2.0 * x
    return math.log(x)


def quotient(x: float, y: float) -> float:
    return x / y if abs(y) > 1e-3 else x * y


def sinc(x: float) -> float:
    return math.sin(x) / x if x != 0.0 else 1.0


def huber(x: float, d: float) -> float:
    return 0.5 * x * x if abs(x) <= d else d * (abs(x) - 0.5 * d)


def power(x: float) -> float:
    return x**0.3 if x > 0.0 else x * x


def overflow(x: float) -> float:
    return math.exp(x * x) if x < 3.0 else 10.0 * x


def arc(x: float) -> float:
    if x >= 1.0:
        return math.pi / 2.0
    if x <= -1.0:
        return -math.pi / 2.0
    return math.asin(x)


def softplus(x: float) -> float:
    return x if x > 30.0 else math.log1p(math.exp(x))


def distance(x: float, y: float) -> float:
    r = math.sqrt(x * x + y * y)
    if r > 1.0:
        return r - 1.0
    return 0.0


def newton(x: float) -> float:
    y = 1.0
    for _ in range(6):
        if x <= 0.0:
            break
        y = 0.5 * (y + x / y)
    return y


def option(s: float, k: float, t: float, v: float) -> float:
    """Black-Scholes without interest; at expiry what it is worth."""
    if t <= 0.0:
        return max(s - k, 0.0)
    w = v * math.sqrt(t)
    d = math.log(s / k) / w + 0.5 * w
    return s * 0.5 * (1.0 + math.erf(d / math.sqrt(2.0))) - k * 0.5 * (1.0 + math.erf((d - w) / math.sqrt(2.0)))


SLOPES: list[tuple[Callable[..., float], list[tuple[float, ...]]]] = [
    (root, [(-1.0,), (0.7,), (4.0,), (-0.2,)]), (logarithm, [(-2.0,), (0.5,), (3.0,), (-0.1,)]),
    (quotient, [(1.5, 2.0), (1.5, 0.0), (-2.0, 5e-4), (3.0, -7.0)]), (sinc, [(0.0,), (1.0,), (-2.5,)]),
    (huber, [(0.2, 1.0), (3.0, 1.0), (-4.0, 2.0)]), (power, [(-1.5,), (0.4,), (2.0,)]),
    (overflow, [(1.2,), (40.0,), (5.0,)]), (arc, [(-3.0,), (0.3,), (1.0 + 1e-3,), (7.0,)]),
    (softplus, [(-3.0,), (0.0,), (800.0,), (31.0,)]), (distance, [(0.0, 0.0), (0.3, 0.2), (2.0, 1.0)]),
    (newton, [(-1.0,), (2.0,), (9.0,)]), (option, [(42.0, 40.0, 0.5, 0.2), (42.0, 40.0, 0.0, 0.2), (30.0, 40.0, -1.0, 0.0)]),
    (brackets, [(5000.0,), (30000.0,), (500000.0,)]), (heat_index, [(60.0, 50.0), (90.0, 10.0), (85.0, 90.0), (130.0, 5.0)]),
]


@pytest.mark.parametrize(("fn", "points"), SLOPES, ids=lambda value: getattr(value, "__name__", ""))
def test_slopes_are_those_of_differences(jax: Any, fn: Callable[..., float], points: list[tuple[float, ...]]) -> None:
    twin = function(fn)
    every = tuple(range(len(points[0])))
    slopes = jax.jit(jax.vmap(jax.grad(twin, argnums=every)))(*map(np.array, zip(*points, strict=True)))
    for j in every:
        for point, slope in zip(points, np.asarray(slopes[j]).tolist(), strict=True):
            assert_slope(fn, point, j, slope)


def assert_slope(fn: Callable[..., float], point: tuple[float, ...], j: int, slope: float) -> None:
    """The slope along argument j, against the difference of two values; at a corner it is that of the arm taken."""
    step = 1e-6 * max(1.0, abs(point[j]))
    above, below = list(point), list(point)
    above[j] += step
    below[j] -= step
    if fn is sinc and point[0] == 0.0:
        wanted = 0.0  # of the arm `1.0`
    elif fn is option and j == 2 and point[2] == 0.0:
        wanted = 0.0  # at expiry the worth does not depend on the time that is left
    else:
        wanted = (fn(*above) - fn(*below)) / (2.0 * step)
    assert slope == pytest.approx(wanted, rel=1e-5, abs=1e-5), (point, j)


def test_without_harmless_operands_slopes_are_nan(jax: Any) -> None:
    """What the plain select gives, so that the tests above can fail."""
    def plain(x: Any) -> Any:
        return jax.numpy.where(x > 0.0, jax.numpy.sqrt(x), -x)

    assert math.isnan(jax.grad(plain)(0.0)) and jax.grad(function(root))(0.0) == -1.0
    assert math.isnan(jax.grad(plain)(-1.0)) and jax.grad(function(root))(-1.0) == -1.0


def test_a_condition_reads_the_value_and_the_result_the_harmless_one(jax: Any) -> None:
    """The root is needed for the condition in every lane, and has a slope only where it is the result."""
    assert jax.grad(function(distance), argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)


def test_lanes_that_fail_spoil_no_shared_slope(jax: Any) -> None:
    def scaled(x: float, k: float) -> float:
        return k * math.sqrt(x)

    def total(k: Any) -> Any:
        values, failed = function(scaled, faults="mask")(np.array([-1.0, 4.0, 9.0]), k)
        return jax.numpy.where(failed, 0.0, values).sum()

    assert float(jax.grad(total)(2.0)) == 5.0


# --- how it is called

class Point(NamedTuple):
    x: float
    y: float


def turned(p: Point, a: float = 0.0) -> Point:
    return Point(p.x * math.cos(a) - p.y * math.sin(a), p.x * math.sin(a) + p.y * math.cos(a)) if a != 0.0 else p


def test_records_go_in_and_out(jax: Any) -> None:
    twin = jax.jit(function(turned))
    found = twin(Point(np.array([1.0, 2.0]), np.array([0.0, 1.0])), np.array([math.pi, 0.0]))
    assert isinstance(found, Point) and np.allclose(found.x, [-1.0, 2.0]) and np.allclose(found.y, [0.0, 1.0])
    assert function(turned)(Point(3.0, 4.0)) == (3.0, 4.0)


def test_ints_that_may_fail_have_no_nan() -> None:
    with pytest.raises(FlattenError, match="results are not all floats") as refusal:
        xp.function(overflowing, np)
    assert "mask" in str(refusal.value)
    assert xp.function(overflowing, np, faults="unchecked")(3, np.array([4, 0])).tolist() == [12, -3]


def test_floats_for_an_int_are_an_error() -> None:
    with pytest.raises(TypeError, match="float64 for a parameter"):
        xp.function(overflowing, np, faults="mask")(1.5, 2)


def test_constants_are_folded_into_the_code() -> None:
    twin = xp.function(huber, np, d=2.0)
    assert "a1" not in twin.source and twin(np.array([1.0, -5.0])).tolist() == [0.5, 8.0]


def test_what_a_namespace_lacks_is_refused() -> None:
    with pytest.raises(FlattenError, match="numpy has no lgamma"):
        xp.function(lambda x: math.lgamma(x), np)


def test_jax_without_64_bits_is_refused(jax: Any) -> None:
    with jax.enable_x64(False):
        with pytest.raises(ValueError, match="jax_enable_x64"):
            function(root)
        assert function(root, dtype="float32")(np.float32(4.0)) == 2.0


def test_the_target_jax_of_twins(jax: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    from pyflat.backend import registered

    point = metadata.EntryPoint("jax", "pyflat.targets.jax:compile", registered.GROUP)
    monkeypatch.setattr(registered, "registered", lambda: {"jax": point})
    twin = pyflat.twin(brackets).to(target("jax"))
    incomes = np.linspace(0.0, 4e5, 1001)
    assert np.allclose(twin(incomes), np.vectorize(brackets)(incomes), rtol=1e-14)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        pyflat.twin(lambda x, y: x / y).to(target("jax"))(incomes, 0.0)


def test_complex_results_are_refused() -> None:
    with pytest.raises(FlattenError, match="gives complex numbers"):
        xp.function(lambda x: complex(x, 1.0), np)


@pytest.mark.parametrize(("fn", "points"), SLOPES, ids=lambda value: getattr(value, "__name__", ""))
def test_torch_has_the_slopes_too(fn: Callable[..., float], points: list[tuple[float, ...]]) -> None:
    torch = pytest.importorskip("torch")
    lanes = [torch.tensor(column, dtype=torch.float64, requires_grad=True) for column in zip(*points, strict=True)]
    values = xp.function(fn, torch)(*lanes)
    assert np.allclose(values.detach().numpy(), [fn(*point) for point in points], rtol=1e-13)
    values.sum().backward()
    for j, lane in enumerate(lanes):
        for point, slope in zip(points, lane.grad.tolist(), strict=True):
            assert_slope(fn, point, j, slope)
