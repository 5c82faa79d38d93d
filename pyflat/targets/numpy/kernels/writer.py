"""Lines and names of a kernel's text, and which operations have no line of their own.

An operation whose value is used once, in the same block, is written where it is used: it *waits* as an expression. What
waits and reads an array gets its line before the array is written.

Names are those of the user's arrays, variables and counters, and of what has none. Operations are written as operators
of Python, functions of NumPy, and the helpers of `array_lanes`.
"""

from __future__ import annotations

import builtins
import keyword
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import libcst as cst

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.parallel_loops import LoopNest
from pyflat.ir.affine import affine
from pyflat.ir.loops import Counted, all_ops
from pyflat.ir.memory import UNSIGNED, ArrayArgument
from pyflat.ir.nodes import Block, Const, Exit, If, Item, Loop, Op, Param, Value, Yield, walk
from pyflat.ir.ops import SIGNS
from pyflat.ir.print import Sourced
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY
from pyflat.targets.numpy.kernels.boxes import Slices
from pyflat.targets.numpy.spelling import spelling

ATOM = 20
_LEVELS = {"*": 13, "/": 13, "//": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, "&": 10, "^": 9, "|": 8}
"""Of operators; of comparisons it is 7."""
OWN = frozenset({"not", "neg", "invert", "rounded", "narrow", "divide", "to_float", "exact_float", "abs", *UNSIGNED})
"""Operations that are written the same way for Python's numbers as for lanes, or by hand."""
_CALL = re.compile(r"[\w.]+\((\{\d\}(, )?)+\)")
Operand = Callable[[Value, int], str]


def spelled(op: Op, operand: Operand, *, lanes: bool) -> tuple[str, int]:
    """An operation of lanes, or of Python's numbers, and how tightly the text binds. Each operand is asked for once."""
    if sign := SIGNS.get(op.opcode):
        level = _LEVELS.get(sign, 7)
        left = level + 1 if level == 7 else level
        number = op.args[1].value if isinstance(op.args[1], Const) and op.opcode == "add" and op.kind is INT else None
        if number is not None and number < 0:
            return f"{operand(op.args[0], left)} - {-number}", level
        return f"{operand(op.args[0], left)} {sign} {operand(op.args[1], level + 1)}", level
    match op.opcode:
        case "index":
            return f"s.inside({operand(op.args[0], 0)}, {operand(op.args[1], 0)}, None)", ATOM
        case "select" if not lanes:
            cond, then, orelse = op.args
            return f"{operand(then, 5)} if {operand(cond, 5)} else {operand(orelse, 4)}", 4
        case "not" if not lanes:
            return f"not {operand(op.args[0], 7)}", 6
        case "to_float" | "exact_float" if not lanes:
            return f"float({operand(op.args[0], 0)})", ATOM
        case "abs" if not lanes:
            return f"abs({operand(op.args[0], 0)})", ATOM
        case "neg" | "invert":
            return f"{'-' if op.opcode == 'neg' else '~'}{operand(op.args[0], 14)}", 14
    return _with_spelling(op, operand)


def _with_spelling(op: Op, operand: Operand) -> tuple[str, int]:
    text = spelling(op)
    is_call = _CALL.fullmatch(text) is not None
    args = [operand(arg, 0 if is_call else ATOM) for arg in op.args]
    more = {"table": repr(op.attr("table"))} if op.opcode == "gather" else {}
    return text.format(*args, **more), ATOM if is_call else 0


def repeats(op: Op) -> bool:
    """Whether the text has an operand twice."""
    if op.opcode in SIGNS or op.opcode in OWN or op.opcode == "select":
        return False
    text = spelling(op)
    return any(text.count(f"{{{number}}}") > 1 for number in range(len(op.args)))


def masked(mask: str, condition: str, *, holds: bool = True) -> str:
    """The lanes of a mask, "None" for all, in which a condition holds, or does not."""
    condition = condition if holds else f"np.logical_not({condition})"
    return condition if mask == "None" else f"{mask} & {condition}"


def as_scalar(text: str, dtype: str) -> str:
    """An element of an array as the number that the IR has."""
    if dtype == "f8":
        return text
    if dtype == "f4":
        return f"np.float64({text})"
    if dtype == "u8":
        return f"uint64_lanes.element({text})"
    return f"bool({text})" if dtype == "b1" else f"int({text})"


