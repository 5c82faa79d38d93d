"""The code of a kernel before LLVM, for tests that look at what was decided."""

from __future__ import annotations

import inspect

import numpy as np

from pyflat.frontend.kernels import specialise_kernel
from pyflat.ir.kernel_results import names
from pyflat.ir.memory import ArrayArgument
from pyflat.ir.shape import Leaf
from pyflat.ir.types import FLOAT, INT
from pyflat.passes import pipelines
from pyflat.targets.numba.kernels.emit import KernelCode
from pyflat.targets.numba.kernels.engine import layout_of


def code_of(function, *args):
    """What a call with these arguments is compiled from; arrays share no element."""
    arguments = {}
    for number, (name, value) in enumerate(zip(inspect.signature(function).parameters, args, strict=True)):
        is_array = isinstance(value, np.ndarray)
        arguments[name] = ArrayArgument(value.dtype.str[1:], value.ndim, number) if is_array else Leaf(
            INT if isinstance(value, int) else FLOAT)
    kernel = specialise_kernel(function, arguments)
    kernel.function = pipelines.run(kernel.function, pipelines.kernel(kernel))
    layouts = {name: layout_of(value) for name, value in zip(arguments, args, strict=True) if isinstance(value, np.ndarray)}
    returned = [name for name in dict.fromkeys(names(kernel.result)) if name not in arguments]
    return KernelCode(kernel, layouts, returned, careful=False)
