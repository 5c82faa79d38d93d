"""What was decided for a kernel: before which loop indices are tested (`kernels.boxes`), which loops are lanes
(`kernels.lane_plans`) or run as one, and which arrays keep some rows only (`kernels.fusion`)."""

from __future__ import annotations

from collections.abc import Mapping

from pyflat.frontend.kernels import Kernel
from pyflat.ir.kernel_results import names
from pyflat.ir.nodes import Loop, Op
from pyflat.targets.numba.kernels.emit import KernelCode, Tested
from pyflat.targets.numba.kernels.fusion import REASONS


class _Recording(KernelCode):
    """Writes the kernel and remembers the tests."""

    def __init__(self, kernel: Kernel, layouts: Mapping[str, str]):
        super().__init__(kernel, layouts, [], careful=False)
        self.before: dict[Op, Loop] = {}

    def _tested(self, loop: Loop) -> Tested | None:
        found = super()._tested(loop)
        if found is not None:
            for op in found.always | found.here:
                self.before.setdefault(op, loop)
        return found


def decided(kernel: Kernel, layouts: Mapping[str, str]) -> tuple[dict[Loop, str], dict[str, str]]:
    """Loops -> how they run; arrays made inside -> where they are kept, and the reason with its number."""
    returned = [name for name in dict.fromkeys(names(kernel.result)) if name not in kernel.arguments]
    code = KernelCode(kernel, layouts, returned, careful=False)
    loops = dict.fromkeys(code.lanes, "vectors hold its iterations, whatever the loops inside do")
    memory = {name: f"{REASONS[why][0]} {why}: {REASONS[why][1]}" for name, why in code.whole.items()}
    for fusion in code.fusions.values():
        for part in fusion.parts:
            behind = f", {part.behind} behind the first" if part.behind else ""
            loops[part.loop] = f"together with the loop beside it, row by row{behind}"
        memory |= {name: f"row buffer of {rows}" for name, rows in fusion.rings.items()}
    return loops, memory


def tested_before(kernel: Kernel, layouts: Mapping[str, str]) -> dict[Op, Loop]:
    """The indices that are tested before a loop around them; others are tested at each access."""
    code = _Recording(kernel, layouts)
    code.text()
    return code.before
