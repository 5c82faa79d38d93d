"""Source to structured IR: an online partial evaluator over the captured LibCST tree.

What is known while flattening is computed by Python now; what differs from lane to lane becomes IR; calls are
evaluated in place.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from pyflat.errors import FlattenError, InternalError, refuse
from pyflat.frontend import results, two_readings
from pyflat.frontend.capture import capture
from pyflat.frontend.python_space import PythonEvaluator
from pyflat.frontend.result import Specialised
from pyflat.frontend.space import objects, scratch
from pyflat.frontend.space.scratch import MAX_PLACES, AdoptError, Adoptions
from pyflat.frontend.state import derived, heap, lookup
from pyflat.frontend.state.frames import ControlLeft, Effects, Evaluator
from pyflat.frontend.state.kinds import cells_of, numeric_kind
from pyflat.frontend.state.values import (
    CONFLICT,
    Abstract,
    Complex,
    Contents,
    DictRef,
    Frame,
    GuardedUnion,
    IncomingEdge,
    ListRef,
    ObjRef,
    OtherText,
    Seq,
    State,
    Static,
)
from pyflat.frontend.syntax import calls
from pyflat.ir.build import Builder, const, undefined
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.nodes import FAULT, Exit, Function, Param, Yield
from pyflat.ir.opaque_calls import Call, OpaqueCalls, whitelist_of
from pyflat.ir.recursion import room_to_recurse
from pyflat.ir.shape import (
    OTHER_WORD,
    Fixed,
    Labels,
    Leaf,
    Maybe,
    Path,
    Ragged,
    Record,
    Shape,
    Strings,
    Texts,
    UnknownWordsError,
    written_class,
)
from pyflat.ir.types import INT, Kind

MAX_OPS = 400_000
LONG = 64
"""With loops="auto", a constant range longer than this that lanes may leave stays one loop: unrolled, every lane would
pay for all iterations, and LLVM takes more than linear time for the chain of exits."""


def specialise(
    fn: Callable[..., Any],
    arguments: Mapping[str, Shape],
    *,
    loops: str = "auto",
    max_unroll: int = 4096,
    whitelist: Iterable[str | Call] | Mapping[str, Call] | None = None,
    long: int = LONG,
    floats: FloatFormat = F8,
    reuse: bool = True,
    none: bool = True,
    ints: bool = False,
) -> Specialised:
    """The structured IR of `fn` for arguments of the given shapes.

    A missing argument takes its default; a bound method or a partial brings its own. Calls that `whitelist` names are
    kept (`ir.opaque_calls`). `floats` is the format that the lanes will have: the function that is built still is one
    of float64, but decides nothing that float32 lanes would decide differently. Without `reuse` every call is evaluated
    anew; the result is the same. Without `none`, lanes that return None where others return numbers are faults. With
    `ints` so are those in which a power of ints is none. Raises FlattenError.

    With loops="masked" every loop stays one whose body needs no known index; where what follows needs what such a loop
    cannot carry (a list that grows), all loops are as with "auto".
    """
    with_loops = partial(_with_known_words, fn, arguments, max_unroll=max_unroll, whitelist=whitelist, long=long,
                         floats=floats, reuse=reuse, none=none, ints=ints)
    try:
        return _adopting(partial(with_loops, loops=loops))
    except FlattenError:
        if loops != "masked":
            raise
    return _adopting(partial(with_loops, loops="auto"))


def _adopting(evaluate: Callable[..., Specialised]) -> Specialised:
    """Evaluated again for each captured object that turns out to be written."""
    adoptions = Adoptions()
    while True:
        try:
            return evaluate(adoptions=adoptions)
        except AdoptError as found:
            if not adoptions.add(found):
                raise refuse("flatten/effect", f"more than {MAX_PLACES} places of captured objects are written",
                             found.span,
                             help="return the values instead") from None


def _with_known_words(fn: Callable[..., Any], arguments: Mapping[str, Shape], **options: Any) -> Specialised:
    """Raises UnknownWordsError where arguments that are strings by lane are compared with others than their tables
    have."""
    texts: list[OtherText] = []
    try:
        return _past_effects(fn, arguments, texts=texts, **options)
    finally:
        asked = {text.parameter: tuple(text.asked) for text in texts if text.asked}
        if asked:
            raise UnknownWordsError(asked)


def _past_effects(fn: Callable[..., Any], arguments: Mapping[str, Shape], **options: Any) -> Specialised:
    """What follows a message of the original counts for the kind of the result; where it does not flatten, the path
    ends with the message, and the original gives what it gives."""
    effects = Effects(passed=True)
    try:
        return _specialise(fn, arguments, effects=effects, **options)
    except FlattenError:
        if not effects.met:
            raise
    return _specialise(fn, arguments, effects=Effects(), **options)


def _specialise(
    fn: Callable[..., Any],
    arguments: Mapping[str, Shape],
    *,
    loops: str,
    max_unroll: int,
    whitelist: Iterable[str | Call] | Mapping[str, Call] | None,
    long: int,
    floats: FloatFormat,
    reuse: bool,
    adoptions: Adoptions,
    none: bool,
    ints: bool,
    texts: list[OtherText],
    effects: Effects,
) -> Specialised:
    function, given = _plain(fn, dict(arguments))
    s = PythonEvaluator(loops=loops, max_unroll=max_unroll, max_ops=MAX_OPS, long=long, floats=floats,
                        reuse=reuse)
    s.opaque = OpaqueCalls(whitelist_of(whitelist))
    s.texts, s.none, s.ints, s.effects = texts, none, ints, effects
    params: list[Param] = []
    adoptions.begin(s)
    with room_to_recurse(function), closing(s):
        captured = capture(function)
        bound = _bind(s, function, given, params)
        s.widths.arguments.update(params)
        frame = calls.make_frame(s, function, captured, bound, None)
        s.frames.append(frame)
        s.state = State(dict(bound), s.state.heap)
        with s.at(captured.tree):
            before = s.state.copy()
            items, edges = s._arm(lambda: _run_body(s, frame, given), s.state)
            out = [*frame.returns.edges, *[e for e in edges if not e.dead]]
            _return_what_is_written(s, bound, before, out, _own_dicts(function))
            shape = results.settle(s, out)
    derived.add_parameters(s, params)
    kinds = results.kinds_of(shape)
    _settle_dead(edges, kinds)
    ir = Function(captured.name.strip("<>"), params, items, frame.returns.label, kinds)
    ir.label.name = "return"
    s.guards.code(function)
    if s.two_readings:
        s.guards.varies("a reduction of a single number, which warns in each process")
    scratch.check(s)
    two_readings.tell(function, s.two_readings)
    two_readings.tell_unwritten(function, s.unwritten)
    return Specialised(ir, shape, dict(arguments), captured, s.guards, s.rolled, s.opaque, s.stacked)


def _run_body(s: Evaluator, frame: Frame, given: Mapping[str, Shape]) -> Abstract | None:
    """The body of the function, with the objects that its arguments' codes stand for."""
    for name, shape in given.items():
        if isinstance(shape, Labels):
            code = s.state.locals[name]
            assert isinstance(code, Param)
            s.state.locals[name] = _of_code(s, name, shape, code)
    calls.box_variables(s, frame)
    return calls.run_body(s, frame)


