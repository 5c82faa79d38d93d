"""Rolled loops: one Loop node, whose parameters settle by fixpoint.

The body is built into a detached list from an entry state in which what the body changes has become a loop parameter;
while the state at the back edge differs in more places or kinds, the list is dropped and built again. The kinds only
grow (bool < int < float, and once "maybe"), so that the rounds end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from pyflat.ir.build import const, undefined
from pyflat.ir.nodes import Block, Exit, Loop, Param, Value, Yield
from pyflat.ir.types import BOOL, FLOAT, INT, Kind, join_kinds
from pyflat.specialise import complex_numbers, containers, expressions, statements
from pyflat.specialise import numbers as num
from pyflat.specialise.frames import ControlLeft, LoopScope, Scope, Specialiser
from pyflat.specialise.merge import CONFLICT, Joiner, lane, same_static
from pyflat.specialise.values import (
    UNBOUND,
    Abstract,
    Choice,
    Complex,
    ListRef,
    Ranges,
    Ref,
    Seq,
    State,
    Static,
    Way,
    complex_parts,
    numeric_kind,
)

MAX_ROUNDS = 64

Place = str | tuple[Ref, int]
"""What a loop can change: a local by its name, or an item of a list, dict or object on the heap."""


def remember_ways(s: Specialiser) -> Callable[[], None]:
    """A function that forgets the exits which an abandoned attempt has added to the enclosing labels."""
    scopes_now = [f.returns for f in s.frames]
    scopes_now += [x for f in s.frames for loop in f.loops for x in (loop.leave, loop.again) if x is not None]
    sizes = [(scope, len(scope.ways)) for scope in scopes_now]

    def forget() -> None:
        for scope, size in sizes:
            del scope.ways[size:]

    return forget


def roll_while(s: Specialiser, node: cst.While) -> None:
    def body(scope: LoopScope) -> None:
        test = expressions.condition(s, node.test)
        if isinstance(test, Static):
            if not test.value:
                _finish(s, scope, node.orelse)
        else:
            s.branch(test, lambda: None, lambda: _finish(s, scope, node.orelse))
        _body(s, scope, node.body)

    _roll(s, node, body, {})


def roll_range(s: Specialiser, node: cst.For, bounds: Ranges) -> None:
    """The counter is a hidden variable of the frame; the user's variable gets its value in each iteration."""
    def each(scope: LoopScope, counter: Abstract) -> None:
        statements.assign(s, node.target, counter)
        _body(s, scope, node.body)

    roll_counter(s, node, bounds, each, node.orelse)


def roll_counter(s: Specialiser, node: cst.CSTNode, bounds: Ranges, each: Callable[[LoopScope, Abstract], None],
                 orelse: cst.Else | None = None) -> None:
    """One Loop over a range; `each(scope, counter)` builds an iteration."""
    s.counter += 1
    hidden = f"range {s.counter}"
    stop = bounds.stop
    step = bounds.step

    def body(scope: LoopScope) -> None:
        counter = s.state.locals[hidden]
        go = num.truth(s, num.compare(s, "lt" if step > 0 else "gt", counter, stop))
        if isinstance(go, Static):
            if not go.value:
                _finish(s, scope, orelse)
        else:
            s.branch(go, lambda: None, lambda: _finish(s, scope, orelse))
        s.state.locals[hidden] = num.binary(s, "add", counter, Static(step))
        each(scope, counter if bounds.item is None else bounds.item(counter))

    start = lane(bounds.start)
    _roll(s, node, body, {hidden: num.to_kind(s, start, INT)})
    s.state.locals.pop(hidden, None)


def _finish(s: Specialiser, scope: LoopScope, orelse: cst.Else | None) -> Abstract:
    """The condition is false: the else suite runs, then the loop is left."""
    if orelse is not None:
        statements.execute_suite(s, orelse.body)
    assert scope.leave is not None
    raise s.leave(scope.leave)


