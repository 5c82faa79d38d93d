"""Statements: assignments, branches, jumps, definitions. Every other statement is refused, never dropped."""

from __future__ import annotations

import importlib
import inspect
import itertools
import types
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from pyflat.errors import FlattenError
from pyflat.frontend.space import (
    arrays,
    containers,
    growing,
    memories,
    number_classes,
    operators,
    routines,
    scratch,
    whole_arrays,
)
from pyflat.frontend.space.scalars import METHODS
from pyflat.frontend.state import heap, lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, is_generator, per_alternative
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Arguments,
    BoundMethod,
    Caught,
    ListRef,
    Pending,
    Scratch,
    Static,
    View,
)
from pyflat.frontend.syntax import (
    calls,
    cleanups,
    expressions,
    handlers,
    local_classes,
    loops,
    narrowing,
    patterns,
    recursive_calls,
    scopes,
    stacked_calls,
)


def execute_suite(s: Evaluator, suite: cst.BaseSuite) -> None:
    """Every statement of a body, in order; ControlLeft ends it early."""
    for statement in suite.body:
        execute(s, statement)


def execute(s: Evaluator, node: Any) -> None:
    if type(node) is cst.SimpleStatementLine:  # isinstance asks Python code of LibCST's where it is not
        for small in node.body:
            execute(s, small)
        return
    rule = _RULES.get(type(node))
    if rule is None:
        raise s.refuse("flatten/unsupported-statement", f"{_title(node)} cannot be flattened", node)
    with s.at(node):
        rule(s, node)


_TITLES = {"Global": "a `global` declaration", "Nonlocal": "a `nonlocal` declaration",
           "TryStar": "an `except*` block",
           "TypeAlias": "a type alias"}


def _title(node: cst.CSTNode) -> str:
    name = type(node).__name__
    return _TITLES.get(name, f"the statement `{name}`")


def _nothing(s: Evaluator, node: Any) -> None:
    """`pass`; `global` and `nonlocal`, where writing to the name is what is refused."""


def _expression(s: Evaluator, node: cst.Expr) -> None:
    value = node.value
    if isinstance(value, cst.Await):
        raise s.refuse("flatten/generator", "coroutines cannot be flattened", node)
    if not isinstance(value, cst.SimpleString | cst.ConcatenatedString | cst.Ellipsis):
        s.space.evaluate(value)


# --- assignment
def _assign(s: Evaluator, node: cst.Assign) -> None:
    first = node.targets[0].target
    alone = type(first) is cst.Subscript and len(node.targets) == 1
    value = expressions.operand(s, node.value, first) if alone else s.space.evaluate(node.value)
    for target in node.targets:
        assign(s, target.target, value, node if len(node.targets) == 1 else None)


def _annotated(s: Evaluator, node: cst.AnnAssign) -> None:
    if node.value is not None:
        assign(s, node.target, s.space.evaluate(node.value), node)


def assign(s: Evaluator, target: cst.BaseExpression, value: Abstract, statement: cst.CSTNode | None = None) -> None:
    """Bind `value` to a name, item, attribute or pattern of them."""
    match target:
        case cst.Name():
            _bind_name(s, target, value, statement)
        case cst.Tuple() | cst.List():
            _unpack(s, target.elements, value, target)
        case cst.Subscript():
            owner = s.space.evaluate(target.value)
            if isinstance(value, Pending) and not isinstance(owner, View):
                value = memories.computed(s, value, target)
            s.space.setitem(owner, expressions.subscript_key(s, target), value, target)
        case cst.Attribute():
            owner = s.space.evaluate(target.value)
            s.space.setattr(owner, target.attr.value, value, target)
        case _:
            raise s.refuse("flatten/unsupported-statement", "this assignment target cannot be flattened", target)


def _bind_name(s: Evaluator, target: cst.Name, value: Abstract, statement: cst.CSTNode | None) -> None:
    name = target.value
    if name in s.frame.local_names:
        s.store(name, s.name_value(value, name, statement))
    elif not expressions.store_outside(s, name, s.name_value(value, name, statement)):
        place = expressions.outside_place(s, name)
        if place is None:
            raise s.refuse("flatten/effect", f"the global or enclosing variable {name!r} is written", target,
                           help="return the value instead")
        scratch.write(s, *place, value, target)


