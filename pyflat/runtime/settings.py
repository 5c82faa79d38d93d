"""Options: one set of names for the decorator, `twin`, `with pyflat.options(...)`, defaults and the environment.

Each call uses the first setting in this list:

    1. the options given to the decorator, to `pyflat.twin` or to `twin.with_options`;
    2. the innermost `with pyflat.options(...)` block of this thread or task;
    3. `pyflat.set_defaults(...)`;
    4. the environment variables PYFLAT_TARGET (the target only) and PYFLAT_AUDIT (the share that is audited; as it is
       when pyflat is imported);
    5. the defaults of the class `Options`.

Options are never keywords of a call: there, every keyword except `out` is a parameter of the user's function.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack, cast, get_args

from pyflat.analysis.temporaries import Mode, Virtualize
from pyflat.errors import refuse
from pyflat.targets import target as targets

if TYPE_CHECKING:
    from pyflat.backend.registered import Registered
    from pyflat.ir.formats import FloatFormat
    from pyflat.ir.opaque_calls import Call
    from pyflat.runtime.labels import Form
    from pyflat.targets.target import EngineName, Target


@dataclass(frozen=True, slots=True)
class Options:
    """How a function is flattened and run.

    target      the engine: "numpy", "numba", "dataflow" (a graph, simulated token by token), "wgsl" (a compute shader
                on a GPU: 32 bits, needs errors="unchecked"), or an engine from another package
                (`pyflat.backend.target`, or a `pyflat.targets.Target`)
    static      names of parameters that are fixed rather than arrays; pyflat makes a twin for each of their values
    arrays      names of parameters that are whole arrays, which makes the twin a kernel that runs once per call;
                `()`: none; None: those that the body subscripts, iterates over, or asks for length or shape
                (`twin.roles`)
    signature   `"(n),()->(n)"`: the core dimensions of each input and output of a kernel over arrays, as in
                `np.vectorize`; leading dimensions broadcast. `twin.gufunc` is the resulting ufunc
    core_dims   `{"a": ("y", "x")}`: with signature=, the dimensions of an xarray object that are the core dimensions of
                a parameter; default: those that the signature names
    loops       "auto": loops with a constant iteration count are unrolled; other loops run until every element has
                finished; "unroll": every loop is unrolled, or refused; "masked": every `while` and every loop over a
                range stays a loop, unless its body needs a known index
    max_unroll  the most iterations that a loop nest may unroll to
    max_tracing_dim  in kernels, the most iterations that a loop nest with known bounds may unroll to, and the most
                     elements of an array of known shape that become separate numbers; a longer loop that cannot stay a
                     loop is refused
    max_trips   the iteration limit of loops that are not unrolled; elements that exceed it raise `TripLimitError`
    errors      what to do where the original raises: "raise": raise the exception of the first such element; "mask":
                return (values, faults), with nan, 0 or False in those elements; "nan": return nan there; "unchecked":
                detect nothing, so that those elements contain garbage, and those that only the original can compute
    dtype       "float64": compute floats in float64, like Python; "float32": compute them in float32
                (see docs/reference/semantics.md); "input": in float32 if every float array and NumPy scalar of the
                call is float32, else in float64
    math        "exact": the same bits as CPython on this machine (as NumPy, where the function calls NumPy); "fast":
                functions and quotients within 2 ulp, and a*b+c rounded once where the processor can; branches use these
                values. Nan, inf and signed zeros keep their meaning, and nothing is reassociated
    fast_math   only False; use math="fast" to allow different last digits
    parallel    use several threads (numpy and numba, same results); None: if a call takes more than a few milliseconds
                and cores are free. A kernel runs on one thread, with a warning, unless it is one loop with independent
                iterations; numba's prange has the effect of True
    cache       keep compiled twins in memory; False: flatten again at each call
    strict_fold refuse a twin (`flatten/fold-residual`) that still computes a known value or one of its operands: for
                tests that a reduction happens. Float32 code and loops that stay loops are not checked
    max_visits  how often an element of an array made by a kernel may be read if it is to be computed where it is read,
                without storing the array (which is then *virtual*); None: decided by cost
    inline_scalar_constexprs  arrays of one constant are virtual, however often they are read
    inline_simple_computations  arrays of another array's elements, of indices, or made from constants are virtual too
    inline_complex_computations  other arrays are virtual by how often they are read and by cost; False: never; True:
                                 always
    enable_device_only  arrays that are not virtual may keep only the rows that are still needed (numba)
    memory      `{"t": "stored"}`: how to keep an array made by a kernel, by its name in `explain()`: "virtual",
                "buffer" (of rows) or "stored"; if that is impossible, the kernel is refused
    whitelist   functions that are called instead of inlined, by name or as `pyflat.backend.Call`: see `pyflat.backend`
    results     how to return results other than numbers: "labels": strings as an array of `<U`, other objects as an
                object array; "string": strings as an array of StringDType; "codes": (codes, categories), with -1 for
                None; "ints": as "labels", and a power of ints is an int: a negative exponent raises LaneError
    none        how to return None among numbers: "raise": raise an exception; "masked": masked arrays; "object": object
                arrays; "nan": nan
    audit       the share of the elements of each call (0.0 to 1.0), drawn at random, that the original also computes; a
                difference raises `pyflat.testing.DifferenceError`. For a kernel, the share of its calls, on copies of
                its arrays. Elements of math="fast" are not compared. Calls with audit take the slow path
    inject      the decorator also defines `<name>_flat` in the module
    """

    target: EngineName | Registered = "numpy"
    static: tuple[str, ...] = ()
    arrays: tuple[str, ...] | None = None
    signature: str | None = None
    core_dims: tuple[tuple[str, tuple[str, ...]], ...] = ()
    loops: Literal["auto", "unroll", "masked"] = "auto"
    max_unroll: int = 4096
    max_tracing_dim: int = 16
    max_trips: int | None = None
    errors: Literal["raise", "mask", "nan", "unchecked"] = "raise"
    math: Literal["exact", "fast"] = "exact"
    dtype: Literal["float64", "float32", "input"] = "float64"
    fast_math: bool = False
    parallel: bool | None = None
    cache: bool = True
    strict_fold: bool = False
    max_visits: int | None = None
    inline_scalar_constexprs: bool = True
    inline_simple_computations: bool = True
    inline_complex_computations: bool | None = None
    enable_device_only: bool = True
    memory: tuple[tuple[str, Mode], ...] = ()
    whitelist: frozenset[Call] | None = None
    results: Literal["labels", "string", "codes", "ints"] = "labels"
    none: Literal["raise", "masked", "object", "nan"] = "raise"
    audit: float = 0.0
    inject: bool = True

    @property
    def virtualize(self) -> Virtualize:
        """Which arrays that a kernel makes become virtual."""
        return Virtualize(**{each.name: getattr(self, each.name) for each in fields(Virtualize)})

    @property
    def form(self) -> Form:
        """How results other than numbers are returned."""
        from pyflat.runtime.labels import Form

        return Form("labels" if self.results == "ints" else self.results, self.none)

    @property
    def as_built(self) -> Options:
        """The options that a compiled twin depends on. Errors, objects and None are handled after it has run, threads
        at each call. With dtype="input", as for a call without float arrays."""
        errors = self.errors if self.errors == "unchecked" else "raise"
        dtype: Literal["float64", "float32"] = "float32" if self.dtype == "float32" else "float64"
        same = errors == self.errors and self.parallel is None and dtype == self.dtype
        results: Literal["labels", "ints"] = "ints" if self.results == "ints" else "labels"
        if same and (self.results, self.none, self.audit) == (results, "raise", 0.0):
            return self
        return replace(self, errors=errors, parallel=None, dtype=dtype, results=results, none="raise", audit=0.0)

    @property
    def all_built(self) -> tuple[Options, ...]:
        """The options of all that may have been compiled for calls with these."""
        if self.dtype != "input":
            return (self.as_built,)
        return replace(self, dtype="float32").as_built, self.as_built

    @property
    def floats(self) -> FloatFormat:
        """The format of float lanes; with dtype="input" that of a call without float arrays."""
        from pyflat.ir.formats import F4, F8

        return F4 if self.dtype == "float32" else F8

    def settled(self, floats: FloatFormat) -> Options:
        """The options of a call whose float arguments have this format."""
        return self if self.dtype != "input" else _settled(self, floats)


class OptionArguments(TypedDict, total=False):
    """The keywords that set options, for type checkers."""

    target: EngineName | Registered | Target
    static: str | Iterable[str]
    arrays: str | Iterable[str] | None
    signature: str | None
    core_dims: Mapping[str, str | Iterable[str]]
    loops: Literal["auto", "unroll", "masked"]
    max_unroll: int
    max_tracing_dim: int
    max_trips: int | None
    errors: Literal["raise", "mask", "nan", "unchecked"]
    math: Literal["exact", "fast", "libm", "vector"]
    dtype: Literal["float64", "float32", "input"]
    fast_math: bool
    parallel: bool | None
    cache: bool
    strict_fold: bool
    max_visits: int | None
    inline_scalar_constexprs: bool
    inline_simple_computations: bool
    inline_complex_computations: bool | None
    enable_device_only: bool
    memory: Mapping[str, Mode]
    whitelist: Iterable[str | Call] | None
    results: Literal["labels", "string", "codes", "ints"]
    none: Literal["raise", "masked", "object", "nan"]
    audit: float
    inject: bool


Settings = tuple[tuple[str, Any], ...]
"""Checked options in the order of their names: hashable, so that they can be part of a key."""

NAMES = tuple(f.name for f in fields(Options))
_CHOICES: dict[str, tuple[str, ...]] = {
    "loops": ("auto", "unroll", "masked"),
    "errors": ("raise", "mask", "nan", "unchecked"),
    "math": ("exact", "fast"),
    "dtype": ("float64", "float32", "input"),
    "results": ("labels", "string", "codes", "ints"),
    "none": ("raise", "masked", "object", "nan"),
}
_FORMER = {("math", "libm"): "exact", ("math", "vector"): "fast"}
"""Values that have other names now."""
_FLAGS = ("fast_math", "parallel", "cache", "strict_fold", "inject", "inline_scalar_constexprs",
          "inline_simple_computations", "inline_complex_computations", "enable_device_only")
_OPTIONAL = ("max_trips", "parallel", "arrays", "signature", "max_visits", "inline_complex_computations")
"""Options that may be None."""
_PLANNED: dict[tuple[str, object], str] = {
    ("fast_math", True): 'write math="fast", or omit the option: the twin then computes exactly what Python computes',
}


def settings(given: Mapping[str, Any]) -> Settings:
    """Check names and values. TypeError for a wrong name or type, ValueError for a wrong value,
    FlattenError `flatten/not-yet` for a planned option."""
    return tuple(sorted((name, _checked(name, value)) for name, value in given.items()))


def resolve(explicit: Settings = ()) -> Options:
    """The options in force now, `explicit` first."""
    return _merge(explicit, _block.get(), _defaults, os.environ.get("PYFLAT_TARGET"))


def set_defaults(**given: Unpack[OptionArguments]) -> None:
    """Set default options for the whole process. Blocks, decorators and `with_options` override them."""
    global _defaults  # noqa: PLW0603 - the one process-wide setting
    _defaults = _layer(tuple(sorted({**dict(_defaults), **dict(settings(given))}.items())))


@contextmanager
def options(**given: Unpack[OptionArguments]) -> Iterator[None]:
    """Set options for a block: `with pyflat.options(target="numba"): shade.flat(xs)`."""
    token = _block.set(_layer(tuple(sorted({**dict(_block.get()), **dict(settings(given))}.items()))))
    try:
        yield
    finally:
        _block.reset(token)


@lru_cache(maxsize=512)
def _layer(found: Settings) -> Settings:
    """One object for equal settings."""
    return found


class InForce(NamedTuple):
    """The layers below a twin's own settings, as objects that are cheap to compare with those in force later."""

    block: Callable[[], Settings]
    opened: Settings
    defaults: Settings
    environment: Mapping[Any, Any]
    target_key: Any
    disable_key: Any

    @property
    def target(self) -> Any:
        """PYFLAT_TARGET, as `environment` has it."""
        return self.environment.get(self.target_key)


