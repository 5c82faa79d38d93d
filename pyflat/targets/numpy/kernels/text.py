"""A kernel as a Python function over NumPy arrays.

Loops whose iterations are apart (`parallel`) are lanes: their body is written once, for all iterations, as slices where
that can be said (`boxes`), else with the helpers of `array_lanes`; what runs in some of them only stands under a mask.
Other loops are loops.

    def jacobi(b, a):
        if 1 < a.shape[0] - 1:
            if a.shape[0] - 1 > b.shape[0]:
                raise IndexError("index out of bounds")
            for start, stop in s.blocks(1, a.shape[0] - 1, 1):
                b[start:stop] = 0.5 * (a[start - 1:stop - 1] + a[start + 1:stop + 1])
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from keyword import iskeyword

from pyflat.errors import InternalError
from pyflat.ir.affine import affine
from pyflat.ir.kernel_results import names as returned_names
from pyflat.ir.memory import ArrayArgument
from pyflat.ir.nodes import FAULT, Block, Const, Exit, If, Item, Loop, Op, Region, Value, Yield, walk
from pyflat.ir.print import Sourced
from pyflat.ir.types import MEMORY
from pyflat.targets.numpy.kernels.bodies import text_of
from pyflat.targets.numpy.kernels.boxes import is_nonnegative
from pyflat.targets.numpy.kernels.loops import LoopWriter
from pyflat.targets.numpy.kernels.nests import Given
from pyflat.targets.numpy.kernels.operations import Mask
from pyflat.targets.numpy.kernels.writer import as_scalar, masked, returned

_IMPORTS = ((r"\bmath\.", "import math"), (r"\bpartial\(", "from functools import partial"),
            (r"\bnp\.", "import numpy as np"), (r"\blanes\.", "from pyflat.functions import lanes"),
            (r"\buint64_lanes\.", "from pyflat.functions import uint64_lanes"),
            (r"\bnarrow_functions\.", "from pyflat.functions import narrow_functions"),
            (r"\bs\.", "from pyflat.functions import array_lanes as s"),
            (r"\bOPERATIONS\[", "from pyflat.ir.ops import OPERATIONS"))


class KernelText(LoopWriter):
    """Writes the function. `lanes` is false for the version without any: every loop is a loop."""

    def text(self) -> str:
        """A module: what the function needs, and the function. Its lines are `lines`, the last ones of the text."""
        given = self._parameters()
        self._declare_returned()
        values = self.items(self.kernel.function.body, "None")
        if values is not None:
            self._return(values[0])
        function = f"def {self.function_name}({', '.join(given)}):\n" + "\n".join(self.lines or ["    pass"]) + "\n"
        made = "".join(f"{name} = {what}\n" for name, what in self.functions.items())
        bodies = [text_of(name, body.function) for name, body in self.bodies.items()]
        self.body_lines = [line for lines in bodies for line in lines]
        made += "\n\n".join("\n".join(lines) + "\n" for lines in bodies)
        imports = [line for pattern, line in _IMPORTS if re.search(pattern, made + function)]
        head = "\n".join(imports) + "\n\n" if imports else ""
        return head + (made + "\n" if made else "") + function

    @property
    def function_name(self) -> str:
        name = self.kernel.function.name
        return name if name.isidentifier() and not iskeyword(name) else "kernel"

    def _parameters(self) -> list[str]:
        params = iter(self.kernel.function.params)
        given: list[str] = []
        memories: set[int] = set()
        for name, argument in self.kernel.arguments.items():
            if isinstance(argument, ArrayArgument):
                if argument.memory not in memories:
                    memories.add(argument.memory)
                    self.names[next(params)] = "None"
                given.append(self.array(name))
                lengths, lines = self.given.lengths(name, argument.rank)
                for line in lines:
                    self.put(line)
                for length in lengths:
                    param = next(params)
                    self.names[param] = length
                    self.modest.add(param)
                    self.nonnegative.add(param)
            elif hasattr(argument, "kind") or hasattr(argument, "dtype"):
                given.append(self.fresh(name))
                self.names[next(params)] = given[-1]
                dtype = getattr(argument, "dtype", "f8")
                if dtype != "f8":  # which NumPy would not take for the number that it is
                    self.put(f"{given[-1]} = {as_scalar(given[-1], dtype)}")
        return given

    def _declare_returned(self) -> None:
        """Arrays that are returned on some paths, and may not have been made on others."""
        fn, certain = self.kernel.function, set[str]()
        for item in fn.body:
            if any(isinstance(each, Block) and isinstance(each.end, Exit) and each.end.label is fn.label
                   for each in walk([item])):
                break
            certain |= {op.attr("array") for op in (item.ops if isinstance(item, Block) else ()) if op.kind is MEMORY}
        for name in returned(self.kernel, list(returned_names(self.kernel.result))):
            if name not in certain:
                self.put(f"{self.array(name)} = None")

    def _return(self, values: Sequence[Value]) -> None:
        """The numbers that are returned, then the arrays that were made."""
        kinds = self.kernel.function.result_kinds
        found = [self.bare(v) for v, kind in zip(values, kinds, strict=True) if kind is not MEMORY]
        found += map(self.array, returned(self.kernel, list(returned_names(self.kernel.result))))
        if found or self.indent > 1:
            self.put(f"return {', '.join(found)}".rstrip())

    # --- lists and branches
    def items(self, items: list[Item], mask: Mask) -> Given:
        for item in items:
            match item:
                case Block():
                    self.waiting.clear()
                    for op in item.ops:
                        self.op(op, mask)
                    if isinstance(item.end, Exit):
                        self._exit(item.end, mask)
                        return None
                    if isinstance(item.end, Yield):
                        return item.end.values, mask
                case If():
                    mask = self._if(item, mask)
                case Region():
                    mask = self.put_region(item, mask)
                case Loop():
                    mask = self.put_loop(item, mask)
            if mask == "never":
                return None
        raise InternalError("control fell off a list without an end")

    def _exit(self, end: Exit, mask: Mask) -> None:
        if end.label is FAULT:
            self.put("raise s.Faulted" if mask == "None" else f"if s.running({mask}): raise s.Faulted")
        elif end.label is self.kernel.function.label:
            self._return(end.values)
        else:
            self.exit(end, mask)

    def _if(self, node: If, mask: Mask) -> Mask:
        if self.vary([node.cond]):
            return self._masked_if(node, mask)
        if self._never_faults(node):
            self.bare(node.cond)
            return mask
        names = self.variables(node.results)
        parts = self.nest is not None and any(_leaves_by_exit(arm) for arm in (node.then, node.orelse))
        after = self.fresh("mask") if parts else mask
        start = len(self.lines)
        condition = self.operand(node.cond, 7)
        ends: list[Given] = []
        middle = start
        for head, items in ((f"if {condition}:", node.then), ("else:", node.orelse)):
            middle = len(self.lines)
            with self.block(head):
                found = self.items(items, mask)
                if found is not None:
                    self.assign(names, found[0])
                    if after != mask:
                        self.put(f"{after} = {'True' if found[1] == 'None' else found[1]}")
                elif after != mask and not _only_faults(items):
                    self.put(f"{after} = False")
                ends.append(found)
        self._without_pass(start, middle, condition)
        varying = any(end is not None and self.vary([end[0][k]]) for end in ends for k in range(len(names)))
        self.name_params(node.results, names, varying=varying)
        if all(end is None for end in ends):
            return "never"
        return after

    def _without_pass(self, start: int, middle: int, condition: str) -> None:
        """An arm that does nothing is not written."""
        indent = "    " * self.indent
        if self.lines[middle + 1:] == [f"{indent}    pass"]:
            del self.lines[middle:]
            if self.lines[start + 1:] == [f"{indent}    pass"]:
                self.lines[start:] = [] if condition.isidentifier() else [f"{indent}{condition}  # which may warn"]
        elif self.lines[start + 1:middle] == [f"{indent}    pass"]:
            head = self.lines[start]
            made_of = head.made_of if isinstance(head, Sourced) else ()
            self.lines[start:middle + 1] = [Sourced(f"{indent}if not {condition}:", made_of)]

    def _never_faults(self, node: If) -> bool:
        """A test of a length, which is no negative number."""
        cond, last = node.cond, node.then[-1]
        if not isinstance(cond, Op) or cond.opcode not in ("lt", "ne") or node.results:
            return False
        faults = isinstance(last, Block) and isinstance(last.end, Exit) and last.end.label is FAULT
        rest = node.orelse[-1]
        empty = len(node.orelse) == 1 and isinstance(rest, Block) and not rest.ops and isinstance(rest.end, Yield)
        if not faults or not empty:
            return False
        if cond.opcode == "ne":
            return affine(cond.args[0]) == affine(cond.args[1]) is not None
        bound = cond.args[1]
        return isinstance(bound, Const) and bound.value == 0 and is_nonnegative(affine(cond.args[0]), self.nonnegative)

    def _masked_if(self, node: If, mask: Mask) -> Mask:
        names = self.variables(node.results)
        arms: list[tuple[Mask, Given]] = []
        lines: list[tuple[int, str]] = []
        self.settle(node.cond)
        condition = self.plain(node.cond)
        for holds, items in ((True, node.then), (False, node.orelse)):
            if _is_nothing(items):
                end = items[-1]
                assert isinstance(end, Block) and end.end is not None
                arms.append(("", (end.end.values, "")))
                continue
            arm = condition
            if not holds or mask != "None":
                arm = self.fresh("mask")
                lines.append((len(self.lines), arm))
                self.reading.add(node)
                self.put(f"{arm} = {masked(mask, condition, holds=holds)}")
            found = self.items(items, arm)
            if found is not None:
                for value in found[0]:
                    self.settle(value)
            arms.append((arm, found))
        ends = [(arm, found) for arm, found in arms if found is not None]
        if len(ends) == 2:
            for number, name in enumerate(names):
                if name:
                    first, second = (self.lanes_text(found[0][number]) for _, found in ends)
                    self.reading.add(node)
                    self.put(f"{name} = np.where({condition}, {first}, {second})")
        elif ends:
            self.assign(names, ends[0][1][0])
        self.name_params(node.results, names, varying=True)
        if not ends:
            return "never"
        if len(ends) == 2 and all(found[1] == arm for arm, found in ends):
            self._without_unused(lines)
            return mask
        masks = [found[1] if arm else self._rest(mask, condition, number == 0)
                 for number, (arm, found) in enumerate(arms) if found is not None]
        if len(masks) == 1:
            return masks[0]
        joined = self.fresh("mask")
        self.put(f"{joined} = {masks[0]} | {masks[1]}")
        return joined

    def _without_unused(self, lines: Sequence[tuple[int, str]]) -> None:
        """Masks that nothing has needed."""
        for at, name in reversed(lines):
            if not any(re.search(rf"\b{name}\b", line) for line in self.lines[at + 1:]):
                del self.lines[at]

    def _rest(self, mask: Mask, condition: str, then: bool) -> Mask:
        """The lanes of an arm that does nothing."""
        name = self.fresh("mask")
        self.put(f"{name} = {masked(mask, condition, holds=then)}")
        return name


def _leaves_by_exit(items: list[Item]) -> bool:
    """A lane may leave the list for a place outside of it, or not come to its end."""
    inner = {label for item in walk(items) if isinstance(item, Loop | Region)
             for label in ([item.label, item.again] if isinstance(item, Loop) else [item.label])}
    return any(isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label is not FAULT
               and item.end.label not in inner for item in walk(items))


def _only_faults(items: list[Item]) -> bool:
    return not _leaves_by_exit(items)


def _is_nothing(items: list[Item]) -> bool:
    first = items[0]
    return len(items) == 1 and isinstance(first, Block) and not first.ops and isinstance(first.end, Yield)
