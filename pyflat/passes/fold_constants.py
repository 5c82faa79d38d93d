"""Constant folding and exact algebra: what is known before any lane is run is not run.

Before:                              After:
    %a = add 2.0, 3.0 : f8               %d = mul %x, 5.0 : f8
    %b = mul %x, %a : f8                 yield %d
    %c = eq %a, 0.0 : b
    fault %c ZeroDivisionError()
    %d = select %c, 0.0, %b : f8
    yield %d

One forward pass, into loops too. Each operation whose operands are literals is evaluated by the operation
table's own Python function, if that returns a value of the right kind (an operation that raises stays, for its
fault). Otherwise the exact identities of `passes.rules.identities` and `passes.rules.logic` are tried, then the
intervals of `analysis.intervals`, which decide comparisons and so remove the fault conditions that cannot hold. What
becomes unused is left for `prune_dead`.

An operation whose result is another value disappears together with its name; one that becomes a different
operation keeps name, origin and statement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from pyflat.analysis.intervals import Interval, Intervals
from pyflat.ir.build import undefined
from pyflat.ir.formats import FloatFormat
from pyflat.ir.loops import LoopParts, join_parts, take_apart
from pyflat.ir.nodes import FALSE, TRUE, Block, Const, Function, Item, Loop, Op, Value, Yield
from pyflat.ir.opaque_calls import is_barrier, is_guarded
from pyflat.ir.ops import OPERATIONS, PRIMITIVES, Accuracy
from pyflat.ir.semantics import meaning
from pyflat.ir.types import BOOL, VOID, Kind, kind_of
from pyflat.ir.uses import Key, Keys, renamed, same_ops, with_args, with_body
from pyflat.passes.record import TOTAL, Pass
from pyflat.passes.rules.identities import simplify
from pyflat.passes.rules.logic import is_undefined


def fold_constants(fn: Function, *, fold_elementary: bool = True, share: bool = False,
                   known: Mapping[Value, Interval] | None = None) -> Function:
    """`fn` in flat or masked form with known operations folded; `fn` itself when there are none.

    `fold_elementary` evaluates functions of the C library (accuracy LIBM) by CPython's; without it they are left
    to the target, whose own functions may differ in the last digits. `share` does what `share_subexpressions` does, on
    the way: so the rules see that operands are equal, and no second sweep is needed for what that shows. `known` says
    where parameters lie.
    """
    folder = _Folder(fold_elementary, fn.floats, known or {}, share=share)
    items = folder.folded(fn.body)
    if same_ops(items, fn.body):
        return fn
    return with_body(fn, renamed(items, folder.named_later))


class _Folder:
    """Appends simplified operations to `ops`; `mapped` says what became of the old ones."""

    def __init__(self, fold_elementary: bool, floats: FloatFormat, known: Mapping[Value, Interval], *,
                 share: bool = False):
        exact = {Accuracy.EXACT, Accuracy.LIBM} if fold_elementary else {Accuracy.EXACT}
        self.foldable = exact
        self.share = share
        self.named_later: dict[Op, Op] = {}
        """For each operation without a name that stands for a repetition: the first one of them that has a name."""
        self.ops: list[Op] = []
        self.mapped: dict[Value, Value] = {}
        self.floats = floats
        self.intervals = Intervals(floats=floats)
        for value, interval in known.items():
            self.intervals.narrow(value, interval)
        self.keys = Keys()
        self.made: dict[Key, Op] = {}
        self.unlisted: list[Op] = []
        """Operations that `made` is still to have: few functions ask for any."""
        self.current: Op | None = None

    def read(self, value: Value) -> Value:
        return self.mapped.get(value, value)

    def folded(self, items: list[Item]) -> list[Item]:
        """A list with its operations folded. What is made inside a loop is not used again after it."""
        done: list[Item] = []
        for item in items:
            match item:
                case Block():
                    self.ops = []
                    for op in item.ops:
                        self.visit(op)
                    done.append(Block(self.ops, Yield(list(map(self.read, item.end.values))) if item.end else None))
                case Loop():
                    inits, made = list(map(self.read, item.inits)), dict(self.all_made())
                    parts = take_apart(item)
                    header = self.folded(parts.header)
                    leave = list(map(self.read, parts.leave))
                    go = self.read(parts.go)
                    before = self.intervals.assume(go)
                    new = LoopParts(header, go, self.folded(parts.rest), leave)
                    self.intervals.restore(before)
                    done.append(join_parts(item, item.params, inits, new, item.results))
                    self.made = made
                    self.unlisted.clear()
        return done

    def visit(self, op: Op) -> None:
        args = tuple([self.mapped.get(arg, arg) for arg in op.args])
        if op.opcode in ("fault", "call") and self.event(op, args):
            return
        self.current = op
        first_new = len(self.ops)
        found = self.simplified(op, args)
        if found is None:
            new: Value = self.kept(with_args(op, args))
        else:
            new = self.named(found, op) if found in self.ops[first_new:] else found
        if new is not op:
            self.mapped[op] = new

    def event(self, op: Op, args: tuple[Value, ...]) -> bool:
        """A fault or call that stays as it is, or that no lane comes to."""
        if is_guarded(op) and (is_undefined(args[0]) or isinstance(args[0], Const) and not args[0].value):
            if op.kind is not VOID:
                self.mapped[op] = undefined(op.kind)
            return True
        if not is_barrier(op):
            return False
        kept_op = with_args(op, args)
        self.ops.append(kept_op)
        if kept_op is not op:
            self.mapped[op] = kept_op
        return True

    def named(self, new: Value, op: Op) -> Value:
        """The operation that was made in place of `op` holds the variable that `op` held."""
        assert isinstance(new, Op)
        new.name, new.statement = op.name, op.statement
        return new

    def kept(self, op: Op) -> Op:
        """`op` appended, or the operation that it repeats."""
        if self.share:
            leader = self.made.setdefault(self.keys.key(op), op)
            if leader is not op:
                if op.name and not leader.name:
                    self.named_later.setdefault(leader, op)
                return leader
        else:
            self.unlisted.append(op)
        self.append(op)
        return op

    def append(self, op: Op) -> None:
        self.ops.append(op)
        self.intervals.note(op)

    def all_made(self) -> dict[Key, Op]:
        for op in self.unlisted:
            self.made.setdefault(self.keys.key(op), op)
        self.unlisted.clear()
        return self.made

    def emit(self, opcode: str, *args: Value) -> Value:
        """A new operation, simplified; an equal one that exists already is used again."""
        kind = PRIMITIVES[opcode].result_kind(tuple(a.kind for a in args))
        assert kind is not None
        assert self.current is not None
        op = Op(opcode, args, kind, origin=self.current.origin)
        found = self.simplified(op, args)
        if found is not None:
            return found
        existing = self.all_made().setdefault(self.keys.key(op), op)
        if existing is op:
            self.append(op)
        return existing

    def simplified(self, op: Op, args: tuple[Value, ...]) -> Value | None:
        """What `op` with the operands `args` is, None when it stays."""
        literals = [a for a in args if isinstance(a, Const)]
        if literals and any(a.value is None for a in literals):
            masking = op.opcode == "select" or (op.opcode in ("and", "or") and op.kind is BOOL)
            if not masking:
                return undefined(op.kind)
        elif len(literals) == len(args):
            return self.evaluated(op, literals)
        found = simplify(self.emit, op.opcode, args)
        if found is not None:
            return found
        outcome = self.intervals.decide(op.opcode, args)
        if outcome is not None:
            return TRUE if outcome else FALSE
        return self.joined(*args) if op.opcode == "and" and op.kind is BOOL else None

    def joined(self, first: Value, second: Value) -> Value | None:
        """`first and second` where one comparison decides the other, which a fault and its predicate often do."""
        for a, b in ((first, second), (second, first)):
            outcome = self.intervals.together(a, b)
            if outcome is not None:
                return a if outcome else FALSE
        return None

    def evaluated(self, op: Op, literals: list[Const]) -> Const | None:
        row = OPERATIONS[op.opcode]
        if row.accuracy not in self.foldable:
            return None
        try:
            value = meaning(op.opcode, self.floats)(*[a.value for a in literals], **dict(op.attrs))
        except (ArithmeticError, ValueError, IndexError):
            return None
        return _literal(value, op.kind)


def _literal(value: object, kind: Kind) -> Const | None:
    """A nan with its sign set stays computed: `copysign` sees the sign, the literal nan has none."""
    if not isinstance(value, bool | int | float) or kind_of(value) is not kind:
        return None
    if isinstance(value, float) and math.isnan(value) and math.copysign(1.0, value) < 0:
        return None
    return Const(kind, value)


PASS = Pass(fold_constants, needs_gone=TOTAL)