def in_force() -> InForce | None:
    """The layers now. None where os.environ is not Python's own."""
    data, encode = getattr(os.environ, "_data", None), getattr(os.environ, "encodekey", None)
    if type(data) is not dict or encode is None:
        return None
    return InForce(_block.get, _block.get(), _defaults, data, encode("PYFLAT_TARGET"), encode("PYFLAT_DISABLE"))


AUDIT = os.environ.get("PYFLAT_AUDIT")
"""Looked at once, so that calls need not."""
_defaults: Settings = ()
_block: ContextVar[Settings] = ContextVar("pyflat_options", default=())


@lru_cache(maxsize=512)
def _settled(options: Options, floats: FloatFormat) -> Options:
    return replace(options, dtype="float32" if floats.name == "f4" else "float64")


@lru_cache(maxsize=512)
def _merge(explicit: Settings, block: Settings, defaults: Settings, environment: str | None) -> Options:
    found: dict[str, Any] = {}
    if environment:
        found["target"] = _target(environment, f"the environment variable PYFLAT_TARGET={environment!r}")
    if AUDIT:
        found["audit"] = _share(AUDIT, f"the environment variable PYFLAT_AUDIT={AUDIT!r}")
    for layer in (defaults, block, explicit):
        found.update(layer)
    return Options(**found)


