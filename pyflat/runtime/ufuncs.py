"""`twin.ufunc`: the twin as a genuine numpy.ufunc, with loops for the kinds of its operands.

NumPy broadcasts, casts, buffers what is unaligned or has the other byte order, and copes with `out=`, `where=` and
overlapping memory. What is left to say is which loop runs, and what happens to a lane in which the original raises:

- An operand's dtype gives its kind as in a call of the twin: bool, integers (but uint64, which int64 does not hold),
  floats of up to 64 bits. For each combination of kinds that is met, the twin is flattened. So `ufunc(2)` computes with
  an int, and a result has the dtype that the function gives it for these kinds.
- `errors="raise"`: the call raises what the original raises, in a lane that no promise says is the first: NumPy decides
  the order. Results written until then stay in `out=`. `errors="nan"`: nan there. `"unchecked"`: nothing is looked at.
- With dtype="float32" floats are float32 in all loops; with "input" in those whose float operands are all float32
  (Python's floats adapt), or that `dtype=` asks for.
- `reduce`, `accumulate`: each step takes the result of the one before, so that they run one by one; on the NumPy target
  the original runs them.
- `PYFLAT_DISABLE=1`: a ufunc that is made then runs the original in every lane.
- Floating-point flags stay as they were: no warning comes from an arm that no lane takes.

A ufunc is made for what the function's globals are at that time: `twin.ufunc` looks at its guards and makes a new one
where they have changed, a ufunc that is kept does not.
"""

from __future__ import annotations

import ctypes
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from pyflat.errors import refuse
from pyflat.functions import ufunc_interface as interface
from pyflat.functions.locks import flattening
from pyflat.functions.stacking import DATES
from pyflat.ir.formats import F4, F8, FloatFormat, dtypes
from pyflat.ir.recursion import with_room
from pyflat.ir.shape import Fixed, Leaf, Record, Shape, leaves, written_record
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, Kind, kind_of
from pyflat.runtime.arguments import ClassifiedCall
from pyflat.runtime.arrays import Array, CallContext, Lanes
from pyflat.runtime.calls import Caller, require_nan
from pyflat.runtime.compiled import Built
from pyflat.runtime.faults import Row
from pyflat.runtime.replay import Replay, fit
from pyflat.runtime.settings import Options
from pyflat.targets import target as targets
from pyflat.targets.target import require

if TYPE_CHECKING:
    from pyflat.runtime.interfaces import Planned
    from pyflat.runtime.settings import Settings
    from pyflat.targets.numba.strided_loop import StridedLoop

MAX_OPERANDS = 32
_KINDS: dict[Any, Kind] = {
    **{type(np.dtype(t)): INT for t in "bBhHiIlLqQ" if np.iinfo(t).max <= INT_MAX},
    **{type(np.dtype(t)): FLOAT for t in ("e", "f", "d")}, type(np.dtype("?")): BOOL,
}
_FLOAT32 = type(np.dtype(np.float32))
_Key = tuple[tuple[Kind, ...], FloatFormat]
_PYTHON_KINDS = {"_PyLongDType": INT, "_PyFloatDType": FLOAT}
"""NumPy's classes for operands that are Python's int and float."""


@with_room
def make_ufunc(twin: Planned, caller: Caller, shapes: dict[str, Shape], options: Options) -> MadeUfunc:
    """The ufunc of a twin for these parameters, of which the leaves are its operands.

    Raises FlattenError where an operand or a result is no number, ValueError for options that a ufunc cannot have.
    """
    loops, first = _made_loops(twin, caller, shapes, options)
    name, operands = loops.name, loops.operands
    if len(operands) + len(first.outputs) > MAX_OPERANDS:
        raise refuse("flatten/argument-kind", f"{name} has {len(operands) + len(first.outputs)} operands and results, "
                                              f"a ufunc has {MAX_OPERANDS} at most")
    source = UfuncOrigin(loops, twin.original, twin.settings, shapes, options)
    made = interface.new_ufunc(name, twin.__doc__ or "", len(operands), len(first.outputs), source)
    loops.serve(made)
    return MadeUfunc(made, options, loops)


