"""Registered targets as engines: what lies between a twin and another package's backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyflat.backend.flat import FlatFunction
from pyflat.backend.steps import flatten_fold
from pyflat.errors import refuse
from pyflat.ir.nodes import Function
from pyflat.ir.recursion import with_room
from pyflat.ir.shape import Shape
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.passes import pipelines

if TYPE_CHECKING:
    from pyflat.frontend.result import Specialised

Lane = npt.NDArray[Any] | np.generic
Run = Callable[[Sequence[Lane], int], Sequence[Any]]
_DTYPES = {BOOL: np.bool_, INT: np.int64, FLOAT: np.float64}


@dataclass(frozen=True)
class RegisteredEngine:
    """An engine of another package. `run(lanes, n)` has an array of length n or a NumPy scalar for each param, and
    gives an array or number for each result, the last one true in lanes that are faults."""

    flat: FlatFunction
    run: Run

    @property
    def source(self) -> str:
        return str(getattr(self.run, "source", self.flat))

    def __call__(self, lanes: Sequence[Lane], n: int, /) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any] | None]:
        found = list(self.run(lanes, n))
        kinds = self.flat.ir.result_kinds
        if len(found) != len(kinds):
            raise TypeError(f"the target gave {len(found)} results for {self.flat.name}, not {len(kinds)}")
        pairs = zip(found, kinds, strict=True)
        arrays = [_filled(value, _DTYPES[kind], n) for value, kind in pairs]
        return arrays[:-1], arrays[-1] if arrays[-1].any() else None


def _filled(value: Any, dtype: Any, n: int) -> npt.NDArray[Any]:
    return np.array(np.broadcast_to(np.asarray(value, dtype), n))


@with_room
def registered_engine(
    compile: Callable[[FlatFunction], Run], spec: Specialised, flat: Function, arguments: Mapping[str, Shape]
) -> RegisteredEngine:
    """The engine that another package's function makes of a flat function with faults. Raises FlattenError for a
    function whose loops stay loops, and whatever the target raises."""
    if spec.rolled is not None:
        raise spec.rolled
    title = spec.captured.name.strip("<>")
    if flat.form != "flat":
        raise refuse("flatten/while-unbounded", f"a loop of {title} stays a loop")
    fused = pipelines.run(flat, pipelines.engine())
    made = FlatFunction(title, None, fused, spec.result, arguments, spec.opaque, spec.captured.source, None,
                        ("flatten",), {"faults": "mask"})
    folded = flatten_fold(made)
    return RegisteredEngine(folded, compile(folded))
