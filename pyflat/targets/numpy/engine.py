"""The NumPy way out: straight-line array operations over blocks of lanes.

`compile` makes an engine from a *fused* flat or masked function (no `fault` operations, the last result is the suspect
bit). For each pattern of arguments (which are arrays, which are the same in all lanes) it has a function of its own,
made when the pattern is met first (`blocks`): one ufunc call for each operation, run on blocks that fit into the
cache, its result written into a buffer (`memory`). Where all arguments are scalars, so is all that is computed:

    c0 = np.float64(2.0)
    def block(a0, a1):
        t0 = a0 < c0
        t1 = a0 * a1
        t2 = t1 if t0 else c0
        return t2, c1,
"""

from __future__ import annotations

import builtins
import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from pyflat.functions import array_lanes, narrow_functions, uint64_lanes, ways
from pyflat.functions import lanes as lane_functions
from pyflat.functions.libm import saved_status
from pyflat.functions.originals import original
from pyflat.ir.formats import dtypes
from pyflat.ir.nodes import FALSE, Const, Function, Value
from pyflat.ir.opaque_calls import OpaqueCalls
from pyflat.ir.recursion import room_to_recurse
from pyflat.targets.kept import Shelf
from pyflat.targets.numpy import library
from pyflat.targets.numpy import memory as numpy_memory
from pyflat.targets.numpy.library import made_of, of_made
from pyflat.targets.operands import EntryPoint, Operand, Spread, as_signed, operand
from pyflat.targets.target import Request

if TYPE_CHECKING:
    from pyflat.targets.numpy.blocks import BlockText, Form, Pattern
    from pyflat.targets.numpy.frames import Style

BLOCK = 16_384
"""Lanes computed at a time, at most."""

LEAST = 4_096
"""The block where the temporaries of more lanes would not fit into an arena."""

SHORT = 16
"""The block where blocks are forced to be short."""

FEW = 256
"""Up to so many lanes selects are written with np.putmask, which is one call. Beyond that it depends on the lanes: it
branches at each, and bits take as long whether or not these branches are guessed right."""

TRIES = 4
"""Calls that measure each of the two ways."""

AGAIN = 512
"""After so many calls it is measured again."""

PATIENCE = 1.0
"""How much may be wasted, in costs of gathering."""

Array = np.ndarray[Any, Any]

_quiet = Context()
_quiet.run(np.seterr, all="ignore")
quietly = _quiet.run
"""Calls a function as np.errstate(all="ignore") does, in an eighth of the time: NumPy keeps its settings in a context
variable. RuntimeError where another thread is in it."""


@dataclass(slots=True)
class NumpyEngine:
    """A compiled function; call it with lanes and their number."""

    dtypes: tuple[np.dtype[Any], ...]
    _patterns: _Patterns
    pace: float = math.inf
    """Seconds that a lane has taken, as far as that was measured."""
    shares: ClassVar[bool] = False
    """Threads wait for each other between array operations, in Python: on two cores they took from 0.6 to 1.3 times
    as long as one (docs/threads.md)."""

    @property
    def fused(self) -> Function:
        return self._patterns.fused

    @property
    def shelf(self) -> Shelf | None:
        """Where functions are kept for another process."""
        return self._patterns.shelf

    @shelf.setter
    def shelf(self, shelf: Shelf | None) -> None:
        self._patterns.shelf = shelf

    def to_keep(self) -> dict[str, Any]:
        """What `restored` takes, as JSON has it."""
        return {"facts": self._patterns.facts}

    @property
    def source(self) -> str:
        """The text for arguments that are arrays, all of them."""
        return self._patterns.source

    def entry_point(self, arguments: Sequence[np.dtype[Any] | None]) -> EntryPoint:
        """For arguments of these dtypes, None for a scalar."""
        return self._patterns.entry_point(tuple(arguments))

    def __call__(self, lanes: Sequence[Operand], n: int) -> tuple[list[Array], Array | None]:
        """Run `n` lanes: the result arrays, and the mask of suspect lanes or None when there is none.

        `lanes` are in the order of the parameters: arrays of length n, of any dtype that has numbers of the
        parameter's kind, or NumPy scalars of bool_, int64 or float64.
        """
        results = [np.empty(n, dtype) for dtype in self.dtypes]
        return results, self.into(lanes, n, results)

    def into(self, lanes: Sequence[Operand], n: int, results: list[Array]) -> Array | None:
        """Run `n` lanes, with the results written into these arrays; gives the mask."""
        if not n:
            return None
        with saved_status(), np.errstate(all="ignore"):
            return self._patterns.fill(lanes, n, results)

    def in_order(self, lanes: Sequence[Operand], n: int, results: list[Array]) -> bool:
        """Run `n` lanes, in the caller's error state, up to a block in which lanes are suspect, or NumPy raises: its
        results stay as they were. Whether there was none."""
        with saved_status():
            return not n or self._patterns.fill(lanes, n, results, stops=True) is None

    def prepare(self, lanes: Sequence[Operand]) -> None:
        """Compile the functions that a run over lanes like these takes, however many they are."""
        self._patterns.prepare(tuple(map(_form_of, lanes, self._patterns.parameters)))

    @property
    def ways(self) -> list[ways.Noted]:
        """How selects were written."""
        return [{ways.SELECTS.name: styles} for styles in self._patterns.styles if styles]

    def stop(self, stopped: bool) -> None:
        """Python itself ends a run of this engine."""


