"""`twin.gufunc`: a kernel over arrays as a genuine generalised numpy.ufunc, with loops for the dtypes of its operands.

NumPy broadcasts the outer dimensions, checks the core dimensions, casts, buffers and copies operands that overlap with
results; the inner loop calls the kernel once for each outer index.

- The function has a parameter for each input and returns the outputs, or it has one for each output too, after those of
  the inputs, and writes them. An output with the core dimensions () is an array of one element there.
- An operand with the core dimensions () is a NumPy scalar, as `np.vectorize` passes it.
- A result has the dtype that the function gives it. A parameter that is an output has the dtype that NumPy promotes the
  inputs to, float64 where those are ints and floats are written. What is not written there is undefined.
- Where an item meets an exception, the original runs on it, and the call raises what it raises.
"""

from __future__ import annotations

import ctypes
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.errors import FlattenError, refuse
from pyflat.functions import ufunc_interface as interface
from pyflat.functions.locks import flattening
from pyflat.ir.kernel_results import ArrayResult, NumberResult, RecordResult, Result
from pyflat.ir.loops import all_ops
from pyflat.ir.memory import arrays_read, overlaps_itself
from pyflat.ir.nodes import Const, Op, raises
from pyflat.ir.recursion import with_room
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.runtime.calls import Caller
from pyflat.runtime.settings import Options
from pyflat.runtime.shown_warnings import warnings_are_wanted
from pyflat.runtime.signatures import Signature, parsed
from pyflat.runtime.ufuncs import UfuncLoops, UfuncOrigin
from pyflat.targets import target as targets

if TYPE_CHECKING:
    from pyflat.frontend.kernels import SourceKernel
    from pyflat.runtime.interfaces import Planned
    from pyflat.targets.numba.outer_loop import LoopOperand, OuterLoop

_CLASSES = {type(np.dtype(t)): np.dtype(t) for t in "?bBhHiIlLqQfd"}
_PYTHON_CLASSES = {"_PyLongDType": np.dtype(np.int64), "_PyFloatDType": np.dtype(np.float64)}
"""NumPy's classes for operands that are Python's int and float."""
_CONVERSIONS = ("to_float", "exact_float")
_Key = tuple[np.dtype[Any], ...]


@dataclass(frozen=True, slots=True)
class MadeGufunc:
    """A generalised ufunc, and what it was made for."""

    ufunc: np.ufunc
    options: Options
    loops: _GufuncLoops

    def holds(self, options: Options) -> bool:
        """Whether it is the ufunc for these options still."""
        return options == self.options and self.loops.fresh()

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        """A call with the arguments of the function: outputs may be among them."""
        return self.loops.call(self.ufunc, args, kwargs, out)


@with_room
def make_gufunc(twin: Planned, caller: Caller, options: Options) -> MadeGufunc:
    """The generalised ufunc of a twin. Raises FlattenError, ValueError where signature= does not fit its function."""
    name = twin.__name__
    if options.signature is None:
        raise ValueError(f"twin.gufunc of {name} needs the core dimensions of each input and output: "
                         f"signature=\"(n)->(n)\"")
    caller.kernels.require_whole(options)
    loops = _GufuncLoops(caller, name, parsed(options.signature), options)
    try:
        loops.find(tuple(np.dtype(np.float64) for _ in loops.inputs))
    except FlattenError as refusal:  # which may be of these dtypes only
        if refusal.code in ("flatten/effect", "flatten/result-kind"):
            raise
    source = UfuncOrigin(loops, twin.original, twin.settings, None, options)
    counts = len(loops.inputs), len(loops.outputs)
    made = interface.new_ufunc(name, twin.__doc__ or "", *counts, source, options.signature)
    loops.serve(made)
    return MadeGufunc(made, options, loops)


