"""The functions of the NumPy engine for one pattern of arguments: the block, its arms and its loops.

    def block(A, n, a0, a1, r0):          n lanes; A is the arena, r0 the result
        w0, w1, b2 = A.bottom(layout0, n)
        ...
        c1 = count(b2)                    an arm that costs: the lanes that take it are gathered, unless most do
        if c1 * 19.2 + n * 0.45 + 2000 > n * 18.5:
            arm1(A, n, a0, w1)
        elif c1:
            at = b2.nonzero()[0]
            e0 = empty(c1, float64)
            arm1(A, c1, a0[at], e0)
            w1[at] = e0
        ...
        return b0                         the suspect lanes

An arm is a function of its own with its own temporaries, and so is a loop (`loops`).

What operations cost on the NumPy target: nanoseconds for a lane of a block, roughly, as measured on one machine.

Only orders of magnitude matter: an add of float64 lanes in the cache takes 0.13 ns, NumPy's exp 0.6, a call of the C
library 12, and picking lanes out of an array, or putting them into one, 0.3 each. Arms and the lanes of loops are
gathered where that is cheaper than what it saves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pyflat.analysis.liveness import captured, sliced, used_outside
from pyflat.functions import ways
from pyflat.functions.records import RECORDS, Nanoseconds, of_accuracy
from pyflat.ir.formats import dtypes
from pyflat.ir.nodes import Block, Const, Function, Item, Loop, Op, Value
from pyflat.ir.opaque_calls import OpaqueCalls
from pyflat.ir.ops import OPERATIONS, Accuracy
from pyflat.ir.types import BOOL, Kind
from pyflat.targets.numba.arms import Arm, Least, arms_of
from pyflat.targets.numba.arms import Literal as Condition
from pyflat.targets.numpy.frames import FrameWriter, Style
from pyflat.targets.numpy.library import compiled, has_vectors, literal_exponent
from pyflat.targets.numpy.memory import ArenaLayout
from pyflat.targets.numpy.spelling import literal
from pyflat.targets.numpy.values import Holder, Slot

GATHER, SCATTER, FIND = 0.3, 0.35, 0.45
"""For a lane: one operand picked, one result put back; for a lane of the mask: finding those that are set."""

CALL = 350.0
"""For a call that gathers or scatters, however few lanes."""

VIEW = 80.0
"""For a view of a buffer."""

WORTH = 4.0
"""What an arm has to cost at least to be looked at: less is lost in the calls around it."""

_UNIT = 0.13
_LIBRARY, _TOLD, _POWER, _OWN, _PYTHON = map(Nanoseconds, (12.0, 4.0, 2.0, 5.0, 100.0))
"""The C library's functions are cheaper whose bits can be told (`library`), as they are after many
lanes, and powers with a small literal exponent."""
_OTHERS = {"floor": 0.15, "truediv": 0.26, "select": 0.5, "ufunc": 30.0, "gather": 0.5, "np_maximum": 0.17,
           "np_minimum": 0.17, "np_fmax": 0.17, "np_fmin": 0.17, "np_extreme": 0.4}
"""Measured, of operations that are no mathematical functions."""

_TIMES: dict[str, Nanoseconds] = {
    **{name: Nanoseconds(time) for name, time in _OTHERS.items()},
    **{record.name: record.time for record in RECORDS.values() if record.time is not None},
}


def cost_of(op: Op) -> Nanoseconds:
    """Nanoseconds for a lane."""
    known = _TIMES.get(op.opcode)
    if known is not None:
        return known
    row = OPERATIONS[op.opcode]
    match row.accuracy:
        case Accuracy.LIBM | Accuracy.CALL if has_vectors(op.opcode):
            exponent = op.args[-1].value if isinstance(op.args[-1], Const) else None
            is_power = exponent is not None and literal_exponent(op.opcode, float(exponent)) is not None
            return _POWER if is_power else _TOLD
        case Accuracy.LIBM:
            return _LIBRARY
        case Accuracy.CALL:
            return _PYTHON
        case Accuracy.NUMPY:
            return _OWN
    boolean = op.kind is BOOL and all(arg.kind is BOOL for arg in op.args)
    return Nanoseconds(_UNIT / 5 if boolean else _UNIT * row.cost)


NUMPY_MATH: Mapping[str, str] = {
    record.name: f"np_{record.numpy}" for record in of_accuracy(Accuracy.LIBM) if record.numpy}
"""NumPy's own ufuncs, within 4 ulp of the truth, which may stand for the C library's functions: SIMD code where NumPy
has it."""


@dataclass(frozen=True, slots=True)
class Check:
    """The end of a loop's header: whether lanes go on, what those take with them that stop, and who writes it."""

    go: Value
    leave: Sequence[Value]
    write: Callable[[FrameWriter, Check, set[Value]], None]


