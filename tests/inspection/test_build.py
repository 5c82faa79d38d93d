"""Extension modules of ufuncs: the bits of the originals, where pyflat cannot be imported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pyflat.inspection.publishing import start as start_module
from pyflat.inspection.publishing.project import extension_path
from pyflat.inspection.publishing.start import start
from tests.generator import Program, generate
from tests.generator.built import check_built
from tests.generator.looping import generate_loops
from tests.support.processors import OWN, levels

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None or sys.platform != "linux", reason="no C compiler")
LEVELS = [each for each in levels() if each != OWN]
LIBRARY = '''
import math

UNITS = None
TABLE = [1.0, 2.0, 4.0]

def set_units(name):
    global UNITS
    UNITS = name

def saturation(t):
    return 6.1 * math.exp((22.4 if t < 0 else 17.6) * t / (243.0 + t))

def index(t: float, rh: float = 50.0, *, limit: float = 20.0) -> float:
    """How warm it "feels"."""
    if rh < 0:
        raise ValueError("negative humidity")
    return t if t < limit else t + 0.1 * saturation(t) * rh / 100 + math.log(rh)

def steps(n: int) -> int:
    k = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k

def split(x: float):
    return math.floor(x), x - math.floor(x), x > 0

def celsius(t: float) -> float:
    if UNITS == "K":
        return t - 273.15
    if UNITS == "F":
        return (t - 32) / 1.8
    raise RuntimeError("no units")

def money(x: float) -> float:
    return round(x * 1.19, 2)

def spin(n: int) -> int:
    while n % 2 == 1:
        n += 2
    return n

def scaled(x: float, factor: float, power: int):
    return factor * x ** power

def capped(x: float, cap: float, day: object):
    return min(x, cap) + day.year

def large(n: int):
    return n + 1 if n > 2**53 else n / 2

LOW, HIGH = tuple(k * 37 % 5000 / 8 for k in range(5000)), tuple(k * 29 % 5000 / 8 for k in range(5000))

def step(k: int):
    return LOW[k % 5000]

def stair(k: int):
    return HIGH[k % 5000]

def root(x: float) -> float:
    return x ** 0.5

def looked_up(x: float) -> float:
    return TABLE[1] * x

def named(x: float) -> str:
    return "low" if x < 0 else "high"
'''
TABLE = '''
[project]
license = "MIT"
[tool.pyflat]
build = "mylib/_fast"
functions = [
    "mylib.heat:index", "mylib.heat:s[pt]*", "mylib.heat:root", "mylib.heat:large",
    { function = "mylib.heat:capped", static = { cap = inf, day = 2024-02-29 } },
    { function = "mylib.heat:celsius", setup = "set_units('K')" },
    { function = "mylib.heat:celsius", setup = "set_units('F')" },
    { function = "mylib.heat:saturation", setup = "set_units('K')" },
    { function = "mylib.heat:saturation", setup = "set_units('F')" },
    "mylib.heat:money", { function = "mylib.heat:scaled", static = { power = 3 }, errors = "nan" },
]
'''
HEAD = '''
import sys
for name in ("pyflat", "numba", "llvmlite"):
    sys.modules[name] = None
import numpy as np
from mylib import _fast, heat

def same(found, expected):
    found = np.asarray(found)
    return found.tobytes() == np.array(expected, found.dtype).tobytes()

rng = np.random.default_rng(3)
t, rh = rng.uniform(-30, 45, 999), rng.uniform(1, 100, 999)
'''


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    (folder / "mylib").mkdir()
    (folder / "mylib/__init__.py").touch()
    (folder / "mylib/heat.py").write_text(LIBRARY)
    (folder / "pyproject.toml").write_text(TABLE)
    made = build(folder, CC="gcc -Wall -Werror")
    assert made.returncode == 0, made.stderr
    assert "14 functions" in made.stdout
    return folder


def build(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "pyflat", "build", *args], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **env}, check=False)


def run(folder: Path, text: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "error", "-c", HEAD + textwrap.dedent(text)], cwd=folder, check=False,
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(folder), **env})


def passes(folder: Path, text: str, **env: str) -> None:
    done = run(folder, text, **env)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("level", LEVELS)
def test_lanes_have_the_bits_of_the_functions(library: Path, level: str) -> None:
    passes(library, '''
        import os
        assert _fast.__level__ == os.environ["PYFLAT_LEVEL"]
        for x in (t, t[::-3], t.reshape(27, 37).T, t[:0], t.astype(">f8")):
            assert same(_fast.index(x, 40.0, 20.0).ravel(), [heat.index(each, 40.0) for each in x.ravel().tolist()])
        assert same(_fast.index(t, rh, 20.0), list(map(heat.index, t.tolist(), rh.tolist())))
        assert same(_fast.steps(np.arange(1, 3000)), list(map(heat.steps, range(1, 3000))))
        assert same(_fast.capped(t), (t + 2024).tolist())
        assert same(_fast.step(np.arange(99)), list(map(heat.step, range(99))))
        assert same(_fast.stair(np.arange(99)), list(map(heat.stair, range(99))))
        assert same(_fast.money(t), list(map(heat.money, t.tolist())))
        for found, expected in zip(_fast.split(t), zip(*map(heat.split, t.tolist()))):
            assert same(found, expected)
        for units in "KF":
            heat.set_units(units)
            assert same(_fast.celsius(t), list(map(heat.celsius, t.tolist())))
        assert same(_fast.scaled(t, 2.0), [heat.scaled(x, 2.0, 3) for x in t.tolist()])
    ''', PYFLAT_LEVEL=level)


def test_it_is_a_ufunc_of_numpy(library: Path) -> None:
    passes(library, '''
        assert isinstance(_fast.index, np.ufunc) and _fast.index.types == ["ddd->d"]
        assert _fast.index.__doc__.endswith('How warm it "feels".') and _fast.split.nout == 3
        out = t.copy()
        assert _fast.index(out, rh, 20.0, out=out) is out and same(out, _fast.index(t, rh, 20.0))
        assert same(_fast.index(t, rh, 20.0, where=t > 0, out=t.copy()), np.where(t > 0, _fast.index(t, rh, 20.0), t))
        assert same(_fast.index(30, 50, 20), heat.index(30.0, 50.0)) and type(_fast.steps(7)) is np.int64
        assert same(_fast.index(t[:5, None], rh[:7], 20.0), [[heat.index(a, b) for b in rh[:7].tolist()] for a in t[:5].tolist()])
        assert same(_fast.index(t.astype("f4"), 50, 20), [heat.index(x, 50.0) for x in t.astype("f4").tolist()])
    ''')


def test_lanes_in_doubt_go_to_the_function(library: Path) -> None:
    passes(library, '''
        bad = np.where(np.arange(999) == 700, -1.0, rh)
        try:
            _fast.index(t, bad, 20.0)
        except ValueError as error:
            assert str(error) == "negative humidity" and "in a lane of index: t=" in error.__notes__[0]
        else:
            raise AssertionError
        try:
            _fast.root(np.array([2.0, -4.0]))
        except TypeError as error:
            assert "mylib.heat:root returned ((1.2246467991473532e-16+2j),), and root was built for d" in str(error)
        else:
            raise AssertionError
        assert same(_fast.large(np.array([3, 2**60 - 1])), [1.5, 2.0**60])
        try:
            _fast.large(np.array([3, 2**60]))
        except TypeError as error:
            assert f"mylib.heat:large returned ({2**60 + 1},), and large was built for d" in str(error)
        else:
            raise AssertionError
        huge = np.array([2**62, 3, 2**63 - 1])
        assert same(_fast.steps(huge), list(map(heat.steps, huge.tolist())))
        assert np.isnan(_fast.scaled(np.array([1e200, 2.0]), 1.0)[0]) and _fast.scaled(2.0, 1.0) == 8.0
        heat.set_units(None)
        import warnings
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                _fast.celsius(t)
            except RuntimeError as error:
                assert str(error) == "no units"
            else:
                raise AssertionError
        assert "runs its Python function in each lane" in str(caught[0].message)
    ''')


def test_signals_end_a_loop(library: Path) -> None:
    passes(library, '''
        import signal
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            _fast.spin(np.arange(1, 99))
        except KeyboardInterrupt:
            assert same(_fast.spin(np.array([2, 4])), [2, 4])
        else:
            raise AssertionError
    ''')


def test_several_threads_call_at_once(library: Path) -> None:
    passes(library, '''
        from concurrent.futures import ThreadPoolExecutor
        expected = list(map(heat.index, t.tolist(), rh.tolist()))
        bad = np.where(np.arange(999) == 500, -1.0, rh)
        def call(k):
            if k % 3:
                return same(_fast.index(t, rh, 20.0), expected)
            try:
                _fast.index(t, bad, 20.0)
            except ValueError:
                return True
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(call, range(300)))
    ''')


def test_import_says_what_is_missing(library: Path, tmp_path: Path) -> None:
    low = run(library, "", PYFLAT_LEVEL="x86-64-v9")
    assert "PYFLAT_LEVEL=x86-64-v9: this processor has x86-64-v2" in low.stderr
    shutil.copytree(library / "mylib", tmp_path / "mylib")
    (tmp_path / "mylib/heat.py").write_text("")
    gone = run(tmp_path, "")
    assert "mylib._fast runs mylib.heat:index in lanes that are in doubt, and it is not there" in gone.stderr
    with pytest.raises(ImportError, match="mylib._fast needs a processor of the level x86-64-v2 or higher"):
        start(-1, 0, "mylib._fast", [], {}, {}, {}, {})


def test_versions_are_for_levels_and_libraries() -> None:
    versions = [(0, None), (1, None), (1, ("exp", "log")), (2, ("exp", "log"))]
    chosen = {(level, known): start_module._version(versions, level, frozenset(known.split()))
              for level in range(3) for known in ("", "exp", "exp log sin")}
    assert [chosen[level, "exp log sin"] for level in range(3)] == [0, 2, 3]
    assert [chosen[level, known] for level in range(3) for known in ("", "exp")] == [0, 0, 1, 1, 1, 1]


def test_a_file_that_cannot_be_written_is_one_sentence(library: Path) -> None:
    done = build(library, "mylib.heat:money", "-o", "/proc/none/fast")
    assert done.returncode == 2 and "cannot be written: No such file or directory" in done.stderr


def test_what_is_out_of_date_is_said(library: Path, tmp_path: Path) -> None:
    shutil.copytree(library, tmp_path / "copy")
    folder = tmp_path / "copy"
    assert build(folder, "--check").returncode == 0
    source = folder / "mylib/heat.py"
    source.write_text(source.read_text().replace("6.1", "6.2"))
    stale = build(folder, "--check")
    assert stale.returncode == 1 and "mylib.heat:index has changed" in stale.stderr and "steps" not in stale.stderr
    extension_path(folder / "mylib/_fast").write_bytes(b"mine")
    kept = build(folder)
    assert kept.returncode == 2 and "was not made by `pyflat build`; --force overwrites it" in kept.stderr


@pytest.mark.parametrize(("wanted", "why"), [
    ('"mylib.heat:named"', "a result of named is not bool, int or float"),
    ('"mylib.heat:looked_up"', "it reads a list that may change"),
    ('{ function = "mylib.heat:celsius", setup = "set_unit(1)" }', "setup = 'set_unit(1)': NameError: name 'set_unit'"),
    ('"mylib.heat:scaled", { function = "mylib.heat:scaled", static = { power = 3 } }',
     "the module has another function scaled, for mylib.heat:scaled"),
    ('"mylib.heat:money", { function = "mylib.heat:money", math = "fast" }', "another function money, for mylib.heat:money"),
    ('{ function = "mylib.heat:steps", errors = "nan" }', 'errors = "nan" is for results that are floats'),
    ('"mylib.heat:nothing*"', "there is no such function"),
    ('{ function = "mylib.heat:index", errors = "ignore" }', "errors: 'ignore' is not \"raise\" or \"nan\""),
])
def test_what_cannot_be_built_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, why: str
) -> None:
    (tmp_path / "mylib").mkdir()
    (tmp_path / "mylib/__init__.py").touch()
    (tmp_path / "mylib/heat.py").write_text(LIBRARY)
    (tmp_path / "pyproject.toml").write_text(f'[tool.pyflat]\nbuild = "mylib/_fast"\nfunctions = [{wanted}]\n')
    assert tomllib.loads((tmp_path / "pyproject.toml").read_text())
    done = build(tmp_path)
    assert done.returncode in (1, 2) and why in done.stderr and "Traceback" not in done.stderr


def test_a_killed_build_leaves_the_old_file(library: Path, tmp_path: Path) -> None:
    """Killed where the compiler would run: the file is there as before, and nothing beside it."""
    shutil.copytree(library, tmp_path / "copy")
    folder = tmp_path / "copy"
    compiler = tmp_path / "compiler"
    compiler.write_text("#!/bin/sh\nkill -9 $PPID\n")
    compiler.chmod(0o755)
    made = extension_path(folder / "mylib/_fast")
    before = made.read_bytes()
    assert build(folder, CC=str(compiler)).returncode == -9
    assert made.read_bytes() == before
    assert sorted(each.suffix for each in (folder / "mylib").glob("*.*")) == [".py", ".py", ".so"]
    assert build(folder, CC=str(tmp_path / "none")).returncode == 1


SAMPLES = [(generate, 0, 24), (generate_loops, 0, 8)]


@pytest.mark.parametrize(("make", "first", "last"), [
    *SAMPLES, *(pytest.param(make, last, last + 80, marks=pytest.mark.slow) for make, _, last in SAMPLES)])
def test_built_programs_have_the_bits_of_their_originals(
    tmp_path: Path, make: Callable[[int], Program], first: int, last: int
) -> None:
    counts, differences = check_built([make(seed) for seed in range(first, last)], tmp_path)
    assert not differences, differences[0]
    assert counts["built"] > 0.5 * (last - first), counts
    assert counts["same bits"] > 8 * counts["built"], counts


def test_hatchling_puts_it_into_a_wheel(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    (tmp_path / "src/mylib").mkdir(parents=True)
    (tmp_path / "src/mylib/__init__.py").touch()
    (tmp_path / "src/mylib/heat.py").write_text(LIBRARY)
    (tmp_path / ".gitignore").write_text("*.so\n")
    (tmp_path / "pyproject.toml").write_text('''
[build-system]
requires = ["hatchling", "pyflat"]
build-backend = "hatchling.build"
[project]
name = "mylib"
version = "1.0"
[tool.hatch.build.targets.wheel]
packages = ["src/mylib"]
[tool.hatch.build.targets.wheel.hooks.pyflat]
[tool.pyflat]
build = "src/mylib/_fast"
functions = ["mylib.heat:index"]
''')
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    wheel, = (tmp_path / "dist").glob("*.whl")
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert wheel.name.startswith(f"mylib-1.0-{python}-{python}-") and wheel.name.endswith("_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
        assert b"Root-Is-Purelib: false" in archive.read("mylib-1.0.dist-info/WHEEL")
    passes(tmp_path / "installed", "assert same(_fast.index(t, rh, 20.0), list(map(heat.index, t.tolist(), rh.tolist())))")
    (tmp_path / "pyproject.toml").write_text((tmp_path / "pyproject.toml").read_text().replace("heat:index", "heat:named"))
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode and "not built: mylib.heat:named: a result of named is not bool" in refused.stderr
