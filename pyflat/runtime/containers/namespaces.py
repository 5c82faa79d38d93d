"""Arrays of other namespaces (JAX, PyTorch, CuPy, what has `__array_namespace__`): the function as code over their own
operations (`pyflat.targets.xp`), so that `jax.jit`, `vmap` and gradients go through.

Lanes in which Python may raise are known from a mask. Where that is an array of numbers, those lanes are looked at as
everywhere: they raise, or get their value. Where it is not (inside of `jit`, `vmap`, `grad`) such lanes are nan.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyflat.backend import flatten_fold, flatten_function, flatten_optimize
from pyflat.backend.flat import FlatFunction
from pyflat.errors import FlattenError, refuse
from pyflat.ir.shape import Fixed, Labels, Maybe, Path, Ragged, Record, Shape, Texts, rebuild
from pyflat.runtime.arguments import ClassifiedCall
from pyflat.runtime.arrays import Array
from pyflat.runtime.compiled import Built, flatten
from pyflat.runtime.containers import LibraryCall
from pyflat.runtime.faults import Faults, Part
from pyflat.runtime.interfaces import Calls
from pyflat.targets import xp as target
from pyflat.targets.target import Request

MAX_KEPT = 64
"""Codes kept for each function."""


@dataclass(frozen=True, slots=True)
class _TwinCode:
    """The code for some kinds, and the twin that was made of the same function at the same time."""

    built: Built
    result: Shape
    run: Callable[..., tuple[Any, ...]]


_codes: weakref.WeakKeyDictionary[Calls, dict[Any, _TwinCode]] = weakref.WeakKeyDictionary()


def call(call: LibraryCall) -> Any:
    """Arrays of the namespace, in the structure of the result."""
    given = call.arguments()
    xp, dtype = _namespace(call, given), _dtype(call, given)
    stand_ins = {path: _stand_in(call, path, value) for path, value in given.items()}
    classified = _classified(call, stand_ins)
    arrays = {id(stand_in): given[path] for path, stand_in in stand_ins.items()}
    lanes = [arrays[id(value)] if id(value) in arrays else _as_array(value, xp) for value in classified.values]
    errors = call.options.errors
    if errors == "unchecked":
        code = _code(call, classified, xp, "unchecked", dtype)
        return rebuild(code.result, iter(_run(code, xp, lanes)))
    code = _code(call, classified, xp, "mask", dtype)
    *values, suspect = _run(code, xp, lanes)
    mask = _known(suspect)
    if mask is None:
        return _within_a_trace(call, classified, xp, dtype, lanes)
    faults = Faults.none(mask.shape)
    if mask.any():
        values, faults = _settled(call, given, values, mask, xp)
    result = rebuild(code.result, iter(values))
    return (result, faults) if errors == "mask" else result


def by_name(call: LibraryCall, table: Any) -> Any:
    """There are no tables of such arrays but dicts."""
    raise TypeError(f"by_name takes a table of named columns, not a {type(table).__name__}")


def _within_a_trace(call: LibraryCall, classified: ClassifiedCall, xp: Any, dtype: str, lanes: Sequence[Any]) -> Any:
    """The result where arrays have no numbers yet: nan in lanes in which Python raises, or the mask beside it."""
    if call.options.errors == "mask":
        code = _code(call, classified, xp, "mask", dtype)
        *values, suspect = _run(code, xp, lanes)
        return rebuild(code.result, iter(values)), suspect
    try:
        code = _code(call, classified, xp, "nan", dtype)
    except FlattenError as error:
        if error.code != "flatten/result-kind":
            raise
        raise refuse("flatten/result-kind", f"{call.caller.parameters.name} can fail, and a result is int or bool: "
                     f"under {xp.__name__}'s transformations, failing elements become nan, which only floats can hold",
                     help='errors="mask" returns (values, mask), errors="unchecked" any value there') from None
    return rebuild(code.result, iter(_run(code, xp, lanes)))


def _as_array(value: Any, xp: Any) -> Any:
    """NumPy's arrays and scalars as arrays of the namespace."""
    return xp.asarray(np.asarray(value)) if isinstance(value, np.ndarray | np.generic) else value


