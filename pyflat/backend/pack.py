"""Scalars packed into vectors: equal operations on the numbers of a vector become one operation on the vector.

    %a = mul %p_x, %s : f8                 %v = mul(%p, splat %s) : f8x3
    %b = mul %p_y, %s : f8
    %c = mul %p_z, %s : f8

The result is a graph of its own, `PackedFunction`, whose nodes are those of the walk with vectors among them: the kind
"f8x3" is a vector of three floats. A vector operation is made of two to four scalar ones of the same opcode. Its
operands are vectors that are there (a parameter, the result of an opaque call, another packed operation), constants,
one scalar for all lanes ("splat"), or one that has to be made ("construct", an operation).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyflat.backend.flat import FlatFunction, Node
from pyflat.ir.interp import instead
from pyflat.ir.opaque_calls import flat_values
from pyflat.ir.ops import COMMUTATIVE, OPERATIONS
from pyflat.ir.recursion import with_room
from pyflat.ir.shape import rebuild
from pyflat.ir.types import Kind

WIDEST = 4
_NEVER = frozenset({"param", "const", "call", "part", "pack", "dot", "hadd", "fault", "gather"})
_FREE = frozenset({"param", "const", "part", "splat", "vector"})
Lanes = tuple[Node, ...]


@dataclass(frozen=True)
class PackedFunction:
    """The packed graph. `nodes` are in order; `results` say for each number of the result which node gives it, and
    which lane of it (None: the node is a scalar).

    Opcodes besides those of the walk: "vector" (a record of parameters or the result of a call, whole), "splat" (a
    scalar in all lanes), "construct" (a vector of scalars), "swizzle" (lanes of one vector in another order, attr
    "lanes"). A "part" has the attr "index".
    """

    flat: FlatFunction
    nodes: tuple[Node, ...]
    results: tuple[tuple[Node, int | None], ...]

    def counts(self) -> dict[str, int]:
        """Count operations by opcode, without those that compute nothing."""
        counter = Counter(node.opcode for node in self.nodes if not _is_free(node))
        return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))

    @property
    def size(self) -> int:
        return sum(self.counts().values())

    def run(self, *args: Any) -> Any:
        """Run one element node by node; the result equals `flat.run`."""
        numbers = [n for value in args for n in flat_values(value)]
        values: dict[Node, Any] = {}
        for node in self.nodes:
            values[node] = self._value(node, [values[n] for n in node.inputs], numbers)
        leaves = [values[node] if lane is None else values[node][lane] for node, lane in self.results]
        return rebuild(self.flat.result, iter(leaves))

    def _value(self, node: Node, operands: list[Any], numbers: Sequence[Any]) -> Any:
        width = _width(node)
        match node.opcode:
            case "param":
                number = numbers[node.attrs["number"]]
                return float(number) if node.kind == "f8" else number
            case "const":
                return node.attrs["value"]
            case "vector" | "construct" | "pack":
                return operands[0] if node.attrs.get("whole") else tuple(operands)
            case "splat":
                return tuple(operands) * width
            case "swizzle":
                return tuple(operands[0][k] for k in node.attrs["lanes"])
            case "part":
                return operands[0][node.attrs["index"]]
            case "call":
                return self.flat.call_meaning(node)(*operands)
        if not width:
            return _apply(node, operands)
        columns = zip(*(o if isinstance(o, tuple) else (o,) * width for o in operands), strict=True)
        return tuple(_apply(node, list(lane)) for lane in columns)


@with_room
def flatten_pack(flat: FlatFunction) -> PackedFunction:
    """Pack what makes the graph smaller.

    Pre: `flat.ok`; best after `flatten_fuse`. Post: the same values bit for bit; `size` is not larger than the flat
    one's (there a `pack` counts as one operation, here a "construct").
    """
    packing = _Packing(flat)
    packed = packing.build(packing.chosen())
    plain = packing.build(())
    return packed if packed.size <= plain.size else plain


def _is_free(node: Node) -> bool:
    if node.opcode == "construct":
        return all(n.opcode == "const" for n in node.inputs)
    return node.opcode in _FREE


def _width(node: Node) -> int:
    return int(node.kind.partition("x")[2] or 0)


def _apply(node: Node, operands: list[Any]) -> Any:
    """Total, as the flat form is."""
    table = {"table": node.attrs["table"]} if node.opcode == "gather" else {}
    try:
        return OPERATIONS[node.opcode].python(*operands, **table)
    except (ArithmeticError, ValueError, IndexError) as error:
        return instead(node.opcode, Kind(node.kind.partition("x")[0]), error)


class _Packing:
    """Finds groups of scalar nodes that become one vector node, and builds the packed graph."""

    def __init__(self, flat: FlatFunction):
        self.flat = flat
        self.vectors = self._given()
        self.groups: dict[Lanes, tuple[Lanes, ...]] = {}
        """Group -> the columns of its operands, in the order of the first lane's operands."""
        self.owner: dict[Node, Lanes] = {}

    def _given(self) -> set[Lanes]:
        """Vectors that are there: records of parameters, and what opaque calls give."""
        node_of = self.flat._node_of
        found = (tuple(node_of[value] for value in vector) for vector in self.flat.vectors())
        return {lanes for lanes in found if 2 <= len(lanes) <= WIDEST}

    def chosen(self) -> tuple[Lanes, ...]:
        """Groups, found downwards from where vectors are wanted: results, packs, arguments of calls."""
        for lanes in self._seeds():
            self._group(lanes)
        return tuple(self.groups)

    def _seeds(self) -> Iterable[Lanes]:
        results = self.flat.results
        for width in (4, 3, 2):
            if len(results) % width == 0 and len(results) >= width:
                yield from (results[k : k + width] for k in range(0, len(results), width))
        for node in self.flat.nodes:
            if node.opcode == "pack":
                yield node.inputs
            if node.opcode == "call":
                yield from _argument_lanes(node)

    def _group(self, lanes: Lanes) -> bool:
        """Try to make one vector operation of these nodes, and of those below them."""
        if lanes in self.groups or lanes in self.vectors:
            return True
        first = lanes[0]
        if not 2 <= len(lanes) <= WIDEST or len(set(lanes)) < len(lanes) or first.opcode in _NEVER:
            return False
        alike = all(n.opcode == first.opcode and n.kind == first.kind and n.attrs == first.attrs for n in lanes)
        if not alike or any(n in self.owner for n in lanes) or _depend(lanes):
            return False
        columns = self._columns(lanes)
        if 1 + sum(map(self._price, columns)) >= len(lanes):
            return False
        self.groups[lanes] = columns
        self.owner.update(dict.fromkeys(lanes, lanes))
        for column in columns:
            self._group(column)
        return True

    def _columns(self, lanes: Lanes) -> tuple[Lanes, ...]:
        """Operands by position; where the order is free, so that each column is alike."""
        rows = [list(n.inputs) for n in lanes]
        if lanes[0].opcode in COMMUTATIVE and len(rows[0]) == 2:
            for row in rows[1:]:
                if _likeness(rows[0], row[::-1], self.vectors) > _likeness(rows[0], row, self.vectors):
                    row.reverse()
        return tuple(zip(*rows, strict=True))

    def _price(self, column: Lanes) -> int:
        """Operations that it takes to have this operand as a vector."""
        if len(set(column)) == 1 or column in self.vectors or column in self.groups:
            return 0
        if all(n.opcode == "const" for n in column):
            return 0
        if self._swizzled(column) is not None or _parts_of_one(column):
            return 1
        alike = all(n.opcode == column[0].opcode and n.opcode not in _NEVER and n.kind == column[0].kind
                    and n not in self.owner for n in column)
        return 0 if alike and len(set(column)) == len(column) and not _depend(column) else 1

    def _swizzled(self, column: Lanes) -> tuple[Lanes, tuple[int, ...]] | None:
        for vector in [*self.vectors, *self.groups]:
            if set(column) <= set(vector):
                return vector, tuple(vector.index(n) for n in column)
        return None

    def build(self, groups: Iterable[Lanes]) -> PackedFunction:
        return _Builder(self, groups).function()


