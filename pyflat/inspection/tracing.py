"""What a Python function stores into its local names, line by line, while it runs once.

The function is traced instruction by instruction, so that each store is seen, also one of an equal value or one in
the middle of a line; frames of other files than those asked for run untraced.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

MAX_STORES = 100_000
"""Stores that are kept; a longer run goes on, and its later stores are not."""
MAX_INSTRUCTIONS = 5_000_000
"""Then the run is ended: a loop that does not end in this lane is what one may be looking for."""
_NESTED = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


@dataclass(frozen=True, slots=True)
class Store:
    """A value that a line gave to a name."""

    file: str
    line: int
    name: str
    value: Any


class RunTooLongError(BaseException):
    """Ends a run from within its tracer; no `except Exception` of the function stops it."""


@dataclass(slots=True)
class Trace:
    """One run: its stores in order, and how it ended."""

    stores: list[Store] = field(default_factory=list)
    value: Any = None
    error: Exception | None = None
    instructions: int = 0
    ended: bool = True
    """False when the run was longer than MAX_INSTRUCTIONS."""


def trace(call: Callable[[], Any], files: Collection[str]) -> Trace:
    """Run `call`, following the frames whose code is in one of `files`."""
    tracer = _Tracer(files)
    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 asks only here whether any frame wants its instructions
    sys.settrace(tracer.on_call)
    try:
        tracer.found.value = call()
    except RunTooLongError:
        tracer.found.ended = False
    except Exception as error:  # noqa: BLE001 - how the original ends is what is asked
        tracer.found.error = error
    finally:
        sys.settrace(before)
    return tracer.found


class _Tracer:
    def __init__(self, files: Collection[str]):
        self.files = files
        self.found = Trace()

    def on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self.files or code.co_name in _NESTED:
            return None
        stores, last = _stores(code), -1

        def on_step(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal last
            self.found.instructions += 1
            if self.found.instructions > MAX_INSTRUCTIONS:
                raise RunTooLongError
            names = stores.get(last)
            if names is not None and event in ("opcode", "return") and len(self.found.stores) < MAX_STORES:
                line, stored = names
                held = frame.f_locals
                self.found.stores += [Store(code.co_filename, line, n, held[n]) for n in stored if n in held]
            last = frame.f_lasti if event == "opcode" else last if event == "line" else -1
            return on_step

        frame.f_trace = on_step  # Python 3.13 ignores the next line of a frame that has none
        frame.f_trace_opcodes = True
        return on_step


@lru_cache(maxsize=256)
def _stores(code: CodeType) -> dict[int, tuple[int, tuple[str, ...]]]:
    """The instructions of `code` that store local names, by offset, with their line."""
    found: dict[int, tuple[int, tuple[str, ...]]] = {}
    for step in dis.get_instructions(code):
        line = step.positions.lineno if step.positions else None
        if line is None or not step.opname.startswith(("STORE_FAST", "STORE_DEREF")):
            continue
        names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        found[step.offset] = (line, names[:1] if step.opname == "STORE_FAST_LOAD_FAST" else names)
    return found
