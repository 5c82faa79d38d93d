"""NumPy's functions on numbers and small arrays: the table, and how a call of one is taken apart.

A call on known values is made now. A function of numbers (a ufunc, np.where, np.clip) is applied element by element.
Functions that only move elements (np.concatenate, np.reshape, np.flip) are applied by NumPy itself to grids.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend import two_readings
from pyflat.frontend.builtins import complex_functions, formulas, making, reductions, tables
from pyflat.frontend.builtins.support import Given, bind_names
from pyflat.frontend.library import numpy_library
from pyflat.frontend.space import arrays, operators, scalars
from pyflat.frontend.space.complex_numbers import holds_complex
from pyflat.frontend.space.number_classes import may_lack_axes, without_axes
from pyflat.frontend.space.scalars import const_eval
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, is_number_union, numeric_kind
from pyflat.frontend.state.values import (
    Abstract,
    Arguments,
    GuardedUnion,
    ListRef,
    OtherText,
    Seq,
    Static,
    Text,
    WithoutAxes,
)
from pyflat.ir.ops import NUMPY_LOOPS

NumpyHandler = Callable[[Evaluator, Given, cst.CSTNode], Abstract]
_REDUCED = "a axis !dtype !out keepdims !initial !where"
_EXTREME = "a axis !out keepdims !initial !where"
_BOOLS = "a axis !out keepdims !where"


def call(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode, is_pure: Callable[[Any], bool]
         ) -> Abstract | None:
    """The value of a call of a NumPy function; None when it is for the other tables."""
    if isinstance(fn, np.poly1d):
        return formulas.poly1d(s, fn, arguments, node)
    if fn is np.poly1d or fn is np.dtype or fn is np.finfo or fn is np.iinfo:
        return _now(s, fn, arguments, lambda _: True)
    if isinstance(getattr(fn, "__self__", None), np.ufunc) and fn.__name__ == "reduce":
        return _reduced(s, fn.__self__, arguments, node)
    if not is_numpy(fn):
        if not _is_written_in_python(fn):
            return None
        _require_size(s, fn, arguments, node)
        return _now(s, fn, arguments, is_pure)
    s.widths.seen = True
    done = _now(s, fn, arguments, is_pure)
    if done is not None:
        return done
    if any(holds_complex(v) for v in [*arguments.positional, *arguments.named.values()]):
        complex_functions.check(s, fn, node)
        return None
    if fn is np.real and len(arguments.positional) == 1 and arrays.is_array(arguments.positional[0]):
        return arguments.positional[0]
    if fn is np.broadcast_arrays and not arguments.named:
        return broadcast_arrays(s, arguments, node)
    row = _TABLE.get(fn)
    if row is not None:
        handler, parameters = row
        given = bind_names(s, _title(fn), parameters, arguments, node)
        two_readings.note_reduction(s, fn, given.title, given.named, node)
        result = handler(s, given, node)
        if fn in _WITHOUT_AXES:
            return without_axes(s, result, node)
        return result
    _require_size(s, fn, arguments, node)
    if len(arguments.positional) == _OF_MATRICES.get(fn) and numeric_kind(arguments.positional[0]) is not None:
        raise s.raised(np.linalg.LinAlgError, node)
    if not any(_has_elements(v) for v in arguments.positional):
        return None
    if not (isinstance(fn, np.ufunc) or fn in BY_ELEMENT):
        raise s.refuse("flatten/unknown-call", f"{_title(fn)} of an array of computed numbers", node,
                       why="the shape of its result depends on the data" if fn.__name__ in _SHAPELESS else "",
                       help=_INSTEAD.get(fn.__name__, "write it out with loops over the elements"))
    if isinstance(fn, np.ufunc) and (arguments.named or len(arguments.positional) != fn.nin):
        raise s.refuse("flatten/unsupported-expression", f"the options of np.{fn.__name__}", node,
                       help="use np.where for where=, and assign the result instead of out=")
    operands = [arrays.array(s, v, node) if _has_elements(v) else v for v in arguments.positional]
    if fn in _LOOPS:
        arrays.require_forwards(s, operands, node)
    if fn is np.power:
        return operators.powers(s, operands[0], operands[1], node)
    return arrays.apply(
        s, lambda *row: s.space.call(Static(fn), Arguments(list(row), arguments.named), node), operands, node)


def _require_size(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> None:
    """np.arange(n), np.zeros(n) of a lane are refused."""
    sizes = arguments.positional[:1]
    if fn in _SIZED and sizes and not isinstance(sizes[0], Static) and numeric_kind(sizes[0]) is not None:
        raise s.refuse("flatten/lane-to-object", f"the length of {_title(fn)}(...) depends on the data", node,
                       why="an array here has a known shape; a loop over range(n) and a list may depend on the data")


_LOOPS = {getattr(np, name) for name in NUMPY_LOOPS.values()}
_WITHOUT_AXES: set[Any] = {np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.copy,
                           np.where, np.select, np.piecewise, np.squeeze, np.zeros_like, np.ones_like, np.full_like,
                           np.reshape, np.full, np.transpose, np.broadcast_to}
"""They give an array without axes for a number."""
_FILLED: dict[Any, Any] = {np.empty: np.zeros, np.empty_like: np.zeros_like}
"""What is in an empty array is not defined; here it is zeros."""
_SIZED = {np.arange, np.zeros, np.ones, np.empty, np.eye, np.identity, np.tri, np.full}
_OF_MATRICES: dict[Any, int] = {np.linalg.solve: 2, np.linalg.lstsq: 2, **{getattr(np.linalg, name): 1 for name in (
    "det", "slogdet", "inv", "eig", "eigh", "eigvals", "eigvalsh", "svd", "qr", "cholesky")}}
"""How many arguments they take, the first of which is no number."""
_SHAPELESS = {"unique", "nonzero", "flatnonzero", "argwhere", "extract", "compress"}


_REDUCE: dict[Any, Any] = {np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
                           np.logical_and: np.all, np.logical_or: np.any}
_INSTEAD = {**dict.fromkeys(("det", "inv", "solve", "eig", "eigh", "eigvals", "svd", "lstsq", "qr"),
                            "write out the formula for two or three rows; LAPACK adds in its own order"),
            "nanmean": "np.nansum(v) / np.count_nonzero(v == v)", "einsum": "write it as sums of products",
            "argsort": "compare the elements"}


def _reduced(s: Evaluator, ufunc: np.ufunc, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """np.add.reduce(v) of one axis is np.sum(v)."""
    same = _REDUCE.get(ufunc)
    if same is None or arguments.named or len(arguments.positional) != 1 \
            or arrays.as_grid(s, arguments.positional[0], node).ndim != 1:
        return None
    return s.space.call(Static(same), arguments, node)


def _title(fn: Any) -> str:
    module = ".linalg" if str(getattr(fn, "__module__", "")).startswith("numpy.linalg") else ""
    return f"np{module}.{fn.__name__}"


def is_numpy(fn: Any) -> bool:
    if isinstance(fn, np.ufunc):
        return True
    try:
        if fn in _TABLE or fn in BY_ELEMENT:
            return True
    except TypeError:
        return False
    return not isinstance(fn, type | types.FunctionType) and callable(fn) \
        and str(getattr(fn, "__module__", "")).split(".")[0] == "numpy" and hasattr(fn, "__name__")


def _is_written_in_python(fn: Any) -> bool:
    """A function of NumPy's own Python files, like np.ones: called now where that is possible, otherwise inlined."""
    return isinstance(fn, types.FunctionType) and str(fn.__module__).split(".")[0] == "numpy"


