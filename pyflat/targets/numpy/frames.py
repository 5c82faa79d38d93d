"""Frames: one function of the NumPy engine, its operations written into buffers.

    multiply(a0, a1, w0)                  t = a0 * a1
    less(a0, k0, b0)                      c = a0 < 2.0
    negative(b0i, b2i)                    all bits where c holds
    w1i[...] = b2i
    bitwise_xor(w0i, k0i, w0i)            select(c, t, 2.0) by bits, in place of t
    bitwise_and(w0i, w1i, w0i)
    bitwise_xor(w0i, k0i, r0i)

Every array operation is a call of a ufunc with its result in the last place: a buffer that is free by then, or that of
an operand used here last, or the caller's array if the value is a result (`values`). Numbers are arrays
without axes, which a ufunc takes in half the time of a NumPy scalar. What is the same in all lanes is computed with
scalars (`t3`), once for a block. Operations that no ufunc computes are expressions, which make arrays of their own.

A select is written with bits of ints: `np.where` and `np.putmask` branch at every lane, which takes four times as long
where the condition is hard to predict. Where all lanes choose the same, it is a copy, or nothing. For few lanes the
calls count, and putmask has but one. Compiled code that chooses takes as long as an add: it is used from where it pays
to look for it (`library.Patience`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from pyflat.functions import gamma_check, libm
from pyflat.ir.formats import dtypes
from pyflat.ir.nodes import Const, Op, Value, power_of_two
from pyflat.ir.ops import PRIMITIVES, ROUNDED, Accuracy
from pyflat.ir.tables import array_of
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.targets.numpy.extremes import BY
from pyflat.targets.numpy.library import EXTREMES, UFUNCS, has_vectors, library_function, literal_exponent
from pyflat.targets.numpy.spelling import spelling
from pyflat.targets.numpy.values import Holder, SharedNames, Slot, Values, bits_of

Style = Literal["bits", "few", "compiled"]
"""How selects and extremes are written: with bits, with putmask for few lanes, or as ufuncs of compiled code where
there are some (else with bits). All give the same bits."""

FEW_EXTREMES = 1024
"""Lanes for which a comparison and np.putmask take less time than np.maximum and a look at what it gives."""

TRIES = 3
"""How often a minimum of two floats may turn out to be zero or nan before only the select is computed."""

_CASTS = frozenset({"to_float", "exact_float", "to_int"})


def library_ufunc(opcode: str) -> np.ufunc | None:
    """The C library's function as a ufunc, where the operation is one."""
    row = PRIMITIVES.get(opcode)
    if row is None or row.accuracy is not Accuracy.LIBM or opcode not in libm.NAMES | libm.CALLED:
        return None
    found = libm.ufunc(opcode)
    return found if isinstance(found, np.ufunc) else None


