"""Whether a recursion gets on while flattening: an inner call has another known argument than the outer ones."""

from __future__ import annotations

from pyflat.frontend.state.guards import same
from pyflat.frontend.state.values import Abstract, Closure, ObjRef, Seq, Static, Text

Known = dict[str, Abstract]
"""Arguments by parameter."""

_LANE = Text()


def no_progress(old: Known, new: Known) -> bool:
    """No static argument differs. Aggregates differ when their static parts or sizes do."""
    return all(name in old and _alike(old[name], value) for name, value in new.items())


def _alike(a: Abstract, b: Abstract) -> bool:
    if isinstance(a, Static) and isinstance(b, Static):
        return same(a.value, b.value) or (type(a.value) is type(b.value) and isinstance(a.value, tuple | list)
                                          and bool(a.value == b.value))
    if isinstance(a, Seq) and isinstance(b, Seq):
        return len(a.items) == len(b.items) and all(_alike(x, y) for x, y in zip(a.items, b.items, strict=True))
    if isinstance(a, Closure | ObjRef) or isinstance(b, Closure | ObjRef):
        return a is b
    return type(a) is type(b) or not isinstance(a, Static) and not isinstance(b, Static)


def known_part(arguments: Known) -> Known | None:
    """What `no_progress` looks at, without the objects: who keeps this keeps none of them alive. None where it looks
    at the identity of an object."""
    found = {name: _known_part(value) for name, value in arguments.items()}
    return None if None in found.values() else found  # type: ignore[return-value]


def _known_part(value: Abstract) -> Abstract | None:
    match value:
        case Static():
            return value
        case Closure() | ObjRef():
            return None
        case Seq():
            items = tuple(map(_known_part, value.items))
            return None if None in items else Seq(value.cls, items)  # type: ignore[arg-type]
    return _LANE
