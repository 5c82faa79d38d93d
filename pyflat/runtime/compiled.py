"""The compiled twins of one function: specialised at the first call with each combination of options, argument
kinds and static arguments, and again when something that was captured has changed.

    arguments --specialise--> structured IR --FLATTEN--> flat IR --engine--> fused --compile--> engine

Where a loop was kept, the masked form stands for the flat one.

Reading a finished entry takes no lock; flattening is done under one lock for the whole process
(`pyflat.functions.locks`): it may run code of the user (static calls, `__getattr__`) that uses other twins.
"""

from __future__ import annotations

import importlib
import itertools
import logging
import sys
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from pyflat.errors import FlattenError, InternalError, refuse
from pyflat.frontend.notices import warn_of_an_untested_python
from pyflat.functions import locks, ways
from pyflat.functions.originals import keep_own, replaced_builtin
from pyflat.ir.formats import F4
from pyflat.ir.recursion import no_full_collections, room_to_recurse
from pyflat.ir.shape import Fixed, Labels, Leaf, Maybe, Ragged, Record, Shape, Strings, Texts
from pyflat.runtime.arguments import as_argument_error
from pyflat.runtime.faults import Float32Reference
from pyflat.targets import target as targets
from pyflat.targets import threads
from pyflat.targets.target import Engine, Request, Target

if TYPE_CHECKING:
    from pyflat.frontend.result import Specialised
    from pyflat.ir.nodes import Function
    from pyflat.ir.opaque_calls import OpaqueCalls
    from pyflat.passes.pipelines import Pipeline
    from pyflat.runtime.kept_twins import KeptTwin
    from pyflat.runtime.settings import Options

log = logging.getLogger("pyflat")
MAX_ENTRIES = 256
"""Specialisations kept for each function; the least recently made is dropped first."""


SHORT = 8
"""Beyond so many iterations engines keep loops that lanes may leave: they run them until their lanes are done."""


@contextmanager
def _one_at_a_time(fn: Callable[..., Any]) -> Iterator[None]:
    with locks.flattening, no_full_collections(), room_to_recurse(fn):
        yield


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
    stacked: bool = False
    """A recursion runs as a loop over a stack."""
    trips_limited: bool = False
    """The last leaf of the engine says which lanes ran into `max_trips`."""
    functions: frozenset[str] = frozenset()
    """The functions of the C library that it has the digits of, and gamma and lgamma, which are made of such."""
    reference: Float32Reference | None = None
    """Where float lanes are float32: what they compute by definition."""
    split: threads.Splittable | None = None
    """The engine, where it may run on several threads."""
    converts: bool = False
    """The engine takes arrays as they are."""
    structured: Function | None = None
    """What float32 lanes compute by definition, for the next process."""
    not_kept: str = ""
    """Why the next process flattens again; "" where it does not, or was not to be asked."""

    def prepare(self, lanes: Sequence[Any]) -> None:
        """Compile what `run` takes for lanes like these."""
        if isinstance(self.engine, targets.Prepared):
            self.engine.prepare(lanes)

    def run(self, lanes: Sequence[Any], n: int, parallel: bool | None = False,
            into: Sequence[npt.NDArray[Any] | None] = ()) -> Ran:
        """Run the engine. `into` are the arrays for results, as far as there are any, for engines that can write into
        given ones."""
        if self.split is None:
            leaves, suspect = self.engine(lanes, n)
        else:
            made = itertools.zip_longest(self.split.dtypes, into)
            leaves = [np.empty(n, dtype) if given is None else given for dtype, given in made]
            suspect = threads.run(self.split, lanes, n, leaves, parallel)
        if not self.trips_limited:
            return Ran(leaves, suspect, None)
        *leaves, limited = leaves
        if not limited.any():
            return Ran(leaves, suspect, None)
        return Ran(leaves, limited if suspect is None else suspect | limited, limited)


@dataclass(frozen=True, slots=True)
class Ran:
    """What an engine gives: result leaves, which lanes mean nothing (None: all do), and those of them that ran into
    `max_trips` (None: none did)."""

    leaves: list[npt.NDArray[Any]]
    suspect: npt.NDArray[Any] | None
    limited: npt.NDArray[Any] | None


