"""The compiled twins of one function: specialised at the first call with each combination of options, argument
kinds and static arguments, and again when something that was captured has changed.

    arguments --specialise--> structured IR --FLATTEN--> flat IR --engine--> fused --compile--> engine

Where a loop was kept, the masked form stands for the flat one.

Reading a finished entry takes no lock; flattening is done under one lock for the whole process, because it may
run code of the user (static calls, `__getattr__`) that uses other twins.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from pyflat.errors import FlattenError, refuse
from pyflat.ir.formats import F4
from pyflat.ir.recursion import room_to_recurse
from pyflat.ir.shape import Fixed, Leaf, Record, Shape
from pyflat.runtime.bad_arguments import as_argument_error
from pyflat.runtime.float32_reference import NarrowLanes
from pyflat.runtime.garbage import no_full_collections
from pyflat.targets import threads

if TYPE_CHECKING:
    from pyflat.frontend.result import Specialised
    from pyflat.ir.nodes import Function
    from pyflat.ir.opaque_calls import OpaqueCalls
    from pyflat.passes.accuracy import FastFunctions, Rerun
    from pyflat.runtime.settings import Options

MAX_ENTRIES = 256
"""Specialisations kept for each function; the least recently made is dropped first."""


SHORT = 8
"""Beyond so many iterations engines keep loops that lanes may leave: they run them until their lanes are done."""

_flattening = threading.RLock()


@contextmanager
def _one_at_a_time(fn: Callable[..., Any]) -> Iterator[None]:
    with _flattening, no_full_collections(), room_to_recurse(fn):
        yield


class Engine(Protocol):
    """A compiled flat function, see `pyflat.targets`."""

    @property
    def source(self) -> str: ...
    def __call__(
        self, lanes: Sequence[npt.NDArray[Any] | np.generic], n: int, /
    ) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any] | None]: ...


class Compiled(Engine, threads.Splittable, Protocol):
    """An engine of this process's cores."""