Form = Literal["same", "lanes", "stored"]
"""An argument is a scalar, the same in all lanes; an array as operations take it; one that is converted first."""

Pattern = tuple[Form, ...]
"""The forms of the arguments."""

Step = Op | Arm | Loop | Check
WriteLoop = Callable[["BlockText", FrameWriter, Loop, Sequence[Value]], tuple[str, list[str]]]
"""Writes the function of a loop; gives its name, and its arguments but for the results (`loops`)."""


class BlockText:
    """The text of the functions of one pattern, and the objects that it names."""

    def __init__(self, fused: Function, calls: OpaqueCalls | None, style: Style, write_loop: WriteLoop):
        self.fused, self.floats, self.calls, self.style = fused, fused.floats, calls, style
        self.write_loop = write_loop
        self.find: Callable[..., Any] = compiled
        """Where compiled code comes from; what it has not got is `missing`."""
        self.missing = False
        self.head: list[str] = []
        self.functions: list[str] = []
        self.objects: dict[str, Any] = {}
        self.bytes = 0
        """Bytes of all temporaries, for a lane."""
        self._constants: dict[tuple[object, ...], str] = {}

    # --- names

    def constant(self, value: Const) -> str:
        return self._known(("c", *value.key), literal(value.kind, value.value, self.floats))

    def number(self, value: Const) -> str:
        return self._known(("k", *value.key), f"asarray({literal(value.kind, value.value, self.floats)})")

    def pattern(self, kind: Kind, bits: int) -> str:
        dtype = "int64" if dtypes(self.floats)[kind].itemsize == 8 else "int32"
        return self._known(("j", dtype, str(bits)), f"asarray(np.{dtype}({bits}))")

    def _known(self, key: tuple[object, ...], text: str) -> str:
        if key not in self._constants:
            self._constants[key] = f"{key[0]}{len(self._constants)}"
            self.head.append(f"{self._constants[key]} = {text}")
        return self._constants[key]

    def named(self, prefix: str, value: Any) -> str:
        name = f"{prefix}{len(self.objects)}"
        if isinstance(value, np.ufunc):
            name = f"{prefix}_{value.__name__}"
        self.objects[name] = value
        return name

    def call(self, op: Op) -> str:
        assert self.calls is not None
        return self.named("call", self.calls.on_arrays(op))

    def compiled(self, *operation: Any) -> Any:
        found = self.find(*operation)
        self.missing = self.missing or found is None
        return found

    def dtype(self, kind: Kind) -> str:
        return dtypes(self.floats)[kind].name if kind is not BOOL else "bool_"

    # --- the block

    def source(self, wanted: Sequence[Value], results: int, pattern: Pattern) -> str:
        """Writes everything. The first `results` of the wanted values are written into arrays, one more is what the
        function gives."""
        frame = FrameWriter(self, self.style)
        names = [f"a{k}" for k in range(len(self.fused.params))]
        for param, name, form in zip(self.fused.params, names, pattern, strict=True):
            stored = name if form == "stored" else ""
            frame.places[param] = Holder(name, uniform=form == "same", stored=stored)
            if param.kind is BOOL and form != "same":  # of any byte
                frame.places[param] = frame.in_slot(BOOL)
                frame.lines.append(f"not_equal({name}.view(uint8), zero, {frame.places[param].text})")
        outs = [f"r{k}" for k in range(results)]
        for value, out in zip(wanted, outs, strict=False):
            if not isinstance(value, Const) and value not in self.fused.params:
                frame.targets.setdefault(value, Holder(out))
        self.write(frame, self.steps(sliced(self.fused.body, wanted), wanted, frame), wanted, "None")
        for value, out in zip(wanted, outs, strict=False):
            copy_into(frame, value, out)
        last = [] if len(wanted) == results else wanted[results:]
        frame.lines.append("return " + (frame.scalar(last[0]) if last else "None"))
        self.function("block", ["n", *names, *outs], frame, "bottom")
        return "\n".join([*self.head, *self.functions, ""])

    def scalar_source(self, wanted: Sequence[Value]) -> str:
        """The function for arguments that are all scalars; it gives all wanted values."""
        frame = FrameWriter(self, self.style, only_scalars=True)
        names = [f"a{k}" for k in range(len(self.fused.params))]
        frame.places.update((param, Holder(a, uniform=True)) for param, a in zip(self.fused.params, names, strict=True))
        for item in sliced(self.fused.body, wanted):
            assert isinstance(item, Block)
            for op in item.ops:
                frame.write(op, ())
        values = ", ".join(frame.scalar(value) for value in wanted)
        lines = [*frame.lines, f"return {values}," if wanted else "return ()"]
        return "\n".join([*self.head, f"def block({', '.join(names)}):", *["    " + line for line in lines], ""])

    def function(self, name: str, parameters: Sequence[str], frame: FrameWriter, kind: str,
                 body: Sequence[str] | None = None) -> ArenaLayout:
        """Write the function of a frame. All but the first give back their temporaries."""
        layout, views = frame.layout()
        self.bytes += layout.bytes
        lines = []
        if views:
            lines.append(f"{', '.join(views)}, = A.{kind}({self.named('layout', layout)}, n)")
        lines += [*frame.head, *(frame.lines if body is None else body)]
        if kind == "frame":
            lines = ["top = A.top", *lines, "A.top = top"]
        self.functions += [f"def {name}(A, {', '.join(parameters)}):", *["    " + line for line in lines]]
        return layout

    def number_of(self, prefix: str) -> str:
        return f"{prefix}{sum(line.startswith('def ') for line in self.functions)}"

    # --- steps

    def steps(self, items: Sequence[Item], roots: Iterable[Value], frame: FrameWriter) -> list[Step]:
        """What a list does, with its arms; what is the same in all lanes comes first in each block."""
        outside = used_outside(items, roots)
        found: list[Step] = []
        uniform = {value for value, place in frame.places.items() if place.uniform}
        for item in items:
            if isinstance(item, Loop):
                found.append(item)
            elif isinstance(item, Block):
                same = uniform_ops(item.ops, uniform)
                found += [op for op in item.ops if op in same]
                varying = [op for op in item.ops if op not in same]
                found += self._arms(varying, outside) or varying
        return found

    def _arms(self, ops: Sequence[Op], outside: Iterable[Value]) -> list[Op | Arm] | None:
        if self.style == "few" or self.calls is not None or ways.GATHERS.forced == "in place":
            return None
        found = arms_of(ops, outside, {op: cost_of(op) for op in ops},
                        Least(WORTH if ways.GATHERS.forced is None else 0.5))
        ways.note(ways.GATHERS.name, "in place" if found is None else "gathered")
        return found

    def write(self, frame: FrameWriter, steps: Sequence[Step], roots: Iterable[Value], live: str) -> None:
        """The lines of steps; `live` is the name of the mask of the lanes that run them."""
        frame.note_selects(step for step in steps if isinstance(step, Op))
        known, conditions = Conjunctions(), list[Sequence[Condition]]()
        for step in steps:
            if isinstance(step, Op):
                known.note(step)
            conditions.append(known.cover(step.conditions) if isinstance(step, Arm) else ())
        dying = last_uses([uses_of(step, each) for step, each in zip(steps, conditions, strict=True)], roots)
        alive: set[Value] = set()
        for step, holding, dead in zip(steps, conditions, dying, strict=True):
            match step:
                case Op():
                    frame.write(step, dead)
                    alive.add(step)
                case Arm():
                    self._write_arm(frame, step, holding, live)
                    frame.drop(dead)
                    alive.update(step.results)
                case Loop():
                    self._write_loop(frame, step, live)
                    frame.drop(dead)
                    alive.update(step.results)
                case Check():
                    step.write(frame, step, alive - set(dead))
                    frame.drop(dead)
            alive.difference_update(dead)

    # --- arms

    def _write_arm(self, frame: FrameWriter, arm: Arm, holding: Sequence[Condition], live: str) -> None:
        inputs = uses_of_arm(arm)
        arrays = [value for value in inputs if not frame.is_uniform(value)]
        scalars = [value for value in inputs if frame.is_uniform(value)]
        name, views = self._arm_function(arm, arrays, scalars)
        own_mask = frame.new_slot("b")
        mask, conditions = self._arm_mask(frame, holding, live, own_mask)
        given, uniform = [frame.array(v) for v in arrays], [frame.scalar(v) for v in scalars]
        outs = [frame.define(result).text for result in arm.results]
        frame.free(own_mask)
        frame.lines += [f"{out}.fill(False)" for out, r in zip(outs, arm.results, strict=True) if r.kind is BOOL]
        whole = f"{name}({', '.join(['A', 'n', *given, *uniform, *outs])})"
        if mask is None:
            frame.lines.append(f"if {' and '.join(conditions)}: {whole}")
            return
        count = f"count({mask})"
        if conditions:
            count += f" if {' and '.join(conditions)} else 0"
        own = [f"e{k}" for k in range(len(outs))]
        part = f"{name}({', '.join(['A', 'c', *[f'{x}[at]' for x in given], *uniform, *own])})"
        frame.lines += [
            f"c = {count}",
            f"if {_all_of_them(cost_of_arm(arm), len(arrays), len(outs), views)}:",
            f"    {whole}",
            "elif c:",
            f"    at = {mask}.nonzero()[0]",
            *[f"    {o} = empty(c, {self.dtype(r.kind)})" for o, r in zip(own, arm.results, strict=True)],
            f"    {part}",
            *[f"    {out}[at] = {o}" for out, o in zip(outs, own, strict=True)],
        ]

    def _arm_mask(self, frame: FrameWriter, holding: Sequence[Condition], live: str, slot: Slot
                  ) -> tuple[str | None, list[str]]:
        """The mask of the lanes that take an arm, None where all do, and what has to hold besides."""
        scalar = [(value, wanted) for value, wanted in holding if frame.is_uniform(value)]
        varying = [(value, wanted) for value, wanted in holding if not frame.is_uniform(value)]
        conditions = [frame.scalar(value) if wanted else f"not {frame.scalar(value)}" for value, wanted in scalar]
        if not varying:
            return None, conditions
        (first, wanted), *others = varying
        if wanted and not others and live == "None":
            return frame.array(first), conditions
        mask = frame.seen(slot, BOOL)
        text = frame.array(first)
        frame.lines.append(f"{mask}[...] = {text}" if wanted else f"logical_not({text}, {mask})")
        for value, wanted in others:
            operands = [mask, frame.array(value)]
            frame.lines.append(f"{'bitwise_and' if wanted else 'greater'}({', '.join([*operands, mask])})")
        if live != "None":
            frame.lines.append(f"if {live} is not None: bitwise_and({mask}, {live}, {mask})")
        return mask, conditions

    def _arm_function(self, arm: Arm, arrays: Sequence[Value], scalars: Sequence[Value]) -> tuple[str, int]:
        """Writes it; gives its name, and the number of its views."""
        frame = FrameWriter(self, self.style)
        names = [f"x{k}" for k in range(len(arrays))] + [f"u{k}" for k in range(len(scalars))]
        for k, value in enumerate([*arrays, *scalars]):
            frame.places[value] = Holder(names[k], uniform=k >= len(arrays))
        outs = [f"o{k}" for k in range(len(arm.results))]
        frame.targets = {value: Holder(out) for value, out in zip(arm.results, outs, strict=True)}
        self.write(frame, arm.items, arm.results, "None")
        name = self.number_of("arm")
        layout = self.function(name, ["n", *names, *outs], frame, "frame")
        return name, sum(map(len, layout.slots))

    # --- loops

    def _write_loop(self, frame: FrameWriter, loop: Loop, live: str) -> None:
        outer = captured(loop)
        name, arguments = self.write_loop(self, frame, loop, outer)
        for result in loop.results:
            found = frame.targets.get(result) or frame.in_slot(result.kind)
            frame.places[result] = found
        outs = [frame.places[result].text for result in loop.results]
        frame.lines.append(f"{name}({', '.join(['A', 'n', live, *arguments, *outs])})")


