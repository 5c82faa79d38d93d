"""Cython and Pythran: the function's own text with its helpers, and a typed loop around it; the C or C++ compiler gets
-O3 -march=native. The names of compilers are those of the scripts beside this Python, then of the path.

Cython: pure Python mode, parameters and results with C types, `math` from libc, constant numbers in place,
infer_types, and cdivision and cpow as those who want C's speed set them (no ZeroDivisionError then). Variables that
infer_types leaves alone and tables stay Python objects. Pythran: an export line with the types of the columns; nothing
else changes.
"""

from __future__ import annotations

import ast
import importlib.util
import math
import shutil
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from benchmarks.contenders.builds import FOLDER, built
from benchmarks.contenders.record import (
    Columns,
    Contender,
    Run,
    UnavailableError,
    into_new_array,
    optional,
    result_type,
)
from benchmarks.contenders.standalone import standalone
from benchmarks.kernels import Kernel

FLAGS = ("-O3", "-march=native")
DIRECTIVES = ("language_level=3", "cdivision=True", "cpow=True", "infer_types=True", "boundscheck=False",
              "wraparound=False", "initializedcheck=False")
TYPES = {"f": "cython.double", "i": "cython.longlong", "b": "cython.bint"}
ANNOTATIONS = {"float": TYPES["f"], "int": TYPES["i"], "bool": TYPES["b"]}
LIBC = {"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cos", "cosh", "erf", "erfc",
        "exp", "exp2", "expm1", "fabs", "fmod", "hypot", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "sqrt",
        "tan", "tanh"}
WHOLE = {"floor", "ceil", "trunc"}
"""Python's give ints, C's do not."""


def script(name: str) -> str:
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise UnavailableError(f"{name} is not installed")
    return found


def extension(name: str, text: str, commands: Callable[[str], Sequence[Sequence[str]]], label: str, module_name: str
              ) -> Any:
    """The module that commands make of a text: an extension's name is part of its code."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    source = FOLDER / f"{name}.py"
    source.write_text(text, encoding="utf-8")
    path = built(source, commands(str(source)), label)
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- Cython


class _Libc(ast.NodeTransformer):
    """`math.sqrt` is libc's, `math.floor` an int, `math.pi` a number; other names of `math` stay Python's."""

    def __init__(self, imported: Mapping[str, str], numbers: Mapping[str, float]) -> None:
        self.imported, self.numbers = imported, numbers
        """Name -> the function of `math` that was imported by it, and the number that is a constant."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """A number of 32 bits or more is a Python object if nothing is said."""
        if type(node.value) is int and not -2**31 <= node.value < 2**31:
            return ast.parse(f"cython.cast(cython.longlong, {node.value})", mode="eval").body
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "math":
            return _spelled(node.attr) or node
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.numbers:
            return ast.Constant(self.numbers[node.id])
        return _spelled(self.imported.get(node.id, "")) or node


def _spelled(name: str) -> ast.expr | None:
    if isinstance(getattr(math, name, None), float):
        return ast.Constant(getattr(math, name))
    return ast.Name(f"_{name}") if name in LIBC | WHOLE else None


HEAD = """\
import cython
import math
from cython.cimports.libc.math import {names}, floor as c_floor, ceil as c_ceil, trunc as c_trunc
"""
HELPER = """\
@cython.cfunc
@cython.inline
def _{name}(x: cython.double) -> cython.longlong:
    return cython.cast(cython.longlong, c_{name}(x))
"""


def cython_text(kernel: Kernel, lanes: Columns) -> str:
    alone = standalone(kernel.function, lambda name: ANNOTATIONS.get(name or ""))
    main = alone.functions[alone.name]
    for arg, column in zip(main.args.args, lanes, strict=False):
        arg.annotation = ast.parse(TYPES[column.dtype.kind], mode="eval").body
    result = TYPES[result_type(kernel, lanes).kind]
    main.returns = ast.parse(result, mode="eval").body
    words = [line.split() for line in alone.imports if line.startswith("from math import ")]
    libc = _Libc({word[5]: word[3] for word in words}, alone.numbers())
    for tree in alone.functions.values():
        libc.visit(tree)
        tree.decorator_list = [ast.parse(f"cython.{name}", mode="eval").body for name in ("cfunc", "inline")]
    names = [f"a{k}" for k in range(len(lanes))]
    typed = ", ".join(f"{name}: {TYPES[column.dtype.kind]}[::1]" for name, column in zip(names, lanes, strict=True))
    return "".join([
        HEAD.format(names=", ".join(f"{name} as _{name}" for name in sorted(LIBC))),
        *(HELPER.format(name=name) for name in sorted(WHOLE)), ast.unparse(ast.fix_missing_locations(ast.parse(
            alone.text()))), f"""
def run({typed}, out: {result}[::1]):
    i: cython.Py_ssize_t
    for i in range(out.shape[0]):
        out[i] = {alone.name}({", ".join(f"{name}[i]" for name in names)})
"""])


def make_cython(kernel: Kernel, lanes: Columns) -> Run:
    optional("Cython")
    name = f"cython_{kernel.function.__name__}"
    include = sysconfig.get_paths()["include"]

    def commands(source: str) -> Sequence[Sequence[str]]:
        return [[script("cython"), *(word for each in DIRECTIVES for word in ("-X", each)), source, "-o", "OBJECT"],
                ["gcc", *FLAGS, "-w", "-fPIC", "-shared", f"-I{include}", "-x", "c", "OBJECT", "-o", "OUT"]]

    run = extension(name, cython_text(kernel, lanes), commands, "cython", name).run
    return into_new_array(run, lanes, result_type(kernel, lanes))


# --- Pythran


def pythran_text(kernel: Kernel, lanes: Columns) -> str:
    alone = standalone(kernel.function)
    names = [f"a{k}" for k in range(len(lanes))]
    return f"""\
#pythran export run({", ".join(f"{column.dtype}[]" for column in lanes)})
import numpy
{alone.text()}
def run({", ".join(names)}):
    out = numpy.empty(len(a0), numpy.{result_type(kernel, lanes)})
    for i in range(len(a0)):
        out[i] = {alone.name}({", ".join(f"{name}[i]" for name in names)})
    return out
"""


def make_pythran(kernel: Kernel, lanes: Columns) -> Run:
    optional("pythran")
    name = f"pythran_{kernel.function.__name__}"
    text = pythran_text(kernel, lanes)
    run = extension(name, text, lambda source: [[script("pythran"), *FLAGS, "-w", source, "-o", "OUT"]], "pythran",
                    "kernels").run  # of the file that OUT stands for
    return lambda: run(*lanes)


CONTENDERS = (
    Contender("cython", make_cython, local=True, versions=lambda: {
        "cython": installed("cython"), "flags of cython": " ".join((*DIRECTIVES, *FLAGS))}),
    Contender("pythran", make_pythran, local=True, versions=lambda: {
        "pythran": installed("pythran"), "flags of pythran": " ".join(FLAGS)}),
)
