"""Arms that cost: what only some lanes need is skipped where none of a gang needs it.

    %a = vec_exp %x                        if any lane of the gang has %p:
    %b = mul %a, %k                            %a = vec_exp %x; %b = mul %a, %k        under the mask %p
    %c = select %p, %b, %x                 %c = select %p, %b, %x

An operation has *needs*: conditions under which its value is used at all. An arm of a select adds the condition, an
operand of `and` (the condition of a fault, most often) what the other operand says; with several users it is what
their needs have in common, and for an expensive operation that any of them holds. The needs in the order of the
program are the operation's *path* into nested arms. An arm that costs less than a branch does, guessed right and wrong
(`costs`, as measured), is not worth one: its operations stay in line, for all lanes. A condition that all lanes share
comes first in a path, and its branch is always guessed right: much less is worth one.

A select of one of the arm's values, by the arm's own condition, is made inside: where the arm is skipped, it is its
other operand, which is there before.

An arm is written where its values are needed first, as a whole, so that there are few branches; an operation of the
arm that depends on a value from outside which itself depends on the arm comes in a second one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.types import BOOL
from pyflat.targets.numba.costs import cost_of, costs

Literal = tuple[Value, bool]
Needs = frozenset[Literal]
Path = tuple[tuple[Literal, ...], ...]
"""Nested arms, outermost first; the conditions of each hold together."""

MOST_NEEDS, MOST_OPERATIONS = 24, 5_000
"""What is looked at: time grows with the product."""
MOST_LOOKED = 256
"""Parts of the conditions of all arms that are looked at for an operation: an unrolled loop with a break has chains of
thousands."""
MOST_JOINED = 8
"""Conditions that one is made of for an operation that several arms share."""


@dataclass(slots=True)
class Arm:
    """Operations that only the lanes need in which all `conditions` have the value that stands with them."""

    conditions: tuple[Literal, ...]
    items: list[Op | Arm] = field(default_factory=list)
    results: list[Op] = field(default_factory=list)
    """The values that are used outside."""
    otherwise: dict[Op, Value] = field(default_factory=dict)
    """What those of them are where the arm is skipped that are not any value then."""


@dataclass(frozen=True, slots=True)
class Least:
    """What an arm has to cost to get a branch; `shared` where all its conditions are among the `same`, the values that
    all lanes share."""

    worth: float
    same: Collection[Value] = ()
    shared: float = math.inf

    def of(self, conditions: Sequence[Literal]) -> float:
        return self.shared if all(value in self.same for value, _ in conditions) else self.worth


Plan = list[Op | Arm] | None

_kept: ContextVar[dict[Hashable, Plan] | None] = ContextVar("pyflat_plans", default=None)


@contextmanager
def kept_plans() -> Iterator[None]:
    """Plans that are made in here are made once: one kernel asks for the same again, for its shape and each of its
    ways."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def plan_arms(ops: Sequence[Op], outside: Iterable[Value], width: int, same: AbstractSet[Value] = frozenset()) -> Plan:
    """The operations of a block with arms where they pay, None where none does. `outside` are the values that are
    used behind the block, `same` those that all lanes share: a branch on them is guessed right, and costs little."""
    kept, used = _kept.get(), tuple(outside)
    key = tuple(ops), frozenset(used), width, frozenset(same)
    if kept is not None and key in kept:
        return kept[key]
    least = Least(costs().worth, same, costs().branch)
    plan = arms_of(ops, used, {op: cost_of(op, width) for op in ops}, least, gather=True)
    if kept is not None:
        kept[key] = plan
    return plan


def with_parts(values: Iterable[Value]) -> list[Value]:
    """The values, and the bools that those among them are made of by `and`, `or` and `not`: what conditions that all
    lanes share have in common can be seen in their parts only."""
    found = dict.fromkeys(values)
    waiting = list(found)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Op) and value.kind is BOOL and value.opcode in ("and", "or", "not"):
            parts = [arg for arg in value.args if not isinstance(arg, Const) and arg not in found]
            found.update(dict.fromkeys(parts))
            waiting += parts
    return list(found)


