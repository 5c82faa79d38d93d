"""Twins as an extension module of NumPy ufuncs, which needs NumPy alone: object files (`targets.numba.objects`), the C
that all extensions have in common (`extension.c`), and what runs at import (`start.py`), which a C compiler links.

    extension               of one library
      machine code          for each loop a version for each level of processors
      tables in C           the loops, the symbols that machine code names
      text in Python        which version runs; the library's own functions for lanes in doubt
"""

from __future__ import annotations

import ast
import enum
import inspect
import marshal
import math
import os
import platform
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.errors import FlattenError, refuse
from pyflat.functions import gamma_check, libm, loaded_files
from pyflat.functions.loaded_library import verified_builds
from pyflat.functions.records import RECORDS
from pyflat.inspection.publishing import kernels, start
from pyflat.inspection.publishing.export import (
    ExportedFile,
    NotExported,
    changing_readings,
    flat_form,
    header,
    keywords,
    parts_of,
    read,
)
from pyflat.inspection.publishing.project import Shipped, module_name, replace_file
from pyflat.ir.formats import F8, dtypes
from pyflat.ir.shape import Leaf, Shape, leaves, written_record
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.runtime.ufuncs import result_numbers
from pyflat.targets.target import Request, require

if TYPE_CHECKING:
    from pyflat.targets.numba.objects import LoopVersion, Objects

MADE = "Made by `pyflat build`"
_LETTERS = {FLOAT: "d", INT: "l", BOOL: "?"}
_MOST = 32
"""Operands and results of a ufunc, as extension.c has it."""
_C = Path(__file__).with_name("extension.c")


@dataclass(frozen=True)
class BuiltLoop:
    """One loop of a ufunc: what was asked for, and how its lanes are called."""

    wanted: Shipped
    name: str
    about: str
    inputs: str
    outputs: str
    description: dict[str, Any]
    parts: tuple[str, ...]
    versions: list[LoopVersion]


def build_file(functions: Iterable[tuple[Shipped, Any]], output: Path, path: Path, licence: str,
               around: Callable[[Shipped], AbstractContextManager[object]] = nullcontext) -> tuple[list[str], int]:
    """Build what can be built of these functions into one extension; the reasons of the others, and how many those
    are that are there. Each is compiled inside of what `around` gives."""
    reasons: list[str] = []
    try:
        extension = Extension(module_name(output))
    except NotExported as error:
        return [str(error)], 0
    from pyflat.targets.numba.objects import NotBuilt

    for one, fn in functions:
        try:
            with around(one):
                extension.add(one, fn)
        except (NotExported, NotBuilt, FlattenError, TypeError, ValueError) as error:
            reasons.append(f"{one.function}: {error}")
    if extension.loops or extension.kernels:
        try:
            extension.write(path, licence)
        except NotExported as error:
            return [*reasons, str(error)], 0
    return reasons, len(extension.loops) + len(extension.kernels)


def made_of(path: Path) -> ExportedFile:
    """What an extension that is there was made of."""
    content = path.read_bytes() if path.is_file() else b""
    first = content.find(MADE.encode())
    return read(content[first: content.find(b"\0", first)].decode(errors="replace") if first >= 0 else "", MADE)


