"""What a contender is: something that can run a kernel over lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.kernels import Kernel

Columns = Sequence[np.ndarray]
Run = Callable[[], Any]
"""One call over all lanes. It makes a new array and has finished when it returns."""


class UnavailableError(Exception):
    """Why a contender cannot run here, or has no text for a kernel. No failure: a note in the report."""


@dataclass(frozen=True)
class Contender:
    """`make` prepares a call: what its users do once, such as compiling or moving lanes to a device, happens there, or
    in the first call. It raises `UnavailableError` where there is nothing to run.

    sampled     too slow for all lanes
    local       works on a lane, or on some neighbours, from beginning to end before it goes on: beyond the speed of
                memory, a lane takes as long among few as among many
    versions    of what it uses, beyond the packages of pyflat itself
    """

    name: str
    make: Callable[[Kernel, Columns], Run]
    sampled: bool = False
    local: bool = False
    versions: Callable[[], Mapping[str, str]] = dict


def real_type(lanes: Columns) -> np.dtype[Any]:
    """float32 where lanes are 32 bits wide, else float64."""
    return np.dtype(np.float32 if lanes[0].dtype.itemsize == 4 else np.float64)


def result_type(kernel: Kernel, lanes: Columns) -> np.dtype[Any]:
    """Of the type of the lanes, float or int as the original's result."""
    first = kernel.function(*[column[0].item() for column in lanes])
    narrow = real_type(lanes) == np.float32
    if isinstance(first, float):
        return np.dtype(np.float32 if narrow else np.float64)
    return np.dtype(np.int32 if narrow else np.int64)


def into_new_array(run: Callable[..., Any], lanes: Columns, dtype: np.dtype[Any]) -> Run:
    """A call of what writes its results into its last argument."""

    def call() -> np.ndarray:
        out = np.empty(len(lanes[0]), dtype)
        run(*lanes, out)
        return out

    return call


def optional(module: str) -> Any:
    """The module, or `UnavailableError` where it is not installed."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UnavailableError(f"{module} is not installed") from error