def _run(code: _TwinCode, xp: Any, lanes: Sequence[Any]) -> list[Any]:
    """The results, also those that are the same in all lanes, as arrays of the shape of all lanes."""
    shape = np.broadcast_shapes(*[getattr(lane, "shape", ()) for lane in lanes])
    with np.errstate(all="ignore"):  # both arms of a branch are computed
        values = code.run(*lanes)
    return [value if value.shape == shape else xp.broadcast_to(value, shape) for value in values]


def _namespace(call: LibraryCall, given: Mapping[Path, Any]) -> Any:
    """The one namespace of the arrays. TypeError where there are several."""
    found = {path: _namespace_of(value) for path, value in given.items()}
    (first, xp), *rest = found.items()
    for path, other in rest:
        if other is not xp:
            raise TypeError(f"arguments {call.name(first)!r} and {call.name(path)!r} are arrays of {xp.__name__} and "
                            f"{other.__name__}: convert one to the type of the other")
    return xp


def _namespace_of(value: Any) -> Any:
    root = type(value).__module__.partition(".")[0]
    if root in ("jax", "jaxlib"):
        import jax.numpy as jnp

        return jnp
    return sys.modules[root] if root in ("torch", "cupy") else value.__array_namespace__()


def _dtype(call: LibraryCall, given: Mapping[Path, Any]) -> str:
    """The format of float lanes. Where JAX has no float64 they are float32."""
    if call.options.dtype == "input":
        floats = [str(value.dtype) for value in given.values() if "float" in str(value.dtype)]
        return "float32" if floats and all("float32" in name for name in floats) else "float64"
    if call.options.dtype == "float64" and (jax := sys.modules.get("jax")) is not None:
        is_jax = any(type(value).__module__.startswith("jax") for value in given.values())
        return "float64" if not is_jax or jax.config.jax_enable_x64 else "float32"
    return call.options.dtype


def _stand_in(call: LibraryCall, path: Path, value: Any) -> Array:
    """A NumPy array of one lane of the same kind. TypeError for what no lane holds."""
    name = str(value.dtype).rpartition(".")[2]
    for start, kind in (("float", "f8"), ("bfloat", "f8"), ("int", "i8"), ("uint", "i8"), ("bool", "?")):
        if name.startswith(start):
            return np.ones(1, kind)
    raise TypeError(f"argument {call.name(path)!r} is an array of {name}: arrays other than NumPy's can only have "
                    f"bool, int and float")


def _classified(call: LibraryCall, stand_ins: Mapping[Path, Any]) -> ClassifiedCall:
    made = call.with_arguments(stand_ins)
    return call.caller.classified(made.args, made.kwargs, call.options)


def _code(call: LibraryCall, classified: ClassifiedCall, xp: Any, faults: str, dtype: str) -> _TwinCode:
    """The code for these kinds, made again where the function or what it reads has changed."""
    caller, shapes = call.caller, classified.arguments
    built = caller.compilations.get(caller.callee.function, shapes, call.options.settled(classified.floats).as_built)
    kept = _codes.setdefault(caller, {})
    key = (*shapes.items(), xp.__name__, faults, dtype)
    found = kept.get(key)
    if found is None or found.built is not built:
        found = _made(call, shapes, built, xp, faults, dtype)
        while len(kept) >= MAX_KEPT:
            kept.pop(next(iter(kept)))
        kept[key] = found
    return found


def _made(call: LibraryCall, shapes: Mapping[str, Shape], built: Built, xp: Any, faults: str, dtype: str) -> _TwinCode:
    """Straight code; for JAX also code with loops whose trips differ by lane."""
    try:
        flat = _flat(call, shapes, faults)
    except FlattenError:
        if xp.__name__ != "jax.numpy":
            raise
        made = _with_loops(call, shapes, built, xp, faults, dtype)
        if made is None:
            raise
        return made
    return _TwinCode(built, flat.result, _compiled(flat, xp, faults, dtype))


def _with_loops(call: LibraryCall, shapes: Mapping[str, Shape], built: Built, xp: Any, faults: str, dtype: str
                ) -> _TwinCode | None:
    """The code of a function in which loops stay loops; None where there is none of these."""
    import jax

    from pyflat.targets.jax import extra, looped

    options = replace(call.options, target="numba")  # its form of loops
    done = flatten(call.caller.callee.function, shapes, options, engine=True)
    if done.flat.form != "masked":
        return None
    _require_numbers(call.caller.parameters.name, done.spec.result)
    fused = Request(done.flat, done.spec, shapes, max_trips=options.max_trips).fused()
    run = jax.jit(looped(fused, xp, dtype, extra(), options.max_trips, faults))
    return _TwinCode(built, done.spec.result, run)


