"""What the parts of a call see of the twin that is called, and of what its calls share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyflat.frontend.callables import Callee, Parameters
    from pyflat.ir.shape import Shape
    from pyflat.runtime.arguments import ClassifiedCall
    from pyflat.runtime.arrays import CallContext
    from pyflat.runtime.compiled import Compilations, Ran
    from pyflat.runtime.faults import Float32Lanes, Part
    from pyflat.runtime.kernels import Kernels
    from pyflat.runtime.settings import Options, Settings
    from pyflat.runtime.stats import Stats


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
