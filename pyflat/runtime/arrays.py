"""From the lane values of a call to the inputs of an engine, and from its outputs to the caller's form."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.errors import InternalError, refuse
from pyflat.frontend.callables import Callee, Parameters
from pyflat.functions.stacking import DATES, date_lanes
from pyflat.ir.formats import F8, FloatFormat, dtypes
from pyflat.ir.shape import (
    Fixed,
    Labels,
    Leaf,
    Maybe,
    Ragged,
    Record,
    Shape,
    Texts,
    is_text,
    leaves,
    make_record,
    objects,
    record_of,
)
from pyflat.ir.types import INT, INT_MAX, INT_MIN, Kind, kind_of
from pyflat.runtime.arguments import SCALARS, ClassifiedCall
from pyflat.runtime.faults import Part
from pyflat.runtime.labels import PLAIN, Codes, Form, as_labels, of_codes, with_none
from pyflat.runtime.settings import Options
from pyflat.targets.operands import Operand, Spread, as_signed, beyond_int64, operand

MAX_AXES = 32
"""What `np.broadcast_shapes` takes; arrays may have 64."""

Array = npt.NDArray[Any]
Lane = Array | np.generic


@dataclass(frozen=True, slots=True)
class Lanes:
    """What an engine runs over. `suspect` marks lanes whose argument no int64 holds. `scalars` says what the
    caller gets back: "python" or "numpy" scalars, or "" for arrays of `shape`: in Fortran's order where `fortran`, as
    all arguments lie. Lanes are counted in C order, or, where they are `turned`, as they lie."""

    inputs: list[Any]
    count: int
    shape: tuple[int, ...]
    scalars: str
    suspect: npt.NDArray[np.bool_] | None
    floats: FloatFormat = F8
    fortran: bool = False
    turned: bool = False
    form: Form = PLAIN

    def in_memory_order(self) -> Lanes:
        """These lanes as they lie in Fortran's order; these themselves where they do not, or were copied."""
        if not self.fortran or self.suspect is not None or not any(isinstance(a, Spread) for a in self.inputs):
            return self
        if any(isinstance(a, np.ndarray) for a in self.inputs):
            return self
        inputs = [a.array.T.reshape(-1) if isinstance(a, Spread) else a for a in self.inputs]
        return dataclasses.replace(self, inputs=inputs, turned=True)

    def in_c_order(self, flat: Array) -> Array:
        """One number for each lane, as they are counted here, counted in C order."""
        return self.shaped(flat).reshape(-1) if self.turned else flat

    def shaped(self, flat: Array) -> Array:
        """One number for each lane as an array of the call."""
        if self.turned:
            return flat.reshape(self.shape[::-1]).T
        whole = flat.reshape(self.shape)
        return np.asfortranarray(whole) if self.fortran else whole

    def returned(self, flat: Array) -> Any:
        """The numbers as the caller gets them."""
        if self.scalars:
            return flat[0] if self.scalars == "numpy" else flat[0].item()
        return self.shaped(flat)


def prepare(
    call: ClassifiedCall, outputs: Mapping[str, Array] | None = None, *, convert: bool = True, form: Form = PLAIN
) -> Lanes:
    """Broadcast the lane values as NumPy does, with the arrays of `out=`. The inputs are never written; what fits
    already is not copied. Unless `convert`, arrays stay as they are, for an engine that converts them."""
    sizes = [v.shape for v in (*call.values, *(outputs or {}).values()) if isinstance(v, np.ndarray)]
    shape = _broadcast(call, outputs or {}) if any(sizes) else ()
    has_numpy = bool(sizes) or any(isinstance(v, np.generic) for v in call.values)
    scalars = "" if shape else "numpy" if has_numpy else "python"
    count = 1
    for extent in shape:
        count *= extent
    suspect: npt.NDArray[np.bool_] | None = None
    inputs: list[Any] = []
    for value, kind in zip(call.values, call.kinds, strict=True):
        lane, beyond = _lane(value, dtypes(call.floats)[kind], kind, shape, count, convert)
        inputs.append(lane)
        if beyond is not None:
            whole = np.zeros(count, np.bool_)
            whole[:] = beyond
            suspect = whole if suspect is None else suspect | whole
    fortran = not outputs and _lie_in_fortran_order(call.values)
    return Lanes(inputs, count, shape, scalars, suspect, call.floats, fortran, form=form)


