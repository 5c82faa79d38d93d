"""Results that are not numbers: what the caller gets for codes of objects, and for None.

    results="labels"   strings as an array `<U{longest}`, as np.select gives them, other objects as an array of objects
    results="string"   strings as an array of StringDType, in which None is missing
    results="codes"    (codes, categories): what `pandas.Categorical.from_codes` takes; -1 stands for None

None among numbers is what the option `none` says: an exception in that lane ("raise"), a masked array ("masked"), an
array of objects ("object"), or nan ("nan"). Among objects it is one of them, and masked with none="masked". Dates are
objects. A call with Python's numbers gives the object itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pyflat.errors import refuse
from pyflat.functions.stacking import DATES
from pyflat.ir.shape import (
    Labels,
    Leaf,
    Maybe,
    Ragged,
    Record,
    Shape,
    Texts,
    holds_only_floats,
    is_text,
    leaves,
    objects,
    rebuild,
)

Array = npt.NDArray[Any]


class Form(NamedTuple):
    """The options `results` and `none`."""

    results: str = "labels"
    none: str = "raise"


PLAIN = Form()


class Codes(NamedTuple):
    """Labels as codes, -1 where there is none, and the objects that they stand for."""

    codes: Array
    categories: Array

    def objects(self, missing: npt.NDArray[np.bool_] | None) -> Array:
        """The objects by lane, None where one is missing."""
        absent = self.codes < 0 if missing is None else missing | (self.codes < 0)
        found = np.empty(self.codes.shape, object)
        found[~absent] = self.categories.astype(object)[self.codes[~absent]]
        return found


def is_dated(shape: Shape) -> bool:
    """Whether an array of these results is one of objects anyway."""
    return isinstance(shape, Record) and shape.cls in DATES


def none_leaves(shape: Shape) -> tuple[int, ...]:
    """The positions of the leaves that say where None stands among numbers."""
    return tuple(flag for maybe, _, flag in none_ranges(shape) if not is_dated(maybe.inner))


def none_ranges(shape: Shape, start: int = 0) -> Iterator[tuple[Maybe, int, int]]:
    """For each part that may be None the position of its first leaf, and of the one that says so. Inner parts first."""
    match shape:
        case Record():
            for item in shape.items:
                yield from none_ranges(item, start)
                start += sum(1 for _ in leaves(item))
        case Maybe():
            yield from none_ranges(shape.inner, start)
            yield shape, start, start + sum(1 for _ in leaves(shape.inner))


def without_unread(shape: Shape, parts: Sequence[Array]) -> list[Array]:
    """The leaves with 0 where a lane is None, and nothing reads them, and for a string or list that is made of several
    leaves one number that tells it from others."""
    found = list(parts)
    for _, first, flag in none_ranges(shape):
        for k in range(first, flag):
            found[k] = np.where(found[flag], found[k].dtype.type(0), found[k])
    for made, first in made_ranges(shape):
        size = sum(1 for _ in leaves(made))
        items = objects(made, found[first:first + size]).tolist()
        found[first:first + size] = [np.array([hash(repr(item)) for item in items], np.int64)] * size
    return found


def made_ranges(shape: Shape, start: int = 0) -> Iterator[tuple[Shape, int]]:
    """The parts that are objects made of several leaves, and the position of their first leaf."""
    match shape:
        case Record() if is_text(shape):
            yield shape, start
        case Record():
            for item in shape.items:
                yield from made_ranges(item, start)
                start += sum(1 for _ in leaves(item))
        case Maybe():
            yield from made_ranges(shape.inner, start)
        case Texts() | Ragged():
            yield shape, start


def as_labels(shape: Shape, parts: Sequence[Array], failed: npt.NDArray[Any] | None = None) -> tuple[Labels, Array]:
    """The texts of all lanes as codes of those that there are; lanes without a value have any code."""
    wanted = None
    if failed is not None:
        wanted = np.ones(len(parts[0]), np.bool_)
        wanted[failed] = False
    found = objects(shape, parts, wanted)
    table: dict[Any, int] = {}
    codes = np.zeros(len(found), np.int64)
    for lane, item in enumerate(found.tolist()):
        if wanted is None or wanted[lane]:
            codes[lane] = table.setdefault(item if type(item) is str else _Same(item), len(table))
    return Labels(tuple(key.item if isinstance(key, _Same) else key for key in table) or ("",)), codes


@dataclass(frozen=True, eq=False)
class _Same:
    """An object by its identity, a number by its type and digits."""

    item: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[type, object]:
        number = type(self.item) in (bool, int, float, complex)
        return type(self.item), repr(self.item) if number else id(self.item)


def with_open_tables(shape: Shape) -> Shape:
    """The shape for one call, in which lanes that the original has run may bring more objects."""
    match shape:
        case Record():
            return replace(shape, items=tuple(map(with_open_tables, shape.items)))
        case Labels():
            return replace(shape, table=list(shape.table))
        case Texts() | Ragged():
            return replace(shape, table=list(shape.table))
        case Maybe():
            return Maybe(with_open_tables(shape.inner))
    return shape


def dtype_of(shape: Labels, form: Form) -> np.dtype[Any]:
    """What an array of these objects has."""
    return _objects(shape.table, form).dtype


def _objects(table: Sequence[Any], form: Form) -> Array:
    """The table as an array: of strings where it can be."""
    strings = [item for item in table if item is not None]
    missing = len(strings) < len(table)
    textual = bool(strings) and Labels(strings).textual
    if textual and form.results == "string":
        dtype = np.dtypes.StringDType(na_object=None) if missing else np.dtypes.StringDType()
        return np.array(list(table), dtype)
    if textual and (not missing or form.none == "masked"):
        return np.array(["" if item is None else item for item in table])
    objects = np.empty(len(table), object)
    objects[:] = table
    return objects


def of_codes(shape: Labels, codes: Array, form: Form, failed: npt.NDArray[Any] | None = None) -> Any:
    """Objects for codes. Failing lanes have "", None, or -1."""
    if shape.grows:
        used, codes = np.unique(codes, return_inverse=True)
        shape = Labels([shape.table[code] for code in used.tolist()] or [""])
    if form.results == "codes":
        return _categorical(shape, codes, failed)
    objects = _objects(shape.table, form)
    try:
        found = objects.take(codes)
    except MemoryError:
        raise MemoryError(f"{codes.size:,} strings in an array of {objects.dtype} take {objects.itemsize:,} bytes "
                          f'each, the size of the longest: pass results="string" or "codes"') from None
    if failed is not None:
        found[failed] = "" if objects.dtype.kind in "UT" else None
    absent = next((k for k, item in enumerate(shape.table) if item is None), None)
    if absent is None or form.none != "masked" or objects.dtype.kind == "T":
        return found
    return np.ma.MaskedArray(found, codes == absent)


def _categorical(shape: Labels, codes: Array, failed: npt.NDArray[Any] | None) -> Codes:
    """Codes with -1 for None and for failing lanes, and the objects that they stand for."""
    kept = [item for item in shape.table if item is not None]
    number = iter(range(len(kept)))
    positions = np.array([-1 if item is None else next(number) for item in shape.table])
    found = positions.take(codes)
    if failed is not None:
        found[failed] = -1
    return Codes(found, _objects(kept, PLAIN))


def with_none(shape: Maybe, parts: Sequence[Array], where: npt.NDArray[np.bool_], form: Form) -> Array | None:
    """An array of objects, None where it says so; None for other forms, where nan is written into `parts`."""
    if form.none == "object" or is_dated(shape.inner):
        return _lane_objects(shape.inner, parts, where)
    if form.none == "nan":
        if not holds_only_floats(shape.inner):
            raise refuse("flatten/result-kind", 'none="nan": a result is int, bool or an object, which is never nan',
                         help='use none="masked" or none="object"')
        for part in parts:
            if part.dtype.kind == "f":
                part[where] = np.nan
    return None


def planned(shape: Maybe, part: Array, where: npt.NDArray[np.bool_], form: Form) -> Array:
    """One number by lane, or what stands for None, as an array of the same shape."""
    found = with_none(shape, [part.reshape(-1)], where.reshape(-1), form)
    if found is not None:
        return found.reshape(part.shape)
    return np.ma.MaskedArray(part, where) if form.none == "masked" else part


def _lane_objects(shape: Shape, parts: Sequence[Array], where: npt.NDArray[np.bool_]) -> Array:
    """What the original returns in each lane."""
    found = np.empty(len(where), object)
    if isinstance(shape, Leaf):
        found[:] = parts[0].tolist()
        found[where] = None
        return found
    rows = zip(*(part.tolist() for part in parts), strict=True) if parts else iter([()] * len(where))
    for lane, (row, missing) in enumerate(zip(rows, where.tolist(), strict=True)):
        found[lane] = None if missing else rebuild(shape, iter(row))
    return found
