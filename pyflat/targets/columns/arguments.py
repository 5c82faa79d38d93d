"""A function and its columns: the flat function, and one column for each number that it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pyflat.backend import FlatFunction, flatten_fold, flatten_function, flatten_optimize
from pyflat.errors import refuse
from pyflat.ir.shape import leaves

Faults = Literal["null", "error", "mask", "unchecked"]


@dataclass(frozen=True, slots=True)
class Column:
    """Where a number comes from. `given` is what the caller named for the argument, None when nothing; `path` is the
    field of a record that the number is, "" of a plain argument."""

    argument: str
    path: str
    kind: str
    given: Any


def flattened(fn: Callable[..., Any], columns: Mapping[str, Any], faults: str, allowed: Sequence[str],
              kinds: str | None) -> tuple[FlatFunction, list[Column]]:
    """`fn`, folded; its last result is the mask of the rows in which Python raises, unless they are unchecked.

    A number for a parameter is a constant, everything else a column. Raises FlattenError, ValueError for an unknown
    `faults` and for columns that are not parameters.
    """
    if faults not in allowed:
        raise ValueError(f"faults={faults!r} is none of {', '.join(allowed)}")
    fn = getattr(fn, "__wrapped__", fn) if hasattr(fn, "show") else fn
    constants = {name: given for name, given in columns.items() if isinstance(given, bool | int | float)}
    flat = flatten_function(fn, kinds=kinds, static=constants, faults="drop" if faults == "unchecked" else "mask")
    known = {node.attrs["argument"] for node in flat.params}
    for name in columns:
        if name not in known and name not in constants and name not in flat.arguments:
            raise refuse("flatten/static-name", f"{flat.name} has no parameter {name!r}")
    if not any(leaves(flat.result)):
        raise refuse("flatten/result-kind", f"{flat.name} gives no number: there is nothing to compute")
    flat = flatten_optimize(flatten_fold(flat))
    return flat, [_column(node.attrs, node.kind, columns, flat) for node in flat.params]


def _column(attrs: Mapping[str, Any], kind: str, columns: Mapping[str, Any], flat: FlatFunction) -> Column:
    argument, path = attrs["argument"], attrs["path"]
    given = columns.get(argument)
    if path and isinstance(given, Mapping):
        if path not in given:
            raise ValueError(f"{flat.name}: the columns of {argument} do not say which one is {path}")
        return Column(argument, "", kind, given[path])
    return Column(argument, path, kind, given)
