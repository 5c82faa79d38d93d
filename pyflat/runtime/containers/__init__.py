"""Arguments of other libraries: a twin takes them as they are, and gives the same kind back.

    twin(series, 2.0)          a pandas Series with the index and the name of `series`

`LIBRARIES` has a row for each library, outermost containers first. A row says by names which classes it takes, so that
no library is imported before an object of it arrives, and names a module of this package that has

    call(call: LibraryCall) -> Any                     the result of a call with such arguments, at `call.places`
    by_name(call: LibraryCall, table: Any) -> Any      that for a table of named columns, where the library has tables

A module takes its own objects out, runs the call with what is in them (`LibraryCall.run`), and puts the results into
objects of its own. What is in them may belong to another library (a DataArray of dask arrays), asked in turn then.
Calls with NumPy's arrays and Python's numbers come here only where no plan makes them, and leave after one look at
their types.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from pyflat.frontend.callables import Parameters
from pyflat.ir.shape import Path, make_record, record_of
from pyflat.runtime.faults import Part
from pyflat.runtime.grouping import parameter_at
from pyflat.runtime.interfaces import Calls, Planned
from pyflat.runtime.settings import Options


@dataclass(frozen=True, slots=True)
class ArrayLibrary:
    """One library: the root of its modules, the classes that are taken (and what inherits from them), and the module of
    this package that knows them."""

    root: str
    classes: tuple[str, ...]
    module: str

    def has(self, cls: type) -> bool:
        """Whether objects of `cls` are taken."""
        return any(base.__name__ in self.classes and base.__module__.partition(".")[0] == self.root
                   for base in cls.__mro__)


LIBRARIES = (
    ArrayLibrary("xarray", ("DataArray", "Dataset", "Variable"), "xarray"),
    ArrayLibrary("dask", ("Array", "Series", "DataFrame", "Index"), "dask"),
    ArrayLibrary("pandas", ("Series", "Index", "DataFrame", "ExtensionArray", "NAType"), "pandas"),
    ArrayLibrary("polars", ("Series", "Expr", "DataFrame", "LazyFrame"), "polars"),
    ArrayLibrary("pyarrow", ("Array", "ChunkedArray", "Scalar", "Table", "RecordBatch"), "pyarrow"),
    ArrayLibrary("duckdb", ("Expression", "DuckDBPyRelation"), "duckdb"),
    ArrayLibrary("astropy", ("Column", "Table"), "astropy"),
    ArrayLibrary("pint", ("PlainQuantity",), "units"),
    ArrayLibrary("astropy", ("Quantity",), "units"),
)
LISTS = ArrayLibrary("builtins", ("list",), "lists")
"""Lists of numbers."""
NAMESPACES = ArrayLibrary("", (), "namespaces")
"""Arrays of any other array namespace: JAX, PyTorch, CuPy, what has `__array_namespace__`."""
_NAMESPACES = frozenset({"jax", "jaxlib", "torch", "cupy"})
_ARRAYS = frozenset({"Array", "ArrayImpl", "Tracer", "Tensor", "ndarray"})
_PLAIN = frozenset({np.ndarray, float, int, bool, str, np.float64, np.int64, type(None)})
_ROOTS = frozenset(library.root for library in LIBRARIES)
_NUMBERS = frozenset({bool, int, float, complex})
_OWN = frozenset({"builtins", "numpy"})
_APART = frozenset({"xarray", "pandas", "polars", "pyarrow", "astropy", "namespaces"})
"""Modules whose objects cannot be arguments of one call with others': the result would be of one kind only."""


def library_of(cls: type) -> ArrayLibrary | None:
    """The row of `LIBRARIES` that takes objects of a class, None for what no other library takes."""
    if cls.__module__ in _OWN:
        return None
    roots = {base.__module__.partition(".")[0] for base in cls.__mro__}
    if roots & _ROOTS:
        return next((library for library in LIBRARIES if library.root in roots and library.has(cls)), None)
    if roots & _NAMESPACES:
        return NAMESPACES if any(base.__name__ in _ARRAYS for base in cls.__mro__) else None
    if issubclass(cls, np.ndarray | np.generic):
        return None
    return NAMESPACES if hasattr(cls, "__array_namespace__") else None


