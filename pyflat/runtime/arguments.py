"""What each argument of a call is: lanes, a record of lanes, or static.

What an argument becomes (the shape of a parameter, see `pyflat.ir.shape`):

    a bool, int or float of Python or NumPy, an array of those       a lane value: Leaf(kind)
    a complex number of Python or NumPy, an array of those           two lane values, real and imag: COMPLEX
    a tuple, namedtuple or dataclass                                 a Record of its items, by the same rules
    a list that contains arrays or NumPy scalars                     a Record; lists of numbers have become arrays
                                                                     (`pyflat.runtime.containers`) or are a TypeError
    a dict with strings for keys that contains arrays or NumPy       a Record
    scalars
    a string, None, enum, function, class, module, other object      static: Fixed(object)
    a parameter named in static=, self of a bound method, an
    argument of a functools.partial, a default that is not passed    static

Containers of libraries that `pyflat.runtime.containers` does not know, masked arrays, matrices, and arrays of anything
but these numbers are a TypeError: converting them silently could drop a mask, a unit or an index.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import inspect
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import numpy as np

from pyflat.errors import FlattenError
from pyflat.frontend.callables import BoundArguments, Parameters
from pyflat.ir.formats import F4, F8, FloatFormat
from pyflat.ir.shape import COMPLEX, Fixed, Labels, Leaf, Record, Shape, record_of
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

SCALARS = {bool: BOOL, int: INT, float: FLOAT}
_REWRITES = {
    "pandas": "x.to_numpy()", "polars": "x.to_numpy()", "dask": "x.compute()", "xarray": "x.to_numpy()",
    "torch": "x.numpy(force=True), or use pyflat.targets.xp.function(f, torch)", "cupy": "x.get()",
    "jax": "np.asarray(x), or use pyflat.targets.jax.function(f), which jax.jit, grad and vmap take",
    "jaxlib": "np.asarray(x), or use pyflat.targets.jax.function(f)",
    "tensorflow": "x.numpy()", "pyarrow": "x.to_numpy()", "numba": "x.copy_to_host()", "sparse": "x.todense()",
    "scipy": "x.toarray()", "astropy": "x.value, in the unit that the function expects",
    "pint": "x.magnitude, in the unit that the function expects",
}
_NUMBERS = {"uncertainties": "x.nominal_value", "sympy": "float(x)", "mpmath": "float(x)"}
"""Packages whose numbers are no lanes, and what lanes can hold of them."""
_EXPRESSION = "pyflat.targets.polars.expression(f), which takes columns and expressions"
_BY_NAME = {
    ("polars", "LazyFrame"): f"use {_EXPRESSION}",
    ("polars", "DataFrame"): f"pass x['name'].to_numpy() for each parameter, or use {_EXPRESSION}",
    ("polars", "Series"): f"pass x.to_numpy(), or use {_EXPRESSION}",
    ("pandas", "DataFrame"): "pass x['name'].to_numpy() for each parameter",
    ("pandas", "NAType"): "pass float('nan'), or a number", ("pandas", "NaTType"): "pass float('nan'), or a number",
    ("pandas", "Timestamp"): "pass x.timestamp()", ("pandas", "Timedelta"): "pass x.total_seconds()",
    ("pandas", "Categorical"): "pass np.asarray(x)",
}
"""What to do with one class of a package."""
_MARKS = ("__array__", "__array_function__", "__array_interface__", "__array_ufunc__", "__array_namespace__",
          "__dlpack__", "__dataframe__")


class Coded:
    """Strings or members by lane, as positions in a table, in the place of such an argument."""

    __slots__ = ("codes", "table")

    def __init__(self, codes: np.ndarray[Any, Any], table: tuple[Any, ...]):
        self.codes = codes
        self.table = table


@dataclass(frozen=True, slots=True)
class ClassifiedCall:
    """One call, classified: a shape for each parameter that was passed, and the lane values of their leaves."""

    arguments: dict[str, Shape]
    values: tuple[Any, ...]
    kinds: tuple[Kind, ...]
    names: tuple[str, ...]
    floats: FloatFormat = F8

    def in_format(self, dtype: str) -> ClassifiedCall:
        """The call with float lanes as the option `dtype` says. Arrays with lanes of them are rounded where they are
        read (`narrowed`)."""
        if dtype == "float64" or (dtype == "input" and not self._gives_float32()):
            return self
        values = tuple(_narrowed(v) if k is FLOAT else v for v, k in zip(self.values, self.kinds, strict=True))
        return replace(self, values=values, floats=F4)

    def _gives_float32(self) -> bool:
        """There are float arrays or NumPy scalars, and all of them are float32; Python's own numbers adapt."""
        given = [v for v, k in zip(self.values, self.kinds, strict=True) if k is FLOAT]
        found = [v.dtype.newbyteorder("=") == np.float32 for v in given if isinstance(v, np.ndarray | np.generic)]
        return bool(found) and all(found)


