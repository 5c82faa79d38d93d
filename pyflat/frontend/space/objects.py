"""Objects: values from outside, attributes, and instances made in the flattened code.

Instances are those of namedtuples, dataclasses, and classes with __init__ or __new__ in Python.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from array import array
from collections import deque
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.library import dates
from pyflat.frontend.space import arrays, complex_numbers, memories, number_classes, scratch
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.scalars import const_eval, known_number
from pyflat.frontend.state import heap, lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, number_base, numeric_kind, per_alternative
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Arguments,
    Array,
    BoundMethod,
    Complex,
    DictRef,
    GuardedUnion,
    IterRef,
    LaneSet,
    ListRef,
    ObjRef,
    Scratch,
    Seq,
    Static,
    Super,
    Text,
    Unsigned,
    View,
    WithoutAxes,
)
from pyflat.functions import moments
from pyflat.ir.nodes import Value
from pyflat.ir.types import FLOAT

_NUMBERS = frozenset({bool, int, float})


def wrap(s: Evaluator, value: Any) -> Abstract:
    """A Python object from outside; a container is guarded as a whole."""
    if type(value) in _NUMBERS:
        return Static(value)
    written = s.scratch.get(id(value))
    if written is not None:
        return written
    s.widths.seen = s.widths.seen or isinstance(value, np.generic | np.ndarray)
    if isinstance(value, deque | array | bytearray | types.MappingProxyType):
        raise s.refuse("flatten/unsupported-expression", f"a captured {type(value).__name__} may change unseen",
                       help="capture a tuple or a list")
    arrays.require_plain(s, value)
    s.guards.contents(value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return arrays.local(s, Static(value))
    return known_number(s, dates.in_python(value) if dates.is_compiled(value) else value)


@per_alternative("owner", unless=arrays.is_array)
def attribute(s: Evaluator, owner: Abstract, name: str, node: cst.CSTNode) -> Abstract:
    """`owner.name`."""
    owner = scratch.seen(s, owner)
    match owner:
        case GuardedUnion() if arrays.is_array(owner):
            return BoundMethod(owner, name) if callable(getattr(np.ndarray, name, None)) else s.split(
                owner, lambda v: attribute(s, v, name, node))
        case Value() | WithoutAxes() if name == "__class__":
            return number_classes.class_of(s, owner, node)
        case Seq() | ObjRef() | ListRef() | DictRef() if name == "__class__":
            return Static(dates.public_class(lookup.class_of(owner)))
        case Array():
            return arrays.attribute(owner, name)
        case View():
            return memories.attribute(s, owner, name, node)
        case Scratch() if scratch.is_written(s, owner.value, name):
            return scratch.read(s, owner.value, name, node)
        case Static() | Scratch():
            return _static_attribute(s, owner, name, node)
        case Seq() if name in getattr(owner.cls, "_fields", ()):
            return owner.items[owner.cls._fields.index(name)]  # type: ignore[attr-defined]
        case ObjRef():
            stored = dict(heap.contents(s, owner, node))
            if name in stored and _own_method(inspect.getattr_static(owner.cls, name, None), "__set__") is None:
                value: Abstract = stored[name]
                if value is UNBOUND:
                    raise s.fault("AttributeError", name, node)
                return value
            return _class_attribute(s, owner, owner.cls, name, node)
        case Seq() if (base := number_base(owner.cls)) is not None and _found(owner.cls, name) is _found(base, name):
            return attribute(s, owner.items[0], name, node)
        case Seq():
            return _class_attribute(s, owner, owner.cls, name, node)
        case ListRef() | DictRef() | Text() | LaneSet():
            cls = set if isinstance(owner, LaneSet) else lookup.class_of(owner)
            if not isinstance(owner, IterRef) and not hasattr(cls, name):
                raise s.raised(AttributeError, node)
            return BoundMethod(owner, name)
        case Value():
            return _number_attribute(s, owner, name, node)
        case Unsigned():
            return _unsigned_attribute(s, owner, name, node)
        case Complex():
            return complex_numbers.attribute(s, owner, name, node)
        case Super():
            return _super_attribute(s, owner, name, node)
    raise s.refuse("flatten/unsupported-expression", f"attribute .{name} of {describe(owner)}", node)


def _found(cls: type, name: str) -> object:
    return inspect.getattr_static(cls, name, None)


def _super_attribute(s: Evaluator, owner: Super, name: str, node: cst.CSTNode) -> Abstract:
    """The attribute as the classes after `cls` in the receiver's resolution order have it."""
    cls = lookup.class_of(owner.receiver)
    if isinstance(owner.receiver, Static) and isinstance(owner.receiver.value, type):
        cls = owner.receiver.value
    order = cls.__mro__ if cls is not None else ()
    if owner.cls not in order:
        raise s.raised(TypeError, node)
    for base in order[order.index(owner.cls) + 1:]:
        found = vars(base).get(name)
        if isinstance(found, types.FunctionType):
            return BoundMethod(owner.receiver, name, found)
        if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
            return lookup.call_method(s, found.fget, [owner.receiver], node)
        if name == "__init__" and found is not None and (base is object or issubclass(base, BaseException)):
            return Static(_nothing)
        if name == "__new__" and isinstance(found, staticmethod):
            return Static(found.__func__)
        if name == "__new__" and base in (object, tuple, float, int):
            return Static(base.__new__)
        if name == "__setattr__" and base is object:
            return BoundMethod(owner.receiver, name, object.__setattr__)
        if isinstance(found, classmethod):
            return Static(types.MethodType(found.__func__, cls))
        if isinstance(found, staticmethod):
            return Static(found.__func__)
        if found is not None and not callable(found) and not hasattr(type(found), "__get__"):
            s.guards.member(base, name)
            return wrap(s, found)
        if found is not None:
            break
    raise s.refuse("flatten/unsupported-expression", f"super().{name}", node)