@with_room
def make_loop(twin: Planned, caller: Caller, shapes: dict[str, Shape], options: Options) -> MadeLoop:
    """The loop alone, for the kinds that these parameters have. Raises as `make_ufunc`."""
    return _made_loops(twin, caller, shapes, options)[1]


def _made_loops(twin: Planned, caller: Caller, shapes: dict[str, Shape], options: Options
                ) -> tuple[_Loops, MadeLoop]:
    if options.errors == "mask":
        raise ValueError('errors="mask" gives two things, the values and the faults, and a ufunc only the values: '
                         'choose "raise", "nan" or "unchecked", or call the twin')
    if not targets.of(options.target).ufuncs:
        raise ValueError(f"target={options.target!r}: a ufunc runs on {' or '.join(targets.having('ufuncs'))}")
    name = twin.__name__
    operands = [name for name, shape in shapes.items() if isinstance(shape, Leaf)]
    for parameter, shape in shapes.items():
        if isinstance(shape, Record) and any(True for _ in leaves(shape)):
            raise refuse("flatten/argument-kind", f"the parameter {parameter!r} is not a single number",
                         why="the operands of a ufunc are bool, int and float lanes", help="call the twin itself")
    if not operands:
        raise refuse("flatten/argument-kind", f"{name} has no parameter that is a lane, and a ufunc needs one")
    require("llvmlite", f"{name}.ufunc")
    loops = _Loops(caller, name, shapes, operands, options)
    kinds = tuple(shape.kind for shape in shapes.values() if isinstance(shape, Leaf))
    first = loops.find((kinds, options.floats))
    return loops, first


@dataclass(frozen=True, slots=True, eq=False)
class UfuncOrigin:
    """What a ufunc keeps alive, and is made of."""

    loops: UfuncLoops[Any, Any]
    original: Callable[..., Any]
    settings: Settings
    shapes: dict[str, Shape] | None
    """None of a generalised ufunc."""
    options: Options


def origin(ufunc: np.ufunc) -> UfuncOrigin | None:
    """What a ufunc was made of; None for those that are no twin's."""
    found = interface.kept(ufunc)
    return found if isinstance(found, UfuncOrigin) else None


@dataclass(frozen=True, slots=True)
class MadeUfunc:
    """A ufunc, and what it was made for."""

    ufunc: np.ufunc
    options: Options
    _loops: _Loops

    def holds(self, options: Options) -> bool:
        """Whether it is the ufunc for these options still."""
        return options == self.options and self._loops.disabled == _disabled() and self._loops.fresh()


class UfuncLoop(Protocol):
    """A loop of a ufunc for operands of some dtypes."""

    inputs: Sequence[np.dtype[Any]]
    dtypes: Sequence[np.dtype[Any]]
    """The dtypes of its results."""

    @property
    def address(self) -> int: ...
    @property
    def guards(self) -> Any: ...


K = TypeVar("K")
L = TypeVar("L", bound=UfuncLoop)


