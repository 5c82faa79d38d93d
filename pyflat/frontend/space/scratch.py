"""Captured objects that the function writes to: where no lane sees what another one has left.

    BUFFER[0] = x * x                scratch: written before it is read, in every call
    STATS["calls"] += 1              a counter that the function itself does not read
    if n in CACHE: return CACHE[n]   a cache: what it has for a key is what would be computed for it

The first write of a place ends the evaluation (`AdoptError`), and another one begins in which the object is a
`Scratch`: its places that are written are unknown until the lane has written them, and the others are constants as
before. What reads an unknown place is refused, because it would see an earlier lane. The twin leaves the object as it
is.
"""

from __future__ import annotations

import types
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from pyflat.errors import FlattenError, Span
from pyflat.frontend.space import containers
from pyflat.frontend.state import aliasing, heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, numeric_kind
from pyflat.frontend.state.values import UNBOUND, Abstract, DictRef, GuardedUnion, Scratch, Seq, Static, Unavailable
from pyflat.ir.nodes import Value

MAX_PLACES = 64
MAX_ENTRIES = 64
"""Keys of a cache that are compared with a key that differs by lane."""
Places = dict[Hashable, None]


@dataclass
class Adoption:
    """The places of one object that are written, in their order; `cache`: it is a dict of results."""

    owner: Any
    places: Places = field(default_factory=dict)
    cache: bool = False


class AdoptError(Exception):
    """The evaluation has met a write to a place of a captured object that it took for a constant."""

    def __init__(self, owner: Any, span: Span | None, place: Hashable = None, *, cache: bool = False):
        super().__init__()
        self.owner, self.span, self.place, self.cache = owner, span, place, cache


class Adoptions:
    """What evaluations of one function have adopted so far."""

    def __init__(self) -> None:
        self.known: dict[int, Adoption] = {}

    def add(self, found: AdoptError) -> bool:
        """False where there are too many places."""
        adoption = self.known.setdefault(id(found.owner), Adoption(found.owner))
        if found.cache:
            adoption.cache = True
        else:
            adoption.places[found.place] = None
        return sum(len(each.places) for each in self.known.values()) <= MAX_PLACES

    def begin(self, s: Evaluator) -> None:
        """The adopted objects at the start of an evaluation."""
        for adoption in self.known.values():
            made = Scratch(adoption.owner, DictRef(), adoption.cache)
            places = [] if adoption.cache else list(adoption.places)
            s.state.heap[made.slots] = tuple((place, Unavailable(_unseen(adoption.owner, place))) for place in places)
            s.scratch[id(adoption.owner)] = made


def _unseen(owner: Any, place: Hashable) -> Any:
    def refusal(s: Evaluator, node: cst.CSTNode | None) -> FlattenError:
        return s.refuse("flatten/effect", f"{title(owner, place)} is read before this call writes it", node,
                        why="it has the value from an earlier call, which in a twin is that of another element",
                        help="make it a local variable, or pass it as an argument and return it")
    return refusal


def title(owner: Any, place: Hashable) -> str:
    """The place in the user's words."""
    if isinstance(owner, types.CellType):
        return "the enclosing variable"
    if isinstance(owner, dict) and "__builtins__" in owner:
        return f"the global variable {place!r}"
    if isinstance(owner, list | dict):
        return f"[{place!r}] of a captured {type(owner).__name__}"
    return f".{place} of {owner!r:.40}"


def of(s: Evaluator, value: Any) -> Abstract:
    """A captured object that need not be guarded, as it is."""
    return s.scratch.get(id(value)) or Static(value)


def seen(s: Evaluator, value: Abstract) -> Abstract:
    """A value as the scratch has it, where it was found as a constant in another one."""
    return of(s, value.value) if s.scratch and isinstance(value, Static) else value


def is_written(s: Evaluator, owner: Any, place: Hashable) -> bool:
    """The place is one that the function writes."""
    found = s.scratch.get(id(owner))
    return found is not None and any(key == place for key, _ in s.state.heap[found.slots])


def read(s: Evaluator, owner: Any, place: Hashable, node: cst.CSTNode | None) -> Abstract:
    """What this path has written there."""
    _require_no_cache(s, title(owner, place), node)
    found = s.scratch[id(owner)]
    s.trace.outside_reads += 1
    found.outputs.pop(place, None)
    found.read.add(place)
    value: Abstract = dict(heap.contents(s, found.slots, node))[place]
    if isinstance(value, Unavailable):
        raise value.error(s, node)
    return value


