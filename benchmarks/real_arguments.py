"""Arguments of a function over arrays as specs, and which are likely by the function's text and numba's signatures.

A spec is a number, `n` (the size), `=default`, or `dtype[shape]` with random values: in [0, 1), or bools; after it
`<k`: ints in [0, k); `@`: ints in order from 0 to n, as where rows begin.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.uncompiled import parameters, parsed, uncompiled

Specs = dict[str, str]
"""By parameter, in order."""
MOST = 1 << 21
"""Elements of an array."""
COUNTS = r"(?i)^([ijkmnpq]|idx|nb?_.*|num.*)$|count|size|length|window|index|start|stop|steps?$"
"""Names of numbers that are ints."""


@dataclass
class Use:
    """What a function's text says of a parameter."""

    rank: int = 0
    fixed: dict[int, int] = field(default_factory=dict)
    """Along which dimension only constant indices are used, and the least extent for them."""
    running: set[int] = field(default_factory=set)
    """Along which dimension other indices are used."""
    index: bool = False
    """Its values, or it, are used as an index, or in `range`."""
    tested: bool = False
    """It is a condition."""
    array: bool = False


def uses(function: Any, tree: ast.FunctionDef, depth: int = 3) -> dict[str, Use]:
    found = {name: Use() for name in parameters(tree)}
    indices: set[str] = set()
    sources: dict[str, set[str]] = {}
    for one in ast.walk(tree):
        match one:
            case ast.Subscript(value=base, slice=index):
                _subscript(found, base, index)
                indices.update(values(index))
            case ast.Call(func=ast.Name(id="range" | "prange") | ast.Attribute(attr="prange"), args=given):
                indices.update(name for argument in given for name in values(argument))
            case (ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)])
                  | ast.Attribute(value=ast.Name(id=name), attr="size" | "shape")) if name in found:
                found[name].array = True
            case ast.Assign([ast.Tuple(elts=parts)], ast.Attribute(ast.Name(name), "shape")) if name in found:
                found[name].rank = max(found[name].rank, len(parts))
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                sources.setdefault(target, set()).update(values(value))
            case ast.For(target=ast.Name(id=target), iter=ast.Name(id=name)) if name in found:
                found[name].array = True
                sources.setdefault(target, set()).add(name)
            case ast.If(test=ast.Name(id=name)) | ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)) if name in found:
                found[name].tested = True
            case ast.Call(func=ast.Name(id=name), args=given) if depth:
                _callee(found, function.__globals__.get(name), given, depth)
    for _ in range(2):
        indices |= {name for target, names in sources.items() if target in indices for name in names}
    for name, use in found.items():
        use.index |= name in indices
    return found


