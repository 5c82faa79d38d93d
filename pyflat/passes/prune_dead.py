"""Removes what neither a result nor a fault depends on.

Before:                              After:
    %a = exp %x : f8                     %b = mul %x, 2.0 : f8
    %b = mul %x, 2.0 : f8                %c = eq %x, 0.0 : b
    %c = eq %x, 0.0 : b                  fault %c ZeroDivisionError()
    fault %c ZeroDivisionError()         yield %b
    yield %b

A `fault` is always kept, with all that its condition needs: a dead store that raises still raises. A loop in which
nothing can fault goes when none of its results is used.
"""

from __future__ import annotations

from pyflat.analysis.liveness import sliced
from pyflat.ir.nodes import Block, Function, Item, Loop, walk
from pyflat.ir.uses import results_of, with_body
from pyflat.passes.record import TOTAL, Pass


def prune_dead(fn: Function) -> Function:
    """`fn` in flat or masked form without dead operations, loops and loop parameters; `fn` itself without any."""
    items = sliced(fn.body, results_of(fn))
    return fn if _size(items) == _size(fn.body) else with_body(fn, items)


def _size(items: list[Item]) -> int:
    ops = sum(len(item.ops) for item in walk(items) if isinstance(item, Block))
    return ops + sum(1 + len(item.params) + len(item.results) for item in walk(items) if isinstance(item, Loop))


PASS = Pass(prune_dead, needs_gone=TOTAL)