class FrameWriter(Values):
    """Writes the lines of one function."""

    def __init__(self, names: SharedNames, style: Style, *, only_scalars: bool = False):
        super().__init__(names)
        self.style, self.only_scalars = style, only_scalars
        self._masks: dict[tuple[Value, str], Slot] = {}
        self._last_select: dict[tuple[Value, str], Op] = {}
        self._inverted: set[tuple[Value, str]] = set()
        self._counts: dict[Value, str] = {}

    # --- operations

    @property
    def masks(self) -> list[Slot]:
        """The masks of selects that are still to come."""
        return list(self._masks.values())

    def note_selects(self, ops: Iterable[Op]) -> None:
        """Which selects share a mask, and of which sign it is."""
        zero_first: dict[tuple[Value, str], bool] = {}
        for op in ops:
            if op.opcode == "select" and op.kind is not BOOL:
                choice = op.args[0], self.width(op.kind)
                self._last_select[choice] = op
                zero_first[choice] = zero_first.get(choice, True) and self._is_zero(op.args[1])
        self._inverted |= {choice for choice, zero in zero_first.items() if zero}

    def _is_zero(self, value: Value) -> bool:
        return isinstance(value, Const) and value.kind is not BOOL and bits_of(value, self.floats) == 0

    def write(self, op: Op, dying: Sequence[Value]) -> None:
        """The lines of an operation; `dying` are values that nothing after it uses."""
        if self.only_scalars or (op.opcode not in ("call", "part") and all(map(self.is_uniform, op.args))):
            self._write_scalar(op)
        elif op.opcode == "select":
            self._write_select(op, dying)
        elif (writer := _WRITERS.get(op.opcode)) is None or not writer(self, op, dying):
            self._write_expression(op)
        self.drop(dying)

    def _write_scalar(self, op: Op) -> None:
        name = self.fresh_name()
        self.lines.append(f"{name} = {self.expression(op)}")
        self.places[op] = Holder(name, uniform=True)

    def _write_expression(self, op: Op) -> None:
        name = self.fresh_name()
        text = self.expression(op)
        if op.opcode == "part":
            text = f"whole({text}, n)"
        self.lines.append(f"{name} = {text}")
        self.places[op] = Holder(name, temporary=True)
        if (target := self.targets.get(op)) is not None:
            self.lines += [f"{target.text}[...] = {name}", f"del {name}"]
            self.places[op] = target

    def expression(self, op: Op) -> str:
        """An operation as an expression."""
        operands = [self.scalar(arg) for arg in op.args]
        match op.opcode:
            case "gather":
                table = self.program.named("table", array_of(op.attr("table"), dtypes(self.floats)[op.kind]))
                return spelling(op, self.floats).format(*operands, table=table)
            case "call":
                own = [text if self.is_uniform(arg) else f"{text}.copy()"
                       for text, arg in zip(operands, op.args, strict=True)]
                call = f"{self.program.call(op)}({', '.join(own)})"
                return call if self.only_scalars or op.kind not in (BOOL, INT, FLOAT) else f"whole({call}, n)"
            case "part":
                return f"{operands[0]}[{op.attr('index')}]"
            case "select":
                return f"{operands[1]} if {operands[0]} else {operands[2]}"
            case "floordiv" | "mod" if (power := power_of_two(op.args[1])):
                return f"{operands[0]} {_by_bits(op, power)[1]} {_by_bits(op, power)[2]}"
            case "np_extreme":
                first, second = operands
                return f"{first} if {BY[op.attr('by')]}({first}, {second}) else {second}"
            case opcode if opcode in EXTREMES:
                taken, other = operands
                return f"{taken} if {taken} {'>' if 'max' in opcode else '<'} {other} else {other}"
        return spelling(op, self.floats).format(*operands)

    def _logic(self, op: Op, dying: Sequence[Value]) -> bool:
        """A bool that is the same in all lanes with one that is not: a ufunc would go through bytes one by one."""
        same = [arg for arg in op.args if self.is_uniform(arg)]
        if op.kind is not BOOL or not same:
            return self._ufunc(op, dying)
        (varying,) = [arg for arg in op.args if not self.is_uniform(arg)]
        text = self.array(varying)
        out = self.define(op, [value for value in dying if value is varying]).text
        test = "" if op.opcode == "or" else "not "
        self.lines.append(f"if {test}{self.scalar(same[0])}: {out}.fill({op.opcode == 'or'})")
        if out != text:
            self.lines.append(f"else: {out}[...] = {text}")
        return True

    def _ufunc(self, op: Op, dying: Sequence[Value]) -> bool:
        name, operands = UFUNCS[op.opcode], [self.array(arg) for arg in op.args]
        if op.opcode in ("floordiv", "mod") and (power := power_of_two(op.args[1])):
            name, _, amount = _by_bits(op, power)
            operands[1] = self.program.number(Const(INT, amount))
        out = self.define(op, dying).text
        out = f"out={out}" if name in ("maximum", "minimum") else out
        self.lines.append(f"{name}({', '.join([*operands, out])})")
        return True

    def _library(self, op: Op, dying: Sequence[Value]) -> bool:
        found, vectors = library_ufunc(op.opcode), has_vectors(op.opcode, self.floats)
        if found is None and not vectors:
            return False
        args = list(op.args)
        if vectors:
            last = args[-1].value if isinstance(args[-1], Const) else None
            exponent = literal_exponent(op.opcode, None if last is None else float(last))
            args = args if exponent is None else args[:1]
            uniform = tuple(map(self.is_uniform, args))
            name = self.program.named("library", library_function(op.opcode, exponent, uniform, self.floats))
        else:
            name = self.program.named("library", found)
        operands = [self.array(arg) for arg in args]
        self.lines.append(f"{name}({', '.join([*operands, self.define(op, dying).text])})")
        return True

    def _power(self, op: Op, dying: Sequence[Value]) -> bool:
        """NumPy looks at an exponent that is the same in all lanes; for `np_powers` it must not."""
        base, exponent = op.args
        if op.opcode == "np_powers":
            slot = self.new_slot(self.width(FLOAT)) if self.is_uniform(exponent) else None
            text = self.array(exponent) if slot is None else self.seen(slot, FLOAT)
            if slot is not None:
                self.lines.append(f"{text}.fill({self.scalar(exponent)})")
            self.lines.append(f"power({self.array(base)}, {text}, {self.define(op, dying).text})")
            if slot is not None:
                self.free(slot)
            return True
        if not isinstance(exponent, Const):
            return False
        operands = [self.array(arg) for arg in op.args]
        self.lines.append(f"power({', '.join([*operands, self.define(op, dying).text])})")
        return True

    def _cast(self, op: Op, _: Sequence[Value]) -> bool:
        (arg,) = op.args
        text = self.stored(arg) if arg.kind is INT else self.array(arg)  # a float is rounded first
        self.lines.append(f"{self.define(op).text}[...] = {text}")
        return True

    def _round(self, op: Op, dying: Sequence[Value]) -> bool:
        (arg,) = op.args
        place = self.places[arg]
        slot = place.slot if arg in dying and place.slot is not None else self.new_slot(self.width(FLOAT))
        text = self.seen(slot, FLOAT)
        self.lines.append(f"{ROUNDED[op.opcode]}({self.array(arg)}, {text})")
        self.lines.append(f"{self.define(op).text}[...] = {text}")
        if slot is not place.slot:
            self.free(slot)
        return True

    def _gather(self, op: Op, dying: Sequence[Value]) -> bool:
        """The items of a constant table, with Python's negative indices; beyond its ends one of them."""
        table = array_of(op.attr("table"), dtypes(self.floats)[op.kind])
        name = self.program.named("table", table)
        index, (arg,) = self.array(op.args[0]), op.args
        if not _is_natural(arg):
            slot = self.new_slot("w")
            wrapped = self.seen_as_ints(slot)
            sign, size = (self.program.number(Const(INT, number)) for number in (63, len(table)))
            self.lines += [f"right_shift({index}, {sign}, {wrapped})", f"bitwise_and({wrapped}, {size}, {wrapped})",
                           f"add({wrapped}, {index}, {wrapped})"]
            index = wrapped
        self.lines.append(f"{name}.take({index}, None, {self.define(op).text}, 'clip')")
        if not _is_natural(arg):
            self.free(slot)
        return True

    def _extreme(self, op: Op, dying: Sequence[Value]) -> bool:
        """The minimum or maximum of two floats: unless it is zero or nan somewhere, NumPy's is Python's. Where that
        has failed some times it is not tried any more."""
        (a, b), by = op.args, op.attr("by")
        if self._compiled(op, str(by), dying):
            return True
        first, second, first_bits, second_bits = self.array(a), self.array(b), self.as_ints(a), self.as_ints(b)
        place = self.define(op)
        out, bits = place.text, self.as_ints(op)
        flag = self.new_slot("b")
        mask, mask_bits = self.seen(flag, BOOL), self.seen_as_ints(flag)
        compare = f"{BY[by]}({first}, {second}, {mask})"
        spare = self.new_slot(self.width(FLOAT))
        size, size_bits, tries = self.seen(spare, FLOAT), self.seen_as_ints(spare), self.program.named("tries", [TRIES])
        select = [
            f"negative({mask_bits}, {mask_bits})",
            f"{size_bits}[...] = {mask_bits}",
            f"bitwise_xor({first_bits}, {second_bits}, {bits})",
            f"bitwise_and({bits}, {size_bits}, {bits})",
            f"bitwise_xor({bits}, {second_bits}, {bits})",
        ] if self.style != "few" else [f"{out}[...] = {second}", f"putmask({out}, {mask}, {first})"]
        self.lines += [
            f"good = {tries}[0]" + (f" if n > {FEW_EXTREMES} else 0" if self.style == "few" else ""),
            "if good:",
            f"    {'maximum' if by in ('gt', 'ge') else 'minimum'}({first}, {second}, out={out})",
            f"    absolute({out}, {size})",
            f"    greater({size}, {self.program.number(Const(FLOAT, 0.0))}, {mask})",
            f"    good = {mask}[{mask}.argmin()]",
            f"    if not good: {tries}[0] -= 1",
            "if not good:",
            f"    {compare}",
            *["    " + line for line in select],
        ]
        self.free(flag)
        self.free(spare)
        return True

    # --- selects

    def _write_select(self, op: Op, dying: Sequence[Value]) -> None:
        condition, a, b = op.args
        if self.is_uniform(condition):
            text = f"{self.array(a)} if {self.scalar(condition)} else {self.array(b)}"
            self.lines.append(f"{self.define(op).text}[...] = {text}")
        elif op.kind is BOOL:
            self._select_bools(op)
        elif self.style == "few":
            self._select_few(op, dying)
        elif not self._compiled(op, "select", dying):
            self._select_bits(op, dying)

    def _compiled(self, op: Op, name: str, dying: Sequence[Value]) -> bool:
        """An operation as a ufunc of compiled code, where there is one."""
        if self.style != "compiled":
            return False
        found = self.program.compiled(name, None, tuple(map(self.is_uniform, op.args)), op.kind, self.floats)
        if found is None:
            return False
        operands = [self.array(arg) for arg in op.args]
        self.lines.append(f"{self.program.named('made', found)}({', '.join([*operands, self.define(op, dying).text])})")
        return True

    def _select_bools(self, op: Op) -> None:
        condition, a, b = (self.array(arg) for arg in op.args)
        out = self.define(op).text
        match [arg.value if isinstance(arg, Const) else None for arg in op.args[1:]]:
            case [True, None]:
                self.lines.append(f"bitwise_or({condition}, {b}, {out})")
            case [False, None]:
                self.lines.append(f"greater({b}, {condition}, {out})")
            case [None, False]:
                self.lines.append(f"bitwise_and({condition}, {a}, {out})")
            case [None, True]:
                self.lines.append(f"less_equal({condition}, {a}, {out})")
            case _:
                self.lines += [f"bitwise_xor({a}, {b}, {out})", f"bitwise_and({out}, {condition}, {out})",
                               f"bitwise_xor({out}, {b}, {out})"]

    def _select_few(self, op: Op, dying: Sequence[Value]) -> None:
        condition, a, b = op.args
        place = None if isinstance(b, Const) or b not in dying or op in self.targets or a is b else self.places[b]
        if place is not None and place.slot is not None:
            out = self.define(op, [b]).text
        else:
            out = self.define(op).text
            self.lines.append(f"{out}[...] = {self.stored(b)}")
        self.lines.append(f"putmask({out}, {self.array(condition)}, {self.array(a)})")

    def _select_bits(self, op: Op, dying: Sequence[Value]) -> None:
        """By bits, unless all lanes choose the same: then it is a copy, or nothing where `b` was in this place."""
        condition, a, b = op.args
        choice = condition, self.width(op.kind)
        inverted = choice in self._inverted
        first, second, source = self.array(a), self.array(b), self.bytes_of(condition)
        first_bits, second_bits = self.as_ints(a), self.as_ints(b)
        count = self._counted(condition)
        mask_slot = self._masks.get(choice)
        mask_lines: list[str] = []
        if mask_slot is None:
            mask_slot = self._masks[choice] = self.new_slot(choice[1])
            mask_lines = self._mask_lines(mask_slot, source, inverted)
        mask = self.seen_as_ints(mask_slot)
        taken = [b] if b in dying and a is not b else []
        place = self.define(op, taken)
        out = self._ints_of(op, place)
        stays = place.text == second
        lines: list[str] = []
        if self._is_zero(b):
            lines.append(f"bitwise_and({first_bits}, {mask}, {out})")
            if inverted:
                lines.append(f"bitwise_xor({first_bits}, {out}, {out})")
        elif self._is_zero(a):
            if inverted:
                lines.append(f"bitwise_and({second_bits}, {mask}, {out})")
            else:
                spare = self.new_slot(choice[1])
                text = self.seen_as_ints(spare)
                lines += [f"bitwise_and({second_bits}, {mask}, {text})", f"bitwise_xor({second_bits}, {text}, {out})"]
                self.free(spare)
        elif isinstance(a, Const) and isinstance(b, Const):
            differing = self.program.pattern(op.kind, bits_of(a, self.floats) ^ bits_of(b, self.floats))
            lines += [f"bitwise_and({mask}, {differing}, {out})", f"bitwise_xor({out}, {second_bits}, {out})"]
        else:
            spare_slot = None if not stays else self.new_slot(choice[1])
            text = out if spare_slot is None else self.seen_as_ints(spare_slot)
            lines += [f"bitwise_xor({first_bits}, {second_bits}, {text})", f"bitwise_and({text}, {mask}, {text})",
                      f"bitwise_xor({text}, {second_bits}, {out})"]
            if spare_slot is not None:
                self.free(spare_slot)
        if mask_lines:
            self.lines += [f"if 0 < {count} < n:", *["    " + line for line in mask_lines]]
        else:
            self.lines.append(f"if 0 < {count} < n:")
        self.lines += [*["    " + line for line in lines], f"elif {count}: {place.text}[...] = {first}"]
        if not stays:
            self.lines.append(f"else: {place.text}[...] = {second}")
        if self._last_select.get(choice) is op:
            self.free(self._masks.pop(choice))

    def _ints_of(self, op: Op, place: Holder) -> str:
        """The place of a select, as ints."""
        if op.kind is INT:
            return place.text
        return self.as_ints(op)

    def _counted(self, condition: Value) -> str:
        """In how many lanes a condition holds."""
        if condition not in self._counts:
            self._counts[condition] = f"y{len(self._counts)}"
            self.lines.append(f"{self._counts[condition]} = count({self.array(condition)})")
        return self._counts[condition]

    def _mask_lines(self, slot: Slot, source: str, inverted: bool) -> list[str]:
        """Ints of which all bits are set where the condition holds; where it does not, if `inverted`. Bytes are cast in
        the end: a ufunc with operands of two widths takes long."""
        spare = self.new_slot("b")
        text = self.seen_as_ints(spare)
        self.free(spare)
        made = f"subtract({source}, one, {text})" if inverted else f"negative({source}, {text})"
        return [made, f"{self.seen_as_ints(slot)}[...] = {text}"]


