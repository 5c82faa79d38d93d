"""The wrong twins of the example are wrong as it says, and pyflat's are right."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).resolve().parents[2] / "examples" / "wrong_twins.py"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wrong_twins", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["wrong_twins"] = module
    spec.loader.exec_module(module)
    return module


WRONG = _load()
CASES = WRONG.cases()
EXPECTED = {
    "the arm not taken warns": (["0.6931471805599453", "0.0"], "divide by zero"),
    "the arm not taken poisons a blend": (["0.6931471805599453", "nan"], "divide by zero"),
    "division by zero becomes inf": (["0.25", "inf"], "divide by zero"),
    "an int overflows in silence": (["9", "8589934593"], ""),
    "a name that is not bound is a number": (["1.0", "0.0"], ""),
    "the int of nan is a number": (["2", "-9223372036854775808"], "invalid value"),
    "min follows nan": (["0.5", "nan"], ""),
    "round decides decimal ties twice": (["1.25", "2.68"], ""),
    "an int is compared as a float": (["True", "True"], ""),
    "a small int type wraps": (["22", "-1073741823"], ""),
    "not (x <= y) is written x > y": (["1.0", "0.0"], ""),
    "a changed constant is not seen": (["5.0", "15.0"], ""),
}


def test_every_case_has_its_expectation() -> None:
    assert [case.title for case in CASES] == list(EXPECTED)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_wrong_twin_is_wrong(case) -> None:
    values, warning = EXPECTED[case.title]
    got, warned = WRONG.wrong_outcomes(case)
    if case.title == "the int of nan is a number":  # which number, the processor decides
        assert got[1].lstrip("-").isdigit()
        values = [values[0], got[1]]
    assert got == values
    assert warning in warned
    assert bool(warning) == bool(warned)
    assert warned or got != WRONG.python_outcomes(case)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_pyflats_twin_is_right(case, target: str) -> None:
    python = WRONG.python_outcomes(case)
    if case.title == "an int overflows in silence":
        assert python == ["9", str((2**32 + 1) ** 2)]
        python[1] = "raises LaneError"  # a number, and no int64
    assert WRONG.twin_outcomes(case, target) == python


def test_the_table() -> None:
    text = WRONG.table(1, CASES[0])
    assert text.splitlines()[0] == "1. the arm not taken warns (RuntimeWarning: divide by zero encountered in log)"
    assert len(text.splitlines()) == 4


JAX_EXPECTED = {
    "an index beyond the table is its end": (["1.5", "raises IndexError"], ["1.5", "2.5"]),
    "an int divided by zero is a number": (["3", "raises ZeroDivisionError"], ["3", "-2"]),
    "float64 becomes float32": (["1.0", "1.0"], ["1.0", "0.0"]),
    "subnormal numbers become zero": (["0.5", "5e-311"], ["0.5", "0.0"]),
}


def jax_case(title: str):
    pytest.importorskip("jax")
    return next(case for case in WRONG.jax_cases() if case.title == title)


@contextmanager
def jax_as_it_comes():
    """Without float64, which another test of this process may have asked for."""
    import jax

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("title", JAX_EXPECTED)
def test_the_wrong_twin_of_jax_is_wrong(title: str) -> None:
    case, (python, wrong) = jax_case(title), JAX_EXPECTED[title]
    assert WRONG.python_outcomes(case) == python
    with jax_as_it_comes():
        got, warned = WRONG.wrong_outcomes(case)
    assert not warned
    if title == "an int divided by zero is a number":  # which number, XLA decides
        assert got[1].lstrip("-").isdigit()
        wrong = [wrong[0], got[1]]
    assert got == wrong


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("title", JAX_EXPECTED)
def test_pyflats_twin_of_a_jax_case_is_right(title: str, target: str) -> None:
    case = jax_case(title)
    assert WRONG.twin_outcomes(case, target) == JAX_EXPECTED[title][0]


def test_every_case_of_jax_has_its_expectation() -> None:
    pytest.importorskip("jax")
    assert [case.title for case in WRONG.jax_cases()] == list(JAX_EXPECTED)
