"""Which C library the functions of `math` run in, and what is known of its bits.

Vector code that follows a function of the C library operation by operation (`pyflat.functions.vmath`) has that
function's bits for the very code that it was compared with, and perhaps not for another compiler's. Samples cannot tell
them apart: 65,536 lanes see 36 of 247 mutants in which one product is rounded more. So the code itself is recognised:

    verified    the library is one of `verified_builds.json`, with this function: vector code has its bits
    bounded     another GNU C library: vector code by the error bounds that the library states (`vmath.glibc`)
    called      any other library (musl, macOS, Windows): its function is called for each lane

The identity of a library is a hash of its code and its constants as they are in memory, and of where in it each
function is that the dynamic linker resolves. So LD_PRELOAD, which puts a function into another library, shows, and
so do the processor and GLIBC_TUNABLES, by which the library chooses among variants. Code and constants of a shared
library are position-independent, there are no relocations in them. A function with all that it calls and reads lies in
these parts (the library calls itself past the linker's tables, but for variants, which are chosen for all functions by
the same test), and a build that only has another build id is the same library.

It takes half a millisecond, once a process, when it is first asked for.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, cast

from pyflat.functions import libm, ways

Standing = Literal["verified", "bounded", "called"]
"""What is known of the bits of a function; the module's docstring has the three."""

FILE = "verified_builds.json"

RESOLVED = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
            "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "erf", "erfc", "pow", "hypot",
            "expf", "logf", "powf", "sinf", "cosf")
"""Symbols whose places in the library are part of its identity: each variant of the library has others."""

_GNU_VERSIONS = (b"GLIBC_2.29", b"GLIBC_2.2.5", b"GLIBC_2.17", b"GLIBC_2.2", b"GLIBC_2.27", b"GLIBC_2.36")
"""Under one of these every GNU C library has exp: today's, and those of the first release of each architecture."""

MOST_BYTES = 2**24
"""A file with more code is no library of functions alone, and not worth the time."""

_LOADED, _WRITABLE = 1, 2
"""The type of a segment that is mapped, and a flag (elf.h)."""


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file that the dynamic linker has mapped: from where to where, and its read-only segments as (address,
    bytes); the first is the file's header."""

    name: str
    start: int
    end: int
    constant: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Build:
    """A library that has been compared: where it comes from, and for each function the number of lanes that were."""

    library: str
    functions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Library:
    """The library of a function: its identity, None where that cannot be had, and whether it is the GNU C library's."""

    file: str
    identity: str | None
    is_gnu: bool

    @property
    def build(self) -> Build | None:
        """The record of this library, where it is a known one."""
        return None if self.identity is None else verified_builds().get(self.identity)


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
    build = library_of(name).build
    return build is not None and name in build.functions


@cache
def library_of(name: str) -> Library:
    """The library in which the function runs that CPython calls."""
    found = _file_of(name)
    return Library("", None, False) if found is None else _library(found)


def constant_parts(name: str) -> tuple[tuple[int, int], ...]:
    """The code and the constants of the file in which the function is, as (address, bytes)."""
    found = _file_of(name)
    return () if found is None else found.constant


def _file_of(name: str) -> LoadedFile | None:
    location = libm.symbol_address(name)
    return None if location is None else next((f for f in _loaded_files() if f.start <= location < f.end), None)


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


# --- files in memory


class _Info(ctypes.Structure):
    """struct dl_phdr_info (link.h), its first members."""

    _fields_ = (("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("headers", ctypes.c_void_p),
                ("count", ctypes.c_uint16))


class _Segment(ctypes.Structure):
    """Elf64_Phdr (elf.h)."""

    _fields_ = (("type", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("offset", ctypes.c_uint64),
                ("address", ctypes.c_uint64), ("physical", ctypes.c_uint64), ("in_file", ctypes.c_uint64),
                ("in_memory", ctypes.c_uint64), ("alignment", ctypes.c_uint64))


@cache
def _loaded_files() -> list[LoadedFile]:
    """All files that the dynamic linker had mapped when the first function was looked for; none where there is no such
    linker, or not of 64 bits."""
    process = ctypes.CDLL(None) if os.name == "posix" else None
    if not hasattr(process, "dl_iterate_phdr") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return []
    found: list[LoadedFile] = []

    def visit(info: Any, _size: int, _data: object) -> int:
        found.extend(_mapped(info.contents))
        return 0

    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Info), ctypes.c_size_t, ctypes.c_void_p)
    assert process is not None
    process.dl_iterate_phdr(prototype(visit), None)
    return found


def _mapped(info: Any) -> Iterator[LoadedFile]:
    base = info.base or 0
    if not info.headers:
        return
    segments = [s for s in (_Segment * info.count).from_address(info.headers) if s.type == _LOADED]
    if not segments:
        return
    constant = tuple((base + s.address, s.in_file) for s in segments if not s.flags & _WRITABLE)
    start, end = base + segments[0].address, base + segments[-1].address + segments[-1].in_memory
    yield LoadedFile(os.fsdecode(info.name or b""), start, end, constant)


@cache
def _library(found: LoadedFile) -> Library:
    """What a file is, as the dynamic linker has it."""
    try:
        handle = ctypes.CDLL(found.name or None, os.RTLD_NOW | getattr(os, "RTLD_NOLOAD", 0))
    except OSError:
        return Library(found.name, None, False)
    return Library(found.name, _identity(found, handle), _is_gnu(found, handle))


def _identity(found: LoadedFile, handle: ctypes.CDLL) -> str | None:
    """The hash of code and constants, and of where in the file functions are."""
    parts = found.constant[1:]
    if not parts or sum(size for _, size in parts) > MOST_BYTES:
        return None
    digest = hashlib.sha256()
    for start, size in parts:
        digest.update((ctypes.c_char * size).from_address(start))
    places = {name: _place(found, handle, name) for name in RESOLVED}
    digest.update(json.dumps(places).encode())
    return digest.hexdigest()[:32]


def _place(found: LoadedFile, handle: ctypes.CDLL, symbol: str) -> int | None:
    """Where in the file a function is; None where it is in none or another."""
    location = ctypes.cast(getattr(handle, symbol), ctypes.c_void_p).value if hasattr(handle, symbol) else None
    return location - found.start if location is not None and found.start <= location < found.end else None


def _is_gnu(found: LoadedFile, handle: ctypes.CDLL) -> bool:
    """Whether the file has exp under a version of the GNU C library's."""
    if not hasattr(handle, "dlvsym"):
        return False
    look: Any = handle.dlvsym
    look.restype, look.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
    places = (look(handle._handle, b"exp", version) for version in _GNU_VERSIONS)
    return any(place is not None and found.start <= place < found.end for place in places)
