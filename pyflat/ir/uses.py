"""Reachability and copying in the flat form: what every pass over one block needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pyflat.ir.nodes import Block, Function, Op, Value, Yield


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

    def __init__(self, commutative: frozenset[str]) -> None:
        self.commutative = commutative
        self._attrs: dict[int, str] = {}
        self._keep: list[object] = []

    def key(self, op: Op, token: Callable[[Value], object]) -> Key:
        """The key of `op`, given a hashable token for each operand."""
        opcode = op.opcode
        args = [token(a) for a in op.args]
        if opcode in _MIRRORED:
            opcode = _MIRRORED[opcode]
            args.reverse()
        if opcode in self.commutative:
            args.sort(key=repr)
        return (opcode, op.kind, self.attrs(op), *args)

    def attrs(self, op: Op) -> str:
        """Attrs by `repr`: as a tuple, 0.0 would equal -0.0 and True would equal 1."""
        if not op.attrs:
            return ""
        if id(op.attrs) not in self._attrs:
            self._attrs[id(op.attrs)] = repr(op.attrs)
            self._keep.append(op.attrs)
        return self._attrs[id(op.attrs)]