def arms_of(ops: Sequence[Op], outside: Iterable[Value], each: dict[Op, float], least: Least, *, gather: bool = False
            ) -> list[Op | Arm] | None:
    """`plan_arms` with what each operation costs, and what an arm has to cost; with `gather` selects (`_chosen`) and
    conditions that are false outside of an arm (`_gathered`) are computed inside."""
    if len(ops) > MOST_OPERATIONS or not any(op.opcode == "select" or _is_and(op) for op in ops):
        return None
    if sum(each.values()) < min(least.worth, least.shared):
        return None
    found = set(outside)
    for most in (MOST_JOINED, 0):
        joined = _Joined(ops, least, most)
        needs = _needs(ops, found, each, joined)
        each.update((op, 1.0) for op in joined.ops)
        paths = _worthwhile(_in_order(needs, joined), each, least)
        if gather and any(paths.values()):
            more = _gathered(needs, paths, found, _ranks(ops, each), joined)
            gathered = _worthwhile(_in_order(more, joined), each, least)
            paths = gathered if _is_ordered(gathered) else paths
        if most == 0 or _is_ordered(paths):
            break
    if not any(paths.values()):
        return None
    chosen = _chosen(paths, least.same) if gather else {}
    return _Schedule(joined.all(), {**paths, **{op: path for op, (path, _) in chosen.items()}}, found,
                     {op: other for op, (_, other) in chosen.items()}).items


# --- paths


def _is_and(op: Op) -> bool:
    return op.opcode == "and" and op.kind is BOOL


class _Joined:
    """Conditions that are made for operations that several arms share: whether any of these arms is taken."""

    def __init__(self, ops: Sequence[Op], least: Least, most: int):
        self.least, self.most = least, most
        self.places: dict[Value, float] = {op: float(place) for place, op in enumerate(ops)}
        self.ops: list[Op] = []
        outer = dict.fromkeys(arg for op in ops for arg in op.args if arg not in self.places)
        self._among: dict[Value, int] = {value: place for place, value in enumerate(with_parts(outer))}
        """The order of values at one place: of those from outside, and of conditions that are made at one."""

    def all(self) -> list[Op]:
        """The operations of the block and the new ones, in an order in which each comes after what it uses."""
        return sorted((op for op in self.places if isinstance(op, Op)), key=lambda op: self.places[op])

    def needs(self, op: Op, users: Sequence[Needs], cost: float, known: Mapping[Op, Needs]) -> Needs:
        """What the needs of the users have in common; for an expensive operation also that any of them holds."""
        common = frozenset.intersection(*users)
        rests = _absorbed([user - common for user in users])
        rests = [rest for rest in rests if not any(other < rest for other in rests)]
        if cost < self.least.worth or len(rests) < 2 or sum(map(len, rests)) > self.most or self._always(rests):
            return common
        if _waits_for([value for rest in rests for value, _ in rest], op, known):
            return common
        condition = self._fold("or", [self._fold("and", [self._value(*each) for each in self.in_order(rest)])
                                      for rest in rests])
        return common | {(condition, True)}

    def _always(self, rests: Sequence[Needs]) -> bool:
        """One of them holds anyway, as far as that is plain."""
        negated = [frozenset((value, not wanted) for value, wanted in rest) for rest in rests if len(rest) == 1]
        return frozenset() in rests or any(each in rests for each in negated)

    def in_order(self, rest: Needs) -> list[Literal]:
        """Literals by the place of their value; values from outside the block come first, as the block uses them."""
        return sorted(rest, key=lambda literal: (self.places.get(literal[0], -1.0), self._among.get(literal[0], 0),
                                                 literal[1]))

    def _value(self, value: Value, wanted: bool) -> Value:
        return value if wanted else self._made("not", [value])

    def _fold(self, opcode: str, values: Sequence[Value]) -> Value:
        total, *rest = values
        for value in rest:
            total = self._made(opcode, [total, value])
        return total

    def _made(self, opcode: str, args: Sequence[Value]) -> Op:
        op = Op(opcode, args, BOOL)
        latest = max(self.places.get(arg, -1.0) for arg in args)
        self.places[op] = latest + (math.floor(latest) + 1 - latest) / 2
        self._among[op] = len(self.ops)
        self.ops.append(op)
        return op


