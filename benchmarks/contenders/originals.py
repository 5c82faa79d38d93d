"""The unmodified function: under numba.vectorize (the unit of all ratios), in a loop under numba.njit, under
np.vectorize. In f4 numba's signatures are float32; Python's literals make it compute in float64 all the same."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
import numpy as np

from benchmarks.contenders.record import Columns, Contender, Run, into_new_array, result_type
from benchmarks.kernels import Kernel

UNIT = "numba.vectorize"


def _with_compiled_helpers(function: Any) -> FunctionType:
    """A copy whose plain Python helpers are under numba.njit: numba calls no others."""
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:  # attributes too: a function may have the name of a method that it calls
        if isinstance(scope.get(name), FunctionType) and scope[name] is not function:
            scope[name] = compiled(scope[name])
    return FunctionType(function.__code__, scope, function.__name__, function.__defaults__)


def compiled(function: Callable[..., Any]) -> Any:
    return numba.njit(_with_compiled_helpers(function))


def vectorize(kernel: Kernel, lanes: Columns) -> Run:
    types = [numba.from_dtype(column.dtype) for column in lanes]
    signature = numba.from_dtype(result_type(kernel, lanes))(*types)
    function = _with_compiled_helpers(kernel.function)
    if function.__code__.co_argcount != len(lanes):  # others have defaults, which a ufunc has not
        names = ", ".join(f"a{k}" for k in range(len(lanes)))
        scope = {"fn": numba.njit(function)}
        exec(f"def run({names}):\n    return fn({names})\n", scope)
        function = scope["run"]  # type: ignore[assignment]
    run = numba.vectorize([signature])(function)
    return lambda: run(*lanes)


def loop(kernel: Kernel, lanes: Columns) -> Run:
    names = ", ".join(f"a{k}" for k in range(len(lanes)))
    items = ", ".join(f"a{k}[i]" for k in range(len(lanes)))
    scope = {"fn": compiled(kernel.function)}
    exec(f"def run({names}, out):\n    for i in range(len(out)):\n        out[i] = fn({items})\n", scope)
    run = numba.njit(scope["run"])
    return into_new_array(run, lanes, result_type(kernel, lanes))


def np_vectorize(kernel: Kernel, lanes: Columns) -> Run:
    run = np.vectorize(kernel.function, otypes=[result_type(kernel, lanes)])
    return lambda: run(*lanes)


CONTENDERS = (
    Contender(UNIT, vectorize, local=True),
    Contender("numba.njit", loop, local=True),
    Contender("np.vectorize", np_vectorize, sampled=True),
)
