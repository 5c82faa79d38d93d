"""docs/compare/: the blocks of each tool run and print what the page says, and the scoreboard shows its records."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import bars, drawn, scoreboard
from benchmarks.contenders import CONTENDERS, UnavailableError
from benchmarks.contenders.blosc2_text import text_of
from benchmarks.contenders.extensions import cython_text, pythran_text
from benchmarks.contenders.standalone import standalone
from benchmarks.kernels import KERNELS, Kernel
from benchmarks.report import read

PAGE = scoreboard.PAGE.with_name("index.md")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.py)")
NEEDS = {"pyflat": "numba", "np.where by hand": "numpy", "numba": "numba", "JAX": "jax", "Dr.Jit": "drjit", "Polars": "polars",
         "python-blosc2's DSL": "blosc2", "Cython": "Cython", "Pythran": "pythran"}
BUILDS = {"Cython": ["cythonize", "-3", "-i", "loans_cython.py"],
          "Pythran": ["pythran", "-O3", "-march=native", "loans_pythran.py"]}
SECTIONS = {text.partition("\n")[0]: text for text in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]}
ROWS = [read(path) for path in scoreboard.RECORDS]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path),
                            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}


def ran(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("tool", NEEDS)
def test_the_blocks_print_what_the_page_says(tool, tmp_path):
    pytest.importorskip(NEEDS[tool])
    if tool in BUILDS and shutil.which("g++") is None:
        pytest.skip("no compiler")
    if tool == "Dr.Jit":
        pytest.importorskip("drjit.llvm").Float64(1.0)
    files = {FILE.match(text)[1]: text for _, text in FENCE.findall(PAGE.read_text(encoding="utf-8")) if FILE.match(text)}
    for name, text in files.items():
        whole = files["loans.py"] if "all of loans.py" in text.splitlines()[0] else ""
        (tmp_path / name).write_text(whole + text, encoding="utf-8")
    blocks = FENCE.findall(SECTIONS[tool])
    code = "".join(text for language, text in blocks if language == "python" and not FILE.match(text))
    (tmp_path / "run.py").write_text(f"import loans as source\nfrom data import loans, never, np, show\n{code}", encoding="utf-8")
    if tool in BUILDS:
        ran(BUILDS[tool], tmp_path)
    assert ran([sys.executable, "run.py"], tmp_path) == "".join(text for language, text in blocks if language == "output")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")[1:-1]]


def test_every_tool_has_a_section_and_the_table_has_the_scoreboards_figures():
    assert [*NEEDS, "In one table"] == list(SECTIONS)
    rows = {cells(line)[0]: cells(line) for line in SECTIONS["In one table"].splitlines() if line.startswith("| ")}
    called = {called: name for name, (called, _) in scoreboard.TOOLS.items()}
    figures = {name: row[-1] for name, row in rows.items() if name in called}
    assert figures == {name: scoreboard.versus(ROWS[0], "numba", called[name]) for name in figures}
    assert len(figures) == 8
    faster = [sum(row.ratio("numba", to=name) < 1.0 for row in ROWS[0]) for name in ("jax", "drjit")]
    other = [sum(row.bits[name] > 0 for row in ROWS[0]) for name in ("jax", "drjit")]
    assert (f"in {faster[0]} functions, Dr.Jit in {faster[1]}; JAX has other last digits than Python in {other[0]}, "
            f"Dr.Jit in {other[1]}.") in " ".join(SECTIONS["In one table"].split())


CUBES = {
    "numpy": lambda np: np.array([3_000_000_000]) ** 3,
    "numba": lambda numba: numba.vectorize(lambda n: n * n * n)(np.array([3_000_000_000])),
    "jax": lambda jax: jax.numpy.array([3_000_000_000], dtype="int64") ** 3,
    "polars": lambda pl: pl.Series([3_000_000_000]) * 3_000_000_000 * 3_000_000_000,
    "drjit.llvm": lambda llvm: llvm.Int64([3_000_000_000]) * 3_000_000_000 * 3_000_000_000,
}


@pytest.mark.parametrize("module", CUBES)
def test_ints_wrap_where_the_page_says_so(module):
    tool = pytest.importorskip(module)
    if module == "jax":
        with tool.enable_x64(True):
            assert int(CUBES[module](tool)[0]) == -2666827603905609728
    else:
        assert int(CUBES[module](tool)[0]) == -2666827603905609728


def test_polars_divides_ints_by_zero_to_null_and_numba_to_zero():
    assert pytest.importorskip("polars").select(x=pytest.importorskip("polars").lit(5) // 0).item() is None
    numba = pytest.importorskip("numba")
    assert numba.vectorize(lambda a, b: a // b)(np.array([5]), np.array([0]))[0] == 0


# --- the scoreboard


def test_the_page_and_its_pictures_are_those_of_the_records():
    assert scoreboard.PAGE.read_text(encoding="utf-8") == scoreboard.text(*ROWS)
    for name, picture in scoreboard.pictures(ROWS[0]).items():
        assert (scoreboard.PAGE.parent / name).read_text(encoding="utf-8") == picture
    assert [row.kernel for row in ROWS[0]] == list(KERNELS)
    assert [row.kernel for row in ROWS[1]] == list(drawn.drawn())
    assert set(bars.FUNCTIONS) == set(KERNELS)


def test_the_figures_that_other_pages_quote_are_those_of_the_records():
    means = [scoreboard.versus(ROWS[0], "numba", peer) for peer in bars.PEERS]
    slower = [bars.short(row.ratio("numba")) for row in ROWS[0] if row.ratio("numba") < 1.0]
    root = scoreboard.ROOT
    readme = (root / "README.md").read_text(encoding="utf-8")
    said = re.search(r"(\d+) times np.vectorize,\s+(\d+)\s+times\s+np.where written by hand, and\s+([\d.]+) times\s+numba.vectorize", readme)
    assert list(said.groups()) == means
    assert f"gain less: {scoreboard.versus(ROWS[1], 'numba', scoreboard.UNIT)} times numba.vectorize" in readme
    for text in (readme, (root / "docs" / "index.md").read_text(encoding="utf-8"),
                 (root / "docs" / "explanation" / "performance.md").read_text(encoding="utf-8")):
        assert all(f"{ratio}" in text for ratio in slower)


# --- contenders


def test_a_function_is_a_module_with_its_helpers_and_constants():
    text = standalone(KERNELS["bs"].function).text()
    scope = {}
    exec(text, scope)
    columns = KERNELS["bs"].lanes(50)
    rows = list(zip(*[column.tolist() for column in columns]))
    assert [scope["black_scholes"](*row) for row in rows] == [KERNELS["bs"].function(*row) for row in rows]
    assert text.startswith("import math\nRATE = 0.02\ndef normal_cdf(x):")


class Table:
    pass


TABLE = Table()


def reads_an_object(x):
    return x + TABLE.width


def test_what_a_module_cannot_hold_is_a_note():
    with pytest.raises(UnavailableError, match="reads TABLE, which is of the type Table"):
        standalone(reads_an_object)
    with pytest.raises(UnavailableError, match="has no source"):
        standalone(eval("lambda x: x"))


def test_cython_gets_c_types_and_pythran_an_export_line():
    kernel = KERNELS["noise"]
    columns = kernel.lanes(4)
    text = cython_text(kernel, columns)
    assert "def noise(x: cython.double, y: cython.double) -> cython.double:" in text
    assert "i = _floor(x)" in text
    assert "cython.cast(cython.longlong, 4294967295)" in text
    assert pythran_text(kernel, columns).startswith("#pythran export run(float64[], float64[])\n")


def test_blosc2_gets_its_own_spellings():
    text = text_of(KERNELS["hsv"])
    assert text.startswith("def hsv_score(r, g, b):\n    largest = fmax(fmax(r, g), b)")
    with pytest.raises(UnavailableError, match="no other function: normal_cdf"):
        text_of(KERNELS["bs"])


@pytest.mark.parametrize("name", ["bs", "hsv", "noise", "haversine", "steam", "orbit", "comfort", "tax", "srgb", "piecewise", "perlin"])
def test_polars_agrees_with_the_original(name):
    pytest.importorskip("polars")
    kernel = KERNELS[name]
    columns = kernel.lanes(500)
    found = CONTENDERS["polars"].make(kernel, columns)()
    wanted = [kernel.function(*row) for row in zip(*[column.tolist() for column in columns])]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_polars_has_no_loops():
    pytest.importorskip("polars")
    with pytest.raises(UnavailableError, match="no loops"):
        CONTENDERS["polars"].make(KERNELS["kepler"], KERNELS["kepler"].lanes(4))


# --- drawn functions


def share(part: float, whole: float) -> float:
    if whole < 0.0:
        raise ValueError(whole)
    return part / whole


@pytest.mark.filterwarnings("ignore")
def test_outcomes_are_compared_as_numbers_and_exceptions():
    kernel = Kernel("share", share, lambda n: [np.linspace(1.0, 2.0, n), np.linspace(3.0, 4.0, n)])
    normal, edges = drawn.rows_of(kernel)
    assert len(normal) == drawn.NORMAL
    assert len(edges) == 10
    found = drawn.compare(kernel, ["np.vectorize", "numba", "numba.vectorize"])
    assert found["np.vectorize"] == found["numba"] == {"values": 0, "of values": 200, "edges": 0, "of edges": 10}
    assert found["numba.vectorize"]["edges"] == 1  # a division by 0


def test_numbers_are_the_same_within_four_units_in_the_last_place():
    assert drawn.same(1.0 + 4 * np.spacing(1.0), 1.0)
    assert not drawn.same(1.0 + 5 * np.spacing(1.0), 1.0)
    assert drawn.same(float("nan"), float("nan"))
    assert not drawn.same(float("nan"), 1.0)
    assert drawn.same("ValueError", "ValueError")
    assert not drawn.same("TypeError", "ValueError")
    assert not drawn.same(None, 1.0)


def test_the_draw_can_be_drawn_again(monkeypatch):
    monkeypatch.setattr(drawn, "PACKAGES", {"calendar": int})
    first, rejected = drawn.draw(2, 1)
    assert (first, rejected) == drawn.draw(2, 1)
    assert {each.module for each in first} == {"calendar"}
    assert drawn.candidate("calendar", "monthrange", int) == "no number"
    recorded = json.loads(drawn.FILE.read_text(encoding="utf-8"))
    assert len(recorded["chosen"]) == 20


def test_a_row_that_takes_too_long_leaves_the_contender_out(monkeypatch):
    from benchmarks import lanes
    outcomes = [subprocess.TimeoutExpired("", 5, b"start a\nstart b\n"), None]

    def run(command, **keywords):
        late = outcomes.pop(0)
        if late:
            raise late
        return subprocess.CompletedProcess(command, 0, 'result {"notes": {}}\n', "")

    monkeypatch.setattr(lanes.subprocess, "run", run)
    assert json.loads(lanes.row("other.function", "f8", 4, ["a", "b"], lanes.Limits(), 5.0)) == {
        "notes": {"b": "takes more than 5 s"}}