def _nothing(*_: object) -> None:
    return None


OF_NUMPY_NUMBERS = ("any", "all", "max", "min", "sum", "prod", "mean", "round")
"""Methods of NumPy's numbers that are its functions of one number."""


def _number_attribute(s: Evaluator, owner: Value, name: str, node: cst.CSTNode) -> Abstract:
    if not any(hasattr(cls, name) for cls in number_classes.classes_of(s, owner)) and (
            s.catches(AttributeError) or not hasattr(np.ndarray, name)):
        raise s.raised(AttributeError, node, f"{name!r} of a number")
    if name in ("real", "numerator"):
        return num.unary(s, "pos", owner)
    if name == "imag":
        return Static(0.0) if owner.kind is FLOAT else Static(0)
    if name in ("ndim", "shape", "size") and s.may_be_numpy(owner):
        return Static({"ndim": 0, "shape": (), "size": 1}[name])
    if s.is_numpy(owner) and (name == "astype" or name in ("squeeze", *OF_NUMPY_NUMBERS)
                              and np.ndarray not in number_classes.classes_of(s, owner)):
        return BoundMethod(owner, name)
    if name == "denominator":
        return Static(1)
    if name in ("is_integer", "conjugate", "item", "bit_length", "bit_count", "as_integer_ratio"):
        return BoundMethod(owner, name)
    raise s.refuse("flatten/unsupported-expression", f"attribute .{name} of a number", node,
                   help=s.one_number)


def _unsigned_attribute(s: Evaluator, owner: Unsigned, name: str, node: cst.CSTNode) -> Abstract:
    if name in ("real", "numerator"):
        return num.unary(s, "pos", owner)
    if name in ("imag", "denominator"):
        return Static(int(name == "denominator"))
    if name in ("bit_length", "bit_count"):
        return BoundMethod(owner, name)
    raise s.refuse("flatten/unsupported-expression", f"attribute .{name} of a number", node,
                   help=s.one_number)


def _static_attribute(s: Evaluator, owner: Static | Scratch, name: str, node: cst.CSTNode) -> Abstract:
    known = owner.value
    _require_known(s, type(known), name, node)
    if type(known) in lookup.BUILTIN:
        if callable(getattr(known, name, None)):
            return BoundMethod(owner, name)
        return const_eval(s, lambda: getattr(known, name))
    if not isinstance(known, types.ModuleType):
        s.guards.member(known, name)
    if isinstance(known, types.ModuleType) and scratch.is_written(s, vars(known), name):
        return scratch.read(s, vars(known), name, node)
    if name == "__dict__" and isinstance(vars(known) if hasattr(known, "__dict__") else None, dict) \
            and not isinstance(known, types.ModuleType):
        if isinstance(owner, Scratch):
            raise s.refuse("flatten/effect", f"__dict__ of {describe(owner)}", node)
        s.guards.contents(known.__dict__)
        return Static(dict(known.__dict__))
    if isinstance(known, inspect.Signature) and name == "parameters":
        return Static(dict(known.parameters))  # a signature does not change
    if not isinstance(known, type | types.ModuleType):
        found = inspect.getattr_static(type(known), name, None)
        if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
            return lookup.call_method(s, found.fget, [owner], node)
        if isinstance(found, types.FunctionType) and name not in getattr(known, "__dict__", ()):
            return BoundMethod(owner, name, found)
    value = const_eval(s, lambda: getattr(known, name))
    assert isinstance(value, Static)
    s.guards.attribute(known, name, value.value)
    return wrap(s, value.value)


