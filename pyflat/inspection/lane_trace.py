"""The trace of a lane: the values of the original beside those of the twin, line by line.

    print(twin.replay(xs, ys, lane=417))

The original runs once with every store into a local name recorded. The twin's column is the structured IR, run on
the same lane by the interpreter, or the first later stage that differs; each stage is run, so that the pass that
introduced a difference is known. Values are paired by line, name and occurrence; names that are known while flattening
have no operation in the twin, and are not compared.

The original is traced instruction by instruction, so that each store is seen, also one of an equal value or one in
the middle of a line; frames of other files than those asked for run untraced.
"""

from __future__ import annotations

import dis
import html
import linecache
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.ir.formats import F8
from pyflat.ir.interp import LaneFault, TripLimit, run
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Function, Op
from pyflat.ir.shape import Labels, Maybe, Ragged, Shape, is_text, rebuild
from pyflat.runtime.arrays import Lanes
from pyflat.runtime.calls import Caller
from pyflat.runtime.compiled import Built, fast_passes, flatten, specialised
from pyflat.runtime.faults import Float32Lanes, LaneError, lane_index
from pyflat.runtime.labels import with_open_tables, without_unread
from pyflat.runtime.replay import Replay, fit
from pyflat.runtime.settings import Options

if TYPE_CHECKING:
    from pyflat.frontend.result import Specialised
    from pyflat.passes.pipelines import Pipeline


MAX_STORES = 100_000
"""Stores that are kept; a longer run goes on, and its later stores are not."""
MAX_INSTRUCTIONS = 5_000_000
"""Then the run is ended: a loop that does not end in this lane is what one may be looking for."""
_NESTED = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


@dataclass(frozen=True, slots=True)
class Store:
    """A value that a line gave to a name."""

    file: str
    line: int
    name: str
    value: Any


class RunTooLongError(BaseException):
    """Ends a run from within its tracer; no `except Exception` of the function stops it."""


@dataclass(slots=True)
class Trace:
    """One run: its stores in order, and how it ended."""

    stores: list[Store] = field(default_factory=list)
    value: Any = None
    error: Exception | None = None
    instructions: int = 0
    ended: bool = True
    """False when the run was longer than MAX_INSTRUCTIONS."""


def trace(call: Callable[[], Any], files: Collection[str]) -> Trace:
    """Run `call`, following the frames whose code is in one of `files`."""
    tracer = _Tracer(files)
    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 asks only here whether any frame wants its instructions
    sys.settrace(tracer.on_call)
    try:
        tracer.found.value = call()
    except RunTooLongError:
        tracer.found.ended = False
    except Exception as error:  # noqa: BLE001 - how the original ends is what is asked
        tracer.found.error = error
    finally:
        sys.settrace(before)
    return tracer.found


