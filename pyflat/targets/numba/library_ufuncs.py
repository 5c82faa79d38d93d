"""The C library's functions as ufuncs of vector code with the same bits, compiled once on a machine.

    library_ufunc("exp", None, (False,))     compiled where it is not on disk: 40 ms, and 30 for importing the compiler
    kept_ufunc("exp", None, (False,))        what is on disk, else None: 0.5 ms, and 15 for the first in a process

The code of a kernel has the kernel's text as its name (`disk_cache`), and writing that takes ten times as long as
loading the code. So there is a note for each function: under which name its code is kept, and which symbols that wants.
The name of a note are all things that the text depends on, among them the sources of the modules that write it.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

import llvmlite
import numpy as np

import pyflat
from pyflat.functions import libm
from pyflat.functions.loaded_library import standing
from pyflat.functions.vmath import exact, glibc
from pyflat.targets.numba.disk_cache import key_of, opened
from pyflat.targets.numba.jit import MachineCode, Processor, Ufunc, compile_ir, load_code, processor
from pyflat.targets.numba.library import multiplies_and_adds

_WRITERS = ("functions", "ir", "analysis", "targets/numba")
"""The parts of the package that write a kernel."""

_STATE_WORDS = 64
"""Of a kernel's state, more than it has: nothing was suspected, interrupted, or is to be converted."""


def is_kept() -> bool:
    """Whether what is compiled now is there for the next process."""
    return opened() is not None


@cache
def library_ufunc(opcode: str, exponent: float | None, uniform: tuple[bool, ...]) -> np.ufunc | None:
    """A function of float64 operands with the C library's bits; None where it would call the library for each lane.
    Operands that are `uniform` have one number for all lanes; a literal `exponent` is no operand."""
    wanted = _Wanted(opcode, exponent, uniform)
    if not wanted.exists():
        return None
    return wanted.ufunc(wanted.kept() or wanted.compiled())


def kept_ufunc(opcode: str, exponent: float | None, uniform: tuple[bool, ...]) -> np.ufunc | None:
    """The same where its machine code is on disk; else None."""
    wanted = _Wanted(opcode, exponent, uniform)
    code = wanted.kept() if wanted.exists() else None
    return None if code is None else wanted.ufunc(code)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A function that is asked for."""

    opcode: str
    exponent: float | None
    uniform: tuple[bool, ...]

    @property
    def name(self) -> str:
        """For `exact.kernel_for`."""
        return self.opcode if self.exponent is None else glibc.POWERS.get(self.exponent, self.opcode)

    def exists(self) -> bool:
        """Whether there is vector code for this processor and library."""
        known = self.name in glibc.TABLE or self.name in exact.TABLE
        return known and multiplies_and_adds() and exact.kernel_for(self.name) is not None

    def ufunc(self, code: MachineCode) -> np.ufunc:
        state, float64 = array("q", [0] * _STATE_WORDS), np.dtype(np.float64)
        made = Ufunc(self.opcode, code.address, state.buffer_info()[0], [float64] * len(self.uniform), [float64],
                     code, state)
        _forever.append(made)
        return made.call

    def compiled(self) -> MachineCode:
        """Compiles it, with a note for the next process."""
        from pyflat.ir.nodes import Block, Const, Op, Param, Value
        from pyflat.ir.types import FLOAT
        from pyflat.targets.numba.kernel import ENTRY, Kernel, choose_shape, write_kernel

        params = [Param(FLOAT, name) for name, _ in zip(("x", "y"), self.uniform, strict=False)]
        operands: list[Value] = [*params, *([] if self.exponent is None else [Const(FLOAT, self.exponent)])]
        op = Op(self.opcode, operands, FLOAT)
        kernel, cpu = Kernel(tuple(params), (Block([op]),), (op,), None), processor()
        text, symbols = write_kernel(kernel, self.uniform, choose_shape(kernel, cpu.vector_bytes))
        code = compile_ir(text, ENTRY, symbols, cpu)
        disk = opened()
        if disk is not None and code.kept_as is not None and _addresses(symbols) == symbols:
            note = {"code": code.kept_as, "entry": ENTRY, "symbols": sorted(symbols)}
            disk.store(self._note(cpu), json.dumps(note).encode())
        return code

    def kept(self) -> MachineCode | None:
        """What a process before this one has compiled, if it is still there."""
        disk, cpu = opened(), processor()
        found = None if disk is None else disk.load(self._note(cpu))
        if found is None:
            return None
        note = json.loads(found)
        return load_code(note["code"], note["entry"], _addresses(note["symbols"]), cpu)

    def _note(self, cpu: Processor) -> str:
        """The name of the note."""
        library = standing(self.opcode), exact.is_followed(self.name), libm.from_library(self.opcode)
        return key_of(["library function", repr((self.opcode, self.exponent, self.uniform)), repr(library), cpu.name,
                       cpu.features,
                       pyflat.__version__, llvmlite.__version__, np.__version__,
                       sys.implementation.cache_tag or sys.version, _sources()])


_forever: list[Ufunc] = []
"""What NumPy's loops point into."""


@cache
def _sources() -> str:
    """A digest of the modules that write kernels, and of the figures that they read: a millisecond."""
    digest = sha256()
    package = Path(pyflat.__file__).parent
    for part in _WRITERS:
        for path in sorted((package / part).rglob("*")):
            if path.suffix in (".py", ".json"):
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _addresses(symbols: Iterable[str]) -> dict[str, int]:
    """Where in this process the tables and functions are that kernels of these functions name (`emitter`,
    `vector_math`)."""
    tables = {f"pyflat_table_{table.name}": table for table in exact.TABLES}
    found = {}
    for symbol in symbols:
        name = symbol.removeprefix("pyflat_")
        if symbol in tables:
            found[symbol] = tables[symbol].rows.ctypes.data
        else:
            found[symbol] = libm.address(name) if name in libm.NAMES else libm.library_symbol(name)
    return found