class Extension:
    """An extension that loops are added to."""

    def __init__(self, module: str):
        require("llvmlite", "pyflat build")
        if sys.platform != "linux" or not libm.X86:
            raise NotExported(f"pyflat build makes code for Linux on x86-64, not for {sys.platform} on "
                              f"{platform.machine()}; `pyflat export` writes NumPy text for any")
        from pyflat.targets.numba.objects import Objects

        self.module = module
        self.objects: Objects = Objects()
        self.loops: list[BuiltLoop] = []
        self.repeated: list[tuple[Shipped, tuple[str, ...]]] = []
        self.kernels: list[BuiltLoop] = []

    def add(self, wanted: Shipped, fn: Callable[..., Any]) -> None:
        """One more loop, or kernel. Raises NotExported and NotBuilt, and FlattenError where it cannot be flattened."""
        if "[" in wanted.kinds:
            made = kernels.build_kernel((*self.loops, *self.kernels), wanted, fn, self.objects)
            self.kernels.append(BuiltLoop(wanted, made[0]["name"], "", "", "", *made))
            return
        parameters, shapes, done = flat_form(wanted, fn, "numba")
        function = parameters.function
        name = function.__name__
        inputs = {each: shape for each, shape in shapes.items() if isinstance(shape, Leaf)}
        if not inputs or any(not isinstance(shape, Leaf) and _has_lanes(shape) for shape in shapes.values()):
            raise NotExported("its array parameters are not single numbers, as operands of a ufunc must be")
        if written_record(done.spec.result) is not None:
            raise refuse("flatten/effect", f"{name} writes into its arguments, which a ufunc must not")
        results = list(result_numbers(done.spec.result, name))
        if not results or any(each.leaf is None for each in results):
            raise NotExported("a result is the same number in all lanes")
        kinds = [*(shape.kind for shape in inputs.values()), *(each.kind for each in results)]
        if len(kinds) > _MOST:
            raise NotExported(f"it has {len(kinds)} operands and results, a ufunc has {_MOST} at most")
        letters = "".join(map(_LETTERS.__getitem__, kinds))
        given, taken = letters[: len(inputs)], letters[len(inputs):]
        reads = [(module, variable, *_stated(f"{module}.{variable}", value))
                 for module, variable, value in changing_readings(function, done.spec.guards, wanted.frozen)]
        looked_at = {f"{module}:{variable}" for module, variable, _, _ in reads}
        for each in (*self.loops, *self.kernels):
            own, asked = ((one.function, one.static, one.errors, one.math) for one in (each.wanted, wanted))
            differs = each.description["reads"] != reads or (each.inputs, each.outputs) != (given, taken)
            sizes = (len(each.inputs), len(each.outputs)) == (len(given), len(taken))
            if each.name == name and own == asked and sizes and not differs:
                self.repeated.append((wanted, each.parts))  # it reads nothing that `setup` changes
                return
            if each.name == name and not (own == asked and differs and sizes):
                raise NotExported(f"the module has another function {name}, for {each.wanted}")
        if wanted.errors == "nan" and set(taken) != {"d"}:
            raise NotExported('errors = "nan" is for results that are floats')
        request = Request(done.flat, done.spec, shapes)
        versions = self.objects.add_loop(str(len(self.loops)), request.fused(),
                                         [dtypes(F8)[kind].itemsize for kind in kinds], len(inputs))
        self.loops.append(BuiltLoop(wanted, name, inspect.getdoc(function) or "", given, taken, {
            "function": wanted.function, "name": name, "names": tuple(inputs), "static": dict(wanted.static),
            "keywords": keywords(parameters, list(inputs)), "kinds": taken, "errors": wanted.errors, "reads": reads,
            "versions": [(each.level, each.follows) for each in versions],
        }, tuple(each for each in parts_of(function, done.spec.guards, wanted) if each not in looked_at), versions))

    def write(self, output: Path, licence: str) -> None:
        """Link it. The file is there as a whole, or as it was. Raises NotExported where no C compiler."""
        self.objects.add_feeds()
        made = [(each.wanted, each.parts) for each in (*self.loops, *self.kernels)]
        about = header(MADE, [*made, *self.repeated], licence, "")
        with tempfile.TemporaryDirectory(prefix="pyflat-") as folder:
            place = Path(folder)
            for name, content in self.objects.files.items():
                (place / f"{name}.o").write_bytes(content)
            (place / "extension.c").write_text(self._source("\n".join(about)), encoding="utf-8")
            (place / "symbols").write_text(f"{{ global: PyInit_{self._last}; local: *; }};\n", encoding="utf-8")
            linked = place / "made.so"
            compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
            command = [*shlex.split(compiler), "-shared", "-fPIC", "-O2", "-s", f"-I{sysconfig.get_path('include')}",
                       f"-I{np.get_include()}", "-Wl,--version-script=symbols,-z,noexecstack", "extension.c",
                       *sorted(f"{name}.o" for name in self.objects.files), "-lm", "-o", linked.name]
            try:
                ran = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
            except OSError as error:
                raise NotExported(f"no C compiler {compiler}; set CC to another one") from error
            if ran.returncode:
                raise NotExported(f"the C compiler {compiler} failed:\n{ran.stderr}")
            replace_file(output, linked.read_bytes())

    @property
    def _last(self) -> str:
        return self.module.rpartition(".")[2]

    def _source(self, about: str) -> str:
        return "\n".join([*self._head(), f"static const char TEXT[] = {_quoted(self._code())};",
                          f"static const char ABOUT[] = {_quoted(about)};",
                          _C.read_text(encoding="utf-8"), *self._strided(),
                          *(kernels.source(self.kernels) if self.kernels else ()), ""])

    # --- the tables in C
    def _head(self) -> Iterator[str]:
        from pyflat.targets.numba import feed

        objects = self.objects
        yield _INCLUDES
        for name in ("SUSPECTS", "INTERRUPTED", "FETCHED", "FEED", "CONVERSIONS", "LANES"):
            yield f"#define {name} {getattr(feed, name)}"
        yield f"#define WORDS {feed.CONVERSIONS + _MOST}"
        yield f'#define MODULE "{self.module}"\n#define INIT PyInit_{self._last}\n#define LOOPS {len(self.loops)}'
        yield _TYPES
        for symbol, function in sorted(objects.called.items()):
            yield _jump(symbol, f"{function}@PLT")
        rows = []
        for number, (symbol, (name, types, part)) in enumerate(sorted(objects.numpy.items())):
            if part == 1:  # the loop's data, which the function below puts in its place
                yield f"HIDDEN char {symbol};"
                continue
            yield (f"HIDDEN void *pyflat_at_{number}, *pyflat_data_{number};\n"
                   + _jump(symbol, f"*pyflat_at_{number}(%rip)", f"movq pyflat_data_{number}(%rip), %rcx; "))
            letters = ", ".join(str(np.dtype(each).num) for each in types.replace("->", ""))
            rows.append(f'{{"{name}", (char[]){{{letters}}}, &pyflat_at_{number}, &pyflat_data_{number}}}')
        yield _rows("NumpyLoop numpy_loops", rows)
        rows = []
        for symbol, table in sorted(objects.library_tables.items()):
            yield f"HIDDEN char {symbol}[{table.rows.nbytes}] __attribute__((aligned(64)));"
            rows.append(f'{{"{symbol}", {symbol}, {table.rows.nbytes}}}')
        yield _rows("LibraryTable library_tables", rows)
        for symbol, numbers in objects.tables.items():
            words = np.frombuffer(numbers.tobytes() + bytes(-numbers.nbytes % 8), dtype=np.uint64)
            yield (f"HIDDEN const uint64_t {symbol}[] __attribute__((aligned(64))) = "
                   f"{{{', '.join(f'{word:#x}' for word in words.tolist())}}};")
        yield "double pyflat_of_python(PyObject *, double, double, int, int64_t);"
        rows = []
        for number, (symbol, name) in enumerate(sorted(objects.python.items())):
            own = f"python_{number}"
            given = ("double x, int64_t n", "x, 0, 0, n") if name == "round_digits" else \
                ("double x", "x, 0, 1, 0") if len(RECORDS[name].operands) == 1 else ("double x, double y", "x, y, 2, 0")
            yield (f"static PyObject *{own};\nHIDDEN double {symbol}({given[0]}) "
                   f"{{ return pyflat_of_python({own}, {given[1]}); }}")
            rows.append(f'{{"{symbol}", &{own}}}')
        yield _rows("PythonFunction python_functions", rows)
        yield from self._loops()
        yield f"static PyMethodDef kernel_methods[]{'' if self.kernels else ' = {{NULL}}'};"

    def _loops(self) -> Iterator[str]:
        names = [each.name for each in self.loops]
        yield from (f"extern char pyflat_feed_{number};" for number in range(3))
        yield from (f"static Strided now_{k};" for k in self._checked)
        for k, loop in reversed(list(enumerate(self.loops))):  # a loop names a later one
            others = self._same(k)[self._same(k).index(k) + 1:]
            yield "".join(f"extern Kernel {each.symbol};\n" for each in loop.versions)
            yield f"extern Strided pyflat_loop_{k};"
            versions = ", ".join(f"{{{each.symbol}, &pyflat_feed_{each.level}}}" for each in loop.versions)
            yield f"static const Version versions_{k}[] = {{{versions}}};"
            strided = f"now_{k}" if k in self._checked else f"pyflat_loop_{k}"
            fields = {"strided": f"pyflat_loop_{k}", "versions": f"versions_{k}", "name": f'"{loop.name}"',
                      "doc": _quoted(loop.about), "kinds": f'"{loop.inputs}{loop.outputs}"',
                      "inputs": len(loop.inputs), "outputs": len(loop.outputs),
                      "first": int(names.index(loop.name) == k),
                      "strided_of_now": strided if self._same(k)[0] == k else "NULL",
                      "next": f"&pyflat_state_{others[0]}" if others else "NULL"}
            given = ", ".join(f".{name} = {value}" for name, value in fields.items())
            yield f"HIDDEN Loop pyflat_state_{k} = {{{given}}};"
        yield f"static Loop *const loops[] = {{{', '.join(f'&pyflat_state_{k}' for k in range(len(self.loops)))}}};"

    def _same(self, number: int) -> list[int]:
        """The loops of one ufunc for the same kinds: versions for other values of what it reads."""
        kinds = [(each.name, each.inputs, each.outputs) for each in self.loops]
        return [k for k, each in enumerate(kinds) if each == kinds[number]]

    @property
    def _checked(self) -> list[int]:
        """The loops that look at each call whether their version holds."""
        return [k for k, each in enumerate(self.loops)
                if self._same(k)[0] == k and (each.description["reads"] or len(self._same(k)) > 1)]

    def _strided(self) -> list[str]:
        return [f"static int now_{k}(PyArrayMethod_Context *context, char *const *data, const npy_intp *dims,\n"
                f"                  const npy_intp *steps, NpyAuxData *auxiliary)\n"
                f"{{ return of_now(context, data, dims, steps, auxiliary, &pyflat_state_{k}); }}"
                for k in self._checked]

    # --- the text in Python
    def _code(self) -> bytes:
        """Compiled: to compile it at import would take longer than to run it."""
        return marshal.dumps(compile(self._text(), self.module, "exec", dont_inherit=True))

    def _text(self) -> str:
        tables = {symbol: (table.count, table.length, table.second, table.digest, table.made.__name__)
                  for symbol, table in self.objects.library_tables.items()}
        known = {identity: sorted(build.functions) for identity, build in verified_builds().items()}
        made = {table.made for table in self.objects.library_tables.values()}
        own, begins = kernels.text(len(self.loops)) if self.kernels else ("", "")
        sources = [*map(inspect.getsource, (loaded_files, start)), own,
                   *sorted(inspect.getsource(each) for each in made)]
        whole = ast.parse("\n".join(each.replace("from __future__ import annotations\n", "") for each in sources))
        whole.body = [node for node in whole.body if not (isinstance(node, ast.ImportFrom)
                                                          and (node.module or "").startswith("pyflat"))]
        points = {name: [(x, getattr(math, name)(x)) for x in gamma_check.POINTS] for name in gamma_check.PARTS}
        rows = [each.description for each in (*self.loops, *self.kernels)]
        given = [self.module, rows, known, tables, self.objects.python, points]
        return "\n".join([
            "from __future__ import annotations", ast.unparse(_without_docstrings(whole)), "Array = np.ndarray",
            "from math import inf, nan" + "\nimport datetime" * ("datetime." in repr(given)),  # values of a TOML table
            f"given = {given!r}\ndef begin(available, place):\n    found = start(available, place, *given)", begins,
            "    return found", ""])


