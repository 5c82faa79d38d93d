"""From LLVM's IR as text to machine code that NumPy calls as the inner loop of a ufunc.

llvmlite alone, which numba brings along: numba's own pipeline would type and lower a Python function first, compile it
twice (the function and its wrapper), and its dispatcher costs a microsecond for each call. NumPy's ufunc machinery
checks and broadcasts the operands faster, and releases the GIL.

The processor is the host's. NUMBA_CPU_NAME and NUMBA_CPU_FEATURES choose another one, as they do for numba; the names
x86-64-v2, x86-64-v3 and x86-64-v4 stand for the features of these levels.
"""

from __future__ import annotations

import atexit
import ctypes
import itertools
import logging
import os
import re
import sys
import time
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, wraps
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import llvmlite
import numpy as np
from llvmlite import binding as llvm
from llvmlite.binding.newpassmanagers import NewPassManager

from pyflat.errors import __version__
from pyflat.functions import libm, ways
from pyflat.functions.locks import PATIENCE, translating
from pyflat.targets.numba.disk_cache import Cache, key_of, opened

log = logging.getLogger("pyflat")

T = TypeVar("T")

LARGE = 3_000
"""Lines of IR above which all code is translated as straight code is: LLVM's own list of passes takes 0.25 s for a
thousand lines there, two thirds of it in five runs of one pass."""

_FEW = ("always_inliner", "simplify_cfg", "sroa", "instruction_combine", "dead_code_elimination", "simplify_cfg")
"""What code needs that is written as wanted. No value numbering: pyflat's own has been there, and llvmlite's NewGVN
(LLVM 22) ends the process where its results do not settle."""


class Passes(StrEnum):
    """What LLVM does with a module before it writes machine code. Of the first call of a kernel LLVM's own list is a
    third, and changes the run time only where something can leave a loop."""

    UNCOMBINED = "uncombined"
    """The few passes, but instructions are left as they are."""
    STRAIGHT = "straight"
    """The few passes: no loops but that over the lanes."""
    LOOPS = "loops"
    """LLVM's simplification of functions, which takes out of a loop what is the same in each trip."""
    ALL = "all"
    VECTORS = "vectors"
    """All, and loops become vectors."""


atexit.register(translating.acquire, timeout=PATIENCE)
"""A daemon thread must not be in LLVM while LLVM's own memory is taken down. Registered after llvmlite's, and so called
before it."""


