"""What comes before the first result: imports, flattening, compiling, and the same in the next process. Seconds of
processor time, the least of several processes.

    python -m benchmarks.startup [--kernels bs,hsv]
    python -m benchmarks.startup --processes        whole processes, against numba.vectorize and `import numpy`
    python -m benchmarks.startup --large ...        first calls of large functions against numba.njit (`first_call`)

first     a process that has flattened and compiled something else: from `pyflat.twin` to the result of the first call
second    another process with the disk cache of the first, after the imports that a first call makes
imports   these imports; numba alone and llvmlite alone beside them
growth    flattening and compiling a loop that is unrolled, 10^2 .. 10^5 operations
processes of a script that decorates one function and calls it once, with the bytecode of pyflat compiled, from the
          start of Python to its end: with an empty cache (cold), and with what that has kept (warm)
"""

from __future__ import annotations

import argparse
import compileall
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.environment import ONE_THREAD, ROOT
from benchmarks.kernels import KERNELS
from benchmarks.report import markdown

OPTIONS: Mapping[str, Any] = {"target": "numba", "math": "fast"}
TRIPS = (20, 200, 2_000, 20_000)
"""Of `polynomial`, whose trip is five operations: 10^2 .. 10^5."""

_FIRST = """
import json, sys, time
import numpy as np
import pyflat
from benchmarks.kernels import KERNELS
from benchmarks.startup import OPTIONS, warm
warm()
found = {}
for name in sys.argv[1].split(","):
    lanes = KERNELS[name].lanes(8)
    start = time.process_time()
    pyflat.twin(KERNELS[name].function, **OPTIONS)(*lanes)
    found[name] = time.process_time() - start
print(json.dumps({"seconds": found, "modules": [name for name in sys.modules if not name.startswith("benchmarks")]}))
"""

_SECOND = """
import importlib, json, sys, time
import numpy
start = time.process_time()
for name in sys.argv[2].split(","):
    try:
        importlib.import_module(name)
    except ImportError:  # a name that a package gave to something else
        pass
imports = time.process_time() - start
import pyflat
from benchmarks.kernels import KERNELS
from benchmarks.startup import OPTIONS
kernel = KERNELS[sys.argv[1]]
lanes = kernel.lanes(8)
start = time.process_time()
pyflat.twin(kernel.function, **OPTIONS)(*lanes)
print(json.dumps({"imports": imports, "first_call": time.process_time() - start}))
"""


_SHADE = """
def shade(x):
    if x <= 0.0:
        return 1.0
    if x > 10.0:
        return 0.0
    light = 1.0
    for i in range(1, 4):
        light = light - x / (10.0 * i)
        if light < 0.1:
            break
    return max(light, 0.0)

shade{}(np.array([-1.0, 0.5, 2.5, 5.0, 20.0]))
"""
_SMOOTH = """
def smooth(a, out):
    for i in range(1, len(a) - 1):
        out[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0

smooth.flat(np.ones(8), np.zeros(8))
"""
_PYFLAT = "import numpy as np\nimport pyflat\n\n@pyflat.flatten(target={!r})"
SCRIPTS: Mapping[str, str] = {
    "twin on numpy": _PYFLAT.format("numpy") + _SHADE.format(".flat"),
    "twin on numba": _PYFLAT.format("numba") + _SHADE.format(".flat"),
    "kernel on numpy": _PYFLAT.format("numpy") + _SMOOTH,
    "kernel on numba": _PYFLAT.format("numba") + _SMOOTH,
    "numba.vectorize": "import numpy as np\nimport numba\n\n@numba.vectorize(cache=True)" + _SHADE.format(""),
}
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "pyflat --help": ("-m", "pyflat", "--help"),
    "pyflat show": ("-m", "pyflat", "show", "twin_on_numpy.py:shade"),
    "import numpy": ("-c", "import numpy"),
    "python": ("-c", ""),
}


def polynomial(x: float, a: float, trips: int) -> float:
    for _ in range(trips):
        x = x * a + 1.0
        if x > 100.0:
            x = x - a
    return x


def warm() -> None:
    """What a process pays once: LibCST, llvmlite, LLVM."""
    import numpy as np

    import pyflat

    pyflat.twin(polynomial, static=("trips",), **OPTIONS)(np.ones(8), np.ones(8), 3)


def _python(code: str, *arguments: str, cache: str = "") -> str:
    """Standard output of a process that runs `code`; without a disk cache where no folder is given."""
    disk = {"PYFLAT_CACHE_DIR": cache} if cache else {"PYFLAT_CACHE": "0"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYFLAT_")}
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, env=kept | ONE_THREAD | disk,
                          capture_output=True, text=True, check=True)
    return done.stdout


def first(names: list[str], repeats: int = 3, cache: str = "") -> dict[str, float]:
    """Kernel -> seconds, the least of several processes."""
    found = [json.loads(_python(_FIRST, ",".join(names), cache=cache))["seconds"] for _ in range(repeats)]
    return {name: min(seconds[name] for seconds in found) for name in names}


def second(names: list[str], repeats: int = 3) -> tuple[dict[str, float], float]:
    """Kernel -> seconds of the first call in a process after another one has compiled; seconds of the imports."""
    with tempfile.TemporaryDirectory(prefix="pyflat-benchmark-") as cache:
        modules = json.loads(_python(_FIRST, ",".join(names), cache=cache))["modules"]
        calls, imports = {}, math.inf
        for name in names:
            found = [json.loads(_python(_SECOND, name, ",".join(modules), cache=cache)) for _ in range(repeats)]
            calls[name] = min(one["first_call"] for one in found)
            imports = min(imports, *(one["imports"] for one in found))
    return calls, imports