def _absorbed(rests: Sequence[Needs]) -> list[Needs]:
    """These alternatives, shorter: `a and b, or not b` is `a or not b`."""
    single = {literal for rest in rests if len(rest) == 1 for literal in rest}
    return list(dict.fromkeys(frozenset((value, wanted) for value, wanted in rest
                                        if len(rest) == 1 or (value, not wanted) not in single) for rest in rests))


def _waits_for(values: Sequence[Value], op: Op, needs: Mapping[Op, Needs]) -> bool:
    """Whether one of the values needs `op`, as an operand or to know whether it is needed."""
    waiting, seen = list(values), set[Value]()
    while waiting:
        value = waiting.pop()
        if value is op:
            return True
        if isinstance(value, Op) and value not in seen:
            seen.add(value)
            waiting += [*value.args, *[condition for condition, _ in needs.get(value, ())]]
    return False


class _Reached:
    """What each value waits for, as `_waits_for` says it, where all needs are known: a set of places as bits."""

    def __init__(self, ops: Sequence[Op], needs: Mapping[Op, Needs]):
        self.places: dict[Value, int] = {op: place for place, op in enumerate(ops)}
        self.needs = needs
        self._bits: dict[Value, int] = {}

    def includes(self, values: Iterable[Value], op: Op) -> bool:
        place = self.places[op]
        return any(self._of(value) >> place & 1 for value in values)

    def _of(self, start: Value) -> int:
        """Where values wait for each other, not all is found; such a plan has no order (`_is_ordered`)."""
        waiting, begun = [start], set[Value]()
        while waiting:
            value = waiting[-1]
            if value in self._bits or value not in self.places or not isinstance(value, Op):
                waiting.pop()
                continue
            before = [*value.args, *[condition for condition, _ in self.needs[value]]]
            missing = [] if value in begun else [
                each for each in before if each in self.places and each not in self._bits and each not in begun]
            begun.add(value)
            if missing:
                waiting += missing
                continue
            waiting.pop()
            bits = 1 << self.places[value]
            for each in before:
                bits |= self._bits.get(each, 0)
            self._bits[value] = bits
        return self._bits.get(start, 0)


def _is_ordered(paths: Mapping[Op, Path]) -> bool:
    """Whether operations can be put in an order in which each comes after its operands and its conditions."""
    state: dict[Op, bool] = {}  # whether all is done that it waits for
    for start in paths:
        waiting = [start]
        while waiting:
            op = waiting[-1]
            if state.get(op):
                waiting.pop()
                continue
            before = [*op.args, *[condition for arm in paths[op] for condition, _ in arm]]
            missing = [each for each in before if isinstance(each, Op) and each in paths and not state.get(each)]
            if not missing:
                state[op] = True
                waiting.pop()
            elif op in state:
                return False
            else:
                state[op] = False
                waiting += missing
    return True


def _ranks(ops: Sequence[Op], costs: Mapping[Op, float]) -> dict[Value, tuple[float, int]]:
    """For each operation what the most expensive operation costs that it takes, and its place."""
    ranks: dict[Value, tuple[float, int]] = {}
    for position, op in enumerate(ops):
        ranks[op] = max([costs[op], *[ranks[arg][0] for arg in op.args if arg in ranks]]), position
    return ranks


def _needs(ops: Sequence[Op], outside: set[Value], costs: dict[Op, float], joined: _Joined) -> dict[Op, Needs]:
    """The needs of each operation."""
    ranks = _ranks(ops, costs)
    users: dict[Value, list[Needs]] = {}
    needs: dict[Op, Needs] = {}
    for op in reversed(ops):
        own = frozenset[Literal]() if op in outside or op not in users else joined.needs(
            op, users[op], costs[op], needs)
        needs[op] = own
        for arg, gate in zip(op.args, _gates(op, ranks, joined.least.same), strict=True):
            if arg in ranks:
                used = own if len(own) > MOST_NEEDS else own.union(gate)
                users.setdefault(arg, []).append(used)
    needs.update((op, frozenset()) for op in joined.ops)
    return needs


