"""NumPy's routines in the machine code of a kernel: NumPy's own loops (`reductions`) or ours (`array_routines`) where
they do, else a call of Python with the GIL.

    made = function(array, number, ...)     arrays around the addresses, lengths and strides of the kernel

The function is Python's: it gives a number, an array in C's order, or None where it has raised, or would have warned.
Several parts of what it gives (`np.unique(x)`, `np.unique(x).shape[0]`) are one call.
An array that is not returned is copied, so that the next one takes its place.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from pyflat.ir.memory import Operand, operands_of, routine_function
from pyflat.ir.nodes import Block, Const, Item, Op, walk
from pyflat.ir.types import BOOL, FLOAT, MEMORY
from pyflat.targets.numba.emitter import Lane
from pyflat.targets.numba.kernels.array_routines import write_routine_of_vectors
from pyflat.targets.numba.kernels.boxes import slot
from pyflat.targets.numba.kernels.reductions import function_of, write_reduction
from pyflat.targets.numba.kernels.routine_calls import call_of
from pyflat.targets.numba.llvm import I1, I8, I32, I64, POINTER, element_at, i64, stack
from pyflat.targets.numba.python_objects import ALIGNED, DATA, SHAPE, WRITEABLE, address_of, call_python

if TYPE_CHECKING:
    from pyflat.targets.numba.kernels.operations import KernelOperations


# --- the machine code
def write_routine(code: KernelOperations, op: Op) -> Lane | None:
    """What it gives; its number, None where it makes an array."""
    extents, operands = operands_of(op.args, op.attr("operands"))
    dtypes = [code.places.of[operand.name].dtype if operand.name else "" for operand in operands]
    parts = [_array(code, operand) if operand.name else [code.lane(operand.numbers[0]).value] for operand in operands]
    found = function_of(op, dtypes)
    if found is not None:
        return write_reduction(code, op, found, parts, dtypes[0], lambda: _number(code, op, operands, parts))

    def otherwise() -> Lane | None:
        if op.kind is not MEMORY:
            return _number(code, op, operands, parts)
        _make(code, op, operands, parts, [code.lane(extent).value for extent in extents])
        return None

    call = call_of(op, dtypes)
    same = [each for each, leader in code.leaders.items() if leader is code.leaders.get(op)]
    if call is None or any(each.kind is MEMORY and each.attr("array") in code.returned for each in [op, *same]):
        return otherwise()
    return write_routine_of_vectors(code, op, call, parts, dtypes, otherwise)


def _array(code: KernelOperations, operand: Operand) -> list[Any]:
    """Address, lengths and strides of an array or a part of it."""
    b, place = code.builder, code.places.of[operand.name]
    lengths = [b.load(extent, typ=I64) for extent in place.extents] if place.slots else place.extents
    strides, size = list(place.strides), np.dtype(place.dtype).itemsize
    if not strides:
        step: Any = i64(size)
        for length in reversed(lengths):
            strides.insert(0, step)
            step = b.mul(step, length)
    address = b.ptrtoint(b.load(place.pointer, typ=POINTER) if place.slots else place.pointer, I64)
    if operand.axes is None:
        return [address, *lengths, *strides]
    rank, bounds = operand.rank, [code.lane(value).value for value in operand.numbers]
    steps: list[Any] = [i64(0)] * rank
    for axis, start, step, stride in zip(operand.axes, bounds[rank::2], bounds[rank + 1::2], strides, strict=True):
        address = b.add(address, b.mul(start, stride))
        if axis is not None:
            steps[axis] = b.mul(step, stride)
    return [address, *bounds[:rank], *steps]


def _number(code: KernelOperations, op: Op, operands: Sequence[Operand], parts: Sequence[list[Any]]) -> Lane:
    b, found = code.builder, stack(code.builder, code.e.scalars[op.kind])

    def read(made: Any) -> None:
        if op.kind is BOOL:
            value = b.icmp_signed("!=", _python(code, "PyObject_IsTrue", made), ir.Constant(I32, 0))
        else:
            value = _python(code, "PyFloat_AsDouble" if op.kind is FLOAT else "PyLong_AsLongLong", made)
        b.store(value, found)

    _called(code, op, operands, parts, read)
    return Lane(code.e, op.kind, b.load(found, typ=code.e.scalars[op.kind]))


def _make(code: KernelOperations, op: Op, operands: Sequence[Operand], parts: Sequence[list[Any]],
          extents: Sequence[Any]) -> None:
    b, place = code.builder, code.places.of[op.attr("array")]
    data, fits = stack(b, POINTER), stack(b, I1)
    size: Any = i64(np.dtype(op.attr("dtype")).itemsize)
    for extent, value in zip(place.extents, extents, strict=True):
        b.store(value, extent)
        size = b.mul(size, value)
    returned = op.attr("array") in code.returned
    room = data if returned else code.room(op, b.add(size, i64(1)))

    def read(made: Any) -> None:
        shape = b.load(element_at(b, made, i64(SHAPE), I8), typ=POINTER)
        same: Any = ir.Constant(I1, 1)
        for axis, extent in enumerate(extents):
            same = b.and_(same, b.icmp_signed("==", slot(b, shape, axis, I64), extent))
        b.store(same, fits)
        elements = b.load(element_at(b, made, i64(DATA), I8), typ=POINTER)
        b.store(elements, data)
        if not returned:
            with b.if_then(same):
                _python(code, "memcpy", room, elements, size)

    _called(code, op, operands, parts, read)
    code.leave_if(b.not_(b.load(fits, typ=I1)))
    b.store(b.load(data, typ=POINTER) if returned else room, place.pointer)


def _called(code: KernelOperations, op: Op, operands: Sequence[Operand], parts: Sequence[list[Any]],
            read: Callable[[Any], None]) -> None:
    """The call; `read` writes what is done with the object that it gives. The flags of the processor that it leaves are
    not the kernel's."""
    b, made = code.builder, stack(code.builder, POINTER)
    if code.leaders.get(op, op) is not op:
        operands, parts = [], []
    code.note_flags()
    held = _python(code, "PyGILState_Ensure")
    objects = [_object(code, operand, part) for operand, part in zip(operands, parts, strict=True)]
    given = stack(b, POINTER, max(len(objects), 1))
    there: Any = ir.Constant(I1, 1)
    for number, each in enumerate(objects):
        b.store(each, slot(b, given, number, None))
        there = b.and_(there, _is_set(b, each))
    b.store(ir.Constant(POINTER, None), made)
    with b.if_then(there):
        function = _known(code, f"function_{code.sites.index(op)}", routine_site(code, op))
        count, names = i64(len(objects)), ir.Constant(POINTER, None)
        b.store(_python(code, "PyObject_Vectorcall", function, given, count, names), made)
    found = b.load(made, typ=POINTER)
    good = b.and_(_is_set(b, found), b.icmp_unsigned("!=", b.ptrtoint(found, I64),
                                                     b.ptrtoint(_known(code, "None", None), I64)))
    with b.if_then(good):
        read(found)
    raised = _is_set(b, _python(code, "PyErr_Occurred"))  # by what makes an argument, or reads a number
    _python(code, "PyErr_Clear")
    for each in [*objects, found]:
        _python(code, "Py_DecRef", each)
    _python(code, "PyGILState_Release", held)
    code.clear_flags()
    code.leave_if(b.or_(b.not_(good), raised))