_WRITERS: Mapping[str, Callable[[FrameWriter, Op, Sequence[Value]], bool]] = {
    **dict.fromkeys(UFUNCS, FrameWriter._ufunc), **dict.fromkeys(ROUNDED, FrameWriter._round),
    **dict.fromkeys(_CASTS, FrameWriter._cast),
    **{row.name: FrameWriter._library for row in PRIMITIVES.values() if row.accuracy is Accuracy.LIBM},
    **dict.fromkeys(gamma_check.PARTS, FrameWriter._library),
    "and": FrameWriter._logic, "or": FrameWriter._logic, "np_power": FrameWriter._power,
    "np_powers": FrameWriter._power, "gather": FrameWriter._gather, "np_extreme": FrameWriter._extreme,
}
"""What writes an operation, unless it finds that it cannot."""


def _by_bits(op: Op, power: int) -> tuple[str, str, int]:
    """Ufunc, operator and operand of a division by a power of two."""
    return ("right_shift", ">>", power.bit_length() - 1) if op.opcode == "floordiv" else ("bitwise_and", "&", power - 1)


def _is_natural(index: Value) -> bool:
    """A number that is not negative, as far as its operation shows it."""
    if not isinstance(index, Op) or index.opcode not in ("and", "mod"):
        return False
    return any(isinstance(arg, Const) and arg.value is not None and arg.value > 0
               for arg in (index.args if index.opcode == "and" else index.args[1:]))