def values(node: ast.AST) -> Iterator[str]:
    """The names whose values, or whose elements, an expression computes with; not those whose extents."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Attribute():
            return
        case ast.Subscript(value=base):
            yield from values(base)
        case ast.Call(func=function, args=given):
            if isinstance(function, ast.Name) and function.id in ("int", "min", "max", "abs"):
                yield from (name for argument in given for name in values(argument))
        case _:
            yield from (name for child in ast.iter_child_nodes(node) for name in values(child))


def _subscript(found: dict[str, Use], base: ast.expr, index: ast.expr) -> None:
    first = 0
    while isinstance(base, ast.Subscript):
        first += len(base.slice.elts) if isinstance(base.slice, ast.Tuple) else 1
        base = base.value
    match base, index:
        case ast.Attribute(value=ast.Name(id=name), attr="shape"), ast.Constant(value=int(place)) if name in found:
            found[name].rank = max(found[name].rank, place + 1)
    if not isinstance(base, ast.Name) or base.id not in found:
        return
    use = found[base.id]
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    use.rank, use.array = max(use.rank, first + len(parts)), True
    for place, part in enumerate(parts, first):
        if isinstance(part, ast.Constant) and isinstance(part.value, int):
            use.fixed[place] = max(use.fixed.get(place, 0), part.value + 1)
        else:
            use.running.add(place)


def _callee(found: dict[str, Use], value: Any, given: Sequence[ast.expr], depth: int) -> None:
    function = uncompiled(value)
    tree = parsed(function) if function is not None else None
    if tree is None:
        return
    theirs = list(uses(function, tree, depth - 1).values())
    for argument, use in zip(given, theirs, strict=False):
        if isinstance(argument, ast.Name) and argument.id in found:
            own = found[argument.id]
            own.rank, own.index, own.tested = max(own.rank, use.rank), own.index or use.index, own.tested or use.tested
            own.array |= use.array


def shapes(use: Use, rank: int) -> list[str]:
    free = ",".join("n" for _ in range(rank))
    tied = ",".join(str(use.fixed[k]) if k in use.fixed and k not in use.running else "n" for k in range(rank))
    short = ",".join(["n"] + ["3" if k == rank - 1 else "n" for k in range(1, rank)])
    others = {2: ["n,2", "2,n"], 3: ["2,n,3", "n,2,2"]}.get(rank, ["n+1", "3"])
    return list(dict.fromkeys([tied, free, short, *others]))


def choices(name: str, use: Use, default: Any, signed: Sequence[Any]) -> list[str]:
    """Specs of a parameter, the likelier first; `signed`: its types in numba's signatures."""
    found = [] if default is inspect.Parameter.empty else [f"={default!r}"] if _literal(default) else []
    for kind in signed:
        text = str(kind)
        if hasattr(kind, "ndim"):
            found += _arrays(use, kind.ndim, str(kind.dtype))
        elif text.startswith(("int", "uint")):
            found += ["n", "2", "1", "3", "0", "5"]
        elif text.startswith("float"):
            found += ["0.5", "0.1", "2.0"]
        elif text == "bool":
            found += ["True", "False"]
    if found and signed:
        return found
    rank = max(use.rank, int(use.array))
    if rank:
        found += _arrays(use, rank, "int64" if use.index else "float64")
        found += _arrays(use, rank, "float64" if use.index else "int64") + _arrays(use, rank, "bool")[:1]
        found += _arrays(use, rank + 1, "float64")[:2]
    elif use.index or re.search(COUNTS, name):
        found += ["n", "3", "2", "1", "0", "5"]
    elif use.tested:
        found += ["True", "False", "1", "0"]
    else:
        found += ["0.5", "2.0", "3", "1", "n", "0", "0.1", "float64[n]", "float64[n,n]", "True", "False"]
    return list(dict.fromkeys(found))


def _literal(default: Any) -> bool:
    return default is None or isinstance(default, bool | int | float | str)


def _arrays(use: Use, rank: int, dtype: str) -> list[str]:
    ends = ["<n", "<3", "@", "<2"] if "int" in dtype else [""]
    return [f"{dtype}[{shape}]{end}" for shape in shapes(use, rank) for end in ends]


def made(spec: str, n: int, r: np.random.Generator) -> Any:
    """The argument of size `n`."""
    if spec.startswith("="):
        return ast.literal_eval(spec[1:])
    match = re.fullmatch(r"(\w+)\[([^]]*)\](.*)", spec)
    if match is None:
        return n if spec == "n" else ast.literal_eval(spec)
    dtype, shape = np.dtype(match[1]), tuple(_extent(part, n) for part in match[2].split(",") if part)
    if math.prod(shape) > MOST:
        raise MemoryError
    if match[3] == "@":
        count = math.prod(shape)
        starts = np.concatenate([[0], r.integers(0, n + 1, max(count - 2, 0)), [n]])[:count]
        return np.sort(starts).astype(dtype).reshape(shape)
    if match[3]:
        return r.integers(0, max(1, _extent(match[3][1:], n)), shape).astype(dtype)
    if dtype.kind == "c":
        return (r.random(shape) + 1j * r.random(shape)).astype(dtype)
    return r.random(shape) < 0.5 if dtype.kind == "b" else r.random(shape).astype(dtype)


def _extent(text: str, n: int) -> int:
    return n + 1 if text == "n+1" else n if text == "n" else int(text)


def vocabularies(value: Any, tree: ast.FunctionDef) -> dict[str, list[str]]:
    function = uncompiled(value)
    known = inspect.signature(function).parameters
    found = uses(function, tree)
    signed = getattr(value, "nopython_signatures", None) or []
    return {name: choices(name, use, known[name].default, [one.args[place] for one in signed if place < len(one.args)])
            for place, (name, use) in enumerate(found.items())}


def copied(given: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(one.copy(order="K") if isinstance(one, np.ndarray) else one for one in given)
