"""What `twin.explain()` says of the NumPy target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyflat.functions import gamma_check
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Function, Loop, Op
from pyflat.targets.numpy.engine import BLOCK
from pyflat.targets.numpy.library import has_vectors
from pyflat.targets.target import Costs, Lanes

if TYPE_CHECKING:
    from pyflat.analysis.kernels import Kernel


class BlockCosts(Costs):
    """Lanes in blocks, each operation a pass over a block."""

    parallel_loops = "operations on whole arrays"
    loops_inside = "; all lanes of the loop around it go through it together"

    @staticmethod
    def lanes(fused: Function, unchecked: bool) -> Lanes:
        return Lanes(BLOCK)

    @staticmethod
    def library(name: str) -> str | None:
        if not has_vectors(name):
            return None
        whose = "CPython's own code" if name in gamma_check.PARTS else "the C library's, as in CPython"
        return f"{whose}: a call for each element; for long arrays, vector code with the same bits"

    @staticmethod
    def about(lanes: Lanes, integers: int) -> Iterator[str]:
        yield f"  blocks of {lanes.width:,} lanes"

    @staticmethod
    def slower(lanes: Lanes, form: str) -> Iterator[str]:
        yield 'each operation is a separate pass over a block; target="numba" fuses them'

    @staticmethod
    def tested_before(kernel: Kernel, layouts: Mapping[str, str], lanes: set[Loop]) -> set[Op]:
        return {op for loop in lanes for op in all_ops(loop.body) if op.opcode == "index"}
