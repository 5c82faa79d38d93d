"""A kernel on the NumPy target: its text, compiled by Python, and runs of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from pyflat.analysis.kernels import Kernel
from pyflat.functions import array_lanes
from pyflat.functions.locks import translating
from pyflat.ir.kernel_results import Outcome
from pyflat.ir.kernel_results import names as returned_names
from pyflat.ir.loops import all_ops
from pyflat.ir.memory import overlaps_itself
from pyflat.ir.nodes import Loop, Op
from pyflat.ir.shape import Fixed
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY, Kind
from pyflat.targets.numpy.kernels import calls
from pyflat.targets.numpy.kernels.names import returned
from pyflat.targets.numpy.kernels.text import KernelText

_FAULTS = (array_lanes.Faulted, ArithmeticError, ValueError, IndexError)
_PYTHON: dict[Kind, Any] = {BOOL: bool, INT: int, FLOAT: float}


class NumpyKernel:
    """A kernel as a Python function. Where an index means another element than the code for all lanes takes it for, the
    version without lanes runs, as where two elements of an array that is written are the same one."""

    in_steps: tuple[Loop | None, int] = None, 0

    def __init__(self, kernel: Kernel, arguments: Mapping[str, Any]):
        self.kernel = kernel
        self._lanes = not any(overlaps_itself(arguments[name]) for name in kernel.written)
        self._reordered = False
        self._versions: dict[bool, tuple[Any, str]] = {}
        self._kinds = [kind for kind in kernel.function.result_kinds if kind is not MEMORY]
        self._returned = returned(kernel, list(returned_names(kernel.result)))

    def version(self, lanes_too: bool) -> tuple[Any, str]:
        with translating:
            if lanes_too not in self._versions:
                writer = KernelText(self.kernel, lanes=lanes_too and self._lanes)
                text = writer.text()
                if lanes_too:
                    self._reordered = writer.reordered
                    self.in_steps = writer.in_order[-1] if writer.in_order else None, writer.most_at_once
                names: dict[str, Any] = {}
                exec(compile(text, f"<pyflat kernel {self.kernel.function.name}>", "exec"), names)
                names.update(writer.bodies)
                self._versions[lanes_too] = names[writer.function_name], text
            return self._versions[lanes_too]

    @property
    def ends(self) -> Collection[Op] | None:
        """All operations, where nothing is stored that the original does not store."""
        self.version(True)
        return None if self._reordered else frozenset(all_ops(self.kernel.function.body))

    shared = "the target runs kernels on one core"

    def direct(self, given: Mapping[str, Any], saved: Collection[str], *, watch: bool, release: bool,
               limit: float = 0.0) -> Callable[..., Any] | None:
        """A function of arguments like these, as that of the numba target."""
        return calls.direct(self.kernel, self.version(True)[0], given, saved, errors=_errors(watch=watch),
                            met=(array_lanes.Wraps, array_lanes.Warned, *_FAULTS),
                            results=[*map(_PYTHON.__getitem__, self._kinds), *[None] * len(self._returned)])

    @property
    def source(self) -> str:
        return self.version(True)[1]

    def sourced_lines(self) -> list[str]:
        """The lines of `source`; those of the body know of which operations and loops they are made."""
        writer = KernelText(self.kernel, lanes=self._lanes)
        text = writer.text().rstrip("\n").split("\n")
        head, bodies = text[:len(text) - len(writer.lines)], iter(writer.body_lines)
        following = next(bodies, None)
        for k, line in enumerate(head):
            if line == following:
                head[k], following = following, next(bodies, None)
        return head + writer.lines

    def run(self, arguments: Mapping[str, Any], *, careful: bool, watch: bool, strict: bool = False) -> Outcome:
        given = [arguments[name] for name, argument in self.kernel.arguments.items() if not isinstance(argument, Fixed)]
        try:
            with np.errstate(**_errors(watch=watch)):
                result = self.version(not careful)[0](*given)
        except array_lanes.Wraps:
            return Outcome("unclear")
        except array_lanes.Warned:
            return Outcome("warning")
        except _FAULTS:
            return Outcome("fault")
        return Outcome("done", *self._taken_apart(result))

    def _taken_apart(self, result: Any) -> tuple[list[Any], dict[str, Any]]:
        """The numbers and the arrays among what the function has returned."""
        count = len(self._kinds) + len(self._returned)
        each = result if count > 1 else (result,)[:count]
        numbers = [_PYTHON[kind](number) for kind, number in zip(self._kinds, each, strict=False)]
        return numbers, dict(zip(self._returned, each[len(self._kinds):], strict=True))


def _errors(*, watch: bool) -> dict[str, Any]:
    """NumPy's error state for a run, in that of now."""
    how = "call" if watch else "ignore"
    over = "ignore" if np.geterr()["over"] == "ignore" else how  # as generators of random numbers have it
    return {"over": over, "divide": how, "invalid": how, "under": "ignore", "call": _warned}


def _warned(kind: str, _: int) -> None:
    """What NumPy calls instead of warning."""
    raise array_lanes.Warned(kind)


def engine(kernel: Kernel, arguments: Mapping[str, Any]) -> NumpyKernel:
    """The kernel for arguments like these."""
    return NumpyKernel(kernel, arguments)
