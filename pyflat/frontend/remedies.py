"""What a refusal tells the user to do: the remedies that depend on where it stands.

A construct inside a library cannot be rewritten by the user, so that the remedy is about the user's own call. A value
that has to be known can be made static where it is a parameter of the user's function, and there only.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Collection, Sequence

import libcst as cst

from pyflat.errors import PACKAGE, Span
from pyflat.frontend.capture import Captured
from pyflat.frontend.spelling import names_in

ONE_NUMBER = ("this is one number, one element of an array argument; several are passed as a tuple of arrays, "
              "f((xs, ys)), and arrays= names parameters that are whole arrays")
_LIBRARIES = tuple({path + os.sep for name, path in sysconfig.get_paths().items() if name.endswith("lib")})


def is_library(file: str) -> bool:
    """A file of the standard library, of an installed package or of pyflat."""
    return file.startswith((*_LIBRARIES, PACKAGE))


def in_library(calls: Sequence[tuple[Captured, Span | None]]) -> str:
    """The remedy where the user's code calls a library, whose code is refused; "" elsewhere. `calls`: the functions
    that are running, the outermost first, and where they are called."""
    if not calls or is_library(calls[0][0].file) or not is_library(calls[-1][0].file):
        return ""
    entered, span = next(call for call in calls if is_library(call[0].file))
    place = f" at {span}" if span else ""
    return f"this is code of a library; replace your call of {entered.name}{place}, or pass its result as an argument"


def make_known(node: cst.CSTNode | None, parameters: Collection[str]) -> str:
    """The remedy for a value that has to be known while flattening; `parameters`: what may be made static."""
    choose = "choose between known values, as in `a if n == 1 else b`"
    given = sorted(set(names_in(node)).intersection(parameters)) if node is not None else []
    if not given:
        return choose
    shown = f"static={given[0]!r}" if len(given) == 1 else f"static={tuple(given)!r}"
    one = "is one value" if len(given) == 1 else "are one value each"
    return f"where {' and '.join(given)} {one} for the whole call, say {shown}; otherwise {choose}"
