"""Random statements that simplifying could break: elements that are read after they were written, under one name or
two, and written again; tests whose outcome is known; numbers that warn and are not used."""

from __future__ import annotations

from tests.generator.kernels.expressions import atom, element, number
from tests.generator.kernels.scope import TABLE, Array, Scope

Lines = list[str]
_PAD = "    "


def repeated(scope: Scope) -> Lines:
    """An element that is written, read and written, with something between now and then."""
    r = scope.r
    array = r.choice([a for a in scope.arrays if a.name != TABLE])
    name, same = scope.name("x"), element(scope, array)
    lines: Lines = []
    if r.random() < 0.3:
        other = scope.name("alias")
        scope.arrays.append(Array(other, array.dims, array.dtype))
        lines.append(f"{other} = {array.name}{r.choice(('', '[:]', '[...]')) if array.dims else ''}")
        second = other + same[len(array.name):]
    else:
        second = same
    between = r.choice(([], [], [f"{element(scope, array)} = {atom(scope)}"], [f"{name} = {number(scope, 2)}"],
                        [f"{name} = {second}"]))
    rest = r.choice(([f"{name} = {second} {r.choice('+-*')} {number(scope, 2)}", f"{same} = {name}"],
                     [f"{second} {r.choice('+-*')}= {number(scope, 2)}"], [f"{same} = {atom(scope)}"],
                     [f"{name} = {same} / {second}"]))
    lines += [f"{same} = {number(scope, 1)}", *between, *rest]
    if any(line.startswith(f"{name} = ") for line in lines):
        scope.numbers[name] = "float" if array.number == "float" else "int"
    return lines


def known(scope: Scope) -> Lines:
    """A test of lengths, counters and literals, and an arm that may warn; a number that warns or is one of NumPy's."""
    r = scope.r
    extent = scope.extent(r.choice([*scope.extents]))
    name, unused = scope.name("x"), scope.name("unused")
    numbers = ("np.float64(1e308) * 10.0", "1e308 * 10.0", "np.float64(1.0) / 0.0", f"{atom(scope)} * 1e300 * 1e300",
               f"{atom(scope)} - 0.0", f"1.0 * {atom(scope)}", f"np.float64({atom(scope)}) + -0.0", f"{atom(scope)} + 0")
    counters = [i.name for i in scope.indices] or [extent]
    test = r.choice((f"{extent} < 0", f"{extent} >= 0", f"max({extent} - 1, 0) < {extent}", f"{r.choice(counters)} - 1 < -1",
                     f"{r.choice(counters)} < {extent}", f"min({extent}, 2) + {r.choice(counters)} > 1", f"0 == {extent} - {extent}"))
    scope.numbers[name] = "float"
    if r.random() < 0.4:
        return [f"{unused} = {r.choice(numbers)}", f"{name} = {r.choice(numbers)}"]
    return [f"if {test}:", f"{_PAD}{name} = {r.choice(numbers)}", "else:", f"{_PAD}{unused} = {r.choice(numbers)}",
            f"{_PAD}{name} = {atom(scope)}"]
