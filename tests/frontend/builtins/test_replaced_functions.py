"""Functions of modules that a program has replaced: what the tables know is what was there by itself."""

import builtins  # noqa: F401 - `calls` looks at the modules
import cmath  # noqa: F401
import gc
import math  # noqa: F401
import operator  # noqa: F401
import os
import statistics  # noqa: F401
import subprocess
import sys
import weakref
from types import BuiltinFunctionType, FunctionType

import numpy as np
import pytest

from pyflat.frontend import builtins as known
from pyflat.functions import originals
from pyflat.functions.records import RECORDS

NAMES = ("sines", "powers", "sizes", "rooted", "cosines", "floors")
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

def floors(x):
    return math.floor(x) * 2.0

PATCHES = {"sines": (math, "sin", double), "powers": (np, "exp", double), "sizes": (builtins, "abs", shifted),
           "rooted": (math, "sqrt", np.sqrt), "cosines": (math, "sin", math.cos), "floors": (math, "floor", shifted)}
target, when, *names = sys.argv[1:]
xs = np.array([0.5, -2.0, 3.0])

def compare(function, twin):
    try:
        found = twin(xs).tolist()
    except pyflat.FlattenError as error:
        print("refused", error.diagnostic.message)
    else:
        wanted = [float(function(x)) for x in xs.tolist()]
        assert found == wanted, (found, wanted)
        print("the same")

for name in names:
    function, (module, attribute, value) = globals()[name], PATCHES[name]
    twin = pyflat.twin(function, target=target)
    if when == "after a call":
        compare(function, twin)
    old = getattr(module, attribute)
    setattr(module, attribute, value)
    compare(function, twin)
    setattr(module, attribute, old)
    compare(function, twin)
'''


NOT_CALLED = {"breakpoint", "input", "open", "print", "exit", "quit"}
"""They wait for somebody, or write."""


def outcome(folder, *arguments, program=PROGRAM, cache="1"):
    path = folder / "replacing.py"
    path.write_text(program)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYFLAT_CACHE": cache, "PYFLAT_VALIDATE": "0",
                   "PYFLAT_CACHE_DIR": str(folder / "kept")}
    done = subprocess.run([sys.executable, str(path), *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.turns(2)
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_replaced_before_the_first_call_is_never_taken_for_what_was_there(tmp_path, name, target):
    during, after = outcome(tmp_path, target, "before the first call", name)
    assert is_right(name, during)
    assert after == "the same"


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_what_is_replaced_after_a_call_is_never_taken_for_what_was_there(tmp_path, target):
    lines = iter(outcome(tmp_path, target, "after a call", *NAMES))
    for name, before, during, after in zip(NAMES, lines, lines, lines, strict=True):
        assert before == after == "the same", name
        assert is_right(name, during), (name, during)


def is_right(name, line):
    return line == "the same" or name in REFUSED and line.startswith(f"refused {REFUSED[name]}")


def calls():
    """A function for each way to call a function of a module, by module and name."""
    for label in ("math", "cmath", "operator", "statistics", "builtins", "numpy"):
        module = sys.modules[label]
        types = np.ufunc if label == "numpy" else BuiltinFunctionType | FunctionType
        for name in dir(module) if label != "statistics" else ("fmean", "median"):
            if name[0] != "_" and name not in NOT_CALLED and isinstance(getattr(module, name), types):
                for number, arguments in enumerate(("x", "x, 2", "[x, 1.5]", "x, 2, 3", "[x, 1.5], [x, 2.0]")):
                    yield label, name, f"{label}_{name}_{number}", f"{label}.{name}({arguments})"


ALL = '''
import builtins, cmath, math, operator, statistics, sys, warnings
import numpy
import pyflat

warnings.simplefilter("ignore")

def other(x, *more):
    return x * 2.0 + 1.0

FUNCTIONS
target, when = sys.argv[1:]
ARRAYS = numpy.array([0.25, 0.5, 0.75]), numpy.array([1, 2, 3])

def outcomes(function, xs):
    """As texts: nan and the signs of zeros count."""
    try:
        return [repr(complex(function(x))) for x in xs.tolist()]
    except Exception as error:
        return type(error)

called = {}
for module, name, label in CALLS:
    for xs in ARRAYS:
        if isinstance(outcomes(globals()[label], xs), list):
            called.setdefault((module, name), (globals()[label], xs))
twins = {key: pyflat.twin(function, target=target) for key, (function, _) in called.items()}

def compare(keys, when):
    for key in keys:
        function, xs = called[key]
        wanted = outcomes(function, xs)
        try:
            found = [repr(complex(y)) for y in twins[key](xs).tolist()]
        except pyflat.FlattenError:
            print("refused", when, *key)
        except Exception as error:
            found = type(error)
            assert found is wanted, (key, when, error, wanted)
        else:
            assert found == wanted, (key, when, found, wanted)
            print("the same", when, *key)

def different(old):
    def replaced(*given):
        return other(*given) if type(given[0]) in (float, numpy.float64) else old(*given)
    return replaced

originally = {key: vars(sys.modules[key[0]])[key[1]] for key in called if key[0] != "statistics"}
if when == "after":
    compare(called, "never")
for (module, name), _ in originally.items():
    if module != "builtins":
        setattr(sys.modules[module], name, other)
compare(called, when)
for (module, name), old in originally.items():
    setattr(sys.modules[module], name, old)
compare(called, "restored")
for (module, name), old in originally.items():
    if module == "builtins":
        setattr(builtins, name, different(old))
        compare([(module, name)], when)
        setattr(builtins, name, old)
'''


@pytest.mark.slow
@pytest.mark.turns(2)
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_all_functions_at_once(tmp_path, target):
    made = list(calls())
    functions = "\n".join(f"def {label}(x):\n    return {text}\n" for _, _, label, text in made)
    program = ALL.replace("FUNCTIONS", f"{functions}\nCALLS = {[each[:3] for each in made]}")
    for when, cache in (("before", "0"), ("after", "1"), ("before", "1")):
        lines = outcome(tmp_path, target, when, program=program, cache=cache)
        assert sum(line.startswith(f"the same {when}") for line in lines) > 100, lines
        assert sum(line.startswith("the same restored") for line in lines) > 100, lines


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
    gc.unfreeze()  # what the garbage collector does not list (conftest), is not found
    for module, name in originally:
        monkeypatch.setattr(sys.modules[module], name, math.cos)
    assert set(originals.replacements()) == set(originally)
    for (module, name), function in originally.items():
        assert originals.original(module, name) is function


def test_what_is_sought_is_found_among_proxies_of_what_is_gone(monkeypatch):
    class Gone:
        pass

    sine = math.sin
    dead = weakref.proxy(Gone())
    monkeypatch.setattr(math, "sin", math.cos)
    assert originals._sought("math", "sin")(1.0) == sine(1.0)
    with pytest.raises(ReferenceError):
        isinstance(dead, int)


def test_nothing_is_replaced_in_numpy_as_it_comes():
    code = "import numpy, pyflat; from pyflat.functions import originals; print(originals.replacements())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "{}\n"
