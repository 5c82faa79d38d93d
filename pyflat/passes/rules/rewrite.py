"""Applies rules to a flat function: one sweep, in which a rule fires only where it pays.

A rule pays when it leaves fewer operations, or as many that cost less together (`by_cost`: when what it leaves costs
less). What its left side names below the root
goes away only where nothing else uses it; what its right side needs may exist already. So sweeps come to an end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial

from pyflat.errors import InternalError
from pyflat.ir.build import const
from pyflat.ir.nodes import Const, Function, Op, Origin, Value
from pyflat.ir.opaque_calls import has_effect
from pyflat.ir.ops import MIRRORED, OPERATIONS
from pyflat.ir.types import Kind
from pyflat.ir.uses import Key, Keys, results_of, with_args, with_block
from pyflat.passes.rules.patterns import Apply, Bindings, Literal, Match, Pattern, Rule, Word, built, matches

_MOST_REWRITES = 64
"""Of one operation in one sweep."""


class Rules:
    """Rules by the opcode of their root, in the order in which they are tried."""

    def __init__(self, rules: Sequence[Rule]):
        self.by_opcode: dict[str, list[tuple[Rule, _Needs]]] = defaultdict(list)
        for rule in rules:
            opcode, needs = rule.pattern.opcode, _Needs(rule)
            for each in {opcode, MIRRORED.get(opcode, opcode)}:
                self.by_opcode[each].append((rule, needs))

    def candidates(self, op: Op) -> Iterator[Rule]:
        """The rules whose left side may be this operation: a quick look at its operands."""
        found = self.by_opcode.get(op.opcode)
        if found:
            opcodes = [arg.opcode if isinstance(arg, Op) else "" for arg in op.args]
            literal = any(map(is_literal, op.args))
            for rule, needs in found:
                if (literal or not needs.literal) and all(any(o in each for o in opcodes) for each in needs.opcodes):
                    yield rule


class _Needs:
    """What the operands of a match have among them: a literal, operations."""

    __slots__ = ("literal", "opcodes")

    def __init__(self, rule: Rule):
        self.literal = rule.needs_literal
        inner = {a.opcode for a in rule.pattern.args if isinstance(a, Apply)}
        self.opcodes = [frozenset({opcode, MIRRORED.get(opcode, opcode)}) for opcode in inner]


def use_counts(fn: Function) -> Counter[Value]:
    """How often each value is an operand or a result."""
    counts: Counter[Value] = Counter(results_of(fn))
    for op in fn.flat_block.ops:
        counts.update(op.args)
    return counts


def rewrite(fn: Function, rules: Rules) -> Function:
    """`fn`, a flat function, after one sweep; `fn` itself when no rule fires. What becomes unused is left there."""
    sweep = _Rewriting(fn, rules)
    for op in fn.flat_block.ops:
        sweep.visit(op)
    return sweep.result(fn)


class Sweep:
    """A forward pass that copies operations and puts others in their place; `uses` counts those of the old ones."""

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

    # --- building

    def build(self, pattern: Pattern, bound: Bindings, root: Op) -> Value:
        read = {name: self.read(value) for name, value in bound.items()}
        return built(pattern, read, partial(self.emit, origin=root.origin))

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


class _Rewriting(Sweep):
    """A sweep of rules. Matching looks at the new operations, so that what one rule makes another one sees at once;
    `uses` follows: for each value how often what is there now, or is still to come, reads it."""

    def __init__(self, fn: Function, rules: Rules):
        super().__init__(fn)
        self.rules = rules
        self.gone: set[Value] = set()

    def visit(self, op: Op) -> None:
        current = with_args(op, list(map(self.read, op.args)))
        standing = False
        for _ in range(_MOST_REWRITES):
            found = self._replacement(current)
            if found is None:
                break
            self.changed = True
            if standing:
                self.gone.add(current)
            for arg in current.args:
                self._release(arg)
            if not isinstance(found, Op) or found not in self.fresh or self.uses[found]:
                self._settle(op, found)
                return
            current, standing = found, True
        if not standing:
            self.add(current)
        self._settle(op, current)

    def _settle(self, op: Op, new: Value) -> None:
        """`new` stands for `op`: its uses to come are those of `op`."""
        if new is op:
            return
        if isinstance(new, Op) and new in self.fresh and op.name and not new.name:
            new.name, new.statement = op.name, op.statement
        self._revive(new)
        self.uses[new] += self.uses[op]
        self.mapped[op] = new

    def _replacement(self, op: Op) -> Value | None:
        for rule in self.rules.candidates(op):
            for found in matches(rule, op):
                if self.pays(op, found, rule):
                    return self.build(rule.replacement, found.bindings, op)
        return None

    def emit_op(self, op: Op) -> Op:
        known = len(self.fresh)
        made = super().emit_op(op)
        if len(self.fresh) > known:
            for arg in made.args:
                self._revive(arg)
                self.uses[arg] += 1
        return made

    def _release(self, value: Value) -> None:
        """One use less; an operation without any does not use its operands either."""
        self.uses[value] -= 1
        if isinstance(value, Op) and self.uses[value] == 0 and value not in self.gone and not has_effect(value):
            self.gone.add(value)
            for arg in value.args:
                self._release(arg)

    def _revive(self, value: Value) -> None:
        if isinstance(value, Op) and value in self.gone:
            self.gone.remove(value)
            for arg in value.args:
                self._revive(arg)
                self.uses[arg] += 1

    # --- does it pay

    def pays(self, root: Op, found: Match, rule: Rule) -> bool:
        """Fewer operations, or as many that cost less; `by_cost`: that cost less; `free`: that do not cost more."""
        going = self.going(root, found.inner)
        made: list[str] = []
        self.price(rule.replacement, found.bindings, root, made)
        if len(made) != len(going) and not rule.by_cost:
            return len(made) < len(going)
        less = sum(OPERATIONS[op.opcode].cost for op in going) - sum(OPERATIONS[o].cost for o in made)
        return less > 0 or rule.free and less == 0

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
                    if existing is not None and existing not in self.gone:
                        return existing
                made.append(pattern.opcode)
                return None

def _operation(opcode: str, args: Sequence[Value], origin: Origin | None) -> Op:
    kinds = tuple(a.kind for a in args)
    kind: Kind | None = OPERATIONS[opcode].result_kind(kinds)
    if kind is None:
        raise InternalError(f"a rule makes {opcode} of {', '.join(map(str, kinds))}")
    return Op(opcode, args, kind, origin=origin)


def is_literal(value: Value) -> bool:
    return isinstance(value, Const) and value.value is not None


__all__ = ["Rules", "Sweep", "is_literal", "rewrite", "use_counts"]