_INCLUDES = """\
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <math.h>
#include <Python.h>
#include <marshal.h>
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>
#include <numpy/dtype_api.h>
#define HIDDEN __attribute__((visibility("hidden")))
"""
_TYPES = """\
typedef void Kernel(char **, npy_intp *, npy_intp *, int64_t *);
typedef int Strided(PyArrayMethod_Context *, char *const *, const npy_intp *, const npy_intp *, NpyAuxData *);
typedef struct { Kernel *kernel; void *feed; } Version;
typedef struct { const char *name; const char *types; void **place, **data; } NumpyLoop;
typedef struct { const char *name; char *place; Py_ssize_t size; } LibraryTable;
typedef struct { const char *name; PyObject **place; } PythonFunction;
/* One loop of a ufunc. `words` are what machine code shares with what calls it, and stand first; `kinds` has a letter
   for each operand and result; `next` is the loop for other values of what the function reads, which `reads` has. */
typedef struct Loop {
    int64_t words[WORDS];
    Kernel *kernel;
    Strided *strided, *strided_of_now;
    const Version *versions;
    const char *name, *doc, *kinds;
    int inputs, outputs, first;
    struct Loop *next;
    PyObject *lane, *reads;
} Loop;
"""


def _jump(symbol: str, target: str, before: str = "") -> str:
    """A function that is another one: the machine code names it by a name that says nothing to LLVM."""
    return f'__asm__(".text\\n.globl {symbol}\\n.hidden {symbol}\\n{symbol}: {before}jmp {target}\\n");'


