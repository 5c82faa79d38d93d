"""Lists, dicts and objects that a name means in turn while a loop stays a loop.

    v = [x, 1.0]                 the parameters of the loop are v[0] and v[1];
    while v[0] > 1:              in each iteration v means a list of its own that holds them
        v = [v[0] / 2, v[1] + 1]

That is right as long as nobody can tell the lists apart: where another name may mean the same list, none of them may be
written or compared by identity any more (`Specialiser.frozen`).
"""

from __future__ import annotations

from pyflat.frontend.space import arrays, scalars
from pyflat.frontend.state import aliasing as sharing
from pyflat.frontend.state.frames import Specialiser
from pyflat.frontend.state.values import Abstract, Array, Choice, DictRef, IterRef, ListRef, ObjRef, Ref, State


def options(value: Abstract) -> list[Ref] | None:
    """The objects that a value may be, when they are of one class and have the same keys; None for anything else."""
    if isinstance(value, Choice):
        then, orelse = options(value.then), options(value.orelse)
        return None if then is None or orelse is None else [*then, *orelse]
    if isinstance(value, ListRef | DictRef | ObjRef) and not isinstance(value, IterRef):
        return [value]
    return None


def stores(value: Abstract) -> list[Ref] | None:
    """The memory of an array, or of each of several; None for anything else. A captured array has none of its own."""
    if not arrays.is_array(value):
        return None
    if isinstance(value, Choice):
        return [*(stores(value.then) or ()), *(stores(value.orelse) or ())]
    return [value.store] if isinstance(value, Array) else []


def items(s: Specialiser, state: State, value: Abstract) -> list[Abstract]:
    """The items of an object, or of the one of several that the lane has."""
    if isinstance(value, Choice):
        pairs = zip(items(s, state, value.then), items(s, state, value.orelse), strict=True)
        return [scalars.choose(s, value.cond, a, b) for a, b in pairs]
    return sharing.items_of(state, value)


def is_shared(s: Specialiser, state: State, ref: Ref) -> bool:
    """More than one name, item or attribute means the object."""
    return sharing.is_shared([state, *s.outer_states()], state, ref)