@dataclass(frozen=True, slots=True)
class FlatForm:
    """A specialisation before an engine is made of it, for printing."""

    spec: Specialised
    flat: Function
    exact: Function | None = None
    """With `math="fast"` the flat form of `math="exact"`, where it was made."""

    @property
    def spelled(self) -> Function:
        """The flat form for texts, which have no names for the vector math and fused products: there without them."""
        from pyflat.ir.loops import all_ops
        from pyflat.ir.ops import FUSED, VECTOR

        unnamed = VECTOR.keys() | FUSED.keys() - {"call"}
        if self.exact is not None and any(op.opcode in unnamed for op in all_ops(self.flat.body)):
            return self.exact
        return self.flat


def flatten(fn: FunctionType, arguments: Mapping[str, Shape], options: Options, *, engine: bool = False) -> FlatForm:
    """The flat form of `fn` for these arguments, the masked form where a loop was kept: as it is printed, or as the
    engine has it. Raises FlattenError."""
    from pyflat.passes.pipelines import flatten_ir

    with _one_at_a_time(fn):
        spec = specialised(fn, arguments, options, engine=engine)
        exact = None
        if options.math == "exact" or options.strict_fold or not engine:
            exact = flatten_ir(spec.function)
            if options.strict_fold and exact.form == "flat" and exact.floats is not F4:
                exact = _strictly_folded(exact, spec)
            if options.math == "exact":
                return FlatForm(spec, exact)
        if options.floats is F4:  # such lanes compute by definition what the structured form says
            spec = replace(spec, function=_with_fast_math(spec.function, options))
        return FlatForm(spec, flatten_ir(spec.function, fast=fast_passes(options)), exact)


def fast_passes(options: Options) -> Pipeline:
    """What flattening does besides for these options: nothing, or that of `math="fast"` in float64."""
    return () if options.math == "exact" or options.floats is F4 else _fast_math(options)


def _fast_math(options: Options) -> Pipeline:
    from pyflat.passes.pipelines import fast

    target = targets.of(options.target)
    return fast(target.fast_functions(), contract=target.fuses_products())


def _with_fast_math(structured: Function, options: Options) -> Function:
    from pyflat.passes.pipelines import run

    return run(structured, _fast_math(options))


def _strictly_folded(exact: Function, spec: Specialised) -> Function:
    """The flat form without what is known. Raises the FlattenError `flatten/fold-residual` where something is left."""
    from pyflat.backend import FlatFunction, flatten_fold

    whole = FlatFunction(exact.name, None, exact, spec.result, dict(spec.arguments), spec.opaque, spec.captured.source,
                         steps=("flatten",), options={"faults": "keep"})
    return flatten_fold(whole, strict=True).ir


def load_frontend() -> None:
    """Import what flattens, which has the functions of Python's modules as keys, and not what was put in their places.
    Raises FlattenError where builtins that it calls were replaced."""
    keep_own()
    if name := replaced_builtin():
        raise refuse("flatten/unknown-call", f"builtins.{name} is no longer Python's own",
                     why="pyflat itself uses it",
                     help="flatten before it is replaced, or define the name in your own module")
    importlib.import_module("pyflat.frontend.specialise")
    warn_of_an_untested_python()


def specialised(fn: FunctionType, arguments: Mapping[str, Shape], options: Options, *, engine: bool = False,
                none: bool = True) -> Specialised:
    """The structured form of `fn` for these arguments, with the float format of the options. The text of an np.where
    twin has no loop: loops that the NumPy `engine` keeps are unrolled there. Without `none` a lane that returns None
    among numbers is a fault. Raises FlattenError."""
    load_frontend()
    from pyflat.frontend.specialise import LONG, specialise
    from pyflat.passes.pipelines import FLOAT32, run

    target = targets.of(options.target)
    require_format(fn, target, options)
    short = target.loops == "kept" or (engine and target.loops == "kept in engines")
    with _one_at_a_time(fn):
        spec = specialise(
            fn, arguments, loops=options.loops, max_unroll=options.max_unroll, whitelist=options.whitelist,
            long=SHORT if short else LONG, floats=options.floats, none=none and target.shading is None,
            ints=options.results == "ints",
        )
        return replace(spec, function=run(spec.function, FLOAT32)) if options.floats is F4 else spec