def find(parameters: Parameters, args: Sequence[Any], kwargs: Mapping[str, Any], static: Sequence[str]
         ) -> dict[Path, ArrayLibrary]:
    """The arguments that are objects of other libraries, by position or name; in records by the steps to them. Static
    ones stay what they are."""
    found: dict[Path, ArrayLibrary] = {}
    passed: Iterable[tuple[int | str, Any]] = itertools.chain(enumerate(args), kwargs.items())
    for place, value in passed:
        if type(value) not in _PLAIN and not (static and parameter_at(parameters, place) in static):
            found.update(_found(value, (place,)))
    return found


def _found(value: Any, path: Path) -> Iterator[tuple[Path, ArrayLibrary]]:
    cls = type(value)
    if cls is list and _holds_numbers(value):
        yield path, LISTS
    elif cls in (tuple, list, dict) or isinstance(value, tuple) or dataclasses.is_dataclass(cls):
        if (record := record_of(value)) is not None:
            steps: Sequence[str | int] = record[1] or range(len(record[2]))
            for step, item in zip(steps, record[2], strict=True):
                yield from _found(item, (*path, step))
    elif (library := library_of(cls)) is not None:
        yield path, library


def _holds_numbers(value: list[Any]) -> bool:
    return all(type(item) in _NUMBERS or (type(item) is list and _holds_numbers(item)) for item in value)


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """One call of a twin with arguments of other libraries; those at `places` are of the one that is asked."""

    caller: Calls
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    options: Options
    twin: Planned | None
    """The twin that was called, where `options` are its own: it has plans."""
    out: Any
    part: Part | None
    places: tuple[Path, ...]

    def arguments(self) -> dict[Path, Any]:
        """The arguments of the library that is asked."""
        return {path: self.at(path) for path in self.places}

    def passed(self) -> dict[Path, Any]:
        """All arguments, as they are passed."""
        places: Iterable[int | str] = itertools.chain(range(len(self.args)), self.kwargs)
        return {(place,): self.at((place,)) for place in places}

    def arrays(self) -> dict[Path, Any]:
        """NumPy's arrays with axes among the arguments."""
        return {path: array for place, value in self.passed().items() for path, array in _arrays(value, place)}

    def at(self, path: Path) -> Any:
        """The argument at a place."""
        first, *steps = path
        value: Any = self.args[first] if isinstance(first, int) else self.kwargs[first]
        for step in steps:
            value = getattr(value, step) if isinstance(step, str) and not isinstance(value, dict) else value[step]
        return value

    def name(self, path: Path) -> str:
        """What messages call an argument."""
        first, *steps = path
        return parameter_at(self.caller.parameters, first) + "".join(
            f".{step}" if isinstance(step, str) else f"[{step}]" for step in steps)

    def with_arguments(self, given: Mapping[Path, Any]) -> LibraryCall:
        """The call with other arguments at some places."""
        args: list[Any] = list(self.args)
        kwargs = dict(self.kwargs)
        for path, value in given.items():
            if isinstance(path[0], int):
                args[path[0]] = _put(args[path[0]], path[1:], value)
            else:
                kwargs[path[0]] = _put(kwargs[path[0]], path[1:], value)
        places = tuple(path for path in self.places if path not in given)
        return replace(self, args=tuple(args), kwargs=kwargs, places=places)

    def run(self, given: Mapping[Path, Any], *, part: Part | None = None, **changed: Any) -> Any:
        """The result with other arguments at some places; with other options, and as a part of a larger call, whose
        lanes messages name."""
        made = self.with_arguments(given)
        differs = any(getattr(self.options, name) != value for name, value in changed.items())
        options = replace(self.options, **changed) if differs else self.options
        part = part or self.part
        if self.twin is not None and options is self.options and part is None and self.out is None:
            return self.twin(*made.args, **made.kwargs)
        return self.caller(made.args, made.kwargs, options, None, self.out, part)