def literal(value: Const) -> str:
    number = value.value
    if number is None:
        return {BOOL: "False", INT: "0", FLOAT: "0.0", MEMORY: "None"}[value.kind]
    if isinstance(number, float) and not math.isfinite(number):
        return f"np.float64('{number}')"
    return f"({number!r})" if number < 0 or str(number) == "-0.0" else repr(number)


def joined(parts: Sequence[str]) -> str:
    return ", ".join(parts) + ("," if len(parts) == 1 else "")


ENDLESS = "while True:"


_TAKEN = frozenset({"np", "s", "lanes", "math", "partial", "leave", "OPERATIONS", *keyword.kwlist, *dir(builtins)})


class UniqueNames:
    """Gives each name once."""

    def __init__(self, kernel: Kernel):
        self._given: set[str] = {kernel.function.name}
        self._numbers: dict[str, int] = {}
        self.arrays: dict[str, str] = {}
        visitor = _Lengths()
        kernel.tree.visit(visitor)
        self._lengths = visitor.found

    def fresh(self, wish: str) -> str:
        stem = re.sub(r"\W", "_", wish)
        name = stem
        while name in self._given or name in _TAKEN or not name.isidentifier():
            self._numbers[stem] = self._numbers.get(stem, 0) + 1
            name = f"{stem}{'_' if wish[-1:].isdigit() or not stem else ''}{self._numbers[stem]}"
        self._given.add(name)
        return name

    def lengths(self, name: str, rank: int) -> tuple[list[str], list[str]]:
        """What the lengths of an argument's axes are called, and the lines that say so: `rows, columns = a.shape`."""
        array = self.array(name)
        texts = [f"{array}.shape[{axis}]" for axis in range(rank)]
        wished = self._lengths.get(name, {})
        for axis in (axis for axis in wished if axis < rank):
            texts[axis] = self.fresh(wished[axis])
        if rank > 1 and len(wished) == rank:
            return texts, [f"{', '.join(texts)} = {array}.shape"]
        return texts, [f"{texts[axis]} = {array}.shape[{axis}]" for axis in sorted(wished) if axis < rank]

    def array(self, name: str) -> str:
        if name not in self.arrays:
            self.arrays[name] = self.fresh(name)
        return self.arrays[name]


def wish(value: Value) -> str:
    """What a value is called: as the user's variable, or `t`."""
    return value.name if value.name.isidentifier() else "t"


def counter_wish(loop: Loop, counted: Counted) -> str:
    """The user's name of a counter: the target of the `for` that the loop comes from."""
    if counted.iv.name.isidentifier():
        return counted.iv.name
    for op in all_ops(loop.body):
        node = op.origin.node if op.origin is not None else None
        if op.opcode == "add" and op.args[0] is counted.iv and isinstance(node, cst.For):
            return _target(node.target)
    return "i"


def _target(target: cst.BaseExpression) -> str:
    """The first name of a target, as of `for i, x in enumerate(a)`."""
    while isinstance(target, cst.Tuple | cst.List) and target.elements:
        target = target.elements[0].value
    return target.value if isinstance(target, cst.Name) and target.value != "_" else "i"


