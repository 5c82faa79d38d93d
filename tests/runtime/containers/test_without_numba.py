"""Where neither numba nor llvmlite can be imported, the NumPy target does all it does, and the rest says what is missing."""

import subprocess
import sys

SCRIPT = '''
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in ("numba", "llvmlite") else super().find_spec(name, path, target)

sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]

import numpy as np
import pyflat
import pyflat.testing
from tests.runtime.functions import labelled, shade

twin = pyflat.twin(shade)
xs = np.linspace(0.25, 3.0, 50_000)
assert twin(xs).tolist() == [shade(x) for x in xs.tolist()]
assert twin(xs[:0]).tolist() == []
assert pyflat.twin(shade, math="fast")(xs).shape == xs.shape
pyflat.testing.verify(shade)
twin.verify(xs[:5])
str(twin.explain()), str(twin.profile(xs)), twin.show(target="numba"), twin.compile("f8"), twin.function(xs[:2])
try:
    import numba
except ModuleNotFoundError:
    print("no numba")
for act in (lambda: twin.to("numba")(xs), lambda: pyflat.twin(shade, target="numba", math="fast")(xs),
            lambda: twin.to("numba").compile("f8"), lambda: twin.to("numba").explain(), lambda: twin.ufunc):
    try:
        act()
    except ImportError as error:
        print(error.name, str(error).partition(",")[0])
'''


def test_the_numpy_target_needs_no_numba():
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    numba = 'llvmlite the target "numba" needs llvmlite'
    assert ran.stdout.splitlines() == ["no numba", *[numba] * 4, "llvmlite shade_flat.ufunc needs llvmlite"]
