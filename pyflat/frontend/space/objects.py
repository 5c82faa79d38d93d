"""Objects: attributes, methods, operators by dunder methods, and instances made in the flattened code."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from array import array
from collections import deque
from collections.abc import Sequence
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend import remedies
from pyflat.frontend.library import dates
from pyflat.frontend.space import array_operators as vectors
from pyflat.frontend.space import arrays, complex_numbers, containers
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.numbers import describe, now, static
from pyflat.frontend.state.frames import Specialiser
from pyflat.frontend.state.merge import lane
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Array,
    Bound,
    Caught,
    Choice,
    Closure,
    Complex,
    DictRef,
    ListRef,
    ObjRef,
    Seq,
    Static,
    Super,
    Text,
    numeric_kind,
    plain_number,
    python_type,
)
from pyflat.frontend.syntax import calls
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT

_NUMBERS = frozenset({bool, int, float})
_PLAIN = (bool, int, float, complex, str, bytes, type(None), range, frozenset, type(...))


BUILTIN = (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, range, np.ndarray, type(None))


def is_plain(value: Any) -> bool:
    """An immutable builtin value: operators on it are pure."""
    if isinstance(value, tuple):
        return all(is_plain(v) for v in value)
    return type(value) in _PLAIN or type(value) in (np.ndarray, list, dict, slice, set)


def wrap(s: Specialiser, value: Any) -> Abstract:
    """A Python object from outside; a container is guarded as a whole."""
    if type(value) in _NUMBERS:
        return static(value)
    s.saw_numpy = s.saw_numpy or isinstance(value, np.generic | np.ndarray)
    if isinstance(value, deque | array | bytearray | types.MappingProxyType):
        raise s.refuse("flatten/unsupported-expression", f"a captured {type(value).__name__} may change unseen",
                       help="capture a tuple or a list")
    s.guards.contents(value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return arrays.local(s, static(value))
    return static(dates.in_python(value) if dates.is_compiled(value) else value)


# --- attributes
def attribute(s: Specialiser, owner: Abstract, name: str, node: cst.CSTNode) -> Abstract:
    """`owner.name`."""
    match owner:
        case Choice() if arrays.is_array(owner):
            return Bound(owner, name) if callable(getattr(np.ndarray, name, None)) else s.split(
                owner, lambda v: attribute(s, v, name, node))
        case Choice():
            return s.split(owner, lambda v: attribute(s, v, name, node))
        case Value() | Seq() | ObjRef() | ListRef() | DictRef() if name == "__class__":
            return Static(class_of(owner))
        case Array():
            return arrays.attribute(owner, name)
        case Static():
            return _static_attribute(s, owner, name, node)
        case Seq() if name in getattr(owner.cls, "_fields", ()):
            return owner.items[owner.cls._fields.index(name)]  # type: ignore[attr-defined]
        case ObjRef():
            stored = dict(containers.contents(s, owner, node))
            if name in stored:
                value: Abstract = stored[name]
                if value is UNBOUND:
                    raise s.fault("AttributeError", name, node)
                return value
            return _class_attribute(s, owner, owner.cls, name, node)
        case Seq():
            return _class_attribute(s, owner, owner.cls, name, node)
        case ListRef() | DictRef() | Text():
            return Bound(owner, name)
        case Value():
            return _number_attribute(s, owner, name, node)
        case Complex():
            return complex_numbers.attribute(s, owner, name, node)
        case Super():
            return _super_attribute(s, owner, name, node)
    raise s.refuse("flatten/unsupported-expression", f"attribute .{name} of {describe(owner)}", node)


def _super_attribute(s: Specialiser, owner: Super, name: str, node: cst.CSTNode) -> Abstract:
    """The attribute as the classes after `cls` in the receiver's resolution order have it."""
    cls = class_of(owner.receiver)
    if isinstance(owner.receiver, Static) and isinstance(owner.receiver.value, type):
        cls = owner.receiver.value
    order = cls.__mro__ if cls is not None else ()
    if owner.cls not in order:
        raise s.raised(TypeError, node)
    for base in order[order.index(owner.cls) + 1:]:
        found = vars(base).get(name)
        if isinstance(found, types.FunctionType):
            return Bound(owner.receiver, name, found)
        if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
            return call_function(s, found.fget, [owner.receiver], node)
        if name == "__init__" and base is object:
            return Static(_nothing)
        if name == "__new__" and isinstance(found, staticmethod):
            return Static(found.__func__)
        if name == "__new__" and base is object:
            return Static(object.__new__)
        if found is not None:
            break
    raise s.refuse("flatten/unsupported-expression", f"super().{name}", node)