def _object(code: KernelOperations, operand: Operand, part: list[Any]) -> Any:
    """A new object for an operand."""
    b = code.builder
    if not operand.name:
        value = part[0]
        if value.type == I1:
            return _python(code, "PyBool_FromLong", b.zext(value, I64))
        return _python(code, "PyLong_FromLongLong" if value.type == I64 else "PyFloat_FromDouble", value)
    rank, dtype = len(part) // 2, code.places.of[operand.name].dtype
    numbers = stack(b, I64, 2 * rank + 1)
    for number, value in enumerate(part[1:]):
        b.store(value, slot(b, numbers, number, None))
    descr = _known(code, f"dtype_{dtype}", np.dtype(dtype))
    _python(code, "Py_IncRef", descr)  # which the array owns
    return _python(code, "PyArray_NewFromDescr", _known(code, "ndarray", np.ndarray), descr, ir.Constant(I32, rank),
                   numbers, slot(b, numbers, rank, None), b.inttoptr(part[0], POINTER),
                   ir.Constant(I32, ALIGNED | WRITEABLE), ir.Constant(POINTER, None))


def _known(code: KernelOperations, name: str, value: object) -> Any:
    """An object of this process, by a name."""
    name = f"pyflat_python_{name}"
    found = code.module.globals.get(name)
    if found is None:
        found = ir.GlobalVariable(code.module, I8, name)
        code.symbols[name] = id(value)
        code.symbols.kept.append(value)
    return found


