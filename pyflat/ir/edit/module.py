"""Modules: functions that call each other, and entry points. `inlined` makes an entry point a function of its own.

    entry @norm

    func @square(%x: f8) -> (f8) structured @return {
      %y = mul %x, %x : f8
      yield %y
    }

    func @norm(%a: f8, %b: f8) -> (f8) structured @return {
      %p = invoke %a {callee = "square"} : f8
      ...

A call gives what its callee does: nothing, a number, or a pack of several whose parts are taken out (`part`). No
function calls itself, not by way of others either.

Writing IR by hand: a function builder with a context manager for each control node.

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

from pyflat.errors import InternalError
from pyflat.ir.build import Builder
from pyflat.ir.edit.copying import Copier, copy_function
from pyflat.ir.edit.editor import after_op, before_op, editing
from pyflat.ir.loops import all_ops, replace_uses
from pyflat.ir.nodes import Block, Exit, Function, If, Item, Label, Loop, Op, Param, Region, Value, Yield
from pyflat.ir.parse import ParseError, parse_function
from pyflat.ir.print import format_function
from pyflat.ir.types import PACK, VOID, Kind
from pyflat.ir.validate import broken, validate


class Module:
    """Functions by name, in order; `entries` are the names of those that are called from outside."""

    def __init__(self, functions: Sequence[Function] = (), entries: Sequence[str] = ()):
        self.functions: dict[str, Function] = {}
        self.entries = tuple(entries)
        for fn in functions:
            self.add(fn)

    def add(self, fn: Function) -> None:
        """Raises ValueError when there is a function of that name."""
        if fn.name in self.functions:
            raise ValueError(f"there are two functions {fn.name}")
        self.functions[fn.name] = fn


def format_module(module: Module) -> str:
    """The entry points, and the texts of all functions, with an empty line between them."""
    entries = ", ".join(f"@{name}" for name in module.entries)
    return "\n".join([f"entry {entries}\n"] * bool(entries) + list(map(format_function, module.functions.values())))


def parse_module(text: str) -> Module:
    """What `format_module` printed. Raises ParseError with the line in the function's own text."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("func ")]
    ends = [*starts[1:], len(lines)]
    head = " ".join(line.partition(";")[0] for line in lines[: (*starts, len(lines))[0]]).strip()
    names = [name.strip() for name in head.removeprefix("entry ").split(",")] if head else []
    if not all(name.startswith("@") for name in names):
        raise ParseError(f"expected entry points or a function, found {head!r:.60}")
    functions = [parse_function("\n".join(lines[a:b])) for a, b in zip(starts, ends, strict=True)]
    return Module(functions, [name[1:] for name in names])


def validate_module(module: Module) -> None:
    """Raise InternalError unless every function is valid, calls fit their callees, none calls itself, and the entry
    points are there."""
    for name in module.entries:
        if name not in module.functions:
            raise InternalError(f"there is no function {name} for an entry point")
    for fn in module.functions.values():
        validate(fn)
        for op in all_ops(fn.body):
            if op.opcode == "invoke":
                _check_call(module, fn, op)
            _check_part(module, fn, op)
    done: set[str] = set()
    for fn in module.functions.values():
        _check_depth(module, fn, (), done)


def inlined(module: Module, name: str) -> Function:
    """The function of that name without calls, which every pass and target takes; the module stays as it is. Raises
    InternalError for a module that is not valid."""
    validate_module(module)
    fn = _inlined(module, module.functions[name], {})
    validate(fn)
    return fn


def _calls(fn: Function) -> Iterator[Op]:
    return (op for op in all_ops(fn.body) if op.opcode == "invoke")


def _check_call(module: Module, fn: Function, op: Op) -> None:
    name = op.attr("callee")
    callee = module.functions.get(name) if isinstance(name, str) else None
    if callee is None:
        raise broken(fn, op, 12, f"there is no function {name!r:.60}")
    if callee.total or fn.total or callee.floats is not fn.floats:
        raise broken(fn, op, 12, "functions that call each other are structured, of one format of floats")
    takes, gives = [param.kind for param in callee.params], callee.result_kinds
    if [arg.kind for arg in op.args] != takes:
        raise broken(fn, op, 12, f"{name} takes ({', '.join(map(str, takes))})")
    if op.kind is not kind_of_call(gives):
        raise broken(fn, op, 12, f"{name} gives ({', '.join(map(str, gives))})")


def _check_part(module: Module, fn: Function, op: Op) -> None:
    """Several results become parts of their own kinds, and nothing else."""
    for pack in op.args:
        if isinstance(pack, Op) and pack.opcode == "invoke" and pack.kind is PACK:
            gives = module.functions[pack.attr("callee")].result_kinds
            index = op.attr("index") if op.opcode == "part" else None
            if not isinstance(index, int) or not 0 <= index < len(gives) or op.kind is not gives[index]:
                raise broken(fn, op, 12, f"it is not one of the results of {pack.attr('callee')}")


def kind_of_call(gives: Sequence[Kind]) -> Kind:
    """The kind of a call of a function with these results."""
    return PACK if len(gives) > 1 else gives[0] if gives else VOID


def _check_depth(module: Module, fn: Function, around: tuple[str, ...], done: set[str]) -> None:
    if fn.name in around:
        raise InternalError(f"a function calls itself: {' calls '.join((*around[around.index(fn.name):], fn.name))}")
    if fn.name not in done:
        for callee in dict.fromkeys(op.attr("callee") for op in _calls(fn)):
            _check_depth(module, module.functions[callee], (*around, fn.name), done)
    done.add(fn.name)


def _inlined(module: Module, fn: Function, known: dict[str, Function]) -> Function:
    if fn.name not in known:
        made = copy_function(fn)
        ops = list(all_ops(made.body))
        results: dict[Value, list[Param]] = {}
        with editing(made) as edit:
            for op in ops:
                if op.opcode == "invoke":
                    body = _body(op, _inlined(module, module.functions[op.attr("callee")], known))
                    edit.insert(before_op(op), body)
                    results[op] = body.results
            new: dict[Value, Value] = {call: found[0] for call, found in results.items() if len(found) == 1}
            new.update((op, results[op.args[0]][op.attr("index")]) for op in ops
                       if op.opcode == "part" and op.args[0] in results)
            replace_uses(made.body, new)
            gone = [op for op in ops if op in new or op in results]
            edit.delete(*[edit.extract(before_op(op), after_op(op)) for op in gone])
        known[fn.name] = made
    return known[fn.name]


def _body(call: Op, callee: Function) -> Region:
    """The body of the callee, to stand in the place of the call."""
    copier = Copier(dict(zip(callee.params, call.args, strict=True)))
    label = copier.label(callee.label)
    return Region(label, copier.items(callee.body), [Param(kind, call.name) for kind in callee.result_kinds])


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
