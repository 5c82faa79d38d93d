"""Before which loop of a kernel each index is tested that is tested for all iterations at once (`kernels.boxes`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyflat.frontend.kernels import Kernel
from pyflat.ir.nodes import Loop, Op
from pyflat.targets.numba.kernels.emit import KernelCode


class _Recording(KernelCode):
    """Writes the kernel and remembers the tests."""

    def __init__(self, kernel: Kernel, layouts: Mapping[str, str]):
        super().__init__(kernel, layouts, [], careful=False)
        self.before: dict[Op, Loop] = {}

    def _tested(self, loop: Loop) -> tuple[Any, set[Op], set[Op]] | None:
        found = super()._tested(loop)
        if found is not None:
            for op in found[1]:
                self.before.setdefault(op, loop)
        return found


def tested_before(kernel: Kernel, layouts: Mapping[str, str]) -> dict[Op, Loop]:
    """The indices that are tested before a loop around them; others are tested at each access."""
    code = _Recording(kernel, layouts)
    code.text()
    return code.before
