"""Instances made in the flattened code: namedtuples, dataclasses, and classes with __init__ or __new__ in Python."""

from __future__ import annotations

import dataclasses
import inspect
import types

import libcst as cst

from pyflat.frontend.state import lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import Abstract, Arguments, ObjRef, Seq, Static


def require_plain_tuple(s: Evaluator, cls: type, node: cst.CSTNode | None = None) -> None:
    """A namedtuple whose items are reached as those of a tuple are."""
    for special in ("__iter__", "__getitem__", "__len__", "__bool__", "__contains__", "__new__"):
        found = inspect.getattr_static(cls, special, None)
        written = found.__func__ if isinstance(found, staticmethod) else found
        if isinstance(written, types.FunctionType) and not written.__code__.co_filename.startswith("<"):
            raise s.refuse("flatten/unsupported-expression", f"{cls.__name__} defines {special}", node)


def construct(s: Evaluator, cls: type, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """`cls(...)` for namedtuples, dataclasses (a generated __init__ has no file) and plain classes."""
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        require_plain_tuple(s, cls, node)
        bound = lookup.bind(s, inspect.signature(cls), arguments, node)
        return Seq(cls, tuple(bound[name] for name in cls._fields))
    made_by = inspect.getattr_static(cls, "__new__", object.__new__)
    made_by = getattr(made_by, "__func__", made_by)
    if isinstance(made_by, types.FunctionType) and type(cls).__call__ is type.__call__ and not issubclass(cls, tuple):
        return _made(s, cls, made_by, arguments, node)
    if made_by is not object.__new__ or type(cls).__call__ is not type.__call__:
        raise s.refuse("flatten/unknown-call", f"{cls.__name__} makes its instances in its own way", node)
    if getattr(cls, "__abstractmethods__", None):
        raise s.raised(TypeError, node)
    _plain_attributes(s, cls, node)
    ref = ObjRef(cls)
    s.state.heap[ref] = ()
    s.guards.member(cls, "__init__")
    init = inspect.getattr_static(cls, "__init__", None)
    if dataclasses.is_dataclass(cls) and isinstance(init, types.FunctionType) and lookup.is_generated(init):
        _construct_dataclass(s, ref, cls, arguments, node)
    elif isinstance(init, types.FunctionType):
        s.space.call(Static(init), Arguments([ref, *arguments.positional], arguments.named), node)
    elif arguments.positional or arguments.named:
        raise s.refuse("flatten/unknown-call", f"{cls.__name__}(...) cannot be constructed per lane", node)
    return ref


def _made(s: Evaluator, cls: type, new: types.FunctionType, arguments: Arguments, node: cst.CSTNode
          ) -> Abstract:
    """An instance by a __new__ that is written in Python, and then __init__ if the result is an instance."""
    s.guards.member(cls, "__new__")
    s.guards.member(cls, "__init__")
    made = s.space.call(Static(new), Arguments([Static(cls), *arguments.positional], arguments.named), node)
    init = inspect.getattr_static(cls, "__init__", None)
    found = lookup.class_of(made)
    if found is not None and issubclass(found, cls) and isinstance(init, types.FunctionType):
        s.space.call(Static(init), Arguments([made, *arguments.positional], arguments.named), node)
    return made


def bare(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """object.__new__: an instance without attributes."""
    cls = arguments.positional[0] if arguments.positional else None
    if not isinstance(cls, Static) or not isinstance(cls.value, type) or issubclass(cls.value, lookup.BUILTIN):
        raise s.refuse("flatten/unknown-call", "object.__new__ of this class", node)
    _plain_attributes(s, cls.value, node)
    ref = ObjRef(cls.value)
    s.state.heap[ref] = ()
    return ref


def _plain_attributes(s: Evaluator, cls: type, node: cst.CSTNode) -> None:
    """Attributes are looked up and stored in the ordinary way."""
    for name in ("__getattribute__", "__setattr__", "__getattr__"):
        found = inspect.getattr_static(cls, name, None)
        if isinstance(found, types.FunctionType) and not (name == "__setattr__" and lookup.is_generated(found)):
            raise s.refuse("flatten/unsupported-expression", f"{cls.__name__} defines {name}", node)


def _construct_dataclass(s: Evaluator, ref: ObjRef, cls: type, arguments: Arguments, node: cst.CSTNode) -> None:
    bound = lookup.bind(s, inspect.signature(cls), arguments, node)
    fields: dict[str, Abstract] = {}
    for field in dataclasses.fields(cls):
        value = bound.get(field.name)
        if isinstance(value, Static) and field.default_factory is not dataclasses.MISSING and \
                value.value is inspect.signature(cls).parameters[field.name].default:
            value = s.space.call(Static(field.default_factory), Arguments([], {}), node)
        if value is None:
            value = Static(field.default)
        fields[field.name] = value
    s.state.heap[ref] = tuple(fields.items())
    after = inspect.getattr_static(cls, "__post_init__", None)
    if isinstance(after, types.FunctionType):
        lookup.call_method(s, after, [ref], node)
