"""What the version of Python decides about values: the one place where it is asked.

A function below says which algorithm this Python's functions are; what is compiled follows it. Versions that are not
known here are asked for their values, or called.
"""

from __future__ import annotations

import sys
from typing import Literal

NormName = Literal["3.10", "3.12"]

TESTED = ((3, 11), (3, 12), (3, 13))
"""The versions of CPython that the tests run on."""

GAMMA = ((3, 11), (3, 12), (3, 13))
"""Versions of CPython with the gamma and lgamma of `gamma_check`."""


def is_cpython(*versions: tuple[int, int]) -> bool:
    """Whether this is CPython of one of these versions."""
    return sys.implementation.name == "cpython" and sys.version_info[:2] in versions


def is_tested() -> bool:
    """Whether the tests run on this Python."""
    return is_cpython(*TESTED)


def sum_is_compensated() -> bool:
    """Whether sum() adds floats with A. Neumaier's compensation: since 3.12."""
    return sys.version_info[:2] >= (3, 12)


def norm_name() -> NormName | None:
    """The version that brought what math.hypot and math.dist compute (Modules/mathmodule.c, `vector_norm`); None where
    it is not known."""
    if is_cpython((3, 10), (3, 11)):
        return "3.10"
    return "3.12" if is_cpython((3, 12), (3, 13)) else None


def sumprod_is_known() -> bool:
    """Whether math.sumprod adds in the triple precision that it came with."""
    return is_cpython((3, 12), (3, 13))


def quantile_needs_positive_sigma() -> bool:
    """Whether the quantile of a normal distribution raises for a sigma of zero or below: until 3.11."""
    return sys.version_info[:2] < (3, 12)


def datetime_in_python_is_a_module() -> bool:
    """Whether the classes of datetime written in Python are a module, _pydatetime: since 3.12."""
    return sys.version_info[:2] >= (3, 12)
