"""Fewer selects: equal conditions and equal arms are chosen once.

Before:                                   After:
    %c = and %p, %q : b                       %b = select %q, %x, %y : f8
    %a = select %p, %y, %z : f8               %r = select %p, %b, %z : f8
    %r = select %c, %x, %a : f8               yield %r
    yield %r

What `passes.rules.logic` knows of one select (a known condition, equal arms, `c ? true : false`, an arm that is
chosen by the same condition) `fold_constants` has done before. Exact: a select copies bits.
"""

from __future__ import annotations

from pyflat.ir.nodes import Function
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.patterns import Rule, rules
from pyflat.passes.rules.rewrite import Rules, rewrite


def _rules(kind: Kind) -> tuple[Rule, ...]:
    return (
        *rules(kind,
            "select(and(p, pq), x, select(p, y, z)) -> select(p, select(pq, x, y), z)",
            "select(or(p, pq), select(p, x, y), z) -> select(p, x, select(pq, y, z))",
            "select(or(p, pq), select(pq, x, y), z) -> select(pq, x, select(p, y, z))",
            "select(and(p, pq), x, select(pq, y, z)) -> select(pq, select(p, x, y), z)",
            "select(p, select(pq, x, y), select(pq, x, z)) -> select(pq, x, select(p, y, z))",
            "select(p, select(pq, x, z), select(pq, y, z)) -> select(pq, select(p, x, y), z)",
        ),
    )


RULES = (*_rules(BOOL), *_rules(INT), *_rules(FLOAT))
_RULES = Rules(RULES)


def fuse_selects(fn: Function) -> Function:
    """One sweep over a flat function; `fn` itself when no select goes."""
    return rewrite(fn, _RULES)


PASS = Pass(fuse_selects, needs_gone=STRAIGHT)
