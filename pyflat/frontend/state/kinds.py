"""What a value is: the kind of a number, its lane, the parts of a complex one, alternatives, and the user's words."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeGuard, TypeVar

import numpy as np

from pyflat.frontend.state.guards import same
from pyflat.frontend.state.values import (
    CONFLICT,
    ENTRIES,
    UNBOUND,
    Abstract,
    Array,
    BoundMethod,
    BoxRef,
    Caught,
    Cells,
    Closure,
    Complex,
    Contents,
    Derived,
    DictRef,
    GeneratorCall,
    GeneratorExpression,
    GuardedUnion,
    IterRef,
    LaneSet,
    Lazy,
    ListRef,
    ObjRef,
    OtherText,
    Partial,
    Pending,
    Ranges,
    Scratch,
    Seq,
    State,
    Static,
    StoreRef,
    Text,
    Unsigned,
    View,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import FALSE, Const, Op, Value
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, Kind


def same_static(a: Abstract, b: Abstract) -> bool:
    return isinstance(a, Static) and isinstance(b, Static) and same(a.value, b.value)


def lane(value: Abstract) -> Value:
    """The IR value of a number."""
    if isinstance(value, Value):
        return value
    assert isinstance(value, Static)
    known = value.value.item() if isinstance(value.value, np.generic) else value.value
    if isinstance(known, bool):
        return const(known)
    return const(float(known) if isinstance(known, float) else int(known))


def opened(value: Abstract) -> Abstract:
    """A known tuple or complex number as one whose parts join one by one; anything else as it is."""
    z = complex_parts(value)
    if z is not None:
        return z
    if isinstance(value, Static) and isinstance(value.value, tuple):
        return Seq(type(value.value), tuple(map(Static, value.value)))
    return value


def numeric_kind(value: Abstract) -> Kind | None:
    """The kind of a lane value or static number (an int of any size is INT); None for everything else."""
    if isinstance(value, Value):
        return value.kind
    if isinstance(value, Static):
        return _EXACT.get(type(value.value))
    return None


def is_lane_number(value: Abstract | None) -> bool:
    """A real number that a lane holds as it is: no NumPy scalar, and no int beyond 64 bits."""
    if type(value) is not Static:
        return isinstance(value, Value)
    known = value.value
    return type(known) in (float, bool) or type(known) is int and INT_MIN <= known <= INT_MAX


_EXACT: dict[type, Kind] = {bool: BOOL, int: INT, float: FLOAT, np.bool_: BOOL, np.int64: INT, np.float64: FLOAT}
"""NumPy's scalars of the lanes' kinds are numbers too: `Evaluator.may_be_numpy` tells where that matters."""
_BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]
_OPERATORS = tuple(f"__{name}__" for name in (
    *_BINARY, *("r" + name for name in _BINARY), *["neg", "pos", "abs", "invert", "eq", "ne", "lt", "le", "gt", "ge"],
    *["float", "int", "bool", "round", "floor", "ceil", "trunc", "index"]))


def complex_parts(value: Abstract | None) -> Complex | None:
    """A complex number, lanes or known, as its parts; None for everything else."""
    if isinstance(value, Complex):
        return value
    if isinstance(value, Static) and type(value.value) is complex:
        return Complex(Static(value.value.real), Static(value.value.imag))
    return None


def is_natural(value: Value) -> bool:
    """An int that its operation makes not negative."""
    match value:
        case Const():
            return value.value is not None and value.value >= 0
        case Op(opcode="and"):
            return any(map(is_natural, value.args))
        case Op(opcode="or" | "xor"):
            return all(map(is_natural, value.args))
        case Op(opcode="shr"):
            return is_natural(value.args[0])
        case Op(opcode="u_shr"):
            count = value.args[1]
            return isinstance(count, Const) and bool(count.value) or is_natural(value.args[0])
        case Op(opcode="u_mod" | "u_div"):
            return is_natural(value.args[0]) or value.opcode == "u_mod" and is_natural(value.args[1])
        case Op(opcode="mod"):
            return isinstance(value.args[1], Const) and is_natural(value.args[1])
        case Op(opcode="to_int"):
            return value.args[0].kind is BOOL
        case Op(opcode="gather"):
            return all(item >= 0 for item in value.attr("table"))
    return False


def as_unsigned(value: Abstract | None) -> Unsigned | None:
    """An int that is certainly not negative, and below 2**64, as its bits; None for everything else."""
    if isinstance(value, Value) and value.kind is INT and is_natural(value):
        return Unsigned(value, FALSE)
    if isinstance(value, Static) and type(value.value) is int and 0 <= value.value < 2**64:
        return Unsigned(const((value.value - INT_MIN) % 2**64 + INT_MIN), FALSE)
    return value if isinstance(value, Unsigned) else None


def is_beyond(value: Abstract) -> bool:
    """An int that 63 bits may not hold."""
    return isinstance(value, Unsigned) or isinstance(value, Static) and type(value.value) is int \
        and value.value > INT_MAX


def is_too_large(value: Abstract) -> TypeGuard[Static]:
    """A known int that no lane of ints holds."""
    return isinstance(value, Static) and type(value.value) is int and not INT_MIN <= value.value <= INT_MAX


def changed_operator(cls: type, base: type) -> str | None:
    """An operator of which `cls` has another one than `base`, which it is made from."""
    return next((name for name in _OPERATORS if _found(cls, name) is not _found(base, name)), None)


def _found(cls: type, name: str) -> object:
    """What the classes say; `getattr` would also find the operators of types, as in `int | float`."""
    return next((each.__dict__[name] for each in cls.__mro__ if name in each.__dict__), None)


def number_base(cls: type) -> type | None:
    """float or int, of which a class is a subclass."""
    return next((base for base in (float, int) if issubclass(cls, base) and cls not in (base, bool)), None)


def number_in(value: Abstract) -> Abstract:
    """A computed instance of a subclass of float or int as the number that it is; anything else as it is."""
    match value:
        case Seq() if number_base(value.cls) is not None:
            return value.items[0]
        case GuardedUnion():
            return mapped(value, number_in)
    return value


def plain_number(value: Abstract, *, numpy: bool = True) -> Abstract:
    """A NumPy scalar as Python's number (unless `numpy` is false); an instance of a subclass of float or int too, as a
    member of an IntEnum is, when it keeps the operators."""
    if isinstance(value, Seq):
        base = number_base(value.cls)
        return value if base is None or changed_operator(value.cls, base) is not None else value.items[0]
    if not isinstance(value, Static):
        return value
    if type(value.value) in _EXACT:
        return Static(value.value.item()) if numpy and isinstance(value.value, np.generic) else value
    if not isinstance(value.value, int | float | np.int64 | np.bool_):
        return value
    base = int if isinstance(value.value, int) else float
    cls = type(value.value)
    if changed_operator(cls, base) is not None:
        return value
    return Static(base(value.value))


def cells_of(contents: Sequence[Any]) -> Seq | None:
    """The places of a list that has grown in a loop (`space.growing`), None for any other."""
    if len(contents) == 1 and type(contents[0]) is Seq and contents[0].cls is Cells:
        return contents[0]
    return None


def entries_of(contents: Contents) -> ListRef | None:
    """The pairs of a dict whose keys differ from lane to lane, None for others."""
    if contents and contents is not CONFLICT and contents[-1][0] is ENTRIES:
        found: ListRef = contents[-1][1]
        return found
    return None


def lane_form(state: State, ref: DictRef, known: Contents) -> Contents:
    """The contents of a dict with known keys as one whose keys may differ from lane to lane."""
    state.heap[ref.entries] = tuple(Seq(tuple, (Static(key), item)) for key, item in known)
    return ((ENTRIES, ref.entries),)


def python_type(kind: Kind) -> type:
    return {BOOL: bool, INT: int, FLOAT: float}[kind]


def describe(value: Abstract) -> str:
    """The value in the user's words."""
    kind = numeric_kind(value)
    match value:
        case Static():
            return f"{value.value!r:.40}"
        case Scratch():
            return f"a captured {type(value.value).__name__} that is written"
        case Complex():
            return "a complex number"
        case Unsigned():
            return "an unsigned int of 64 bits"
        case Seq():
            plain = value.cls in (tuple, list) or hasattr(value.cls, "_fields")
            return "a tuple" if plain else f"a {value.cls.__name__}"
        case BoxRef():
            return "a variable"
        case ListRef():
            return "a list"
        case LaneSet():
            return "a set of computed numbers"
        case Array() | View() | Pending() | StoreRef():
            return "an array"
        case DictRef():
            return "a dict"
        case ObjRef():
            return f"a {value.cls.__name__}"
        case Closure() | BoundMethod() | Partial():
            return "a function"
        case Caught():
            return "a caught exception"
        case Text():
            return "a computed string"
        case OtherText():
            return f"a string of the argument {value.parameter!r}"
        case Derived():
            return f"a value computed from the string {value.parameter!r}"
        case Ranges():
            return "a range whose bounds depend on the data"
        case IterRef() | Lazy():
            return "an iterator"
        case GuardedUnion():
            return f"{describe(value.then)} or {describe(value.orelse)}"
    return {BOOL: "a bool", INT: "an int", FLOAT: "a float"}[kind] if kind else "an unbound name"