def _has_elements(value: Abstract) -> bool:
    return arrays.is_array(value) or isinstance(value, ListRef) \
        or isinstance(value, Seq) and value.cls in (tuple, list) \
        or isinstance(value, Static) and isinstance(value.value, list | tuple)


def _now(s: Evaluator, fn: Any, arguments: Arguments, is_pure: Callable[[Any], bool]) -> Abstract | None:
    """The call on known values."""
    every = [*arguments.positional, *arguments.named.values()]
    if not all(isinstance(v, Static) or _has_elements(v) for v in every) or not is_pure(fn) or "out" in arguments.named:
        return None
    found = [v.value if isinstance(v, Static) else arrays.known(s, v) for v in every]
    if any(f is None and not isinstance(v, Static) or isinstance(f, types.FunctionType) or hasattr(f, "__next__")
           for f, v in zip(found, every, strict=True)):
        return None
    count = len(arguments.positional)
    if isinstance(fn, np.ufunc) and count > fn.nin:
        return None
    named = dict(zip(arguments.named, found[count:], strict=True))
    fn = _FILLED.get(fn, fn)
    result = const_eval(s, lambda: fn(*found[:count], **named))
    if isinstance(result, Static) and any(arrays.is_array(v) and not isinstance(v, Static) and _shares(result.value, f)
                                          for f, v in zip(found, every, strict=True)):
        return None
    parts = result.value if isinstance(result, Static) and type(result.value) is tuple else ()
    if any(isinstance(each, np.ndarray) for each in parts):
        return heap.make_tuple([arrays.local(s, Static(each), found) for each in parts])
    return arrays.local(s, result, found)