def _require_numbers(name: str, result: Shape) -> None:
    if any(isinstance(leaf, Labels | Texts | Ragged | Maybe) for leaf in _leaves(result)):
        raise refuse("flatten/result-kind", f"{name} returns strings, None or other objects, but only NumPy "
                     f"arrays can hold them", help="return a number for each of them, or pass NumPy arrays")
    if not all(map(_is_number, _leaves(result))):
        raise refuse("flatten/result-kind", f"{name} returns complex numbers, dates or objects, but only NumPy "
                     f"arrays can hold them", help="return their parts")


def _flat(call: LibraryCall, shapes: Mapping[str, Shape], faults: str) -> FlatFunction:
    """The flat form of the function. FlattenError for results that other arrays have no lanes for."""
    parameters = call.caller.parameters
    fixed = {name: shape.value for name, shape in shapes.items() if isinstance(shape, Fixed)}
    left_out = {name: p.default for name, p in parameters.signature.parameters.items()
                if name not in shapes and p.default is not p.empty}
    flat = flatten_function(
        call.caller.callee.function, arguments={name: shape for name, shape in shapes.items() if name not in fixed},
        static={**fixed, **left_out}, faults="drop" if faults == "unchecked" else "mask")
    _require_numbers(flat.name, flat.result)
    return flatten_optimize(flatten_fold(flat))


def _leaves(shape: Shape) -> list[Shape]:
    if isinstance(shape, Record) and (shape.cls in (tuple, list, dict) or shape.names):
        return [leaf for item in shape.items for leaf in _leaves(item)]
    return [shape]


def _is_number(shape: Shape) -> bool:
    return not isinstance(shape, Record) and not (isinstance(shape, Fixed) and isinstance(shape.value, complex))


def _compiled(flat: FlatFunction, xp: Any, faults: str, dtype: str) -> Callable[..., tuple[Any, ...]]:
    """The code; for JAX compiled as one function."""
    if xp.__name__ != "jax.numpy":
        return target.compiled(flat, xp, faults, dtype)
    import jax

    from pyflat.targets.jax import extra

    made: Callable[..., tuple[Any, ...]] = jax.jit(target.compiled(flat, xp, faults, dtype, extra()))
    return made


def _known(suspect: Any) -> Array | None:
    """A mask as a NumPy array; None where it has no numbers yet. JAX and PyTorch raise their own TypeErrors and
    RuntimeErrors then."""
    try:
        return _numpy(suspect)
    except (TypeError, RuntimeError):
        return None


def _numpy(array: Any) -> Array:
    """The numbers of an array of any namespace."""
    if hasattr(array, "detach"):
        return np.asarray(array.detach().cpu())
    if hasattr(array, "get"):
        return np.asarray(array.get())
    try:
        return np.asarray(array)
    except TypeError:  # without __array__, the standard has this
        return np.from_dlpack(array)


def _settled(call: LibraryCall, given: Mapping[Path, Any], values: Sequence[Any], mask: Array, xp: Any
             ) -> tuple[list[Any], Faults]:
    """The results with the values of suspect lanes, which a call with NumPy's arrays computes: it raises as ever."""
    part = Part.selected(mask)
    lanes = {path: np.broadcast_to(_numpy(value), mask.shape)[mask] for path, value in given.items()}
    others = {path: np.broadcast_to(value, mask.shape)[mask] for path, value in call.arrays().items()}
    found = call.run({**lanes, **others}, part=part)
    found, faults = found if call.options.errors == "mask" else (found, Faults.none(mask.shape))
    exact = _flattened(found)
    patched = []
    for value, numbers in zip(values, exact, strict=True):
        whole = np.zeros(mask.shape, np.asarray(numbers).dtype)
        whole[mask] = numbers
        patched.append(xp.where(xp.asarray(mask), xp.asarray(whole, dtype=value.dtype), value))
    return patched, faults


def _flattened(value: Any) -> list[Any]:
    from pyflat.runtime.containers.columns import named

    return [item for _, item in named(value)]
