"""An element that each iteration of a loop adds to is a number while the loop runs.

    s = np.zeros(n)
    for i in range(n):                      for i in range(n):
        for j in range(m):                      x = s[i]
            s[i] += a[i, j]                     for j in range(m):
                                                    x += a[i, j]
                                                s[i] = x

That is done for arrays that are made inside, where nothing else of the loop touches the array: what a run that raises
has added is not seen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pyflat.analysis.parallel_loops import iterates
from pyflat.analysis.producers import is_left
from pyflat.analysis.small_ints import small_ints
from pyflat.analysis.sure_indices import sure_indices
from pyflat.ir.affine import Affine, affine, places
from pyflat.ir.edit.copying import copy_function
from pyflat.ir.loops import all_ops, definitions, end_of, replace_uses
from pyflat.ir.memory import arrays_read
from pyflat.ir.nodes import FAULT, TRUE, Block, Exit, Function, If, Item, Loop, Op, Param, Value, child_lists, walk
from pyflat.passes.record import Pass


def keep_sums(fn: Function, *, lengths: Sequence[int] = (), tangled: Collection[str] = ()) -> Function:
    """`fn` itself where there is none. `lengths`: which parameters are lengths of axes."""
    made = {op.attr("array"): op for op in all_ops(fn.body) if op.opcode == "alloc" and op.attr("array") not in tangled}
    if not made:
        return fn
    copy = copy_function(fn)
    made = {op.attr("array"): op for op in all_ops(copy.body) if op.opcode == "alloc" and op.attr("array") in made}
    given, found = [copy.params[at] for at in lengths], False
    while sums := _proved(copy, given, made):
        _keep_in(copy.body, sums)
        found = True
    return copy if found else fn


PASS = Pass(keep_sums)
Sum = tuple[Op, Op]
"""The load and the store of an element in each iteration."""


def _proved(fn: Function, lengths: Sequence[Value], made: Mapping[str, Op]) -> dict[Loop, Sum]:
    """Loops with a sum, whose element is one where they do not run, too."""
    sums = {item: found for item in walk(fn.body) if isinstance(item, Loop) and (found := _sum(item, made)) is not None}
    small, asked = small_ints(fn, lengths), dict[Op, list[Affine]]()
    for loop, (_, store) in sums.items():
        for place, extent in zip(places(store), made[store.attr("array")].args, strict=False):
            at, size = affine(_outside(place), small), affine(extent, small)
            if at is not None and size is not None:
                asked.setdefault(_test_of(loop), []).extend((at, size.minus(at).shifted(-1)))
    proved = sure_indices(fn, lengths, small, asked).proved if asked else set()
    return {loop: found for loop, found in sums.items() if _test_of(loop) in proved}


def _test_of(loop: Loop) -> Op:
    head = loop.body[0]
    assert isinstance(head, Block)
    return head.ops[0]


def _keep_in(items: list[Item], sums: Mapping[Loop, Sum]) -> None:
    for at, item in enumerate(items):
        if isinstance(item, Block):
            continue
        for inner in child_lists(item):
            _keep_in(inner, sums)
        if isinstance(item, Loop) and item in sums:
            before = items[at - 1]
            assert isinstance(before, Block)
            _keep(item, *sums[item], before, items[at + 1:])


def _sum(loop: Loop, made: Collection[str]) -> Sum | None:
    """The sum that is all that the loop does with an array."""
    if not iterates(loop) or not _is_left_at_its_test(loop):
        return None
    top = [op for item in loop.body[2:] if isinstance(item, Block) for op in item.ops]
    inside = {*loop.params, *definitions(loop.body)}
    for store in top:
        if store.opcode != "store" or store.attr("array") not in made:
            continue
        touched = [op for op in all_ops(loop.body) if op is not store and store.attr("array") in (
            [op.attr("array")] if op.opcode in ("load", "store") else arrays_read(op))]
        if len(touched) != 1 or touched[0].opcode != "load" or touched[0] not in top:
            continue
        (load,) = touched
        forms = [affine(place) for place in places(store)]
        if (store.args[0] is load.args[0] and store.args[0] in loop.params and store.args[-1].kind is load.kind
                and is_left(store.args[-1], load.attr("dtype")) and forms == [affine(place) for place in places(load)]
                and None not in forms and all(_outside(place) not in inside for place in places(store))
                and end_of(loop.body).values[loop.params.index(store.args[0])] is store):
            return load, store
    return None


def _is_left_at_its_test(loop: Loop) -> bool:
    ends = [item.end for item in walk(loop.body) if isinstance(item, Block) and isinstance(item.end, Exit)]
    inner = {label for item in walk(loop.body) if isinstance(item, Loop) for label in (item.label, item.again)}
    own = [end for end in ends if end.label in (loop.label, loop.again)]
    return len(own) == 1 and all(end in own or end.label is FAULT or end.label in inner for end in ends)


def _outside(place: Value) -> Value:
    """What an index that is inside was made of."""
    return place.args[0] if isinstance(place, Op) and place.opcode == "index" else place


def _keep(loop: Loop, load: Op, store: Op, before: Block, rest: Sequence[Item]) -> None:
    memory = store.args[0]
    at = loop.params.index(memory)  # type: ignore[arg-type]
    start = Op("load", (loop.inits[at], *map(_outside, places(store))), load.kind, attrs=load.attrs, origin=load.origin)
    before.ops.append(start)
    number, result = Param(load.kind, load.attr("array")), Param(load.kind, load.attr("array"))
    loop.params.append(number)
    loop.inits.append(start)
    test = loop.body[1]
    leave = test.orelse[-1] if isinstance(test, If) else None
    assert isinstance(leave, Block) and isinstance(leave.end, Exit)
    leave.end.values.append(number)
    loop.results.append(result)
    end_of(loop.body).values.append(store.args[-1])
    end_of(loop.body).values[at] = memory
    inside = Op("select", (TRUE, number, number), load.kind, name=load.name, origin=load.origin)
    for item in loop.body:
        if isinstance(item, Block):
            item.ops = [inside if op is load else op for op in item.ops if op is not store]
    replace_uses(loop.body, {load: inside})
    left = [result for result, value in zip(loop.results, leave.end.values, strict=True) if value is memory]
    if not left:  # nothing reads the array after the loop
        return
    last = Op("store", (loop.inits[at], *map(_outside, places(store)), result), store.kind, attrs=store.attrs,
              origin=store.origin)
    replace_uses(rest, {left[0]: last})
    head = rest[0]
    assert isinstance(head, Block)
    head.ops.insert(0, last)
