"""One call of a twin: bind, classify, find the compiled entry, run it, replay what is suspect, collect the results."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyflat.errors import refuse
from pyflat.frontend.callables import Callee, Parameters
from pyflat.frontend.notices import PerformanceWarning, warn
from pyflat.functions.locks import brief
from pyflat.functions.ways import noting
from pyflat.ir.shape import (
    Fixed,
    Labels,
    Leaf,
    Maybe,
    Ragged,
    Record,
    Shape,
    Texts,
    WrittenRecord,
    item_at,
    put_at,
    record_of,
    written_record,
)
from pyflat.ir.types import FLOAT
from pyflat.runtime import containers, option_effects
from pyflat.runtime.arguments import ClassifiedCall, classify
from pyflat.runtime.arrays import Array, CallContext, blank, collect, prepare
from pyflat.runtime.compiled import Built, Compilations, Ran
from pyflat.runtime.examples import with_stand_ins
from pyflat.runtime.faults import Faults, Float32Lanes, Part
from pyflat.runtime.grouping import columns, parameter_at, prepare_groups, run_grouped
from pyflat.runtime.interfaces import Planned, Stats
from pyflat.runtime.kernels import Kernels
from pyflat.runtime.labels import made_ranges, none_leaves, with_open_tables
from pyflat.runtime.outputs import arrays_in, run_originals, with_destinations
from pyflat.runtime.plans import Plans
from pyflat.runtime.replay import Replay
from pyflat.runtime.settings import Options, Settings
from pyflat.runtime.string_lanes import StringLanes, string_call
from pyflat.runtime.words import WordCall, Words, texts_in, word_call

LARGE_CALL = 10_000
SLOW_SHARE = 0.01
"""Above this share of lanes that are replayed, or put together one by one, a large call warns, once for each twin."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A call, the kinds for which its twin is made, the twin, and what float32 lanes compute by definition."""

    context: CallContext
    arguments: dict[str, Shape]
    built: Built
    reference: Float32Lanes | None


