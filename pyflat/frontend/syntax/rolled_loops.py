"""Rolled loops: one Loop node, whose parameters settle by fixpoint.

The body is built into a detached list from an entry state in which what the body changes has become a loop parameter;
while the state at the back edge differs in more places or kinds, the list is dropped and built again. The kinds only
grow (bool < int < float, and once `Later`), so that the rounds end. Loops inside begin with the kinds that they had in
the round before (`KeptLoop`): if each began with none, the rounds of a nest would multiply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import libcst as cst

from pyflat.errors import FlattenError
from pyflat.frontend.space import growing, scalars
from pyflat.frontend.space import numbers as num
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import ControlLeft, Evaluator
from pyflat.frontend.state.kinds import alternatives, cells_of, entries_of, lane, lane_form, same_static
from pyflat.frontend.state.layouts import Layout, Leaf, Nothing, contents_of, with_contents
from pyflat.frontend.state.merge import Joiner
from pyflat.frontend.state.values import (
    CONFLICT,
    UNBOUND,
    Abstract,
    Array,
    Contents,
    DictRef,
    IncomingEdge,
    ListRef,
    LoopScope,
    MemoryRef,
    Ranges,
    Ref,
    Scope,
    Seq,
    State,
    Static,
    StoreRef,
    Unavailable,
    next_serial,
)
from pyflat.frontend.state.widths import PYTHON, Case
from pyflat.frontend.syntax import loop_layouts
from pyflat.frontend.syntax.loop_layouts import LoopLayouts, Owned, Parameters
from pyflat.ir.build import const, undefined
from pyflat.ir.nodes import Exit, Loop, Op, Param, Value, Yield
from pyflat.ir.types import BOOL, INT

MAX_ROUNDS = 64

Place = str | tuple[Ref, int]
"""What a loop can change: a local by its name, or an item of a list, dict or object on the heap."""


def remember_edges(s: Evaluator) -> Callable[[], None]:
    """A function that forgets the exits which an abandoned attempt has added to the enclosing labels, and what it has
    learnt from conditions."""
    scopes_now = [f.returns for f in s.frames]
    scopes_now += [x for f in s.frames for loop in f.loops for x in (loop.leave, loop.again) if x is not None]
    scopes_now += [scope for f in s.frames for scope in f.exits]
    sizes = [(scope, len(scope.edges)) for scope in scopes_now]
    known, outside = len(s.facts), s.round

    def forget() -> None:
        s.round = outside
        del s.facts[known:]
        for scope, size in sizes:
            del scope.edges[size:]

    return forget


def roll_while(s: Evaluator, node: cst.While) -> None:
    def body(scope: LoopScope) -> None:
        test = s.space.condition(node.test)
        if isinstance(test, Static):
            if not test.value:
                _finish(s, scope, node.orelse)
        else:
            s.branch(test, lambda: None, lambda: _finish(s, scope, node.orelse), test=node.test)
        _body(s, scope, node.body)

    roll(s, node, body, {})


def roll_range(s: Evaluator, node: cst.For, bounds: Ranges) -> None:
    """The counter is a hidden variable of the frame; the user's variable gets its value in each iteration."""
    def each(scope: LoopScope, counter: Abstract) -> None:
        s.space.assign(node.target, counter)
        _body(s, scope, node.body)

    roll_counter(s, node, bounds, each, node.orelse)


def roll_counter(s: Evaluator, node: cst.CSTNode, bounds: Ranges, each: Callable[[LoopScope, Abstract], None],
                 orelse: cst.Else | None = None) -> None:
    """One Loop over a range; `each(scope, counter)` builds an iteration."""
    if bounds.once:
        s.use_up(bounds, node)
    s.counter += 1
    hidden = f"range {s.counter}"
    step = bounds.step

    def body(scope: LoopScope) -> None:
        counter = s.mark_python(s.state.locals[hidden], ())
        if isinstance(bounds.start, Static) and isinstance(counter, Param):
            s.facts.append((Op("ge" if step > 0 else "le", (counter, const(bounds.start.value)), BOOL), True))
        stop = bounds.stop if bounds.live is None else bounds.live()
        go = s.space.truth(num.compare(s, "lt" if step > 0 else "gt", counter, stop))
        if isinstance(go, Static):
            if not go.value:
                _finish(s, scope, orelse)
        else:
            s.branch(go, lambda: None, lambda: _finish(s, scope, orelse))
        s.state.locals[hidden] = num.binary(s, "add", counter, Static(step))
        each(scope, counter if bounds.item is None else bounds.item(counter))

    start = lane(bounds.start)
    roll(s, node, body, {hidden: scalars.to_kind(s, start, INT)}, bounds)
    s.state.locals.pop(hidden, None)


