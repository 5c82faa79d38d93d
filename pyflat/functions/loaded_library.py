"""Which C library the functions of `math` run in, and what is known of its bits.

Vector code that follows a function of the C library operation by operation (`pyflat.functions.vmath`) has that
function's bits for the very code that it was compared with, and perhaps not for another compiler's. Samples cannot tell
them apart: 65,536 lanes see 36 of 247 mutants in which one product is rounded more. So the code itself is recognised:

    verified    the library is one of `verified_builds.json`, with this function: vector code has its bits
    bounded     another GNU C library: vector code by the error bounds that the library states (`vmath.glibc`)
    called      any other library (musl, macOS, Windows): its function is called for each lane

It takes half a millisecond, once a process, when it is first asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, cast

from pyflat.functions import libm, ways
from pyflat.functions.loaded_files import Library, LoadedFile, constants_of, file_at, library_in

Standing = Literal["verified", "bounded", "called"]
"""What is known of the bits of a function; the module's docstring has the three."""

FILE = "verified_builds.json"


@dataclass(frozen=True, slots=True)
class Build:
    """A library that has been compared: where it comes from, and for each function the number of lanes that were."""

    library: str
    functions: Mapping[str, int] = field(default_factory=dict)


def standing(name: str) -> Standing:
    """What is known of the bits of the C library's function `name`; no more than what is forced."""
    library = library_of(name)
    if not libm.from_library(name) or not library.is_gnu:
        return "called"
    known: Standing = "verified" if trusts(name) else "bounded"
    forced = ways.DIGITS.forced
    return known if forced is None else max(known, cast("Standing", forced), key=ways.DIGITS.values.index)


def trusts(name: str) -> bool:
    """Whether the code that runs for the function `name` is one that vector code was compared with."""
    identity = library_of(name).identity
    build = None if identity is None else verified_builds().get(identity)
    return build is not None and name in build.functions


@cache
def library_of(name: str) -> Library:
    """The library in which the function runs that CPython calls."""
    found = _file_of(name)
    return Library("", None, False) if found is None else library_in(found)


@cache
def constants() -> tuple[bytes, ...]:
    """What is mapped of the C library's file to be read only."""
    return constants_of(_file_of("exp"))


def _file_of(name: str) -> LoadedFile | None:
    location = libm.symbol_address(name)
    return None if location is None else file_at(location)


@cache
def identity() -> str:
    """One text for the libraries of all functions, to compare processes by; "" where there is none."""
    found = {library_of(name).identity or "" for name in sorted(libm.NAMES)}
    return "+".join(sorted(found - {""}))


@cache
def verified_builds() -> dict[str, Build]:
    """Identity -> what has been compared there."""
    from importlib import resources

    rows = json.loads(resources.files("pyflat.functions").joinpath(FILE).read_text(encoding="utf-8"))
    return {identity: Build(**row) for identity, row in rows.items()}