def _unpack(s: Evaluator, elements: Sequence[cst.BaseElement], value: Abstract, node: cst.CSTNode) -> None:
    stars = [i for i, e in enumerate(elements) if isinstance(e, cst.StarredElement)]
    if not stars and is_generator(value := s.space.iterator(value, node)):  # one more shows that there are too many
        value = s.space.call(Static(itertools.islice), Arguments([value, Static(len(elements) + 1)], {}), node)
    items = memories.unpacked(s, value, len(elements), node) if isinstance(value, View) and not stars \
        else containers.items_to_unpack(s, value, len(elements), node)
    if stars:
        position, tail = stars[0], len(elements) - stars[0] - 1
        if len(items) < len(elements) - 1:
            raise s.raised(ValueError, node)
        middle = heap.new_list(s, items[position:len(items) - tail])
        items = [*items[:position], middle, *items[len(items) - tail:]]
    if len(items) != len(elements):
        raise s.raised(ValueError, node)
    for element, item in zip(elements, items, strict=True):
        assign(s, element.value, item)


def _augmented(s: Evaluator, node: cst.AugAssign) -> None:
    """`x += e`: the target is evaluated once; a local list is extended in place."""
    opcode = _AUGMENTED[type(node.operator)]
    match node.target:
        case cst.Name():
            place = None if node.target.value in s.frame.local_names else expressions.outside_place(
                s, node.target.value)
            if place is not None and scratch.counts(s, *place, opcode):
                scratch.count(s, *place, s.space.evaluate(node.value), node.target)
                return
            old = s.space.evaluate(node.target)
            value = _added(s, old, node.value)
            _bind_name(s, node.target, _combine(s, opcode, old, value, node), node)
        case cst.Subscript():
            owner = s.space.evaluate(node.target.value)
            key = expressions.subscript_key(s, node.target)
            if isinstance(owner, Scratch) and isinstance(key, Static) and type(owner.value) in (list, dict):
                item = scratch.place_of(s, owner.value, key, node)
                if scratch.counts(s, owner.value, item, opcode):
                    scratch.count(s, owner.value, item, s.space.evaluate(node.value), node.target)
                    return
            old = s.space.getitem(owner, key, node.target)
            value = _added(s, old, node.value)
            made = _combine(s, opcode, old, value, node)
            if not isinstance(made, View) or made is not old or whole_arrays.has_arrays(key):  # else it is written
                s.space.setitem(owner, key, made, node.target)
        case cst.Attribute():
            owner = s.space.evaluate(node.target.value)
            name = node.target.attr.value
            if isinstance(owner, Scratch) and scratch.counts(s, owner.value, name, opcode):
                scratch.count(s, owner.value, name, s.space.evaluate(node.value), node.target)
                return
            old = s.space.getattr(owner, node.target.attr.value, node.target)
            value = s.space.evaluate(node.value)
            s.space.setattr(owner, node.target.attr.value, _combine(s, opcode, old, value, node), node)


def _added(s: Evaluator, old: Abstract, node: cst.BaseExpression) -> Abstract:
    return expressions.operand(s, node) if isinstance(old, View) else s.space.evaluate(node)


@per_alternative("old", unless=arrays.is_numeric)
def _combine(s: Evaluator, opcode: str, old: Abstract, value: Abstract, node: cst.CSTNode) -> Abstract:
    if number_classes.is_without_axes(s, old) and (s.widths.kernel or list(s.state.locals.values()).count(old) > 1):
        raise s.refuse("flatten/unsupported-expression", "an array without axes is changed in place", node,
                       help="write x = x + y, or take the number in it, x[()]")
    if arrays.is_array(old) or isinstance(old, View):
        return operators.in_place(s, opcode, old, value, node)
    in_place = lookup.method_of(old, "__i" + METHODS[opcode][2:])
    if in_place is not None:
        return lookup.call_method(s, in_place, [old, value], node)
    if isinstance(old, ListRef):
        if opcode == "add" and (growing.is_growing(s, old) or growing.is_growing(s, value)):
            s.space.call(BoundMethod(old, "extend"), Arguments([value], {}), node)
            return old
        if opcode == "add":
            added = containers.items_or_gaps(s, value, node)
            heap.rewrite(s, old, (*heap.contents_with_gaps(s, old, node), *added), node)
            return old
        raise s.refuse("flatten/unsupported-statement", "this augmented assignment to a list", node)
    if isinstance(old, Static) and isinstance(old.value, list | dict | set) or type(old).__name__ == "DictRef":
        raise s.refuse("flatten/effect", f"an augmented assignment changes {describe(old)} in place", node)
    return s.space.binary(opcode, old, value, node)