def _rows(what: str, rows: Sequence[str]) -> str:
    return f"static {what}[] = {{{', '.join([*rows, '{NULL}'])}}};"


def _quoted(text: str | bytes) -> str:
    """A string of C."""
    content = text.encode() if isinstance(text, str) else text
    known = {34: '\\"', 92: "\\\\", 63: "\\?"}
    lines = [re.sub(r"[^ -~]", lambda match: f"\\{ord(match.group()):03o}", line.translate(known))
             for line in content.decode("latin-1").split("\n")]
    return "\\n\"\n\"".join(lines).join('""')


def _without_docstrings(module: ast.Module) -> ast.Module:
    for node in ast.walk(module):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [each for each in body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return module


def _has_lanes(shape: Shape) -> bool:
    return any(True for _ in leaves(shape))


def _stated(variable: str, value: Any) -> tuple[Any, str]:
    """A value as a literal, or where it is."""
    if value is None or type(value) in (bool, int, float, str):
        return value, ""
    if isinstance(value, enum.Enum):
        return None, f"{type(value).__module__}:{type(value).__qualname__}.{value.name}"
    raise NotExported(f"it reads {variable}, which changes, and is neither a number nor a string; if it does not "
                      f"change: {{ function = ..., frozen = true }} in [tool.pyflat]")
