"""`pyflat export` as a process, and what is exported as a library that cannot import pyflat."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_show import one_line, pyflat

LIBRARY = '''\
import math

LIMIT = 90.0
TABLE = [1.0, 2.0]


class HeatError(ValueError):
    pass


def _saturation(t):
    return 6.1 * math.exp(17.6 * t / (243.0 + t))


def index(t: float, h: float = 50.0) -> float:
    """The heat index.

    t  in degrees
    """
    if h > LIMIT:
        raise ValueError("too wet")
    return t + _saturation(t) * h / 100.0


def due(income: int, year: int) -> tuple:
    if income < 0:
        raise ValueError(f"no income of {income}")
    return income * year, income // (year - 2000)


def waves(z: complex, mode="sum", np: float = 1.0):
    """Says "this" and \\\\ that."""
    return z * z + np if mode == "sum" else z


def listed(i: int):
    return TABLE[i]


def special(x: float):
    if x < 0.0:
        raise HeatError("cold")
    return x


def maybe(x: float):
    return None if x < 0.0 else x
'''
PROJECT = '''\
[project]
name = "mylib"
license = "MIT"
[tool.pyflat]
export = "mylib/_flat.py"
functions = ["mylib.heat:index", { function = "mylib.heat:due", kinds = "i8", static = { year = 2024 } }]
'''
ALONE = "import sys; sys.modules['pyflat'] = None; import numpy as np; from mylib import _flat as m\n"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    (tmp_path / "mylib").mkdir()
    (tmp_path / "mylib" / "__init__.py").write_text("")
    (tmp_path / "mylib" / "heat.py").write_text(LIBRARY)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    return tmp_path


def alone(folder: Path, program: str) -> str:
    run = subprocess.run([sys.executable, "-c", ALONE + program], cwd=folder, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout.decode().strip()


def failing(folder: Path, call: str) -> str:
    return alone(folder, f"try:\n    {call}\nexcept Exception as e:\n    print(type(e).__name__, e)")


def exported(folder: Path) -> str:
    return (folder / "mylib" / "_flat.py").read_text()


def test_the_table_is_exported_and_runs_without_pyflat(library: Path) -> None:
    run = pyflat("export", cwd=library)
    assert run.returncode == 0, run.stderr
    text = exported(library)
    assert "# SPDX-License-Identifier: MIT\n" in text
    assert '"""The heat index."""' in text
    assert "def index(t: npt.ArrayLike, h: npt.ArrayLike = 50.0) -> npt.NDArray[np.float64] | Any:" in text
    assert "def due(income: npt.ArrayLike) -> tuple[" in text
    assert text.count("class lanes:") == 1
    assert {line.split()[1].partition(".")[0] for line in text.split("\n") if line.startswith(("import ", "from "))} == {
        "__future__", "math", "typing", "numpy"}
    want = "import math\nt = 20.0\nprint(m.index(t) == t + 6.1 * math.exp(17.6 * t / (243.0 + t)) * 50.0 / 100.0)"
    assert alone(library, want) == "True"
    assert alone(library, "print(type(m.index(1.0)), type(m.index(np.float64(1))), m.index([[1.0], [2.0]], [1, 2, 3]).shape)"
                 ) == "<class 'float'> <class 'numpy.float64'> (2, 3)"
    assert alone(library, "print(m.due(48), [v.dtype for v in m.due([1, 2])])") == \
        "(97152, 2) [dtype('int64'), dtype('int64')]"


def test_lanes_raise_what_the_original_raises(library: Path) -> None:
    assert pyflat("export", cwd=library).returncode == 0
    assert failing(library, "m.index([1.0, 2.0, -243.0], [1, 99, 98])") == "ValueError too wet (lane 1)"
    assert failing(library, "m.index([1.0, -243.0])") == "ZeroDivisionError division by zero (lane 1)"
    assert failing(library, "m.index(np.full((2, 2), 1.0), [[1, 2], [3, 99]])") == "ValueError too wet (lane (1, 1))"
    assert failing(library, "m.index(1.0, 99.0)") == "ValueError too wet"
    assert failing(library, "m.due(-1)").startswith("ValueError mylib.heat:due: raise ValueError(f'no income")
    assert failing(library, "m.due([1, 2**62])").startswith("OverflowError mylib.heat:due raises here, or exceeds")
    assert failing(library, "m.due(1.5)") == "TypeError income has values of float64 that int64 may not have"
    assert failing(library, "m.index(2**53 + 1)").startswith("TypeError t has values of int64")
    assert failing(library, "m.index([1.0, 2.0], [1.0, 2.0, 3.0])").startswith("ValueError shape mismatch")


def test_where_a_table_of_pyflats_own_ends_is_a_doubt(library: Path) -> None:
    source = library / "mylib" / "heat.py"
    source.write_text(source.read_text() + "\n\ndef comb(n: int):\n    return math.factorial(n) // math.factorial(n - 1)\n")
    done = pyflat("export", "mylib.heat:comb", "-o", "mylib/_flat.py", cwd=library)
    assert done.returncode == 0, done.stderr
    assert alone(library, "print(m.comb(np.array([3, 5])).tolist())") == "[3, 5]"
    assert failing(library, "m.comb(np.array([3, 30]))").startswith("ArithmeticError mylib.heat:comb raises here")
    assert failing(library, "m.comb(np.array([-3]))").startswith("ValueError")


def test_check_says_what_is_out_of_date(library: Path) -> None:
    assert pyflat("export", "--check", cwd=library).returncode == 1
    assert pyflat("export", cwd=library).returncode == 0
    before = exported(library)
    assert pyflat("export", "--check", cwd=library).returncode == 0
    heat = library / "mylib" / "heat.py"
    heat.write_text(LIBRARY.replace("class HeatError", "# other\nclass HeatError"))
    assert pyflat("export", "--check", cwd=library).returncode == 0
    for old, new in (("17.6", "17.7"), ("LIMIT = 90.0", "LIMIT = 91.0"), ("t + _sat", "t - _sat")):
        heat.write_text(LIBRARY.replace(old, new))
        run = pyflat("export", "--check", cwd=library)
        assert run.returncode == 1
        assert "mylib.heat:index has changed" in one_line(run.stderr)
    heat.write_text(LIBRARY)
    (library / "pyproject.toml").write_text(PROJECT.replace('"mylib.heat:index", ', ""))
    assert "no longer requested" in one_line(pyflat("export", "--check", cwd=library).stderr)
    assert exported(library) == before


def test_a_changed_file_is_overwritten_by_force_only(library: Path) -> None:
    assert pyflat("export", cwd=library).returncode == 0
    before = exported(library)
    for text in (before.replace("50.0", "60.0"), "print('mine')\n"):
        (library / "mylib" / "_flat.py").write_text(text)
        run = pyflat("export", cwd=library)
        assert run.returncode == 2
        assert "--force" in one_line(run.stderr)
        assert exported(library) == text
        assert pyflat("export", "--check", cwd=library).returncode == 1
        assert pyflat("export", "--force", cwd=library).returncode == 0
        assert exported(library) == before
    assert [path.name for path in (library / "mylib").iterdir() if path.suffix != ""] == [
        path.name for path in (library / "mylib").glob("*.py")]


def test_what_cannot_be_exported_is_listed_and_the_rest_is_written(library: Path) -> None:
    run = pyflat("export", "mylib.heat", "-o", "mylib/_flat.py", cwd=library)
    assert run.returncode == 1
    said = run.stderr.decode()
    for line in ("listed: it reads a list that may change", "special: it raises HeatError", "maybe: its results are"):
        assert f"not exported: mylib.heat:{line}" in said
    assert alone(library, "print(m.index(1.0) > 1, m.waves(1j, np=2.0), m.waves([1.0]), m.waves.__doc__)") == \
        'True (1+0j) [2.+0.j] Says "this" and \\\\ that.'.replace("\\\\", "\\")
    frozen = PROJECT.replace('"mylib.heat:index"', '{ function = "mylib.heat:listed", frozen = true }')
    (library / "pyproject.toml").write_text(frozen)
    assert pyflat("export", cwd=library).returncode == 0
    assert alone(library, "print(m.listed([0, -1]))") == "[1. 2.]"
    (library / "mylib" / "heat.py").write_text(LIBRARY.replace("[1.0, 2.0]", "[1.0, 2.5]"))
    assert pyflat("export", "--check", cwd=library).returncode == 1


def test_a_variable_that_functions_assign_is_no_constant(library: Path) -> None:
    (library / "mylib" / "units.py").write_text(
        "UNITS = 2.0\n\ndef set_units(x):\n    global UNITS\n    UNITS = x\n\n"
        "def scaled(x: float) -> float:\n    return x * UNITS\n")
    run = pyflat("export", "mylib.units:scaled", cwd=library)
    assert run.returncode == 1
    assert b"scaled: it reads mylib.units.UNITS, which functions assign; if it does not change" in run.stderr
    (library / "pyproject.toml").write_text(
        PROJECT.replace('"mylib.heat:index"', '{ function = "mylib.units:scaled", frozen = true }'))
    assert pyflat("export", cwd=library).returncode == 0
    assert alone(library, "print(m.scaled(4.0))") == "8.0"


def test_a_function_of_the_command_line_goes_to_stdout(library: Path) -> None:
    run = pyflat("export", "mylib.heat:due", "--kinds", "i8,i8", cwd=library)
    assert run.returncode == 0
    assert b"def due(income: npt.ArrayLike, year: npt.ArrayLike)" in run.stdout
    assert not (library / "mylib" / "_flat.py").exists()


@pytest.mark.turns(2)
@pytest.mark.parametrize(("old", "new", "said"), [
    ('"mylib.heat:index"', "3", "functions[0]: 3 is not a table"),
    ('"mylib.heat:index"', "{ kinds = 'f8' }", "functions[0]: it names no function"),
    ('kinds = "i8"', "kinds = 8", "functions[1].kinds: 8 is not a string"),
    ('kinds = "i8"', 'kind = "i8"', "functions[1].kind: there is no such key"),
    ("static = { year = 2024 }", "static = 2024", "functions[1].static: 2024 is not a table"),
    ('export = "mylib/_flat.py"', "export = []", "export: [] is not the path"),
    ('export = "mylib/_flat.py"', "", "[tool.pyflat] export ="),
    ("functions = ", "function = ", "function: there is no such key"),
    ("functions = [", "functions = [[", "pyproject.toml:"),
    ('"mylib.heat:index"', '"mylib.heat:indx"', "did you mean 'index'"),
    ('"mylib.heat:index"', '"mylib.cold:index"', "no module named"),
])
def test_a_wrong_table_is_one_sentence_that_names_the_key(library: Path, old: str, new: str, said: str) -> None:
    assert old in PROJECT
    (library / "pyproject.toml").write_text(PROJECT.replace(old, new))
    run = pyflat("export", cwd=library)
    assert run.returncode == 2
    assert said in one_line(run.stderr)


def test_wrong_kinds_and_static_names_are_reasons(library: Path) -> None:
    for old, new in (('kinds = "i8"', 'kinds = "i8,f8,f8"'), ("year = 2024", "yeer = 2024")):
        (library / "pyproject.toml").write_text(PROJECT.replace(old, new))
        run = pyflat("export", "--force", cwd=library)
        assert run.returncode == 1
        assert "not exported: mylib.heat:due: " in one_line(run.stderr)
