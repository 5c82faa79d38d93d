"""Calls: evaluated in place. A Python function becomes a frame of its own; a primitive becomes an operation."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Sequence
from typing import Any

import libcst as cst
import numpy as np

from pyflat.errors import FlattenError, Note
from pyflat.frontend import builtins
from pyflat.frontend.builtins import vectorized
from pyflat.frontend.capture import Captured, capture, nested
from pyflat.frontend.library import splines
from pyflat.frontend.space import containers, looking, number_classes, objects, scratch
from pyflat.frontend.space.scalars import const_eval
from pyflat.frontend.state import lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe
from pyflat.frontend.state.signatures import no_progress
from pyflat.frontend.state.values import (
    NOT_BEGUN,
    UNBOUND,
    Abstract,
    Arguments,
    BoundMethod,
    BoxRef,
    Closure,
    Frame,
    GeneratorCall,
    GuardedUnion,
    Lazy,
    ObjRef,
    Partial,
    Scope,
    Scratch,
    Seq,
    State,
    Static,
    Super,
    Text,
)
from pyflat.frontend.syntax import (
    cached_calls,
    comprehensions,
    executed_calls,
    loops,
    opaque_calls,
    recursive_calls,
    repeated_calls,
    scopes,
    stacked_calls,
)
from pyflat.frontend.uncompiled import python_of
from pyflat.ir.nodes import Value
from pyflat.ir.opaque_calls import Call

MAX_DEPTH = 150
LANE_DEPTH = 3
"""How often a function may call itself with other lanes before a condition has to be decided."""
MAX_FRAMES = 400
"""Functions that are being called at one time: flattening recurses over them."""


_TAKES_ALL: Any = (sum, min, max, len)
"""What takes every item of a list, in order, and nothing else of it: the list need not be made."""


# --- the call expression
def call_node(s: Evaluator, node: cst.Call) -> Abstract:
    function = s.space.evaluate(node.func)
    return call(s, function, _arguments(s, node, function), node)


def _arguments(s: Evaluator, node: cst.Call, function: Abstract) -> Arguments:
    """Python evaluates positional and starred arguments first, keywords afterwards."""
    arguments = Arguments([], {})
    for arg in node.args:
        if arg.keyword is None and arg.star != "**":
            if isinstance(arg.value, cst.ListComp) and isinstance(function, Static) and function.value in _TAKES_ALL:
                value: Abstract = comprehensions.evaluate(s, arg.value, at_once=True)
            else:
                value = s.space.evaluate(arg.value)
            arguments.positional += containers.starred_items(s, value, arg) if arg.star else [value]
    for arg in node.args:
        if arg.keyword is None and arg.star != "**":
            continue
        value = s.space.evaluate(arg.value)
        named = {arg.keyword.value: value} if arg.keyword is not None else s.space.dict_entries(value)
        if arguments.named.keys() & named.keys():
            raise s.refuse("flatten/bad-call", "a keyword argument is given twice", arg)
        arguments.named.update(named)
    return arguments


def call(s: Evaluator, function: Abstract, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """The value of a call; whatever cannot be evaluated in place or turned into operations is refused."""
    if s.strings and (looked := looking.call(s, function, arguments, _may_look, node)) is not None:
        return looked
    whitelisted = opaque_calls.entry_for(s, function)
    if whitelisted is not None:
        value = _call_opaque(s, *whitelisted, function, arguments, node)
        if value is not None:
            return value
    match function:
        case GuardedUnion():
            return s.split(function, lambda f: call(s, f, arguments, node))
        case Closure() if function.known is not None:
            return cached_calls.call(s, function, arguments, lambda: inline_closure(s, function, arguments, node), node)
        case Closure():
            return inline_closure(s, function, arguments, node)
        case Partial():
            bound = Arguments([*function.positional, *arguments.positional], {**function.named, **arguments.named})
            return call(s, function.function, bound, node)
        case BoundMethod():
            return _call_bound(s, function, arguments, node)
        case Static() if isinstance(function.value, types.FunctionType) or _is_class(function.value):
            return _call_or_run(s, function.value, arguments, node)
        case Static() | Scratch():
            return _call_static(s, function.value, arguments, node)
        case ObjRef() | Seq():
            found = lookup.method_of(function, "__call__")
            if found is not None:
                return _with_self(s, found, function, arguments, node)
    raise s.refuse("flatten/unknown-call", f"{describe(function)} is called", node)


def _may_look(function: Any) -> bool:
    """Compiled code that computes from its arguments alone."""
    return builtins.is_pure(function) and not isinstance(function, types.FunctionType)


def _call_or_run(s: Evaluator, function: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """A call in place, or where that is refused and there is no lane in it, its result."""
    if any(isinstance(value, Value) for value in (*arguments.positional, *arguments.named.values())):
        return _call_static(s, function, arguments, node)
    undo = loops.checkpoint(s)
    try:
        return loops.built_aside(s, lambda: _call_static(s, function, arguments, node))
    except FlattenError as error:
        undo()
        refusal = error
    return executed_calls.run(s, function, arguments, refusal, node)


def _call_opaque(s: Evaluator, entry: Call, callee: Any, function: Abstract, arguments: Arguments, node: cst.CSTNode
                 ) -> Abstract | None:
    """A whitelisted call; None for one on constants that is computed now like any other."""
    if arguments.all_static() and opaque_calls.may_fold(entry, callee is not None and builtins.is_pure(callee)):
        if entry.python is None:
            return None
        args, named = arguments.values()
        python = entry.python
        return const_eval(s, lambda: python(*args, **named))
    if isinstance(function, BoundMethod):
        arguments = Arguments([function.receiver, *arguments.positional], arguments.named)
    return opaque_calls.keep(s, entry, callee, arguments, node)


def _with_self(s: Evaluator, fn: Any, receiver: Abstract, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    return call(s, Static(fn), Arguments([receiver, *arguments.positional], arguments.named), node)


def _call_bound(s: Evaluator, method: BoundMethod, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    if method.function is not None:
        return _with_self(s, method.function, method.receiver, arguments, node)
    if isinstance(method.receiver, Scratch) and method.name == "get" and len(arguments.positional) in (1, 2):
        key, default, *_ = [*arguments.positional, Static(None)]
        return scratch.get(s, method.receiver, key, default, node)
    handled = builtins.method(s, method, arguments, node)
    if handled is not None:
        return handled
    if isinstance(method.receiver, Static) and arguments.all_static() and lookup.is_plain(method.receiver.value):
        if builtins.mutates(method):
            raise s.refuse("flatten/effect", f".{method.name} changes a captured object", node)
        args, named = arguments.values()
        return const_eval(s, lambda: getattr(method.receiver.value, method.name)(*args, **named))  # type: ignore[union-attr]
    if isinstance(method.receiver, Static) and isinstance(method.receiver.value, list | dict) \
            and method.name in _CHANGING:
        kind = type(method.receiver.value).__name__
        raise s.refuse("flatten/effect", f"a {kind} from outside the function is changed by .{method.name}()", node,
                       why="it is one object for the whole call, and each element would change it in turn",
                       help="return the value instead, and store the whole result in the caller")
    raise s.refuse("flatten/unknown-call", f"the method .{method.name} of {describe(method.receiver)}", node)


_CHANGING = {"append", "extend", "insert", "remove", "pop", "popitem", "clear", "sort", "reverse", "update",
             "setdefault"}


def see_through(function: Any, *, caches: bool = True) -> Any:
    """The Python function behind wrappers that do not change what it computes; `caches`: also of one call."""
    while True:
        if isinstance(function, np.vectorize):
            function = function.pyfunc
        elif (compiled := python_of(function)) is not None:
            function = compiled
        elif isinstance(function, functools._lru_cache_wrapper) and caches:
            function = function.__wrapped__
        elif isinstance(function, staticmethod):
            function = function.__func__
        else:
            return function


def _call_static(s: Evaluator, function: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    if isinstance(function, np.vectorize):
        return call(s, vectorized.known(s, function, node), arguments, node)
    if any(function is each for each in _SETTINGS):
        raise s.refuse("flatten/effect", f"np.{function.__name__} changes how NumPy works for the code after it", node,
                       help="remove it, or use `with np.errstate(...)` around the call of the twin")
    handled = builtins.function(s, function, arguments, node)
    if handled is not None:
        return handled
    if any(function is each for each in cached_calls.DECORATORS):
        return cached_calls.decorate(s, arguments)
    function = see_through(function, caches=False)
    match function:
        case functools._lru_cache_wrapper():
            return cached_calls.call(s, Static(function), arguments,
                                     lambda: call(s, Static(function.__wrapped__), arguments, node), node)
        case types.FunctionType() if hasattr(function, "dispatch") and hasattr(function, "registry"):
            return _dispatched(s, function, arguments, node)
        case types.FunctionType() if _dispatches(function) and arguments.all_static():
            s.guards.varies("the registry of a singledispatch function")
            return const_eval(s, lambda: function(*arguments.values()[0], **arguments.values()[1]))
        case types.FunctionType() if (function.__module__, function.__qualname__) in builtins.REPLACED:
            replacement = builtins.REPLACED[function.__module__, function.__qualname__]
            return _replaced(s, function, replacement, arguments, node)
        case types.FunctionType() if objects.makes_namedtuples(function) and arguments.positional:
            return objects.bare_namedtuple(s, function, arguments, node)
        case types.FunctionType():
            return inline(s, function, arguments, node)
        case types.MethodType():
            return _with_self(s, function.__func__, scratch.of(s, function.__self__), arguments, node)
        case functools.partial():
            s.guards.contents(function.args)
            s.guards.contents(function.keywords)
            bound = Arguments([Static(v) for v in function.args] + arguments.positional,
                              {**{k: Static(v) for k, v in function.keywords.items()}, **arguments.named})
            return call(s, Static(function.func), bound, node)
        case type():
            return _call_class(s, function, arguments, node)
    if isinstance(getattr(function, "original", None), types.FunctionType) and type(function).__name__ == "Twin":
        return inline(s, function.original, arguments, node)
    if isinstance(function, np.ufunc) and not arguments.all_static():
        return builtins.ufuncs.call(s, function, arguments, node)
    special = inspect.getattr_static(type(function), "__call__", None)
    if isinstance(special, types.FunctionType):
        return _with_self(s, special, scratch.of(s, function), arguments, node)
    if arguments.all_static() and builtins.is_pure(function) and builtins.are_values(s, arguments):
        if function is hash:
            s.guards.varies("a hash")
        args, named = arguments.values()
        return const_eval(s, lambda: function(*args, **named))
    if function is print and s.is_conditional():
        return builtins.support.effect_of_original(s, "prints", node)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", repr(function))
    module = getattr(function, "__module__", None)
    title = f"{module}.{name}" if module else name
    if any(function is each for each in _OUTPUT):
        raise s.refuse("flatten/unknown-call", f"the call of {title} cannot be flattened", node,
                       why="a twin only computes: it does not read or write",
                       help="return the value, and write it in the caller; read input before the call, and pass it")
    raise s.refuse("flatten/unknown-call", f"the call of {title} cannot be flattened", node)


_SETTINGS = (np.seterr, np.seterrcall, np.setbufsize)
_OUTPUT = (print, open, input)


def _replaced(s: Evaluator, function: types.FunctionType, replacement: types.FunctionType, arguments: Arguments,
              node: cst.CSTNode) -> Abstract:
    """A function around compiled code, by what computes the same in Python."""
    for name, value in lookup.bind(s, lookup.signature_of(replacement), arguments, node).items():
        if name in splines.DERIVATIVES and not (isinstance(value, Static) and value.value == 0):
            raise s.refuse("flatten/unknown-call", f"the derivative of a spline ({name}= of {function.__name__})", node,
                           help="flatten the spline itself, or compute the derivative outside and pass it")
    s.widths.seen = True
    return s.mark_numpy(inline(s, replacement, arguments, node))


def _dispatches(function: types.FunctionType) -> bool:
    """It is the `dispatch` of a functools.singledispatch function."""
    return (function.__module__, function.__qualname__) == ("functools", "singledispatch.<locals>.dispatch")


def _dispatched(s: Evaluator, function: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """A functools.singledispatch function: the class of the first argument chooses the implementation."""
    if not arguments.positional:
        raise s.raised(TypeError, node)
    first, *rest = arguments.positional
    if isinstance(first, GuardedUnion):
        return s.split(first, lambda one: _dispatched(s, function, Arguments([one, *rest], arguments.named), node))
    cls = number_classes.class_of(s, first, node).value if isinstance(first, Value) else lookup.class_of(first)
    if cls is None:
        raise s.refuse("flatten/unsupported-expression", f"the class of {describe(first)} is not known", node)
    s.guards.varies("the registry of a singledispatch function")
    s.guards.contents(inspect.getclosurevars(function.dispatch).nonlocals.get("registry"))
    return call(s, Static(function.dispatch(cls)), arguments, node)


def _call_class(s: Evaluator, cls: type, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    if cls is super:
        return _super(s, arguments, node)
    pure = builtins.is_pure(cls) or not _is_user_class(cls)
    if pure and arguments.all_static() and builtins.are_values(s, arguments):
        args, named = arguments.values()
        return const_eval(s, lambda: cls(*args, **named))
    if cls is np.vectorize:
        return vectorized.make(s, arguments, node)
    if cls is functools.partial:
        return Partial(arguments.positional[0], arguments.positional[1:], arguments.named)
    if issubclass(cls, BaseException):  # with lanes in it: only good for raising
        return Text()
    if number_classes.is_enum(cls):
        return number_classes.member(s, cls, arguments, node)
    if not _is_user_class(cls):
        raise s.refuse("flatten/unknown-call", f"{cls.__qualname__}(...) cannot be made from numbers", node)
    return objects.construct(s, cls, arguments, node)


def _super(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """super() in a method is super(the class that it was written in, its first argument)."""
    cell = s.frame.cells.get("__class__")
    names = list(s.frame.arguments)
    if len(arguments.positional) == 2 and not arguments.named:
        owner, receiver = arguments.positional
        if isinstance(owner, Static) and isinstance(owner.value, type):
            return Super(owner.value, receiver)
    if arguments.positional or arguments.named or cell is None or not names:
        raise s.refuse("flatten/unknown-call", "super() outside of a method, or of a class that is not known", node,
                       help="write super() in the method itself, or super(Class, self)")
    return Super(cell.cell_contents, s.frame.arguments[names[0]])


def _is_class(value: Any) -> bool:
    return isinstance(value, type) and _is_user_class(value)


def _is_user_class(cls: type) -> bool:
    return cls.__module__ not in ("builtins", "enum", "numpy") and not hasattr(cls, "__members__")


# --- inlining
def inline(s: Evaluator, fn: types.FunctionType, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """Evaluate a Python function in place."""
    try:
        captured = capture(fn, generators=True)
    except FlattenError as error:
        raise _with_note(s, error, fn, node) from None
    s.guards.code(fn)
    bound = lookup.bind(s, lookup.signature_of(fn), arguments, node)
    return enter(s, make_frame(s, fn, captured, bound, s.span(node)), node)


def _with_note(s: Evaluator, error: FlattenError, fn: types.FunctionType, node: cst.CSTNode) -> FlattenError:
    found = error.diagnostic
    chained = s.refuse(found.code, found.message, node, why=found.why, help=found.help)
    return type(error)(type(found)(found.code, found.message, chained.diagnostic.span, found.label, found.why,
                                   found.help, (Note(f"called here: {fn.__qualname__}"), *chained.diagnostic.notes)))


def make_frame(s: Evaluator, fn: types.FunctionType, captured: Captured, bound: dict[str, Abstract],
               call_span: Any) -> Frame:
    code = fn.__code__
    cells = dict(zip(code.co_freevars, fn.__closure__ or (), strict=True))
    s.counter += 1
    return Frame(len(s.frames) and s.counter, captured, fn, fn.__globals__,
                 captured.once(scopes.local_names, captured.tree), cells, None,
                 Scope(s.fresh(f"return_{captured.name.strip('<>')}")), call_span, bound)


def inline_closure(s: Evaluator, closure: Closure, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    captured, outer = closure.captured, closure.frame
    bound = lookup.bind(s, _tree_signature(closure), arguments, node)
    s.counter += 1
    frame = Frame(s.counter, captured, closure, outer.globals, scopes.local_names(captured.tree), {}, outer,
                  Scope(s.fresh(f"return_{captured.name.strip('<>')}")), s.span(node), bound)
    return enter(s, frame, node)


def _tree_signature(closure: Closure) -> inspect.Signature:
    params = closure.captured.tree.params
    kinds = inspect.Parameter
    rows: list[tuple[str, Any]] = [(p.name.value, kinds.POSITIONAL_ONLY) for p in params.posonly_params]
    rows += [(p.name.value, kinds.POSITIONAL_OR_KEYWORD) for p in params.params]
    if isinstance(params.star_arg, cst.Param):
        rows.append((params.star_arg.name.value, kinds.VAR_POSITIONAL))
    rows += [(p.name.value, kinds.KEYWORD_ONLY) for p in params.kwonly_params]
    if params.star_kwarg is not None:
        rows.append((params.star_kwarg.name.value, kinds.VAR_KEYWORD))
    return inspect.Signature([kinds(name, kind, default=closure.defaults.get(name, kinds.empty))
                              for name, kind in rows])


def enter(s: Evaluator, frame: Frame, node: cst.CSTNode) -> Abstract:
    """Run a frame as a region whose label is its return; the caller's locals are untouched."""
    if frame.captured.once(scopes.yields, frame.captured.tree):
        made = GeneratorCall(frame, node, tuple(s.frames))
        s.state.heap[made.left] = NOT_BEGUN
        return Lazy(lambda: s.space.iterate(s.space.steps(made, node), node), written=made)
    stacked = s.frame.recursion if s.frames and s.frame.identity is frame.identity else None
    if isinstance(stacked, stacked_calls.Stacked):
        return stacked_calls.called(s, s.frame, stacked, frame.arguments, node)
    check_recursion(s, frame, node)
    found = repeated_calls.copied(s, frame)
    if not isinstance(found, repeated_calls.Evaluation):
        return found
    with found as evaluation:
        caller = s.state
        s.frame.state = caller
        s.frames.append(frame)
        s.state = State(dict(frame.arguments), caller.heap)
        box_variables(s, frame)
        saved = s.build.origin
        try:
            value = evaluation.value = s.region(frame.returns, lambda: run_body(s, frame))
            frame.state = s.state
        finally:
            s.frames.pop()
            s.build.origin = saved
        s.state = State(caller.locals, s.state.heap)
    return value


