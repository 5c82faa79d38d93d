"""The steps between flattening and a backend: each takes a FlatFunction and returns a new one.

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
    """The parts of fast math, all off by default; `FastMath.all()` turns them on.

    finite           no operand and no result is nan or infinite
    no_signed_zeros  -0.0 may become 0.0
    reassoc          reorder sums and products, take out common factors, form dot products
    reciprocal       replace quotients by products with shared reciprocals
    contract         x*y + z is one operation: "mad", rounded as the backend has it, or "fma", rounded once
    approx           replace powers and roots by other operations: x**3 by x*x*x
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
    """Remove operations with a known result: operations on constants, exact identities, selects with a known outcome,
    repeated operations, unused operations, and opaque calls on constants (if their entry allows it).

    Pre: `flat.ok`. Post: `fold_residuals(flat)` is empty; with `strict`, this is checked, and a residual raises
    FlattenError `flatten/fold-residual`.
    """
    folded = _through(flat, pipelines.fold(_evaluation(flat.calls)), "fold")
    if strict:
        from pyflat.backend.residuals import refuse_residuals

        refuse_residuals(folded)
    return folded


@with_room
def flatten_optimize(flat: FlatFunction, *, fast_math: FastMath | bool = False) -> FlatFunction:
    """Reduce the number and cost of operations: chains of selects, fused and factored selects, collected sums and
    products of ints, De Morgan, merged comparisons, deeper algebra. With parts of `fast_math`, also use the algebra of
    real numbers, collect sums and products of floats, and share reciprocals.

    Pre: `flat.ok`; `finite` needs faults="drop", because errors show up as nan and infinity (ValueError).
    Post: `flat.size` has not grown, except for cheaper operations under fast math; no fold residual remains.
    """
    fast = _checked(flat, fast_math)
    return _through(flat, pipelines.optimize(_evaluation(flat.calls), fast.parts), "optimize")


@with_room
def flatten_fuse(flat: FlatFunction, *, fast_math: FastMath | bool = False) -> FlatFunction:
    """Combine operations into ones that backends have: exactly, min, max and clamp; with `contract`, mad or fma; with
    `reassoc` too, lerp, dot products and horizontal sums over vectors ("pack" if a vector must be built).

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
