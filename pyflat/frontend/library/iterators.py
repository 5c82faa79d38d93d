"""What consumes a generator, and iterators over one, as plain Python: loops over it, which are inlined."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any


def each_of(items: Any) -> Iterator[Any]:
    for item in items:  # noqa: UP028 - this is what `yield from` is made of
        yield item


def _has(items: Any, test: Callable[[Any], Any]) -> bool:
    for item in items:
        if test(item):
            break
    else:
        return False
    return True


def any_of(items: Any) -> bool:
    return _has(items, lambda item: item)


def all_of(items: Any) -> bool:
    return not _has(items, lambda item: not item)


def contains(items: Any, value: Any) -> bool:
    return _has(items, lambda item: value in (item,))  # noqa: FURB171 - by identity too


def next_of(items: Any, *default: Any) -> Any:
    for item in items:
        return item
    if default:
        return default[0]
    raise StopIteration


def enumerate_(iterable: Any, start: int = 0) -> Iterator[Any]:
    return _numbered(iterable, operator.index(start))


def _numbered(items: Any, number: int) -> Iterator[Any]:
    for item in items:
        yield number, item
        number += 1


def map_(function: Callable[..., Any], *sources: Any) -> Iterator[Any]:
    return _mapped(function, sources[0]) if len(sources) == 1 else starmap(function, zip(*sources, strict=False))


def _mapped(function: Callable[..., Any], items: Any) -> Iterator[Any]:
    for item in items:
        yield function(item)


def filter_(function: Any, items: Any) -> Iterator[Any]:
    for item in items:
        if item if function is None else function(item):
            yield item


def chain(*sources: Any) -> Iterator[Any]:
    for source in sources:
        yield from source


def chain_from(sources: Any) -> Iterator[Any]:
    for source in sources:
        yield from source


def islice(items: Any, *bounds: Any) -> Iterator[Any]:
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    start = 0 if start is None else start
    step = 1 if step is None else step
    if start < 0 or step < 1 or stop is not None and stop < 0:
        raise ValueError("indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    return _sliced(items, start, stop, step)


def _sliced(items: Any, start: int, stop: Any, step: int) -> Iterator[Any]:
    """Items before the first one and between are taken too, and none behind the end."""
    end = stop if stop is None or stop > start else start
    if end == 0:
        return
    for at, item in enumerate(items):
        if at >= start and (at - start) % step == 0 and (stop is None or at < stop):
            yield item
        if at + 1 == end:
            return


def takewhile(test: Any, items: Any) -> Iterator[Any]:
    for item in items:
        if not test(item):
            return
        yield item


def accumulate(items: Any, func: Any = None, *, initial: Any = None) -> Iterator[Any]:
    function = operator.add if func is None else func
    empty = initial is None
    if not empty:
        total = initial
        yield total
    for item in items:
        total = item if empty else function(total, item)
        empty = False
        yield total


def starmap(function: Any, items: Any) -> Iterator[Any]:
    for item in items:
        yield function(*item)


def pairwise(items: Any) -> Iterator[Any]:
    before: Any = None
    first = True
    for item in items:
        if not first:
            yield before, item
        first = False
        before = item


INSTEAD: dict[Any, Any] = {
    any: any_of, all: all_of, next: next_of, enumerate: enumerate_, map: map_, filter: filter_,
    itertools.chain: chain, itertools.chain.from_iterable: chain_from, itertools.islice: islice,
    itertools.takewhile: takewhile, itertools.accumulate: accumulate, itertools.starmap: starmap,
    itertools.pairwise: pairwise,
}
"""What is called in the place of a function that is given a generator."""
