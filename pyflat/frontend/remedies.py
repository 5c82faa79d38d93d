"""What a refusal tells the user to do: the remedies that depend on where it stands.

A construct inside a library cannot be rewritten by the user, so that the remedy is about the user's own call. A value
that has to be known can be made static where it is a parameter of the user's function, and there only.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from pyflat.errors import PACKAGE
from pyflat.ir.nodes import Param

if TYPE_CHECKING:
    from pyflat.frontend.state.frames import Evaluator, Frame

ONE_NUMBER = ("a lane is one element of an array argument, so that this is one number; the elements of a lane can be "
              "passed as a tuple of arrays, f((xs, ys))")
_LIBRARIES = tuple({path + os.sep for name, path in sysconfig.get_paths().items() if name.endswith("lib")})


def is_library(file: str) -> bool:
    """A file of the standard library, of an installed package or of pyflat."""
    return file.startswith((*_LIBRARIES, PACKAGE))


def in_library(frames: Sequence[Frame]) -> str:
    """The remedy where the user's code calls a library, whose code is refused; "" elsewhere."""
    if not frames or is_library(frames[0].captured.file) or not is_library(frames[-1].captured.file):
        return ""
    entered = next(frame for frame in frames if is_library(frame.captured.file))
    place = f" at {entered.call_span}" if entered.call_span else ""
    return (f"this is code of a library; replace your call of {entered.captured.name}{place}, or pass its result as "
            f"an argument")


def names_in(node: cst.CSTNode) -> Iterator[str]:
    """The names that are read or bound in a piece of source, in its order. (libcst.matchers, which can say this too,
    takes a tenth of a second to import.)"""
    todo = [node]
    while todo:
        found = todo.pop()
        if isinstance(found, cst.Name):
            yield found.value
        todo += reversed(found.children)


def make_known(s: Evaluator, node: cst.CSTNode | None) -> str:
    """The remedy for a value that has to be known while flattening."""
    choose = "choose between known values, as in `a if n == 1 else b`"
    names = set(names_in(node)) if node is not None and len(s.frames) == 1 else set()
    given = [name for name in sorted(names) if isinstance(value := s.state.locals.get(name), Param)
             and value in s.arguments]
    if not given:
        return choose
    shown = f"static={given[0]!r}" if len(given) == 1 else f"static={tuple(given)!r}"
    one = "is one value" if len(given) == 1 else "are one value each"
    return f"where {' and '.join(given)} {one} for the whole call, say {shown}; otherwise {choose}"