def write(s: Evaluator, owner: Any, place: Hashable, value: Abstract, node: cst.CSTNode) -> None:
    """Write a place, adopted if it was not."""
    _require_no_cache(s, title(owner, place), node)
    if not is_written(s, owner, place):
        raise AdoptError(owner, s.span(node), place)
    found = s.scratch[id(owner)]
    entries = dict(heap.contents(s, found.slots, node))
    entries[place] = value
    s.state.heap[found.slots] = tuple(entries.items())
    s.note_unwritten(title(owner, place), node)
    if place not in found.read:
        found.outputs.setdefault(place, s.refuse(
            "flatten/effect", f"{title(owner, place)} is written, and the function does not read it", node,
            why="code outside the function reads it, and each element would overwrite it in turn",
            help="return the value instead, and store the whole result in the caller"))


def _require_no_cache(s: Evaluator, what: str, node: cst.CSTNode | None) -> None:
    """A cached function runs once for a key, by whichever lane comes first."""
    if s.in_cache:
        raise s.refuse("flatten/effect", f"a cached function reads or writes {what}", node,
                       why="its next call with equal arguments reads and writes nothing",
                       help="pass the value as an argument and return it, or remove the cache")


def check(s: Evaluator) -> None:
    """At the end: what was written and never read is no scratch, but a result."""
    for found in s.scratch.values():
        for refusal in found.outputs.values():
            raise refusal


def counts(s: Evaluator, owner: Any, place: Hashable, opcode: str) -> bool:
    """An unknown number at the place, of which `+=` and `-=` make another unknown one and never raise."""
    if opcode not in ("add", "sub") or not is_written(s, owner, place):
        return False
    known = dict(s.state.heap[s.scratch[id(owner)].slots])[place]
    return isinstance(known, Unavailable) and isinstance(_current(owner, place), int | float)


def _current(owner: Any, place: Any) -> Any:
    try:
        return owner[place] if isinstance(owner, list | dict) else getattr(owner, place)
    except (LookupError, AttributeError, ValueError):
        return None


def count(s: Evaluator, owner: Any, place: Hashable, by: Abstract, node: cst.CSTNode) -> None:
    """The place stays unknown."""
    if numeric_kind(by) is None:
        raise s.refuse("flatten/effect", f"{title(owner, place)} is changed by {describe(by)}", node)
    s.note_unwritten(title(owner, place), node)


# --- items of lists and dicts
def place_of(s: Evaluator, owner: Any, key: Any, node: cst.CSTNode) -> Hashable:
    """The place of `owner[key]` in a list or dict; IndexError outside of a list."""
    if not isinstance(key, Static):
        raise s.refuse("flatten/effect", f"which item of a captured {type(owner).__name__} is written depends "
                       "on the data", node, help="make the list or dict in the function, or return the value instead")
    if not isinstance(owner, list):
        place: Hashable = key.value
        return place
    s.guards.length(owner)
    if not isinstance(key.value, int) or not -len(owner) <= key.value < len(owner):
        raise s.raised(IndexError, node)
    return key.value % len(owner)


def get_item(s: Evaluator, scratch: Scratch, key: Any, node: cst.CSTNode) -> Abstract:
    """`owner[key]`: what was written, or the constant at a place that is never written."""
    owner = scratch.value
    if scratch.cache:
        return _cached(s, scratch, key, node)
    place = place_of(s, owner, key, node)
    if is_written(s, owner, place):
        return read(s, owner, place, node)
    if isinstance(owner, dict) and place not in owner:
        raise s.raised(KeyError, node)
    s.guards.entry(owner, place)
    return s.space.wrap(owner[place])


def set_item(s: Evaluator, owner: Any, key: Any, value: Abstract, node: cst.CSTNode) -> None:
    """`owner[key] = value` of a captured list or dict."""
    scratch = s.scratch.get(id(owner))
    if isinstance(owner, dict) and (scratch is not None and scratch.cache or not isinstance(key, Static)):
        if scratch is None or not scratch.cache:
            raise AdoptError(owner, s.span(node), cache=True)
        _remember(s, scratch, key, value, node)
        return
    write(s, owner, place_of(s, owner, key, node), value, node)


# --- caches
def contains(s: Evaluator, scratch: Scratch, key: Abstract, node: cst.CSTNode) -> Abstract:
    """`key in cache`."""
    return heap.where_present(s, _look_up(s, scratch, key, node), lambda _: Static(True), lambda: Static(False))


def get(s: Evaluator, scratch: Scratch, key: Abstract, default: Abstract, node: cst.CSTNode) -> Abstract:
    """`cache.get(key, default)`."""
    return heap.where_present(s, _look_up(s, scratch, key, node), lambda value: value, lambda: default)


def _cached(s: Evaluator, scratch: Scratch, key: Abstract, node: cst.CSTNode) -> Abstract:
    """`cache[key]`."""
    def missing() -> Abstract:
        raise s.raised(KeyError, node)

    return heap.where_present(s, _look_up(s, scratch, key, node), lambda value: value, missing)


