"""Exits to live masks: after this pass control leaves a list only at its end, and a loop only after its header.

Before:                             After:
    region R -> y:                      t = x < 0
        t = x < 0                       if t -> y:
        if t: exit R(a)                     yield a
        b = x * x                       else:
        yield b                             b = x * x
                                            yield b

An exit to a label becomes two things per label: a *taken* flag, and one accumulator for each value that the
label takes. At every point at most one flag is set in a lane, and the lane is live while none is. Yielding at
the end of a region's own body is an exit to it, so that a region whose lanes all leave through its label ends
with the accumulators and without a mask. Two ways to go on after a node that some lanes leave early:

  ladder  one arm never falls through: what follows moves into the other arm, and the results nest as a person
          would write them, `where(c, a, where(d, b, e))`. Every value stays alive to the end of the list and
          every rung nests one deeper, so this is for lists with few early exits only;
  chunks  what follows is wrapped into `if live: ...`, closed at the next such node and opened again under the
          new live mask: siblings, so that thousands of unrolled copies with a `break` stay linear and flat.
          Accumulators run forward: a later exit overwrites where the lane was still live. What a closed chunk
          defined and later code uses is exported through its results when it is used, undefined elsewhere.

A raise becomes the operation `fault(True)` at its place; its lane is suspect and nothing that follows matters,
so it is neither a way out nor a fall-through: the other ways decide what the join looks like.

A loop becomes canonical (`ir.loops`): what its exits decide is carried to the header of the next iteration as
parameters, a `live` flag and for each label that the body exits to the taken flag and the accumulators. Two ways
again: where the body starts with a test that leaves the loop at once, that test is the loop's, `go = test and
live`, and without other exits nothing is carried; elsewhere the header is empty and `go` is `live`.

Algorithms: live masks as in the seed document on function flattening, the prose of Mesa's nir_lower_returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyflat.ir.build import results_like, undefined
from pyflat.ir.flow import FlowFacts, LoopEntry, find_entry
from pyflat.ir.loops import LoopParts, is_exit_free, join_parts
from pyflat.ir.nodes import (
    FALSE,
    FAULT,
    TRUE,
    Block,
    End,
    Exit,
    Fault,
    Function,
    If,
    Item,
    Label,
    Loop,
    Op,
    Origin,
    Param,
    Region,
    Value,
    Yield,
    same_value,
)
from pyflat.ir.types import BOOL, VOID, Kind
from pyflat.ir.uses import with_args
from pyflat.passes.record import Construct, Pass

MAX_RUNGS = 8
"""A list with more early exits than this is lowered to chunks: a ladder keeps every exit's values alive."""

MAX_LADDER_DEPTH = 60
"""No ladder below this nesting depth: passes recurse over nesting."""


def lower_exits(fn: Function) -> Function:
    """`fn` without Region, its loops canonical, without any other Exit."""
    if is_exit_free(fn.body):
        return fn
    base = _Scope()
    lowering = _Lowering()
    lowering.results[fn.label] = [Param(kind) for kind in fn.result_kinds]
    way = lowering.lower_list(base, fn.body, None, fn.label, 0)
    left = way.exits.get(fn.label)
    values = left.values if left else [undefined(kind) for kind in fn.result_kinds]
    base.block.end = Yield(values)
    return Function(fn.name, fn.params, base.items, fn.label, fn.result_kinds, fn.form, fn.floats)


PASS = Pass(lower_exits, removes=frozenset({Construct.EARLY_EXIT}))


@dataclass(slots=True)
class _Left:
    """The lanes that left by a label: where `flag` is true, with `values`."""

    flag: Value
    values: list[Value]


@dataclass(slots=True)
class _Ways:
    """How lanes get out of a list: falling off its end with `fall` (None: no lane does), or by `exits`.

    Neither of them: every lane that comes here is a fault.
    """

    fall: list[Value] | None
    exits: dict[Label, _Left] = field(default_factory=dict)

    @property
    def dead(self) -> bool:
        return self.fall is None and not self.exits

    def flag(self, label: Label) -> Value:
        if self.dead:
            return undefined(BOOL)
        return self.exits[label].flag if label in self.exits else FALSE

    def value(self, label: Label, index: int, kind: Kind) -> Value:
        return self.exits[label].values[index] if label in self.exits else undefined(kind)


@dataclass(slots=True)
class _Rest:
    """What follows a list that was moved: `targets` take its yielded values, then `items[index:]` go on."""

    targets: Sequence[Param]
    items: list[Item]
    index: int
    rest: _Rest | None


class _Scope:
    """A list under construction. A chunk has a live mask, and once it is closed a `join`."""

    def __init__(self, parent: _Scope | None = None, mask: Value | None = None):
        self.items: list[Item] = [Block()]
        self.parent = parent
        self.mask = mask
        self.join: _Join | None = None
        self.exported: dict[Value, Value] = {}

    @property
    def block(self) -> Block:
        last = self.items[-1]
        assert isinstance(last, Block)
        return last


