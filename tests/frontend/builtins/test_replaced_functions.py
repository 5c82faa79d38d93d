"""Functions of modules that a program has replaced: what the tables know is what was there by itself."""

import os
import subprocess
import sys

import pytest

from pyflat.frontend import builtins as known
from pyflat.functions import originals
from pyflat.functions.records import RECORDS

REFUSED = {"sizes": "builtins.abs is no longer Python's own"}
PROGRAM = '''
import builtins, math, sys
import numpy as np
import pyflat
from math import cos, sin

def double(x):
    return x * 2

def shifted(x):
    return x + 1

def sines(x):
    return math.sin(x) + sin(x)

def powers(x):
    return np.exp(x) - 1

def sizes(x):
    return abs(x) + math.fabs(x)

def rooted(x):
    return math.sqrt(x * x)

def cosines(x):
    return math.sin(x) - cos(x)

PATCHES = {"sines": (math, "sin", double), "powers": (np, "exp", double), "sizes": (builtins, "abs", shifted),
           "rooted": (math, "sqrt", np.sqrt), "cosines": (math, "sin", math.cos)}
name, target, when = sys.argv[1:]
function, (module, attribute, value) = globals()[name], PATCHES[name]
twin = pyflat.twin(function, target=target)
xs = np.array([0.5, -2.0, 3.0])
if when == "after a call":
    twin(xs)
old = getattr(module, attribute)
if when != "never":
    setattr(module, attribute, value)
for _ in range(2):
    try:
        found = twin(xs).tolist()
    except pyflat.FlattenError as error:
        print("refused", error.diagnostic.message)
    else:
        wanted = [float(function(x)) for x in xs.tolist()]
        assert found == wanted, (found, wanted)
        print("the same")
    setattr(module, attribute, old)
'''


def outcome(folder, *arguments):
    path = folder / "replacing.py"
    path.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYFLAT_CACHE": "1", "PYFLAT_VALIDATE": "0",
                   "PYFLAT_CACHE_DIR": str(folder / "kept")}
    done = subprocess.run([sys.executable, str(path), *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("name", ["sines", "powers", "sizes", "rooted", "cosines"])
def test_what_is_replaced_is_never_taken_for_what_was_there(tmp_path, name, target):
    assert outcome(tmp_path, name, target, "never") == ["the same"] * 2
    for when in ("before the first call", "after a call"):
        during, after = outcome(tmp_path, name, target, when)
        assert during == "the same" or name in REFUSED and during.startswith(f"refused {REFUSED[name]}"), (when, during)
        assert after == "the same", (when, after)


def test_nothing_in_the_tables_is_a_replacement():
    assert originals.replacements() == {}
    assert not known._REPLACEMENTS
    for record in RECORDS.values():
        if record.python:
            assert originals.original(*record.python.rsplit(".", 1)) is record.callable() is not None


def test_a_function_is_found_where_others_still_have_it(monkeypatch):
    import math

    import numpy as np

    originally = {("math", "sin"): math.sin, ("numpy", "exp"): np.exp, ("numpy", "sum"): np.sum, ("numpy", "abs"): np.abs}
    for module, name in originally:
        monkeypatch.setattr(sys.modules[module], name, math.cos)
    assert set(originals.replacements()) == set(originally)
    for (module, name), function in originally.items():
        assert originals.original(module, name) is function