def _checked(name: str, value: Any) -> Any:
    if name not in NAMES:
        raise TypeError(f"unknown option {name!r}{_nearest(name, NAMES)}; the options are {', '.join(NAMES)}")
    checked = _value(name, value)
    planned = None if isinstance(checked, tuple | frozenset) else _PLANNED.get((name, checked))
    if planned is not None:
        raise refuse("flatten/not-yet", f"the option {name}={value!r} is not built yet", help=planned)
    return checked


def _value(name: str, value: Any) -> Any:
    if value is None and name in _OPTIONAL:
        return None
    if name == "signature":
        from pyflat.runtime.signatures import checked

        return checked(value)
    if name == "core_dims":
        return _core_dims(value)
    if name == "memory":
        return _memory(value)
    if name == "target":
        return _target(value, f"target={value!r}")
    if isinstance(value, str) and (name, value) in _FORMER:
        value = _renamed(name, value)
    if name in _CHOICES:
        return _choice(_CHOICES[name], value, f"{name}={value!r}")
    if name in _FLAGS:
        if not isinstance(value, bool):
            raise TypeError(f"{name}={value!r}: expected True or False")
        return value
    if name == "audit":
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"audit={value!r}: expected a number from 0.0 to 1.0")
        return _share(value, f"audit={value!r}")
    if name in ("static", "arrays"):
        return _names(name, value)
    if name == "whitelist":
        if value is None:
            return None
        from pyflat.ir.opaque_calls import whitelist_of

        return frozenset(whitelist_of(value).values())
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}={value!r}: expected an int")
    least = int(name != "max_visits")
    if value < least:
        raise ValueError(f"{name}={value!r}: expected an int of at least {least}")
    return value


