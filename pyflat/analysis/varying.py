"""What varies from lane to lane in the body of a loop nest, and how lanes leave its loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyflat.ir.faults import can_fault
from pyflat.ir.loops import Counted
from pyflat.ir.nodes import FAULT, Block, Const, Exit, If, Item, Label, Loop, Param, Region, Value, Yield, walk
from pyflat.ir.types import MEMORY


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
