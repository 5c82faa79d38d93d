"""pyflat's twins of the unmodified functions. All run on one thread.

numpy, numba    the targets, with the C library's functions: the bits of CPython
numpy vector    the NumPy target with NumPy's functions, and CPython's decisions
numpy undecided the same without looking at decisions: what a text of np.where with these functions computes
vector          the numba target with its own functions, and CPython's decisions
undecided       the same without looking at decisions

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

VECTOR: Mapping[str, Any] = {"target": "numba", "math": "vector"}
OPTIONS: dict[str, Mapping[str, Any]] = {
    "numpy": {"target": "numpy"},
    "numpy vector": {"target": "numpy", "math": "vector"},
    "numpy undecided": {"target": "numpy", "math": "vector", "decisions": False},
    "numba": {"target": "numba", "math": "libm"},
    "vector": VECTOR,
    "undecided": {**VECTOR, "decisions": False},
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