def require_format(fn: Callable[..., Any], target: Target, options: Options) -> None:
    """Raises FlattenError where float lanes are float32, and the target has a format of its own."""
    if options.floats is F4 and not target.float32:
        raise refuse("flatten/target-dtype", f"{fn.__name__} in float32 on the target {target.name}")


def keep_loops(fn: Callable[..., Any], arguments: Mapping[str, Shape]) -> Specialised:
    """For dataflow: every loop over a range stays a loop; where the body needs a known index, known bounds unroll."""
    load_frontend()
    from pyflat.frontend.specialise import specialise

    with _one_at_a_time(fn):
        return specialise(fn, arguments, loops="masked")


def build(fn: FunctionType, arguments: Mapping[str, Shape], options: Options) -> Built:
    """Flatten and compile. Raises FlattenError, ImportError where the target needs a library that is missing."""
    from pyflat.ir.loops import all_ops
    from pyflat.ir.ops import OPERATIONS, Accuracy

    target = targets.of(options.target)
    require_format(fn, target, options)
    if not target.faults and options.errors != "unchecked":
        raise refuse("flatten/target-unchecked", f"{fn.__name__} on {target.name} with errors={options.errors!r}")
    if target.structured:
        spec = keep_loops(fn, arguments)
        return Built(target.engine(Request(spec.function, spec, arguments)), spec.result, spec.guards, arguments)
    done = flatten(fn, arguments, options, engine=True)
    calls = _opaque_calls(done, target)
    limited = target.max_trips and options.max_trips is not None and done.flat.form == "masked"
    request = Request(done.flat, done.spec, arguments, options.errors == "unchecked",
                      options.max_trips if limited else None, calls)

    with room_to_recurse(fn):
        engine: Any = target.engine(request)
    structured = done.spec.function if options.floats is F4 else None
    reference = None if structured is None else Float32Reference(lambda: structured)
    split = engine if target.parallel and calls is None else None  # what an opaque call does on threads is not known
    functions = frozenset(op.opcode for op in all_ops(done.flat.body)
                          if OPERATIONS[op.opcode].accuracy is Accuracy.LIBM or op.opcode in ("gamma", "lgamma"))
    return Built(engine, done.spec.result, done.spec.guards, arguments, done.spec.stacked, limited, functions,
                 reference, split, target.converts, structured)


def _opaque_calls(done: FlatForm, target: Target) -> OpaqueCalls | None:
    """What the engine must know about the calls that `whitelist=` keeps. Raises FlattenError for those that it cannot
    make."""
    from pyflat.ir.loops import all_ops

    kept = [op for op in all_ops(done.flat.body) if op.opcode == "call"]
    if not kept or target.kept_calls == "any":
        return None
    for op in kept:
        if target.kept_calls == "refused" or done.spec.opaque.on_arrays(op) is None:
            raise refuse("flatten/call-not-runnable", f"{target.name} cannot make the opaque call of {op.attr('name')}",
                         op.span)
    return done.spec.opaque


def _build(fn: FunctionType, arguments: Mapping[str, Shape], options: Options) -> Built:
    """Flatten and compile for a call. Raises FlattenError, TypeError where an argument is the reason."""
    start = time.perf_counter()
    try:
        built = build(fn, arguments, options)
        ways.ORIGIN.of("flattened")
        log.info("%s flattened for %s in %.2f s", fn.__qualname__, options.target, time.perf_counter() - start)
        return built
    except FlattenError as refusal:
        error = as_argument_error(refusal, fn, arguments, options.static)
        if error is refusal:
            raise
        raise error from refusal


