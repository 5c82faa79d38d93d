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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.errors import InternalError
from pyflat.functions import gamma_check, libm, ways
from pyflat.functions.locks import translating
from pyflat.functions.records import RECORDS
from pyflat.functions.vmath import exact, glibc
from pyflat.functions.vmath.exact.tables import LibraryTable
from pyflat.ir.loops import all_ops
from pyflat.ir.uses import results_of
from pyflat.targets.numba.compilation import cut, is_false, passes_of, written
from pyflat.targets.numba.compiled_kernel import ENTRY, NO_BODY, KernelBody, Pattern
from pyflat.targets.numba.feed import feed_text
from pyflat.targets.numba.jit import LEVELS, Passes, Processor, made_for, object_file
from pyflat.targets.numba.kernels import boxes
from pyflat.targets.numba.kernels.boxed import BoxedCallWriter
from pyflat.targets.numba.kernels.emit import KernelCode
from pyflat.targets.numba.library import library_function
from pyflat.targets.numba.strided_loop import loop_text
from pyflat.targets.numba.symbols import Symbols

if TYPE_CHECKING:
    from pyflat.analysis.kernels import Kernel
    from pyflat.ir.nodes import Function, Op

NAMES = tuple(name for name in LEVELS if name != "generic")
"""The levels, each of which has what those before it have."""
_MADE = (("x86-64-v2", "called"), ("x86-64-v3", "called"), ("x86-64-v3", "verified"), ("x86-64-v4", "verified"))


class NotBuilt(Exception):
    """Why a function cannot be in an extension."""


