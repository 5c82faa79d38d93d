"""Dot products and horizontal sums over vectors.

Before, where p_x, p_y, p_z are a vector:     After:
    %a = mul %p_x, 0.2 : f8                       %0 = pack %p_x, %p_y, %p_z : pack
    %b = mul %p_y, 0.7 : f8                       %1 = pack 0.2, 0.7, 0.1 : pack
    %c = add %a, %b : f8                          %e = dot %0, %1 : f8
    %d = mul %p_z, 0.1 : f8                       yield %e
    %e = add %c, %d : f8
    yield %e

A sum of two to four products that nothing else uses is a `dot` where that takes fewer operations: a `pack` is free
when its lanes are literals or, in order, all of a vector that the backend has anyway (a parameter of two to four
floats, the result of an opaque call, an earlier pack), else it is one operation. A sum over all lanes of such a
vector is `hadd`. Needs the parts `reassoc` and `contract` of fast math: the order and the rounding of the sum are the
backend's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from pyflat.ir.nodes import Function, Op, Value
from pyflat.ir.types import FLOAT
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.rewrite import Sweep, is_literal

WIDEST = 4
Lanes = tuple[Value, ...]


def recognise_dots(fn: Function, vectors: Iterable[Sequence[Value]] = ()) -> Function:
    """One sweep over a flat function; `fn` itself when there is nothing to recognise. `vectors` are values that
    are vectors already: parameters that belong together, all parts of a call."""
    known = {tuple(v) for v in vectors if 2 <= len(v) <= WIDEST}
    known |= {op.args for op in fn.flat_block.ops if op.opcode == "pack"}
    sweep = Sweep(fn)
    inner = {arg for op in fn.flat_block.ops if op.opcode == "add" for arg in op.args
             if isinstance(arg, Op) and arg.opcode == "add" and sweep.uses[arg] == 1}

    def change(op: Op) -> Value | None:
        return _fused(sweep, op, known) if op.opcode == "add" and op.kind is FLOAT and op not in inner else None

    return sweep.over(fn, change)


def _terms(sweep: Sweep, op: Op) -> list[Value]:
    """The operands of a tree of sums."""
    found: list[Value] = []
    for arg in op.args:
        if isinstance(arg, Op) and arg.opcode == "add" and sweep.uses[arg] == 1:
            found += _terms(sweep, arg)
        else:
            found.append(arg)
    return found


def _fused(sweep: Sweep, root: Op, known: set[Lanes]) -> Value | None:
    terms = _terms(sweep, root)
    products = [t for t in terms if isinstance(t, Op) and t.opcode == "mul" and sweep.uses[t] == 1]
    if 2 <= len(products) <= WIDEST:
        left, right = _best([p.args for p in products], known)
        packs = sum(not _is_free(v, known) for v in dict.fromkeys((left, right)))
        if 1 + packs < 2 * len(products) - 1:
            dot = sweep.emit("dot", _pack(sweep, left, root), _pack(sweep, right, root), origin=root.origin)
            return _plus(sweep, dot, [t for t in terms if t not in products], root)
    for lanes in known:
        if len(lanes) > 2 and len(set(lanes)) == len(lanes) and set(lanes) <= set(terms):
            total = sweep.emit("hadd", _pack(sweep, lanes, root), origin=root.origin)
            rest = list(terms)
            for lane in lanes:
                rest.remove(lane)
            return _plus(sweep, total, rest, root)
    return None


def _plus(sweep: Sweep, total: Value, rest: Sequence[Value], root: Op) -> Value:
    for term in rest:
        total = sweep.emit("add", total, sweep.read(term), origin=root.origin)
    return total


def _pack(sweep: Sweep, lanes: Lanes, root: Op) -> Op:
    return sweep.emit("pack", *map(sweep.read, lanes), origin=root.origin)


def _best(pairs: Sequence[tuple[Value, ...]], known: set[Lanes]) -> tuple[Lanes, Lanes]:
    """Which factor of each product goes to which side, and in which order, so that few vectors have to be made."""
    choices: list[tuple[int, Lanes, Lanes]] = []
    for swaps in product((False, True), repeat=len(pairs) - 1):
        oriented = [pair[::-1] if swap else pair for pair, swap in zip(pairs, (False, *swaps), strict=True)]
        for ordered in _orders(oriented, known):
            left, right = (tuple(pair[side] for pair in ordered) for side in (0, 1))
            choices.append((sum(not _is_free(v, known) for v in {left, right}), left, right))
    _, left, right = min(choices, key=lambda choice: choice[0])
    return left, right


def _orders(pairs: list[tuple[Value, ...]], known: set[Lanes]) -> Iterable[list[tuple[Value, ...]]]:
    """As they come, and in the order of each known vector that one side is."""
    yield pairs
    for side in (0, 1):
        lanes = [pair[side] for pair in pairs]
        for vector in known:
            if len(vector) == len(lanes) and set(vector) == set(lanes) and len(set(lanes)) == len(lanes):
                yield sorted(pairs, key=lambda pair, s=side, v=vector: v.index(pair[s]))  # type: ignore[misc]


def _is_free(lanes: Lanes, known: set[Lanes]) -> bool:
    return lanes in known or all(map(is_literal, lanes))


PASS = Pass(recognise_dots, needs_gone=STRAIGHT)
