"""The IR as text: one operation per line, constants in place, user names kept; `ir.parse` reads it back.

    func @f(%x: f8, %n: i8) -> (f8) structured @return {
      %0 = gt %x, 0.0 : b
      if %0 {
        %y = mul %x, 2.0 : f8
        yield %y
      } else {
        exit @fault ValueError("not positive")
      } -> (%y.1: f8)
      yield %y.1
    }

Values and labels are named after the user's variable, with a number where the same name is defined again in
the text; temporaries are numbered. Floats are written by `repr`, so that they come back with the same bits (a
nan without its sign and payload); `undefined:f8` is the undefined constant. A function of float32 lanes says so behind
its form, `structured f4`, and its floats are `f4`. Origins are not printed. In kernels comments say how loops count
and, as sums, which elements are loaded and stored: `; for %i in range(1, %n - 1)`, `; a[%i - 1]`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyflat.ir.affine import affine, places
from pyflat.ir.formats import F8
from pyflat.ir.loops import recognise_counted
from pyflat.ir.nodes import (
    FAULT,
    Block,
    Const,
    End,
    Exit,
    Fault,
    Function,
    If,
    Item,
    Label,
    Loop,
    Node,
    Op,
    Param,
    Region,
    Value,
    walk,
)
from pyflat.ir.tables import table_of
from pyflat.ir.types import FLOAT, MEMORY, VOID, Kind

INDENT = "  "
_PLAIN = re.compile(r"[^\W\d]\w*")
_NUMBERS = frozenset({int, float})
Marks = Mapping[object, str]
"""Messages to show behind the line of an operation, end, node, block or the function."""


class Sourced(str):
    """A line of text that knows what it was made of: operations and nodes."""

    __slots__ = ("made_of",)
    made_of: frozenset[object]

    def __new__(cls, line: str, made_of: Iterable[object]) -> Sourced:
        made = super().__new__(cls, line)
        made.made_of = frozenset(made_of)
        return made


def format_function(fn: Function, marks: Marks | None = None) -> str:
    """The text of `fn`, ending in a newline. Works for invalid functions too: that is how they are reported."""
    return "\n".join(_Printer(fn, marks or {}).lines()) + "\n"


def format_const(const: Const) -> str:
    """A literal as it stands in an operand list."""
    match const.value:
        case None:
            return f"undefined:{const.kind}"
        case bool():
            return "true" if const.value else "false"
        case _:
            return repr(const.value)


def quote(text: str) -> str:
    """A string literal in double quotes with Python's escapes."""
    body = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in body) + '"'


def _word(name: str) -> str:
    """A name as it is when it is an identifier, else quoted."""
    return name if _PLAIN.fullmatch(name) else quote(name)


def _hint(hint: str) -> str:
    return f" hint({_word(hint)})" if hint else ""


def format_fault(fault: Fault) -> str:
    dotted = all(_PLAIN.fullmatch(part) for part in fault.type.split("."))
    return f"{fault.type if dotted else quote(fault.type)}({quote(fault.message) if fault.message else ''})"


MANY = 10_000
"""Numbers of a table from which on it is written as bytes."""


def format_attr(value: Any) -> str:
    """A constant of an operation: number, string, Fault, or a tuple of those; of a tuple of very many numbers their
    bytes, which takes a thirtieth of the time."""
    match value:
        case tuple() if len(value) >= MANY and (table := table_of(value)) is not None:
            return f'base64 "{table.array.dtype.str}" "{base64.b64encode(table.array.tobytes()).decode()}"'
        case tuple() if len(value) > 1 and _NUMBERS.issuperset(map(type, value)):
            return repr(value)
        case tuple():
            return "(" + ", ".join(format_attr(item) for item in value) + ")"
        case str():
            return quote(value)
        case Fault():
            return format_fault(value)
        case bool():
            return "true" if value else "false"
        case _:
            return repr(value)


class _ObjectNames:
    """Gives each object a text of its own: the name, then name.1, name.2, ..."""

    def __init__(self) -> None:
        self.text: dict[object, str] = {}
        self._taken: dict[str, int] = {}
        self._temporaries = 0

    def add(self, what: object, name: str) -> None:
        if what in self.text:
            return
        if not name:
            self.text[what] = str(self._temporaries)
            self._temporaries += 1
            return
        count = self._taken.get(name, 0)
        self._taken[name] = count + 1
        self.text[what] = f"{_word(name)}.{count}" if count else _word(name)


