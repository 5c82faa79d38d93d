"""Random kernels: functions that take arrays and run over them with index loops, beside inputs for them.

`generate(seed)` gives a `Kernel`: the text of a module whose `main` is the kernel, and several sets of arguments. `check_kernel`
calls the original and its twin on arguments of their own and compares everything that a caller can see.
"""

from __future__ import annotations

from tests.generator.kernels.differential import check_kernel
from tests.generator.kernels.program import Kernel, generate

__all__ = ["Kernel", "check_kernel", "generate"]
