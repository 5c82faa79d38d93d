"""A random kernel from a seed: its parameters, its text, its sets of arguments."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.generator.kernels.bodies import bodies
from tests.generator.kernels.columns import columns
from tests.generator.kernels.expressions import condition, number
from tests.generator.kernels.hashes import hashes
from tests.generator.kernels.inputs import DTYPES, Inputs, Param, draw_inputs
from tests.generator.kernels.scope import TABLE, Array, Scope
from tests.generator.kernels.series import series
from tests.generator.kernels.statements import Lines, block, counted, indented, nest, statement
from tests.generator.kernels.stencils import stencils
from tests.generator.kernels.sweeps import sweeps
from tests.generator.kernels.temporaries import temporaries

OF, COLUMNS, SWEEPS, SERIES, FORMULAS, HASHES, BODIES, TEMPORARIES = 8, 5, 3, 6, 7, 1, 4, 2
"""Seeds that leave these rests of 8 give a nest of `columns`, `series` or `bodies`, over long rows, `sweeps`,
`_formula`, `hashes`, or `temporaries` and `stencils`."""
SETS = 4
"""Sets of arguments for each kernel."""
_DIMS = ("n", "m", "k")


@dataclass(frozen=True)
class Kernel:
    """`source` is a module; its function `main` is the kernel."""

    seed: int
    source: str
    inputs: tuple[Inputs, ...]


def generate(seed: int) -> Kernel:
    """The kernel of a seed; a seed gives the same kernel always."""
    r = Random(f"kernel {seed}")
    tame = r.random() < 0.45
    params = _params(r, tame=tame)
    if seed % OF == HASHES and r.random() < 0.7:
        params = tuple(replace(p, dtype="uint64") if p.is_array and not p.of and r.random() < 0.6 else p for p in params)
    if seed % OF in (BODIES, TEMPORARIES):
        params = tuple(replace(p, dtype="float64", dims=p.dims[:2 if seed % OF == BODIES else 3]) if p.is_array and not p.of and r.random() < 0.8 else p for p in params)
    arrays = [Array(p.name, p.dims, p.dtype, p.of) for p in params if p.is_array]
    scope = Scope(r, params, arrays, {}, numbers={p.name: p.number for p in params if p.number in ("int", "float")},
                  left=[r.choice((2, 3, 4, 6, 10, 30))], tame=tame)
    wide, prologue = "", _prologue(scope)
    if seed % OF == COLUMNS:
        lines, wide = columns(scope)
    elif seed % OF == SERIES and all(array.dims for array in scope.arrays):
        lines, wide = series(scope)
    elif seed % OF == BODIES:
        lines, wide = bodies(scope)
    elif seed % OF == FORMULAS:
        lines = _formula(scope)
    elif seed % OF == HASHES:
        lines = hashes(scope)
    elif seed % OF == TEMPORARIES:
        lines = (temporaries if r.random() < 0.4 else stencils)(scope)
    else:
        lines = sweeps(scope) if seed % OF == SWEEPS else []
    body = [*prologue, *(lines or _body(scope))]
    last = _result(scope)
    body += [*_views(seed, scope), *_exchanged(seed, scope), *_other_results(seed, scope, bool(last)), *last]
    named = set(re.findall(r"\w+", "\n".join(body)))
    params = tuple(p for p in params if p.name in named or not p.is_array)  # the role of one that is not used is not known
    if not any(p.is_array for p in params):
        params = (*params, Param(arrays[0].name, arrays[0].dims, arrays[0].dtype))
    body = [*(f"{p.name}_size = {p.name}.size" for p in params if p.is_array and not _used_as_array(p.name, body)), *body]
    defaults = _defaults(seed, params)
    head = f"def main({', '.join(p.name + defaults.get(p.name, '') for p in params)}):"
    texts = [*scope.tables.values(), *scope.helpers.values(), "\n".join([head, *indented(body)]) + "\n"]
    source = "import math\n\nimport numpy as np\n\n\n" + "\n\n".join(texts)
    written = _written(source)
    params = tuple(Param(p.name, p.dims, p.dtype, p.number, p.of, p.name in written) for p in params)
    inputs = [draw_inputs(r, params, scope.deepest[0], None, wide=wide)]
    inputs += [draw_inputs(r, params, scope.deepest[0], inputs[0], tame=tame, wide=wide) for _ in range(SETS - 1)]
    if seed % OF == HASHES:  # which wrap around, with warnings
        inputs = [replace(one, mode="ignore") if r.random() < 0.5 else one for one in inputs]
    return Kernel(seed, source, tuple(_shortened(seed, inputs, defaults)))


def _defaults(seed: int, params: Sequence[Param]) -> dict[str, str]:
    """The defaults of some of the last parameters."""
    r, found = Random(f"defaults {seed}"), dict[str, str]()
    for param in reversed(params):
        if param.number not in ("int", "float") or r.random() < 0.5:
            break
        found[param.name] = "=" + r.choice(("2", "3", "-1") if param.number == "int" else ("0.5", "-1.25", "2.0"))
    return found


def _shortened(seed: int, inputs: Sequence[Inputs], defaults: Mapping[str, str]) -> Iterator[Inputs]:
    """Sets of arguments that leave some of those to their defaults."""
    r = Random(f"left out {seed}")
    for one in inputs:
        given, left = list(one.given), r.randint(0, len(defaults))
        for at in range(len(given) - left, len(given)):
            given[at] = f"{given[at][0]}_", given[at][1]
        yield replace(one, given=tuple(given))


def _used_as_array(name: str, body: Lines) -> bool:
    return any(re.search(rf"\b{name}(\[|\.(shape|size|ndim|dtype))|len\({name}\)", line) for line in body)


def _params(r: Random, *, tame: bool) -> tuple[Param, ...]:
    rank = r.choices((1, 2, 3), (4, 4, 1))[0]
    other = 0.1 if tame else 0.35
    common = r.choice(("float64", "float64", "float64", "float32", "int64", r.choice(DTYPES)))
    found: list[Param] = []
    for name in ("a", "b", "c", "out")[:r.choice((1, 2, 2, 3, 3, 4))]:
        own = rank if r.random() < 0.7 else r.randrange(1, rank + 1)
        dims = _DIMS[:own] if r.random() < 0.75 else tuple(r.sample(_DIMS[:max(rank, own)], own))
        found.append(Param(name, dims, common if r.random() >= other else r.choice(DTYPES)))
    used = sorted({dim for param in found for dim in param.dims})
    if r.random() < 0.3:
        found.append(Param("idx", (r.choice(used),), r.choice(("int64", "int64", "int32", "int8", "uint8")), of=r.choice(used)))
    if r.random() < 0.4:
        dim = r.choice(used)
        found.append(Param(dim, number="extent", of=dim))
    if r.random() < 0.4:
        found.append(Param("y", number="float"))
    if r.random() < 0.25:
        found.append(Param("q", number="int"))
    return tuple(found)


def _prologue(scope: Scope) -> Lines:
    """Names for the extents, as people begin kernels."""
    r, lines = scope.r, []
    given = {p.of for p in scope.params if p.number == "extent"}
    for dim in given:
        scope.extents[dim] = [dim]
    for array in list(scope.arrays):
        for axis, dim in enumerate(array.dims):
            texts = scope.extents.setdefault(dim, [])
            texts.append(f"{array.name}.shape[{axis}]")
            if axis == 0 and r.random() < 0.6:
                texts.append(f"len({array.name})")
            if len(array.dims) == 1 and r.random() < 0.2:
                texts.append(f"{array.name}.size")
        if len(array.dims) > 1 and not given & set(array.dims) and len(set(array.dims)) == len(array.dims) and r.random() < 0.6:
            lines.append(f"{', '.join(array.dims)} = {array.name}.shape")
            for dim in array.dims:
                scope.extents[dim] = [dim]
            given |= set(array.dims)
    for dim in sorted(set(scope.extents) - given):
        if r.random() < 0.5:
            lines.append(f"{dim} = {scope.extent(dim)}")
            scope.extents[dim] = [dim]
    return lines


def _body(scope: Scope) -> Lines:
    r, lines = scope.r, []
    if r.random() < 0.6:
        name = scope.name("s")
        scope.numbers[name] = r.choice(("float", "int"))
        lines.append(f"{name} = {r.choice(('0.0', '0.0', '1.0')) if scope.numbers[name] == 'float' else '0'}")
    if r.random() < 0.1:
        scope.tables[TABLE] = "TABLE = np.array([0.5, -1.0, 2.0, 3.5, 0.0, 1.5, 7.0])\n"
        scope.arrays.append(Array(TABLE, ("seven",), "float64"))
        scope.extents["seven"] = ["7", "len(TABLE)"]
    for _ in range(r.choice((0, 0, 1, 1, 2))):
        lines += statement(scope)
    for _ in range(r.choice((1, 1, 2, 2, 3))):
        lines += nest(scope) if scope.tame and r.random() < 0.8 else counted(scope)
    return lines or block(scope)


def _formula(scope: Scope) -> Lines:
    """A loop nest that writes elements of an array which it does not read, by arithmetic that may warn and not fail."""
    r, out = scope.r, scope.arrays[-1]
    names = dict(zip(out.dims, "ijl", strict=False))
    read = [f"{a.name}[{', '.join(names[dim] for dim in a.dims)}]" for a in scope.arrays[:-1]
            if a.dtype == "float64" and set(a.dims) <= set(out.dims)]
    text = r.choice([*read, "1.0"])
    for _ in range(r.randint(1, 4)):
        text = f"({text} {r.choice('+-*//')} {r.choice([*read, *names.values(), '0.5', '3.0', '1e200'])})"
    lines = [f"{out.name}[{', '.join(names.values())}] = {text}"]
    for axis, name in reversed(list(enumerate(names.values()))):
        lines = [f"for {name} in range({out.name}.shape[{axis}]):", *indented(lines)]
    return lines


def _other_results(seed: int, scope: Scope, returns: bool) -> Lines:
    """Returns of something else under a condition: of another kind or dtype, None, a string, an array, a tuple."""
    before, scope.r = scope.r, Random(f"results {seed}")
    lines: Lines = []
    while scope.r.random() < (0.3 if returns else 0.15):
        lines += [f"if {condition(scope)}:", *indented([f"return {_other(scope)}"])]
    scope.r = before
    return lines


def _other(scope: Scope) -> str:
    r, array = scope.r, scope.r.choice(scope.arrays)
    item = f"{array.name}[{', '.join('0' for _ in array.dims) or '()'}]"
    return r.choice((item, item, "0", "-1", "0.5", "True", "None", "'found'", "2**63", number(scope, 1), array.name,
                     f"{array.name}[1:]" if array.dims else "1", f"{item}, 0", "None, 2", "-1.0, 'x'", f"[{item}, 1]",
                     f"{{'low': {item}, 'rest': (2, None)}}", f"[{array.name}, 'x']", "complex(0.5, 1)", "f'{2 + 1} of 5'"))


def _views(seed: int, scope: Scope) -> Lines:
    """A name that means another part of an array, or another array, after a turn of a loop."""
    r, found = Random(f"views {seed}"), [array for array in scope.arrays if array.dims]
    if r.random() < 0.85 or not found:
        return []
    array, other = r.choice(found), r.choice(found)
    start = r.choice((array.name, f"{array.name}[0:]", f"{array.name}[1:]"))
    parts = ["w[1:]", "w[len(w) // 2:]", "w[:len(w) // 2]", "w[:-1]", "w[1:-1]", array.name]
    parts += [other.name, f"{other.name}[1:]"] if len(other.dims) == len(array.dims) and other.dtype == array.dtype else []
    item = f"w[{', '.join('0' for _ in array.dims)}]"
    body = [f"w = {r.choice(parts)}"]
    if r.random() < 0.4:
        body = [f"if {item} > 0:", f"    w = {r.choice(parts)}", "else:", *indented(body)]
    if r.random() < 0.4:
        written = f"{array.name}[{', '.join('0' for _ in array.dims)}]" if r.random() < 0.3 else item
        body.insert(0, f"{written} = 1")
    return [f"w = {start}", "met = 0.0", "turns = 0", "while len(w) > 1 and turns < 5:", *indented(["turns += 1", f"met += {item}", *body]),
            *(["if len(w) > 2:", "    return w"] if r.random() < 0.3 else []), "if turns > 3:", "    return met"]


def _exchanged(seed: int, scope: Scope) -> Lines:
    """Numbers of Python's and of an array that change places in a loop, and a part that gets a number of any size."""
    r, found = Random(f"exchanged {seed}"), [array for array in scope.arrays if len(array.dims) == 1 and array.number != "bool"]
    if r.random() < 0.85 or not found:
        return []
    array, names = r.choice(found), ["e1", "e2", "e3"][:r.choice((2, 3))]
    body: Lines = []
    for _ in range(r.choice((2, 3, 4))):
        one, other = r.sample(names, 2)
        line = r.choice((f"{one}, {other} = {other}, {one}", f"{one} = e", f"{one} = -{other}",
                         f"{one} = {r.choice(('-7', f'2 - len({array.name})'))}",
                         f"{one} = {r.choice(('min', 'max'))}(e, 0)"))
        test = r.choice(("e < 2", f"e < {one}", f"{one} < {other}"))
        body += [line] if r.random() < 0.4 else [f"if {test}:", *indented([line])]
    part = f"{array.name}[{r.choice(('1:', '2:', ':-1', '3:'))}]"
    stored = [f"{part} = {r.choice(('-1', '300', '7', '2.5', 'e1'))}"] if r.random() < 0.3 else []
    return [f"{' = '.join(names)} = {r.choice(('0', '1.0', 'math.inf'))}", f"for e in {array.name}:", *indented(body), *stored,
            *([f"if {condition(scope)}:", *indented([f"return {', '.join(names)}"])] if r.random() < 0.5 else [f"return {', '.join(names)}"])]


def _result(scope: Scope) -> Lines:
    r = scope.r
    if r.random() < 0.4:
        return []
    names = [*scope.numbers]
    choices = [lambda: number(scope, 2)]
    if names:
        choices += [lambda: r.choice(names), lambda: f"{r.choice(names)}, {r.choice(names)}"]
    choices += [lambda: r.choice(scope.arrays).name] * 2
    if names:
        choices.append(lambda: f"{r.choice(scope.arrays).name}, {r.choice(names)}")
    return [f"return {r.choice(choices)()}"]


def _written(source: str) -> set[str]:
    """Names of arrays whose elements are stored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        tree = ast.parse(source)
    return {node.value.id for node in ast.walk(tree)
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)}
