"""Which loops of a kernel are lanes: those whose iterations do not meet in memory.

Two accesses to one array meet in different iterations of a nest unless some axis keeps them apart: there both indices
are the same function c*i + rest of a counter of the nest, so that they are equal in the same iteration only; or both
are free of the nest's counters, and differ by a number. That is quick, and decides most loops. Of what it leaves open
`analysis.dependence` asks isl, loop by loop: a nest is parallel where each of its loops is, those around it standing
still.

Of the nests it is said, too, what varies from lane to lane in their bodies, and how lanes leave their loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pyflat.analysis.dependence import SearchLimitError, Surroundings, meeting
from pyflat.ir.affine import affine, places
from pyflat.ir.faults import can_fault
from pyflat.ir.loops import Counted, all_ops, definitions, recognise_counted
from pyflat.ir.memory import may_warn
from pyflat.ir.nodes import FAULT, Block, Const, Exit, If, Item, Label, Loop, Op, Param, Region, Value, Yield, walk
from pyflat.ir.types import INT, MEMORY


@dataclass(slots=True)
class LoopNest:
    """Loops of which each is all that the one around it does; `body`: what the innermost does in an iteration."""

    loops: list[Loop]
    counted: list[Counted]
    body: list[Item]
    longer: dict[Value, int] = field(default_factory=dict)
    """Lengths that must be more than a number: -1 and 0 are one element where the length is 1."""


def varying_in(loop: Loop, known: set[Value]) -> set[Value]:
    """Everything in a loop that depends on what varies."""
    found = set(known)
    changed = True
    while changed:
        changed = _spread(loop.body, found, False)
    return found


def _spread(items: list[Item], found: set[Value], under: bool) -> bool:
    changed = False

    def add(value: Value) -> None:
        nonlocal changed
        if value.kind is not MEMORY and value not in found:
            found.add(value)
            changed = True

    for item in items:
        match item:
            case Block():
                for op in item.ops:
                    if any(arg in found for arg in op.args):
                        add(op)
            case If():
                varies = item.cond in found
                changed |= _spread(item.then, found, varies)
                changed |= _spread(item.orelse, found, varies)
                for number, result in enumerate(item.results):
                    ends = [items[-1].end for items in (item.then, item.orelse) if isinstance(items[-1], Block)]
                    ways = [e.values[number] for e in ends if isinstance(e, Yield)]
                    if varies or any(v in found for v in ways):
                        add(result)
            case Region() | Loop():
                if isinstance(item, Loop):
                    for param, ways in next_values(item).items():
                        if any(v in found for v in ways) or exits_vary(item.body, found):
                            add(param)
                changed |= _spread(item.body, found, under)
                if isinstance(item, Region) or exits_vary(item.body, found) or any(p in found for p in item.params):
                    for result in item.results:
                        add(result)
    return changed


def next_values(loop: Loop) -> dict[Param, list[Value]]:
    """What each parameter may be."""
    ways: list[Sequence[Value]] = [loop.inits]
    last = loop.body[-1]
    if isinstance(last, Block) and isinstance(last.end, Yield):
        ways.append(last.end.values)
    ways += [item.end.values for item in walk(loop.body)
             if isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label is loop.again]
    return {p: [way[k] for way in ways] for k, p in enumerate(loop.params) if p.kind is not MEMORY}


def exits_vary(items: list[Item], found: set[Value], own: frozenset[Label] = frozenset({FAULT})) -> bool:
    """Some exit out of the list stands under a condition that varies; `own` are labels inside of it."""
    for item in items:
        match item:
            case If():
                if item.cond in found and (_has_exit(item.then, own) or _has_exit(item.orelse, own)):
                    return True
                if exits_vary(item.then, found, own) or exits_vary(item.orelse, found, own):
                    return True
            case Region() | Loop():
                if exits_vary(item.body, found, own | labels_of(item)):
                    return True
    return False


def labels_of(item: Item) -> frozenset[Label]:
    """The labels by which exits inside of it leave it, or go on in it."""
    if isinstance(item, Loop):
        return frozenset({item.label, item.again})
    return frozenset({item.label} if isinstance(item, Region) else ())


def _has_exit(items: list[Item], own: frozenset[Label]) -> bool:
    inner = own.union(*map(labels_of, walk(items)))
    return any(isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label not in inner
               for item in walk(items))


def may_fault_outside(nest: LoopNest) -> bool:
    """Something around the innermost loop of a nest may fault, which runs also where that one has no iteration."""
    blocks = [item for loop in nest.loops[:-1] for item in loop.body[2:] if isinstance(item, Block)]
    return any(can_fault(op) for block in blocks for op in block.ops
               if op.opcode not in ("add", "sub") or not any(isinstance(arg, Const) for arg in op.args))


def leaves_elsewhere(loop: Loop) -> bool:
    """A lane may leave it for another place than what follows it."""
    return _has_exit(loop.body, labels_of(loop) | {FAULT})


def nest_of(loop: Loop, around: Surroundings) -> LoopNest | None:
    """The longest parallel nest that starts with this loop, None where its iterations depend on each other, or the
    loops in it are better lanes."""
    chain = _chain(loop)
    while chain:
        found = _parallel(chain, around)
        if found is not None:
            return found if len(chain) > 1 or not _is_around_ragged(found, around) else None
        chain.pop()
    return None


def is_around_ragged(loop: Loop, counted: Counted, around: Surroundings) -> bool:
    """A parallel loop whose loops are parallel, too, and of other lengths in each iteration: as lanes its iterations
    would wait for each other."""
    found = _parallel([(loop, counted)], around) if _start(loop) is not None else None
    return found is not None and _is_around_ragged(found, around)


def _is_around_ragged(nest: LoopNest, around: Surroundings) -> bool:
    def is_ragged(loop: Loop) -> bool:
        counted = recognise_counted(loop)
        if counted is None or _start(loop) is None or _is_invariant(counted, nest.loops):
            return False
        return _parallel([(loop, counted)], around) is not None

    inner = [item for item in nest.body if isinstance(item, Loop)]
    return bool(inner) and all(map(is_ragged, inner))


def is_alone_parallel(loop: Loop, counted: Counted, around: Surroundings) -> bool:
    """The iterations of this loop do not depend on each other, whatever the lengths of arrays are."""
    if _start(loop) is None:
        return False
    found = _parallel([(loop, counted)], around)
    return found is not None and not found.longer


def carries_memory_only(loop: Loop, counted: Counted) -> bool:
    """All that goes from iteration to iteration is the counter and memory, and the test is all of the head."""
    carried = [param for param in loop.params if param is not counted.iv]
    return iterates(loop) and all(value.kind is MEMORY for value in [*carried, *loop.results])


def iterates(loop: Loop) -> bool:
    """Each iteration is a test, then the items from the third one on."""
    head = loop.body[0]
    return isinstance(head, Block) and len(head.ops) == 1 and _start(loop) is not None


def _chain(loop: Loop) -> list[tuple[Loop, Counted]]:
    chain: list[tuple[Loop, Counted]] = []
    current: Loop | None = loop
    while current is not None:
        counted = recognise_counted(current)
        if counted is None or _start(current) is None:
            break
        if chain and not _is_invariant(counted, [each for each, _ in chain]):
            break
        chain.append((current, counted))
        current = _only_loop(current)
    return chain


def _is_invariant(counted: Counted, loops: Sequence[Loop]) -> bool:
    """The range is the same in every iteration of the loops around it."""
    inside = {value for loop in loops for value in [*loop.params, *definitions(loop.body)]}
    return is_invariant(counted.lower, inside) and is_invariant(counted.upper, inside)


def is_invariant(value: Value, inside: set[Value]) -> bool:
    """The value is the same in all iterations: it comes from outside, or is computed from what does."""
    if value not in inside:
        return True
    return isinstance(value, Op) and value.opcode in ("add", "sub", "mul", "floordiv", "select") and all(
        is_invariant(arg, inside) for arg in value.args)


def _start(loop: Loop) -> tuple[list[Value], list[Item]] | None:
    """What a counted loop, in the front end's form, leaves with at the test, and its body."""
    head = loop.body[0]
    test = loop.body[1] if len(loop.body) > 1 else None
    if not isinstance(head, Block) or not isinstance(test, If) or test.results:
        return None
    (then,), leave = test.then[:1], test.orelse[-1]
    if len(test.then) != 1 or not isinstance(then, Block) or then.ops or len(test.orelse) != 1:
        return None
    if not isinstance(leave, Block) or not isinstance(leave.end, Exit) or leave.end.label is not loop.label:
        return None
    if any(map(_must_run, leave.ops)):
        return None
    return leave.end.values, loop.body[2:]


