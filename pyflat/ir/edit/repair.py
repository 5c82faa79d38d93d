"""SSA repaired on demand: what editing has moved out of the reach of its definition is carried there.

Before:                              After:
    if %c {                              if %c {
      %y = neg %x : f8                     %y = neg %x : f8
      yield                                yield %y
    } else {                             } else {
      yield                                yield undefined:f8
    }                                    } -> (%y.1: f8)
    %z = mul %y, 2.0 : f8                %z = mul %y.1, 2.0 : f8

A value with a use that does not see it is taken as a variable with one assignment. Walking the tree in program
order we know what the variable is at each point: after a node whose ways out bring different values it is a new
result of the node, in a loop that defines it a new parameter. What turns out to be unused is taken away again.

Where a way brings no definition the operand is undefined: the caller knows that the use is not reached that way. A
use that no definition reaches at all is an error, unless `undefine=True`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyflat.errors import InternalError
from pyflat.ir.build import undefined
from pyflat.ir.loops import definitions
from pyflat.ir.nodes import FAULT, Block, Const, End, Exit, Function, If, Item, Label, Loop, Node, Param, Region, Value

State = dict[Value, Value]
"""What stands for each broken value at a point; a value that has no definition yet is missing."""
Way = tuple[End, State]


def repair_ssa(fn: Function, *, undefine: bool = False) -> int:
    """Let every use see a definition; gives the number of results and parameters that this took.

    Changes `fn` in place, and neither its blocks nor its edges. Raises InternalError for a use of a value that
    `fn` does not define, or that no definition reaches.
    """
    broken = _broken(fn)
    if not broken:
        return 0
    missing = broken.difference(definitions(fn.body), fn.params)
    if missing:
        raise InternalError(f"{next(iter(missing))!r} is used and defined nowhere in {fn.name}")
    repair = _Repair(fn, broken, undefine)
    repair.walk(fn.body, {param: param for param in fn.params if param in broken})
    return repair.prune()


def _broken(fn: Function) -> set[Value]:
    """The values that some operand cannot see."""
    visible: set[Value] = set(fn.params)
    broken: set[Value] = set()

    def use(values: Sequence[Value]) -> None:
        broken.update(v for v in values if v not in visible and not isinstance(v, Const))

    def walk(items: list[Item]) -> None:
        local: list[Value] = []
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        use(op.args)
                        visible.add(op)
                    local += item.ops
                    use(item.end.values if item.end else ())
                    continue
                case If():
                    use([item.cond])
                    walk(item.then)
                    walk(item.orelse)
                case Region():
                    walk(item.body)
                case Loop():
                    use(item.inits)
                    visible.update(item.params)
                    walk(item.body)
                    visible.difference_update(item.params)
            visible.update(item.results)
            local += item.results
        visible.difference_update(local)

    walk(fn.body)
    return broken


@dataclass(eq=False, slots=True)
class _Added:
    """A new result (or parameter) of a node, and the lists of operands that have one for it."""

    param: Param
    params: list[Param]
    operands: list[list[Value]]


class _Repair:
    def __init__(self, fn: Function, broken: set[Value], undefine: bool):
        self.fn = fn
        self.broken = [v for v in [*fn.params, *definitions(fn.body)] if v in broken]
        self.breaks = broken
        self.undefine = undefine
        self.added: list[_Added] = []
        self.exits: dict[Label, list[Way]] = {fn.label: [], FAULT: []}

    # --- operands

    def read(self, value: Value, state: State) -> Value:
        if value not in self.breaks:
            return value
        found = state.get(value)
        if found is None:
            if not self.undefine:
                raise InternalError(f"no definition of {value!r} reaches a use of it in {self.fn.name}")
            return undefined(value.kind)
        return found

    def read_all(self, values: Sequence[Value], state: State) -> list[Value]:
        return [self.read(value, state) for value in values]

    def define(self, values: Sequence[Value], state: State) -> None:
        state.update((value, value) for value in values if value in self.breaks)

    # --- the walk

    def walk(self, items: list[Item], state: State) -> Way | None:
        """Repair a list that is entered with `state`, which is changed; gives its Yield, None when it exits."""
        for item in items:
            if not isinstance(item, Block):
                self.node(item, state)
                continue
            for op in item.ops:
                op.args = tuple(self.read_all(op.args, state))
                self.define([op], state)
            if item.end is not None:
                item.end.values[:] = self.read_all(item.end.values, state)
                if not isinstance(item.end, Exit):
                    return item.end, state
                self.exits[item.end.label].append((item.end, state))
        return None

    def node(self, node: Node, state: State) -> None:
        ways: list[Way | None]
        match node:
            case If():
                node.cond = self.read(node.cond, state)
                ways = [self.walk(node.then, dict(state)), self.walk(node.orelse, dict(state))]
            case Region():
                self.exits[node.label] = []
                ways = [self.walk(node.body, dict(state)), *self.exits[node.label]]
            case Loop():
                ways = self.loop(node, state)
        self.join(node.results, [way for way in ways if way is not None], state)
        self.define(node.results, state)

    def loop(self, loop: Loop, state: State) -> list[Way | None]:
        loop.inits[:] = self.read_all(loop.inits, state)
        inside = dict(state)
        carried: list[tuple[Value, _Added]] = []
        own = set(definitions(loop.body)) | set(loop.params)
        for value in self.broken:
            if value in own:
                loop.inits.append(state.get(value, undefined(value.kind)))
                carried.append((value, self.add(value, loop.params, [loop.inits])))
                inside[value] = carried[-1][1].param
        self.define(loop.params, inside)
        self.exits[loop.label], self.exits[loop.again] = [], []
        around = [self.walk(loop.body, inside), *self.exits[loop.again]]
        for way in around:
            if way is not None:
                for value, added in carried:
                    way[0].values.append(way[1].get(value, undefined(value.kind)))
                    added.operands.append(way[0].values)
        return list(self.exits[loop.label])

    def join(self, results: list[Param], ways: list[Way], state: State) -> None:
        """Make a result of every variable that some way out of a node has changed."""
        for value in self.broken:
            here = state.get(value)
            if all(there.get(value) is here for _, there in ways):
                continue
            for end, there in ways:
                end.values.append(there.get(value, undefined(value.kind)))
            state[value] = self.add(value, results, [end.values for end, _ in ways]).param

    def add(self, value: Value, params: list[Param], operands: list[list[Value]]) -> _Added:
        added = _Added(Param(value.kind, value.name), params, operands)
        params.append(added.param)
        self.added.append(added)
        return added

    # --- afterwards

    def prune(self) -> int:
        """Take away what was added for nothing; gives how much stays."""
        needed = self._needed()
        for added in self.added:
            if added.param not in needed:
                at = added.params.index(added.param)
                del added.params[at]
                for values in added.operands:
                    del values[at]
        return len(needed)

    def _needed(self) -> set[Value]:
        """The new parameters that an operand outside of themselves reads, directly or through others."""
        feeds: dict[Value, list[Value]] = {}
        for added in self.added:
            at = added.params.index(added.param)
            feeds[added.param] = [values[at] for values in added.operands]
        slots = {(id(values), added.params.index(added.param)) for added in self.added for values in added.operands}
        waiting = [v for v in _read(self.fn.body, slots) if v in feeds]
        needed: set[Value] = set()
        while waiting:
            value = waiting.pop()
            if value not in needed:
                needed.add(value)
                waiting += [v for v in feeds[value] if v in feeds]
        return needed


def _read(items: list[Item], slots: set[tuple[int, int]]) -> list[Value]:
    """All operands but those in `slots` (a list of operands and a place in it)."""
    found: list[Value] = []

    def free(values: list[Value]) -> list[Value]:
        return [v for i, v in enumerate(values) if (id(values), i) not in slots]

    for item in items:
        match item:
            case Block():
                found += [arg for op in item.ops for arg in op.args]
                found += free(item.end.values) if item.end else []
            case If():
                found += [item.cond, *_read(item.then, slots), *_read(item.orelse, slots)]
            case Region():
                found += _read(item.body, slots)
            case Loop():
                found += [*free(item.inits), *_read(item.body, slots)]
    return found