def _finish(s: Evaluator, scope: LoopScope, orelse: cst.Else | None) -> Abstract:
    """The condition is false: the else suite runs, then the loop is left."""
    if orelse is not None:
        s.space.execute(orelse.body)
    assert scope.leave is not None
    raise s.leave(scope.leave)


def _body(s: Evaluator, scope: LoopScope, suite: cst.BaseSuite) -> None:
    s.frame.loops.append(scope)
    try:
        s.space.execute(suite)
    finally:
        s.frame.loops.pop()


def roll(s: Evaluator, node: Any, body: Callable[[LoopScope], None], extra: dict[str, Abstract],
         bounds: Ranges | None = None) -> None:
    """One Loop whose iteration `body(scope)` builds; `extra` are hidden variables of the frame: of a loop over a range
    the counter."""
    around = s.kept_loop
    s.kept_loop = around.next((node, *(frame.call_span for frame in s.frames)))
    try:
        _settle(s, node, body, extra, bounds)
    finally:
        s.kept_loop = around


def _settle(s: Evaluator, node: Any, body: Callable[[LoopScope], None], extra: dict[str, Abstract],
            bounds: Ranges | None) -> None:
    entry = s.state
    entry.locals.update(extra)
    kinds = _settled_before(s, entry, node)
    nest, forget, known, outside = s.nest, remember_edges(s), len(s.facts), s.round
    counter = s.counter
    for _ in range(MAX_ROUNDS):
        s.counter = counter  # so that no name tells how many rounds there were
        s.kept_loop.met.clear()
        scope = LoopScope(Scope(s.fresh("loop")), Scope(s.fresh("next")))
        params, inits, owned, s.state = _generalised(s, entry, kinds, node)
        if bounds is not None:
            _remember_first(s, dict(inits), params, extra)
        s.nest, s.round = None, next_serial()
        with s.build.detached() as items:
            try:
                body(scope)
                block = s.build.block
                assert scope.again is not None
                scope.again.edges.append(IncomingEdge(block, s.build.end(Yield()), s.state, None))
            except ControlLeft:
                if isinstance(s.build.block.end, Yield):  # never reached: every path has left
                    s.build.block.end.values = [undefined(param.kind) for param, _ in inits]
        s.nest, s.round = nest, outside
        del s.facts[known:]  # what holds in an iteration need not hold for the lanes that have left
        assert scope.leave is not None and scope.again is not None
        start = entry.copy()
        for place, param in params.items():
            _write(start, place, param)
        start.heap.update(owned)
        if grown := _grow_lists(s, entry, start, scope.again.edges, owned, node):
            kinds = {place: each for place, each in kinds.items() if isinstance(place, str) or place[0] not in grown}
            forget()
            continue
        if not _widen(s, scope.again.edges, start, kinds, owned, node):
            _close_loop(s, node, scope, kinds, inits, items, entry, bounds)
            numbers = _numbers_of_hidden(entry)
            s.kept_loop.layouts = {numbers.get(place, place): layout for place, layout in kinds.items()
                                  if isinstance(place, str)}
            return
        forget()
    raise s.refuse("flatten/mixed-join", "the variables of this loop do not settle", node)


def _settled_before(s: Evaluator, entry: State, node: Any) -> dict[Place, Layout]:
    """What the variables held in the last round of the loop around this one, joined with what they hold before it."""
    kinds: dict[Place, Layout] = {}
    names = {number: name for name, number in _numbers_of_hidden(entry).items()}
    for title, layout in s.kept_loop.layouts.items():
        name = names.get(title, title)
        old = _read(entry, name)
        if not isinstance(layout.form, Nothing) and not isinstance(old, Unavailable):
            with suppress(FlattenError):
                layouts = LoopLayouts(s, name, node)
                kinds[name] = layouts.joined(layout, layouts.of(old, entry))
    return kinds


def _numbers_of_hidden(entry: State) -> dict[str, str]:
    """Of hidden variables, whose names have the number of their making: names that are the same in each round."""
    hidden = [name for name in entry.locals if " " in name]
    return {name: f"hidden {k}" for k, name in enumerate(hidden)}


def _generalised(s: Evaluator, entry: State, kinds: dict[Place, Layout], node: Any
                 ) -> tuple[dict[Place, Abstract], list[tuple[Param, Value]], Owned, State]:
    """The entry state with a parameter for every leaf that the body changes, and the objects of the loop's own."""
    owned: Owned = {}
    made = Parameters(s, owned)
    params = {place: made.built(layout, _title(entry, place)) for place, layout in kinds.items()}
    inits = loop_layouts.before(_leaves(s, entry, kinds, node), made.numbers)
    pairs = list(zip(made.numbers, inits, strict=True))
    state = entry.copy()
    for place, param in params.items():
        _write(state, place, param)
    state.heap.update(owned)
    return params, pairs, owned, state


