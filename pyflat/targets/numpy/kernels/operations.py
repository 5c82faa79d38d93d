"""Operations of a kernel as expressions: arithmetic with its tests, and elements of arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.made_arrays import numbers_of_arguments
from pyflat.ir.affine import Affine, affine, places
from pyflat.ir.build import Builder
from pyflat.ir.faults import fault_condition
from pyflat.ir.loops import all_ops
from pyflat.ir.memory import UNSIGNED, WRAPPING, ArrayArgument, Operand, extents_made, operands_of
from pyflat.ir.nodes import FALSE, Block, Const, Function, Label, Op, Value, Yield, number, walk
from pyflat.ir.ops import SIGNS
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY
from pyflat.passes import pipelines
from pyflat.passes.record import Pass
from pyflat.targets.numpy.kernels.boxes import Axis
from pyflat.targets.numpy.kernels.writer import ATOM, OWN, Writer, as_scalar, joined, repeats, spelled
from pyflat.targets.numpy.spelling import spelling

Mask = str
"""The name of an array that says which lanes run, "None" for all of them."""
_WITHIN = UNSIGNED | {"and", "or", "xor", "invert", "mod", "shr", "select", "fitted", "load", "index", "gather"}
"""Operations of ints that give one of 64 bits."""


class Operations(Writer):
    """Writes operations."""

    def __init__(self, kernel: Kernel, *, lanes: bool):
        super().__init__(kernel, lanes=lanes)
        self.by_python = checked_by_python(kernel)
        """Indices that Python's own subscripts check."""
        self.small = kernel.small

    def op(self, op: Op, mask: Mask) -> None:
        self.writes, self.reading = op, {op}
        self._written(op, mask)
        self.writes, self.reading = None, set()

    def _written(self, op: Op, mask: Mask) -> None:
        varying = self.vary(op.args)
        if varying:
            self.varying.add(op)
        if op in self.skipped:
            return
        if self._is_modest(op):
            self.modest.add(op)
        match op.opcode:
            case "store":
                self._store(op, mask)
            case "alloc":
                self._alloc(op)
            case "routine":
                self._routine(op)
            case "load":
                self._load(op, varying)
            case "index":
                self._index(op, mask)
            case opcode if opcode in WRAPPING:
                for arg in op.args:
                    self.settle_view(arg)
                reads = self.reads_of(op)
                operands = ", ".join(map(self.plain, op.args))
                self.define(op, f"uint64_lanes.{op.opcode}({operands}, {mask})", reads=reads)
            case "fitted":
                if isinstance(op.args[0], Const) and _holds(op.attr("dtype"), int(op.args[0].value or 0)):
                    self._same_as(op, op.args[0])
                    return
                limits, reads = np.iinfo(op.attr("dtype")), self.reads_of(op)
                text = self.plain(op.args[0])
                self.settle_view(op.args[0])
                high = min(int(limits.max), 2**63 - 1)
                self.define(op, f"s.fitted({text}, {limits.min}, {high}, {mask})", reads=reads)
            case _:
                self._arithmetic(op, mask, varying)

    # --- arithmetic
    def _arithmetic(self, op: Op, mask: Mask, varying: bool) -> None:
        if op.opcode == "select" and op.args[1] is op.args[2]:
            self._of_whom(op, varying)
            return
        condition = self._test_of(op) if varying and op not in self.modest else None
        if condition is not None or repeats(op):
            for arg in op.args:
                self.settle(arg)
        if op.opcode not in SIGNS and op.opcode not in ("select", "divide"):
            for arg in op.args:
                self.settle_view(arg)
        reads = self.reads_of(op)
        text, level = self._expression(op, varying)
        if not varying and op.kind is INT and op.opcode not in _WITHIN and op not in self.modest:
            text, level = f"s.fit({text})", ATOM
        self.define(op, text, level, reads)
        if condition is not None:
            self._hit(condition, mask)

    def _expression(self, op: Op, varying: bool) -> tuple[str, int]:
        if self._is_line(op):
            self.counters.add(op)
            return spelled(op, self.operand, lanes=True)
        if op.opcode == "divide" and any(
                isinstance(arg, Op) and arg.opcode == "load" and arg in self.varying for arg in op.args):
            return f"{self.plain(op.args[0], 13)} / {self.plain(op.args[1], 14)}", 13
        if varying:
            return spelled(op, self.plain, lanes=True)
        if op.opcode in SIGNS or op.opcode in OWN or op.opcode == "select":
            return spelled(op, self.operand, lanes=False)
        return self._python_call(op), ATOM

    def _is_line(self, op: Op) -> bool:
        """A counter plus or times a number."""
        if op not in self.modest or op.opcode not in ("add", "sub", "mul"):
            return False
        lines = [arg in self.counters for arg in op.args]
        return lines.count(True) == 1 and op.args[lines.index(False)] not in self.varying

    def _same_as(self, op: Op, value: Value) -> None:
        self.settle(value)
        self.names[op], self.levels[op] = self.bare(value), self.levels.get(value, ATOM)
        self.made_of[op] = {op, *self.reading}
        if value in self.counters:
            self.counters.add(op)

    def _of_whom(self, op: Op, varying: bool) -> None:
        """A number as NumPy's scalar, or as Python's, which warn and raise at other things."""
        which, number, _ = op.args
        if varying and number in self.inlined and number in self.waiting and number not in self.views:
            reads = self.reads_of(op)
            self.define(op, self.bare(number), self.levels[number], reads)
            return
        if op.kind is not FLOAT or varying or not isinstance(which, Const):
            self._same_as(op, number)
            return
        self.settle_view(number)
        reads, text = self.reads_of(op), self.bare(number)
        if isinstance(number, Op) and number.opcode == "to_float" and text.startswith("float("):
            text = text[len("float("):-1]
        self.define(op, f"{'np.float64' if which.value else 'float'}({text})", reads=reads)

    def _python_call(self, op: Op) -> str:
        """The strict function of Python's scalars; NumPy's own where that may warn."""
        args = [self.bare(arg) for arg in op.args]
        if op.opcode.startswith("np_"):
            return spelling(op).format(*args)
        from pyflat.ir.ops import OPERATIONS

        function, attrs = OPERATIONS[op.opcode].python, dict(op.attrs)
        if getattr(function, "__module__", None) == "math" and not attrs:
            return f"math.{function.__name__}({', '.join(args)})"
        text = f'OPERATIONS["{op.opcode}"].python'
        text = f"partial({text}, **{attrs!r})" if attrs else text
        known = {what: name for name, what in self.functions.items()}
        name = known.get(text) or self.fresh(f"python_{op.opcode}")
        self.functions[name] = text
        return f"{name}({', '.join(args)})"

    def _is_modest(self, op: Op) -> bool:
        """An int that is far from leaving 64 bits."""
        if op.kind is not INT or op.opcode not in ("add", "sub", "mul", "index", "select"):
            return False
        if op.opcode == "index":
            return True
        if op.opcode == "select":
            return all(self._small(a) for a in op.args[1:])
        return all(map(self._small, op.args)) and (op.opcode != "mul" or any(isinstance(a, Const) for a in op.args))

    def _small(self, value: Value) -> bool:
        return value in self.modest or isinstance(value, Const) and abs(int(value.value or 0)) < 2**16

    def _test_of(self, op: Op) -> tuple[list[Op], Value] | None:
        build = Builder()
        condition = fault_condition(build, op)
        if condition is None:
            return None
        if not any(isinstance(arg, Const) for arg in op.args):
            return build.block.ops, condition
        test = Function("test", (), [Block(build.block.ops, Yield([condition]))], Label("test"), [BOOL], "flat")
        for each in pipelines.within({}):  # no whole function: operands come from outside
            assert isinstance(each, Pass)
            test = each(test)
        folded = test.flat_block
        assert folded.end is not None
        condition = folded.end.values[0]
        return None if condition is FALSE else (folded.ops, condition)

    def _hit(self, test: tuple[list[Op], Value], mask: Mask) -> None:
        ops, condition = test
        for each in ops:
            for arg in each.args:
                self.settle(arg)
            if self.vary(each.args):
                self.varying.add(each)
            text, level = spelled(each, self.plain, lanes=True)
            self.define(each, text, level)
        self.put(f"s.hit({self.plain(condition)}, {mask})")

    # --- memory
    def _index(self, op: Op, mask: Mask) -> None:
        is_plain = self.nest is None or mask == "None" and (self._is_in_slices(op) or self._only_reads(op))
        if is_plain and op in self.by_python and op in self.local:
            position = op.args[0]
            if op not in self.inlined or isinstance(position, Const):
                self.settle(position)
                self.names[op] = self.operand(position)
                self.made_of[op] = {op, *self.reading}
                return
            reads = self.waiting.get(position, frozenset())
            self.names[op], self.levels[op] = self.bare(position), self.levels.get(position, ATOM)
            self.made_of[op] = {op, *self.reading}
            self.waiting[op] = reads
            return
        self.settle_view(op.args[0])
        reads = self.reads_of(op)
        name = "wrapped" if self._only_reads(op) else "inside"
        self.define(op, f"s.{name}({self.bare(op.args[0])}, {self.bare(op.args[1])}, {mask})", reads=reads)

    def _only_reads(self, op: Op) -> bool:
        """An index of lanes of which nothing but elements that no lane writes depends: it may count from the end."""
        users = self.users.get(op, [])
        if self.nest is None or op not in self.varying or not users:
            return False
        return all(isinstance(user, Op) and user.opcode == "load" and not self._is_stored(user.attr("array"))
                   for user in users)

    def _is_in_slices(self, op: Op) -> bool:
        return op not in self.varying and all(user in self.boxes.slices for user in self.users.get(op, []))

    def _load(self, op: Op, varying: bool) -> None:
        array, dtype = self.array(op.attr("array")), op.attr("dtype")
        for place in places(op):
            self.settle_view(place)
        reads = self.reads_of(op)
        if not varying:
            text = f"{array}[{', '.join(map(self.bare, places(op))) or '()'}]"
            self.define(op, as_scalar(text, dtype), reads=reads)
            return
        if op in self.boxes.slices:
            text = self.subscripted(op)
        else:
            text = f"s.read({array}, ({joined([self.bare(p) for p in places(op)])}), {len(self.ranges)})"
        if dtype == "f4":
            text += ".astype(np.float64)"
        elif dtype[0] in "iu" and dtype != "i8":
            text += ".astype(np.int64)"
        elif self._is_stored(op.attr("array")):
            self.views.add(op)
        self.define(op, text, reads=reads)

    def _is_stored(self, array: str) -> bool:
        assert self.nest is not None
        return any(op.opcode == "store" and op.attr("array") == array for op in all_ops(self.nest.loops[0].body))

    def subscripted(self, op: Op) -> str:
        """The subscript of an access whose indices are those of a box, its axes those of the nest."""
        parts: list[str] = []
        before = -1
        for axis, place in zip(self.boxes.slices[op], places(op), strict=True):
            if axis is None:
                self._name_skipped(place)
                parts.append(self.bare(place))
                continue
            parts += ["None"] * (axis[0] - before - 1 if before >= 0 else 0)
            index = isinstance(place, Op) and place.opcode == "index"
            parts.append(self._part(axis, place.args[1] if isinstance(place, Op) and index else None))
            before = axis[0]
        parts += ["None"] * (len(self.ranges) - before - 1)
        return f"{self.array(op.attr('array'))}[{', '.join(parts)}]"

    def _name_skipped(self, value: Value) -> None:
        """A sum that was taken for a part of slices, and stands in a subscript."""
        if isinstance(value, Op) and value in self.skipped and value not in self.names:
            for arg in value.args:
                self._name_skipped(arg)
            self.skipped.discard(value)
            self._written(value, "None")

    def _part(self, axis: Axis, extent: Value | None) -> str:
        number, shift = axis
        assert self.nest is not None
        block = self.ranges[number]
        if block is not None:
            start, stop = (f"{name} {'+' if shift > 0 else '-'} {abs(shift)}" if shift else name for name in block)
            return f"{start}:{stop}"
        counted = self.nest.counted[number]
        start = self.sum_text(counted.lower, shift)
        upper = affine(counted.upper)
        ends = extent is not None and upper is not None and upper.shifted(shift) == affine(extent)
        return f"{'' if start == '0' else start}:{'' if ends else self.sum_text(counted.upper, shift)}"

    def sum_text(self, value: Value, shift: int) -> str:
        """`rows - 1` and the like: a value and a number, as one sum."""
        form = affine(value)
        assert form is not None
        return self.form_text(form.shifted(shift))

    def form_text(self, form: Affine) -> str:
        for value in form.terms:
            self.settle(value)
        return form.text(self.operand)

    def _store(self, op: Op, mask: Mask) -> None:
        array = self.array(op.attr("array"))
        self.names[op] = "None"
        for place in places(op):
            self.settle_view(place)
        if self.nest is None:
            target = f"{array}[{', '.join(map(self.bare, places(op))) or '()'}]"
            value = self.bare(op.args[-1])
            self.settle_reads(op.attr("array"))
            self.put(f"{target} = {_as_element(value, op.attr('dtype'))}")
            return
        boxed = op in self.boxes.slices
        target = self.subscripted(op) if boxed else joined([self.bare(p) for p in places(op)])
        value = self.plain(op.args[-1])
        self.settle_reads(op.attr("array"))
        if not boxed:
            self.put(f"s.write({array}, ({target}), {value}, {mask}, {len(self.ranges)})")
        elif mask == "None":
            self.put(f"{target} = {value}")
        else:
            casting = "" if op.attr("dtype") in ("f8", "i8", "b1") else ', casting="unsafe"'
            self.put(f"np.copyto({target}, {value}, where={mask}{casting})")

    def _alloc(self, op: Op) -> None:
        *sizes, fill = op.args
        self.names[op] = "None"
        texts = [self.bare(size) for size in sizes]
        shape = texts[0] if len(texts) == 1 else f"({joined(texts)})"
        name = self.array(op.attr("array"))
        dtype = "bool" if op.attr("dtype") == "b1" else f"np.{np.dtype(op.attr('dtype')).name}"
        last = "" if dtype == "np.float64" else f", {dtype}"
        if isinstance(fill, Const) and fill.value is None:
            self.put(f"{name} = np.empty({shape}{last})")
        elif isinstance(fill, Const) and not fill.value and str(fill.value) != "-0.0":
            self.put(f"{name} = np.zeros({shape}{last})")
        else:
            self.put(f"{name} = np.full({shape}, {_as_element(self.bare(fill), op.attr('dtype'))}, {dtype})")

    # --- calls of NumPy
    def _routine(self, op: Op) -> None:
        texts = [self._operand_of_routine(operand) for operand in operands_of(op.args, op.attr("operands"))[1]]
        text = op.attr("routine").format(*texts)
        if op.kind is MEMORY:
            self.names[op] = "None"
            self.put(f"{self.array(op.attr('array'))} = {text}")
            return
        self.names[op], self.levels[op] = self.fresh("total"), ATOM
        self.put(f"{self.names[op]} = {as_scalar(text, op.attr('dtype'))}")

    def _operand_of_routine(self, operand: Operand) -> str:
        if not operand.name:
            text = self.bare(operand.numbers[0])
            own = isinstance(operand.numbers[0], Const) or operand.numbers[0].kind is not FLOAT
            return f"np.{np.dtype(operand.dtype).name}({text})" if operand.dtype else text if own else f"float({text})"
        name, axes, rank = self.array(operand.name), operand.axes, operand.rank
        if axes is None:
            return name
        extents, bounds = operand.numbers[:rank], operand.numbers[rank:]
        pairs = [*zip(bounds[::2], bounds[1::2], strict=True)]
        kept = [axis for axis in axes if axis is not None]
        is_plain = all(number(step) == 1 for axis, (_, step) in zip(axes, pairs, strict=True) if axis is not None)
        if is_plain and sorted(kept) == list(range(rank)) and kept in (sorted(kept), sorted(kept)[::-1]):
            lengths = _extents(self.kernel).get(operand.name, ())
            parts = [self.bare(start) if axis is None else self._range(start, extents[axis], lengths[at:at + 1])
                     for at, (axis, (start, _)) in enumerate(zip(axes, pairs, strict=True))]
            text = f"{name}[{', '.join(parts)}]" if set(parts) != {":"} else name
            return text if kept == sorted(kept) else f"{text}.T"
        return f"s.part({name}, ({joined([self.bare(value) for value in operand.numbers])}), {rank}, {axes})"

    def _range(self, start: Value, count: Value, length: Sequence[Value]) -> str:
        if isinstance(start, Const) and not start.value:
            return ":" if count in length else f":{self.bare(count)}"
        first = self.operand(start, 12)
        return f"{first}:{first} + {self.operand(count, 13)}"


