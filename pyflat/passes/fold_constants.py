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

In structured functions an `if` whose outcome is known is the arm that runs, and what its test says is known in its
arms, and after it where one of them leaves. There operations fault and warn themselves: none that may is folded unless
it does neither, what may warn is shared within a line of the source (Python shows a warning once for each), and
`select true, x, x` of floats stays, which says whose number it is. The test of a loop stays where it is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from pyflat.analysis.intervals import Interval, Intervals, interval_of
from pyflat.ir.build import undefined
from pyflat.ir.formats import FloatFormat
from pyflat.ir.loops import LoopParts, join_parts, recognise_counted, take_apart
from pyflat.ir.memory import MEMORY_OPERATIONS, may_warn
from pyflat.ir.nodes import (
    FALSE,
    TRUE,
    Block,
    Const,
    Exit,
    Function,
    If,
    Item,
    Loop,
    Op,
    Region,
    Value,
    Yield,
)
from pyflat.ir.opaque_calls import is_barrier, is_guarded
from pyflat.ir.ops import COMPARISONS, CONVERGENT, OPERATIONS, PRIMITIVES, Accuracy
from pyflat.ir.semantics import meaning
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, MEMORY, VOID, Kind, kind_of
from pyflat.ir.uses import Key, Keys, renamed, same_ops, with_args, with_body, with_values
from pyflat.passes.record import Pass
from pyflat.passes.rules.identities import simplify
from pyflat.passes.rules.logic import is_undefined, same

_NONNEGATIVE = Interval(0, INT_MAX)
_CALLED = frozenset({"ufunc", *MEMORY_OPERATIONS}) - {"divide", "rounded", "fitted"}
"""What is for the target, or the run, to compute."""
_COUNTS = frozenset({"shl", "shr"})
"""Of which rules forget that they may raise."""


def fold_constants(fn: Function, *, fold_elementary: bool = True, share: bool = False,
                   known: Mapping[Value, Interval] | None = None, lengths: Collection[int] = ()) -> Function:
    """`fn` with known operations folded; `fn` itself when there are none.

    `fold_elementary` evaluates functions of the C library (accuracy LIBM) by CPython's; without it they are left
    to the target, whose own functions may differ in the last digits. `share` does what `share_subexpressions` does, on
    the way: so the rules see that operands are equal, and no second sweep is needed for what that shows. `known` says
    where parameters lie; those at `lengths` are lengths of axes.
    """
    known = {**(known or {}), **{fn.params[at]: _NONNEGATIVE for at in lengths}}
    if fn.total:
        folder = _Folder(fold_elementary, fn.floats, known, share=share)
        items = folder.folded(fn.body)
        return fn if same_ops(items, fn.body) else with_body(fn, renamed(items, folder.named_later))
    inside = _Structured(fold_elementary, fn.floats, known, share=share)
    items = inside.folded(fn.body)
    if same_ops(items, fn.body) and not inside.decided:
        return fn
    items = renamed(items, inside.named_later)
    return Function(fn.name, fn.params, items, fn.label, fn.result_kinds, fn.form, fn.floats)


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
        args = self.operands(op)
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

    def operands(self, op: Op) -> tuple[Value, ...]:
        return tuple([self.mapped.get(arg, arg) for arg in op.args])

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
            leader = self.made.setdefault(self.key(op), op)
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
            self.made.setdefault(self.key(op), op)
        self.unlisted.clear()
        return self.made

    def key(self, op: Op) -> Key:
        return self.keys.key(op)

    def emit(self, opcode: str, *args: Value) -> Value:
        """A new operation, simplified; an equal one that exists already is used again."""
        kind = PRIMITIVES[opcode].result_kind(tuple(a.kind for a in args))
        assert kind is not None
        assert self.current is not None
        op = Op(opcode, args, kind, origin=self.current.origin)
        found = self.simplified(op, args)
        if found is not None:
            return found
        existing = self.all_made().setdefault(self.key(op), op)
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


_Undo = tuple[Value, bool | None, Mapping[Value, Interval | None]]


