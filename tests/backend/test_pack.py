"""flatten_pack: what becomes a vector, what does not, values bit for bit, and mutants."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest

from pyflat.backend import Call, flatten_fold, flatten_function, flatten_fuse, flatten_optimize, flatten_pack
from pyflat.errors import FlattenError
from pyflat.ir.opaque_calls import flat_values
from tests.passes.flat_programs import same_bits
from tests.support.edits import Edit, mutated


class V2(NamedTuple):
    x: float
    y: float


class V3(NamedTuple):
    x: float
    y: float
    z: float


class V4(NamedTuple):
    x: float
    y: float
    z: float
    w: float


def scaled(p: V3, k: float) -> V3:
    return V3(p.x * k, k * p.y, p.z * k)


def bent(p: V3, q: V3, c: bool) -> V3:
    d = V3(p.x - q.x, p.y - q.y, p.z - q.z)
    return d if c else V3(d.x + 1.0, d.y + 2.0, d.z + 3.0)


def reversed_lanes(p: V2, q: V2) -> V2:
    return V2(p.y * q.x, p.x * q.y)


def tapped(uv: V2, k: float) -> V2:
    c = sample(V2(uv.x * 2.0, uv.y * 2.0))
    return V2(c.x * k + c.z, c.y * k + c.w)


def tinted(uv: V2, k: float) -> V3:
    c = sample(uv)
    return V3(c.y * k + 1.0, c.z * k + 1.0, c.w * k + 1.0)


def sample(uv: V2) -> V4:
    return V4(uv.x, uv.y, 0.5, -1.0)


def chained(p: V2) -> V2:
    x = p.x * 2.0
    return V2(x, x * 2.0)


def chained_thrice(p: V2) -> V3:
    x = p.x * 2.0
    y = x * 2.0
    return V3(x, y, y * 2.0)


def unlike(p: V2) -> V2:
    return V2(p.x * 2.0, p.y + 2.0)


def mixed(p: V3, k: float) -> V3:
    return V3(p.x * k + 1.0, p.y * k + 1.0, k * k * k)


def masked(p: V2, i: int, j: int, c: bool) -> tuple[int, int, bool]:
    return i + 1, j + 1, c


TAP = Call("sample", result=V4, barrier=True)
PACKED = [
    (scaled, (), {"mul": 1}), (bent, (), {"add": 1, "select": 1, "sub": 1}), (tapped, (TAP,), {"call": 1, "mul": 3, "add": 2}),
    (tinted, (TAP,), {"add": 1, "call": 1, "mul": 1, "swizzle": 1}),
    (reversed_lanes, (), {"mul": 2}), (chained, (), {"mul": 2}), (chained_thrice, (), {"mul": 3}), (unlike, (), {"add": 1, "mul": 1}),
    (mixed, (), {"mul": 4, "add": 2}), (masked, (), {"add": 2}),
]  # fmt: skip


def exact(fn: Any, whitelist: Any) -> Any:
    return flatten_fuse(flatten_optimize(flatten_fold(flatten_function(fn, whitelist))))


def argument(shape: Any, chance: random.Random) -> Any:
    from pyflat.ir.shape import leaves, rebuild
    from pyflat.ir.types import BOOL, INT

    numbers = [chance.random() < 0.5 if leaf.kind is BOOL else chance.randrange(-5, 6) if leaf.kind is INT
               else chance.choice((0.5, -0.0, 3.25, -7.0, float("nan"), float("inf"))) for leaf in leaves(shape)]  # fmt: skip
    return rebuild(shape, iter(numbers))


def agrees(fn: Any, whitelist: Any, change: Any = flatten_pack) -> Any:
    flat = exact(fn, whitelist)
    packed = change(flat)
    assert packed.size <= flat.size
    seen = set()
    for node in packed.nodes:
        assert seen.issuperset(node.inputs) and node.index == len(seen)
        seen.add(node)
    chance = random.Random(1)
    for _ in range(40):
        row = [argument(shape, chance) for shape in flat.arguments.values()]
        assert all(map(same_bits, flat_values(packed.run(*row)), flat_values(flat.run(*row)))), row
    return packed


@pytest.mark.parametrize(("fn", "whitelist", "counts"), PACKED, ids=lambda x: getattr(x, "__name__", None))
def test_operations_of_the_packed_graph(fn, whitelist, counts):
    assert agrees(fn, whitelist).counts() == dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def test_kinds_and_parts():
    packed = agrees(scaled, ())
    (product,) = [n for n in packed.nodes if n.opcode == "mul"]
    assert product.kind == "f8x3" and [n.opcode for n in product.inputs] == ["vector", "splat"]
    assert packed.results == ((product, 0), (product, 1), (product, 2))


def everything(change: Any) -> None:
    for fn, whitelist, counts in PACKED:
        assert agrees(fn, whitelist, change).counts() == dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


MUTANTS = (
    ("_Builder.result", "return self.vector(lanes), lanes.index(node)", "return self.vector(lanes), 0"),
    ("_Packing._group", "not alike or any((n in self.owner for n in lanes)) or _depend(lanes)", "not alike"),
    ("_Builder._vector", 'places = tuple(n.attrs["index"] for n in lanes)', "places = tuple(range(len(lanes)))"),
    ("_Packing._columns", "row.reverse()", "pass"),
    ("_Packing._group", "1 + sum(map(self._price, columns)) >= len(lanes)", "False"),
    ("_Packing._group", "n.opcode == first.opcode and n.kind == first.kind and (n.attrs == first.attrs)", "n.kind == first.kind and n.attrs == first.attrs"),
)


@pytest.mark.parametrize("edit", MUTANTS)
def test_mutants_die(edit):
    made = mutated("pyflat.backend.pack", Edit(*edit))
    with pytest.raises((AssertionError, KeyError, IndexError, ValueError, TypeError, FlattenError)):
        everything(made.flatten_pack)