class Guarded(Protocol):
    """What a specialisation has read from outside."""

    def stale(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Built:
    """A specialisation that is ready to run."""

    engine: Engine
    result: Shape
    guards: Guarded
    arguments: Mapping[str, Shape]
    trips_limited: bool = False
    """The last leaf of the engine says which lanes ran into `max_trips`."""
    rerun: Rerun | None = None
    """The twin with exact functions, where the engine's are fast."""
    narrow: NarrowLanes | None = None
    """Where float lanes are float32: what they compute by definition."""
    split: threads.Splittable | None = None
    """The engine, where it may run on several threads."""

    def run(self, lanes: Sequence[npt.NDArray[Any] | np.generic], n: int, parallel: bool | None = False) -> Ran:
        """Run the engine, and the lanes that it suspects through the exact twin."""
        if self.split is None or n < 2 * threads.GRAIN:
            leaves, suspect = self.engine(lanes, n)
        else:
            leaves, suspect = threads.run(self.split, lanes, n, parallel)
        again = 0 if suspect is None or self.rerun is None else self.rerun.settle(lanes, leaves, suspect)
        if not self.trips_limited:
            return Ran(leaves, suspect, None, again)
        *leaves, limited = leaves
        if not limited.any():
            return Ran(leaves, suspect, None, again)
        return Ran(leaves, limited if suspect is None else suspect | limited, limited, again)


@dataclass(frozen=True, slots=True)
class Ran:
    """What an engine gives: result leaves, which lanes mean nothing (None: all do), and those of them that ran into
    `max_trips` (None: none did)."""

    leaves: list[npt.NDArray[Any]]
    suspect: npt.NDArray[Any] | None
    limited: npt.NDArray[Any] | None
    again: int = 0
    """How many lanes the exact twin has run."""


@dataclass(frozen=True, slots=True)
class Flattened:
    """A specialisation before an engine is made of it, for printing."""

    spec: Specialised
    flat: Function
    exact: Function | None = None
    """The flat form with the C library's functions, where `flat` has others."""

    @property
    def spelled(self) -> Function:
        """The flat form for texts, which have no names for the vector math: there with the C library's functions."""
        from pyflat.ir.loops import all_ops
        from pyflat.ir.ops import VECTOR

        if self.exact is not None and any(op.opcode in VECTOR for op in all_ops(self.flat.body)):
            return self.exact
        return self.flat


def _fast_functions(options: Options) -> FastFunctions:
    """What may stand for the C library's functions."""
    if options.target not in ("numpy", "numba"):
        return {}
    if options.target == "numba":
        from pyflat.targets.numba.costs import VECTOR_MATH

        return VECTOR_MATH
    from pyflat.targets.numpy.costs import NUMPY_MATH

    return NUMPY_MATH


def flatten(fn: FunctionType, arguments: Mapping[str, Shape], options: Options, *, engine: bool = False) -> Flattened:
    """The flat form of `fn` for these arguments, the masked form where a loop was kept: as it is printed, or as the
    engine has it. Raises FlattenError."""
    from pyflat.passes.pipelines import flatten_ir, with_fast_functions

    with _one_at_a_time(fn):
        spec = specialised(fn, arguments, options, engine=engine)
        exact = flatten_ir(spec.function)
        if options.strict_fold and exact.form == "flat" and exact.floats is not F4:
            exact = _strictly_folded(exact, spec)
        if options.functions == "libm":
            return Flattened(spec, exact)
        math = _fast_functions(options)
        if options.floats is F4:
            chosen = with_fast_functions(spec.function, math)
            if chosen is spec.function:
                return Flattened(spec, exact)
            return Flattened(replace(spec, function=chosen), flatten_ir(chosen), exact)
        flat = with_fast_functions(exact, math, decide=options.decisions)
        return Flattened(spec, flat, None if flat is exact else exact)


def _strictly_folded(exact: Function, spec: Specialised) -> Function:
    """The flat form without what is known. Raises the FlattenError `flatten/fold-residual` where something is left."""
    from pyflat.backend import FlatFunction, flatten_fold

    whole = FlatFunction(exact.name, None, exact, spec.result, dict(spec.arguments), spec.opaque, spec.captured.source,
                         steps=("flatten",), options={"faults": "keep"})
    return flatten_fold(whole, strict=True).ir


def specialised(fn: FunctionType, arguments: Mapping[str, Shape], options: Options, *, engine: bool = False
                ) -> Specialised:
    """The structured form of `fn` for these arguments, with the float format of the options. The text of an np.where
    twin has no loop: loops that the NumPy `engine` keeps are unrolled there. Raises FlattenError."""
    from pyflat.frontend.specialise import LONG, specialise
    from pyflat.passes.pipelines import FLOAT32, run

    if options.floats is F4 and options.target not in ("numpy", "numba"):
        raise refuse("flatten/target-dtype", f"{fn.__name__} in float32 on the target {options.target}")
    with _one_at_a_time(fn):
        spec = specialise(
            fn, arguments, loops=options.loops, max_unroll=options.max_unroll, whitelist=options.whitelist,
            long=SHORT if options.target == "numba" or (engine and options.target == "numpy") else LONG,
            floats=options.floats,
        )
        return replace(spec, function=run(spec.function, FLOAT32)) if options.floats is F4 else spec


def keep_loops(fn: Callable[..., Any], arguments: Mapping[str, Shape]) -> Specialised:
    """For dataflow: every loop over a range stays a loop; where the body needs a known index, known bounds unroll."""
    from pyflat.frontend.specialise import specialise

    with _one_at_a_time(fn):
        return specialise(fn, arguments, loops="masked")


def build(fn: FunctionType, arguments: Mapping[str, Shape], options: Options) -> Built:
    """Flatten and compile. Raises FlattenError."""
    from pyflat.passes import pipelines

    if options.target == "dataflow":
        if options.floats is F4:
            raise refuse("flatten/target-dtype", f"{fn.__name__} in float32 on the target dataflow")
        from pyflat.targets.dataflow import DataflowEngine

        spec = keep_loops(fn, arguments)
        return Built(DataflowEngine(spec.function), spec.result, spec.guards, arguments, False)
    done = flatten(fn, arguments, options, engine=True)
    if options.target == "wgsl":
        from pyflat.targets.wgsl.engine import WgslEngine

        if options.errors != "unchecked":
            raise refuse("flatten/target-unchecked", f"{fn.__name__} on WGSL with errors={options.errors!r}")
        return Built(WgslEngine(done.flat, done.spec.result), done.spec.result, done.spec.guards, arguments, False)
    if options.target not in ("numpy", "numba"):
        from pyflat.backend.engine import registered_engine

        made = registered_engine(options.target, done.spec, done.flat, arguments)
        return Built(made, done.spec.result, done.spec.guards, arguments, False)
    calls = _kept_calls(done, options.target)
    limited = options.max_trips is not None and done.flat.form == "masked"

    def engine_of(flat: Function) -> Compiled:
        with room_to_recurse(fn):
            fused = pipelines.run(flat, pipelines.engine(options.max_trips if limited else None))
            return _compiler(options.target)(fused, unchecked=options.errors == "unchecked", **calls)

    narrow = NarrowLanes(done.spec.function) if options.floats is F4 else None
    exact = done.exact if options.decisions and narrow is None else None
    rerun = None if exact is None else _exact_retry(partial(engine_of, exact))
    engine = engine_of(done.flat)
    split = None if calls else engine  # what a kept call does on several threads, nobody knows
    return Built(engine, done.spec.result, done.spec.guards, arguments, limited, rerun, narrow, split)


def _exact_retry(make: Callable[[], Compiled]) -> Rerun:
    from pyflat.passes.accuracy import Rerun

    return Rerun(make)


def _kept_calls(done: Flattened, target: str) -> dict[str, OpaqueCalls]:
    """What the engine must know about the calls that `whitelist=` keeps. Only NumPy can make them, where their entries
    say how; otherwise they are refused."""
    from pyflat.ir.loops import all_ops

    kept = [op for op in all_ops(done.flat.body) if op.opcode == "call"]
    for op in kept:
        if target != "numpy" or done.spec.opaque.on_arrays(op) is None:
            raise refuse("flatten/call-not-runnable", f"{target} cannot make the kept call of {op.attr('name')}",
                         op.origin.span if op.origin else None)
    return {"calls": done.spec.opaque} if kept else {}


def _compiler(target: str) -> Callable[..., Compiled]:
    if target == "numba":
        from pyflat.targets.numba import engine as numba

        return numba.compile
    from pyflat.targets.numpy import engine as numpy

    return numpy.compile


def _build(fn: FunctionType, arguments: Mapping[str, Shape], options: Options) -> Built:
    """Flatten and compile for a call. Raises FlattenError, TypeError where an argument is the reason."""
    try:
        return build(fn, arguments, options)
    except FlattenError as refusal:
        error = as_argument_error(refusal, fn, arguments, options.static)
        if error is refusal:
            raise
        raise error from refusal


Key = tuple[Hashable, ...]


class Compilations:
    """The entries of one function. It does not hold the function, so that it can be cached weakly by it."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Key, Built] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def count(self, options: Options) -> int:
        """How many entries were built with these options."""
        return sum(key[0] == options for key in tuple(self._entries))

    def last(self, options: Options) -> Built | None:
        """The entry that was built last with these options."""
        for key in reversed(tuple(self._entries)):
            if key[0] == options:
                return self._entries.get(key)
        return None

    def get(self, fn: FunctionType, arguments: Mapping[str, Shape], options: Options) -> Built:
        """The entry for a call, built or built again where needed."""
        if not options.cache:
            with _one_at_a_time(fn):
                return _build(fn, arguments, options)
        key = (options, *_identity(fn), *map(shape_key, arguments.values()), *arguments)
        found = self._entries.get(key)
        if found is not None and found.guards.stale() is None:
            return found
        with _one_at_a_time(fn):
            again = self._entries.get(key)
            if again is not None and again is not found:
                return again
            made = _build(fn, arguments, options)
            self._entries[key] = made
            self._entries.move_to_end(key)
            while len(self._entries) > MAX_ENTRIES:
                self._entries.popitem(last=False)
            return made


class _Same:
    """An object by identity, kept alive so that no other object gets its id."""

    __slots__ = ("value",)

    def __init__(self, value: object):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _identity(fn: FunctionType) -> tuple[Hashable, ...]:
    """What can be exchanged in a function object itself."""
    keywords = fn.__kwdefaults__
    return _Same(fn.__code__), _Same(fn.__defaults__), None if keywords is None else static_key(keywords)


_states: weakref.WeakKeyDictionary[Any, Compilations] = weakref.WeakKeyDictionary()
_finding = threading.Lock()
_ATTRIBUTE = "__pyflat__"
_FEW = 50
_asked_at = _FEW


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a function carries that does not live as long as its module. Its entries hold the globals and cells that
    they have read, and so perhaps the function itself: as its attribute they are a cycle that is collected, in a
    dictionary of ours they would stay for ever."""

    owner: weakref.ref[FunctionType]
    entries: Compilations

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(None), ()  # in a pickled copy of the function: nothing


def compilations(fn: object) -> Compilations:
    """The entries of a callable, shared by all its twins and kept as long as it lives."""
    if isinstance(fn, MethodType):
        return Compilations()
    if isinstance(fn, FunctionType) and not _is_global(fn):
        return _carried(fn)
    try:
        found = _states.get(fn)
        if found is None:
            found = _states.setdefault(fn, Compilations())
            _hand_over()
        return found
    except TypeError:  # an instance with __call__ that is not hashable or has no weak references
        return Compilations()


def _is_global(fn: FunctionType) -> bool:
    """Whether it is a function of a module that is there, or a method of such a class."""
    module = sys.modules.get(fn.__module__ or "")
    return "<" not in fn.__qualname__ and getattr(module, "__dict__", None) is fn.__globals__


def _is_there(fn: FunctionType) -> bool:
    """Whether its module has it still: that was neither dropped nor loaded again."""
    return _is_global(fn) and ("." in fn.__qualname__ or fn.__globals__.get(fn.__qualname__) is fn)


def _hand_over() -> None:
    """What belongs to functions that their modules no longer have is carried by them from now on. Asked whenever the
    number of functions has doubled."""
    global _asked_at  # noqa: PLW0603 - one for the process
    if len(_states) <= _asked_at:
        return
    with _finding:
        for ref in _states.keyrefs():
            fn = ref()
            if isinstance(fn, FunctionType) and not _is_there(fn):
                fn.__dict__[_ATTRIBUTE] = _Kept(weakref.ref(fn), _states.pop(fn))
        _asked_at = 2 * len(_states) + _FEW


def _carried(fn: FunctionType) -> Compilations:
    with _finding:
        kept = fn.__dict__.get(_ATTRIBUTE)
        if not isinstance(kept, _Kept) or kept.owner() is not fn:  # functools.wraps has copied another one's
            kept = fn.__dict__[_ATTRIBUTE] = _Kept(weakref.ref(fn), Compilations())
        return kept.entries


def shape_key(shape: Shape) -> Hashable:
    """Equal for shapes that give the same twin."""
    match shape:
        case Leaf():
            return shape.kind
        case Fixed():
            return "fixed", static_key(shape.value)
        case Record():
            return shape.cls, shape.names, tuple(map(shape_key, shape.items))


def static_key(value: object) -> Hashable:
    """Numbers and strings by type and bits, containers and arrays by their contents, other objects by identity
    (what is read of those is guarded)."""
    match value:
        case bool() | int() | float() | complex() | np.generic():
            return type(value), repr(value)
        case str() | bytes() | None:
            return type(value), value
        case tuple() | list():
            return type(value), tuple(map(static_key, value))
        case dict():
            return type(value), tuple((static_key(k), static_key(v)) for k, v in value.items())
        case np.ndarray() if value.dtype != object:
            return type(value), value.dtype.str, value.shape, value.tobytes()
    return _Same(value)
