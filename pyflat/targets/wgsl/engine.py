"""The engine of `target="wgsl"`: a flat or masked function over arrays, on the device that wgpu finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.ir.nodes import Function
from pyflat.ir.shape import Shape
from pyflat.targets.shaders import leaf_names
from pyflat.targets.target import Request
from pyflat.targets.wgsl.shaders import compute, function


def engine(request: Request) -> WgslEngine:
    """The target "wgsl"."""
    return WgslEngine(request.function, request.spec.result)


class WgslEngine:
    """A compute shader as an engine. Lanes are computed in 32 bits, and nothing says in which of them Python raises.

    Results are float32, int32 and bool arrays. Raises OverflowError for an argument beyond 32 bits.
    """

    def __init__(self, fn: Function, result: Shape):
        names = leaf_names(result)
        self.printed = function(fn, names) if names else None

    @property
    def source(self) -> str:
        """The compute shader; nothing for a function that gives no number."""
        return compute(self.printed) if self.printed else ""

    def __call__(
        self, lanes: Sequence[npt.NDArray[Any] | np.generic], n: int, /
    ) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any] | None]:
        from pyflat.targets.wgsl.run import run_compute

        return run_compute(self.printed, lanes, n) if self.printed else [], None