class _Join:
    """An If whose two arms are finished, as a growing list of results."""

    def __init__(self, cond: Value, then: list[Item], orelse: list[Item]):
        self.ends = Yield(), Yield()
        for items, end in zip((then, orelse), self.ends, strict=True):
            last = items[-1]
            assert isinstance(last, Block)
            last.end = end
        self.node = If(cond, then, orelse)

    def add(self, then: Value, orelse: Value, name: str) -> Value:
        """The value that is `then` in one arm and `orelse` in the other."""
        if same_value(then, orelse):
            return then
        result = Param(then.kind, name)
        self.node.results.append(result)
        for end, value in zip(self.ends, (then, orelse), strict=True):
            end.values.append(value)
        return result


@dataclass(slots=True)
class _LoopFrame:
    """A canonical loop under construction; `entered`: the test of its header leaves it while the lane is live."""

    loop: Loop
    params: list[Param]
    inits: list[Value]
    parts: LoopParts
    live: Param | None
    entered: bool

    def carry(self, init: Value, after: Value, name: str, results: list[Param]) -> Param:
        """A new result: the value that `after` had in the iteration that was the last one."""
        param = Param(init.kind, name)
        self.params.append(param)
        self.inits.append(init)
        self.parts.next.append(after)
        return self.give(param, results)

    def give(self, value: Value, results: list[Param]) -> Param:
        """A new result: `value` as the header sees it when the loop is left."""
        self.parts.leave.append(value)
        results.append(Param(value.kind, value.name))
        return results[-1]


