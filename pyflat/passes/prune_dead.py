"""Removes what neither a result nor a fault depends on.

Before:                              After:
    %a = exp %x : f8                     %b = mul %x, 2.0 : f8
    %b = mul %x, 2.0 : f8                %c = eq %x, 0.0 : b
    %c = eq %x, 0.0 : b                  fault %c ZeroDivisionError()
    fault %c ZeroDivisionError()         yield %b
    yield %b

A `fault` is always kept, with all that its condition needs: a dead store that raises still raises.
"""

from __future__ import annotations

from pyflat.ir.nodes import Function, If, Loop, Region
from pyflat.ir.uses import live_ops, results_of, with_block
from pyflat.passes.record import Pass


def prune_dead(fn: Function) -> Function:
    """`fn` in flat form without dead operations; `fn` itself when there are none."""
    ops = fn.flat_block.ops
    results = results_of(fn)
    live = live_ops(ops, results)
    if len(live) == len(ops):
        return fn
    return with_block(fn, [op for op in ops if op in live], results)


PASS = Pass(prune_dead, needs_gone=frozenset({If, Loop, Region}))
