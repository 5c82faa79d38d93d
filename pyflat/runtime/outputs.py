"""`out=`: results in arrays of the caller's, by the rules of NumPy's ufuncs.

A function that returns one number takes an array, or a tuple of one; one that returns a tuple, a tuple with an array,
None or such a tuple for each item. Such an array has the shape that all arguments and outputs are broadcast to, and
a dtype that the result is cast to by the rule `same_kind`, strings without cutting them. Codes with their categories,
and numbers with None that are masked or objects, have no such array. What cannot be is refused before anything is
written.
An engine writes where the array is as its own would be. Other arrays, and those that share memory with an argument,
get a copy of the results when all are known: arguments are what they were as long as lanes may be run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pyflat.functions.stacking import DATES
from pyflat.ir.formats import F8, FloatFormat, dtypes
from pyflat.ir.shape import Fixed, Labels, Leaf, Maybe, Ragged, Record, Shape, is_text, leaves, written_record
from pyflat.ir.types import kind_of
from pyflat.runtime.arrays import Array, CallContext
from pyflat.runtime.labels import dtype_of


def arrays_in(out: Any, name: str = "out") -> dict[str, Array]:
    """The arrays, by what messages call them. TypeError for what is none, ValueError for what is read-only."""
    if out is None:
        return {}
    if isinstance(out, tuple):
        parts = [arrays_in(item, f"{name}[{k}]") for k, item in enumerate(out)]
        return {label: array for part in parts for label, array in part.items()}
    if type(out) not in (np.ndarray, np.memmap):
        cls = type(out)
        shown = f"{cls.__module__}.{cls.__qualname__}".removeprefix("builtins.")
        raise TypeError(f"argument {name!r} is a {shown}: results are written into a NumPy array, or a tuple of arrays "
                        f"and None where there are several")
    if not out.flags.writeable:
        raise ValueError(f"argument {name!r} is read-only: no result can be written into it")
    return {name: out}


def _fitted(out: Any, result: Shape) -> Any:
    """`out` in the structure of a result: one array for one number, a tuple for several."""
    if out is not None and written_record(result) is not None and isinstance(result, Record):
        return _fitted(out, result.items[0]), *[None for _ in result.items[1:]]
    single = isinstance(out, tuple) and len(out) == 1 and _parts_of(result) is None
    return out[0] if single else out


def _parts_of(shape: Shape) -> tuple[Shape, ...] | None:
    """The items of a result that has several; None for what one array holds."""
    match shape:
        case Record() if shape.cls not in (str, complex, np.ndarray, np.uint64) and shape.cls not in DATES:
            return shape.items
        case Fixed(value=tuple() as value) if type(value) is tuple or hasattr(value, "_fields"):
            return tuple(map(Fixed, value))
    return None


def with_destinations(context: CallContext, result: Shape) -> tuple[CallContext, list[Array | None]]:
    """The call with `out=` in the structure of the result, and for each leaf the array that an engine may write it
    into, None where it makes one. TypeError and ValueError where `out=` does not fit."""
    if context.out is None:
        return context, []
    context = replace(context, out=_fitted(context.out, result))
    lanes = context.lanes
    taken = [value for value in context.call.values if isinstance(value, np.ndarray)]
    found: list[Array | None] = []
    for shape, array in list(_fitting(result, context.out, context, "out")):
        if array is not None and isinstance(shape, Leaf) and _is_own(array, shape, lanes.floats, taken):
            taken.append(array)
            found.append(array.reshape(-1))
        else:
            found += [None for _ in leaves(shape)]
    return context, found


def _is_own(array: Array, leaf: Leaf, floats: FloatFormat, taken: list[Array]) -> bool:
    """Whether an array is as an engine's, and shares no memory with those that are in use."""
    same = array.dtype == dtypes(floats)[leaf.kind] and array.flags.c_contiguous and array.flags.aligned
    return same and not any(np.may_share_memory(array, other) for other in taken)


def _fitting(shape: Shape, out: Any, context: CallContext, name: str) -> Iterator[tuple[Shape, Array | None]]:
    """The parts of a result that one array holds, and what they are written into."""
    parts = _parts_of(shape)
    if parts is None:
        if out is not None:
            _check(shape, out, context, name)
        yield shape, out
        return
    given = (None,) * len(parts) if out is None else out
    if not isinstance(given, tuple) or len(given) != len(parts):
        what = f"a tuple of {len(given)}" if isinstance(given, tuple) else "one array"
        raise TypeError(f"argument {name!r} is {what}, and {context.parameters.name} returns {len(parts)} results "
                        f"there: pass a tuple with an array or None for each")
    for k, (part, item) in enumerate(zip(parts, given, strict=True)):
        yield from _fitting(part, item, context, f"{name}[{k}]")


def _check(shape: Shape, out: Any, context: CallContext, name: str) -> None:
    form = context.options.form
    if isinstance(shape, Labels) and form.results == "codes":
        raise TypeError(f'argument {name!r}: results="codes" gives codes and categories there, pass None')
    if isinstance(shape, Ragged) or is_text(shape):
        raise TypeError(f"argument {name!r}: strings and lists of lanes are an array of their own there, pass None")
    if isinstance(shape, Maybe) and form.none not in ("raise", "nan"):
        raise TypeError(f"argument {name!r}: none={form.none!r} gives an array of its own there, pass None")
    if isinstance(shape, Maybe):
        shape = shape.inner
    dtype = dtype_of(shape, form) if isinstance(shape, Labels) else _dtype_of(shape, context.lanes.floats)
    if dtype is None:
        raise TypeError(f"argument {name!r}: {context.parameters.name} returns no number there, pass None")
    if isinstance(out, tuple):
        raise TypeError(f"argument {name!r} is a tuple of {len(out)}, and {context.parameters.name} returns one number "
                        f"there: pass an array")
    if isinstance(shape, Labels) and not np.can_cast(dtype, out.dtype, "safe"):
        raise TypeError(f"argument {name!r} is an array of {out.dtype}, and the results are {dtype}, which it cannot "
                        f"hold")
    if not np.can_cast(dtype, out.dtype, "same_kind"):
        raise TypeError(f"argument {name!r} is an array of {out.dtype}, and the results are {dtype}, which is not cast "
                        f"to that (NumPy's rule 'same_kind')")
    if out.shape != context.lanes.shape:
        raise ValueError(f"argument {name!r} has shape {out.shape}, and the results have {context.lanes.shape}")


def _dtype_of(shape: Shape, floats: FloatFormat) -> np.dtype[Any] | None:
    """What an array of these results has; None where they are no numbers."""
    whole = np.dtype(np.complex128 if floats is F8 else np.complex64)
    match shape:
        case Leaf():
            return dtypes(floats)[shape.kind]
        case Record(cls=cls):
            return whole if cls is complex else np.dtype(np.uint64) if cls is np.uint64 else None
        case Fixed(value):
            number = value.item() if isinstance(value, np.generic) else value
            kind = kind_of(number)
            return dtypes(floats)[kind] if kind is not None else whole if type(number) is complex else None
    return None
