"""The steps between flattening and a backend: each takes a FlatFunction and gives a new one.

    flatten_function -> flatten_fold -> flatten_optimize -> flatten_fuse -> (flatten_pack) -> the backend

A step changes no value unless `steps` says so: without it the results are the same in every lane and bit (any nan
is as good as any other). Running a step twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from pyflat.backend.flat import FlatFunction
from pyflat.ir.nodes import Const, Op
from pyflat.ir.opaque_calls import OpaqueCalls, flat_values
from pyflat.ir.recursion import with_room
from pyflat.passes import pipelines

# --- what a backend may change in the last digits and at the edges: off by default, each part by itself

Contract = Literal[False, "mad", "fma"]


@dataclass(frozen=True, slots=True)
class FastMath:
    """Parts of fast math, all off. `FastMath.all()` has them on.

    finite           no operand and no result is nan or infinite
    no_signed_zeros  -0.0 is as good as 0.0
    reassoc          sums and products in another order, common factors taken out, dot products
    reciprocal       quotients as products with reciprocals, which are shared
    contract         x*y + z is one operation: "mad", rounded as the backend has it, or "fma", rounded once
    approx           powers and roots by other operations: x**3 is x*x*x
    """

    finite: bool = False
    no_signed_zeros: bool = False
    reassoc: bool = False
    reciprocal: bool = False
    contract: Contract = False
    approx: bool = False

    @classmethod
    def all(cls, contract: Contract = "mad") -> FastMath:
        return cls(True, True, True, True, contract, True)

    @property
    def parts(self) -> frozenset[str]:
        """The names of the parts that are on."""
        return frozenset(f.name for f in fields(self) if getattr(self, f.name))


EXACT = FastMath()


def fast_math_of(given: FastMath | bool) -> FastMath:
    """True: all parts; False: none."""
    if isinstance(given, FastMath):
        return given
    return FastMath.all() if given else EXACT


@with_room
def flatten_fold(flat: FlatFunction, *, strict: bool = False) -> FlatFunction:
    """What is known is not computed: operations on constants, exact identities, selects whose arm is known, operations
    that were made already, operations that nothing uses, opaque calls on constants (where their entry allows it).

    Pre: `flat.ok`. Post: `fold_residuals(flat)` is empty; with `strict` that is checked, and a residual is the
    FlattenError `flatten/fold-residual`.
    """
    folded = _through(flat, pipelines.fold(_evaluation(flat.calls)), "fold")
    if strict:
        from pyflat.backend.residuals import refuse_residuals

        refuse_residuals(folded)
    return folded


@with_room
def flatten_optimize(flat: FlatFunction, *, fast_math: FastMath | bool = False) -> FlatFunction:
    """Fewer or cheaper operations of the same kinds: chains of selects, fused and factored selects, collected sums and
    products of ints, De Morgan, merged comparisons, deeper algebra. With parts of `steps` also the algebra of real
    numbers, collected sums and products of floats, reciprocals.

    Pre: `flat.ok`; `finite` needs faults="drop", because faults are found by looking for nan and infinity (ValueError).
    Post: `flat.size` has not grown, unless for cheaper operations under fast math; no fold residual is left.
    """
    fast = _checked(flat, fast_math)
    return _through(flat, pipelines.optimize(_evaluation(flat.calls), fast.parts), "optimize")


@with_room
def flatten_fuse(flat: FlatFunction, *, fast_math: FastMath | bool = False) -> FlatFunction:
    """Several operations as one that backends have: min, max and clamp, exactly. With `contract`: mad or fma; with
    `reassoc` besides: lerp, dot products and horizontal sums over vectors ("pack" where one has to be made).

    Pre: `flat.ok`, and what `flatten_optimize` needs. Post: `flat.size` has not grown.
    """
    fast = _checked(flat, fast_math)
    fusing = pipelines.fuse(_evaluation(flat.calls), fast.parts, fast.contract, flat.vectors())
    return _through(flat, fusing, "fuse")


def _checked(flat: FlatFunction, fast_math: FastMath | bool) -> FastMath:
    fast = fast_math_of(fast_math)
    if fast.finite and flat.options.get("faults", "drop") != "drop":
        raise ValueError('fast_math: the part `finite` needs faults="drop": faults show as nan and infinity')
    return fast


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


def _through(flat: FlatFunction, pipeline: pipelines.Pipeline, step: str) -> FlatFunction:
    return flat.with_ir(pipelines.run(flat.ir, pipeline), step)
