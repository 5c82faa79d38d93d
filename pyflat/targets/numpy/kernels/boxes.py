"""Accesses of a nest that are slices: each index is a counter and a number, the same for all, or known to be inside.

What has to hold for them is tested once, before the nest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from pyflat.analysis.parallel_loops import LoopNest, continues
from pyflat.ir.affine import Affine, affine, places
from pyflat.ir.loops import all_ops, definitions
from pyflat.ir.nodes import Block, Op, Value

Axis = tuple[int, int]
"""A loop of the nest, and what is added to its counter."""


@dataclass(slots=True)
class Slices:
    """The slices of a nest.

    slices   for each access that is one, what each index is; None: the same for all lanes
    above    (axis, extent) -> shift: tests that the last index is inside; where one fails, an iteration raises
    unsure   the same, of iterations that may not run
    below    axis -> shift: tests that the first index is not negative
    """

    slices: dict[Op, list[Axis | None]] = field(default_factory=dict)
    above: dict[tuple[int, Value], int] = field(default_factory=dict)
    unsure: dict[tuple[int, Value], int] = field(default_factory=dict)
    below: dict[int, int] = field(default_factory=dict)

    def tested(self, access: Op) -> set[Op]:
        """The indices of a slice that are inside where the tests hold: not one that is the same for all."""
        axes = self.slices.get(access)
        return set() if axes is None else {
            place for place, axis in zip(places(access), axes, strict=True) if axis is not None and _is_index(place)}


def boxes_of(nest: LoopNest, varying: set[Value], nonnegative: set[Value]) -> Slices:
    found = Slices()
    certain = certain_in(nest)
    for op in all_ops(nest.body):
        if op.opcode in ("load", "store"):
            _add(found, nest, op, varying, nonnegative, certain)
    return found


def certain_in(nest: LoopNest) -> set[Op]:
    """What runs in every iteration."""
    found: set[Op] = set()
    for item in nest.body:
        if isinstance(item, Block):
            found.update(item.ops)
        elif continues([item], nest.loops[-1].again):
            break
    return found


def _add(boxes: Slices, nest: LoopNest, op: Op, varying: set[Value], nonnegative: set[Value], certain: set[Op]) -> None:
    axes: list[Axis | None] = []
    inside = {value for loop in nest.loops for value in [*loop.params, *definitions(loop.body)]}
    above: list[tuple[int, int, Value]] = []
    unsure: list[tuple[int, int, Value]] = []
    below: list[Axis] = []
    for place in places(op):
        if place not in varying:
            axes.append(None)
            continue
        found = _axis(nest, place)
        if found is None:
            return
        axis, shift = found
        if not _is_index(place):  # of a whole-array expression: it is inside
            axes.append(found)
            continue
        extent = affine(place.args[1])
        if extent is None or inside & set(extent[0]):
            return
        lower, upper = affine(nest.counted[axis].lower), affine(nest.counted[axis].upper)
        first = lower.shifted(shift) if lower is not None else None
        gap = extent.minus(upper).shifted(-shift) if upper is not None else None
        if not is_nonnegative(first, nonnegative):
            if place not in certain or first is not None and not first[0]:
                return
            below.append(found)
        if not is_nonnegative(gap, nonnegative):
            if place not in certain and shift or gap is not None and not gap[0]:
                return
            (above if place in certain else unsure).append((axis, shift, place.args[1]))
        axes.append(found)
    taken = [each[0] for each in axes if each is not None]
    if not taken or taken != sorted(set(taken)) or op.opcode == "store" and len(taken) < len(nest.loops):
        return
    boxes.slices[op] = axes
    for tests, more in ((boxes.above, above), (boxes.unsure, unsure)):
        for axis, shift, length in more:
            tests[axis, length] = max(shift, tests.get((axis, length), shift))
    for axis, shift in below:
        boxes.below[axis] = min(shift, boxes.below.get(axis, shift))


def _axis(nest: LoopNest, place: Value) -> Axis | None:
    form = affine(place)
    if form is None or len(form[0]) != 1:
        return None
    ((counter, factor),) = form[0].items()
    counters: Sequence[Value] = [counted.iv for counted in nest.counted]
    if factor != 1 or counter not in counters or nest.counted[counters.index(counter)].step != 1:
        return None
    return counters.index(counter), form[1]


def _is_index(place: Value) -> TypeGuard[Op]:
    return isinstance(place, Op) and place.opcode == "index"


def is_nonnegative(form: Affine | None, nonnegative: set[Value]) -> bool:
    """A sum that is certainly zero or more."""
    return form is not None and form[1] >= 0 and all(
        count > 0 and value in nonnegative for value, count in form[0].items())
