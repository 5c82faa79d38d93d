"""The callables that are operations: builtins, math, NumPy's scalar functions, methods of builtin types."""

from __future__ import annotations

import math
import numbers
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import libcst as cst
import numpy as np

from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.ops import NUMPY_BINARY, NUMPY_UNARY
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.specialise import calls, containers, library, objects
from pyflat.specialise import numbers as num
from pyflat.specialise.frames import Specialiser
from pyflat.specialise.merge import lane
from pyflat.specialise.numbers import as_float, describe, now
from pyflat.specialise.values import (
    Abstract,
    Bound,
    Choice,
    DictRef,
    Lazy,
    ListRef,
    Ranges,
    Static,
    Text,
    numeric_kind,
)

Handler = Callable[[Specialiser, "calls.Arguments", cst.CSTNode], Abstract]

_IMPURE = {print, input, open, exec, eval, compile, breakpoint, globals, locals, vars, setattr, delattr, exit, quit,
           __import__, iter, next, id, super, memoryview, bytearray}
_PURE_MODULES = {"math", "cmath", "operator", "_operator", "itertools", "bisect", "_bisect"}
_MUTATORS = {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault",
             "popitem", "add", "discard", "fill", "resize", "put", "itemset"}


def is_pure(function: Any) -> bool:
    """May be called now, when every argument is static."""
    if isinstance(function, np.ufunc):
        return True
    try:
        if function in _IMPURE:
            return False
    except TypeError:
        return False
    module = getattr(function, "__module__", None)
    if isinstance(function, types.BuiltinFunctionType) and function.__self__ is not None and module is None:
        return not isinstance(function.__self__, types.ModuleType) and objects.is_plain(function.__self__)
    if isinstance(function, type):
        return issubclass(function, bool | int | float | complex | str | bytes | tuple | frozenset | range | slice
                          | np.generic | numbers.Number) or function.__module__ in ("fractions", "decimal") \
            or hasattr(function, "__members__") or function is type
    if module == "builtins":
        return True
    return module in _PURE_MODULES or isinstance(module, str) and module.split(".")[0] == "numpy" \
        and "random" not in module


def mutates(method: Bound) -> bool:
    return method.name in _MUTATORS