def _parts_of_one(lanes: Lanes) -> bool:
    """Some parts of one vector."""
    return all(n.opcode == "part" and n.inputs == lanes[0].inputs for n in lanes)


def _depend(lanes: Lanes) -> bool:
    """One of them is computed from another one."""
    waiting, seen = [n for lane in lanes for n in lane.inputs], set()
    lowest = min(n.index for n in lanes)
    while waiting:
        node = waiting.pop()
        if node in lanes:
            return True
        if node.index > lowest and node not in seen:
            seen.add(node)
            waiting += node.inputs
    return False


def _likeness(a: Sequence[Node], b: Sequence[Node], vectors: set[Lanes]) -> int:
    def one(x: Node, y: Node) -> int:
        together = any(x in v and y in v for v in vectors)
        return 4 * (x is y) + 3 * together + 2 * (x.opcode == y.opcode)

    return sum(map(one, a, b))


def _argument_lanes(call: Node) -> Iterable[Lanes]:
    """The operands of a call that make up one record."""
    at = 1 if call.attrs["guarded"] else 0
    for part in call.attrs["args"]:
        if isinstance(part, str):
            at += 1
        elif part[0] != "=":
            width = len(part) - 1
            if all(isinstance(p, str) for p in part[1:]):
                yield call.inputs[at : at + width]
            at += width