def _body(s: Specialiser, scope: LoopScope, suite: cst.BaseSuite) -> None:
    s.frame.loops.append(scope)
    try:
        statements.execute_suite(s, suite)
    finally:
        s.frame.loops.pop()


def _roll(s: Specialiser, node: Any, body: Callable[[LoopScope], None], extra: dict[str, Abstract]) -> None:
    entry = s.state
    entry.locals.update(extra)
    kinds: dict[Place, Any] = {}
    nest, forget = s.nest, remember_ways(s)
    for _ in range(MAX_ROUNDS):
        scope = LoopScope(Scope(s.fresh("loop")), Scope(s.fresh("next")))
        params, inits, s.state = _generalised(s, entry, kinds, node)
        s.nest = None
        with s.build.detached() as items:
            try:
                body(scope)
                block = s.build.block
                assert scope.again is not None
                scope.again.ways.append(Way(block, s.build.end(Yield()), s.state, None))
            except ControlLeft:
                if isinstance(s.build.block.end, Yield):  # never reached: every path has left
                    s.build.block.end.values = [undefined(param.kind) for param, _ in inits]
        s.nest = nest
        assert scope.leave is not None and scope.again is not None
        start = entry.copy()
        for place, param in params.items():
            _write(start, place, param)
        if not _widen(s, scope.again.ways, start, kinds, node):
            _close_loop(s, node, scope, params, inits, items, entry)
            return
        forget()
    raise s.refuse("flatten/mixed-join", "the variables of this loop do not settle", node)


def _generalised(s: Specialiser, entry: State, kinds: dict[Place, Any], node: Any
                 ) -> tuple[dict[Place, Abstract], list[tuple[Param, Value]], State]:
    """The entry state with a parameter for every leaf that the body changes."""
    pairs: list[tuple[Param, Value]] = []
    params = {place: _parameter(s, _read(entry, place), shape, _title(entry, place), pairs, node)
              for place, shape in kinds.items()}
    state = entry.copy()
    for place, param in params.items():
        _write(state, place, param)
    return params, pairs, state


def _read(state: State, place: Place) -> Abstract:
    if isinstance(place, str):
        return state.locals.get(place, UNBOUND)
    ref, index = place
    slot = state.heap[ref][index]
    found: Abstract = slot if isinstance(ref, ListRef) else slot[1]
    return found


def _write(state: State, place: Place, value: Abstract) -> None:
    if isinstance(place, str):
        state.locals[place] = value
        return
    ref, index = place
    contents = list(state.heap[ref])
    contents[index] = value if isinstance(ref, ListRef) else (contents[index][0], value)
    state.heap[ref] = tuple(contents)


def _title(state: State, place: Place) -> str:
    """The variable's name; the attribute or key of an object."""
    if isinstance(place, str):
        return place
    ref, index = place
    return "" if isinstance(ref, ListRef) else str(state.heap[ref][index][0])


def _parameter(s: Specialiser, start: Abstract, shape: Any, name: str, pairs: list[tuple[Param, Value]], node: Any
               ) -> Abstract:
    """`shape`: a Kind, ("seq", cls, shapes), ("complex", None), ("complex", shape) for a complex number that is a
    number of this shape in some iterations, or ("maybe", shape, other) for a name that is `other` (unbound, None, a
    string) before the loop and a number after some iteration."""
    if isinstance(shape, Kind):
        if isinstance(start, Choice):
            start = num.number_choice_as_float(s, start)
        init = num.to_kind(s, lane(start), shape)
        param = Param(shape, name)
        pairs.append((param, init))
        return param
    tag, *rest = shape
    if tag == "mixed":
        return _mixed_parameter(s, start, name, pairs)
    if tag == "seq":
        assert isinstance(start, Static | Seq)
        items = containers.sequence_items(s, start, node) or ()
        return Seq(rest[0], tuple(_parameter(s, item, inner, name, pairs, node)
                                  for item, inner in zip(items, rest[1], strict=True)))
    if tag == "complex":
        return _complex_parameter(s, start, rest[0], name, pairs, node)
    assert tag == "maybe"
    bound = Param(BOOL, "")
    pairs.append((bound, _has_number(s, start)))
    number, _ = _without(start)
    inner = _parameter(s, _zero(rest[0]) if number is None else number, rest[0], name, pairs, node)
    return Choice(bound, inner, rest[1])


