"""What a backend may change in the last digits and at the edges: off by default, each part by itself."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

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
