"""Random expressions of whole arrays: parts of them and rows, masks, arrays of indices."""

from __future__ import annotations

from tests.generator.kernels.expressions import atom, condition, index
from tests.generator.kernels.scope import TABLE, Array, Scope

_PARTS = ("1:", ":-1", ":", "::2", "::-1", "2:", ":-2", "1:-1")


def selected(scope: Scope) -> list[str]:
    """A statement with a whole-array expression."""
    r = scope.r
    array = r.choice([a for a in scope.arrays if a.name != TABLE])
    ways = (_stored, _stored, _updated, _row, _row, _masked, _gathered, _scattered, _named, _reduced, _reduced, _called)
    return r.choice(ways)(scope, array)


def _like(scope: Scope, array: Array) -> Array:
    return scope.r.choice([a for a in scope.arrays if a.dims == array.dims])


def _expression(scope: Scope, array: Array, subscript: str, depth: int = 0) -> str:
    """An expression of arrays of the dimensions of this one, all in parts of one length, mostly."""
    r = scope.r
    if depth > 1 or r.random() < 0.3:
        other = _like(scope, array).name
        if not subscript:
            return other
        return f"{other}[{subscript if r.random() < 0.9 else r.choice(_PARTS)}]"
    made = _expression(scope, array, _moved(scope, subscript), depth + 1)
    if r.random() < 0.15:
        return r.choice((f"-{made}", f"np.abs({made})", f"np.sqrt({made})", f"np.floor({made})", f"+{made}"))
    other = _expression(scope, array, _moved(scope, subscript), depth + 1) if r.random() < 0.5 else atom(scope)
    sides = (made, other) if r.random() < 0.7 else (other, made)
    sign = r.choice("+-*/+-*&|") if array.number == "int" else r.choice("&|^") if array.number == "bool" else r.choice("+-*/+-*")
    return f"({sides[0]} {sign} {sides[1]})"


def _moved(scope: Scope, subscript: str) -> str:
    """Another part of the same length."""
    same = {"1:": ("1:", ":-1"), ":-1": ("1:", ":-1"), "2:": ("2:", ":-2", "1:-1"), ":-2": ("2:", ":-2", "1:-1"),
            "1:-1": ("2:", ":-2", "1:-1"), ":": (":", "::-1"), "::-1": (":", "::-1")}
    return scope.r.choice(same.get(subscript, (subscript,)))


def _stored(scope: Scope, array: Array) -> list[str]:
    part = scope.r.choice(_PARTS)
    return [f"{array.name}[{part}] = {_expression(scope, array, part)}"]


def _updated(scope: Scope, array: Array) -> list[str]:
    part = scope.r.choice(_PARTS)
    value = _expression(scope, array, _moved(scope, part), 1) if scope.r.random() < 0.6 else atom(scope)
    return [f"{array.name}[{part}] {scope.r.choice('+-*')}= {value}"]


def _row(scope: Scope, array: Array) -> list[str]:
    if len(array.dims) < 2:
        return _stored(scope, array)
    rows = [f"{_like(scope, array).name}[{index(scope, array.dims[0])}]" for _ in range(2)]
    sign = scope.r.choice("+-*")
    return [scope.r.choice((f"{array.name}[{index(scope, array.dims[0])}] = {rows[0]} {sign} {rows[1]}",
                            f"{array.name}[{index(scope, array.dims[0])}] {sign}= {rows[0]}",
                            f"{array.name}[{index(scope, array.dims[0])}] = {rows[0]} {sign} {atom(scope)}"))]


def _masked(scope: Scope, array: Array) -> list[str]:
    r = scope.r
    other = _like(scope, array)
    test = f"{other.name}[:] {r.choice(('<', '>=', '==', '!='))} {atom(scope)}"
    if r.random() < 0.3:
        test = f"({test}) {r.choice('&|')} {r.choice(('', '~'))}({array.name}[:] > {atom(scope)})"
    if r.random() < 0.3:
        name = scope.name("t")
        scope.arrays.append(Array(name, other.dims, "bool_"))
        value = atom(scope) if r.random() < 0.5 or len(array.dims) > 1 else f"{_like(scope, array).name}[{name}]"
        return [f"{name} = {test}", f"{array.name}[{name}] {r.choice(('', '', '+', '*'))}= {value}"]
    return [f"{array.name}[{test}] = {atom(scope)}"]


