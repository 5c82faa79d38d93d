"""Which values of a flat or masked function are needed, and where each value of a block is used last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyflat.ir.loops import LoopParts, has_loop, join_parts, take_apart
from pyflat.ir.nodes import Block, Const, Item, Loop, Op, Value, Yield
from pyflat.ir.opaque_calls import has_effect


def live_ops(ops: Sequence[Op], roots: Iterable[Value]) -> list[Op]:
    """The operations of a block that `roots` and the `fault` operations among them depend on, in order."""
    needed: set[Value] = set(roots)
    kept = []
    for op in reversed(ops):
        if op in needed or has_effect(op):
            kept.append(op)
            needed.update(op.args)
    kept.reverse()
    return kept


def sliced(items: list[Item], roots: Sequence[Value]) -> list[Item]:
    """The list of a flat or masked function without what neither `roots` nor a `fault` operation depend on; it yields
    `roots`. A loop goes with all its results, parameters go one by one."""
    if not has_loop(items):
        (block,) = items
        assert isinstance(block, Block)
        return [Block(live_ops(block.ops, roots), Yield(roots))]
    kept = _kept(items, needed_values(items, roots))
    last = kept[-1]
    assert isinstance(last, Block)
    last.end = Yield(roots)
    return kept


def needed_values(items: list[Item], roots: Iterable[Value]) -> set[Value]:
    """Everything that `roots` and the `fault` operations depend on, of loops also what decides when they end."""
    feeds = _Feeds()
    feeds.note_list(items, ())
    waiting = [*roots, *feeds.effects]
    needed: set[Value] = set()
    while waiting:
        value = waiting.pop()
        if value not in needed:
            needed.add(value)
            waiting += value.args if isinstance(value, Op) else feeds.sources.get(value, ())
    return needed


class _Feeds:
    """What each parameter and result of a loop may come from, and what faults depend on."""

    def __init__(self) -> None:
        self.sources: dict[Value, list[Value]] = {}
        self.effects: list[Value] = []

    def note_list(self, items: list[Item], tests: tuple[Value, ...]) -> None:
        """`tests` are the conditions of the loops around the list."""
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        if has_effect(op):
                            self.effects += [op, *tests]
                case Loop():
                    self.note_loop(item, tests)

    def note_loop(self, loop: Loop, tests: tuple[Value, ...]) -> None:
        parts = take_apart(loop)
        for param, init, after in zip(loop.params, loop.inits, parts.next, strict=True):
            self.sources[param] = [init, after]
        for result, value in zip(loop.results, parts.leave, strict=True):
            self.sources[result] = [value, parts.go, *tests]
        inside = (*tests, parts.go)
        self.note_list(parts.header, inside)
        self.note_list(parts.rest, inside)


def _kept(items: list[Item], needed: set[Value]) -> list[Item]:
    """The needed part of a list. A loop that goes leaves one block where there were two."""
    kept: list[Item] = []
    for item in items:
        match item:
            case Block():
                ops = [op for op in item.ops if op in needed]
                if kept and isinstance(kept[-1], Block):
                    kept[-1] = Block([*kept[-1].ops, *ops], item.end)
                else:
                    kept.append(Block(ops, item.end))
            case Loop():
                loop = _kept_loop(item, needed)
                if loop is not None:
                    kept.append(loop)
    return kept


def _kept_loop(loop: Loop, needed: set[Value]) -> Loop | None:
    parts = take_apart(loop)
    results = [r for r in loop.results if r in needed]
    if not results and parts.go not in needed:
        return None
    chosen = [k for k, param in enumerate(loop.params) if param in needed]
    rest = _kept(parts.rest, needed)
    last = rest[-1]
    assert isinstance(last, Block)
    last.end = Yield([parts.next[k] for k in chosen])
    leave = [v for v, r in zip(parts.leave, loop.results, strict=True) if r in needed]
    new = LoopParts(_kept(parts.header, needed), parts.go, rest, leave)
    return join_parts(loop, [loop.params[k] for k in chosen], [loop.inits[k] for k in chosen], new, results)


def outer_values(items: Sequence[Item], roots: Sequence[Value]) -> list[Value]:
    """What a list and `roots` use and the list does not define, literals left out, in the order of the first use."""
    used: dict[Value, None] = {}
    defined: set[Value] = set()
    for item in items:
        match item:
            case Block():
                for op in item.ops:
                    used.update(dict.fromkeys(op.args))
                    defined.add(op)
            case Loop():
                used.update(dict.fromkeys([*item.inits, *captured(item)]))
                defined.update(item.results)
    used.update(dict.fromkeys(roots))
    return [value for value in used if value not in defined and not isinstance(value, Const)]


def used_outside(items: Sequence[Item], roots: Iterable[Value]) -> set[Value]:
    """The values of a flat or masked function that something else than an operation of their own block uses."""
    found = set(roots)
    for item in items:
        match item:
            case Block():
                here: set[Value] = set(item.ops)
                found.update(arg for op in item.ops for arg in op.args if arg not in here)
            case Loop():
                parts = take_apart(item)
                inner = used_outside([*parts.header, *parts.rest], [parts.go, *parts.leave, *parts.next])
                found.update(item.inits, inner)
    return found


def captured(loop: Loop) -> list[Value]:
    """What the body of a loop uses from outside: neither its parameters nor what they start with."""
    parts = take_apart(loop)
    found = outer_values([*parts.header, *parts.rest], [parts.go, *parts.leave, *parts.next])
    return [value for value in found if value not in loop.params]