def _require_known(s: Evaluator, cls: type, name: str, node: cst.CSTNode) -> None:
    """FlattenError for what pandas' moments and spans have, and those of `moments` do not."""
    if cls in moments.MAKERS and not hasattr(cls, name) and name not in ("ticks", "per") \
            and hasattr(shown := dates.public_class(cls), name):
        raise s.refuse("flatten/unsupported-expression", f"attribute .{name} of pandas' {shown.__name__}", node)


def _class_attribute(s: Evaluator, owner: Abstract, cls: type, name: str, node: cst.CSTNode) -> Abstract:
    _require_known(s, cls, name, node)
    s.guards.member(cls, name)
    if isinstance(owner, Seq) and name == "_replace" and hasattr(cls, "_fields"):
        return BoundMethod(owner, name)
    try:
        found = inspect.getattr_static(cls, name)
    except AttributeError:
        raise s.fault("AttributeError", f"'{cls.__name__}' object has no attribute '{name}'", node) from None
    match found:
        case property() if isinstance(found.fget, types.FunctionType):
            return lookup.call_method(s, found.fget, [owner], node)
        case functools.cached_property() if isinstance(found.func, types.FunctionType) and isinstance(owner, ObjRef):
            value = s.space.call(Static(found.func), Arguments([owner], {}), node)
            heap.rewrite(s, owner, (*heap.contents(s, owner, node), (name, value)), node)
            return value
        case types.FunctionType() | functools._lru_cache_wrapper():
            return BoundMethod(owner, name, found)
        case staticmethod():
            return Static(found.__func__)
        case classmethod():
            return Static(types.MethodType(found.__func__, cls))
        case _ if callable(found) and not hasattr(found, "__get__"):
            s.guards.attribute(cls, name, found)
            return wrap(s, found)
        case _ if callable(found):
            return BoundMethod(owner, name)
        case _ if (getter := _own_method(found, "__get__")) is not None:
            return s.space.call(Static(getter), Arguments([s.space.wrap(found), owner, Static(cls)], {}), node)
        case _ if hasattr(type(found), "__get__"):
            raise s.refuse("flatten/unsupported-expression", f"{name} of {cls.__name__} is a descriptor", node)
    s.guards.attribute(cls, name, getattr(cls, name))
    return wrap(s, getattr(cls, name))


def store_attribute(s: Evaluator, owner: Abstract, name: str, value: Abstract, node: cst.CSTNode) -> None:
    """`owner.name = value`, on instances made in the flattened code only."""
    if numeric_kind(owner) is not None and not isinstance(owner, Static):
        raise s.raised(AttributeError, node)  # a float has no attributes of its own, nor have NumPy's scalars
    if isinstance(owner, Static | Scratch) and _has_dict(owner.value, name):
        scratch.write(s, owner.value, name, value, node)
        return
    if not isinstance(owner, ObjRef):
        raise s.refuse("flatten/effect", f"an attribute of {describe(owner)} is written", node)
    params = getattr(owner.cls, "__dataclass_params__", None)
    if params is not None and params.frozen:
        raise s.raised(dataclasses.FrozenInstanceError, node)
    _store(s, owner, name, value, node)


def _has_dict(owner: Any, name: str) -> bool:
    """An object whose attribute of that name is an entry of its __dict__ and nothing else: no property or slot, not an
    attribute of a class or module."""
    if isinstance(owner, type | types.ModuleType) or not isinstance(getattr(owner, "__dict__", None), dict):
        return False
    params = getattr(type(owner), "__dataclass_params__", None)
    plain = inspect.getattr_static(type(owner), "__setattr__", None) is object.__setattr__
    return name in vars(owner) and plain and not (params is not None and params.frozen) \
        and not hasattr(inspect.getattr_static(type(owner), name, None), "__set__")


