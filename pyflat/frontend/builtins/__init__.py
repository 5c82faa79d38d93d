"""The callables that are operations: builtins, math, NumPy's scalar functions, methods of builtin types."""

from __future__ import annotations

import bisect
import builtins
import functools
import math
import numbers
import operator
import types
import warnings
from enum import Enum
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.builtins import (
    arithmetic,
    complex_functions,
    iterators,
    kernel_arrays,
    methods,
    numpy_functions,
    pandas_checks,
    records,
    sequences,
    signatures,
    special_methods,
    sums,
    support,
    ufuncs,
    vectorized,
)
from pyflat.frontend.builtins.methods import method
from pyflat.frontend.builtins.support import (
    Handler,
    binary_operation,
    comparison,
    float_operation,
    inlined,
    inlined_for_ints,
    refuse_texts,
    unary_operation,
)
from pyflat.frontend.library import numpy_library, splines, stdlib
from pyflat.frontend.library import table as library
from pyflat.frontend.space import complex_numbers, memories, missing, objects, unsigned
from pyflat.frontend.space.scalars import const_eval
from pyflat.frontend.state import heap, lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import number_in, numeric_kind
from pyflat.frontend.state.values import Abstract, Arguments, BoundMethod, Static
from pyflat.functions import moments, originals
from pyflat.functions.records import RECORDS
from pyflat.ir.ops import functions_of_floats
from pyflat.ir.types import BOOL

_HEAP_TYPE = 1 << 9
"""The type flag of classes made by a class statement."""

_IMPURE = {getattr(builtins, name, None) for name in (
    "print", "input", "open", "exec", "eval", "compile", "breakpoint", "globals", "locals", "vars", "setattr",
    "delattr", "exit", "quit", "__import__", "iter", "next", "id", "super", "memoryview", "bytearray")}
"""Some of them are not there in IPython or under `python -S`."""
_CHANGING = {"setitem", "delitem", "insort", "insort_left", "insort_right", "put", "copyto", "place", "putmask",
             "fill_diagonal", "put_along_axis", "save", "savez", "savetxt", "load", "loadtxt", "fromfile", "seterr",
             "set_printoptions", "setbufsize", "genfromtxt", "fromregex", "memmap", "savez_compressed", "show_config",
             "show_runtime", "info", "test",
             *(name for name in dir(operator) if name.startswith("i") and not name.startswith(("is", "in", "itemg")))}
_PURE_MODULES = {"math", "cmath", "operator", "_operator", "itertools", "bisect", "_bisect"}
_MUTATORS = {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault",
             "popitem", "add", "discard", "fill", "resize", "put", "itemset"}


def is_pure(function: Any) -> bool:
    """May be called now, when every argument is static."""
    if isinstance(function, np.ufunc):
        return True
    if isinstance(function, operator.methodcaller | operator.attrgetter):  # it does what the method does
        return False
    try:
        if function in _IMPURE:
            return False
    except TypeError:
        return False
    module = getattr(function, "__module__", None)
    if getattr(function, "__name__", "").lstrip("_") in _CHANGING:
        return False
    if isinstance(function, types.BuiltinFunctionType) and function.__self__ is not None and module is None:
        return not isinstance(function.__self__, types.ModuleType) and lookup.is_plain(function.__self__)
    if isinstance(function, type):
        return issubclass(function, bool | int | float | complex | str | bytes | tuple | frozenset | range | slice
                          | np.generic | numbers.Number) or function.__module__ in ("fractions", "decimal") \
            or hasattr(function, "__members__") or function is type
    if module == "builtins":
        return True
    return module in _PURE_MODULES or isinstance(module, str) and module.split(".")[0] == "numpy" \
        and "random" not in module


def are_values(s: Evaluator, arguments: Arguments) -> bool:
    """Nothing among static arguments that a call would use up, write to, or ask for more than its value."""
    args, named = arguments.values()
    if "out" in named:
        return False
    for value in [*args, *named.values()]:
        if hasattr(value, "__next__"):
            return False
        custom = type(value).__flags__ & _HEAP_TYPE and not isinstance(value, type | int | float | str | tuple | Enum) \
            and not missing.is_missing(value)
        if custom and type(value).__module__.split(".")[0] not in ("fractions", "decimal", "datetime", "numpy"):
            return False
    return True


