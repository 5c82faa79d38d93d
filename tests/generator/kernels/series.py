"""Random loops that compute functions, roots and divisions, and use them in order: what is lanes in part."""

from __future__ import annotations

from dataclasses import replace

from tests.generator.kernels.expressions import atom, condition, element, number
from tests.generator.kernels.scope import TABLE, Index, Scope
from tests.generator.kernels.statements import Lines, fitting, indented

_PAD = "    "


def series(scope: Scope) -> tuple[Lines, str]:
    """A nest over the axes of an array, and the dimension of its innermost axis."""
    r = scope.r
    scope.numbers["ss"] = "float"
    inner = replace(scope.inner(loop=True), tame=r.random() < 0.7)
    array = r.choice([a for a in inner.arrays if a.name != TABLE and a.dims])
    names, heads = ["si", "sj", "sk"][:len(array.dims)], []
    for name, dim in zip(names, array.dims, strict=False):
        low, high = r.choice(((0, 0), (0, 0), (1, 0), (0, 1)))
        inner.indices.append(Index(name, dim, low, high))
        start = f"{low}, " if low else ""
        heads.append(f"for {name} in range({start}{inner.extent(dim)}{f' - {high}' if high else ''}):")
    body: Lines = []
    for _ in range(r.choice((1, 1, 2, 3))):
        name = inner.name("sv")
        body.append(f"{name} = {_slow(inner)}")
        inner.numbers[name] = "float"
    place = f"{array.name}[{', '.join(names)}]"
    for _ in range(r.choice((1, 1, 2))):
        body += _in_order(inner, place, fitting(inner, array), array.dims[-1], len(array.dims) == 1 and array.name or "")
    for head in reversed(heads):
        body = [head, *indented(body)]
    return ["ss = 0.0", *body], array.dims[-1]


def _slow(scope: Scope) -> str:
    r, inside = scope.r, number(scope, 2)
    return r.choice((
        f"math.sqrt(abs({inside}))", f"math.sqrt({inside})", f"np.sqrt({inside})", f"{inside} / {atom(scope)}",
        f"1.0 / ({inside})", f"math.exp({inside})", f"math.exp(min({inside}, 5.0))", f"math.log({inside})",
        f"math.log(abs({inside}) + 1.0)", f"math.tanh({inside})", f"np.exp(-abs({inside}))", f"math.sin({inside}) * {atom(scope)}",
        f"int(math.sqrt(abs({inside})) * {atom(scope)})",
    ))


def _in_order(scope: Scope, place: str, value: str, dim: str, row: str) -> Lines:
    r = scope.r
    term = r.choice([name for name in scope.numbers if name.startswith("sv")])
    choices = [[f"ss += {term}"], [f"ss = ss * 0.5 + {term} * {atom(scope)}"], [f"ss = max(ss, {term})"], [f"{place} = {value}"],
               [f"{place} = {term}"], [f"if {condition(scope, 1)}:", f"{_PAD}ss -= {term}"],
               [f"if {term} < {atom(scope)}:", f"{_PAD}{place} = {term}", "else:", f"{_PAD}ss += {element(scope, r.choice(scope.arrays))}"]]
    if row:
        at = r.choice((f"min(int(abs({term})), {scope.extent(dim)} - 1)", f"int({term})"))
        choices += [[f"{row}[{at}] += {atom(scope)}"]] * 2
    return r.choice(choices)