def _in_order(needs: Mapping[Op, Needs], joined: _Joined) -> dict[Op, tuple[Literal, ...]]:
    """The needs of each operation in the order of the program."""
    return {op: tuple(joined.in_order(needs[op])) for op in joined.all()}


def _gathered(needs: Mapping[Op, Needs], paths: Mapping[Op, Path], outside: set[Value],
              ranks: dict[Value, tuple[float, int]], joined: _Joined) -> dict[Op, Needs]:
    """For each operation the conditions of the arms that it may be computed in. What is true nowhere outside of an arm,
    as `and` of its condition is, may be computed inside: where the arm is skipped, its results are false. So of an
    arm's faults a few masks leave it, and the others cost nothing where it is skipped."""
    arms = dict.fromkeys(tuple(literal for arm in path for literal in arm) for path in paths.values() if path)
    conditions = {value for known in needs.values() for value, _ in known} | {a for op in joined.ops for a in op.args}
    implied: dict[Value, Needs] = {}
    for op in joined.all():
        if _is_and(op):
            literals = frozenset(_literals(op, True, ranks, joined.least.same))
            implied[op] = literals.union(*[implied.get(a, ()) for a in op.args])
        elif op.opcode == "or" and op.kind is BOOL:
            first, second = [implied.get(a, frozenset()) | {(a, True)} for a in op.args]
            implied[op] = first & second
    users: dict[Value, list[Needs]] = {}
    more: dict[Op, Needs] = {}
    order = joined.all()
    reached = _Reached(order, needs)
    for op in reversed(order):
        own = needs[op]
        if op in users and op not in outside and op not in conditions:
            own |= frozenset.intersection(*users[op])
        known, place = own | implied.get(op, frozenset()), joined.places[op]
        implies = _Implied(known)
        inside = [arm for arm in arms if all(literal in needs[op] or implies.find(*literal) for literal in arm)
                  and not reached.includes([v for v, _ in arm if joined.places.get(v, -1.0) >= place], op)]
        more[op] = frozenset[Literal]().union(*inside)
        for arg, gate in zip(op.args, _gates(op, ranks, joined.least.same), strict=True):
            if arg in ranks:
                users.setdefault(arg, []).append(own if len(own) > MOST_NEEDS else own.union(gate))
    return more


class _Implied:
    """Whether conditions have a value where all that is known holds, as far as that is plain. Conditions share parts:
    each is looked at once, and no more than `MOST_LOOKED`."""

    def __init__(self, known: Needs):
        self._found: dict[Literal, bool] = dict.fromkeys(known, True)
        self._left = MOST_LOOKED

    def find(self, value: Value, holds: bool) -> bool:
        key = value, holds
        found = self._found.get(key)
        if found is None:
            self._left -= 1
            found = self._found[key] = self._left >= 0 and self._compound(value, holds)
        return found

    def _compound(self, value: Value, holds: bool) -> bool:
        if not isinstance(value, Op) or value.kind is not BOOL:
            return False
        if value.opcode == "not":
            return self.find(value.args[0], not holds)
        if value.opcode in ("and", "or"):
            each = all if (value.opcode == "and") == holds else any
            return each(self.find(arg, holds) for arg in value.args)
        return False


def _gates(op: Op, ranks: dict[Value, tuple[float, int]], same: Collection[Value]) -> list[list[Literal]]:
    """For each operand: the conditions under which it counts. Of an `and` the operand that costs less comes first: what
    its most expensive operation costs, then its place in the program, are `ranks`. Of an `or` only one that all lanes
    share decides for the other: both are cheap, most often."""
    if op.opcode == "select":
        return [[], _literals(op.args[0], True, ranks, same), _literals(op.args[0], False, ranks, same)]
    if _is_and(op):
        first, second = op.args
        cheaper = ranks.get(first, (0, -1)) <= ranks.get(second, (0, -1))
        return [[], _literals(first, True, ranks, same)] if cheaper else [_literals(second, True, ranks, same), []]
    if op.opcode == "or" and op.kind is BOOL:
        first, second = op.args
        return [_literals(second, False, ranks, same) if second in same and first not in same else [],
                _literals(first, False, ranks, same) if first in same else []]
    return [[] for _ in op.args]


