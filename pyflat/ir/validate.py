"""Checks every invariant of the IR (the numbers are those of `ir.nodes`) and shows the line that breaks one.

`validate` raises InternalError: the message is the printed function with the offending line marked, or the place
where the function is none that can be printed (11, and 1 for what stands in two places). It checks, besides the letter
of the list:

  1. lists alternate block, node, block, and no block or node stands in two places;
  2. a block before a node has no end, the last block of a list has one;
  3. exits name an enclosing label, each label has one owner, and what is carried fits: Yield the results of its
     If or Region, the parameters of its Loop, the results of the function; Exit those of its label; FAULT nothing;
  4. operands are visible where they are used; loop inits are evaluated outside of the loop;
  5. values are defined once; kinds are those of the operation table, literals are of their kind, and attrs are
     what the operation takes;
  6. conditions of Ifs are bools;
  7. the flat form is one block that ends in a Yield; the masked form has canonical loops besides, and no If but
     their tests; `canonical=True` asks for canonical loops and no other exit in the structured form;
  8. `lane_any` stands where all lanes are (`ir.divergence`);
  9. a loop counts on the parameter that it claims to count on (`ir.loops`);
 10. float literals are numbers of the format of the function (`ir.formats`);
 11. fields hold objects of the classes that they are declared to hold, which is looked at before all others; hints
     are of `ir.nodes.HINTS`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from pyflat.errors import InternalError
from pyflat.ir.divergence import divergence
from pyflat.ir.formats import FloatFormat
from pyflat.ir.loops import canonical_parts, recognise_counted
from pyflat.ir.nodes import (
    FAULT,
    HINTS,
    Block,
    Const,
    End,
    Exit,
    Fault,
    Function,
    If,
    Item,
    Label,
    Loop,
    Node,
    Op,
    Origin,
    Param,
    Region,
    Value,
    Yield,
    walk,
)
from pyflat.ir.ops import CONVERGENT, OPERATIONS
from pyflat.ir.print import format_function
from pyflat.ir.recursion import with_room
from pyflat.ir.types import BOOL, FLOAT, VOID, Kind, kind_of

_NODES = (If, Region, Loop)
_ITEMS = (Block, *_NODES)
_NONE = type(None)
_Field = tuple[type | None, tuple[type, ...]]
"""A list or a tuple, or None for a single object; and of what."""


def _one(*types: type) -> _Field:
    return None, types


def _list(*types: type) -> _Field:
    return list, types


_ANYTHING = _list(object)
_VALUE = {"kind": _one(Kind), "name": _one(str)}
_FIELDS: dict[type, dict[str, _Field]] = {
    Function: {"name": _one(str), "params": _list(Param), "body": _list(*_ITEMS), "label": _one(Label),
               "result_kinds": (tuple, (Kind,)), "form": _one(str), "floats": _one(FloatFormat)},
    Block: {"ops": _list(Op), "end": _one(Yield, Exit, _NONE)},
    If: {"cond": _one(object), "then": _list(*_ITEMS), "orelse": _list(*_ITEMS), "results": _list(Param),
         "origin": _one(Origin, _NONE), "hint": _one(str)},
    Region: {"label": _one(Label), "body": _list(*_ITEMS), "results": _list(Param)},
    Loop: {"label": _one(Label), "again": _one(Label), "params": _list(Param), "inits": _ANYTHING,
           "body": _list(*_ITEMS), "results": _list(Param), "counted": _one(Param, _NONE),
           "hint": _one(str)},
    Op: {**_VALUE, "opcode": _one(str), "args": (tuple, (object,)), "attrs": (tuple, (tuple,)),
         "origin": _one(Origin, _NONE), "statement": _one(Origin, _NONE)},
    Param: _VALUE,
    Const: {**_VALUE, "value": _one(bool, int, float, _NONE)},
    Label: {"name": _one(str)},
    Yield: {"values": _ANYTHING},
    Exit: {"values": _ANYTHING, "label": _one(Label), "fault": _one(Fault, _NONE)},
    Fault: {"type": _one(str), "message": _one(str)},
}


def misfit(fn: object) -> tuple[int, str] | None:
    """The first place of a function that holds something else than it should, as a broken invariant and its message.
    Operands are any object, `validate` says more about them, but literals have a kind."""
    if not isinstance(fn, Function):
        return 11, f"expected Function, found {type(fn).__name__}"
    return _misfit(fn, None, set())


_Place = tuple[Any, str | int]
"""A field of what has a place, or an item of a field; None is the function. Spelled in messages only."""


def _spelled(place: _Place | None) -> str:
    if place is None:
        return ""
    inside, part = _spelled(place[0]), place[1]
    return f"{inside}[{part}]" if isinstance(part, int) else f"{inside}.{part}".lstrip(".")


def _misfit(what: Any, path: _Place | None, placed: set[Item]) -> tuple[int, str] | None:
    if isinstance(what, _ITEMS):
        if what in placed:
            return 1, f"it is in two places: {_spelled(path)}"
        placed.add(what)
    for name, (many, types) in _FIELDS[type(what)].items():
        held, place = getattr(what, name), (path, name)
        if many is not None and not isinstance(held, many):
            return 11, _unexpected(place, held, many.__name__)
        for at, each in enumerate(held if many is not None else (held,)):
            found = _misplaced(each, types, place if many is None else (place, at), placed)
            if found is not None:
                return found
    return None


def _misplaced(held: Any, types: tuple[type, ...], place: _Place, placed: set[Item]) -> tuple[int, str] | None:
    if not isinstance(held, types):
        return 11, _unexpected(place, held, " or ".join(t.__name__ for t in types if t is not _NONE))
    if types == (tuple,):  # an attribute
        match held:
            case (str(), value):
                return _misfit(value, place, placed) if isinstance(value, Fault) else None
        return 11, _unexpected(place, held, "a name and a value")
    if type(held) in _FIELDS and (types != (object,) or isinstance(held, Const)):
        return _misfit(held, place, placed)
    return None


def _unexpected(place: _Place, held: Any, expected: str) -> str:
    """Says the class only: what stands in the wrong place may hold itself, and have no `repr`."""
    return f"{_spelled(place)}: expected {expected}, found {type(held).__name__}"


FORMS = ("structured", "flat", "masked")
_ATTRS = {"gather": ("table",), "fault": ("fault",), "part": ("index",), "ufunc": ("loop", "part", "ufunc"),
          "call": ("args", "barrier", "effect", "guarded", "name"), "load": ("array", "dtype"),
          "store": ("array", "dtype"), "alloc": ("array", "dtype"),
          "routine": ("array", "dtype", "operands", "routine"), "rounded": ("dtype",),
          "narrow": ("function",), "invoke": ("callee",), "has_dtype": ("dtype",), "fitted": ("dtype",)}


@with_room
def validate(fn: Function, *, canonical: bool = False, uniform: Collection[Param] = ()) -> None:
    """Raise InternalError, with the IR and the offending line, unless `fn` keeps every invariant; with `canonical`
    also unless it is as `lower_exits` leaves it. `uniform` are the parameters that are the same in every lane."""
    found = misfit(fn)
    if found is not None:
        raise InternalError(f"invalid IR: invariant {found[0]}: {found[1]}")
    checker = _Checker(fn)
    checker.check()
    checker.check_convergence(uniform)
    if canonical or fn.form == "masked":
        checker.check_canonical()


def broken(fn: Function, where: object, number: int, message: str) -> InternalError:
    """The error for invariant `number` broken at `where` (an operation, end, block, node, or `fn` itself)."""
    note = f"invariant {number}: {message}"
    return InternalError(f"invalid IR in {fn.name}: {note}\n{format_function(fn, {where: note})}")


class _Checker:
    def __init__(self, fn: Function):
        self.fn = fn
        self.visible: set[Value] = set()
        self.defined: set[Value] = set()
        self.owned: set[Label] = {FAULT}
        self.open: dict[Label, tuple[Kind, ...]] = {FAULT: ()}

    def error(self, where: object, number: int, message: str) -> InternalError:
        return broken(self.fn, where, number, message)

    def check(self) -> None:
        fn = self.fn
        if fn.form not in FORMS:
            raise self.error(fn, 7, f"there is no form {fn.form!r}")
        if fn.form == "flat" and (len(fn.body) != 1 or not isinstance(fn.body[0], Block)):
            raise self.error(fn, 7, "the flat form is one block")
        if fn.form == "flat" and not isinstance(fn.flat_block.end, Yield):
            raise self.error(fn.flat_block, 7, "the flat form ends in a yield")
        self.own(fn.label, fn, fn.result_kinds)
        self.define(fn.params, fn)
        self.check_list(fn.body, fn.result_kinds, fn)

    def check_canonical(self) -> None:
        """After the other checks: exits are those of canonical loops; in the masked form Ifs are their tests."""
        tests: set[Item] = set()
        for item in walk(self.fn.body):
            if isinstance(item, Region):
                raise self.error(item, 7, "there is a region")
            if isinstance(item, Loop):
                parts = canonical_parts(item)
                if parts is None:
                    raise self.error(item, 7, "the loop is not canonical")
                tests.add(item.body[-2])
        exits = {test.orelse[0] for test in tests if isinstance(test, If)}
        for item in walk(self.fn.body):
            if isinstance(item, If) and self.fn.form == "masked" and item not in tests:
                raise self.error(item, 7, "the masked form has no if but the tests of loops")
            if isinstance(item, Block) and isinstance(item.end, Exit) and item not in exits:
                raise self.error(item.end, 7, "an exit that is not the one of its loop")

    def check_convergence(self, uniform: Collection[Param]) -> None:
        blocks = [item for item in walk(self.fn.body) if isinstance(item, Block)]
        together = [(op, block) for block in blocks for op in block.ops if op.opcode in CONVERGENT]
        divergent = divergence(self.fn, uniform).divergent if together else ()
        for op, block in together:
            if block in divergent:
                raise self.error(op, 8, f"{op.opcode} under a varying predicate: some lanes are not here")

    def own(self, label: Label, owner: object, takes: tuple[Kind, ...]) -> None:
        if label in self.owned:
            raise self.error(owner, 3, f"the label {label.name} has two owners")
        self.owned.add(label)
        self.open[label] = takes

    def define(self, values: Sequence[Value], where: object) -> None:
        for value in values:
            if value in self.defined:
                raise self.error(where, 5, f"the value {value!r} is defined twice")
            if isinstance(value, Param) and value.kind is VOID:
                raise self.error(where, 5, f"{value!r} holds nothing")
            self.defined.add(value)
            self.visible.add(value)

    def check_list(self, items: list[Item], takes: tuple[Kind, ...], owner: object) -> None:
        """A list whose Yield carries `takes`. What it defines is invisible afterwards."""
        local: list[Value] = []
        if len(items) % 2 == 0:
            raise self.error(owner, 1, "a list starts and ends with a block")
        for i, item in enumerate(items):
            if isinstance(item, Block) != (i % 2 == 0):
                raise self.error(item, 1, "blocks and nodes must alternate")
            if isinstance(item, Block):
                self.check_block(item, takes, last=i == len(items) - 1)
                local += item.ops
            else:
                self.check_node(item)
                local += item.results
        self.visible.difference_update(local)

    def check_block(self, block: Block, takes: tuple[Kind, ...], *, last: bool) -> None:
        for op in block.ops:
            self.check_op(op)
        if block.end is not None and not last:
            raise self.error(block.end, 2, "a block before a node has no end")
        if block.end is None and last:
            raise self.error(block, 2, "the last block of a list needs an end")
        if block.end is not None:
            self.check_end(block.end, takes)

    def check_end(self, end: End, takes: tuple[Kind, ...]) -> None:
        if isinstance(end, Exit):
            if end.label not in self.open:
                raise self.error(end, 3, f"no enclosing node has the label {end.label.name}")
            if end.fault is not None and end.label is not FAULT:
                raise self.error(end, 3, "only an exit to fault names an exception")
            takes = self.open[end.label]
        self.check_carried(end.values, takes, end)

    def check_carried(self, values: Sequence[Value], takes: tuple[Kind, ...], where: object) -> None:
        for value in values:
            self.check_use(value, where)
        kinds = tuple(v.kind for v in values)
        if kinds != takes:
            raise self.error(where, 3, f"it carries ({_names(kinds)}) where ({_names(takes)}) is taken")

    def check_use(self, value: Value, where: object) -> None:
        if not isinstance(value, Value):  # a pass or a user has put something else there
            raise self.error(where, 4, f"the operand {value!r:.60} is not a value of the IR")
        if not isinstance(value, Const):
            if value not in self.visible:
                raise self.error(where, 4, f"the operand {value!r} is not defined here")
        elif value.kind is VOID or (value.value is not None and kind_of(value.value) is not value.kind):
            raise self.error(where, 5, f"the literal {value!r} is not of its kind")
        elif value.kind is FLOAT and value.value is not None and not self.fn.floats.holds(value.value):
            raise self.error(where, 10, f"the literal {value!r} does not fit {self.fn.floats.name}")

    def check_op(self, op: Op) -> None:
        for arg in op.args:
            self.check_use(arg, op)
        row = OPERATIONS.get(op.opcode)
        if row is None:
            raise self.error(op, 5, f"there is no operation {op.opcode}")
        kinds = tuple(a.kind for a in op.args)
        if (kinds, op.kind) not in row.signatures and op.opcode not in ("call", "routine", "invoke"):
            raise self.error(op, 5, f"{op.opcode} does not take ({_names(kinds)}) and give {op.kind}")
        self.check_attrs(op)
        self.define([op], op)

    def check_attrs(self, op: Op) -> None:
        names = tuple(name for name, _ in op.attrs)
        if names != _ATTRS.get(op.opcode, ()):
            raise self.error(op, 5, f"{op.opcode} does not take the attrs ({', '.join(names)})")
        if op.opcode == "gather" and not _is_table(op.attr("table"), op.kind):
            raise self.error(op, 5, f"the table is not a tuple of {op.kind} with at least one item")
        if op.opcode == "gather" and op.kind is FLOAT and not all(map(self.fn.floats.holds, op.attr("table"))):
            raise self.error(op, 10, f"the table is not of {self.fn.floats.name}")
        if op.opcode == "call" and op.attr("guarded") and (not op.args or op.args[0].kind is not BOOL):
            raise self.error(op, 5, "a guarded call has a bool before its operands")
        if op.opcode == "fault" and not isinstance(op.attr("fault"), Fault):
            raise self.error(op, 5, "the attr of fault is a Fault")

    def check_node(self, node: Node) -> None:
        kinds = tuple(p.kind for p in node.results)
        if not isinstance(node, Region) and node.hint not in HINTS[type(node)]:
            raise self.error(node, 11, f"no hint of this node is {node.hint!r}")
        match node:
            case If():
                self.check_use(node.cond, node)
                if node.cond.kind is not BOOL:
                    raise self.error(node, 6, f"the condition is {node.cond.kind}")
                self.check_list(node.then, kinds, node)
                self.check_list(node.orelse, kinds, node)
            case Region():
                self.own(node.label, node, kinds)
                self.check_list(node.body, kinds, node)
                del self.open[node.label]
            case Loop():
                self.check_loop(node, kinds)
        self.define(node.results, node)

    def check_loop(self, loop: Loop, kinds: tuple[Kind, ...]) -> None:
        carried = tuple(p.kind for p in loop.params)
        self.check_carried(loop.inits, carried, loop)
        self.own(loop.label, loop, kinds)
        self.own(loop.again, loop, carried)
        self.define(loop.params, loop)
        self.check_list(loop.body, carried, loop)
        self.visible.difference_update(loop.params)
        del self.open[loop.label], self.open[loop.again]
        found = recognise_counted(loop) if loop.counted is not None else None
        if loop.counted is not None and (found is None or found.iv is not loop.counted):
            raise self.error(loop, 9, f"the loop does not count on {loop.counted!r}")


def _names(kinds: Sequence[Kind]) -> str:
    return ", ".join(map(str, kinds))


def _is_table(table: Any, kind: Kind) -> bool:
    return isinstance(table, tuple) and len(table) > 0 and all(kind_of(item) is kind for item in table)
