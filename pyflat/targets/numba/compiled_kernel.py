"""The machine code of a kernel, and the ways to call it: once for each combination of dtypes of its operands."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pyflat.functions import libm, ways
from pyflat.ir.nodes import Param, Value
from pyflat.targets import threads
from pyflat.targets.numba.conversions import conversion, copying
from pyflat.targets.numba.dense_calls import Later, dense_call
from pyflat.targets.numba.feed import INTERRUPTED, LANES, SECOND, STOPPED, SUSPECTS, SharedState, feed_address
from pyflat.targets.numba.jit import MAX_OPERANDS, Direct, MachineCode, Ufunc, processor
from pyflat.targets.numba.layouts import MANY_SCALARS, Blocks, caller, packed

if TYPE_CHECKING:
    from pyflat.analysis.intervals import Interval

# --- operands that a kernel reads as they are stored: where a function is cheap, a kernel for their dtypes
#
#     %n: i8, %m: i8 of int64                  %n: i8, %m: i8 of int32
#     %0 = mul_overflows %n, %m                loaded with their signs, in registers
#     %1 = mul %n, %m                          %1 = mul %n, %m        between -2**62 and 2**62: it cannot overflow
#
# To convert a block of lanes (`feed`) takes longer than what such a function computes of it, and what the dtype says
# about the numbers takes tests out of it. Other functions have their operands converted by blocks, which needs no
# kernel of its own: forty columns have more combinations of dtypes than anyone compiles.

Stored = tuple[str, ...]
"""For each parameter the dtype that a kernel reads it from, "" where that is the lanes' own; empty where all are."""

WORTH = 100.0
"""Adds of a register: a function that costs more for each operand to convert does not gain by a kernel of its own."""

MOST_KERNELS = 4
"""For each pattern of uniform arguments: combinations of dtypes that get a kernel."""


def stored_of(cost: float, lanes: Sequence[np.dtype[Any]], given: Sequence[np.dtype[Any] | None]) -> Stored:
    """What is read as it is stored by a kernel of this cost for operands of these dtypes, None for a scalar."""
    if cost == math.inf:
        return ()
    found = tuple([dtype.str if dtype is not None and dtype != lane and _is_extended(dtype) else ""
                   for dtype, lane in zip(given, lanes, strict=True)])
    worth = any(found) and cost <= WORTH * sum(map(bool, found))
    return found if any(found) and ways.OPERANDS.first(worth) else ()


def dtypes_of(params: Sequence[Param], stored: Stored) -> Mapping[Param, np.dtype[Any]]:
    """The dtypes of the parameters that are not stored as lanes."""
    return {param: np.dtype(name) for param, name in zip(params, stored, strict=False) if name}


def intervals_of(stored: Mapping[Param, np.dtype[Any]]) -> Mapping[Value, Interval]:
    """Where ints of these dtypes lie."""
    from pyflat.analysis.intervals import Interval

    limits = [(param, np.iinfo(dtype)) for param, dtype in stored.items() if dtype.kind in "iu"]
    return {param: Interval(int(each.min), int(each.max)) for param, each in limits}


def _is_extended(dtype: np.dtype[Any]) -> bool:
    """Not uint64, of which a number may be beyond int64, which whoever converts it notes."""
    return dtype.kind in "if" or (dtype.kind == "u" and dtype.itemsize < 8)


ENTRY = "kernel"
"""The name of its function."""

Pattern = tuple[bool, ...]
"""Which arguments are uniform."""

CALL_WORK = 2**27
"""Operations times lanes in one call of a kernel, so that Python gets to see Ctrl-C."""


FEW_REGISTERS = 2
"""Calls with so many registers of lanes or fewer get a kernel of one register and one way, where that is much less
code: the first call of Black and Scholes takes a third of the time. Calls with 8 or 16 lanes take 0.6 to 1 of the time
on a processor with AVX-512, with 32 up to 1.4; the other kernel is compiled for the first call with more lanes."""

class KernelBody(NamedTuple):
    """What a kernel over arrays asks of the code of its body: that the processor's flags which operations raise stay
    for it to see, and none by lanes that are done; that a loop of very many trips is given up, as suspect, since a lane
    may never end that the original never comes to."""

    raises: bool = False
    endless: bool = False


NO_BODY = KernelBody()


class KernelFacts(NamedTuple):
    """What callers of a kernel ask about it: the dtypes of what it reads and writes, its operations, whether it has
    loops, and whether it calls Python."""

    inputs: Sequence[str]
    results: Sequence[str]
    size: int
    loops: bool
    calls_python: bool

    @property
    def operands(self) -> tuple[list[np.dtype[Any]], list[np.dtype[Any]]]:
        return list(map(np.dtype, self.inputs)), list(map(np.dtype, self.results))


