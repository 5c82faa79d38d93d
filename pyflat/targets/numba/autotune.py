"""Two ways to run a kernel's lanes, of which the data decide the faster one: the kernel measures.

    first, look at both:    plain(a trial's elements), other(as many), by the cycle counter
    go on:                  the faster one for a stretch of elements
    again, until all elements are computed; the stretch doubles while the same way wins

Every lane is computed by the same operations either way, so that results do not depend on the choice. A call too short
for trials goes the plain way. The elements that went the other way are counted in the state.
"""

from __future__ import annotations

import itertools
from typing import Any

from llvmlite import ir

from pyflat.functions.ways import Way, note
from pyflat.targets.numba.feed import LEFT_EARLY, SECOND
from pyflat.targets.numba.llvm import I1, I8, I64, element_at, i64, internal_function

TRIAL = 48
"""Gangs in a trial of each way, where a gang takes long: in a loop."""

SHORT_TRIAL = 192
"""Gangs in a trial in straight-line code: some microseconds, so that neither the counter nor what a way does at the end
of its elements counts for much."""

STRETCH = 16
"""Trials that the faster way then runs, at first."""

LONGEST = 16
"""So many times that, at most: the data may change on the way."""


TURNS = 2
"""Trials that the faster way runs where both are forced to run."""


def write_choice(plain: ir.Function, other: ir.Function, trial: int, way: Way, lanes: int) -> ir.Function:
    """A function that runs its elements by the faster of two functions with the same operands: how many elements, from
    which one on, the state, and more that all of them get. `trial` is how many elements tell, in gangs of `lanes`;
    the values of the way are the first, the second, and both in turns."""
    first, second, turns = way.values
    note(way.name, second if way.forced == second else first)
    if way.forced == first:
        return plain
    if way.forced == second:
        return _counting(other)
    return _write_choice(plain, _counting(other), *((lanes, TURNS) if way.forced == turns else (trial, STRETCH)))


def _counting(way: ir.Function) -> ir.Function:
    """A function like `way`, which counts its elements in the state."""
    function = internal_function(way.module, way.function_type, f"counted_{way.name}")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.atomic_rmw("add", element_at(builder, function.args[2], i64(SECOND), I64), function.args[0], "monotonic")
    builder.ret(builder.call(way, function.args))
    return function


def _write_choice(plain: ir.Function, other: ir.Function, trial: int, stretch_of: int) -> ir.Function:
    function = internal_function(plain.module, plain.function_type, "choice")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    count, first, *rest = function.args
    head, try_both, last, go_on, end = (builder.append_basic_block(name)
                                        for name in ("head", "try", "last", "go_on", "end"))
    flags = builder.alloca(I8)
    builder.store(ir.Constant(I8, 0), flags)
    before = builder.block
    builder.branch(head)

    builder.position_at_end(head)
    start, stretch, won = builder.phi(I64), builder.phi(I64), builder.phi(I1)
    for phi, value in ((start, i64(0)), (stretch, i64(stretch_of * trial)), (won, ir.Constant(I1, 0))):
        phi.add_incoming(value, before)
    left = builder.sub(count, start)

    def run(callee: ir.Function, at: Any, length: Any) -> None:
        """Run a part, and leave the function where the part was left early."""
        ran = builder.call(callee, [length, builder.add(first, at), *rest])
        found = builder.or_(builder.load(flags, typ=I8), ran)
        builder.store(found, flags)
        with builder.if_then(builder.icmp_unsigned(">=", found, ir.Constant(I8, LEFT_EARLY)), likely=False):
            builder.ret(found)

    builder.cbranch(builder.icmp_signed(">=", left, i64(4 * trial)), try_both, last)

    builder.position_at_end(last)
    run(plain, start, left)
    builder.branch(end)

    builder.position_at_end(try_both)
    times = [_cycles(builder)]
    for k, callee in enumerate((plain, other)):
        run(callee, builder.add(start, i64(k * trial)), i64(trial))
        times.append(_cycles(builder))
    cycles = [builder.sub(after, at) for at, after in itertools.pairwise(times)]
    wins = builder.icmp_unsigned("<", builder.add(cycles[1], builder.lshr(cycles[1], i64(4))), cycles[0])
    at = builder.add(start, i64(2 * trial))
    ahead = builder.sub(count, at)
    longer = builder.shl(stretch, i64(1))
    most = i64(LONGEST * stretch_of * trial)
    longer = builder.select(builder.icmp_signed("<", longer, most), longer, most)
    again = builder.and_(builder.icmp_signed(">", start, i64(0)), builder.icmp_unsigned("==", wins, won))
    stretched = builder.select(again, longer, i64(stretch_of * trial))
    length = builder.select(builder.icmp_signed("<", ahead, stretched), ahead, stretched)
    ways = [builder.append_basic_block(name) for name in ("go_other", "go_plain")]
    builder.cbranch(wins, *ways)
    for block, callee in zip(ways, (other, plain), strict=True):
        builder.position_at_end(block)
        run(callee, at, length)
        builder.branch(go_on)

    builder.position_at_end(go_on)
    next_start = builder.add(at, length)
    for phi, value in ((start, next_start), (stretch, stretched), (won, wins)):
        phi.add_incoming(value, go_on)
    builder.cbranch(builder.icmp_signed("<", next_start, count), head, end)

    builder.position_at_end(end)
    builder.ret(builder.load(flags, typ=I8))
    return function


def _cycles(builder: ir.IRBuilder) -> Any:
    module = builder.module
    name = "llvm.readcyclecounter"
    function = module.globals.get(name) or ir.Function(module, ir.FunctionType(I64, []), name)
    return builder.call(function, [])
