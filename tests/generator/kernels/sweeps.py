"""Random nests one after the other over the same rows, which read what those before have written: what may run as one."""

from __future__ import annotations

from dataclasses import replace

from tests.generator.kernels.expressions import condition, number
from tests.generator.kernels.scope import TABLE, Array, Index, Scope
from tests.generator.kernels.statements import Lines, indented

_PAD = "    "
_NAMES = ("ri", "rj", "rk")


def sweeps(scope: Scope) -> Lines:
    """Two to four nests over an array of two or three axes; nothing where there is none."""
    r = scope.r
    scope = replace(scope.inner(loop=True), tame=True)
    wide = [a for a in scope.arrays if a.name != TABLE and len(a.dims) > 1 and a.number == "float"]
    if not wide:
        return []
    base = r.choice(wide)
    extents = [scope.extent(dim) for dim in base.dims]
    shape = ", ".join(extents)
    fresh = [Array(scope.name("tmp"), base.dims, "float64") for _ in range(r.choice((0, 1, 1, 2)))]
    lines = [f"{array.name} = np.{r.choice(('empty', 'empty', 'zeros'))}(({shape}))" for array in fresh]
    targets = [*fresh, *(r.choice(wide) for _ in range(r.choice((1, 2))))]
    nests: Lines = []
    for target in targets if len(targets) > 1 else [*targets, r.choice(wide)]:
        nests += _nest(scope, target, extents if target in fresh else None)
        scope.arrays.append(target)
        if target in fresh and r.random() < 0.4:
            scope.arrays = [a for a in scope.arrays if a.name in {each.name for each in wide}] + fresh[:1 + fresh.index(target)]
    if r.random() < 0.4:
        nests = [f"for step in range({r.choice('123')}):", *indented(nests)]
    return lines + nests


def _nest(scope: Scope, target: Array, whole: list[str] | None) -> Lines:
    """Loops over the axes, and stores of elements; `whole`: of all of an array of these extents."""
    r, inner, heads = scope.r, scope.inner(loop=True), []
    for axis, (name, dim) in enumerate(zip(_NAMES, target.dims, strict=False)):
        low, high = (0, 0) if whole else r.choice(((0, 0), (1, 1), (1, 1), (0, 1), (1, 0), (2, 1)))
        inner.indices = [*inner.indices, Index(name, dim, low, high)]
        start = f"{low}, " if low else ""
        extent = whole[axis] if whole else inner.extent(dim)
        heads.append(f"for {name} in range({start}{extent}{f' - {high}' if high else ''}):")
    place = f"{target.name}[{', '.join(_NAMES[:len(target.dims)])}]"
    body = [f"{place} = {number(inner)}"]
    way = r.random()
    if way < 0.2:
        body = [f"if {condition(inner, 1)}:", _PAD + body[0], "else:", f"{_PAD}{place} = {number(inner, 1)}"]
    elif way < 0.3 and not whole:
        body = [f"if {condition(inner, 1)}:", _PAD + body[0]]
    elif way < 0.4:
        body = [f"d = {number(inner, 1)}", f"{place} = d * d + {number(inner, 1)}"]
    for head in reversed(heads):
        body = [head, *indented(body)]
    return body
