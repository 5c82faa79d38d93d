"""pyflat's twins of the unmodified functions. All run on one thread.

numpy, numba    the targets, with the bits of CPython
numpy fast      the NumPy target with NumPy's functions: what a text of np.where with these functions computes
fast            the numba target with its own functions and fused products

In f4 all have `dtype="float32"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

import pyflat
from benchmarks.contenders.record import Columns, Contender, Run, UnavailableError, real_type
from benchmarks.kernels import Kernel

OPTIONS: dict[str, Mapping[str, Any]] = {
    "numpy": {"target": "numpy"},
    "numpy fast": {"target": "numpy", "math": "fast"},
    "numba": {"target": "numba"},
    "fast": {"target": "numba", "math": "fast"},
}


def _make(options: Mapping[str, Any], kernel: Kernel, lanes: Columns) -> Run:
    chosen = {**options, "parallel": False}
    if real_type(lanes) == np.float32:
        chosen["dtype"] = "float32"
    try:
        twin = pyflat.twin(kernel.function, **chosen)
    except (TypeError, ValueError, pyflat.FlattenError) as error:  # an option that this version does not have
        raise UnavailableError(str(error).splitlines()[0]) from error
    return lambda: twin(*lanes)


CONTENDERS = tuple(Contender(name, partial(_make, options), local=options["target"] == "numba")
                   for name, options in OPTIONS.items())
