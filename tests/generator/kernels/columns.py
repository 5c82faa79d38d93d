"""Random loops over the last axis around loops that are reductions, scans or conditions on data: what runs as lanes."""

from __future__ import annotations

from dataclasses import replace

from tests.generator.kernels.expressions import atom, condition, element, number
from tests.generator.kernels.scope import TABLE, Array, Index, Scope
from tests.generator.kernels.statements import Lines, fitting, indented

_PAD = "    "


def columns(scope: Scope) -> tuple[Lines, str]:
    """A nest that writes an array of floats or ints, and the dimension of its innermost axis."""
    r = scope.r
    scope = replace(scope.inner(loop=True), tame=True)
    array = r.choice([a for a in scope.arrays if a.name != TABLE and a.number != "bool"] or scope.arrays[:1])
    names = ["ci", "cj", "ck"][:len(array.dims)]
    heads = []
    for name, dim in zip(names, array.dims, strict=False):
        low, high = r.choice(((0, 0), (0, 0), (1, 1), (0, 1)))
        scope.indices.append(Index(name, dim, low, high))
        start = f"{low}, " if low else ""
        heads.append(f"for {name} in range({start}{scope.extent(dim)}{f' - {high}' if high else ''}):")
    if len(scope.arrays) > 1 and r.random() < 0.7:
        scope.arrays.remove(array)
    body = _column(scope, array, names)
    for head in reversed(heads):
        body = [head, *indented(body)]
    return body, array.dims[-1] if array.dims else ""


def _column(scope: Scope, array: Array, names: list[str]) -> Lines:
    r = scope.r
    lines = [f"cs = {atom(scope) if r.random() < 0.5 else '0.0'}", f"cx = {number(scope, 1)}"]
    scope.numbers |= {"cs": "float", "cx": "float"}
    for _ in range(r.choice((1, 1, 2))):
        lines += r.choice((_reduction, _reduction, _search))(scope)
    place = ", ".join(names)
    value = "cs" if array.number == "float" else fitting(scope, array)
    if r.random() < 0.3:
        return [*lines, f"if {condition(scope, 1)}:", f"{_PAD}{array.name}[{place}] = {value}"]
    return [*lines, f"{array.name}[{place}] = {value}"]


def _reduction(scope: Scope) -> Lines:
    """A sum, a maximum or a scan over another dimension, in order."""
    r = scope.r
    inner = scope.inner(loop=True)
    dim, name = r.choice([*scope.extents]), scope.name("cr")
    inner.indices.append(Index(name, dim))
    term = r.choice((lambda: number(inner, 1), lambda: f"{element(inner, r.choice(inner.arrays))} * {atom(inner)}"))()
    step = r.choice((f"cs += {term}", f"cs = cs * 0.5 + {term}", f"cs = max(cs, {term})", f"cs -= {term} * cx"))
    lines = [step]
    if r.random() < 0.4:
        lines = [f"if {condition(inner, 1)}:", _PAD + step]
        lines += ["else:", f"{_PAD}cx = {number(inner, 2)}"] if r.random() < 0.5 else []
    return [f"for {name} in range({scope.extent(dim)}):", *indented(lines)]


def _search(scope: Scope) -> Lines:
    """A `while` that lasts longer in some lanes than in others."""
    r, name = scope.r, scope.name("cw")
    inner = scope.inner(loop=True)
    inner.numbers[name] = "int"
    test = r.choice((f"{name} < {r.choice('359')} and {condition(inner, 1)}", f"cs < {r.choice(('3.0', '9.0'))} and {name} < 20"))
    step = r.choice((f"cs = cs + {number(inner, 1)}", "cs = cs * 2.0 + 0.25", f"cs += 0.5 + {atom(inner)} * cx"))
    lines = [step, f"{name} += 1"]
    if r.random() < 0.3:
        lines = [f"if {condition(inner, 1)}:", f"{_PAD}cx = cx / {atom(inner)}", *lines]
    return [f"{name} = 0", f"while {test}:", *indented(lines)]
