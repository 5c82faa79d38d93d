"""The builder: appends checked operations to the current block and opens control nodes.

Kinds are checked against the operation table when an operation is built, so that a wrong operand is found
where it is made and not where it is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyflat.errors import InternalError, refuse
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.large import too_large
from pyflat.ir.nodes import Block, Const, End, If, Item, Loop, Op, Origin, Param, Region, Scalar, Value
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.types import VOID, Kind, kind_of

MAX_OPS = 2_000_000


def const(value: Scalar) -> Const:
    """A literal with the kind of the Python number."""
    kind = kind_of(value)
    if kind is None:
        raise refuse("flatten/int-too-large", f"the integer {value!r} does not fit into 64 bits")
    return Const(kind, value)


def undefined(kind: Kind) -> Const:
    """A value that no live lane reads."""
    return Const(kind, None)


class Builder:
    """Builds control-flow lists in order. `origin` is stamped on every operation built while it is set.

    `floats` is the format of the float lanes: fault rules ask for it.

    Once control has left a list nothing can be appended to it: an error of the caller, or with `drop_dead` the fate of
    dead code, whose operations are made and stand nowhere.
    """

    def __init__(self, max_ops: int = MAX_OPS, *, drop_dead: bool = False, floats: FloatFormat = F8) -> None:
        self.floats = floats
        self.drop_dead = drop_dead
        self.items: list[Item] = [Block()]
        self.origin: Origin | None = None
        self.max_ops = max_ops
        self._origins: list[Origin | None] = []
        """The origin of every operation that was built."""
        self.before_append: Callable[[Op], None] | None = None
        """Called with every operation before it is appended: inside `try`, faults become edges there."""

    @property
    def built(self) -> int:
        """Operations so far."""
        return len(self._origins)

    @property
    def block(self) -> Block:
        """The block that operations go to: always the last item of the current list."""
        last = self.items[-1]
        assert isinstance(last, Block)
        return last

    @property
    def ended(self) -> bool:
        """Control has left the current list: nothing can be appended."""
        return self.block.end is not None

    def dead(self, complaint: str) -> bool:
        """Control has left, and what comes now is to be dropped."""
        if self.ended and not self.drop_dead:
            raise InternalError(complaint)
        return self.ended

    def op(self, opcode: str, *args: Value, kind: Kind | None = None, name: str = "", **attrs: Any) -> Op:
        """Append `opcode`; `kind` is needed only where the operands do not settle it (gather)."""
        kinds = tuple([a.kind for a in args])
        row = OPERATIONS[opcode]
        result = kind if kind is not None and (kinds, kind) in row.signatures else row.result_kind(kinds)
        if result is None:
            raise InternalError(f"operation {opcode} does not take {', '.join(map(str, kinds))}")
        kept = tuple(sorted(attrs.items())) if attrs else ()
        op = Op(opcode, args, result, name=name, attrs=kept, origin=self.origin)
        if self.before_append is not None:
            self.before_append(op)
        return self.append(op)

    def append(self, op: Op) -> Op:
        block = self.block
        if block.end is not None and self.dead(f"operation {op.opcode} after control has left the list"):
            return op
        self._origins.append(op.origin)
        if len(self._origins) > self.max_ops:
            span = self.origin.span if self.origin else None
            raise too_large(f"the twin has more than {self.max_ops:,} operations", self._origins, span)
        block.ops.append(op)
        return op

    def end(self, end: End) -> End:
        """Leave the current list."""
        if self.dead("control leaves a list twice"):
            return end
        self.block.end = end
        return end

    def node(self, node: If | Loop | Region) -> None:
        """Append a finished node and the block that must follow it."""
        if not self.dead("a node after control has left the list"):
            self.items += [node, Block()]

    @contextmanager
    def detached(self) -> Iterator[list[Item]]:
        """Build into a new list that is not yet part of anything."""
        saved = self.items
        self.items = [Block()]
        try:
            yield self.items
        finally:
            self.items = saved

    def continue_with(self, items: list[Item]) -> None:
        """Put a detached list at the current place. Its blocks stay the ones that its exits are known by."""
        first = items[0]
        assert isinstance(first, Block)
        first.ops[:0] = self.block.ops
        self.items[-1:] = items

    def fault(self, cond: Value, fault: Any) -> Op:
        return self.append(Op("fault", (cond,), VOID, attrs=(("fault", fault),), origin=self.origin))


def results_like(values: Sequence[Value]) -> list[Param]:
    """Fresh node results with the kinds and names of `values`."""
    return [Param(v.kind, v.name) for v in values]
