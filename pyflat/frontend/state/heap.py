"""Lists, dicts and objects with identity: their contents on the heap of the current state; tuples; subscripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from pyflat.errors import FlattenError
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import cells_of, describe, entries_of, has_gap, lane, maybe_unbound
from pyflat.frontend.state.values import (
    CONFLICT,
    UNBOUND,
    Abstract,
    Complex,
    DictRef,
    GuardedUnion,
    ListRef,
    ObjRef,
    Ref,
    Seq,
    Static,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value


def make_tuple(items: Sequence[Abstract]) -> Abstract:
    """A tuple; static when every item is."""
    if all(isinstance(v, Static) for v in items):
        return Static(tuple(v.value for v in items if isinstance(v, Static)))
    return Seq(tuple, tuple(items))


def new_list(s: Evaluator, items: Sequence[Abstract]) -> ListRef:
    ref = ListRef()
    s.state.heap[ref] = tuple(items)
    return ref


def new_dict(s: Evaluator, entries: dict[Any, Abstract]) -> DictRef:
    ref = DictRef()
    s.state.heap[ref] = tuple(entries.items())
    return ref


def record(s: Evaluator, cls: type, names: Sequence[str], items: tuple[Abstract, ...]) -> Abstract:
    """An object of a class that arguments and results may have, from its parts."""
    if cls is complex:
        return Complex(*items)
    if cls is list:
        return new_list(s, items)
    if issubclass(cls, tuple):
        return make_tuple(items) if cls is tuple else Seq(cls, items)
    ref = DictRef(cls) if issubclass(cls, dict) else ObjRef(cls)
    s.state.heap[ref] = tuple(zip(names, items, strict=True))
    return ref


def contents(s: Evaluator, ref: Ref, node: cst.CSTNode | None = None) -> tuple[Any, ...]:
    """What is in a list, dict or object, where every lane has the same number of items."""
    found = contents_with_gaps(s, ref, node)
    if isinstance(ref, DictRef) and entries_of(found) is not None:
        raise s.refuse("flatten/list-mutation", "the keys of this dict depend on the data", node,
                       why="this is done with dicts of known keys only", help="ask for items, len, `in`, get, or loop "
                       "over it")
    if type(ref) is ListRef and has_gaps(found):
        raise s.refuse("flatten/list-mutation", "the length of this list depends on the data", node,
                       why="this is done with lists of one length only", help="loop over it, or ask for len, sum, min, "
                       "max, sorted, an item or a slice of it")
    return found


def contents_with_gaps(s: Evaluator, ref: Ref, node: cst.CSTNode | None = None) -> tuple[Any, ...]:
    found = s.state.heap[ref]
    if found is CONFLICT:
        if isinstance(ref, DictRef):
            raise s.refuse("flatten/list-mutation", "the paths before this point leave the dict with different keys",
                           node, why="a dict that is changed under a condition must have the same keys, in the same "
                           "order, on both paths", help="give every key a value before the condition")
        raise s.refuse("flatten/list-mutation", "the paths before this point leave the list in different shapes", node)
    cells = cells_of(found)
    return found if cells is None else with_gaps(s, cells.items[1:], cells.items[0])


def with_gaps(s: Evaluator, items: Sequence[Abstract], count: Abstract, least: int = 0) -> tuple[Abstract, ...]:
    """Items of which every lane has `least` and a lane has `count`."""
    ends = [GuardedUnion(s.build.op("gt", lane(count), const(at)), item, UNBOUND)
            for at, item in enumerate(items[least:], least)]
    return (*items[:least], *ends)


def has_gaps(items: Sequence[Abstract]) -> bool:
    """Some lanes do not have some item (`space.ragged`)."""
    if cells_of(items) is not None:
        return True
    return any(type(item) is GuardedUnion and maybe_unbound(item) or item is UNBOUND for item in items)


def rewrite(s: Evaluator, ref: Ref, items: tuple[Any, ...], node: cst.CSTNode | None) -> None:
    """New contents of a list, dict or object that is there already."""
    if ref in s.shared:
        raise s.refuse("flatten/effect", f"{describe(ref)} that a cache shares between calls is written", node,
                       why="the next call with equal arguments gets the same object, not another one",
                       help="write to a copy, or remove the cache")
    if ref in s.frozen:
        raise s.refuse("flatten/list-mutation", f"{describe(ref)} that changes hands in a loop that stays a loop is "
                       "written, and another name may see it", node, help="write to a copy")
    s.state.heap[ref] = items


def static_key(s: Evaluator, key: Abstract, node: cst.CSTNode) -> Any:
    if isinstance(key, Static):
        return key.value
    raise s.refuse("flatten/lane-to-object", f"{describe(key)} is used as a dict key", node)


def where_present(s: Evaluator, item: Abstract, use: Callable[[Abstract], Abstract], skip: Callable[[], Abstract]
                  ) -> Abstract:
    """`use(item)` in the lanes that have the item, `skip()` in the others."""
    if item is UNBOUND:
        return skip()
    if has_gap(item):
        then, orelse = item.then, item.orelse
        return s.branch(item.cond, lambda: where_present(s, then, use, skip),
                        lambda: where_present(s, orelse, use, skip))
    return use(item)


def check_index(s: Evaluator, position: Value, size: int, node: cst.CSTNode) -> Value:
    """Python's index rule: negative counts from the end, outside is an IndexError."""
    build = s.build
    outside = build.op("or", build.op("lt", position, const(-size)), build.op("ge", position, const(size)))
    fault_if(s, outside, "IndexError", "index out of range", node)
    return build.op("select", build.op("lt", position, const(0)), build.op("add", position, const(size)), position)


def fault_if(s: Evaluator, cond: Value, type_name: str, message: str, node: cst.CSTNode) -> None:
    def raise_it() -> Abstract:
        raise s.fault(type_name, message, node)

    s.branch(cond, raise_it, lambda: None)


def raise_if(s: Evaluator, cond: Value, cls: type[BaseException]) -> None:
    """Like fault_if, for an exception that a `try` may catch."""

    def raise_it() -> Abstract:
        raise s.raised(cls)

    s.branch(cond, raise_it, lambda: None)


def only_modulo(s: Evaluator) -> FlattenError:
    """An int is asked for of which only the residue modulo 2**64 is known."""
    return s.refuse("flatten/int-too-large", "an int that may leave 64 bits is used other than modulo 2**64",
                    why="sums, products and left shifts of 64-bit ints are computed modulo 2**64",
                    help="mask it first: (...) & 0xFFFFFFFFFFFFFFFF")


def suspect_if(s: Evaluator, cond: Value, why: str, node: cst.CSTNode) -> None:
    """Lanes that only the original can decide."""

    def give_up() -> Abstract:
        raise s.fault("Undecided", why, node)

    s.branch(cond, give_up, lambda: None)
