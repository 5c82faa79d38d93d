"""A folder with a module of the user's, as the command line finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

MODULE = '''\
from neighbour import LIMIT

print("noise at import")


def clamp(x: float) -> float:
    if x > LIMIT:
        return LIMIT
    return x  # as it is


class Light:
    @staticmethod
    def shade(x: float) -> float:
        return 1.0 if x > 0.5 else x


def endless(x: float) -> float:
    while x > 1.0:
        x = input(x)
    return x


TABLE = [1, 2]
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "neighbour.py").write_text("LIMIT = 0.5\n")
    (tmp_path / "userlib.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit('bye')\n")
    return tmp_path