def _narrowed(value: Any) -> Any:
    """A float lane rounded to float32, in the caller's form."""
    return value if isinstance(value, np.ndarray) and value.ndim else narrowed(value)


def narrowed(value: Any) -> Any:
    """Numbers, or an array of them, rounded to float32."""
    if not isinstance(value, np.ndarray | np.generic):
        return F4.rounded(value)
    with np.errstate(all="ignore"):
        return value.astype(np.float32, copy=False)


def classify(bound: BoundArguments, parameters: Parameters, static: Sequence[str]) -> ClassifiedCall:
    """Shapes and lane values of a bound call. TypeError for what can be neither a lane nor static."""
    reading = [""]
    try:
        return _classified(bound, parameters, static, reading)
    except TypeError as error:
        place = parameters.names.index(reading[0]) + 1
        raise TypeError(f"{error} (it is parameter {place} of {parameters.name})") from None


def _classified(
    bound: BoundArguments, parameters: Parameters, static: Sequence[str], reading: list[str]
) -> ClassifiedCall:
    reader = _LeafReader()
    arguments: dict[str, Shape] = {}
    for name, value in bound.arguments.items():
        reading[0] = name
        if name in static or name in bound.fixed:
            arguments[name] = Fixed(value)
        elif name == parameters.keywords:
            shapes = tuple(Fixed(v) if k in bound.fixed else reader.shape(v, k) for k, v in value.items())
            arguments[name] = Record(dict, tuple(value), shapes)
        elif name == parameters.extra:
            fixed = tuple(Fixed(item) for item in value[: bound.fixed_extra])
            rest = tuple(reader.shape(item, name) for item in value[bound.fixed_extra:])
            arguments[name] = Record(tuple, (), (*fixed, *rest))
        else:
            arguments[name] = reader.shape(value, name)
    if parameters.extra and parameters.extra not in arguments:
        arguments[parameters.extra] = Record(tuple, (), ())
    if parameters.keywords and parameters.keywords not in arguments:
        arguments[parameters.keywords] = Record(dict, (), ())
    ordered = {name: arguments[name] for name in parameters.names if name in arguments}
    return ClassifiedCall(ordered, tuple(reader.values), tuple(reader.kinds), tuple(reader.names))


class _LeafReader:
    def __init__(self) -> None:
        self.values: list[Any] = []
        self.kinds: list[Kind] = []
        self.names: list[str] = []

    def shape(self, value: Any, name: str) -> Shape:
        if isinstance(value, Coded):
            self.values.append(value.codes)
            self.kinds.append(INT)
            self.names.append(name)
            return Labels(value.table)
        if _is_complex(value):
            for part in (value.real, value.imag):
                self.shape(part, name)
            return COMPLEX
        kind = SCALARS.get(type(value)) or _array_kind(value, name)
        if isinstance(value, int | float | np.generic) and type(value).__module__ not in ("builtins", "numpy"):
            _require_own_operators(value, name)
        if kind is not None:
            self.values.append(value)
            self.kinds.append(kind)
            self.names.append(name)
            return Leaf(kind)
        if isinstance(value, list) and not _is_record(value, name):
            return Fixed(value)
        if type(value) is dict and not any(isinstance(v, np.generic) or _contains_array(v) for v in value.values()):
            return Fixed(_static(value, name))
        parts = record_of(value)
        if parts is None or (dataclasses.is_dataclass(parts[0]) and not is_plain_dataclass(parts[0])):
            return Fixed(_static(value, name))
        cls, names, items = parts
        labels = [f"{name}[{n!r}]" if cls is dict else f"{name}.{n}" for n in names]
        labels = labels or [f"{name}[{i}]" for i in range(len(items))]
        shapes = tuple(self.shape(item, label) for item, label in zip(items, labels, strict=True))
        return Record(cls, names, shapes)


