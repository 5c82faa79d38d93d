"""Generator functions: their bodies run where they are consumed, and each `yield` runs what is done with an item.

    for v in steps(x):        i = 0
        total += v            while i < n:               the body of steps
            ...                   v = i * x              what it yields
                                  total += v             the body of the loop
                                  i += 1

Nothing is kept in between: the consumer's code is built at every `yield`, and the generator's goes on behind it. So
loops and branches of both are joined as any others, a `break` leaves the generator where it stands, and exceptions
come when Python raises them. While one of the two runs, its locals have those of the other (`Evaluator.resume`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import libcst as cst

from pyflat.errors import FlattenError
from pyflat.frontend.capture import nested
from pyflat.frontend.library import iterators as library
from pyflat.frontend.state import aliasing, lookup
from pyflat.frontend.state.frames import ControlLeft, Evaluator
from pyflat.frontend.state.kinds import is_folded, is_generator, per_alternative
from pyflat.frontend.state.values import (
    MAX_STEPS,
    NONE,
    NOT_BEGUN,
    Abstract,
    Arguments,
    Closure,
    GeneratorCall,
    GeneratorExpression,
    IterRef,
    Lazy,
    Scope,
    State,
    Static,
    Unavailable,
)
from pyflat.frontend.syntax import calls, loops, scopes


def run(s: Evaluator, source: Lazy, body: Callable[[Abstract], object], node: cst.CSTNode, *,
        exits: tuple[Scope, ...] = (), leaves: bool = False) -> Abstract:
    """Consume a generator: `body` of each item, in the running frame; what the generator returns. `exits`: the scopes
    that `body` may leave to besides those of its frame, `leaves` whether it may leave at all."""
    s.use_up(source, node)
    assert isinstance(source.written, GeneratorCall)
    frame, consumer = source.written.frame, s.frame
    tree = frame.captured.tree
    assert isinstance(tree, cst.FunctionDef)
    calls.check_recursion(s, frame, node, source.written.around)
    around = [scope for loop in consumer.loops for scope in (loop.leave, loop.again) if scope is not None]
    frame.exits = (*exits, *around, consumer.returns, *consumer.exits)
    frame.leaves = leaves or consumer.leaves or bool(s.tries)
    tries, cleanups, check = len(s.tries), len(s.cleanups), s.build.before_append

    def give(item: Abstract) -> None:
        """The consumer runs: nothing of the generator catches or cleans up meanwhile."""
        own = s.tries[tries:], s.cleanups[cleanups:], s.build.before_append
        if frame.leaves and (own[1] or any(issubclass(GeneratorExit, each.catches) for each in own[0])):
            raise s.refuse("flatten/generator", "a generator yields in a block that is left when its consumer stops",
                           help="consume all of it, outside of `try`, or yield outside of the `try` or `with` block")
        del s.tries[tries:], s.cleanups[cleanups:]
        s.build.before_append = check
        s.frames.pop()
        s.resume(consumer, frame)
        try:
            body(item)
            s.resume(frame, consumer)
        finally:
            s.frames.append(frame)
            s.tries += own[0]
            s.cleanups += own[1]
            s.build.before_append = own[2]
            frame.holder, consumer.holder, frame.state, consumer.state = None, frame, None, None

    frame.give = give
    frame.returns.edges.clear()  # of an attempt that was undone
    origin = s.build.origin
    s.resume(frame, consumer)
    s.state = State({**s.state.locals, **frame.arguments}, s.state.heap)
    s.frames.append(frame)
    try:
        calls.box_variables(s, frame)
        value = s.region(frame.returns, lambda: calls.straight(s, tree))
        s.state = State({name: held for name, held in s.state.locals.items() if "@" in name}, s.state.heap)
        s.resume(consumer, frame)
        return value
    finally:
        s.frames.pop()
        s.build.origin = origin
        frame.holder = consumer.holder = frame.state = None


def yielded(s: Evaluator, node: cst.Yield) -> Abstract:
    give = s.frame.give
    if give is None:
        raise s.refuse("flatten/generator", "`yield` outside of a generator function", node)
    if isinstance(node.value, cst.From):
        return _delegate(s, s.space.evaluate(node.value.item), give, node)
    give(NONE if node.value is None else s.space.evaluate(node.value))
    return NONE  # what is sent, where nothing sends


@per_alternative("source")
def _delegate(s: Evaluator, source: Abstract, give: Callable[[Abstract], object], node: cst.CSTNode) -> Abstract:
    source = iterator(s, source, node)
    if not is_generator(source):
        source = s.space.call(Static(library.each_of), Arguments([source], {}), node)
    assert is_generator(source)
    frame = s.frame
    return run(s, source, give, node, exits=frame.exits, leaves=frame.leaves)


# --- what gives a generator
def iterator(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Abstract:
    """What `iter(value)` gives where that is a generator: of a generator expression that is consumed in another
    function, or that has the items of a generator; of an object by its `__iter__`. Anything else as it is."""
    if isinstance(value, Lazy) and isinstance(value.written, GeneratorExpression):
        written = value.written
        return _called(s, value, written, node) if is_folded(value) or s.frame is not written.frame else value
    if isinstance(value, Lazy) and isinstance(value.written, GeneratorCall):
        return value if is_generator(value) else steps(s, value.written, node)
    method = lookup.method_of(value, "__iter__")
    made = None if method is None else lookup.call_method(s, method, [value], node)
    return made if is_generator(made) else value


def _called(s: Evaluator, value: Lazy, written: GeneratorExpression, node: cst.CSTNode) -> Abstract:
    """A generator expression as Python has it: a call of a function that is given the first iterable."""
    s.use_up(value, node)
    captured = written.frame.captured
    tree = captured.once(_function, written.node)
    if written.frame not in s.frames and written.frame.holder is None or set(written.hidden) & scopes.read_names(tree):
        raise s.refuse("flatten/generator", "a generator expression is consumed by another function", written.node,
                       help="pass a list or tuple")
    made = Closure(nested(captured, tree), written.frame, {})
    return s.space.call(made, Arguments([written.source], {}), node)


def _function(node: cst.GeneratorExp) -> cst.FunctionDef:
    clauses = [node.for_in]
    while clauses[-1].inner_for_in is not None:
        clauses.append(clauses[-1].inner_for_in)
    body: cst.BaseStatement = cst.SimpleStatementLine([cst.Expr(cst.Yield(node.elt))])
    for clause in reversed(clauses):
        for test in reversed(clause.ifs):
            body = cst.If(test.test, cst.IndentedBlock([body]))
        source = cst.Name("_0") if clause is node.for_in else clause.iter
        body = cst.For(clause.target, source, cst.IndentedBlock([body]))
    params = cst.Parameters([cst.Param(cst.Name("_0"))])
    return cst.FunctionDef(cst.Name("genexpr"), params, cst.IndentedBlock([body]))


# --- items one by one
def steps(s: Evaluator, call: GeneratorCall, node: cst.CSTNode) -> IterRef:
    """What is left of a generator whose items are asked for one by one, at several places: all are made at the first
    of them, where nothing can tell. It reads and yields only what does not change, changes nothing, and stands at the
    same place in all lanes."""
    if not call.begun:
        undo, before, effects = loops.checkpoint(s), dict(s.state.heap), replace(s.effects)
        with s.build.detached() as built:
            try:
                made = None if _may_see(s, call) else s.space.call(Static(itertools.islice), Arguments(
                    [Lazy(lambda: iter(()), written=replace(call)), Static(MAX_STEPS + 1)], {}), node)
                items = [] if made is None else s.space.items(made, node)
            except (ControlLeft, FlattenError):
                made = None
        if made is None or s.effects != effects or aliasing.Reached(s.state, items).has_identity() or any(
                s.state.heap.get(ref) is not contents for ref, contents in before.items()):
            undo()
            raise s.refuse("flatten/generator", "the items of a generator are requested one by one here", node,
                           why="its position may depend on the data, or the values it reads may change",
                           help="loop over it, or make it a tuple(...) first")
        s.build.continue_with(built)
        if len(items) > MAX_STEPS:
            error = s.refuse("flatten/generator", f"more than {MAX_STEPS} items of a generator are requested one by "
                             "one", node, help="loop over it")
            items[MAX_STEPS:] = [Unavailable(error)]
        call.begun = True
        s.state.heap[call.left] = tuple(items)
    if len(s.state.heap.get(call.left, NOT_BEGUN)) == len(NOT_BEGUN):
        raise s.refuse("flatten/generator", "items of a generator are requested on one of several paths only", node,
                       help="make it a tuple(...) first")
    return call.left


def _may_see(s: Evaluator, call: GeneratorCall) -> bool:
    """A generator may read what changes between two of its steps."""
    frame = call.frame
    values = aliasing.Reached(s.state, frame.arguments.values())
    return bool(s.scratch or s.tries or s.cleanups) or isinstance(frame.function, Closure) or values.has_identity()
