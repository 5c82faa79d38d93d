"""`python -m examples.shaders`: the table of shaders, before and after the steps of the backend.

Exit status 1 if a shader is left with other operations than it should, or a branchless one is changed.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from examples.shaders import capability, transparent
from examples.shaders.capability import Shader
from pyflat.backend import (
    FlatFunction,
    Node,
    flatten_fold,
    flatten_function,
    flatten_fuse,
    flatten_optimize,
    flatten_pack,
    preshader,
)

SEED_SHARE = 15.6
"""Percent that the implementation of the seed document takes off its own 87 shaders."""
_OPERATORS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.Pow: "pow", ast.USub: "neg"}


@dataclass(frozen=True)
class Row:
    """The sizes of one shader: as flattened, folded, after all exact steps, with fast math, and packed into vectors."""

    name: str
    shows: str
    sizes: tuple[int, int, int, int, int]
    problems: tuple[str, ...]


def exact_steps(flat: FlatFunction) -> FlatFunction:
    return flatten_fuse(flatten_optimize(flatten_fold(flat, strict=True)))


def fast_steps(flat: FlatFunction) -> FlatFunction:
    folded = flatten_fold(flat, strict=True)
    return flatten_fuse(flatten_optimize(folded, fast_math=True), fast_math=True)


def row_of(name: str, shows: str, flat: FlatFunction, problems: Iterable[str]) -> Row:
    fast = fast_steps(flat)
    sizes = (flat.size, flatten_fold(flat).size, exact_steps(flat).size, fast.size, flatten_pack(fast).size)
    return Row(name, shows, sizes, tuple(problems))


def transparent_row(function: Callable[..., Any]) -> Row:
    """A branchless shader: the operations of its source, before and after the exact steps."""
    flat = flatten_function(function)
    problems = []
    if flat.counts() != source_counts(function):
        problems.append(f"flattened to {flat.counts()}, written as {source_counts(function)}")
    if structure(exact_steps(flat)) != structure(flat):
        problems.append("the exact steps changed it")
    return row_of(function.__name__, "transparent: the graph is the source", flat, problems)


def capability_row(shader: Shader) -> Row:
    flat = flatten_function(shader.function, shader.whitelist)
    problems = []
    exact = exact_steps(flat)
    if exact.counts() != dict(shader.exact):
        problems.append(f"left with {exact.counts()} instead of {dict(shader.exact)}")
    fast = fast_steps(flat)
    if fast.size != shader.fast:
        problems.append(f"left with {fast.size} operations under fast math instead of {shader.fast}")
    if shader.same_as is not None and structure(exact) != structure(exact_steps(flatten_function(shader.same_as))):
        problems.append(f"not the graph of {shader.same_as.__name__}")
    if shader.uniform and preshader(exact, shader.uniform).body.size >= exact.size:
        problems.append("nothing went into the preamble")
    return row_of(shader.name, shader.shows, flat, problems)


def structure(flat: FlatFunction) -> list[tuple[Any, ...]]:
    """The graph, whatever its variables are called."""
    def one(node: Node) -> tuple[Any, ...]:
        own = node.attrs if node.opcode not in ("param", "call") else node.attrs.get("name")
        return node.opcode, node.kind, tuple(n.index for n in node.inputs), repr(own)

    return [*map(one, flat.nodes), *((n.index,) for n in flat.results)]


def source_counts(function: Callable[..., Any]) -> dict[str, int]:
    """The operations that stand in the source of a branchless function: operators, and calls of math."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        match node:
            case ast.BinOp() | ast.UnaryOp():
                found[_OPERATORS[type(node.op)]] += 1
            case ast.Call(func=ast.Attribute(attr=name)):
                found[name] += 1
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def rows() -> list[Row]:
    return [*map(transparent_row, transparent.SHADERS), *map(capability_row, capability.SHADERS)]


def table(found: Sequence[Row]) -> str:
    lines = [f"{'shader':20} {'flat':>5} {'fold':>5} {'exact':>6} {'fast':>5} {'packed':>7}  what it shows"]
    for row in found:
        flat, fold, exact, fast, packed = row.sizes
        lines.append(f"{row.name:20} {flat:5} {fold:5} {exact:6} {fast:5} {packed:7}  {row.shows}")
        lines += [f"  WRONG: {problem}" for problem in row.problems]
    totals = [sum(row.sizes[k] for row in found) for k in range(5)]
    less = [100 * (1 - total / totals[0]) for total in totals]
    flat, fold, exact, fast, packed = totals
    lines += [f"{f'{len(found)} shaders':20} {flat:5} {fold:5} {exact:6} {fast:5} {packed:7}  operations",
              f"{'less than flat':20} {'':5} {less[1]:4.1f}% {less[2]:5.1f}% {less[3]:4.1f}% {less[4]:6.1f}%"]
    return "\n".join(lines)


def main() -> int:
    found = rows()
    print(table(found))
    print("\nflat: as flatten_function gives it; exact: after fold, optimize and fuse, every bit kept; fast: fast math."
          f"\nThe implementation of the seed document takes {SEED_SHARE} % off 87 shaders of its own, with fast math.")
    return 1 if any(row.problems for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
