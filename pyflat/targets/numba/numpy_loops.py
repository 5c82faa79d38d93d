"""Calls of a NumPy ufunc's own loop from compiled code: the bits that the ufunc gives in NumPy.

A loop is a C function `void loop(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data)`, kept
with its `data` in the ufunc object (`PyUFuncObject`, numpy/ufuncobject.h, whose layout is part of NumPy's ABI). NumPy
itself runs loops over numbers without the GIL.

Other packages' loops run a lane at a time. NumPy's own functions take a gang of lanes in one call, through buffers on
the stack, which is an order of magnitude faster where NumPy has vector code. A lane has the bits of the scalar call
`np.exp(x)` then too: that code computes each element by the same instructions, wherever it stands
(tests/targets/numba/test_numpy_loops.py). `np.power` alone looks at how it is called: with a stride of 0, as scalars
have it, some exponents take short cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from pyflat.functions import external_ufuncs, libm, narrow_functions
from pyflat.functions.lanes import LARGEST_SHORT_CUT
from pyflat.functions.originals import original
from pyflat.ir.nodes import Op
from pyflat.ir.ops import NUMPY_LOOPS
from pyflat.ir.types import FLOAT
from pyflat.targets.numba.emitter import Emitter, Lane
from pyflat.targets.numba.llvm import F32, F64, I8, I32, I64, POINTER, element_at, i64, set_lanes
from pyflat.targets.numba.symbols import loop_of

_TYPES = {"d": F64, "f": F32, "D": F64, "l": I64, "q": I64, "?": I8}
"""What a number of each of NumPy's letters is made of: one, or two for a complex one."""
_BYTES = {"f": 4, "D": 16, "?": 1}