def compile(fused: Function, *, unchecked: bool = False, calls: OpaqueCalls | None = None) -> NumpyEngine:
    """The engine of a fused function: its last result is the suspect bit, which `unchecked` leaves out. `calls` says
    how opaque calls are made on arrays."""
    patterns = _Patterns(_facts_of(fused, unchecked), lambda: fused, calls)
    return NumpyEngine(patterns.dtypes, patterns)


def restored(kept: Mapping[str, Any], shelf: Shelf) -> NumpyEngine:
    """The engine that another process has made."""
    patterns = _Patterns(_Facts(*kept["facts"]), lambda: shelf.function, None)
    patterns.shelf = shelf
    return NumpyEngine(patterns.dtypes, patterns)


def engine(request: Request) -> NumpyEngine:
    """The target "numpy"."""
    return compile(request.fused(), unchecked=request.unchecked, calls=request.calls)


class _Facts(NamedTuple):
    """What calls of an engine ask about its function: its name, the dtypes of what it takes and gives, whether it says
    which lanes are suspect, whether it has loops, and calls NumPy's own functions."""

    name: str
    parameters: Sequence[str]
    results: Sequence[str]
    checked: bool
    loops: bool
    calls_numpy: bool


def _facts_of(fused: Function, unchecked: bool) -> _Facts:
    from pyflat.ir.loops import all_ops, has_loop
    from pyflat.ir.ops import NUMPY_LOOPS
    from pyflat.ir.uses import results_of

    *roots, suspect = results_of(fused)
    checked = not unchecked and not (isinstance(suspect, Const) and not suspect.value)
    kinds = dtypes(fused.floats)
    parameters, results = ([kinds[value.kind].str for value in values] for values in (fused.params, roots))
    numpy = any(op.opcode in NUMPY_LOOPS for op in all_ops(fused.body))
    return _Facts(fused.name, parameters, results, checked, has_loop(fused.body), numpy)


