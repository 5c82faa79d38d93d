"""The order of the passes, for each way out, as data: no other module knows one.

    structured IR --FLATTEN--> flat or masked IR --engine--> one more result, the suspect bit, and no faults
                  --STRAIGHTEN--> flat IR of a backend --fold, optimize, fuse--> fewer operations

The flat form is one block of total operations and `fault` operations; where loops were kept, the masked form has such
blocks and canonical loops of such blocks. Backends' passes are imported where they are used: a twin needs none of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyflat.analysis.temporaries import NO_SETTING, Virtualize
from pyflat.errors import InternalError
from pyflat.ir.memory import ArrayArgument
from pyflat.ir.nodes import Function, Op, Value
from pyflat.ir.recursion import with_room
from pyflat.ir.types import FLOAT, INT
from pyflat.ir.validate import validate
from pyflat.passes import (
    convert_ifs,
    demote_floats,
    fold_constants,
    forward_stores,
    fuse_loops,
    gather_suspects,
    inline_arrays,
    keep_sums,
    limit_trips,
    lower_exits,
    prune_carried,
    prune_dead,
    share_subexpressions,
)
from pyflat.passes.record import Construct, Pass, constructs_in

if TYPE_CHECKING:
    from pyflat.analysis.intervals import Interval
    from pyflat.analysis.kernels import Kernel
    from pyflat.passes.fold_calls import Evaluate

LEAST_ROUNDS = 64
"""So many sweeps are always allowed, and one more for each operation: some rewrites go one level at a time."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Passes in turn, again and again, until none changes anything."""

    passes: tuple[Pass, ...]


Pipeline = tuple[Pass | Settled, ...]

FLATTEN: Pipeline = (
    lower_exits.PASS,
    convert_ifs.PASS,
    prune_dead.PASS,  # what the unreached code and the unused flags were for: halves the work of the others
    fold_constants.PASS.bind(share=True),  # one sweep: 2 % fewer operations in random programs than without sharing
    prune_dead.PASS,
)
"""Flat twins, and masked ones where a loop was kept."""

STRAIGHTEN: Pipeline = (lower_exits.PASS, convert_ifs.PASS, prune_dead.PASS)
"""For backends, which fold for themselves."""


def written() -> Pipeline:
    """For IR that was written by hand: what its hints ask for, and the flat or masked form."""
    from pyflat.passes import follow_hints

    return follow_hints.PASS, *FLATTEN


FLOAT32: Pipeline = (demote_floats.PASS,)
"""A structured function whose float lanes become float32."""

FLOAT32_REFERENCE: Pipeline = (lower_exits.PASS,)
"""What lanes of float32 are by definition: interpreted one by one, with the loops that engines have."""


def kernel(made: Kernel, tangled: Collection[str] = (), virtualize: Virtualize = NO_SETTING,
           whole: bool = True) -> Pipeline:
    """A kernel over arrays, which stays structured; in those that are `tangled` an element may have several places.
    `whole`: nests become operations on whole arrays."""
    params = {param: at for at, param in enumerate(made.function.params)}
    lengths = tuple(params[length] for length in made.lengths())
    folding = fold_constants.PASS.bind(share=True, lengths=lengths)
    memories = {name: a.memory for name, a in made.arguments.items() if isinstance(a, ArrayArgument)}
    kept = [name for name, mode in virtualize.memory if mode != "virtual"]
    fusing = fuse_loops.PASS.bind(lengths=lengths, memories=memories, tangled=tangled, kept=kept)
    inlining = inline_arrays.PASS.bind(lengths=lengths, tangled=tangled, virtualize=virtualize, whole=whole,
                                       decided=made.decided)
    forwarding = forward_stores.PASS.bind(tangled=tangled, kept=kept)
    pruning = prune_carried.PASS.bind(lengths=lengths)
    settling = folding, forwarding, pruning
    keeping = keep_sums.PASS.bind(lengths=lengths, tangled=tangled)
    reordering = fusing.bind(reordered=made.reordered)
    return *settling, keeping, pruning, fusing, *settling, inlining, *settling, reordering, *settling