def function(s: Specialiser, fn: Any, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract | None:
    """The value of a call of a known callable, None when it is not in the tables."""
    try:
        handler = _HANDLERS.get(fn)
    except TypeError:
        return None
    if handler is None:
        return None
    if arguments.all_static() and fn not in _ALWAYS:
        args, named = arguments.values()
        if all(not isinstance(v, types.FunctionType) for v in [*args, *named.values()]) and is_pure(fn):
            for value in args:
                if isinstance(value, list | set):
                    s.guards.members(value)
            return now(s, lambda: fn(*args, **named))
    for position, value in enumerate(arguments.positional):
        if isinstance(value, Choice) and fn not in _ALWAYS:
            return _split_call(s, fn, arguments, position, value, node)
    return handler(s, arguments, node)


def _split_call(s: Specialiser, fn: Any, arguments: calls.Arguments, position: int, value: Choice, node: cst.CSTNode
                ) -> Abstract:
    """A call with a Choice as an argument: one call for each alternative."""
    rest = arguments.positional

    def one(part: Abstract) -> Abstract:
        replaced = [*rest[:position], part, *rest[position + 1:]]
        return calls.call(s, Static(fn), calls.Arguments(replaced, arguments.named), node)

    return s.split(value, one)


# --- helpers for handlers
def _only(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode, least: int, most: int) -> list[Abstract]:
    """The positional arguments, checked in number; keywords are an error."""
    if arguments.named:
        raise s.refuse("flatten/bad-call", f"the keyword {next(iter(arguments.named))!r} is not supported here", node)
    if not least <= len(arguments.positional) <= most:
        raise s.fault("TypeError", f"expected {least} to {most} arguments", node)
    return arguments.positional


def _float_op(opcode: str, count: int = 1) -> Handler:
    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        values = _only(s, arguments, node, count, count)
        return s.build.op(opcode, *[as_float(s, v) for v in values])

    return handler


def _python(fn: Any) -> Handler:
    """A library function that is inlined."""

    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        return calls.inline(s, fn, arguments, node)

    return handler


def _binary(opcode: str) -> Handler:
    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        a, b = _only(s, arguments, node, 2, 2)
        return num.binary(s, opcode, a, b)

    return handler


def _compare(opcode: str) -> Handler:
    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        a, b = _only(s, arguments, node, 2, 2)
        return objects.compare(s, opcode, a, b, node)

    return handler


def _unary(opcode: str) -> Handler:
    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        return num.unary(s, opcode, *_only(s, arguments, node, 1, 1))

    return handler


# --- conversions and rounding
def _to_whole(opcode: str) -> Handler:
    """floor, ceil, trunc: float lanes to int lanes, ints as they are."""

    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        (value,) = _only(s, arguments, node, 1, 1)
        if numeric_kind(value) is None:
            raise num.type_fault(s, value)
        number = lane(value)
        return s.build.op(opcode, number) if number.kind is FLOAT else num.to_kind(s, number, INT)

    return handler


def _int(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    if len(arguments.positional) != 1:
        raise s.refuse("flatten/lane-to-object", "int() of a lane takes one argument", node)
    return _to_whole("to_int")(s, arguments, node)


def _float(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    return as_float(s, *_only(s, arguments, node, 1, 1))


def _bool(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    return num.truth(s, *_only(s, arguments, node, 1, 1))


def _round(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    values = [*arguments.positional, *arguments.named.values()]
    number = lane(values[0]) if numeric_kind(values[0]) is not None else None
    if number is None:
        raise num.type_fault(s, values[0])
    digits = values[1] if len(values) > 1 else Static(None)
    if isinstance(digits, Static) and digits.value is None:
        return s.build.op("round_int", number) if number.kind is FLOAT else num.to_kind(s, number, INT)
    if numeric_kind(digits) not in (INT, BOOL):
        raise s.fault("TypeError", "round() takes an int as its second argument", node)
    if number.kind is FLOAT:
        return s.build.op("round_digits", number, num.to_kind(s, lane(digits), INT))
    if isinstance(digits, Static) and digits.value >= 0:
        return num.to_kind(s, number, INT)
    raise s.refuse("flatten/not-yet", "round() of an int to negative digits", node, help="round the float quotient")


def _abs(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = _only(s, arguments, node, 1, 1)
    found = objects.method_of(value, "__abs__")
    if found is not None:
        return objects.call_function(s, found, [value], node)
    return num.unary(s, "abs", value)


def _log(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    values = _only(s, arguments, node, 1, 2)
    top = _one_log(s, values[0])
    return top if len(values) == 1 else num.binary(s, "truediv", top, _one_log(s, values[1]))


def _one_log(s: Specialiser, value: Abstract) -> Abstract:
    return now(s, lambda: math.log(value.value)) if isinstance(value, Static) else s.build.op("log", as_float(s, value))


def _scale(factor: float) -> Handler:
    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        (value,) = _only(s, arguments, node, 1, 1)
        return s.build.op("mul", as_float(s, value), const(factor))

    return handler


def _pow(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    a, b, *modulus = _only(s, arguments, node, 2, 3)
    if modulus:
        raise s.refuse("flatten/not-yet", "pow() with a modulus", node, help="write (a ** b) % m for small values")
    return num.binary(s, "pow", a, b)


def _divmod(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    a, b = _only(s, arguments, node, 2, 2)
    return containers.make_tuple([num.binary(s, "floordiv", a, b), num.binary(s, "mod", a, b)])


def _hypot(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    values = [as_float(s, v) for v in arguments.positional]
    if len(values) == 1:
        return s.build.op("abs", values[0])
    if len(values) != 2:
        raise s.refuse("flatten/not-yet", "hypot of more than two numbers", node, help="write sqrt(x*x + y*y + z*z)")
    return s.build.op("hypot", *values)


def _ldexp(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    x, exponent = _only(s, arguments, node, 2, 2)
    if numeric_kind(exponent) is FLOAT:
        raise s.fault("TypeError", "Expected an int as second argument to ldexp.", node)
    return s.build.op("ldexp", as_float(s, x), num.to_kind(s, lane(exponent), INT))


# --- reductions and sequences
def _least(opcode: str) -> Handler:
    """min and max as Python computes them: `b if b < a else a`, in order."""

    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        key = arguments.named.get("key")
        items = arguments.positional
        if len(items) == 1:
            items = containers.items_now(s, items[0], node)
        if not items:
            if "default" in arguments.named:
                return arguments.named["default"]
            raise s.fault("ValueError", "arg is an empty sequence", node)

        def keyed(value: Abstract) -> Abstract:
            if key is None or isinstance(key, Static) and key.value is None:
                return value
            return calls.call(s, key, calls.Arguments([value], {}), node)

        best, best_key = items[0], keyed(items[0])
        for item in items[1:]:
            item_key = keyed(item)
            better = num.truth(s, objects.compare(s, opcode, item_key, best_key, node))
            if isinstance(better, Static):
                best, best_key = (item, item_key) if better.value else (best, best_key)
                continue
            same = item is item_key and best is best_key
            best = num.choose(s, better, item, best)
            best_key = best if same else num.choose(s, better, item_key, best_key)
        return best

    return handler


def _sum(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    items = containers.items_now(s, arguments.positional[0], node)
    rest = [*arguments.positional[1:], *arguments.named.values()]
    total = rest[0] if rest else Static(0)
    for item in items:
        total = num.binary(s, "add", total, item) if objects.method_of(item, "__add__") is None else \
            calls.call(s, Static(operator.add), calls.Arguments([total, item], {}), node)
    return total


def _product(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    total = arguments.named.get("start", Static(1))
    for item in containers.items_now(s, arguments.positional[0], node):
        total = num.binary(s, "mul", total, item)
    return total


def _some(opcode: str) -> Handler:
    """any and all: every element is computed; one that only a later element would need is a suspect lane at worst."""

    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        stop = opcode == "or"
        known: Abstract = Static(not stop)
        for item in containers.items_now(s, _only(s, arguments, node, 1, 1)[0], node):
            held = num.truth(s, item)
            if isinstance(held, Static):
                if bool(held.value) is stop:
                    return Static(stop)
                continue
            known = held if isinstance(known, Static) else s.build.op(opcode, lane(known), held)
        return known

    return handler


def _len(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = _only(s, arguments, node, 1, 1)
    if isinstance(value, Static):
        size = now(s, lambda: len(value.value))
        if isinstance(value.value, list | dict | set):
            s.guards.length(value.value, len(value.value))
        return size
    if isinstance(value, DictRef):
        return Static(len(containers.contents(s, value, node)))
    found = objects.method_of(value, "__len__")
    if found is not None:
        return objects.call_function(s, found, [value], node)
    items = containers.sequence_items(s, value, node)
    if items is None:
        raise s.refuse("flatten/unsupported-expression", f"len() of {describe(value)}", node)
    return Static(len(items))


def _range(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    values = _only(s, arguments, node, 1, 3)
    if any(numeric_kind(v) is FLOAT for v in values):
        raise s.fault("TypeError", "'float' object cannot be interpreted as an integer", node)
    if all(isinstance(v, Static) for v in values):
        return now(s, lambda: range(*[v.value for v in values if isinstance(v, Static)]))
    start, stop = (Static(0), values[0]) if len(values) == 1 else (values[0], values[1])
    step = values[2] if len(values) == 3 else Static(1)
    if not isinstance(step, Static) or step.value == 0:
        raise s.refuse("flatten/iterable-not-static", "the step of this range differs from lane to lane", node)
    return Ranges(start, stop, step.value)


def _sequence(make: Callable[[Specialiser, list[Abstract]], Abstract]) -> Handler:
    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        values = _only(s, arguments, node, 0, 1)
        return make(s, containers.items_now(s, values[0], node) if values else [])

    return handler


def _dict(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    entries: dict[Any, Abstract] = {}
    for value in arguments.positional:
        if isinstance(value, DictRef) or isinstance(value, Static) and isinstance(value.value, dict):
            entries.update(containers.dict_entries(s, value))
            continue
        for pair in containers.items_now(s, value, node):
            key, item = containers.items_now(s, pair, node)
            entries[containers.static_key(s, key, node)] = item
    return containers.new_dict(s, {**entries, **arguments.named})


def _enumerate(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    values = [*arguments.positional, *arguments.named.values()]
    start = values[1] if len(values) > 1 else Static(0)
    if not isinstance(start, Static):
        raise s.refuse("flatten/lane-to-object", "the start of enumerate differs from lane to lane", node)

    def items() -> Iterator[Abstract]:
        for number, item in enumerate(containers.iterate(s, values[0], node), start.value):
            yield containers.make_tuple([Static(number), item])

    return Lazy(items)


def _zip(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    def items() -> Iterator[Abstract]:
        for row in zip(*[containers.iterate(s, v, node) for v in arguments.positional], strict=False):
            yield containers.make_tuple(row)

    return Lazy(items)


def _reversed(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = _only(s, arguments, node, 1, 1)
    if isinstance(value, Static) and isinstance(value.value, range):
        return Static(value.value[::-1])
    size = len(containers.items_now(s, value, node))

    def items() -> Iterator[Abstract]:
        for position in range(size - 1, -1, -1):
            yield containers.items_now(s, value, node)[position]

    return Lazy(items)


def _map(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    fn, *sources = arguments.positional

    def items() -> Iterator[Abstract]:
        for row in zip(*[containers.iterate(s, v, node) for v in sources], strict=False):
            yield calls.call(s, fn, calls.Arguments(list(row), {}), node)

    return Lazy(items)


def _sorted(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    """A stable insertion network of compare-and-exchange: for a few lanes."""
    if arguments.named:
        raise s.refuse("flatten/not-yet", "sorted() of lanes with key= or reverse=", node)
    items = containers.items_now(s, _only(s, arguments, node, 1, 1)[0], node)
    if len(items) > 16:
        raise s.refuse("flatten/too-large", f"sorting {len(items)} lane values", node)
    for end in range(1, len(items)):
        for at in range(end, 0, -1):
            a, b = items[at - 1], items[at]
            swap = num.truth(s, objects.compare(s, "lt", b, a, node))
            if isinstance(swap, Static):
                items[at - 1], items[at] = (b, a) if swap.value else (a, b)
            else:
                items[at - 1], items[at] = num.choose(s, swap, b, a), num.choose(s, swap, a, b)
    return containers.new_list(s, items)


# --- types
def _isinstance(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    value, classes = _only(s, arguments, node, 2, 2)
    if not isinstance(classes, Static):
        raise s.refuse("flatten/lane-to-object", "isinstance needs a static class", node)
    return objects.isinstance_of(s, value, classes.value, node)


def _type(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = _only(s, arguments, node, 1, 1)
    cls = objects.class_of(value)
    if cls is None:
        raise s.refuse("flatten/unsupported-expression", f"type() of {describe(value)}", node)
    return Static(cls)


def _getattr(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    owner, name, *default = arguments.positional
    if not isinstance(name, Static):
        raise s.refuse("flatten/lane-to-object", "getattr needs a static name", node)
    if default and isinstance(owner, Static) and not hasattr(owner.value, name.value):
        return default[0]
    return objects.attribute(s, owner, name.value, node)


def _callable(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = _only(s, arguments, node, 1, 1)
    return Static(callable(value.value) if isinstance(value, Static) else numeric_kind(value) is None)


def _text(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    return Text()


def _operator_add(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    from pyflat.specialise.expressions import operate

    a, b = _only(s, arguments, node, 2, 2)
    return operate(s, cst.Add(), a, b, node)


# --- NumPy on scalars
def _where(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    test, a, b = _only(s, arguments, node, 3, 3)
    cond = num.truth(s, test)
    if isinstance(cond, Static):
        return a if cond.value else b
    return num.choose(s, cond, a, b)


def _np_power(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    a, b = _only(s, arguments, node, 2, 2)
    if numeric_kind(a) is FLOAT or numeric_kind(b) is FLOAT:
        return s.build.op("np_power", as_float(s, a), as_float(s, b))
    return num.binary(s, "pow", a, b)


def _logical(opcode: str) -> Handler:
    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        a, b = (num.truth(s, v) for v in _only(s, arguments, node, 2, 2))
        return num.binary(s, opcode, a, b)

    return handler


def _logical_not(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    return num.negate(s, *_only(s, arguments, node, 1, 1))


def _np_round(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    if len(arguments.positional) != 1 or arguments.named:
        raise s.refuse("flatten/not-yet", "np.round with decimals", node, help="use round(x, n)")
    return s.build.op("rint", as_float(s, arguments.positional[0]))


def _array(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = arguments.positional[:1]
    if numeric_kind(value) is not None:
        return value
    raise s.refuse("flatten/not-yet", "an array made from lane values", node, help="use a tuple or a list")


_HANDLERS: dict[Any, Handler] = {
    abs: _abs, int: _int, float: _float, bool: _bool, round: _round, pow: _pow, divmod: _divmod, min: _least("lt"),
    max: _least("gt"), sum: _sum, any: _some("or"), all: _some("and"), len: _len, range: _range,
    tuple: _sequence(lambda s, items: containers.make_tuple(items)),
    list: _sequence(containers.new_list),
    set: _sequence(lambda s, items: containers.make_tuple(items)),
    frozenset: _sequence(lambda s, items: containers.make_tuple(items)),
    dict: _dict, enumerate: _enumerate, zip: _zip, reversed: _reversed, map: _map, sorted: _sorted,
    isinstance: _isinstance, type: _type, getattr: _getattr, callable: _callable, str: _text, repr: _text,
    format: _text, operator.add: _operator_add,
    math.floor: _to_whole("floor_int"), math.ceil: _to_whole("ceil_int"), math.trunc: _to_whole("to_int"),
    math.log: _log, math.degrees: _scale(180.0 / math.pi), math.radians: _scale(math.pi / 180.0),
    math.fabs: _float_op("abs"), math.pow: _float_op("pow", 2), math.hypot: _hypot, math.ldexp: _ldexp,
    math.prod: _product, math.isclose: _python(library.isclose), math.modf: _python(library.modf),
    math.isqrt: _python(library.isqrt), math.factorial: _python(library.factorial),
    library._floor: _float_op("floor"),
    np.where: _where, np.power: _np_power, np.abs: _abs, np.fabs: _float_op("abs"), np.sqrt: _float_op("np_sqrt"),
    np.floor: _float_op("floor"), np.ceil: _float_op("ceil"), np.trunc: _float_op("trunc"), np.rint: _float_op("rint"),
    np.round: _np_round, np.radians: _scale(math.pi / 180.0), np.deg2rad: _scale(math.pi / 180.0),
    np.degrees: _scale(180.0 / math.pi), np.rad2deg: _scale(180.0 / math.pi), np.isnan: _float_op("isnan"),
    np.isinf: _float_op("isinf"), np.isfinite: _float_op("isfinite"), np.copysign: _float_op("copysign", 2),
    np.minimum: _python(library.minimum), np.maximum: _python(library.maximum), np.clip: _python(library.clip),
    np.sign: _python(library.sign), np.heaviside: _python(library.heaviside), np.logical_and: _logical("and"),
    np.logical_or: _logical("or"), np.logical_xor: _logical("xor"), np.logical_not: _logical_not,
    np.float64: _float, np.int64: _int, np.bool_: _bool, np.asarray: _array,
    np.array: _array,
}
for _name in ("sqrt", "exp", "expm1", "exp2", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
              "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "erf", "erfc", "gamma", "lgamma", "isnan",
              "isinf", "isfinite"):
    _HANDLERS[getattr(math, _name)] = _float_op(_name)
for _name in ("atan2", "copysign", "fmod", "remainder", "nextafter"):
    _HANDLERS[getattr(math, _name)] = _float_op(_name, 2)
for _name in NUMPY_UNARY:
    _HANDLERS[getattr(np, _name)] = _float_op("np_" + _name)
for _name in NUMPY_BINARY:
    if _name != "power":
        _HANDLERS[getattr(np, _name)] = _float_op("np_" + _name, 2)
for _fn, _opcode in ((operator.sub, "sub"), (operator.mul, "mul"), (operator.truediv, "truediv"),
                     (operator.floordiv, "floordiv"), (operator.mod, "mod"), (operator.pow, "pow"),
                     (np.add, "add"), (np.subtract, "sub"), (np.multiply, "mul"), (np.divide, "truediv")):
    _HANDLERS[_fn] = _binary(_opcode)
for _fn, _opcode in ((operator.lt, "lt"), (operator.le, "le"), (operator.gt, "gt"), (operator.ge, "ge"),
                     (operator.eq, "eq"), (operator.ne, "ne"), (np.less, "lt"), (np.less_equal, "le"),
                     (np.greater, "gt"), (np.greater_equal, "ge"), (np.equal, "eq"), (np.not_equal, "ne")):
    _HANDLERS[_fn] = _compare(_opcode)
for _fn1, _opcode in ((operator.neg, "neg"), (operator.pos, "pos"), (operator.invert, "invert"), (np.negative, "neg")):
    _HANDLERS[_fn1] = _unary(_opcode)

_ALWAYS = {list, dict, sorted, enumerate, zip, reversed, map, len, isinstance, type, getattr, callable, range, min, max,
           sum, any, all, tuple, set, frozenset}
"""Handled even when everything is static, because they make local objects, or take objects whole."""


# --- methods of builtin types
def method(s: Specialiser, bound: Bound, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract | None:
    """A method of a local list or dict, of a lane number, or of a string."""
    receiver, name = bound.receiver, bound.name
    match receiver:
        case ListRef():
            return _list_method(s, receiver, name, arguments, node)
        case DictRef():
            return _dict_method(s, containers.dict_entries(s, receiver), receiver, name, arguments, node)
        case Static() if isinstance(receiver.value, dict) and name in ("get", "items", "keys", "values"):
            return _dict_method(s, containers.dict_entries(s, receiver), None, name, arguments, node)
        case Static() if isinstance(receiver.value, str) and not arguments.all_static():
            return Text()
        case Static() if name in ("index", "count") and not arguments.all_static():
            return _find(s, containers.items_now(s, receiver, node), name, arguments, node)
        case Text():
            return Text()
        case Value() if name == "is_integer" and receiver.kind is FLOAT:
            return calls.call(s, Static(library.is_integer), calls.Arguments([receiver], {}), node)
        case Value() if name in ("conjugate", "item"):
            return num.unary(s, "pos", receiver)
        case _ if isinstance(getattr(getattr(receiver, "cls", None), "_fields", None), tuple) and name == "_replace":
            cls = receiver.cls  # type: ignore[union-attr]
            items = dict(zip(cls._fields, receiver.items, strict=True))  # type: ignore[union-attr]
            return calls.call(s, Static(cls), calls.Arguments([], {**items, **arguments.named}), node)
    return None


def _list_method(s: Specialiser, ref: ListRef, name: str, arguments: calls.Arguments, node: cst.CSTNode
                 ) -> Abstract | None:
    items = list(containers.contents(s, ref, node))
    values = arguments.positional
    match name:
        case "append":
            items.append(*values)
        case "extend":
            items += containers.items_now(s, values[0], node)
        case "insert" if isinstance(values[0], Static):
            items.insert(values[0].value, values[1])
        case "pop" if not values or isinstance(values[0], Static):
            position = values[0].value if values and isinstance(values[0], Static) else -1
            if not -len(items) <= position < len(items):
                raise s.fault("IndexError", "pop from empty list or index out of range", node)
            taken: Abstract = items.pop(position)
            s.state.heap[ref] = tuple(items)
            return taken
        case "clear":
            items = []
        case "reverse":
            items.reverse()
        case "copy":
            return containers.new_list(s, items)
        case "sort":
            sorted_ref = _sorted(s, calls.Arguments([ref], arguments.named), node)
            items = containers.items_now(s, sorted_ref, node)
        case "index" | "count":
            return _find(s, items, name, arguments, node)
        case _:
            return None
    s.state.heap[ref] = tuple(items)
    return Static(None)


def _find(s: Specialiser, items: list[Abstract], name: str, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
    (wanted,) = _only(s, arguments, node, 1, 1)
    if name == "count":
        total: Abstract = Static(0)
        for item in items:
            held = num.truth(s, objects.compare(s, "eq", item, wanted, node))
            total = num.binary(s, "add", total, held)
        return total
    found: Abstract = Static(None)
    missing: Abstract = Static(True)
    for position in range(len(items) - 1, -1, -1):
        held = num.truth(s, objects.compare(s, "eq", items[position], wanted, node))
        if isinstance(held, Static):
            if held.value:
                found, missing = Static(position), Static(False)
            continue
        here: Abstract = Static(position)
        found = num.choose(s, held, here, here if isinstance(missing, Static) and missing.value else found)
        missing = num.negate(s, held) if isinstance(missing, Static) and missing.value else \
            num.binary(s, "and", missing, num.negate(s, held))
    if isinstance(missing, Static):
        if missing.value:
            raise s.fault("ValueError", "not in list", node)
    else:
        containers.fault_if(s, lane(missing), "ValueError", "not in list", node)
    return found


def _dict_method(s: Specialiser, entries: dict[Any, Abstract], ref: DictRef | None, name: str,
                 arguments: calls.Arguments, node: cst.CSTNode) -> Abstract | None:
    values = arguments.positional
    match name:
        case "get":
            default = values[1] if len(values) > 1 else Static(None)
            if isinstance(values[0], Static):
                return entries.get(values[0].value, default)
            found = containers.dict_lookup(s, entries, values[0], node)
            return default if found is None else num.choose(s, found[0], found[1], default)
        case "keys":
            return Lazy(lambda: iter([num.static(k) for k in entries]))
        case "values":
            return Lazy(lambda: iter(list(entries.values())))
        case "items":
            return Lazy(lambda: iter([containers.make_tuple([num.static(k), v]) for k, v in entries.items()]))
        case "update" if ref is not None:
            for value in values:
                entries.update(containers.dict_entries(s, value))
            s.state.heap[ref] = tuple({**entries, **arguments.named}.items())
            return Static(None)
        case "copy" if ref is not None:
            return containers.new_dict(s, entries)
        case "pop" if ref is not None and values and isinstance(values[0], Static) and values[0].value in entries:
            taken = entries.pop(values[0].value)
            s.state.heap[ref] = tuple(entries.items())
            return taken
    return None


