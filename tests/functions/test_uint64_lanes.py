"""Arithmetic of uint64 in the bits of ints: NumPy's, for numbers and for arrays of lanes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pyflat.functions import uint64_lanes

EDGES = (0, 1, 2, 3, 63, 64, 255, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1)
OPERATIONS = {"u_add": np.add, "u_sub": np.subtract, "u_mul": np.multiply, "u_div": np.floor_divide, "u_mod": np.remainder,
              "u_shl": np.left_shift, "u_shr": np.right_shift}


def signed(number):
    return int(np.uint64(number).astype(np.int64))


@pytest.mark.parametrize("name", OPERATIONS)
def test_numbers_and_lanes_are_numpys(name):
    operation = getattr(uint64_lanes, name)
    pairs = [(a, b) for a, b in itertools.product(EDGES, EDGES) if b or name not in ("u_div", "u_mod")]
    a, b = (np.array(column, np.uint64) for column in zip(*pairs, strict=True))
    with np.errstate(all="ignore"):
        expected = OPERATIONS[name](a, b).view(np.int64)
        assert np.array_equal(operation(a.view(np.int64), b.view(np.int64)), expected)
        assert [operation(signed(x), signed(y)) for x, y in pairs] == expected.tolist()


@pytest.mark.parametrize("name", ["u_add", "u_sub", "u_mul"])
def test_an_overflow_is_said_where_numpys_scalars_say_it(name):
    operation = getattr(uint64_lanes, name)
    for a, b in itertools.product(EDGES, EDGES):
        met = []
        with np.errstate(over="call", call=lambda kind, _, met=met: met.append(kind)):
            operation(signed(a), signed(b))
            exact = {"u_add": a + b, "u_sub": a - b, "u_mul": a * b}[name]
            assert bool(met) is not (0 <= exact < 2**64), (a, b)
            met.clear()
            lanes = np.array([signed(a), 1]), np.array([signed(b), 1])
            operation(*lanes)
            assert bool(met) is not (0 <= exact < 2**64), (a, b)
            met.clear()
            operation(*lanes, np.array([False, True]))
            assert not met


def test_floats():
    lanes = np.array(EDGES, np.uint64)
    assert np.array_equal(uint64_lanes.u_float(lanes.view(np.int64)), lanes.astype(np.float64))
    assert [uint64_lanes.u_float(signed(x)) for x in EDGES] == [float(x) for x in EDGES]