def few_lanes() -> int:
    """The most lanes of a call that are few."""
    return FEW_REGISTERS * processor().vector_bytes // 8


class CompiledKernel:
    """A kernel's machine code for one pattern of uniform arguments, and for each combination of dtypes that was met a
    way to call it. Only the code takes long to make."""

    __slots__ = ("_calls", "_chosen", "_pattern", "_read", "_states", "code", "facts", "few", "step")

    def __init__(self, facts: KernelFacts, pattern: Pattern, code: MachineCode, read: Stored = (), few: bool = False,
                 chosen: ways.Noted | None = None):
        self.facts, self._pattern, self.code, self._read, self.few = facts, pattern, code, read, few
        self._chosen: ways.Noted = chosen or {}
        self._states: list[SharedState] = []
        most = max(CALL_WORK // (facts.size + 1), 1)
        self.step = min(most, few_lanes()) if few else most
        """Lanes in one call, so that Python gets to see Ctrl-C, and that a kernel for few lanes gets no more."""
        self._calls: dict[tuple[np.dtype[Any], ...], _KernelCall] = {}

    def entry_point(self, arguments: Sequence[np.dtype[Any] | None], dtypes: tuple[np.dtype[Any], ...]
                    ) -> KernelEntry | None:
        """The code as a ufunc with a state of its own, for arguments of these dtypes (None: a scalar); None where only
        `Direct` can call it."""
        (lanes, results), code, blocks = self.facts.operands, self.code, None
        stored = [lane if dtype is None else dtype for dtype, lane in zip(arguments, lanes, strict=True)]
        inputs = [dtype.newbyteorder("=") for dtype in stored]
        if any(self._pattern) and ways.PACKED.first(sum(self._pattern) >= MANY_SCALARS):
            blocks = Blocks([lane for lane, scalar in zip(lanes, self._pattern, strict=True) if scalar])
            arrays = [dtype for dtype, scalar in zip(inputs, self._pattern, strict=True) if not scalar]
            inputs, code = [*arrays, np.dtype(np.int64)], packed(code.address, self._pattern, len(results))
        if not _fit_a_ufunc(inputs, results):
            return None
        state = _state_for(stored, lanes, self._read, len(results))
        self._states.append(state)
        ufunc = Ufunc("twin", code.address, state.address, inputs, results, self.code, code, state)
        own = [(k, lane) for k, (dtype, lane) in enumerate(zip(stored, lanes, strict=True)) if dtype == lane]
        walk = caller(ufunc.call, code.address, state, inputs, results, own, self.code, code, ufunc)

        def dense(types: Sequence[type | None], most: int) -> Later | None:
            return dense_call(self.code.address, state.address, list(zip(types, stored, strict=True)), results, most,
                              (self.code, state))

        return KernelEntry(ufunc.call, state, self.step, self.few, self.facts.loops, self.facts.calls_python, dtypes,
                           len(results) - len(dtypes), ufunc, walk, dense, blocks)

    def _call_for(self, stored: Sequence[np.dtype[Any]]) -> _KernelCall:
        return _KernelCall(self.code, stored, *self.facts.operands, self._read)

    @property
    def ways(self) -> ways.Noted:
        """What was chosen when it was made, and which of two ways its lanes have gone."""
        chosen = {name: set(values) for name, values in self._chosen.items()}
        states = [*self._states, *[call.state for call in tuple(self._calls.values())]]
        if any(state.words[SECOND] for state in states):
            way = ways.REFILL if "refill" in chosen else ways.REGROUP
            chosen.setdefault(way.name, set()).add(way.values[1])
        return chosen

    @property
    def noted(self) -> dict[str, list[str]]:
        """What was chosen when it was made, as JSON has it."""
        return {name: sorted(values) for name, values in self._chosen.items()}

    def stop(self, stopped: bool) -> None:
        """Make all that run this kernel leave their loops, or let them run again."""
        for each in tuple(self._calls.values()):
            each.state.words[INTERRUPTED] = STOPPED if stopped else 0

    def inner_loop(self) -> InnerLoop:
        """The code for operands that are lanes."""
        own = self._call_for(self.facts.operands[0])
        return InnerLoop(self.code.address, own.state, self)

    def run(self, n: int, operands: Sequence[Any]) -> bool:
        """Compute `n` lanes; whether any is suspect. Raises what came up inside and could not be raised there."""
        stored = tuple([operand.dtype for operand in operands[: len(self._pattern)]])
        call = self._calls.get(stored) or self.prepare(stored)
        return call.run(n, operands)

    def prepare(self, stored: tuple[np.dtype[Any], ...]) -> _KernelCall:
        """The way to call the code with operands of these dtypes."""
        return self._calls.setdefault(stored, self._call_for(stored))


class _KernelCall:
    """A way to call a kernel's code with operands of certain dtypes: a ufunc where there can be one."""

    __slots__ = ("_call", "_native", "_ufunc", "state")

    def __init__(self, code: MachineCode, stored: Sequence[np.dtype[Any]], lanes: list[np.dtype[Any]],
                 results: list[np.dtype[Any]], read: Stored):
        self.state = _state_for(stored, lanes, read, len(results))
        native = [dtype.newbyteorder("=") for dtype in stored]
        self._native = [None if dtype.isnative else own for dtype, own in zip(stored, native, strict=True)]
        self._call: Any
        self._ufunc: Ufunc | None = None
        if _fit_a_ufunc(native, results):
            self._ufunc = Ufunc("twin", code.address, self.state.address, native, results, code, self.state)
            self._call = self._ufunc.call
        else:
            self._call = Direct(code.address, self.state.address, code, self.state)

    def run(self, n: int, operands: Sequence[Any]) -> bool:
        """Compute `n` lanes; whether any is suspect. Raises what came up inside and could not be raised there."""
        if any(self._native):
            given = zip(operands, self._native, strict=False)
            operands = [*[operand if dtype is None else operand.view(dtype) for operand, dtype in given],
                        *operands[len(self._native):]]
        words = self.state.words
        before = words[SUSPECTS]
        self._call(*operands) if self._ufunc is not None else self._call(n, operands)
        if words[INTERRUPTED]:
            self._after_interrupt(n, operands)
        libm.raise_pending()
        return words[SUSPECTS] != before

    def _after_interrupt(self, n: int, operands: Sequence[Any]) -> None:
        """Raise what a signal handler raised here. Another thread's kernel may have left for the same reason: it runs
        again when that is over, unless its work has been given up."""
        words = self.state.words
        while words[INTERRUPTED]:
            self.state.raise_interrupt()
            threads.raise_if_given_up()
            time.sleep(1e-3)
            if not words[INTERRUPTED]:
                self._call(*operands) if self._ufunc is not None else self._call(n, operands)


def _fit_a_ufunc(inputs: Sequence[object], results: Sequence[object]) -> bool:
    return bool(inputs) and bool(results) and len(inputs) + len(results) <= MAX_OPERANDS


def _state_for(stored: Sequence[np.dtype[Any]], lanes: Sequence[np.dtype[Any]], read: Stored, results: int
               ) -> SharedState:
    """A state with what brings and converts the operands of a kernel. Results are stored as they are computed."""
    conversions = [copying(dtype) | LANES if name else LANES if dtype == lane else conversion(dtype, lane)
                   for dtype, lane, name in zip(stored, lanes, read or [""] * len(lanes), strict=True)]
    return SharedState(feed_address(), [*conversions, *[LANES] * results])


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """A kernel for callers who look at the state themselves (`pyflat.runtime.plans`). The count of suspects starts at
    0."""

    call: np.ufunc
    state: SharedState
    step: int
    """Lanes in one call at most."""
    few: bool
    """For more lanes there is another kernel."""
    loops: bool
    """A signal may end a call."""
    calls_python: bool
    """`libm.raised` may have something to raise."""
    dtypes: tuple[np.dtype[Any], ...]
    hidden: int
    """So many outputs after the results are none."""
    kept: Ufunc
    """What `call` points into."""
    walk: Callable[..., Any]
    """`call` for the shape of the results, and arrays of any layout (`layouts`)."""
    dense: Callable[[Sequence[type | None], int], Later | None]
    """`call` for dense arrays (None) of one shape, with so many elements at most, and scalars of these types
    (`dense_calls`), if there is that."""
    blocks: Blocks | None = None
    """Where scalars are packed: `call` takes the arrays and then a block's address."""


@dataclass(frozen=True, slots=True)
class InnerLoop:
    """The machine code of a kernel with all operands varying, as NumPy calls inner loops: the address of the code, and
    its last operand, the state, in which it counts the suspect lanes."""

    address: int
    state: SharedState
    compiled: CompiledKernel

    def raise_interrupt(self) -> None:
        """Raise what a signal handler raised inside the kernel."""
        self.state.raise_interrupt()