def box_variables(s: Evaluator, frame: Frame) -> None:
    """The variables of a frame that nested functions write are boxes on the heap from the start."""
    for name in sorted(scopes.written_by_nested(frame.captured) & frame.local_names):
        box = BoxRef()
        s.state.heap[box] = (s.state.locals.get(name, UNBOUND),)
        s.state.locals[name] = box


def run_body(s: Evaluator, frame: Frame) -> Abstract:
    """The body of a function; what it falls off with is None."""
    tree = frame.captured.tree
    if isinstance(tree, cst.Lambda):
        return s.space.evaluate(tree.body)
    outermost = s.loops != "unroll" and frame.recursion is None \
        and not any(f.identity is frame.identity for f in s.frames[:-1])
    found = recursive_calls.plan(frame) if outermost else None
    calls = stacked_calls.plan(frame) if outermost else 0
    if found is None and not calls:
        return straight(s, tree)
    undo = loops.checkpoint(s)
    try:
        return loops.built_aside(s, lambda: straight(s, tree))
    except FlattenError as error:
        if error.code not in ("flatten/recursion", "flatten/int-too-large"):
            raise
        undo()
        refusal = error
    _remember_why(s, refusal)
    try:
        if found is not None:
            return loops.built_aside(s, lambda: _collected(s, frame, *found))
    except FlattenError as error:
        if not calls:
            raise error if error.code == refusal.code else refusal from None
        undo()
        _remember_why(s, refusal)
    stacked = stacked_calls.Stacked(calls)
    try:
        try:
            return loops.built_aside(s, lambda: stacked_calls.run(s, frame, stacked))
        except FlattenError:
            if not stacked.texts:
                raise
        undo()
        _remember_why(s, refusal)
        return stacked_calls.run(s, frame, stacked)
    except FlattenError as error:
        raise error if error.code == refusal.code else refusal from None


