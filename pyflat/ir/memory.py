"""Arrays in the language: memory that is loaded from and stored to.

A *kernel* is a function some of whose parameters are arrays. What its arrays hold is a value of the kind MEMORY, which
goes through nodes like any other: `store` takes one and gives the next, `load` reads the one that it is given. So order
is data flow, equal loads of one memory are one value, and no pass needs to know what aliases what.

    func @f(%a: mem, %n: i8, %b: mem) -> (mem) structured @return {
      %i = index 0, %n : i8                                      Python's rule: negative counts from the end
      %x = load %a, %i {array = "a"} {dtype = "f4"} : f8         a float32 element, as the float64 that it is
      %y = mul %x, %x : f8
      %z = rounded %y {dtype = "f4"} : f8                        arithmetic of float32 is that of float64, rounded
      %b.1 = store %b, %i, %z {array = "b"} {dtype = "f4"} : mem
      yield %b.1
    }

Arrays that overlap share one memory, and `array` says which of them is meant. The indices of `load` and `store` are
inside: `index` has seen to it, an operation that faults as Python does. `alloc` makes an array of this shape; its last
operand is what the elements are, undefined after `np.empty`. The numbers of NumPy's narrow dtypes are
lanes of the kinds that there are: `rounded` rounds to a narrow float format, `fitted` faults where an int leaves its
dtype, in which NumPy would wrap around with a warning. `divide` is NumPy's division of floats, which never raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyflat.functions.records import Adds
from pyflat.ir.primitive import Primitive
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY, Kind

MAX_RANK = 8


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """An array as an argument of a kernel. Its parameters: the memory, where no argument before has it, and the length
    of each axis. Arguments of one number `memory` overlap."""

    dtype: str
    rank: int
    memory: int


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A NumPy scalar of a dtype as an argument of a kernel; a number of Python's is a `shape.Leaf`."""

    dtype: str


_SCALARS = (BOOL, INT, FLOAT)
_INDICES = [(INT,) * rank for rank in range(MAX_RANK + 1)]


def _unbound(*_: Any, **__: Any) -> Any:
    raise AssertionError("the interpreter has the memory")


def _index(position: int, size: int) -> int:
    if not -size <= position < size:
        raise IndexError(f"index {position} is out of bounds for axis with size {size}")
    return position + size if position < 0 else position


def _divided(x: float, y: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(x) / np.float64(y))


def _rounded(x: float, dtype: str) -> float:
    with np.errstate(all="ignore"):
        return float(np.dtype(dtype).type(x))


def _fitted(x: int, dtype: str) -> int:
    limits = np.iinfo(dtype)
    if not limits.min <= x <= limits.max:
        raise OverflowError(f"{x} is no {dtype}")
    return x


MEMORY_OPERATIONS: dict[str, Primitive] = {row.name: row for row in (
    Primitive("index", (((INT, INT), INT),), _index, faults="position"),
    Primitive("load", tuple(((MEMORY, *ints), kind) for ints in _INDICES for kind in _SCALARS), _unbound),
    Primitive("store", tuple(((MEMORY, *ints, kind), MEMORY) for ints in _INDICES for kind in _SCALARS), _unbound),
    Primitive("alloc", tuple(((*ints, kind), MEMORY) for ints in _INDICES for kind in _SCALARS), _unbound),
    Primitive("divide", (((FLOAT, FLOAT), FLOAT),), _divided, cost=Adds(4)),
    Primitive("rounded", (((FLOAT,), FLOAT),), _rounded),
    Primitive("fitted", (((INT,), INT),), _fitted, faults="fitted"),
)}


def _load(args: list[Any], array: str, dtype: str) -> Any:
    memory, *place = args
    found = memory[array][tuple(place)]
    return found.astype(np.int64).item() if dtype == "u8" else found.item()


def _store(args: list[Any], array: str, dtype: str) -> Any:
    memory, *place, value = args
    with np.errstate(all="ignore"):
        memory[array][tuple(place)] = np.asarray(value).astype(dtype)
    return memory


def _alloc(args: list[Any], array: str, dtype: str) -> Any:
    *shape, value = args
    with np.errstate(all="ignore"):
        return {array: np.full(shape, value, dtype)}


ACCESSES: dict[str, Callable[..., Any]] = {"load": _load, "store": _store, "alloc": _alloc}
"""What they do in the interpreter, where a memory is a dict of arrays by their names, written in place: the code uses
each memory once, in order."""


_MAY_WARN = frozenset({"add", "sub", "mul", "divide", "truediv", "rounded"})


def may_warn(opcode: str, kind: Kind) -> bool:
    """An operation of floats at whose overflows, nans and divisions by zero NumPy warns."""
    return kind is FLOAT and (opcode in _MAY_WARN or opcode.startswith("np_"))


def kind_of_dtype(dtype: np.dtype[Any]) -> Kind | None:
    """The kind of the elements of an array, None where the language has none."""
    if dtype.kind == "b":
        return BOOL
    if dtype.kind in "iu":
        return INT
    return FLOAT if dtype.kind == "f" and dtype.itemsize in (4, 8) else None


def overlaps_itself(array: Any) -> bool:
    """Two indices may be the same element, which can be written: windows that slide, made by `as_strided`."""
    if array.flags.c_contiguous or array.flags.f_contiguous or not array.flags.writeable:
        return False
    reach = array.itemsize
    steps = [(abs(stride), extent) for stride, extent in zip(array.strides, array.shape, strict=True) if extent > 1]
    for stride, extent in sorted(steps):
        if stride < reach:
            return True
        reach += stride * (extent - 1)
    return False