def _literals(condition: Value, wanted: bool, here: Collection[Value], same: Collection[Value]) -> list[Literal]:
    """A condition taken apart, as far as it is made in this block, or of what all lanes share: `not`, `and` that holds,
    `or` that does not."""
    found: list[Literal] = []
    waiting = [(condition, wanted)]
    while waiting and len(found) < MOST_NEEDS:
        value, holds = waiting.pop()
        made = value if isinstance(value, Op) and value.kind is BOOL and (
            value in here or all(arg in same for arg in value.args)) else None
        if made is not None and made.opcode == "not":
            waiting.append((made.args[0], not holds))
        elif made is not None and made.opcode == ("and" if holds else "or"):
            waiting += [(arg, holds) for arg in reversed(made.args)]
        elif not isinstance(value, Const):
            found.append((value, holds))
    return found


def _worthwhile(paths: dict[Op, tuple[Literal, ...]], costs: dict[Op, float], least: Least) -> dict[Op, Path]:
    """The arms that have operations enough of their own, besides those of the arms inside."""
    totals: dict[tuple[Literal, ...], float] = {}
    for op, path in paths.items():
        for size in range(1, len(path) + 1):
            totals[path[:size]] = totals.get(path[:size], 0) + costs[op]
    own = {path: total for path, total in totals.items() if total >= least.of(path)}
    for path in list(own):
        if path[:-1] in own:
            own[path[:-1]] -= totals[path]
    kept = {path for path, cost in own.items() if cost >= least.of(path)}

    def arms(path: tuple[Literal, ...]) -> Path:
        cuts = [size for size in range(1, len(path) + 1) if path[:size] in kept]
        return tuple(path[start:end] for start, end in zip([0, *cuts], cuts, strict=False))

    return {op: arms(path) for op, path in paths.items()}


def _chosen(paths: Mapping[Op, Path], same: Collection[Value]) -> dict[Op, tuple[Path, Value]]:
    """Selects that go into the arm of one of their operands, with the path there and the other operand."""
    found: dict[Op, tuple[Path, Value]] = {}
    for op, path in paths.items():
        if op.opcode != "select":
            continue
        cond, then, orelse = op.args
        for arm, other, wanted in ((then, orelse, True), (orelse, then, False)):
            inner = paths.get(arm, ()) if isinstance(arm, Op) else ()
            holds = _literals(cond, wanted, paths, same)
            if len(inner) == len(path) + 1 and inner[:-1] == path and set(inner[-1]) <= set(holds) and not (
                    _depends(other, inner, paths)):
                found[op] = inner, other
    return found


def _depends(value: Value, arm: Path, paths: Mapping[Op, Path]) -> bool:
    """Whether a value waits for an operation of an arm, as an operand or to know whether it is needed."""
    waiting, seen = [value], set[Value]()
    while waiting:
        each = waiting.pop()
        if isinstance(each, Op) and each in paths and each not in seen:
            if paths[each][: len(arm)] == arm:
                return True
            seen.add(each)
            waiting += [*each.args, *[condition for step in paths[each] for condition, _ in step]]
    return False


# --- order