class UfuncLoops(ABC, Generic[K, L]):
    """The loops of a ufunc, made when they are needed first. It must not hold the ufunc, which holds it."""

    def __init__(self, caller: Caller, name: str, options: Options):
        self.caller, self.name, self.options = caller, name, options
        self.made: dict[K, L] = {}
        self.added: set[K] = set()
        self._signatures: list[tuple[np.dtype[Any], ...]] = []
        self._tables: list[object] = []
        self._promote = interface.guarded(self.promote)
        self._promoter: StridedLoop | None = None

    @abstractmethod
    def make(self, key: K) -> L:
        """The loop for operands of these kinds or dtypes. Raises FlattenError."""

    @abstractmethod
    def promote(self, ufunc_at: int, dtypes_at: int, signature_at: int, new_at: int) -> None:
        """Which dtypes the loop for some others has. TypeError where there is none."""

    def fresh(self) -> bool:
        return all(loop.guards.stale() is None for loop in tuple(self.made.values()))

    def find(self, key: K) -> L:
        """The loop for operands of these kinds or dtypes. Raises FlattenError."""
        with flattening:
            if key not in self.made:
                self.made[key] = self.make(key)
            return self.made[key]

    def serve(self, ufunc: np.ufunc) -> None:
        """Give the ufunc the loops that exist, and the promoter for all others."""
        from pyflat.targets.numba.strided_loop import promoter

        for key in tuple(self.made):
            self.add(ufunc, key)
        self._promoter = promoter(interface.location(self._promote))
        interface.add_promoter(ufunc, self._promoter.address)

    def add(self, ufunc: np.ufunc, key: K) -> None:
        loop = self.made[key]
        signature = (*loop.inputs, *loop.dtypes)
        if key not in self.added and signature not in self._signatures:  # without floats there is one loop for both
            interface.add_loop(ufunc, interface.AddedLoop(loop.address, loop.inputs, loop.dtypes))
            self._signatures.append(signature)
            self._tables.append(interface.list_types(ufunc, self._signatures))
        self.added.add(key)


class _Loops(UfuncLoops[_Key, "MadeLoop"]):
    def __init__(self, caller: Caller, name: str, shapes: dict[str, Shape], operands: list[str], options: Options):
        super().__init__(caller, name, options)
        self.shapes, self.operands, self.disabled = shapes, operands, _disabled()

    def make(self, key: _Key) -> MadeLoop:
        return MadeLoop(self, *key)

    def promote(self, ufunc_at: int, dtypes_at: int, signature_at: int, new_at: int) -> None:
        ufunc = ctypes.cast(ufunc_at, ctypes.py_object).value
        count, size = len(self.operands), ufunc.nargs
        given, signature = interface.dtype_classes(dtypes_at, size), interface.dtype_classes(signature_at, size)
        asked = [given[k] if signature[k] is None else signature[k] for k in range(count)]
        kinds = tuple(self._kind(dtype, k) for k, dtype in enumerate(asked))
        results = signature[count:]
        keys = [(kinds, floats) for floats in self._formats(asked, kinds)]
        if (FLOAT,) * count != kinds and all(s is None for s in signature[:count]):
            keys += [((FLOAT,) * count, floats) for _, floats in keys]  # dtype=float of ints, as NumPy's own have it
        key = next((key for key in keys if self.find(key).gives(results)), keys[0])
        loop = self.find(key)
        if not loop.gives(results):
            wanted = ", ".join("any" if r is None else r.__name__.removesuffix("DType").lower() for r in results)
            raise TypeError(f"ufunc {self.name!r} gives {', '.join(d.name for d in loop.dtypes)} for these operands, "
                            f"not {wanted}")
        if len(loop.outputs) != ufunc.nout:
            raise TypeError(f"ufunc {self.name!r} has {ufunc.nout} results, and {len(loop.outputs)} for these operands")
        with flattening:
            self.add(ufunc, key)
        interface.give_dtypes(new_at, [*loop.inputs, *loop.dtypes])

    def _formats(self, asked: Sequence[Any], kinds: Sequence[Kind]) -> tuple[FloatFormat, ...]:
        """The formats that float lanes may have, the one that operands of these dtypes call for first."""
        if self.options.dtype != "input":
            return (self.options.floats,)
        given = [dtype for dtype, kind in zip(asked, kinds, strict=True) if kind is FLOAT]
        firm = [dtype for dtype in given if getattr(dtype, "__name__", "") not in _PYTHON_KINDS]
        return (F4, F8) if firm and all(dtype is _FLOAT32 for dtype in firm) else (F8, F4)

    def _kind(self, dtype: Any, operand: int) -> Kind:
        kind = _KINDS.get(dtype) or _PYTHON_KINDS.get(getattr(dtype, "__name__", ""))
        if kind is None:
            shown = getattr(dtype, "__name__", "nothing").removesuffix("DType").lower()
            raise TypeError(f"ufunc {self.name!r}: operand {self.operands[operand]!r} is {shown}; lanes hold bool, "
                            f"integers that fit into int64, and floats of up to 64 bits")
        return kind


