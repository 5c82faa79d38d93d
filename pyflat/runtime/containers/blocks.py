"""A call that other processes make on parts of its arguments: pickled once, by source where that is needed, and the
same object wherever it has arrived before."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

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
