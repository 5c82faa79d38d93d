"""Random chains of loops over one range, which read what those before them have stored in arrays made inside: at the
same element, or one beside it, under conditions, summed up, with what warns and raises in any of them."""

from __future__ import annotations

from tests.generator.kernels.expressions import number
from tests.generator.kernels.scope import TABLE, Array, Index, Scope
from tests.generator.kernels.statements import Lines, indented

_MADE = ("np.zeros({0})", "np.zeros({0})", "np.full({0}, 0.5)", "np.zeros({0}, np.float32)")
_VALUES = ("{0} * 2.0", "{0} + {1}", "{0} - 0.5 * {1}", "{0} * {0}", "{0} / {1}", "{0} * 1e200", "math.exp({0})",
           "math.log({0})", "math.sqrt(abs({0}))", "np.sqrt({0})", "{0} if {1} > 0.0 else 0.25")


def temporaries(scope: Scope) -> Lines:
    """Nothing where there is no array of floats with one or two axes."""
    r = scope.r
    given = [a for a in scope.arrays if a.name != TABLE and a.number == "float" and 0 < len(a.dims) < 3 and not a.of]
    if not given:
        return []
    source = r.choice(given)
    known, lines, behind = [source.name], list[str](), r.random() < 0.15
    shape = ", ".join(scope.extent(dim) for dim in source.dims)
    for _ in range(r.choice((1, 2, 3, 4))):
        name = scope.name("tmp")
        made = f"{name} = {r.choice(_MADE).format(f'({shape})' if len(source.dims) > 1 else shape)}"
        if r.random() < 0.7:
            lines.append(made)
        else:
            lines.insert(0, made)
        known.append(name)
        lines += _loop(scope, source, known, name, behind)
        scope.arrays.append(Array(name, source.dims, "float64"))
    outs = [a.name for a in given if a.dims == source.dims]
    if r.random() < 0.85:
        lines += _loop(scope, source, known, r.choice(outs), behind)
    return lines


def _loop(scope: Scope, source: Array, known: list[str], target: str, behind: bool) -> Lines:
    """A loop that stores to `target`, mostly of what is `known`. `behind`: at the elements behind its counter, of which
    the first is the last one, too."""
    r, inner, heads = scope.r, scope.inner(loop=True), list[str]()
    low, high = (0, 0) if behind else r.choice(((0, 0), (0, 0), (0, 0), (1, 0), (1, 1)))
    for name, dim in zip(("ti", "tj"), source.dims, strict=False):
        inner.indices.append(Index(name, dim, low, high))
        end = f"len({source.name}) + 1" if behind and name == "ti" else f"{inner.extent(dim)}{f' - {high}' if high else ''}"
        heads.append(f"for {name} in range({f'{low}, ' if low else ''}{end}):")

    def place() -> str:
        shift = " - 1" if behind else r.choice(("", "", "", "", " - 1", " + 1"))
        return ", ".join([f"ti{shift}", "tj"][:len(source.dims)])

    readable = [name for name in known if name != target] or known
    operands = [f"{r.choice(readable[-2:])}[{place()}]", r.choice((f"{r.choice(readable)}[{place()}]", number(inner, 1), "ti"))]
    value = r.choice(_VALUES[:5] if behind else _VALUES).format(*operands)
    value += r.choice((" + ti", " - 2.0 * ti")) if behind else ""
    here = ", ".join([f"ti{' - 1' if behind else ''}", "tj"][:len(source.dims)])
    body = [f"{target}[{here}] {r.choice(('=', '=', '=', '=', '+='))} {value}"]
    if r.random() < 0.2:
        body = [f"if {operands[0]} > {number(inner, 1)}:", *indented(body)]
    if r.random() < 0.1:
        body.insert(0, f"if {operands[0]} > 2.5:\n    raise ValueError(\"beyond\")")
    for head in reversed(heads):
        body = [head, *indented([line for each in body for line in each.split("\n")])]
    return body
