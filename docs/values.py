"""Runs docs/value_cases.py and writes what came out: docs/reference/values.md."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np

import pyflat

DOCS = Path(__file__).resolve().parent
HEAD = """\
# Values and kinds

<!-- written by docs/generate.py from docs/value_cases.py; do not edit -->

For each expression: the result in Python, and in the twin on both targets, which return the same value of the same
kind, or raise the same exception. The last column is plain numba (`njit` of the same function). A value that a twin
cannot hold raises `LaneError`. Results that differ from Python are **bold**.
"""


def value_cases() -> ModuleType:
    """The module next to this one, imported by its path: docs/ is no package."""
    name = "value_cases"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def outcome(call: Callable[[], Any]) -> str:
    try:
        return shown(call())
    except Exception as error:  # noqa: BLE001 - the exception is the outcome
        return type(error).__name__


def shown(value: Any) -> str:
    if isinstance(value, complex) and value.imag:
        return "a complex number"
    text = repr(value)
    return text if len(text) <= 30 else f"{text[:6]}... ({len(text)} digits)"


def python(case: Any) -> list[str]:
    return [outcome(lambda row=row: case.function(*row)) for row in case.rows]


def twin(case: Any, target: str) -> list[str]:
    """The twin on all rows at once."""
    columns = [np.array(column) for column in zip(*case.rows, strict=True)]
    values, faults = pyflat.twin(case.function, target=target, math="exact", errors="mask")(*columns)
    found = []
    for lane in range(len(case.rows)):
        value = tuple(v[lane].item() for v in values) if isinstance(values, tuple) else values[lane].item()
        found.append(shown(value) if faults[lane] is None else faults[lane].type.__name__)
    return found


def plain_numba(case: Any) -> list[str]:
    compiled = numba.njit(case.function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [outcome(lambda row=row: compiled(*row)) for row in case.rows]
    return ["some number" if case.arbitrary and a != b and not b.endswith("Error") else b
            for a, b in zip(python(case), found, strict=True)]


def held(text: str, in_twin: str) -> bool:
    """Whether a twin's outcome is Python's: the same, widened by a join, or what no lane can hold."""
    if in_twin == "LaneError":
        return not text.endswith("Error")
    return text == in_twin or text + ".0" == in_twin


def page() -> str:
    lines = [HEAD]
    for rule, cases in groupby(value_cases().CASES, key=lambda case: case.rule):
        lines += [f"\n## {rule[0].upper()}{rule[1:]}\n",
                  "| expression | inputs | Python | NumPy twin | numba twin | plain numba |",
                  "|---|---|---|---|---|---|"]
        for case in cases:
            columns = python(case), twin(case, "numpy"), twin(case, "numba"), plain_numba(case)
            for row, expected, *others in zip(case.rows, *columns, strict=True):
                inputs = ", ".join(map(repr, row))
                *twins, plain = others
                cells = [text if held(expected, text) else f"**{text}**" for text in twins]
                cells.append(plain if held(expected, plain) else f"**{plain}**")
                lines.append(f"| `{case.text}` | {inputs} | {expected} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
