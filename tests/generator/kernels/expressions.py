"""Random expressions of kernels: indices, numbers of both flavours, conditions."""

from __future__ import annotations

from collections.abc import Callable

from tests.generator.kernels.scope import Array, Scope

Choice = tuple[float, Callable[[], str]]
_DEEP = 3


def choose(scope: Scope, *choices: Choice) -> str:
    weights = [weight for weight, _ in choices]
    return scope.r.choices([make for _, make in choices], weights)[0]()


# --- indices


def index(scope: Scope, dim: str) -> str:
    """An index into an axis of this dimension: most are inside, some wrap, few are outside."""
    r = scope.r
    inside = [i for i in scope.indices if i.dim == dim]
    if scope.tame and inside and r.random() < 0.95:
        return _affine(scope, dim)
    gathers = [a for a in scope.arrays if a.of == dim and len(a.dims) == 1]
    choices: list[Choice] = [(1.0 if not inside else 0.15, lambda: r.choice(("0", "-1", "1", "0", "2")))]
    if inside:
        choices += [(6.0, lambda: _affine(scope, dim)), (0.5, lambda: _mirrored(scope, dim))]
    if scope.indices and dim in scope.extents:
        choices.append((0.8, lambda: _wrapped(scope, dim)))
    if gathers:
        choices.append((2.0, lambda: _gathered(scope, r.choice(gathers))))
    if scope.of_number("int"):
        choices.append((0.15, lambda: f"{r.choice(scope.of_number('int'))} % {scope.extent(dim)}"))
    return choose(scope, *choices)


def _affine(scope: Scope, dim: str) -> str:
    r = scope.r
    i = r.choice([i for i in scope.indices if i.dim == dim])
    offsets = list(range(-i.low, i.high + 1)) or [0]
    offset = r.choice(offsets) if scope.tame or r.random() < 0.93 else r.choice((-i.low - 1, i.high + 1, -i.low - 2))
    if not offset:
        return i.name
    return f"{i.name} {'+' if offset > 0 else '-'} {abs(offset)}"


def _mirrored(scope: Scope, dim: str) -> str:
    i = scope.r.choice([i for i in scope.indices if i.dim == dim])
    return scope.r.choice((f"-{i.name} - 1", f"{scope.extent(dim)} - 1 - {i.name}", f"-{i.name}", f"{i.name} // 2"))


def _wrapped(scope: Scope, dim: str) -> str:
    r = scope.r
    terms = [i.name for i in scope.indices]
    sum_ = f"{r.choice(('', '2 * ', '3 * '))}{r.choice(terms)} + {r.choice((*terms, '1', '5'))}"
    return f"({sum_}) % {scope.extent(dim)}"


def _gathered(scope: Scope, array: Array) -> str:
    inner = f"{array.name}[{index(scope, array.dims[0])}]" if scope.loops < 4 else f"{array.name}[0]"
    return f"int({inner})" if scope.r.random() < 0.25 else inner


def element(scope: Scope, array: Array) -> str:
    """An element, in one of the spellings of an index."""
    places = [index(scope, dim) for dim in array.dims]
    if len(places) > 1 and scope.r.random() < 0.08:
        return array.name + "".join(f"[{place}]" for place in places)
    return f"{array.name}[{', '.join(places)}]" if places else f"{array.name}[()]"


# --- numbers


def number(scope: Scope, depth: int = 0) -> str:
    """A number of any kind."""
    if depth >= _DEEP or scope.r.random() < 0.2:
        return atom(scope)
    inner = depth + 1
    if scope.tame and scope.r.random() < 0.8:
        return f"({number(scope, inner)} {scope.r.choice('+-*')} {number(scope, inner)})"
    return choose(
        scope,
        (3.0, lambda: atom(scope)),
        (5.0, lambda: f"({number(scope, inner)} {scope.r.choice('++-**')} {number(scope, inner)})"),
        (0.6, lambda: f"({number(scope, inner)} / {number(scope, inner)})"),
        (0.5, lambda: f"({number(scope, inner)} {scope.r.choice(('//', '%'))} {_divisor(scope, inner)})"),
        (0.4, lambda: f"{number(scope, inner)} ** {scope.r.choice(('2', '2', '3', '0.5', '-1', '2.0', '0', '2.2', atom(scope)))}"
            if depth else atom(scope)),
        (0.6, lambda: f"{scope.r.choice(('min', 'max'))}({number(scope, inner)}, {number(scope, inner)})"),
        (0.8, lambda: f"({number(scope, inner)} if {condition(scope, inner)} else {number(scope, inner)})"),
        (0.5, lambda: f"{scope.r.choice(('abs', 'abs', '-', '+', 'float', 'int', 'round'))}({number(scope, inner)})"),
        (0.7, lambda: _function(scope, inner)),
        (0.5, lambda: integer(scope, inner)),
        (0.15, lambda: f"{scope.r.choice(CASTS)}({number(scope, inner)})"),
    )


WIDE = ("1", "31", "2**63", "0x100000001b3", "0xcbf29ce484222325", "0x9E3779B97F4A7C15", "2**64 - 1", "0xFF")
"""Numbers of uint64."""
CASTS = ("np.float32", "np.float64", "np.int32", "np.int64", "np.uint8", "np.int8", "np.bool_", "bool",
         "np.uint64", "np.uint64", "np.int16", "np.uint32")


def _divisor(scope: Scope, depth: int) -> str:
    return scope.r.choice(("2", "3", "-2", "2.0", "0.5", "7")) if scope.r.random() < 0.7 else number(scope, depth)