def _share(value: str | float, shown: str) -> float:
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"{shown}: expected a number from 0.0 to 1.0")
    return share


def _core_dims(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    pairs = value.items() if isinstance(value, Mapping) else value  # pairs: what is set already
    wanted = 'core_dims={!r}: expected dimensions by parameter, {{"a": ("y", "x")}}'
    try:
        found = [(name, (dims,) if isinstance(dims, str) else tuple(dims)) for name, dims in pairs]
    except (TypeError, ValueError):
        raise TypeError(wanted.format(value)) from None
    if not all(isinstance(each, str) for name, dims in found for each in (name, *dims)):
        raise TypeError(wanted.format(value))
    return tuple(sorted(found))


def _memory(value: Any) -> tuple[tuple[str, str], ...]:
    pairs = value.items() if isinstance(value, Mapping) else value
    try:
        found = [(name, mode) for name, mode in pairs]
    except (TypeError, ValueError):
        found = [(None, None)]
    if not all(isinstance(name, str) for name, _ in found):
        raise TypeError(f'memory={value!r}: expected modes by the names of arrays, {{"t": "stored"}}')
    return tuple(sorted((name, _choice(get_args(Mode), mode, f"memory={{{name!r}: {mode!r}}}"))
                        for name, mode in found))


def _renamed(name: str, value: str) -> str:
    """The new name of a value, with a warning."""
    from pyflat.frontend.notices import warn

    warn(f"{name}={value!r} is deprecated; use {name}={_FORMER[name, value]!r}", DeprecationWarning)
    return _FORMER[name, value]


def _choice(choices: tuple[str, ...], value: Any, shown: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{shown}: expected a string, one of {', '.join(map(repr, choices))}")
    if value not in choices:
        raise ValueError(f"{shown}{_nearest(value, choices)}: expected one of {', '.join(map(repr, choices))}")
    return value


def _target(value: Any, shown: str) -> str:
    name = targets.name_of(value) if isinstance(value, targets.Target) else value
    if isinstance(name, str) and name in targets.having("runs"):
        return name
    return _choice(targets.runnable(), name, shown)


def _names(name: str, value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, Iterable):
        raise TypeError(f"{name}={value!r}: expected a name or several names")
    found = tuple(dict.fromkeys(cast("Iterable[object]", names)))
    for item in found:
        if not isinstance(item, str):
            raise TypeError(f"{name}={value!r}: expected names, not {type(item).__name__}")
        if not item.isidentifier():
            raise ValueError(f"{name}={value!r}: {item!r} is not a name")
    return cast("tuple[str, ...]", found)


def where_options_go(keyword: str, value: object) -> str:
    """What a TypeError adds about a keyword of a call that no parameter has."""
    shown = f'"{value}"' if isinstance(value, str) else repr(value) if isinstance(value, bool | int) else "..."
    where = f"; an option of the twin is given before the call: with_options({keyword}={shown})"
    return where if keyword in NAMES else ""


def _nearest(name: str, known: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
