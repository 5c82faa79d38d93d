"""One call of a twin: bind, classify, find the compiled entry, run it, replay what is suspect, collect the results."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyflat.arguments import Call, classify
from pyflat.arrays import collect, prepare
from pyflat.callables import Callee, Parameters
from pyflat.compiled import Built, Compilations
from pyflat.replay import PerformanceWarning, Replay
from pyflat.settings import Options

LARGE_CALL = 100_000
SLOW_SHARE = 0.01
"""Above this share of replayed lanes a large call warns, once for each twin."""


@dataclass(slots=True)
class Stats:
    """What a twin has done so far: calls, their lanes, and the lanes that were replayed through the original."""

    calls: int = 0
    lanes: int = 0
    replayed: int = 0


class Caller:
    """What calls of one twin share."""

    def __init__(self, callee: Callee, parameters: Parameters, compilations: Compilations):
        self.callee = callee
        self.parameters = parameters
        self.compilations = compilations
        self.stats = Stats()
        self._counting = threading.Lock()
        self._warned = False

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options) -> Any:
        if options.static:
            self.parameters.check_static(options.static)
        call = classify(self.parameters.bind(args, kwargs), self.parameters, options.static)
        built = self.compilations.get(self.callee.function, call.arguments, options)
        return self._run(built, call)

    def _run(self, built: Built, call: Call) -> Any:
        lanes = prepare(call)
        leaves, suspect = built.engine(lanes.inputs, lanes.count)
        if lanes.suspect is not None:
            suspect = lanes.suspect if suspect is None else suspect | lanes.suspect
        replayed = 0
        try:
            if suspect is not None and suspect.any():
                replayed = int(suspect.sum())
                Replay(self.callee, self.parameters, call, lanes, built.result).patch(suspect, leaves)
        finally:
            self._count(lanes.count, replayed)
        if replayed > SLOW_SHARE * lanes.count and lanes.count >= LARGE_CALL:
            self._warn(replayed, lanes.count)
        return collect(built.result, leaves, lanes)

    def _count(self, lanes: int, replayed: int) -> None:
        with self._counting:
            self.stats.calls += 1
            self.stats.lanes += lanes
            self.stats.replayed += replayed

    def _warn(self, replayed: int, lanes: int) -> None:
        if self._warned:
            return
        self._warned = True
        text = (f"{self.parameters.name}: {replayed:,} of {lanes:,} lanes were run one by one through the original, "
                f"because an operation in them may overflow or fail")
        warnings.warn(text, PerformanceWarning, stacklevel=5)
