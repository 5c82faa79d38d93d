"""Random statements of kernels: loops over dimensions, stores, reductions, scans, temporaries, views, helpers."""

from __future__ import annotations

from collections.abc import Callable

from tests.generator.kernels import folded, wholes
from tests.generator.kernels.expressions import atom, condition, element, index, integer, number
from tests.generator.kernels.inputs import DTYPES
from tests.generator.kernels.scope import TABLE, Array, Index, Scope

Lines = list[str]
Choice = tuple[float, Callable[[], Lines]]
_PAD = "    "


def indented(lines: Lines) -> Lines:
    return [_PAD + line for line in lines]


def block(scope: Scope, most: int = 3) -> Lines:
    """The statements of an inner block; at least one."""
    if scope.left[0] <= 0:
        return store(scope)
    return [line for _ in range(scope.r.randrange(1, most + 1)) for line in statement(scope)]


def statement(scope: Scope) -> Lines:
    r, looping = scope.r, bool(scope.loops)
    scope.left[0] -= 1
    if scope.left[0] < 0 or scope.tame and looping and r.random() < 0.4:
        return r.choice((store, store, updated))(scope)
    choices: list[Choice] = [
        (6.0 if looping else 0.6, lambda: store(scope)),
        (2.5 if looping else 0.4, lambda: updated(scope)),
        (2.0, lambda: assigned(scope)),
        (1.8 if looping else 0.3, lambda: reduced(scope)),
        (2.0 if looping else 0.6, lambda: branched(scope)),
        (0.9, lambda: temporary(scope)),
        (0.6, lambda: view(scope)),
        (0.5, lambda: whole(scope)),
        (0.0 if scope.tame else 0.6, lambda: wholes.selected(scope)),
        (0.5, lambda: helped(scope)),
        (1.0 if looping else 0.2, lambda: folded.repeated(scope)),
        (0.0 if scope.tame else 0.4, lambda: folded.known(scope)),
        (0.15, lambda: swapped(scope)),
        (0.3, lambda: unpacked(scope)),
        (0.9 if any(a.dtype == "float32" for a in scope.arrays) else 0.4, lambda: few(scope)),
        (0.0 if scope.tame else 0.35, lambda: refused_values(scope)),
    ]
    if scope.loops < 3:
        choices += [(4.5 if scope.loops < 2 else 1.0, lambda: counted(scope)), (0.5, lambda: conditional_loop(scope)),
                    (0.4, lambda: iterated(scope))]
    if scope.inside and r.random() < 0.5:
        choices.append((0.8, lambda: [f"if {condition(scope, 1)}:", _PAD + r.choice(("break", "continue"))]))
    return r.choices([make for _, make in choices], [weight for weight, _ in choices])[0]()


# --- stores


def fitting(scope: Scope, array: Array) -> str:
    """A value for an element; one of another kind now and then."""
    if scope.r.random() < 0.12:
        return number(scope)
    if array.number == "bool":
        return condition(scope, 1)
    return integer(scope) if array.number == "int" else number(scope)


def target(scope: Scope) -> Array:
    """An array to write; those of the module are only read."""
    return scope.r.choice([a for a in scope.arrays if a.name != TABLE])


def store(scope: Scope) -> Lines:
    array = target(scope)
    return [f"{element(scope, array)} = {fitting(scope, array)}"]


def updated(scope: Scope) -> Lines:
    array = target(scope)
    operators = {"bool": ("|", "&", "^"), "int": ("+", "-", "*", "+", "|", "^", "//"), "float": ("+", "-", "*", "+", "/")}
    return [f"{element(scope, array)} {scope.r.choice(operators[array.number])}= {fitting(scope, array)}"]


# --- numbers


def assigned(scope: Scope) -> Lines:
    r = scope.r
    kind = r.choice(("float", "float", "int", "bool"))
    made = {"float": number, "int": integer, "bool": condition}[kind](scope)
    old = scope.of_number(kind)
    name = r.choice(old) if old and r.random() < 0.4 else scope.name({"float": "x", "int": "p", "bool": "flag"}[kind])
    if kind == "int" and (name in made or "*" in made):
        made = f"{made} % 1009"
    counters = [i.name for i in scope.indices if not i.name.startswith("w")]
    if r.random() < 0.03 and counters and kind == "int":
        name = r.choice(counters)
    scope.drop(name)
    scope.numbers[name] = kind
    return [f"{name} = {made}"]


