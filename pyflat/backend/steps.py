"""The steps between flattening and a backend: each takes a FlatFunction and gives a new one.

    flatten_function -> flatten_fold -> flatten_optimize -> flatten_fuse -> (flatten_pack) -> the backend

A step changes no value unless `fast_math` says so: without it the results are the same in every lane and bit (any nan
is as good as any other). Running a step twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyflat.backend.fast_math import FastMath, fast_math_of
from pyflat.backend.flat import FlatFunction
from pyflat.errors import InternalError
from pyflat.ir.nodes import Const, Function, Op
from pyflat.ir.opaque_calls import OpaqueCalls, flat_values
from pyflat.ir.types import FLOAT, INT
from pyflat.passes.decide_selects import decide_selects
from pyflat.passes.factor_selects import factor_selects
from pyflat.passes.fold_calls import fold_calls
from pyflat.passes.fold_constants import fold_constants
from pyflat.passes.fold_fast import fold_fast
from pyflat.passes.fold_identities import fold_identities
from pyflat.passes.fuse_multiply_add import fuse_multiply_add
from pyflat.passes.fuse_selects import fuse_selects
from pyflat.passes.prune_dead import prune_dead
from pyflat.passes.push_negations import push_negations
from pyflat.passes.reassociate import reassociate
from pyflat.passes.recognise_dots import recognise_dots
from pyflat.passes.recognise_extrema import recognise_extrema
from pyflat.passes.recognise_lerp import recognise_lerp
from pyflat.passes.share_reciprocals import share_reciprocals
from pyflat.passes.share_subexpressions import share_subexpressions
from pyflat.passes.simplify_bools import simplify_bools

Change = Callable[[Function], Function]
LEAST_ROUNDS = 64
"""So many sweeps are always allowed, and one more for each operation: some rewrites go one level at a time."""


def flatten_fold(flat: FlatFunction, *, strict: bool = False) -> FlatFunction:
    """What is known is not computed: operations on constants, exact identities, selects whose arm is known, operations
    that were made already, operations that nothing uses, kept calls on constants (where their entry allows it).

    Pre: `flat.ok`. Post: `fold_residuals(flat)` is empty; with `strict` that is checked, and a residual is the
    FlattenError `flatten/fold-residual`.
    """
    folded = _settled(flat, _folding(flat), "fold")
    if strict:
        from pyflat.backend.residuals import refuse_residuals

        refuse_residuals(folded)
    return folded


def flatten_optimize(flat: FlatFunction, *, fast_math: FastMath | bool = False) -> FlatFunction:
    """Fewer or cheaper operations of the same kinds: chains of selects, fused and factored selects, collected sums and
    products of ints, De Morgan, merged comparisons, deeper algebra. With parts of `fast_math` also the algebra of real
    numbers, collected sums and products of floats, reciprocals.

    Pre: `flat.ok`; `finite` needs faults="drop", because faults are found by looking for nan and infinity (ValueError).
    Post: `flat.size` has not grown, unless for cheaper operations under fast math; no fold residual is left.
    """
    fast = _checked(flat, fast_math)
    exact: list[Change] = [decide_selects, fuse_selects, factor_selects,
                           lambda fn: push_negations(fn, finite=fast.finite), reassociate]
    quick: list[Change] = []
    if fast.parts:
        quick.append(lambda fn: fold_fast(fn, fast.parts))
    if fast.reassoc:
        quick.append(lambda fn: reassociate(fn, (INT, FLOAT), finite=fast.finite,
                                            no_signed_zeros=fast.no_signed_zeros))
    done = _settled(flat, [*_folding(flat), *exact, *quick], "optimize")
    if fast.reciprocal:
        done = _settled(done, [share_reciprocals, *_folding(flat)], "")
    return done


def flatten_fuse(flat: FlatFunction, *, fast_math: FastMath | bool = False) -> FlatFunction:
    """Several operations as one that backends have: min, max and clamp, exactly. With `contract`: mad or fma; with
    `reassoc` besides: lerp, dot products and horizontal sums over vectors ("pack" where one has to be made).

    Pre: `flat.ok`, and what `flatten_optimize` needs. Post: `flat.size` has not grown.
    """
    fast = _checked(flat, fast_math)
    changes: list[Change] = [recognise_extrema]
    if fast.allows("reassoc+contract"):
        changes += [recognise_lerp]
    fused = _settled(flat, [*changes, *_folding(flat)], "fuse")
    if fast.allows("reassoc+contract"):
        vectors = flat.vectors()
        fused = _settled(fused, [lambda fn: recognise_dots(fn, vectors), *_folding(flat)], "")
    if fast.contract:
        opcode = fast.contract
        fused = _settled(fused, [lambda fn: fuse_multiply_add(fn, opcode), *changes, *_folding(flat)], "")
    return fused


def _checked(flat: FlatFunction, fast_math: FastMath | bool) -> FastMath:
    fast = fast_math_of(fast_math)
    if fast.finite and flat.options.get("faults", "drop") != "drop":
        raise ValueError('fast_math: the part `finite` needs faults="drop": faults show as nan and infinity')
    return fast


def _folding(flat: FlatFunction) -> list[Change]:
    evaluate = _evaluation(flat.calls)
    return [fold_constants, lambda fn: fold_calls(fn, evaluate), share_subexpressions, fold_identities, simplify_bools]


def _evaluation(calls: OpaqueCalls) -> Callable[[Op], Sequence[bool | int | float] | None]:
    """The value of a pure call on literals, where the whitelist says how it is computed."""

    def evaluate(op: Op) -> Sequence[bool | int | float] | None:
        entry = calls.entries.get(op.attr("name"))
        if entry is None or not entry.pure or entry.barrier or entry.guarded or entry.python is None:
            return None
        values = [arg.value for arg in op.args if isinstance(arg, Const)]
        try:
            return flat_values(calls.meaning(op)(*values))
        except (ArithmeticError, ValueError):
            return None

    return evaluate


def _settled(flat: FlatFunction, changes: Sequence[Change], step: str) -> FlatFunction:
    """All changes in turn, until none changes anything."""
    fn = flat.ir
    for _ in range(LEAST_ROUNDS + len(fn.flat_block.ops)):
        before = fn
        for change in changes:
            fn = prune_dead(change(fn))
        if fn is before:
            return flat.with_ir(fn, step)
    raise InternalError(f"the step {step} over {flat.name} does not settle")
