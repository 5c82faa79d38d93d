"""What the parts of one call share: the function, its arguments, the options in force, the lanes, and `out=`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyflat.frontend.callables import Callee, Parameters
from pyflat.runtime.arguments import ClassifiedCall
from pyflat.runtime.arrays import Lanes
from pyflat.runtime.faults import Part
from pyflat.runtime.settings import Options


@dataclass(frozen=True, slots=True)
class CallContext:
    """One call of a twin."""

    callee: Callee
    parameters: Parameters
    call: ClassifiedCall
    lanes: Lanes
    options: Options
    out: Any = None
    part: Part | None = None
    """Of which larger call this one is a part."""