def _must_run(op: Op) -> bool:
    """Whether an operation of the `else` of a loop has to run even where nothing takes its value. (Sums of counters are
    far from the ends of int64.)"""
    is_sum = op.kind is INT and op.opcode in ("add", "sub", "mul")
    return op.opcode in ("load", "store", "alloc") or can_fault(op) and not is_sum or may_warn(op.opcode, op.kind)


def _only_loop(loop: Loop) -> Loop | None:
    """The loop that is all that an iteration does."""
    found = _start(loop)
    assert found is not None
    nodes = [item for item in found[1] if not isinstance(item, Block)]
    if len(nodes) != 1 or not isinstance(nodes[0], Loop):
        return None
    ops = [op for item in found[1] if isinstance(item, Block) for op in item.ops]
    plain = not any(op.opcode in ("store", "alloc", "call", "routine", "ufunc") for op in ops)
    return nodes[0] if plain else None


def _parallel(chain: Sequence[tuple[Loop, Counted]], around: Surroundings) -> LoopNest | None:
    loops = [loop for loop, _ in chain]
    innermost = _start(loops[-1])
    assert innermost is not None
    body = innermost[1]
    nest = LoopNest(loops, [counted for _, counted in chain], body)
    if not all(_carries_nothing(loop, counted) for loop, counted in chain) or leaves(loops):
        return None
    return nest if _apart(nest, around) else None


