"""Relations that hold whatever a program computes: no oracle is asked, twins are compared with twins.

The lanes permuted, reversed, split, repeated; the program with its ifs inverted, its expressions wrapped or moved into
functions of their own; NumPy beside numba. Programs are random ones; those that are refused in other words are left
out, and few are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.testing import same_bits
from tests.generator import generate
from tests.generator.differential import columns, loaded
from tests.generator.lanes import lanes_for

LANES = 40
SEEDS = [seed for seed in range(500, 527) if seed not in (503, 504, 522)]
"""Programs that are not refused."""


@dataclass(frozen=True)
class Ran:
    """The result leaves of a call, lane by lane, and the names of the exceptions ("" where a lane returns)."""

    leaves: list[list[Any]]
    faults: list[str]

    def lanes(self) -> list[tuple[Any, ...]]:
        return list(zip(*self.leaves, self.faults, strict=True))


def ran(fn: Callable[..., Any], cols: list[np.ndarray], target: str = "numpy") -> Ran:
    twin = pyflat.twin(fn).with_options(target=target, errors="mask")
    values, faults = twin(*cols)
    count = len(cols[0])
    leaves = [np.broadcast_to(leaf, (count,)).tolist() for leaf in flat_leaves(values)]
    return Ran(leaves, ["" if faults[i] is None else faults[i].type.__name__ for i in range(count)])


def flat_leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for item in value:
            yield from flat_leaves(item)
    elif value is not None:
        yield value


def same(a: list[tuple[Any, ...]], b: list[tuple[Any, ...]]) -> bool:
    return len(a) == len(b) and all(map(same_bits, a, b))


@pytest.fixture(params=SEEDS)
def program(request):
    """A random program, its function and its columns of lanes."""
    made = generate(request.param)
    with loaded(made.source) as fn:
        yield made, fn, columns(lanes_for(made, LANES), made.kinds)


def test_a_permutation_of_the_lanes_permutes_the_results(program) -> None:
    made, fn, cols = program
    order = list(range(LANES))
    Random(made.seed).shuffle(order)
    straight = ran(fn, cols).lanes()
    assert same(ran(fn, [c[order] for c in cols]).lanes(), [straight[i] for i in order])
    assert same(ran(fn, [c[::-1] for c in cols]).lanes(), straight[::-1])


@pytest.mark.filterwarnings("ignore::pyflat.PerformanceWarning")  # in some programs most lanes fail
def test_parts_of_the_lanes_give_parts_of_the_results(program) -> None:
    _, fn, cols = program
    straight = ran(fn, cols).lanes()
    cuts = (0, 1, 8, 23, LANES)
    parts = [ran(fn, [c[a:b] for c in cols]).lanes() for a, b in zip(cuts, cuts[1:], strict=False)]
    assert same([lane for part in parts for lane in part], straight)
    many = ran(fn, [np.tile(c, 300) for c in cols]).lanes()  # more than one block of the engine
    assert same(many, straight * 300)


@pytest.mark.parametrize("seed", SEEDS[:6])
def test_numba_gives_what_numpy_gives(seed: int) -> None:
    made = generate(seed)
    with loaded(made.source) as fn:
        cols = columns(lanes_for(made, LANES), made.kinds)
        assert same(ran(fn, cols, "numba").lanes(), ran(fn, cols).lanes())


# --- the same program in other words


class InvertIfs(ast.NodeTransformer):
    """`if c: a else: b` becomes `if not c: b else: a`."""

    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        test = ast.UnaryOp(ast.Not(), node.test)
        return ast.If(test, node.orelse or [ast.Pass()], node.body)


class WrapExpressions(ast.NodeTransformer):
    """`x + y` becomes `(x if True else 0) + y`, in some places."""

    def __init__(self, rng: Random):
        self.rng = rng

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if self.rng.random() < 0.5:
            return ast.BinOp(ast.IfExp(ast.Constant(True), node.left, ast.Constant(0)), node.op, node.right)
        return ast.IfExp(ast.Constant(False), ast.Constant("never"), node)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.MatchValue:
        return node


class Outline(ast.NodeTransformer):
    """`y = e` becomes `def outlined_1(): return e` and `y = outlined_1()`, or `y = (lambda: e)()`."""

    def __init__(self, rng: Random):
        self.rng = rng
        self.count = 0

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | list[ast.stmt]:
        if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.value)) or node.col_offset == 0:
            return node
        if self.rng.random() < 0.5:
            call = ast.Call(ast.Lambda(ast.arguments([], [], None, [], [], None, []), node.value), [], [])
            return ast.Assign(node.targets, call)
        self.count += 1
        name = f"outlined_{self.count}"
        helper = ast.parse(f"def {name}():\n    return {ast.unparse(node.value)}").body[0]
        return [helper, ast.Assign(node.targets, ast.Call(ast.Name(name), [], []))]


class Inline(ast.NodeTransformer):
    """A call of a module's lambda with plain names becomes `(lambda ...: e)(...)`."""

    def __init__(self, tree: ast.Module):
        self.known = {t.id: s.value for s in tree.body if isinstance(s, ast.Assign) and isinstance(s.value, ast.Lambda)
                      for t in s.targets if isinstance(t, ast.Name)}

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in self.known:
            return ast.Call(ast.parse(ast.unparse(self.known[node.func.id]), mode="eval").body, node.args, node.keywords)
        return node


def unbound_alike(result: Ran) -> list[tuple[Any, ...]]:
    """A name without a value is a NameError in a closure, and an UnboundLocalError outside of it."""
    faults = ["NameError" if fault == "UnboundLocalError" else fault for fault in result.faults]
    return Ran(result.leaves, faults).lanes()


REWRITES: dict[str, Callable[[ast.Module, int], ast.NodeTransformer]] = {
    "inverted ifs": lambda tree, seed: InvertIfs(),
    "wrapped expressions": lambda tree, seed: WrapExpressions(Random(seed)),
    "outlined expressions": lambda tree, seed: Outline(Random(seed)),
    "inlined lambdas": lambda tree, seed: Inline(tree),
}


def rewritten(source: str, name: str, seed: int) -> str:
    tree = ast.parse(source)
    changed = REWRITES[name](tree, seed).visit(tree)
    return ast.unparse(ast.fix_missing_locations(changed)) + "\n"


@pytest.mark.turns(2)
@pytest.mark.parametrize("name", REWRITES)
def test_the_same_program_in_other_words(name: str) -> None:
    compared = 0
    for seed in SEEDS:
        made = generate(seed)
        other = rewritten(made.source, name, seed)
        if other == ast.unparse(ast.parse(made.source)) + "\n":
            continue
        cols = columns(lanes_for(made, LANES), made.kinds)
        try:
            with loaded(made.source) as fn, loaded(other) as again:
                first, second = ran(fn, cols), ran(again, cols)
        except pyflat.FlattenError:
            continue
        assert same(unbound_alike(first), unbound_alike(second)), f"seed {seed}\n{made.source}\n--- {name}\n{other}"
        compared += 1
    assert compared >= (2 if name == "inlined lambdas" else 15)
