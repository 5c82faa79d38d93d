"""`pyflat show` as a process: what arrives in a pipe, on a terminal, on stderr, and the exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def pyflat(*args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "pyflat", *args], cwd=cwd, capture_output=True, env={**os.environ, **env}, check=False
    )


def one_line(stderr: bytes) -> str:
    text = stderr.decode()
    assert text.count("\n") == 1, text
    assert "Traceback" not in text
    return text.strip()


@pytest.mark.parametrize("spec", ["userlib.py:clamp", "./userlib.py:clamp", "userlib:clamp", "userlib.clamp"])
def test_twin_arrives_in_a_pipe_as_plain_text(folder: Path, spec: str) -> None:
    run = pyflat("show", spec, cwd=folder)
    assert run.returncode == 0, run.stderr
    text = run.stdout.decode()
    assert "def clamp_flat(x" in text
    assert "\x1b" not in text
    assert "noise" not in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_file_elsewhere_finds_its_neighbours(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("else where")
    run = pyflat("show", f"{folder / 'userlib.py'}:clamp", cwd=elsewhere)
    assert run.returncode == 0, run.stderr
    assert b"def clamp_flat(x" in run.stdout


def test_method_of_a_class(folder: Path) -> None:
    run = pyflat("show", "userlib:Light.shade", cwd=folder)
    assert run.returncode == 0, run.stderr
    assert b"def shade_flat(x" in run.stdout


def test_captured_stage_is_the_source(folder: Path) -> None:
    run = pyflat("show", "userlib:clamp", "--stage", "captured", cwd=folder)
    assert run.stdout.decode() == (
        "def clamp(x: float) -> float:\n    if x > LIMIT:\n        return LIMIT\n    return x  # as it is\n"
    )


@pytest.mark.parametrize("stage", ["structured", "flat", "suspect"])
def test_ir_stages_print(folder: Path, stage: str) -> None:
    run = pyflat("show", "userlib:clamp", "--stage", stage, cwd=folder)
    assert run.returncode == 0, run.stderr
    assert b"clamp" in run.stdout
    assert run.stdout != pyflat("show", "userlib:clamp", cwd=folder).stdout


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_target_text_is_python(folder: Path, target: str) -> None:
    run = pyflat("show", "colorsys:rgb_to_hsv", "--target", target, cwd=folder)
    assert run.returncode == 0, run.stderr
    compile(run.stdout, "twin", "exec")


def test_kinds_choose_the_lanes(folder: Path) -> None:
    ints = pyflat("show", "userlib:clamp", "--stage", "flat", "--kinds", "i8", cwd=folder)
    floats = pyflat("show", "userlib:clamp", "--stage", "flat", cwd=folder)
    assert ints.returncode == floats.returncode == 0
    assert ints.stdout != floats.stdout


def test_diff_in_a_pipe_is_unified(folder: Path) -> None:
    run = pyflat("show", "userlib:clamp", "--diff", cwd=folder)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.decode().splitlines()
    assert lines[:2] == ["--- clamp", "+++ clamp_flat"]
    assert "-    if x > LIMIT:" in lines
    assert any(line.startswith("+") and "clamp_flat" in line for line in lines[2:])


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("nosuchmodule:fn", "no module named 'nosuchmodule'"),
        ("nosuchmodule.fn", "no module named 'nosuchmodule'"),
        ("userlib:clmp", "userlib has no 'clmp'; did you mean 'clamp'?"),
        ("userlib:Light.dark", "userlib.Light has no 'dark'"),
        ("userlib:TABLE", "'TABLE' in userlib is not a function; name a function"),
        ("userlib:Light", "'Light' in userlib is a class; name a function"),
        ("missing.py:fn", "no file"),
        ("userlib.py", "'userlib.py' names no function; write userlib.py:function"),
        ("userlib", "'userlib' names no function; write userlib:function"),
        ("userlib:", "'userlib:' is not of the form"),
        (":clamp", "':clamp' is not of the form"),
        ("broken.py:fn", "importing"),
        ("broken:fn", "importing broken failed: ZeroDivisionError: division by zero"),
        ("leaving:fn", "importing leaving failed: SystemExit: bye"),
    ],
)
def test_bad_names_are_one_line_and_status_2(folder: Path, spec: str, says: str) -> None:
    run = pyflat("show", spec, cwd=folder)
    assert run.returncode == 2
    assert run.stdout == b""
    assert says in one_line(run.stderr.replace(b"noise at import\n", b""))


def test_bad_option_is_status_2(folder: Path) -> None:
    run = pyflat("show", "userlib:clamp", "--stage", "half", cwd=folder)
    assert run.returncode == 2
    assert b"Traceback" not in run.stderr


def test_static_value_specialises(folder: Path) -> None:
    (folder / "methods.py").write_text(
        'def f(x: float, method: str) -> float:\n    return x * 2.0 if method == "double" else x + 1.0\n'
    )
    run = pyflat("show", "methods:f", "--static", "method=double", cwd=folder)
    assert run.returncode == 0, run.stderr
    assert b"x * 2.0" in run.stdout
    assert b"x + 1.0" not in run.stdout


@pytest.mark.parametrize("kinds", ["f8,f8", "f9", ""])
def test_kinds_that_do_not_fit_are_status_2(folder: Path, kinds: str) -> None:
    run = pyflat("show", "userlib.py:clamp", "--kinds", kinds, cwd=folder)
    assert run.returncode == 2
    assert "kind" in one_line(run.stderr.replace(b"noise at import\n", b""))


def test_unknown_static_name_is_refused(folder: Path) -> None:
    run = pyflat("show", "userlib:clamp", "--static", "y", cwd=folder)
    assert run.returncode == 1
    assert b"flatten/static-name" in run.stderr
    assert b"Traceback" not in run.stderr


def test_refusal_is_rendered_and_status_1(folder: Path) -> None:
    run = pyflat("show", "userlib:endless", cwd=folder)
    assert run.returncode == 1
    assert run.stdout == b""
    text = run.stderr.decode()
    assert "[flatten/" in text
    assert "userlib.py:" in text
    assert "^" in text
    assert "help:" in text
    assert "Traceback" not in text


def test_reader_that_goes_away_gives_no_traceback(folder: Path) -> None:
    command = f'"{sys.executable}" -m pyflat show colorsys:hsv_to_rgb | head -n 0'
    run = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, check=False)
    assert b"Traceback" not in run.stderr
    assert b"Exception ignored" not in run.stderr


def test_text_survives_an_ascii_locale(folder: Path) -> None:
    (folder / "greek.py").write_text("def f(λ: float) -> float:\n    return λ * 2.0  # λ²\n", encoding="utf-8")
    run = pyflat("show", "greek:f", cwd=folder, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert run.returncode == 0, run.stderr
    assert "return λ * 2.0  # λ²" in run.stdout.decode("utf-8")


def test_version_and_help() -> None:
    run = pyflat("--version", cwd=Path.cwd())
    assert run.returncode == 0
    assert run.stdout.startswith(b"pyflat 0.")
    text = pyflat("--help", cwd=Path.cwd(), COLUMNS="80").stdout.decode().partition("Commands:")[2]
    assert "show" in text
    assert "..." not in text, "a first sentence is too long for its line"
