"""Tuples of numbers that a function reads at an index which differs from lane to lane."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pyflat
from pyflat.analysis.ranges import of_table
from pyflat.ir.loops import all_ops
from pyflat.runtime.arguments import classify
from pyflat.runtime.compiled import flatten

TABLES = {
    "ints": (5, -1, 7),
    "floats": (1.5, -0.0, math.inf),
    "nan": (math.nan, 1.0, 2.0),
    "bools": (True, False, True),
    "both": (1, 2.5, True),
    "largest": (2**63 - 1, -(2**63), 0),
    "too large": (2**64, 1, 2),
    "too small": (1, -(2**63) - 1, 2),
}


def read(table: tuple, i: int) -> float:
    return table[i]


def twice(table: tuple, i: int) -> float:
    return table[i] + table[-i - 1]


@pytest.mark.parametrize("name", [name for name in TABLES if not name.startswith("too")])
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_items_are_those_of_the_original(name, target):
    table = TABLES[name]
    twin = pyflat.twin(read, static=("table",), target=target)
    lanes = np.arange(-3, 3)
    found = twin(table, lanes)
    wanted = np.array([table[i] for i in lanes])
    np.testing.assert_array_equal(found, wanted)
    if wanted.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
    with pytest.raises(IndexError):
        twin(table, np.array([0, 3]))
    with pytest.raises(IndexError):
        twin(table, np.array([-4]))


@pytest.mark.parametrize("name", ["too large", "too small"])
def test_items_beyond_64_bits_are_no_table(name):
    twin = pyflat.twin(read, static=("table",))
    with pytest.raises(pyflat.FlattenError):
        twin(TABLES[name], np.array([0, 1]))


def test_a_float_is_no_index_and_an_empty_table_has_no_items():
    twin = pyflat.twin(read, static=("table",))
    with pytest.raises(pyflat.FlattenError, match="indices must be integers"):
        twin((1, 2), np.array([0.0]))
    with pytest.raises(IndexError):
        twin((), np.array([0]))


@pytest.mark.parametrize("name", ["ints", "floats", "nan", "largest"])
def test_a_long_table_is_not_copied_where_it_is_read(name):
    twin = pyflat.twin(twice, static=("table",))
    call = classify(twin._parameters.bind((TABLES[name], np.zeros(2, int)), {}), twin._parameters, ("table",))
    reads = [op for op in all_ops(flatten(twice, call.arguments, twin.options).flat.body) if op.opcode == "gather"]
    assert len(reads) == 2
    assert all(op.attr("table") is TABLES[name] for op in reads)


def test_the_interval_of_a_table():
    assert of_table((3, -2, 1)).bounds == (-2, 3)
    assert not of_table((3, -2, 1)).nan
    assert of_table((1.0, math.nan, -1.0)).bounds == (-1.0, 1.0)
    assert of_table((1.0, math.nan, -1.0)).nan
    assert of_table((math.nan,)) is None
    assert of_table(()) is None