def copy_into(frame: FrameWriter, value: Value, out: str) -> None:
    """Write a value into an array, where it is not there already."""
    if frame.is_uniform(value):
        frame.lines.append(f"{out}.fill({frame.scalar(value)})")
    elif frame.places[value].text != out:
        frame.lines.append(f"{out}[...] = {frame.stored(value)}")


def uniform_ops(ops: Sequence[Op], uniform: set[Value]) -> set[Op]:
    """The operations that are the same in all lanes; adds them to the values that are."""
    found = set()
    for op in ops:
        if op.opcode not in ("call", "part") and all(isinstance(a, Const) or a in uniform for a in op.args):
            found.add(op)
            uniform.add(op)
    return found


def uses_of(step: Step, holding: Sequence[Condition] = ()) -> list[Value]:
    """What a step uses; where conditions are `holding` that are an arm's, these."""
    match step:
        case Op():
            found = list(step.args)
        case Arm():
            found = [*uses_of_arm(step), *[value for value, _ in holding or step.conditions]]
        case Loop():
            found = [*step.inits, *captured(step)]
        case Check():
            found = [step.go, *step.leave]
    return [value for value in dict.fromkeys(found) if not isinstance(value, Const)]


def uses_of_arm(arm: Arm) -> list[Value]:
    """What an arm uses and does not compute itself."""
    used: dict[Value, None] = {}
    made: set[Value] = set()
    for item in arm.items:
        for value in uses_of(item):
            used.setdefault(value)
        made.update(item.results if isinstance(item, Arm) else [item])
    return [value for value in used if value not in made]