@dataclass(frozen=True, slots=True)
class LoopVersion:
    """Machine code of a loop: its symbol, the number of its level in `NAMES`, and the functions of the C library, and
    gamma and lgamma of CPython, that it follows: the ones that run must be known. None where any will do. `states`: the
    symbols of what the bodies of a kernel share with what runs it."""

    symbol: str
    level: int
    follows: tuple[str, ...] | None
    states: tuple[str, ...] = ()


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
        made = Objects()
        found = dict.fromkeys(made._version(name, fused, level, cpu) for level, cpu in _levels())
        with made_for(NAMES[0]) as cpu:
            text = _renamed(loop_text(sizes, inputs), {
                "loop": f"pyflat_loop_{name}", "kernel": "pyflat_kernel", "python": "pyflat_settle",
                "state": f"pyflat_state_{name}"})
            made.files[f"loop_{name}"] = object_file(text, cpu, Passes.ALL)
        self.take(made)
        return list(found)  # without functions of the library there is one version for both

    def take(self, made: Objects) -> None:
        for each in fields(self):
            getattr(self, each.name).update(getattr(made, each.name))

    def add_feeds(self) -> None:
        """`pyflat_feed_{level}` for each number of a level."""
        for number, level in enumerate(NAMES):
            with made_for(level) as cpu:
                text = _renamed(feed_text(), {"feed": f"pyflat_feed_{number}"})
                self.files[f"feed_{number}"] = object_file(text, cpu, Passes.STRAIGHT)

    def add_kernel(self, name: str, kernel: Kernel, layouts: Mapping[str, str], returned: Sequence[str]
                   ) -> tuple[list[LoopVersion], list[KernelCode]]:
        """The versions of a kernel, which call `pyflat_allocate_{name}`, and what wrote them. Raises NotBuilt."""
        made, found, codes = Objects(), list[LoopVersion](), list[KernelCode]()
        for level, cpu in _levels():
            with translating:
                codes.append(code := KernelCode(kernel, layouts, returned, careful=False))
                text = code.text()
            if "PyObject_Vectorcall" in code.symbols:
                raise NotBuilt("it calls a NumPy routine without its own machine code")
            ops = list(all_ops(kernel.function.body))
            renamed = {boxes.ENTRY: "{}", "pyflat_allocate": f"pyflat_allocate_{name}"}
            for plan in code.outlined.values():
                if (body := f"pyflat_body_{plan.number}") in code.symbols:
                    fused, part = plan.body.function, f"{name}b{plan.number}"
                    renamed[body] = made._version(part, fused, level, cpu, plan.uniform, plan.asks).symbol
                    renamed[f"pyflat_state_{plan.number}"] = f"{{}}_state_{plan.number}"
                    ops += all_ops(fused.body)
            found.append(made._added(name, level, ops, text, code.symbols, renamed, cpu, Passes.VECTORS))
        with made_for(NAMES[0]) as cpu:
            made.files["call_kernel"] = object_file(BoxedCallWriter().text(), cpu, Passes.ALL)
        self.take(made)
        return list(dict.fromkeys(found)), codes

    def _version(self, name: str, fused: Function, level: int, cpu: Processor, uniform: Pattern = (),
                 body: KernelBody = NO_BODY) -> LoopVersion:
        kernel = cut(fused, "values", (), checked=not is_false(results_of(fused)[-1]), masked=False, body=body)
        code = written(kernel, uniform or (False,) * len(kernel.params), cpu, few=False)
        return self._added(name, level, all_ops(list(kernel.items)), code.text, code.symbols, {ENTRY: "{}"}, cpu,
                           passes_of(kernel, code.text))

    def _added(self, name: str, level: int, ops: Iterable[Op], text: str, symbols: Symbols, renamed: Mapping[str, str],
               cpu: Processor, passes: Passes) -> LoopVersion:
        """An object file, and what it calls; names that are known are `renamed`, {} is the symbol."""
        names = {known for op in ops if (known := library_function(op)) is not None}
        rows = (exact.TABLE.get(known) or glibc.TABLE[known] for known in names)
        needed = {part for row in rows for part in (row.name, *gamma_check.PARTS.get(row.name, ()))}
        follows = tuple(sorted(needed)) if names else None
        symbol = f"pyflat_{name}_{level}{'' if follows is None else 'f'}"
        notes = {each: symbols.notes.get(each) for each in symbols if each not in renamed}
        renamed = {each: other.format(symbol) for each, other in renamed.items()} | self._defined(notes, symbol)
        for function, module in symbols.modules.items():
            digest = hashlib.sha256(f"{module}{cpu}".encode()).hexdigest()[:16]
            renamed[function] = f"pyflat_function_{digest}"
            if renamed[function] not in self.files:
                self.files[renamed[function]] = object_file(_renamed(module, {function: renamed[function]}), cpu,
                                                            Passes.STRAIGHT)
        self.files[symbol] = object_file(_renamed(text, renamed), cpu, passes)
        states = (other for each, other in renamed.items() if each.startswith("pyflat_state_"))
        return LoopVersion(symbol, level, follows, tuple(states))

    def _defined(self, notes: Mapping[str, Sequence[Any] | None], prefix: str) -> dict[str, str]:
        """Notes what code names; the symbols that get other names, as they are of this code alone."""
        renamed: dict[str, str] = {}
        tables = {table.name: table for table in exact.TABLES}
        for symbol, note in notes.items():
            name = symbol.removeprefix("pyflat_")
            if note is not None and note[0] == "table":
                renamed[symbol] = f"{prefix}_{name}"
                self.tables[renamed[symbol]] = note[1]
            elif note is not None and note[0] == "numpy":
                self.numpy[symbol] = note[1], note[2], note[3]
            elif note is not None:
                raise NotBuilt(f"it calls {note[2 if note[0] == 'array' else 1]}, a function of a library")
            elif name.removeprefix("table_") in tables and name.startswith("table_"):
                self.library_tables[symbol] = tables[name.removeprefix("table_")]
            elif name == "round_digits" or name in libm.CALLED or name in libm.NAMES and not libm.from_library(name):
                self.python[symbol] = name
            elif name in libm.NAMES:
                self.called[symbol] = RECORDS[name].symbol or name
            else:
                self.called[symbol] = name
        return renamed


def _levels() -> Iterator[tuple[int, Processor]]:
    for level, digits in _MADE:
        with made_for(level) as cpu, ways.forced(digits=digits, few="many"):
            yield NAMES.index(level), cpu


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """A module whose functions and variables have other names."""
    found = re.compile("|".join(rf'@"{re.escape(name)}"|@{re.escape(name)}\b(?!\.)' for name in names))
    made = found.sub(lambda match: f'@"{names[match.group()[1:].strip(chr(34))]}"', text)
    if made == text:
        raise InternalError("a module without the names that it was to lose")
    return made
