"""Random programs for the passes over the structured form: literal conditions, equal arms, loops with known trips."""

from __future__ import annotations

import random

from pyflat.ir.build import const
from pyflat.ir.edit.copying import Copier, copy_function
from pyflat.ir.nodes import FALSE, TRUE, Block, Const, Exit, Function, If, Label, Loop, Yield, walk
from pyflat.ir.validate import validate
from tests.passes.structured_programs import StructuredPrograms


def decided(seed: int, *, loops: bool = True) -> Function:
    """A random program in which some conditions are literals, some arms equal and some loops never come around."""
    r = random.Random(seed)
    fn = copy_function(StructuredPrograms(seed, loops=loops).function())
    loops_of = {item.label for item in walk(fn.body) if isinstance(item, Loop)}
    for item in list(walk(fn.body)):
        match item:
            case If() if _leaves(item, loops_of):  # without its test a loop might not end
                pass
            case If() if r.random() < 0.3:
                item.cond = r.choice((TRUE, FALSE))
            case If() if r.random() < 0.3:
                item.orelse = Copier().items(item.then)
            case Loop() if r.random() < 0.3:
                run_once(item)
    validate(fn)
    return fn


def _leaves(node: If, loops: set[Label]) -> bool:
    ends = [arm[-1].end for arm in (node.then, node.orelse)]
    return any(isinstance(end, Exit) and end.label in loops for end in ends)


def run_once(loop: Loop) -> None:
    """Let every way to the next iteration leave the loop."""
    values = [Const(result.kind, {"b": True, "i8": 3, "f8": 0.5}[result.kind.value]) for result in loop.results]
    last = loop.body[-1]
    assert isinstance(last, Block)
    for item in walk(loop.body):
        if isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label is loop.again:
            item.end = Exit(loop.label, list(values))
    if isinstance(last.end, Yield):
        last.end = Exit(loop.label, list(values))


def trips(seed: int) -> Function:
    """A random program whose own loops start from literals: many of them can be unrolled."""
    r = random.Random(seed)
    fn = copy_function(StructuredPrograms(seed, loops=True).function())
    for item in walk(fn.body):
        if isinstance(item, Loop):
            for i, param in enumerate(item.params):
                if param.kind.value == "i8" and r.random() < 0.8:
                    item.inits[i] = const(r.choice((0, 1, 2)))
    validate(fn)
    return fn


