"""What specialising gives: the structured IR, and what is needed to run, print and re-check it."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyflat.errors import FlattenError
from pyflat.frontend.capture import Captured
from pyflat.frontend.state.guards import Guards
from pyflat.ir.nodes import Function
from pyflat.ir.opaque_calls import OpaqueCalls
from pyflat.ir.shape import Shape


@dataclass(eq=False)
class Specialised:
    """A function specialised to argument shapes.

    function   structured IR; params are the argument leaves, depth first, in signature order
    result     how the result leaves make up the Python value
    arguments  the shape of each parameter
    captured   the source, for the printer
    guards     what was read from outside
    rolled     None, or why a loop was kept (the refusal that a loop-free target raises)
    opaque     the calls that stay calls, for a backend, and what they mean
    stacked    a recursion runs as a loop over a stack
    """

    function: Function
    result: Shape
    arguments: dict[str, Shape]
    captured: Captured
    guards: Guards
    rolled: FlattenError | None
    opaque: OpaqueCalls = field(default_factory=OpaqueCalls)
    stacked: bool = False
