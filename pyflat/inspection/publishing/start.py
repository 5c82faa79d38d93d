"""What an extension of `pyflat build` does when it is imported. It is printed there as it stands here, behind
`pyflat.functions.loaded_files`, and needs NumPy alone."""

from __future__ import annotations

import functools
import importlib
import math
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pyflat.functions.loaded_files import constants_of, file_at, found_table, library_in

_LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


def start(available: int, place: int, name: str, functions: Sequence[Mapping[str, Any]],
          verified: Mapping[str, Sequence[str]], tables: Mapping[str, Sequence[Any]],
          python: Mapping[str, str], own: Mapping[str, Sequence[tuple[float, float]]]) -> tuple[Any, ...]:
    """For each function the number of the version that runs, what runs its original in a lane, and what it has read;
    the numbers of the library's tables; what CPython computes; the level; the main thread.

    `available` is the processor's level, `place` where the C library's exp is, `verified` has the functions that are
    known of each library by its identity, `own` has points of CPython's own functions, by which those are known.
    PYFLAT_LEVEL asks for a lower level. Raises ImportError.
    """
    if available < 0:
        raise ImportError(f"{name} needs a processor of the level {_LEVELS[0]} or higher")
    asked = os.environ.get("PYFLAT_LEVEL", _LEVELS[available])
    if asked not in _LEVELS[: available + 1]:
        raise ImportError(f"PYFLAT_LEVEL={asked}: this processor has {', '.join(_LEVELS[: available + 1])}")
    level, known, numbers = _LEVELS.index(asked), frozenset[str](), {}
    if any(version[1] is not None for each in functions for version in each["versions"]):
        library = file_at(place)
        identity = None if library is None else library_in(library).identity
        if identity is not None and identity in verified:
            constants = constants_of(library)
            known = frozenset(verified[identity]).union(
                name for name, points in own.items() if all(getattr(math, name)(x) == y for x, y in points))
            found = {symbol: _table(constants, *which) for symbol, which in tables.items()}
            numbers = {symbol: each for symbol, each in found.items() if each is not None}
            known = known if len(numbers) == len(tables) else frozenset()
    chosen = [_version(each["versions"], level, known) for each in functions]
    lanes = [_lane(_original(name, each), each) for each in functions]
    reads = [tuple((vars(importlib.import_module(module)), variable, _at(where) if where else value)
                   for module, variable, value, where in each["reads"]) for each in functions]
    calls = {symbol: _total(function) for symbol, function in python.items()}
    return chosen, lanes, reads, numbers, calls, _LEVELS[level], threading.main_thread().ident


def _version(versions: Sequence[tuple[int, Sequence[str] | None]], level: int, known: frozenset[str]) -> int:
    """The last one that the processor and the library have."""
    return max(k for k, (least, follows) in enumerate(versions)
               if least <= level and (follows is None or known.issuperset(follows)))


def _table(constants: Sequence[bytes], count: int, length: int, second: str, digest: str, made: str) -> bytes | None:
    row = 8 * length
    found = found_table(constants, row * count, row, bytes.fromhex(second), digest)
    if found is None:
        return None
    known = globals()[made](np.frombuffer(found, dtype=np.float64).reshape(count, length))
    rows = np.zeros([1 << (n - 1).bit_length() for n in known.shape])
    rows[: known.shape[0], : known.shape[1]] = known
    return rows.tobytes()


def _original(name: str, wanted: Mapping[str, Any]) -> Callable[..., Any]:
    """The library's own function, of which static parameters have their values, and lanes come by position."""
    try:
        found = _at(wanted["function"])
    except (ImportError, AttributeError) as error:
        raise ImportError(f"{name} runs {wanted['function']} in lanes that are in doubt, and it is not there "
                          f"({error}): import {name} below it") from error
    if isinstance(found, np.ufunc):
        raise ImportError(f"{wanted['function']} is a ufunc now, and {name} needs the function itself: give the ufunc "
                          f"another name, or import {name} once")
    if wanted["static"]:
        found = functools.partial(found, **wanted["static"])
    own: Callable[..., Any] = found
    if not wanted["keywords"]:
        return own
    first, names = wanted["keywords"]
    return lambda *lane: own(*lane[:first], **dict(zip(names, lane[first:], strict=True)))


def _at(place: str) -> Any:
    """What "module:name" or "module:Class.NAME" is."""
    module, _, path = place.partition(":")
    found: Any = sys.modules.get(module) or importlib.import_module(module)
    return functools.reduce(getattr, path.split("."), found)


def _lane(original: Callable[..., Any], wanted: Mapping[str, Any]) -> Callable[..., tuple[Any, ...]]:
    """A function of the numbers of a lane that gives the numbers of its results."""
    kinds, names, title = wanted["kinds"], wanted["names"], wanted["name"]

    def run(*lane: Any) -> tuple[Any, ...]:
        try:
            numbers = tuple(_numbers(original(*lane)))
            if len(numbers) != len(kinds) or not all(map(_fits, numbers, kinds)):
                raise TypeError(f"{wanted['function']} returned {numbers}, and {title} was built for {kinds}")
        except Exception as error:
            if wanted["errors"] == "nan":
                return (math.nan,) * len(kinds)
            given = ", ".join(f"{name}={value!r}" for name, value in zip(names, lane, strict=True))
            error.add_note(f"in a lane of {title}: {given}")
            raise
        return numbers

    return run


def _numbers(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _numbers(item)
    else:
        yield value


def _fits(value: Any, kind: str) -> bool:
    """Whether a lane of this kind holds a number as it is."""
    if kind == "d" and isinstance(value, int):
        return int(float(value)) == value
    return isinstance(value, {"d": float, "l": int, "?": bool}[kind])


def _total(name: str) -> Callable[..., float]:
    """CPython's function, infinite where it overflows, nan where it raises else."""
    function = round if name == "round_digits" else getattr(math, name)

    def call(*numbers: Any) -> float:
        try:
            return float(function(*numbers))
        except OverflowError:
            return math.copysign(math.inf, numbers[0])
        except (ArithmeticError, ValueError):
            return math.nan

    return call