class _Lowering:
    """The state of one run: what stands for each value of the input, and which chunk defines it."""

    def __init__(self) -> None:
        self.stands_for: dict[Value, Value] = {}
        self.chunk_of: dict[Value, _Scope] = {}
        self.results: dict[Label, Sequence[Param]] = {}
        self.facts = FlowFacts()

    # --- values

    def read(self, value: Value) -> Value:
        """What stands for a value of the input, where it can be seen from here."""
        standing = self.stands_for.get(value, value)
        if standing not in self.chunk_of:
            return standing
        visible = self.visible(standing)
        if visible is not standing:
            self.stands_for[value] = visible
        return visible

    def read_all(self, values: Sequence[Value]) -> list[Value]:
        return [self.read(value) for value in values]

    def bind(self, targets: Sequence[Param], values: Sequence[Value]) -> None:
        self.stands_for.update(zip(targets, values, strict=True))

    def visible(self, value: Value) -> Value:
        """`value`, exported from the closed chunks in which it was defined."""
        while (chunk := self.chunk_of.get(value)) is not None and chunk.join is not None:
            result = chunk.exported.get(value)
            if result is None:
                assert chunk.parent is not None
                result = self.join(chunk.join, chunk.parent, value, undefined(value.kind), value.name)
                chunk.exported[value] = result
            value = result
        return value

    def join(self, join: _Join, scope: _Scope, then: Value, orelse: Value, name: str) -> Value:
        """The value after `join`, which stands in `scope`."""
        value = join.add(then, orelse, name)
        if value is not then:
            self.place(value, scope)
        return value

    def place(self, value: Value, scope: _Scope) -> None:
        """Remember where a value is defined: what is in no chunk is never used beyond its list."""
        if scope.mask is not None:
            self.chunk_of[value] = scope

    def append(self, scope: _Scope, op: Op) -> Op:
        scope.block.ops.append(op)
        self.place(op, scope)
        return op

    # --- lists

    def lower_list(self, base: _Scope, items: list[Item], rest: _Rest | None, own: Label | None, depth: int) -> _Ways:
        """Lower `items` and then `rest` to the end of `base`.

        `own` is the label whose node this list is the body of, or the end of the body: there a Yield exits.
        """
        here, index = base, 0
        exits: dict[Label, _Left] = {}
        while True:
            item = items[index]
            index += 1
            moved: _Rest | None = None
            match item:
                case Block():
                    self.copy(item.ops, here)
                    if item.end is None:
                        continue
                    if rest is not None and isinstance(item.end, Yield):
                        self.bind(rest.targets, self.read_all(item.end.values))
                        items, index, rest = rest.items, rest.index, rest.rest
                        continue
                    ways = self.lower_end(here, item.end, own)
                case Region():
                    ways = self.lower_region(here, item, depth)
                case If():
                    if self.is_rung(item, items, depth):
                        moved = _Rest(item.results, items, index, rest)
                    ways = self.lower_if(here, item, moved, own, depth)
                case Loop():
                    ways = self.lower_loop(here, item, depth)
            ended = moved is not None or isinstance(item, Block)
            if not ended and ways.fall is not None and not ways.exits:
                continue
            exits = self.close(base, here, exits, ways)
            if ways.fall is None:
                return _Ways(None, exits)
            if ended:
                return _Ways([self.visible(value) for value in ways.fall], exits)
            here = self.open_chunk(base, exits)

    def copy(self, ops: Sequence[Op], scope: _Scope) -> None:
        block = scope.block
        for op in ops:
            new = with_args(op, self.read_all(op.args))
            block.ops.append(new)
            self.place(new, scope)
            if new is not op:
                self.stands_for[op] = new

    def lower_end(self, here: _Scope, end: End, own: Label | None) -> _Ways:
        if isinstance(end, Exit) and end.label is FAULT:
            fault = end.fault or Fault("Exception")
            origin = Origin(fault.span) if fault.span else None
            self.append(here, Op("fault", (TRUE,), VOID, attrs=(("fault", fault),), origin=origin))
            return _Ways(None)
        label = end.label if isinstance(end, Exit) else own
        values = self.read_all(end.values)
        return _Ways(values) if label is None else _Ways(None, {label: _Left(TRUE, values)})

    def lower_region(self, here: _Scope, region: Region, depth: int) -> _Ways:
        self.results[region.label] = region.results
        return self.left_by(region, self.lower_list(here, region.body, None, region.label, depth + 1).exits)

    def lower_if(self, here: _Scope, node: If, moved: _Rest | None, own: Label | None, depth: int) -> _Ways:
        """`moved` is what follows the node, when it goes into the arm that falls through."""
        cond = self.read(node.cond)
        scopes = _Scope(here), _Scope(here)
        ways: list[_Ways] = []
        for scope, items in zip(scopes, (node.then, node.orelse), strict=True):
            follows = moved if self.facts.of(items).falls else None
            ways.append(self.lower_list(scope, items, follows, own if follows else None, depth + 1))
        then, orelse = ways
        join = _Join(cond, scopes[0].items, scopes[1].items)
        join.node.hint = node.hint
        here.items += [join.node, Block()]
        sure = then.fall is None and orelse.fall is None and len(then.exits.keys() | orelse.exits.keys()) == 1
        exits = self.join_exits(join, here, then, orelse, sure)
        sample = then.fall if then.fall is not None else orelse.fall
        if sample is None:
            return _Ways(None, exits)
        shown: Sequence[Value] = sample if moved else node.results
        none = [undefined(value.kind) for value in sample]
        pairs = zip(none if then.fall is None else then.fall, none if orelse.fall is None else orelse.fall, strict=True)
        fall = [self.join(join, here, a, b, value.name) for (a, b), value in zip(pairs, shown, strict=True)]
        if not moved:
            self.bind(node.results, fall)
        return _Ways(fall, exits)

    # --- loops

    def lower_loop(self, here: _Scope, loop: Loop, depth: int) -> _Ways:
        self.results[loop.label], self.results[loop.again] = loop.results, loop.params
        inits = self.read_all(loop.inits)
        facts = self.facts.of(loop.body)
        if not facts.falls and loop.again not in facts.labels:
            self.bind(loop.params, inits)
            return self.left_by(loop, self.lower_list(here, loop.body, None, loop.again, depth + 1).exits)
        params = results_like(loop.params)
        self.bind(loop.params, params)
        head = _Scope(here)
        entry = find_entry(loop, self.facts)
        live = None if entry is not None and not entry.leaves_later else Param(BOOL, "again")
        go, left = self.lower_entry(head, entry, live, depth)
        rest = _Scope(head)
        exits = self.lower_rest(rest, loop, entry, depth)
        again = exits.pop(loop.again, None)
        rest.block.end = Yield(again.values if again else [undefined(p.kind) for p in params])
        parts = LoopParts(head.items, go, rest.items, left)
        frame = _LoopFrame(loop, params, inits, parts, live, entry is not None)
        if live is not None:
            params.append(live)
            inits.append(TRUE)
            parts.next.append(again.flag if again else FALSE)
        return self.close_loop(here, frame, exits)

    def lower_entry(self, head: _Scope, entry: LoopEntry | None, live: Param | None, depth: int
                    ) -> tuple[Value, list[Value]]:
        """The header: the condition to go on, and what the loop gives where it is false though the lane is live."""
        if entry is None:
            assert live is not None
            return live, []
        for item in entry.header:
            match item:
                case Block():
                    self.copy(item.ops, head)
                case If():
                    self.lower_if(head, item, None, None, depth + 1)
                case Region():
                    self.lower_region(head, item, depth + 1)
                case Loop():
                    self.lower_loop(head, item, depth + 1)
        go = self.read(entry.test.cond)
        if not entry.goes_on_if:
            go = self.append(head, Op("not", (go,), BOOL))
        if live is not None:
            go = self.append(head, Op("and", (go, live), BOOL))
        return go, self.read_all(entry.leave)

    def lower_rest(self, rest: _Scope, loop: Loop, entry: LoopEntry | None, depth: int) -> dict[Label, _Left]:
        if entry is None:
            return self.lower_list(rest, loop.body, None, loop.again, depth + 1).exits
        arm = entry.test.then if entry.goes_on_if else entry.test.orelse
        after = _Rest(entry.test.results, loop.body, len(entry.header) + 1, None)
        return self.lower_list(rest, arm, after, loop.again, depth + 1).exits

    def close_loop(self, here: _Scope, frame: _LoopFrame, exits: dict[Label, _Left]) -> _Ways:
        """Append the loop, with what its `exits` carry to the header; gives the ways after it."""
        loop, entered = frame.loop, frame.entered
        own = exits.pop(loop.label, None)
        results = results_like(loop.results) if entered else []
        fall: list[Value] | None = list(results) if entered else None
        alive: Value | None = None
        if own is not None:
            alive = frame.give(frame.live, results) if entered and frame.live is not None else None
            fall = [frame.carry(undefined(v.kind), v, v.name, results) for v in own.values]
        sure = fall is None and len(exits) == 1
        found: dict[Label, _Left] = {}
        for label, left in exits.items():
            flag = TRUE if sure else frame.carry(FALSE, left.flag, "", results)
            values: list[Value] = [frame.carry(undefined(v.kind), v, v.name, results) for v in left.values]
            found[label] = _Left(flag, values)
        here.items += [join_parts(loop, frame.params, frame.inits, frame.parts, results), Block()]
        for result in results:
            self.place(result, here)
        if fall is not None and alive is not None:
            fall = [self.append(here, Op("select", (alive, a, b), b.kind, name=p.name))
                    for a, b, p in zip(results, fall, loop.results, strict=False)]
        if fall is not None:
            self.bind(loop.results, fall)
        return _Ways(fall, found)

    def left_by(self, loop: Loop | Region, exits: dict[Label, _Left]) -> _Ways:
        """The ways after a node of which `exits` include its own label."""
        left = exits.pop(loop.label, None)
        if left is None:
            return _Ways(None, exits)
        self.bind(loop.results, left.values)
        return _Ways(left.values, exits)

    # --- exits

    def join_exits(
        self, join: _Join, scope: _Scope, then: _Ways, orelse: _Ways, sure: bool
    ) -> dict[Label, _Left]:
        """The exits after two ways met in `join`, which stands in `scope`; `sure`: every lane took the one there is."""
        exits: dict[Label, _Left] = {}
        for label in dict.fromkeys([*then.exits, *orelse.exits]):
            flag = TRUE if sure else self.join(join, scope, then.flag(label), orelse.flag(label), "")
            values: list[Value] = []
            for index, result in enumerate(self.results[label]):
                a, b = (ways.value(label, index, result.kind) for ways in (then, orelse))
                values.append(self.join(join, scope, a, b, result.name))
            exits[label] = _Left(flag, values)
        return exits

    def open_chunk(self, base: _Scope, exits: dict[Label, _Left]) -> _Scope:
        """A chunk for the lanes that are still live: those that took none of `exits`."""
        flags = [left.flag for left in exits.values()]
        taken = flags[0]
        for flag in flags[1:]:
            taken = self.append(base, Op("or", (taken, flag), BOOL))
        return _Scope(base, self.append(base, Op("not", (taken,), BOOL)))

    def close(self, base: _Scope, here: _Scope, exits: dict[Label, _Left], ways: _Ways) -> dict[Label, _Left]:
        """End the current chunk, which lanes leave by `ways`; `exits` are those taken before it."""
        if here is base:
            return ways.exits
        assert here.mask is not None
        here.join = _Join(here.mask, here.items, [Block()])
        base.items += [here.join.node, Block()]
        before = _Ways([], {label: exits[label] for label in exits if label in ways.exits})
        sure = ways.fall is None and len(exits.keys() | ways.exits.keys()) == 1
        after = exits | self.join_exits(here.join, base, ways, before, sure)
        return {label: _Left(TRUE, left.values) for label, left in after.items()} if sure else after

    # --- ladders

    def is_rung(self, node: If, items: list[Item], depth: int) -> bool:
        """One arm always exits, the other goes on: what follows can move into the other."""
        then, orelse = self.facts.of(node.then), self.facts.of(node.orelse)
        leaves = then if orelse.falls else orelse
        if then.falls == orelse.falls or not leaves.labels:
            return False
        return depth < MAX_LADDER_DEPTH and self.facts.of(items).rungs <= MAX_RUNGS
