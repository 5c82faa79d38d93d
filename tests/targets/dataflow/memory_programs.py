"""Functions with memory, built in the IR: a counted loop that loads, adds and stores."""

from __future__ import annotations

from pyflat.ir.build import Builder, const
from pyflat.ir.nodes import Block, Exit, Function, If, Label, Loop, Param, Yield
from pyflat.ir.types import INT, VOID
from pyflat.targets.dataflow.memory import load, store, token


def add_in_loop(distance: int, addend: int) -> Function:
    """for i in range(n): A[i + distance] = A[i] + addend, with one token for the memory A."""
    count, memory = Param(INT, "n"), token("A")
    index, held = Param(INT, "i"), token("A")
    label, again = Label("loop"), Label("next")
    build = Builder()
    with build.detached() as header:
        go = build.op("lt", index, count)
    with build.detached() as rest:
        element, after_load = load(build, "A", held, index)
        total = build.op("add", element, const(addend))
        place = build.op("add", index, const(distance)) if distance else index
        after_store = store(build, "A", after_load, place, total)
        build.end(Yield([build.op("add", index, const(1)), after_store]))
    with build.detached() as leave:
        build.end(Exit(label, [held]))
    carried = [Param(INT, "i"), Param(VOID, "A")]
    result = Param(VOID, "A")
    loop = Loop(label, again, [index, held], [const(0), memory],
                [*header, If(go, rest, leave, carried), Block([], Yield(carried))], [result])
    return Function("add_in_loop", [count, memory], [Block(), loop, Block([], Yield([result]))], Label("return"), [VOID])
