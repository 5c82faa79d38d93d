"""A kernel on the NumPy target: its text, compiled by Python, and runs of it.

Calls with the arguments as they come are written out as one function: as few calls of Python's as there can be, since
small arrays take less than these.

    def call(a0, a1):
        types, dtypes, ranks, flags, overlaps       others: NotImplemented
        copies of what may have to be put back
        r = kernel(a0, a1)                          in NumPy's error state that stops at warnings
        return the numbers of r and its arrays      Ellipsis where something was met
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from pyflat.analysis.kernels import Kernel
from pyflat.frontend.callables import NOT_GIVEN
from pyflat.functions import array_lanes
from pyflat.functions.locks import translating
from pyflat.ir.kernel_results import Outcome
from pyflat.ir.kernel_results import names as returned_names
from pyflat.ir.loops import all_ops
from pyflat.ir.memory import ArrayArgument, ScalarArgument, overlaps_itself
from pyflat.ir.nodes import Loop, Op
from pyflat.ir.shape import Fixed, Leaf
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY, Kind
from pyflat.targets.numpy.kernels.text import KernelText
from pyflat.targets.numpy.kernels.writer import returned

MOST_SAVED = 1 << 17
"""Bytes of written arrays that are saved here: more is for `runtime.saved_arrays`."""
_C_ORDER, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
"""Bits of `array.flags.num`."""
_state = getattr(np._core.umath, "_extobj_contextvar", None)
_make_state = getattr(np._core.umath, "_make_extobj", None)
"""What np.errstate sets, and makes."""


def direct(kernel: Kernel, run: Callable[..., Any], given: Mapping[str, Any], saved: Collection[str], *,
           errors: Mapping[str, Any], met: tuple[type[Exception], ...], results: Sequence[type | None]
           ) -> Callable[..., Any] | None:
    """The function for arguments like these. None where they are unusual.

    run       the text of the kernel, compiled
    errors    the error state that it runs in
    met       the exceptions that say that the original has to run
    results   the type of each number that it gives, then None for each array
    """
    if _state is None or _make_state is None:
        return None
    writer = _Call(kernel, given)
    if any(name not in kernel.arguments and value is not NOT_GIVEN for name, value in given.items()):
        return None
    conditions = [writer.other(name, value) for name, value in given.items()]
    if None in conditions:
        return None
    unfit = [f"state.get() is not {writer.known(_state.get())} and getbufsize() != {np.getbufsize()}",
             *[each for each in conditions if each], *writer.overlaps()]
    names = {name: writer.names[name] for name in saved}
    if names:
        unfit.append(f"{' + '.join(f'{name}.nbytes' for name in names.values())} > {MOST_SAVED}")
    passed = [writer.names[name] for name, argument in kernel.arguments.items() if not isinstance(argument, Fixed)]
    lines = [f"def call({', '.join(writer.names.values())}):",
             f"    if {' or '.join(unfit)}:",
             "        return NotImplemented",
             *[f"    kept_{name} = {name}.copy('K')" for name in names.values()],
             f"    token = state.set({writer.known(_make_state(**errors))})",
             "    try:",
             f"        r = {writer.known(run)}({', '.join(passed)})",
             f"    except {writer.known(met)}:",
             *[f"        {name}[...] = kept_{name}" for name in names.values()],
             "        return ...",
             "    finally:",
             "        state.reset(token)",
             f"    return {_taken(results)}"]
    exec(compile("\n".join(lines), "<call of a kernel>", "exec"), writer.meanings)
    return writer.meanings["call"]  # type: ignore[no-any-return]


def _taken(results: Sequence[type | None]) -> str:
    """The numbers as Python's, and the arrays, alone or as a tuple."""
    if not results:
        return "None"
    each = ["r"] if len(results) == 1 else [f"r[{number}]" for number in range(len(results))]
    texts = [value if cls is None else f"{cls.__name__}({value})" for value, cls in zip(each, results, strict=True)]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


class _Call:
    """Writes conditions under which arguments are others than those given; `meanings` has what their names mean."""

    def __init__(self, kernel: Kernel, given: Mapping[str, Any]):
        self.kernel = kernel
        self.names = {name: f"a{number}" for number, name in enumerate(given)}
        self.meanings: dict[str, Any] = {"state": _state, "getbufsize": np.getbufsize, "ndarray": np.ndarray,
                                         "overlaps_itself": overlaps_itself, "share": np.may_share_memory}

    def known(self, value: Any) -> str:
        name = f"known_{len(self.meanings)}"
        self.meanings[name] = value
        return name

    def other(self, name: str, value: Any) -> str | None:
        """None where only the long way knows."""
        own, kind = self.names[name], f"type({self.names[name]}) is not {self.known(type(value))}"
        match self.kernel.arguments.get(name):
            case ArrayArgument() as argument if type(value) is np.ndarray and value.dtype is np.dtype(value.dtype.str):
                written = name in self.kernel.written
                needed = _ALIGNED | (_WRITEABLE if written else 0) | (_C_ORDER if self.kernel.models else 0)
                if value.flags.num & needed != needed:
                    return None
                unfit = [kind, f"{own}.dtype is not {self.known(value.dtype)}", f"{own}.ndim != {argument.rank}",
                         f"{own}.flags.num & {needed} != {needed}"]
                if written and not needed & _C_ORDER:
                    unfit.append(f"not {own}.flags.num & {_C_ORDER} and overlaps_itself({own})")
                return " or ".join(unfit)
            case ScalarArgument() if isinstance(value, np.generic):
                return kind
            case Leaf() as argument:
                return f"{kind} or not {-2**63} <= {own} < {2**63}" if argument.kind is INT else kind
            case None | Fixed() if value is NOT_GIVEN or value is None or type(value) in (str, bool, int, float):
                return f"{own} is not {self.known(value)}"
        return None

    def overlaps(self) -> list[str]:
        """That arrays share elements of which one is written, but for those that the kernel takes to."""
        arrays = {name: a.memory for name, a in self.kernel.arguments.items() if isinstance(a, ArrayArgument)}
        return [f"share({self.names[a]}, {self.names[b]})" for a, b in combinations(arrays, 2)
                if arrays[a] != arrays[b] and not {a, b}.isdisjoint(self.kernel.written)]


def sourced_lines(kernel: Kernel, *, lanes: bool) -> list[str]:
    """The lines of a kernel as Python; those of the body know of which operations and loops they are made."""
    writer = KernelText(kernel, lanes=lanes)
    text = writer.text().rstrip("\n").split("\n")
    head, bodies = text[:len(text) - len(writer.lines)], iter(writer.body_lines)
    following = next(bodies, None)
    for k, line in enumerate(head):
        if line == following:
            head[k], following = following, next(bodies, None)
    return head + writer.lines


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
        return direct(self.kernel, self.version(True)[0], given, saved, errors=_errors(watch=watch),
                            met=(array_lanes.Wraps, array_lanes.Warned, *_FAULTS),
                            results=[*map(_PYTHON.__getitem__, self._kinds), *[None] * len(self._returned)])

    @property
    def source(self) -> str:
        return self.version(True)[1]

    def sourced_lines(self) -> list[str]:
        """The lines of `source`; those of the body know of which operations and loops they are made."""
        return sourced_lines(self.kernel, lanes=self._lanes)

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
