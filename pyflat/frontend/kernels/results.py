"""What a kernel returns: numbers of Python's or NumPy's, arrays, tuples and other records of them, None and strings;
and the memories that it has written. `ir.kernel_results` says how the results of the IR make that up.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np

from pyflat.errors import FlattenError, Span
from pyflat.frontend.space import memories, number_classes, unsigned
from pyflat.frontend.state import templates
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, lane
from pyflat.frontend.state.layouts import Bits, Compound, Known, Layout, Number, Object, Union, taken_apart
from pyflat.frontend.state.values import (
    Abstract,
    Complex,
    DictPart,
    IncomingEdge,
    MemoryRef,
    Ref,
    Seq,
    State,
    Static,
    Text,
    Unsigned,
    View,
)
from pyflat.frontend.state.widths import PYTHON, Width, Widths
from pyflat.frontend.syntax.loop_layouts import LoopLayouts, add_to_block
from pyflat.functions.stacking import DATES
from pyflat.ir.build import const, undefined
from pyflat.ir.kernel_results import (
    ArrayResult,
    ChoiceResult,
    ConstantResult,
    NumberResult,
    RecordResult,
    Result,
    TextResult,
)
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import (
    FALSE,
    FAULT,
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
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY, Kind

ZEROS: dict[Kind, Value] = {BOOL: FALSE, INT: const(0), FLOAT: const(0.0)}
"""What leaves are that have no meaning on a path."""

Flag = tuple[int, int, str | None]
"""At which place among the results a bool stands that is to be filled in (`add_flags`), where the number is, and the
dtype that the bool asks for; None: any of NumPy's."""


def settle(s: Evaluator, edges: Sequence[IncomingEdge], before: State) -> tuple[Result, list[Kind], list[Flag]]:
    """The result of a kernel whose ways out are `edges`; each gets its operands."""
    live = [e for e in edges if not e.dead and not (isinstance(e.end, Exit) and e.end.label is FAULT)]
    if not live and s.doubtful is not None:
        raise s.doubtful
    returned = _Returned(s)
    values = [e.value or Static(None) for e in live] or [Static(None)]
    layout = functools.reduce(returned.joined, [returned.of(v, e.state) for v, e in zip(values, live, strict=False)],
                              returned.of(values[0], live[0].state if live else before))
    exported = _Exported(s, layout)
    written = list(dict.fromkeys([*_changed(live, before), *_memories(layout)]))
    _require_no_copies(s, s.widths, written, before)
    for value, edge in zip(values, live, strict=False):
        with s.build.detached() as built:
            leaves = returned.leaves(value, layout, edge.state)
        add_to_block(edge.block, built)
        tokens = [edge.state.heap.get(ref, (undefined(MEMORY),)) for ref in written]
        edge.end.values = [*exported.values(leaves), *[lane(contents[0]) for contents in tokens]]
    return exported.result, [*exported.kinds, *[MEMORY] * len(written)], exported.flags


def returned_at(edges: Sequence[IncomingEdge]) -> Iterator[tuple[str, Span | None]]:
    """The arrays that are returned, alone or as items, and where; the last place first."""
    for edge in reversed(edges):
        for value in edge.value.items if isinstance(edge.value, Seq) else (edge.value,):
            if isinstance(value, View):
                yield value.array, edge.span


def _changed(edges: Sequence[IncomingEdge], before: State) -> Iterator[MemoryRef]:
    """The memories of arguments that some edge has changed."""
    for edge in edges:
        for ref, contents in edge.state.heap.items():
            if isinstance(ref, MemoryRef) and ref in before.heap and contents[0] is not before.heap[ref][0]:
                yield ref


def _memories(layout: Layout) -> Iterator[MemoryRef]:
    """Those of the arrays that are returned."""
    match layout.form:
        case Compound(sample=View(memory=memory)) | Known(value=View(memory=memory)):
            yield memory
    for part in layout.parts:
        yield from _memories(part)


