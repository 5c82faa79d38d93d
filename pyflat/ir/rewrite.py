"""Applies rules to a flat function: one sweep, in which a rule fires only where it pays.

A rule pays when it leaves fewer operations, or as many that cost less together (`by_cost`: when what it leaves costs
less). What its left side names below the root
goes away only where nothing else uses it; what its right side needs may exist already. So sweeps come to an end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from pyflat.errors import InternalError
from pyflat.ir.build import const
from pyflat.ir.nodes import Const, Function, Op, Origin, Value
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.patterns import Apply, Bindings, Literal, Match, Pattern, Rule, Word, matches
from pyflat.ir.types import Kind
from pyflat.ir.uses import Key, Keys, results_of, with_args, with_block

_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


class Rules:
    """Rules by the opcode of their root, in the order in which they are tried."""

    def __init__(self, rules: Sequence[Rule]):
        self.rules = tuple(rules)
        self.by_opcode: dict[str, list[Rule]] = defaultdict(list)
        for rule in rules:
            opcode = rule.pattern.opcode
            self.by_opcode[opcode].append(rule)
            if opcode in _MIRRORED:
                self.by_opcode[_MIRRORED[opcode]].append(rule)


def use_counts(fn: Function) -> Counter[Value]:
    """How often each value is an operand or a result."""
    counts: Counter[Value] = Counter(results_of(fn))
    for op in fn.flat_block.ops:
        counts.update(op.args)
    return counts


def rewrite(fn: Function, rules: Rules) -> Function:
    """`fn`, a flat function, after one sweep; `fn` itself when no rule fires. What becomes unused is left there."""
    sweep = Sweep(fn)
    for op in fn.flat_block.ops:
        found = _replacement(sweep, op, rules)
        if found is None:
            sweep.keep(op)
        else:
            sweep.replace(op, found)
    return sweep.result(fn)


def _replacement(sweep: Sweep, op: Op, rules: Rules) -> Value | None:
    for rule in rules.by_opcode.get(op.opcode, ()):
        for found in matches(rule, op):
            if sweep.pays(op, found, rule.replacement, rule.by_cost):
                return sweep.build(rule.replacement, found.bindings, op)
    return None


class Sweep:
    """A forward pass that copies operations and puts others in their place. Matching looks at the old operations,
    building uses what became of them."""

    def __init__(self, fn: Function):
        self.ops: list[Op] = []
        self.uses = use_counts(fn)
        self.mapped: dict[Value, Value] = {}
        self.keys = Keys()
        self.made: dict[Key, Op] = {}
        self.fresh: set[Value] = set()
        self.changed = False

    def read(self, value: Value) -> Value:
        return self.mapped.get(value, value)

    def keep(self, op: Op) -> Op:
        new = with_args(op, list(map(self.read, op.args)))
        if new is not op:
            self.mapped[op] = new
        self.add(new)
        return new

    def add(self, op: Op) -> None:
        self.ops.append(op)
        if op.opcode not in ("call", "fault"):
            self.made.setdefault(self.keys.key(op), op)

    def replace(self, op: Op, new: Value) -> None:
        """From now on `new` stands for `op`, and has its name when it is new itself."""
        self.changed = True
        if isinstance(new, Op) and new in self.fresh and op.name and not new.name:
            new.name, new.statement = op.name, op.statement
        self.mapped[op] = new

    def result(self, fn: Function) -> Function:
        return with_block(fn, self.ops, list(map(self.read, results_of(fn)))) if self.changed else fn

    # --- does it pay

    def pays(self, root: Op, found: Match, replacement: Pattern, by_cost: bool = False) -> bool:
        """Fewer operations, or as many that cost less; `by_cost`: that cost less."""
        going = self.going(root, found.inner)
        made: list[str] = []
        self.price(replacement, found.bindings, root, made)
        if len(made) != len(going) and not by_cost:
            return len(made) < len(going)
        return sum(OPERATIONS[o].cost for o in made) < sum(OPERATIONS[op.opcode].cost for op in going)

    def going(self, root: Op, inner: Sequence[Op]) -> set[Op]:
        """The root and those operations below it that nothing else uses."""
        gone = {root}
        left = Counter(arg for arg in root.args if isinstance(arg, Op))
        waiting = sorted(set(inner), key=inner.index)
        progress = True
        while progress:
            progress = False
            for op in waiting:
                if op not in gone and left[op] and left[op] == self.uses[op]:
                    gone.add(op)
                    left.update(arg for arg in op.args if isinstance(arg, Op))
                    progress = True
        return gone

    def price(self, pattern: Pattern, bound: Bindings, root: Op, made: list[str]) -> Value | None:
        """The operations that building `pattern` would add, in `made`; the value when it exists already."""
        match pattern:
            case Literal():
                return const(pattern.value)
            case Word():
                return self.read(bound[pattern.name])
            case Apply():
                args = [self.price(arg, bound, root, made) for arg in pattern.args]
                if all(arg is not None for arg in args):
                    probe = _operation(pattern.opcode, [a for a in args if a is not None], root.origin)
                    existing = self.made.get(self.keys.key(probe))
                    if existing is not None:
                        return existing
                made.append(pattern.opcode)
                return None

    # --- building

    def build(self, pattern: Pattern, bound: Bindings, root: Op) -> Value:
        match pattern:
            case Literal():
                return const(pattern.value)
            case Word():
                return self.read(bound[pattern.name])
            case Apply():
                return self.emit(pattern.opcode, *[self.build(arg, bound, root) for arg in pattern.args],
                                 origin=root.origin)

    def emit(self, opcode: str, *args: Value, origin: Origin | None = None) -> Op:
        """A new operation, or an equal one that exists already."""
        return self.emit_op(_operation(opcode, args, origin))

    def emit_like(self, op: Op, args: Sequence[Value], origin: Origin | None = None) -> Op:
        """`op` on other operands."""
        return self.emit_op(Op(op.opcode, args, op.kind, attrs=op.attrs, origin=origin))

    def emit_op(self, op: Op) -> Op:
        existing = self.made.get(self.keys.key(op))
        if existing is not None:
            return existing
        self.fresh.add(op)
        self.add(op)
        return op


def _operation(opcode: str, args: Sequence[Value], origin: Origin | None) -> Op:
    kinds = tuple(a.kind for a in args)
    kind: Kind | None = OPERATIONS[opcode].result_kind(kinds)
    if kind is None:
        raise InternalError(f"a rule makes {opcode} of {', '.join(map(str, kinds))}")
    return Op(opcode, args, kind, origin=origin)


def is_literal(value: Value) -> bool:
    return isinstance(value, Const) and value.value is not None


__all__ = ["Rules", "Sweep", "is_literal", "rewrite", "use_counts"]