def _shares(result: Any, source: Any) -> bool:
    """Whether a result is a view of an array, or contains one; the array may be written to, and its view changes."""
    if isinstance(result, list | tuple):
        return any(_shares(part, source) for part in result)
    return isinstance(result, np.ndarray) and isinstance(source, np.ndarray) and np.shares_memory(result, source)


# --- one number after the other
def where(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """np.where: both values have one kind, whichever is taken."""
    if "x" not in given.named or "y" not in given.named:
        raise s.refuse("flatten/lane-to-object", "np.where with a condition only", node,
                       why="the number of indices would depend on the data",
                       help="np.where(condition, a, b) chooses values")
    condition, *values = (arrays.array(s, given.named[name], node) for name in ("condition", "x", "y"))
    kind = arrays.joined_kind(s, [arrays.grid(s, v, node) for v in values], node)

    def one(test: Abstract, a: Abstract, b: Abstract) -> Abstract:
        cond = s.space.truth(test)
        a, b = arrays.cast(s, a, kind, node), arrays.cast(s, b, kind, node)
        if isinstance(cond, Static):
            return a if cond.value else b
        return scalars.choose(s, cond, a, b)

    return arrays.apply(s, one, [condition, *values], node, kind)


def by_element(fn: Any, *names: str) -> NumpyHandler:
    """A function of numbers, written in Python: inlined for each element."""

    def handler(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
        operands = [arrays.array(s, given.value(name), node) for name in names]
        for name, value in zip(names, operands, strict=True):
            if arrays.kind_of(value) is None and not is_number_union(value):
                raise s.refuse("flatten/unsupported-expression", f"{name} of {given.title} is {describe(value)}", node)
        rest = {k: v for k, v in given.named.items() if k not in names}
        return arrays.apply(
            s, lambda *row: s.space.call(Static(fn), Arguments(list(row), rest), node), operands, node)

    return handler


# --- shapes
def about(read: Callable[[tuple[int, ...]], Any]) -> NumpyHandler:
    """np.shape, np.ndim, np.size."""

    def handler(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
        value = given.value("a")
        shape = arrays.shape_of(value) if arrays.is_array(value) else arrays.as_grid(s, value, node).shape
        return Static(read(shape))

    return handler


def inlined(fn: Any) -> NumpyHandler:
    """A library function of numbers and arrays."""

    def handler(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
        return s.space.inline(fn, Arguments([], given.named), node)

    return handler


def isscalar(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    value = given.value("element")
    if isinstance(value, GuardedUnion):
        return s.split(value, lambda each: isscalar(s, Given(s, given.title, {"element": each}, node), node))
    if may_lack_axes(s, value):
        raise s.refuse("flatten/unsupported-expression", "np.isscalar of a NumPy result", node,
                       why="it is false for arrays without axes, which pyflat does not distinguish from numbers",
                       help="use np.ndim(x) == 0")
    number = numeric_kind(value) is not None and not isinstance(value, WithoutAxes)
    return Static(number or isinstance(value, Text | OtherText))


def broadcast_arrays(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """Numbers as they are; arrays spread to one shape, as copies that are not written to."""
    values = [arrays.array(s, v, node) for v in arguments.positional]
    if not any(map(arrays.is_array, values)):
        return heap.make_tuple(values)
    try:
        spread = np.broadcast_arrays(*[arrays.grid(s, v, node) for v in values])
    except ValueError:
        raise s.raised(ValueError, node) from None
    frozen = "np.broadcast_arrays gives views"
    return heap.make_tuple([making.copied_view(s, v, g, node, frozen)
                            for g, v in zip(spread, values, strict=True)])


_TABLE: dict[Any, tuple[NumpyHandler, str]] = {
    # making
    **dict.fromkeys((np.array,), (making.array, "a dtype copy !order !subok !ndmin")),
    **dict.fromkeys((np.asarray, np.asanyarray, np.ascontiguousarray), (making.array, "a dtype !order copy")),
    np.copy: (making.copy, "a !order !subok"),
    np.full: (making.full, "shape fill_value dtype !order"),
    np.zeros_like: (making.like(0), "a dtype !order !subok !shape"),
    np.ones_like: (making.like(1), "a dtype !order !subok !shape"),
    np.empty_like: (making.like(0), "a dtype !order !subok !shape"),
    np.full_like: (making.full_like, "a fill_value dtype !order !subok !shape"),
    np.linspace: (making.linspace, "start stop num endpoint !retstep !dtype !axis"),
    np.diag: (making.diag, "v k"),
    **{fn: (making.joined(fn), parameters) for fn, parameters in (
        (np.concatenate, "arrays axis !out !dtype !casting"), (np.stack, "arrays axis !out !dtype !casting"),
        (np.hstack, "arrays !dtype !casting"), (np.vstack, "arrays !dtype !casting"), (np.column_stack, "arrays"),
        (np.dstack, "arrays"))},
    np.append: (making.append, "arr values axis"),
    **{fn: (making.moved(fn), parameters) for fn, parameters in (
        (np.ravel, "a !order"), (np.reshape, "a shape !order"), (np.transpose, "a axes"), (np.squeeze, "a axis"),
        (np.atleast_1d, "a"), (np.atleast_2d, "a"), (np.expand_dims, "a axis"), (np.flip, "a axis"), (np.fliplr, "a"),
        (np.flipud, "a"), (np.swapaxes, "a axis1 axis2"), (np.moveaxis, "a source destination"),
        (np.roll, "a shift axis"), (np.tile, "a reps"), (np.repeat, "a repeats axis"),
        (np.broadcast_to, "a shape"), (np.rot90, "a k axes"))},
    # reductions
    np.sum: (reductions.reduction(reductions.total, ordered=True), _REDUCED),
    np.prod: (reductions.reduction(reductions.product), _REDUCED),
    np.mean: (reductions.reduction(reductions.mean, ordered=True, strict=True), "a axis !dtype !out keepdims !where"),
    np.var: (reductions.var(root=False), "a axis !dtype !out ddof keepdims !where !mean !correction"),
    np.std: (reductions.var(root=True), "a axis !dtype !out ddof keepdims !where !mean !correction"),
    np.median: (reductions.reduction(reductions.median, strict=True), "a axis !out !overwrite_input keepdims"),
    **{fn: (reductions.reduction(reductions.extreme("ge")), _EXTREME) for fn in (np.max, np.amax)},
    **{fn: (reductions.reduction(reductions.extreme("le")), _EXTREME) for fn in (np.min, np.amin)},
    np.nanmax: (reductions.reduction(reductions.extreme("ge", skip_nan=True)), _EXTREME),
    np.nanmin: (reductions.reduction(reductions.extreme("le", skip_nan=True)), _EXTREME),
    np.nansum: (formulas.nansum, _REDUCED),
    np.ptp: (reductions.reduction(reductions.spread), "a axis !out keepdims"),
    np.any: (reductions.reduction(reductions.some("or")), _BOOLS),
    np.all: (reductions.reduction(reductions.some("and")), _BOOLS),
    np.argmax: (reductions.reduction(reductions.where_extreme("ge")), "a axis !out keepdims"),
    np.argmin: (reductions.reduction(reductions.where_extreme("le")), "a axis !out keepdims"),
    np.count_nonzero: (reductions.reduction(reductions.count_nonzero), "a axis keepdims"),
    np.cumsum: (reductions.running("add"), "a axis !dtype !out"),
    np.cumprod: (reductions.running("mul"), "a axis !dtype !out"),
    np.sort: (formulas.sort, "a axis !kind !order !stable"),
    np.average: (formulas.average, "a axis weights !returned keepdims"),
    np.diff: (formulas.diff, "a n axis !prepend !append"),
    np.trapezoid: (formulas.trapezoid, "y x dx !axis"),
    np.trace: (formulas.trace, "a !offset !axis1 !axis2 !dtype !out"),
    # products
    np.dot: (reductions.np_dot, "a b !out"), np.vdot: (reductions.vdot, "a b"), np.inner: (reductions.inner, "a b"),
    np.matmul: (reductions.np_matmul, "a b !out"), np.outer: (reductions.outer, "a b !out"),
    np.cross: (reductions.cross, "a b !axisa !axisb !axisc !axis"),
    np.linalg.norm: (reductions.norm, "x ord axis !keepdims"),
    # tables
    np.interp: (tables.interp, "x xp fp left right !period"),
    np.searchsorted: (tables.searchsorted, "a v side !sorter"),
    np.digitize: (tables.digitize, "x bins right"),
    # one number after the other
    np.where: (where, "condition x y"),
    np.select: (formulas.select, "condlist choicelist default"),
    np.piecewise: (formulas.piecewise, "x condlist funclist"),
    np.polyval: (formulas.polyval, "p x"),
    np.square: (by_element(numpy_library.square, "x"), "x !out"),
    np.reciprocal: (formulas.reciprocal, "x !out"),
    np.sinc: (by_element(numpy_library.sinc, "x"), "x"),
    np.isclose: (by_element(numpy_library.isclose, "a", "b"), "a b rtol atol equal_nan"),
    np.allclose: (formulas.allclose, "a b rtol atol equal_nan"),
    np.nan_to_num: (formulas.nan_to_num, "x copy nan posinf neginf"),
    **dict.fromkeys((np.round, np.around), (formulas.rounded, "a decimals !out")),
    np.clip: (formulas.clip, "a a_min a_max !out min max"),
    np.fmax: (formulas.skipping("ge"), "x1 x2 !out"), np.fmin: (formulas.skipping("le"), "x1 x2 !out"),
    np.fix: (formulas.fix, "x !out"), np.modf: (inlined(numpy_library.modf), "x"),
    np.shape: (about(lambda shape: shape), "a"), np.ndim: (about(len), "a"),
    np.size: (about(lambda shape: int(np.prod(shape))), "a !axis"), np.isscalar: (isscalar, "element"),
}

BY_ELEMENT = {np.sign, np.abs, np.real, np.imag, np.conj, np.isreal, np.iscomplex, np.angle, np.i0}
"""Functions of numbers that are no ufuncs, or have a handler of their own."""