def _disabled() -> bool:
    """PYFLAT_DISABLE=1: originals run in all lanes."""
    return os.environ.get("PYFLAT_DISABLE") == "1"


@dataclass(frozen=True, slots=True)
class _Output:
    """A result: the number of the leaf that has it, or the number that it is in all lanes."""

    kind: Kind
    leaf: int | None
    constant: Any = None


def result_numbers(shape: Shape, name: str) -> Iterator[_Output]:
    """The results of a ufunc. Raises FlattenError where one is no number."""
    place = 0
    stack = [shape]
    while stack:
        match stack.pop(0):
            case Leaf(kind):
                yield _Output(kind, place)
                place += 1
            case Record() as record if record.cls not in (str, complex, np.uint64, *DATES):
                stack[:0] = record.items
            case Fixed(value) if isinstance(value, tuple):
                stack[:0] = map(Fixed, value)
            case Fixed(value) if (known := kind_of(value)) is not None:
                yield _Output(known, None, value)
            case _:
                raise refuse("flatten/result-kind", f"a result of {name} is not bool, int or float",
                             why="the results of a ufunc are arrays of these", help="call the twin itself")


def _rounded(output: _Output, floats: FloatFormat) -> _Output:
    """A constant result in the format of the lanes."""
    known = output.constant
    return replace(output, constant=floats.rounded(known)) if isinstance(known, float) else output


