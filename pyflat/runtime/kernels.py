"""Calls of kernels: functions of arrays, run once on the arrays of the call as the original would run on them.

    arguments --roles, dtypes, layouts, overlap--> SourceKernel (`frontend.kernels`) --target--> compiled kernel --> run

Where the run meets a fault, or a warning that Python would show, the written arrays are put back and the original runs:
it raises Python's exception at Python's place, and leaves Python's partial writes.
"""

from __future__ import annotations

import dis
import logging
import os
import re
import time
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.analysis.temporaries import Virtualize
from pyflat.errors import FlattenError, Note, refuse
from pyflat.frontend.notices import PerformanceWarning, warn
from pyflat.frontend.roles import WORDS
from pyflat.functions import ways
from pyflat.functions.locks import flattening
from pyflat.functions.originals import keep_own
from pyflat.ir.kernel_results import made
from pyflat.ir.shape import Fixed, Leaf
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.runtime import option_effects
from pyflat.runtime.arguments import SCALARS
from pyflat.runtime.compiled import load_frontend
from pyflat.runtime.examples import read_dtype
from pyflat.runtime.kernel_rivals import Rival, elements
from pyflat.runtime.kernel_threads import RunnableKernel, Sharing, asks_for_threads
from pyflat.runtime.option_effects import require_modes
from pyflat.runtime.saved_arrays import SavedArrays, in_c_order, in_order, put_back
from pyflat.runtime.shown_warnings import ShownWarnings, warnings_are_wanted, warnings_may_raise
from pyflat.targets import target as targets

if TYPE_CHECKING:
    from pyflat.analysis.kernels import Argument
    from pyflat.frontend.callables import Callee, Parameters
    from pyflat.frontend.kernels import SourceKernel
    from pyflat.runtime.settings import Options, Settings

log = logging.getLogger("pyflat")
MAX_VERSIONS = 64
MAX_OVERLAP_WORK = 10_000
"""Steps of the search whether two arrays share an element; beyond it they are taken to."""
_DTYPES = frozenset({"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"})
_SUBSCRIPTS = frozenset(dis.opmap[name] for name in (
    "BINARY_SUBSCR", "STORE_SUBSCR", "BINARY_SLICE", "STORE_SLICE", "GET_ITER") if name in dis.opmap)
_ARRAY_KIND = re.compile(r"[bfiu][1248]\[[:, ]*\]")
_BINARY, _PRODUCTS = dis.opmap["BINARY_OP"], (4, 17)
"""The instruction of operators, and its arguments for `@` and `@=`."""


class Roles(dict[str, str]):
    """Parameter -> what it is: "array", "static" or "lanes". Printed with the reasons."""

    def __init__(self, names: Sequence[str], arrays: Mapping[str, str], static: Sequence[str]):
        super().__init__((name, "array" if name in arrays else "static" if name in static else "lanes")
                         for name in names)
        self.reasons = dict(arrays)

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:{width}}  {role}" + (f": {self.reasons[name]}" if name in self.reasons else "")
                         for name, role in self.items())


@dataclass(eq=False)
class Version:
    kernel: SourceKernel
    compiled: RunnableKernel
    say: Callable[[str], None]
    sharing: Sharing
    saved: SavedArrays = field(default_factory=SavedArrays)
    shown: ShownWarnings = field(default_factory=ShownWarnings)
    runs: int = 0
    """On one thread, that met nothing."""

    @cached_property
    def rival(self) -> Rival:
        """Its original, once it has run."""
        return Rival(self.kernel, *self.compiled.in_steps, self.say)

    @cached_property
    def _undone(self) -> tuple[tuple[str, ...], ...]:
        return tuple(self.kernel.undone(self.compiled.ends, strict=strict) for strict in (False, True))

    def undone(self, *, strict: bool) -> tuple[str, ...]:
        """The arguments that a run may have to put back; `strict`: where warnings may be exceptions."""
        return self._undone[strict]

    @property
    def depends_on_filters(self) -> bool:
        """Whether that, or how it runs, depends on what becomes of warnings."""
        return self._undone[0] != self._undone[1] or self.may_wait

    @cached_property
    def may_wait(self) -> bool:
        """Whether a warning may leave a number that ends no loop, where the original ends with an exception."""
        from pyflat.ir.loops import all_ops, recognise_counted
        from pyflat.ir.memory import may_warn
        from pyflat.ir.nodes import Loop, walk

        items = self.kernel.function.body
        loops = [item for item in walk(items) if isinstance(item, Loop)]
        return not all(map(recognise_counted, loops)) and any(may_warn(op.opcode, op.kind) for op in all_ops(items))