def _carries_nothing(loop: Loop, counted: Counted) -> bool:
    """No iteration reads what another one has left in a variable."""
    carried = {param for param in loop.params if param is not counted.iv and param.kind is not MEMORY}
    reads = {arg for op in all_ops([loop.body[0], *loop.body[2:]]) for arg in op.args}
    reads |= {value for item in walk(loop.body[2:]) for value in _carried_by(item)}
    return not carried & reads


def _carried_by(item: Item) -> list[Value]:
    if isinstance(item, Block):
        return list(item.end.values) if item.end is not None else []
    if isinstance(item, If):
        return [item.cond]
    return list(item.inits) if isinstance(item, Loop) else []


def leaves(loops: Sequence[Loop]) -> bool:
    """Something in the nest leaves it in another way than at the end of its ranges, or makes an array."""
    own = {label for loop in loops for label in (loop.label, loop.again)} - {loops[-1].again}
    inner = {label for item in walk(loops[0].body) for label in labels_of(item)} - own | {FAULT, loops[-1].again}
    tests = {loop.body[1].orelse[-1] for loop in loops if isinstance(loop.body[1], If)}
    ends = [item.end for item in walk(loops[0].body) if isinstance(item, Block) and item not in tests]
    if any(isinstance(end, Exit) and end.label not in inner for end in ends):
        return True
    return any(op.opcode in ("alloc", "call", "routine", "ufunc") for op in all_ops(loops[0].body))