class _Patterns:
    """The functions of one engine."""

    def __init__(self, facts: _Facts, function: Callable[[], Function], calls: OpaqueCalls | None):
        self.facts, self._function, self.calls = facts, function, calls
        self.shelf: Shelf | None = None
        self.name, self.checked, self.loops = facts.name, facts.checked, facts.loops
        self.calls_numpy = facts.calls_numpy
        self.results = len(facts.results)
        self.dtypes = tuple(map(np.dtype, facts.results))
        self.parameters = list(map(np.dtype, facts.parameters))
        self._made: dict[Pattern, _Scalars | _Arrays] = {}
        self._points: dict[tuple[Pattern, tuple[np.dtype[Any] | None, ...]], EntryPoint] = {}

    @property
    def fused(self) -> Function:
        return self._function()

    @property
    def wanted(self) -> list[Value]:
        from pyflat.ir.uses import results_of

        roots = results_of(self.fused)
        return roots if self.checked else roots[:-1]

    @property
    def source(self) -> str:
        made = self.of(_all_lanes(len(self.parameters)))
        return made.text("bits") if isinstance(made, _Arrays) else made.source

    def of(self, pattern: Pattern) -> _Scalars | _Arrays:
        """The functions for a pattern, made at the first time."""
        found = self._made.get(pattern)
        if found is None:
            scalars = set(pattern) <= {"same"} and not self.loops
            found = self._made[pattern] = _Scalars(self) if scalars else _Arrays(self, pattern)
        return found

    def function(self, label: tuple[object, ...], write: Callable[[], tuple[str, BlockText]]
                 ) -> tuple[Callable[..., Any], int]:
        """A function, and for how many lanes at a time it is: what another process has kept under this label, or as it
        is written."""
        label = "numpy", *label, *ways.key()
        kept = None if self.shelf is None else self.shelf.load(*label)
        if kept is not None:
            code, objects, block = of_made(kept)
            return _run(code, objects), block
        with room_to_recurse(self.fused):
            source, program = write()
            code = _compiled(source, self.name)
        block = _block_of(program)
        if self.shelf is not None and (made := made_of(code, program.objects, block)) is not None:
            self.shelf.store(made, *label)
        return _run(code, program.objects), block

    def entry_point(self, arguments: tuple[np.dtype[Any] | None, ...]) -> EntryPoint:
        """For arguments of these dtypes, None for a scalar."""
        return self.point(tuple(map(_form, arguments, self.parameters)), arguments)

    def point(self, pattern: Pattern, arguments: tuple[np.dtype[Any] | None, ...]) -> EntryPoint:
        """For arguments of these forms and dtypes."""
        found = self._points.get((pattern, arguments))
        if found is None:
            found = self._points[pattern, arguments] = self.of(pattern).entry_point(arguments)
        return found

    def prepare(self, pattern: Pattern) -> None:
        """Compile the functions for arguments of these forms, and those that entry points take for them."""
        self.of(pattern).prepare()
        for made, arguments in tuple(self._points):
            self.of(made).prepare()
            if "stored" in pattern:
                self.of(self.together(made)).prepare()
                self.point(self.together(made), arguments)
            if pattern.count("same") > made.count("same"):  # arrays of one element, which the others are broadcast with
                dense = tuple(None if form == "same" else dtype
                              for form, dtype in zip(made, self.parameters, strict=True))
                self.of(tuple(map(_form, dense, self.parameters))).prepare()
                self.entry_point(dense)

    @property
    def styles(self) -> list[set[str]]:
        """The styles of the functions that are there."""
        return [set(made.styles) for made in tuple(self._made.values()) if isinstance(made, _Arrays)]

    def together(self, pattern: Pattern) -> Pattern:
        """The forms of arguments that are put together first."""
        return tuple("stored" if form == "lanes" and dtype != np.bool_ else form
                     for form, dtype in zip(pattern, self.parameters, strict=True))

    def fill(self, lanes: Sequence[Operand], n: int, results: Sequence[Array], *, stops: bool = False) -> Array | None:
        """Run `n` lanes, with the results written into these arrays; gives the mask of suspect lanes. `stops`: the
        first block that has any is the last one, and its results are put back."""
        return self.of(tuple(map(_form_of, lanes, self.parameters))).fill(lanes, n, results, stops=stops)


def _all_lanes(count: int) -> Pattern:
    form: Form = "lanes"
    return (form,) * count


def _form(given: np.dtype[Any] | None, wanted: np.dtype[Any]) -> Form:
    """The form of an argument of some dtype, None for a scalar."""
    if given is None:
        return "same"
    return "lanes" if as_signed(given) == wanted else "stored"


def _form_of(lane: Operand, wanted: np.dtype[Any]) -> Form:
    """The form of an argument of many lanes. Where they are apart it takes less time to put them together than to
    compute with them twice."""
    if isinstance(lane, Spread):
        return "lanes"
    if not isinstance(lane, np.ndarray):
        return "same"
    dense = lane.strides == (wanted.itemsize,) and lane.flags.aligned
    return _form(lane.dtype, wanted) if dense or wanted == np.bool_ else "stored"


_NAMES: dict[str, Any] = {
    "np": np, "lanes": lane_functions, "s": array_lanes, "uint64_lanes": uint64_lanes,
    "narrow_functions": narrow_functions, "asarray": np.asarray, "empty": np.empty, "count": np.count_nonzero,
    "putmask": np.putmask, "uint8": np.uint8, "zero": np.asarray(np.uint8(0)),
    "one": np.asarray(np.int8(1)), "PATIENCE": PATIENCE,
    **{name: original("numpy", name) for name in {*library.UFUNCS.values(), "power"}},
    **{name: getattr(np, name) for name in ("bool_", "float64", "float32", "int64", "int32", "int8")},
}


