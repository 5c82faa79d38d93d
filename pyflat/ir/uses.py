"""Copying and comparing operations: what every pass over the flat and masked forms needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyflat.ir.loops import all_ops, end_of, has_loop
from pyflat.ir.nodes import Block, Const, End, Exit, Function, If, Item, Loop, Op, Region, Value, Yield
from pyflat.ir.ops import COMMUTATIVE, MIRRORED
from pyflat.ir.tables import table_of


def results_of(fn: Function) -> list[Value]:
    """The result leaves of a flat or masked function."""
    return end_of(fn.body).values


def with_body(fn: Function, items: list[Item]) -> Function:
    """A flat or masked function with the parameters of `fn` and another body."""
    kinds = [value.kind for value in end_of(items).values]
    form = "masked" if has_loop(items) else "flat"
    return Function(fn.name, fn.params, items, fn.label, kinds, form, fn.floats)


def with_block(fn: Function, ops: Sequence[Op], results: Sequence[Value]) -> Function:
    """A flat function with the parameters of `fn` and these operations."""
    return with_body(fn, [Block(ops, Yield(results))])


def same_ops(a: list[Item], b: list[Item]) -> bool:
    """The very same operations in the same places."""
    first, second = list(all_ops(a)), list(all_ops(b))
    return len(first) == len(second) and all(x is y for x, y in zip(first, second, strict=True))


def rebuilt(items: list[Item], change: Callable[[Op], Op | None], read: Callable[[Value], Value]) -> list[Item]:
    """A copy of a list: each operation changed (None: left out), in order, and every other operand read anew."""
    return [_rebuilt(item, change, read) for item in items]


def _rebuilt(item: Item, change: Callable[[Op], Op | None], read: Callable[[Value], Value]) -> Item:
    match item:
        case Block():
            ops = [new for op in item.ops if (new := change(op)) is not None]
            return Block(ops, item.end and with_values(item.end, list(map(read, item.end.values))))
        case If():
            cond = read(item.cond)
            then, orelse = (rebuilt(arm, change, read) for arm in (item.then, item.orelse))
            return If(cond, then, orelse, item.results, item.origin, item.hint)
        case Loop():
            inits = list(map(read, item.inits))
            body = rebuilt(item.body, change, read)
            return Loop(item.label, item.again, item.params, inits, body, item.results, hint=item.hint)
        case Region():
            return Region(item.label, rebuilt(item.body, change, read), item.results)


def with_values(end: End, values: Sequence[Value]) -> End:
    """The same way out, with other values."""
    return Exit(end.label, values, end.fault) if isinstance(end, Exit) else Yield(values)


def with_args(op: Op, args: Sequence[Value]) -> Op:
    """`op` itself when these are its operands, else a copy with them that keeps name, origin and statement."""
    operands = tuple(args)
    if operands == op.args:  # values are equal when they are the same
        return op
    copy = Op(op.opcode, operands, op.kind, name=op.name, attrs=op.attrs, origin=op.origin)
    copy.statement = op.statement
    return copy


def with_name(op: Op, donor: Op) -> Op:
    """A copy that has the variable and the statement of another operation."""
    copy = Op(op.opcode, op.args, op.kind, name=donor.name, attrs=op.attrs, origin=op.origin or donor.origin)
    copy.statement = donor.statement
    return copy


def renamed(items: list[Item], donors: Mapping[Op, Op], leaders: Mapping[Op, Value] | None = None) -> list[Item]:
    """A list in which operations have the names of their donors, and those that have leaders are gone, which are read
    in their place; the list itself where there are none."""
    if not donors and not leaders:
        return items
    mapped: dict[Value, Value] = {}

    def read(value: Value) -> Value:
        return mapped.get(value, value)

    def change(op: Op) -> Op | None:
        if leaders and op in leaders:
            mapped[op] = read(leaders[op])
            return None
        new = with_args(op, list(map(read, op.args)))
        if op in donors:
            new = with_name(new, donors[op])
        if new is not op:
            mapped[op] = new
        return new

    return rebuilt(items, change, read)


Key = tuple[object, ...]


class Keys:
    """Names for operations that compute the same: equal keys mean equal bits (a nan equals any nan)."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._tables: dict[int, str] = {}
        self._keep: list[object] = []

    def key(self, op: Op) -> Key:
        """Operation, kind, attrs and the numbers of the operands, in one order where the order is free."""
        opcode = op.opcode
        args = [self._number(a) for a in op.args]
        if opcode in COMMUTATIVE:
            args.sort()
        elif opcode in ("gt", "ge"):
            opcode = MIRRORED[opcode]
            args.reverse()
        return (opcode, op.kind, self._attrs_texts(op), *args)

    def merge(self, value: Value, leader: Value) -> None:
        """From now on `value` is `leader`."""
        self._numbers[value] = self._number(leader)

    def _number(self, value: Value) -> int:
        return self._numbers.setdefault(value.key if isinstance(value, Const) else value, len(self._numbers))

    def _attrs_texts(self, op: Op) -> tuple[tuple[str, str], ...]:
        """Attrs by `repr`: as they are, 0.0 would equal -0.0 and True would equal 1."""
        return tuple([(name, self._text(value)) for name, value in op.attrs]) if op.attrs else ()

    def _text(self, value: object) -> str:
        """A table's text is made once, and none of a long one: it may be read in many places."""
        if type(value) is not tuple:
            return repr(value)
        if id(value) not in self._tables:
            table = table_of(value)
            self._tables[id(value)] = repr(value) if table is None else f"table {table.number}"
            self._keep.append(value)
        return self._tables[id(value)]
