"""`try` and its handlers; `with` of context managers that change no number, that catch, or that are written in Python.
"""

from __future__ import annotations

import contextlib
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

import libcst as cst
import numpy as np

from pyflat.errors import FlattenError
from pyflat.frontend.state import lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import NONE, UNBOUND, Abstract, Caught, Static
from pyflat.frontend.syntax import cleanups, scopes

Classes = tuple[tuple[type[BaseException], ...], ...]
"""For each handler the classes that it catches."""


def execute_try(s: Evaluator, node: cst.Try) -> None:
    if node.finalbody is None:
        _handled(s, node)
        return
    final = node.finalbody.body
    jumps = bool(scopes.jumps(final)) or scopes.returns(final)
    cleanups.run(s, lambda: _handled(s, node), lambda: s.space.execute(final), drops=jumps)


def _handled(s: Evaluator, node: cst.Try) -> None:
    """The statement without its `finally`."""
    caught = tuple(_classes(s, handler) for handler in node.handlers)
    orelse = node.orelse
    cleanups.catch(s, tuple(c for classes in caught for c in classes), lambda: s.space.execute(node.body),
                   lambda: None if orelse is None else s.space.execute(orelse.body),
                   lambda raised: _dispatch(s, node, caught, raised))


def _classes(s: Evaluator, handler: cst.ExceptHandler) -> tuple[type[BaseException], ...]:
    if handler.type is None:
        return (BaseException,)
    value = s.space.evaluate(handler.type)
    known = value.value if isinstance(value, Static) else None
    classes = known if isinstance(known, tuple) else (known,)
    if not all(isinstance(c, type) and issubclass(c, BaseException) for c in classes):
        raise s.refuse("flatten/lane-to-object", "the exception classes of a handler must be known", handler)
    return classes


def _dispatch(s: Evaluator, node: cst.Try, caught: Classes, raised: type[BaseException]) -> None:
    for handler, classes in zip(node.handlers, caught, strict=True):
        if issubclass(raised, classes):
            _handle(s, handler, raised)
            return


def _handle(s: Evaluator, handler: cst.ExceptHandler, cls: type[BaseException]) -> None:
    name = handler.name.name.value if handler.name is not None and isinstance(handler.name.name, cst.Name) else None
    if name is not None:
        s.store(name, Caught(cls))
    s.frame.handling.append(cls)
    try:
        s.space.execute(handler.body)
    finally:
        s.frame.handling.pop()
    if name is not None:
        s.store(name, UNBOUND)


# --- with
_QUIET = ("ignore", "warn", "print", "log", None)
"""Settings of np.errstate under which a floating-point error stays a value."""

_MANAGERS: tuple[Any, ...] = (np.errstate, warnings.catch_warnings, contextlib.nullcontext, contextlib.suppress)
_LOCKS = (type(threading.Lock()), type(threading.RLock()))


def execute_with(s: Evaluator, node: cst.With) -> None:
    if node.asynchronous is not None:
        raise s.refuse("flatten/generator", "an `async with` block", node, help="enter the context outside")
    before = s.effects.catching
    try:
        _entered(s, node, list(node.items))
    finally:
        s.effects.catching = before


def _entered(s: Evaluator, node: cst.With, items: list[cst.WithItem]) -> None:
    """The body inside of the contexts of `items`, the first of which is entered first."""
    if not items:
        s.space.execute(node.body)
        return
    item, *rest = items
    known = _known_manager(s, item.item)
    if known is not None and isinstance(item.item, cst.Call):
        values = [s.space.evaluate(arg.value) for arg in item.item.args]
        if known is contextlib.suppress:
            _suppressed(s, values, item, lambda: _entered(s, node, rest))
            return
        _bind(s, item, _unchanged(s, known, values, item))
        _entered(s, node, rest)
        return
    manager = _manager(s, item)
    if isinstance(manager, Static) and isinstance(manager.value, _LOCKS):
        _bind(s, item, Static(True))
        _entered(s, node, rest)
        return
    enter, leave = (lookup.method_of(manager, name) for name in ("__enter__", "__exit__"))
    if enter is None or leave is None:
        raise _unknown(s, item)
    if s.tries:
        raise s.refuse("flatten/not-yet", "a context manager inside of a try block", item,
                       why="whether __exit__ lets the exception pass is known only where it is raised",
                       help="put the try block inside of the with block")
    _bind(s, item, lookup.call_method(s, enter, [manager], item))
    cleanups.run(s, lambda: _entered(s, node, rest),
                 lambda: lookup.call_method(s, leave, [manager, NONE, NONE, NONE], item))


def _manager(s: Evaluator, item: cst.WithItem) -> Abstract:
    try:
        return s.space.evaluate(item.item)
    except FlattenError as error:
        if error.diagnostic.code not in ("flatten/unknown-call", "flatten/generator"):
            raise
        raise _unknown(s, item) from None


def _known_manager(s: Evaluator, node: cst.BaseExpression) -> Any:
    """The class of the standard library or of NumPy that is called, None for everything else."""
    name = node.func if isinstance(node, cst.Call) else None
    if isinstance(name, cst.Attribute) and isinstance(name.value, cst.Name):
        module = s.space.evaluate(name.value)
        if not isinstance(module, Static) or not isinstance(module.value, types.ModuleType):
            return None
    elif not isinstance(name, cst.Name):
        return None
    function = s.space.evaluate(name)
    found = function.value if isinstance(function, Static) else None
    return next((each for each in _MANAGERS if each is found), None)


def _bind(s: Evaluator, item: cst.WithItem, value: Abstract) -> None:
    if item.asname is not None:
        s.space.assign(item.asname.name, value)


def _unchanged(s: Evaluator, known: Any, values: list[Abstract], item: cst.WithItem) -> Abstract:
    """What a context manager gives that changes no number."""
    if known is np.errstate and all(isinstance(v, Static) and v.value in _QUIET for v in values):
        return NONE
    if known is warnings.catch_warnings and item.asname is None and all(isinstance(v, Static) for v in values):
        s.effects.catching = True
        return NONE
    if known is contextlib.nullcontext and len(values) < 2:
        return values[0] if values else NONE
    raise _unknown(s, item)


def _suppressed(s: Evaluator, values: list[Abstract], item: cst.WithItem, body: Callable[[], None]) -> None:
    """contextlib.suppress(...): the exceptions end the body and nothing else."""
    known = tuple(v.value for v in values if isinstance(v, Static))
    if len(known) < len(values) or not all(isinstance(c, type) and issubclass(c, BaseException) for c in known):
        raise s.refuse("flatten/lane-to-object", "the exception classes of suppress() must be known", item)
    _bind(s, item, NONE)
    cleanups.catch(s, known, body, lambda: None, lambda _: None)


def _unknown(s: Evaluator, item: cst.WithItem) -> Exception:
    return s.refuse("flatten/unsupported-statement", "a `with` block cannot be flattened", item,
                    why="what this context manager does on entering and leaving is not known",
                    help="np.errstate, warnings.catch_warnings, contextlib.nullcontext, contextlib.suppress, locks and "
                    "classes whose __enter__ and __exit__ are Python can; move others out of the flattened function")