def _store(s: Evaluator, owner: ObjRef, name: str, value: Abstract, node: cst.CSTNode) -> None:
    """object.__setattr__: by a property or another descriptor of the class, else into a slot or the __dict__."""
    s.guards.member(owner.cls, name)
    found = inspect.getattr_static(owner.cls, name, None)
    if isinstance(found, property):
        if not isinstance(found.fset, types.FunctionType):
            raise s.fault("AttributeError", f"property '{name}' has no setter", node)
        s.space.call(Static(found.fset), Arguments([owner, value], {}), node)
        return
    setter = _own_method(found, "__set__")
    if setter is not None:
        s.space.call(Static(setter), Arguments([s.space.wrap(found), owner, value], {}), node)
        return
    if not hasattr(owner.cls, "__dict__") or all("__slots__" in vars(c) for c in owner.cls.__mro__[:-1]):
        if not isinstance(found, types.MemberDescriptorType):
            raise s.raised(AttributeError, node)
    elif hasattr(type(found), "__set__") and not isinstance(found, types.MemberDescriptorType):
        raise s.refuse("flatten/unsupported-expression", f"{name} of {owner.cls.__name__} is a descriptor", node)
    fields = dict(heap.contents(s, owner, node))
    fields[name] = value
    heap.rewrite(s, owner, tuple(fields.items()), node)


def _own_method(found: Any, name: str) -> types.FunctionType | None:
    """A special method of an object in a class, written in Python."""
    method = inspect.getattr_static(type(found), name, None)
    return method if isinstance(method, types.FunctionType) else None


def setattr_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """setattr(owner, "name", value)."""
    owner, name, value = _three(s, arguments, node)
    s.space.setattr(owner, name, value, node)
    return Static(None)