# --- memory
def _apart(nest: LoopNest, around: Surroundings) -> bool:
    """No two iterations of the nest meet."""
    left = list(_left_open(nest.loops, nest.counted, nest.longer))
    if not left:
        return True
    innermost = set(all_ops(nest.body))
    if any(a.attr("array") != b.attr("array") or not {a, b} <= innermost for a, b in left):
        return False
    return all(_apart_alone(loop, counted, nest.longer, around)
               for loop, counted in zip(nest.loops, nest.counted, strict=True))


def _apart_alone(loop: Loop, counted: Counted, longer: dict[Value, int], around: Surroundings) -> bool:
    """No two iterations of this loop meet, those around it standing still."""
    if loop not in around.alone:
        found: dict[Value, int] = {}
        around.alone[loop] = not any(_meeting(loop, counted, found, around))
        around.longer[loop] = found
    for length, gap in around.longer[loop].items():
        longer[length] = max(gap, longer.get(length, 0))
    return around.alone[loop]


def meeting_arrays(loop: Loop, counted: Counted, around: Surroundings) -> set[str]:
    """The arrays in which iterations of a loop may meet."""
    return {op.attr("array") for pair in _meeting(loop, counted, {}, around) for op in pair}


def _meeting(loop: Loop, counted: Counted, longer: dict[Value, int], around: Surroundings) -> Iterator[tuple[Op, Op]]:
    """Pairs of accesses that may touch the same element in different iterations."""
    left = list(_left_open([loop], [counted], longer))
    yield from (pair for pair in left if pair[0].attr("array") != pair[1].attr("array"))
    same = [pair for pair in left if pair[0].attr("array") == pair[1].attr("array")]
    varying, always = varying_in(loop, {counted.iv}), set(_without_conditions(loop.body))
    sure = [pair for pair in same if always.issuperset(pair) and _at_a_distance(*pair, counted, varying)]
    yield from sure
    asked = [pair for pair in same if pair not in sure]
    try:
        yield from meeting(loop, counted, asked, around)
    except SearchLimitError as error:
        around.undecided[loop] = str(error)
        yield from asked


def _without_conditions(items: Sequence[Item]) -> Iterator[Op]:
    """Operations that stand under no condition."""
    for item in items:
        if isinstance(item, Block):
            yield from item.ops
        elif not isinstance(item, If):
            yield from _without_conditions(item.body)