def _whole(value: Any, n: int) -> Array:
    """What an opaque call gives: an array, or a number for all lanes."""
    return value if isinstance(value, np.ndarray) and value.ndim else np.full(n, value)


def _function(source: str, name: str, objects: dict[str, Any]) -> Callable[..., Any]:
    return _run(_compiled(source, name), objects)


def _compiled(source: str, name: str) -> CodeType:
    code: CodeType = builtins.compile(source, f"<numpy twin of {name}>", "exec")
    return code


def _program(fused: Function, calls: OpaqueCalls | None, style: Style) -> BlockText:
    from pyflat.targets.numpy.blocks import BlockText
    from pyflat.targets.numpy.loops import loop_function

    return BlockText(fused, calls, style, loop_function)


def _block_of(program: BlockText) -> int:
    """So many lanes at a time that the temporaries fit into an arena."""
    if ways.BLOCKS.of("long") == "short":
        return SHORT
    lanes = numpy_memory.SIZE // max(program.bytes, 1)
    return max(LEAST, min(BLOCK, 1 << max(lanes.bit_length() - 1, 0)))


def patience() -> float:
    """That, where nothing else is forced."""
    return {"gathered": 0.01, "in place": math.inf}.get(ways.GATHERS.forced or "", PATIENCE)


def _run(code: CodeType, objects: dict[str, Any]) -> Callable[..., Any]:
    """The function that the code defines."""
    namespace = {**_NAMES, "whole": _whole, **objects, "PATIENCE": patience()}
    exec(code, namespace)
    made: Callable[..., Any] = namespace["block"]
    return made