def _require_no_copies(s: Evaluator, widths: Widths, returned: Sequence[MemoryRef], before: State) -> None:
    """Refuse to return a copy that NumPy may have as a view of an argument, or of what is returned as well,
    or whose byte order may be that of an argument."""
    if not widths.native and any(ref not in before.heap for ref in returned):
        raise memories.not_native(s, "a new array is returned")
    for ref in returned:
        source = widths.copies.get(ref)
        while source is not None:
            if source in before.heap or source in returned:
                raise s.refuse("flatten/result-kind", "an array is returned that may share memory with another one",
                               why="whether .ravel, .reshape and np.ascontiguousarray copy depends on its layout",
                               help="use .flatten() or .copy()")
            source = widths.copies.get(source)


class _Returned(LoopLayouts):
    """The layout of what is returned: it has no other user any more, and numbers stay of their kinds."""

    def __init__(self, s: Evaluator):
        super().__init__(s, "", s.frame.captured.tree)
        self.grows, self.most = False, 128
        self.whole: dict[str, View] = {}

    def refuse(self, what: str, help: str = "", why: str = "") -> FlattenError:
        return self.s.refuse("flatten/result-kind", f"the kernel returns a value that {what}", help=help, why=why)

    def shared(self, state: State, refs: Sequence[Ref]) -> bool:
        return False

    def meet(self, a: Any, b: Any) -> bool:
        return super().meet(a, b) and isinstance(a, Bits) is isinstance(b, Bits) and (
            not isinstance(a, Bits) or a.width == b.width)

    def bits(self, value: Abstract, form: Bits) -> Value:
        if isinstance(value, Unsigned) and value.outside is not FALSE:
            return unsigned.exact(self.s, value)
        return unsigned.residue(self.s, value)

    def form(self, value: Abstract, state: State) -> Any:
        if number_classes.is_without_axes(self.s, value):
            raise self.refuse("is an array without axes", help="return x[()], the number in it")
        match value:
            case View(whole=True):
                return Known(self.whole.setdefault(value.array, value))
            case View() if (found := taken_apart(value)) is not None:
                return Compound(found[0], value)
            case Static(value=np.ndarray() as known) if any(
                    each.value is known for each in self.s.guards.readings()):
                return Known(value)
            case Static(value=np.generic() | None | str() | bytes() | Enum()):
                return Known(value)
        form = super().form(value, state)
        match form:
            case Number() | Bits() | Compound(sample=Seq() | Complex() | Text()) | Known(value=Static(value=int())):
                return form
            case Object() if _is_made(form):
                return form
        raise self.s.refuse("flatten/result-kind", f"the kernel returns {describe(value)}")


def _is_made(form: Object) -> bool:
    """`ir.shape.make_record` makes such an object."""
    if form.cls in DATES or issubclass(form.cls, BaseException | list | dict) and form.cls not in (list, dict):
        return False
    return not form.places and not any(isinstance(key, DictPart) for key in form.keys or ())


