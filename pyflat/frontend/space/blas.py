"""In which order this machine's BLAS adds the terms of a product of small arrays of floats.

NumPy hands products of floats to BLAS, whose kernels choose their own order and fuse multiplications with additions.
For few terms a kernel is one chain of fused multiply-adds from 0.0, in some order that depends on the operation, the
shape and the layout; where NumPy does not ask BLAS it is a plain sum. Which it is is found by trial: NumPy's result on
random and on special values is compared, bit for bit, with the exact chain. Where none fits, the product is refused.
"""

from __future__ import annotations

import functools
import itertools
import operator
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyflat.ir.ops import FUSED, MAX_DOT

_TRIALS = 96
_PERMUTED_UP_TO = 4
_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {"dot": np.dot, "matmul": operator.matmul}
_SPECIAL = (0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-200, -1e-200, 2.0**-537, 1e200, 3.0, 1 / 3, -1 / 3)


@dataclass(frozen=True, slots=True)
class Chain:
    """The order of the terms of one cell; `plus_zero`: 0.0 is added at the end, so that no result is -0.0; `fused`:
    multiplications and additions are one rounding, otherwise two (where NumPy does not ask BLAS).

    A product that underflows is what tells the two apart: without `plus_zero` the sign of a zero is left to NumPy.
    """

    order: tuple[int, ...]
    plus_zero: bool
    fused: bool = True


@dataclass(frozen=True, slots=True)
class Layout:
    """How an array lies in memory: shape, and strides in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def filled(self, rng: np.random.Generator, special: bool) -> np.ndarray[Any, Any]:
        """An array of this layout with numbers in it."""
        reach = [stride * (size - 1) for stride, size in zip(self.strides, self.shape, strict=True)]
        low = sum(min(r, 0) for r in reach)
        memory = np.zeros(sum(max(r, 0) for r in reach) - low + 1)
        whole = np.lib.stride_tricks.as_strided(memory[-low:], self.shape, [s * memory.itemsize for s in self.strides])
        numbers = rng.choice(_SPECIAL, self.shape) if special else \
            rng.standard_normal(self.shape) * 10.0 ** rng.integers(-3, 4, self.shape)
        whole[...] = numbers
        return whole


def layout_of(whole: np.ndarray[Any, Any]) -> Layout:
    return Layout(whole.shape, tuple(stride // whole.itemsize for stride in whole.strides))


def plain(shape: tuple[int, ...]) -> Layout:
    return layout_of(np.empty(shape))


@functools.cache
def orders(function: str, left: Layout, right: Layout) -> Any:
    """The Chain of each cell of the product, as an object array; None where some cell has none."""
    terms = left.shape[-1]
    if not 0 < terms <= MAX_DOT:
        return None
    with np.errstate(all="ignore"):
        trials = [_trial(function, left, right, seed) for seed in range(_TRIALS)]
    found = np.empty(trials[0][2].shape, object)
    vectors = found.ndim == 0
    for cell in np.ndindex(found.shape):
        row, column = cell[:left_axes(left)], cell[left_axes(left):]
        found[cell] = next((one for one in _candidates(terms, vectors) if all(
            _bits(result[cell]) == _bits(_chained(one, a[row], b[(slice(None), *column)])) for a, b, result in trials)),
            None)
        if found[cell] is None:
            return None
    return found


def left_axes(left: Layout) -> int:
    """How many axes of the result come from the left operand."""
    return len(left.shape) - 1


@functools.cache
def _is_chain(terms: int) -> bool:
    """The dot product of two plain vectors is the chain in its natural order, which is what `np_dot` means."""
    vector, chain = plain((terms,)), Chain(tuple(range(terms)), plus_zero=True)
    with np.errstate(all="ignore"):
        trials = [_trial("dot", vector, vector, seed) for seed in range(_TRIALS)]
    return all(_bits(float(result)) == _bits(_chained(chain, a, b)) for a, b, result in trials)


def _trial(function: str, left: Layout, right: Layout, seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    a, b = (layout.filled(rng, special=seed % 2 == 1) for layout in (left, right))
    return a, b, np.asarray(_FUNCTIONS[function](a, b))


def _candidates(terms: int, vectors: bool) -> Iterator[Chain]:
    """NumPy adds 0.0 to the product of two vectors; where both chains of a matrix fit, the sign of a zero is open."""
    natural = tuple(range(terms))
    yield Chain(natural, plus_zero=True, fused=False)
    if not _is_chain(terms):
        return
    few = (natural, (1, 0, *natural[2:]), natural[::-1])
    for order in itertools.permutations(natural) if terms <= _PERMUTED_UP_TO else few:
        yield Chain(order, plus_zero=vectors)
        yield Chain(order, plus_zero=not vectors)


def _chained(chain: Chain, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    """fma(a[-1], b[-1], ... fma(a[0], b[0], 0.0)) in the order of the chain, or the sum of products, exactly."""
    total = 0.0
    for x, y in ((float(a[i]), float(b[i])) for i in chain.order):
        total = FUSED["fma"].python(x, y, total) if chain.fused else total + x * y
    return total + 0.0 if chain.plus_zero else total


def _bits(value: float) -> bytes:
    return b"nan" if value != value else struct.pack("d", value)
