"""dask: `twin(dask_array)` is lazy, and runs block by block wherever dask computes.

What comes out (how many results, which dtypes) is known from the function's twin for no lanes: the function itself is
not run before `compute()`, and never on made-up values. Several results are computed once for each block.

A call that other processes make on parts of its arguments is pickled once, by source where that is needed, and the
same object wherever it has arrived before.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pyflat.frontend.callables import Callee
from pyflat.ir.shape import Path, make_record, record_of
from pyflat.runtime.containers import LibraryCall
from pyflat.runtime.content import content_hash
from pyflat.runtime.faults import Part
from pyflat.runtime.interfaces import Calls
from pyflat.runtime.pickling import arrive, dumps
from pyflat.runtime.settings import Settings


class BlockCall:
    """A call without the arguments at `places`, which each block brings. It runs on one thread where nothing else is
    asked for: a scheduler has a thread for each block already."""

    def __init__(self, original: Callable[..., Any], settings: Settings, args: tuple[Any, ...],
                 kwargs: dict[str, Any], places: tuple[Path, ...]):
        self.parts = original, settings, args, kwargs, places

    @classmethod
    def of(cls, call: LibraryCall, places: Sequence[Path]) -> BlockCall:
        """The call, with the options that are in force."""
        given = {field.name: getattr(call.options, field.name) for field in fields(call.options)}
        given["parallel"] = bool(given["parallel"])
        left = call.with_arguments(dict.fromkeys(places))
        settings = tuple(sorted((name, value) for name, value in given.items() if name != "inject"))
        return cls(_original(call.caller.callee), settings, left.args, left.kwargs, tuple(places))

    @functools.cached_property
    def _call(self) -> LibraryCall:
        from pyflat.runtime.registry import cached

        original, settings, args, kwargs, _ = self.parts
        twin = cached(original, settings)
        return LibraryCall(twin._caller, args, kwargs, twin.options, twin, None, None, ())

    @property
    def caller(self) -> Calls:
        return self._call.caller

    def __call__(self, blocks: Sequence[Any], part: Part | None = None) -> Any:
        return self._call.run(dict(zip(self.parts[4], blocks, strict=True)), part=part)

    @functools.cached_property
    def _data(self) -> bytes:
        return dumps(_BlockParts(self), f"the call of {self._call.caller.parameters.name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return arrive, (self._data,)

    def __dask_tokenize__(self) -> object:
        return "pyflat", content_hash(*self.parts)


@dataclass(frozen=True, slots=True)
class _BlockParts:
    """What of a `BlockCall` is in its bytes."""

    call: BlockCall

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockCall, self.call.parts


def _original(callee: Callee) -> Callable[..., Any]:
    if not callee.prefix and not callee.preset:
        return callee.function
    return functools.partial(callee.function, *callee.prefix, **callee.preset)


# --- results of several arrays
def leaves(value: Any) -> Iterator[Any]:
    """The arrays of a result, in order: what is no record, and has a dtype."""
    if (record := record_of(value)) is not None:
        for item in record[2]:
            yield from leaves(item)
    elif hasattr(value, "dtype"):
        yield value


def with_leaves(value: Any, new: Iterator[Any]) -> Any:
    """A result like `value` with other arrays."""
    if (record := record_of(value)) is not None:
        cls, names, items = record
        return make_record(cls, names, [with_leaves(item, new) for item in items])
    return next(new) if hasattr(value, "dtype") else value


def call(call: LibraryCall) -> Any:
    """The arrays or series of a call, lazily. TypeError and ValueError for what cannot be put off."""
    name = call.caller.parameters.name
    if call.out is not None:
        raise TypeError(f"{name}: out= needs an existing array, but a dask array is computed later; write "
                        f"the result with dask.array.store")
    if call.options.errors == "mask":
        raise ValueError(f'{name}: errors="mask" returns the faults of a finished call, but dask runs it later: '
                         f'use errors="nan", or call the twin in map_blocks')
    given = call.arguments()
    if any(hasattr(value, "npartitions") and hasattr(value, "divisions") for value in given.values()):
        return _series(call, given)
    return _arrays(call, given)


# --- arrays
def _arrays(call: LibraryCall, given: Mapping[Path, Any]) -> Any:
    import dask.array as da
    from dask.array.core import unify_chunks
    from dask.layers import ArraySliceDep

    name = call.caller.parameters.name
    arrays = {**given, **{path: da.asanyarray(value) for path, value in call.arrays().items()}}
    dims = max(array.ndim for array in arrays.values())
    axes = tuple(range(dims))
    pairs = [part for array in arrays.values() for part in (array, axes[dims - array.ndim:])]
    empty = call.run({path: _empty(array) for path, array in arrays.items()})
    by_axis, aligned = unify_chunks(*pairs)
    pairs[::2] = aligned
    chunks = tuple(by_axis[axis] for axis in axes)
    block = ArrayBlock(BlockCall.of(call, tuple(arrays)), tuple(map(sum, chunks)))
    metas = [_meta(leaf, dims) for leaf in leaves(empty)]
    whole = metas[0] if len(metas) == 1 else np.empty((0,) * dims, object)
    made = da.blockwise(block, axes, ArraySliceDep(chunks), axes, *pairs, token=name, dtype=whole.dtype,
                        meta=whole, align_arrays=False)
    if len(metas) == 1:
        return with_leaves(empty, iter([made]))
    results = [da.blockwise(_item, axes, made, axes, number, None, token=name, dtype=meta.dtype, meta=meta)
               for number, meta in enumerate(metas)]
    return with_leaves(empty, iter(results))


def _empty(array: Any) -> Any:
    """No lanes of what the blocks of an array are."""
    from dask.array.utils import meta_from_array

    return meta_from_array(array, ndim=max(1, array.ndim))


def _meta(leaf: Any, dims: int) -> Any:
    from dask.array.utils import meta_from_array

    return meta_from_array(leaf, ndim=dims)


def _item(results: tuple[Any, ...], number: int) -> Any:
    return results[number]


class ArrayBlock:
    """The call of one block: what comes out are arrays, several as a tuple."""

    def __init__(self, call: BlockCall, shape: tuple[float, ...]):
        self.call, self.shape = call, shape

    def __call__(self, place: Sequence[slice], *blocks: Any) -> Any:
        found = tuple(leaves(self.call(blocks, _part(self.shape, place))))
        return found[0] if len(found) == 1 else found

    def __reduce__(self) -> tuple[Any, ...]:
        return ArrayBlock, (self.call, self.shape)

    def __dask_tokenize__(self) -> object:
        return self.call.__dask_tokenize__(), self.shape


def _part(shape: tuple[float, ...], place: Sequence[slice]) -> Part | None:
    """Where the lanes of a block are in the whole; None where dask does not know the lengths of the blocks."""
    if not shape or any(math.isnan(extent) for extent in shape):
        return None
    extent = [int(axis.stop - axis.start) for axis in place]
    return Part.block(tuple(map(int, shape)), [int(axis.start) for axis in place], extent)


# --- series
def _series(call: LibraryCall, given: Mapping[Path, Any]) -> Any:
    import dask.dataframe as dd

    counts = {call.name(path): getattr(value, "npartitions", None) for path, value in given.items()}
    if len(set(counts.values())) > 1 or None in counts.values():
        shown = ", ".join(f"{name} has {'none' if count is None else count}" for name, count in counts.items())
        raise ValueError(f"{call.caller.parameters.name}: the arguments have different partitions: {shown}; "
                         f"use .repartition, or columns of one frame")
    if arrays := call.arrays():
        raise TypeError(f"argument {call.name(next(iter(arrays)))!r} is an array among dask series: make it a "
                        f"column of the frame, or pass dask.dataframe.from_array(x)")
    empty = call.run({path: value._meta for path, value in given.items()})
    metas = list(leaves(empty))
    block = SeriesBlock(BlockCall.of(call, tuple(given)))
    whole = metas[0] if len(metas) == 1 else block.framed(metas)
    made = dd.map_partitions(block, *given.values(), meta=whole, align_dataframes=False)
    if len(metas) == 1:
        return with_leaves(empty, iter([made]))
    return with_leaves(empty, (made[number].rename(meta.name) for number, meta in enumerate(metas)))


class SeriesBlock:
    """The call of one partition: several results as the columns of a frame."""

    def __init__(self, call: BlockCall):
        self.call = call

    def __call__(self, *blocks: Any) -> Any:
        found = list(leaves(self.call(blocks)))
        return found[0] if len(found) == 1 else self.framed(found)

    @staticmethod
    def framed(columns: Sequence[Any]) -> Any:
        import pandas as pd

        return pd.DataFrame(dict(enumerate(columns)))

    def __reduce__(self) -> tuple[Any, ...]:
        return SeriesBlock, (self.call,)

    def __dask_tokenize__(self) -> object:
        return self.call.__dask_tokenize__()


def by_name(call: LibraryCall, table: Any) -> Any:
    """The partitions of a dask frame by the names of its columns."""
    import dask.dataframe as dd

    from pyflat.runtime import containers

    block = NamedBlock(BlockCall.of(call, ()))
    meta = containers.by_name(call.caller, table._meta, call.kwargs, call.options, call.twin)
    return dd.map_partitions(block, table, meta=meta, align_dataframes=False)


class NamedBlock(SeriesBlock):
    """The call of one partition of a frame, by the names of its columns."""

    def __call__(self, *blocks: Any) -> Any:
        from pyflat.runtime import containers

        made = self.call._call
        return containers.by_name(made.caller, blocks[0], made.kwargs, made.options, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedBlock, (self.call,)
