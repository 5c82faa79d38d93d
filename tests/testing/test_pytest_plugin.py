"""The pytest plugin: which tests it adds, what they say, and what loading it loads."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = '''\
import pyflat

@pyflat.flatten
def shade(x: float, t: float = 0.5) -> float:
    if x > t:
        return (x - t) / x
    return 0.0

@pyflat.flatten(static="n")
def power(x, n):
    return x ** n

@pyflat.flatten(static="how")
def labelled(x, how="plain"):
    return x if how == "plain" else -x

def plain(x):
    return x

class Model:
    @pyflat.flatten
    def scaled(self, x):
        return x * self.factor

    @staticmethod
    @pyflat.flatten
    def shifted(x):
        return x + 1.0
'''
REFUSED = "import pyflat\n\n@pyflat.flatten\ndef refused(x):\n    print(x)\n    return x\n"
WRONG = '''\
import pyflat
from pyflat.runtime import twins

@pyflat.flatten
def wrong(x):
    return 2.0 if x > 1.0 else 1.0

right = twins.Twin.__call__
twins.Twin.__call__ = lambda self, *args: right(self, *args) * 3.0
'''
SMALL = ["-p", "no:cacheprovider", "-p", "no:xdist", "-W", "error", "-rsf"]


@pytest.fixture
def run(tmp_path):
    """pytest in a folder of its own: run({file: text}, *arguments) -> (exit status, what it printed)."""
    def start(files, *arguments):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        installed = "-p" if "pyflat.testing.pytest_plugin" not in _autoloaded() else ""
        loading = [installed, "pyflat.testing.pytest_plugin"] if installed else []
        command = [sys.executable, "-m", "pytest", *loading, *SMALL, *arguments]
        path = str(Path(__file__).resolve().parents[2])
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False,
                              env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"})
        return done.returncode, done.stdout + done.stderr
    return start


def _autoloaded():
    from importlib.metadata import entry_points

    return {point.value for point in entry_points(group="pytest11")}


CONFTEST = 'import sys; sys.path.insert(0, ".")\npyflat_verify = {"kernels": {"examples": 10, "target": "numpy"}}\n'
OWN = "def test_own():\n    pass\n"


def test_one_line_in_conftest(run):
    code, text = run({"kernels.py": KERNELS, "conftest.py": CONFTEST, "test_own.py": OWN}, "-v")
    assert code == 0, text
    for name in ("shade", "labelled", "Model::shifted"):
        assert re.search(rf"kernels:{name}\b.*PASSED", text)
    assert re.search(r"kernels:power\b.*SKIPPED", text)
    assert re.search(r"kernels:Model::scaled\b.*SKIPPED", text)
    assert "plain" not in text
    assert "4 passed, 2 skipped" in text
    assert "the static argument 'n' of power has no default" in text


def test_who_names_one_test_gets_one(run):
    code, text = run({"kernels.py": KERNELS, "conftest.py": CONFTEST, "test_own.py": OWN}, "test_own.py::test_own")
    assert code == 0, text
    assert "1 passed" in text


def test_keywords_select_twins(run):
    code, text = run({"kernels.py": KERNELS, "conftest.py": CONFTEST, "test_own.py": OWN}, "-k", "shade")
    assert code == 0, text
    assert "1 passed, 6 deselected" in text.replace("5 deselected", "6 deselected")


def test_markers(run):
    marked = ('import sys; sys.path.insert(0, ".")\nimport pytest\npytestmark = pytest.mark.pyflat_verify("kernels", examples=5, '
              'target="numpy")\n' + OWN)
    code, text = run({"kernels.py": KERNELS, "test_own.py": marked}, "--strict-markers")
    assert code == 0, text
    assert "4 passed, 2 skipped" in text


def test_the_command_line_and_the_configuration(run):
    files = {"kernels.py": "import pyflat\n@pyflat.flatten(target='numpy')\ndef f(x):\n    return x + 1.0\n", "test_own.py": OWN}
    code, text = run(files, "--pyflat-verify", "kernels", "-o", "pythonpath=.")
    assert (code, "2 passed" in text) == (0, True), text
    code, text = run({"pytest.ini": "[pytest]\npythonpath = .\npyflat_verify = kernels\n"})
    assert (code, "2 passed" in text) == (0, True), text


def test_a_wrong_twin_fails_with_the_lane(run):
    code, text = run({"wrong.py": WRONG, "test_own.py": OWN}, "--pyflat-verify", "wrong", "-o", "pythonpath=.")
    assert code == 1, text
    assert "the numpy twin differs in lane 0 (x=" in text
    assert "testing.py" not in text


def test_a_refused_function_fails_with_the_refusal(run):
    code, text = run({"refused.py": REFUSED, "test_own.py": OWN}, "--pyflat-verify", "refused", "-o", "pythonpath=.")
    assert code == 1, text
    assert "[flatten/" in text
    assert "help:" in text


@pytest.mark.parametrize(("module", "message"), [("nowhere", "cannot import 'nowhere'"), ("test_own", "has no flattened function")])
def test_wrong_modules_are_usage_errors(module, message, run):
    code, text = run({"test_own.py": OWN}, "--pyflat-verify", module, "-o", "pythonpath=.")
    assert code == 4
    assert message in text


def test_loading_the_plugin_loads_nothing():
    code = ("import sys, pyflat.testing.pytest_plugin\n"
            "sys.exit(bool({'numba', 'libcst', 'hypothesis', 'numpy', 'pyflat.testing.verification'} & set(sys.modules)))")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
