"""What the parts of a call see of the twin that is called, and of what its calls share; what a twin has done so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import CellType
from typing import TYPE_CHECKING, Any, Protocol

from pyflat.functions.ways import CALLS, Noted, key, merged

if TYPE_CHECKING:
    from pyflat.frontend.callables import Callee, Parameters
    from pyflat.ir.shape import Shape
    from pyflat.runtime.arguments import ClassifiedCall
    from pyflat.runtime.arrays import CallContext
    from pyflat.runtime.compiled import Compilations, Ran
    from pyflat.runtime.faults import Float32Lanes, Part
    from pyflat.runtime.kernels import Kernels
    from pyflat.runtime.settings import Options, Settings


class Planned(Protocol):
    """A twin (`runtime.twins`), which learns plans."""

    __name__: str

    @property
    def original(self) -> Callable[..., Any]: ...
    @property
    def settings(self) -> Settings: ...
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...


class Calls(Protocol):
    """What calls of one twin share (`runtime.calls.Caller`, which says what the methods do)."""

    callee: Callee
    parameters: Parameters
    compilations: Compilations
    kernels: Kernels
    stats: Stats

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options, twin: Planned | None = None,
                 out: Any = None, part: Part | None = None) -> Any: ...
    def classified(self, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options) -> ClassifiedCall: ...
    def settle(self, context: CallContext, result: Shape, ran: Ran, reference: Float32Lanes | None = None) -> Any: ...
    def count_replayed(self, lanes: int, replayed: int, failed: int) -> None: ...


class Stats:
    """What a twin has done so far: calls, their lanes, the lanes that were replayed through the original, and those
    that failed and were kept (`errors="mask"` and "nan"). A call of a kernel has no lanes; where the original runs, it
    is counted as one that was replayed."""

    __slots__ = ("_compiled", "_noted", "_options", "calls_cell", "failed", "in_steps", "lanes_cell", "replayed")

    def __init__(self, compiled: Compilations) -> None:
        self._compiled = compiled
        self._noted: list[Noted] = []
        self._options: list[tuple[Options, tuple[str, ...]]] = []
        self.in_steps = 0
        """Calls that no plan has made."""
        self.calls_cell, self.lanes_cell = CellType(0), CellType(0)  # plans count in them as variables of their own
        self.replayed = self.failed = 0

    @property
    def calls(self) -> int:
        return int(self.calls_cell.cell_contents)

    @property
    def lanes(self) -> int:
        return int(self.lanes_cell.cell_contents)

    @property
    def functions(self) -> dict[str, str]:
        """The functions of the C library that the twins compiled so far have the digits of, gamma and lgamma of CPython
        too, and what is known of each: "verified", "bounded" or "called" (`pyflat.functions.loaded_library`)."""
        from pyflat.functions.loaded_library import standing
        from pyflat.functions.vmath.exact import is_verified

        names = sorted(self._compiled.functions())
        return {name: "verified" if is_verified(name) else standing(name) for name in names}

    @property
    def ways(self) -> dict[str, tuple[str, ...]]:
        """Which of the ways to compute the same have run so far (`pyflat.functions.ways`):
        {"few": ("many",), "refill": ("plain", "refilled"), "calls": ("plan", "long"), ...}."""
        calls = {"long"} if self.in_steps else set()
        if self.calls > self.in_steps:
            calls.add("plan")
        own: Noted = {CALLS.name: calls} if calls else {}
        made_for = {(built, forced) for options, forced in self._options for built in options.all_built}
        return merged([own, *self._noted, *self._compiled.ways(made_for)])

    def note(self, noted: Noted, options: Options) -> None:
        """Note what was chosen in a call with these options that was made step by step."""
        if not any(options is known for known, _ in self._options):
            self._options.append((options, key()))
        if noted and noted not in self._noted:
            self._noted.append(noted)

    @property
    def library(self) -> str:
        """The identity of the C library of this process: processes in which it is the same compute the same digits."""
        from pyflat.functions.loaded_library import identity

        return identity()

    def __repr__(self) -> str:
        return f"Stats(calls={self.calls}, lanes={self.lanes}, replayed={self.replayed}, failed={self.failed})"
