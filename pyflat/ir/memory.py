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
lanes of the kinds that there are: `rounded` rounds to a narrow float format (an int of 64 bits at once), `fitted`
faults where an int leaves its dtype, in which NumPy would wrap around with a warning. `divide` is NumPy's division of
floats, which never raises.
`u_add`, `u_shr`, `u_float` and the like are operations of uint64, whose 64 bits an int has; the first ones wrap around.
`has_dtype` asks whether a number of one of several dtypes has this one; it is in no finished kernel, where bools that
nodes carry say so (`frontend.kernels.results`).
`narrow` is a function of float32, which has digits of its own: `%y = narrow %x {function = "exp"} : f8`.

`routine` calls NumPy itself on arrays in memory, for what has bits that only NumPy's code has:

      %s = routine %a {array = ""} {dtype = "f8"} {operands = (("a", 1, None))} {routine = "np.sum({})"} : f8
      %c = routine %n, %a, %n, 0, 1, %i, 0 {array = "array 1"} {dtype = "f8"} {operands = (("a", 1, (0, None)))}
             {routine = "np.cumsum({})"} : mem

Where it makes an array, its arguments begin with the lengths of that one's axes. Then come, for each of `operands`,
the memory and, unless it is a whole array, the lengths of the view's axes, and the start and the step of each axis in
memory (("a", rank of the view, (its axis for each axis in memory, or None))); or a number (("", its dtype, "" for
Python's own)). Where NumPy raises or warns, it faults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from pyflat.functions import array_lanes, narrow_functions, uint64_lanes
from pyflat.functions.records import Accuracy, Adds, Outside
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY, Kind

# --- a row of the operation table (`ir.ops` says what its columns mean)

_ONE = Adds(1)
Signature = tuple[tuple[Kind, ...], Kind]


@dataclass(frozen=True, slots=True)
class Primitive:
    name: str
    signatures: tuple[Signature, ...]
    python: Callable[..., Any]
    faults: tuple[Outside, ...] | str = ""
    accuracy: Accuracy = Accuracy.EXACT
    operator: str = ""
    native: tuple[tuple[Kind, ...], ...] = ()
    cost: Adds = _ONE
    rounding: str = ""
    ufunc: str = ""
    commutes: bool = False
    low_bits: bool = False
    opposite: str = ""
    mirrored: str = ""
    written: tuple[str, ...] = ()

    def result_kind(self, kinds: tuple[Kind, ...]) -> Kind | None:
        for operands, result in self.signatures:
            if operands == kinds:
                return result
        return None


MAX_RANK = 8
WRAPPING = ("u_add", "u_sub", "u_mul")
"""Operations of uint64 at whose overflows NumPy warns."""
UNSIGNED = frozenset({"u_shl", "u_shr", "u_div", "u_mod", "u_float"})
"""The other ones."""


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """An array as an argument of a kernel. Its parameters: the memory, where no argument before has it, and the length
    of each axis. Arguments of one number `memory` overlap. `native`: in the machine's byte order."""

    dtype: str
    rank: int
    memory: int
    native: bool = True


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


def _rounded(x: float | int, dtype: str) -> float:
    with np.errstate(all="ignore"):
        return float(np.dtype(dtype).type(np.int64(x) if isinstance(x, int) else x))


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
    Primitive("divide", (((FLOAT, FLOAT), FLOAT),), _divided, ufunc="divide", cost=Adds(4)),
    Primitive("rounded", (((FLOAT,), FLOAT), ((INT,), FLOAT)), _rounded),
    Primitive("narrow", (((FLOAT,), FLOAT), ((FLOAT, FLOAT), FLOAT)), narrow_functions.python, cost=Adds(100)),
    Primitive("fitted", (((INT,), INT),), _fitted, faults="fitted"),
    *(Primitive(name, (((INT, INT), INT),), getattr(uint64_lanes, name)) for name in WRAPPING),
    *(Primitive(name, (((INT, INT), INT),), getattr(uint64_lanes, name)) for name in ("u_shl", "u_shr")),
    *(Primitive(name, (((INT, INT), INT),), getattr(uint64_lanes, name), faults="zero_divisor")
      for name in ("u_div", "u_mod")),
    Primitive("has_dtype", tuple(((kind,), BOOL) for kind in _SCALARS), _unbound),
    Primitive("u_float", (((INT,), FLOAT),), uint64_lanes.u_float),
    Primitive("routine", (), _unbound, faults="always", cost=Adds(4000)),
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


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a routine. `name`: the array, "" for a number; `dtype` of a number: NumPy's, "" for Python's.
    `axes` is None for a whole array, which has no `numbers`."""

    name: str
    memory: Any
    numbers: tuple[Any, ...]
    rank: int = 0
    axes: tuple[int | None, ...] | None = None
    dtype: str = ""


def operands_of(args: Sequence[Any], specs: Sequence[Any]) -> tuple[tuple[Any, ...], list[Operand]]:
    """The lengths of the axes of what a routine makes, and its operands, from its arguments."""
    left, found = list(args), list[Operand]()
    for name, *rest in reversed(specs):
        if not name:
            found.append(Operand("", None, (left.pop(),), dtype=rest[0]))
            continue
        rank, axes = rest
        count = 0 if axes is None else rank + 2 * len(axes)
        numbers = tuple(left[len(left) - count:])
        del left[len(left) - count:]
        found.append(Operand(name, left.pop(), numbers, rank, axes))
    return tuple(left), found[::-1]


def extents_made(op: Any) -> tuple[Any, ...]:
    """The lengths of the axes of the array that an `alloc` or a `routine` makes."""
    return tuple(op.args[:-1]) if op.opcode == "alloc" else operands_of(op.args, op.attr("operands"))[0]


def arrays_read(op: Any) -> list[str]:
    """The arrays of which an operation reads elements."""
    if op.opcode == "routine":
        return [spec[0] for spec in op.attr("operands") if spec[0]]
    return [op.attr("array")] if op.opcode == "load" else []


@cache
def routine_function(text: str) -> Callable[..., Any]:
    """What a routine calls, as a function of its operands."""
    names = [f"operand_{number}" for number in range(text.count("{}"))]
    made: Callable[..., Any] = eval(f"lambda {', '.join(names)}: {text.format(*names)}", {"np": np, "s": array_lanes})
    return made


def _routine(args: list[Any], array: str, dtype: str, operands: Any, routine: str) -> Any:
    given: list[Any] = []
    for operand in operands_of(args, operands)[1]:
        if not operand.name:
            given.append(np.dtype(operand.dtype).type(operand.numbers[0]) if operand.dtype else operand.numbers[0])
            continue
        whole = operand.memory[operand.name]
        given.append(whole if operand.axes is None else array_lanes.part(
            whole, operand.numbers, operand.rank, operand.axes))
    with np.errstate(all="raise", under="ignore"):
        made = routine_function(routine)(*given)
    return {array: made} if array else np.asarray(made).item()


ACCESSES: dict[str, Callable[..., Any]] = {"load": _load, "store": _store, "alloc": _alloc,
                                           "routine": _routine}
"""What they do in the interpreter, where a memory is a dict of arrays by their names, written in place: the code uses
each memory once, in order."""


_MAY_WARN = frozenset({"add", "sub", "mul", "divide", "truediv", "rounded", "narrow"})


def may_warn(opcode: str, kind: Kind) -> bool:
    """An operation of floats at whose overflows, nans and divisions by zero NumPy warns, or one of uint64 that may
    overflow."""
    return opcode in WRAPPING or kind is FLOAT and (opcode in _MAY_WARN or opcode.startswith("np_"))


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