def _python(code: KernelOperations, name: str, *arguments: Any) -> Any:
    return call_python(code.builder, code.symbols, name, *arguments)


def _is_set(b: ir.IRBuilder, pointer: Any) -> Any:
    return b.icmp_unsigned("!=", b.ptrtoint(pointer, I64), i64(0))


# --- what is called
class RunningCall:
    """A call of a kernel under way: what its sites are, the arrays that it has made by their addresses, and what Python
    has raised. Python's functions that the kernel `calls` raise what NumPy warns of, in a call that is to `watch`."""

    __slots__ = ("asked", "errors", "made", "sites", "state")

    def __init__(self, sites: Sequence[Any], watch: bool, calls: bool):
        self.sites = sites
        self.state = np.errstate(all="raise" if watch else "ignore", under="ignore") if calls else None
        self.made: dict[int, Any] = {}
        self.asked: dict[Op, Any] = {}
        """What the last call gave of which several parts are asked for."""
        self.errors: list[BaseException] = []

    def __enter__(self) -> RunningCall:
        THREAD.calls.append(self)
        if self.state is not None:
            self.state.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        if self.state is not None:
            self.state.__exit__(*raised)
        THREAD.calls.pop()
        if self.errors and raised[0] is None:
            raise self.errors[0]

    def keep(self, array: Any) -> int:
        address = address_of(array) or id(array)
        self.made[address] = array
        return address


class _Thread(threading.local):
    def __init__(self) -> None:
        self.calls: list[RunningCall] = []


THREAD = _Thread()
"""The calls under way in this thread, one inside the other."""


def leaders(body: list[Item]) -> dict[Op, Op]:
    """Routines that are parts of what an earlier one of their block gives, for the same operands, and that one; it
    itself, too."""
    found: dict[Op, Op] = {}
    for block in walk(body):
        first: dict[Any, list[Op]] = {}
        for op in block.ops if isinstance(block, Block) else ():
            if op.opcode == "routine":
                text, specs = _parted(op.attr("routine"))[0], op.attr("operands")
                given = tuple(arg.key if isinstance(arg, Const) else arg
                              for arg in op.args[len(operands_of(op.args, specs)[0]):])
                first.setdefault((text, specs, given), []).append(op)
        found.update((op, same[0]) for same in first.values() if len(same) > 1 for op in same)
    return found


def _parted(text: str) -> tuple[str, str]:
    """A call, and the part of it that is asked for."""
    found = re.fullmatch(r"(.*?\))((?:\[\d+\])?(?:\.shape\[\d+\])?)", text)
    return (found[1], found[2]) if found else (text, "")


def routine_site(code: KernelOperations, op: Op) -> Callable[..., Any]:
    """The function that is called: of arrays and Python's numbers, which it makes NumPy's where they were."""
    text, dtype, leader = op.attr("routine"), op.attr("dtype"), code.leaders.get(op)
    text, part = (text, "") if leader is None else _parted(text)
    function, part_of = routine_function(text), routine_function(f"{{}}{part}")
    numbers = [(k, each.dtype) for k, each in enumerate(operands_of(op.args, op.attr("operands"))[1]) if not each.name]
    scalars = {k: np.dtype(dtype).type for k, dtype in numbers if dtype}
    kept = op.kind is MEMORY and op.attr("array") in code.returned

    def call(*given: Any) -> Any:
        try:
            if leader is None or leader is op:
                if scalars:
                    given = tuple(scalars[k](x) if k in scalars else x for k, x in enumerate(given))
                whole = function(*given)
                if leader is op:
                    THREAD.calls[-1].asked[op] = whole
            else:
                whole = THREAD.calls[-1].asked[leader]
            made = part_of(whole)
            if op.kind is not MEMORY:
                return None if isinstance(made, np.uint64) and made >> np.uint64(63) else made
            made = np.ascontiguousarray(made)
            if made.dtype != dtype:
                return None
            if kept:
                THREAD.calls[-1].keep(made)
            return made
        except Exception:  # noqa: BLE001 - whatever it is: the original raises it
            return None
        except BaseException as error:  # noqa: BLE001 - Ctrl-C: the machine code in between must end first
            THREAD.calls[-1].errors.append(error)
            return None

    return call