class _Builder:
    """Emits the packed graph in order: a group stands where its last operand is there."""

    def __init__(self, packing: _Packing, groups: Iterable[Lanes]):
        self.packing = packing
        self.groups = {lanes: packing.groups[lanes] for lanes in groups}
        self.owner = {n: lanes for lanes in self.groups for n in lanes}
        self.nodes: list[Node] = []
        self.scalars: dict[Node, Node] = {}
        self.whole: dict[Lanes, Node] = {}

    def function(self) -> PackedFunction:
        flat = self.packing.flat
        for node in flat.nodes:
            if node.opcode == "param":
                self.scalars[node] = self.add("param", (), {**node.attrs, "number": node.index}, node.kind, node)
        for node in flat.nodes:
            if node.opcode == "call" and node.attrs["barrier"]:
                self.scalar(node)
        results = tuple(self.result(node) for node in flat.results)
        return PackedFunction(flat, tuple(self.nodes), results)

    def add(self, opcode: str, inputs: Sequence[Node], attrs: Mapping[str, Any], kind: str, source: Node) -> Node:
        node = Node(len(self.nodes), opcode, tuple(inputs), attrs, kind, source.name, source.span)
        self.nodes.append(node)
        return node

    def result(self, node: Node) -> tuple[Node, int | None]:
        lanes = self.owner.get(node)
        if lanes is None:
            return self.scalar(node), None
        return self.vector(lanes), lanes.index(node)

    def scalar(self, node: Node) -> Node:
        """The node itself, or the part of the group that it is in."""
        if node not in self.scalars:
            lanes = self.owner.get(node)
            if lanes is not None:
                whole = self.vector(lanes)
                self.scalars[node] = self.add("part", [whole], {"index": lanes.index(node)}, node.kind, node)
            elif node.opcode == "pack":
                self.scalars[node] = self.vector(node.inputs)
            else:
                inputs = [self.scalar(n) for n in node.inputs]
                self.scalars[node] = self.add(node.opcode, inputs, node.attrs, node.kind, node)
        return self.scalars[node]

    def vector(self, lanes: Lanes) -> Node:
        """These scalars as one vector."""
        if lanes not in self.whole:
            self.whole[lanes] = self._vector(lanes)
        return self.whole[lanes]

    def _vector(self, lanes: Lanes) -> Node:
        first, kind = lanes[0], f"{lanes[0].kind}x{len(lanes)}"
        if lanes in self.groups:
            inputs = [self.operand(column) for column in self.groups[lanes]]
            return self.add(first.opcode, inputs, first.attrs, kind, first)
        if lanes in self.packing.vectors:
            if first.opcode == "part":
                return self.add("vector", [self.scalar(first.inputs[0])], {"whole": True}, kind, first)
            return self.add("vector", [self.scalar(n) for n in lanes], {}, kind, first)
        swizzle = self.packing._swizzled(lanes)
        if swizzle is not None and (swizzle[0] in self.packing.vectors or swizzle[0] in self.groups):
            return self.add("swizzle", [self.vector(swizzle[0])], {"lanes": swizzle[1]}, kind, first)
        if _parts_of_one(lanes):
            places = tuple(n.attrs["index"] for n in lanes)
            return self.add("swizzle", [self.scalar(first.inputs[0])], {"lanes": places}, kind, first)
        return self.add("construct", [self.scalar(n) for n in lanes], {}, kind, first)

    def operand(self, column: Lanes) -> Node:
        if len(set(column)) > 1:
            return self.vector(column)
        scalar = self.scalar(column[0])
        return self.add("splat", [scalar], {}, f"{scalar.kind}x{len(column)}", column[0])