VALUES: Pipeline = (gather_suspects.VALUES,)
"""What a text shows: a flat or masked function without faults."""

ENDING: Pipeline = (gather_suspects.PASS.bind(told=False),)
"""What a text that runs shows: its loops end in lanes in which the original raises, too."""


def fast(math: Mapping[str, str], *, contract: bool) -> Pipeline:
    """For `math="fast"` and functions of any form: the functions of `math`, products for quotients, and products fused
    into sums where the target may `contract`. Before anything is folded: what folding knows of ranges is then known of
    these values."""
    from pyflat.passes import choose_fast_functions, contract_products, multiply_reciprocals

    functions = (choose_fast_functions.PASS.bind(math=math),) if math else ()
    return (*functions, multiply_reciprocals.PASS, contract_products.PASS) if contract else functions


def engine(max_trips: int | None = None, *, told: bool = True) -> Pipeline:
    """What an engine runs: a flat or masked function with a suspect bit; before it, where trips are limited and that is
    to be `told`, a bit for the lanes that ran into the limit."""
    if max_trips is None:
        return (gather_suspects.PASS,)
    return limit_trips.PASS.bind(limit=max_trips), gather_suspects.PASS.bind(limited=told)


def numbered(number: Callable[[Op], int]) -> Pipeline:
    """A flat or masked function with one more result: the number of a lane's first fault operation, 0 without one."""
    return (gather_suspects.PASS.bind(number=number),)


def within(known: Mapping[Value, Interval]) -> Pipeline:
    """For what an engine runs, where its parameters are known to lie in intervals."""
    return fold_constants.PASS.bind(known=known), share_subexpressions.PASS, prune_dead.PASS


def dataflow(hoist_leaving: Pass) -> Pipeline:
    """For a structured function, and graphs whose loops are cycles."""
    return hoist_leaving, lower_exits.PASS


def shader(max_trips: int, *, loops: bool) -> Pipeline:
    """A flat or masked function for a language of 32-bit lanes, which spells the operations itself: without `x + 0.0`,
    and with min, max and clamp where they are written as selects. Where it has loops, operations stay as they are."""
    start = limit_trips.PASS.bind(limit=max_trips), gather_suspects.VALUES
    if loops:
        return start
    from pyflat.passes import fold_fast, recognise_extrema

    return (*start, fold_fast.PASS.bind(parts=frozenset({"no_signed_zeros"})), prune_dead.PASS, recognise_extrema.PASS,
            prune_dead.PASS, recognise_extrema.PASS, prune_dead.PASS)


def fold(evaluate: Evaluate) -> Pipeline:
    """For backends: what is known is not computed. `evaluate` gives the values of calls on literals."""
    return (_settled(*_folding(evaluate)),)


def optimize(evaluate: Evaluate, parts: frozenset[str]) -> Pipeline:
    """For backends: fewer or cheaper operations, with the `parts` of fast math."""
    from pyflat.passes import (
        decide_selects,
        factor_selects,
        fold_fast,
        fuse_selects,
        push_negations,
        reassociate,
        share_reciprocals,
    )

    finite, folding = "finite" in parts, _folding(evaluate)
    exact = (decide_selects.PASS, fuse_selects.PASS, factor_selects.PASS, push_negations.PASS.bind(finite=finite),
             reassociate.PASS)
    fast = (fold_fast.PASS.bind(parts=parts),) if parts else ()
    signless = "no_signed_zeros" in parts
    sums = (reassociate.PASS.bind(kinds=(INT, FLOAT), finite=finite, no_signed_zeros=signless),)
    first = _settled(*folding, *exact, *fast, *(sums if "reassoc" in parts else ()))
    return (first, _settled(share_reciprocals.PASS, *folding)) if "reciprocal" in parts else (first,)