MIXED = ("mixed",)
"""The shape of a variable that is an int in some iterations and a float in others: both, and which."""


def _mixed_parameter(s: Specialiser, start: Abstract, name: str, pairs: list[tuple[Param, Value]]) -> Abstract:
    params = [Param(BOOL, ""), Param(INT, name), Param(FLOAT, name)]
    pairs += zip(params, _mixed_parts(s, start), strict=True)
    return Choice(params[0], params[1], params[2])


def _mixed_parts(s: Specialiser, value: Abstract) -> tuple[Value, Value, Value]:
    """(is an int, the int, the float); the part that does not hold is zero."""
    if isinstance(value, Choice):
        ways = zip(_mixed_parts(s, value.then), _mixed_parts(s, value.orelse), strict=True)
        is_int, whole, real = (s.build.op("select", value.cond, a, b) for a, b in ways)
        return is_int, whole, real
    if numeric_kind(value) is FLOAT:
        return const(False), const(0), lane(value)
    return const(True), num.to_kind(s, lane(value), INT), const(0.0)


def _complex_parameter(s: Specialiser, start: Abstract, number: Any, name: str, pairs: list[tuple[Param, Value]],
                       node: Any) -> Abstract:
    """Two floats; where it may also be a number of the shape `number`: which of the two it is, and that number."""
    tag = Param(BOOL, "")
    if number is not None:
        pairs.append((tag, complex_numbers.where_complex(s, start)))
    parts = complex_numbers.complex_part(s, start)
    params = Param(FLOAT, f"{name}_real"), Param(FLOAT, f"{name}_imag")
    pairs += zip(params, (lane(parts.real), lane(parts.imag)), strict=True)
    if number is None:
        return Complex(*params)
    rest = complex_numbers.number_part(start)
    inner = _parameter(s, _zero(number) if rest is None else rest, number, name, pairs, node)
    return Choice(tag, Complex(*params), inner)


def _zero(shape: Any) -> Abstract:
    if isinstance(shape, Kind):
        return Static({"b": False, "i8": 0, "f8": 0.0}[shape.value])
    if shape[0] == "maybe":
        return _zero(shape[1])
    if shape == MIXED:
        return Static(0)
    if shape[0] == "complex":
        return Static(0j)
    return Seq(shape[1], tuple(_zero(x) for x in shape[2]))


def _widen(s: Specialiser, ways: list[Way], start: State, kinds: dict[Place, Any], node: Any) -> bool:
    """Generalise what the back edges change; True when the body has to be built again."""
    changed = False
    for way in ways:
        for place in [*way.state.locals, *_changed_slots(s, way, start, node)]:
            old, value = _read(start, place), _read(way.state, place)
            if value is old or same_static(value, old):
                continue
            shape = _join_shape(s, kinds.get(place), old, value, _title(start, place), node)
            if shape != kinds.get(place):
                kinds[place] = shape
                changed = True
    return changed


def _changed_slots(s: Specialiser, way: Way, start: State, node: Any) -> list[Place]:
    """The items of lists, dicts and objects that a way has changed; their number must stay."""
    places: list[Place] = []
    for ref, before in start.heap.items():
        after = way.state.heap.get(ref, before)
        if after is before:
            continue
        keys = [] if isinstance(ref, ListRef) else [[k for k, _ in contents] for contents in (before, after)
                                                    if contents is not CONFLICT]
        if len(after) != len(before) or CONFLICT in (before, after) or len(keys) == 2 and keys[0] != keys[1]:
            raise s.refuse("flatten/list-mutation",
                           "a list or object gets more or fewer items in a loop that cannot be unrolled", node,
                           help="give the loop a constant bound, or make the list its full length first")
        places += [(ref, index) for index in range(len(before))]
    return places