class Caller:
    """What calls of one twin share."""

    def __init__(
        self, callee: Callee, parameters: Parameters, compilations: Compilations, plans: Plans | None = None,
        settings: Settings = (),
    ):
        self.callee = callee
        self.parameters = parameters
        self.compilations = compilations
        self.plans = plans or Plans()
        self.kernels = Kernels(callee, parameters, self._count, settings)
        self._settings = settings
        self._allowed: Options | None = None
        """The options of the last call, which were looked at."""
        self.stats = Stats(compilations)
        self.words, self.strings = Words(), StringLanes()
        self._warned = False

    def __call__(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options, twin: Planned | None = None,
        out: Any = None, part: Part | None = None,
    ) -> Any:
        """The result of a call, in the arrays of `out` where there are some. `twin` is the one that is called, where
        these are its options: then it may learn a shorter way for calls like this one. `part` says where its lanes are
        in a larger call."""
        if options is not self._allowed and not self.kernels.roles(options):
            self._require(options)
        with noting() as noted:
            try:
                return self._in_steps(args, kwargs, options, twin, out, part)
            finally:
                self.stats.note(noted, options)

    def _in_steps(self, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options, twin: Planned | None,
                  out: Any, part: Part | None) -> Any:
        if others := containers.find(self.parameters, args, kwargs, options.static):
            return containers.call(self, others, args, kwargs, options, twin, out, part)
        if self.kernels.takes(args, kwargs, options):
            if options.audit:
                from pyflat.runtime.audit import audit_kernel

                audit_kernel(self, args, kwargs, options)
            long = not options.cache or options.audit > 0.0
            learn = None if twin is None or long else partial(self.plans.learn_kernel, self, options, twin)
            return self.kernels(args, kwargs, options, out, learn)
        self._require(options)
        if texts := texts_in(self.parameters, args, kwargs, options.static):
            coded = word_call(self, self.words, texts, args, kwargs, options, out, part) or string_call(
                self, self.strings, texts, args, kwargs, options, out, part)
            if coded is not None:
                return self._run_coded(coded, args, kwargs)
        if found := columns(self.parameters, args, kwargs, options.static):
            return run_grouped(self, found, args, kwargs, options, out, part)
        call = self.classified(args, kwargs, options)
        if os.environ.get("PYFLAT_DISABLE") == "1":
            done = run_originals(self._prepared(call, options, out, part=part))
            if done is not None:
                return done.value
        built = self.compilations.get(self.callee.function, call.arguments, options.settled(call.floats).as_built)
        context, into = with_destinations(self._prepared(call, options, out, built, part), built.result)
        context, ran = _ran(built, context, into)
        found = self.settle(context, built.result, ran, built.reference)
        if built.stacked:
            self._warn(context.lanes.count, "a recursion with several calls runs as a loop, with a stack for each "
                                            "element, which may be many times slower than the original")
        elif twin is not None and not options.audit and written_record(built.result) is None:
            self.plans.learn(self, self.parameters.bind(args, kwargs).arguments, built, options, twin)
        return self._returned(built, found, options, args, kwargs)

    def _require(self, options: Options) -> None:
        """FlattenError for options that lanes do not do."""
        if options is not self._allowed:
            option_effects.require("lanes", self.callee.function, options, self._settings)
            self._allowed = options

    def _returned(self, built: Built, found: Any, options: Options, args: Sequence[Any], kwargs: Mapping[str, Any]
                  ) -> Any:
        """What a call returns, after what the function has written is in the caller's objects."""
        record = written_record(built.result)
        if record is None:
            return found
        value, faults = found if options.errors == "mask" else (found, None)
        returned = _put_back(record, value, self.parameters.bind(args, kwargs).arguments)
        return returned if faults is None else (returned, faults)

    def _run_coded(self, coded: WordCall, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A call with strings by lane."""
        built, options = coded.built, coded.context.options
        if os.environ.get("PYFLAT_DISABLE") == "1":
            done = run_originals(coded.context)
            if done is not None:
                return done.value
        context, into = with_destinations(coded.context, built.result)
        lanes = context.lanes
        ran = built.run(lanes.inputs, lanes.count, options.parallel, into)
        found = self.settle(context, built.result, ran, coded.reference)
        return self._returned(built, found, options, args, kwargs)

    def compile(self, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options, twin: Planned) -> None:
        """Flatten and compile what a call with such arguments takes, and learn its plan. Nothing runs."""
        if self.kernels.compile(args, kwargs, options):
            return
        self._require(options)
        args, kwargs = containers.plain(self.parameters, args, kwargs, options.static)
        args, kwargs = with_stand_ins(self.parameters, args, kwargs, options.static)
        if texts := texts_in(self.parameters, args, kwargs, options.static):
            coded = word_call(self, self.words, texts, args, kwargs, options) or string_call(
                self, self.strings, texts, args, kwargs, options)
            if coded is not None:
                coded.built.prepare(coded.context.lanes.inputs)
                return
        if found := columns(self.parameters, args, kwargs, options.static):
            prepare_groups(self, found, args, kwargs, options)
            return
        call = self.classified(args, kwargs, options)
        if os.environ.get("PYFLAT_DISABLE") == "1":
            return
        built = self.compilations.get(self.callee.function, call.arguments, options.settled(call.floats).as_built)
        if options.errors == "nan":
            require_nan(built.result)
        lanes = self._prepared(call, options, None, built).lanes.in_memory_order().inputs
        built.prepare(lanes)
        if not options.audit and written_record(built.result) is None:
            self.plans.learn(self, self.parameters.bind(args, kwargs).arguments, built, options, twin)
            self.plans.make()
            built.prepare(lanes)  # what the plan takes besides

    def ready(self, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options) -> Ready:
        """A call to look at, not to compute; strings by lane as well. TypeError where each value of a column has a twin
        of its own."""
        self._require(options)
        args, kwargs = containers.plain(self.parameters, args, kwargs, options.static)
        texts = texts_in(self.parameters, args, kwargs, options.static)
        coded = word_call(self, self.words, texts, args, kwargs, options) if texts else None
        if coded is not None:
            return Ready(coded.context, coded.call.arguments, coded.built, coded.reference)
        if found := columns(self.parameters, args, kwargs, options.static):
            from pyflat.frontend.capture import capture

            capture(self.callee.function)  # what has no source is refused for that
            name = parameter_at(self.parameters, next(iter(found)))
            raise TypeError(f"argument {name!r} of {self.parameters.name} holds options, and each has its own twin: "
                            f"pass one of its values, with the elements that have it")
        context = self._prepared(self.classified(args, kwargs, options), options)
        built = self.compilations.get(self.callee.function, context.call.arguments, context.options.as_built)
        return Ready(context, context.call.arguments, built, built.reference)

    def _prepared(
        self, call: ClassifiedCall, options: Options, out: Any = None, built: Built | None = None,
        part: Part | None = None,
    ) -> CallContext:
        """What a call works with, for any engine or for that of `built`."""
        lanes = prepare(call, arrays_in(out), convert=built is None or not built.converts, form=options.form)
        return CallContext(self.callee, self.parameters, call, lanes, options.settled(call.floats), out, part)

    def classified(self, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options) -> ClassifiedCall:
        """The arguments of a call, bound and classified. TypeError for what can be neither a lane nor static."""
        if options.static:
            self.parameters.check_static(options.static)
        return classify(self.parameters.bind(args, kwargs), self.parameters, options.static).in_format(options.dtype)

    def settle(self, context: CallContext, result: Shape, ran: Ran, reference: Float32Lanes | None = None) -> Any:
        """Replay the suspect lanes of a run, and give the results in the caller's form."""
        lanes, options = context.lanes, context.options
        if options.errors == "nan":
            require_nan(result)
        leaves, suspect = ran.leaves, ran.suspect
        if lanes.suspect is not None:
            suspect = lanes.suspect if suspect is None else suspect | lanes.suspect
        if options.none == "raise" and not lanes.scalars:
            for place in none_leaves(result):
                suspect = leaves[place] if suspect is None else suspect | leaves[place]
        replayed = 0
        faults: Faults | None = None
        try:
            if suspect is not None and suspect.any():
                result = with_open_tables(result)
                replayed = int(suspect.sum()) - (0 if ran.limited is None else int(ran.limited.sum()))
                replay = Replay(context, result, ran.limited, reference)
                if options.errors in ("mask", "nan"):
                    faults = replay.sort_out(suspect, leaves)
                else:
                    replay.patch(suspect, leaves)
        finally:
            self._count(lanes.count, replayed, len(faults or ()))
        self._warn_of(replayed, lanes.count)
        if lanes.count >= LARGE_CALL and any(made_ranges(result)):
            self._warn(lanes.count, "strings or lists are built one element at a time, which may be slower than the "
                                    "original: return numbers, or one of a few strings")
        if options.audit:
            from pyflat.runtime.audit import audit_lanes

            audit_lanes(context, result, leaves, suspect, reference)
        if options.errors not in ("mask", "nan"):
            return collect(result, leaves, lanes, None, context.out)
        faults = Faults.none(lanes.shape) if faults is None else faults
        blank(leaves, faults.flat)
        value = collect(result, leaves, lanes, faults.flat, context.out)
        return (value, faults.of_whole(context.part)) if options.errors == "mask" else value

    def _count(self, lanes: int, replayed: int, failed: int) -> None:
        with brief:
            self.stats.calls_cell.cell_contents += 1
            self.stats.in_steps += 1
            self.stats.lanes_cell.cell_contents += lanes
            self.stats.replayed += replayed
            self.stats.failed += failed

    def count_replayed(self, lanes: int, replayed: int, failed: int) -> None:
        """Lanes of a call that its container has run through the original."""
        with brief:
            self.stats.replayed += replayed
            self.stats.failed += failed
        self._warn_of(replayed, lanes)

    def _warn_of(self, replayed: int, lanes: int) -> None:
        if replayed > SLOW_SHARE * lanes:
            self._warn(lanes, f"{replayed:,} of {lanes:,} elements fell back to the original, one by one, because an "
                              f"operation may overflow or fail, or a value is missing")

    def _warn(self, lanes: int, why: str) -> None:
        """Say once why a large call is slower than it looks."""
        if not self._warned and lanes >= LARGE_CALL:
            self._warned = True
            warn(f"{self.parameters.name}: {why}", PerformanceWarning)


def _ran(built: Built, context: CallContext, into: list[Array | None]) -> tuple[CallContext, Ran]:
    """Run the lanes of a call, those in Fortran's order as they lie. They are counted in C's where any is suspect: the
    first that fails is the one to raise."""
    lanes = context.lanes.in_memory_order()
    ran = built.run(lanes.inputs, lanes.count, context.options.parallel, into)
    if not lanes.turned or ran.suspect is None or not ran.suspect.any():
        return replace(context, lanes=lanes), ran
    limited = None if ran.limited is None else lanes.in_c_order(ran.limited)
    return context, Ran([lanes.in_c_order(leaf) for leaf in ran.leaves], lanes.in_c_order(ran.suspect), limited)


def _put_back(record: type[WrittenRecord], value: Any, arguments: Mapping[str, Any]) -> Any:
    """Write what the function has written into the caller's objects; the rest is what it returned. TypeError where such
    an object is in two places of the arguments: the twin took them for two objects."""
    places = Counter(map(id, _records(tuple(arguments.values()))))
    for path in record.paths:
        if places[id(item_at(arguments, path[:-1]))] > 1:
            raise TypeError(f"the function writes into {path[0]!r}, and an object in it is passed more than once")
    returned, *items = value
    for path, item in zip(record.paths, items, strict=True):
        put_at(arguments, path, item)
    return returned


def _records(value: Any) -> Iterator[Any]:
    """The records that a value consists of."""
    found = record_of(value)
    if found is not None:
        yield value
        for item in found[2]:
            yield from _records(item)


def require_nan(result: Shape) -> None:
    """Raises FlattenError where nan cannot stand for a failing lane: a result that is int or bool, or none at all."""
    floats, others = _kinds(result)
    if others or not floats:
        what = "a result is int, bool or an object" if others else "the function returns no number"
        raise refuse("flatten/result-kind", f'errors="nan": {what}, which cannot be nan in a failing lane',
                     help='use errors="mask", which returns (values, faults), or return floats')


def _kinds(shape: Shape) -> tuple[int, int]:
    """How many float numbers and how many other numbers a result has."""
    match shape:
        case Leaf():
            return (1, 0) if shape.kind is FLOAT else (0, 1)
        case Labels() | Texts() | Ragged():
            return (0, 1)
        case Maybe():
            return _kinds(shape.inner)
        case Record() if shape.cls is complex:
            return (1, 0)
        case Record():
            parts = [_kinds(item) for item in shape.items]
        case Fixed():
            value = shape.value
            if isinstance(value, tuple):
                parts = [_kinds(Fixed(item)) for item in value]
            else:
                parts = [(int(isinstance(value, float | complex)), int(isinstance(value, int)))]
    return sum(floats for floats, _ in parts), sum(others for _, others in parts)
