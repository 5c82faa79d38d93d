"""Operations in those that a target has.

Before:                              After, where there are no `exp2` and no `isfinite`:
    %a = exp2 %x : f8                    %a = pow 2.0, %x : f8
    %b = isfinite %a : b                 %0 = abs %a : f8
    yield %b                             %b = lt %0, inf : b
                                         yield %b

What a target spells stays. Of the rest a rule says what it becomes, in operations that are legalised in turn: a rule of
the target's own, else one of `rules.expansions`. What neither has stays, too, and the target refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any

from pyflat.functions.records import ABSENT, RECORDS
from pyflat.ir.build import Builder, const
from pyflat.ir.edit.copying import Copier
from pyflat.ir.faults import fault_condition
from pyflat.ir.formats import FloatFormat
from pyflat.ir.nodes import (
    FAULT,
    Block,
    Const,
    Exit,
    Fault,
    Function,
    If,
    Item,
    Op,
    Origin,
    Scalar,
    Value,
    Yield,
    number,
)
from pyflat.ir.ops import COMPARISONS, OPERATIONS
from pyflat.ir.types import BOOL, FLOAT, INT

Expansion = Callable[..., Value | None]
"""expansion(legaliser, *operands): what the operation becomes, None where it stays."""
Expansions = Mapping[str, Expansion]
"""By operation, or operation and kind of the first operand ("mod:f8"), which goes first."""
_KINDS = {"to_whole": INT, "signbit": BOOL, **dict.fromkeys((f"{name}_known" for name in COMPARISONS), BOOL)}
"""Of results of operations that only targets have; of others it is the kind of the first operand."""
_FOLDED = frozenset({"add", "sub", "mul", "neg", "abs"})


def legal(spellings: Mapping[str, object], target: str) -> frozenset[str]:
    """The operations that stay on a target: what it spells, and the functions that it refuses."""
    return frozenset([*spellings, *(record.name for record in RECORDS.values() if record.on(target) == ABSENT)])


class Legaliser:
    """Makes operations, equal ones once. `doubts` are bools, true where a rule could not say what Python computes: such
    lanes are faults."""

    def __init__(self, own: Expansions, shared: Expansions | None = None, stay: Container[str] = ()):
        self.own, self.shared, self.stay = own, shared or {}, stay
        self.doubts: list[Value] = []
        self.made: dict[Any, Value] = {}
        self.origin: Origin | None = None

    def const(self, value: Scalar) -> Value:
        found = const(value)
        return self.made.setdefault(("const", found.kind, repr(value)), found)

    def __call__(self, opcode: str, *operands: Value | Scalar) -> Value:
        """An operation as its rule has it, if there is one. Numbers stand for constants."""
        args = self._values(operands)
        found = self.expanded(opcode, args)
        return self.raw(opcode, *args) if found is None else found

    def expanded(self, opcode: str, args: Sequence[Value]) -> Value | None:
        """What an operation that does not stay becomes."""
        keys = (f"{opcode}:{args[0].kind}", opcode) if args else ()
        for key in keys:
            if key in self.own and (found := self.own[key](self, *args)) is not None:
                return found
        for key in keys:
            if key in self.stay:
                return None
            if key in self.shared:
                return self.shared[key](self, *args)
        return None

    def raw(self, opcode: str, *operands: Value | Scalar) -> Value:
        """The operation itself."""
        args = self._values(operands)
        known = self._known(opcode, args)
        if known is not None:
            return known
        key = (opcode, *map(id, args))
        if key not in self.made:
            row = OPERATIONS.get(opcode)
            kind = row.result_kind(tuple(arg.kind for arg in args)) if row else _KINDS.get(opcode)
            self.made[key] = Op(opcode, args, kind or args[0].kind, origin=self.origin)
        return self.made[key]

    def doubt(self, condition: Value) -> None:
        self.doubts.append(condition)

    def _values(self, operands: Sequence[Value | Scalar]) -> list[Value]:
        known = [arg.value if isinstance(arg, Const) and arg.value is not None else arg for arg in operands]
        return [arg if isinstance(arg, Value) else self.const(arg) for arg in known]

    def _known(self, opcode: str, args: Sequence[Value]) -> Value | None:
        """What needs no operation."""
        if opcode in _FOLDED and all(isinstance(arg, Const) and arg.kind is FLOAT for arg in args):
            return self.const(OPERATIONS[opcode].python(*[arg.value for arg in args if isinstance(arg, Const)]))
        if opcode == "select" and (args[1] is args[2] or isinstance(args[0], Const)):
            return args[1] if number(args[0]) in (None, True) else args[2]
        if opcode not in ("and", "or") or args[0].kind is not BOOL:
            return None
        for one, other in (args, args[::-1]):
            if isinstance(one, Const):
                return other if one.value is (opcode == "and") else one
        return None


def legalised(fn: Function, own: Expansions, shared: Expansions | None = None, stay: Container[str] = (), *,
              faulting: bool = False) -> Function:
    """A function of any form in the operations of a target; `fn` itself where it is that already. With `faulting`, what
    goes from structured IR leaves the faults that it had, and doubts are faults."""
    copier = (_Faulting if faulting else _Copying)(Legaliser(own, shared, stay))
    after = copier.function(fn)
    return after if copier.changed else fn


class _Copying(Copier):
    def __init__(self, legaliser: Legaliser):
        super().__init__()
        self.legaliser, self.changed = legaliser, 0

    def standing_for(self, op: Op) -> Sequence[Op]:
        made = self.legaliser
        made.made, made.doubts, made.origin = {}, [], op.origin
        found = made.expanded(op.opcode, self.read_all(op.args))
        if found is None:
            return [self.op(op)]
        self.changed, self.values[op] = self.changed + 1, found
        if isinstance(found, Op) and found in made.made.values():
            found.name, found.statement = op.name, op.statement
        return [each for each in made.made.values() if isinstance(each, Op)]


class _Faulting(_Copying):
    """Copies with the faults of what goes: as operations where all are (`Function.total`), else as branches."""

    total = False

    def function(self, fn: Function, floats: FloatFormat | None = None) -> Function:
        self.total = fn.total
        return super().function(fn, floats)

    def items(self, items: Sequence[Item]) -> list[Item]:
        return [made for item in items
                for made in (self._parts(item) if isinstance(item, Block) else [self.node(item)])]

    def _parts(self, block: Block) -> Iterator[Item]:
        build = Builder()
        for op in block.ops:
            gone = self.changed
            for made in self.standing_for(op):
                build.append(made)
            outside = self._outside(build, op) if self.changed > gone else None
            if outside is None:
                continue
            build.origin, fault = op.origin, Fault("OverflowError", span=op.span)
            if self.total:
                build.fault(outside, fault)
            else:
                build.node(If(outside, [Block(end=Exit(FAULT, fault=fault))], [Block(end=Yield())], origin=op.origin))
        if block.end is not None:
            build.end(self.end(block.end))
        yield from build.items

    def _outside(self, build: Builder, op: Op) -> Value | None:
        """Whether the operation would have been a fault, or is in doubt; None where it is neither."""
        was, start = Op(op.opcode, self.read_all(op.args), op.kind, attrs=op.attrs), len(build.block.ops)
        found = None if self.total else fault_condition(build, was)
        for made in build.block.ops[start:]:
            made.args = tuple([self.values[op] if arg is was else arg for arg in made.args])
        for doubt in self.legaliser.doubts:
            found = doubt if found is None else build.op("or", found, doubt)
        return found
