"""Trip limits: a lane that is still in a loop after so many trips is a fault of its own kind.

Before:                             After:
    loop (s = x):                       loop (s = x, t = 0):
        go = s > 1.0                        c = s > 1.0
        if go:                              within = t < 100
            ...                             fault(c and not within) TripLimitError
            yield s1                        go = c and within
        else: exit s                        if go:
                                                ...
                                                yield s1, t + 1
                                            else: exit s

Each loop counts for itself, an inner one anew whenever it is entered.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyflat.ir.build import const
from pyflat.ir.loops import LoopParts, has_loop, join_parts, take_apart
from pyflat.ir.nodes import TRIP_LIMIT, Block, End, Function, Item, Loop, Op, Param, Yield
from pyflat.ir.types import BOOL, INT, VOID
from pyflat.ir.uses import with_body
from pyflat.passes.record import TOTAL, Pass


def limit_trips(fn: Function, limit: int) -> Function:
    """`fn` in masked form with at most `limit` trips of each loop; `fn` itself when it has no loop."""
    return with_body(fn, _limited(fn.body, limit)) if has_loop(fn.body) else fn


def _limited(items: list[Item], limit: int) -> list[Item]:
    return [_limited_loop(item, limit) if isinstance(item, Loop) else item for item in items]


def _limited_loop(loop: Loop, limit: int) -> Loop:
    parts = take_apart(loop)
    trips = Param(INT)
    within = Op("lt", (trips, const(limit)), BOOL)
    beyond = Op("not", (within,), BOOL)
    over = Op("and", (parts.go, beyond), BOOL)
    go = Op("and", (parts.go, within), BOOL)
    fault = Op("fault", (over,), VOID, attrs=(("fault", TRIP_LIMIT),))
    more = Op("add", (trips, const(1)), INT)
    header, rest = _limited(parts.header, limit), _limited(parts.rest, limit)
    header[-1] = _extended(header[-1], (within, beyond, over, fault, go))
    rest[-1] = _extended(rest[-1], (more,), Yield([*parts.next, more]))
    limited = LoopParts(header, go, rest, parts.leave)
    return join_parts(loop, [*loop.params, trips], [*loop.inits, const(0)], limited, loop.results)


def _extended(item: Item, ops: Sequence[Op], end: End | None = None) -> Block:
    """A copy of a block with more operations at its end."""
    assert isinstance(item, Block)
    return Block([*item.ops, *ops], end)


PASS = Pass(limit_trips, needs_gone=TOTAL)