_V2 = "+cx16,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3"
_V3 = f"{_V2},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"
_V4 = f"{_V3},+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl"
LEVELS = {"generic": "", "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
"""The features that a processor of this name has where nothing else is said: the levels of the x86-64 psABI."""

NO_SCATTER = "+prefer-no-scatter"
"""Stores of lanes that lie apart, one by one: with the instruction for them a loop over every other element took four
times as long on a Zen 5."""


@dataclass(frozen=True, slots=True)
class Processor:
    """What code is made for."""

    name: str
    features: str

    @property
    def vector_bytes(self) -> int:
        """The width of the vector registers."""
        enabled = set(self.features.split(","))
        if "+avx512f" in enabled and "+avx512dq" in enabled:
            return 64
        return 32 if "+avx" in enabled else 16


_chosen: ContextVar[Processor | None] = ContextVar("pyflat_processor", default=None)


@contextmanager
def made_for(level: str) -> Iterator[Processor]:
    """In a block, code is made for the processors of a level ("x86-64-v3")."""
    cpu = _without_scatter(level, LEVELS[level])
    token = _chosen.set(cpu)
    try:
        yield cpu
    finally:
        _chosen.reset(token)


def processor() -> Processor:
    """The one that code is made for: the host, or what the environment names."""
    if (chosen := _chosen.get()) is not None:
        return chosen
    name = os.environ.get("NUMBA_CPU_NAME")
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if features is None and name is not None:
        features = LEVELS.get(name)
    features = _host_features() if features is None else features
    return _without_scatter(_host_name() if name is None or name == "host" else name, features)


def _without_scatter(name: str, features: str) -> Processor:
    return Processor(name, f"{features},{NO_SCATTER}" if "+avx512f" in features else features)


@cache
def _host_name() -> str:
    return str(llvm.get_host_cpu_name())


@cache
def _host_features() -> str:
    return str(llvm.get_host_cpu_features().flatten())


@cache
def _initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def _machine(cpu: Processor) -> Any:
    _initialise()
    target = llvm.Target.from_default_triple()
    # Small: literals are operands in memory, not two instructions each. The linker keeps a module's parts together, and
    # reaches what lies elsewhere through stubs. On a Zen 5 Black and Scholes gained a tenth.
    return target.create_target_machine(cpu=cpu.name, features=cpu.features, opt=3, reloc="pic",
                                        codemodel="small", jit=True)


LINKED = 32
"""Libraries that one linker links: it keeps 9 kB of each that is gone, and goes itself with the last one of its own."""


class _Linkers:
    """The linker of this time."""

    def __init__(self) -> None:
        self._current: Any = None
        self._linked = 0

    def next(self) -> Any:
        """The linker for one library more. It is called under the lock `translating`."""
        if self._current is None or self._linked == LINKED:
            self._current, self._linked = _made_linker(), 0
        self._linked += 1
        return self._current


_linkers = _Linkers()


def _made_linker() -> Any:
    """JITLink puts all sections of a module next to each other. LLVM's older linker asks for memory section by section;
    where large arrays leave no room beside each other, 32 bits do not reach from one to the next, and it ends the
    process."""
    _initialise()
    return llvm.create_lljit_compiler(_machine(processor()), use_jit_link=sys.platform != "win32")


_names = itertools.count()


@dataclass(slots=True)
class MachineCode:
    """Machine code, in memory as long as this object lives: where it starts, the optimised IR of its modules,
    compressed, and the name under which it is kept on disk, None where it is not."""

    address: int
    cpu: Processor
    _llvm: Sequence[bytes]
    _loaded: Any
    _kept: Sequence[object] = ()
    kept_as: str | None = None

    @property
    def llvm(self) -> str:
        """The optimised IR."""
        return "\n".join(self._modules())

    def assembly(self) -> str:
        """The machine code as text."""
        with translating:
            return "\n".join(str(_machine(self.cpu).emit_assembly(llvm.parse_assembly(module)))
                             for module in self._modules())

    def _modules(self) -> list[str]:
        return [zlib.decompress(module).decode() for module in self._llvm]


def compile_ir(text: str, entry: str, symbols: Mapping[str, int], cpu: Processor, kept: Sequence[object] = (), *,
               passes: Passes = Passes.ALL, called: Mapping[str, str] = MappingProxyType({})) -> MachineCode:
    """Optimise, compile and load a module; `symbols` are the addresses of the functions and tables that it names,
    `kept` what must live as long as the code. `called` are functions of the module that are modules of their own, which
    are compiled once for all that call them.

    What is compiled is kept on disk (`pyflat.targets.numba.disk_cache`), but for modules with addresses of this
    process in them. Code from there names the functions that it calls; the addresses are always those given here.
    """
    with translating:
        _initialise()
        disk = None if any("inttoptr" in each for each in (text, *called.values())) else opened()
        keys = [_key(text, cpu, passes), *[_key(each, cpu, Passes.STRAIGHT) for each in called.values()]]
        key = key_of(["modules", *keys])
        made = None if disk is None else _unpacked(disk.load(key))
        if made is None:
            functions = [_of_function(name, called[name], cpu, disk, own)
                         for name, own in zip(called, keys[1:], strict=True)]
            made = _found_or(lambda: [_translated_in_time(entry, text, cpu, passes), *functions], disk, key)
        return _linked(made, entry, symbols, cpu, key if disk is not None else None, kept)


def object_file(text: str, cpu: Processor, passes: Passes) -> bytes:
    """A module as an object file of the platform."""
    with translating:
        _initialise()
        key = _key(text, cpu, passes)
        return _found_or(lambda: [_translated(text, cpu, passes)], opened(), key)[0].machine


def _translated_in_time(name: str, text: str, cpu: Processor, passes: Passes) -> _Translated:
    start = time.perf_counter()
    made = _translated(text, cpu, passes)
    log.info("%s compiled by LLVM in %.2f s", name, time.perf_counter() - start)
    return made


def _of_function(name: str, text: str, cpu: Processor, disk: Cache | None, key: str) -> _Translated:
    """The object file of a function that is called: remembered by this process, from disk, or translated."""
    if key not in _functions:
        _functions[key] = _found_or(lambda: [_translated_in_time(name, text, cpu, Passes.STRAIGHT)], disk, key)[0]
        while len(_functions) > MOST_FUNCTIONS:
            del _functions[next(iter(_functions))]
    return _functions[key]


MOST_FUNCTIONS = 256
_functions: dict[str, _Translated] = {}
"""Object files of functions that are called, by their keys."""


def made_once(make: Callable[..., T]) -> Callable[..., T]:
    """A decorator: what was made for arguments, a processor and forced ways is kept for ever, but for tests
    (`made.__wrapped__.cache_clear()`). `functools.cache` alone makes it twice where two threads come at once, and drops
    machine code that one of them is about to call."""

    @cache
    @wraps(make)
    def kept(_circumstances: Hashable, *args: Hashable) -> T:
        return make(*args)

    @wraps(kept)
    def made(*args: Hashable) -> T:
        with translating:
            return kept((processor(), ways.key()), *args)

    return made


def load_code(key: str, entry: str, symbols: Mapping[str, int], cpu: Processor, kept: Sequence[object] = ()
              ) -> MachineCode | None:
    """What `compile_ir` has kept under a name, in this process or another one; None where it is not there any more."""
    disk = opened()
    made = None if disk is None else _unpacked(disk.load(key))
    if made is None:
        return None
    with translating:
        return _linked(made, entry, symbols, cpu, key, kept)


def _found_or(translate: Callable[[], _Objects], disk: Cache | None, key: str) -> _Objects:
    """From disk, else translated for all processes, by one of them."""
    if disk is None:
        return translate()
    made = _unpacked(disk.load(key))
    if made is not None:
        return made
    with disk.alone(key):
        made = _unpacked(disk.load(key))
        if made is None:
            made = translate()
            disk.store(key, _packed(made))
        return made


def _linked(made: _Objects, entry: str, symbols: Mapping[str, int], cpu: Processor, key: str | None,
            kept: Sequence[object] = ()) -> MachineCode:
    library = llvm.JITLibraryBuilder()
    for each in made:
        library.add_object_img(each.machine)
    library.export_symbol(entry)
    for name, address in symbols.items():
        library.import_symbol(name, address)
    loaded = library.add_current_process().link(_linkers.next(), f"twin {next(_names)}")
    return MachineCode(loaded[entry], cpu, [each.llvm for each in made], loaded, kept, key)


class _Translated(NamedTuple):
    """An object file, and the optimised IR, compressed."""

    machine: bytes
    llvm: bytes


_CAST = re.compile(r" = (fpext|fptrunc) ")
_ZERO = r"(?:splat \((?:double|float)\s+)?0x(?:0|8000000000000000)\)?|zeroinitializer"
_STRICT = re.compile(r"""^(\s*%(?:"[^"]*"|\S+) = fcmp [ou][gl]t )((?:<(\d+) x )?(double|float)>?) """
                     rf"""(?:(%.*),\s*(?:{_ZERO})|\s*(?:{_ZERO}), (%.*))$""", re.MULTILINE)


def _keeping_zeros(text: str) -> str:
    """The module with zeros that LLVM does not see through, where `x > 0.0` and `x < 0.0` are asked beside float32.

    `select (fcmp ogt x, 0.0), 0.0, (fpext x)` becomes `fpext (select (fcmp oge x, 0.0), 0.0, x)` in LLVM 22, which is
    0.0 for -0.0; so with fptrunc.
    """
    if not _CAST.search(text):
        return text
    fences: dict[str, str] = {}

    def fenced(found: re.Match[str]) -> str:
        head, kind, count, real, left, right = found.groups()
        fence = "@llvm.arithmetic.fence." + (f"v{count}" if count else "") + ("f64" if real == "double" else "f32")
        fences[fence] = f"declare {kind} {fence}({kind})\n"
        name = f'%"zero {found.start()}"'
        operands = f"{left}, {name}" if left else f"{name}, {right}"
        return f"  {name} = call {kind} {fence}({kind} zeroinitializer)\n{head}{kind} {operands}"

    text = _STRICT.sub(fenced, text)
    return "\n".join([text, *fences.values()])


def _translated(text: str, cpu: Processor, passes: Passes) -> _Translated:
    module = llvm.parse_assembly(_keeping_zeros(text))
    module.verify()
    machine = _machine(cpu)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    if passes in (Passes.ALL, Passes.LOOPS) and text.count("\n") > LARGE:
        passes = Passes.STRAIGHT
    builder = _pass_builder(machine, passes)
    match passes:
        case Passes.ALL | Passes.VECTORS:
            _run(builder.getModulePassManager(), module, builder)
        case Passes.LOOPS:
            _run(_listed(_FEW[:1]), module, builder)
            for function in module.functions:
                if not function.is_declaration:
                    _run(builder.getFunctionPassManager(), function, builder)
        case Passes.STRAIGHT:
            _run(_listed(_FEW), module, builder)
        case Passes.UNCOMBINED:
            _run(_listed(name for name in _FEW if name != "instruction_combine"), module, builder)
    return _Translated(machine.emit_object(module), zlib.compress(str(module).encode(), 1))


_Objects = Sequence[_Translated]
"""Object files of a module, and of the functions that it calls."""


_FORM = b"objects "
"""What an entry begins with: another version of pyflat may have kept something else under the same name."""


def _packed(made: _Objects) -> bytes:
    parts = [part for each in made for part in each]
    return b"".join([_FORM, *[len(part).to_bytes(8, "little") for part in parts], bytes(8), *parts])


def _unpacked(contents: bytes | None) -> _Objects | None:
    if contents is None or not contents.startswith(_FORM):
        return None
    lengths: list[int] = []
    while length := int.from_bytes(contents[8 * len(lengths) + 8 : 8 * len(lengths) + 16], "little"):
        lengths.append(length)
    ends = list(itertools.accumulate(lengths, initial=8 * len(lengths) + 16))
    parts = [contents[start:end] for start, end in itertools.pairwise(ends)]
    return [_Translated(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]


def _key(text: str, cpu: Processor, passes: Passes) -> str:
    """Everything that machine code depends on: the module, the processor, and who translates."""
    return key_of([_keeping_zeros(text), passes.value, cpu.name, cpu.features, str(llvm.get_process_triple()),
                   __version__, llvmlite.__version__, ".".join(map(str, llvm.llvm_version_info)), np.__version__,
                   sys.implementation.cache_tag or sys.version])


def _listed(names: Iterable[str]) -> Any:
    manager = llvm.create_new_module_pass_manager()
    for name in names:
        getattr(manager, f"add_{name}_pass")()
    return manager


def _run(passes: Any, code: Any, builder: Any) -> None:
    try:
        passes.run(code, builder)
    finally:
        NewPassManager._dispose(passes)  # llvmlite 0.50 does not: what does nothing stands before it among the bases
        passes.detach()


@cache
def _pass_builder(machine: Any, passes: Passes) -> Any:
    """But in kernels over arrays, loops are written with vectors in them already."""
    level = {Passes.LOOPS: 1, Passes.VECTORS: 3}.get(passes, 2)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = passes is Passes.VECTORS
    return llvm.create_pass_builder(machine, options)


# --- ufuncs

MAX_OPERANDS = 64
"""Operands of a ufunc of NumPy 2."""

_NONE = -1


class Ufunc:
    """A compiled inner loop as a numpy.ufunc, and what that points into."""

    __slots__ = ("_kept", "call")

    def __init__(self, name: str, address: int, data: int, inputs: Sequence[np.dtype[Any]],
                 outputs: Sequence[np.dtype[Any]], *keep: object):
        make = libm.ufunc_interface()[1]
        dtypes = [*inputs, *outputs]
        loops, datas = (ctypes.c_void_p * 1)(address), (ctypes.c_void_p * 1)(data)
        types = (ctypes.c_byte * len(dtypes))(*[dtype.num for dtype in dtypes])
        label, text = ctypes.c_char_p(name.encode()), ctypes.c_char_p(b"")
        self._kept = (loops, datas, types, label, text, keep)
        self.call: np.ufunc = make(ctypes.addressof(loops), ctypes.addressof(datas), ctypes.addressof(types), 1,
                                   len(inputs), len(outputs), _NONE, label, text, 0)


class Direct:
    """A call for operands that a ufunc cannot have (none, or too many): arrays of n lanes, and scalars."""

    __slots__ = ("_data", "_kept", "_loop")

    def __init__(self, address: int, data: int, *keep: object):
        self._loop = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)
        self._data = data
        self._kept = keep

    def __call__(self, n: int, operands: Sequence[Any]) -> None:
        arrays = [np.asarray(operand) for operand in operands]
        pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        steps = (ctypes.c_ssize_t * len(arrays))(*[a.strides[0] if a.ndim else 0 for a in arrays])
        self._loop(pointers, (ctypes.c_ssize_t * 1)(n), steps, self._data)
