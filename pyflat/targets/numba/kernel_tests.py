"""What was decided for a kernel: before which loop indices are tested (`kernels.boxes`), which loops are flat functions
(`kernels.outlined`), lanes (`kernels.lane_plans`), split (`kernels.splits`) or run as one, and which arrays keep some
rows only (`kernels.fusion`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyflat.analysis.kernels import Kernel
from pyflat.ir.kernel_results import names
from pyflat.ir.loops import has_loop
from pyflat.ir.nodes import Loop, Op
from pyflat.targets.numba.kernels.emit import KernelCode, LabelTarget, Tested
from pyflat.targets.numba.kernels.fusion import REASONS
from pyflat.targets.numba.kernels.outlined import is_in_place


class _Recording(KernelCode):
    """Writes the kernel and remembers the tests, and how loops run."""

    def __init__(self, kernel: Kernel, layouts: Mapping[str, str], returned: Sequence[str] = ()):
        super().__init__(kernel, layouts, returned, careful=False)
        self.before: dict[Op, Loop] = {}
        self.how: dict[Loop, str] = {}

    def _tested(self, loop: Loop) -> Tested | None:
        found = super()._tested(loop)
        if found is not None:
            for op in found.always | found.here:
                self.before.setdefault(op, loop)
        return found

    def _loop_once(self, loop: Loop, after: LabelTarget) -> None:
        flat, lanes, split = self.outlined.get(loop), self.lanes.get(loop), self.splits.get(loop)
        if flat is not None and flat.indices <= self.proven:
            where = "in place" if is_in_place(self, flat) else "blocks of elements are copied"
            self.how[loop] = f"a flat function over its iterations, {where}"
        elif lanes is not None and lanes.indices <= self.proven:
            inside = ", whatever the loops inside do" if has_loop(loop.body) else ""
            self.how[loop] = f"vectors hold its iterations{inside}"
        elif split is not None and split.plan.indices <= self.proven:
            self.how[loop] = "a part of each iteration is computed as lanes before"
        super()._loop_once(loop, after)


def decided(kernel: Kernel, layouts: Mapping[str, str]) -> tuple[dict[Loop, str], dict[str, str]]:
    """Loops -> how they run; arrays made inside -> where they are kept, and the reason with its number."""
    returned = [name for name in dict.fromkeys(names(kernel.result)) if name not in kernel.arguments]
    code = _Recording(kernel, layouts, returned)
    code.text()
    loops = code.how
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
