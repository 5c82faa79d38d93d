"""On a terminal the twin is coloured, and the diff stands side by side."""

from __future__ import annotations

import os
import re
import select
import sys
from pathlib import Path

import pytest

pty = pytest.importorskip("pty")


def on_terminal(*args: str, cwd: Path) -> str:
    """What `pyflat ARGS` writes to a terminal of 120 columns."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
            os.environ.pop(name, None)
        os.environ.update(TERM="xterm-256color", COLUMNS="120")
        os.execv(sys.executable, [sys.executable, "-m", "pyflat", *args])
    written = b""
    while select.select([descriptor], [], [], 60)[0]:
        try:
            piece = os.read(descriptor, 65536)
        except OSError:  # Linux: the other end of the terminal is closed
            break
        if not piece:
            break
        written += piece
    os.close(descriptor)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, written
    return written.decode()


def without_colour(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r\n", "\n")


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # fork with threads; the child only execs
def test_twin_is_coloured_and_otherwise_the_same(folder: Path) -> None:
    text = on_terminal("show", "colorsys:rgb_to_hsv", cwd=folder)
    assert "\x1b[" in text
    import colorsys

    import pyflat

    assert without_colour(text) == str(pyflat.twin(colorsys.rgb_to_hsv).show()).rstrip("\n") + "\n"


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_diff_stands_side_by_side(folder: Path) -> None:
    lines = without_colour(on_terminal("show", "colorsys:rgb_to_hsv", "--diff", cwd=folder)).splitlines()
    assert any("def rgb_to_hsv(" in line and "rgb_to_hsv_flat" not in line[:55] for line in lines)
    assert any(re.search(r"\S.{10,}\S", line) and "rgb_to_hsv_flat" in line for line in lines)