class _Tracer:
    def __init__(self, files: Collection[str]):
        self.files = files
        self.found = Trace()

    def on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self.files or code.co_name in _NESTED:
            return None
        stores, last = _stores(code), -1

        def on_step(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal last
            self.found.instructions += 1
            if self.found.instructions > MAX_INSTRUCTIONS:
                raise RunTooLongError
            names = stores.get(last)
            if names is not None and event in ("opcode", "return") and len(self.found.stores) < MAX_STORES:
                line, stored = names
                held = frame.f_locals
                self.found.stores += [Store(code.co_filename, line, n, held[n]) for n in stored if n in held]
            last = frame.f_lasti if event == "opcode" else last if event == "line" else -1
            return on_step

        frame.f_trace = on_step  # Python 3.13 ignores the next line of a frame that has none
        frame.f_trace_opcodes = True
        return on_step


@lru_cache(maxsize=256)
def _stores(code: CodeType) -> dict[int, tuple[int, tuple[str, ...]]]:
    """The instructions of `code` that store local names, by offset, with their line."""
    found: dict[int, tuple[int, tuple[str, ...]]] = {}
    for step in dis.get_instructions(code):
        line = step.positions.lineno if step.positions else None
        if line is None or not step.opname.startswith(("STORE_FAST", "STORE_DEREF")):
            continue
        names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        found[step.offset] = (line, names[:1] if step.opname == "STORE_FAST_LOAD_FAST" else names)
    return found


MISSING = object()
"""The twin has no value here: it is known while flattening, or the lane does not come here."""
SourceLine = tuple[str, int, str]
MAX_TRIPS = 100_000
"""Trips of a loop that the interpreter runs; what comes later is not compared."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One store of the original: the twin's value of it, where there is one."""

    file: str
    line: int
    name: str
    original: Any
    twin: Any
    narrow: bool = False
    """The twin's floats are float32, and the original's float64: they are not compared."""

    @property
    def differs(self) -> bool:
        if self.narrow and isinstance(self.original, float) and isinstance(self.twin, float):
            return False
        return self.twin is not MISSING and not same(self.original, self.twin)

    @property
    def text(self) -> str:
        """The source line."""
        return linecache.getline(self.file, self.line).strip()


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of flattening, run on the lane: its result leaves, or why it has none."""

    name: str
    leaves: tuple[Any, ...] | None
    fault: str
    agrees: bool


@dataclass(frozen=True)
class LaneTrace:
    """What one lane does in the original and in each stage of the twin. `str` is a table."""

    name: str
    lane: int | tuple[int, ...]
    arguments: str
    steps: tuple[TraceStep, ...]
    original: str
    stages: tuple[Stage, ...]
    returned: str = ""
    """What the compiled twin gives, as text."""

    @property
    def first_difference(self) -> TraceStep | None:
        """The first line whose value differs in the twin."""
        return next((step for step in self.steps if step.differs), None)

    @property
    def culprit(self) -> str | None:
        """The first stage whose result differs from the original's: "specialise", a pass or an engine."""
        return next((stage.name for stage in self.stages if not stage.agrees), None)

    @property
    def agrees(self) -> bool:
        return self.culprit is None and self.first_difference is None

    def __str__(self) -> str:
        return "\n".join(_table(self))

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def trace_lane(
    caller: Caller,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    options: Options,
    lane: int | tuple[int, ...] | None,
    *,
    pdb: bool = False,
) -> LaneTrace:
    """One lane of a call. `lane` may be left out where there is one lane only. IndexError for a lane that is not."""
    ready = caller.ready(args, kwargs, options)
    context, built, result = ready.context, ready.built, with_open_tables(ready.built.result)
    lanes, options = context.lanes, context.options
    flat = _flat_index(lane, lanes)
    replay = Replay(context, result)
    row = replay.row(flat)
    if pdb:
        _debug(replay, row)
    spec = _specialised(caller.callee.function, ready.arguments, options)
    files = {op.origin.span.file for op in all_ops(spec.function.body) if op.origin and op.origin.span}
    files.add(caller.callee.function.__code__.co_filename)
    traced = trace(lambda: replay.original()(row), files)
    trips = MAX_TRIPS if traced.ended else 1000
    narrow = ready.reference
    wanted = expected(traced, result) if narrow is None else _float32_values(narrow, row)
    as_wanted = partial(_same_leaves, result, wanted)
    runs = list(_stages(spec.function, lanes, flat, as_wanted, trips, fast_passes(options)))
    stages = [stage for stage, _ in runs]
    stages.append(_engine(built, lanes, flat, options.target, as_wanted))
    shown = next((stores for stage, stores in runs if not stage.agrees), runs[0][1])
    steps = tuple(_paired(traced.stores, shown, narrow is not None))
    name, place = caller.callee.function.__qualname__, lane_index(flat, lanes.shape)
    leaves = stages[-1].leaves
    value = "" if leaves is None else _returned(result, leaves)
    return LaneTrace(name, place, replay.shown(row), steps, _ending(traced), tuple(stages), value)


def _specialised(fn: FunctionType, arguments: Mapping[str, Shape], options: Options) -> Specialised:
    """The structured form that defines the lanes: in float32 with the engine's own elementary functions."""
    return specialised(fn, arguments, options) if options.floats is F8 else flatten(fn, arguments, options).spec


def _float32_values(lanes: Float32Lanes, row: Sequence[Any]) -> tuple[Any, ...] | None:
    """The result leaves of a float32 lane; None where it fails."""
    try:
        return lanes.values(row)
    except LaneError:
        return None


def _debug(replay: Replay, row: tuple[Any, ...]) -> None:
    """The original in pdb; quitting and exceptions end the session, not the caller. Pdb's own handler of Ctrl-C would
    stay after the session."""
    import contextlib
    from bdb import BdbQuit
    from pdb import Pdb

    with contextlib.suppress(BdbQuit, Exception):  # what it raises is shown in the table
        replay.original(Pdb(nosigint=True).runcall)(row)


def _flat_index(lane: int | tuple[int, ...] | None, lanes: Lanes) -> int:
    if lane is None:
        if lanes.count != 1:
            raise ValueError(f"which of {lanes.count:,} lanes? pass lane=...")
        return 0
    found = np.arange(lanes.count).reshape(lanes.shape)[lane]
    if found.ndim:
        raise IndexError(f"lane={lane!r} is several lanes of the shape {lanes.shape}")
    return int(found)


def same(a: Any, b: Any) -> bool:
    """Whether two numbers are one, bit by bit, in the kind of the twin: True is 1, 1 is 1.0, 0.0 is not -0.0."""
    if isinstance(a, int) and isinstance(b, float):
        return a == b and repr(float(a)) == repr(b)
    if isinstance(a, bool) and isinstance(b, int):
        return a == b
    return type(a) is type(b) and repr(a) == repr(b)


def expected(traced: Trace, shape: Shape) -> tuple[Any, ...] | None:
    """The result leaves that the original asks for; None where it raises or no lane holds what it returns."""
    if traced.error is not None or not traced.ended:
        return None
    try:
        return tuple(fit(traced.value, shape))
    except LaneError:
        return None


def _ending(traced: Trace) -> str:
    if not traced.ended:
        return f"does not end within {MAX_INSTRUCTIONS:,} instructions"
    if traced.error is None:
        return repr(traced.value)
    return f"raises {type(traced.error).__name__}: {traced.error}"


Stores = list[Store]


def _stages(
    structured: Function, lanes: Lanes, flat: int, as_wanted: Callable[[Sequence[Any] | None], bool], trips: int,
    fast: Pipeline,
) -> Iterator[tuple[Stage, Stores]]:
    """Each form of the function, run on the lane, with the stores into the user's names."""
    from pyflat.passes.pipelines import flatten_ir

    row = [lane[flat].item() if isinstance(lane, np.ndarray) else lane.item() for lane in lanes.inputs]
    forms = [("specialise", structured)]
    flatten_ir(structured, on_pass=lambda name, fn: forms.append((name, fn)), fast=fast)
    for name, fn in forms:
        stores: Stores = []
        try:
            result = run(fn, row, on_op=_recorder(stores), max_trips=trips)
        except LaneFault as stop:
            yield Stage(name, None, str(stop), as_wanted(None)), stores
            continue
        except TripLimit:
            yield Stage(name, None, "not run to its end", True), stores
            continue
        if result.suspect:
            yield Stage(name, None, "suspect", True), stores
        else:
            yield Stage(name, result.values, "", as_wanted(result.values)), stores


def _recorder(stores: Stores) -> Callable[[Op, Any], None]:
    def record(op: Op, value: Any) -> None:
        origin = op.statement or op.origin
        if op.name and origin is not None and origin.span is not None:
            stores.append(Store(origin.span.file, origin.span.line, op.name, value))

    return record


def _same_leaves(shape: Shape, wanted: Sequence[Any] | None, values: Sequence[Any] | None) -> bool:
    """Whether a lane gives what is wanted; None: it fails. Where it is None, nothing reads the other leaves."""
    if wanted is None or values is None:
        return wanted is values
    pairs = [without_unread(shape, [np.array([value]) for value in row]) for row in (wanted, values)]
    return all(same(a.item(), b.item()) for a, b in zip(*pairs, strict=True))


def _engine(
    built: Built, lanes: Lanes, flat: int, target: str, as_wanted: Callable[[Sequence[Any] | None], bool]
) -> Stage:
    """What the compiled twin gives in that lane of the whole call."""
    ran = built.run(lanes.inputs, lanes.count)
    arrays, suspect = ran.leaves, ran.suspect
    beyond = lanes.suspect is not None and lanes.suspect[flat]
    name = f"the {target} engine"
    if ran.limited is not None and ran.limited[flat]:
        return Stage(name, None, "ran into max_trips", True)
    if beyond or (suspect is not None and suspect[flat]):
        return Stage(name, None, "suspect", True)
    values = tuple(array[flat].item() for array in arrays)
    return Stage(name, values, "", as_wanted(values))


def _paired(original: Sequence[Store], twin: Sequence[Store], narrow: bool) -> Iterator[TraceStep]:
    """The stores of the original with the twin's, where both store a name equally often in a line."""
    known: dict[SourceLine, list[Any]] = defaultdict(list)
    counts: dict[SourceLine, int] = defaultdict(int)
    for store in twin:
        known[store.file, store.line, store.name].append(store.value)
    for store in original:
        counts[store.file, store.line, store.name] += 1
    seen: dict[SourceLine, int] = defaultdict(int)
    for store in original:
        place = (store.file, store.line, store.name)
        values = known[place]
        value = values[seen[place]] if len(values) == counts[place] else MISSING
        seen[place] += 1
        yield TraceStep(store.file, store.line, store.name, store.value, value, narrow)


MAX_SHOWN = 200
"""Lines of a table; of a longer run the first, and those around the first difference, are shown."""


def _table(found: LaneTrace) -> Iterator[str]:
    yield f"lane {found.lane} of {found.name}" + (f" ({found.arguments})" if found.arguments else "")
    first = found.first_difference
    start = found.steps.index(first) if first is not None else 0
    start = max(0, start - MAX_SHOWN // 2) if len(found.steps) > MAX_SHOWN else 0
    rows = [_row(step) for step in found.steps[start:start + MAX_SHOWN]]
    last = found.stages[-1]
    rows.append(("", "returns", found.original, last.fault if last.leaves is None else found.returned, ""))
    header = ("line", "source", "original", "twin", "")
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(4)]
    for row in (header, *rows):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, (*widths, 0), strict=True)).rstrip()
    if len(found.steps) > MAX_SHOWN:
        yield f"(lines {start + 1} to {min(start + MAX_SHOWN, len(found.steps))} of {len(found.steps):,})"
    yield _verdict(found)


