"""What is the same in every lane is computed once: a flat function becomes a preamble and a body.

Before, %t uniform:                  preamble:                    body:
    %a = sin %t : f8                     %a = sin %t : f8             %c = mul %x, %u0 : f8
    %b = mul %a, 2.0 : f8                %b = mul %a, 2.0 : f8        yield %c
    %c = mul %x, %b : f8                 yield %b
    yield %c

An operation is uniform when all its operands are, and it is no barrier, no guarded call and no fault. The preamble
gives what the body reads of it; the body takes these values as further parameters.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pyflat.ir.edit.copying import Copier
from pyflat.ir.nodes import Block, Const, Function, Label, Op, Param, Value, Yield
from pyflat.ir.opaque_calls import has_effect, is_barrier, is_guarded
from pyflat.ir.types import PACK
from pyflat.ir.uses import results_of


@dataclass(frozen=True, slots=True)
class Split:
    """`links` are the parameters that the body has besides those of the function: the results of the preamble, in
    order. The preamble has the uniform parameters only."""

    preamble: Function
    body: Function
    links: tuple[Param, ...]


def split_uniform(fn: Function, uniform: Collection[Param]) -> Split:
    """Preamble and body of a flat function. `uniform` are those of its parameters that are the same in every lane."""
    ops = fn.flat_block.ops
    same = _uniform_values(ops, uniform)
    links = _frontier(fn, same)
    shared = [p for p in fn.params if p in uniform]
    copy, first = Copier(), []
    params = copy.params(shared)
    first = [copy.op(op) for op in ops if op in same]
    values = copy.read_all(links)
    preamble = Function(f"{fn.name}_preamble", params, [Block(first, Yield(values))], Label("return"),
                        [v.kind for v in values], "flat", fn.floats)
    rest = Copier()
    own = rest.params(fn.params)
    made = [Param(link.kind, link.name or f"u{k}") for k, link in enumerate(links)]
    rest.values.update(zip(links, made, strict=True))
    second = [rest.op(op) for op in ops if op not in same]
    results = rest.read_all(results_of(fn))
    body = Function(fn.name, [*own, *made], [Block(second, Yield(results))], Label("return"), fn.result_kinds, "flat",
                    fn.floats)
    return Split(preamble, body, tuple(made))


def _uniform_values(ops: Collection[Op], uniform: Collection[Param]) -> set[Value]:
    same: set[Value] = set(uniform)
    for op in ops:
        may = not (is_barrier(op) or is_guarded(op) or has_effect(op))
        if may and all(isinstance(arg, Const) or arg in same for arg in op.args):
            same.add(op)
    return same


def _frontier(fn: Function, same: set[Value]) -> list[Op]:
    """The uniform operations that the others or the results read. A pack goes as its parts: only numbers are passed."""
    found: dict[Op, None] = {}
    waiting: list[Value] = [arg for op in fn.flat_block.ops if op not in same for arg in op.args] + results_of(fn)
    for value in waiting:
        if isinstance(value, Op) and value in same:
            if value.kind is PACK:
                same.discard(value)
                return _frontier(fn, _without(fn, same))
            found[value] = None
    return list(found)


def _without(fn: Function, same: set[Value]) -> set[Value]:
    """`same` after an operation was taken out: what reads it varies too."""
    for op in fn.flat_block.ops:
        if op in same and not all(isinstance(arg, Const) or arg in same for arg in op.args):
            same.discard(op)
    return same