def reduced(scope: Scope) -> Lines:
    r = scope.r
    old = scope.of_number("float", "int")
    if not old:
        return assigned(scope)
    name = r.choice(old)
    if scope.numbers[name] == "int":
        return [f"{name} = ({name} {r.choice('+-^')} {integer(scope, 1)}) % 1009" if r.random() < 0.5 else
                f"{name} {r.choice('+-|')}= {integer(scope, 2)}"]
    return [r.choice((f"{name} += {number(scope, 1)}", f"{name} = {name} * 0.5 + {number(scope, 1)}", f"{name} -= {number(scope, 2)}",
                      f"{name} = max({name}, {number(scope, 1)})", f"{name} = {number(scope, 1)} + {name}"))]


def unpacked(scope: Scope) -> Lines:
    """A row as numbers; one of another length now and then."""
    r, pair = scope.r, scope.name("pair")
    names = [scope.name("u"), scope.name("v")]
    dim = r.choice([*scope.extents])
    dtype = r.choice(("", ", np.int64", ", np.float32", ", np.uint64"))
    lines = [f"{pair} = np.full(({scope.extent(dim)}, {'2' if r.random() < 0.9 else '3'}), 2{dtype})",
             f"{pair}[{index(scope, dim)}, {r.choice('01')}] = {integer(scope, 1)}",
             f"{', '.join(names)} = {pair}[{index(scope, dim)}]"]
    scope.numbers.update(dict.fromkeys(names, "int" if "int" in dtype else "float"))
    return lines


def few(scope: Scope) -> Lines:
    """An array of three numbers, which is no memory in the twin, and what is made of it."""
    r, name, result = scope.r, scope.name("w"), scope.name("x")
    made = r.choice(("np.zeros(3)", "np.ones(3)", "np.full(3, 0.5)", "np.zeros(3, np.float64)", "np.zeros(3, dtype=np.int64)"))
    value = integer if "int" in made else r.choice((number, lambda scope, _: atom(scope)))
    lines = [f"{name} = {made}", *[f"{name}[{place}] = {value(scope, 1)}" for place in range(r.choice((1, 3)))]]
    if r.random() < 0.5:
        place = r.choice("012")
        lines += [f"if {condition(scope, 1)}:", f"{_PAD}{name}[{place}] = {value(scope, 1)}", "else:",
                  f"{_PAD}{name}[{place}] = {value(scope, 2)}"]
    use = ("{w}[0] * {w}[1] - {w}[2]", "np.sum({w} * {w})", "({w} / 3.0)[1]", "np.sum(np.square({w}))", "{w}[2] * {x}")
    lines.append(f"{result} = {r.choice(use).format(w=name, x=atom(scope))}")
    scope.numbers[result] = "float"
    return lines


def branched(scope: Scope) -> Lines:
    r = scope.r
    inner = scope.inner()
    lines = [f"if {condition(scope)}:", *indented(block(inner, 2))]
    if r.random() < 0.15:
        lines += [f"elif {condition(scope)}:", *indented(block(scope.inner(), 2))]
    if r.random() < 0.45:
        lines += ["else:", *indented(block(scope.inner(), 2))]
    return lines


# --- loops


def counted(scope: Scope) -> Lines:
    """`for i in range(...)` over a dimension, or a part of it."""
    r = scope.r
    scope.left[0] -= 1
    dims = [dim for dim in scope.extents if sum(i.dim == dim for i in scope.indices) < 1 + (r.random() < 0.3)]
    if not dims:
        return store(scope)
    dim = r.choice(dims)
    name = next((n for n in ("i", "j", "l", "i2", "j2", "l2", "i3", "j3") if n not in {i.name for i in scope.indices}), "z")
    extent, inner = scope.extent(dim), scope.inner(loop=True)
    inner.drop(name)
    before = inner.indices
    text, made = _range(scope, name, dim, extent)
    inner.indices = [*before, made]
    lines = [f"for {name} in {text}:", *indented(block(inner))]
    return lines + _otherwise(scope) + _afterwards(scope, name)


def nest(scope: Scope) -> Lines:
    """Loops over all dimensions of an array, one in another, with few statements before the innermost."""
    r = scope.r
    dims = list(r.choice(scope.arrays).dims)
    if r.random() < 0.2:
        r.shuffle(dims)
    return _nested(scope, [dim for dim in dims if dim in scope.extents])