def is_generator(value: object) -> TypeGuard[Lazy]:
    """What a call of a generator function gives, before any item is asked for."""
    return isinstance(value, Lazy) and isinstance(value.written, GeneratorCall) and not value.written.begun


def is_folded(value: Abstract) -> bool:
    """A range that stays a loop, a generator function's items, or a generator over one of these."""
    if isinstance(value, Ranges) or is_generator(value):
        return True
    return isinstance(value, Lazy) and isinstance(value.written, GeneratorExpression) and not value.used \
        and is_folded(value.written.source)


# --- unions
P = ParamSpec("P")
R = TypeVar("R")


def per_alternative(*names: str, unless: Callable[[Abstract], bool] | None = None
                    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function of an evaluator and of values that is called once for each alternative of its arguments `names`, which
    are given by position; a union for which `unless` holds is passed as it is.

    The calls are the arms of an If (`Evaluator.split`): first that with `then`, in the lanes that have it, next that
    with `orelse`, which sees nothing of what the first has done; what they return and write is joined behind both. The
    first of `names` that is a union is split first, and the others in each of its arms.
    """
    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        places = [function.__code__.co_varnames.index(name) for name in names]

        @functools.wraps(function)
        def distributed(*given: Any, **named: Any) -> Any:
            for at in places:
                if type(given[at]) is GuardedUnion and (unless is None or not unless(given[at])):
                    return split(at, given, named)
            return function(*given, **named)

        def split(at: int, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
            return given[0].split(given[at], lambda one: distributed(*given[:at], one, *given[at + 1:], **named))

        return distributed

    return decorate


def alternatives(value: Abstract) -> list[Abstract]:
    """What a value may be, by lane."""
    if isinstance(value, GuardedUnion):
        return alternatives(value.then) + alternatives(value.orelse)
    return [value]


def is_number_union(value: Abstract) -> bool:
    """A number in every lane."""
    if isinstance(value, GuardedUnion):
        return is_number_union(value.then) and is_number_union(value.orelse)
    return numeric_kind(value) is not None


def maybe_unbound(value: Abstract) -> bool:
    """Some lanes have no value here."""
    if isinstance(value, GuardedUnion):
        return maybe_unbound(value.then) or maybe_unbound(value.orelse)
    return value is UNBOUND


def has_gap(value: Abstract) -> TypeGuard[GuardedUnion]:
    """Some lanes have a value here, others have none."""
    return type(value) is GuardedUnion and maybe_unbound(value)


def bound_part(value: Abstract) -> Abstract:
    """What the lanes have that have a value here; UNBOUND where none has one."""
    if not has_gap(value):
        return value
    then, orelse = bound_part(value.then), bound_part(value.orelse)
    return orelse if then is UNBOUND else then if orelse is UNBOUND else GuardedUnion(value.cond, then, orelse)


def folded(value: Abstract, use: Callable[[Abstract], R], choose: Callable[[Value, R, R], R]) -> R:
    """`use` of each alternative, all of them computed in every lane, and `choose(cond, then, orelse)` of any two."""
    if isinstance(value, GuardedUnion):
        return choose(value.cond, folded(value.then, use, choose), folded(value.orelse, use, choose))
    return use(value)


def mapped(value: Abstract, use: Callable[[Abstract], Abstract]) -> Abstract:
    """The value with `use` of each alternative in its place, computed in every lane; UNBOUND stays."""
    return folded(value, lambda one: one if one is UNBOUND else use(one), GuardedUnion)


def present_in(lanes: Static | Value, item: Abstract) -> list[Abstract]:
    """The item as a part of a row of which these lanes have it."""
    if isinstance(lanes, Static):
        return [item] if lanes.value else []
    return [GuardedUnion(lanes, item, UNBOUND)]