class _Printer:
    def __init__(self, fn: Function, marks: Marks):
        self.fn = fn
        self.kinds = {kind: fn.floats.name if kind is FLOAT else str(kind) for kind in Kind}
        self.marks = marks
        self.of_arrays = any(param.kind is MEMORY for param in fn.params)
        self.values = _ObjectNames()
        self.labels = _ObjectNames()
        self._name_everything()

    def _name_everything(self) -> None:
        """In the order of the text, so that the names do not depend on anything else."""
        self.labels.add(FAULT, "fault")
        self.labels.add(self.fn.label, self.fn.label.name or "return")
        for param in self.fn.params:
            self.values.add(param, param.name)
        self._name_list(self.fn.body)
        for item in walk(self.fn.body):
            match item:
                case Region():
                    self.labels.add(item.label, item.label.name or "region")
                case Loop():
                    self.labels.add(item.label, item.label.name or "loop")
                    self.labels.add(item.again, item.again.name or "again")

    def _name_list(self, items: list[Item]) -> None:
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        if op.kind is not VOID:
                            self.values.add(op, op.name)
                case If():
                    self._name_list(item.then)
                    self._name_list(item.orelse)
                case Region():
                    self._name_list(item.body)
                case Loop():
                    for param in item.params:
                        self.values.add(param, param.name)
                    self._name_list(item.body)
            if not isinstance(item, Block):
                for param in item.results:
                    self.values.add(param, param.name)

    def lines(self) -> Iterator[str]:
        fn = self.fn
        kinds = ", ".join(map(self.kinds.__getitem__, fn.result_kinds))
        label = self.label(fn.label)
        form = fn.form if fn.floats is F8 else f"{fn.form} {fn.floats.name}"
        yield self.marked(fn, f"func @{_word(fn.name)}({self.params(fn.params)}) -> ({kinds}) {form} {label} {{")
        yield from self.list_lines(fn.body, INDENT)
        yield "}"

    def list_lines(self, items: list[Item], indent: str) -> Iterator[str]:
        for item in items:
            if not isinstance(item, Block):
                yield from self.node_lines(item, indent)
                continue
            if item in self.marks:
                yield self.marked(item, indent + "; block")
            for op in item.ops:
                yield self.marked(op, indent + self.op(op))
            if item.end is not None:
                yield self.marked(item.end, indent + self.end(item.end))

    def node_lines(self, node: Node, indent: str) -> Iterator[str]:
        inner = indent + INDENT
        match node:
            case If():
                yield self.marked(node, f"{indent}if {self.value(node.cond)}{_hint(node.hint)} {{")
                yield from self.list_lines(node.then, inner)
                yield indent + "} else {"
                yield from self.list_lines(node.orelse, inner)
            case Region():
                yield self.marked(node, f"{indent}region {self.label(node.label)} {{")
                yield from self.list_lines(node.body, inner)
            case Loop():
                pairs = ", ".join(self.loop_params(node))
                head = f"{indent}loop {self.label(node.label)} again {self.label(node.again)} ({pairs})"
                yield self.marked(node, f"{head}{_hint(node.hint)}{self.counted(node)} {{{self.range(node)}")
                yield from self.list_lines(node.body, inner)
        yield f"{indent}}}" + (f" -> ({self.params(node.results)})" if node.results else "")

    def counted(self, loop: Loop) -> str:
        if loop.counted is None:
            return ""
        found = None if self.marks else recognise_counted(loop)  # marked is what is invalid
        if found is None or found.iv is not loop.counted:
            return f" counted({self.value(loop.counted)})"
        return f" counted({self.operands((found.iv, found.lower, found.upper))}, {found.step})"

    def range(self, loop: Loop) -> str:
        """A comment that says how a loop of a kernel counts."""
        counted = recognise_counted(loop) if self.of_arrays and not self.marks else None
        if counted is None:
            return ""
        lower, upper = (self.sum(bound) for bound in (counted.lower, counted.upper))
        step = f", {counted.step}" if counted.step != 1 else ""
        return f"    ; for {self.value(counted.iv)} in range({lower}, {upper}{step})"

    def element(self, op: Op) -> str:
        """A comment with the indices of a load or a store as sums, where they are not what the operands say."""
        at = ", ".join(map(self.sum, places(op)))
        return f"    ; {op.attr('array')}[{at}]" if at != self.operands(places(op)) else ""

    def sum(self, value: Value) -> str:
        form = affine(value)
        return self.value(value) if form is None else form.text(self.value)

    def loop_params(self, loop: Loop) -> Iterator[str]:
        for i in range(max(len(loop.params), len(loop.inits))):
            param = self.params(loop.params[i : i + 1]) or "?"
            init = self.value(loop.inits[i]) if i < len(loop.inits) else "?"
            yield f"{param} = {init}"

    def marked(self, what: object, line: str) -> str:
        return f"{line}    ; <-- {self.marks[what]}" if what in self.marks else line

    def op(self, op: Op) -> str:
        text = f"{op.opcode} {self.operands(op.args)}".rstrip()
        for name, value in op.attrs:
            text += f" {{{name} = {format_attr(value)}}}" if name != "fault" else f" {format_attr(value)}"
        if op.opcode in ("load", "store") and not self.marks:
            return f"{self.value(op)} = {text} : {self.kinds[op.kind]}{self.element(op)}"
        return text if op.kind is VOID else f"{self.value(op)} = {text} : {self.kinds[op.kind]}"

    def end(self, end: End) -> str:
        if not isinstance(end, Exit):
            return f"yield {self.operands(end.values)}".rstrip()
        text = f"exit {self.label(end.label)} {self.operands(end.values)}".rstrip()
        return f"{text} {format_fault(end.fault)}" if end.fault is not None else text

    def params(self, params: Sequence[Param]) -> str:
        return ", ".join(f"{self.value(p)}: {self.kinds[p.kind]}" for p in params)

    def operands(self, values: Iterable[Value]) -> str:
        return ", ".join(map(self.value, values))

    def value(self, value: object) -> str:
        if isinstance(value, Const):
            return format_const(value) if value.value is not None else f"undefined:{self.kinds[value.kind]}"
        if not isinstance(value, Value):  # only in a function that `validate` refuses
            return f"?{value!r:.60}"
        return "%" + self.values.text.get(value, f"?{value.name}")

    def label(self, label: Label) -> str:
        return "@" + self.labels.text.get(label, f"?{label.name}")