def _nothing() -> None:
    return None


def _number_attribute(s: Specialiser, owner: Value, name: str, node: cst.CSTNode) -> Abstract:
    if name in ("real", "numerator"):
        return num.unary(s, "pos", owner)
    if name == "imag":
        return Static(0.0) if owner.kind is FLOAT else Static(0)
    if name in ("ndim", "shape", "size") and s.may_be_numpy(owner):
        return Static({"ndim": 0, "shape": (), "size": 1}[name])
    if name in ("is_integer", "conjugate", "item", "bit_length", "bit_count"):
        return Bound(owner, name)
    raise s.refuse("flatten/unsupported-expression", f"attribute .{name} of a lane number", node,
                   help=remedies.ONE_NUMBER)


def _static_attribute(s: Specialiser, owner: Static, name: str, node: cst.CSTNode) -> Abstract:
    known = owner.value
    if type(known) in BUILTIN:
        if callable(getattr(known, name, None)):
            return Bound(owner, name)
        return now(s, lambda: getattr(known, name))
    if not isinstance(known, types.ModuleType):
        s.guards.member(known, name)
    if not isinstance(known, type | types.ModuleType):
        found = inspect.getattr_static(type(known), name, None)
        if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
            return call_function(s, found.fget, [owner], node)
        if isinstance(found, types.FunctionType) and name not in getattr(known, "__dict__", ()):
            return Bound(owner, name, found)
    value = now(s, lambda: getattr(known, name))
    assert isinstance(value, Static)
    s.guards.attribute(known, name, value.value)
    return wrap(s, value.value)


def _class_attribute(s: Specialiser, owner: Abstract, cls: type, name: str, node: cst.CSTNode) -> Abstract:
    s.guards.member(cls, name)
    if isinstance(owner, Seq) and name == "_replace" and hasattr(cls, "_fields"):
        return Bound(owner, name)
    try:
        found = inspect.getattr_static(cls, name)
    except AttributeError:
        raise s.fault("AttributeError", f"'{cls.__name__}' object has no attribute '{name}'", node) from None
    match found:
        case property() if isinstance(found.fget, types.FunctionType):
            return call_function(s, found.fget, [owner], node)
        case functools.cached_property() if isinstance(found.func, types.FunctionType) and isinstance(owner, ObjRef):
            value = calls.call(s, Static(found.func), calls.Arguments([owner], {}), node)
            containers.rewrite(s, owner, (*containers.contents(s, owner, node), (name, value)), node)
            return value
        case types.FunctionType():
            return Bound(owner, name, found)
        case staticmethod():
            return Static(found.__func__)
        case classmethod():
            return Static(types.MethodType(found.__func__, cls))
        case _ if callable(found):
            return Bound(owner, name)
        case _ if hasattr(type(found), "__get__"):
            raise s.refuse("flatten/unsupported-expression", f"{name} of {cls.__name__} is a descriptor", node)
    s.guards.attribute(cls, name, getattr(cls, name))
    return wrap(s, getattr(cls, name))


def store_attribute(s: Specialiser, owner: Abstract, name: str, value: Abstract, node: cst.CSTNode) -> None:
    """`owner.name = value`, on instances made in the flattened code only."""
    if numeric_kind(owner) is not None and not isinstance(owner, Static):
        raise s.raised(AttributeError, node)  # a float has no attributes of its own, nor have NumPy's scalars
    if not isinstance(owner, ObjRef):
        raise s.refuse("flatten/effect", f"an attribute of {describe(owner)} is written", node)
    found = inspect.getattr_static(owner.cls, name, None)
    params = getattr(owner.cls, "__dataclass_params__", None)
    if params is not None and params.frozen:
        raise s.raised(dataclasses.FrozenInstanceError, node)
    if not hasattr(owner.cls, "__dict__") or all("__slots__" in vars(c) for c in owner.cls.__mro__[:-1]):
        if not isinstance(found, types.MemberDescriptorType):
            raise s.raised(AttributeError, node)
    elif hasattr(type(found), "__set__") and not isinstance(found, property | types.MemberDescriptorType):
        raise s.refuse("flatten/unsupported-expression", f"{name} of {owner.cls.__name__} is a descriptor", node)
    if isinstance(found, property):
        if not isinstance(found.fset, types.FunctionType):
            raise s.fault("AttributeError", f"property '{name}' has no setter", node)
        call_function(s, found.fset, [owner, value], node)
        return
    fields = dict(containers.contents(s, owner, node))
    fields[name] = value
    containers.rewrite(s, owner, tuple(fields.items()), node)