def _look_up(s: Evaluator, scratch: Scratch, key: Abstract, node: cst.CSTNode) -> Abstract:
    """What this path has stored under the key, or what the dict has had before; UNBOUND where that is nothing."""
    _require_no_cache(s, "a captured dict of results", node)
    if not isinstance(scratch.value, dict):
        raise s.refuse("flatten/effect", f"a captured {type(scratch.value).__name__} that is written is searched", node)
    if not scratch.cache:
        if isinstance(key, Static) and _is_known(s, scratch, key.value):
            return read(s, scratch.value, key.value, node)
        raise AdoptError(scratch.value, s.span(node), cache=True)
    s.trace.outside_reads += 1
    parts = _parts(s, key, node)
    name = _name(scratch, parts)
    entries = dict(heap.contents(s, scratch.slots, node))
    if name not in entries:
        entries[name] = _before(s, scratch.value, key, node)
        s.state.heap[scratch.slots] = tuple(entries.items())
    found: Abstract = entries[name]
    return found


def _is_known(s: Evaluator, scratch: Scratch, key: Any) -> bool:
    """This path has written the key."""
    return not isinstance(dict(s.state.heap[scratch.slots]).get(key, Unavailable(None)), Unavailable)


def _name(scratch: Scratch, parts: list[Abstract]) -> str:
    """The place of a key: the keys of an evaluation are numbered, so that the IR has the same names each time."""
    mark = tuple(map(_part, parts))
    if mark not in scratch.names:
        scratch.names[mark] = f"cached_{len(scratch.names)}"
        scratch.parts += parts
    return scratch.names[mark]


def _before(s: Evaluator, known: dict[Any, Any], key: Abstract, node: cst.CSTNode) -> Abstract:
    """What the dict has before the call. Entries that come later have what would be computed."""
    if isinstance(key, Static):
        if key.value not in known:
            return UNBOUND
        s.guards.entry(known, key.value)
        return s.space.wrap(known[key.value])
    if len(known) > MAX_ENTRIES:
        raise s.refuse("flatten/effect", f"a cache with {len(known):,} entries is asked for a computed key", node,
                       why="each entry would be compared with the key", help="clear it before the first call")
    for each in known:
        s.guards.entry(known, each)
    found = containers.dict_lookup(s, {k: s.space.wrap(v) for k, v in known.items()}, key, node) if known else None
    return UNBOUND if found is None else GuardedUnion(found[0], found[1], UNBOUND)


def _remember(s: Evaluator, scratch: Scratch, key: Abstract, value: Abstract, node: cst.CSTNode) -> None:
    """`cache[key] = value`, where the key has all that the value depends on."""
    parts = _parts(s, key, node)
    marks = set(map(_part, parts))
    for name, given in s.frame.arguments.items():
        if not _is_owner(scratch, given) and not {_part(v) for v in _parts(s, given, node)} <= marks:
            raise s.refuse("flatten/effect", f"the cached result depends on {name!r}, which is not part of the key",
                           node, why="a call may find the result of a call with other arguments",
                           help="add it to the key")
    user = s.frame.function, tuple(map(numeric_kind, parts))
    if scratch.user not in (None, user) or s.frame.outer is not None:
        raise s.refuse("flatten/effect", "a cache that is nested, is written by several functions, or has keys of "
                       "several kinds", node, why="1, 1.0 and True are the same key", help="use functools.lru_cache")
    scratch.user = user
    found = aliasing.Reached(s.state, [value])
    if found.closures or found.iterators:
        raise s.refuse("flatten/effect", f"{describe(value)} is put into a cache", node,
                       why="another call may already have advanced or changed it",
                       help="cache numbers, or tuples of numbers")
    s.share(found)
    entries = dict(heap.contents(s, scratch.slots, node))
    entries[_name(scratch, parts)] = value
    s.state.heap[scratch.slots] = tuple(entries.items())


def _is_owner(scratch: Scratch, given: Abstract) -> bool:
    """The cache itself, or the object that has it."""
    if given is scratch:
        return True
    known = given.value if isinstance(given, Static | Scratch) else None
    return any(each is scratch.value for each in getattr(known, "__dict__", {}).values())


def _parts(s: Evaluator, key: Abstract, node: cst.CSTNode) -> list[Abstract]:
    match key:
        case Value():
            return [key]
        case Static(value=tuple() as items):
            return [part for item in items for part in _parts(s, Static(item), node)]
        case Static():
            return [key]
        case Seq():
            return [part for item in key.items for part in _parts(s, item, node)]
    raise s.refuse("flatten/effect", f"a cache is asked for {describe(key)}", node,
                   help="use numbers, strings and tuples of them as keys")


def _part(value: Abstract) -> Hashable:
    if not isinstance(value, Static):
        return "lane", id(value)
    by_value = isinstance(value.value, bool | int | float | str | bytes | None)
    return type(value.value), repr(value.value) if by_value else id(value.value)
