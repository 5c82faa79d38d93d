"""Random functions that make, view, write, alias and reduce small NumPy arrays, in branches and loops.

`source(seed)` is a module with `f(x, y, i, j)`, two floats and two ints, which returns everything it has made.
"""

from __future__ import annotations

from random import Random

_VECTORS, _MATRICES, _NUMBERS = ("a", "b", "c"), ("m", "w"), ("x", "y", "s")
_DEEP = 3


def source(seed: int) -> str:
    """The text of a module whose `f` is the function of this seed."""
    r = Random(seed)
    lines = [
        "import numpy as np", "", "lift = np.vectorize(lambda u, v: u * 0.5 + v)",
        "cut = np.vectorize(lambda u: int(u) if abs(u) < 1e6 else 1, otypes=[float])", "", "", "def bump(v, d):", "    v[0] += d", f"    return v{r.choice(['', ' * 2.0'])}", "", "",
        "def f(x, y, i, j):", "    s = 1.0", f"    a = {r.choice(['np.array([x, y, 1.0])', 'np.zeros(3)', 'np.array([1.0, 2.0, 3.0])'])}", "    b = np.array([2.0, x, 0.5])",
        f"    c = {r.choice(['a', 'np.zeros(3)', 'b.copy()'])}", "    m = np.array([[x, 1.0, y], [0.5, 2.0, 3.0]])",
        f"    w = {r.choice(['m', 'm[::-1]', 'np.ones((2, 3))'])}",
    ]
    for _ in range(r.randrange(3, 9)):
        lines += _statement(r, "    ", 0, looping=False)
    lines.append("    return a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2], m[0, 0], m[0, 2], m[1, 1], w[0, 1], w[1, 2], s")
    return "\n".join(lines) + "\n"


def _number(r: Random, depth: int = 0) -> str:
    if depth >= _DEEP or r.random() < 0.25:
        return r.choice(_NUMBERS)
    inner = depth + 1
    return r.choice((
        lambda: r.choice(("0.5", "2.0", "-1.0", "3.0")),
        lambda: f"{r.choice(_VECTORS)}[{r.randrange(-3, 3)}]",
        lambda: f"{r.choice(_VECTORS)}[i]",
        lambda: f"{r.choice(_MATRICES)}[{r.randrange(2)}, {r.randrange(3)}]",
        lambda: f"{r.choice(_MATRICES)}[i % 2, j % 3]",
        lambda: f"np.{r.choice(('sum', 'max', 'min', 'mean', 'prod', 'ptp'))}({_vector(r, inner)})",
        lambda: f"({_number(r, inner)} {r.choice('+-*')} {_number(r, inner)})",
        lambda: f"({_vector(r, inner)} @ {_vector(r, inner)})",
        lambda: f"float(np.argmax({_vector(r, inner)}))",
        lambda: f"np.modf({_number(r, inner)})[{r.randrange(2)}]",
        lambda: f"{r.choice(('lift(x, ', 'cut('))}{_number(r, inner)})",
        lambda: _class(r, inner),
    ))()


def _class(r: Random, depth: int) -> str:
    """What class an argument has, or what NumPy has made of a number; the argument may have gone through NumPy before."""
    n = _number(r, depth)
    asked = r.choice(("x", "y", f"np.array({n})", f"np.asarray({n})", f"np.where({n} > 0.0, {n}, 1.0)", f"np.squeeze({n})",
                      f"np.sqrt({n})", f"np.real({n})", f"np.copysign({n}, 1.0)", f"lift(x, {n})", f"np.array([{n}, x])[1]",
                      f"np.clip({n}, -1.0, 1.0)"))
    classes = r.choice(("float", "np.floating", "np.ndarray", "np.generic", "(float, np.ndarray)", "int"))
    return r.choice((f"float(isinstance({asked}, {classes}))", f"float(type({asked}) is {classes.strip('()').split(', ')[0]})",
                     f"float(hasattr({asked}, {r.choice(('shape', 'is_integer', 'real'))!r}))"))