def _row(step: TraceStep) -> tuple[str, str, str, str, str]:
    twin = "" if step.twin is MISSING else f"{step.name} = {_short(step.twin)}"
    mark = "<- differs" if step.differs else ""
    return str(step.line), step.text[:50], f"{step.name} = {_short(step.original)}", twin, mark


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 30 else text[:27] + "..."


def _returned(shape: Shape, values: tuple[Any, ...]) -> str:
    """What a twin gives: objects, else its leaves."""
    if isinstance(shape, Labels | Ragged | Maybe) or is_text(shape):
        return repr(rebuild(shape, iter(values)))
    return repr(values[0]) if len(values) == 1 else repr(values)


def _verdict(found: LaneTrace) -> str:
    first, culprit = found.first_difference, found.culprit
    if culprit is None and first is None:
        match found.stages[-1].fault:
            case "suspect":
                return "the lane falls back to the original"
            case "":
                return "original and twin agree"
            case fault:
                return f"the lane fails: {fault}"
    parts = []
    if first is not None:
        parts.append(f"the first difference is in line {first.line} of {Path(first.file).name}: {first.name} is "
                     f"{_short(first.original)}, the twin has {_short(first.twin)}")
    if culprit is not None:
        parts.append(f"introduced by {culprit}")
    return "; ".join(parts)