def _kept_or_built(fn: FunctionType, arguments: Mapping[str, Shape], options: Options) -> Built:
    """What another process has made, else made now, and kept for the next one."""
    from pyflat.frontend.state.manifest import NotKept
    from pyflat.runtime import kept_twins

    try:
        wanted = kept_twins.wanted(fn, arguments, options)
    except NotKept as why:
        return replace(_build(fn, arguments, options), not_kept=kept_twins.told(fn, why))
    if wanted is None:
        return _build(fn, arguments, options)
    found = wanted.find()
    if found is not None:
        return _restored(found, arguments, options)
    with wanted.alone():
        found = wanted.find()
        if found is not None:
            return _restored(found, arguments, options)
        built = _build(fn, arguments, options)
        built = replace(built, not_kept=wanted.keep(built))
        found = wanted.find() if ways.ORIGIN.forced == "disk" else None
        return built if found is None else _restored(found, arguments, options)


def _restored(found: KeptTwin, arguments: Mapping[str, Shape], options: Options) -> Built:
    target, facts = targets.of(options.target), found.facts
    ways.ORIGIN.of("disk")
    engine: Any = target.restored(facts["engine"], found.shelf)
    reference = Float32Reference(found.structured) if options.floats is F4 else None
    return Built(engine, found.result, found.guards, arguments, facts["stacked"], facts["trips_limited"],
                 frozenset(facts["functions"]), reference, engine if target.parallel else None, target.converts)


Key = tuple[Hashable, ...]


class Compilations:
    """The entries of one function. It does not hold the function, so that it can be cached weakly by it."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Key, Built] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def functions(self) -> frozenset[str]:
        """The functions of the C library that entries have the digits of."""
        return frozenset[str]().union(*[built.functions for built in tuple(self._entries.values())])

    def ways(self, made_for: Collection[Key]) -> list[ways.Noted]:
        """What was chosen for those that were built with these options and forced ways."""
        engines = [built.engine for key, built in tuple(self._entries.items()) if key[:2] in made_for]
        return [noted for engine in engines for noted in getattr(engine, "ways", ())]

    def count(self, options: Options) -> int:
        """How many entries were built with these options, and the ways that are forced."""
        return sum(key[:2] == (options, ways.key()) for key in tuple(self._entries))

    def last(self, options: Options) -> Built | None:
        """The entry that was built last with these."""
        for key in reversed(tuple(self._entries)):
            if key[:2] == (options, ways.key()):
                return self._entries.get(key)
        return None

    def get(self, fn: FunctionType, arguments: Mapping[str, Shape], options: Options) -> Built:
        """The entry for a call, built or built again where needed."""
        if not options.cache:
            with _one_at_a_time(fn):
                return _build(fn, arguments, options)
        key = (options, ways.key(), *_identity(fn), *map(shape_key, arguments.values()), *arguments)
        found = self._entries.get(key)
        if found is not None and found.guards.stale() is None:
            return found
        with _one_at_a_time(fn):
            again = self._entries.get(key)
            if again is not None and again is not found:
                return again
            keep_own()
            made = _kept_or_built(fn, arguments, options)
            keep_own()
            self._entries[key] = made
            self._entries.move_to_end(key)
            while len(self._entries) > MAX_ENTRIES:
                self._entries.popitem(last=False)
            return made


class _ById:
    """An object by identity, kept alive so that no other object gets its id."""

    __slots__ = ("value",)

    def __init__(self, value: object):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _identity(fn: FunctionType) -> tuple[Hashable, ...]:
    """What can be exchanged in a function object itself."""
    keywords = fn.__kwdefaults__
    return _ById(fn.__code__), _ById(fn.__defaults__), None if keywords is None else static_key(keywords)


_states: weakref.WeakKeyDictionary[Any, Compilations] = weakref.WeakKeyDictionary()
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
    with locks.brief:
        for ref in _states.keyrefs():
            fn = ref()
            if isinstance(fn, FunctionType) and not _is_there(fn):
                fn.__dict__[_ATTRIBUTE] = _Kept(weakref.ref(fn), _states.pop(fn))
        _asked_at = 2 * len(_states) + _FEW


def _carried(fn: FunctionType) -> Compilations:
    with locks.brief:
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
        case Labels():
            return "labels", static_key(tuple(shape.table))
        case Strings():
            return "strings", static_key(shape.witnesses)
        case Texts() | Ragged():
            raise InternalError(f"not an argument: {shape!r}")
        case Maybe():
            return "maybe", shape_key(shape.inner)


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
    return _ById(value)