def _require_own_operators(value: Any, name: str) -> None:
    """TypeError for a number whose class has changed an operator: lanes compute as Python's and NumPy's numbers do."""
    from pyflat.frontend.state.kinds import changed_operator

    cls = type(value)
    base = next(each for each in cls.__mro__ if each.__module__ in ("builtins", "numpy"))
    changed = None if isinstance(value, enum.Enum) else changed_operator(cls, base)
    if changed is not None:
        raise TypeError(f"argument {name!r} is a {cls.__module__}.{cls.__qualname__}, whose {changed} is not "
                        f"{base.__name__}'s: pass {_plain_name(base)}({name}), or static={name!r} for a constant")


def _plain_name(base: type) -> str:
    return f"np.{base.__name__}" if base.__module__ == "numpy" else base.__name__


def _is_complex(value: Any) -> bool:
    """A complex number, or a plain array of them, up to 128 bits."""
    if type(value) is complex:
        return True
    plain = type(value) in (np.ndarray, np.memmap) or isinstance(value, np.generic)
    return plain and value.dtype.kind == "c" and value.dtype.itemsize <= 16


def _array_kind(value: Any, name: str) -> Kind | None:
    """The kind of a NumPy array or scalar, None for other objects."""
    if not isinstance(value, np.ndarray | np.generic):
        return None
    if isinstance(value, np.ndarray) and type(value) not in (np.ndarray, np.memmap):
        raise TypeError(_rewrite_subclass(value, name))
    match value.dtype.kind:
        case "b":
            return BOOL
        case "i" | "u":
            return INT
        case "f" if value.dtype.itemsize <= 8:
            return FLOAT
        case "U" if isinstance(value, np.generic):
            return None
    what = "an array" if isinstance(value, np.ndarray) else "a NumPy scalar"
    raise TypeError(f"argument {name!r} is {what} of {value.dtype}: lanes hold bool, int, float and complex numbers, "
                    f"up to 64 bits a part; {_dtype_rewrite(value.dtype)}")


def _dtype_rewrite(dtype: np.dtype[Any]) -> str:
    match dtype.kind:
        case "O":
            return "convert it with x.astype(float) if every item is a number"
        case "c":
            return "convert it with x.astype(np.complex128)"
        case "f":
            return "convert it with x.astype(np.float64)"
        case "M" | "m":
            return "convert it to a number of your unit first, e.g. x / np.timedelta64(1, 's') of a difference"
        case "S" | "U":
            return "encode the strings as integers"
    return "pass each field as an argument"


def _rewrite_subclass(value: np.ndarray[Any, Any], name: str) -> str:
    cls = type(value)
    if isinstance(value, np.ma.MaskedArray):
        how = "the twin would compute masked lanes; pass x.filled(fill_value) and mask the result, or x.compressed()"
    elif isinstance(value, np.matrix):
        how = "pass np.asarray(x)"
    else:
        root = cls.__module__.partition(".")[0]
        how = f"pass {_REWRITES.get(root, 'np.asarray(x)')}"
    return f"argument {name!r} is a {cls.__module__}.{cls.__qualname__}, which a twin does not take: {how}"


def _is_record(value: list[Any], name: str) -> bool:
    if any(isinstance(item, np.ndarray | np.generic) or _contains_array(item) for item in value):
        return True
    if value and not any(isinstance(item, numbers.Number | list) for item in value):
        return False
    raise TypeError(f"argument {name!r} is a list of numbers: pass np.asarray(x) for one element per item, "
                    f"a tuple for one value shared by all elements, or static={name!r} for a constant list")


def is_plain_dataclass(cls: type) -> bool:
    """Objects of `cls` are made of their fields only, so that the fields of one lane make the object of one lane."""
    if not dataclasses.is_dataclass(cls) or not cls.__dataclass_params__.init:  # type: ignore[attr-defined]
        return False
    return not hasattr(cls, "__post_init__") and all(f.init for f in dataclasses.fields(cls))


