"""A backend in a hundred lines: functions compiled for a stack machine that knows neither calls nor jumps.

    python examples/stack_backend.py

prints the program of a shader and what it computes. `compile` is what an entry point of the group "pyflat.targets" may
name: `pyflat.twin(shade).to(pyflat.backend.target("stack"))` then runs on arrays of any shape.
"""

from __future__ import annotations

import operator
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyflat.backend import FlatFunction, Node, flatten_fold, flatten_function, flatten_fuse, flatten_optimize

MEANINGS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": np.divide, "neg": operator.neg,
    "abs": np.abs, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "exp": np.exp, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne, "and": operator.and_,
    "or": operator.or_, "not": np.logical_not, "select": np.where, "to_float": lambda x: x * 1.0,
    "isinf": np.isinf, "min": lambda a, b: np.where(b < a, b, a), "max": lambda a, b: np.where(b > a, b, a),
    "clamp": lambda x, low, high: MEANINGS["min"](MEANINGS["max"](x, low), high),
}
"""What this machine can do. `min` and `max` are Python's: the second operand where it is smaller, else the first."""


@dataclass(frozen=True)
class Program:
    """Instructions: ("push", constant), ("load", register), ("store", register) or an opcode that pops its operands."""

    name: str
    code: tuple[tuple[str, Any], ...]
    results: int

    @property
    def source(self) -> str:
        return "\n".join(f"{opcode} {'' if operand is None else operand}".rstrip() for opcode, operand in self.code)

    def __call__(self, lanes: Sequence[Any], n: int) -> list[Any]:
        """Run on lanes: an array of length n or a NumPy scalar for each parameter."""
        stack: list[Any] = []
        registers: dict[str, Any] = {f"a{k}": lane for k, lane in enumerate(lanes)}
        with np.errstate(all="ignore"):
            for opcode, operand in self.code:
                match opcode:
                    case "push":
                        stack.append(operand)
                    case "load":
                        stack.append(registers[operand])
                    case "store":
                        registers[operand] = stack.pop()
                    case _:
                        count = operand
                        stack[len(stack) - count:] = [MEANINGS[opcode](*stack[len(stack) - count:])]
        return stack


def compile(flat: FlatFunction) -> Program:
    """The program of a flat function. Raises ValueError for an operation that the machine does not know."""
    uses = Counter(n for node in flat.nodes for n in node.inputs) + Counter(flat.results)
    code: list[tuple[str, Any]] = []
    stored: set[Node] = set()

    def emit(node: Node) -> None:
        """Leave the value of a node on the stack; one that is used again goes to a register."""
        if node.opcode == "const":
            code.append(("push", node.attrs["value"]))
        elif node.opcode == "param":
            code.append(("load", f"a{node.index}"))
        elif node in stored:
            code.append(("load", f"t{node.index}"))
        elif node.opcode not in MEANINGS:
            raise ValueError(f"{flat.name}: the stack machine has no {node.opcode} ({node.span})")
        else:
            for operand in node.inputs:
                emit(operand)
            code.append((node.opcode, len(node.inputs)))
            if uses[node] > 1:
                stored.add(node)
                code.extend([("store", f"t{node.index}"), ("load", f"t{node.index}")])

    for result in flat.results:
        emit(result)
    return Program(flat.name, tuple(code), len(flat.results))


def shade(x: float, y: float, light: float) -> float:
    """Two rings and a highlight, as one writes it."""
    distance = abs(x * x + y * y - 0.25)
    if distance > 0.2:
        return 0.0
    value = 1.0 - distance * 4.0
    if x > 0.3:
        value = value + light * (x - 0.3)
    if value > 1.0:
        return 1.0
    return value


def main() -> int:
    flat = flatten_fuse(flatten_optimize(flatten_fold(flatten_function(shade))))
    program = compile(flat)
    print(f"; {program.name}: {flat.counts()}\n{program.source}")
    x, y = np.meshgrid(np.linspace(-0.8, 0.8, 33), np.linspace(-0.8, 0.8, 17))
    (picture,) = program([x.ravel(), y.ravel(), 1.5], x.size)
    for row in picture.reshape(x.shape):
        print("".join(" .:-=+*#%@"[int(9 * value)] for value in row))
    wanted = [shade(a, b, 1.5) for a, b in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)]
    return 0 if np.array_equal(picture, wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