_shaping = attrgetter("math", "max_tracing_dim", *(each.name for each in fields(Virtualize)))
"""The options that kernels depend on, beside the target."""
Learn = Callable[[Version, Mapping[str, Any], float, bool], None]
"""What learns from a call that met nothing: its version, its arguments, the seconds that it took, and whether warnings
count."""


def may_be_kernel(function: types.FunctionType, seen: frozenset[Any] = frozenset()) -> bool:
    """Whether the function, or one that it calls, subscripts or iterates over anything: what a look at the bytecode
    says."""
    code = function.__code__
    if _SUBSCRIPTS.intersection(code.co_code[::2]) or WORDS.intersection(code.co_names) or _has_product(code.co_code):
        return True
    helpers = (function.__globals__.get(name) for name in code.co_names)
    return any(may_be_kernel(helper, seen | {function}) for helper in helpers
               if isinstance(helper, types.FunctionType) and helper not in seen and helper is not function
               and len(seen) < 8)


def _has_product(code: bytes) -> bool:
    """Whether there is `a @ b`."""
    return any(code[at] == _BINARY and code[at + 1] in _PRODUCTS for at in range(0, len(code), 2))


class Kernels:
    """The kernels of one function: one for each combination of dtypes, ranks, layouts and overlaps."""

    def __init__(self, callee: Callee, parameters: Parameters, count: Callable[[int, int, int], None],
                 settings: Settings = ()):
        self.callee, self.parameters, self._count, self._settings = callee, parameters, count, settings
        self._versions: OrderedDict[Any, Version] = OrderedDict()
        self._said: set[str] = set()
        self.latest: Version | None = None
        """The one that was made last."""

    def roles(self, options: Options) -> dict[str, str]:
        """The parameters that are arrays, and why. FlattenError for a name in arrays= that is no parameter."""
        if options.arrays is None:
            return self._inferred
        self.parameters.check_static(options.arrays, "arrays")
        return dict.fromkeys(options.arrays, "arrays= names it")

    @cached_property
    def _inferred(self) -> dict[str, str]:
        function = self.callee.function
        if not may_be_kernel(function):
            return {}
        from pyflat.frontend.roles import array_parameters

        return array_parameters(function)

    def takes(self, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options) -> bool:
        """Whether a call is one of a kernel: an array is given for a parameter that the body uses as one."""
        given = [*args, *kwargs.values()]
        if not any(_may_be_array(value) for value in given):
            return False
        roles = self.roles(options)
        if not roles:
            return False
        pairs = [*zip(self._own_names, args, strict=False), *kwargs.items()]
        return any(name in roles and name not in options.static and _may_be_array(value) for name, value in pairs)

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options, out: Any = None,
                 learn: Learn | None = None) -> Any:
        """A call; `learn` may find a shorter way for calls like this one."""
        if out is not None:
            raise TypeError(f"{self.parameters.name}() got an unexpected keyword argument 'out': a kernel over arrays "
                            f"writes into its arguments; twin.gufunc of a twin with signature= takes out=")
        if self.disabled:
            return self.original(args, kwargs)
        given = self.parameters.bind(args, kwargs).arguments
        with self._saying_roles(options):
            self.require_whole(options)
            arrays = {name: _array(name, value) for name, value in given.items() if _is_array(value)}
            version = self._version(given, arrays, options)
        self._require_writable(version.kernel, given)
        return self._run(version, {**given, **arrays}, given, lambda: self.original(args, kwargs), learn,
                         self.parallel(options))

    @property
    def disabled(self) -> bool:
        """PYFLAT_DISABLE=1: originals run."""
        return os.environ.get("PYFLAT_DISABLE") == "1"

    def original(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return self.callee.original(*self.callee.prefix, *args, **{**self.callee.preset, **kwargs})

    @contextmanager
    def _saying_roles(self, options: Options) -> Iterator[None]:
        """A refusal says why the call is one of a kernel, where that was read off the body."""
        try:
            yield
        except FlattenError as refusal:
            read_off = () if options.arrays is not None else self._inferred.items()
            notes = tuple(Note(f"{name!r} is treated as an array: {why}; pass arrays=() if no parameter is one")
                          for name, why in islice(read_off, 1))
            raise FlattenError(replace(refusal.diagnostic, notes=refusal.diagnostic.notes + notes)) from None

    def require_whole(self, options: Options) -> None:
        """FlattenError for options that kernels do not do."""
        form: option_effects.Form = "kernel" if options.signature is None else "gufunc"
        option_effects.require(form, self.callee.function, options, self._settings)

    def compile(self, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options) -> bool:
        """Compile what a call with such arguments takes, where that is one of a kernel: arrays, or kinds as "f8[:,:]".
        Nothing runs."""
        pairs = [*zip(self._own_names, args, strict=False), *kwargs.items()]
        examples = {name: self._example(name, value, options) for name, value in pairs}
        given = [examples[name] for name, _ in pairs]
        if not self.takes(given[:len(args)], dict(list(examples.items())[len(args):]), options):
            return False
        if self.disabled:
            return True
        with self._saying_roles(options):
            self.require_whole(options)
            bound = self.parameters.bind(given[:len(args)], dict(list(examples.items())[len(args):])).arguments
            arrays = {name: _array(name, value) for name, value in bound.items() if _is_array(value)}
            made = self._version(bound, arrays, options)
        for which in (False, True):  # with and without looking for warnings
            made.compiled.version(which)
        return True

    @property
    def _own_names(self) -> tuple[str, ...]:
        return self.parameters.names[len(self.callee.prefix) if self.callee.prefix else 0:]

    def _example(self, name: str, value: Any, options: Options) -> Any:
        """What stands for a kind in `compile`: an array, or a number; other arguments are examples."""
        if name in options.static or not self.roles(options):
            return value
        if isinstance(value, str) and _ARRAY_KIND.fullmatch(value):
            dtype, _, axes = value.partition("[")
            return np.empty((2,) * axes.count(":"), dtype)
        dtype = read_dtype(value, name)
        if not isinstance(dtype, np.dtype):
            return value
        if name in self.roles(options):
            raise ValueError(f"argument {name!r} is an array: state its number of axes, as {dtype.str[1:] + '[:]'!r}, "
                             f"or pass an example array")
        return dtype.type(0).item() if isinstance(value, str) or value in (bool, int, float) else dtype.type(0)

    def latest_for(self, options: Options) -> Version | None:
        """The one that was made last for this target."""
        return next((made for key, made in reversed(self._versions.items()) if key[0] == options.target), None)

    def count(self, options: Options) -> int:
        """How many are compiled for this target."""
        return sum(key[0] == options.target for key in tuple(self._versions))

    def no_lanes(self, method: str, instead: str) -> ValueError:
        """The error of a method that looks at lanes."""
        return ValueError(f"{method}: {self.parameters.name} is a kernel over arrays, which has no lanes; {instead}")

    # --- versions
    def version(self, given: Mapping[str, Any], options: Options) -> Version:
        """The version for calls with these arguments. Raises FlattenError."""
        return self._version(given, {n: _array(n, value) for n, value in given.items() if _is_array(value)}, options)

    def runner(self, given: Mapping[str, Any], options: Options) -> Callable[..., Any]:
        """What runs calls whose arguments have the dtypes, layouts and overlaps of these: a function of all arguments
        by their names, and of those of the call, for the original."""
        if self.disabled:
            return lambda _, args, kwargs: self.original(args, kwargs)
        version = self.version(given, options)
        self._require_writable(version.kernel, given)
        return lambda bound, args, kwargs: self._run(version, bound, bound, lambda: self.original(args, kwargs))

    def _version(self, given: Mapping[str, Any], arrays: Mapping[str, Any], options: Options) -> Version:
        described = self._described(given, arrays, options.static)
        layouts = tuple((name, _lies(array)) for name, array in arrays.items())
        key = options.target, _shaping(options), tuple(described.items()), layouts, ways.key()
        found = self._versions.get(key) if options.cache else None
        if found is not None and found.kernel.guards.stale() is None:
            return found
        with flattening:
            again = self._versions.get(key)
            if options.cache and again is not None and again is not found:
                return again
            made = self._versions[key] = self._made(described, arrays, options)
            while len(self._versions) > MAX_VERSIONS:
                self._versions.popitem(last=False)
            self.latest = made
            return made

    def shown(self, name: str, kinds: str | Sequence[str] | None, options: Options) -> Version:
        """A version to look at: for these kinds, or the one that was made last. ValueError where there is none."""
        if kinds is None and self.latest is not None:
            kernel = self.latest.kernel
            return self.latest if options.target == name else self._ready(
                kernel, name, _having_kernels(name).kernel(kernel, _examples(kernel.arguments)))
        if kinds is None:
            raise ValueError(f"{self.parameters.name} is a kernel over arrays: call it once, or pass the kinds "
                             f'of its parameters, as kinds="f8[:,:],i8"')
        described = parsed_kinds(kinds, list(self.parameters.names))
        return self._made(described, _examples(described), replace(options, target=name))  # type: ignore[arg-type]

    def _made(self, described: dict[str, Argument], arrays: Mapping[str, Any], options: Options) -> Version:
        load_frontend()
        from pyflat.frontend.kernels import specialise_kernel
        from pyflat.ir.memory import overlaps_itself
        from pyflat.passes import pipelines

        target = _having_kernels(options.target)
        kernel = specialise_kernel(self.callee.function, described, options.max_tracing_dim)
        kernel.virtualize = options.virtualize
        tangled = frozenset(name for name, array in arrays.items() if overlaps_itself(array))
        kernel.source = kernel.function
        kernel.function = pipelines.run(kernel.source, pipelines.kernel(
            kernel, tangled, kernel.virtualize, whole=not target.machine_code))
        if options.math == "fast" and target.machine_code:  # NumPy's own functions warn, and stay
            kernel.fast = {name: other for name, other in target.fast_functions().items() if not name.startswith("np_")}
        compiled = target.kernel(kernel, arrays)
        if options.memory:
            rows = target.costs().decided(kernel, getattr(compiled, "layouts", {}))[1]
            require_modes(self.callee.function, kernel, rows)
        version = self._ready(kernel, options.target, compiled)
        keep_own()
        return version

    def _ready(self, kernel: SourceKernel, target: str, compiled: RunnableKernel) -> Version:
        asked = option_effects.effects("parallel", "kernel", targets.of(target)) == (option_effects.WORKS,)
        return Version(kernel, compiled, partial(self._say, "slower"),
                       Sharing(compiled, partial(self._tell_whole, asked and ("parallel", True) in self._settings)))

    def _described(self, given: Mapping[str, Any], arrays: Mapping[str, Any], static: Sequence[str]
                   ) -> dict[str, Argument]:
        from pyflat.ir.memory import ArrayArgument, ScalarArgument

        memories = _memories({name: given[name] for name in arrays})
        for name, value in arrays.items():
            if value is not given[name] and list(memories.values()).count(memories[name]) > 1:
                raise refuse("flatten/not-yet", f"{name!r}, which is unaligned or in another byte order, overlaps "
                             "another argument", help=f"pass copies: {name}.astype({name}.dtype.newbyteorder('='))")
        described: dict[str, Argument] = {}
        for name, value in given.items():
            if name in arrays:
                described[name] = ArrayArgument(value.dtype.str[1:], value.ndim, memories[name],
                                                value.dtype.isnative)
            elif isinstance(value, np.ndarray | np.generic) and name not in static:
                dtype = value.dtype.str[1:]
                if dtype not in _DTYPES:
                    raise TypeError(f"argument {name!r} is a NumPy scalar of {value.dtype}: a kernel takes bool, ints, "
                                    f"float32 and float64")
                described[name] = ScalarArgument(dtype)
            elif type(value) in SCALARS and name not in static:
                kind = SCALARS[type(value)]
                if isinstance(value, int) and not -(2**63) <= value < 2**63:
                    raise OverflowError(f"argument {name!r} is an int beyond 64 bits")
                described[name] = Leaf(kind)
            else:
                described[name] = Fixed(value)
        return described

    def _say(self, what: str, why: str) -> None:
        """Why calls are slower than they look, each thing once for each twin."""
        if what not in self._said:
            self._said.add(what)
            warn(f"{self.parameters.name}: {why}", PerformanceWarning)

    def _tell_whole(self, option: bool, why: str) -> None:
        """Why threads do not share the work, where they are asked for at the function."""
        if written := "parallel=True" if option else "prange" if self._asks else "":
            self._say("parallel", f"{written}: calls stay on one thread, as {why}; only a kernel that is one loop "
                                  "over a range, with independent iterations, uses several")

    @cached_property
    def _asks(self) -> bool:
        return asks_for_threads(self.callee.function)

    def parallel(self, options: Options) -> bool | None:
        """Whether threads are asked for."""
        return True if options.parallel is None and self._asks else options.parallel

    def _require_writable(self, kernel: SourceKernel, given: Mapping[str, Any]) -> None:
        for name in kernel.written:
            if not given[name].flags.writeable:
                raise ValueError(f"assignment destination is read-only: {self.parameters.name} writes into {name!r}; "
                                 f"pass a copy, np.array({name})")

    # --- running
    def _run(self, version: Version, arguments: Mapping[str, Any], given: Mapping[str, Any],
             original: Callable[[], Any], learn: Learn | None = None, parallel: bool | None = False) -> Any:
        kernel, errors = version.kernel, np.geterr()
        if kernel.in_c_order:
            _require_order(kernel, given)
        if errors["under"] != "ignore" or any(overlap(given[name], array) for name, array in kernel.changeable):
            # underflow is nothing that is looked for here
            self._count(0, 1, 0)
            return original()
        if version.runs and version.rival.makes(given):
            self._count(0, 1, 0)
            return version.rival.call(original, given)
        strict = warnings_may_raise(errors)
        watch = warnings_are_wanted(errors)
        careful = version.shown.expected or strict and version.may_wait or not ways.KERNEL_WATCH.first(True)
        size = elements(given)
        several = not careful and version.sharing.wanted(
            size, sum(given[name].nbytes for name in kernel.written), parallel)
        undone = kernel.written if several else version.undone(strict=version.depends_on_filters and strict)
        kept = version.saved.save(arguments, undone)
        found = version.sharing.run(size, arguments, watch=watch, strict=strict) if several else None
        if found is None:
            if several:
                put_back(arguments, kept)
            several, start = False, time.perf_counter()
            found = version.compiled.run(arguments, careful=careful, watch=watch, strict=strict)
        if found.state == "done":
            version.shown.expected = False
        if found.state == "done" and not several:
            version.runs += 1
            seconds = time.perf_counter() - start
            if version.runs > 1:  # the first has compiled
                version.sharing.note(size, seconds)
                if not version.rival.is_open(given, seconds) and learn is not None and not careful:
                    learn(version, given, seconds, watch)
        elif not careful and found.state in ("warning", "unclear"):
            put_back(arguments, kept)
            ways.note(ways.KERNEL_WATCH.name, "careful")
            found = version.compiled.run(arguments, careful=True, watch=watch, strict=strict)
        done = found.state == "done" or found.state == "warning" and version.shown.has(found.warnings, errors)
        self._count(0, int(not done), 0)
        if not done:
            put_back(given, kept)
        version.saved.release(kept)
        if not done:
            log.info("%s meets an exception or a warning: the original runs on the same arrays", self.parameters.name)
            with version.shown.showing(found.warnings, errors):
                return version.rival.replay(original, found.state)
        for name in kernel.written:
            if arguments[name] is not given[name]:
                given[name][...] = arguments[name]
        return made(kernel.result, iter(found.numbers), {**given, **in_order(found.made, kernel.models, given)})


def _require_order(kernel: SourceKernel, given: Mapping[str, Any]) -> None:
    """FlattenError where a routine of NumPy's reads an array that lies in another order in the original."""
    if not all(in_c_order(name, kernel.models, given) for name in kernel.in_c_order):
        raise refuse("flatten/not-yet", "an array computed from others, which NumPy traverses in memory order",
                     why="the arguments are not in C order, but new arrays of a kernel are",
                     help="pass np.ascontiguousarray(x)")


def _having_kernels(name: str) -> targets.Target:
    """The target of this name. FlattenError where it has no kernels."""
    target = targets.of(name)
    if target.kernels is None:
        raise refuse("flatten/not-yet", f"the target {name!r} has no kernels over arrays", help='target="numba"')
    return target


def parsed_kinds(kinds: str | Sequence[str], names: list[str]) -> dict[str, Argument]:
    """Kinds of a kernel's parameters: "f8[:,:]" an array of two axes, "f8" a number."""
    from pyflat.ir.memory import ArrayArgument

    words = split_kinds(kinds) if isinstance(kinds, str) else list(kinds)
    if len(words) != len(names):
        raise ValueError(f"kinds={kinds!r}: {len(words)} kinds for {len(names)} parameters ({', '.join(names)})")
    found: dict[str, Argument] = {}
    for number, (name, word) in enumerate(zip(names, words, strict=True)):
        dtype, bracket, axes = word.partition("[")
        if dtype not in _DTYPES and dtype != "b" or bracket and set(axes) - set(":, ]"):
            raise ValueError(f"kinds={kinds!r}: {word!r} is not a kind; write f8 for a number, f8[:,:] for an array")
        dtype = "b1" if dtype == "b" else dtype
        kind = {"b": BOOL, "f": FLOAT}.get(dtype[0], INT)
        found[name] = ArrayArgument(dtype, axes.count(":"), number) if bracket else Leaf(kind)
    return found


def split_kinds(kinds: str) -> list[str]:
    """Split at the commas outside of brackets."""
    words, depth = [""], 0
    for letter in kinds:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and not depth:
            words.append("")
        else:
            words[-1] += letter
    return [word.strip() for word in words]


def _examples(arguments: Mapping[str, Argument]) -> dict[str, Any]:
    """Arrays that lie as most do, for what is only looked at."""
    from pyflat.ir.memory import ArrayArgument

    return {name: np.empty((2,) * argument.rank, argument.dtype) for name, argument in arguments.items()
            if isinstance(argument, ArrayArgument)}


def _may_be_array(value: Any) -> bool:
    """An array that is no column of strings or other objects."""
    return isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.kind not in "OUST"


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


def _lies(array: Any) -> Any:
    """What of its layout a version is made for."""
    if array.flags.c_contiguous:
        return True, array.strides[-1] == array.itemsize, False
    from pyflat.ir.memory import overlaps_itself

    return False, array.strides[-1] == array.itemsize, overlaps_itself(array)


def _array(name: str, value: Any) -> Any:
    """An array as kernels take it: aligned, in the machine's byte order."""
    if type(value) not in (np.ndarray, np.memmap):
        raise TypeError(f"argument {name!r} is a {type(value).__module__}.{type(value).__qualname__}: a kernel takes "
                        f"plain NumPy arrays; pass np.asarray(x)")
    if value.dtype.str[1:] not in _DTYPES:
        raise TypeError(f"argument {name!r} is an array of {value.dtype}: a kernel takes arrays of bool, ints, float32 "
                        f"and float64")
    if value.dtype.isnative and value.flags.aligned:
        return value
    return value.astype(value.dtype.newbyteorder("="), order="K")


def _memories(arrays: Mapping[str, Any]) -> dict[str, int]:
    """A number for each array: the same for those that share an element."""
    numbers: dict[str, int] = {}
    names = list(arrays)
    for at, name in enumerate(names):
        shared = next((other for other in names[:at] if overlap(arrays[name], arrays[other])), None)
        numbers[name] = at if shared is None else numbers[shared]
    return numbers


def overlap(a: Any, b: Any) -> bool:
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, MAX_OVERLAP_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