def _dense(array: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Few lanes, one behind the other."""
    if array.shape == shape and array.dtype == dtype and array.flags.c_contiguous:
        return array.reshape(-1)
    made = np.empty(shape, dtype)
    made[...] = array
    return made.reshape(-1)


class _Reader:
    """Lanes that are copied into a buffer, as many at a time as it has room for."""

    __slots__ = ("_buffer", "_lanes")

    def __init__(self, lanes: Spread, buffer: Array):
        self._lanes, self._buffer = lanes, buffer

    def __getitem__(self, part: slice) -> Array:
        lanes = self._lanes[part]
        lanes.copy_to(self._buffer[:lanes.size])
        return self._buffer[:lanes.size]


def _undone(block: Callable[..., Any], outs: Sequence[Array], kept: Sequence[Array]) -> Any:
    """Run a block; gives the suspect lanes. Where there are some, or it raises, the results are as they were, for which
    `kept` has room."""
    for out, before in zip(outs, kept, strict=True):
        before[:out.size] = out
    found: Any = True
    try:
        found = block(*outs)
    finally:
        if np.any(found):
            for out, before in zip(outs, kept, strict=True):
                out[...] = before[:out.size]
    return found


class _Scalars:
    """All arguments are scalars, and there is no loop."""

    def __init__(self, patterns: _Patterns):
        self.patterns = patterns
        self._block, _ = patterns.function(("scalars",), self._written)

    @property
    def source(self) -> str:
        return self._written()[0]

    def _written(self) -> tuple[str, BlockText]:
        patterns = self.patterns
        program = _program(patterns.fused, patterns.calls, "few")
        return program.scalar_source([*patterns.wanted, *([] if patterns.checked else [FALSE])]), program

    def prepare(self) -> None:
        """There is one function, made with this object."""

    def entry_point(self, _: tuple[np.dtype[Any] | None, ...]) -> EntryPoint:
        block = self._block
        return EntryPoint(block, self.patterns.dtypes, lambda *args: lambda: block(*args))

    def fill(self, lanes: Sequence[Operand], n: int, results: Sequence[Array], *, stops: bool = False) -> Array | None:
        values = self._block(*lanes)
        if stops and self.patterns.checked and np.any(values[-1]):
            return np.full(n, True)
        for result, value in zip(results, values, strict=False):
            result[...] = value
        return np.full(n, True) if self.patterns.checked and np.any(values[-1]) else None


class _Choice:
    """The function for a number of lanes of `size` bits, by the way of writing selects that takes less time. As long as
    that is open it stands for the function itself."""

    def __init__(self, arrays: _Arrays, size: int):
        self.arrays, self.size = arrays, size
        self.taken: dict[Style, list[float]] = {"few": [], "bits": []}

    def __call__(self, *args: Any) -> Any:
        style: Style = "few" if len(self.taken["few"]) <= len(self.taken["bits"]) else "bits"
        function = self.arrays.function(style)[0]
        start = time.perf_counter()
        suspects = function(*args)
        self.taken[style].append(time.perf_counter() - start)
        if len(self.taken["bits"]) >= TRIES:
            best: Style = "few" if min(self.taken["few"]) < min(self.taken["bits"]) else "bits"
            self.arrays.choices[self.size] = self.arrays.function(best)[0]
        return suspects


class _Arrays:
    """Some arguments are arrays, or there is a loop: then scalars are arrays of one lane."""

    def __init__(self, patterns: _Patterns, pattern: Pattern):
        self.patterns, self.single = patterns, set(pattern) <= {"same"}
        self.pattern = _all_lanes(len(pattern)) if self.single else pattern
        self._functions: dict[Style, tuple[Callable[..., Any], int]] = {}
        self.choices: list[Callable[..., Any]] = [_Choice(self, k) for k in range(LEAST.bit_length() + 1)]
        """By the bits of the number of lanes."""
        self._run_dense: Callable[..., tuple[Any, ...]] | None = None
        """An entry point for dense arrays of the lanes' dtypes."""
        self._ticks = itertools.count(1).__next__
        self._patience = library.Patience()
        self.few, self.least = {"few": (1 << 62, LEAST), None: (FEW, LEAST)}.get(ways.SELECTS.forced, (0, 0))
        """Up to so many lanes one way of writing selects is taken, and from so many on another one."""

    def function(self, style: Style) -> tuple[Callable[..., Any], int]:
        """The function, and for how many lanes at a time it is."""
        found = self._functions.get(style)
        if found is None:
            found = self._functions[style] = self.patterns.function(
                (style, self.pattern), lambda: self._written(self._program(style)))
        return found

    @property
    def styles(self) -> list[Style]:
        """Those that were needed."""
        return list(self._functions)

    def text(self, style: Style) -> str:
        return self._written(self._program(style))[0]

    def prepare(self) -> None:
        """Compile the functions for few lanes and for many."""
        self.function("few")
        self.function("bits")

    def _many(self, n: int) -> Style:
        """How selects of many lanes are written: by compiled code, as soon as it pays to look for some."""
        forced = ways.SELECTS.forced
        found = self._patience.after(n) if forced is None else "compiled" if forced == "compiled" else None
        if "compiled" not in self._functions and found is not None:
            with room_to_recurse(self.patterns.fused):
                self._find_compiled(found)
        return "compiled" if "compiled" in self._functions else "bits"

    def _find_compiled(self, found: Literal["kept", "compiled"]) -> None:
        """The function with compiled code, where all of that is on disk, or may be compiled."""
        program = self._program("compiled")
        program.find = library.kept if found == "kept" else library.compiled
        source, _ = self._written(program)
        if found == "compiled" or not program.missing:
            made = _function(source, self.patterns.name, program.objects)
            self._functions["compiled"] = made, _block_of(program)

    def _program(self, style: Style) -> BlockText:
        from pyflat.targets.numpy.extremes import find_extremes

        return _program(find_extremes(self.patterns.fused), self.patterns.calls, style)

    def _written(self, program: BlockText) -> tuple[str, BlockText]:
        from pyflat.ir.uses import results_of

        patterns = self.patterns
        wanted = results_of(program.fused)[: patterns.results + patterns.checked]
        return program.source(wanted, patterns.results, self.pattern), program

    def entry_point(self, arguments: tuple[np.dtype[Any] | None, ...]) -> EntryPoint:
        call = self._call_single if self.single else self._call(arguments)
        return EntryPoint(call, self.patterns.dtypes, self._ufuncs)

    def fill(self, lanes: Sequence[Operand], n: int, results: Sequence[Array], *, stops: bool = False) -> Array | None:
        if not self.single:
            return self._fill(lanes, n, results, stops)
        arrays = [np.full(1, lane) for lane in lanes]
        first = [np.empty(1, dtype) for dtype in self.patterns.dtypes]
        found = self._fill(arrays, 1, first)
        if stops and found is not None:
            return found
        for result, value in zip(results, first, strict=True):
            result[...] = value
        return None if found is None else np.full(n, True)

    def _fill(self, lanes: Sequence[Operand], n: int, results: Sequence[Array], stops: bool = False) -> Array | None:
        made, most = self.function("few" if n <= self.few else "bits" if n <= self.least else self._many(n))
        block = self._chosen(n) if self.few < n <= self.least else made
        inputs = [_Reader(lane, np.empty(min(n, most), dtype)) if isinstance(lane, Spread) else lane
                  for lane, dtype in zip(lanes, self.patterns.parameters, strict=True)]
        kept = [np.empty(min(n, most), result.dtype) for result in results] if stops else []
        suspects: Array | None = None
        arena = numpy_memory.take()
        for start in range(0, n, most):
            stop = min(start + most, n)
            given = [lane if isinstance(lane, np.generic) else lane[start:stop] for lane in inputs]
            outs = [result[start:stop] for result in results]
            run = partial(block, arena, stop - start, *given)
            found = _undone(run, outs, kept) if stops else run(*outs)
            if self.patterns.checked and np.count_nonzero(found):
                if suspects is None:
                    suspects = np.zeros(n, np.bool_)
                suspects[start:stop] = found
                if stops:
                    break
        numpy_memory.give_back(arena)
        return suspects

    def _chosen(self, n: int) -> Callable[..., Any]:
        """The function for a number of lanes for which it is measured, unless there is compiled code."""
        if self._many(n) == "compiled":
            return self.function("compiled")[0]
        if not self._ticks() % AGAIN:
            self.choices[:] = [_Choice(self, k) for k in range(len(self.choices))]
        return self.choices[n.bit_length()]

    def _call(self, arguments: tuple[np.dtype[Any] | None, ...]) -> Callable[..., tuple[Any, ...]]:
        """The function of the entry point."""
        names = [f"a{k}" for k in range(len(self.pattern))]
        arrays = {name: dtype for name, dtype in zip(names, arguments, strict=True) if dtype is not None}
        outs = [f"r{k}" for k in range(len(self.patterns.dtypes))]
        first, *others = arrays
        unsigned = [name for name, dtype in arrays.items() if as_signed(dtype) is not dtype]
        given, results = ", ".join([*names, *outs]), "".join(f"{out}, " for out in outs)
        other = " or ".join([f"{first}.ndim != 1", *[f"{name}.shape != {first}.shape" for name in others],
                             *[f"{out} is not None and {out}.shape != {first}.shape" for out in outs]])
        beyond = [f"(count(less({name}, nought)) if {name}.size <= {LEAST} else least({name}, None) < 0)"
                  for name in unsigned]
        lines = [
            f"def block({', '.join([*names, *[f'{out}=None' for out in outs]])}):",
            *[f"    {name} = {name}.view(signed_{name})" for name in unsigned],
            *[f"    if {each}: return {'None, ' * len(outs)}True" for each in beyond],
            f"    if {other}: return any_shape(block, ({', '.join(names)},), ({results}))",
            f"    n = {first}.size",
            f"    if {self._apart()}: return put_together({given})",
            *[f"    if {out} is None: {out} = empty(n, dtype{k})" for k, out in enumerate(outs)],
            f"    if n > {self.least}: return {results}fill(({', '.join(names)},), n, ({results}))",
            "    A = take()",
            f"    s = (few if n <= {self.few} else chosen(n))(A, n, {given})",
            f"    {'s = s.copy() if count(s) else None' if self.patterns.checked else 's = None'}",
            "    give_back(A)",
            f"    return {results}s",
        ]
        objects: dict[str, Any] = {f"dtype{k}": dtype for k, dtype in enumerate(self.patterns.dtypes)}
        objects |= {f"signed_{name}": as_signed(arrays[name]) for name in unsigned}
        objects |= {"any_shape": self._any_shape, "fill": self.patterns.fill, "nought": np.asarray(0),
                    "put_together": self._later_together(arguments), "least": np.minimum.reduce,
                    "few": self._later("few"), "chosen": self._chosen, "take": numpy_memory.take,
                    "give_back": numpy_memory.give_back}
        self._call_names = objects
        made = _function("\n".join(lines), self.patterns.name, objects)
        self._call_names = made.__globals__
        return made

    def _apart(self) -> str:
        """When operands with lanes apart are put together first: where it takes less time than to compute with them
        twice. NumPy takes one that runs backwards to overlap with the result, and computes its own functions one by one
        then, with other bits."""
        strides = [f"a{k}.strides[0] != {dtype.itemsize}" for k, dtype in enumerate(self.patterns.parameters)
                   if self.pattern[k] == "lanes" and dtype != np.bool_]
        many = "" if self.patterns.calls_numpy else f"n > {FEW} and "
        return f"{many}({' or '.join(strides)})" if strides else "False"

    def _later_together(self, arguments: tuple[np.dtype[Any] | None, ...]) -> Callable[..., Any]:
        """The entry point that puts operands together, made when it is called first."""

        def first(*args: Any) -> Any:
            forms = self.patterns.together(self.pattern)
            made = self._call_names["put_together"] = self.patterns.point(forms, arguments).run
            return made(*args)

        return first

    def _later(self, style: Style) -> Callable[..., Any]:
        """The function of a style, made when it is called first."""

        def first(*args: Any) -> Any:
            made = self._call_names[style] = self.function(style)[0]
            return made(*args)

        return first

    def _any_shape(self, run: Callable[..., tuple[Any, ...]], args: Sequence[Any], outs: Sequence[Array | None]
                   ) -> tuple[Any, ...]:
        """A call with arrays of several axes, or of several shapes; `run` makes those with one axis."""
        patterns, arrays = self.patterns, [a for a in args if isinstance(a, np.ndarray)]
        shape, *others = {a.shape for a in arrays}
        try:
            shape = np.broadcast_shapes(shape, *others) if others else shape
        except (ValueError, RuntimeError):  # no common shape, or more than 32 axes
            return *[None] * len(outs), True
        if any(out is not None and out.shape != shape for out in outs):
            return *[None] * len(outs), True
        flat = [None if out is None else out.reshape(-1) for out in outs]
        if not others and all(a.flags.c_contiguous for a in arrays):
            *results, suspects = run(*[a.reshape(-1) if isinstance(a, np.ndarray) else a for a in args], *flat)
            return *[result.reshape(shape) for result in results], suspects
        if not others and all(a.flags.f_contiguous for a in arrays) and not any(out is not None for out in outs):
            *results, suspects = run(*[a.T.reshape(-1) if isinstance(a, np.ndarray) else a for a in args], *flat)
            return *[result.reshape(shape[::-1]).T for result in results], suspects
        n = math.prod(shape)
        if n <= LEAST:
            if self._run_dense is None:
                dense = tuple(None if form == "same" else dtype
                              for form, dtype in zip(self.pattern, patterns.parameters, strict=True))
                self._run_dense = patterns.entry_point(dense).run
            *results, suspects = self._run_dense(*[_dense(a, shape, dtype) if isinstance(a, np.ndarray) else a
                                                   for a, dtype in zip(args, patterns.parameters, strict=True)], *flat)
            return *[result.reshape(shape) for result in results], suspects
        lanes = [operand(a, shape) if isinstance(a, np.ndarray) else a for a in args]
        results = [np.empty(n, dtype) if out is None else out
                   for dtype, out in zip(patterns.dtypes, flat, strict=True)]
        suspects = patterns.fill(lanes, n, results)
        return *[result.reshape(shape) for result in results], suspects

    def _call_single(self, *args: Any) -> tuple[Any, ...]:
        results = [np.empty(1, dtype) for dtype in self.patterns.dtypes]
        suspects = self._fill([np.full(1, a) for a in args], 1, results)
        return *[result[0] for result in results], suspects

    def _ufuncs(self, *args: Any) -> Callable[[], object]:
        n = next(a.size for a in args if isinstance(a, np.ndarray))
        block = self.function("few" if n <= FEW else self._many(n))[0]
        results = [np.empty(n, dtype) for dtype in self.patterns.dtypes]
        arena = numpy_memory.Arena()
        return lambda: block(arena, n, *args, *results)
