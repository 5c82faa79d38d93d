"""Functions with memory, built in the IR: a counted loop that loads, adds and stores.

    load(token, index) -> value          attr `memory` names the memory
    store(token, index, value) -> token  the token after it
    order(token, value, ...) -> token    a token for when `token` is there and the loads that gave `values` have read

A token is a value of kind VOID: a parameter, a loop parameter or a result of one of these operations, so that the
order of memory merges at an If and at a loop as every other value does.
"""

from __future__ import annotations

from pyflat.ir.build import Builder, const
from pyflat.ir.nodes import Block, Exit, Function, If, Label, Loop, Op, Param, Value, Yield
from pyflat.ir.types import INT, VOID


def load(build: Builder, before: Value, index: Value) -> tuple[Op, Op]:
    """The element, and the token after the load: what is stored later waits until it has been read."""
    value = build.append(Op("load", (before, index), INT, attrs=(("memory", "A"),)))
    return value, build.append(Op("order", (before, value), VOID))


def add_in_loop(distance: int, addend: int) -> Function:
    """for i in range(n): A[i + distance] = A[i] + addend, with one token for the memory A."""
    count, memory = Param(INT, "n"), Param(VOID, "A")
    index, held = Param(INT, "i"), Param(VOID, "A")
    label, again = Label("loop"), Label("next")
    build = Builder()
    with build.detached() as header:
        go = build.op("lt", index, count)
    with build.detached() as rest:
        element, after_load = load(build, held, index)
        total = build.op("add", element, const(addend))
        place = build.op("add", index, const(distance)) if distance else index
        after_store = build.append(Op("store", (after_load, place, total), VOID, attrs=(("memory", "A"),)))
        build.end(Yield([build.op("add", index, const(1)), after_store]))
    with build.detached() as leave:
        build.end(Exit(label, [held]))
    carried = [Param(INT, "i"), Param(VOID, "A")]
    result = Param(VOID, "A")
    loop = Loop(label, again, [index, held], [const(0), memory],
                [*header, If(go, rest, leave, carried), Block([], Yield(carried))], [result])
    return Function("add_in_loop", [count, memory], [Block(), loop, Block([], Yield([result]))], Label("return"), [VOID])
