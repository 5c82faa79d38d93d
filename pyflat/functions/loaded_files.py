"""What the dynamic linker has mapped: the file of a function, what identifies its code, and tables in its constants.

The identity of a library is a hash of its code and its constants as they are in memory, and of where in it each
function is that the dynamic linker resolves. So LD_PRELOAD, which puts a function into another library, shows, and
so do the processor and GLIBC_TUNABLES, by which the library chooses among variants. Code and constants of a shared
library are position-independent, there are no relocations in them. A function with all that it calls and reads lies in
these parts (the library calls itself past the linker's tables, but for variants, which are chosen for all functions by
the same test), and a build that only has another build id is the same library.

This module needs the standard library alone: `pyflat build` prints it into extensions, which ask the same questions.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

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


class LoadedFile(NamedTuple):
    """A file that the dynamic linker has mapped: from where to where, and its read-only segments as (address,
    bytes); the first is the file's header."""

    name: str
    start: int
    end: int
    constant: tuple[tuple[int, int], ...]


class Library(NamedTuple):
    """A library of functions: its identity, None where that cannot be had, and whether it is the GNU C library's."""

    file: str
    identity: str | None
    is_gnu: bool


def file_at(location: int) -> LoadedFile | None:
    """The file that is mapped there."""
    return next((each for each in _loaded_files() if each.start <= location < each.end), None)


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
def library_in(found: LoadedFile) -> Library:
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
    places = ((name, _place(found, handle, name)) for name in RESOLVED)
    rows = [f'"{name}": {"null" if place is None else place}' for name, place in places]  # JSON, without its module
    digest.update(f"{{{', '.join(rows)}}}".encode())
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


def found_table(constants: Iterable[bytes], size: int, start: int, second: bytes, digest: str) -> bytes | None:
    """The bytes of a table of `size`: at `start` it has the bytes `second`, and its SHA-256 digest begins with
    `digest`."""
    for image in constants:
        at = image.find(second, start)
        while at >= 0:
            content = image[at - start : at - start + size]
            if hashlib.sha256(content).hexdigest().startswith(digest):
                return content
            at = image.find(second, at + 1)
    return None


def constants_of(found: LoadedFile | None) -> tuple[bytes, ...]:
    """What is mapped of a file to be read only."""
    return () if found is None else tuple(ctypes.string_at(start, size) for start, size in found.constant)
