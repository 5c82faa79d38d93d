"""In which order this machine's BLAS adds the terms of a product of small arrays of floats.

NumPy hands products of floats to BLAS, whose kernels choose their own order and fuse multiplications with additions.
For few terms a kernel is one chain of fused multiply-adds from 0.0, in some order that depends on the operation, the
shape, the layout, and on whether both operands are the same memory; or it is a plain sum, as where NumPy does not ask
BLAS. Which it is is found by trial: NumPy's result on random and on special values is compared, bit for bit, with the
exact chain. Where none fits, the product is refused.
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
_SIGNS = (0.0, -0.0, 1.0, -1.0)
_UNDERFLOWING = (5e-324, -5e-324, 1e-200, -1e-200, 2.0**-537)


@dataclass(frozen=True, slots=True)
class Chain:
    """The order of the terms of one cell; `plus_zero`: 0.0 is added at the end, so that no result is -0.0; `fused`:
    multiplications and additions are one rounding, otherwise two.

    Of fused chains a product that underflows tells the two apart: without `plus_zero` the sign of a zero is left to
    NumPy.
    """

    order: tuple[int, ...]
    plus_zero: bool
    fused: bool = True


@dataclass(frozen=True, slots=True)
class Strides:
    """How an array lies in memory: shape, and strides in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def extent(self) -> tuple[int, int]:
        """The lowest and the highest element in memory, counted from the first one."""
        reach = [stride * (size - 1) for stride, size in zip(self.strides, self.shape, strict=True)]
        return sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)

    def view(self, memory: np.ndarray[Any, Any], start: int) -> np.ndarray[Any, Any]:
        """The array of this layout whose first element is `memory[start]`; ValueError if it is not inside of it."""
        size = memory.itemsize
        return np.ndarray(self.shape, memory.dtype, memory, start * size, [stride * size for stride in self.strides])


def layout_of(whole: np.ndarray[Any, Any]) -> Strides:
    return Strides(whole.shape, tuple(stride // whole.itemsize for stride in whole.strides))


def plain(shape: tuple[int, ...]) -> Strides:
    return layout_of(np.empty(shape))


@functools.cache
def orders(function: str, left: Strides, right: Strides, apart: int | None = None) -> Any:
    """The Chain of each cell of the product, as an object array; None where some cell has none. `apart`: the operands
    lie in the same memory, their first elements so many elements apart (NumPy computes `a @ a.T` by another routine).
    """
    terms = left.shape[-1]
    if not 0 < terms <= MAX_DOT:
        return None
    with np.errstate(all="ignore"):
        trials = [_trial(function, left, right, seed, apart) for seed in range(_TRIALS)]
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


def agreed(one: Any, other: Any) -> Any:
    """Chains that are right for two layouts, where there are such: of fused ones that differ in `plus_zero` that which
    leaves the sign of a zero open."""
    made = np.empty(one.shape, object)
    for cell in np.ndindex(one.shape):
        a, b = one[cell], other[cell]
        if (a.order, a.fused) != (b.order, b.fused) or (a.plus_zero != b.plus_zero and not a.fused):
            return None
        made[cell] = a if not a.plus_zero else b
    return made


def left_axes(left: Strides) -> int:
    """How many axes of the result come from the left operand."""
    return len(left.shape) - 1


def _trial(function: str, left: Strides, right: Strides, seed: int, apart: int | None = None) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    (low, high), (other_low, other_high) = left.extent(), right.extent()
    if apart is None:
        memories = [_numbers(rng, high - low + 1, seed), _numbers(rng, other_high - other_low + 1, seed)]
        if seed % 8 == 7:  # all products underflow to -0.0
            memories = [abs(memories[0]), -abs(memories[1])]
        if seed % 8 == 5:  # all products are -0.0
            zeros = 0 if seed % 16 == 5 else 1
            memories[zeros], memories[1 - zeros] = 0.0 * abs(memories[zeros]), -1.0 - abs(memories[1 - zeros])
        starts = -low, -other_low
    else:
        first = min(low, apart + other_low)
        memories = [_numbers(rng, max(high, apart + other_high) - first + 1, seed)] * 2
        starts = -first, apart - first
    a, b = (layout.view(memory, start) for layout, memory, start in zip((left, right), memories, starts, strict=True))
    return a, b, np.asarray(_FUNCTIONS[function](a, b))


def _numbers(rng: np.random.Generator, size: int, seed: int) -> np.ndarray[Any, Any]:
    """Random numbers of several sizes; special ones for every second seed, for every fourth such that products
    underflow, for every eighth such that they are zeros of both signs."""
    if seed % 8 == 5:
        return rng.choice(_SIGNS, size)
    if seed % 2 == 1:
        return rng.choice(_SPECIAL if seed % 4 == 1 else _UNDERFLOWING, size)
    return rng.standard_normal(size) * 10.0 ** rng.integers(-3, 4, size)


def _candidates(terms: int, vectors: bool) -> Iterator[Chain]:
    """NumPy adds 0.0 to the product of two vectors; where both chains of a matrix fit, the sign of a zero is open."""
    natural = tuple(range(terms))
    yield Chain(natural, plus_zero=True, fused=False)
    yield Chain(natural, plus_zero=False, fused=False)
    few = (natural, (1, 0, *natural[2:]), natural[::-1])
    for order in itertools.permutations(natural) if terms <= _PERMUTED_UP_TO else few:
        yield Chain(order, plus_zero=vectors)
        yield Chain(order, plus_zero=not vectors)


def _chained(chain: Chain, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    """fma(a[-1], b[-1], ... fma(a[0], b[0], 0.0)) in the order of the chain, or the sum of products, exactly."""
    terms = [(float(a[i]), float(b[i])) for i in chain.order]
    if chain.fused:
        total = functools.reduce(lambda total, term: FUSED["fma"].python(*term, total), terms, 0.0)
    else:
        total = functools.reduce(operator.add, [x * y for x, y in terms])
    return total + 0.0 if chain.plus_zero else total


def _bits(value: float) -> bytes:
    return b"nan" if value != value else struct.pack("d", value)
