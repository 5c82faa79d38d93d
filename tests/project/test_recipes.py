"""The recipes of CONTRIBUTING.md work: each is carried out in a copy of the tree, and what it adds is used there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import recipes
from tests.support.patience import HANG


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return recipes.copy_of_the_tree(tmp_path)


def run(tree: Path, *arguments: str) -> str:
    """What Python prints, with the copy in the place of pyflat."""
    done = subprocess.run([sys.executable, *arguments], cwd=tree, capture_output=True, text=True, timeout=HANG, check=False,
                          env={**os.environ, "PYTHONPATH": str(tree), "PYFLAT_VALIDATE": "1",
                               "PYFLAT_CACHE_DIR": str(tree / "cache")})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def script(tree: Path, text: str) -> str:
    (tree / "use.py").write_text(text, encoding="utf-8")
    return run(tree, "use.py")


FUNCTION = '''
import numpy as np
import pyflat
from pyflat.functions import vmath

def window(x: float) -> float:
    if x < 0.0:
        return -1.0
    return np.i0(x)

def decides(x: float) -> float:
    return 1.0 if np.i0(x) > 1.25 else x

xs = np.concatenate([np.random.default_rng(1).normal(0.0, 2.0, 500), [0.0, -0.0, 3.0, 4.0, 30.0, 800.0, np.inf, np.nan]])
np.seterr(all="ignore")
for function in (window, decides):
    expected = np.array([float(function(x)) for x in xs.tolist()])
    for target in ("numpy", "numba"):
        assert pyflat.twin(function, target=target, math="exact")(xs).tobytes() == expected.tobytes(), (function, target)
    fast = pyflat.twin(function, target="numba", math="fast")(xs)
    near = (xs >= 0.0) & (xs <= 3.0)
    print(function.__name__, *("fast" if not np.array_equal(fast, expected, equal_nan=True) else "the same",))
    assert function is window or fast.tobytes() == expected.tobytes()
    if function is window and "i0" in vmath.TABLE:
        assert fast[near].tobytes() == vmath.evaluate("i0", xs[near]).tobytes()
        assert fast[~near].tobytes() == expected[~near].tobytes()
        assert (abs(fast[near] / expected[near] - 1.0) < 6 * 2.0**-52).all()
space = {}
exec(pyflat.twin(window).show(target="numpy"), space)
assert space["window_flat"](xs).tobytes() == np.array([float(window(x)) for x in xs.tolist()]).tobytes()
try:
    pyflat.twin(window).show(target="wgsl")
except pyflat.FlattenError as error:
    print(str(error).partition(" [")[0])
'''


def test_a_record_adds_a_function(tree: Path) -> None:
    recipes.carry_out("record", tree)
    assert "np.i0 is not available on WGSL" in (printed := script(tree, FUNCTION))
    assert "window the same" in printed


def test_a_kernel_makes_it_fast(tree: Path) -> None:
    recipes.carry_out("record", tree)
    recipes.carry_out("kernel", tree)
    printed = script(tree, FUNCTION)
    assert "window fast" in printed
    assert "decides the same" in printed
    run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/functions/test_records.py", "-k", "i0 or costs or target")


def test_a_mathematical_function_is_two_places() -> None:
    assert recipes.files("record", "kernel") == ["pyflat/functions/records.py", "pyflat/functions/vmath/bessel.py"]


PASS = '''
import math
from pyflat.backend import flatten_function, flatten_optimize

def signed(x: float, y: float) -> float:
    return math.copysign(abs(x), y)

print(flatten_optimize(flatten_function(signed, faults="drop")).counts())
'''


def test_a_file_and_a_line_add_a_pass(tree: Path) -> None:
    assert "abs" in script(tree, PASS)
    recipes.carry_out("pass", tree)
    printed = script(tree, PASS)
    assert "abs" not in printed
    assert "copysign" in printed
    run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/passes/test_drop_lost_signs.py")


TARGET = '''
import math
import numpy as np
import pyflat
import pyflat.testing

def newton(x: float) -> float:
    if x < 0.0:
        raise ValueError(f"negative {x}")
    root = 1.0
    while abs(root * root - x) > 1e-9 * x:
        root = (root + x / root) / 2.0
    return root

xs = np.array([0.25, 2.0, 81.0, 1e6])
expected = [newton(x) for x in xs.tolist()]
twin = pyflat.twin(newton, target="lanewise")
assert twin(xs).tolist() == pyflat.twin(newton).to("lanewise")(xs).tolist() == expected
try:
    twin(np.array([1.0, -2.0]))
except ValueError as error:
    print(error)

def shade(x: float, n: int) -> float:
    return n // 3 + (1.0 / x if x > 0.5 else math.sqrt(x))

pyflat.testing.verify(shade, target="lanewise")
print("func @newton" in twin.show(target="lanewise") and "    while " in twin.source)
'''


def test_a_module_and_an_entry_add_a_target(tree: Path) -> None:
    recipes.carry_out("target", tree)
    assert script(tree, TARGET) == "negative -2.0\nTrue\n"
    run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/targets/test_protocol.py", "-k", "checkers or record_names")
    assert recipes.files("target") == ["pyflat/targets/lanewise.py", "pyflat/targets/target.py"]


def test_an_edit_that_does_not_fit_is_seen() -> None:
    assert recipes.changed("a\nb\n", " a\n+c\n") == "a\nc\nb\n"
    for text in ("b\n", "a\na\n"):
        with pytest.raises(ValueError, match="not once"):
            recipes.changed(text, "-a\n")