def broadcast(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape. ValueError where there is none, or where NumPy does not tell: it computes with arrays of up to
    64 axes, and `broadcast_shapes` takes 32."""
    distinct = set(shapes.values())
    if len(distinct) == 1:
        return distinct.pop()
    for name, shape in shapes.items():
        if len(shape) > MAX_AXES:
            raise ValueError(f"argument {name!r} has {len(shape)} axes: up to {MAX_AXES} are broadcast")
    try:
        return np.broadcast_shapes(*distinct)
    except ValueError:
        shown = ", ".join(f"{name} has {shape}" for name, shape in shapes.items())
        raise ValueError(f"the arguments cannot be broadcast together: {shown}") from None


def _lie_in_fortran_order(values: Sequence[Any]) -> bool:
    """Whether the arrays with axes have one shape and lie in Fortran's order, and not in C's as well."""
    arrays = [value for value in values if isinstance(value, np.ndarray) and value.ndim]
    return bool(arrays) and all(a.flags.fnc and a.shape == arrays[0].shape for a in arrays)


def _broadcast(call: ClassifiedCall, outputs: Mapping[str, Array]) -> tuple[int, ...]:
    shapes = {n: v.shape for n, v in zip(call.names, call.values, strict=True) if isinstance(v, np.ndarray)}
    return broadcast(shapes | {name: array.shape for name, array in outputs.items()})


def _lane(value: Any, dtype: np.dtype[Any], kind: Kind, shape: tuple[int, ...], count: int, convert: bool
          ) -> tuple[Operand, Any]:
    """The engine's form of one leaf, and where it is beyond int64 (a bool, a mask, or None)."""
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        return dtype.type(0), True
    if not isinstance(value, np.ndarray) or (value.size == 1 and (count > 1 or not shape)):
        number = value.item() if isinstance(value, np.ndarray | np.generic) else value
        if kind is INT and number > INT_MAX:
            return dtype.type(0), True
        return dtype.type(number), None
    beyond = None
    if value.dtype.kind == "u" and value.dtype.itemsize == 8:
        if beyond_int64(value):
            large = value > INT_MAX
            beyond = np.broadcast_to(large, shape).reshape(count)
            value = np.where(large, 0, value)
        value = value.view(as_signed(value.dtype))
    if not convert:
        return operand(value, shape), beyond
    with np.errstate(all="ignore"):
        value = value.astype(dtype, copy=False)
    lane = np.ascontiguousarray(np.broadcast_to(value, shape)).reshape(count)
    return (lane if lane.flags.aligned else lane.copy()), beyond


def blank(leaves: Sequence[Array], failed: npt.NDArray[Any]) -> None:
    """Write what stands for no value into the failing lanes: nan, 0 or False."""
    for leaf in leaves:
        leaf[failed] = BLANK[leaf.dtype.kind]


BLANK: dict[str, Any] = {"f": float("nan"), "i": 0, "b": False}


def collect(shape: Shape, leaves: Sequence[Array], lanes: Lanes, failed: npt.NDArray[Any] | None = None,
            out: Any = None) -> Any:
    """The Python value of a call: leaf arrays in the caller's form, in the structure of the result. `failed` are
    the flat indices of lanes without a value: numbers that are the same in all other lanes are blank there. Where `out`
    has arrays, the values are put there."""
    return _collected(shape, iter(leaves), lanes, failed if failed is not None and len(failed) else None, out)


def _collected(shape: Shape, source: Iterator[Array], lanes: Lanes, failed: npt.NDArray[Any] | None, out: Any) -> Any:
    if isinstance(out, np.ndarray):
        return _put(_collected(shape, source, lanes, failed, None), out)
    match shape:
        case Leaf():
            return lanes.returned(next(source))
        case Record() if shape.cls is complex:
            return _complex([next(source) for _ in shape.items], lanes)
        case Labels():
            return _labels(shape, next(source), lanes, failed)
        case Ragged() | Texts() if isinstance(shape, Ragged) or shape.mixed and lanes.form.results != "codes":
            return _objects(shape, [next(source) for _ in leaves(shape)], lanes, failed)
        case Texts() | Record() if is_text(shape):
            return _labels(*as_labels(shape, [next(source) for _ in leaves(shape)], failed), lanes, failed)
        case Maybe():
            return _maybe(shape, source, lanes, failed)
        case Record() if shape.cls is np.uint64:
            return lanes.returned(next(source).view(np.uint64))
        case Record() if shape.cls in DATES:
            return _dates(shape, source, lanes, failed)
        case Record():
            outs = out or itertools.repeat(None)
            items = [_collected(item, source, lanes, failed, o) for item, o in zip(shape.items, outs, strict=False)]
            return _record(shape, items, direct=bool(lanes.scalars != "python" or failed is not None))
        case Fixed():
            return _constant(shape.value, lanes, failed, out)
    raise InternalError(f"not a shape: {shape!r}")


def _objects(shape: Ragged | Texts, parts: Sequence[Array], lanes: Lanes, failed: npt.NDArray[Any] | None) -> Any:
    """Lists, or numbers beside other objects; None in failing lanes."""
    wanted = np.ones(len(parts[0]), np.bool_)
    if failed is not None:
        wanted[failed] = False
    found = objects(shape, parts, wanted)
    if lanes.scalars:
        return found[0]
    none = shape.code(None) if isinstance(shape, Texts) and lanes.form.none == "masked" else None
    return lanes.shaped(found if none is None else np.ma.MaskedArray(found, parts[0] == none))


def _labels(shape: Labels, codes: Array, lanes: Lanes, failed: npt.NDArray[Any] | None) -> Any:
    """The objects that codes stand for."""
    if lanes.scalars == "python":
        return None if failed is not None else shape.table[codes[0]]
    found = of_codes(shape, codes, lanes.form, failed)
    if isinstance(found, Codes):
        return Codes(found.codes[0] if lanes.scalars else lanes.shaped(found.codes), found.categories)
    return found[0] if lanes.scalars else lanes.shaped(found)


def _maybe(shape: Maybe, source: Iterator[Array], lanes: Lanes, failed: npt.NDArray[Any] | None) -> Any:
    """The values of `shape.inner`, and what stands for None as the options say."""
    parts = [next(source) for _ in leaves(shape.inner)]
    where = next(source)
    if lanes.scalars:
        return None if where[0] else _collected(shape.inner, iter(parts), lanes, failed, None)
    if failed is not None:
        where = where.copy()
        where[failed] = lanes.form.none == "object"
    objects = with_none(shape, parts, where, lanes.form)
    if objects is not None:
        return lanes.shaped(objects)
    found = _collected(shape.inner, iter(parts), lanes, failed, None)
    return _masked(shape.inner, found, lanes.shaped(where)) if lanes.form.none == "masked" else found


def _masked(shape: Shape, value: Any, where: npt.NDArray[Any]) -> Any:
    """Every array of a result with a mask."""
    if isinstance(value, np.ndarray) and value.shape[: where.ndim] == where.shape:
        mask = np.broadcast_to(where.reshape(where.shape + (1,) * (value.ndim - where.ndim)), value.shape)
        return np.ma.MaskedArray(value, np.ma.getmaskarray(value) | mask)
    if not isinstance(shape, Record):
        return value
    parts = record_of(value)
    items = parts[2] if parts is not None else ()
    masked = [_masked(inner, item, where) for inner, item in zip(shape.items, items, strict=True)]
    return _record(shape, masked, direct=True)


def _put(value: Any, out: Array) -> Array:
    """Values in an array of the caller's, where an engine may have written them already."""
    if not np.may_share_memory(value, out):
        with np.errstate(all="ignore"):
            np.copyto(out, value, casting="same_kind")
    return out


def _dates(shape: Record, leaves: Iterator[Array], lanes: Lanes, failed: npt.NDArray[Any] | None) -> Any:
    """Dates as objects; None in failing lanes."""
    found = [next(leaves) if isinstance(item, Leaf) else item for item in shape.items]
    made = date_lanes(shape.cls, [part.value if isinstance(part, Fixed) else part for part in found])
    if failed is not None:
        made[failed] = None
    return made[0] if lanes.scalars else lanes.shaped(made)


def _complex(parts: Sequence[Array], lanes: Lanes) -> Any:
    """Complex lanes from real and imaginary parts; arithmetic would lose signed zeros and make nan of infinities.
    The third part, where there is one, says which lanes are complex: a single lane that is not is a float."""
    real, imag, *is_complex = parts
    if lanes.scalars and is_complex and not is_complex[0][0]:
        return lanes.returned(real)
    whole = np.empty(lanes.count, np.complex128 if lanes.floats is F8 else np.complex64)
    whole.real, whole.imag = real, imag
    return lanes.returned(whole)


def _record(shape: Record, items: list[Any], *, direct: bool) -> Any:
    """Arrays do not go through `__post_init__`: it is part of the function, and ran lane by lane."""
    if not dataclasses.is_dataclass(shape.cls) or not direct or not hasattr(shape.cls, "__post_init__"):
        return make_record(shape.cls, shape.names, items)
    made = object.__new__(shape.cls)
    for name, item in zip(shape.names, items, strict=True):
        object.__setattr__(made, name, item)
    return made


def _constant(value: Any, lanes: Lanes, failed: npt.NDArray[Any] | None, out: Any = None) -> Any:
    """A result that is the same in every lane: numbers are spread over the lanes, other objects are themselves."""
    if isinstance(value, tuple) and type(value) is not tuple and not hasattr(value, "_fields"):
        return value
    if isinstance(value, tuple):
        outs = out or itertools.repeat(None)
        items = [_collected(Fixed(item), iter(()), lanes, failed, o) for item, o in zip(value, outs, strict=False)]
        return make_record(type(value), (), items)
    number = value.item() if isinstance(value, np.generic) else value
    if type(number) is complex and (lanes.scalars != "python" or failed is not None):
        parts = np.full((2, lanes.count), [[number.real], [number.imag]])
        if failed is not None:
            blank(list(parts), failed)
        return _complex(list(parts), lanes)
    if type(number) not in SCALARS:
        return number
    if isinstance(number, float):
        number = lanes.floats.rounded(number)
    if lanes.scalars == "python" and failed is None:
        return number
    kind = kind_of(number)
    if kind is None:
        raise refuse("flatten/int-too-large", f"the result {number!r} does not fit into 64 bits")
    spread = np.full(lanes.count, number, dtypes(lanes.floats)[kind])
    if failed is not None:
        blank([spread], failed)
    return lanes.returned(spread)


# --- what the parts of one call share: the function, its arguments, the options in force, the lanes, and `out=`

@dataclass(frozen=True, slots=True)
class CallContext:
    """One call of a twin."""

    callee: Callee
    parameters: Parameters
    call: ClassifiedCall
    lanes: Lanes
    options: Options
    out: Any = None
    part: Part | None = None
    """The larger call that this one is a part of."""
