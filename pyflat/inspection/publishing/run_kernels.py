"""The kernels over arrays of an extension of `pyflat build`, where this is printed as it stands here.

Machine code runs on arrays in C's order, and on copies of others. The library's own function runs where arrays share
memory with a written one, for subclasses and numbers of other types, and after a fault or a warning that is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pyflat.functions.array_lanes import part
from pyflat.inspection.publishing.start import _original
from pyflat.ir.memory import overlaps_itself
from pyflat.runtime.kernels import overlap
from pyflat.runtime.shown_warnings import warnings_are_wanted, warnings_may_raise

Row = Mapping[str, Any]
Run = Callable[..., Any]


def add_kernels(module: str, rows: Sequence[Row], chosen: Sequence[int], names: dict[str, Any]) -> None:
    """Adds them to the module's `names`; rows of one name are one function, for several kinds."""
    for which, row in zip(enumerate(chosen), rows, strict=True):
        tables = [[id(eval(word)) if isinstance(word, str) else word for word in table] for table in row["tables"]]
        methods = [names["_bind"](*which, np.array(table)) for table in tables]
        space = {"np": np, "inf": np.inf, "nan": np.nan, "part": part}
        space["call"] = _kernel(row, _original(module, row), methods, names, eval(row["result"], space))
        exec(row["text"], space, names)
        names[row["name"]].__module__, names[row["name"]].__doc__ = module, row["about"]


def _kernel(row: Row, original: Run, methods: Sequence[Run], names: Mapping[str, Any], result: Run) -> Run:
    """A function of all arguments; for those of other kinds it is what has the name now."""
    run, other = names["_run"], names.get(row["name"])

    def call(*given: Any) -> Any:
        errors: Any = np.geterr() if row["warns"] else {}
        watch, made = bool(set(errors.values()) - {"ignore"}), list[Any]()
        strict = watch and row["strict"] and warnings_may_raise(errors)
        if watch and (errors["under"] != "ignore" or strict and row["waits"]):
            return original(*given)
        found = run(methods[2 if strict else 1 if watch else 0], given, made)
        if found is ... and watch and not warnings_are_wanted(errors):
            found = run(methods[0], given, made)
        if found is NotImplemented and isinstance(values := _plain(row, given), str):
            if other is None:
                raise TypeError(values)
            return other(*given)
        if found is NotImplemented and values is not None:
            found = run(methods[3], values, made)
            for (_, _, written), own, copy in zip(row["arguments"], given, values, strict=True):
                if written and found not in (..., NotImplemented):
                    own[...] = copy
        if found in (..., NotImplemented):
            names["_raise"]()
            return original(*given)
        return result(given, found, dict(made))

    return call


def _plain(row: Row, values: Sequence[Any]) -> tuple[Any, ...] | str | None:
    """The arguments with arrays in C's order, written ones copied; why they are not what it was built for; None where
    the original has to run. ValueError for an array that is written and must not be."""
    plain, good, arrays = list(values), True, [k for k, (dtype, _, _) in enumerate(row["arguments"]) if dtype]
    for k in arrays:
        name, (dtype, axes, written), value = row["names"][k], row["arguments"][k], values[k]
        if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != axes:
            shape = f" of {value.dtype}, {value.ndim}-dimensional" if isinstance(value, np.ndarray) else ""
            return (f"{row['name']}() was built for {name!r} as an array of {np.dtype(dtype)}, {axes}-dimensional, not "
                    f"{type(value).__name__}{shape}")
        if written and not value.flags.writeable:
            raise ValueError(f"assignment destination is read-only: {row['name']} writes into {name!r}; "
                             f"np.array({name}) is a copy that it may write into")
        others = [values[j] for j in arrays if j < k and (written or row["arguments"][j][-1])]
        good = good and type(value) is np.ndarray and (value.flags.c_contiguous or not row["ordered"]) and not (
            written and overlaps_itself(value) or any(overlap(value, other) for other in others))
        plain[k] = np.array(value, dtype, order="C", copy=True if written or not value.flags.aligned else None)
    return tuple(plain) if good else None
