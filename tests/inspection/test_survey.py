"""`pyflat survey`: what is found, what is tried, and what the table says."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pyflat.cli.main import commands
from pyflat.cli.survey import lines
from pyflat.inspection import survey as surveys
from tests.support.patience import HANG

LIBRARY = '''\
import enum
import functools
import math
import sys

print("noise on stdout")
print("noise on stderr", file=sys.stderr)


class Side(enum.Enum):
    LEFT = 1
    RIGHT = 2


def clamp(x: float, low=0.0) -> float:
    return low if x < low else x


def fine(x, limit=None, how="up", strict=False, n: int = 2):
    if limit is None:
        limit = 1.0
    if how == "up":
        return x + n
    if how == "down":
        return x - n
    return input()


def mode(x, how):
    return x if how == "a" else -x


def side(x, s: Side):
    return x if s is Side.LEFT else -x


def bits(n):
    return n & 7


def table(i):
    return [1.0, 2.0, 3.0][i]


def power(x, n):
    total = 0.0
    for part in (x,) * n:
        total += part
    return total


def halves(x):
    while x > 1.0:
        x = x / 2.0
    return x


@functools.lru_cache
def cached(x):
    return math.sqrt(x)


def asks(x):
    return x + float(input())


def total(values):
    return sum(v * 2 for v in values)


def deep(v):
    return helper(v)


def helper(v):
    return v[0] + 1


def apply(f, x):
    return f(x)


def says(x):
    return f"{x:.2f}"


def graded(x) -> str:
    return "high" if x > 1.0 else "low"


def nothing(x):
    x + 1


def numbers(n):
    yield n


def passed_on(n):
    if n < 0:
        return iter(numbers(-n))
    return numbers(n)


def constant():
    return 1.0


class Shape:
    def area(self, x):
        return x

    @staticmethod
    def twice(x):
        return 2 * x
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "surveyed"
    (package / "inner").mkdir(parents=True)
    (package / "tests").mkdir()
    (package / "__init__.py").write_text("from .library import clamp\n")
    (package / "library.py").write_text(LIBRARY)
    (package / "broken.py").write_text("1 / 0\n")
    (package / "leaving.py").write_text("import sys\nsys.exit('bye')\n")
    (package / "inner" / "__init__.py").write_text("")
    (package / "inner" / "last.py").write_text("from ..library import clamp\ndef last(x):\n    return clamp(x) + 1\n")
    (package / "tests" / "__init__.py").write_text("raise SystemError\n")
    (package / "__main__.py").write_text("raise SystemError\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def found(folder: Path) -> dict[str, surveys.Row]:
    done = surveys.survey("surveyed")
    assert list(done.place.modules) == ["surveyed", "surveyed.broken", "surveyed.inner", "surveyed.inner.last",
                                        "surveyed.leaving", "surveyed.library"]
    return {row.function or row.module: row for row in done.rows}


def test_verdicts_and_options(found):
    flattening = {name for name, row in found.items() if row.verdict == "flattens"}
    assert flattening == {"clamp", "fine", "mode", "side", "bits", "table", "power", "halves", "cached", "last", "graded",
                          "says", "Shape.area", "Shape.twice"}
    fine = found["fine"]
    assert fine.kinds == {"x": "float", "n": "int"}
    assert fine.fixed == {"limit": "None", "how": "'up'", "strict": "False"} and fine.but == {}
    assert found["mode"].fixed == {"how": "'a'"}
    assert found["side"].fixed == {"s": "<Side.LEFT: 1>"}
    assert found["bits"].kinds == {"n": "int"} and found["table"].kinds == {"i": "int"}
    assert found["power"].static == ["n"] and found["power"].fixed == {"n": "2"}
    assert found["halves"].loop and not found["clamp"].loop
    asks = found["asks"]
    assert (asks.verdict, asks.code, asks.construct) == ("refused", "flatten/unknown-call", "input()")
    assert asks.at.endswith(f"library.py:{LIBRARY[:LIBRARY.index('x + float')].count(chr(10)) + 1}") and asks.help


def test_what_is_no_kernel_is_skipped(found):
    reasons = {name: row.message for name, row in found.items() if row.verdict == "skipped"}
    assert reasons == {
        "total": "takes a container", "deep": reasons["deep"], "helper": "takes a container",
        "apply": "takes a function", "nothing": "returns nothing",
        "numbers": "a generator or coroutine", "passed_on": "a generator or coroutine", "constant": "takes no parameters",
    }
    assert reasons["deep"] in ("takes a container, as a callee shows", "raises for every number: takes something else")


def test_modules_that_cannot_be_imported(found):
    failed = {name: row.message for name, row in found.items() if row.verdict == "import-failed"}
    assert failed == {"surveyed.broken": "ZeroDivisionError: division by zero", "surveyed.leaving": "SystemExit: bye"}


def test_table_and_json(folder):
    shown = CliRunner().invoke(commands, ["survey", "surveyed"])
    assert shown.exit_code == 0 and "noise" not in shown.output
    text = shown.output
    assert "\n  power" in text and "static=('n',), tried with n=2" in text
    assert "surveyed: 14 of 15 functions flatten (93%)" in text
    assert "    1  flatten/unknown-call" in text and "2  modules cannot be imported" in text
    document = json.loads(CliRunner().invoke(commands, ["survey", "surveyed", "--json"]).output)
    assert document["schema"] == 1 and set(document) == {"schema", "place", "modules", "rows", "summary"}
    assert document["summary"]["share"] == 0.9333 and document["summary"]["by_code"] == {"flatten/unknown-call": 1}
    assert {row["verdict"] for row in document["rows"]} == {"flattens", "refused", "skipped", "import-failed"}


def test_files_folders_and_limit(folder):
    alone = folder / "alone.py"
    alone.write_text("import beside\n\ndef one(x):\n    return x + beside.ONE\n\ndef two(x):\n    return x\n")
    (folder / "beside.py").write_text("ONE = 1\n")
    assert [row.function for row in surveys.survey(str(alone)).rows] == ["one", "two"]
    cut = surveys.survey("alone.py", limit=1)
    assert [row.function for row in cut.rows] == ["one"] and cut.cut and "(cut by --limit)" in "\n".join(lines(cut))
    inner = surveys.survey(str(folder / "surveyed" / "inner" / "last.py"))
    assert [(row.module, row.verdict) for row in inner.rows] == [("surveyed.inner.last", "flattens")]
    scripts = folder / "scripts"
    scripts.mkdir()
    (scripts / "a-script.py").write_text("def run(x):\n    return x * 2\n")
    assert [row.verdict for row in surveys.survey(str(scripts)).rows] == ["flattens"]


@pytest.mark.parametrize("place", ["no_such_module", "nothing.py", "json.nothing"])
def test_places_that_do_not_exist(folder, place):
    shown = CliRunner().invoke(commands, ["survey", place])
    assert shown.exit_code == 2 and shown.output.count("\n") == 1


def test_a_process_that_ends_or_hangs_is_replaced(folder, monkeypatch):
    package = folder / "hard"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a_leaves.py").write_text("import os\nos._exit(3)\n")
    (package / "b_hangs.py").write_text(f"from pathlib import Path\nimport time\nPath({str(folder / 'hangs')!r}).touch()\n"
        "while True:\n    try:\n        time.sleep(9)\n    except BaseException:\n        pass\n")
    (package / "c_fine.py").write_text("def good(x):\n    return x\n")
    hangs = folder / "hangs"

    class Answers(queue.Queue):
        """Its patience ends where the module says that it hangs, and not by the clock."""

        line = ""

        def get(self, timeout):
            deadline = HANG
            while not (hangs.exists() and "b_hangs" in (self.line or "")) and deadline > 0:
                with contextlib.suppress(queue.Empty):
                    self.line = super().get(timeout=0.1)
                    return self.line
                deadline -= 0.1
            hangs.unlink()
            raise queue.Empty

    monkeypatch.setattr(surveys.queue, "Queue", Answers)
    rows = surveys.survey("hard").rows
    assert [(row.module, row.function, row.verdict, row.message) for row in rows] == [
        ("hard.a_leaves", "", "import-failed", "the import ended the process"),
        ("hard.b_hangs", "", "import-failed", "the import does not end"),
        ("hard.c_fine", "good", "flattens", ""),
    ]


def test_a_function_that_takes_too_long(folder):
    (folder / "slow.py").write_text(
        "def step(x, n):\n    return x if n == 0 else step(x * 1.5 if x > n else x, n - 1) + step(x + 1, n - 1)\n\n"
        "def slow(x: float):\n    return step(x, 18)\n\ndef after(x):\n    return x\n")
    rows = {row.function: row for row in surveys.survey("slow", timeout=2.0).rows}
    assert rows["slow"].verdict == "timeout" and rows["after"].verdict == "flattens"


def test_nothing_but_the_import_runs(folder):
    (folder / "dangerous.py").write_text(
        "from pathlib import Path\n\ndef mark(x):\n    Path('ran').touch()\n    return x\n")
    assert surveys.survey("dangerous").rows[0].verdict == "refused"
    assert not (folder / "ran").exists()


def test_imported_code_starts_no_programs_and_uses_no_network_unless_trusted(folder):
    bold = folder / "bold"
    bold.mkdir()
    (bold / "__init__.py").write_text("")
    (bold / "installs.py").write_text(
        f"import subprocess\nsubprocess.run(['touch', {str(folder / 'ran')!r}], check=True)\ndef f(x):\n    return x\n")
    (bold / "calls_home.py").write_text("import socket\nsocket.create_connection(('127.0.0.1', 9), 1)\n")
    (bold / "prepared.py").write_text(
        "import os\ntry:\n    os.system('true')\nexcept OSError:\n    pass\ndef f(x):\n    return x\n")
    said = {row.module: (row.verdict, row.message) for row in surveys.survey("bold").rows}
    assert said["bold.installs"][0] == said["bold.calls_home"][0] == "import-failed"
    assert said["bold.installs"][1].startswith("PermissionError: it starts a program (touch ")
    assert said["bold.calls_home"][1] == "PermissionError: it uses the network, which only --trust allows"
    assert said["bold.prepared"][0] == "flattens" and not (folder / "ran").exists()
    trusted = {row.module: row.verdict for row in surveys.survey("bold", trust=True).rows}
    assert trusted["bold.installs"] == "flattens" and (folder / "ran").exists()


def test_scripts_tests_and_set_up_files_are_imported_where_they_are_trusted(folder):
    package = folder / "library"
    for name in ("__init__", "core", "setup", "__main__", "scripts/__init__", "scripts/run", "test_core", "install"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / f"{name}.py").write_text("")
    assert surveys.find_place("library", str(folder)).modules == ("library", "library.core")
    assert len(surveys.find_place("library", str(folder), trust=True).modules) == 8


def test_a_folder_with_the_name_of_another_module_is_not_taken_for_it(folder):
    package = folder / "json"
    package.mkdir()
    (package / "__init__.py").write_text("def mine(x):\n    return x\n")
    (row,) = surveys.survey("./json").rows
    assert row.verdict == "import-failed" and row.message.startswith("json is the name of another module too")


def test_what_a_module_may_raise_or_hide_costs_one_line(folder):
    package = folder / "odd"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a_raises.py").write_text("class Gone(BaseException):\n    pass\nraise Gone('away')\n")
    (package / "b_local.py").write_text(
        "def make():\n    class Inner:\n        def twice(self, x):\n            return 2 * x\n    return Inner\n\n"
        "Made = make()\n\ndef good(x):\n    return x\n")
    (package / "c_strange.py").write_text(
        "class Strange:\n    @property\n    def __signature__(self):\n        raise RuntimeError('no')\n\n"
        "    def __call__(self, x):\n        return x\n\ndef good(x):\n    return x\n")
    rows = [(row.module, row.function, row.verdict) for row in surveys.survey("odd").rows]
    assert rows[0] == ("odd.a_raises", "", "import-failed")
    assert ("odd.b_local", "good", "flattens") in rows and ("odd.b_local", "Made.twice", "bug") not in rows
    assert ("odd.c_strange", "good", "flattens") in rows


def test_a_function_that_calls_its_argument_or_returns_a_function_is_no_function_of_numbers(folder):
    (folder / "other.py").write_text(
        "import numpy as np\n\ndef apply(f, x):\n    return f(x)\n\ndef passes_on(f, x):\n    return apply(f, x)\n\n"
        "def size(values):\n    return len(values)\n\ndef passed(values):\n    return size(values)\n\n"
        "def scaled(k):\n    def inner(x):\n        return k * x\n    return inner\n\n"
        "def determinant(m):\n    return np.linalg.det(m)\n\ndef named(obj, name):\n    return hasattr(obj, name)\n")
    rows = {row.function: row for row in surveys.survey("other").rows}
    assert {row.verdict for row in rows.values()} == {"skipped"}
    assert rows["passes_on"].message == "takes a function, as a callee shows"
    assert rows["passed"].message == "takes a container, as a callee shows"
    assert rows["scaled"].message == "returns no number"


def test_the_command_in_a_process_of_its_own(folder):
    environment = {**os.environ, "PYTHONPATH": str(Path(surveys.__file__).parents[3])}
    command = [sys.executable, "-m", "pyflat", "survey", "surveyed.library", "--limit", "2"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=HANG, check=True)
    assert done.stdout.startswith("surveyed.library\n  clamp  flattens") and done.stderr == ""


JOINED = '''
import numpy as np

def _first(a):
    return a[0] if np.ndim(a) else a

def _twice(a):
    return np.concatenate((a, np.linalg.svd(a)[1])) if np.ndim(a) else a

def _asked(a):
    return np.linalg.svd(a)[1] if isinstance(a, np.ndarray) else a

def first(x, y):
    return _first(x) + y

def twice(x, y):
    return _twice(x) + y

def asked(x, y):
    return _asked(x) + y
'''


def test_a_call_with_arrays_that_is_refused_is_no_function_that_flattens(tmp_path, monkeypatch):
    (tmp_path / "joined.py").write_text(JOINED)
    monkeypatch.chdir(tmp_path)
    rows = {row.function: row for row in surveys.survey("joined.py").rows}
    assert rows["first"].verdict == "flattens"
    assert rows["first"].kinds == {"x": "array", "y": "float"}
    assert (rows["twice"].verdict, rows["twice"].code) == ("refused", "flatten/unknown-call")
    assert (rows["asked"].verdict, rows["asked"].kinds) == ("flattens", {"x": "float", "y": "float"})
