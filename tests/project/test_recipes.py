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


@pytest.mark.slow
def test_a_record_adds_a_function(tree: Path) -> None:
    recipes.carry_out("record", tree)
    assert "np.i0 is not available on WGSL" in (printed := script(tree, FUNCTION))
    assert "window the same" in printed


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_module_and_an_entry_add_a_target(tree: Path) -> None:
    recipes.carry_out("target", tree)
    assert script(tree, TARGET) == "negative -2.0\nTrue\n"
    assert "func @newton" in run(tree, "-m", "pyflat", "show", "use.py:newton", "--target", "lanewise")
    run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/targets/test_protocol.py", "-k", "checkers or record_names")
    assert recipes.files("target") == ["pyflat/targets/lanewise.py", "pyflat/targets/target.py"]


PRIMITIVE = '''
import numba
import numpy as np
import pyflat
from pyflat.targets import sql, xp
from pyflat.vec import fract

def part(x: float) -> float:
    return fract(x)

def wave(x: float, y: float) -> float:
    if x > 8.0:
        return fract(x) * y
    return abs(fract(x) - 0.5) + fract(y)

def added(a, out, n: int):
    for i in range(n):
        out[i] = fract(a[i]) + out[i]

def ends(function, *arguments):
    try:
        function(*arguments)
    except (OverflowError, ValueError) as error:
        return str(error)

rng = np.random.default_rng(1)
xs, ys = rng.normal(0.0, 9.0, 2000), rng.normal(0.0, 1e3, 2000)
xs[:5] = -0.0, 0.0, 1e18, -1e-300, -5.0
for function, columns in ((part, (xs,)), (wave, (xs, ys))):
    lanes = list(zip(*(column.tolist() for column in columns)))
    expected = np.array([function(*lane) for lane in lanes])
    for target in ("numpy", "numba", "dataflow"):
        n = 40 if target == "dataflow" else len(xs)
        twin = pyflat.twin(function, target=target)
        assert twin(*(column[:n] for column in columns)).tobytes() == expected[:n].tobytes(), target
        for wrong in (np.inf, np.nan):
            lane = (1.0, wrong)[-len(columns):]
            assert ends(twin, *map(np.array, zip(lane, lane))) == ends(function, *lane) != None, target
    spaces = {}, {}
    for space, target in zip(spaces, ("numpy", "numba")):
        exec(pyflat.twin(function).show(target=target), space)
    array, number = [space[f"{function.__name__}_flat"] for space in spaces]
    assert array(*columns).tobytes() == expected.tobytes()
    assert np.array([number(*lane) for lane in lanes]).tobytes() == expected.tobytes()
    assert np.asarray(xp.function(function, np)(*columns)).tobytes() == expected.tobytes()
for target in ("numpy", "numba"):
    for wrong in (0.25, np.inf):
        given, wanted, out = xs[:40].copy(), ys[:40].copy(), ys[:40].copy()
        given[20] = wrong
        twin = pyflat.twin(added, target=target)
        assert ends(added, given, wanted, 40) == ends(twin, given, out, 40) and wanted.tobytes() == out.tobytes(), target
for target in ("numpy", "numba", "neutral", "wgsl", "glsl"):
    print(target, "fract(" in pyflat.twin(wave).show(target=target).partition("def ")[2 * target.startswith("n")])
print("sql", "fract(" in sql.expression(wave))
try:
    pyflat.twin(part, dtype="float32")(xs)
except pyflat.FlattenError as error:
    print(str(error).partition(" [")[0])
'''


@pytest.mark.slow
def test_two_rows_add_a_primitive(tree: Path) -> None:
    recipes.carry_out("primitive", tree)
    assert script(tree, PRIMITIVE).split("\n") == [
        "numpy False", "numba False", "neutral True", "wgsl False", "glsl False", "sql False", "fract in float32", ""]


@pytest.mark.slow
def test_a_word_spells_it(tree: Path) -> None:
    recipes.carry_out("primitive", tree)
    recipes.carry_out("spelling", tree)
    text = script(tree, "import pyflat\nfrom pyflat.vec import fract\ndef part(x: float):\n    return fract(x)\n"
                  "print(*(pyflat.twin(part).show(target=target) for target in ('wgsl', 'glsl')))\n")
    assert text.count("fract(x)") == 2


def test_a_primitive_is_two_places_and_one_for_each_spelling() -> None:
    assert [file for _, file, _ in recipes.blocks("primitive")] == ["pyflat/ir/ops.py", "pyflat/passes/rules/expansions.py"]
    assert len(recipes.blocks("spelling")) == 1
    changes = [line for _, _, text in recipes.blocks("primitive") for line in text.splitlines() if line[0] in "+-"]
    assert len(changes) == 2


def test_an_edit_that_does_not_fit_is_seen() -> None:
    assert recipes.changed("a\nb\n", " a\n+c\n") == "a\nc\nb\n"
    for text in ("b\n", "a\na\n"):
        with pytest.raises(ValueError, match="not once"):
            recipes.changed(text, "-a\n")
