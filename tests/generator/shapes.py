"""Programs of one shape at any size: chains, nests and widths of every kind of expression and statement.

`SHAPES[name](size)` is the text of a module whose function `main` takes the float lane `x`, or `size` of them; `make`
gives the function.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pyflat.testing import same_bits

LANES = (-3.5, -1.0, -0.0, 0.25, 1.0, 2.0, 7.75, 480.0, 4999.0, math.nan)
"""Values of every lane argument: around the thresholds that the shapes compare with."""


def _main(*lines: str, before: str = "", parameters: str = "x: float") -> str:
    body = "\n".join("    " + line for text in lines for line in text.splitlines())
    return f"{before}def main({parameters}):\n{body}\n"


def _lines(size: int, line: str) -> str:
    return "\n".join(line.format(i=i, j=i + 1) for i in range(size))


def _nested(size: int, head: str, inner: str) -> str:
    """`size` block statements, each inside of the one before."""
    rows = [" " * i + head.format(i=i) for i in range(size)]
    return "\n".join([*rows, " " * size + inner])


def _value(expression: str) -> str:
    return _main("return " + expression)


def _chain(operator: str, term: str) -> Callable[[int], str]:
    return lambda size: _value(f" {operator} ".join(term.format(i=i) for i in range(size)))


def _right(size: int, head: str, last: str, close: str = ")") -> str:
    return _value("".join(head.format(i=i) for i in range(size)) + last + close * size)


def _early_returns(size: int) -> str:
    return _main(_lines(size, "if x < {i}:\n    return x + {i}"), "return -1.0")


def _elifs(size: int) -> str:
    return _main("if x < 0:\n    y = x", _lines(size, "elif x < {i}:\n    y = x + {i}"), "else:\n    y = -1.0",
                 "return y")


def _helpers(size: int) -> str:
    before = "def h0(v):\n    return v + 1.0\n" + "".join(
        f"def h{i}(v):\n    return h{i - 1}(v) + 1.0\n" for i in range(1, size))
    return _main(f"return h{size - 1}(x)", before=before)


def _helper_with_exit(size: int) -> str:
    before = "def h0(v):\n    return v + 1.0\n" + "".join(
        f"def h{i}(v):\n    if v < {i}:\n        return v\n    return h{i - 1}(v) + 1.0\n" for i in range(1, size))
    return _main(f"return h{size - 1}(x)", before=before)


def _match(size: int) -> str:
    arms = _lines(size, "    case {i}:\n        return {i}.5")
    return _main("match x:", arms, "    case _:\n        return -x")


def _closures(size: int) -> str:
    rows = [" " * i + f"def f{i}(v):" for i in range(size)]
    back = [" " * (i + 1) + f"return f{i + 1}(v) + 1.0" for i in reversed(range(size - 1))]
    return _main("\n".join([*rows, " " * size + "return v * 0.5", *back]), "return f0(x)")


def _function_chain(size: int) -> str:
    defs = _lines(size, "def f{j}(v):\n    return f{i}(v) + 1.0")
    return _main("def f0(v):\n    return v", defs, f"return f{size}(x)")


def _table(size: int) -> str:
    return _main("return TABLE[int(min(max(x, 0.0), SIZE - 1.0))] if x == x else x",
                 before=f"SIZE = {size}\nTABLE = tuple(i * 0.5 for i in range(SIZE))\n")


def _tries(size: int) -> str:
    return _main("y = 0.0", _lines(size, "try:\n    y += 1.0 / (x - {i})\nexcept ZeroDivisionError:\n    y -= {i}.0"),
                 "return y")


def _loop(size: int, body: str, before: str = "") -> str:
    return _main("y = 0.0", f"for i in range({size}):", "\n".join("    " + row for row in body.splitlines()),
                 "return y", before=before)


def _tuple_loop(size: int, body: str) -> str:
    values = ", ".join(f"{i}.0" for i in range(size))
    return _main("y = 0.0", "for v in VALUES:", "\n".join("    " + row for row in body.splitlines()), "return y",
                 before=f"VALUES = ({values},)\n")


def _arguments(size: int) -> str:
    names = [f"a{i}" for i in range(size)]
    return _main("return " + " + ".join(names), parameters=", ".join(f"{name}: float" for name in names))


def _locals(size: int) -> str:
    return _main(_lines(size, "v{i} = x * {i}"), "return " + " + ".join(f"v{i}" for i in range(size)))


def _live_locals(size: int) -> str:
    """All locals change under a condition, so that each one joins."""
    return _main(_lines(size, "v{i} = x * {i}"), "if x > 1.0:", _lines(size, "    v{i} = v{i} + 1.0"),
                 "return " + " + ".join(f"v{i}" for i in range(size)))


def _unpacked(size: int) -> str:
    names = ", ".join(f"v{i}" for i in range(size))
    return _main(f"{names}, = [{', '.join(f'x + {i}' for i in range(size))}]", f"return sum(({names},))")


def _with(size: int) -> str:
    return _main("import contextlib", _nested(size, "with contextlib.nullcontext():", "return x + 1.0"))


def _attributes(size: int) -> str:
    return _value("N" + ".n" * size + ".v + x").replace(
        "def main", "class N:\n    def __init__(self):\n        self.n = self\n        self.v = 2.0\nN = N()\ndef main", 1)


def _list_nest(size: int) -> str:
    return _main(f"y = {'[' * size}x{']' * size}", f"return y{'[0]' * size}")


SHAPES: dict[str, Callable[[int], str]] = {
    "strings chosen under conditions": lambda size: _main(
        "s = ''", _lines(size, "if x > {i}: s = 'b{i}'"), "return len(s) * 1.0"),
    "sum": _chain("+", "x * {i}"),
    "products": _chain("*", "(1.0 + x / 1e{i})"),
    "differences": _chain("-", "{i}.5 * x"),
    "quotients": _chain("/", "(x + {i}.5)"),
    "powers": lambda size: _value("x" + " ** 1.0" * size),
    "sum to the right": lambda size: _right(size, "(x * {i} + ", "x"),
    "calls inside calls": lambda size: _right(size, "abs(", "x"),
    "max inside max": lambda size: _right(size, "max({i}.0, ", "x"),
    "negations": lambda size: _value("-" * size + "x"),
    "nots": lambda size: _value("not " * size + "x"),
    "inversions": lambda size: _value("~" * size + "int(x if x == x else 0)"),
    "or of values": _chain("or", "(x - {i}) * 0"),
    "or of tests": lambda size: _main("if " + " or ".join(f"x == {i}" for i in range(size)) + ":\n    return 1.0",
                                      "return 0.0"),
    "and of tests": lambda size: _main("if " + " and ".join(f"x != {i}" for i in range(size)) + ":\n    return 1.0",
                                       "return 0.0"),
    "or inside and": lambda size: _main(
        "if " + "".join(f"x > {i} {'and' if i % 2 else 'or'} (" for i in range(size)) + "x < 9" + ")" * size
        + ":\n    return 1.0", "return 0.0"),
    "comparisons": lambda size: _value("x" + "".join(f" < {i}" for i in range(size))),
    "bits": _chain("|", "(x > {i})"),
    "ternaries": lambda size: _value("".join(f"{i}.5 if x < {i} else " for i in range(size)) + "x"),
    "ternaries in the body": lambda size: _value("(" * size + "x" + "".join(
        f" if x < {i + 7} else {i}.5)" for i in range(size))),
    "ternaries in the test": lambda size: _value("(" * size + "x" + "".join(
        f" if x < {i + 7} else {i}.5)" for i in range(size)).replace(" if ", " or 1.0 if ")),
    "walruses": lambda size: _main("y = x", "return " + " + ".join(f"(y := y + {i})" for i in range(size))),
    "tuple": lambda size: _value(f"({', '.join(f'x + {i}' for i in range(size))},)[-1]"),
    "list": lambda size: _value(f"sum([{', '.join(f'x + {i}' for i in range(size))}])"),
    "nested lists": _list_nest,
    "comprehension": lambda size: _value(f"sum([x * i for i in range({size})])"),
    "generator": lambda size: _value(f"max(x - i for i in range({size}))"),
    "dict": lambda size: _value(f"{{{', '.join(f'{i}: x + {i}' for i in range(size))}}}[{size - 1}]"),
    "membership": lambda size: _value(f"1.0 if x in ({', '.join(f'{i}.0' for i in range(size))},) else 0.0"),
    "long constant": lambda size: _value(f"x * (7 ** {size} % 1000)"),
    "digits": lambda size: _value(f"x * {'9' * min(size, 300)}.0"),
    "attributes": _attributes,
    "table": _table,
    "early returns": _early_returns,
    "elifs": _elifs,
    "elifs that return": lambda size: _elifs(size).replace("y = ", "return "),
    "nested ifs": lambda size: _main(_nested(size, "if x > -{i}.5:", "return 1.0"), "return 0.0"),
    "nested ifs that join": lambda size: _main("y = 0.0", _nested(size, "if x > -{i}.5:", "y = 1.0"), "return y"),
    "ifs": lambda size: _main("y = 0.0", _lines(size, "if x > {i}:\n    y += x"), "return y"),
    "assignments": lambda size: _main("y = 0.0", _lines(size, "y = y * 0.5 + x"), "return y"),
    "asserts": lambda size: _main(_lines(size, "assert x != {i}.25"), "return x"),
    "raises": lambda size: _main(_lines(size, "if x == {i}.25:\n    raise ValueError('no {i}')"), "return x"),
    "tries": _tries,
    "nested tries": lambda size: _main(_nested(size, "try:", "return 1.0 / x") + "".join(
        f"\n{' ' * i}except ZeroDivisionError:\n{' ' * i} return {i}.0" for i in reversed(range(size)))),
    "nested withs": _with,
    "match": _match,
    "nested loops": lambda size: _main("y = 0.0", _nested(size, "for i{i} in (1,):", "y += x"), "return y"),
    "loop": lambda size: _loop(size, "y = y * 0.5 + x"),
    "loop with break": lambda size: _loop(size, "if x < i:\n    break\ny += x"),
    "loop with continue": lambda size: _loop(size, "if x == i:\n    continue\ny += x"),
    "loop with return": lambda size: _loop(size, "if x < i:\n    return y\ny += x"),
    "tuple loop with return": lambda size: _tuple_loop(size, "if x < v:\n    return y\ny += v"),
    "tuple loop with break": lambda size: _tuple_loop(size, "if x < v:\n    break\ny += v"),
    "arguments": _arguments,
    "locals": _locals,
    "live locals": _live_locals,
    "unpacked": _unpacked,
    "helpers in a chain": _helpers,
    "helpers that return early": _helper_with_exit,
    "helper called often": lambda size: _main("y = x", _lines(size, "y = h(y, {i})"), "return y",
                                              before="def h(v, k):\n    return v * 0.5 + k\n"),
    "closures inside closures": _closures,
    "closures in a chain": _function_chain,
}

UNROLLED = ("loop", "loop with break", "loop with continue", "loop with return")
"""Shapes of which `loops="unroll"` makes something else."""


@dataclass(frozen=True)
class Shape:
    """One program, and what its original does in each of `LANES`: a number, or the name of an exception."""

    name: str
    size: int
    main: Callable[..., Any]
    expected: tuple[float | str, ...]

    @property
    def parameters(self) -> int:
        return self.main.__code__.co_argcount

    def arguments(self, times: int = 1) -> list[np.ndarray]:
        return [np.tile(np.array(LANES), times)] * self.parameters


def make(name: str, size: int, folder: Path) -> Shape | None:
    """The program, written to `folder`; None where CPython does not compile it."""
    path = folder / f"shape_{''.join(c if c.isalnum() else '_' for c in name)}_{size}.py"
    path.write_text(SHAPES[name](size))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (RecursionError, SyntaxError, MemoryError):
        return None
    return Shape(name, size, module.main, tuple(_expected(module.main, value) for value in LANES))


def _expected(main: Callable[..., Any], value: float) -> float | str:
    """What the original does. Chains of helpers call each other deeper than Python's limit."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20_000))
    try:
        return main(*[value] * main.__code__.co_argcount)
    except Exception as error:  # noqa: BLE001 - what it raises is the result
        return type(error).__name__
    finally:
        sys.setrecursionlimit(limit)


def differences(shape: Shape, values: np.ndarray, faults: Any) -> list[str]:
    """The lanes of a call with errors="mask" that are not the original's."""
    wrong = []
    for lane, want in enumerate(shape.expected * (len(values) // len(LANES))):
        fault = faults[lane]
        got = values[lane] if fault is None else fault.type.__name__
        same = got == want if isinstance(want, str) or isinstance(got, str) else same_bits(got.item(), type(got.item())(want))
        if not same:
            wrong.append(f"lane {lane}: {got!r}, and the original {want!r}")
    return wrong
