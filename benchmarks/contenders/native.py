"""C: the kernels of `benchmarks/native`, with gcc and clang, each as -O3 -march=native and with -ffast-math as well.

With -ffast-math go the widest vectors and the C library's vector functions (gcc takes them by itself), as a programmer
would ask for who wants speed. Compiled at run time, where there is a compiler.
"""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

import numpy as np

from benchmarks.contenders.builds import built, version, with_new_array
from benchmarks.contenders.record import Columns, Contender, Run, UnavailableError, real_type, result_type
from benchmarks.kernels import Kernel, images

SOURCE = Path(__file__).resolve().parent.parent / "native" / "kernels.c"
PLAIN = ("-O3", "-march=native")
FAST = (*PLAIN, "-ffast-math", "-mprefer-vector-width=512")
FLAGS = {
    "gcc": ("gcc", PLAIN, ("-lm",)),
    "gcc fast": ("gcc", FAST, ("-lm",)),
    "clang": ("clang", PLAIN, ("-lm",)),
    "clang fast": ("clang", (*FAST, "-fveclib=libmvec"), ("-lmvec", "-lm")),
}


def command_line(name: str) -> str:
    compiler, flags, libraries = FLAGS[name]
    return " ".join((compiler, *flags, *libraries))


@cache
def _library(name: str, narrow: bool) -> ctypes.CDLL:
    compiler, flags, libraries = FLAGS[name]
    if shutil.which(compiler) is None:
        raise UnavailableError(f"{compiler} is not installed")
    types = ("-DREAL=float", "-DINTEGER=int32_t") if narrow else ("-DREAL=double", "-DINTEGER=int64_t")
    command = [compiler, *flags, *types, "-fPIC", "-shared", str(SOURCE), "-o", "OUT", *libraries]
    library = ctypes.CDLL(str(built(SOURCE, [command], command_line(name))))
    table = (ctypes.c_int32 * len(images.PERMUTATION)).in_dll(library, "permutation")
    table[:] = images.PERMUTATION
    return library


def _make(name: str, kernel: Kernel, lanes: Columns) -> Run:
    library = _library(name, real_type(lanes) == np.float32)
    run = getattr(library, f"run_{kernel.name}", None)
    if run is None:
        raise UnavailableError("not written in C")
    return with_new_array(run, lanes, result_type(kernel, lanes), ctypes.c_int64)


def _versions(name: str) -> Mapping[str, str]:
    return {FLAGS[name][0]: version(FLAGS[name][0]), f"flags of {name}": command_line(name)}


CONTENDERS = tuple(Contender(name, partial(_make, name), local=True, versions=partial(_versions, name))
                   for name in FLAGS)