def _nested(scope: Scope, dims: list[str]) -> Lines:
    if not dims or scope.loops >= 3:
        return [line for _ in range(scope.r.choice((1, 1, 2, 3))) for line in statement(scope)]
    name = next((n for n in ("i", "j", "l", "i2", "j2", "l2") if n not in {i.name for i in scope.indices}), "z")
    inner = scope.inner(loop=True)
    inner.drop(name)
    text, made = _range(scope, name, dims[0], scope.extent(dims[0]))
    inner.indices = [*inner.indices, made]
    before = statement(inner) if scope.r.random() < 0.15 else []
    return [f"for {name} in {text}:", *indented([*before, *_nested(inner, dims[1:])])]


def _range(scope: Scope, name: str, dim: str, extent: str) -> tuple[str, Index]:
    r = scope.r
    same = [i for i in scope.indices if i.dim == dim]
    way = r.random() * (0.7 if scope.tame else 1.0)
    if scope.tame and r.random() < 0.15:
        return f"range({extent} - 1, -1, -1)", Index(name, dim)
    if way < 0.4:
        return f"range({extent})", Index(name, dim)
    if way < 0.62:
        low, high = r.choice(((1, 1), (1, 0), (0, 1), (2, 2), (2, 1)))
        return f"range({low}, {extent}{f' - {high}' if high else ''})", Index(name, dim, low, high)
    if way < 0.70:
        return f"range({r.choice('01')}, {extent}, {r.choice('23')})", Index(name, dim)
    if way < 0.80:
        return r.choice((f"range({extent} - 1, -1, -1)", f"range({extent} - 1, -1, -2)", f"reversed(range({extent}))")), Index(name, dim)
    if way < 0.84:
        return f"range({extent} - 2, -1, -1)", Index(name, dim, 0, 1)
    if way < 0.86:
        return f"range({extent}, 0, -1)", Index(name, dim, 1, -1)
    if same and way < 0.95:
        outer = r.choice(same)
        return r.choice((
            (f"range({outer.name})", Index(name, dim, 0, outer.high + 1)),
            (f"range({outer.name} + 1)", Index(name, dim, 0, outer.high)),
            (f"range({outer.name}, {extent})", Index(name, dim, outer.low)),
            (f"range({outer.name} + 1, {extent})", Index(name, dim, outer.low + 1)),
            (f"range({outer.name} - 1, -1, -1)", Index(name, dim, 0, outer.high + 1)),
        ))
    if way < 0.96 and scope.of_number("int"):
        return f"range({r.choice(scope.of_number('int'))} % 5)", Index(name, dim)
    return f"range({r.choice('0234')})", Index(name, dim)


def _otherwise(scope: Scope) -> Lines:
    return ["else:", *indented(block(scope.inner(), 1))] if scope.r.random() < 0.05 else []


def _afterwards(scope: Scope, name: str) -> Lines:
    """The variable of a loop after it, which is not bound where the loop had no trip."""
    if scope.r.random() > 0.06:
        return []
    result = scope.name("last")
    scope.numbers[result] = "int"
    return [f"{result} = {name}"]


def conditional_loop(scope: Scope) -> Lines:
    """A while loop with a counter, and a condition on data; or one that changes an element until it is small."""
    r, array = scope.r, target(scope)
    if array.number == "float" and r.random() < 0.3:
        place = element(scope, array)
        return [f"while 1.0 < {place} < 1e6:", f"{_PAD}{place} = {place} * {r.choice(('0.5', '0.25'))} - 0.25"]
    name = scope.name("w")
    inner = scope.inner(loop=True)
    dim = r.choice([*scope.extents])
    inner.indices.append(Index(name, dim))
    test = f"{name} < {scope.extent(dim)}"
    if r.random() < 0.6:
        test += f" and {condition(inner, 1)}"
    body = block(inner, 2)
    if any(line.strip() == "continue" for line in body):  # the counter would stand still
        body = [line.replace("continue", "break") for line in body]
    return [f"{name} = {r.choice('001')}", f"while {test}:", *indented(body), f"{_PAD}{name} += {r.choice('112')}"]


def iterated(scope: Scope) -> Lines:
    """Loops over elements: `for v in a`, enumerate, zip."""
    r = scope.r
    rows = [a for a in scope.arrays if len(a.dims) == 1]
    if not rows:
        return counted(scope)
    array, other = r.choice(rows), r.choice(rows)
    inner, name = scope.inner(loop=True), scope.name("v")
    if array.number != "bool":
        inner.numbers[name] = array.number
    way = r.randrange(4)
    if way == 0:
        return [f"for {name} in {array.name}:", *indented(block(inner, 2))]
    if way == 1:
        place = scope.name("e")
        inner.indices.append(Index(place, array.dims[0]))
        return [f"for {place}, {name} in enumerate({array.name}):", *indented(block(inner, 2))]
    if way == 2:
        second = scope.name("u")
        inner.numbers[second] = other.number if other.number != "bool" else "int"
        return [f"for {name}, {second} in zip({array.name}, {other.name}):", *indented(block(inner, 2))]
    return [f"for {name} in {array.name}[{r.choice(('::-1', '1:', ':2', '::2'))}]:", *indented(block(inner, 2))]


