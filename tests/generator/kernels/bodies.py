"""Random loops whose iterations are apart and have an expensive body: functions of Python's and NumPy's, loops and calls
inside, what warns or raises at a few elements, stores under conditions, to two arrays, and in front of loads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.generator.kernels.expressions import atom, condition, element, number
from tests.generator.kernels.scope import TABLE, Array, Index, Scope
from tests.generator.kernels.statements import Lines, fitting, indented

_PAD = "    "
HELPERS = {
    "settled": "def settled(x):\n    y = max(1.0, x)\n    for k in range(20):\n        z = 0.5 * (y + x / y)\n        if abs(z - y) < 1e-9:\n"
               "            break\n        y = z\n    return y\n",
    "steps": "def steps(x):\n    n = 0\n    while x > 1.0 and n < 30:\n        x = x * 0.7\n        n += 1\n    return n\n",
    "checked": "def checked(x):\n    if x > 2.5:\n        raise ValueError(\"too large\")\n    return math.exp(x)\n",
    "angle": "def angle(x, y=2.0):\n    if y != 0.0:\n        return math.atan(x / y)\n    return 0.0\n",
    "damped": "def damped(x):\n    return np.exp(-x * x) * math.sin(x)\n",
}
_ONE = ("exp", "exp", "log", "log", "sqrt", "sqrt", "sin", "cos", "tanh", "expm1", "log1p", "log2", "cbrt", "arctan", "floor", "square", "abs")
_TWO = ("hypot", "arctan2", "maximum", "fmin", "copysign", "power", "fmod")


@dataclass(frozen=True)
class Nest:
    """The array that it goes over; whether NumPy's functions are called; whether numbers overflow, warn and raise, and
    some are not read; the arrays that it has written."""

    array: Array
    numpy: bool
    wild: bool
    written: set[str] = field(default_factory=set)


def bodies(scope: Scope) -> tuple[Lines, str]:
    """One or two nests over an array of one or two axes, and the dimension of the innermost; nothing where there is none."""
    found = [a for a in scope.arrays if a.name != TABLE and a.number == "float" and 0 < len(a.dims) < 3]
    if not found:
        return [], ""
    array = scope.r.choice(found)
    nest = Nest(array, numpy=scope.r.random() < 0.4, wild=scope.r.random() < 0.5)
    return [line for _ in range(scope.r.choice((1, 1, 2))) for line in _nest(scope, nest)], array.dims[-1]


def _nest(scope: Scope, nest: Nest) -> Lines:
    r, inner, heads = scope.r, replace(scope.inner(loop=True), tame=True), []
    if r.random() < 0.85:  # whose elements are known before an iteration
        inner.arrays = [a for a in inner.arrays if {*a.dims} <= {*nest.array.dims} and not a.of]
    for name, dim in zip(("bi", "bj"), nest.array.dims, strict=False):
        low, high = r.choice(((0, 0), (0, 0), (0, 0), (1, 0), (1, 1)))
        inner.indices.append(Index(name, dim) if r.random() < 0.8 else Index(name, dim, low, high))
        start = f"{low}, " if low else ""
        heads.append(f"for {name} in range({start}{inner.extent(dim)}{f' - {high}' if high else ''}):")
    nest.written.clear()
    body = _lines(inner, nest, r.choice((2, 3, 4)))
    body += _store(inner, nest) if nest.wild or r.random() < 0.3 else []
    body += _lines(inner, nest, 1) if nest.wild and r.random() < 0.3 else _store(inner, nest, last=True)
    for head in reversed(heads):
        body = [head, *indented(body)]
    return body


def _lines(scope: Scope, nest: Nest, count: int) -> Lines:
    ways: tuple[tuple[float, Callable[[Scope, Nest], Lines]], ...] = (
        (5.0, _value), (2.0, _guarded), (1.5, _loop), (1.5, _store), (1.0, _branch), (0.3, _skip),
        *(((1.2, _raising), (1.0, _unread)) if nest.wild else ()))
    makes, weights = zip(*[(make, weight) for weight, make in ways], strict=True)
    return [line for make in scope.r.choices(makes, weights, k=count) for line in make(scope, nest)]


def _operand(scope: Scope, nest: Nest) -> str:
    """A number; in wild nests it may overflow or be none."""
    x, y = atom(scope), atom(scope)
    if not nest.wild:
        return scope.r.choice((x, x, f"({x} {scope.r.choice('+-*')} {y})", f"({x} * 0.5)", number(scope, 2)))
    return scope.r.choice((x, x, f"({x} {scope.r.choice('+-*/')} {y})", f"({x} * 1e200)", f"({x} * {x})", f"({x} - {x})",
                           f"({x} * 1e300 - {y} * 1e300)", number(scope, 2)))


def _expensive(scope: Scope, nest: Nest) -> str:
    r, x = scope.r, _operand(scope, nest)
    way = r.random()
    if nest.numpy and way < 0.5:
        return f"np.{r.choice(_ONE)}({x})" if r.random() < 0.8 else f"np.{r.choice(_TWO)}({x}, {_operand(scope, nest)})"
    if way < 0.8:
        return r.choice((f"math.sin({atom(scope)})", f"math.atan({x})", f"math.exp(min({x}, 5.0))", f"math.log(abs({x}) + 1.0)",
                         f"math.tanh({x})", f"math.sqrt(abs({x}))"))
    name = r.choice([*HELPERS])
    scope.helpers[name] = HELPERS[name]
    return f"{name}({x}, {atom(scope)})" if name == "angle" and r.random() < 0.6 else f"{name}({x})"


def _own(scope: Scope) -> list[str]:
    return [name for name in scope.of_number("float") if name[0] == "b" and len(name) > 1]


def _named(scope: Scope, text: str, nest: Nest, stem: str = "bv") -> Lines:
    old, name = _own(scope), scope.name(stem)
    if old and scope.r.random() < 0.3:
        name = scope.r.choice(old)
        text += "" if nest.wild else f" + {name}"
    scope.numbers[name] = "float"
    return [f"{name} = {text}"]


def _value(scope: Scope, nest: Nest) -> Lines:
    text = _expensive(scope, nest)
    return _named(scope, text if scope.r.random() < 0.6 else f"{text} {scope.r.choice('+-*')} {_operand(scope, nest)}", nest)


def _guarded(scope: Scope, nest: Nest) -> Lines:
    """What would warn or raise, behind a test of its operand."""
    r, x, y, name = scope.r, _operand(scope, nest), atom(scope), scope.name("bz")
    scope.numbers[name] = "float"
    test, text = r.choice(((f"{y} != 0.0", f"{x} / {y}"), (f"{y} != 0.0", f"math.atan({x} / {y})"), (f"{y} != 0.0", f"{x} // {y}"),
                           (f"{y} > 0.0", f"math.log({y})"), (f"{y} > 0.0", f"{'np' if nest.numpy else 'math'}.log({y}) * {x}"),
                           (f"{y} >= 0.0", f"{'np' if nest.numpy else 'math'}.sqrt({y})"),
                           (f"abs({y}) < 700.0", f"math.exp({y})"), (f"{y} == {y}", f"int({y}) * 0.5")))
    if r.random() < 0.3:
        return [f"{name} = {text} if {test} else {atom(scope)}"]
    return [f"{name} = {atom(scope)}", f"if {test}:", f"{_PAD}{name} = {text}"]


def _loop(scope: Scope, nest: Nest) -> Lines:
    """A few trips, which a lane may leave before another."""
    r, start, name, inner = scope.r, atom(scope), scope.name("br"), scope.inner(loop=True)
    inner.numbers[name] = scope.numbers[name] = "float"
    step = r.choice((f"{name} = {name} * 0.5 + {atom(inner)}", f"{name} = {_expensive(inner, nest)}", f"{name} += {number(inner, 2)}",
                     f"{name} = {name} * {name}"))
    leave = [f"if {condition(inner, 1)}:", _PAD + r.choice(("break", "break", "continue"))] if r.random() < 0.5 else []
    lines = [*leave, step] if r.random() < 0.5 else [step, *leave]
    if r.random() < 0.6:
        return [f"{name} = {start}", f"for bt in range({r.choice('235')}):", *indented(lines)]
    count = scope.name("bn")
    lines = [line.replace("continue", "break") for line in lines]
    return [f"{name} = {start}", f"{count} = 0", f"while abs({name}) > {r.choice(('0.5', '1.0'))} and {count} < {r.choice('59')}:",
            *indented([*lines, f"{count} += 1"])]


def _raising(scope: Scope, nest: Nest) -> Lines:
    """An exception at a few elements."""
    r = scope.r
    x = element(scope, r.choice([a for a in scope.arrays if a.number == "float"]))
    if r.random() < 0.4:
        text = r.choice(('"too large"', 'f"at {' + scope.indices[-1].name + '}"'))
        return [f"if {x} {r.choice(('> 2.8', '< -2.8', '> 1e30', '!= ' + x))}:", f"{_PAD}raise ValueError({text})"]
    return _named(scope, r.choice((f"math.log({x} + 2.9)", f"math.sqrt({x} + 2.9)", f"math.exp({x} * 200.0)", f"int({x}) * 1.0",
                                   f"1.0 / (float({x}) + 1.5)", f"math.sin({x} * 1e307)", f"math.acos({x} / 3.0)")), nest)


def _unread(scope: Scope, nest: Nest) -> Lines:
    """What may warn, and nothing reads it."""
    r, x, y = scope.r, _operand(scope, nest), atom(scope)
    text = r.choice((f"{x} {r.choice('+-*/')} {y}", f"{x} * {x}", f"np.{r.choice(_ONE)}({x})" if nest.numpy else f"{x} * 1e300", f"{x} // {y}"))
    return [text if r.random() < 0.5 else f"{scope.name('unread')} = {text}"]


def _branch(scope: Scope, nest: Nest) -> Lines:
    r, old = scope.r, _own(scope)
    arms: list[Lines] = []
    for count in (1, 2)[:r.choice((1, 1, 2))]:
        inner = scope.inner()
        arms.append(_lines(inner, nest, count))
        if old and not nest.wild and (made := [name for name in _own(inner) if name not in old]):
            arms[-1].append(f"{r.choice(old)} -= {' * '.join(made)}")
    lines = [f"if {condition(scope, 1)}:", *indented(arms[0])]
    return lines + ["else:", *indented(arms[1])] if arms[1:] else lines


def _skip(scope: Scope, nest: Nest) -> Lines:
    return [f"if {condition(scope, 1)}:", f"{_PAD}continue"]


def _store(scope: Scope, nest: Nest, last: bool = False) -> Lines:
    """To the array of the nest or another one like it: under a condition, or twice with a load between. The `last` one of
    a nest that is not wild reads all numbers."""
    r = scope.r
    others = [a for a in scope.arrays if a.dims == nest.array.dims and a.name != TABLE]
    into = nest.array if r.random() < 0.7 else r.choice(others)
    names = [index.name for index in scope.indices if index.name in ("bi", "bj")]
    place = f"{into.name}[{', '.join(names)}]"
    own = _own(scope)
    value = r.choice(own) if own and r.random() < 0.6 else fitting(scope, into)
    if own and last and not nest.wild:
        value = r.choice((" + ", " - ", " * ")).join(own)
    line = f"{place} {'+' if into.name in nest.written and not nest.wild else ''}= {value}"
    nest.written.add(into.name)
    way = r.random()
    if way < 0.25:
        return [f"if {condition(scope, 1)}:", _PAD + line]
    if way < 0.4 and not last:
        return [line, *_named(scope, f"{place} {r.choice('+-*')} {_operand(scope, nest)}", nest, "bw")]
    if way < 0.5:
        return [line, f"{place} {r.choice('+-*/')}= {_operand(scope, nest)}"]
    if way < 0.6:
        return [line, f"if {condition(scope, 1)}:", f"{_PAD}{place} = {place} * {atom(scope)}"]
    return [line]