def last_uses(uses: Sequence[Sequence[Value]], roots: Iterable[Value]) -> list[list[Value]]:
    """For each step the values that nothing after it uses."""
    seen = set(roots)
    dying: list[list[Value]] = []
    for values in reversed(uses):
        ending = [value for value in values if value not in seen]
        seen.update(ending)
        dying.append(ending)
    dying.reverse()
    return dying


def _all_of_them(cost: float, inputs: int, outputs: int, views: int) -> str:
    """When an arm is computed for all lanes, though only `c` of `n` need it: as long as that takes less time."""
    if ways.GATHERS.forced is not None:
        return "False"
    gathered = cost + GATHER * inputs + SCATTER * outputs
    calls = CALL * (inputs + 2 * outputs + 4) + VIEW * views
    return f"c and c * {gathered:.3g} + n * {FIND} + {calls:.4g} > n * {cost:.3g}"


def cost_of_arm(arm: Arm) -> float:
    return sum(cost_of_arm(item) if isinstance(item, Arm) else cost_of(item) for item in arm.items)


# --- conjunctions of conditions: which of them are computed already, so that a mask is made from what is there

MOST_LITERALS = 8
"""Conditions of a mask that is known to be the same as another."""

Literals = frozenset[tuple[Value, bool]]
"""Conditions, and whether each has to hold or not to."""


