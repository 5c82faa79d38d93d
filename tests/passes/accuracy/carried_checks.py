"""Random loops with functions that err as much as they may: decided as CPython decides them, and no parameter farther
from CPython's than its loop says, in any trip."""

from __future__ import annotations

import math
from typing import Any

from pyflat.ir.interp import run
from pyflat.ir.nodes import Function, Param
from pyflat.ir.print import format_function
from pyflat.ir.types import FLOAT
from pyflat.ir.uses import with_body
from pyflat.ir.validate import validate
from pyflat.passes.accuracy import choose_math
from pyflat.passes.accuracy.condition_roles import Roles
from tests.passes.accuracy.inexact_loops import InexactLoops, Recorder
from tests.passes.accuracy.inexact_programs import wrong_functions


class Checked:
    """One function with loops, and what of it was compared."""

    def __init__(self, fn: Function, table: Any, functions: Any, *, correlated: bool):
        draft = choose_math._settled(fn, table, Roles(fn), carry=True, correlated=correlated)
        self.fn, self.functions = fn, functions
        self.carries = draft is not None and bool(draft.loops.asked)
        self.trips = self.lanes = self.suspect = self.clean = 0
        if draft is None:
            return
        self.final = draft.finished()
        validate(self.final)
        self.full = with_body(fn, draft.items)
        self.errors = {param: draft.loops.error(param) for param in draft.bounds
                       if isinstance(param, Param) and param.kind is FLOAT and draft.loops.carries(param, draft.bound(param))}

    def lane(self, lane: tuple[Any, ...]) -> None:
        where = f"lane {lane}\n{format_function(self.fn)}"
        machines = []
        for fn, functions, errors in ((self.fn, {}, {}), (self.full, self.functions, self.errors)):
            machine = Recorder(functions, errors)
            machine.env.update(zip(fn.params, lane, strict=True))
            values = [machine.read(value) for value in machine.run_list(fn.body).values]
            machines.append((machine, values))
        (exact, want), (ours, got) = machines
        marked = run(self.final, lane, elementary=self.functions).suspect
        self.lanes += 1
        if marked:
            self.suspect += 1
            return
        if any(math.isinf(number) for number in lane):
            return  # the test for overflow also holds for an infinite operand, for which nothing is raised
        assert not exact.suspect, f"a fault of CPython's is not suspect, {where}"
        for theirs, mine in zip(want, got, strict=True):
            assert isinstance(theirs, float) or theirs == mine, f"{theirs} became {mine}, {where}"
        for label, trips in exact.trips.items():
            assert len(trips) == len(ours.trips[label]), f"other trips of {label.name}, {where}"
            for before, after in zip(trips, ours.trips[label], strict=True):
                self.trip(before, after, where)

    def trip(self, exact: dict[Param, tuple[float, float]], ours: dict[Param, tuple[float, float]], where: str) -> None:
        for param, (c, _) in exact.items():
            v, error = ours[param]
            if param not in self.errors or not (math.isfinite(c) and math.isfinite(v)):
                continue
            assert abs(c - v) <= error or math.isnan(error), f"{param.name}: {c} became {v}, error {error}, {where}"
            self.trips += 1
            self.clean += c == v


def hunt(seeds: range, ulps: int, *, correlated: bool = False) -> list[Checked]:
    found = []
    with wrong_functions(ulps) as (table, functions):
        for seed in seeds:
            programs = InexactLoops(seed)
            fn = programs.masked(programs.random.choice((4, 8, 14)))
            checked = Checked(fn, table, functions, correlated=correlated)
            if checked.carries:
                found.append(checked)
                for lane in [*programs.lanes, *[programs.lane() for _ in range(20)]]:
                    checked.lane(lane)
    return found
