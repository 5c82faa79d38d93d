"""Kernels for few lanes, of one register and one way: the same bits, and another kernel for the first call with more."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import pyflat
from pyflat.runtime.compiled import compilations
from pyflat.targets.numba import compilation, compiled_kernel
from pyflat.testing import same_bits
from tests.generator.kept import own_cache

FEW = compiled_kernel.few_lanes()
MANY = FEW + 1


def priced(s: float, k: float) -> float:
    if s < 0.5:
        return math.log(s + 1.0) * k
    d = math.log(s / k) + math.exp(-s) * math.sqrt(k)
    return math.erf(d) * s - math.exp(-d) * math.sin(k)


def light(s: float, k: float) -> float:
    return s * k + 1.0


def columns(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.linspace(0.1, 3.0, count), np.linspace(2.5, 0.2, count)


def _forget() -> None:
    for fn in (priced, light):
        compilations(fn)._entries.clear()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each kernel that is compiled whether it is for few lanes. Twins are made anew."""
    _forget()
    noted: list[bool] = []
    compile_kernel = compilation.compile_kernel

    def noting(*args):
        made = compile_kernel(*args)
        noted.append(made[0].few)
        return made

    monkeypatch.setenv("PYFLAT_CACHE", "0")
    monkeypatch.setattr(compilation, "compile_kernel", noting)
    return noted


def test_a_light_function_has_one_kernel(compiled):
    twin = pyflat.twin(light, target="numba")
    twin(*columns(FEW))
    twin(*columns(MANY))
    assert compiled == [False]


def test_more_lanes_get_another_kernel_once(compiled):
    twin = pyflat.twin(priced, target="numba")
    for count in (FEW, 1):
        twin(*columns(count))
    assert compiled == [True]
    for count in (MANY, 10_000, 3):
        twin(*columns(count))
    assert compiled == [True, False]


def test_many_lanes_need_no_kernel_for_few(compiled):
    twin = pyflat.twin(priced, target="numba")
    twin(*columns(MANY))
    twin(*columns(3))
    assert compiled == [False]


def test_both_give_the_same_bits():
    twin = pyflat.twin(priced, target="numba")
    columns_of_all = columns(MANY)
    few = [twin(*[column[k : k + 3] for column in columns_of_all]) for k in range(0, MANY, 3)]
    assert same_bits(np.concatenate(few), twin(*columns_of_all))
    rows = zip(*[column.tolist() for column in columns_of_all], strict=True)
    assert same_bits(np.concatenate(few), np.array([priced(*row) for row in rows]))


def test_operands_of_other_dtypes():
    x, y = columns(MANY)
    twin = pyflat.twin(priced, target="numba")
    for dtype in (np.float32, ">f8", np.int32):
        stored = (x * 10).astype(dtype)
        few = twin(stored[:3], y[:3])
        assert same_bits(few, twin(stored, y)[:3])


def test_a_plan_makes_way_for_more_lanes(compiled):
    twin = pyflat.twin(priced, target="numba")
    for _ in range(60):  # by then the shortest way to the kernel is there
        twin(*columns(FEW))
    for _ in range(3):
        twin(*columns(MANY))
    assert compiled == [True, False]
    (entry,) = twin._caller.plans._entries.values()
    assert not entry.missed and not entry.recipe.kept.few


def test_ahead_of_time_the_kernel_for_many_lanes_is_compiled(compiled):
    twin = pyflat.twin(priced, target="numba")
    twin.compile(*columns(FEW))
    assert compiled == [False, False]  # the values, and which lanes are suspect
    twin(*columns(FEW))
    twin(*columns(MANY))
    assert len(compiled) == 2


def test_another_process_takes_what_there_is(compiled):
    with own_cache():
        for count, expected in ((3, [True]), (3, [True]), (MANY, [True, False]), (3, [True, False])):
            _forget()
            pyflat.twin(priced, target="numba")(*columns(count))
            assert compiled == expected
