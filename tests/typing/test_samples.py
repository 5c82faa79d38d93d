"""The static types of the public names, as type checkers see them on the sample files."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYRIGHT = shutil.which("pyright")


def marked_lines(sample):
    return [number for number, line in enumerate(sample.read_text().splitlines(), 1) if line.endswith("# error")]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    return done.returncode, done.stdout + done.stderr


def mypy(sample):
    pytest.importorskip("mypy")
    return run(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-pretty", str(sample))


def pyright(sample):
    return run(PYRIGHT, "--pythonpath", sys.executable, str(sample))


CHECKERS = [mypy, pytest.param(pyright, marks=pytest.mark.skipif(PYRIGHT is None, reason="pyright is not installed"))]


@pytest.mark.parametrize("checker", CHECKERS)
def test_accepted(checker):
    code, output = checker(HERE / "accepted.py")
    assert code == 0, output


@pytest.mark.parametrize("checker", CHECKERS)
def test_rejected(checker):
    code, output = checker(HERE / "rejected.py")
    found = {int(number) for number in re.findall(r"rejected\.py:(\d+)(?::\d+)?(?: -)?:? error", output)}
    assert code == 1, output
    assert sorted(found) == marked_lines(HERE / "rejected.py"), output