# --- arrays


def temporary(scope: Scope) -> Lines:
    """An array made inside, which is never read before it is written."""
    r = scope.r
    name, like = scope.name("t"), r.choice(scope.arrays)
    dims = like.dims if r.random() < 0.5 else tuple(r.choice([*scope.extents]) for _ in range(r.choice((1, 1, 2))))
    shape = [scope.extent(dim) for dim in dims]
    dtype = r.choice(("", "", ", np.float64", ", np.float32", ", np.int64", ", np.int32", ", dtype=np.uint8", f", {like.name}.dtype"))
    kind = like.dtype if like.name in dtype else dtype.rpartition("np.")[2] or "float64"
    text = shape[0] if len(shape) == 1 else f"({', '.join(shape)})"
    whole_like = r.random()
    if whole_like < 0.15:
        text, dims, kind = f"np.{r.choice(('zeros_like', 'ones_like'))}({like.name})", like.dims, like.dtype
    elif whole_like < 0.2:
        text, dims, kind = f"{like.name}.copy()", like.dims, like.dtype
    elif whole_like < 0.35:
        text = f"np.full({text}, {r.choice(('0.5', '1.0', '-2.0'))})" if not dtype else f"np.full({text}, 2{dtype})"
    elif whole_like < 0.5:
        return _filled(scope, name, dims, shape, f"np.empty({text}{dtype})", kind)
    else:
        text = f"np.{r.choice(('zeros', 'zeros', 'ones'))}({text}{dtype})"
    if kind not in DTYPES:
        return store(scope)
    scope.drop(name)
    scope.arrays.append(Array(name, dims, kind))
    return [f"{name} = {text}"]


def _filled(scope: Scope, name: str, dims: tuple[str, ...], shape: list[str], made: str, kind: str) -> Lines:
    """An array of these extents, and the loops that write all of it: other names of an extent may have other values."""
    if kind not in DTYPES or len(dims) > 2:
        return store(scope)
    array, inner = Array(name, dims, kind), scope.inner(loop=True)
    names = [scope.name("f") for _ in dims]
    inner.indices += [Index(name, dim) for name, dim in zip(names, dims, strict=True)]
    lines = [f"{name}[{', '.join(names)}] = {fitting(inner, array)}"]
    for place, extent in zip(names[::-1], shape[::-1], strict=True):
        lines = [f"for {place} in range({extent}):", *indented(lines)]
    scope.arrays.append(array)
    return [f"{name} = {made}", *lines]


def view(scope: Scope) -> Lines:
    """A name for a part of an array: rows, columns, slices, the transposed."""
    r = scope.r
    array = r.choice(scope.arrays)
    if len(array.dims) == 1:
        name = scope.name("s")
        scope.arrays.append(Array(name, array.dims, array.dtype))
        scope.extents.setdefault(array.dims[0], []).append(f"len({name})")
        return [f"{name} = {array.name}[{r.choice(('1:', ':-1', '::-1', '::2', ':', '1:-1', '-3:', ':2'))}]"]
    name, place = scope.name("row"), index(scope, array.dims[0])
    if r.random() < 0.2:
        scope.arrays.append(Array(name, array.dims[::-1], array.dtype))
        return [f"{name} = {array.name}.T"]
    if r.random() < 0.3 and len(array.dims) == 2:
        scope.arrays.append(Array(name, array.dims[:1], array.dtype))
        return [f"{name} = {array.name}[:, {index(scope, array.dims[1])}]"]
    scope.arrays.append(Array(name, array.dims[1:], array.dtype))
    return [f"{name} = {array.name}[{place}]" if r.random() < 0.7 else f"{name} = {array.name}[{place}, :]"]


