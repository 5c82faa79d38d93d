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
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyflat.errors import InternalError
from pyflat.ir.edit.copying import Copier, copy_function
from pyflat.ir.edit.editor import after_op, before_op, editing
from pyflat.ir.loops import all_ops, replace_uses
from pyflat.ir.nodes import Function, Op, Param, Region, Value
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
                raise broken(fn, op, 12, f"it is no part of what {pack.attr('callee')} gives")


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
