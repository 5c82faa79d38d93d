"""`twin.report()`: the original next to the twin, each line linked with its translation.

The facts are those of `explain`, `profile` and `show`; here they are put beside the lines of the source. `Report` has
them for programs; `pyflat.inspection.report_page` makes one HTML page of it.
"""

from __future__ import annotations

import ast
import linecache
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal

from pyflat.errors import FlattenError, Span
from pyflat.inspection.explain import Explanation, KernelExplanation, function_of, python_calls
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import TRIP_LIMIT, Block, Exit, If, Item, Loop, Op, Region, Value, walk
from pyflat.ir.print import Sourced
from pyflat.ir.recursion import with_room
from pyflat.targets import target as targets

if TYPE_CHECKING:
    from pyflat.inspection.explain_kernel import ExplainedArray
    from pyflat.inspection.profile import Profile
    from pyflat.inspection.source_map import SourceLine
    from pyflat.ir.shape import Shape
    from pyflat.runtime.compiled import FlatForm
    from pyflat.runtime.settings import Options

Sort = Literal["select", "branch", "loop", "call", "array", "fault", "gone", "refused"]
Place = tuple[str, int]
"""A file, and a line of it."""

TRIPS = 100.0
"""Iterations of a kernel's loop, for its share of the cost."""
MOST = 80
"""Characters of a condition that is shown."""
_CALLS = {"libm": "the C library's", "numpy": "NumPy's", "fast": "in registers", "exact": "in registers, the same bits"}
"""By whose digits an elementary function has (`explain.Called`)."""