def _arrays(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, np.ndarray):
        if value.ndim:
            yield path, value
    elif (record := record_of(value)) is not None:
        steps: Sequence[str | int] = record[1] or range(len(record[2]))
        for step, item in zip(steps, record[2], strict=True):
            yield from _arrays(item, (*path, step))


def _put(value: Any, steps: Path, item: Any) -> Any:
    """A record with another item at the end of some steps."""
    if not steps:
        return item
    record = record_of(value)
    assert record is not None
    cls, names, items = record
    changed = list(items)
    at = names.index(steps[0]) if names else int(steps[0])
    changed[at] = _put(changed[at], steps[1:], item)
    return make_record(cls, names, changed)


def call(
    caller: Calls, found: Mapping[Path, ArrayLibrary], args: Sequence[Any], kwargs: Mapping[str, Any], options: Options,
    twin: Planned | None, out: Any, part: Part | None,
) -> Any:
    """The result of a call with arguments that `find` has found: asks the outermost library."""
    order = [row.module for row in (LISTS, *LIBRARIES, NAMESPACES)]
    modules = sorted({library.module for library in found.values()}, key=order.index)
    outermost = modules[0]
    places = tuple(path for path, library in found.items() if library.module == outermost)
    made = LibraryCall(caller, tuple(args), dict(kwargs), options, twin, out, part, places)
    if mixed := [module for module in modules if module in _APART][1:]:
        other = next(path for path, library in found.items() if library.module == mixed[0])
        one, two = type(made.at(places[0])), type(made.at(other))
        raise TypeError(f"arguments {made.name(places[0])!r} and {made.name(other)!r} are a {_shown(one)} and a "
                        f"{_shown(two)}: convert one to the type of the other, or to a NumPy array")
    if out is not None and outermost in _APART:
        raise TypeError(f"argument 'out' needs NumPy arrays: the result is a {_shown(type(made.at(places[0])))}")
    if outermost == NAMESPACES.module:
        _require_lanes(made)
    return _module(outermost).call(made)


def _require_lanes(call: LibraryCall) -> None:
    """TypeError where an array of another namespace is one of a kernel, which runs on NumPy's memory."""
    arrays = call.caller.kernels.roles(call.options)
    for path, value in call.arguments().items():
        if (name := call.name(path)) in arrays:
            raise TypeError(f"argument {name!r} is a {_shown(type(value))}: a kernel reads and writes NumPy arrays; "
                            f"pass np.array({name}), and convert the array back if the kernel writes to it")


def plain(parameters: Parameters, args: Sequence[Any], kwargs: Mapping[str, Any], static: Sequence[str]
          ) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """The arguments with NumPy's arrays in the place of lists and columns, for what looks at a call and does not make
    it: compiling, verifying, profiling."""
    found = find(parameters, args, kwargs, static)
    if not found:
        return args, kwargs
    changed, named = list(args), dict(kwargs)
    for path, library in found.items():
        values = getattr(_module(library.module), "plain", None)
        if values is None or len(path) > 1:
            continue
        if isinstance(path[0], int):
            changed[path[0]] = values(changed[path[0]])
        else:
            named[path[0]] = values(named[path[0]])
    return changed, named


def by_name(caller: Calls, table: Any, columns: Mapping[str, Any], options: Options, twin: Planned | None) -> Any:
    """The result with the columns of a table as arguments: a frame, a Dataset, a dict, a structured array."""
    library = library_of(type(table))
    made = LibraryCall(caller, (), dict(columns), options, twin, None, None, ())
    return _module("tables" if library is None else library.module).by_name(made, table)


def _shown(cls: type) -> str:
    return f"{cls.__module__.partition('.')[0]}.{cls.__qualname__}"


def _module(name: str) -> Any:
    return import_module(f"{__name__}.{name}")