def _leaves(s: Evaluator, state: State, kinds: dict[Place, Layout], node: Any) -> list[Leaf]:
    """What the parameters get where the loop is entered, or goes on."""
    return [leaf for place, layout in kinds.items()
            for leaf in LoopLayouts(s, _title(state, place), node).leaves(_read(state, place), layout, state)]


def _read(state: State, place: Place) -> Abstract:
    if isinstance(place, str):
        return state.locals.get(place, UNBOUND)
    ref, index = place
    return contents_of(state.heap[ref], ref)[index]


def _write(state: State, place: Place, value: Abstract) -> None:
    if isinstance(place, str):
        state.locals[place] = value
        return
    ref, index = place
    items = list(contents_of(state.heap[ref], ref))
    items[index] = value
    state.heap[ref] = with_contents(state.heap[ref], ref, items)


def _title(state: State, place: Place) -> str:
    """The variable's name; the attribute or key of an object."""
    if isinstance(place, str):
        return place.partition("@")[0]
    ref, index = place
    return "" if isinstance(ref, ListRef | StoreRef | MemoryRef) else str(state.heap[ref][index][0])


def _widen(s: Evaluator, edges: list[IncomingEdge], start: State, kinds: dict[Place, Layout], owned: Owned, node: Any
           ) -> bool:
    """Generalise what the back edges change; True when the body has to be built again."""
    changed = False
    frozen = {ref for ref in start.heap if ref in s.frozen}
    for edge in edges:
        for place in [*edge.state.locals, *_changed_slots(s, edge, start, owned, node)]:
            old, value = _read(start, place), _read(edge.state, place)
            if same_static(value, old) or value is old and not loop_layouts.holds_objects(value, owned):
                continue
            if isinstance(old, Array) and old.is_same(value) and old.store not in owned:
                continue
            if isinstance(old, Unavailable):
                continue
            known, layouts = kinds.get(place), LoopLayouts(s, _title(start, place), node)
            layout = layouts.carried(known, old, start, value, edge.state, isinstance(place, str))
            if layout != known:
                kinds[place] = layout
                changed = True
    return changed or any(ref in s.frozen and ref not in frozen for ref in start.heap)


def _changed_slots(s: Evaluator, edge: IncomingEdge, start: State, owned: Owned, node: Any) -> list[Place]:
    """The items of lists, dicts and objects that an edge has changed; their number must stay."""
    places: list[Place] = []
    for ref, before in start.heap.items():
        if ref in owned:
            continue
        after = edge.state.heap.get(ref, before)
        if after is before:
            continue
        plain = isinstance(ref, ListRef | StoreRef | MemoryRef)
        keys = [] if plain else [[k for k, _ in contents] for contents in (before, after) if contents is not CONFLICT]
        if len(after) != len(before) or CONFLICT in (before, after) or len(keys) == 2 and keys[0] != keys[1]:
            raise s.refuse("flatten/list-mutation",
                           "a list or object gets more or fewer items in a loop that cannot be unrolled", node,
                           help="give the loop a constant bound, or make the list its full length first")
        places += [(ref, index) for index in range(len(before))]
    return places


def _remember_first(s: Evaluator, inits: dict[Param, Value], params: dict[Place, Abstract], extra: Iterable[str]
                    ) -> None:
    """What a counted loop carries is Python's in the first iteration, and NumPy's in all others, unless the body turns
    out to carry something else."""
    widths = s.widths
    counter = next((param for name in extra if isinstance(param := params.get(name), Param)), None)
    if counter is None:
        return
    for param, init in inits.items():
        found = widths.of(param)
        if None in found and len(found) == 2 and "?" not in found and widths.of(init) == PYTHON:
            widths.cases[param] = Case("eq", (counter, inits[counter]), found - PYTHON)


def _check_first(s: Evaluator, param: Param, carried: Value) -> None:
    """What was assumed holds for what a way back carries."""
    widths = s.widths
    if param not in widths.cases or widths.of(carried) == widths.cases[param].numpy:
        return
    del widths.cases[param]


def _remember_last(s: Evaluator, results: Sequence[Param], edges: Sequence[IncomingEdge], bounds: Ranges) -> None:
    """What a loop leaves behind is Python's where it makes no trip: what its head passes on, which is the first exit,
    beside numbers of NumPy's alone."""
    widths = s.widths
    if bounds.live is not None:
        return
    ends = lane(bounds.start), lane(bounds.stop)
    for k, result in enumerate(results):
        head, *others = [edge.end.values[k] for edge in edges]
        case = widths.cases.get(head)
        if case is not None and all(widths.of(value) == case.numpy for value in others):
            widths.cases[result] = Case("ge" if bounds.step > 0 else "le", ends, case.numpy)