def _join_shape(s: Specialiser, known: Any, old: Abstract, value: Abstract, name: str, node: Any) -> Any:
    after, other = _without(value)
    before, missing = _without(old)
    if known is None and missing is None and before is not None and _is_other(before):
        before, missing = None, before
    if isinstance(known, tuple) and known[0] == "maybe":
        missing = known[2]
    if other is not None and (missing is None or not _alike(other, missing)):
        raise s.refuse("flatten/mixed-join",
                       f"{name!r} becomes {num.describe(other)} in a loop that cannot be unrolled", node)
    if missing is None:
        assert before is not None and after is not None
        start = known if known is not None else _shape_of(s, before, name, node)
        return _join_kind(s, start, _shape_of(s, after, name, node), name, node)
    inner = known[1] if isinstance(known, tuple) else None if before is None else _shape_of(s, before, name, node)
    if after is not None:
        inner = _join_kind(s, inner, _shape_of(s, after, name, node), name, node)
    return ("maybe", inner, missing)


def _without(value: Abstract) -> tuple[Abstract | None, Abstract | None]:
    """A value apart from the alternative that is no number: (number, other), None where there is none."""
    if _is_other(value):
        return None, value
    if not isinstance(value, Choice):
        return value, None
    (then, other), (orelse, second) = _without(value.then), _without(value.orelse)
    if other is not None and second is not None and not _alike(other, second):
        return value, None
    number = Choice(value.cond, then, orelse) if then is not None and orelse is not None else then or orelse
    return number, other or second


def _has_number(s: Specialiser, value: Abstract) -> Value:
    """The lanes in which `_without` finds a number."""
    if isinstance(value, Choice):
        then, orelse = _has_number(s, value.then), _has_number(s, value.orelse)
        return s.build.op("select", value.cond, then, orelse)
    return const(not _is_other(value))


def _is_other(value: Abstract) -> bool:
    return value is UNBOUND or isinstance(value, Static) and numeric_kind(value) is None \
        and not isinstance(value.value, tuple | complex)


def _alike(a: Abstract, b: Abstract) -> bool:
    return a is b or same_static(a, b)


def _shape_of(s: Specialiser, value: Abstract, name: str, node: Any) -> Any:
    kind = numeric_kind(value)
    if kind is not None:
        return kind
    if complex_parts(value) is not None:
        return ("complex", None)
    if isinstance(value, Choice) and complex_numbers.is_number(value):
        a, b = _shape_of(s, value.then, name, node), _shape_of(s, value.orelse, name, node)
        return _join_kind(s, a, b, name, node)
    if isinstance(value, Seq) or isinstance(value, Static) and isinstance(value.value, tuple):
        items = containers.sequence_items(s, value, node) or ()
        cls = value.cls if isinstance(value, Seq) else tuple
        return ("seq", cls, tuple(_shape_of(s, v, name, node) for v in items))
    raise s.refuse("flatten/mixed-join", f"{name!r} changes between {num.describe(value)} and something else in a "
                   "loop that cannot be unrolled", node)


def _join_kind(s: Specialiser, a: Any, b: Any, name: str, node: Any) -> Any:
    if a is None or a == b:
        return b
    if _complex_shape(a) or _complex_shape(b):
        known = [x[1] if _complex_shape(x) else x for x in (a, b) if x != ("complex", None)]
        if all(isinstance(x, Kind) or x == MIXED for x in known):
            return ("complex", _join_kind(s, known[0], known[-1], name, node) if known else None)
    if {BOOL, INT} == {a, b}:
        raise s.refuse("flatten/mixed-join", f"{name!r} is a bool in some iterations and an int in others", node,
                       help="make it int(...) everywhere")
    numbers = [x for x in (a, b) if isinstance(x, Kind) or x == MIXED]
    if len(numbers) == 2:
        return join_kinds(a, b) if FLOAT not in numbers and MIXED not in numbers else MIXED
    if isinstance(a, tuple) and isinstance(b, tuple) and a[:2] == b[:2] and len(a[2]) == len(b[2]):
        return (a[0], a[1], tuple(_join_kind(s, x, y, name, node) for x, y in zip(a[2], b[2], strict=True)))
    raise s.refuse("flatten/mixed-join", f"{name!r} changes its shape in a loop that cannot be unrolled", node)