def whole(scope: Scope) -> Lines:
    """Expressions and assignments of whole arrays."""
    r = scope.r
    array = target(scope)
    same = r.choice([a for a in scope.arrays if a.dims == array.dims])
    result, copied = scope.name("x"), scope.name("t")
    way = r.randrange(9)
    if way == 0 and array.number != "bool":
        scope.numbers[result] = array.number
        return [f"{result} = {r.choice(('np.sum({a})', '{a}.sum()', '{a}.max()', 'np.min({a})', '{a}.size', 'sum({a})')).format(a=array.name)}"]
    if way == 1:
        return [f"{array.name}[{r.choice(('1:', ':', '::2'))}] = {atom(scope)}"]
    if way == 2:
        return [r.choice(("{a}[1:] = {a}[:-1]", "{a}[:-1] = {a}[1:]", "{a}[:] = {a}[::-1]", "{a}[:] = {b}", "{a}[1:] = {b}[:-1]")).format(
            a=array.name, b=same.name)]
    if way == 3 and array.number == "float":
        return [f"{array.name} {r.choice('+*-')}= {r.choice(('0.5', '2.0', same.name))}"]
    if way in (4, 5) and "bool" not in (array.number, same.number):
        joined = array.dtype if array.dtype == same.dtype else "float64" if "float" in (array.number, same.number) else "int64"
        if joined == "float64" and {array.dtype, same.dtype} != {"float64"} and array.dtype != same.dtype:
            return store(scope)
        scope.arrays.append(Array(copied, array.dims, joined))
        return [f"{copied} = {array.name} {r.choice('+-*')} {same.name}"]
    if way == 6:
        return [f"{array.name}.fill({r.choice('012')})" if r.random() < 0.3 else f"{array.name}[...] = {r.choice('012')}"]
    scope.numbers[result] = "int"
    return [f"{result} = {r.choice((f'{array.name}.ndim', f'{array.name}.size', f'len({array.name})', f'{array.name}.shape[-1]'))}"]


def swapped(scope: Scope) -> Lines:
    """Two names of arrays change places."""
    r = scope.r
    array = target(scope)
    others = [a for a in scope.arrays if (a.dims, a.dtype) == (array.dims, array.dtype) and a.name != array.name]
    if not others:
        return store(scope)
    other = r.choice(others).name
    return [f"{array.name}, {other} = {other}, {array.name}"]


def refused_values(scope: Scope) -> Lines:
    """What ends a kernel: raise, assert, an early return."""
    r = scope.r
    return r.choice(([f"if {condition(scope)}:", f'{_PAD}raise ValueError("bad value")'], [f"assert {condition(scope)}"],
                     [f"if {condition(scope)}:", f"{_PAD}return {number(scope, 2)}"]))


# --- helpers

HELPERS = {
    "pick": ("def pick(v, k):\n    return v[k]\n", "number"),
    "mean3": ("def mean3(v, k):\n    return (v[k - 1] + v[k] + v[k + 1]) / 3.0\n", "number"),
    "total": ("def total(v):\n    s = 0.0\n    for k in range(len(v)):\n        s += v[k]\n    return s\n", "whole"),
    "put": ("def put(v, k, x):\n    v[k] = x\n", "put"),
    "scale": ("def scale(v, x):\n    for k in range(v.shape[0]):\n        v[k] = v[k] * x\n    return v\n", "scale"),
    "limited": ("def limited(x, low=-1.0, high=1.0):\n    if x < low:\n        return low\n    return high if x > high else x\n", "scalar"),
    "find": ("def find(v, x):\n    for k in range(len(v)):\n        if v[k] > x:\n            return k\n    return -1\n", "find"),
    "both": ("def both(v, k):\n    return v[k], v[-k - 1]\n", "both"),
}


def helped(scope: Scope) -> Lines:
    """A call of a function of the module."""
    r = scope.r
    rows = [a for a in scope.arrays if len(a.dims) == 1 and a.number != "bool" and a.name != TABLE]
    if not rows:
        return assigned(scope)
    array, name = r.choice(rows), r.choice([*HELPERS])
    text, way = HELPERS[name]
    scope.helpers[name] = text
    place, result = index(scope, array.dims[0]), scope.name("x")
    if way == "put":
        return [f"put({array.name}, {place}, {fitting(scope, array)})"]
    if way == "scale":
        return [f"scale({array.name}, {r.choice('0123')})"]
    scope.numbers[result] = "int" if way == "find" else "float"
    if way == "both":
        return [f"{result}, {result}_ = both({array.name}, {place})"]
    arguments = {"number": f"{array.name}, {place}", "whole": array.name, "scalar": number(scope, 2), "find": f"{array.name}, {atom(scope)}"}
    return [f"{result} = {name}({arguments[way]})"]
