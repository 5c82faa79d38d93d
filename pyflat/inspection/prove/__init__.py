"""Translation validation: z3 proves that flattening did not change what a function computes.

    from pyflat.inspection.prove import prove
    print(prove(shade))                proved: every argument (x: float, t: float) ...

The flat form, as the engines run it, is compared with the paths of the structured form: for every argument, the flat
form returns the same result, bit for bit, or hands the element back to the original. It always hands it back where the
original raises. The answer is "proved", a counterexample (confirmed with the interpreter), or the reason why this
cannot be proved.

Not covered: the step from source to structured form, the rules that say when an operation fails (`ir.faults`), and
the engines. Those are tested. Needs z3: `pip install '.[prove]'` in a checkout.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from random import Random
from types import FrameType, FunctionType
from typing import Any, Literal, Unpack

from pyflat.errors import FlattenError
from pyflat.frontend.callables import Parameters, unwrap
from pyflat.frontend.roles import array_parameters
from pyflat.inspection.listing import argument_shapes
from pyflat.ir.nodes import Function
from pyflat.ir.recursion import with_room
from pyflat.ir.shape import Shape
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, Kind
from pyflat.runtime.compiled import specialised
from pyflat.runtime.settings import OptionArguments, Options, resolve, settings
from pyflat.targets.target import require


class TimeUp(BaseException):  # not an Exception: no handler of the code that runs should catch it
    """The time for one function is over."""


@contextlib.contextmanager
def alarm(seconds: float, *, processor: bool = False) -> Iterator[None]:
    """Raise TimeUp in this thread when the block takes longer, by the wall or in time of the `processor`, which does
    not depend on what else the machine does; without effect on platforms without such timers, and in threads, which get
    no signals."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeUp

    number, timer = (signal.SIGPROF, signal.ITIMER_PROF) if processor else (signal.SIGALRM, signal.ITIMER_REAL)
    before = signal.signal(number, ring)
    signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)


SECONDS = 20.0
SHARE = 0.95
"""The part of the time that z3 gets; the rest is for edge rows, where z3 has not decided."""
MOST_ROWS = 1000
EDGES: dict[Kind, tuple[Any, ...]] = {
    BOOL: (False, True),
    INT: (0, 1, -1, 2, 3, -3, 7, 10, 63, 64, 2**31, 2**53 + 1, INT_MAX, INT_MIN),
    FLOAT: (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, 2.5, -3.0, 10.0, 5e-324, 1e300, -1e300, math.inf, -math.inf,
            math.nan),
}
_WORDS = {FLOAT: "float", INT: "int"}


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of `prove` for one function."""

    verdict: Literal["proved", "counterexample", "outside"]
    name: str
    reason: str
    arguments: Mapping[str, Any] | None = None
    """The arguments of a counterexample."""

    def __str__(self) -> str:
        match self.verdict:
            case "proved":
                return f"{self.name}: proved: {self.reason}"
            case "counterexample":
                return f"{self.name}: counterexample: {self.reason}"
        return f"{self.name}: outside the provable part, because {self.reason}"


_KERNEL = ("it is a kernel over arrays, and proofs cover single elements; twin.verify(*arrays) compares it with its "
           "original")


@with_room
def prove(
    fn: Callable[..., Any],
    *,
    kinds: str | Sequence[str] | None = None,
    seconds: float = SECONDS,
    work: int | None = None,
    **options: Unpack[OptionArguments],
) -> Answer:
    """Prove that flattening `fn` changed nothing. `kinds` as in `Twin.show`. `seconds` limits the time (that of
    flattening only in the main thread, which has alarms). Alternatively, `work` limits the steps that z3 counts, which
    are the same on every machine, however busy.

    Raises ImportError without z3. The answer for a refused function is "outside".
    """
    callee = unwrap(fn)
    name = callee.function.__qualname__
    try:
        chosen = resolve(settings(options))
        if any("[" in word for word in kinds or ()):
            return Answer("outside", name, _KERNEL)
        shapes = argument_shapes(callee.function, Parameters(callee, name), chosen, kinds, {})
    except FlattenError as refusal:
        return _refused(callee.function, refusal)
    return prove_shapes(callee.function, shapes, chosen, seconds=seconds, work=work)


def prove_shapes(
    function: FunctionType, shapes: Mapping[str, Shape], options: Options, *, seconds: float = SECONDS,
    work: int | None = None
) -> Answer:
    """`prove` for a function whose arguments have these shapes."""
    from pyflat.passes.pipelines import flatten_ir

    began = time.monotonic()
    try:
        with alarm(seconds) if work is None else nullcontext():
            spec = specialised(function, shapes, options, none=False)
            flat = flatten_ir(spec.function)
    except FlattenError as refusal:
        return _refused(function, refusal)
    except TimeUp:
        return Answer("outside", function.__qualname__, f"flattening it took longer than {seconds:g} s")
    return compare(function.__qualname__, spec.function, flat, seconds=seconds, work=work,
                   began=began if work is None else None)


def _refused(function: FunctionType, refusal: FlattenError) -> Answer:
    if array_parameters(function):
        return Answer("outside", function.__qualname__, _KERNEL)
    return Answer("outside", function.__qualname__, f"the function is refused: {str(refusal).splitlines()[0]}")


@with_room
def compare(
    name: str, structured: Function, flat: Function, *, seconds: float = SECONDS, work: int | None = None,
    began: float | None = None
) -> Answer:
    """Whether `flat` means what `structured` means. `began`: since when the seconds run (`time.monotonic`)."""
    require("z3", "pyflat.inspection.prove")
    from pyflat.inspection.prove.loops import OUT_OF_TIME, compared, differs, named
    from pyflat.inspection.prove.solving import Budget

    ends = (time.monotonic() if began is None else began) + seconds
    found = compared(structured, flat, Budget(ends - seconds * (1 - SHARE), work))
    if found.outside == OUT_OF_TIME:
        limit = f"{seconds:g} s" if work is None else f"{work:,} steps"
        found = replace(found, outside=f"{OUT_OF_TIME} in {limit}")
    if found.arguments is not None:
        return Answer("counterexample", name, differs(structured, flat, found.arguments),
                      named(structured, found.arguments))
    if found.outside is None:
        return Answer("proved", name, _claim(structured, found.functions))
    for args in edge_rows([p.kind for p in structured.params]):  # z3 has no proof; is there an example to the contrary?
        if work is None and time.monotonic() >= ends:
            break
        shown = differs(structured, flat, args)
        if shown:
            return Answer("counterexample", name, shown, named(structured, args))
    return Answer("outside", name, found.outside)


def edge_rows(kinds: Sequence[Kind]) -> list[tuple[Any, ...]]:
    """Arguments where functions go wrong: all combinations of edge values, or a fixed random part of them."""
    columns = [EDGES[kind] for kind in kinds]
    if math.prod(map(len, columns)) <= MOST_ROWS:
        return list(itertools.product(*columns))
    rng = Random(0)
    return [tuple(rng.choice(column) for column in columns) for _ in range(MOST_ROWS)]


def _claim(fn: Function, functions: Sequence[str]) -> str:
    arguments = ", ".join(f"{p.name}: {_WORDS.get(p.kind, 'bool')}" for p in fn.params)
    assumed = f" (whatever {', '.join(functions)} compute in their ranges)" if functions else ""
    return f"every argument ({arguments}) gives the original's result or is handed back to the original{assumed}"