_AUGMENTED: dict[type, str] = {
    cst.AddAssign: "add", cst.SubtractAssign: "sub", cst.MultiplyAssign: "mul", cst.DivideAssign: "truediv",
    cst.FloorDivideAssign: "floordiv", cst.ModuloAssign: "mod", cst.PowerAssign: "pow", cst.BitAndAssign: "and",
    cst.BitOrAssign: "or", cst.BitXorAssign: "xor", cst.LeftShiftAssign: "shl", cst.RightShiftAssign: "shr",
    cst.MatrixMultiplyAssign: "matmul",
}


# --- control
def _if(s: Evaluator, node: cst.If) -> None:
    test = s.space.condition(node.test)
    if isinstance(test, Static):
        if test.value:
            execute_suite(s, node.body)
        elif node.orelse is not None:
            _orelse(s, node.orelse)
        return
    orelse = node.orelse
    then, other = narrowing.arms(s, node.test, lambda: execute_suite(s, node.body),
                                 lambda: None if orelse is None else _orelse(s, orelse))
    s.branch(test, then, other, test=node.test)


def _orelse(s: Evaluator, node: cst.If | cst.Else) -> None:
    if isinstance(node, cst.If):
        execute(s, node)
    else:
        execute_suite(s, node.body)


def _return(s: Evaluator, node: cst.Return) -> None:
    if s.frame.recursion is not None:
        if isinstance(s.frame.recursion, stacked_calls.Stacked):
            value = Static(None) if node.value is None else s.space.evaluate(node.value)
            stacked_calls.give(s, s.frame, s.frame.recursion, value, node)
        recursive_calls.go_around(s, s.frame, s.frame.recursion, node.value)
    value = Static(None) if node.value is None else s.space.evaluate(node.value)
    if s.widths.kernel and len(s.frames) == 1:
        value = routines.returned(s, value, node)
    cleanups.before_jump(s)
    calls.drop_locals(s)
    raise s.leave(s.frame.returns, value)


def _break(s: Evaluator, node: cst.Break) -> None:
    scope = s.frame.loops[-1].leave
    assert scope is not None
    cleanups.before_jump(s, len(s.frame.loops))
    raise s.leave(scope)


def _continue(s: Evaluator, node: cst.Continue) -> None:
    scope = s.frame.loops[-1].again
    assert scope is not None
    cleanups.before_jump(s, len(s.frame.loops))
    raise s.leave(scope)


def _raise(s: Evaluator, node: cst.Raise) -> None:
    """The lane is a fault; the replay makes the exception, so that its arguments need not be computed here.

    Inside a `try` the class decides which handler it goes to; where it is not known now, the lane is replayed.
    """
    raised = node.exc.func if isinstance(node.exc, cst.Call) else node.exc
    name = raised.value if isinstance(raised, cst.Name) else "Exception"
    if raised is None and s.frame.handling:
        raise s.raised(s.frame.handling[-1], node)
    if s.tries and raised is not None and _is_cause(s, node.cause):
        cls = _raised_class(s, raised)
        given = node.exc.args if isinstance(node.exc, cst.Call) else ()
        if cls is not None and _makes_itself(cls, given) and _evaluates(s, [arg.value for arg in given], cls, node):
            raise s.raised(cls, node)
    raise s.fault(name, "", node)


def _is_cause(s: Evaluator, node: cst.From | None) -> bool:
    """`from None`, or from an exception that a handler has caught."""
    if node is None or isinstance(node.item, cst.Name) and node.item.value == "None":
        return True
    return isinstance(node.item, cst.Name) and isinstance(s.state.locals.get(node.item.value), Caught)


def _raised_class(s: Evaluator, raised: cst.BaseExpression) -> type[BaseException] | None:
    """The class that is raised or called to make what is; None where that is not known."""
    cls = s.space.evaluate(raised) if isinstance(raised, cst.Name | cst.Attribute) else None
    match cls:
        case Caught():
            return cls.cls
        case Static(value=type() as known) if issubclass(known, BaseException):
            return known
    return None


_MAKE_OTHERS = (OSError, UnicodeError, ImportError, BaseExceptionGroup)
"""They look at their arguments: OSError(2, "no file") is a FileNotFoundError."""


def _makes_itself(cls: type[BaseException], given: Sequence[cst.Arg]) -> bool:
    """Making one of the class with these arguments gives one of the class."""
    own = isinstance(inspect.getattr_static(cls, "__new__", None), staticmethod) or type(cls) is not type
    plain = not any(arg.star or arg.keyword for arg in given)
    return plain and not own and (not issubclass(cls, _MAKE_OTHERS) or len(given) < 2 and issubclass(cls, OSError))


