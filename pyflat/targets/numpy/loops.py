"""Masked loops of the NumPy engine: the lanes of a block run each trip together until none is live.

    def loop1(A, n, live, p0, i1, x0, o0):      p0 is the same in all lanes, i1 what another parameter starts with
        w0, w1, b2, b3, b4 = A.frame(layout1, n)
        w0[...] = i1
        b2.fill(True)                           the lanes that are live
        while True:
            ...header...
            bitwise_and(go, b2, b3)             those that go on
            if count(b3) != alive:              some stop here: their results are put away
                o0[at] = w1[stopped]
            if waste > cost:                    lanes that are live are gathered into shorter arrays
                w0[:n] = w0[kept]
            ...rest...
            w0, w1 = w1, w0

A lane that is done computes on, whatever comes of it: its results were put away in the trip in which it stopped. That
is cheaper than to freeze its parameters by selects. The lanes that are live are gathered as soon as the others have
wasted as much time as that takes: so no more than twice of what was needed is ever lost. `live`, an array or None for
all, are the lanes that run the loop at all. What is the same in all lanes that are live, such as the counter of a
`for`, is a scalar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pyflat.analysis.liveness import captured
from pyflat.ir.loops import LoopParts, all_ops, take_apart
from pyflat.ir.nodes import Block, Const, Loop, Param, Value
from pyflat.ir.types import BOOL
from pyflat.targets.numpy.blocks import CALL, FIND, GATHER, VIEW, BlockText, Check, copy_into, cost_of, uniform_ops
from pyflat.targets.numpy.frames import FrameWriter
from pyflat.targets.numpy.values import Holder, Slot

_names_live = re.compile(r"\blive\b").search

_GATHER, _LIVE = "# gather", "# mask"
"""Lines that are written last."""

def loop_function(program: BlockText, parent: FrameWriter, loop: Loop, outer: Sequence[Value]) -> tuple[str, list[str]]:
    """Write the function of a loop; gives its name, and its arguments but for the results."""
    parts = take_apart(loop)
    same = _uniform_params(loop, parts, {v for v in (*outer, *loop.inits) if parent.is_uniform(v)})
    written = _LoopFunction(program, parent, loop, parts, same, outer)
    name = written.write()
    inits = [parent.scalar(init) if param in same or parent.is_uniform(init) else parent.array(init)
             for param, init in zip(loop.params, loop.inits, strict=True)]
    return name, [*inits, *[parent.scalar(v) for v in outer]]


def _uniform_params(loop: Loop, parts: LoopParts, outer: set[Value]) -> set[Param]:
    """Parameters that are the same in all lanes that are live."""
    same = {p for p, init in zip(loop.params, loop.inits, strict=True) if isinstance(init, Const) or init in outer}
    while True:
        known: set[Value] = {*same, *outer}
        for item in [*parts.header, *parts.rest]:
            if isinstance(item, Block):
                uniform_ops(item.ops, known)
        lost = {p for p, after in zip(loop.params, parts.next, strict=True)
                if p in same and not isinstance(after, Const) and after not in known}
        if not lost:
            return same
        same -= lost


class _LoopFunction:
    """Writes the function of one loop."""

    def __init__(self, program: BlockText, parent: FrameWriter, loop: Loop, parts: LoopParts, same: set[Param],
                 outer: Sequence[Value]):
        self.program, self.loop, self.parts, self.same = program, loop, parts, same
        self.frame = FrameWriter(program, program.style)
        self.arrays: dict[Param, tuple[Slot, Slot]] = {}
        """Parameters in buffers: where they are, and where the next ones are written."""
        self.outs = [f"o{k}" for k in range(len(loop.results))]
        self.parameters: list[str] = []
        self.starts: list[str] = []
        self.outer: list[Value] = []
        self._enter(parent, outer)
        self.live, self.going, self.stopping = (self.frame.new_slot("b") for _ in range(3))
        self._homes: list[Slot] = []
        self._temporaries: list[Holder] = []
        self._swapped: list[tuple[Slot, ...]] = []
        """Buffers that change places after a trip: each becomes what the next one was."""

    def _enter(self, parent: FrameWriter, outer: Sequence[Value]) -> None:
        frame = self.frame
        for k, (param, init) in enumerate(zip(self.loop.params, self.loop.inits, strict=True)):
            if param in self.same:
                self.parameters.append(f"p{k}")
                frame.places[param] = Holder(f"p{k}", uniform=True)
                continue
            self.parameters.append(f"i{k}")
            now, after = (frame.new_slot(frame.width(param.kind)) for _ in range(2))
            self.arrays[param] = now, after
            frame.places[param] = self._fixed(param, now)
            text = frame.places[param].text
            self.starts.append(f"{text}.fill(i{k})" if parent.is_uniform(init) else f"{text}[...] = i{k}")
        for k, value in enumerate(outer):
            uniform = parent.is_uniform(value)
            name = f"u{k}" if uniform else f"x{k}"
            self.parameters.append(name)
            frame.places[value] = Holder(name, uniform=uniform)
            frame.fixed.add(name)
            if not uniform:
                self.outer.append(value)

    def _fixed(self, value: Value, slot: Slot) -> Holder:
        """A place in a buffer that is not given back."""
        text = self.frame.seen(slot, value.kind)
        return Holder(text, bits=self.frame.seen_as_ints(slot), home=slot)

    def write(self) -> str:
        program, frame, parts = self.program, self.frame, self.parts
        for param, after in zip(self.loop.params, parts.next, strict=True):
            if param in self.arrays and not isinstance(after, Const) and after not in frame.places:
                frame.targets.setdefault(after, self._fixed(param, self.arrays[param][1]))
        header = program.steps(parts.header, [parts.go, *parts.leave, *self._used_by_rest()], frame)
        known = {value for value, place in frame.places.items() if place.uniform}
        for item in parts.header:
            if isinstance(item, Block):
                known |= uniform_ops(item.ops, known)
        places = dict(frame.places)
        frame.places.update({value: Holder("", uniform=True) for value in known if value not in places})
        rest = program.steps(parts.rest, parts.next, frame)
        frame.places = places
        check = Check(parts.go, parts.leave, self._check)
        program.write(frame, [*header, check, *rest], parts.next, "live")
        self._end_of_trip()
        body = self._body()
        name = program.number_of("loop")
        program.function(name, ["n", "live", *self.parameters, *self.outs], frame, "frame", body)
        return name

    def _used_by_rest(self) -> list[Value]:
        used = [arg for op in all_ops(self.parts.rest) for arg in op.args]
        for item in self.parts.rest:
            if isinstance(item, Loop):
                used += [*item.inits, *captured(item)]
        return [*used, *self.parts.next]

    # --- the check

    def _check(self, frame: FrameWriter, check: Check, alive: set[Value]) -> None:
        live, going = (frame.seen(slot, BOOL) for slot in (self.live, self.going))
        stopping = frame.seen(self.stopping, BOOL)
        go = frame.array(check.go)
        whole: list[str] = []
        part: list[str] = []
        for out, value in zip(self.outs, check.leave, strict=True):
            text = frame.scalar(value)
            whole.append(f"{out}.fill({text})" if frame.is_uniform(value) else f"{out}[...] = {text}")
            part.append(f"{out}[at] = {text}" if frame.is_uniform(value) else f"{out}[at] = {text}[stopped]")
        frame.lines += [
            f"bitwise_and({go}, {live}, {going})",
            f"still = count({going})",
            "if still != alive:",
            "    if not still and alive == n and places is None:",
            *[f"        {line}" for line in whole],
            "        break",
            f"    bitwise_xor({live}, {going}, {stopping})",
            f"    stopped = {stopping}.nonzero()[0]",
            "    at = stopped if places is None else places[stopped]",
            *[f"    {line}" for line in part],
            "    if not still: break",
            "    alive = still",
            f"    {live}, {going} = {going}, {live}",
            _GATHER,
            _LIVE,
        ]
        places = [frame.places[value] for value in alive]
        self._homes = [*frame.masks, *[place.home for place in places if place.home is not None]]
        self._temporaries = [place for place in places if place.temporary]

    def _gathering(self) -> list[str]:
        """The lines that make all arrays shorter. Written last: only then is it known who is seen how."""
        frame = self.frame
        used = set(self._used_by_rest())
        slots = {slot.name for slot in self._homes}
        slots |= {now.name for param, (now, _) in self.arrays.items() if param in used}
        temporaries = self._temporaries
        lines = [f"kept = {self.live.name}.nonzero()[0]", "places = kept if places is None else places[kept]",
                 "n = alive", "waste = 0"]
        gathers = len(slots) + len(temporaries) + len(self.outer)
        views = 0
        for slot in frame.slots:
            names = frame.views_of(slot)
            if not names:
                continue
            views += len(names)
            first, *others = names
            if slot.name in slots:
                lines += [f"t = {first}[kept]", f"{first} = {first}[:n]", f"{first}[...] = t"]
            else:
                lines.append(f"{first} = {first}[:n]")
            lines += [f"{name} = {name}[:n]" for name in others]
        lines.append(f"{self.live.name}.fill(True)")
        for place in [*temporaries, *[frame.places[value] for value in self.outer]]:
            lines.append(f"{place.text} = {place.text}[kept]")
            if place.bits and place.bits != place.text:
                lines.append(f"{place.bits} = {place.text}.view({place.bits}.dtype)")
        work = sum(cost_of(op) for op in all_ops([*self.parts.header, *self.parts.rest])) + 0.1
        cost, call = FIND + 2 * GATHER * gathers, 2 * CALL * (gathers + 2) + VIEW * views
        return [
            "if alive != n:",
            "    waste += n - alive",
            f"    if waste * {work:.3g} > PATIENCE * ({cost:.3g} * alive + {call:.4g}):",
            *["        " + line for line in lines],
        ]

    # --- the trip

    def _end_of_trip(self) -> None:
        """What comes next becomes the parameters."""
        frame = self.frame
        scalars: list[tuple[str, str]] = []
        after_of = dict(zip(self.loop.params, self.parts.next, strict=True))
        moved: dict[Value, Slot] = {}
        for param, after in after_of.items():
            if param not in self.arrays:
                if after is not param:
                    scalars.append((frame.places[param].text, frame.scalar(after)))
            elif after is not param:
                now, then = self.arrays[param]
                if self._moves(after, after_of) and after not in moved:
                    moved[after] = now
                    continue
                copy_into(frame, after, frame.seen(then, param.kind))
                self._swapped.append((now, then))
        self._swapped = [(now, then, moved.pop(param)) if param in moved else (now, then)
                         for now, then, param in self._with_params()]
        if scalars:
            frame.lines.append(f"{', '.join(a for a, _ in scalars)} = {', '.join(b for _, b in scalars)}")

    def _moves(self, after: Value, after_of: Mapping[Param, Value]) -> bool:
        """Whether what comes next is another parameter that gets a new value itself: then its buffer moves on."""
        if not isinstance(after, Param) or after not in self.arrays:
            return False
        following = after_of[after]
        return following is not after and not (isinstance(following, Param) and following in self.arrays)

    def _with_params(self) -> Iterator[tuple[Slot, Slot, Param]]:
        by_slot = {now.name: param for param, (now, _) in self.arrays.items()}
        for now, then in self._swapped:
            yield now, then, by_slot[now.name]

    def _body(self) -> list[str]:
        frame = self.frame
        live = self.live.name
        for slots in self._swapped:
            for slot in slots[1:]:
                frame.join_views(slots[0], slot)
            frame.join_views(slots[0], slots[1])
        lines = []
        masked = [f"live = None if alive == n else {live}"] if any(map(_names_live, frame.lines)) else []
        for line in [_LIVE, *frame.lines]:
            lines += masked if line is _LIVE else self._gathering() if line is _GATHER else [line]
        for slots in self._swapped:
            names = [frame.views_of(slot) for slot in slots]
            after = [*names[1:], names[0]]
            left, right = (", ".join(name for each in group for name in each) for group in (names, after))
            lines.append(f"{left} = {right}")
        flags = [f"{out}.fill(False)" for out, result in zip(self.outs, self.loop.results, strict=True)
                 if result.kind is BOOL]
        return [
            *self.starts,
            *([f"if live is not None: {'; '.join(flags)}"] if flags else []),
            f"if live is None: {live}.fill(True)",
            f"else: {live}[...] = live",
            f"alive = count({live})",
            "places, waste = None, 0",
            "while alive:",
            *["    " + line for line in lines],
        ]
