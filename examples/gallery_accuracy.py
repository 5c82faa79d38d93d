"""How far the shaders are from the functions: every lane of the compute shaders against the original.

    python examples/gallery_accuracy.py

A GPU computes in 32 bits. The error of a lane is its distance from the original, which computes in 64, relative to the
original's value or to the root mean square of all of them, whichever is larger. A lane is *on an edge* when the
original itself gives something else for arguments moved by one part in 2**19: where a comparison or a floor decides the
value, 32 bits may decide it the other way. Those lanes are counted; the worst error is that of the others, and whole
numbers must be equal there. Lanes in which the original raises are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import pyflat
from gallery_functions import FUNCTIONS
from gallery_shaders import SHADERS
from pyflat.vec import vec2

LANES = 20_000
SIDE = 128
NUDGE = 2.0**-19
BOUND = 2e-4
"""The largest relative error that is still 32 bits' own: sines, powers and roots of drivers have 2 to 4 digits less
than the type, and a function takes several of them."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What one function came to. `worst` is the largest relative error of a lane that is on no edge."""

    name: str
    lanes: int
    worst: float
    on_edge: int


def measure(fn: Callable[..., Any], arguments: Sequence[Any], seed: int = 0) -> Accuracy:
    """Run `fn` over lanes on the device and by the original's exact twin, and compare."""
    found = _leaves(pyflat.twin(fn, target="wgsl", errors="unchecked")(*arguments))
    exact = pyflat.twin(fn, errors="mask")
    wanted, fine = _masked(exact, arguments)
    rng = np.random.default_rng(seed)
    signs = [np.float64(-1.0), np.float64(1.0), *[rng.choice((-1.0, 1.0), _size(arguments)) for _ in range(6)]]
    moved = [_masked(exact, [_nudged(a, sign) for a in arguments]) for sign in signs]
    error = np.zeros(fine.shape)
    edge = np.zeros(fine.shape, bool)
    for k, want in enumerate(wanted):
        scale = _scale(want, fine)
        error = np.maximum(error, _distance(found[k], want, scale))
        for near, near_fine in moved:
            edge |= (_distance(near[k], want, scale) > BOUND) | ~near_fine
    return Accuracy(fn.__name__, int(fine.sum()), float(np.max(error, where=fine & ~edge, initial=0.0)),
                    int((fine & edge & (error > BOUND)).sum()))


def _distance(a: Any, b: Any, scale: Any) -> Any:
    """Relative for floats; 1 where whole numbers or bools differ. Two nans are equal."""
    if np.asarray(b).dtype.kind != "f":
        return (np.asarray(a) != np.asarray(b)).astype(float)
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    both = (np.isnan(a) & np.isnan(b)) | (a == b)
    with np.errstate(invalid="ignore"):
        return np.where(both, 0.0, np.nan_to_num(np.abs(a - b) / scale, nan=np.inf))


def _scale(want: Any, fine: Any) -> Any:
    values = np.abs(np.nan_to_num(np.asarray(want, np.float64)))
    typical = float(np.sqrt(np.mean(np.square(values[fine])))) if fine.any() else 1.0
    return np.maximum(values, typical or 1.0)


def _masked(twin: Any, arguments: Sequence[Any]) -> tuple[list[Any], Any]:
    values, faults = twin(*arguments)
    return _leaves(values), ~faults.mask


def _leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, tuple) else [value]


def _nudged(argument: Any, signs: Any) -> Any:
    if isinstance(argument, tuple):
        return type(argument)(*[_nudged(item, signs) for item in argument])  # type: ignore[arg-type]
    column = np.asarray(argument)
    return column if column.dtype.kind != "f" else column * (1.0 + NUDGE * signs)


def _size(arguments: Sequence[Any]) -> int:
    return max(np.size(leaf) for argument in arguments for leaf in _leaves(argument))


def picture_arguments(side: int = SIDE) -> list[Any]:
    """The centres of the pixels, as 32 bits have them."""
    centres = ((np.arange(side) + 0.5) / side).astype(np.float32).astype(np.float64)
    u, v = np.meshgrid(centres, centres[::-1])
    return [vec2(u.ravel(), v.ravel())]


def main() -> None:
    from pyflat.targets.wgsl.run import adapter_name

    print(f"{adapter_name()}: relative error of the worst lane that is on no edge\n")
    rng = np.random.default_rng(7)
    rows = [measure(shader, picture_arguments()) for shader in SHADERS]
    rows += [measure(fn, columns(rng, LANES)) for fn, columns in FUNCTIONS]
    for row in rows:
        print(f"{row.name:18} {row.lanes:7,} lanes   worst {row.worst:7.1e}   on an edge and different {row.on_edge}")
    worst = max(rows, key=lambda row: row.worst)
    print(f"\nthe worst of {len(SHADERS)} shaders and {len(FUNCTIONS)} functions: {worst.worst:.1e} in {worst.name}; "
          f"{sum(row.on_edge for row in rows)} of {sum(row.lanes for row in rows):,} lanes decided the other way")


if __name__ == "__main__":
    main()
