"""Loops as the dataflow target reads them: before-region, one exit right after it, body; and which are counted.

A canonical loop has no Region inside and exactly one exit:

    loop (params = inits) {
      header ...                      the before-region: runs N + 1 times
      if go { yield } else { last ...; exit loop values }
      body ...                        runs N times
      yield next
    }

It is *counted* when `go` compares a parameter with something from outside, nothing in the header may raise, and the
parameter takes a constant step: then its indices come from a stream and not from the arithmetic of the body, and
what else the header computes is computed where it is read: in the body, and once where the loop is left.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyflat.errors import refuse
from pyflat.ir.nodes import FAULT, Block, Const, Exit, If, Item, Loop, Op, Param, Region, Value, Yield, walk
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.types import INT, VOID

WIDTH_RULES = frozenset({"", "add", "sub", "mul", "int_min"})
"""Fault rules that are about 64 bits only: there Python computes on, and so does the simulator."""


@dataclass(frozen=True, slots=True)
class Canonical:
    """The parts of a canonical loop. `goes_on` is the value of `go` for which the body runs."""

    loop: Loop
    header: list[Item]
    go: Value
    goes_on: bool
    enter: list[Item]
    enter_results: list[Param]
    leave: list[Item]
    exit: Exit
    body: list[Item]
    feedback: list[Value]


@dataclass(frozen=True, slots=True)
class Counted:
    """`counter` runs from `start` by `step` while it is before `stop`; `compare` is the operation that says so."""

    counter: Param
    start: Value
    step: int
    stop: Value
    compare: Op


def list_end(items: list[Item]) -> Yield | Exit:
    """How a list is left."""
    last = items[-1]
    assert isinstance(last, Block) and isinstance(last.end, Yield | Exit)
    return last.end


def read_loop(loop: Loop) -> Canonical:
    """The parts of `loop`. Raises FlattenError when it is not canonical."""
    index = next((k for k, item in enumerate(loop.body) if _is_test(item, loop)), None)
    if index is None:
        raise _not_canonical(loop, "no exit right after its condition")
    item = loop.body[index]
    assert isinstance(item, If)
    goes_on = _exits(item.orelse, loop)
    enter, leave = (item.then, item.orelse) if goes_on else (item.orelse, item.then)
    rest = loop.body[index + 1 :]
    end, way = list_end(rest), list_end(leave)
    if not isinstance(list_end(enter), Yield) or not isinstance(end, Yield) or not isinstance(way, Exit):
        raise _not_canonical(loop, "more than one exit")
    inner = {item.label for item in walk(loop.body) if isinstance(item, Loop)}
    ends = [item.end for item in walk(loop.body) if isinstance(item, Block) and isinstance(item.end, Exit)]
    if any(other is not way and other.label not in inner for other in ends):
        raise _not_canonical(loop, "more than one exit")
    entered = dict(zip(item.results, list_end(enter).values, strict=True))
    feedback = [entered.get(value, value) if isinstance(value, Param) else value for value in end.values]
    return Canonical(loop, loop.body[:index], item.cond, goes_on, enter, item.results, leave, way, rest, feedback)


def _is_test(item: Item, loop: Loop) -> bool:
    return isinstance(item, If) and (_exits(item.then, loop) or _exits(item.orelse, loop))


def _exits(items: list[Item], loop: Loop) -> bool:
    end = list_end(items)
    return isinstance(end, Exit) and end.label is loop.label


def _not_canonical(loop: Loop, what: str) -> Exception:
    blocks = (item for item in walk(loop.body) if isinstance(item, Block))
    span = next((op.origin.span for block in blocks for op in block.ops if op.origin and op.origin.span), None)
    message = f"the loop {loop.label.name} has {what}: the dataflow target takes loops that are left at their condition"
    return refuse("flatten/not-yet", message, span, help="leave the loop by its condition instead of break or return")


def check_lists(items: list[Item]) -> None:
    """Raises FlattenError for what only other ways out understand: regions and exits that are not a loop's."""
    for item in walk(items):
        if isinstance(item, Region):
            raise refuse("flatten/not-yet", "an early return, break or continue reaches the dataflow target")
        if isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label is FAULT:
            raise refuse("flatten/not-yet", "a raise as control flow reaches the dataflow target")


# --- counted loops


def read_counted(parts: Canonical) -> Counted | None:
    """How the loop counts, None when it does not."""
    header = parts.header[0]
    if len(parts.header) != 1 or not isinstance(header, Block) or not parts.goes_on:
        return None
    compare = parts.go
    if not isinstance(compare, Op) or compare not in header.ops or compare.opcode not in {"lt", "gt"}:
        return None
    if any(must_happen(op) for op in header.ops) or len({*header.ops} & {*compare.args}):
        return None
    counter, stop = compare.args
    if counter not in parts.loop.params or counter.kind is not INT or not isinstance(counter, Param):
        return None
    if stop in parts.loop.params:
        return None
    place = parts.loop.params.index(counter)
    step = _constant_step(parts.feedback[place], counter)
    if step is None or step == 0 or (step > 0) != (compare.opcode == "lt"):
        return None
    return Counted(counter, parts.loop.inits[place], step, stop, compare)


def header_reads(parts: Canonical, compare: Op, lists: list[list[Item]], values: list[Value]) -> list[Op]:
    """The operations of a counted loop's header, without its comparison, that `lists` and `values` read."""
    read = {*values}
    for item in (item for items in lists for item in walk(items)):
        match item:
            case Block():
                read.update(arg for op in item.ops for arg in op.args)
                read.update(item.end.values if item.end else ())
            case If():
                read.add(item.cond)
            case Loop():
                read.update(item.inits)
    found: list[Op] = []
    header = parts.header[0]
    assert isinstance(header, Block)
    for op in reversed(header.ops):
        if op in read and op is not compare:
            found.insert(0, op)
            read.update(op.args)
    return found


def _constant_step(value: Value, counter: Param) -> int | None:
    if not isinstance(value, Op) or value.opcode != "add":
        return None
    a, b = value.args
    other = b if a is counter else a if b is counter else None
    return int(other.value) if isinstance(other, Const) and other.value is not None else None


def runs_at_least_once(counted: Counted) -> bool:
    """The first trip is proven: both bounds are constants."""
    start, stop = counted.start, counted.stop
    if not isinstance(start, Const) or not isinstance(stop, Const) or start.value is None or stop.value is None:
        return False
    return start.value < stop.value if counted.step > 0 else start.value > stop.value


# --- operations


def must_happen(op: Op) -> bool:
    """Python may raise here, or memory is read or changed."""
    if op.kind is VOID:
        return True
    row = OPERATIONS.get(op.opcode)
    return row is None or row.faults not in WIDTH_RULES
