"""What is refused about complex lanes."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import pytest

from pyflat.frontend.library import complex_library as library
from pyflat.frontend.space import complex_numbers
from tests.frontend.space.test_complex_numbers import FUNCTIONS
from tests.support.twins import refused


def test_refusals() -> None:
    assert "NumPy" in str(refused(lambda z: np.sqrt(z), 1j))
    assert "z.conjugate()" in str(refused(lambda z: np.conj(z) + 1, 1j))
    assert "np.where of a complex lane" in str(refused(lambda z: np.where(z.real > 0, z, 2j), 1j))
    assert "complex numbers have no order" in str(refused(lambda z, w: z < w, 1j, 2j))
    assert "a NumPy number is combined with a complex one" in str(refused(lambda z, x: np.exp(x) * z, 1j, 2.0))
    assert refused(lambda z: {z: 1}, 1j).code == "flatten/result-kind"
    assert refused(lambda z: math.sqrt(z), 1j).code == "flatten/unsupported-expression"


def test_another_arithmetic_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "product", lambda a, b, c, d: (a * c - b * d, a * d))
    complex_numbers.arithmetic_is_known.cache_clear()
    try:
        assert not complex_numbers.arithmetic_is_known()
        assert "in this version of Python" in str(refused(lambda z: z * z, 1j))
    finally:
        monkeypatch.undo()
        complex_numbers.arithmetic_is_known.cache_clear()
    assert complex_numbers.arithmetic_is_known()


def test_another_function_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "sin", lambda x, y: (x, y))
    complex_numbers.function_is_known.cache_clear()
    try:
        assert "cmath.sin" in str(refused(lambda z: cmath.sin(z), 1j))
    finally:
        monkeypatch.undo()
        complex_numbers.function_is_known.cache_clear()
    assert all(map(complex_numbers.function_is_known, FUNCTIONS))


def test_text_that_a_complex_number_ends_in_is_an_error() -> None:
    def first(z: complex) -> Any:
        return z[0]  # type: ignore[index]

    assert refused(first, 1j).code == "flatten/unsupported-expression"
    assert refused(lambda z: round(z), 1j).code == "flatten/unsupported-expression"
