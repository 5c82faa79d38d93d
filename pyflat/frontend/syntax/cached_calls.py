"""Calls of functions in functools.cache and lru_cache: evaluated anew, where nothing can tell that from the cache.

    table(n)[0]              read: what was computed for an equal key is equal
    table(n).append(1)       refused: Python's calls share one list, which the next call gives again
    table(n) is table(n)     refused: which calls share it depends on the keys of all calls before
    area(box); box.w = 2     refused: a call with the same box would give what was computed before

What a call has seen (its arguments, and the variables around a nested function) and what it returns may be read from
then on, not written or compared by identity. Arguments that are no keys are a TypeError.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager

import libcst as cst

from pyflat.frontend.state import aliasing, heap, lookup, signatures
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import per_alternative, same_static
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Arguments,
    Array,
    BoxRef,
    Closure,
    DictRef,
    Frame,
    IterRef,
    LaneSet,
    ListRef,
    MemoryRef,
    ObjRef,
    Seq,
    Static,
    View,
)
from pyflat.frontend.syntax import scopes

_WHY = "calls of a cached function with equal arguments share the result of the first call"


DECORATORS = (functools.cache, functools.lru_cache)


def decorate(s: Evaluator, arguments: Arguments) -> Abstract:
    """functools.cache or lru_cache, called in the flattened code. With options lru_cache is a decorator."""
    match arguments.positional:
        case [Closure() as function]:
            found = _ReadByCall(s, [function]).variables.items()
            known = {place: value for place, value in found if value is not UNBOUND}
            return Closure(function.captured, function.frame, function.defaults, known)
        case [Static() as function] if callable(function.value):
            return Static(functools.cache(function.value))
    return Static(functools.cache)


def without_cache(function: Abstract) -> tuple[Abstract, bool]:
    """What is in the cache, and whether there is one."""
    if isinstance(function, Static) and isinstance(function.value, functools._lru_cache_wrapper):
        return Static(function.value.__wrapped__), True
    return function, isinstance(function, Closure) and function.known is not None


def call(s: Evaluator, function: Abstract, arguments: Arguments, evaluate: Callable[[], Abstract], node: cst.CSTNode
         ) -> Abstract:
    """`evaluate()`, which computes what the cached function gives for these arguments."""
    require_keys(s, arguments, node)
    seen = _ReadByCall(s, [function, *arguments.positional, *arguments.named.values()])
    if any(isinstance(ref, MemoryRef) for ref in seen.refs):
        raise s.refuse("flatten/effect", "a cached function reads an array that the function around it may write", node,
                       why=_WHY, help="pass the elements as arguments, or remove the cache")
    _require_unchanged(s, function, seen, node)
    key = _known_key(function, arguments, seen)
    if key in s.trace.cached:
        return s.trace.cached[key][0]
    s.share(seen)
    with _computing(s):
        value = evaluate()
    if key is not None and isinstance(value, Static) and signatures.is_by_value(value.value):
        s.trace.cached[key] = value, function
    found = _ReadByCall(s, [value])
    if found.iterators:
        raise s.refuse("flatten/unsupported-expression", "a cached function returns an iterator", node,
                       why="the calls share it, and each would continue where the one before stopped",
                       help="return a tuple")
    s.share(found)
    return value


def _known_key(function: Abstract, arguments: Arguments, seen: _ReadByCall) -> Hashable:
    """The key of a call with known numbers and strings that reads no lane, None of others: its result, if known too,
    is computed once."""
    values, named = arguments.values()
    read = [*seen.variables.values(), *(value for each in seen.closures for value in each.defaults.values())]
    if not arguments.all_static() or not all(map(signatures.is_by_value, [*values, *named.values()])) \
            or seen.refs or not all(isinstance(value, Static | Closure) for value in read):
        return None
    by_name = tuple((name, signatures.static_key(value)) for name, value in named.items())
    known = function.value if isinstance(function, Static) else function
    return id(known), tuple(map(signatures.static_key, values)), by_name


@contextmanager
def _computing(s: Evaluator) -> Iterator[None]:
    """Where captured objects that the function writes are out of reach (`space.scratch`)."""
    s.in_cache += 1
    try:
        yield
    finally:
        s.in_cache -= 1


# --- keys
def require_keys(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> None:
    for value in (*arguments.positional, *arguments.named.values()):
        _require_key(s, value, node)


@per_alternative("value")
def _require_key(s: Evaluator, value: Abstract, node: cst.CSTNode) -> None:
    """TypeError for what has no hash; what has a hash of its own is refused."""
    match value:
        case IterRef() | BoxRef():
            return
        case ListRef() | DictRef() | LaneSet() | Array() | View():
            raise s.raised(TypeError, node)
        case Static():
            try:
                hash(value.value)
            except TypeError:
                raise s.raised(TypeError, node) from None
        case Seq():
            _require_hash_of(s, value.cls, tuple, node)
            for item in value.items:
                _require_key(s, item, node)
        case ObjRef() if dataclasses.is_dataclass(value.cls) and _is_generated(value.cls, "__hash__"):
            entries = dict(heap.contents(s, value, node))
            for field in dataclasses.fields(value.cls):
                if not field.compare or field.hash is False:
                    raise _own_hash(s, value.cls, node)
                _require_key(s, entries[field.name], node)
        case ObjRef():
            _require_hash_of(s, value.cls, object, node)


def _require_hash_of(s: Evaluator, cls: type, base: type, node: cst.CSTNode) -> None:
    if cls.__hash__ is None:
        raise s.raised(TypeError, node)
    if cls.__hash__ is not base.__hash__ or cls.__eq__ is not base.__eq__:
        raise _own_hash(s, cls, node)


def _own_hash(s: Evaluator, cls: type, node: cst.CSTNode) -> Exception:
    return s.refuse("flatten/unsupported-expression", f"a {cls.__name__}, which defines its own equality, is an "
                    "argument of a cached function", node, why="different objects may be the same key",
                    help="pass its attributes, or remove the cache")


def _is_generated(cls: type, name: str) -> bool:
    found = getattr(cls, name, None)
    return isinstance(found, types.FunctionType) and lookup.is_generated(found)


# --- what a call can reach
class _ReadByCall(aliasing.Reached):
    """Also what the variables are that nested functions among the values read."""

    def __init__(self, s: Evaluator, values: Iterable[Abstract]):
        self.s = s
        self.variables: dict[tuple[Frame, str], Abstract] = {}
        super().__init__(s.state, values)

    def closure(self, closure: Closure) -> None:
        super().closure(closure)
        tree = closure.captured.tree
        for name in sorted(scopes.read_names(tree) - scopes.local_names(tree)):
            owner = lookup.enclosing(closure.frame, name)
            if owner is None or owner is not self.s.frame and owner.state is None:
                continue
            value = self.variables[owner, name] = lookup.variable(self.s, owner, name)
            self.waiting.append(value)


def _require_unchanged(s: Evaluator, function: Abstract, seen: _ReadByCall, node: cst.CSTNode) -> None:
    """The variables that the function reads are what they were when its cache was made: a later one could have been
    read by a call before. (Variables that nested functions write are boxes, which are shared as lists are.)"""
    known = function.known if isinstance(function, Closure) and function.known is not None else {}
    for (frame, name), value in seen.variables.items():
        before = known.get((frame, name))
        if isinstance(value, BoxRef | Closure) and before is None or before is not None and (
                before is value or same_static(before, value)):
            continue
        what = f"the variable {name!r}, which a cached function reads, has another value than where the cache was made"
        raise s.refuse("flatten/effect", what, node, why=_WHY, help=f"pass {name} as an argument of the function")
