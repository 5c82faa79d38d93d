"""Random chains of stencils over arrays made inside: each reads those before it at its element and the ones around it,
mostly where they have been written, in loops of any order and range, in helpers and as whole arrays."""

from __future__ import annotations

from tests.generator.kernels.expressions import number
from tests.generator.kernels.scope import TABLE, Array, Scope
from tests.generator.kernels.statements import Lines, indented

_MADE = ("np.empty({0})", "np.empty({0})", "np.empty({0})", "np.zeros({0})", "np.full({0}, 0.5)", "np.empty({0}, np.float32)")
_VALUES = ("{0} + {1}", "{0} - 0.5 * {1}", "{0} * {1} + {2}", "{0} + {1} + {2}", "{0} / {1}", "{0} * 1e200", "{0}",
           "{0} if {1} > 0.0 else {2}", "abs({0}) + {1}", "np.sqrt({0})", "{0} * ti", "2.5", "math.sqrt(abs({0}))",
           "min({0}, {1})", "math.exp({0})", "float(ti)")
_HELPERS = {
    "smooth": "def smooth(x):\n    s = np.empty(len(x))\n    for k in range(len(x)):\n        s[k] = x[k] * 0.5\n    return s\n",
    "slopes": "def slopes(x):\n    s = np.zeros(len(x))\n    for k in range(1, len(x)):\n        s[k] = x[k] - x[k - 1]\n"
              "    return s\n",
}
Margins = dict[str, tuple[int, int]]
"""Arrays -> how many elements at the start and the end of each axis are not written."""


def stencils(scope: Scope) -> Lines:
    """Nothing where there is no array of floats with one to three axes."""
    r = scope.r
    given = [a for a in scope.arrays if a.name != TABLE and a.number == "float" and 0 < len(a.dims) < 4 and not a.of]
    if not given:
        return []
    source = r.choice(given)
    known: Margins = {source.name: (0, 0)}
    bare: set[str] = set()
    """Arrays some of whose elements nothing has written."""
    lines: list[str] = []
    sizes = [scope.extent(dim) for dim in source.dims]
    shape = sizes[0] if len(sizes) == 1 else f"({', '.join(sizes)})"
    for _ in range(r.choice((1, 1, 2, 2, 3, 4))):
        name, whole = scope.name("tmp"), sorted(known.keys() - bare)
        kind = r.random()
        if kind < 0.12 and len(sizes) == 1:
            helper = r.choice(sorted(_HELPERS))
            scope.helpers[helper] = _HELPERS[helper]
            lines.append(f"{name} = {helper}({r.choice(whole)})")
            known[name] = (0, 0)
        elif kind < 0.24:
            lines.append(f"{name} = {r.choice(whole)} * {number(scope, 1)} + {r.choice(whole)}")
            known[name] = (0, 0)
        elif kind < 0.32:
            lines += _sums(scope, source, name, sizes)
            known[name] = (0, 0)
        else:
            made = r.choice(_MADE)
            bare |= {name} if "empty" in made else set()
            lines.append(f"{name} = {made.format(shape)}")
            lines += _loop(scope, known, bare, name, sizes)
        if name not in bare:
            scope.arrays.append(Array(name, source.dims, "float64"))
    outs = [a.name for a in given if a.dims == source.dims]
    for _ in range(r.choice((1, 1, 1, 2))):
        lines += _loop(scope, dict(known), bare, r.choice(outs), sizes)
    if len(sizes) == 1 and r.random() < 0.15:  # a sum that nothing reads
        lines += [f"total = np.zeros({sizes[0]} + 1)", f"for ts in range({sizes[0]}):",
                  *indented([f"total[0] += {source.name}[ts]"])]
    return lines


def _sums(scope: Scope, source: Array, name: str, sizes: list[str]) -> Lines:
    """An array to whose elements an inner loop adds, or multiplies them, not always at the same place."""
    r, shape = scope.r, sizes[0] if len(sizes) == 1 else f"({', '.join(sizes)})"
    counters = ["ti", "tj", "tk"][:len(sizes)]
    here, end = ", ".join(counters), r.choice(("3", sizes[-1], "1", f"{sizes[0]} - 2"))
    other = ", ".join([*counters[:-1], "ts"])
    place = here if r.random() < 0.8 else ", ".join([*counters[:-1], r.choice(("0", f"{sizes[-1]} - 1", "ts"))])
    added = f"{name}[{place}] {r.choice(('+=', '*=', '-='))} {source.name}[{r.choice((here, other))}]"
    inner = [f"if {source.name}[{here}] > 1.0:", *indented([added])] if r.random() < 0.15 else [added]
    body = [f"for ts in range({end}):", *indented(inner)]
    if r.random() < 0.3:
        body.insert(0, f"{name}[{here}] = {r.choice(('1.0', f'{source.name}[{here}]'))}")
    for at in range(len(sizes))[::-1]:
        body = [f"for {counters[at]} in range({sizes[at]}):", *indented(body)]
    return [f"{name} = {r.choice(_MADE[3:5]).format(shape)}", *body]


def _loop(scope: Scope, known: Margins, bare: set[str], target: str, sizes: list[str]) -> list[str]:
    """A nest that stores to `target`, which is `known` after it."""
    r = scope.r
    operands = [r.choice(sorted(known)[-3:]) for _ in range(3)]
    careful = not bare.isdisjoint(operands)
    reach, wrong = r.choice((0, 0, 1, 1, 2)), not careful and r.random() < 0.15
    low, high = (max(known[name][side] for name in operands) + reach for side in (0, 1))
    if r.random() < 0.2:
        low, high = (max(0, each + r.choice((0 if careful else -1, 1))) for each in (low, high))
    counters = ["ti", "tj", "tk"][:len(sizes)]

    def place() -> str:
        moved = r.randrange(len(counters))
        shift = r.randint(-reach - wrong, reach + wrong)
        moves = {moved: f" {'-' if shift < 0 else '+'} {abs(shift)}" if shift else ""}
        return ", ".join(f"{each}{moves.get(at, '')}" for at, each in enumerate(counters))

    reads = [f"{name}[{place()}]" for name in operands]
    if r.random() < 0.2 and (others := [a for a in scope.arrays if len(a.dims) == 1 and a.number == "float" and not a.of]):
        at = counters[-1] if r.random() < 0.6 else f"int(abs({reads[1]})) % 4"
        reads[1] = f"{r.choice(others).name}[{at}]"
    body = [f"{target}[{', '.join(counters)}] {'=' if target in bare else r.choice(('=',) * 8 + ('+=',))} {r.choice(_VALUES).format(*reads)}"]
    if r.random() < 0.07 and target not in bare:
        body = [f"if {reads[0]} > {number(scope, 1)}:", *indented(body)]
    order, row = list(range(len(counters))), ""
    if len(counters) > 1 and operands[0] not in bare and r.random() < 0.2:
        row = f"row = {operands[0]}[{', '.join([counters[0], *('0' for _ in counters[1:])])}] * {r.choice(('1e300', '0.5'))}"
        body[-1] += " + row" if "row" not in body[-1] else ""
    if r.random() < 0.2:
        order.reverse()
    for at in order[::-1]:
        start, stop = str(low), f"{sizes[at]}{f' - {high}' if high else ''}"
        spans = f"{start}, {stop}" if low else stop
        if r.random() < 0.08:
            spans = f"{stop} - 1, {low - 1}, -1"
        body = [f"for {counters[at]} in range({spans}):", *indented([row, *body] if row and at == 0 else body)]
    known[target] = (low, high)
    return body
