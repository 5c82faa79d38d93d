"""`out=`: results in arrays of the caller's, by the rules of NumPy's ufuncs.

A function that returns one number takes an array, or a tuple of one; one that returns a tuple, a tuple with an array,
None or such a tuple for each item. Such an array has the shape that all arguments and outputs are broadcast to, and
a dtype that the result is cast to by the rule `same_kind`, strings without cutting them. Codes with their categories,
and numbers with None that are masked or objects, have no such array. What cannot be is refused before anything is
written.
An engine writes where the array is as its own would be. Other arrays, and those that share memory with an argument,
get a copy of the results when all are known: arguments are what they were as long as lanes may be run again.

With PYFLAT_DISABLE=1 every twin runs its original for each element, which shows whether pyflat causes a wrong result.
Nothing is flattened or compiled, so this works for functions that pyflat refuses too. The kinds of the results are
those of the values that come back (the widest of all lanes): there is no twin that would know them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyflat.frontend.notices import PerformanceWarning, warn
from pyflat.functions.stacking import DATES
from pyflat.ir.formats import F8, FloatFormat, dtypes
from pyflat.ir.shape import (
    COMPLEX,
    REAL_OR_COMPLEX,
    Fixed,
    Labels,
    Leaf,
    Maybe,
    Ragged,
    Record,
    Shape,
    is_text,
    leaves,
    record_of,
    written_record,
)
from pyflat.ir.types import FLOAT, join_kinds, kind_of
from pyflat.runtime.arguments import SCALARS
from pyflat.runtime.arrays import Array, CallContext, blank, collect
from pyflat.runtime.faults import Faults, LaneError
from pyflat.runtime.labels import dtype_of, none_leaves
from pyflat.runtime.replay import NONE_HERE, Replay, fit


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
        raise TypeError(f'argument {name!r}: results="codes" returns codes and categories there; pass None')
    if isinstance(shape, Ragged) or is_text(shape):
        raise TypeError(f"argument {name!r}: strings and lists are returned as a new array there; pass None")
    if isinstance(shape, Maybe) and form.none not in ("raise", "nan"):
        raise TypeError(f"argument {name!r}: none={form.none!r} returns a new array there; pass None")
    if isinstance(shape, Maybe):
        shape = shape.inner
    dtype = dtype_of(shape, form) if isinstance(shape, Labels) else _dtype_of(shape, context.lanes.floats)
    if dtype is None:
        raise TypeError(f"argument {name!r}: {context.parameters.name} does not return a number there; pass None")
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


_warned: set[str] = set()


@dataclass(frozen=True, slots=True)
class Done:
    """What a call gives; in an object of its own, because None is a result."""

    value: Any


def run_originals(context: CallContext) -> Done | None:
    """The call, lane by lane. None for a call without lanes: no value shows then what the function returns."""
    lanes, errors = context.lanes, context.options.errors
    if not lanes.count:
        return None
    _warn()
    values = np.empty(lanes.count, object)
    everywhere = np.ones(lanes.count, np.bool_)
    replay = Replay(context, None)
    faults = Faults.none(lanes.shape)
    if errors in ("mask", "nan"):
        faults = replay.sort_out(everywhere, [values])
    else:
        replay.patch(everywhere, [values])
    everywhere[faults.flat] = False
    returned = np.flatnonzero(everywhere).tolist()
    shape = result_shape([values[lane] for lane in returned])
    if context.options.none == "raise" and not lanes.scalars and none_leaves(shape):
        raise LaneError(NONE_HERE)
    arrays: list[Array] = [np.zeros(lanes.count, dtypes(lanes.floats)[leaf.kind]) for leaf in leaves(shape)]
    with np.errstate(over="ignore"):  # float32 lanes round what the originals return
        for lane in returned:
            for array, number in zip(arrays, fit(values[lane], shape), strict=True):
                array[lane] = number
    blank(arrays, faults.flat)
    context, _ = with_destinations(context, shape)
    result = collect(shape, arrays, lanes, faults.flat, context.out)
    return Done((result, faults.of_whole(context.part)) if errors == "mask" else result)


def _warn() -> None:
    if _warned:
        return
    _warned.add("PYFLAT_DISABLE")
    text = "PYFLAT_DISABLE=1: every twin runs its original for each element"
    warn(text, PerformanceWarning)


def result_shape(values: Sequence[Any]) -> Shape:
    """The shape that holds all these results, nan where there is none. LaneError where no shape does."""
    if not values:
        return Leaf(FLOAT)
    some = [value for value in values if value is not None]
    if some and len(some) < len(values):
        shape = result_shape(some)
        return Labels((*shape.table, None)) if isinstance(shape, Labels) else Maybe(shape)
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {SCALARS.get(type(value)) for value in plain}
    if None not in kinds:
        first, *rest = (kind for kind in kinds if kind is not None)
        for kind in rest:
            first = join_kinds(first, kind)
        return Leaf(first)
    if all(isinstance(value, complex) or type(value) in SCALARS for value in plain):
        return COMPLEX if all(isinstance(value, complex) for value in plain) else REAL_OR_COMPLEX
    if all(isinstance(value, np.ndarray) for value in plain):
        return _array_shape(plain)
    made = [record_of(value) for value in plain]
    parts = [part for part in made if part is not None]
    if len(parts) == len(made) and len({(cls, names, len(items)) for cls, names, items in parts}) == 1:
        cls, names, _ = parts[0]
        return Record(cls, names, tuple(map(result_shape, zip(*(items for _, _, items in parts), strict=True))))
    other = next((v for v, made_of in zip(plain, made, strict=True) if made_of or type(v) in SCALARS), None)
    if other is not None and any(value != other for value in plain):
        odd = next(value for value in plain if value != other)
        raise LaneError(f"the function returned {odd!r} in one lane and {other!r} in another")
    return Fixed(None) if plain[0] is None else Labels(_distinct(plain))


def _distinct(objects: Sequence[Any]) -> tuple[Any, ...]:
    """Each object once."""
    table = Labels([])
    for item in objects:
        if table.code(item) is None:
            table = Labels([*table.table, item])
    return tuple(table.table)


def _array_shape(values: Sequence[np.ndarray[Any, Any]]) -> Shape:
    """The shape of a result that is an array in each lane."""
    extents = sorted({value.shape for value in values})
    if len(extents) > 1:
        raise LaneError(f"the function returned arrays of the shapes {extents[0]} and {extents[1]}")
    items = tuple(map(result_shape, zip(*(value.ravel().tolist() for value in values), strict=True)))
    return Record(np.ndarray, tuple(map(str, extents[0])), items)
