"""Reachability and copying in the flat form: what every pass over one block needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyflat.ir.nodes import Block, Const, Function, Op, Value, Yield
from pyflat.ir.ops import COMMUTATIVE


def live_ops(ops: Sequence[Op], roots: Iterable[Value]) -> set[Op]:
    """The operations that `roots` and the `fault` operations among `ops` depend on, themselves included."""
    needed: set[Value] = set(roots)
    live: set[Op] = set()
    for op in reversed(ops):
        if op in needed or op.opcode == "fault":
            live.add(op)
            needed.update(op.args)
    return live


def results_of(fn: Function) -> list[Value]:
    """The result leaves of a flat function."""
    end = fn.flat_block.end
    assert isinstance(end, Yield)
    return end.values


def with_block(fn: Function, ops: Sequence[Op], results: Sequence[Value]) -> Function:
    """A flat function with the parameters of `fn` and another body; result kinds follow from `results`."""
    kinds = [value.kind for value in results]
    return Function(fn.name, fn.params, [Block(ops, Yield(results))], fn.label, kinds, fn.form)


def with_args(op: Op, args: Sequence[Value]) -> Op:
    """`op` itself when these are its operands, else a copy with them that keeps name, origin and statement."""
    if all(new is old for new, old in zip(args, op.args, strict=True)):
        return op
    copy = Op(op.opcode, args, op.kind, name=op.name, attrs=op.attrs, origin=op.origin)
    copy.statement = op.statement
    return copy


Key = tuple[object, ...]
_MIRRORED = {"gt": "lt", "ge": "le"}


class Keys:
    """Names for operations that compute the same: equal keys mean equal bits (a nan equals any nan)."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._attrs: dict[int, str] = {}
        self._keep: list[object] = []

    def key(self, op: Op) -> Key:
        """Operation, kind, attrs and the numbers of the operands, in one order where the order is free."""
        opcode = op.opcode
        args = [self._number(a) for a in op.args]
        if opcode in COMMUTATIVE:
            args.sort()
        elif opcode in _MIRRORED:
            opcode = _MIRRORED[opcode]
            args.reverse()
        return (opcode, op.kind, self._attrs_text(op), *args)

    def merge(self, value: Value, leader: Value) -> None:
        """From now on `value` is `leader`."""
        self._numbers[value] = self._number(leader)

    def _number(self, value: Value) -> int:
        return self._numbers.setdefault(value.key if isinstance(value, Const) else value, len(self._numbers))

    def _attrs_text(self, op: Op) -> str:
        """Attrs by `repr`: as a tuple, 0.0 would equal -0.0 and True would equal 1."""
        if not op.attrs:
            return ""
        if id(op.attrs) not in self._attrs:
            self._attrs[id(op.attrs)] = repr(op.attrs)
            self._keep.append(op.attrs)
        return self._attrs[id(op.attrs)]