class _Loop:
    """Writes calls of one loop."""

    def __init__(self, e: Emitter, stem: str, ufunc: np.ufunc, loop: str):
        self.e, self.builder = e, e.builder
        self.letters = loop.replace("->", "")
        self.kind = _TYPES[self.letters[-1]]
        self.sizes = [_BYTES.get(letter, 8) for letter in self.letters]
        function, data = loop_of(ufunc, loop)
        prototype = ir.FunctionType(ir.VoidType(), [POINTER] * 4)
        self.callee = self._external(stem, (ufunc, loop, 0), function,
                                     lambda module: ir.Function(module, prototype, stem))
        stem += "_data"
        self.data = ir.Constant(POINTER, None)
        if data:
            self.data = self._external(stem, (ufunc, loop, 1), data, lambda module: ir.GlobalVariable(module, I8, stem))

    def _external(self, name: str, which: tuple[np.ufunc, str, int], address: int, declare: Any) -> Any:
        """What lies at an address, by a name: so code may be kept for another process."""
        self.e.symbols.add_loop(name, *which, address)
        return self.builder.module.globals.get(name) or declare(self.builder.module)

    @property
    def filler(self) -> Any:
        """A number of all lanes of which no arithmetic raises a flag."""
        return self.e.splat(ir.Constant(self.kind, 1.0))

    def call(self, operands: Sequence[Any], strides: Sequence[int], result: ir.Type, count: Any) -> Any:
        """Run the loop on operands in memory; gives where the result is. There is room around it: NumPy 2.0 takes
        arrays that touch to overlap, and computes its own functions one by one then, with other bits."""
        room = self.e.place("result of a loop", ir.ArrayType(result, 3))
        places = [*operands, element_at(self.builder, room, i64(1), result)]
        raised = self._status("fetestexcept", ir.Constant(I32, libm.WATCHED)) if self.e.symbols.flags_stay else None
        self.run(places, [*map(i64, strides), i64(self.sizes[-1])], count)
        if raised is not None:  # and some of NumPy's loops clear the flags
            with self.builder.if_then(self.builder.icmp_unsigned("!=", raised, ir.Constant(I32, 0)), likely=False):
                self._status("feraiseexcept", raised)
        return places[-1]

    def _status(self, name: str, flags: Any) -> Any:
        return self.e.call(name, libm.library_symbol(name), flags, result=I32, pure=False)

    def run(self, places: Sequence[Any], strides: Sequence[Any], count: Any) -> None:
        e, builder = self.e, self.builder
        arguments = e.place("arguments of a loop", ir.ArrayType(POINTER, len(places)))
        numbers = e.place("numbers of a loop", ir.ArrayType(I64, len(places) + 1))
        builder.store(count, numbers)
        for k, (place, stride) in enumerate(zip(places, strides, strict=True)):
            builder.store(place, element_at(builder, arguments, i64(k), POINTER))
            builder.store(stride, element_at(builder, numbers, i64(k + 1), I64))
        steps = element_at(builder, numbers, i64(1), I64)
        builder.call(self.callee, [arguments, numbers, steps, self.data], attrs=("nounwind",))

    def reduced(self, start: Any, first: Any, stride: Any, count: Any) -> Any:
        """What the loop makes of a number and elements in memory, as `ufunc.reduce` of one axis runs it: the result is
        its first operand."""
        found = self.e.place("number of a reduction", self.kind)
        self.builder.store(start, found)
        self.run([found, first, found], [i64(0), stride, i64(0)], count)
        return self.builder.load(found, typ=self.kind)

    def one(self, *numbers: Any, part: str = "", strides: bool = False) -> Any:
        """For one lane, as a call with scalars has it: operands have no stride, unless `strides`."""
        builder, given, places = self.builder, iter(numbers), []
        for k, letter in enumerate(self.letters[:-1]):
            place = self.e.place(f"operand {k} of a loop", ir.ArrayType(_TYPES[letter], 2))
            for half in range(2 if letter == "D" else 1):
                builder.store(next(given), element_at(builder, place, i64(half), _TYPES[letter]))
            places.append(place)
        steps = [size * strides for size in self.sizes[:-1]]
        result = self.call(places, steps, ir.ArrayType(self.kind, 2), i64(1))
        return builder.load(element_at(builder, result, i64(int(part == "imag")), self.kind), typ=self.kind)

    def block(self, *operands: Any) -> Any:
        """For all lanes at once. An operand that is a scalar is the same for all, and has no stride."""
        type_ = self.e.widened(self.kind)
        result = self.call(self._stored(operands), self._strides(operands), type_, i64(self.e.width))
        return self.builder.load(result, typ=type_)

    def packed(self, mask: Any, *operands: Any) -> Any:
        """For the lanes of a mask, next to each other; others get 1.0."""
        e, builder, bits = self.e, self.builder, self.e.bits_of(mask)
        places, strides = self._stored(operands), self._strides(operands)
        with set_lanes(builder, bits) as lane:
            rank = self._rank(bits, lane)  # never beyond the lane, whose number has been read then
            for place, stride in zip(places, strides, strict=True):
                if stride:
                    self._copy(place, lane, place, rank)
        type_ = e.widened(self.kind)
        result = self.call(places, strides, type_, e.llvm("llvm.ctpop.i64", I64, bits))
        spread = e.stored("lanes of a loop", self.filler)
        with set_lanes(builder, bits) as lane:
            self._copy(result, self._rank(bits, lane), spread, lane)
        return builder.load(spread, typ=type_)

    def _stored(self, operands: Sequence[Any]) -> list[Any]:
        return [self.e.stored(f"operand {k} of a loop", operand) for k, operand in enumerate(operands)]

    def _strides(self, operands: Sequence[Any]) -> list[int]:
        return [size if isinstance(operand.type, ir.VectorType) else 0
                for operand, size in zip(operands, self.sizes, strict=False)]

    def _rank(self, bits: Any, lane: Any) -> Any:
        """How many bits are set below a lane's."""
        below = self.builder.sub(self.builder.shl(i64(1), lane), i64(1))
        return self.e.llvm("llvm.ctpop.i64", I64, self.builder.and_(bits, below))

    def _copy(self, source: Any, at: Any, target: Any, to: Any) -> None:
        number = self.builder.load(element_at(self.builder, source, at, self.kind), typ=self.kind)
        self.builder.store(number, element_at(self.builder, target, to, self.kind))


def calls_numpy(op: Op) -> bool:
    """Whether an operation is one of NumPy's functions, of all lanes at once."""
    return op.opcode in NUMPY_LOOPS or op.opcode == "narrow" and op.attr("function") != narrow_functions.POWER