def mutates(method: BoundMethod) -> bool:
    return method.name in _MUTATORS


def function(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """The value of a call of a known callable, None when it is not in the tables."""
    if s.widths.kernel:
        if fn not in (float, bool) and not kernel_arrays.is_cast(fn):
            arguments = unsigned.as_ints(s, arguments)
        if (made := kernel_arrays.call(s, fn, arguments, node)) is not None:
            return made
        if fn in _OVER_ROWS:
            arguments = Arguments([memories.rows(s, v, node) if memories.is_view(v) else v
                                   for v in arguments.positional], arguments.named)
    if str(getattr(fn, "__module__", "")).startswith("numpy"):
        refuse_texts(s, arguments, node)
        if not isinstance(fn, np.ufunc) or fn not in _FUNCTIONS:
            arguments = unsigned.as_ints(s, arguments)
    done = pandas_checks.call(s, fn, arguments, node)
    if done is None:
        done = numpy_functions.call(s, fn, arguments, node, is_pure)
    if done is not None:
        return kernel_arrays.of_known_dtype(s, fn, arguments, done, node)
    if any(fn is each for each in _REPLACEMENTS):
        return None
    try:
        handler = _HANDLERS.get(fn)
    except TypeError:
        return None
    given = iterators.of_generator(s, fn, arguments, node)
    if given is not None:
        return given
    if handler is None:
        return None
    if fn is not isinstance:
        refuse_texts(s, arguments, node)
    if fn not in _FUNCTIONS and fn not in _OF_UNSIGNED:
        arguments = unsigned.as_ints(s, arguments)
    s.widths.seen = s.widths.seen or isinstance(fn, np.ufunc) or str(getattr(fn, "__module__", "")).startswith("numpy")
    answered = special_methods.call(s, fn, arguments, node)
    if answered is not None:
        return answered
    if fn not in _ALWAYS:
        arguments = Arguments([*map(number_in, arguments.positional)],
                              {name: number_in(value) for name, value in arguments.named.items()})
    if arguments.all_static() and fn not in _ALWAYS:
        args, named = arguments.values()
        if all(not isinstance(v, types.FunctionType) for v in [*args, *named.values()]) and is_pure(fn) \
                and are_values(s, arguments) and not (isinstance(fn, np.ufunc) and len(args) > fn.nin):
            return const_eval(s, lambda: fn(*args, **named))
    if isinstance(fn, np.ufunc) and (arguments.named or len(arguments.positional) != fn.nin):
        raise s.refuse("flatten/unsupported-expression", f"options of np.{fn.__name__}", node)
    if any(complex_numbers.holds_complex(v) for v in [*arguments.positional, *arguments.named.values()]):
        complex_functions.check(s, fn, node)
    if fn not in _ALWAYS or fn in _WHOLE:
        whole = complex_numbers.is_number if fn in complex_functions.HANDLERS else None
        if (made := s.split_first(arguments.positional, lambda *row: s.space.call(
                Static(fn), Arguments([*row], arguments.named), node), whole)) is not None:
            return made
    on_bools = isinstance(fn, np.ufunc) and any(numeric_kind(v) is BOOL for v in arguments.positional)
    if on_bools and fn not in (np.logical_and, np.logical_or, np.logical_not, np.logical_xor):
        raise s.refuse("flatten/unsupported-expression", f"np.{fn.__name__} of a bool", node)
    result = handler(s, arguments, node)
    if fn in (float, int, bool) or getattr(fn, "__module__", "") in _PYTHON_MODULES:
        return s.mark_python(result, arguments.positional)
    by_numpy = str(getattr(fn, "__module__", "numpy")).startswith("numpy")
    if not by_numpy:
        return result
    return kernel_arrays.of_known_dtype(s, fn, arguments, s.mark_numpy(result, arguments.positional), node)


_PYTHON_MODULES = {record.python.rpartition(".")[0] for record in RECORDS.values()} - {"numpy", ""}
"""Modules of functions of floats that give Python's floats."""


_FUNCTIONS = {fn: record for record in RECORDS.values()
              if set(record.operands) == {"d"} and (fn := record.callable()) is not None}
"""Callables of floats -> record."""

_HANDLERS: dict[Any, Handler] = {
    **{fn: float_operation(record.name, len(record.operands)) for fn, record in _FUNCTIONS.items()},
    **{fn: float_operation(row.name, len(row.signatures[0][0])) for fn, row in functions_of_floats().items()},
    # builtins
    abs: arithmetic.abs_, int: arithmetic.int_, float: arithmetic.float_, bool: arithmetic.bool_,
    round: arithmetic.round_, pow: arithmetic.pow_, divmod: arithmetic.divmod_,
    min: sequences.least("lt"), max: sequences.least("gt"), sum: sums.sum_, any: sequences.some("or"),
    all: sequences.some("and"), len: sequences.len_, range: sequences.range_, dict: sequences.dict_,
    tuple: sequences.sequence(lambda s, items: heap.make_tuple(items)),
    list: sequences.list_,
    set: sequences.set_, frozenset: sequences.frozenset_,
    **iterators.HANDLERS, **records.HANDLERS, **signatures.HANDLERS, **support.HANDLERS, **methods.HANDLERS,
    functools.reduce: sequences.reduce_,
    sorted: sequences.sort_lanes, isinstance: sequences.isinstance_, type: sequences.type_,
    hasattr: sequences.hasattr_, getattr: sequences.getattr_, callable: sequences.callable_,
    moments.timestamp: inlined(moments.new_timestamp), moments.timedelta: inlined(moments.new_timedelta),
    moments.counts_nanoseconds: lambda s, arguments, node: Static(moments.counts_nanoseconds()),
    str: sequences.text, repr: sequences.repr_, chr: sequences.chr_,
    format: sequences.format_, ord: sequences.ord_, bin: sequences.in_base("#b"), oct: sequences.in_base("#o"),
    hex: sequences.in_base("#x"), operator.add: sequences.operator_add,
    vectorized.vectorized: vectorized.call, object.__new__: objects.bare, tuple.__new__: objects.bare_tuple,
    float.__new__: objects.bare_number, int.__new__: objects.bare_number,
    object.__setattr__: objects.store_plainly, setattr: objects.setattr_, operator.index: arithmetic.index_,
    warnings.warn: support.warn, warnings.simplefilter: support.change_filters,
    warnings.filterwarnings: support.change_filters,
    # math
    math.floor: arithmetic.whole("floor_int"), math.ceil: arithmetic.whole("ceil_int"),
    math.trunc: arithmetic.whole("to_int"), math.log: arithmetic.log, math.fabs: float_operation("abs"),
    math.degrees: arithmetic.scale(180.0 / math.pi), math.radians: arithmetic.scale(math.pi / 180.0),
    math.hypot: arithmetic.hypot, math.ldexp: arithmetic.ldexp,
    math.prod: sequences.product, math.isclose: inlined(library.isclose), math.modf: inlined(library.modf),
    math.isqrt: arithmetic.isqrt, math.factorial: inlined_for_ints(library.factorial),
    math.gcd: inlined_for_ints(library.gcd), math.lcm: inlined_for_ints(stdlib.lcm),
    math.comb: inlined_for_ints(stdlib.comb), math.perm: inlined_for_ints(stdlib.perm),
    math.frexp: inlined(stdlib.frexp), math.ulp: inlined(stdlib.ulp, float64=True),
    math.fsum: arithmetic.fsum, math.dist: arithmetic.dist, stdlib.exponent: float_operation("exponent"),
    bisect.bisect_left: inlined(stdlib.bisect_left), bisect.bisect_right: inlined(stdlib.bisect_right),
    int.bit_count: inlined(stdlib.bit_count), int.bit_length: inlined(library.bit_length),
    library._floor: float_operation("floor"),
    # NumPy on scalars
    np.power: arithmetic.np_power, np.abs: arithmetic.abs_,
    np.fabs: float_operation("abs"),
    np.floor: arithmetic.np_whole("floor"), np.ceil: arithmetic.np_whole("ceil"),
    np.trunc: arithmetic.np_whole("trunc"), np.rint: float_operation("rint"),
    np.radians: arithmetic.scale(math.pi / 180.0), np.deg2rad: arithmetic.scale(math.pi / 180.0),
    np.degrees: arithmetic.scale(180.0 / math.pi), np.rad2deg: arithmetic.scale(180.0 / math.pi),
    np.copysign: float_operation("copysign", 2),
    np.minimum: arithmetic.extremum(library.minimum),
    np.maximum: arithmetic.extremum(library.maximum), np.sign: arithmetic.np_sign,
    np.heaviside: inlined(library.heaviside), np.logical_and: arithmetic.logical("and"),
    np.logical_or: arithmetic.logical("or"), np.logical_xor: arithmetic.logical("xor"),
    np.logical_not: arithmetic.logical_not, np.float64: arithmetic.float_, np.int64: arithmetic.int_,
    np.bool_: arithmetic.bool_,
}
_HANDLERS.update({getattr(math, name): handler for name, handler in {
    "sumprod": sums.sumprod, "fma": inlined(numpy_library.fma, float64=True)}.items() if hasattr(math, name)})
_HANDLERS.update(complex_functions.HANDLERS)
_HANDLERS.update({fn: binary_operation(opcode) for opcode, fns in {
    "add": (np.add,), "sub": (operator.sub, np.subtract), "mul": (operator.mul, np.multiply),
    "truediv": (operator.truediv, np.divide), "floordiv": (operator.floordiv, np.floor_divide),
    "mod": (operator.mod, np.mod),
    "pow": (operator.pow,)}.items() for fn in fns})
_HANDLERS.update({fn: comparison(opcode) for opcode, fns in {
    "lt": (operator.lt, np.less), "le": (operator.le, np.less_equal), "gt": (operator.gt, np.greater),
    "ge": (operator.ge, np.greater_equal), "eq": (operator.eq, np.equal), "ne": (operator.ne, np.not_equal),
}.items() for fn in fns})
_HANDLERS.update({fn: unary_operation(opcode) for opcode, fns in {
    "neg": (operator.neg, np.negative), "pos": (operator.pos,), "invert": (operator.invert,)}.items() for fn in fns})

_REPLACEMENTS = tuple(originals.replacements().values())
"""What stood in the places of functions when the tables were made: nothing of it is what the tables say."""

REPLACED: dict[tuple[str, str], Any] = {
    ("scipy.interpolate._fitpack_impl", "splev"): splines.splev,
    ("scipy.interpolate._fitpack_impl", "bisplev"): splines.bisplev,
    ("statistics", "mean"): stdlib.mean,
}
"""Python functions around compiled code, by module and name, and what is inlined in their place: the same computation
with NumPy scalars as results."""

_OVER_ROWS = (zip, enumerate, map, filter, reversed, sum, min, max, any, all)
"""They take an array of a kernel row by row."""

_WHOLE = {len, range, tuple, list, sum, any, all, sorted, set, frozenset, dict, *methods.HANDLERS, *iterators.HANDLERS}
"""The ones of `_ALWAYS` that are split when an argument is one of several things."""

_ALWAYS = {warnings.simplefilter, warnings.filterwarnings, list, dict, sorted, *methods.HANDLERS,
           *iterators.HANDLERS, *records.HANDLERS, *signatures.HANDLERS, *support.HANDLERS,
           moments.timestamp, moments.timedelta, moments.counts_nanoseconds, functools.reduce, len, isinstance, type,
           getattr, hasattr, callable, range, min, max, sum, any, all, tuple, set, frozenset}
"""Handled even when everything is static, because they make local objects, or take objects whole."""

_OF_UNSIGNED = {
    abs, int, float, bool, round, divmod, min, max, any, all, tuple, list, dict, isinstance, type, hasattr, getattr,
    callable, *iterators.HANDLERS, *records.HANDLERS, math.floor, math.ceil, math.trunc, math.fabs, math.log,
    math.isnan, math.isinf, math.isfinite, math.hypot, operator.index, operator.lt, operator.le, operator.gt,
    operator.ge, operator.eq, operator.ne,
}
"""They take ints of [0, 2**64) as they are. All others get ordinary ints, and the original lanes from 2**63 on."""

__all__ = ["REPLACED", "function", "is_pure", "method", "mutates", "ufuncs"]
