"""What a function writes into its arguments (fields of an object, items of a list or dict): results of their own.

    def shade(x, out):                 Written(returned=None, out_depth=..., out_lit=...)
        if x > 0.5:
            out.depth = 2.0 * x        each place that some path writes, once, with what the
            return                     object has there at the end: under the predicates of
        out.lit = True                 its writes, as every other value

The call puts them where the original would have put them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import cells_of
from pyflat.frontend.state.values import (
    CONFLICT,
    Abstract,
    Contents,
    DictRef,
    IncomingEdge,
    ListRef,
    ObjRef,
    Seq,
    State,
    Static,
)
from pyflat.ir.nodes import FAULT, Exit
from pyflat.ir.shape import Path, written_class

Slots = list[tuple[str | int, Abstract]]
Reference = ListRef | DictRef | ObjRef


def return_what_is_written(s: Evaluator, bound: Mapping[str, Abstract], before: State, edges: Sequence[IncomingEdge],
                           private: Collection[str]) -> None:
    """Let every edge return a record of its value and of what it has written, where some edge writes at all. `private`
    names parameters whose own dict has no other name (**kwargs). FlattenError where an argument changes its shape."""
    live = [e for e in edges if not e.dead and not (isinstance(e.end, Exit) and e.end.label is FAULT)]
    paths: dict[Path, None] = {}
    for name, value in bound.items():
        for path, ref in _references(before, (name,), value):
            if path != (name,) or name not in private:
                paths.update(dict.fromkeys(path + (step,) for step in _changed(s, path, ref, before, live)))
    if not paths:
        return
    for path in paths:
        if any(other != path and other[: len(path)] == path for other in paths):
            raise s.refuse("flatten/effect", f"{_shown(path)} is replaced, and the object that it was is changed")
    cls = written_class(tuple(paths))
    for edge in live:
        items = tuple(_found(edge.state, bound, path) for path in paths)
        edge.value = Seq(cls, (edge.value or Static(None), *items))


def _references(state: State, path: Path, value: Abstract) -> Iterator[tuple[Path, Reference]]:
    """The objects that an argument consists of."""
    match value:
        case ListRef() | DictRef() | ObjRef():
            yield path, value
            for step, item in _slots(value, state.heap[value]):
                yield from _references(state, (*path, step), item)
        case Seq():
            for position, item in enumerate(value.items):
                yield from _references(state, (*path, position), item)


def _slots(ref: Reference, contents: Contents) -> Slots:
    if isinstance(ref, ListRef):
        return list(enumerate(contents))
    return [(name, value) for name, value in contents]


def _changed(s: Evaluator, path: Path, ref: Reference, before: State, edges: Sequence[IncomingEdge]
             ) -> Iterator[str | int]:
    """The steps from an object to the places that some edge has written."""
    old = before.heap[ref]
    for edge in edges:
        now = edge.state.heap.get(ref, old)
        if now is old:
            continue
        keyed = now is not CONFLICT and not isinstance(ref, ListRef)
        if now is CONFLICT or len(now) != len(old) or cells_of(now) is not None \
                or keyed and [k for k, _ in now] != [k for k, _ in old]:
            raise s.refuse("flatten/effect", f"the argument {_shown(path)} gets other {_held(ref)}",
                           help="change what is in it, not how many there are, or return a new object")
        for (step, value), (_, first) in zip(_slots(ref, now), _slots(ref, old), strict=True):
            if value is not first:
                yield step


def _found(state: State, bound: Mapping[str, Abstract], path: Path) -> Abstract:
    value = bound[str(path[0])]
    for step in path[1:]:
        if isinstance(value, Seq):
            value = value.items[int(step)]
        else:
            assert isinstance(value, ListRef | DictRef | ObjRef)
            value = dict(_slots(value, state.heap[value]))[step]
    return value


def _held(ref: Reference) -> str:
    return "attributes" if isinstance(ref, ObjRef) else "keys" if isinstance(ref, DictRef) else "items"


def _shown(path: Path) -> str:
    first, *rest = path
    return f"{first}" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest)
