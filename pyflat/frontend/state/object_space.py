"""Python's data model, as the evaluator asks for it: what `+`, `.name`, `[i]`, a call or a statement means here.

The modules that know one part of it (numbers, arrays, calls, loops, ...) need the others all the time: an operator may
be a method, a method is a call, a call runs statements. They ask `s.space`, and import each other only downwards. Which
functions answer is said in one place, `python_space`. The pattern is PyPy's object space.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import libcst as cst

from pyflat.frontend.state.values import (
    Abstract,
    Arguments,
    GeneratorCall,
    IterRef,
    Lazy,
    Ranges,
    Scope,
    Scratch,
    Static,
    Subscript,
)
from pyflat.ir.nodes import Value

Step = Callable[[Abstract, Callable[[], Abstract]], Abstract]
"""(accumulator, element on demand) -> accumulator."""


class ObjectSpace(Protocol):
    """Where an exception is certain it is raised on the path (`ControlLeft`); what cannot be flattened is refused."""

    def wrap(self, value: Any, /) -> Abstract:
        """A Python object from outside, guarded."""

    # --- operators
    def truth(self, value: Abstract, /) -> Static | Value:
        """bool(value), known or a lane."""

    def unary(self, opcode: str, value: Abstract, node: cst.CSTNode, /) -> Abstract:
        """`-value` (neg), `+value` (pos), `~value` (invert)."""

    def binary(self, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode, /) -> Abstract:
        """`a <op> b`."""

    def compare(self, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode, /) -> Abstract:
        """`a == b` (eq), `a < b` (lt), ..."""

    def identical(self, a: Abstract, b: Abstract, node: cst.CSTNode, /) -> Abstract:
        """`a is b`."""

    def contains(self, container: Abstract, item: Abstract, node: cst.CSTNode, /) -> Abstract:
        """`item in container`."""

    def isinstance(self, value: Abstract, classes: Any, node: cst.CSTNode, /) -> Abstract:
        """isinstance(value, classes)."""

    # --- attributes and items
    def getattr(self, owner: Abstract, name: str, node: cst.CSTNode, /) -> Abstract:
        """`owner.name`."""

    def setattr(self, owner: Abstract, name: str, value: Abstract, node: cst.CSTNode, /) -> None:
        """`owner.name = value`."""

    def getitem(self, owner: Abstract, key: Subscript, node: cst.CSTNode, /) -> Abstract:
        """`owner[key]`."""

    def setitem(self, owner: Abstract, key: Subscript, value: Abstract, node: cst.CSTNode, /) -> None:
        """`owner[key] = value`."""

    def delitem(self, owner: Abstract, key: Subscript, node: cst.CSTNode, /) -> None:
        """`del owner[key]`."""

    def scratch_item(self, owner: Scratch, key: Abstract, node: cst.CSTNode, /) -> Abstract:
        """`owner[key]` of a captured list or dict that is written."""

    # --- iteration
    def iterate(self, value: Abstract, node: cst.CSTNode | None = None, /) -> Iterator[Abstract]:
        """The items, one by one."""

    def items(self, value: Abstract, node: cst.CSTNode | None = None, /) -> list[Abstract]:
        """The items, as they are now."""

    def sequence_items(self, value: Abstract, node: cst.CSTNode | None = None, /) -> tuple[Abstract, ...] | None:
        """The items of what has a length and an order, None for anything else."""

    def dict_entries(self, value: Abstract, /) -> dict[Any, Abstract]:
        """The entries of a dict, by key."""

    def fold(self, value: Abstract, start: Abstract, step: Step, node: cst.CSTNode, /) -> Abstract:
        """The accumulator after all elements of what `is_folded`."""

    def listed(self, value: Abstract, node: cst.CSTNode, /) -> Abstract:
        """A list of the elements of what `is_folded`: it grows in a loop."""

    def repeat(self, node: cst.CSTNode, bounds: Ranges, each: Callable[[Any, Abstract], None], /) -> None:
        """A loop that stays one over a range; `each(scope, counter)` is an iteration."""

    def consume(self, source: Lazy, body: Callable[[Abstract], object], node: cst.CSTNode, /, *,
                exits: tuple[Scope, ...] = (), leaves: bool = False) -> Abstract:
        """`body` of each item of a generator; what the generator returns. `exits`: the scopes that `body` may leave to
        besides those of its frame, `leaves` whether it may leave at all."""

    def iterator(self, value: Abstract, node: cst.CSTNode, /) -> Abstract:
        """The generator that `iter(value)` gives, the value where that is none."""

    def steps(self, call: GeneratorCall, node: cst.CSTNode, /) -> IterRef:
        """What is left of a generator whose items are asked for one by one."""

    # --- calls
    def call(self, function: Abstract, arguments: Arguments, node: cst.CSTNode, /) -> Abstract:
        """`function(*arguments)`."""

    def inline(self, fn: types.FunctionType, arguments: Arguments, node: cst.CSTNode, /) -> Abstract:
        """The value of a Python function, evaluated in place."""

    # --- the source
    def evaluate(self, node: cst.BaseExpression, /) -> Abstract:
        """The value of an expression."""

    def condition(self, node: cst.BaseExpression, /) -> Static | Value:
        """The truth of a test."""

    def execute(self, suite: cst.BaseSuite, /) -> None:
        """The statements of a body, in order."""

    def assign(self, target: cst.BaseExpression, value: Abstract, statement: cst.CSTNode | None = None, /) -> None:
        """Bind `value` to a name, item, attribute or pattern of them."""