# --- methods and operators
def method_of(owner: Abstract, name: str) -> types.FunctionType | None:
    """The Python function behind a method of an instance of a user's class."""
    match owner:
        case ObjRef() | Seq():
            found = inspect.getattr_static(owner.cls, name, None)
        case Static() if not is_plain(owner.value) or hasattr(type(owner.value), "_fields"):
            found = inspect.getattr_static(type(owner.value), name, None)
        case _:
            return None
    return found if isinstance(found, types.FunctionType) and not is_generated(found) else None


def call_function(s: Specialiser, fn: types.FunctionType, args: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """Call a method that was found on the class of the first argument."""
    cls = class_of(args[0]) if args else None
    if cls is not None:
        s.guards.member(cls, fn.__name__)
    return calls.call(s, Static(fn), calls.Arguments(list(args), {}), node)


def operate(s: Specialiser, opcode: str, dunder: str, a: Abstract, b: Abstract) -> Abstract | None:
    """Operators on arrays, sequences, strings and objects; None when the operands are for arithmetic."""
    node = s.build.origin.node if s.build.origin is not None else None
    if (arrays.is_array(a) or arrays.is_array(b)) and node is not None:
        return vectors.operate(s, opcode, a, b, node)
    done = _by_method(s, dunder, "__r" + dunder[2:], a, b, node)
    if done is not None:
        return done
    if isinstance(a, Text) or isinstance(a, Static) and isinstance(a.value, str) and not isinstance(b, Static):
        return Text()
    left, right = containers.sequence_items(s, a), containers.sequence_items(s, b)
    both_known = isinstance(a, Static) and isinstance(b, Static)
    if both_known or _is_array(a) or _is_array(b):
        return None
    if opcode == "add" and left is not None and right is not None:
        if _family(a) is not _family(b):
            raise s.raised(TypeError)
        return _sequence_like(s, a, [*left, *right])
    for items, owner, count in ((left, a, b), (right, b, a)):
        if opcode == "mul" and items is not None and isinstance(count, Static) and isinstance(count.value, int):
            return _sequence_like(s, owner, list(items) * count.value)
        if opcode == "mul" and items is not None and numeric_kind(count) in (BOOL, INT):
            raise s.refuse("flatten/list-mutation", "a list is repeated a number of times that differs by lane", node,
                           help="make it as long as it can get, or loop over range(n)")
    return None


def unary(s: Specialiser, opcode: str, value: Abstract, node: cst.CSTNode) -> Abstract:
    """`-x`, `+x`, `~x` of numbers and of objects that define them."""
    if arrays.is_array(value):
        return vectors.unary(s, opcode, value, node)
    found = method_of(value, f"__{opcode}__")
    return num.unary(s, opcode, value) if found is None else call_function(s, found, [value], node)


def _by_method(s: Specialiser, name: str, mirrored: str, a: Abstract, b: Abstract, node: cst.CSTNode | None
               ) -> Abstract | None:
    """The operator as a method of the left operand, then of the right one; None where both decline or have none."""
    if node is None:
        return None
    cls, other = class_of(a), class_of(b)
    overridden = method_of(b, mirrored) is not None and method_of(b, mirrored) is not method_of(a, mirrored)
    if cls is not None and other is not None and cls is not other and issubclass(other, cls) and overridden:
        a, b, name, mirrored = b, a, mirrored, name
    arithmetic = mirrored.startswith("__r")
    attempts = [(a, b, name)] if cls is other and cls is not None and arithmetic else [(a, b, name), (b, a, mirrored)]
    for owner, operand, method in attempts:
        found = method_of(owner, method)
        if found is None:
            continue
        result = call_function(s, found, [owner, operand], node)
        if isinstance(result, Choice):
            raise s.refuse("flatten/unsupported-expression", f"{method} is NotImplemented in some lanes only", node)
        if not (isinstance(result, Static) and result.value is NotImplemented):
            return result
    return None


def _family(value: Abstract) -> type | None:
    """list or tuple, for sequences: they are never equal and do not concatenate."""
    cls = class_of(value)
    if cls is None:
        return None
    return list if issubclass(cls, list) else tuple if issubclass(cls, tuple) else cls


def _is_array(value: Abstract) -> bool:
    return isinstance(value, Static) and isinstance(value.value, np.ndarray)


def _sequence_like(s: Specialiser, owner: Abstract, items: list[Abstract]) -> Abstract:
    if isinstance(owner, ListRef) or isinstance(owner, Static) and isinstance(owner.value, list):
        return containers.new_list(s, items)
    return containers.make_tuple(items)


def compare(s: Specialiser, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """A comparison of numbers, arrays, tuples, strings or objects."""
    if not (isinstance(a, Static) and isinstance(b, Static)):
        a, b = plain_number(a, numpy=False), plain_number(b, numpy=False)
    if complex_numbers.meet(a, b):
        return complex_numbers.compare(s, opcode, a, b)
    if arrays.is_array(a) or arrays.is_array(b):
        return vectors.compare(s, opcode, a, b, node)
    if isinstance(a, Choice) and not num.is_number_choice(a):
        return s.split(a, lambda v: compare(s, opcode, v, b, node))
    if isinstance(b, Choice) and not num.is_number_choice(b):
        return s.split(b, lambda v: compare(s, opcode, a, v, node))
    if numeric_kind(a) is not None and numeric_kind(b) is not None or isinstance(a, Choice) or isinstance(b, Choice):
        return num.compare(s, opcode, a, b)
    mirror = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}.get(opcode, opcode)
    defined = [name for value in (a, b) for name in ("__ne__", "__eq__") if method_of(value, name) is not None]
    if opcode == "ne" and defined and "__ne__" not in defined:
        return num.negate(s, compare(s, "eq", a, b, node))
    found = _by_method(s, f"__{opcode}__", f"__{mirror}__", a, b, node)
    if found is not None:
        return found
    if isinstance(a, ObjRef) or isinstance(b, ObjRef):
        return _compare_objects(s, opcode, a, b, node)
    if _is_dict(a) and _is_dict(b):
        return _compare_dicts(s, opcode, a, b, node)
    left, right = containers.sequence_items(s, a, node), containers.sequence_items(s, b, node)
    if left is None or right is None or isinstance(a, Static) and isinstance(b, Static):
        return num.compare(s, opcode, a, b)
    if _family(a) is not _family(b):
        if opcode in ("eq", "ne"):
            return Static(opcode == "ne")
        raise s.raised(TypeError, node)
    if opcode not in ("eq", "ne"):
        return _lexicographic(s, opcode, left, right, node)
    if len(left) != len(right):
        return Static(opcode == "ne")
    equal = _all_equal(s, list(zip(left, right, strict=True)), node)
    return num.negate(s, equal) if opcode == "ne" else equal


def _all_equal(s: Specialiser, pairs: Sequence[tuple[Abstract, Abstract]], node: cst.CSTNode) -> Abstract:
    equal: Abstract = Static(True)
    for x, y in pairs:
        same = num.truth(s, same_element(s, x, y, node))
        if isinstance(same, Static):
            if not same.value:
                return Static(False)
            continue
        equal = same if isinstance(equal, Static) else s.build.op("and", lane(equal), same)
    return equal


def same_element(s: Specialiser, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """Equality as containers use it: identical first, then ==.

    Only nan tells the two apart: where both values are nan they may be one object, and the lane is replayed.
    """
    if a is b:
        return Static(True)
    equal = compare(s, "eq", a, b, node)
    if complex_numbers.holds_complex(a) and complex_numbers.holds_complex(b):
        nans = [complex_numbers.is_nan(s, complex_numbers.promoted(s, value)) for value in (a, b)]
        containers.suspect_if(s, lane(complex_numbers.both(s, *nans)), "nan may be the same object", node)
    elif isinstance(a, Choice) or isinstance(b, Choice):
        for value in (a, b):
            if isinstance(value, Choice) and num.is_number_choice(value):
                number = num.number_choice_as_float(s, value)
                containers.suspect_if(s, s.build.op("ne", number, number), "nan may be the same object", node)
    elif numeric_kind(a) is FLOAT and numeric_kind(b) is FLOAT:
        nans = [num.compare(s, "ne", value, value) for value in (a, b)]
        if not any(isinstance(nan, Static) and not nan.value for nan in nans):
            containers.suspect_if(s, s.build.op("and", *map(lane, nans)), "nan may be the same object", node)
    return equal


def _is_dict(value: Abstract) -> bool:
    return isinstance(value, DictRef) or isinstance(value, Static) and isinstance(value.value, dict)


def _compare_dicts(s: Specialiser, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    if opcode not in ("eq", "ne"):
        raise s.raised(TypeError, node)
    left, right = containers.dict_entries(s, a), containers.dict_entries(s, b)
    equal: Abstract = Static(False)
    if left.keys() == right.keys():
        equal = _all_equal(s, [(left[k], right[k]) for k in left], node)
    return num.negate(s, equal) if opcode == "ne" else equal


def _compare_objects(s: Specialiser, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """Generated comparisons of dataclasses, otherwise identity."""
    if isinstance(a, ObjRef) and isinstance(b, ObjRef) and a.cls is b.cls and dataclasses.is_dataclass(a.cls):
        params = a.cls.__dataclass_params__  # type: ignore[attr-defined]
        if params.eq and opcode in ("eq", "ne") or params.order:
            names = [f.name for f in dataclasses.fields(a.cls) if f.compare]
            rows = [dict(containers.contents(s, ref, node)) for ref in (a, b)]
            left, right = (containers.make_tuple([row[n] for n in names]) for row in rows)
            return compare(s, opcode, left, right, node)
    for value in (a, b):
        if isinstance(value, Static) and not is_plain(value.value):
            raise s.refuse("flatten/unsupported-expression", "a captured object is compared with one made in a lane",
                           node)
    if opcode not in ("eq", "ne"):
        raise s.raised(TypeError, node)
    return Static((a is b) is (opcode == "eq"))


def _lexicographic(s: Specialiser, opcode: str, left: Sequence[Abstract], right: Sequence[Abstract],
                   node: cst.CSTNode) -> Abstract:
    """The first pair of unequal items decides; if there is none, the lengths do."""
    if not left or not right:
        return num.compare(s, opcode, Static(len(left)), Static(len(right)))
    same = num.truth(s, same_element(s, left[0], right[0], node))
    rest = functools.partial(_lexicographic, s, opcode, left[1:], right[1:], node)
    if isinstance(same, Static):
        return rest() if same.value else compare(s, opcode, left[0], right[0], node)
    return s.branch(same, rest, lambda: compare(s, opcode, left[0], right[0], node))


# --- classes
def is_generated(fn: types.FunctionType) -> bool:
    return fn.__code__.co_filename == "<string>"


def isinstance_of(s: Specialiser, value: Abstract, classes: Any, node: cst.CSTNode) -> Abstract:
    """isinstance with the class that the value has in Python."""
    match value:
        case Choice():
            return s.split(value, lambda v: isinstance_of(s, v, classes, node))
        case Static():
            return now(s, lambda: isinstance(value.value, dates.with_compiled(classes)))
    cls = class_of(value)
    if cls is None:
        raise s.refuse("flatten/unsupported-expression", f"the class of {describe(value)} is not known", node)
    return now(s, lambda: issubclass(cls, classes))


def class_of(value: Abstract) -> type | None:
    match value:
        case Value():
            return python_type(value.kind)
        case Static():
            return type(value.value)
        case Complex():
            return complex
        case Seq() | ObjRef():
            return value.cls
        case ListRef():
            return list
        case Array():
            return np.ndarray
        case DictRef():
            return dict
        case Text():
            return str
        case Caught():
            return value.cls
        case Closure():
            return types.FunctionType
    return None