def _as_element(text: str, dtype: str) -> str:
    """A number as it is put into an array."""
    return f"uint64_lanes.stored({text})" if dtype == "u8" else text


def _holds(dtype: str, number: int) -> bool:
    limits = np.iinfo(dtype)
    return bool(limits.min <= number <= limits.max)


def checked_by_python(kernel: Kernel) -> set[Op]:
    """Indices that are used for an axis of their length, and nothing else: subscripts of Python check them."""
    fn = kernel.function
    ops = list(all_ops(fn.body))
    extents = _extents(kernel)
    extents.update((op.attr("array"), extents_made(op)) for op in ops if op.opcode in ("alloc", "routine"))
    found = {arg for op in ops if op.opcode in ("load", "store") for arg in op.args
             if isinstance(arg, Op) and arg.opcode == "index"}
    for item in walk(fn.body):
        if isinstance(item, Block) and item.end is not None:
            found.difference_update(v for v in item.end.values if isinstance(v, Op))
    for op in ops:
        given = places(op) if op.opcode in ("load", "store") else ()
        sizes = extents[op.attr("array")] if given else ()
        for arg in op.args:
            if isinstance(arg, Op) and arg in found and not (
                    arg in given and all(arg.args[1] is size for place, size in zip(given, sizes, strict=True)
                                         if place is arg)):
                found.discard(arg)
    return found


def _extents(kernel: Kernel) -> dict[str, Sequence[Value]]:
    """The lengths of the axes of each argument."""
    return {name: numbers for name, numbers in numbers_of_arguments(kernel).items()
            if isinstance(kernel.arguments[name], ArrayArgument)}