class _Exported:
    """The record of a layout: `result`; the kinds of its numbers; and the flags among them."""

    def __init__(self, s: Evaluator, layout: Layout):
        self.s = s
        self.kinds: list[Kind] = []
        self.flags: list[Flag] = []
        self._sources: list[int | Value] = []
        """Where each number is among the leaves of the layout, or what it is."""
        self._next = 0
        self.result = self._of(layout)

    def values(self, leaves: Sequence[Value | None]) -> list[Value]:
        found = [leaves[source] if isinstance(source, int) else source for source in self._sources]
        return [ZEROS[kind] if leaf is None else leaf for kind, leaf in zip(self.kinds, found, strict=True)]

    def _add(self, kind: Kind, known: Value | None = None) -> int:
        self.kinds.append(kind)
        self._sources.append(self._next if known is None else known)
        self._next += known is None
        return len(self.kinds) - 1

    def _of(self, layout: Layout) -> Result:
        match form := layout.form:
            case Number():
                return self._number(form.kind, form.width)
            case Bits():
                return self._number(INT, form.width, unsigned=form.width == PYTHON)
            case Known(value=View() as view):
                return ArrayResult(view.array, None, len(view.extents))
            case Known(value=Static() as known):
                return ConstantResult(known.value)
            case Compound(sample=View() as view):
                for part in layout.parts[1:]:
                    self._add(INT, lane(part.form.value) if isinstance(part.form, Known) else None)
                return ArrayResult(view.array, tuple(each.axis for each in view.stored), len(view.extents))
            case Compound(sample=Text() as sample):
                return self._text(layout, sample)
            case Union():
                for _ in layout.parts[1:]:
                    self._add(BOOL)
                return ChoiceResult(tuple(map(self._of, layout.parts)))
        is_complex = isinstance(form, Compound) and isinstance(form.sample, Complex)
        cls, names = (complex, ("real", "imag")) if is_complex else (form.cls, getattr(form, "keys", None) or ())
        return RecordResult(cls, names, tuple(map(self._of, layout.parts)))

    def _number(self, kind: Kind, width: Width, *, unsigned: bool = False) -> NumberResult:
        at = self._add(kind)
        if "?" in width:
            raise self.s.refuse("flatten/result-kind", "the kernel returns a number whose dtype is not known",
                                help="convert: float(x), np.float32(x)")
        dtypes = (*sorted(dtype for dtype in width if dtype), *([None] if None in width else []))
        for dtype in dtypes[:-1]:
            self.flags.append((len(self.kinds), at, None if len(dtypes) == 2 and None in dtypes else dtype))
            self._add(BOOL, FALSE)
        return NumberResult(kind, dtypes, unsigned)

    def _text(self, layout: Layout, sample: Text) -> TextResult:
        found, numbers = templates.template_of(sample), list(_numbers(layout))
        if found is None or any(number is None for number in numbers) or any(
                hole.how not in ("number", "times") for hole in found[0].holes):
            raise self.s.refuse("flatten/result-kind", "the kernel returns a string made of characters, or of NumPy's "
                                "scalars", help="convert the numbers first: float(x), int(x)")
        for number in numbers:
            self._add(number or INT)
        return TextResult(found[0])


def _numbers(layout: Layout) -> Iterator[Kind | None]:
    """The kinds of the numbers of a string; None for what is no number of Python's."""
    if not isinstance(layout.form, Compound):
        yield layout.form.kind if isinstance(layout.form, Number) and layout.form.width == PYTHON else None
    for part in layout.parts:
        yield from _numbers(part)


# --- which dtype a number has that is returned, where that depends on the run
ANY = "any"
"""Asked for a dtype: whether the number is NumPy's."""


def add_flags(fn: Function, widths: Widths, returned: Sequence[Flag]) -> None:
    """Put bools among the results where they are `returned`, and what is asked for `has_dtype`.

    `s = 0.0`, then `s += a[i]` in a loop: a float of Python's after no iteration, a NumPy scalar after one. Where such
    a number is returned, a bool goes with it through the nodes that it comes from, or one for each of several dtypes.
    So it does where an operation depends on the dtype that a number has (`has_dtype`, made by `width_rules.by_dtype`).
    """
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
            self.known[key] = self._of_param(value, dtype) if isinstance(value, Param) else self._of_op(value, dtype)
        return self.known[key]

    def _of_op(self, op: Value, dtype: str) -> Value:
        assert isinstance(op, Op)
        block, select = self.blocks[op], op.opcode == "select"
        made = self.known[op, dtype] = Op("select" if select else "or", (), BOOL)
        """Known before its operands are: a loop may carry the number that is asked for."""
        block.ops.insert(block.ops.index(op) + 1, made)
        self.blocks[made] = block
        numbers = op.args[1:] if select else [arg for arg in op.args if arg.kind in (INT, FLOAT)]
        parts = [*(self.of(arg, dtype) for arg in numbers), FALSE, FALSE][:2]
        made.args = (op.args[0], *parts) if select else tuple(parts)
        return made

    def _of_param(self, param: Param, dtype: str) -> Value:
        owner = self.owners.get(param)
        if owner is None:
            return FALSE
        node, is_result, position = owner
        flag = self.known[param, dtype] = Param(BOOL)
        if is_result:
            node.results.append(flag)
            columns = [end.values for end in self._ends_to(node)]
        else:
            assert isinstance(node, Loop)
            node.params.append(flag)
            columns = [node.inits, *(end.values for end in self._around(node))]
        places = [(column, len(column)) for column in columns]
        for column in columns:  # what is asked on the way may add to the same node
            column.append(FALSE)
        for column, at in places:
            column[at] = self.of(column[position], dtype)
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
