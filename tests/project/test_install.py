"""What the README says in the order in which it says it: `pip install .` into a fresh environment, and its blocks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.test_docs import CONSOLE, ROOT, python_script

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a new environment that has what `pip install` brings, and nothing else."""
    folder = tmp_path_factory.mktemp("fresh")
    run(sys.executable, "-m", "venv", folder / "env", cwd=folder)
    scripts = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    reached = run(scripts / "python", "-m", "pip", "download", "--no-deps", "--dest", folder / "got", "hatchling", cwd=folder)
    if reached.returncode:
        pytest.skip(f"no package index is reachable: {reached.stderr.strip().splitlines()[-1]}")
    built = os.environ.get("PYFLAT_DIST")  # `make dist`: what has been built, else the sources
    wheel = str(next((ROOT / built).glob("*.whl"))) if built else "."
    installed = run(scripts / "python", "-m", "pip", "install", wheel, cwd=ROOT)
    assert installed.returncode == 0, installed.stderr
    return scripts


def test_the_script_of_the_readme_runs_after_pip_install(fresh: Path, tmp_path: Path) -> None:
    code, prints = python_script("README.md")
    assert "pyflat.testing.verify(" in code
    (tmp_path / "readme.py").write_text(code, encoding="utf-8")
    done = run(fresh / "python", "-W", "error", "readme.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == prints


def test_the_commands_of_the_readme_run_after_pip_install(fresh: Path, tmp_path: Path) -> None:
    (tmp_path / "shade.py").write_text(python_script("README.md")[0], encoding="utf-8")
    texts = [text for page, text in CONSOLE if page == "README.md"]
    assert texts
    for text in texts:
        command, _, expected = text.partition("\n")
        done = run(fresh / "pyflat", *command.removeprefix("$ pyflat ").split(), cwd=tmp_path)
        assert done.stdout == expected, done.stderr
