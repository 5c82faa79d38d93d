"""`twin.explain()`: what a twin costs and why, before or after it has run.

The numbers say where time goes, not how long it takes. For the numba target they are measured, in adds of a register
of lanes (`pyflat.targets.numba.costs`); for others they are those of the table of operations (`pyflat.ir.ops`, column
cost), rough machine operations for one lane.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any

from pyflat.functions.loaded_library import standing
from pyflat.inspection.explain_kernel import KernelExplanation, explain_kernel
from pyflat.inspection.source_map import SourceLine, SourceMap, float_powers, test_of
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Function, Item, Op
from pyflat.ir.ops import COMPARISONS, NAN_TESTS, OPERATIONS, ROUNDED, Accuracy
from pyflat.ir.recursion import with_room
from pyflat.ir.shape import Labels, Shape
from pyflat.ir.types import FLOAT, INT, Kind
from pyflat.passes import pipelines
from pyflat.runtime.compiled import FlatForm, flatten
from pyflat.runtime.interfaces import Stats
from pyflat.runtime.settings import Options
from pyflat.targets import target as targets

__all__ = ["Explanation", "KernelExplanation", "explain", "explain_kernel"]
LARGE_SHARE = 0.2
"""From this share of the cost on a kind of operation is named as what the time goes to."""
MANY_REPLAYED = 0.001

_CALLED = {Accuracy.LIBM: "libm", Accuracy.NUMPY: "numpy", Accuracy.CALL: "python", Accuracy.VECTOR: "fast"}
_EXACT = {
    "verified": "the C library's bits, in registers: the vector code was checked against the library's code",
    "bounded": "the C library's bits, in registers; a call for a few percent of the elements, in doubt",
}
"""By what is known of the library that is loaded (`functions.loaded_library`)."""
_FAMILIES = {
    "arithmetic": ("add", "sub", "mul", "neg", "abs", "fma", "mad"),
    "division": ("truediv", "floordiv", "mod", "fmod", "remainder"),
    "comparison": (*COMPARISONS, *NAN_TESTS, "isnormal"),
    "logic and bits": ("and", "or", "xor", "not", "invert", "low64", "shl", "shr"),
    "select": ("select",),
    "conversion": ("to_float", "exact_float", *ROUNDED, *ROUNDED.values()),
    "table": ("gather",),
}
_FAMILY = {opcode: family for family, opcodes in _FAMILIES.items() for opcode in opcodes}


@dataclass(frozen=True, slots=True)
class Family:
    """Operations of one kind: how many, what they cost together."""

    name: str
    count: int
    cost: int


@dataclass(frozen=True, slots=True)
class BranchCost:
    """A branch of the source and what its two arms cost in one lane, loops inside counted for one trip; `copies` of it
    are in the twin."""

    place: SourceLine | None
    condition: str
    then: int
    orelse: int
    copies: int


@dataclass(frozen=True, slots=True)
class Called:
    """An elementary function: whose it is ("exact" in registers, "libm" by calls, "fast", "numpy", "python"), how
    often, and why."""

    name: str
    whose: str
    count: int
    why: str


@dataclass(frozen=True)
class Explanation:
    """What a twin costs. `str()` of it is a page of text; `as_dict()` is for programs.

    operations  by kind, the most expensive first; all of the flat form, with what detects faults
    detection   the part of the cost that only says which lanes go to the original
    width       lanes in a register, `registers` of them together; NumPy: lanes in a block, and 1
    arms_kept   arms that the numba target skips where no lane of a gang needs them
    arms_waited arms, and loops, for which the lanes of a gang wait where few of them need it
    floats      where a power of ints is a float in every lane, since its exponent may be negative in some
    refilled    the kernel may give lanes that are done with a loop the next elements (it finds out what is faster)
    integers    operations that read or give ints, `narrowed` of them in 32 bits (numba)
    """

    name: str
    target: str
    kinds: str
    form: str
    operations: tuple[Family, ...]
    detection: int
    selects: int
    faults: int
    width: int
    registers: int
    arms_kept: int
    arms_waited: int
    refilled: bool
    narrowed: int
    integers: int
    branches: tuple[BranchCost, ...]
    loops: tuple[tuple[SourceLine | None, str], ...]
    functions: tuple[Called, ...]
    slower: tuple[str, ...]
    lanes: int
    replayed: int
    floats: tuple[SourceLine, ...] = ()
    not_kept: str = ""

    @property
    def cost(self) -> int:
        return sum(family.cost for family in self.operations)

    @property
    def held(self) -> targets.Lanes:
        return targets.Lanes(*(getattr(self, name) for name in targets.Lanes._fields))

    @property
    def counts(self) -> str:
        """How many selects and conditions of faults there are, in words."""
        return (f"{self.selects} select{'s' * (self.selects != 1)}, "
                f"{self.faults} error condition{'s' * (self.faults != 1)}")

    def as_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "cost": self.cost}

    def __str__(self) -> str:
        return "\n".join(_text(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from pyflat.inspection.fragments import of_explanation

        return of_explanation(self)


@with_room
def explain(fn: FunctionType, shapes: dict[str, Shape], options: Options, name: str, stats: Stats) -> Explanation:
    """What the twin of `fn` costs for arguments of these shapes. Raises FlattenError."""
    done = flatten(fn, shapes, options, engine=True)
    fused = pipelines.run(done.flat, pipelines.engine())
    ops = list(all_ops(fused.body))
    costs = targets.of(options.target).costs()
    lanes = costs.lanes(fused, options.errors == "unchecked")
    price = partial(costs.price, width=lanes.width)
    values, total = sum(map(price, all_ops(pipelines.run(done.flat, pipelines.VALUES).body))), sum(map(price, ops))
    functions = tuple(_functions(done, options))
    explained = Explanation(
        name=name, target=str(options.target), kinds=_kinds(fused, shapes), form=done.flat.form,
        operations=tuple(_families(ops, price)), detection=max(round(total - values), 0),
        selects=sum(op.opcode == "select" for op in ops),
        faults=sum(op.opcode == "fault" for op in all_ops(done.flat.body)),
        **lanes._asdict(),
        integers=sum(INT in (op.kind, *[arg.kind for arg in op.args]) for op in ops),
        branches=tuple(_branches(done, price)),
        loops=tuple(_loops(done)), functions=functions, slower=(), lanes=stats.lanes, replayed=stats.replayed,
        floats=tuple(float_powers(done.spec.function)),
    )
    return dataclasses.replace(explained, slower=tuple(_slower(explained, options)))


def _kinds(fn: Function, shapes: Mapping[str, Shape]) -> str:
    kinds = {kind: fn.floats.name if kind is FLOAT else str(kind) for kind in Kind}
    objects = {name for name, shape in shapes.items() if isinstance(shape, Labels)}
    return ", ".join(f"{param.name or '?'}: {'str' if param.name in objects else kinds[param.kind]}"
                     for param in fn.params)


def _families(ops: Sequence[Op], price: Callable[[Op], float]) -> list[Family]:
    counts: Counter[str] = Counter()
    costs: dict[str, float] = {}
    for op in ops:
        name = _FAMILY.get(op.opcode, op.opcode)
        counts[name] += 1
        costs[name] = costs.get(name, 0.0) + price(op)
    return sorted((Family(name, counts[name], round(costs[name])) for name in counts), key=lambda f: (-f.cost, f.name))


def _branches(done: FlatForm, price: Callable[[Op], float]) -> Iterator[BranchCost]:
    """Copies of a branch (unrolled iterations, a helper called twice) are one row with what they cost together."""
    places = SourceMap(done.spec.function)
    tests = {test_of(loop.node) for loop in places.loops}
    rows: dict[tuple[SourceLine | None, str], list[float]] = {}
    for branch in places.branches:
        if branch.node not in tests:
            row = rows.setdefault((branch.place, branch.expression), [0, 0, 0])
            for k, cost in enumerate((_items_cost(branch.node.then, price), _items_cost(branch.node.orelse, price), 1)):
                row[k] += cost
    for (place, expression), (then, orelse, copies) in rows.items():
        yield BranchCost(place, expression, round(then), round(orelse), round(copies))


def _items_cost(items: list[Item], price: Callable[[Op], float]) -> float:
    return sum(map(price, all_ops(items)))


def _loops(done: FlatForm) -> Iterator[tuple[SourceLine | None, str]]:
    import ast

    loops = SourceMap(done.spec.function).loops
    for loop in loops:
        yield loop.place, "stays a loop that runs until every element has finished"
    kept = {loop.place.line for loop in loops if loop.place is not None}
    captured = done.spec.captured
    try:
        tree = ast.parse(captured.source)
    except SyntaxError:  # a lambda in the middle of an expression
        return
    lines = captured.source.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.While) and (line := captured.first_line + node.lineno - 1) not in kept:
            yield SourceLine(captured.file, line, lines[node.lineno - 1].strip()), "unrolled: straight-line code"


def _functions(done: FlatForm, options: Options) -> Iterator[Called]:
    counts: Counter[tuple[str, str]] = Counter()
    for op in all_ops(done.flat.body):
        named = function_of(op, options)
        if named is not None:
            counts[named] += 1
    for (name, whose), count in sorted(counts.items()):
        yield Called(name, whose, count, _why(name, whose, options))


def function_of(op: Op, options: Options) -> tuple[str, str] | None:
    """The elementary function that an operation is, and whose digits it has, as `Called`; None for other operations."""
    whose = _CALLED.get(OPERATIONS[op.opcode].accuracy)
    if whose in ("libm", "python") and targets.of(options.target).costs().exact(op):
        whose = "exact"
    return None if whose is None else (op.opcode.removeprefix("vec_").removeprefix("np_"), whose)


def python_calls(name: str, options: Options) -> str:
    """How a function that only CPython computes runs, in few words."""
    return "in registers for long arrays, with the same bits" if _vectors_too(name, options) else (
        "a Python call for each element")


def _vectors_too(name: str, options: Options) -> str | None:
    return targets.of(options.target).costs().library(name)


def _why(name: str, whose: str, options: Options) -> str:
    match whose:
        case "exact":
            return _EXACT.get(standing(name), "the bits of CPython's own code, in registers, by the same algorithm")
        case "fast":
            return 'math="fast": in registers, without a call'
        case "numpy":
            return "NumPy's own function, which the source calls or math=\"fast\" takes"
        case "python":
            return _vectors_too(name, options) or "only CPython's own code has these bits: a call for each element"
    if options.math == "exact":
        return targets.of(options.target).costs().library(name) or (
            'the C library\'s, as in CPython: a call for each element; math="fast" computes it in registers')
    return "there is no vector function"


def _slower(found: Explanation, options: Options) -> Iterator[str]:
    """What keeps the twin from being faster, in words."""
    total = max(found.cost, 1)
    called = {c.name for c in found.functions if c.whose == "libm"}
    shares = {f.name: f.cost / total for f in found.operations}
    share = sum(shares.get(name, 0.0) for name in called)
    if called and share >= LARGE_SHARE:
        yield f"{share:.0%} of the cost is C library calls ({', '.join(sorted(called))}), one element at a time" + (
            '; math="fast" avoids them' if options.math == "exact" else "")
    python = sorted({c.name for c in found.functions if c.whose == "python" and not _vectors_too(c.name, options)})
    if python:
        yield f"{', '.join(python)}: CPython's own code, one element at a time"
    if shares.get("division", 0.0) >= LARGE_SHARE:
        yield f"{shares['division']:.0%} of the cost is division"
    if found.detection / total >= LARGE_SHARE and options.errors != "unchecked":
        yield (f"{found.detection / total:.0%} of the cost detects errors and overflow "
               f'(errors="unchecked" omits this)')
    yield from targets.of(options.target).costs().slower(found.held, found.form)
    if found.lanes and found.replayed / found.lanes >= MANY_REPLAYED:
        yield f"{found.replayed:,} of {found.lanes:,} elements fell back to the original, about a microsecond each"


# --- the page


def _text(found: Explanation) -> Iterator[str]:
    yield f"{found.name}({found.kinds}) on {found.target}, cost {found.cost:,} (an addition is 1)"
    yield from targets.of(found.target).costs().about(found.held, found.integers)
    yield ""
    yield "operations                count      cost"
    for family in found.operations:
        yield f"  {family.name:20} {family.count:8,}  {family.cost:8,}"
    yield f"  error checks                    {found.detection:8,}"
    yield found.counts
    if found.branches:
        yield from ("", "branches, and the cost of each side" +
                    (f"; {found.arms_kept} expensive parts are skipped if no element of a SIMD group needs them"
                     if found.arms_kept else "") +
                    (f"; for {found.arms_waited}, elements wait to fill a SIMD group" if found.arms_waited else ""))
        for arms in found.branches:
            where = f"line {arms.place.line}" if arms.place else "?"
            copies = f"  ({arms.copies} copies)" if arms.copies > 1 else ""
            shown = arms.condition or _line(arms.place)
            yield f"  {where:>10}  then {arms.then:5,}  else {arms.orelse:5,}   {shown}{copies}"
    if found.loops:
        yield from ("", "loops")
        if found.refilled:
            yield "  elements that finish early are replaced by the next if that is faster"
        for place, what in found.loops:
            yield f"  {f'line {place.line}' if place else '?':>10}  {what}   {_line(place)}"
    if found.functions:
        yield from ("", "elementary functions")
        for called in found.functions:
            yield f"  {called.count:3} {called.name:10} {called.whose:7} {called.why}"
    yield ""
    for place in found.floats:
        yield (f"always a float, since its exponent may be negative: line {place.line}  {place.text}\n"
               f'  for an int, write `assert n >= 0` before it, or abs(n), or pass results="ints"')
    if found.lanes:
        yield (f"so far {found.lanes:,} elements; {found.replayed:,} ({found.replayed / found.lanes:.2%}) fell back to "
               f"the original")
    if found.not_kept:
        yield f"not cached on disk: {found.not_kept}"
    yield "obstacles to speed" if found.slower else "no particular obstacles to speed"
    for reason in found.slower:
        yield f"  - {reason}"


def _line(place: SourceLine | None) -> str:
    return place.text if place is not None else ""
