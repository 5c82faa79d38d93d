"""Indices that are inside of their axis whatever a kernel is given: no test is needed, and nothing can fail there.

    for i in range(1, a.shape[0]):          while k < len(a) and a[k] == x:
        a[i] = a[i - 1]                         k += 1

What is known are sums of ints that are not negative, of counters, of what stands behind a test, and of its other side.
A sum is not negative where it is one of these and others that are not, or its parts are not: lengths of axes, unsigned
elements, and what loops carry, if each iteration leaves it so, which is assumed at first, and taken back where it turns
out otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from pyflat.ir.affine import Affine, affine, symbol
from pyflat.ir.loops import recognise_counted
from pyflat.ir.nodes import Block, Const, Exit, Function, If, Item, Label, Loop, Op, Param, Region, Value, walk
from pyflat.ir.ops import OPPOSITE
from pyflat.ir.types import BOOL, INT

MOST_STEPS, MOST_TRIES = 5, 300
"""Steps and tries of a proof."""


@dataclass(slots=True)
class SureIndices:
    """`always`: inside in each iteration of the loops around; `here`: these, and others that are where they stand;
    `from_start`: not negative where they stand; `guarded`: these, because of a test; `at_most`: sums that tests say
    they are no larger than, where they stand; `proved`: operations where all that was asked of holds."""

    always: set[Op] = field(default_factory=set)
    here: set[Op] = field(default_factory=set)
    from_start: set[Op] = field(default_factory=set)
    guarded: set[Op] = field(default_factory=set)
    at_most: dict[Op, list[Affine]] = field(default_factory=dict)
    proved: set[Op] = field(default_factory=set)


def sure_indices(fn: Function, lengths: Iterable[Value], small: Collection[Value],
                 asked: Mapping[Op, Sequence[Affine]] = MappingProxyType({})) -> SureIndices:
    """Indices that are surely inside, with these lengths, and ints that stay `small` (`small_ints`). `asked`: sums that
    may not be negative where operations stand, in any iteration of the loops around."""
    search = _Search(fn, set(lengths), small, asked)
    while search.doubted is None or search.doubted:
        search.doubted = set()
        search.found = SureIndices()
        search.items(fn.body, [])
        search.carried -= search.doubted
    return search.found


class _Search:
    def __init__(self, fn: Function, lengths: set[Value], small: Collection[Value],
                 asked: Mapping[Op, Sequence[Affine]]):
        self.lengths, self.small, self.asked = lengths, small, asked
        self.tests: list[Affine] = []
        self.counts: list[Affine] = []
        """What is not negative where the walk is: behind tests, and in loops that count."""
        self.outside: int | None = None
        """So many of the tests are before the outermost loop around; None: there is no loop."""
        nodes = [item for item in walk(fn.body) if not isinstance(item, Block)]
        self.carried = {value for node in nodes for value in [*node.results, *(
            node.params if isinstance(node, Loop) else ())] if value.kind is INT}
        self.takes: dict[Label, list[Param]] = {}
        for node in nodes:
            if not isinstance(node, If):
                self.takes[node.label] = node.results
            if isinstance(node, Loop):
                self.takes[node.again] = node.params
        self.joins = {value: (node, k) for node in nodes if isinstance(node, If)
                      for k, value in enumerate(node.results) if value.kind is BOOL}
        self.doubted: set[Value] | None = None
        self.found = SureIndices()
        self.forms: dict[Value, Affine] = {}
        self.tries = 0

    # --- the walk
    def items(self, items: list[Item], takes: list[Param]) -> None:
        """A list, and what takes its values where it ends."""
        known = len(self.tests)
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        if op.opcode == "index":
                            self._index(op)
                        if op in self.asked and all(map(self._holds_in_all, self.asked[op])):
                            self.found.proved.add(op)
                    if item.end is not None:
                        self._pass(item.end.values, self.takes.get(item.end.label, []) if isinstance(item.end, Exit)
                                   else takes)
                case If():
                    self._arm(item.cond, True, item.then, item.results)
                    self._arm(item.cond, False, item.orelse, item.results)
                    for arm, holds in ((item.then, False), (item.orelse, True)):
                        if isinstance(arm[-1], Block) and isinstance(arm[-1].end, Exit):
                            self.tests += self._behind(item.cond, holds)
                case Region():
                    self.items(item.body, item.results)
                case Loop():
                    self._loop(item)
        del self.tests[known:]

    def _arm(self, condition: Value, holds: bool, items: list[Item], takes: list[Param]) -> None:
        known = len(self.tests)
        self.tests += self._behind(condition, holds)
        self.items(items, takes)
        del self.tests[known:]

    def _loop(self, loop: Loop) -> None:
        self._pass(loop.inits, loop.params)
        outside, self.outside = self.outside, len(self.tests) if self.outside is None else self.outside
        self._iterations(loop)
        self.outside = outside

    def _iterations(self, loop: Loop) -> None:
        counted, known = recognise_counted(loop), len(self.counts)
        if counted is None:
            self.items(loop.body, loop.params)
            return
        sign = 1 if counted.step > 0 else -1
        self.counts.append(self._form(counted.iv).minus(self._form(counted.lower)).times(sign))
        self.items(loop.body[:2], loop.params)
        self.counts.append(self._form(counted.upper).minus(self._form(counted.iv)).times(sign).shifted(-1))
        self.items(loop.body[2:], loop.params)
        del self.counts[known:]

    def _pass(self, values: list[Value], takes: list[Param]) -> None:
        for value, param in zip(values, takes, strict=False):
            if param in self.carried and self.doubted is not None and not self._holds(self._form(value)):
                self.doubted.add(param)

    def _index(self, op: Op) -> None:
        position, size = map(self._form, op.args)
        rest = size.minus(position).shifted(-1)
        self.found.at_most[op] = [test.plus(position) for test in self.tests if _is_less(position, test)]
        if not self._holds(position):
            return
        self.found.from_start.add(op)
        in_all = self._holds(position, in_all=True)
        if not in_all:
            self.found.guarded.add(op)
        if self._holds(rest):
            self.found.here.add(op)
            if in_all and self._holds(rest, in_all=True):
                self.found.always.add(op)

    # --- what is known
    def _behind(self, condition: Value, holds: bool) -> Iterator[Affine]:
        """What is not negative where a condition has this truth."""
        if condition in self.joins:
            yield from self._behind_join(*self.joins[condition], holds)
        if not isinstance(condition, Op):
            return
        opcode = condition.opcode
        if opcode == "not":
            yield from self._behind(condition.args[0], not holds)
        elif opcode == ("and" if holds else "or"):
            for part in condition.args:
                yield from self._behind(part, holds)
        elif opcode in OPPOSITE and condition.args[0].kind is INT and condition.args[1].kind is INT:
            first, second = map(self._form, condition.args)
            match opcode if holds else OPPOSITE[opcode]:
                case "lt":
                    yield second.minus(first).shifted(-1)
                case "le":
                    yield second.minus(first)
                case "gt":
                    yield first.minus(second).shifted(-1)
                case "ge":
                    yield first.minus(second)
                case "eq":
                    yield first.minus(second)
                    yield second.minus(first)

    def _behind_join(self, node: If, number: int, holds: bool) -> Iterator[Affine]:
        """A truth that one arm cannot have comes from the other."""
        for arm, other, took in ((node.then, node.orelse, True), (node.orelse, node.then, False)):
            value, never = (_yielded(items, number) for items in (arm, other))
            known = not took if never is node.cond else never.value if isinstance(never, Const) else None
            if value is not None and known is not None and known != holds:
                yield from self._behind(node.cond, took)
                yield from self._behind(value, holds)

    def _form(self, value: Value) -> Affine:
        """A number as a sum, which is exact: no part of it leaves 64 bits."""
        if value not in self.forms:
            self.forms[value] = affine(value, self.small) or symbol(value)
        return self.forms[value]

    # --- proofs
    def _holds(self, form: Affine, *, in_all: bool = False) -> bool:
        """Whether a sum is not negative here, or in all iterations."""
        self.tries = MOST_TRIES
        return self._proved(form, self.counts if in_all else [*self.counts, *self.tests], MOST_STEPS)

    def _holds_in_all(self, form: Affine) -> bool:
        """Whether a sum is not negative here, whatever tests say in the loops around."""
        self.tries = MOST_TRIES
        return self._proved(form, [*self.counts, *self.tests[:self.outside]], MOST_STEPS)

    def _proved(self, form: Affine, facts: list[Affine], steps: int) -> bool:
        """Whether a sum is not negative. A part that may be is left over from one of the facts, and a choice is one or
        the other."""
        parts, number = form
        open_ = [value for value, count in parts.items() if count < 0 or not self._is_positive(value, facts, steps)]
        if not open_ and number >= 0:
            return True
        self.tries -= 1
        if not steps or self.tries < 0:
            return False
        for value in open_[:1] or parts:
            for fact in [*facts, *self._of_quotient(value)]:
                times, rest = divmod(parts[value], fact[0][value]) if value in fact[0] else (0, 0)
                if not rest and times > 0 and self._proved(form.plus(fact, -times), facts, steps - 1):
                    return True
        for value in open_[:1]:
            if isinstance(value, Op) and value.opcode == "select":
                return all(self._proved(form.substituted({value: self._form(arm)}),
                                        [*facts, *self._behind(value.args[0], holds)], steps - 1)
                           for arm, holds in zip(value.args[1:], (True, False), strict=True))
        return False

    def _is_positive(self, value: Value, facts: list[Affine], steps: int) -> bool:
        if value in self.lengths or value in self.carried:
            return True
        if not isinstance(value, Op):
            return False
        match value.opcode:
            case "load":
                return str(value.attr("dtype")) in ("u1", "u2", "u4")
            case "to_int":
                return value.args[0].kind is BOOL
            case "floordiv" if _divisor(value):
                return bool(steps) and self._proved(self._form(value.args[0]), facts, steps - 1)
        return value.opcode == "mod" and _divisor(value) > 0

    def _of_quotient(self, value: Value) -> list[Affine]:
        """The remainder of a quotient of a literal, and what is left to the next one: neither is negative."""
        by = _divisor(value)
        if not by or not isinstance(value, Op):
            return []
        if value.opcode == "mod":
            return [Affine({value: -1}, by - 1)]
        remainder = self._form(value.args[0]).plus(symbol(value), -by)
        return [remainder, remainder.times(-1).shifted(by - 1)]


def _is_less(position: Affine, test: Affine) -> bool:
    """Whether a test takes all of a position from something."""
    return bool(position[0]) and all(test[0].get(value) == -count for value, count in position[0].items())


def _divisor(value: Value) -> int:
    """The literal that an int is divided by, 0 where there is none."""
    if not isinstance(value, Op) or value.opcode not in ("floordiv", "mod") or value.kind is not INT:
        return 0
    by = value.args[1]
    return max(int(by.value or 0), 0) if isinstance(by, Const) else 0


def _yielded(items: list[Item], number: int) -> Value | None:
    last = items[-1]
    return last.end.values[number] if isinstance(last, Block) and last.end is not None and not isinstance(
        last.end, Exit) else None
