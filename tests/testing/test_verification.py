"""pyflat.testing: what users verify their twins with."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.runtime import decorator
from pyflat.testing import boundary_values, in_kind, lane_of, neighbours, same_bits, verification, verify


def shade(x: float, t: float = 0.5, n: int = 3) -> float:
    if x > t:
        return (x - t) / x
    return float(n) if x <= 7.25 else 0.0


def guarded(x: float) -> float:
    if x < 0:
        raise ValueError(f"negative: {x}")
    return x


def pretend(original: Callable[..., Any], wrong: Callable[..., Any]) -> Callable[..., Any]:
    """A replacement of pyflat.twin that gives `wrong`, lane by lane."""

    def twin(fn: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        assert fn is original
        return lambda *columns: np.array([wrong(*(c.item() for c in row)) for row in zip(*columns)])

    return twin


# --- same_bits


@pytest.mark.parametrize(("a", "b"), [(math.nan, -math.nan), (1, 1), (0.0, 0.0), ((1, (2.0,)), (1, (2.0,))), (True, np.True_),
                                      (2.5, np.float64(2.5)), (np.array([math.nan, -0.0]), np.array([math.nan, -0.0]))])
def test_same(a: object, b: object) -> None:
    assert same_bits(a, b)


@pytest.mark.parametrize(("a", "b"), [(0.0, -0.0), (1, True), (1, 1.0), (1.0, math.nextafter(1, 2)), ((1,), [1]), ((1,), (1, 2)),
                                      (np.array([0.0]), np.array([-0.0])), (np.array([1]), np.array([1.0])),
                                      (np.zeros(2), np.zeros(3)), (np.zeros(1), 0.0), (None, 0)])
def test_not_same(a: object, b: object) -> None:
    assert not same_bits(a, b)


@pytest.mark.parametrize(("value", "like", "expected"), [(True, 1, 1), (1, 2.5, 1.0), (2**53 + 1, 1.0, 2**53 + 1), (1.5, 1, 1.5),
                                                         ((1, True), (1.0, 2), (1.0, 1)), (False, 0.5, 0.0)])
def test_in_kind(value: object, like: object, expected: object) -> None:
    assert same_bits(in_kind(value, like), expected)


def test_lane_of_nested_results() -> None:
    assert lane_of((np.array([1, 2]), (np.array([0.5, 1.5]), 7)), 1, 2) == (2, (1.5, 7))


# --- values


def test_boundary_values_are_the_numbers_of_the_source_and_their_neighbours() -> None:
    found = boundary_values(shade)
    assert {7.25, math.nextafter(7.25, 8), math.nextafter(7.25, 7), 0.5, 6.25, -7.25} <= set(found)


def test_neighbours_skip_what_no_float_holds() -> None:
    assert neighbours([10**400]) == []


# --- verify


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_a_right_twin_passes(target: str) -> None:
    verify(shade, examples=40, target=target)


def test_a_raising_function_passes_when_the_twin_raises_the_same() -> None:
    verify(guarded, examples=40, target="numpy")


def test_static_arguments() -> None:
    def scaled(x: float, mode: str) -> float:
        return x * 2 if mode == "double" else x

    verify(scaled, static={"mode": "double"}, examples=20, target="numpy")


def test_a_wrong_value_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(x: float, t: float, n: int) -> float:
        return -1.0 if 7.25 == x <= t else shade(x, t, n)

    monkeypatch.setattr(decorator, "twin", pretend(shade, wrong))
    with pytest.raises(AssertionError) as caught:
        verify(shade, target="numpy")
    assert str(caught.value) == "the numpy twin differs in lane 0 (x=7.25, t=7.25, n=0)\n  original: 0.0\n  twin:     -1.0"


def test_a_signed_zero_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def identity(x: float) -> float:
        return x

    monkeypatch.setattr(decorator, "twin", pretend(identity, lambda x: x + 0.0))
    with pytest.raises(AssertionError, match=r"x=-0\.0"):
        verify(identity, target="numpy")


def test_a_missing_exception_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decorator, "twin", pretend(guarded, abs))
    with pytest.raises(AssertionError, match="raises ValueError: negative"):
        verify(guarded, target="numpy")


def test_another_message_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(x: float) -> float:
        if x < 0:
            raise ValueError("another")
        return x

    monkeypatch.setattr(decorator, "twin", pretend(guarded, other))
    with pytest.raises(AssertionError, match="raises ValueError: another"):
        verify(guarded, target="numpy")


def test_kinds_come_from_annotations_defaults_and_the_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[type, ...]] = []

    def three(a, b: int, c=True):
        return a

    def twin(fn: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        def call(*columns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            seen.append(tuple(type(c[0].item()) for c in columns))
            return columns[0]

        return call

    monkeypatch.setattr(decorator, "twin", twin)
    verify(three, examples=3, target="numpy")
    verify(three, examples=3, target="numpy", kinds={"a": "i8", "c": float})
    assert set(seen) == {(float, int, bool), (int, int, float)}


@pytest.mark.parametrize("arguments", [{"kinds": {"z": "f8"}}, {"kinds": {"x": "quaternion"}}, {"static": {"z": 1}}])
def test_wrong_arguments(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="verify"):
        verify(shade, **arguments)


def test_ulps_allow_small_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    def identity(x: float) -> float:
        return x

    monkeypatch.setattr(decorator, "twin", pretend(identity, lambda x: math.nextafter(x, 0.0) if math.isfinite(x) else x))
    verify(identity, target="numpy", ulps=1, examples=50)
    with pytest.raises(AssertionError):
        verify(identity, target="numpy", examples=50)


# --- what is refused is refused before it runs
@pytest.mark.parametrize("targets", ["numpy", "numba", ("numpy", "numba")])
def test_a_refused_function_is_not_run(tmp_path, targets):
    written = tmp_path / "effects"

    def noisy(x: float) -> float:
        with written.open("a") as file:
            file.write("x")
        return x

    with pytest.raises(pyflat.FlattenError):
        verify(noisy, target=targets)
    with pytest.raises(pyflat.FlattenError):
        pyflat.twin(noisy).verify(np.zeros(5))
    assert not written.exists()


def test_a_function_that_one_target_refuses_is_not_run(tmp_path):
    """The second target is asked before the first one runs."""
    calls = []

    def lookup(x: float) -> float:
        calls.append(x)
        return x

    def one(x: float) -> float:
        return lookup(x) + 1.0

    with pytest.raises(pyflat.FlattenError):
        verify(one, target=("numpy", "numba"), whitelist=[pyflat.backend.Call("lookup", arrays=lambda a: a)])
    assert calls == []


def test_a_lane_that_holds_no_such_int_is_a_lane_error():
    def whole(x: float) -> int:
        return int(x)

    def pair(x: float) -> tuple[float, int]:
        return x, int(x) * 2

    verify(whole)
    verify(pair)


def slow_descent(x: float) -> float:
    while x > 0.0:
        x -= 1.0
    return x


def never(x: float) -> float:
    while True:
        x = x + 1.0
        if x != x and x == x:
            return x


def test_values_for_which_the_original_does_not_end_are_left_out(monkeypatch):
    monkeypatch.setattr(verification, "MOST_LINES", 500)
    compared = verify(slow_descent, target="numpy", examples=5)
    assert compared > 500
    assert compared.left_out > 100
    assert verify(shade, target="numpy", examples=1).left_out == 0
    with pytest.raises(ValueError, match="for all values"):
        verify(never, target="numpy")


def test_a_kernel_that_does_not_end_for_some_arrays_is_compared_on_others(monkeypatch):
    monkeypatch.setattr("pyflat.testing.kernels.MOST_LINES", 20_000)

    def halved(a):
        for i in range(len(a)):
            while a[i] > 0.0 and a[i] != 1.0:
                a[i] = a[i] - 1.0 if a[i] > 1.0 else 2.0 * a[i] if a[i] < 0.5 else a[i] + 0.0

    assert verify(halved, kinds="f8[:]", examples=8, target="numpy") > 0


def test_a_tracer_is_left_in_place():
    seen = []

    def tracer(frame, event, arg):
        seen.append(frame.f_code.co_name)

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        verify(slow_descent_of_some, kinds="i8", examples=1, target="numpy")
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert "slow_descent_of_some" in seen


def slow_descent_of_some(n: int) -> int:
    return n & 7