def _of_code(s: Evaluator, name: str, shape: Labels, code: Param) -> Abstract:
    known = frozenset(item for item in shape.table if type(item) is str)
    values: list[Abstract] = []
    for item in shape.table:
        if item is OTHER_WORD:
            s.texts.append(OtherText(name, known))
            values.append(s.texts[-1])
        else:
            values.append(Static(item))
    chosen, place = values[-1], s.build.origin
    s.build.origin = None  # the source tests nothing here
    for position in range(len(values) - 2, -1, -1):
        chosen = GuardedUnion(s.build.op("eq", code, const(position)), values[position], chosen)
    s.build.origin = place
    return chosen


def _own_dicts(fn: types.FunctionType) -> set[str]:
    """The parameter **kwargs: its dict is the call's own."""
    parameters = inspect.Signature.from_callable(fn, follow_wrapped=False).parameters.values()
    return {parameter.name for parameter in parameters if parameter.kind is parameter.VAR_KEYWORD}


def _settle_dead(edges: list[IncomingEdge], kinds: list[Kind]) -> None:
    for edge in edges:
        if edge.dead and isinstance(edge.end, Yield):
            edge.end.values = [undefined(k) for k in kinds]


def _plain(fn: Callable[..., Any], given: dict[str, Shape]) -> tuple[types.FunctionType, dict[str, Shape]]:
    """The Python function behind methods, partials and wrappers, with the arguments these bring."""
    import functools

    fn = calls.see_through(fn)
    if isinstance(fn, types.MethodType):
        inner, rest = _plain(fn.__func__, given)
        first = next(iter(inspect.signature(inner).parameters))
        return inner, {first: Fixed(fn.__self__), **rest}
    if isinstance(fn, functools.partial):
        inner, rest = _plain(fn.func, given)
        partial = inspect.signature(inner).bind_partial(*fn.args, **fn.keywords)
        return inner, {**{k: Fixed(v) for k, v in partial.arguments.items()}, **rest}
    if isinstance(fn, types.FunctionType):
        return fn, given
    special = inspect.getattr_static(type(fn), "__call__", None)
    if isinstance(special, types.FunctionType) and not isinstance(fn, type):
        return _plain(types.MethodType(special, fn), given)
    raise refuse("flatten/not-a-function", f"{fn!r:.60} is not a Python function")


