"""The oracle of kernels: the original and its twin on arguments of their own, and all that a caller can see of both.

Bits of every array with the memory around it, the result with its type and what it shares with the arguments, the
exception with its message and line, what had been written before it, and the warnings that the filters let through.
"""

from __future__ import annotations

import collections
import contextlib
import re
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import pyflat
from pyflat.errors import FlattenError
from tests.generator.differential import Slow, loaded, time_limit
from tests.generator.kernels.inputs import Inputs, Written
from tests.generator.kernels.program import Kernel

Run = Callable[..., Any]
ORIGINAL_SECONDS = 2.0
"""Kernels that take longer as Python are left out."""


@dataclass(frozen=True)
class Seen:
    """What a call did. Every part is text or a tuple that compares as the bits do, nan as one value."""

    result: Any = None
    error: Any = None
    line: Any = None
    """Where in the kernel's text it was raised."""
    arrays: Any = None
    shared: Any = None
    """Which arguments the result is, or shares memory with."""
    warned: Any = None


OWN = re.compile(r"the arguments cannot be broadcast|argument '\w+' (is [\w ]+|\w+)|\w+\(\) was built for ")
"""Messages of ours about arguments: of a dtype that kernels do not take, or of a role that is not known."""
READ_ONLY = "assignment destination is read-only"
PARTS = ("error", "line", "result", "shared", "arrays", "warned")


@dataclass(frozen=True)
class Difference:
    """Of the twin in one set of arguments. `what` is a part of `Seen`, "crash" or "time"."""

    what: str
    inputs: Inputs | Written
    expected: str
    got: str
    call: int = 1

    def __str__(self) -> str:
        return (f"{self.what}, call {self.call}\n--- arguments, warnings: {self.inputs.mode}\n{self.inputs.text}\n---\n"
                f"    original: {self.expected}\n    pyflat:   {self.got}")


@dataclass
class Outcome:
    """What checking a kernel gave."""

    failures: list[Difference] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    """Code and first line of each."""
    sets: int = 0
    """Sets of arguments that were compared."""
    raising: int = 0
    warning: int = 0
    vain: int = 0
    """Sets of arguments with which the original runs, though it neither raises nor warns."""
    slow: bool = False
    read_only: int = 0
    """Sets of arguments with a read-only array that the kernel writes: a ValueError, and no refusal of the language."""


# --- what a call did


def bits(value: Any) -> Any:
    """A value that is equal where type, dtype, shape and bits are."""
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.shape, value.flags.c_contiguous, value.flags.f_contiguous, value.flags.writeable,
                _content(value))
    if isinstance(value, np.generic):
        return (type(value).__name__, _content(np.asarray(value)))
    if isinstance(value, tuple | list):
        return (type(value).__name__, *map(bits, value))
    if isinstance(value, float):
        return ("float", "nan" if value != value else value.hex())
    if isinstance(value, dict):
        return ("dict", *((key, bits(item)) for key, item in value.items()))
    return (type(value).__name__, repr(value))


