"""Copies of the arrays that a kernel writes, to put back where the original has to run after all.

New memory costs four times as much as the copy (16 MB: 2.2 and 0.5 ms on a Zen 5), since the system gives it page by
page. So the memory of the last call is kept for the next one, unless it is much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pyflat.ir.kernel_results import Model
    Models = Mapping[str, tuple[Model, ...]]

MOST_BYTES = 32 << 20
"""That are kept between calls, for each version of a kernel."""


class SavedArrays:
    """Copies of arrays for one version of a kernel, whose calls may be under way in several threads."""

    def __init__(self) -> None:
        self._spare: list[dict[str, Any]] = []

    def save(self, arrays: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """Copies of the arrays with these names."""
        if not names:
            return {}
        try:
            spare = self._spare.pop()
        except IndexError:
            spare = {}
        return {name: _copied(arrays[name], spare.get(name)) for name in names}

    def release(self, saved: dict[str, Any]) -> None:
        """They are not needed any more."""
        if saved and not self._spare and sum(copy.nbytes for copy in saved.values()) <= MOST_BYTES:
            self._spare.append(saved)


def _copied(array: Any, memory: Any) -> Any:
    if memory is None or memory.shape != array.shape or memory.dtype != array.dtype:
        return array.copy(order="K")
    np.copyto(memory, array)
    return memory


def put_back(arrays: Mapping[str, Any], saved: Mapping[str, Any]) -> None:
    for name, copy in saved.items():
        arrays[name][...] = copy


# --- the order of axes in memory of arrays that a kernel returns: NumPy's, that of the operands
#
# `np.zeros_like(a)` and `a + b` of arrays in Fortran's order are in Fortran's order. Kernels make arrays in C's order,
# and what is returned is put into the other one here.

def in_order(made: Mapping[str, Any], models: Models, given: Mapping[str, Any]) -> dict[str, Any]:
    """New arrays, each in the order that NumPy would have made it in; None: one that the run has not made."""
    return {name: _ordered(array, _axes(name, models, given)) if name in models else array
            for name, array in made.items() if array is not None}


def in_c_order(name: str, models: Models, given: Mapping[str, Any]) -> bool:
    """Whether NumPy would make this array in C's order."""
    axes = _axes(name, models, given)
    return axes == sorted(axes)


def _ordered(array: Any, axes: Sequence[int]) -> Any:
    if list(axes) == sorted(axes):
        return array
    found = np.empty([array.shape[axis] for axis in axes], array.dtype).transpose(np.argsort(axes))
    found[...] = array
    return found


def _axes(name: str, models: Models, given: Mapping[str, Any]) -> list[int]:
    """The axes of an array from the slowest to the fastest, as NumPy's iterator sorts them
    (`npyiter_find_best_axis_ordering`): where operands disagree, C's order wins."""
    operands = [_strides(model, models, given) for model in models[name]]
    rank = len(models[name][0][1])
    axes = list(range(rank))[::-1]
    for start in range(1, rank):
        axis, place = axes[start], start
        for before in range(start - 1, -1, -1):
            pairs = [(abs(strides[axis]), abs(strides[axes[before]])) for strides in operands]
            pairs = [(own, other) for own, other in pairs if own and other]
            if not pairs:
                continue
            if any(other <= own for own, other in pairs):
                break
            place = before
        axes.insert(place, axes.pop(start))
    return axes[::-1]


def _strides(model: Model, models: Models, given: Mapping[str, Any]) -> list[int]:
    """How far apart elements are along each axis; 0 where there is one element."""
    name, axes = model
    if name in given:
        array = given[name]
        return [0 if axis is None or array.shape[axis] == 1 else array.strides[axis] for axis in axes]
    slowest = _axes(name, models, given) if name in models else None
    return [0 if axis is None else 1 << (40 - (axis if slowest is None else slowest.index(axis))) for axis in axes]
