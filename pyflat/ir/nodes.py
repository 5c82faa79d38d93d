"""The IR: SSA values, blocks of operations, and three control nodes.

A *control-flow list* is a Python list that alternates block, node, block, ... and starts and ends with a
Block. Nodes are If, Loop and Region; nothing else transfers control.

    If(cond, then, orelse, results)        both arms always exist
    Region(label, body, results)           runs once; `exit label` leaves it early
    Loop(label, again, params, inits,      infinite: `yield` at the end of the body (or `exit again`)
         body, results)                    starts the next iteration, `exit label` leaves the loop

Control leaves a list only at the end of a block: `Yield(values)` falls off the end of the list,
`Exit(label, values)` leaves the node that owns the label. What merges is explicit: one operand list for
each way in, in the order of the node's `results` (for `again` and the body's Yield: of its `params`).

Invariants (all checked by `ir.validate`, the last one where the module is known):
  1. a control-flow list alternates block, node, block and starts and ends with a block;
  2. only the last block of a list has an `end`, except that a block before a node never has one;
     the last block always has one;
  3. an Exit names an enclosing label (of a Region, a Loop, or the function) or FAULT, with as many values,
     of the same kinds, as the label takes; a Yield has the operands its node takes;
  4. every operand is defined before its use, in the same list or in an enclosing one: what is defined inside
     a node is visible outside only through the node's results;
  5. every value is defined once, and its kind is the one that the operation table gives;
  6. the condition of an If is a bool;
  7. in the flat form there is one block, no node, and no primitive that faults: faults are `fault` operations;
     in the masked form there are loops besides, all canonical (`ir.loops`), and no node but them and their tests;
  8. what lanes do together (`lane_any`) stands under no varying predicate (`ir.divergence`);
  9. a Loop that claims to count does, on that parameter (`ir.loops`);
 10. every float literal is a number of the function's format (`ir.formats`);
 11. every field holds what it is declared to hold: labels are Labels, results are Params (`ir.validate`);
 12. a call of a function of the module fits it, and none calls itself (`ir.edit.module`).

Strict and total. In the structured form an operation that cannot give Python's value raises (it is *strict*).
In the flat and masked forms operations are *total*: they give some value and never trap, and a `fault` operation
says for which lanes that value means nothing; such a lane leaves its loops, whatever their conditions say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pyflat.errors import Span
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.types import BOOL, INT, Kind

Scalar = bool | int | float


class Value:
    """Something an operand can refer to. `name` is the user's variable, "" for a temporary."""

    __slots__ = ("kind", "name")
    args: tuple[Value, ...] = ()

    def __init__(self, kind: Kind, name: str = ""):
        self.kind = kind
        self.name = name


class Const(Value):
    """A literal. `value is None` means *undefined*: no lane that reaches a use of it is live."""

    __slots__ = ("value",)

    def __init__(self, kind: Kind, value: Scalar | None):
        super().__init__(kind)
        self.value = value

    @property
    def key(self) -> tuple[Kind, object]:
        """Equal exactly for the same kind and bits: 0.0 is not -0.0, nan is nan."""
        value = self.value
        return self.kind, value if value and value == value else repr(value)

    def __repr__(self) -> str:
        return f"Const({self.kind}, {self.value!r})"


def number(value: Value) -> Any:
    """The number that a literal is, None of everything else."""
    return value.value if isinstance(value, Const) else None


def same_value(a: Value, b: Value) -> bool:
    """One value, or literals with the same bits."""
    return a is b or (isinstance(a, Const) and isinstance(b, Const) and a.key == b.key)


def power_of_two(value: Value) -> int:
    """An int literal that is a power of two, 0 for everything else: shifts and masks are many times faster."""
    known = number(value) if value.kind is INT else None
    return known if known is not None and known > 0 and known & (known - 1) == 0 else 0


class Param(Value):
    """A function parameter, a loop parameter, or a result of a node (a block argument)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Param({self.kind}, {self.name!r})"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an operation comes from: its place, and (for the text printer) the captured tree.

    `node` is the LibCST expression that the operation is the value of; `statement` the LibCST small statement
    whose assignment stored it, when there is one; `frame` names the inlined frame (0 is the function itself).
    """

    span: Span | None = None
    node: Any = None
    frame: int = 0


class Op(Value):
    """One operation of the table in `ir.ops`; `attrs` are constants that are part of the operation."""

    __slots__ = ("opcode", "args", "attrs", "origin", "statement")

    def __init__(
        self,
        opcode: str,
        args: Sequence[Value],
        kind: Kind,
        *,
        name: str = "",
        attrs: tuple[tuple[str, Any], ...] = (),
        origin: Origin | None = None,
    ):
        self.kind = kind  # not by way of Value: operations are made several times for each line that runs
        self.name = name
        self.opcode = opcode
        self.args = tuple(args)
        self.attrs = attrs
        self.origin = origin
        self.statement: Origin | None = None
        """The user's assignment statement that stored this value, for the text printer."""

    @property
    def span(self) -> Span | None:
        return self.origin.span if self.origin else None

    def attr(self, name: str) -> Any:
        for key, value in self.attrs:
            if key == name:
                return value
        raise KeyError(name)

    def __repr__(self) -> str:
        return f"Op({self.opcode}, {self.kind}, {self.name!r})"


class Label:
    """The target of exits; owned by one Region, Loop or Function."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"Label({self.name!r})"


FAULT = Label("fault")
"""The label of raise: leaves the function; the lane is a fault."""


class End:
    """How a control-flow list is left: base of Yield and Exit. `values` is filled in when ways are merged."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[Value] = ()):
        self.values: list[Value] = list(values)


class Yield(End):
    """Falls off the end of the list."""

    __slots__ = ()