class _Structured(_Folder):
    """Where control is nodes, and operations fault and warn themselves."""

    def __init__(self, fold_elementary: bool, floats: FloatFormat, known: Mapping[Value, Interval], *, share: bool):
        super().__init__(fold_elementary, floats, known, share=share)
        self.decided = False
        """An `if` became one of its arms."""
        self.taken: dict[Value, bool | None] = {}
        """Conditions, and whether they hold here."""

    # --- lists
    def folded(self, items: list[Item], *, of_loop: bool = False) -> list[Item]:
        done: list[Item] = []
        learned: list[_Undo] = []
        self.put(items, done, learned, None, of_loop=of_loop)
        self.forget(learned)
        return done

    def put(self, items: list[Item], done: list[Item], learned: list[_Undo], takes: Sequence[Value] | None, *,
            of_loop: bool = False) -> bool:
        """Whether the list, folded into `done`, comes to its end. `takes`: what its yield goes to, where it stood in an
        arm that is the one that runs."""
        for at, item in enumerate(items):
            match item:
                case Block():
                    self.put_block(item, done, takes)
                    if isinstance(item.end, Exit):
                        return False
                case If():
                    cond = self.here(self.read(item.cond))
                    outcome = None if of_loop and at == 1 else self.truth(cond)
                    if outcome is not None:
                        self.decided = True
                        if not self.put(item.then if outcome else item.orelse, done, learned, item.results):
                            return False
                        continue
                    then, orelse = self.inside(item.then, (cond, True)), self.inside(item.orelse, (cond, False))
                    done.append(If(cond, then, orelse, item.results, item.origin, item.hint))
                    learned += [self.learn(cond, not holds) for arm, holds in ((then, True), (orelse, False))
                                if _leaves(arm)]
                case Region():
                    done.append(Region(item.label, self.inside(item.body), item.results))
                case Loop():
                    done.append(self.loop(item))
        return True

    def put_block(self, block: Block, done: list[Item], takes: Sequence[Value] | None) -> None:
        """Joined with the block before it where the node between them is gone."""
        last = done.pop() if done and isinstance(done[-1], Block) else Block()
        assert isinstance(last, Block)
        self.ops = last.ops
        for op in block.ops:
            self.visit(op)
        end = block.end and with_values(block.end, [self.here(self.read(value)) for value in block.end.values])
        if takes is not None and isinstance(end, Yield):
            self.mapped.update(zip(takes, end.values, strict=True))
            end = None
        done.append(Block(self.ops, end))

    def inside(self, items: list[Item], fact: tuple[Value, bool] | None = None, *, of_loop: bool = False) -> list[Item]:
        """A list of a node. What is made and known in it is not after it."""
        made = dict(self.all_made())
        learned = [self.learn(*fact)] if fact is not None else []
        found = self.folded(items, of_loop=of_loop)
        self.forget(learned)
        self.made = made
        self.unlisted.clear()
        return found

    def loop(self, loop: Loop) -> Loop:
        inits, counted = [self.here(self.read(value)) for value in loop.inits], recognise_counted(loop)
        if counted is not None:
            start = self.intervals.of(self.here(self.read(counted.lower)))
            reached = Interval(start.low, INT_MAX) if counted.step > 0 else Interval(INT_MIN, start.high)
            self.intervals.narrow(counted.iv, reached)
        body = self.inside(loop.body, of_loop=True)
        return Loop(loop.label, loop.again, loop.params, inits, body, loop.results, hint=loop.hint)

    # --- what is known
    def learn(self, cond: Value, holds: bool) -> _Undo:
        before = cond, self.taken.get(cond), self.intervals.assume(cond, holds=holds)
        self.taken[cond] = holds
        return before

    def forget(self, learned: Sequence[_Undo]) -> None:
        for cond, taken, before in reversed(learned):
            self.taken[cond] = taken
            self.intervals.restore(before)

    def truth(self, cond: Value) -> bool | None:
        """Whether a condition holds here, where that is known."""
        if isinstance(cond, Const):
            return None if cond.value is None else bool(cond.value)
        taken = self.taken.get(cond)
        if taken is not None or not isinstance(cond, Op):
            return taken
        if cond.opcode == "not":
            found = self.truth(cond.args[0])
            return None if found is None else not found
        return self.intervals.decide(cond.opcode, cond.args)

    def here(self, value: Value) -> Value:
        """What a select gives here; a condition that is known, as the test of a loop is in its body, is a literal."""
        while isinstance(value, Op) and value.opcode == "select" and not same(*value.args[1:]):
            outcome = self.truth(value.args[0])
            if outcome is None:
                break
            value = value.args[1 if outcome else 2]
        known = self.taken.get(value) if value.kind is BOOL else None
        return value if known is None else TRUE if known else FALSE

    # --- operations
    def visit(self, op: Op) -> None:
        if op.kind is MEMORY or op.opcode in CONVERGENT or is_barrier(op) or is_guarded(op):
            new = with_args(op, [self.here(self.read(arg)) for arg in op.args])
            self.ops.append(new)
            if new is not op:
                self.mapped[op] = new
            return
        super().visit(op)

    def operands(self, op: Op) -> tuple[Value, ...]:
        return tuple([self.here(self.read(arg)) for arg in op.args])

    def key(self, op: Op) -> Key:
        span = op.span if may_warn(op.opcode, op.kind) else None
        return self.keys.key(op) if span is None else (*self.keys.key(op), span.file, span.line)

    def simplified(self, op: Op, args: tuple[Value, ...]) -> Value | None:
        if op.opcode in _CALLED or op.opcode in _COUNTS and not all(isinstance(arg, Const) for arg in args):
            return None
        if op.opcode == "select" and isinstance(args[0], Const) and same(*args[1:]):
            return None if op.kind is FLOAT else args[1]
        if op.opcode == "fitted":
            limits, number = interval_of(op.attr("dtype")), self.intervals.of(args[0])
            if limits is not None and limits.low <= number.low and number.high <= limits.high:
                return args[0]
        found = super().simplified(op, args)
        return self.shifted(op, args) if found is None and op.args[0].kind is INT else found

    def shifted(self, op: Op, args: tuple[Value, ...]) -> Value | None:
        """Sums of a number and literals as one, and what is compared without one, where nothing leaves int64."""
        if op.opcode == "add" and isinstance(args[0], Const) and self.intervals.is_exact("add", args):
            return self.emit("add", args[1], args[0])
        if op.opcode == "sub" and isinstance(args[1], Const) and self.intervals.is_exact(op.opcode, args):
            return self.sum(args[0], -int(args[1].value or 0))
        if op.opcode not in ("add", *COMPARISONS) or not isinstance(args[1], Const):
            return None
        base, number = self.shift(args[0]), int(args[1].value or 0)
        if base is None:
            return None
        if op.opcode == "add":
            return self.sum(base[0], base[1] + number)
        least = number - base[1]
        return self.emit(op.opcode, base[0], Const(INT, least)) if INT_MIN <= least <= INT_MAX else None

    def shift(self, value: Value) -> tuple[Value, int] | None:
        """The number and the literal of which a value is the sum."""
        if not isinstance(value, Op) or value.opcode != "add" or not isinstance(value.args[1], Const):
            return None
        return (value.args[0], int(value.args[1].value or 0)) if self.intervals.is_exact("add", value.args) else None

    def sum(self, value: Value, number: int) -> Value | None:
        base = self.shift(value)
        value, number = (base[0], base[1] + number) if base is not None else (value, number)
        return self.emit("add", value, Const(INT, number)) if INT_MIN <= number <= INT_MAX else None

    def evaluated(self, op: Op, literals: list[Const]) -> Const | None:
        found = super().evaluated(op, literals)
        endless = found is not None and isinstance(found.value, float) and not math.isfinite(found.value)
        return None if endless and may_warn(op.opcode, op.kind) else found


def _leaves(items: list[Item]) -> bool:
    """Control does not come to the end of the list."""
    last = items[-1]
    return isinstance(last, Block) and isinstance(last.end, Exit)


def _literal(value: object, kind: Kind) -> Const | None:
    """A nan with its sign set stays computed: `copysign` sees the sign, the literal nan has none."""
    if not isinstance(value, bool | int | float) or kind_of(value) is not kind:
        return None
    if isinstance(value, float) and math.isnan(value) and math.copysign(1.0, value) < 0:
        return None
    return Const(kind, value)


PASS = Pass(fold_constants)