def _function(scope: Scope, depth: int) -> str:
    inside = number(scope, depth)
    return scope.r.choice((
        f"math.sqrt(abs({inside}))", f"math.sqrt({inside})", f"np.sqrt({inside})", f"math.sin({inside})", f"math.floor({inside})",
        f"math.exp(min({inside}, 5.0))", f"np.abs({inside})", f"np.exp(-abs({inside}))", f"math.hypot({inside}, 1.0)",
        f"np.maximum({inside}, {atom(scope)})", f"np.minimum({inside}, 1.0)", f"np.floor({inside})", f"math.tanh({inside})",
        f"np.fmax({atom(scope)}, {inside})", f"np.copysign({inside}, {atom(scope)})", f"np.ceil({inside})", f"np.arctan({inside})",
        f"np.sign({inside})", f"math.log(abs({inside}) + 1.0)", f"np.sin({inside})", f"np.log({inside})", f"np.tanh({inside})",
        f"np.log1p(np.abs({inside}))", f"np.arctan2({inside}, {atom(scope)})", f"np.hypot({atom(scope)}, {inside})",
        f"np.log10(np.fabs({inside}) + 1)", f"np.cbrt({inside})", f"np.cos({inside})", f"np.exp({inside})",
        f"np.where({atom(scope)} < {inside}, {atom(scope)}, {atom(scope)})[()]", f"np.nan_to_num({inside})", f"np.round({inside}, 1)",
        f"np.{scope.r.choice(('max', 'sum', 'mean', 'median', 'prod'))}([{inside}, {atom(scope)}])",
    ))


def atom(scope: Scope) -> str:
    r = scope.r
    arrays = [a for a in scope.arrays if a.number != "bool"]
    names = scope.of_number("int", "float")
    choices: list[Choice] = [(1.2, lambda: r.choice(
        ("0.5", "2.0", "1.0", "0.1", "-1.5", "0.25", "3", "2", "1", "0", "-1", "7", "0.0", "100" if r.random() < 0.5 else "300")))]
    if arrays:
        choices.append((6.0, lambda: element(scope, r.choice(arrays))))
    if names:
        choices.append((2.0, lambda: r.choice(names)))
    if scope.indices:
        choices.append((0.8, lambda: r.choice(scope.indices).name))
    flags = [a for a in scope.arrays if a.number == "bool"]
    if flags:
        choices.append((0.3, lambda: element(scope, r.choice(flags))))
    return choose(scope, *choices)


def integer(scope: Scope, depth: int = 0) -> str:
    """An int, of whichever flavour."""
    r = scope.r
    arrays = [a for a in scope.arrays if a.number == "int"]
    names = [*scope.of_number("int"), *(i.name for i in scope.indices)]
    if depth >= _DEEP or r.random() < 0.3:
        choices: list[Choice] = [(1.0, lambda: r.choice(("1", "2", "3", "5", "0", "-1", "255", "17")))]
        if any(a.dtype == "uint64" for a in arrays):
            choices.append((2.0, lambda: f"np.uint64({r.choice(WIDE)})"))
        if arrays:
            choices.append((3.0, lambda: element(scope, r.choice(arrays))))
        if names:
            choices.append((3.0, lambda: r.choice(names)))
        return choose(scope, *choices)
    inner = depth + 1
    return choose(
        scope,
        (4.0, lambda: f"({integer(scope, inner)} {r.choice('+-*+')} {integer(scope, inner)})"),
        (2.0, lambda: f"({integer(scope, inner)} {r.choice('&|^')} {integer(scope, inner)})"),
        (0.6, lambda: f"({integer(scope, inner)} {r.choice(('>>', '<<'))} {r.choice(('1', '2', '3', '(' + integer(scope, inner) + ' & 7)'))})"),
        (1.0, lambda: f"({integer(scope, inner)} {r.choice(('//', '%'))} {r.choice(('2', '3', '-3', '7', integer(scope, inner)))})"),
        (0.5, lambda: f"~{integer(scope, inner)}"),
        (0.4, lambda: f"int({number(scope, inner)})"),
        (0.3, lambda: f"abs({integer(scope, inner)})"),
        (0.2, lambda: f"({integer(scope, inner)} if {condition(scope, inner)} else {integer(scope, inner)})"),
    )


def condition(scope: Scope, depth: int = 0) -> str:
    r, inner = scope.r, depth + 1
    flags = [a for a in scope.arrays if a.number == "bool"]
    choices: list[Choice] = [
        (6.0, lambda: f"{number(scope, inner)} {r.choice(('<', '>', '<=', '>=', '==', '!='))} {number(scope, inner)}"),
        (0.5, lambda: f"{atom(scope)} < {atom(scope)} <= {atom(scope)}"),
        (0.5, lambda: f"{integer(scope, inner)} & 1"),
        (0.3, lambda: atom(scope)),
    ]
    if flags:
        choices.append((1.5, lambda: element(scope, r.choice(flags))))
    if len([i.name for i in scope.indices]) > 1:
        choices.append((0.7, lambda: f"{r.choice(scope.indices).name} {r.choice(('<', '==', '>='))} {r.choice(scope.indices).name}"))
    if scope.indices:
        choices.append((0.7, lambda: f"{r.choice(scope.indices).name} % 2 == {r.choice('01')}"))
    if depth < 2:
        choices += [(1.0, lambda: f"({condition(scope, inner)}) {r.choice(('and', 'or'))} ({condition(scope, inner)})"),
                    (0.4, lambda: f"not ({condition(scope, inner)})")]
    return choose(scope, *choices)
