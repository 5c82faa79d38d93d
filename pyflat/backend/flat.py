"""A flattened function as a backend sees it: a list of nodes, each after its inputs.

    for node in flat.nodes:
        print(node.index, node.opcode, [n.index for n in node.inputs], node.attrs, node.kind, node.name, node.span)

Every node is a `param`, a `const` or one operation of the table in docs/how-to/backend.md. There is no call but those
of the whitelist, no branch and no loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pyflat.errors import FlattenError, InternalError, Span
from pyflat.ir.interp import LaneResult, run
from pyflat.ir.nodes import Const, Function, Op, Value
from pyflat.ir.opaque_calls import Call, OpaqueCalls, flat_values
from pyflat.ir.print import format_function
from pyflat.ir.shape import Fixed, Labels, Leaf, Maybe, Ragged, Record, Shape, Texts, rebuild
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.ir.uses import results_of
from pyflat.ir.validate import validate

FREE = frozenset({"param", "const", "part"})
"""Opcodes that compute nothing."""
_ZERO = {BOOL: False, INT: 0, FLOAT: 0.0}


@dataclass(eq=False, slots=True)
class Node:
    """One node. Nodes compare by identity.

    index    its place in `flat.nodes`
    opcode   "param", "const", or an operation
    inputs   the nodes it reads, in the order of the operands
    attrs    constants that belong to it: "value" of a const, "argument" and "path" of a param, "index" of a part,
             "table" of a gather, "fault" of a fault, "name", "args", "barrier", "effect" and "guarded" of a call
    kind     "f8", "i8" or "b"; "pack": several numbers; "none": no value (an effect)
    name     the user's variable that it is stored in, "" for a temporary
    span     where it comes from, None where nothing in the source stands for it
    """

    index: int
    opcode: str
    inputs: tuple[Node, ...]
    attrs: Mapping[str, Any]
    kind: str
    name: str
    span: Span | None

    def __repr__(self) -> str:
        inputs = ", ".join(f"%{node.index}" for node in self.inputs)
        attrs = "".join(f" {key}={value!r}" for key, value in self.attrs.items())
        return f"<%{self.index}: {self.kind} = {self.opcode}({inputs}){attrs}{f' {self.name!r}' if self.name else ''}>"


@dataclass(frozen=True)
class FlatFunction:
    """The result of `flatten_function`. Every step takes one and returns a new one; none changes its argument.

    ok, error     False and the FlattenError if flattening failed with `raises=False`; the rest is then empty
    name          the name of the function
    nodes         the walk: params first, then each constant before its first use and operations in order
    params        the nodes of the parameters: one for each number, in signature order, records depth first
    results       the nodes of the results, likewise
    result        how the results make up the Python value: `pyflat.ir.shape.Shape`. Objects are codes (`Labels`), the
                  path of the bool that says where a result is None ends in "is_none" (`Maybe`)
    whitelist     the entries of the opaque calls, by name
    ir            the same function in pyflat's IR
    steps         the steps applied so far
    options       the other arguments of `flatten_function`
    """

    name: str
    error: FlattenError | None = None
    function: Function | None = field(default=None, repr=False)
    result: Shape = field(default_factory=lambda: Fixed(None), repr=False)
    arguments: Mapping[str, Shape] = field(default_factory=dict, repr=False)
    calls: OpaqueCalls = field(default_factory=OpaqueCalls, repr=False)
    source: str = field(default="", repr=False)
    original: Callable[..., Any] | None = field(default=None, repr=False)
    steps: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def ir(self) -> Function:
        if self.function is None:
            raise self.error or InternalError("a flat function without IR")
        return self.function

    @property
    def whitelist(self) -> Mapping[str, Call]:
        return self.calls.entries

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        return self._walked[0]

    @cached_property
    def params(self) -> tuple[Node, ...]:
        return self.nodes[: len(self.ir.params)]

    @cached_property
    def results(self) -> tuple[Node, ...]:
        return self._walked[1]

    @cached_property
    def result_names(self) -> tuple[str, ...]:
        """"" for a single number, else the paths in the record: "r", "[0]", "light.colour.x"; "suspect" for the
        mask of faults."""
        names = tuple(_paths(self.result, ""))
        return (*names, *("suspect",) * (len(self.ir.result_kinds) - len(names)))

    @property
    def effects(self) -> tuple[Node, ...]:
        """Calls with an effect and faults, in order."""
        return tuple(n for n in self.nodes if n.opcode == "fault" or n.opcode == "call" and n.attrs["effect"])

    @cached_property
    def _walked(self) -> tuple[tuple[Node, ...], tuple[Node, ...], dict[Value, Node]]:
        walk = _Walk(self.ir, tuple(_parameters(self.arguments)))
        return tuple(walk.nodes), walk.results, walk.of

    @property
    def _node_of(self) -> dict[Value, Node]:
        return self._walked[2]

    def counts(self) -> dict[str, int]:
        """Count operations by opcode, most frequent first, without those that compute nothing (`is_free`)."""
        counter = Counter(node.opcode for node in self.nodes if not self.is_free(node))
        return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))

    @property
    def size(self) -> int:
        """The number of operations: the sum of `counts()`."""
        return sum(self.counts().values())

    def is_free(self, node: Node) -> bool:
        """Whether a node computes nothing: param, constant, part of a vector, vector of constants or a whole record."""
        if node.opcode in FREE:
            return True
        if node.opcode != "pack":
            return False
        return node.inputs in self._whole or all(n.opcode == "const" for n in node.inputs)

    @cached_property
    def _whole(self) -> frozenset[tuple[Node, ...]]:
        return frozenset(tuple(map(self._node_of.__getitem__, vector)) for vector in self.vectors())

    def vectors(self) -> list[tuple[Value, ...]]:
        """The existing vectors, as their numbers in order: parameters that are records of floats, and results of
        opaque calls."""
        found: list[tuple[Value, ...]] = []
        params = iter(self.ir.params)
        for shape in self.arguments.values():
            _collect_vectors(shape, params, found)
        parts: dict[Value, dict[int, Value]] = {}
        for op in self.ir.flat_block.ops:
            if op.opcode == "part" and op.kind is FLOAT:
                parts.setdefault(op.args[0], {})[op.attr("index")] = op
        for whole, lanes in parts.items():
            if isinstance(whole, Op) and whole.opcode == "call" and len(lanes) == self.calls.width(whole.attr("name")):
                found.append(tuple(lanes[k] for k in sorted(lanes)))
        return found

    def run(self, *args: Any) -> Any:
        """Run one element in the interpreter, on Python values, like the original."""
        found = self.run_leaves([leaf for arg in args for leaf in flat_values(arg)]).values
        return rebuild(self.result, iter(found))

    def run_leaves(self, lane: Sequence[Any]) -> LaneResult:
        """Run one element on a number for each param. Returns the results, and whether a `fault` node is true."""
        numbers = [_as_kind(value, param.kind) for value, param in zip(lane, self.ir.params, strict=True)]
        return run(self.ir, numbers, calls=self.calls)

    def call_meaning(self, node: Node) -> Callable[..., Any]:
        """The function that a `call` node computes, for interpreters and tests. Raises FlattenError
        `flatten/call-not-runnable` if it is unknown."""
        return self.calls.meaning_of(node.attrs, node.kind == "pack", node.span)

    def with_ir(self, function: Function, step: str) -> FlatFunction:
        """Return the function with this IR, after a custom step. Raises InternalError if the IR is invalid."""
        validate(function)
        steps = (*self.steps, step) if step and step not in self.steps else self.steps
        return replace(self, function=function, steps=steps)

    def __str__(self) -> str:
        return format_function(self.ir) if self.ok else str(self.error)


def _collect_vectors(shape: Shape, params: Iterator[Value], found: list[tuple[Value, ...]]) -> None:
    match shape:
        case Leaf():
            next(params)
        case Record():
            if all(isinstance(item, Leaf) and item.kind is FLOAT for item in shape.items):
                found.append(tuple(next(params) for _ in shape.items))
            else:
                for item in shape.items:
                    _collect_vectors(item, params, found)
        case Fixed():
            pass


def _as_kind(value: Any, kind: Any) -> Any:
    return float(value) if kind is FLOAT and isinstance(value, int) and not isinstance(value, bool) else value


def _parameters(arguments: Mapping[str, Shape]) -> Iterator[tuple[str, str]]:
    """Argument and path of each parameter leaf."""
    for name, shape in arguments.items():
        for path in _paths(shape, ""):
            yield name, path


def _paths(shape: Shape, prefix: str) -> Iterator[str]:
    match shape:
        case Leaf():
            yield prefix
        case Record():
            for position, item in enumerate(shape.items):
                if len(shape.names) == len(shape.items):  # not an array, whose names are its shape
                    part = f"{prefix}.{shape.names[position]}" if prefix else str(shape.names[position])
                else:
                    part = f"{prefix}[{position}]"
                yield from _paths(item, part)
        case Labels() | Texts() | Ragged():
            yield prefix
        case Maybe():
            yield from _paths(shape.inner, prefix)
            yield f"{prefix}.is_none" if prefix else "is_none"
        case Fixed():
            pass


class _Walk:
    """Makes the nodes of a flat function."""

    def __init__(self, fn: Function, places: Sequence[tuple[str, str]]):
        self.nodes: list[Node] = []
        self.of: dict[Value, Node] = {}
        self.constants: dict[tuple[str, str], Node] = {}
        for param, (argument, path) in zip(fn.params, places, strict=True):
            self.add(param, "param", (), {"argument": argument, "path": path}, str(param.kind), param.name, None)
        for op in fn.flat_block.ops:
            inputs = tuple(map(self.read, op.args))
            span = op.span
            self.add(op, op.opcode, inputs, dict(op.attrs), str(op.kind), op.name, span)
        self.results = tuple(map(self.read, results_of(fn)))

    def add(self, value: Value, opcode: str, inputs: tuple[Node, ...], attrs: dict[str, Any], kind: str, name: str,
            span: Span | None) -> Node:
        node = Node(len(self.nodes), opcode, inputs, attrs, kind, name, span)
        self.nodes.append(node)
        self.of[value] = node
        return node

    def read(self, value: Value) -> Node:
        if not isinstance(value, Const):
            return self.of[value]
        number = _ZERO[value.kind] if value.value is None else value.value
        key = (str(value.kind), repr(number))
        if key not in self.constants:
            self.constants[key] = self.add(value, "const", (), {"value": number}, str(value.kind), "", None)
        return self.constants[key]