def _evaluates(s: Evaluator, values: Sequence[cst.BaseExpression], cls: type[BaseException], node: cst.CSTNode) -> bool:
    """Evaluate the arguments of an exception, and its __init__, for what they may raise or do; False where that cannot
    be known."""
    init = inspect.getattr_static(cls, "__init__", None)
    own = init if isinstance(init, types.FunctionType) else None
    if own is None and all(isinstance(value, cst.SimpleString | cst.Integer | cst.Float) for value in values):
        return True
    undo = loops.checkpoint(s)

    def evaluate() -> None:
        given = list(map(s.space.evaluate, values))
        if own is not None:
            lookup.call_method(s, own, [heap.record(s, cls, (), ()), *given], node)

    try:
        loops.built_aside(s, evaluate)
    except FlattenError:
        undo()
        return False
    return True


def _assert(s: Evaluator, node: cst.Assert) -> None:
    if not __debug__:
        return
    test = s.space.condition(node.test)

    def fail() -> Abstract:
        if node.msg is not None and s.tries and not _evaluates(s, [node.msg], AssertionError, node):
            raise s.fault("AssertionError", "", node)
        raise s.raised(AssertionError, node)

    if not isinstance(test, Static):
        s.branch(test, lambda: None, fail, test=node.test)
    elif not test.value:
        fail()


def _delete(s: Evaluator, node: cst.Del) -> None:
    if isinstance(node.target, cst.Subscript):
        owner = s.space.evaluate(node.target.value)
        s.space.delitem(owner, expressions.subscript_key(s, node.target), node)
        return
    for name in scopes.target_names(node.target):
        expressions.load(s, s.frame, name, node)
        if name not in s.frame.local_names:
            raise s.refuse("flatten/effect", f"the captured name {name!r} is deleted", node)
        s.store(name, UNBOUND)
    if not scopes.target_names(node.target):
        raise s.refuse("flatten/unsupported-statement", "only local names and items of local lists are deleted", node)


# --- definitions and imports
def _define(s: Evaluator, node: cst.FunctionDef) -> None:
    decorators = [(s.space.evaluate(each.decorator), each.decorator) for each in node.decorators]
    made: Abstract = calls.close_over(s, node)
    for decorator, place in reversed(decorators):
        made = s.space.call(decorator, Arguments([made], {}), place)
    s.store(node.name.value, made)


def _import(s: Evaluator, node: cst.Import) -> None:
    for alias in node.names:
        name = alias.evaluated_name
        module = _module(s, name, None, node)
        if alias.asname is None:
            module = _module(s, name.split(".")[0], None, node)
        _bind_import(s, alias.evaluated_alias or name.split(".")[0], Static(module), node)


def _module(s: Evaluator, name: str, package: str | None, node: cst.CSTNode) -> types.ModuleType:
    """The module, imported now as the original would import it."""
    try:
        return importlib.import_module(name, package)
    except ImportError as error:
        raise s.raised(type(error), node) from None


def _bind_import(s: Evaluator, name: str, value: Abstract, node: cst.CSTNode) -> None:
    if name not in s.frame.local_names:
        raise s.refuse("flatten/effect", f"the import writes the global or enclosing variable {name!r}", node,
                       help="import it at the top of the module")
    s.store(name, value)


def _import_from(s: Evaluator, node: cst.ImportFrom) -> None:
    package = s.frame.globals.get("__package__") or ""
    path = "" if node.module is None else cst.Module([]).code_for_node(node.module)
    relative = "." * len(node.relative) + path
    if isinstance(node.names, cst.ImportStar):
        raise s.refuse("flatten/unsupported-statement", "`from ... import *` in a function", node)
    module = _module(s, relative, package, node)
    for alias in node.names:
        name = alias.evaluated_name
        if not hasattr(module, name):
            _module(s, f"{module.__name__}.{name}", None, node)
        value = getattr(module, name)
        s.guards.attribute(module, name, value)
        _bind_import(s, alias.evaluated_alias or name, s.space.wrap(value), node)


_RULES: dict[type, Callable[[Evaluator, Any], None]] = {
    cst.Pass: _nothing, cst.Expr: _expression, cst.Assign: _assign, cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented, cst.If: _if, cst.For: loops.execute_for, cst.While: loops.execute_while,
    cst.Return: _return, cst.Break: _break, cst.Continue: _continue, cst.Raise: _raise, cst.Assert: _assert,
    cst.Del: _delete, cst.FunctionDef: _define, cst.ClassDef: local_classes.define,
    cst.Import: _import, cst.ImportFrom: _import_from,
    cst.Global: _nothing, cst.Nonlocal: _nothing, cst.Try: handlers.execute_try, cst.Match: patterns.execute_match,
    cst.With: handlers.execute_with,
}