def fuse(evaluate: Evaluate, parts: frozenset[str], contract: str | bool, vectors: Sequence[Sequence[Value]]
         ) -> Pipeline:
    """For backends: several operations as one. `contract` is "mad", "fma" or False; `vectors` are what belongs
    together."""
    from pyflat.passes import fuse_multiply_add, recognise_dots, recognise_extrema, recognise_lerp

    folding, sums = _folding(evaluate), parts.issuperset({"reassoc", "contract"})
    found = (recognise_extrema.PASS, recognise_lerp.PASS) if sums else (recognise_extrema.PASS,)
    dots = (_settled(recognise_dots.PASS.bind(vectors=vectors), *folding),) if sums else ()
    products = (_settled(fuse_multiply_add.PASS.bind(opcode=contract), *found, *folding),) if contract else ()
    return _settled(*found, *folding), *dots, *products


def _folding(evaluate: Evaluate) -> tuple[Pass, ...]:
    from pyflat.passes import fold_calls, fold_identities, simplify_bools

    return (fold_constants.PASS, fold_calls.PASS.bind(evaluate=evaluate), share_subexpressions.PASS,
            fold_identities.PASS, simplify_bools.PASS)


def _settled(*passes: Pass) -> Settled:
    """Each followed by `prune_dead`: rules ask how often a value is used."""
    return Settled(tuple(each for one in passes for each in (one, prune_dead.PASS)))


OnPass = Callable[[str, Function], None]


def flatten_ir(fn: Function, on_pass: OnPass | None = None, fast: Pipeline = ()) -> Function:
    """The flat or masked form of a structured function; the results in its Yield, faults as operations. The passes of
    `fast` come where the faults are there, as conditions on values, and nothing has been folded."""
    return run(fn, (*FLATTEN[:3], *fast, *FLATTEN[3:]), on_pass)


@with_room
def run(fn: Function, pipeline: Pipeline, on_pass: OnPass | None = None) -> Function:
    """`fn` after all passes of a pipeline; `on_pass(name, function)` is called after each.

    With PYFLAT_VALIDATE=1 in the environment the function is validated before the first pass and after each that
    changes it, and each pass is held to its record. Raises FlattenError where `fn` nests too deeply
    (`pyflat.ir.recursion`), and InternalError where the IR breaks or a pipeline does not settle.
    """
    once = _validated if os.environ.get("PYFLAT_VALIDATE") == "1" else _unchecked
    if once is _validated:
        validate(fn)
    for step in pipeline:
        if isinstance(step, Settled):
            fn = _settle(fn, step, once, on_pass)
        else:
            fn = once(step, fn)
            if on_pass is not None:
                on_pass(step.name, fn)
    return fn


def _unchecked(each: Pass, fn: Function) -> Function:
    return each(fn)


def _validated(each: Pass, fn: Function) -> Function:
    """The function after a pass. InternalError where it, or what it was given, is not as its record says."""
    there = each.needs_gone & constructs_in(fn)
    if there:
        raise InternalError(f"{each.name} was given a function with {_named(there)}")
    after = each(fn)
    if after is not fn:
        validate(after)
    left = each.removes & constructs_in(after)
    if left:
        raise InternalError(f"{each.name} left {_named(left)}")
    return after


def _named(constructs: Iterable[Construct]) -> str:
    return ", ".join(sorted(each.value for each in constructs))


def _settle(fn: Function, step: Settled, once: Callable[[Pass, Function], Function], on_pass: OnPass | None
            ) -> Function:
    for _ in range(LEAST_ROUNDS + len(fn.flat_block.ops)):
        before = fn
        for each in step.passes:
            fn = once(each, fn)
            if on_pass is not None:
                on_pass(each.name, fn)
        if fn is before:
            return fn
    raise InternalError(f"{', '.join(each.name for each in step.passes)} over {fn.name} do not settle")