def _remember_why(s: Evaluator, refusal: FlattenError) -> None:
    """What a target without loops says."""
    if s.rolled is None:
        s.rolled = refusal


def _collected(s: Evaluator, frame: Frame, calls: frozenset[cst.Call], opcode: str) -> Abstract:
    """A recursion as a loop that collects what is done with its results."""
    if isinstance(frame.function, Closure):
        signature = _tree_signature(frame.function)
    else:
        signature = lookup.signature_of(frame.function)
    bind = recursive_calls.binder(s, frame, functools.partial(_arguments, s), signature)
    return recursive_calls.run(s, frame, recursive_calls.Recursion(calls, opcode, bind))


def straight(s: Evaluator, tree: cst.FunctionDef) -> Abstract:
    s.space.execute(tree.body)
    drop_locals(s)
    return Static(None)


def drop_locals(s: Evaluator) -> None:
    """A frame that is left takes its locals along, unless a closure may still read them."""
    if not s.frame.has_closures:
        held = {name: value for name, value in s.state.locals.items() if "@" in name} if s.frame.give else {}
        s.state = State(held, s.state.heap)


def check_recursion(s: Evaluator, frame: Frame, node: cst.CSTNode, around: Sequence[Frame] | None = None) -> None:
    """Refuse a recursion without an end; `around`: the frames that ran at the call, where it runs later."""
    active = [f for f in around or s.frames if f.identity is frame.identity]
    repeated = [f for f in active if not _made_apart(f, frame) and no_progress(f.arguments, frame.arguments)]
    frame.recursive = bool(repeated)
    s.trace.outside_reads += frame.recursive
    if len(repeated) > LANE_DEPTH and any(f.endless_for_nan for f in repeated):
        raise s.fault("RecursionError", "maximum recursion depth exceeded", node)
    if len(repeated) > LANE_DEPTH or repeated and not s.facts:
        raise s.refuse("flatten/recursion", f"{frame.captured.name} calls itself, and no static argument changes", node,
                       label="the recursion depends on the data", help="write it as a loop, or give the recursion an "
                       "end that the conditions around the call imply, as in `if x < 0: return -f(-x)`")
    if len(active) >= MAX_DEPTH:
        raise s.refuse("flatten/recursion", f"{frame.captured.name} is still calling itself after {len(active)} "
                       "nested calls", node)
    if len(s.frames) >= MAX_FRAMES:
        raise s.refuse("flatten/too-large", f"{len(s.frames)} calls are inside each other here", node,
                       help="call fewer functions from each other, or flatten the inner ones on their own")


def _made_apart(a: Frame, b: Frame) -> bool:
    """Two closures of one text, as a decorator makes when it is written twice."""
    return (isinstance(a.function, Closure) and isinstance(b.function, Closure)
            and a.function.frame is not b.function.frame)


def close_over(s: Evaluator, tree: cst.FunctionDef | cst.Lambda) -> Closure:
    """The closure that a nested def or lambda makes; defaults are evaluated now."""
    if isinstance(tree, cst.FunctionDef) and tree.asynchronous is not None:
        raise s.refuse("flatten/generator", "a nested coroutine cannot be flattened", tree)
    if set(s.frame.hidden) & scopes.read_names(tree):
        raise s.refuse("flatten/unsupported-expression", "a function that reads the variable of a comprehension", tree,
                       help="give it the value as a default: lambda x, k=k: ...")
    params = tree.params
    defaults = {p.name.value: s.space.evaluate(p.default)
                for p in [*params.posonly_params, *params.params, *params.kwonly_params] if p.default is not None}
    s.frame.has_closures = True
    return Closure(nested(s.frame.captured, tree), s.frame, defaults)
