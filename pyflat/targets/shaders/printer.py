"""A prepared flat or masked function as the text of one function of a C-like language.

An operation that is used once, in the block where it stands, is written where it is used; everything else, and what
the user gave a name in the function itself, gets a name. A loop is

    var x = start;
    loop {                          the parameters of the IR's loop are variables
        header
        if (!go) { out = leave; break; }
        rest
        x = next;
    }
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyflat.errors import refuse
from pyflat.functions.records import missing
from pyflat.ir.loops import LoopParts, take_apart
from pyflat.ir.nodes import TRUE, Block, Const, Function, Item, Loop, Op, Value
from pyflat.ir.opaque_calls import Call, leaf_count, result_shape
from pyflat.ir.types import Kind, kind_of
from pyflat.ir.uses import results_of
from pyflat.targets.shaders.language import ATOM, UNARY, Language, Printed, Spelling, float_bits, is_finite

MAX_EXPRESSION = 96
"""Longer expressions are named, so that lines stay readable and nesting stays shallow."""

SHORT = 24
"""Results up to this length stay where they are returned."""


def print_function(fn: Function, language: Language, results: Sequence[str], name: str = "",
                   whitelist: Mapping[str, Call] | None = None) -> Printed:
    """The text of a function that `prepare` gave; `results` name its result leaves. Calls that `whitelist` keeps are
    calls of functions of the same name that another text defines: of numbers, and of vectors for records of 2 to 4.

    Raises FlattenError for an operation or a constant that the language does not have, and where there is no result.
    """
    if not results:
        raise refuse("flatten/result-kind", f"{fn.name} gives no number: there is nothing for a shader to compute")
    return _Printer(language, fn, name or fn.name, whitelist or {}).printed(results)


class _Names:
    """Identifiers of one function, none of them reserved or used twice."""

    def __init__(self, reserved: Iterable[str]):
        self.taken = set(reserved)

    def fresh(self, wanted: str) -> str:
        base = re.sub(r"_+", "_", re.sub(r"\W", "_", wanted, flags=re.ASCII)).strip("_") or "t"
        if base[0].isdigit():
            base = f"v{base}"
        name, number = base, 1
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name


class _Printer:
    def __init__(self, language: Language, fn: Function, name: str, whitelist: Mapping[str, Call]):
        self.language = language
        self.fn = fn
        self.whitelist = whitelist
        self.names = _Names([*language.reserved, *language.helpers, *whitelist])
        self.name = self.names.fresh(name)
        self.known: dict[Value, tuple[str, int]] = {}
        self.lines: list[str] = []
        self.depth = 1
        self.tables: dict[tuple[object, ...], tuple[str, str]] = {}
        self.uses: Counter[Value] = Counter()
        self.places: dict[Value, Block] = {}
        """The block of the last use of each value: that of its only use, where it has one."""

    def printed(self, results: Sequence[str]) -> Printed:
        fields = _Names(self.language.reserved)
        labels = [(fields.fresh(label), value.kind) for label, value in zip(results, results_of(self.fn), strict=True)]
        record = self.names.fresh(f"{self.name}_result") if len(labels) != 1 else ""
        params = [(self._bind(param, param.name), param.kind) for param in self.fn.params]
        self._count(self.fn.body, results_of(self.fn))
        self._items(self.fn.body)
        values = self._results([label for label, _ in labels])
        self._line(f"return {record}({', '.join(values)});" if record else f"return {values[0]};")
        returned = record or self.language.types[labels[0][1]]
        head = self.language.function(self.name, params, returned)
        body = "\n".join([head, *self.lines, "}"])
        parts = [self.language.record(record, labels)] if record else []
        parts += [text for _, text in self.tables.values()]
        parts += [*self.language.helpers_in(body), body]
        return Printed(self.name, tuple(params), tuple(labels), "\n\n".join(parts) + "\n", record,
                       frozenset(self.names.taken))

    def _results(self, labels: Sequence[str]) -> list[str]:
        """The expressions of the results, those that make a long line by name."""
        values = results_of(self.fn)
        texts = [self.text(value) for value in values]
        if sum(map(len, texts)) <= MAX_EXPRESSION:
            return texts
        return [self._constant(Op("copy", (), value.kind), label, text) if len(text) > SHORT else text
                for label, value, text in zip(labels, values, texts, strict=True)]

    # --- which values need a name
    def _count(self, items: Sequence[Item], ends: Iterable[Value]) -> None:
        block = Block()
        for item in items:
            match item:
                case Block():
                    block = item
                    for op in item.ops:
                        self._use(op.args, item)
                case Loop():
                    self._use(item.inits, block)
                    parts = take_apart(item)
                    self._count(parts.header, [parts.go, *parts.leave])
                    self._count(parts.rest, parts.next)
        self._use(ends, block)

    def _use(self, values: Iterable[Value], block: Block) -> None:
        for value in values:
            self.uses[value] += 1
            self.places[value] = block

    # --- statements
    def _line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def _bind(self, value: Value, wanted: str) -> str:
        name = self.names.fresh(wanted)
        self.known[value] = name, ATOM
        return name

    def _items(self, items: Sequence[Item]) -> None:
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        self._op(op, item)
                case Loop():
                    self._loop(item)

    def _op(self, op: Op, block: Block) -> None:
        if op.opcode == "call":
            self._call(op)
            return
        text, level = self._expression(op)
        if self.uses[op] == 1 and self.places[op] is block and len(text) <= MAX_EXPRESSION and not _is_users(op):
            self.known[op] = text, level
            return
        self._constant(op, op.name or "t", text)

    def _call(self, op: Op) -> None:
        """A statement of its own: calls stay in order, and a guarded one happens where its guard holds."""
        operands = iter(op.args[1:] if op.attr("guarded") else op.args)
        arguments = [self._argument(part, operands, op) for part in op.attr("args")]
        text = f"{op.attr('name')}({', '.join(arguments)})"
        if op.attr("guarded") and op.args[0] is not TRUE:
            if op.kind is not Kind.VOID:
                zero = self.language.literal(op.kind, None) if op.kind is not Kind.PACK else f"{self._type(op)}(0.0)"
                text = f"{self._variable(op, op.name or 't', zero)} = {text}"
            self._line(f"if ({self.text(op.args[0])}) {{ {text}; }}")
        elif op.kind is Kind.VOID:
            self._line(f"{text};")
        else:
            self._constant(op, op.name or "t", text)

    def _argument(self, part: Any, operands: Iterator[Value], op: Op) -> str:
        """An argument: a number, a vector of a record's numbers, or a constant."""
        if isinstance(part, str):
            return self.text(next(operands))
        if part[0] == "=" and kind_of(part[1]) is not None:
            return self.language.literal(kind_of(part[1]) or Kind.FLOAT, part[1])
        inner = part[1:]
        if part[0] == "=" or not 2 <= len(inner) <= 4 or set(inner) != {str(Kind.FLOAT)}:
            message = f"an argument of {op.attr('name')} is not a number or vector, which {self.language.name} needs"
            raise refuse("flatten/target-operation", message, op.span)
        return f"{self.language.vector(len(inner))}({', '.join(self.text(next(operands)) for _ in inner)})"

    def _constant(self, value: Value, wanted: str, text: str) -> str:
        name = self._bind(value, wanted)
        self._line(self.language.constant.format(type=self._type(value), name=name, value=text))
        return name

    def _type(self, value: Value) -> str:
        if value.kind is Kind.PACK and isinstance(value, Op):
            if value.opcode == "call":
                return self.language.vector(leaf_count(result_shape(self.whitelist[value.attr("name")].result)))
            return self.language.vector(len(value.args))
        return self.language.types[value.kind]

    def _variable(self, value: Value, wanted: str, text: str) -> str:
        name = self._bind(value, wanted)
        self._line(self.language.variable.format(type=self.language.types[value.kind], name=name, value=text))
        return name

    def _loop(self, loop: Loop) -> None:
        parts = take_apart(loop)
        starts = [self.text(init) for init in loop.inits]
        for param, start in zip(loop.params, starts, strict=True):
            self._variable(param, param.name or "s", start)
        after = dict(zip(loop.results, parts.leave, strict=True))
        inside = [result for result, value in after.items() if value not in self.known and not isinstance(value, Const)]
        for result in inside:
            self._variable(result, result.name or "out", self.language.literal(result.kind, None))
        self._line(self.language.loop)
        self.depth += 1
        self._header(parts, [(self.known[result][0], after[result]) for result in inside])
        self._items(parts.rest)
        self._advance(loop, parts)
        self.depth -= 1
        self._line("}")
        for result, value in after.items():
            if result not in inside:
                self.known[result] = self.text(value), ATOM if not isinstance(value, Const) else UNARY

    def _header(self, parts: LoopParts, leave: list[tuple[str, Value]]) -> None:
        self._items(parts.header)
        outs = " ".join(f"{name} = {self.text(value)};" for name, value in leave)
        done = self._spelled("not", self._operand(parts.go, ATOM))
        self._line(f"if ({done}) {{ {outs}{' ' if outs else ''}break; }}")

    def _advance(self, loop: Loop, parts: LoopParts) -> None:
        """All parameters at once: what comes next may read any of them."""
        moved = [(param, value) for param, value in zip(loop.params, parts.next, strict=True) if value is not param]
        variables = {self.known[param][0] for param in loop.params}
        texts = [self.text(value) for _, value in moved]
        if len(moved) > 1:
            for k, text in enumerate(texts):
                if variables & set(re.findall(r"\w+", text)):
                    texts[k] = self._constant(Op("copy", (), moved[k][1].kind), f"next_{self.known[moved[k][0]][0]}",
                                              text)
        for (param, _), text in zip(moved, texts, strict=True):
            self._line(f"{self.known[param][0]} = {text};")

    # --- expressions
    def text(self, value: Value) -> str:
        """The expression of a value."""
        return self._known(value)[0]

    def _known(self, value: Value) -> tuple[str, int]:
        if isinstance(value, Const):
            text = self.language.literal(value.kind, value.value)
            return text, UNARY if text.startswith("-") else ATOM
        return self.known[value]

    def _operand(self, value: Value, level: int) -> str:
        text, have = self._known(value)
        return text if have >= level else f"({text})"

    def _expression(self, op: Op) -> tuple[str, int]:
        match op.opcode:
            case "gather":
                return self._lookup(op)
            case "pack" if len(op.args) <= 4:
                return f"{self.language.vector(len(op.args))}({', '.join(map(self.text, op.args))})", ATOM
            case "part" if isinstance(pack := op.args[0], Op) and op.attr("index") < 4:
                return f"{self._operand(pack, ATOM)}.{'xyzw'[op.attr('index')]}", ATOM
        row = self.language.spelling(op.opcode, op.args[0].kind if op.args else None)
        if row is None:
            kinds = ", ".join(str(a.kind) for a in op.args)
            raise refuse("flatten/target-operation", missing(self.language.name, op.opcode, kinds),
                         op.span)
        operands = [self._chained(op, row, k) for k in range(len(op.args))]
        return row.text.format(*operands), row.level

    def _chained(self, op: Op, row: Spelling, k: int) -> str:
        arg = op.args[k]
        if row.chains and k == 0 and isinstance(arg, Op) and arg.opcode == op.opcode and arg.kind is op.kind:
            return self.text(arg)
        return self._operand(arg, row.operands[min(k, len(row.operands) - 1)])

    def _lookup(self, op: Op) -> tuple[str, int]:
        """A constant table, with Python's negative indices; an index outside is a lane that means nothing."""
        language, values = self.language, op.attr("table")
        as_bits = op.kind is Kind.FLOAT and not all(is_finite(value) for value in values)
        key = (op.kind, repr(values))
        if key not in self.tables:
            name = self.names.fresh(f"table_{len(self.tables)}")
            literals = [float_bits(v) if as_bits else language.literal(op.kind, v) for v in values]
            kind = language.unsigned if as_bits else language.types[op.kind]
            self.tables[key] = name, language.table(name, kind, literals)
        size = language.literal(Kind.INT, len(values))
        found = f"{self.tables[key][0]}[{self._spelled('place', self.text(op.args[0]), size)}]"
        return self._spelled("from_bits", found) if as_bits else found, ATOM

    def _spelled(self, opcode: str, *operands: str) -> str:
        row = self.language.spelling(opcode, None)
        assert row is not None
        return row.text.format(*operands)


def _is_users(op: Op) -> bool:
    """A variable of the function itself, not of one that it calls."""
    return bool(op.name) and op.statement is not None and op.statement.frame == 0