def _indices(scope: Scope, array: Array) -> str | None:
    found = [a for a in scope.arrays if a.of == array.dims[0] and len(a.dims) == 1] if array.dims else []
    return scope.r.choice(found).name if found else None


def _gathered(scope: Scope, array: Array) -> list[str]:
    indices = _indices(scope, array)
    if indices is None:
        return _masked(scope, array)
    name = scope.name("t")
    scope.numbers[f"{name}s"] = "int"
    return [f"{name} = {array.name}[{indices}]", f"{name}s = {name}.size"]


def _scattered(scope: Scope, array: Array) -> list[str]:
    indices = _indices(scope, array)
    if indices is None:
        return _updated(scope, array)
    subscript = f":, {indices}" if len(array.dims) > 1 and scope.r.random() < 0.4 else indices
    value = f"{_like(scope, array).name}[{subscript}]" if scope.r.random() < 0.4 else atom(scope)
    return [f"{array.name}[{subscript}] {scope.r.choice(('', '', '+'))}= {value}"]


_ROUTINES = ("sum", "sum", "mean", "max", "min", "prod", "any", "all", "argmax", "argmin", "std", "median", "count_nonzero")
_ALIKE = ("np.sort({})", "np.exp({})", "np.cumsum({}, axis=-1)", "np.where({} > {n}, {}, {n})", "np.minimum({}, {n})", "{} ** 2",
          "{} % {n}", "np.sin({})", "np.clip({}, {n}, {n})", "{} // {n}", "np.hypot({}, {n})", "np.flip({})",
          "np.flip({}, 0)", "np.roll({}, {n})", "np.roll({}, 1, 0)", "np.concatenate(({}[1:], {}[:1]))", "np.asarray({})",
          "np.ascontiguousarray({})", "{}.flatten()[0]", "{}.copy()[::-1]", "np.asarray({}, np.float64)")


def _operand(scope: Scope, array: Array) -> str:
    """An array, a part of it, or an expression."""
    way = scope.r.choice(("whole", "part", "row", "expression"))
    if way == "whole":
        return array.name
    if way == "row" and len(array.dims) > 1:
        row = index(scope, array.dims[0])
        return f"{array.name}[{row}]" if scope.r.random() < 0.6 else f"{array.name}[:, {index(scope, array.dims[1])}]"
    part = scope.r.choice(_PARTS)
    return f"{array.name}[{part}]" if way != "expression" else _expression(scope, array, part, 1)


def _reduced(scope: Scope, array: Array) -> list[str]:
    """A number that goes over all elements, or one axis that is put into a row."""
    r = scope.r
    name, operand = r.choice(_ROUTINES), _operand(scope, array)
    if len(array.dims) > 1 and r.random() < 0.25:
        return [f"{array.name}[{index(scope, array.dims[0])}] = {array.name}[:].{r.choice(('sum', 'max', 'cumsum'))}(axis=0)"]
    if r.random() < 0.2 and array.number == "float":
        return [f"{array.name}[0] = np.dot({array.name}[:], {_like(scope, array).name})"]
    value = scope.name("x")
    scope.numbers.pop(value, None)
    scope.numbers[value] = "float" if name in ("mean", "std", "median") else "int" if name in (
        "argmax", "argmin", "count_nonzero") else array.number if name not in ("any", "all") else "bool"
    made = f"np.{name}({operand})" if r.random() < 0.7 or name in ("median", "count_nonzero") else f"({operand}).{name}()"
    return [f"{value} = {made}"]


def _called(scope: Scope, array: Array) -> list[str]:
    """A routine that gives an array like its operand."""
    part = scope.r.choice(_PARTS)
    text = scope.r.choice(_ALIKE).replace("{}", f"{_like(scope, array).name}[{part}]").replace("{n}", atom(scope))
    return [f"{array.name}[{part}] = {text}"]


def _named(scope: Scope, array: Array) -> list[str]:
    """A temporary that an expression makes, which has the dtype of the array where it is known."""
    name = scope.name("t")
    sign = scope.r.choice("+-*")
    if array.number == "bool":
        return [f"if {condition(scope)}:", f"    {array.name}[:] = {array.name}[::-1]"]
    scope.drop(name)
    scope.arrays.append(Array(name, array.dims, array.dtype))
    return [f"{name} = {array.name} {sign} {array.name}[::-1]"]
