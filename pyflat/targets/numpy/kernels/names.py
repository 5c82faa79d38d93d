"""Names in the text of a kernel: those of the user's arrays, variables and counters, and of what has none."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Sequence

import libcst as cst

from pyflat.analysis.kernels import Kernel
from pyflat.ir.loops import Counted, all_ops
from pyflat.ir.nodes import Loop, Value

_TAKEN = frozenset({"np", "s", "lanes", "math", "partial", "leave", "OPERATIONS", *keyword.kwlist, *dir(builtins)})


class UniqueNames:
    """Gives each name once."""

    def __init__(self, kernel: Kernel):
        self._given: set[str] = {kernel.function.name}
        self._numbers: dict[str, int] = {}
        self.arrays: dict[str, str] = {}
        visitor = _Lengths()
        kernel.tree.visit(visitor)
        self._lengths = visitor.found

    def fresh(self, wish: str) -> str:
        stem = re.sub(r"\W", "_", wish)
        name = stem
        while name in self._given or name in _TAKEN or not name.isidentifier():
            self._numbers[stem] = self._numbers.get(stem, 0) + 1
            name = f"{stem}{'_' if wish[-1:].isdigit() or not stem else ''}{self._numbers[stem]}"
        self._given.add(name)
        return name

    def lengths(self, name: str, rank: int) -> tuple[list[str], list[str]]:
        """What the lengths of an argument's axes are called, and the lines that say so: `rows, columns = a.shape`."""
        array = self.array(name)
        texts = [f"{array}.shape[{axis}]" for axis in range(rank)]
        wished = self._lengths.get(name, {})
        for axis in (axis for axis in wished if axis < rank):
            texts[axis] = self.fresh(wished[axis])
        if rank > 1 and len(wished) == rank:
            return texts, [f"{', '.join(texts)} = {array}.shape"]
        return texts, [f"{texts[axis]} = {array}.shape[{axis}]" for axis in sorted(wished) if axis < rank]

    def array(self, name: str) -> str:
        if name not in self.arrays:
            self.arrays[name] = self.fresh(name)
        return self.arrays[name]


def wish(value: Value) -> str:
    """What a value is called: as the user's variable, or `t`."""
    return value.name if value.name.isidentifier() else "t"


def counter_wish(loop: Loop, counted: Counted) -> str:
    """The user's name of a counter: the target of the `for` that the loop comes from."""
    if counted.iv.name.isidentifier():
        return counted.iv.name
    for op in all_ops(loop.body):
        node = op.origin.node if op.origin is not None else None
        if op.opcode == "add" and op.args[0] is counted.iv and isinstance(node, cst.For):
            return _target(node.target)
    return "i"


def _target(target: cst.BaseExpression) -> str:
    """The first name of a target, as of `for i, x in enumerate(a)`."""
    while isinstance(target, cst.Tuple | cst.List) and target.elements:
        target = target.elements[0].value
    return target.value if isinstance(target, cst.Name) and target.value != "_" else "i"


class _Lengths(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: dict[str, dict[int, str]] = {}
        """Array -> axis -> the variable that has its length."""

    def visit_Assign(self, node: cst.Assign) -> None:
        target = node.targets[0].target
        value = node.value
        if not isinstance(value, cst.Attribute) or value.attr.value != "shape":
            return
        if isinstance(target, cst.Tuple) and isinstance(value.value, cst.Name):
            for axis, element in enumerate(target.elements):
                if isinstance(element.value, cst.Name) and element.value.value != "_":
                    self.found.setdefault(value.value.value, {}).setdefault(axis, element.value.value)


def returned(kernel: Kernel, names: Sequence[str]) -> list[str]:
    """The arrays made inside among those that are returned."""
    return [name for name in dict.fromkeys(names) if name not in kernel.arguments]
