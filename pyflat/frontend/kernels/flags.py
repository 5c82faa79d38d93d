"""Which dtype a number has that a kernel returns, where that depends on the run.

`s = 0.0`, then `s += a[i]` in a loop: a float of Python's after no iteration, a NumPy scalar after one. Where such a
number is returned, a bool goes with it through the nodes that it comes from, or one for each of several dtypes. So it
does where an operation depends on the dtype that a number has (`has_dtype`, made by `width_rules.by_dtype`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyflat.frontend.kernels.results import Flag
from pyflat.frontend.state.widths import PYTHON, Widths
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import (
    FALSE,
    TRUE,
    Block,
    Const,
    End,
    Exit,
    Function,
    If,
    Label,
    Loop,
    Op,
    Param,
    Region,
    Value,
    walk,
)
from pyflat.ir.types import BOOL, FLOAT, INT

ANY = "any"
"""Asked for a dtype: whether the number is NumPy's."""


def add_flags(fn: Function, widths: Widths, returned: Sequence[Flag]) -> None:
    """Put bools among the results where they are `returned`, and what is asked for `has_dtype`."""
    asked = [op for op in all_ops(fn.body) if op.opcode == "has_dtype"]
    if not returned and not asked:
        return
    flags = _Flags(fn, widths)
    for end in flags.ends_of(fn.label):
        for at, number, dtype in returned:
            end.values[at] = flags.of(end.values[number], dtype or ANY)
    for op in asked:
        flags.answer(op)


class _Flags:
    def __init__(self, fn: Function, widths: Widths):
        self.fn, self.widths = fn, widths
        self.known: dict[tuple[Value, str], Value] = {}
        self.blocks: dict[Op, Block] = {}
        self.owners: dict[Param, tuple[If | Region | Loop, bool, int]] = {}
        """The node of a parameter, whether it is one of its results, and which."""
        for item in walk(fn.body):
            if isinstance(item, Block):
                self.blocks.update(dict.fromkeys(item.ops, item))
                continue
            self.owners.update((p, (item, True, k)) for k, p in enumerate(item.results))
            if isinstance(item, Loop):
                self.owners.update((p, (item, False, k)) for k, p in enumerate(item.params))

    def ends_of(self, label: Label) -> list[End]:
        found: list[End] = [item.end for item in walk(self.fn.body)
                            if isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label is label]
        last = self.fn.body[-1]
        if label is self.fn.label:
            found += _yield_of(last)
        return found

    def answer(self, op: Op) -> None:
        """`has_dtype` as an operation of bools."""
        (value,), dtype = op.args, op.attr("dtype")
        case = self.widths.cases.get(value)
        if case is not None and not dtype:
            op.opcode, op.args, op.attrs = case.opcode, case.operands, ()
        elif case is not None:
            holds = self._before(op, Op(case.opcode, case.operands, BOOL))
            op.opcode, op.args, op.attrs = "not", (holds,), ()
        elif not dtype:
            op.opcode, op.args, op.attrs = "not", (self.of(value, ANY),), ()
        else:
            op.opcode, op.args, op.attrs = "or", (self.of(value, dtype), FALSE), ()

    def _before(self, op: Op, made: Op) -> Op:
        block = self.blocks[op]
        block.ops.insert(block.ops.index(op), made)
        self.blocks[made] = block
        return made

    def of(self, value: Value, dtype: str) -> Value:
        """Whether a number has the dtype."""
        if isinstance(value, Const):
            return FALSE
        width = self.widths.of(value)
        if width == PYTHON or dtype == ANY and not width & {None, "?"}:
            return FALSE if width == PYTHON else TRUE
        if dtype != ANY and (dtype not in width or len(width) == 1):
            return TRUE if dtype in width else FALSE
        dtype = ANY if width == {None, dtype} else dtype
        key = value, dtype
        if key not in self.known:
            self.known[key] = FALSE
            self.known[key] = self._of_param(value, dtype) if isinstance(value, Param) else self._of_op(value, dtype)
        return self.known[key]

    def _of_op(self, op: Value, dtype: str) -> Value:
        assert isinstance(op, Op)
        block = self.blocks[op]
        if op.opcode == "select":
            parts = [self.of(arg, dtype) for arg in op.args[1:]]
            made = Op("select", (op.args[0], *parts), BOOL)
        else:
            first, *rest = [self.of(arg, dtype) for arg in op.args if arg.kind in (INT, FLOAT)] or [FALSE]
            if not rest:
                return first
            made = Op("or", (first, rest[0]), BOOL)
        block.ops.insert(block.ops.index(op) + 1, made)
        self.blocks[made] = block
        return made

    def _of_param(self, param: Param, dtype: str) -> Value:
        owner = self.owners.get(param)
        if owner is None:
            return FALSE
        node, is_result, position = owner
        flag = self.known[param, dtype] = Param(BOOL)
        if is_result:
            node.results.append(flag)
            for end in self._ends_to(node):
                end.values.append(self.of(end.values[position], dtype))
            return flag
        assert isinstance(node, Loop)
        node.params.append(flag)
        node.inits.append(self.of(node.inits[position], dtype))
        for end in self._around(node):
            end.values.append(self.of(end.values[position], dtype))
        return flag

    def _ends_to(self, node: If | Region | Loop) -> Iterator[End]:
        match node:
            case If():
                for items in (node.then, node.orelse):
                    yield from _yield_of(items[-1])
            case Region():
                yield from _yield_of(node.body[-1])
                yield from self.ends_of(node.label)
            case Loop():
                yield from self.ends_of(node.label)

    def _around(self, loop: Loop) -> Iterator[End]:
        yield from _yield_of(loop.body[-1])
        yield from self.ends_of(loop.again)


def _yield_of(item: object) -> Iterator[End]:
    if isinstance(item, Block) and item.end is not None and not isinstance(item.end, Exit):
        yield item.end