def _content(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype.kind == "f":
        array = np.where(array != array, array.dtype.type(np.nan), array)
    elif array.dtype.kind == "O":
        return repr(array.tolist())
    return array.tobytes()


def _memory(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _shares(result: Any, arguments: Sequence[Any]) -> Any:
    if isinstance(result, tuple | list):
        return tuple(_shares(item, arguments) for item in result)
    if not isinstance(result, np.ndarray):
        return ()
    return tuple("is" if result is one else "shares" for one in arguments
                 if isinstance(one, np.ndarray) and np.shares_memory(result, one))


@contextlib.contextmanager
def _filters(mode: str) -> Iterator[list[warnings.WarningMessage]]:
    state = {"all": mode} if mode in ("raise", "ignore") else {}
    if mode == "strict":
        state = dict.fromkeys(("divide", "over", "invalid"), "raise")
    with warnings.catch_warnings(record=True) as found, np.errstate(**state):
        warnings.simplefilter({"error": "error", "ignore": "ignore"}.get(mode, "default"))
        yield found


def seen_arrays(arguments: Sequence[Any]) -> Any:
    """All arguments, arrays with the memory around them."""
    return tuple(bits(_memory(one)) + bits(one) if isinstance(one, np.ndarray) else bits(one) for one in arguments)


def watch(call: Run, arguments: tuple[Any, ...], mode: str, path: str) -> Seen:
    """Call it once, and see everything. A FlattenError goes through."""
    result, error, line = None, None, None
    with _filters(mode) as found:
        try:
            result = call(*arguments)
        except (FlattenError, Slow):
            raise
        except Exception as raised:  # noqa: BLE001 - the exception is what is compared
            error = (type(raised).__name__, str(raised))
            frames = [frame for frame in traceback.extract_tb(raised.__traceback__) if frame.filename == path]
            line = frames[-1].lineno if frames else traceback.format_tb(raised.__traceback__)[-1]
    warned = tuple(sorted((w.category.__name__, str(w.message), w.lineno, w.filename == path) for w in found
                          if not issubclass(w.category, pyflat.PerformanceWarning)))
    return Seen(bits(result), error, line, seen_arrays(arguments), _shares(result, arguments), warned)


# --- comparing


@cache
def _virtualizing() -> list[dict[str, Any]]:
    """Settings of arrays that are made inside, each pair of values in a row."""
    from tests.generator.ways import covering

    values: dict[str, tuple[Any, ...]] = {
        "max_visits": (None, 0, 1, 3, 100), "inline_scalar_constexprs": (True, False),
        "inline_simple_computations": (True, False), "inline_complex_computations": (None, False, True),
        "enable_device_only": (True, False), "max_tracing_dim": (16, 2)}
    rows = covering({name: [str(value) for value in of] for name, of in values.items()})
    return [{name: next(v for v in values[name] if str(v) == text) for name, text in row.items()} for row in rows]


def virtualize_of(seed: int) -> dict[str, Any]:
    """Settings for a kernel that makes arrays; for three of four as it is decided."""
    rows = _virtualizing()
    return rows[seed // 8 % len(rows)] if seed % 8 == 2 and seed // 8 % 4 == 1 else {}


def check_kernel(kernel: Kernel, target: str, ignored: Sequence[str] = (), limit: float = 60.0) -> Outcome:
    """Compare on every set of arguments, three times in a row (the third call has a plan); `ignored` are parts that may differ."""
    outcome = Outcome()
    with loaded(kernel.source) as original:
        twin = pyflat.twin(original).with_options(target=target, **virtualize_of(kernel.seed))
        roles = getattr(twin, "roles", {})
        if roles and "array" not in roles.values():  # Python's compiler has removed what used one
            outcome.refusals.append("no parameter is an array")
            return outcome
        for inputs in kernel.inputs:
            compare(original, twin, inputs, outcome, limit)
            outcome.failures = [found for found in outcome.failures if found.what not in ignored]
            if outcome.failures or outcome.slow:
                break
    return outcome


def compare(original: Run, twin: Run, inputs: Inputs | Written, outcome: Outcome, limit: float = 60.0) -> None:
    """One set of arguments; what was found is added to the outcome."""
    path = original.__code__.co_filename
    try:
        with time_limit(ORIGINAL_SECONDS):
            expected = watch(original, inputs.arguments(), inputs.mode, path)
    except Slow:
        outcome.slow = True
        return
    before, replayed = len(outcome.refusals), _replayed(twin)
    for call in (1, 2, 3):
        try:
            with time_limit(limit):
                got = watch(twin, inputs.arguments(), inputs.mode, path)
        except FlattenError as error:
            outcome.refusals.append(refusal(error))
            break
        except Slow:
            outcome.failures.append(Difference("time", inputs, "", f"more than {limit} s", call))
            break
        if got.error and (own := OWN.match(got.error[1])):
            outcome.refusals.append(f"{got.error[0]}: {own[0]}")
            break
        if got.error and READ_ONLY in got.error[1] and got.arrays == seen_arrays(inputs.arguments()):
            outcome.read_only += 1  # said before anything is written
            return
        outcome.failures += differences(expected, got, inputs, call)
        if outcome.failures:
            break
    if len(outcome.refusals) == before:
        outcome.sets += 1
        outcome.raising += expected.error is not None
        outcome.warning += bool(expected.warned)
        outcome.vain += not expected.error and not expected.warned and _replayed(twin) > replayed


def _replayed(twin: Run) -> int:
    return int(getattr(getattr(twin, "stats", None), "replayed", 0))


def refusal(error: FlattenError) -> str:
    return f"{error.code}: {str(error).splitlines()[0][:100]}"


def differences(expected: Seen, got: Seen, inputs: Inputs | Written, call: int = 1) -> list[Difference]:
    """The first part that differs, if one does."""
    if got.error and got.error[0] == "InternalError":
        return [Difference("crash", inputs, repr(expected.error or expected.result), repr(got.error), call)]
    for part in PARTS:
        one, other = getattr(expected, part), getattr(got, part)
        if one != other and not (part == "line" and expected.error[0] == "UnboundLocalError"):
            # CPython has one instruction for a store and the next statement's load, in code that has run often
            more = f" ({got.error[0]} at {got.line})" if part == "error" and got.error and not expected.error else ""
            return [Difference(part, inputs, _short(one, other), _short(other, one) + more, call)]
    return []


def _short(one: Any, other: Any) -> str:
    """The items that differ."""
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return "; ".join(f"[{i}] {_short(a, b)}" for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
    if isinstance(one, bytes):
        return one.hex(" ", 4) if len(one) <= 256 else one[:256].hex(" ", 4) + " ..."
    return repr(one)


def reasons(counts: collections.Counter[str]) -> str:
    """A line for each reason, the most frequent first."""
    return "\n".join(f"{count:6} {reason}" for reason, count in counts.most_common())
