"""Lane loops as object files for each level of processors, for an extension that runs without pyflat (`pyflat build`).

    x86-64-v2               functions of the C library are called
    x86-64-v3, x86-64-v4    they are followed, where the library that runs is one that was verified; a third version for
                            other libraries calls them

A loop without such functions has a version for each level. What code names beside itself gets a symbol that says what
it is (`symbols`): the extension has to define all of those.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.errors import InternalError
from pyflat.functions import gamma_check, libm, ways
from pyflat.functions.records import RECORDS
from pyflat.functions.vmath import exact, glibc
from pyflat.functions.vmath.exact.tables import LibraryTable
from pyflat.ir.loops import all_ops
from pyflat.ir.uses import results_of
from pyflat.targets.numba.compilation import cut, is_false, passes_of, written
from pyflat.targets.numba.compiled_kernel import ENTRY
from pyflat.targets.numba.feed import feed_text
from pyflat.targets.numba.jit import LEVELS, Passes, Processor, made_for, object_file
from pyflat.targets.numba.library import library_function
from pyflat.targets.numba.strided_loop import loop_text
from pyflat.targets.numba.symbols import Symbols

if TYPE_CHECKING:
    from pyflat.ir.nodes import Function

NAMES = tuple(name for name in LEVELS if name != "generic")
"""The levels, each of which has what those before it have."""
_MADE = (("x86-64-v2", "called"), ("x86-64-v3", "called"), ("x86-64-v3", "verified"), ("x86-64-v4", "verified"))


class NotBuilt(Exception):
    """Why a function cannot be in an extension."""


@dataclass(frozen=True, slots=True)
class LoopVersion:
    """Machine code of a loop: its symbol, the number of its level in `NAMES`, and the functions of the C library, and
    gamma and lgamma of CPython, that it follows: the ones that run must be known. None where any will do."""

    symbol: str
    level: int
    follows: tuple[str, ...] | None


@dataclass(slots=True)
class Objects:
    """What is linked into one extension, and what the code there names."""

    files: dict[str, bytes] = field(default_factory=dict)
    called: dict[str, str] = field(default_factory=dict)
    """Symbol -> the function of the C library or of CPython's C interface."""
    python: dict[str, str] = field(default_factory=dict)
    """Symbol -> the name of a record (`functions.records`) that CPython computes by code of its own."""
    numpy: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    """Symbol -> the ufunc of NumPy, the types of its loop, and 0 for the loop, 1 for its data."""
    tables: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    library_tables: dict[str, LibraryTable] = field(default_factory=dict)
    """Those that are read from the C library at import."""

    def add_loop(self, name: str, fused: Function, sizes: Sequence[int], inputs: int) -> list[LoopVersion]:
        """The versions of the loop of a function, whose last result is the suspect bit; `sizes` are the bytes of a lane
        of its operands, first the `inputs`. They run in the function `pyflat_loop_{name}`, around
        `pyflat_kernel` and `pyflat_settle`, with `pyflat_state_{name}`. Raises NotBuilt."""
        found: list[LoopVersion] = []
        made = Objects()
        for level, digits in _MADE:
            with made_for(level) as cpu, ways.forced(digits=digits, few="many"):
                version = made._version(name, fused, NAMES.index(level), cpu)
            if found and (found[-1].level, found[-1].follows) == (version.level, version.follows):
                continue  # without functions of the library there is one version for both
            found.append(version)
        with made_for(NAMES[0]) as cpu:
            text = _renamed(loop_text(sizes, inputs), {
                "loop": f"pyflat_loop_{name}", "kernel": "pyflat_kernel", "python": "pyflat_settle",
                "state": f"pyflat_state_{name}"})
            made.files[f"loop_{name}"] = object_file(text, cpu, Passes.ALL)
        for each in fields(self):
            getattr(self, each.name).update(getattr(made, each.name))
        return found

    def add_feeds(self) -> None:
        """`pyflat_feed_{level}` for each number of a level."""
        for number, level in enumerate(NAMES):
            with made_for(level) as cpu:
                text = _renamed(feed_text(), {"feed": f"pyflat_feed_{number}"})
                self.files[f"feed_{number}"] = object_file(text, cpu, Passes.STRAIGHT)

    def _version(self, name: str, fused: Function, level: int, cpu: Processor) -> LoopVersion:
        kernel = cut(fused, "values", (), checked=not is_false(results_of(fused)[-1]), masked=False)
        code = written(kernel, (False,) * len(kernel.params), cpu, few=False)
        names = {known for op in all_ops(list(kernel.items)) if (known := library_function(op)) is not None}
        rows = (exact.TABLE.get(known) or glibc.TABLE[known] for known in names)
        needed = {part for row in rows for part in (row.name, *gamma_check.PARTS.get(row.name, ()))}
        follows = tuple(sorted(needed)) if names else None
        symbol = f"pyflat_{name}_{level}{'' if follows is None else 'f'}"
        renamed = {ENTRY: symbol, **self._defined(code.symbols, symbol)}
        for function, text in code.symbols.modules.items():
            digest = hashlib.sha256(f"{text}{cpu}".encode()).hexdigest()[:16]
            renamed[function] = f"pyflat_function_{digest}"
            if renamed[function] not in self.files:
                text = _renamed(text, {function: renamed[function]})
                self.files[renamed[function]] = object_file(text, cpu, Passes.STRAIGHT)
        self.files[symbol] = object_file(_renamed(code.text, renamed), cpu, passes_of(kernel, code.text))
        return LoopVersion(symbol, level, follows)

    def _defined(self, symbols: Symbols, prefix: str) -> Mapping[str, str]:
        """Notes what code names; the symbols that get other names, as they are of this code alone."""
        renamed: dict[str, str] = {}
        tables = {table.name: table for table in exact.TABLES}
        for symbol in symbols:
            note, name = symbols.notes.get(symbol), symbol.removeprefix("pyflat_")
            if note is not None and note[0] == "table":
                renamed[symbol] = f"{prefix}_{name}"
                self.tables[renamed[symbol]] = note[1]
            elif note is not None and note[0] == "numpy":
                self.numpy[symbol] = note[1], note[2], note[3]
            elif note is not None:
                raise NotBuilt(f"it calls {note[1]}, a function of a library")
            elif name.removeprefix("table_") in tables and name.startswith("table_"):
                self.library_tables[symbol] = tables[name.removeprefix("table_")]
            elif name == "round_digits" or name in libm.CALLED or name in libm.NAMES and not libm.from_library(name):
                self.python[symbol] = name
            elif name in libm.NAMES:
                self.called[symbol] = RECORDS[name].symbol or name
            else:
                self.called[symbol] = name
        return renamed


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """A module whose functions and variables have other names."""
    found = re.compile("|".join(rf'@"{re.escape(name)}"|@{re.escape(name)}\b(?!\.)' for name in names))
    made = found.sub(lambda match: f'@"{names[match.group()[1:].strip(chr(34))]}"', text)
    if made == text:
        raise InternalError("a module without the names that it was to lose")
    return made
