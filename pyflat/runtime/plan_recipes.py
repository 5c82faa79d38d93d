"""How a plan (`pyflat.runtime.plans`) is made: which calls have one, and its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyflat.frontend.callables import NotGiven, owner_of
from pyflat.frontend.state.guards import Guards
from pyflat.ir.shape import Labels, Leaf, Maybe, Shape
from pyflat.ir.shape import leaves as leaves_of
from pyflat.ir.types import Kind
from pyflat.runtime.plan_arguments import PYTHON
from pyflat.runtime.plan_conditions import OURS
from pyflat.runtime.plan_entries import Recipe
from pyflat.runtime.plan_text import PlannedCall, PlanText, has_objects, items_of
from pyflat.runtime.settings import Settings, in_force, resolve
from pyflat.targets.operands import EntryPoint

if TYPE_CHECKING:
    from pyflat.runtime.compiled import Built
    from pyflat.runtime.interfaces import Calls
    from pyflat.runtime.plan_entries import Entry


def recipe(caller: Calls, key: Sequence[Any], built: Built, settings: Settings, entry: Entry) -> Recipe | None:
    """How to make the plan for calls with this key, which `built` makes. None where they are not so simple."""
    arguments = key[1:]
    layers, leaves = in_force(), _leaves(built.result)
    if not isinstance(built.guards, Guards) or built.trips_limited:
        return None
    if layers is None or leaves is None or resolve(settings) is not entry.options:
        return None
    function, parameters = caller.callee.function, caller.parameters
    if owner_of(function)[0] or any(name.startswith(OURS) for name in parameters.names):
        return None
    stored = [lane.dtype if lane.is_array else None for argument in arguments for lane in argument.lanes]
    if len(stored) != sum(len(list(leaves_of(shape))) for shape in built.arguments.values()):
        return None  # a dict of numbers alone is static
    point = built.engine.entry_point(stored)  # type: ignore[attr-defined]
    if point is None or len(point.dtypes) != len(leaves):
        return None
    if has_objects(built.result) and not any(lane.is_array for argument in arguments for lane in argument.lanes) \
            and not all(lane.cls in PYTHON for argument in arguments for lane in argument.lanes):
        return None
    call = PlannedCall(arguments, built.result, leaves, built.reference is not None)
    cells = {"calls": caller.stats.calls_cell, "lanes": caller.stats.lanes_cell}
    text: PlanText
    if isinstance(point, EntryPoint):
        from pyflat.runtime.plan_text_numpy import NumpyText

        text = NumpyText(function, parameters, entry, cells, call, point)
    else:
        from pyflat.runtime.plan_text_numba import NumbaText

        text = NumbaText(function, parameters, entry, cells, call, point)
    types = [*text.other_types()]
    conditions = [*text.other_options(layers, "target" not in dict(settings)), *types]
    same = text.same_outside(built.guards, any(argument.cls is NotGiven for argument in arguments))
    lines = text.lines(conditions, list(same))
    return Recipe(tuple(lines), parameters, tuple(text.constants), text.cells, function, point)


def _leaves(shape: Shape) -> tuple[Kind, ...] | None:
    """The kinds of the leaves of a result that is a number or object or a tuple of them."""
    if all(map(_is_simple, items_of(shape))):
        return tuple(leaf.kind for leaf in leaves_of(shape)) or None
    return None


def _is_simple(shape: Shape) -> bool:
    return isinstance(shape, Leaf | Labels) or isinstance(shape, Maybe) and isinstance(shape.inner, Leaf)