_COLLECTING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _bind(s: Evaluator, fn: types.FunctionType, given: dict[str, Shape], params: list[Param]) -> dict[str, Abstract]:
    bound: dict[str, Abstract] = {}
    for name, parameter in inspect.Signature.from_callable(fn, follow_wrapped=False).parameters.items():
        if name in given:
            s.parameter = name
            bound[name] = _argument(s, given[name], name, params, parameter.kind is parameter.VAR_KEYWORD)
            if not isinstance(bound[name], Complex) and numeric_kind(bound[name]) is None:
                s.constants[id(bound[name])] = name
        elif parameter.default is parameter.empty and parameter.kind not in _COLLECTING:
            raise refuse("flatten/argument-kind", f"the parameter {name!r} of {fn.__qualname__} has no value")
        else:
            bound[name] = lookup.without_argument(s, parameter)
    unknown = set(given) - set(bound)
    if unknown:
        raise refuse("flatten/static-name", f"{fn.__qualname__} has no parameter {min(unknown)!r}")
    return bound


def _argument(s: Evaluator, shape: Shape, name: str, params: list[Param], keywords: bool = False) -> Abstract:
    match shape:
        case Leaf():
            param = Param(shape.kind, name)
            params.append(param)
            return param
        case Fixed():
            if keywords and isinstance(shape.value, dict):
                return heap.new_dict(s, {k: Static(v) for k, v in shape.value.items()})
            s.binding = s.parameter
            wrapped = s.space.wrap(shape.value)
            s.binding = ""
            return wrapped
        case Record():
            items = tuple(_argument(s, item, _part_name(name, shape, i), params) for i, item in enumerate(shape.items))
            cls = dict if keywords else shape.cls
            if cls not in (dict, complex, list):
                s.guards.class_of_instances(cls)
            if issubclass(cls, tuple) and cls is not tuple:
                objects.require_plain_tuple(s, cls)
            return heap.record(s, cls, shape.names, items)
        case Labels():
            params.append(Param(INT, name))
            return params[-1]
        case Strings():
            return derived.argument(s, name, shape, len(params))
        case Maybe() | Texts() | Ragged():
            raise InternalError(f"not an argument: {shape!r}")


def _part_name(name: str, shape: Record, position: int) -> str:
    return f"{name}_{shape.names[position] if shape.names else position}"


__all__ = ["Builder", "ControlLeft", "Specialised", "specialise"]


# --- what a function writes into its arguments
Slots = list[tuple[str | int, Abstract]]
Reference = ListRef | DictRef | ObjRef


def _return_what_is_written(s: Evaluator, bound: Mapping[str, Abstract], before: State, edges: Sequence[IncomingEdge],
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
            raise s.refuse("flatten/effect", f"the argument {_shown(path)} gains or loses {_held(ref)}",
                           help="change only the values in it, or return a new object")
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
