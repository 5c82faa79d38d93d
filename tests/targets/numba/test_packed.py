"""Scalars in one block of memory: calls with many of them give what calls with arrays give."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat
from pyflat.runtime.calls import Caller
from pyflat.targets.numba import layouts
from pyflat.testing import same_bits
from tests.support.concurrency import on_threads

COUNTS = [layouts.MANY_SCALARS - 1, layouts.MANY_SCALARS, 20, 62, 63, 80]
TEXT = """
def many(a, {names}, z=2.0):
    total = a
    {steps}
    return total if a > z else total - z
"""


def function(tmp_path, count, step="total = total * 0.5 + {name}"):
    """Of an array, `count` numbers and a default."""
    names = [f"p{k}" for k in range(count)]
    path = tmp_path / "many.py"
    path.write_text(TEXT.format(names=", ".join(names), steps="\n    ".join(step.format(name=n) for n in names)))
    scope = {"__name__": "many"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["many"]


def numbers(count):
    """Of all kinds."""
    kinds = [float, int, lambda k: k % 2 == 0, np.float64, np.int64, lambda k: np.bool_(k % 3 == 0), np.array]
    return [kinds[k % len(kinds)](k - 5) for k in range(count)]


@pytest.mark.parametrize("count", COUNTS)
def test_many_scalars_are_what_arrays_are(count, tmp_path, monkeypatch):
    fn, given = function(tmp_path, count), numbers(count)
    twin, xs = pyflat.twin(fn, target="numba"), np.array([0.5, -1.0, 3.0])
    wanted = [fn(x, *[np.asarray(value).item() for value in given]) for x in xs.tolist()]
    spread = twin(xs, *[np.resize(value, 3) for value in given])
    for _ in range(2):
        twin(xs, *given), twin(xs[0], *given)
    with monkeypatch.context() as patch:
        patch.setattr(Caller, "__call__", None)
        out = np.empty(3)
        assert twin(xs, *given).tolist() == spread.tolist() == wanted
        assert twin(xs, **{f"p{k}": value for k, value in enumerate(given)}, out=out) is out
        assert out.tolist() == wanted
        assert same_bits(twin(xs[0], *given), np.float64(wanted[0]))


def test_what_a_slot_does_not_hold_takes_the_long_way(tmp_path):
    fn = function(tmp_path, 4, "total = total + (1 if {name} > 5 else {name})")
    twin, xs = pyflat.twin(fn, target="numba"), np.array([0.5, 3.0])
    for last in (3, 2**63 - 1, 2**63, -(2**63) - 1, 2**200, 7) * 2:
        want = [fn(x, 1, 2, 3, last) for x in xs.tolist()]
        assert twin(xs, 1, 2, 3, last).tolist() == want
    narrow = pyflat.twin(fn, target="numba", dtype="float32")
    for last in (3.5, 1e300, -np.inf, 0.1) * 2:
        found = narrow(xs.astype("f4"), 1.0, 2.0, 3.0, last)
        assert same_bits(found, narrow(xs.astype("f4"), 1.0, 2.0, 3.0, np.full(2, last)))


def test_failing_lanes(tmp_path):
    twin = pyflat.twin(function(tmp_path, 5, "total = total / {name}"), target="numba")
    xs = np.array([1.0, 2.0])
    for _ in range(3):
        assert twin(xs, 1.0, 2.0, 4.0, 0.5, 1.0).tolist() == [-1.75, -1.5]
        with pytest.raises(ZeroDivisionError):
            twin(xs, 1.0, 2.0, 0.0, 0.5, 1.0)


def test_calls_on_several_threads_have_blocks_of_their_own(tmp_path):
    twin = pyflat.twin(function(tmp_path, 8, "total = total + {name}"), target="numba", parallel=False)
    xs, wrong = np.arange(3.0, 20_003.0), []
    for _ in range(3):
        twin(xs, *[0.0] * 8)

    def work(seed):
        for k in range(200):
            value = float(seed * 1000 + k)
            if not np.array_equal(twin(xs, *[value] * 8), xs + 8 * value):
                wrong.append((seed, k))

    on_threads(work)
    assert not wrong
