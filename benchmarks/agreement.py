"""Whether a contender computes what it is timed for.

In f8 a float is right within 1e-9 (absolute or relative), an int if it is equal; one lane in a thousand may be
otherwise, because fused multiplications take a decision near its threshold the other way.

In f4 the measure is the original in float64, on the same float32 lanes. Rounding is then as large as the kernel makes
it (cancellation, trips of a loop that ends at a difference), and decisions near a threshold fall otherwise more often:
each kernel has a tolerance and a share of lanes that may be beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Tolerance:
    """An error of `absolute + relative * |wanted|` is none, in all lanes but `share` of them."""

    absolute: float
    relative: float
    share: float


DOUBLE = Tolerance(1e-9, 1e-9, 1e-3)
SINGLE: dict[str, Tolerance] = {
    "bs": Tolerance(5e-5, 5e-6, 1e-3),  # prices to 100, differences of them
    "haversine": Tolerance(5e-2, 5e-6, 1e-3),  # km; the arcsine is steep between opposite places
    "orbit": Tolerance(1e-2, 5e-6, 1e-3),  # km of height, a difference of distances from the centre
    "comfort": Tolerance(1e-3, 5e-6, 1e-3),  # a polynomial whose terms are hundreds
    "tax": Tolerance(5e-2, 5e-6, 2e-3),  # incomes to millions; a step of 50 in the credit
    "raymarch": Tolerance(2e-3, 5e-6, 1e-3),  # a ray ends within 0.001 of the surface, a step earlier or later
    "mand256": Tolerance(0.0, 0.0, 5e-3),  # chaotic at the edge of the set
}
"""Where errors are larger than a few of the last digits for all peers alike."""


def tolerance(kernel: str, narrow: bool) -> Tolerance:
    return SINGLE.get(kernel, Tolerance(5e-6, 5e-6, 1e-3)) if narrow else DOUBLE


def share_beyond(found: np.ndarray, wanted: np.ndarray, allowed: Tolerance) -> float:
    """The share of lanes that are beyond the tolerance; 1.0 for another shape."""
    if found.shape != wanted.shape:
        return 1.0
    beyond = 0
    for start in range(0, len(wanted), PIECE):
        here = slice(start, start + PIECE)
        mine, right = found[here].astype(float), wanted[here].astype(float)
        limits = (0.0, 0.0) if wanted.dtype.kind == "i" else (allowed.relative, allowed.absolute)
        beyond += len(right) - int(np.isclose(mine, right, *limits, equal_nan=True).sum())
    return beyond / len(wanted)


def agrees(found: np.ndarray, wanted: np.ndarray, allowed: Tolerance) -> bool:
    return share_beyond(found, wanted, allowed) <= allowed.share