def import_seconds(module: str, after: str = "", repeats: int = 7) -> float:
    """Of a module, in a process that has imported `after`."""
    code = f"import time{f', {after}' if after else ''}\nstart = time.process_time()\nimport {module}\n"
    code += "print(time.process_time() - start)"
    return min(float(_python(code)) for _ in range(repeats))


def decoration() -> float:
    """Seconds for `@pyflat.flatten` on one function."""
    code = ("import time, types, pyflat\nfrom benchmarks.startup import polynomial as p\n"
            "made = [types.FunctionType(p.__code__, p.__globals__, f'f{k}') for k in range(2001)]\n"
            "pyflat.flatten(made[0])\nstart = time.process_time()\n"
            "for f in made[1:]: pyflat.flatten(f)\nprint((time.process_time() - start) / 2000)")
    return min(float(_python(code)) for _ in range(3))


def processes(repeats: int = 7) -> dict[str, tuple[float, float]]:
    """Processor seconds of whole processes, without and with what an earlier one has kept; the least of so many rounds
    of all of them."""
    compileall.compile_dir(ROOT / "pyflat", quiet=1)
    found = dict.fromkeys((*SCRIPTS, *COMMANDS), (math.inf, math.inf))
    with tempfile.TemporaryDirectory(prefix="pyflat-benchmark-") as folder:
        for name, text in SCRIPTS.items():
            Path(folder, f"{name.replace(' ', '_')}.py").write_text(text)
        given = {name: (f"{name.replace(' ', '_')}.py",) for name in SCRIPTS} | COMMANDS
        for _, (name, arguments) in itertools.product(range(repeats), given.items()):
            cache = Path(folder, "cache")
            turns = [_process_seconds(arguments, folder, cache) for _ in range(2)]
            shutil.rmtree(cache, ignore_errors=True)
            found[name] = min(found[name][0], turns[0]), min(found[name][1], turns[1])
    return found


def _process_seconds(arguments: Sequence[str], folder: str, cache: Path) -> float:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYFLAT_")}
    caches = {"PYFLAT_CACHE_DIR": str(cache), "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    done = subprocess.Popen([sys.executable, *arguments], cwd=folder, env=kept | ONE_THREAD | caches,
                            stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed")
    return usage.ru_utime + usage.ru_stime


def process_rows(found: Mapping[str, tuple[float, float]]) -> list[list[str]]:
    theirs = found["numba.vectorize"]
    return [["", "cold", "of numba's", "warm", "of numba's"],
            *[[name, f"{cold:.3f}", f"{cold / theirs[0]:.2f}", f"{warm:.3f}", f"{warm / theirs[1]:.2f}"]
              for name, (cold, warm) in found.items()]]


def growth() -> dict[int, float]:
    """Operations -> processor seconds to flatten them."""
    import numpy as np

    import pyflat
    from pyflat.runtime.arguments import classify
    from pyflat.runtime.compiled import flatten

    twin: Any = pyflat.twin(polynomial, static=("trips",), loops="unroll", max_unroll=10**6)
    lanes = np.ones(1), np.ones(1)
    warm()
    found = {}
    for trips in TRIPS:
        call = classify(twin._parameters.bind((*lanes, trips), {}), twin._parameters, ("trips",))
        start = time.process_time()
        flatten(polynomial, call.arguments, twin.options)
        found[5 * trips] = time.process_time() - start
    return found


def exponent(found: Mapping[int, float]) -> float:
    """Of the power of the size that the time of the two largest grows with: 1.0 is linear."""
    small, large = sorted(found)[-2:]
    return math.log(found[large] / found[small]) / math.log(large / small)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--large", action="store_true", help="what benchmarks.first_call measures, with its options")
    parser.add_argument("--processes", type=int, nargs="?", const=7, metavar="ROUNDS", help="whole processes")
    given, others = parser.parse_known_args()
    if given.large:
        from benchmarks import first_call

        first_call.main(others)
        return
    if others:
        parser.error(f"unknown: {' '.join(others)}")
    if given.processes:
        print(markdown(process_rows(processes(given.processes))))
        return
    names = given.kernels.split(",")
    calls, imports = second(names)
    start = first(names)
    print("kernel      first     second")
    for name in names:
        print(f"{name:10} {start[name]:6.3f} s  {calls[name]:6.3f} s")
    alone = {module: import_seconds(module) for module in ("numba", "llvmlite.binding")}
    print(f"\nimports before the first call: {imports:.3f} s beyond numpy "
          f"({', '.join(f'{module} alone {seconds:.3f} s' for module, seconds in alone.items())})")
    print(f"import pyflat: {import_seconds('pyflat', after='numpy') * 1e3:.1f} ms beyond numpy")
    print(f"decorating a function: {decoration() * 1e6:.1f} us")
    sizes = growth()
    print("flattening: " + ", ".join(f"{size} operations {seconds:.3f} s" for size, seconds in sizes.items())
          + f"; the last step grows with the power {exponent(sizes):.2f}")


if __name__ == "__main__":
    main()
