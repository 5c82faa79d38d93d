"""PYFLAT_DISABLE=1: every twin runs its original lane by lane, so that one can see whether a result is pyflat's doing.

Nothing is flattened or compiled, so this works for functions that pyflat refuses too. The kinds of the results are
those of the values that come back (the widest of all lanes): there is no twin that would know them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyflat.frontend.notices import PerformanceWarning, warn
from pyflat.ir.formats import dtypes
from pyflat.ir.shape import COMPLEX, REAL_OR_COMPLEX, Fixed, Labels, Leaf, Maybe, Record, Shape, leaves, record_of
from pyflat.ir.types import FLOAT, join_kinds
from pyflat.runtime.arguments import SCALARS
from pyflat.runtime.arrays import Array, CallContext, blank, collect
from pyflat.runtime.faults import Faults, LaneError
from pyflat.runtime.labels import none_leaves
from pyflat.runtime.outputs import with_destinations
from pyflat.runtime.replay import NONE_HERE, Replay, fit

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
    text = "PYFLAT_DISABLE=1: every twin runs its original lane by lane"
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