def _close_loop(s: Evaluator, node: Any, scope: LoopScope, kinds: dict[Place, Layout],
                pairs: list[tuple[Param, Value]], items: list[Any], entry: State, bounds: Ranges | None) -> None:
    assert scope.leave is not None and scope.again is not None
    for edge in scope.again.edges:
        with s.build.detached() as built:
            leaves = _leaves(s, edge.state, kinds, node)
        loop_layouts.add_to_block(edge.block, built)
        operands = edge.end.values = loop_layouts.after(leaves, [param for param, _ in pairs])
        for (param, _), carried in zip(pairs, operands, strict=True):
            _check_first(s, param, carried)
        if isinstance(edge.end, Yield) and edge.block is not items[-1]:
            edge.block.end = Exit(scope.again.label, operands)
    joiner = Joiner(scope.leave.edges, s.span(node), s.outer_states, s.frozen, s.widths)
    before = entry.copy()
    loop = Loop(scope.leave.label, scope.again.label, [p for p, _ in pairs], [v for _, v in pairs], items)
    if not joiner.edges:
        s.state = before
        s.build.node(loop)
        s.build.end(Yield())
        raise ControlLeft
    s.state = joiner.state(before)
    loop.results = joiner.results
    if bounds is not None:
        _remember_last(s, joiner.results, joiner.edges, bounds)
    s.build.node(loop)


# --- lists that get more or fewer items become ones that grow (`space.growing`)
def _grow_lists(s: Evaluator, entry: State, start: State, edges: Sequence[IncomingEdge], owned: Owned, node: Any
                ) -> set[Ref]:
    """Lists of `entry` that the edges have made longer or shorter get a count and places there, and the body is built
    again: which they are."""
    found: set[Ref] = set()
    of_body, s.state = s.state, entry
    for ref, before in start.heap.items():
        if type(ref) is DictRef and ref not in owned and ref in entry.heap and s.grows:
            found |= _other_keys(s, ref, entry, before, edges, node)
        if type(ref) is not ListRef or ref in owned or ref not in entry.heap:
            continue
        if cells_of(before) is not None:
            _put_in_places(edges, ref, before)
            continue
        changed = [after for edge in edges if _other_length(after := edge.state.heap.get(ref, before), before)]
        if changed and s.grows and before is not CONFLICT:
            entry.heap[ref] = growing.from_items(s, entry.heap[ref], _sample(entry.heap[ref], changed), node)
            found.add(ref)
    s.state = of_body
    return found


def _other_keys(s: Evaluator, ref: DictRef, entry: State, before: Contents, edges: Sequence[IncomingEdge], node: Any
                ) -> set[Ref]:
    """A dict that gets keys gets places for them before the loop."""
    after = [(edge.state, edge.state.heap.get(ref, before)) for edge in edges]
    if entries_of(before) is not None or any(each is CONFLICT for each in (before, *(found for _, found in after))):
        return set()
    keys = [key for key, _ in before]
    changed = [(state, found) for state, found in after if [key for key, _ in found] != keys]
    if not changed:
        return set()
    entry.heap[ref] = lane_form(entry, ref, entry.heap[ref])
    pairs = entry.heap[ref.entries]
    samples = [state.heap[lane_form(state, ref, found)[-1][1] if (other := entries_of(found)) is None else other]
               for state, found in changed]
    sample = _sample(pairs, samples, Seq(tuple, (Static(0), Static(0))))
    entry.heap[ref.entries] = growing.from_items(s, pairs, sample, node)
    return {ref, ref.entries}


def _other_length(after: Contents, before: Contents) -> bool:
    return after is not CONFLICT and (len(after) != len(before) or heap.has_gaps(after))


def _put_in_places(edges: Sequence[IncomingEdge], ref: ListRef, before: Contents) -> None:
    """A list that was made anew, as `xs[:] = []` does, goes on in the places that it has."""
    for edge in edges:
        after = edge.state.heap.get(ref, before)
        if after is not CONFLICT and not heap.has_gaps(after):
            edge.state.heap[ref] = tuple(growing.padded(list(after), before))


def _sample(before: Contents, changed: Sequence[Contents], other: Abstract | None = None) -> Abstract:
    """An item of the list: the kind of what its places will have."""
    for contents in (*changed, before):
        cells = cells_of(contents)
        for item in reversed(contents if cells is None else cells.items[1:]):
            for each in alternatives(item):
                if each is not UNBOUND:
                    return each
    return other or Static(0)