class _GufuncLoops(UfuncLoops[_Key, "_GufuncLoop"]):
    def __init__(self, caller: Caller, name: str, signature: Signature, options: Options):
        super().__init__(caller, name, options)
        self.signature = signature
        self.inputs, self.outputs = signature
        parameters = caller.parameters
        bound = {*parameters.names[:len(parameters.prefix)], *parameters.preset}
        kinds = parameters.signature.parameters
        self.fixed = {n: p.default for n, p in kinds.items() if n in options.static and p.default is not p.empty}
        self.operands = self._operands([n for n in kinds if n not in bound and n not in self.fixed])
        self.writes = len(self.operands) > len(self.inputs)

    def _operands(self, names: list[str]) -> list[str]:
        kinds = self.caller.parameters.signature.parameters
        required = sum(kinds[n].default is kinds[n].empty for n in names)
        inputs, outputs = len(self.inputs), len(self.outputs)
        for count in (inputs, inputs + outputs):
            chosen = names[:count]
            if required <= count == len(chosen) and all(
                    kinds[n].kind in (kinds[n].POSITIONAL_ONLY, kinds[n].POSITIONAL_OR_KEYWORD) for n in chosen):
                self.fixed |= {n: kinds[n].default for n in names[count:] if kinds[n].default is not kinds[n].empty}
                return chosen
        raise ValueError(f"signature={self.options.signature!r} has {inputs} inputs and {outputs} outputs, and "
                         f"{self.name} the parameters {', '.join(names) or 'none'}: it takes one for each input and "
                         f"returns the outputs, or one for each output too, which it writes")

    def core(self, number: int) -> tuple[str, ...]:
        return (*self.inputs, *self.outputs)[number]

    def make(self, key: _Key) -> _GufuncLoop:
        return _GufuncLoop(self, key)

    def call(self, ufunc: np.ufunc, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        given = self.caller.parameters.signature.bind_partial(*self.caller.parameters.prefix, *args, **kwargs).arguments
        names = self.operands[:len(self.inputs)]
        missing = [n for n in names if n not in given]
        other = [n for n in given if n not in self.operands and n not in self.caller.parameters.names[
            :len(self.caller.parameters.prefix)]]
        if missing or other:
            which = f"missing {', '.join(missing)}" if missing else f"{other[0]!r} is not an operand of the signature"
            raise TypeError(f"{self.name}() with signature={self.options.signature!r}: {which}")
        results = [given.get(n) for n in self.operands[len(self.inputs):]]
        if any(r is not None for r in results):
            out = tuple(results)
        if any(type(given[n]).__module__.partition(".")[0] == "xarray" for n in names):
            if out is not None:
                raise TypeError(f"{self.name}() returns new objects for those of xarray: call it without outputs")
            return self._over_dimensions(ufunc, {n: given[n] for n in names})
        return ufunc(*[given[n] for n in names], **({} if out is None else {"out": out}))

    def _over_dimensions(self, ufunc: np.ufunc, given: Mapping[str, Any]) -> Any:
        """A call with xarray's objects: core dimensions by name, wherever they are."""
        from pyflat.runtime.containers import xarray

        named: dict[str, str] = {}
        for name, dims in self.options.core_dims:
            core = dict(zip(given, self.inputs, strict=True)).get(name)
            if core is None or len(core) != len(dims):
                raise ValueError(f"core_dims={{{name!r}: {dims!r}}}: signature={self.options.signature!r} has "
                                 + ("no such input" if core is None else f"{len(core)} core dimensions there"))
            for own, dim in zip(core, dims, strict=True):
                if named.setdefault(own, dim) != dim:
                    raise ValueError(f"core_dims: {own!r} of signature={self.options.signature!r} is both "
                                     f"{named[own]!r} and {dim!r}")
        dtypes = self.find(tuple(np.asarray(value).dtype if np.isscalar(value) else value.dtype
                                 for value in given.values())).dtypes
        cores, results = ([[named.get(own, own) for own in core] for core in part] for part in self.signature)
        return xarray.over_dimensions(ufunc, given, cores, results, dtypes)

    def promote(self, ufunc_at: int, dtypes_at: int, signature_at: int, new_at: int) -> None:
        ufunc = ctypes.cast(ufunc_at, ctypes.py_object).value
        count = len(self.inputs)
        given, asked = (interface.dtype_classes(at, ufunc.nargs) for at in (dtypes_at, signature_at))
        key = tuple(self._dtype(given[k] if asked[k] is None else asked[k], k) for k in range(count))
        loop = self.find(key)
        for wanted, dtype in zip(asked[count:], loop.dtypes, strict=True):
            if wanted is not None and wanted is not type(dtype):
                gives = ", ".join(dtype.name for dtype in loop.dtypes)
                raise TypeError(f"ufunc {self.name!r} gives {gives} for these operands")
        with flattening:
            self.add(ufunc, key)
        interface.give_dtypes(new_at, [*key, *loop.dtypes])

    def _dtype(self, found: Any, operand: int) -> np.dtype[Any]:
        dtype = _CLASSES.get(found) or _PYTHON_CLASSES.get(getattr(found, "__name__", ""))
        if dtype is None:
            shown = getattr(found, "__name__", "nothing").removesuffix("DType").lower()
            raise TypeError(f"ufunc {self.name!r}: operand {self.operands[operand]!r} is {shown}; a kernel takes bool, "
                            f"ints, float32 and float64")
        return dtype


class _GufuncLoop:
    """The inner loop for inputs of these dtypes."""

    def __init__(self, loops: _GufuncLoops, key: _Key):
        self.loops, self.kernels, self.options = loops, loops.caller.kernels, loops.options
        self.signature, self.writes, self.names = loops.signature, loops.writes, loops.operands
        examples = {name: _example(dtype, len(core)) for name, dtype, core in zip(
            loops.operands, key, loops.inputs, strict=False)}
        if loops.writes:
            self.version, self.dtypes = self._writing(examples, key)
        else:
            self.version = self._version(examples)
            self.dtypes = list(self._returned(self.version.kernel.result, examples))
        self._require_roles(self.version.kernel)
        self.inputs, self.all = key, (*key, *self.dtypes)
        self._callback = interface.guarded(self.run)
        self._outer: dict[Any, OuterLoop] = {}
        from pyflat.targets.numba.strided_loop import strided_loop

        self._strided = strided_loop(None, [d.itemsize for d in self.all], len(key), interface.location(self._callback))

    @property
    def address(self) -> int:
        return self._strided.address

    @property
    def guards(self) -> Any:
        return self.version.kernel.guards

    def _version(self, examples: Mapping[str, Any]) -> Any:
        return self.kernels.version(self._bound(examples), self.options)

    def _bound(self, operands: Mapping[str, Any]) -> dict[str, Any]:
        parameters = self.loops.caller.parameters
        positional = parameters.signature.parameters[self.names[0]].kind is inspect.Parameter.POSITIONAL_ONLY
        args, kwargs = (list(operands.values()), {}) if positional else ([], operands)
        return dict(parameters.bind(args, {**self.loops.fixed, **kwargs}).arguments)

    # --- outputs
    def _writing(self, examples: Mapping[str, Any], key: _Key) -> tuple[Any, list[np.dtype[Any]]]:
        """Outputs that are parameters: float64 first, which says whether ints are all that is written."""
        names = self.names[len(key):]
        ranks = [max(len(core), 1) for core in self.signature.outputs]
        promoted = np.result_type(*key)
        floats = promoted if promoted.kind == "f" else np.dtype(np.float64)
        tried = self._version({**examples, **{n: _example(floats, r) for n, r in zip(names, ranks, strict=True)}})
        dtypes = [promoted if promoted.kind in "iu" and _only_ints(tried.kernel, n) else floats for n in names]
        made = {n: _example(d, r) for n, d, r in zip(names, dtypes, ranks, strict=True)}
        return self._version({**examples, **made}), dtypes

    def _require_roles(self, kernel: SourceKernel) -> None:
        count = len(self.signature.inputs)
        for name in kernel.written:
            if name in self.names[:count] or name not in self.names:
                raise refuse("flatten/effect", f"{self.loops.name} writes into {name!r}, an input of its signature",
                             why="outputs are separate parameters, after those of the inputs",
                             help="call the twin without signature=, or write into a new array")
        read = {name for op in all_ops(kernel.function.body) for name in arrays_read(op)}
        for name in self.names[count:]:
            if name in read:
                raise refuse("flatten/effect", f"{self.loops.name} reads {name!r}, an output of its signature",
                             why="an output starts as uninitialised memory",
                             help="keep the value in a variable, or call the twin without signature=")
            if name not in kernel.written and not raises(kernel.function.body):  # with other dtypes it may go on there
                raise refuse("flatten/effect", f"{self.loops.name} never writes {name!r}, an output of its signature",
                             why="nothing else writes to it",
                             help="write it, or remove the parameter and return the result")

    def _returned(self, result: Result, examples: Mapping[str, Any]) -> Iterator[np.dtype[Any]]:
        outputs = self.signature.outputs
        items = result.items if isinstance(result, RecordResult) and issubclass(result.cls, tuple | list) else (result,)
        if len(items) != len(outputs):
            raise self._mismatch(f"returns {len(items)} results", f"{len(outputs)} outputs")
        made = {op.attr("array"): op.attr("dtype") for op in all_ops(self.version.kernel.function.body)
                if op.opcode == "alloc"}
        for item, core in zip(items, outputs, strict=True):
            match item:
                case NumberResult() if not core:
                    dtypes = [dtype or {BOOL: "b1", INT: "i8", FLOAT: "f8"}[item.kind] for dtype in item.dtypes]
                    if len(item.dtypes) > 1 + (None in item.dtypes):
                        raise self._mismatch(f"returns a number of {' or '.join(dtypes)}", "an output of one dtype")
                    yield np.dtype(dtypes[0])
                case ArrayResult() if item.rank == len(core):
                    yield np.dtype(made[item.array]) if item.array in made else examples[item.array].dtype
                case ArrayResult():
                    raise self._mismatch(f"returns an array of {item.rank} axes", f"an output of {len(core)}")
                case _:
                    what = "a number" if isinstance(item, NumberResult) else "no number or array"
                    raise self._mismatch(f"returns {what}", f"an output of {len(core)} axes")

    def _mismatch(self, does: str, wanted: str) -> Exception:
        return refuse("flatten/result-kind", f"{self.loops.name} {does}, and signature={self.options.signature!r} has "
                                             f"{wanted}", why="the returned values are the outputs, in order",
                      help="change the signature to match the returned values")

    # --- running
    def run(self, data: int, dims: int, steps: int, _: int | None) -> None:
        """The kernel for each outer index. Raises what the original raises."""
        operands = self._views(data, dims, steps)
        n, count = ctypes.c_ssize_t.from_address(dims).value, len(self.signature.inputs)
        if not n:
            return
        first = self._bound(dict(zip(self.names, [each[0] for each in operands], strict=False)))
        call = self._caller(first)
        apart = not any(overlaps_itself(each) for each in operands[count:])
        parts = self._compiled_parts(first, data, steps, n, self.kernels.parallel(self.options) if apart else False)
        for k in itertools.chain.from_iterable(itertools.starmap(range, parts)):
            returned = call([each[k] for each in operands])
            if not self.writes:
                self._keep(returned, [each[k, ...] for each in operands[count:]])

    def _compiled_parts(self, first: Mapping[str, Any], data: int, steps: int, n: int,
                        parallel: bool | None) -> Iterable[tuple[int, int]]:
        """Let machine code call the kernel where it can; what is left to do, from and to."""
        errors = np.geterr()
        if errors["under"] != "ignore" or not targets.of(self.options.target).machine_code or self.kernels.disabled:
            return [(0, n)]
        from pyflat.targets.numba.outer_loop import OuterLoop

        engine: Any = self.kernels.version(first, self.options).compiled
        if not OuterLoop.fits(engine):
            return [(0, n)]
        if engine not in self._outer:
            self._outer[engine] = OuterLoop(engine, self._operands())
        places = (ctypes.c_ssize_t * len(self.all)).from_address(data)
        apart = (ctypes.c_ssize_t * len(self.all)).from_address(steps)
        return self._outer[engine].run(first, list(places), list(apart), n,
                                       watch=warnings_are_wanted(errors), parallel=parallel)

    def _operands(self) -> list[LoopOperand]:
        from pyflat.targets.numba.outer_loop import LoopOperand

        cores, count = [*self.signature.inputs, *self.signature.outputs], len(self.signature.inputs)
        return [LoopOperand(self.names[k] if k < len(self.names) else None, dtype, not core and k < count)
                for k, (core, dtype) in enumerate(zip(cores, self.all, strict=True))]

    def _caller(self, first: dict[str, Any]) -> Callable[[Sequence[Any]], Any]:
        run = self.kernels.runner(first, self.options)
        return lambda items: run({**first, **dict(zip(self.names, items, strict=False))}, items[:len(self.names)],
                                 self.loops.fixed)

    def _keep(self, returned: Any, places: Sequence[Any]) -> None:
        values = returned if isinstance(returned, tuple) else (returned,)
        for value, place in zip(values, places, strict=True):
            if np.shape(value) != place.shape:
                raise ValueError(f"{self.loops.name} returned an array of shape {np.shape(value)} for an output of "
                                 f"shape {place.shape} by signature={self.options.signature!r}")
            place[...] = value

    def _views(self, data: int, dims: int, steps: int) -> list[Any]:
        """The operands as arrays, the outer index first."""
        cores = [*self.signature.inputs, *self.signature.outputs]
        size, names = len(cores), self.signature.dimensions
        places = (ctypes.c_size_t * size).from_address(data)
        lengths = (ctypes.c_ssize_t * (1 + len(names))).from_address(dims)
        extents = dict(zip(names, lengths[1:], strict=True))
        strides = iter((ctypes.c_ssize_t * (size + sum(map(len, cores)))).from_address(steps))
        outer = list(itertools.islice(strides, size))
        found = []
        for number, (core, dtype) in enumerate(zip(cores, self.all, strict=True)):
            shape = (lengths[0], *[extents[name] for name in core])
            apart = (outer[number], *itertools.islice(strides, len(core)))
            if self.writes and not core and number >= len(self.signature.inputs):
                shape, apart = (*shape, 1), (*apart, dtype.itemsize)
            found.append(_view(places[number], shape, apart, dtype))
        return found


def _example(dtype: np.dtype[Any], rank: int) -> Any:
    return np.empty((2,) * rank, dtype) if rank else dtype.type(0)


def _only_ints(kernel: SourceKernel, name: str) -> bool:
    """Whether what a kernel writes into an array of floats are ints."""
    stored = [op.args[-1] for op in all_ops(kernel.function.body)
              if op.opcode == "store" and op.attr("array") == name]
    numbers = [value for value in stored if not isinstance(value, Const)]
    return bool(numbers) and all(isinstance(v, Op) and v.opcode in _CONVERSIONS for v in numbers)


def _view(place: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The elements from an address on."""
    if 0 in shape:
        return np.empty(shape, dtype)
    spans = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    low, high = sum(min(s, 0) for s in spans), sum(max(s, 0) for s in spans)
    memory: Any = (ctypes.c_char * (high - low + dtype.itemsize)).from_address(place + low)
    return np.ndarray(shape, dtype, memory, -low, strides)
