"""Writing IR by hand: a function builder with a context manager for each control node.

    f = FunctionBuilder("relu", {"x": FLOAT}, [FLOAT])
    (x,) = f.params
    with f.branch(f.op("lt", x, const(0.0))) as arms:
        with arms.then:
            f.leave(f.label, const(0.0))
    f.give(x)
    fn = f.finish()

An arm or body that is not ended yields nothing. Code after an exit is dropped.
Source: the seed document on the Tint IR (builder, dead code).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from pyflat.ir.build import Builder
from pyflat.ir.edit.module import kind_of_call
from pyflat.ir.nodes import Block, Exit, Function, If, Item, Label, Loop, Op, Param, Region, Value, Yield
from pyflat.ir.types import PACK, Kind
from pyflat.ir.validate import validate


class Arms:
    """The two arms of an If that is being built; `results` once it is finished."""

    def __init__(self, build: FunctionBuilder):
        self._build = build
        self.lists: dict[str, list[Item]] = {"then": [Block(end=Yield())], "orelse": [Block(end=Yield())]}
        self.results: list[Param] = []

    @property
    def then(self) -> AbstractContextManager[None]:
        return self._arm("then")

    @property
    def orelse(self) -> AbstractContextManager[None]:
        return self._arm("orelse")

    @contextmanager
    def _arm(self, name: str) -> Iterator[None]:
        with self._build.inner() as items:
            yield
        self.lists[name] = items


class FunctionBuilder(Builder):
    """Builds one function: `params` in the order given, `label` to return, `finish()` for the validated result."""

    def __init__(self, name: str, params: Mapping[str, Kind], results: Sequence[Kind]):
        super().__init__(drop_dead=True)
        self.name = name
        self.params = [Param(kind, word) for word, kind in params.items()]
        self.label = Label("return")
        self.result_kinds = tuple(results)

    @contextmanager
    def inner(self) -> Iterator[list[Item]]:
        """Build a list of its own; it yields nothing unless it is ended otherwise."""
        with self.detached() as items:
            yield items
            self.end(Yield())

    @contextmanager
    def branch(self, cond: Value, results: Mapping[str, Kind] | None = None, hint: str = "") -> Iterator[Arms]:
        """An If with `results`, which both arms give unless they leave; an arm that is not written is empty."""
        arms = Arms(self)
        arms.results = _named(results)
        yield arms
        self.node(If(cond, arms.lists["then"], arms.lists["orelse"], arms.results, hint=hint))

    @contextmanager
    def region(self, name: str, results: Mapping[str, Kind] | None = None) -> Iterator[Region]:
        """A Region: `leave(region.label, ...)` or `give(...)` its results."""
        node = Region(Label(name), [], _named(results))
        with self.inner() as items:
            yield node
        node.body = items
        self.node(node)

    @contextmanager
    def loop(self, name: str, start: Mapping[str, Value], results: Mapping[str, Kind] | None = None, hint: str = ""
             ) -> Iterator[Loop]:
        """A Loop whose params `start` with those values; `give(...)` goes on with the next iteration."""
        params = [Param(value.kind, word) for word, value in start.items()]
        node = Loop(Label(name), Label(f"next_{name}"), params, list(start.values()), [], _named(results),
                    hint=hint)
        with self.inner() as items:
            yield node
        node.body = items
        self.node(node)

    def invoke(self, callee: Function, *args: Value) -> list[Value]:
        """The results of a call of another function of the module."""
        kinds = callee.result_kinds
        call = self.append(Op("invoke", args, kind_of_call(kinds), attrs=(("callee", callee.name),)))
        if call.kind is not PACK:
            return [call for _ in kinds]
        return [self.op("part", call, kind=kind, index=at) for at, kind in enumerate(kinds)]

    def leave(self, label: Label, *values: Value) -> None:
        self.end(Exit(label, values))

    def give(self, *values: Value) -> None:
        """End the list: its node (or the function) takes `values`."""
        self.end(Yield(values))

    def finish(self) -> Function:
        """The function; raises InternalError when it is not valid."""
        fn = Function(self.name, self.params, self.items, self.label, self.result_kinds)
        validate(fn)
        return fn


def _named(kinds: Mapping[str, Kind] | None) -> list[Param]:
    return [Param(kind, name) for name, kind in (kinds or {}).items()]