def store_plainly(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """object.__setattr__(owner, "name", value), which a frozen dataclass does not refuse."""
    owner, name, value = _three(s, arguments, node)
    if not isinstance(owner, ObjRef):
        raise s.refuse("flatten/effect", f"an attribute of {describe(owner)} is written", node)
    _store(s, owner, name, value, node)
    return Static(None)


def _three(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> tuple[Abstract, str, Abstract]:
    if len(arguments.positional) != 3 or arguments.named:
        raise s.raised(TypeError, node)
    owner, name, value = arguments.positional
    if not isinstance(name, Static) or not isinstance(name.value, str):
        raise s.refuse("flatten/lane-to-object", "the name of the attribute depends on the data", node)
    return owner, name.value, value


@per_alternative("value")
def isinstance_of(s: Evaluator, value: Abstract, classes: Any, node: cst.CSTNode) -> Abstract:
    """isinstance with the class that the value has in Python."""
    match value:
        case Value() | WithoutAxes():
            return number_classes.is_instance(s, value, classes, node)
        case Static():
            return const_eval(s, lambda: isinstance(value.value, dates.with_compiled(classes)))
    cls = lookup.class_of(value)
    if cls is None:
        raise s.refuse("flatten/unsupported-expression", f"the class of {describe(value)} is not known", node)
    shown = dates.public_class(cls)
    return const_eval(s, lambda: issubclass(cls, classes) or (
        shown is not cls and issubclass(shown, dates.with_compiled(classes))))


# --- instances made in the flattened code
def require_plain_tuple(s: Evaluator, cls: type, node: cst.CSTNode | None = None) -> None:
    """A namedtuple whose items are reached as those of a tuple are."""
    for special in ("__iter__", "__getitem__", "__len__", "__contains__", "__new__"):
        found = inspect.getattr_static(cls, special, None)
        written = found.__func__ if isinstance(found, staticmethod) else found
        if isinstance(written, types.FunctionType) and not written.__code__.co_filename.startswith("<"):
            raise s.refuse("flatten/unsupported-expression", f"{cls.__name__} defines {special}", node)


def _written_new(cls: type) -> Any:
    """What `cls.__new__` is, with its staticmethod taken off; None where namedtuple has made it."""
    found = inspect.getattr_static(cls, "__new__", None)
    found = getattr(found, "__func__", found)
    return None if isinstance(found, types.FunctionType) and makes_namedtuples(found) else found


def makes_namedtuples(fn: types.FunctionType) -> bool:
    """The function is the __new__ that collections.namedtuple has written."""
    return fn.__name__ == "__new__" and fn.__code__.co_filename.startswith("<string>")


def bare_namedtuple(s: Evaluator, new: types.FunctionType, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """The __new__ of a namedtuple, called for a class that is made from it."""
    cls = arguments.positional[0]
    if not isinstance(cls, Static) or not isinstance(cls.value, type) or not issubclass(cls.value, tuple):
        raise s.raised(TypeError, node)
    bound = lookup.bind(s, lookup.signature_of(new), arguments, node)
    return Seq(cls.value, tuple(list(bound.values())[1:]))


def bare_tuple(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """tuple.__new__(cls, items): an instance of a subclass of tuple."""
    cls, *source = arguments.positional
    known = cls.value if isinstance(cls, Static) else None
    if not isinstance(known, type) or not issubclass(known, tuple) or len(source) > 1 or arguments.named:
        raise s.refuse("flatten/unknown-call", "tuple.__new__ of this class", node)
    items = s.space.items(source[0], node) if source else []
    if hasattr(known, "_fields") and len(known._fields) != len(items):
        raise s.refuse("flatten/unsupported-expression", f"a {known.__name__} with {len(items)} items", node,
                       help=f"give it {len(known._fields)}")
    return Seq(known, tuple(items)) if known is not tuple else heap.make_tuple(items)


def construct(s: Evaluator, cls: type, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """`cls(...)` for namedtuples, dataclasses (a generated __init__ has no file) and plain classes."""
    if issubclass(cls, tuple) and isinstance(_written_new(cls), types.FunctionType):
        if type(cls).__call__ is type.__call__:
            return _made(s, cls, _written_new(cls), arguments, node)
    elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
        require_plain_tuple(s, cls, node)
        bound = lookup.bind(s, inspect.signature(cls), arguments, node)
        return Seq(cls, tuple(bound[name] for name in cls._fields))
    base = number_base(cls)
    if base is not None and inspect.getattr_static(cls, "__new__") is inspect.getattr_static(base, "__new__"):
        made = bare_number(s, Arguments([Static(cls), *arguments.positional], arguments.named), node)
        return _initialised(s, cls, made, arguments, node)
    made_by = inspect.getattr_static(cls, "__new__", object.__new__)
    made_by = getattr(made_by, "__func__", made_by)
    if isinstance(made_by, types.FunctionType) and type(cls).__call__ is type.__call__:
        return _made(s, cls, made_by, arguments, node)
    if made_by is not object.__new__ or type(cls).__call__ is not type.__call__:
        builtin = next((base for base in cls.__mro__ if base in lookup.BUILTIN), None)
        if cls.__module__ in ("decimal", "fractions"):
            raise s.refuse("flatten/unknown-call", f"a {cls.__name__} of a computed number", node,
                           why="numbers are floats and ints of 64 bits here, whose digits are binary",
                           help="compute with floats and round(x, 2), or with ints of the smallest unit, as cents")
        if builtin is not None:
            raise s.refuse("flatten/unknown-call", f"{cls.__name__}(...), which is a {builtin.__name__}", node,
                           why=f"a twin has plain numbers and plain lists: the additions of a subclass of "
                           f"{builtin.__name__} would be lost", help="keep the number or list in an attribute of "
                           "an ordinary class")
        raise s.refuse("flatten/unknown-call", f"{cls.__name__} creates its instances in its own way", node,
                       help="write an __init__, and no __call__ of a metaclass")
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
        raise s.refuse("flatten/unknown-call", f"{cls.__name__}(...) cannot be made of computed values", node)
    return ref


def _made(s: Evaluator, cls: type, new: types.FunctionType, arguments: Arguments, node: cst.CSTNode
          ) -> Abstract:
    """An instance by a __new__ that is written in Python, and then __init__ if the result is an instance."""
    s.guards.member(cls, "__new__")
    made = s.space.call(Static(new), Arguments([Static(cls), *arguments.positional], arguments.named), node)
    return _initialised(s, cls, made, arguments, node)


def _initialised(s: Evaluator, cls: type, made: Abstract, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    s.guards.member(cls, "__init__")
    init = inspect.getattr_static(cls, "__init__", None)
    found = lookup.class_of(made)
    if found is not None and issubclass(found, cls) and isinstance(init, types.FunctionType):
        s.space.call(Static(init), Arguments([made, *arguments.positional], arguments.named), node)
    return made


def bare_number(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """float.__new__(cls, x), or int's: an instance of a subclass."""
    cls, *given = arguments.positional
    base = number_base(cls.value) if isinstance(cls, Static) and isinstance(cls.value, type) else None
    if base is None:
        raise s.refuse("flatten/unknown-call", "the __new__ of a number, of this class", node)
    assert isinstance(cls, Static)
    s.guards.instance(cls.value)
    return Seq(cls.value, (s.space.call(Static(base), Arguments(given, arguments.named), node),))


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
