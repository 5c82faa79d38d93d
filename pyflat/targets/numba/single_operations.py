"""Single operations as ufuncs of vector code, compiled once on a machine: the C library's functions with the same bits,
selects, and Python's minimum and maximum.

    made_ufunc(Wanted("exp", None, (False,)))    compiled where it is not on disk: 40 ms, and 30 to import the compiler
    kept_ufunc(Wanted("exp", None, (False,)))    what is on disk, else None: 0.5 ms, and 20 for a process's first

The code of a kernel has the kernel's text as its name (`disk_cache`), and writing that takes ten times as long as
loading the code. So there is a note for each operation: under which name its code is kept, and which symbols that
wants. The name of a note are all things that the text depends on, among them the sources of the modules that write it.
"""

from __future__ import annotations

import json
import sys
from array import array
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

import llvmlite
import numpy as np

from pyflat.errors import PACKAGE, __version__
from pyflat.functions import gamma_check, libm, ways
from pyflat.functions.loaded_library import standing
from pyflat.functions.vmath import exact, glibc, rounding
from pyflat.ir.formats import F4, F8, FloatFormat, dtypes
from pyflat.ir.nodes import Block, Const, Op, Param, Value
from pyflat.ir.ops import ORDERS
from pyflat.ir.types import BOOL, FLOAT, Kind
from pyflat.targets.numba.disk_cache import key_of, opened
from pyflat.targets.numba.feed import CONVERSIONS, FEED, LANES, feed_address
from pyflat.targets.numba.jit import MachineCode, Processor, Ufunc, compile_ir, load_code, made_once, processor
from pyflat.targets.numba.library import multiplies_and_adds
from pyflat.targets.numba.symbols import addresses

_WRITERS = ("functions", "ir", "analysis", "targets/numba")
"""The parts of the package that write a kernel."""

_STATE_WORDS = 64
"""Words of a kernel's state, more than it has: nothing was suspected, interrupted, or is to be converted."""


def is_kept() -> bool:
    """Whether what is compiled now is there for the next process."""
    return opened() is not None


@dataclass(frozen=True, slots=True)
class Wanted:
    """An operation that is asked for. Operands that are `uniform` have one number for all lanes, a literal `exponent`
    is none. "select" chooses numbers of a `kind`; a comparison ("lt") gives its first operand where it holds, else the
    second."""

    opcode: str
    exponent: float | None
    uniform: tuple[bool, ...]
    kind: Kind = FLOAT
    floats: FloatFormat = F8

    @property
    def name(self) -> str:
        """For `exact.kernel_for`."""
        return self.opcode if self.exponent is None else glibc.POWERS.get(self.exponent, self.opcode)

    @property
    def is_function(self) -> bool:
        return self.opcode in libm.NAMES or self.opcode in exact.TABLE

    def exists(self) -> bool:
        """Whether there is vector code for this processor and library."""
        if not self.is_function:
            return True
        if self.floats is F4 and self.name not in gamma_check.PARTS:
            return self.name in rounding.TABLE and multiplies_and_adds() and standing(self.opcode) != "called"
        known = self.name in glibc.TABLE or self.name in exact.TABLE
        return known and multiplies_and_adds() and exact.kernel_for(self.name) is not None

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of the operands."""
        return [BOOL, self.kind, self.kind] if self.opcode == "select" else [self.kind] * len(self.uniform)

    def ufunc(self, code: MachineCode) -> np.ufunc:
        state, known = array("q", [0] * _STATE_WORDS), dtypes(self.floats)
        state[FEED] = feed_address()
        for number in range(len(self.kinds) + 1):
            state[CONVERSIONS + number] = LANES
        label = "_".join([self.opcode, self.kind.name.lower(), self.floats.name, *map(str, map(int, self.uniform))])
        made = Ufunc(label, code.address, state.buffer_info()[0], [known[kind] for kind in self.kinds],
                     [known[self.kind]], code, state)
        _forever.append(made)
        return made.call

    def compiled(self) -> MachineCode:
        """Compiles it, with a note for the next process."""
        from pyflat.targets.numba.compiled_kernel import ENTRY
        from pyflat.targets.numba.kernel import LaneLoop, choose_shape, write_kernel

        params = [Param(kind, f"x{k}") for k, kind in enumerate(self.kinds)]
        ops, cpu = self._ops(params), processor()
        kernel = LaneLoop(tuple(params), (Block(ops),), (ops[-1],), None, self.floats)
        text, symbols = write_kernel(kernel, self.uniform, choose_shape(kernel, cpu.vector_bytes))
        code = compile_ir(text, ENTRY, symbols, cpu, called=symbols.modules)
        disk = opened()
        if disk is not None and code.kept_as is not None and addresses(symbols) == symbols:
            note = {"code": code.kept_as, "entry": ENTRY, "symbols": sorted(symbols)}
            disk.store(self._note(cpu), json.dumps(note).encode())
        return code

    def _ops(self, params: list[Param]) -> list[Op]:
        if self.opcode in ORDERS:
            holds = Op(self.opcode, params, BOOL)
            return [holds, Op("select", [holds, *params], self.kind)]
        operands: list[Value] = [*params, *([] if self.exponent is None else [Const(FLOAT, self.exponent)])]
        return [Op(self.opcode, operands, self.kind)]

    def kept(self) -> MachineCode | None:
        """What a process before this one has compiled, if it is still there."""
        disk, cpu = opened(), processor()
        found = None if disk is None else disk.load(self._note(cpu))
        if found is None:
            return None
        note = json.loads(found)
        return load_code(note["code"], note["entry"], addresses(note["symbols"]), cpu)

    def _note(self, cpu: Processor) -> str:
        """The name of the note."""
        operation = self.opcode, self.exponent, self.uniform, self.kind.name, self.floats.name
        library: tuple[object, ...] = ()
        if self.is_function:
            library = standing(self.opcode), exact.is_followed(self.name), libm.from_library(self.opcode)
        return key_of(["note", repr(operation), repr(library), cpu.name, cpu.features, __version__,
                       llvmlite.__version__, np.__version__, sys.implementation.cache_tag or sys.version, _sources(),
                       *ways.key()])


@made_once
def made_ufunc(wanted: Wanted) -> np.ufunc | None:
    """A ufunc of the operation, compiled where that is not on disk; None where there is no vector code."""
    return wanted.ufunc(wanted.kept() or wanted.compiled()) if wanted.exists() else None


def kept_ufunc(wanted: Wanted) -> np.ufunc | None:
    """A ufunc of the operation where its machine code is on disk; else None."""
    code = wanted.kept() if wanted.exists() else None
    return None if code is None else wanted.ufunc(code)


def library_ufunc(opcode: str, exponent: float | None, uniform: tuple[bool, ...]) -> np.ufunc | None:
    """A function of float64 operands with the C library's bits; None where it would call the library for each lane."""
    return made_ufunc(Wanted(opcode, exponent, uniform))


_forever: list[Ufunc] = []
"""What NumPy's loops point into."""


@cache
def _sources() -> str:
    """A digest of the modules that write kernels, and of the figures that they read: a millisecond."""
    digest = sha256()
    package = Path(PACKAGE)
    for part in _WRITERS:
        for path in sorted((package / part).rglob("*")):
            if path.suffix in (".py", ".json"):
                digest.update(path.read_bytes())
    return digest.hexdigest()