class MadeLoop:
    """The inner loop for one combination of kinds."""

    def __init__(self, loops: _Loops, kinds: tuple[Kind, ...], floats: FloatFormat):
        own = dict(zip(loops.operands, kinds, strict=True))
        self.arguments = {name: Leaf(own[name]) if name in own else shape for name, shape in loops.shapes.items()}
        self.caller, self.errors, self.names, self.kinds = loops.caller, loops.options.errors, loops.operands, kinds
        self.name, self.disabled, self.floats = loops.name, loops.disabled, floats
        self.options = options = loops.options.settled(floats)
        self.built: Built = self.caller.compilations.get(
            self.caller.callee.function, self.arguments, options.as_built)
        if written_record(self.built.result) is not None:
            raise refuse("flatten/effect", f"{self.name} writes into its arguments, which a ufunc must not")
        if self.errors == "nan":
            require_nan(self.built.result)
        self.outputs = [_rounded(output, floats) for output in result_numbers(self.built.result, self.name)]
        self.inputs = [dtypes(floats)[kind] for kind in kinds]
        self.dtypes = [dtypes(floats)[output.kind] for output in self.outputs]
        self._callback = interface.guarded(self.run)
        self._strided_loop = self._compile()

    @property
    def address(self) -> int:
        return self._strided_loop.address

    @property
    def guards(self) -> Any:
        return self.built.guards

    def _compile(self) -> StridedLoop:
        from pyflat.targets.numba.strided_loop import strided_loop

        loop = getattr(self.built.engine, "inner_loop", None)
        plain = not self.built.trips_limited and all(output.leaf is not None for output in self.outputs)
        self._inner = loop() if loop is not None and plain and not self.disabled else None
        sizes = [dtype.itemsize for dtype in (*self.inputs, *self.dtypes)]
        return strided_loop(self._inner, sizes, len(self.kinds), interface.location(self._callback))

    def gives(self, classes: Sequence[Any]) -> bool:
        """Whether the results have these dtypes, as far as they are given."""
        return all(c is None or type(dtype) is c for c, dtype in zip(classes, self.dtypes, strict=False))

    def run(self, data: int, dims: int, steps: int, _: int | None) -> None:
        """The loop in Python: the lanes at these places, with replay. Raises what the original raises."""
        if self._inner is not None:
            self._inner.raise_interrupt()
        n = ctypes.c_ssize_t.from_address(dims).value
        if n <= 0:
            return
        size = len(self.kinds) + len(self.outputs)
        places = (ctypes.c_size_t * size).from_address(data)
        strides = (ctypes.c_ssize_t * size).from_address(steps)
        each = zip(places, strides, (*self.inputs, *self.dtypes), strict=True)
        views = [_view(int(p), int(s), n, dtype) for p, s, dtype in each]
        inputs, outputs = views[: len(self.kinds)], views[len(self.kinds):]
        chained = any(_depends(a, b) for a in inputs for b in outputs)
        if self.disabled or (chained and self.floats is F8):
            self._chain(inputs, outputs, n)
            return
        for start in range(n) if chained else (0,):  # float32 is what the engine computes, not the original
            part = slice(start, start + 1) if chained else slice(n)
            self._run([view[part] for view in inputs], [view[part] for view in outputs])

    def _run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        given: list[Array | np.generic] = [np.ascontiguousarray(a) for a in inputs]
        n = len(given[0])  # type: ignore[arg-type]
        ran = self.built.run(given, n)
        results = list(ran.leaves)
        if ran.suspect is not None and ran.suspect.any():
            self._settle(given, n, results, ran.suspect, ran.limited)
        for view, output in zip(outputs, self.outputs, strict=True):
            view[:] = output.constant if output.leaf is None else results[output.leaf]

    def _replay(self, inputs: Sequence[Array | np.generic], n: int, limited: Array | None) -> Replay:
        call = ClassifiedCall(dict(self.arguments), tuple(inputs), self.kinds, tuple(self.names), self.floats)
        lanes = Lanes(list(inputs), n, (n,), "", None, self.floats)
        context = CallContext(self.caller.callee, self.caller.parameters, call, lanes, self.options)
        return Replay(context, self.built.result, limited, self.built.reference)

    def _settle(self, inputs: Sequence[Array | np.generic], n: int, results: list[Array], suspect: Array,
                limited: Array | None) -> None:
        replay = self._replay(inputs, n, limited)
        run = replay.runner()
        for lane, row in replay.rows(suspect):
            values = self._values(run, replay, row, len(results))
            for leaf, value in zip(results, values, strict=True):
                leaf[lane] = value

    def _values(self, run: Callable[[Row], Sequence[Any]], replay: Replay, row: Row, count: int) -> Sequence[Any]:
        """The results of a lane that the original runs."""
        try:
            return run(row)
        except Exception as error:
            if self.errors == "nan":
                return [np.nan] * count
            error.add_note(f"in a lane of the ufunc {self.name}: {replay.shown(row)}")
            raise

    def _chain(self, inputs: Sequence[Array], outputs: Sequence[Array], n: int) -> None:
        """Lane by lane, each with what the ones before have written."""
        replay = self._replay([], 0, None)
        original = replay.original()
        for lane in range(n):
            row = tuple(a[lane].item() for a in inputs)
            values = self._values(lambda row: list(fit(original(row), self.built.result)), replay, row,
                                  len(list(leaves(self.built.result))))
            with np.errstate(over="ignore"):  # float32 rounds
                for view, output in zip(outputs, self.outputs, strict=True):
                    view[lane] = output.constant if output.leaf is None else values[output.leaf]


def _view(place: int, step: int, n: int, dtype: np.dtype[Any]) -> Array:
    """The n elements that lie `step` bytes apart from `place` on."""
    low = place + min(0, (n - 1) * step)
    memory: Any = (ctypes.c_char * (abs((n - 1) * step) + dtype.itemsize)).from_address(low)
    return np.ndarray((n,), dtype, memory, place - low, (step,))


def _depends(operand: Array, result: Array) -> bool:
    """Whether a lane reads what an earlier one has written. NumPy copies every other overlap, but for results that lie
    just where their operand lies."""
    if not np.may_share_memory(operand, result):
        return False
    same = operand.ctypes.data == result.ctypes.data and operand.strides == result.strides
    return not (same and (operand.strides[0] != 0 or len(operand) == 1))