def _at_a_distance(a: Op, b: Op, counted: Counted, varying: set[Value]) -> bool:
    """Two accesses that touch the same element so many iterations apart, or in all of them, as in `a[i] = a[i - 1]`; or
    may do so, since an index comes from memory."""
    distances: set[int] = set()
    for x, y in zip(places(a), places(b), strict=True):
        first, second = affine(x), affine(y)
        if first is None or second is None:
            return False
        if any(isinstance(v, Op) and v.opcode in ("load", "to_int") and v in varying for v in [*first[0], *second[0]]):
            continue
        if first[0] != second[0] or any(v in varying and v is not counted.iv for v in first[0]):
            return False
        factor, gap = first[0].get(counted.iv, 0) * counted.step, first[1] - second[1]
        if gap % factor if factor else gap:
            return False
        distances |= {gap // factor} if factor else set()
    return len(distances) < 2 and distances != {0}


def _left_open(loops: Sequence[Loop], counted: Sequence[Counted], longer: dict[Value, int]
               ) -> Iterator[tuple[Op, Op]]:
    """Stores and other accesses of their memory of which the quick test does not say that iterations never meet."""
    counters = {each.iv for each in counted}
    inside = {value for loop in loops for value in [*loop.params, *definitions(loop.body)]}
    accesses = [op for op in all_ops(loops[0].body) if op.opcode in ("load", "store")]
    groups = _memories(loops[0], accesses)
    for at, store in enumerate(accesses):
        if store.opcode != "store":
            continue
        for number, other in enumerate(accesses):
            twice = other.opcode == "store" and number < at
            if not twice and groups[store] is groups[other] and not _never_meet(
                    store, other, counters, inside, longer):
                yield store, other


def _memories(loop: Loop, accesses: Sequence[Op]) -> dict[Op, object]:
    """What tells memories apart: the first value of each that is there before the loop, or the array where that is not
    found."""
    roots: dict[Value, object] = {}

    def root(value: Value, seen: frozenset[Value]) -> object:
        if value in roots:
            return roots[value]
        if isinstance(value, Op) and value.opcode == "store":
            return root(value.args[0], seen)
        return value

    inner: dict[Value, Value] = {}
    for item in walk([loop]):
        if isinstance(item, Loop):
            inner.update((p, i) for p, i in zip(item.params, item.inits, strict=True) if p.kind is MEMORY)
        if not isinstance(item, Block):
            inner.update(_first_of(item))
    found: dict[Op, object] = {}
    for op in accesses:
        value: object = op.args[0]
        for _ in range(10_000):
            value = root(value, frozenset()) if isinstance(value, Value) else value
            if not isinstance(value, Value) or value not in inner:
                break
            value = inner[value]
        found[op] = value
    return found


def _first_of(item: Item) -> list[tuple[Value, Value]]:
    """Memories that are results of a node -> one that comes from the same."""
    ends: list[Value] = []
    match item:
        case If():
            last = [items[-1].end for items in (item.then, item.orelse) if isinstance(items[-1], Block)]
            ways = [end.values for end in last if end is not None and not isinstance(end, Exit)]
            ends = list(ways[0]) if ways else []
        case Loop():
            found = _start(item)
            ends = list(found[0]) if found else []
            if not ends:
                exits = [b.end for b in walk(item.body) if isinstance(b, Block) and isinstance(b.end, Exit)
                         and b.end.label is item.label]
                ends = list(exits[0].values) if exits else []
        case Region():
            exits = [b.end for b in walk(item.body) if isinstance(b, Block) and isinstance(b.end, Exit)
                     and b.end.label is item.label]
            last_block = item.body[-1]
            assert isinstance(last_block, Block)
            way = exits[0].values if exits else last_block.end.values if last_block.end is not None else []
            ends = list(way)
    results = item.results if not isinstance(item, Block) else []
    return [(r, v) for r, v in zip(results, ends, strict=False) if r.kind is MEMORY]


def _never_meet(a: Op, b: Op, counters: set[Param], inside: set[Value], longer: dict[Value, int]) -> bool:
    """Two accesses to one memory have different elements in different iterations."""
    if a.attr("array") != b.attr("array"):
        return False
    equal: set[Value] = set()
    for x, y in zip(places(a), places(b), strict=True):
        first, second = affine(x), affine(y)
        if first is None or second is None:
            continue
        own, other = ({v: c for v, c in form[0].items() if v in counters} for form in (first, second))
        rests = [{v: c for v, c in form[0].items() if v not in counters} for form in (first, second)]
        if rests[0] != rests[1] or any(v in inside for v in rests[0]):
            continue
        gap = first[1] - second[1]
        if not own and not other and gap:
            if not rests[0] and (first[1] < 0) == (second[1] < 0):
                return True
            length = x.args[1] if isinstance(x, Op) and x.opcode == "index" else None
            if length is None or not set((affine(length) or ({length: 1}, 0))[0]).isdisjoint(inside):
                continue
            longer[length] = max(abs(gap), longer.get(length, 0))
            return True
        if len(own) == 1 and own == other:
            ((counter, factor),) = own.items()
            if gap % factor:
                return True
            if gap == 0:
                equal.add(counter)
    return equal == counters


def continues(items: Sequence[Item], again: Label) -> bool:
    """Something in a list goes to the next iteration before its end."""
    return any(isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label is again
               for item in walk(list(items)))