@dataclass(frozen=True, slots=True)
class Remark:
    """How a line was translated, or why it was refused."""

    sort: Sort
    text: str


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A line of source. `share` of the twin's cost; `linked`: the lines of the twin's text, from 0, that come from
    it."""

    number: int
    text: str
    share: float = 0.0
    remarks: tuple[Remark, ...] = ()
    linked: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportPart:
    """A function of the source: the one that was flattened first, then helpers that were put into it."""

    name: str
    file: str
    lines: tuple[ReportLine, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A twin beside its original. `facts` are lines above, `text` the twin's lines, `more` what `explain` says."""

    name: str
    title: str
    facts: tuple[str, ...]
    parts: tuple[ReportPart, ...]
    text: tuple[str, ...]
    more: str
    refused: bool = False

    def html(self) -> str:
        """One page that needs nothing beside it."""
        from pyflat.inspection.report_page import page

        return page(self)

    def save(self, file: str | Path) -> None:
        """Writes the page. OSError where that cannot be."""
        Path(file).write_text(self.html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        from pyflat.inspection.report_page import fragment

        return fragment(self)

    def __str__(self) -> str:
        return "\n".join(_plain(self))

    __repr__ = __str__


class _Remarks:
    """What is said of lines, in the order in which it is found; the shares of the cost that they have, and the lines of
    the twin's text that come from them."""

    def __init__(self, costs: Mapping[Place, float] | None = None,
                 linked: Mapping[Place, tuple[int, ...]] | None = None) -> None:
        self._costs, self._linked = costs or {}, linked or {}
        self._found: dict[Place, dict[Remark, None]] = defaultdict(dict)

    def add(self, place: Place | SourceLine | None, sort: Sort, text: str) -> None:
        if place is not None:
            file, line = place if isinstance(place, tuple) else (place.file, place.line)
            self._found[file, line][Remark(sort, text)] = None

    def places(self) -> set[Place]:
        return {*self._costs, *self._linked, *self._found}

    def line(self, place: Place, text: str) -> ReportLine:
        """The line at a place."""
        return ReportLine(place[1], text, self._costs.get(place, 0.0), tuple(self._found.get(place, ())),
                          self._linked.get(place, ()))


# --- functions of lanes


@with_room
def report(
    fn: FunctionType, shapes: dict[str, Shape], options: Options, name: str, explained: Explanation,
    profiled: Profile | None = None
) -> Report:
    """The report of a function of lanes. Raises FlattenError."""
    from pyflat.runtime.compiled import flatten

    done = flatten(fn, shapes, options)
    text, origins = _text(done, name)
    remarks = _Remarks(_costs(done, options, explained.width), _linked(len(text), origins))
    _of_branches(remarks, explained, profiled)
    _of_operations(remarks, done, options)
    parts = [_function(done.spec.captured.qualname, fn, remarks)]
    parts += _helpers(parts[0], remarks)
    title = f"{explained.kinds} on {explained.target}"
    facts = (f"Estimated cost: {explained.cost:,} (error checks: {explained.detection:,})", *_elsewhere(parts),
             explained.counts, *explained.slower)
    return Report(name, title, facts, tuple(parts), text, str(explained) if profiled is None else
                  f"{explained}\n\n{profiled}")


def _text(done: FlatForm, name: str) -> tuple[tuple[str, ...], list[frozenset[Place]]]:
    """The lines of the twin, and where the last of them come from."""
    from pyflat.passes.pipelines import VALUES, run
    from pyflat.targets.text import render_linked

    text, places = render_linked(done.spec, run(done.spelled, VALUES), name=name)
    return tuple(text.rstrip("\n").split("\n")), places


def _linked(count: int, origins: Sequence[frozenset[Place]]) -> dict[Place, tuple[int, ...]]:
    """Place -> lines of the text."""
    found: dict[Place, list[int]] = defaultdict(list)
    for number, places in enumerate(origins, count - len(origins)):
        for place in places:
            found[place].append(number)
    return {place: tuple(lines) for place, lines in found.items()}


def _of_branches(remarks: _Remarks, explained: Explanation, profiled: Profile | None) -> None:
    for arms in explained.branches:
        copies = f", {arms.copies} copies" if arms.copies > 1 else ""
        if arms.then or arms.orelse:
            remarks.add(arms.place, "branch", f"cost: then {arms.then:,}, else {arms.orelse:,}{copies}")
    for place, what in explained.loops:
        remarks.add(place, "loop", what)
    for row in profiled.branches if profiled is not None else ():
        never = f"; {row.dead} is never taken" if row.dead else ""
        remarks.add(row.place, "branch", f"{row.share:.0%} of {row.then + row.orelse:,} elements take it{never}")
    for loop in profiled.loops if profiled is not None else ():
        remarks.add(loop.place, "loop", f"{loop.least:,} to {loop.most:,} iterations, median {loop.median:,g}")


def _of_operations(remarks: _Remarks, done: FlatForm, options: Options) -> None:
    selects: Counter[Place] = Counter()
    for op in all_ops(done.spelled.body):
        fault = op.attr("fault") if op.opcode == "fault" else TRIP_LIMIT
        span = fault.span or op.span
        if span is not None and fault != TRIP_LIMIT:
            where = _condition(done, op.args[0])
            remarks.add((span.file, span.line), "fault", f"raises {fault.type} where {where}" if where
                        else f"may raise {fault.type}")
    for op in all_ops(done.flat.body):
        condition = op.args[0] if op.opcode == "select" else None
        for place in _places(condition) if isinstance(condition, Op) else ():
            selects[place] += 1
        if (named := function_of(op, options)) is not None:
            name, whose = named
            how = python_calls(name, options) if whose == "python" else _CALLS[whose]
            for place in _places(op):
                remarks.add(place, "call", f"{name}: {how}")
    for place, count in selects.items():
        remarks.add(place, "select", f"{count} select{'s' * (count > 1)} by this condition")


def _condition(done: FlatForm, value: Value) -> str | None:
    """When a lane ends by the form for texts, in the parameters of the function; None where that is long, or depends
    on a loop."""
    from pyflat.targets.text import render_condition

    if done.spelled.form != "flat":
        return None
    found = render_condition(done.spec, done.spelled, value)
    return found if found is not None and len(found) <= MOST else None


def _places(op: Op) -> set[Place]:
    spans = (origin.span for origin in (op.origin, op.statement) if origin is not None)
    return {(span.file, span.line) for span in spans if span is not None}


def _costs(done: FlatForm, options: Options, width: int) -> dict[Place, float]:
    """Place -> the share of the cost of the flat form."""
    price: Callable[[Op], float] = partial(targets.of(options.target).costs().price, width=width)
    found: dict[Place, float] = defaultdict(float)
    total = 0.0
    for op in all_ops(done.flat.body):
        total += price(op)
        span = _span(op)
        if span is not None:
            found[span.file, span.line] += price(op)
    return {place: cost / total for place, cost in found.items() if total}


def _span(value: Value) -> Span | None:
    """Where an operation is from; a select that the compiler made, from where its condition is, or a value."""
    if not isinstance(value, Op) or value.span is not None or value.opcode != "select":
        return value.span if isinstance(value, Op) else None
    return next(filter(None, map(_span, value.args)), None)


def _elsewhere(parts: Sequence[ReportPart]) -> tuple[str, ...]:
    """What the shares of the lines leave of the cost."""
    rest = 1.0 - sum(line.share for part in parts for line in part.lines)
    return (f"{rest:.0%} of the cost is outside the lines shown",) if rest >= 0.005 else ()


# --- kernels over arrays, refusals


def report_kernel(version: Any, explained: KernelExplanation, name: str) -> Report:
    """The report of a kernel over arrays. The NumPy target shows the code that runs, others the loops in Python."""
    from pyflat.targets.numpy.kernels.engine import sourced_lines

    own_text = getattr(version.compiled, "sourced_lines", None)
    text = own_text() if own_text is not None else sourced_lines(version.kernel, lanes=False)
    shares = _kernel_costs(version.kernel.function.body, explained.target)
    remarks = _Remarks(shares, _linked(len(text), [_origins(line) for line in text]))
    _of_kernel(remarks, explained, version.kernel.function.body)
    captured = version.kernel.captured
    lines = captured.source.rstrip("\n").split("\n")
    part = _part(captured.qualname, captured.file, captured.first_line, lines, remarks)
    parts = _with_gone(part, lines, captured.first_line), *_helpers(part, remarks)
    facts = [f"{array.name}: {array.where}, {_array(array)}, {array.layout}" for array in explained.arrays]
    if shares:
        facts += [f"shares of the cost assume {TRIPS:.0f} iterations per loop", *_elsewhere(parts)]
    if own_text is None:
        facts.append('the generated loops are shown in Python; stage="kernel" of show() has the IR that LLVM compiles')
    return Report(name, f"a kernel over arrays on {explained.target}", tuple(facts), parts, tuple(text), str(explained))


def _kernel_costs(items: Sequence[Item], target: str) -> dict[Place, float]:
    """Place -> the share of the cost of a kernel, as if each of its loops made `TRIPS` iterations."""
    price = targets.of(target).costs().price
    found: dict[Place, float] = defaultdict(float)
    total = 0.0
    todo = [(item, 1.0) for item in items]
    while todo:
        item, times = todo.pop()
        match item:
            case Block():
                for op in item.ops:
                    cost = price(op, width=1) * times
                    total += cost
                    if op.origin is not None and (span := op.origin.span) is not None:
                        found[span.file, span.line] += cost
            case If():
                todo += [(inner, times) for inner in (*item.then, *item.orelse)]
            case Loop():
                todo += [(inner, times * TRIPS) for inner in item.body]
            case Region():
                todo += [(inner, times) for inner in item.body]
    return {place: cost / total for place, cost in found.items() if total}


def _of_kernel(remarks: _Remarks, explained: KernelExplanation, items: list[Item]) -> None:
    for loop in explained.loops:
        remarks.add(loop.place, "loop", f"{'parallel: ' if loop.parallel else 'in order: '}{loop.why}")
        for tests in loop.tests():
            remarks.add(loop.place, "loop", tests)
    for array in explained.arrays:
        remarks.add(array.place, "array", f"{array.name}: {_array(array)}, {array.size} bytes")
        if array.kept:
            remarks.add(array.place, "array", array.kept)
    for item in walk(items):
        end = item.end if isinstance(item, Block) else None
        if isinstance(end, Exit) and end.fault is not None and (span := end.fault.span) is not None:
            undecided = end.fault.type == "Undecided"  # no exception of Python's: the original goes on from here
            remarks.add((span.file, span.line), "fault", f"falls back to the original: {end.fault.message}" if undecided
                        else f"may raise {end.fault.type}")


def _origins(line: str) -> frozenset[Place]:
    """Where a line of a kernel's text comes from; a branch and a loop stand where their conditions do."""
    found: set[Place] = set()
    for what in line.made_of if isinstance(line, Sourced) else ():
        test = what.body[1] if isinstance(what, Loop) and len(what.body) > 1 else what
        op = test.cond if isinstance(test, If) else test
        found |= _places(op) if isinstance(op, Op) else set()
    return frozenset(found)


def _array(array: ExplainedArray) -> str:
    return f"{array.rank} dimension{'s' * (array.rank != 1)} of {array.dtype}"


def report_refusal(fn: FunctionType, refusal: FlattenError, name: str) -> Report:
    """Why there is no twin: the function with its refusal in place, and the function where that is."""
    said = refusal.diagnostic
    remarks = _Remarks()
    if said.span is not None:
        remarks.add((said.span.file, said.span.line), "refused", said.message)
    for note in said.notes:
        if note.span is not None:
            remarks.add((note.span.file, note.span.line), "refused", note.message)
    first = _function(fn.__qualname__, fn, remarks, gone=False)
    parts = (first, *_helpers(first, remarks))
    facts = tuple(filter(None, (f"{said.message} [{said.code}]", said.why and f"why: {said.why}",
                                said.help and f"help: {said.help}")))
    return Report(name, "refused", facts, parts, (), str(refusal), refused=True)


# --- lines


def _function(name: str, fn: FunctionType, remarks: _Remarks, *, gone: bool = True) -> ReportPart:
    """The lines of a function, by its code; what is left of none of its statements is said."""
    from pyflat.frontend.capture import capture

    try:
        captured = capture(fn)
    except FlattenError:  # there is no text of it
        return ReportPart(name, fn.__code__.co_filename, ())
    lines = captured.source.rstrip("\n").split("\n")
    part = _part(name, captured.file, captured.first_line, lines, remarks)
    return _with_gone(part, lines, captured.first_line) if gone else part


def _part(name: str, file: str, first: int, lines: Sequence[str], remarks: _Remarks) -> ReportPart:
    return ReportPart(name, file, tuple(remarks.line((file, k), text) for k, text in enumerate(lines, first)))


def _with_gone(part: ReportPart, lines: Sequence[str], first: int) -> ReportPart:
    """Statements of which nothing is left."""
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError:  # a lambda in the middle of an expression
        return part
    simple = ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return
    starts = {first + node.lineno - 1: range(first + node.lineno - 1, first + (node.end_lineno or node.lineno))
              for node in ast.walk(tree) if isinstance(node, simple)}
    by_number = {line.number: line for line in part.lines}

    def is_gone(number: int) -> bool:
        own = [by_number[each] for each in starts[number] if each in by_number]
        return not any(line.share or line.linked or line.remarks for line in own)

    said = Remark("gone", "no code: a name only, known while flattening, or unused")
    found = {number for number in starts if number in by_number and is_gone(number)}
    return replace(part, lines=tuple(
        replace(line, remarks=(said,)) if line.number in found else line for line in part.lines))


def _helpers(main: ReportPart, remarks: _Remarks) -> Iterator[ReportPart]:
    """The other functions of which something is known; files that cannot be read are left out."""
    own = {(main.file, line.number) for line in main.lines}
    numbers: dict[str, set[int]] = defaultdict(set)
    for file, number in remarks.places():
        if (file, number) not in own:
            numbers[file].add(number)
    for file, wanted in numbers.items():
        lines = [line.rstrip("\n") for line in linecache.getlines(file)]
        try:
            tree = ast.parse("\n".join(lines))
        except (SyntaxError, ValueError):
            continue
        for node in _around(tree, wanted):
            chosen = lines[node.lineno - 1:node.end_lineno]
            yield _part(node.name, file, node.lineno, chosen, remarks)


def _around(tree: ast.Module, wanted: set[int]) -> list[ast.FunctionDef]:
    """The outermost functions that have one of these lines."""
    found: list[ast.FunctionDef] = []
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.FunctionDef):
            if wanted & set(range(node.lineno, (node.end_lineno or node.lineno) + 1)):
                found.append(node)
        elif isinstance(node, ast.ClassDef | ast.If | ast.Try | ast.With):
            todo += ast.iter_child_nodes(node)
    return found


def _plain(found: Report) -> Iterator[str]:
    yield f"{found.name}: {found.title}"
    yield from (f"  {fact}" for fact in found.facts)
    for part in found.parts:
        yield from ("", f"{part.name}  {part.file}")
        for line in part.lines:
            share = f"{line.share:4.0%}" if line.share else ""
            yield f"{line.number:5} {share:4}  {line.text}"
            yield from (f"{'':12}# {remark.text}" for remark in line.remarks)
    if found.text:
        yield from ("", *found.text)
