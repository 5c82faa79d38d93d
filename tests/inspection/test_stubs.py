"""Stub files: what mypy sees of a module of flattened functions."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pyflat.cli.main import commands

MODULE = '''\
"""Prices."""
from __future__ import annotations

import colorsys
import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

import pyflat

if TYPE_CHECKING:
    from collections.abc import Sequence

RATE = 0.05
Pair = tuple[float, float]


@pyflat.flatten
def fee(amount: float, rate: float = 0.05, *, floor: float = 2.0) -> float:
    """A fee."""
    return max(amount * rate, floor)


@pyflat.flatten(errors="mask", inject=False)
def split(n: int, k: int, /) -> tuple[int, bool, float]:
    return n // k, n % k == 0, n / k


@pyflat.flatten(static="n", dtype="float32")
def power(x: "float", n: int) -> "float":
    return x ** n


@pyflat.flatten
def untyped(x, y=1.0):
    return x + y


@pyflat.flatten
def total(a: NDArray[np.float64]) -> float:
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s


@pyflat.flatten
def many(x: float, *rest: float, scale: float = 1.0) -> float:
    return (x + sum(rest)) * scale


@pyflat.flatten
def maybe(x: float | None, y: float = 0.0) -> float:
    return y if x is None else x + y


@overload
def either(x: int) -> int: ...
@overload
def either(x: str) -> str: ...
def either(x: int | str) -> int | str:
    return x


to_hsv = pyflat.twin(colorsys.rgb_to_hsv)
fee_again = pyflat.flatten(lambda x: x, inject=False)

try:
    import prices_without_a_name as fast
except ImportError:
    fast = None

if sys.version_info >= (3, 11):
    @pyflat.flatten
    def newer(flag: bool) -> bool:
        return not flag


class Curve:
    points: int = 3

    def __init__(self, k: float, names: Sequence[str] = ()):
        self.k = k
        self.names: list[str] = list(names)
        self.other = [1]

    @pyflat.flatten
    def value(self, x: float) -> float:
        return self.k * x

    @property
    def twice(self) -> float:
        return self.k * 2


@dataclass
class Point:
    x: float
    y: float = 0.0


def plain(x: float) -> float:
    print("not in the stub")
    return math.floor(x) * 1.0


for name in ("a", "b"):
    print(name)
if __name__ == "__main__":
    print(fee(3.0))
'''

USE = '''\
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import pyflat
from prices import RATE, Curve, Fraction, Pair, Point, either, fee, fee_flat, many, maybe, newer, plain, power, split, to_hsv, total, untyped

xs = np.zeros(3)
assert_type(fee(1.0, rate=0.5), float)
assert_type(fee.flat(1.0, 0.5), float)
assert_type(fee.flat(xs), npt.NDArray[np.float64])
assert_type(fee.flat(1.0, xs, floor=xs), npt.NDArray[np.float64])
assert_type(fee.flat(amount=1.0, floor=xs, out=xs), npt.NDArray[np.float64])
assert_type(fee_flat(xs, 0.5), npt.NDArray[np.float64])
assert_type(fee.flat.to("numba")(xs), npt.NDArray[np.float64])
assert_type(fee.flat([1.0, 2.0]), Any)
assert_type(fee.flat.source, str)
assert_type(fee.flat.verify(xs).lanes, int)
assert_type(split.flat(xs, 2)[0], tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.float64]])
assert_type(split.flat(7, 2)[0], tuple[int, bool, float])
assert_type(split.flat(7, 2)[1], pyflat.Faults)
assert_type(power.flat(xs, 2), npt.NDArray[np.float32])
assert_type(newer.flat(xs), npt.NDArray[np.bool_])
untyped.flat(xs, 1)
many.flat(xs, xs)
assert_type(many(1.0, 2.0, 3.0, scale=2.0), float)
assert_type(maybe.flat(None, 1.0), float)
assert_type(maybe.flat(xs), Any)
assert_type(maybe.flat(xs, xs), npt.NDArray[np.float64])
assert_type(either("a"), str)
assert_type(total(xs), float)
total.flat(xs)
to_hsv(xs, xs, 0.5)
assert_type(Curve(2.0).k, float)
assert_type(Curve(2.0).names, list[str])
assert_type(Curve(2.0).value(1.0), float)
assert_type(Curve(2.0).twice, float)
assert_type(Point(1.0).y, float)
assert_type(plain(1.0), float)
pair: Pair = (RATE, Fraction(1).numerator)


def decorated(fn: pyflat.Flattened[[float, float], float], twin: pyflat.Twin[[float], float]) -> None: ...


decorated(fee, fee.flat)
fee("a")  # error
fee.flat("a")  # error
fee.flat(xs, x=1.0)  # error
fee.flat(xs).upper()  # error
split.flat(n=xs, k=2)  # error
power.flat(xs, xs)  # error
fee.flat.sorce  # error
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "prices.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_mypy_sees_arrays(folder: Path) -> None:
    pytest.importorskip("mypy")
    code, output = run("pyflat", "stubs", "prices", "-o", "typings")
    assert (code, output.splitlines()[0]) == (0, str(Path("typings", "prices.pyi"))), output
    (folder / "use.py").write_text(USE)
    (folder / "mypy.ini").write_text("[mypy]\nstrict = true\npretty = false\nmypy_path = typings\n"
                                     "[mypy-pyflat.*]\nfollow_imports = silent\n"
                                     "[mypy-prices_without_a_name]\nignore_missing_imports = true\n")
    code, output = run("mypy", "typings/prices.pyi", "use.py")
    found = {int(number) for number in re.findall(r"^use\.py:(\d+):(?:\d+:)? error", output, re.MULTILINE)}
    marked = {number for number, line in enumerate(USE.splitlines(), 1) if line.endswith("# error")}
    assert code == 1 and found == marked and "prices.pyi" not in output, output


def test_what_runs_is_not_in_it(folder: Path) -> None:
    code, output = run("pyflat", "stubs", "prices.py")
    assert code == 0
    for text in ("not in the stub", "__future__", "__main__", "Prices.", "for name"):
        assert text not in output
    assert "dataclass as dataclass" in output and "    points: int = 3" in output


def refusal(*arguments: str) -> str:
    result = CliRunner().invoke(commands, ["stubs", *arguments])
    assert result.exit_code == 2
    return result.output


def test_wrong_modules_and_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "nothing_flat.py").write_text("x = 1\n")
    (folder / "nothing_flat.pyi").write_text("x: int\n")
    monkeypatch.syspath_prepend(str(folder))
    assert "nothing_flat has no flattened function" in refusal("nothing_flat")
    assert "math is not a module of Python text" in refusal("math")
    assert "'prices:fee' is not a module" in refusal("prices:fee")
    assert refusal() != ""
    (folder / "prices.pyi").write_text("x: int\n")
    assert "prices.pyi exists and was not made by `pyflat stubs`" in refusal("prices", "-o", ".")
    assert (folder / "prices.pyi").read_text() == "x: int\n"