def _complex_shape(shape: Any) -> bool:
    return isinstance(shape, tuple) and shape[0] == "complex"


def _close_loop(s: Specialiser, node: Any, scope: LoopScope, params: dict[Place, Abstract],
                pairs: list[tuple[Param, Value]], items: list[Any], entry: State) -> None:
    assert scope.leave is not None and scope.again is not None
    for way in scope.again.ways:
        operands: list[Value] = []
        for place, param in params.items():
            _operands(s, way, param, _read(way.state, place), operands)
        way.end.values = operands
        if isinstance(way.end, Yield) and way.block is not items[-1]:
            way.block.end = Exit(scope.again.label, operands)
    joiner = Joiner(scope.leave.ways, s.span(node))
    before = entry.copy()
    loop = Loop(scope.leave.label, scope.again.label, [p for p, _ in pairs], [v for _, v in pairs], items)
    if not joiner.ways:
        s.state = before
        s.build.node(loop)
        s.build.end(Yield())
        raise ControlLeft
    s.state = joiner.state(before)
    loop.results = joiner.results
    s.build.node(loop)


def _operands(s: Specialiser, way: Way, param: Abstract, value: Abstract, out: list[Value]) -> None:
    """What a back edge carries for one parameter; conversions go to the end of the way's block."""
    match param:
        case Param():
            out.append(_in_block(s, way.block, lambda: _as_kind(s, value, param.kind)))
        case Seq():
            parts = containers.sequence_items(s, value) or ()
            for inner, part in zip(param.items, parts, strict=True):
                _operands(s, way, inner, part, out)
        case Complex() | Choice(then=Complex()):
            _complex_operands(s, way, param, value, out)
        case Choice() if isinstance(param.orelse, Param) and isinstance(param.then, Param):
            with s.build.detached() as items:
                out += _mixed_parts(s, value)
            _add_to_block(way.block, items)
        case Choice():
            bound, payload = _bound_part(s, way, value, param)
            out.append(bound)
            _operands(s, way, param.then, payload, out)


def _complex_operands(s: Specialiser, way: Way, param: Complex | Choice, value: Abstract, out: list[Value]) -> None:
    with s.build.detached() as items:
        if isinstance(param, Choice):
            out.append(complex_numbers.where_complex(s, value))
        parts = complex_numbers.complex_part(s, value)
        out += [lane(parts.real), lane(parts.imag)]
    _add_to_block(way.block, items)
    if isinstance(param, Choice):
        number = complex_numbers.number_part(value)
        _operands(s, way, param.orelse, param.orelse if number is None else number, out)


def _bound_part(s: Specialiser, way: Way, value: Abstract, param: Choice) -> tuple[Value, Abstract]:
    """Which lanes of the way have the number, and the number."""
    number, _ = _without(value)
    return _in_block(s, way.block, lambda: _has_number(s, value)), param.then if number is None else number


def _as_kind(s: Specialiser, value: Abstract, kind: Kind) -> Value:
    if isinstance(value, Choice):
        return num.to_kind(s, num.number_choice_as_float(s, value), kind)
    return num.to_kind(s, lane(value), kind)


def _in_block(s: Specialiser, block: Block, make: Callable[[], Value]) -> Value:
    """Build operations at the end of a block whose list is already closed."""
    with s.build.detached() as items:
        value = make()
    _add_to_block(block, items)
    return value


def _add_to_block(block: Block, items: list[Any]) -> None:
    for item in items:
        assert isinstance(item, Block)
        block.ops.extend(item.ops)
