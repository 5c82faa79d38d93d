"""Which calls of NumPy's functions are loops of a kernel's own (`array_routines`), by the dtypes of their operands."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from pyflat.ir.memory import Operand, operands_of
from pyflat.ir.nodes import Op
from pyflat.ir.types import BOOL, FLOAT, MEMORY
from pyflat.targets.numba.kernels.places import ELEMENTS

_TEXT = re.compile(r"np\.(\w+)\(((?:\w+=)?\{\}(?:, (?:\w+=)?\{\})*)((?:, \w+=[^{}]*)?)\)|\{\}\[\{\}\]")
_PART = re.compile(r"(.*?[)}]\]?)(?:\[(\d+)\])?(\.shape\[0\])?")
_LETTERS = {"f8": "d", "f4": "f", "i8": "l", "b1": "?"}


@dataclass(frozen=True, slots=True)
class RoutineForm:
    """A routine that may be written so."""

    name: str
    operands: Sequence[Operand]
    keys: Sequence[str]
    options: str
    part: int
    length: bool


def call_of(op: Op, dtypes: Sequence[str]) -> RoutineForm | None:
    """The routine of operands of these dtypes ("" for a number); None where it is not one of these."""
    found = _PART.fullmatch(op.attr("routine"))
    whole = _TEXT.fullmatch(found[1]) if found else None
    if found is None or whole is None:
        return None
    operands = operands_of(op.args, op.attr("operands"))[1]
    keys = [text.partition("=")[0] if "=" in text else "" for text in whole[2].split(", ")] if whole[2] else ["", ""]
    call = RoutineForm(whole[1] or "chosen", operands, keys, whole[3], int(found[2] or 0), bool(found[3]))
    if any(operand.name and operand.rank != 1 for operand in operands):
        return None
    if call.options and call.name not in ("histogram", "unique", "searchsorted"):
        return None
    fits = FITS.get(call.name, _is_ufunc)
    return call if fits(op, call, dtypes) else None


# --- which of them are
def _is_ufunc(op: Op, call: RoutineForm, dtypes: Sequence[str]) -> bool:
    return op.kind is MEMORY and loop_of(call, dtypes, op.attr("dtype")) is not None


def loop_of(call: RoutineForm, dtypes: Sequence[str], result: str) -> str | None:
    """The loop of a ufunc that takes the operands as they are. (np.power looks at strides.)"""
    ufunc, arrays = getattr(np, call.name, None), {dtype for dtype in dtypes if dtype}
    if not isinstance(ufunc, np.ufunc) or len(arrays) != 1 or any(call.keys):
        return None
    if ufunc.nout != 1 or ufunc.signature is not None or "power" in call.name:
        return None
    dtype, = arrays
    if dtype not in _LETTERS or result not in _LETTERS or ufunc.nin != len(dtypes):
        return None
    numbers = [operand for operand in call.operands if not operand.name]
    if any(each.dtype not in ("", dtype) or each.numbers[0].kind is FLOAT and dtype[0] != "f"
           or dtype == "b1" for each in numbers):
        return None
    loop = f"{_LETTERS[dtype] * ufunc.nin}->{_LETTERS[result]}"
    return loop if loop in ufunc.types else None


def _of_ints(op: Op, call: RoutineForm, dtypes: Sequence[str]) -> bool:
    return all(not each.name and each.numbers[0].kind not in (FLOAT, BOOL) and each.dtype in ("", "i8")
               for each in call.operands) and not any(call.keys)


def _linspace(op: Op, call: RoutineForm, dtypes: Sequence[str]) -> bool:
    return len(dtypes) == 3 and op.attr("dtype") == "f8" and all(
        not each.name and each.numbers[0].kind is not BOOL and each.dtype in ("", "f8", "i8") for each in call.operands)


def _bincount(op: Op, call: RoutineForm, dtypes: Sequence[str]) -> bool:
    kinds = {key: dtype for key, dtype in zip(call.keys, dtypes, strict=True) if key}
    weighted = call.keys[1:2] == [""] or "weights" in kinds
    return dtypes[0][:1] in ("i", "u") and dtypes[0] != "u8" and kinds.get("minlength", "") == "" and (
        not weighted or dtypes[1] == "f8") and all(
            operand.name or operand.numbers[0].kind not in (FLOAT, BOOL) for operand in call.operands)


def _one(*dtypes: str) -> Callable[[Op, RoutineForm, Sequence[str]], bool]:
    return lambda op, call, given: len(given) == 1 and given[0] in dtypes and not call.options


def _histogram(op: Op, call: RoutineForm, dtypes: Sequence[str]) -> bool:
    number = len(dtypes) == 2 and not call.operands[1].name and call.operands[1].numbers[0].kind not in (FLOAT, BOOL)
    return number and dtypes[0] == "f8" and limits_of(call.options) is not None


def limits_of(options: str) -> tuple[float, float] | None:
    found = re.fullmatch(r", range=\(([-+.\de]+), ([-+.\de]+)\)", options)
    if found is None or not np.isfinite(float(found[2]) - float(found[1])) or float(found[1]) >= float(found[2]):
        return None
    return float(found[1]), float(found[2])


def _searchsorted(op: Op, call: RoutineForm, dtypes: Sequence[str]) -> bool:
    if len(dtypes) != 2 or not dtypes[0] or call.options not in ("", ", side='left'", ", side='right'"):
        return False
    key = call.operands[1]
    known = dtypes[1] or ("b1" if key.numbers[0].kind is BOOL else key.dtype or "i8")
    return not {dtypes[0], known} & {"b1", "u8"}


def _unique(op: Op, call: RoutineForm, dtypes: Sequence[str]) -> bool:
    return len(dtypes) == 1 and dtypes[0] in _ORDERED and call.options in ("", ", return_counts=True")


def _quantile(op: Op, call: RoutineForm, dtypes: Sequence[str]) -> bool:
    number = len(dtypes) == 2 and not call.operands[1].name and call.operands[1].numbers[0].kind is not BOOL
    value = call.operands[0]
    of_floats = dtypes[0] == "f8" or not value.name and value.numbers[0].kind is FLOAT and value.dtype in ("", "f8")
    return number and of_floats and call.operands[1].dtype in ("", "f8") and is_interpolated(call.name)


@cache
def is_interpolated(name: str) -> bool:
    """Whether this NumPy's quantiles are those of `ArrayRoutine.quantile`."""
    random, scale = np.random.default_rng(0), 100.0 if name == "percentile" else 1.0
    for count, of_numpy in ((1, True), (2, False), (7, True), (50, False)):
        rows = random.normal(size=(40, count))
        for row, q in zip(rows, [0.0, 1.0, 0.5, *random.random(37)], strict=True):
            given = np.float64(q * scale) if of_numpy else q * scale
            if getattr(np, name)(row, given) != _interpolated(np.sort(row), given / scale):
                return False
    return bool(np.quantile(np.array([1.0, np.inf]), 1) == np.inf)  # an int takes an element as it is


def _interpolated(row: Any, q: float) -> float:
    at = (len(row) - 1) * q
    low, high = (-1, -1) if at >= len(row) - 1 else (int(at), int(at) + 1)
    t, difference = at - low, row[high] - row[low]
    return float(row[high] - difference * (1 - t) if t >= 0.5 else row[low] + difference * t)


_ORDERED = ("f8", "f4", "i8", "i4", "i2", "i1", "u1", "u2", "u4")
FITS: dict[str, Callable[[Op, RoutineForm, Sequence[str]], bool]] = {
    "arange": _of_ints, "linspace": _linspace, "bincount": _bincount, "histogram": _histogram,
    "searchsorted": _searchsorted, "unique": _unique, "sort": _one(*_ORDERED),
    "nonzero": _one(*ELEMENTS), "flatnonzero": _one(*ELEMENTS),
    "cumsum": _one("f8", "f4", "i8"), "diff": _one("f8", "f4", "i8"), "quantile": _quantile, "percentile": _quantile,
    "chosen": lambda op, call, dtypes: op.kind is MEMORY and bool(dtypes[0]) and dtypes[1] == "b1",
}