class _Lengths(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: dict[str, dict[int, str]] = {}
        """Array -> axis -> the variable that has its length."""

    def visit_Assign(self, node: cst.Assign) -> None:
        target = node.targets[0].target
        value = node.value
        if not isinstance(value, cst.Attribute) or value.attr.value != "shape":
            return
        if isinstance(target, cst.Tuple) and isinstance(value.value, cst.Name):
            for axis, element in enumerate(target.elements):
                if isinstance(element.value, cst.Name) and element.value.value != "_":
                    self.found.setdefault(value.value.value, {}).setdefault(axis, element.value.value)


def returned(kernel: Kernel, names: Sequence[str]) -> list[str]:
    """The arrays made inside among those that are returned."""
    return [name for name in dict.fromkeys(names) if name not in kernel.arguments]


WIDEST = 90
"""Characters of an expression that still waits."""


class Writer:
    """What all parts of the text share. `nest` is the loops whose iterations are lanes, where there are some."""

    def __init__(self, kernel: Kernel, *, lanes: bool):
        self.kernel, self.lanes = kernel, lanes
        self.lines: list[str] = []
        self.indent = 1
        self.given = UniqueNames(kernel)
        self.names: dict[Value, str] = {}
        self.levels: dict[Value, int] = {}
        self.waiting: dict[Value, frozenset[str]] = {}
        """What waits -> the arrays that it reads."""
        self.made_of: dict[Value, set[object]] = {}
        """Values that are expressions of no name -> their operations."""
        self.reading: set[object] = set()
        """Operations and loops that are in the line that is written next."""
        self.writes: Op | None = None
        """The operation whose lines are written."""
        self.views: set[Value] = set()
        """Loads that are views of arrays which the nest writes."""
        self.inlined, self.local, self.users = _used_once(kernel.function.body)
        self.modest: set[Value] = set()
        self.nonnegative: set[Value] = set()
        self.varying: set[Value] = set()
        self.counters: set[Value] = set()
        """What may be a `Line`."""
        self.nest: LoopNest | None = None
        self.boxes = Slices()
        self.ranges: list[tuple[str, str] | None] = []
        """Names of where each axis of a nest in blocks starts and stops."""
        self.skipped: set[Value] = set()
        self.functions: dict[str, str] = {}
        self._memories = {name: str(argument.memory) for name, argument in kernel.arguments.items()
                          if isinstance(argument, ArrayArgument)}

    # --- lines
    def put(self, line: str, made_of: set[object] | None = None) -> None:
        self.lines.append(Sourced("    " * self.indent + line, self.reading if made_of is None else made_of))
        if made_of is None and self.writes is None:
            self.reading.clear()

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.put(head)
        self.indent += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.put("pass")
        self.indent -= 1

    def put_before(self, start: int, line: str) -> None:
        """A line at a place that is written already, as far in as this one."""
        self.lines.insert(start, Sourced("    " * self.indent + line, self.reading))

    # --- names
    def fresh(self, stem: str = "t") -> str:
        return self.given.fresh(stem)

    def array(self, name: str) -> str:
        return self.given.array(name)

    def operand(self, value: Value, level: int = ATOM) -> str:
        """A value in an expression, in parentheses where it binds less than the level."""
        if isinstance(value, Const):
            text = literal(value)
            return text[1:-1] if not level and text[0] == "(" else text
        self.waiting.pop(value, None)
        self.reading |= self.made_of.get(value, set())
        text = self.names[value]
        return f"({text})" if self.levels.get(value, ATOM) < level else text

    def bare(self, value: Value) -> str:
        return self.operand(value, 0)

    def plain(self, value: Value, level: int = 0) -> str:
        """A value of lanes as NumPy takes it."""
        if value in self.counters:
            return f"{self.operand(value)}.array()"
        return self.operand(value, level)

    def lanes_text(self, value: Value) -> str:
        """A value that is kept: no view of what may change."""
        self.settle_view(value)
        return self.plain(value) if self.nest is not None else self.bare(value)

    def array_name_of_memory(self, name: str) -> str:
        return self._memories.get(name, name)

    # --- what waits
    def define(self, op: Value, text: str, level: int = ATOM, reads: frozenset[str] = frozenset()) -> None:
        """The expression of an operation: it waits, or has a line."""
        self.levels[op] = level
        self.names[op] = text
        self.waiting[op] = reads
        self.made_of[op] = {op, *self.reading}
        if self._is_simple_sum(op):
            return
        if op not in self.inlined or len(text) > WIDEST or wish(op) != "t":
            self.settle(op)

    def _is_simple_sum(self, value: Value) -> bool:
        """A length of an argument, or a counter of the nest, plus a number: as short as any name."""
        form = affine(value) if isinstance(value, Op) and value.opcode in ("add", "sub") else None
        return form is not None and value in self.modest and len(form[0]) == 1 and all(
            factor == 1 and (each in self.counters or each in self.nonnegative and each in self.kernel.function.params)
            for each, factor in form[0].items()) and self.levels[value] > 0

    def settle(self, value: Value) -> None:
        """A line for what waits."""
        if value not in self.waiting or self._is_simple_sum(value):
            return
        del self.waiting[value]
        copy = ".copy()" if value in self.views else ""
        self.views.discard(value)
        name = self.fresh(wish(value))
        self.put(f"{name} = {self.names[value]}{copy}", self.made_of.pop(value))
        self.names[value], self.levels[value] = name, ATOM

    def settle_view(self, value: Value) -> None:
        if value in self.views:
            self.settle(value)

    def settle_reads(self, array: str) -> None:
        """Lines for what reads an array that is written next."""
        memory = self.array_name_of_memory(array)
        for value in [v for v, reads in self.waiting.items() if memory in reads]:
            self.settle(value)

    def reads_of(self, op: Op) -> frozenset[str]:
        found = frozenset[str]().union(*[self.waiting.get(arg, frozenset()) for arg in op.args])
        return found | {self.array_name_of_memory(op.attr("array"))} if op.opcode == "load" else found

    # --- variables of nodes
    def variables(self, params: Sequence[Param]) -> list[str]:
        """New names for what a node gives or a loop carries, "" for memories."""
        return ["" if p.kind is MEMORY else self.fresh(wish(p)) for p in params]

    def name_params(self, params: Sequence[Param], names: Sequence[str], *, varying: bool = False) -> None:
        for param, name in zip(params, names, strict=True):
            self.names[param] = name or "None"
            if varying and name:
                self.varying.add(param)

    def set_to(self, pairs: Sequence[tuple[str, str]]) -> None:
        """One assignment of all at once."""
        found = [(name, text) for name, text in pairs if name and name != text]
        if found:
            self.put(f"{', '.join(name for name, _ in found)} = {', '.join(text for _, text in found)}")

    def steps(self, loop: Loop, counted: Counted) -> list[Op]:
        """The additions that only bring a counter to its next value."""
        at = loop.params.index(counted.iv)
        found: list[Op] = []
        for op in (each for item in walk(loop.body) if isinstance(item, Block) for each in item.ops):
            users = self.users.get(op, [])
            if op.opcode == "add" and op.args[0] is counted.iv and users and all(
                    isinstance(user, Block) and user.end is not None and _is_next(loop, user)
                    and [k for k, value in enumerate(user.end.values) if value is op] == [at] for user in users):
                found.append(op)
        return found

    def counter(self, loop: Loop, counted: Counted) -> str:
        return self.fresh(counter_wish(loop, counted))

    def vary(self, values: Sequence[Value]) -> bool:
        return self.nest is not None and any(value in self.varying for value in values)


def _is_next(loop: Loop, block: Block) -> bool:
    """The block ends an iteration of the loop."""
    return block is loop.body[-1] if isinstance(block.end, Yield) else (
        isinstance(block.end, Exit) and block.end.label is loop.again)


def _used_once(items: list[Item]) -> tuple[set[Value], set[Value], dict[Value, list[Any]]]:
    """Operations whose only use is in the same block, or is the condition right after it; those that are used in the
    same block only; the users of each value."""
    users: dict[Value, list[Any]] = {}
    for item in walk(items):
        match item:
            case Block():
                for op in item.ops:
                    twice = op.opcode == "select" and op.args[1] is op.args[2]
                    for arg in op.args[:2] if twice else op.args:
                        users.setdefault(arg, []).append(op)
                for value in item.end.values if item.end is not None else ():
                    users.setdefault(value, []).append(item)
            case If():
                users.setdefault(item.cond, []).append(item)
            case Loop():
                for value in item.inits:
                    users.setdefault(value, []).append(item)
    found: set[Value] = set()
    local: set[Value] = set()
    for block, follower in _blocks(items):
        own = {*map(id, block.ops), id(block), *([id(follower)] if isinstance(follower, If) else [])}
        found.update(op for op in block.ops if len(uses := users.get(op, [])) == 1 and id(uses[0]) in own)
        local.update(op for op in block.ops if all(id(user) in own for user in users.get(op, [])))
    return found, local, users


def _blocks(items: list[Item]) -> Iterator[tuple[Block, Item | None]]:
    """Every block, and the node that follows it."""
    for at, item in enumerate(items):
        match item:
            case Block():
                yield item, items[at + 1] if at + 1 < len(items) else None
            case If():
                yield from _blocks(item.then)
                yield from _blocks(item.orelse)
            case _:
                yield from _blocks(item.body)