def _contains_array(value: Any) -> bool:
    match value:
        case np.ndarray():
            return True
        case dict():
            return any(_contains_array(item) for item in value.values())
        case tuple() | list():
            return any(_contains_array(item) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return any(_contains_array(getattr(value, f.name, None)) for f in dataclasses.fields(value))
    return False


def _remedy(value: Any, root: str) -> str:
    """What to do with an object of another library."""
    dtype = getattr(value, "dtype", None)
    if root == "pandas" and hasattr(dtype, "na_value") and getattr(dtype, "kind", "O") in "biuf":
        return "pass x.to_numpy(float, na_value=float('nan')), which is nan where x is missing"
    if root == "jax" and type(value).__name__.endswith("Tracer"):
        return "use pyflat.targets.jax.function(f) inside jax.jit, grad and vmap"
    if root == "duckdb":
        return "use pyflat.targets.sql.expression(f), which takes names of columns"
    how = _BY_NAME.get((root, type(value).__name__))
    return how or f"pass {_NUMBERS.get(root) or _REWRITES.get(root, 'np.asarray(x)')}"


def _static(value: Any, name: str) -> Any:
    """`value` when it may be static without being named in static=; TypeError when it looks like lanes."""
    if value is None or isinstance(value, str | bytes | enum.Enum | type):
        return value
    cls = type(value)
    shown = f"{cls.__module__}.{cls.__qualname__}".removeprefix("builtins.")
    root = cls.__module__.partition(".")[0]
    external = root in ("pandas", "polars", "dask", "xarray", *_NUMBERS) or cls.__module__.startswith("scipy.sparse")
    if external or any(hasattr(cls, mark) for mark in _MARKS):
        how = _remedy(value, root)
        raise TypeError(f"argument {name!r} is a {shown}: a twin takes NumPy arrays and scalars; {how}")
    if isinstance(value, bytearray | memoryview) or (root, cls.__name__) == ("array", "array"):
        raise TypeError(f"argument {name!r} is a {shown}: a twin takes NumPy arrays and scalars; pass np.asarray(x)")
    if isinstance(value, numbers.Number) and not isinstance(value, int | float):
        raise TypeError(f"argument {name!r} is a {shown}: lanes hold bool, int, float and complex; convert it "
                        f"with float(x), or pass it as a constant with static={name!r}")
    if _contains_array(value):
        raise TypeError(f"argument {name!r} is a {shown} with arrays in it: pass the arrays as separate arguments, "
                        f"or in a tuple, namedtuple, dict or dataclass without __post_init__")
    return value


# --- arguments of a call that are no lanes, and that the function uses as numbers
#
# A string, a tuple or any other object without lanes is static: the function may look at it, and a twin is made for
# this value. Where the function computes with it, flattening is refused at an operation that needs a number. What is
# wrong then is the call, so that the caller gets a TypeError that names the argument, as Python's would not, and what
# to pass instead; the refusal is its cause.

_OF_METHODS = ("self", "cls")
"""Parameters whose arguments the caller does not pass."""


def as_argument_error(
    refusal: FlattenError, function: FunctionType, arguments: Mapping[str, Shape], static: Sequence[str]
) -> Exception:
    """The TypeError for the argument that a refusal is about; the refusal itself where it is about none."""
    name = refusal.diagnostic.argument
    if name not in arguments or name in static or name in _OF_METHODS:
        return refusal
    shape = arguments[name]
    title = f"argument {name!r} of {function.__name__} (number {list(arguments).index(name) + 1})"
    span = refusal.diagnostic.span
    why = refusal.diagnostic.message
    wrong = f"which does not work as it is used at {span}" if span else f"which a twin does not take: {why}"
    return TypeError(f"{title} is {_described(shape)}, {wrong}; {_remedy_of(shape)}")


def _described(shape: Shape) -> str:
    if isinstance(shape, Record):
        return f"a {shape.cls.__name__}"
    value = shape.value if isinstance(shape, Fixed) else shape
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    text = repr(value)
    cls = type(value).__qualname__
    return f"a {cls}" + (f", {text}" if len(text) <= 30 and not text.startswith("<") else "")


_SEQUENCE = "pass np.asarray(x) for one element per item; a tuple is one value, with its items, in every element"


def _remedy_of(shape: Shape) -> str:
    if isinstance(shape, Record):
        return _SEQUENCE if issubclass(shape.cls, tuple | list) else "pass its numbers as separate arguments"
    value = shape.value if isinstance(shape, Fixed) else None
    match value:
        case str() | bytes():
            return "pass float(x), or np.asarray(x, float) for an array of strings"
        case None:
            return "pass a number or an array of numbers (None works if the function tests for it)"
        case range() | list() | tuple():
            return _SEQUENCE
        case set() | frozenset():
            return "pass np.array(sorted(x)) for one element per item"
        case dict():
            return "pass its values as arguments, f(**x), or as a dict of arrays if the function subscripts it"
        case datetime.date() | datetime.time() | datetime.timedelta():
            return "pass a number, as x.toordinal() or x.total_seconds(), and create the date in the function"
        case type():
            return "pass a number or an array of numbers"
        case Iterator():
            return "pass np.fromiter(x, float) for one element per item"
    if inspect.isroutine(value):
        return "pass its result; a function works as an argument only if it is called"
    return "pass a number or an array of numbers; a twin can only read attributes and call methods of other objects"
