"""The modes of arrays that were asked for (`memory=`) against what they have become."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.temporaries import REASONS
from pyflat.errors import FlattenError, Note, Span, refuse


def require_modes(function: FunctionType, kernel: Kernel, rows: Mapping[str, int | str]) -> None:
    """FlattenError where an array is not what was asked for, or is none; `rows` as for `Kernel.modes`."""
    found = kernel.modes(rows)
    for name, asked in kernel.virtualize.memory:
        if name not in found:
            raise _unknown(function, name, list(found))
        mode = found[name]
        if asked in (mode.mode, "stored"):
            continue
        reason = rows.get(name) if asked == "buffer" else next(iter(mode.reasons), None)
        text = "it is virtual" if mode.mode == "virtual" else REASONS[str(reason)][1] if reason in REASONS else ""
        made = kernel.local[name]
        raise refuse("flatten/memory-mode", f"the array {name!r} of {function.__name__} cannot be {asked}",
                     made.place_of(str(reason)) or _top(function), label=text, why=text,
                     notes=(Note(f"memory={{{name!r}: {asked!r}}} asks for it", _top(function)),
                            Note(f"{name!r} is made", made.places.get("made"))))


def _unknown(function: FunctionType, name: str, known: list[str]) -> FlattenError:
    help = f"its arrays are {', '.join(map(repr, known))}" if known else "it makes none"
    return refuse("flatten/memory-mode", f"memory= names {name!r}, which is no array that {function.__name__} makes",
                  _top(function), why="arrays have the names of the variables that they are first bound to", help=help)


def _top(function: FunctionType) -> Span:
    code = function.__code__
    return Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 0)