class Exit(End):
    """Leaves the node that owns `label`. For FAULT, `fault` says what Python would have raised."""

    __slots__ = ("label", "fault")

    def __init__(self, label: Label, values: Sequence[Value] = (), fault: Fault | None = None):
        super().__init__(values)
        self.label = label
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Fault:
    """What Python raises at a place: exception type name, and the place. Replay gives the exact message."""

    type: str
    message: str = ""
    span: Span | None = field(default=None, compare=False)


TRIP_LIMIT = Fault("TripLimitError", "a loop did not end within max_trips iterations")
"""What a lane meets that is still in a loop when the loop has run as often as it may."""


class Block:
    """Operations in order; `end` only on the last block of a control-flow list."""

    __slots__ = ("ops", "end")

    def __init__(self, ops: Sequence[Op] = (), end: End | None = None):
        self.ops: list[Op] = list(ops)
        self.end = end


class If:
    """`origin` is the test in the source, for reports; one without a span says that the source has no test here.
    `hint` is one of `HINTS`."""

    __slots__ = ("cond", "then", "orelse", "results", "origin", "hint")

    def __init__(self, cond: Value, then: list[Item], orelse: list[Item], results: Sequence[Param] = (),
                 origin: Origin | None = None, hint: str = ""):
        self.hint = hint
        self.cond = cond
        self.then = then
        self.orelse = orelse
        self.results: list[Param] = list(results)
        self.origin = origin


class Region:
    __slots__ = ("label", "body", "results")

    def __init__(self, label: Label, body: list[Item], results: Sequence[Param] = ()):
        self.label = label
        self.body = body
        self.results: list[Param] = list(results)


class Loop:
    """`counted` claims that the loop counts on one of its parameters, `for counted in range(...)`: see `ir.loops`.
    `hint` is one of `HINTS`."""

    __slots__ = ("label", "again", "params", "inits", "body", "results", "counted", "hint")

    def __init__(
        self,
        label: Label,
        again: Label,
        params: Sequence[Param],
        inits: Sequence[Value],
        body: list[Item],
        results: Sequence[Param] = (),
        counted: Param | None = None,
        hint: str = "",
    ):
        self.hint = hint
        self.counted = counted
        self.label = label
        self.again = again
        self.params: list[Param] = list(params)
        self.inits: list[Value] = list(inits)
        self.body = body
        self.results: list[Param] = list(results)


HINTS: dict[type, tuple[str, ...]] = {If: ("", "flatten", "branch"), Loop: ("", "unroll", "loop")}
"""What the author of a node asks for: that it goes, that it stays, or nothing. `passes.follow_hints` reads them."""

Node = If | Region | Loop
Item = Block | If | Region | Loop
_Plan = TypeVar("_Plan")


class Function:
    """A function: `params`, a body, and the kinds of its results. `form` is "structured", "flat" or "masked"; `floats`
    is the format of everything of the kind FLOAT.

    The body's Yield and every `exit` to `label` carry the results.
    """

    __slots__ = ("name", "params", "body", "label", "result_kinds", "form", "floats")

    def __init__(
        self,
        name: str,
        params: Sequence[Param],
        body: list[Item],
        label: Label,
        result_kinds: Sequence[Kind],
        form: str = "structured",
        floats: FloatFormat = F8,
    ):
        self.name = name
        self.params: list[Param] = list(params)
        self.body = body
        self.label = label
        self.result_kinds: tuple[Kind, ...] = tuple(result_kinds)
        self.form = form
        self.floats = floats

    @property
    def total(self) -> bool:
        """Operations return some value in every lane, and `fault` operations mark where it is invalid."""
        return self.form != "structured"

    @property
    def flat_block(self) -> Block:
        """The one block of the flat form; its Yield has the results."""
        (block,) = self.body
        assert isinstance(block, Block)
        return block


def child_lists(node: Node) -> tuple[list[Item], ...]:
    """The control-flow lists inside a node."""
    match node:
        case If():
            return node.then, node.orelse
        case Region() | Loop():
            return (node.body,)


def walk(items: Sequence[Item]) -> Iterator[Item]:
    """Every block and node of a list, depth first, a node before what it contains."""
    open_lists = [iter(items)]
    while open_lists:
        item = next(open_lists[-1], None)
        if item is None:
            open_lists.pop()
            continue
        yield item
        if not isinstance(item, Block):
            open_lists += map(iter, reversed(child_lists(item)))


def innermost(items: Sequence[Item], plan: Callable[[Loop, int], _Plan | None]) -> dict[Loop, _Plan]:
    """The loops that have a plan, looked at from the inside out: a loop around one has none. `plan` gets a loop, and
    how many there are before."""
    found: dict[Loop, _Plan] = {}

    def search(items: Sequence[Item]) -> bool:
        some = False
        for item in items:
            if isinstance(item, Block):
                continue
            inner = sum(map(search, child_lists(item))) > 0
            made = plan(item, len(found)) if isinstance(item, Loop) and not inner else None
            if made is not None:
                assert isinstance(item, Loop)
                found[item] = made
            some |= inner or made is not None
        return some

    search(items)
    return found


def raises(items: Sequence[Item]) -> bool:
    """Whether a `raise` is among them, which leaves what was stored before it."""
    return any(exits_to(FAULT, items))


def exits_to(label: Label, items: Sequence[Item]) -> Iterator[Exit]:
    """The ends among them that go there."""
    return (item.end for item in walk(items)
            if isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label is label)


def count_ops(fn: Function) -> int:
    return sum(len(item.ops) for item in walk(fn.body) if isinstance(item, Block))


TRUE = Const(BOOL, True)
FALSE = Const(BOOL, False)