def reduced(e: Emitter, name: str, letter: str, start: Any, first: Any, stride: Any, count: Any) -> Any:
    """A reduction of elements in memory by one of NumPy's functions of two numbers."""
    made = _Loop(e, f"pyflat_numpy_{name}_{letter}", original("numpy", name), f"{letter * 2}->{letter}")
    return made.reduced(start, first, stride, count)


def over_vectors(e: Emitter, name: str, loop: str, given: Sequence[Any], strides: Sequence[Any], result: Any,
                 step: Any, count: Any) -> None:
    """One of NumPy's functions of elements in memory, as it runs over vectors."""
    stem = f"pyflat_numpy_{name}_{loop.replace('->', '_').replace('?', 'b')}"
    made = _Loop(e, stem, original("numpy", name), loop)
    made.run([*given, result], [*strides, step], count)


def call_ufunc(e: Emitter, name: str, loop: str, part: str, *operands: Any) -> Any:
    """One float64 for each lane; `part` of it when the result is complex."""
    stem = f"pyflat_ufunc_{name}_{loop.replace('->', '_')}"
    made = _Loop(e, stem, external_ufuncs.find(name), loop)
    return e.each(lambda *numbers: made.one(*numbers, part=part), F64, *operands)


def call_numpy(e: Emitter, opcode: str, *operands: Lane) -> Lane:
    """One of NumPy's functions of floats, with the bits of NumPy's call with scalars."""
    letter, name = "f" if e.narrow else "d", NUMPY_LOOPS[opcode]
    made = _Loop(e, f"pyflat_numpy_{name}_{letter}", original("numpy", name), letter * len(operands) + "->" + letter)
    values = [x.value for x in operands]
    if e.width == 1:
        return Lane(e, FLOAT, made.one(*values, strides=opcode == "np_powers"))
    return Lane(e, FLOAT, _power(e, made, *operands) if opcode == "np_power" else _lanes(e, made, values))


def call_narrow(e: Emitter, function: str, *operands: Lane) -> Lane:
    """A function of float32 (`functions.narrow_functions`) of float64 that are such."""
    given = [e.builder.fptrunc(x.value, e.widened(F32)) for x in operands]
    if function == narrow_functions.POWER:
        location = libm.library_symbol(function)

        def power(*numbers: Any) -> Any:
            return e.call(function, location, *numbers, result=F32, pure=False)  # its flags are seen

        found = e.each(power, F32, *given)
    else:
        letters = "f" * len(operands) + "->f"
        made = _Loop(e, f"pyflat_numpy_{function}_f", original("numpy", function), letters)
        found = made.one(*given) if e.width == 1 else _lanes(e, made, given)
    return Lane(e, FLOAT, e.builder.fpext(found, e.types[FLOAT]))


def _power(e: Emitter, made: _Loop, x: Lane, y: Lane) -> Any:
    """A literal exponent has no stride. Lanes with one that may have a short cut are called for by themselves."""
    if y.known is not None:
        return _lanes(e, made, [x.value], ir.Constant(e.scalars[FLOAT], float(y.known)))
    whole = _lanes(e, made, [x.value, y.value])
    double = y + y
    short = double.compare("==", e.intrinsic("llvm.rint", double)) & abs(y).compare("<=", LARGEST_SHORT_CUT)
    mask = e.masked(short.value)
    return e.where_any(mask, whole, lambda: e.each(made.one, made.kind, x.value, y.value, where=mask, rest=whole))


def _lanes(e: Emitter, made: _Loop, values: Sequence[Any], *same: Any) -> Any:
    """One call, with operands that are the `same` for all lanes behind the others: of all lanes, or of those that run,
    where these are fewer than half. Some of NumPy's loops take as long for eight lanes as for one, others eight times
    as long. Lanes that do not run get a harmless operand."""
    if e.active is None:
        return made.block(*values, *same)
    type_ = e.widened(made.kind)
    builder, result = e.builder, e.place("chosen lanes of a loop", type_)
    running = e.llvm("llvm.ctpop.i64", I64, e.bits_of(e.active))
    with builder.if_else(builder.icmp_unsigned(">=", running, i64(e.width // 2))) as (many, few):
        with many:
            builder.store(made.block(*[builder.select(e.active, x, made.filler) for x in values], *same), result)
        with few:
            builder.store(made.packed(e.active, *values, *same), result)
    return builder.load(result, typ=type_)