class Conjunctions:
    """What has to hold where a bool does, and where it does not: an arm may have conditions that are known already."""

    def __init__(self) -> None:
        self._literals: dict[tuple[Value, bool], Literals] = {}
        self._known: dict[Literals, Op] = {}

    def note(self, op: Op) -> None:
        if op.kind is not BOOL or op.opcode not in ("and", "or", "not"):
            return
        if op.opcode == "not":
            holds, fails = self._where(op.args, False), self._where(op.args, True)
        else:
            holds, fails = frozenset({(op, True)}), frozenset({(op, False)})
            if op.opcode == "and":
                holds = self._where(op.args, True)
            else:
                fails = self._where(op.args, False)
        if max(len(holds), len(fails)) <= MOST_LITERALS:
            self._literals |= {(op, True): holds, (op, False): fails}
            self._known[holds] = op

    def _where(self, values: Iterable[Value], wanted: bool) -> Literals:
        return frozenset[tuple[Value, bool]]().union(
            *[self._literals.get((value, wanted), frozenset({(value, wanted)})) for value in values])

    def cover(self, conditions: Sequence[tuple[Value, bool]]) -> list[tuple[Value, bool]]:
        """These conditions, with what is computed already for as many of them together as there are."""
        left, found = set(conditions), list[tuple[Value, bool]]()
        for literals, op in sorted(self._known.items(), key=lambda each: -len(each[0])):
            if literals <= left and (len(literals) > 1 or (op, True) not in literals):
                found.append((op, True))
                left -= literals
        return found + [each for each in conditions if each in left]
