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

from pyflat.errors import CODES, PACKAGE
from pyflat.ir.nodes import Param

if TYPE_CHECKING:
    from pyflat.frontend.state.frames import Evaluator, Frame

ONE_NUMBER = ("a lane is one element of an array argument, so that this is one number; the elements of a lane can be "
              "passed as a tuple of arrays, f((xs, ys)); arrays= names parameters that are whole arrays")
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


_KERNEL_WORDS = (
    ("a lane f8", "a float"), ("a lane i8", "an int"), ("a lane b", "a bool"), ("a complex lane", "a complex number"),
    ("a lane number", "a number"), ("from lane to lane", "from call to call"), ("made from lanes", "made from numbers"),
    ("depend on lanes", "differ from call to call"), ("in all lanes", "in all iterations"),
    ("in one lane", "in one iteration"), ("per lane", "in an iteration"), ("lanes", "numbers"), ("lane", "number"))
_ELEMENTS = "a kernel computes with numbers: elements of arrays, in loops over indices"
_WRITE_THE_LOOP = "write the loop over the elements, with numbers and the functions of math"
_IN_KERNELS = {
    "flatten/unsupported-expression": (_ELEMENTS, _WRITE_THE_LOOP),
    "flatten/unknown-call": ("only what is computed with numbers can run in a kernel",
                             "call it before or after the kernel, and pass or return arrays"),
    "flatten/lane-to-object": ("it has to be known while flattening, and differs from call to call",
                               'a parameter in static= is known: static="n"'),
    "flatten/result-kind": ("a kernel returns numbers, arrays, strings, None, and tuples, lists and dicts of them",
                            "return numbers of one kind (0.0 beside floats), and put others into an array"),
}


def in_kernel(code: str, message: str, why: str, help: str) -> tuple[str, str, str]:
    """A refusal inside a kernel over arrays, where there are arrays and iterations, and no lanes."""
    general = _IN_KERNELS.get(code, (CODES[code].why, CODES[code].help))
    why, help = why or general[0], general[1] if help in ("", ONE_NUMBER) else help
    found = []
    for text in (message, why, help):
        for lanes, numbers in _KERNEL_WORDS:
            text = text.replace(lanes, numbers)
        found.append(text)
    return found[0], found[1], found[2]


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
