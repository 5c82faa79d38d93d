"""Without libraries that only some uses take, the rest works, with the same bits; what takes one says which."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

LIBRARIES = ("numba", "llvmlite", "islpy", "hypothesis", "rich", "click", "platformdirs", "z3", "matplotlib")
ALL = ",".join(LIBRARIES)
INSTALLED = [name for name in LIBRARIES if find_spec(name)]
MISSING = {  # what says so -> the library, the words before, what installs it
    "numba": ("llvmlite", 'the target "numba"', "llvmlite"),
    "numba_kernel": ("llvmlite", 'the target "numba"', "llvmlite"),
    "ufunc": ("llvmlite", "exact_flat.ufunc", "llvmlite"),
    "verify": ("hypothesis", "pyflat.testing.verify", "hypothesis"),
    "prove": ("z3", "pyflat.inspection.prove", "'pyflat[prove]'"),
    "plot": ("matplotlib", "a plot (the profile as text has bars too)", "'pyflat[plot]'"),
}
IN_ORDER = "whether iterations meet in `a` was not found without islpy (pip install islpy)"


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder), "PYTHONHASHSEED": "0", "PYFLAT_CACHE": "1"}
    environment.pop("PYFLAT_CACHE_DIR", None)
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)


def uses(folder: Path, blocked: str) -> dict[str, object]:
    done = run(folder, "-W", "error", "-m", "tests.project.light_uses", blocked)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def everything(kept):
    """What the uses give with all libraries that are installed here."""
    return uses(kept, "")


def expected(everything, blocked, folder):
    found = {**everything, "cache": everything["cache"] and str(folder / Path("pyflat", "kernels"))}
    for name, (library, what, package) in MISSING.items():
        if library in blocked.split(","):
            found[name] = ["MissingLibraryError", "ImportError",
                           f"{what} needs {library}, which is not installed: pip install {package}", library]
    return {**found, "why_in_order": IN_ORDER} if "islpy" in blocked else found


@pytest.mark.skipif(sys.platform != "linux", reason="the folder of the cache is the one that Linux has")
@pytest.mark.skipif(len(INSTALLED) < len(LIBRARIES), reason="some libraries are not installed")
@pytest.mark.turns(6)
@pytest.mark.parametrize("blocked", [*LIBRARIES, ALL])
def test_the_rest_works_with_the_same_bits(blocked, everything, tmp_path):
    assert uses(tmp_path, blocked) == expected(everything, blocked, tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="the folder of the cache is the one that Linux has")
@pytest.mark.skipif(len(INSTALLED) < len(LIBRARIES), reason="some libraries are not installed")
def test_what_a_process_with_the_libraries_has_kept_runs_without_them(everything, kept):
    found = uses(kept, ALL)
    assert {**found, "why_in_order": IN_ORDER} == expected(everything, ALL, kept)


@pytest.mark.parametrize("library", ["click", "rich"])
def test_the_command_line_says_what_it_needs(library, tmp_path):
    code = f"import sys; sys.modules[{library!r}] = None; from pyflat.__main__ import main; main()"
    done = run(tmp_path, "-c", code, "codes")
    needed = f"the command line of pyflat needs {library}, which is not installed: pip install {library}\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", needed)


@pytest.mark.parametrize("verb", ["explain", "verify", "show"])
def test_a_command_says_in_one_sentence_what_its_target_needs(verb, tmp_path):
    code = "import sys; sys.modules['llvmlite'] = sys.modules['numba'] = None; from pyflat.__main__ import main; main()"
    done = run(tmp_path, "-c", code, verb, "colorsys:rgb_to_yiq", "--target", "numba")
    if verb == "show":
        assert done.returncode == 0 and done.stdout
    else:
        assert done.returncode in (1, 2) and done.stderr.endswith("pip install llvmlite\n"), done.stderr
        assert done.stderr.count("\n") == 1