def _vector(r: Random, depth: int = 0) -> str:
    if depth >= _DEEP or r.random() < 0.3:
        return r.choice(_VECTORS)
    inner = depth + 1
    return r.choice((
        lambda: f"({_vector(r, inner)} {r.choice('+-*')} {_vector(r, inner)})",
        lambda: f"({_vector(r, inner)} {r.choice('+-*')} {_number(r, inner)})",
        lambda: f"{r.choice(_MATRICES)}[{r.choice(('0', '1', 'i % 2'))}]",
        lambda: f"np.where({_vector(r, inner)} > {_number(r, inner)}, {_vector(r, inner)}, {_vector(r, inner)})",
        lambda: f"{r.choice(_MATRICES)}.sum(axis=0)",
        lambda: f"np.abs({_vector(r, inner)})[::-1]",
        lambda: f"np.array([{_number(r, inner)}, {_number(r, inner)}, {_number(r, inner)}])",
        lambda: f"{_vector(r, inner)}.copy()",
        lambda: f"np.modf({_vector(r, inner)})[{r.randrange(2)}]",
        lambda: f"lift({_vector(r, inner)}, {_number(r, inner)})",
        lambda: f"cut({_vector(r, inner)})",
    ))()


def _view(r: Random, v: str) -> str:
    """The same memory by another name."""
    return r.choice((f"{v}.ravel()", f"np.asarray({v})", f"np.flip({v})", f"{v}.reshape(3)", f"np.squeeze({v})", f"{v}.T",
                     f"np.atleast_1d({v})", f"{v}.reshape((3, 1))[:, 0]", f"np.swapaxes({v}, 0, 0)"))


def _simple(r: Random) -> str:
    """One assignment: to a name, an element, a slice, a mask or a whole array in place."""
    v, m = r.choice(_VECTORS), r.choice(_MATRICES)
    return r.choice((
        lambda: f"{v} = {_vector(r)}",
        lambda: f"{v} = {r.choice(_VECTORS)}",
        lambda: f"{v} = {_view(r, r.choice(_VECTORS))}",
        lambda: f"{v} = {r.choice(_VECTORS)} if {_number(r)} > {_number(r)} else {r.choice(_VECTORS)}",
        lambda: f"{v} = bump({r.choice(_VECTORS)}, {_number(r)})",
        lambda: f"{v}[{r.choice(('0', '-1', 'i'))}] = {_number(r)}",
        lambda: f"{v} {r.choice('+-*')}= {_vector(r)}",
        lambda: f"{v}[{r.choice(('1:', '::2', ':2'))}] {r.choice('+*')}= {_number(r)}",
        lambda: f"{v}[{r.choice(_VECTORS)} > {_number(r)}] = {_number(r)}",
        lambda: f"{m}[{r.choice(('0, 1', '1, 2', 'i % 2, j % 3'))}] = {_number(r)}",
        lambda: f"{m}[{r.randrange(2)}] = {_vector(r)}",
        lambda: f"{m} {r.choice('+*')}= {_vector(r)}",
        lambda: f"s = {_number(r)}",
    ))()


def _statement(r: Random, indent: str, depth: int, *, looping: bool) -> list[str]:
    kind = r.randrange(8) if depth < 2 else 7
    if kind > 1 or kind == 1 and looping:
        return [indent + _simple(r)]
    body = [line for _ in range(r.randrange(1, 3)) for line in _statement(r, indent + "    ", depth + 1,
                                                                         looping=looping or kind == 1)]
    if kind == 1:
        count = f"n{depth}"
        return [f"{indent}{count} = 0", f"{indent}while {count} < {r.choice(('abs(i) % 4', '3', 's'))} and {count} < 5:",
                *body, f"{indent}    {count} += 1"]
    lines = [f"{indent}if {_number(r)} > {_number(r)}:", *body]
    if r.random() < 0.5:
        lines += [f"{indent}else:", *_statement(r, indent + "    ", depth + 1, looping=looping)]
    return lines