class _Schedule:
    """Orders operations and arms so that each value comes before its uses. `otherwise` has for a select that an arm
    makes what it is elsewhere."""

    def __init__(self, ops: Sequence[Op], paths: dict[Op, Path], outside: set[Value], otherwise: Mapping[Op, Value]):
        self.ops, self.paths, self.outside, self.otherwise = ops, paths, outside, otherwise
        self.members: dict[Path, list[Op]] = {}
        for op in ops:
            path = paths[op]
            for size in range(1, len(path) + 1):
                self.members.setdefault(path[:size], []).append(op)
        self.done: set[Value] = set()
        self.users: dict[Value, list[Op]] = {}
        for op in ops:
            conditions = [condition for arm in paths[op] for condition, _ in arm]
            for value in (*op.args, *conditions):
                self.users.setdefault(value, []).append(op)
        self.items: list[Op | Arm] = []
        self._write([op for op in ops if op in outside], (), self.items, set(ops))

    def _write(self, wanted: Sequence[Op], level: Path, items: list[Op | Arm], allowed: set[Op]) -> None:
        """Put what `wanted` needs, and then it, at the end of the list of a level; `allowed` is what may be there."""
        waiting: list[Op] = list(reversed(wanted))
        begun: dict[Path, None] = {}
        while waiting:
            op = waiting[-1]
            if op in self.done:
                waiting.pop()
                continue
            path = self.paths[op]
            if len(path) > len(level):
                inner = path[: len(level) + 1]
                batch = self._batch(inner, allowed, begun)
                missing = self._missing(batch, level)
                if missing:
                    begun[inner] = None
                    waiting += missing
                else:
                    begun.pop(inner, None)
                    self._arm(inner, batch, items)
                continue
            missing = [arg for arg in op.args if isinstance(arg, Op) and arg in self.paths and arg not in self.done]
            if missing:
                waiting += reversed(missing)
                continue
            waiting.pop()
            items.append(op)
            self.done.add(op)

    def _batch(self, inner: Path, allowed: set[Op], begun: Iterable[Path]) -> list[Op]:
        """What of an arm can be written now: all that does not wait, from outside, for the arm itself or for one that
        was `begun` before, which waits for this one. Never nothing: the first operation of the arm waits for none."""
        members = [op for op in self.members[inner] if op not in self.done and op in allowed]
        inside = set(members)
        inside |= {op for path in begun if path != inner for op in self.members[path] if op not in self.done}
        waits: dict[Value, bool] = {}

        def touches(value: Value) -> bool:
            """A value from outside depends on something of the arm that is not written."""
            todo = [value]
            while todo:
                each = todo[-1]
                if each in waits:
                    todo.pop()
                    continue
                if not isinstance(each, Op) or each not in self.paths or each in self.done:
                    waits[each] = False
                    continue
                used = self._uses(each, 0)
                unknown = [a for a in used if a not in inside and a not in waits]
                if unknown:
                    todo += unknown
                    continue
                waits[each] = any(a in inside or waits[a] for a in used)
            return waits[value]

        batch: set[Value] = set()
        for op in members:
            if all(arg in batch or (arg not in inside and not touches(arg)) for arg in self._uses(op, len(inner))):
                batch.add(op)
        return [op for op in members if op in batch]

    def _uses(self, op: Op, level: int) -> list[Value]:
        """The operands, and the conditions of the arms deeper than `level` that the operation is in."""
        return [*op.args, *[condition for step in self.paths[op][level:] for condition, _ in step]]

    def _missing(self, batch: list[Op], level: Path) -> list[Op]:
        """What has to be written before an arm: what it uses, and its condition."""
        inside: set[Value] = set(batch)
        conditions = [condition for condition, _ in self.paths[batch[0]][len(level)]]
        used = [*conditions, *[arg for op in batch for arg in self._uses(op, len(level) + 1)]]
        return [value for value in dict.fromkeys(used)
                if isinstance(value, Op) and value in self.paths and value not in inside and value not in self.done]

    def _arm(self, inner: Path, batch: list[Op], items: list[Op | Arm]) -> None:
        arm = Arm(inner[-1])
        self._write(batch, inner, arm.items, set(batch))
        inside: set[Value] = set(batch)
        arm.results = [op for op in batch if op in self.outside or any(u not in inside for u in self.users.get(op, ()))]
        arm.otherwise = {op: self.otherwise[op] for op in arm.results
                         if op in self.otherwise and self.paths[op] == inner}
        items.append(arm)
