"""Branches of kernels whose arms read the same array: both elements are read before the branch, where they are inside."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import If, walk
from pyflat.targets.numba.kernels.emit import early_loads
from tests.targets.numba.kernels.planned import code_of
from tests.targets.numba.kernels.test_lanes import assert_agree, outcome


def upwind(c, u, out):
    for i in range(1, c.shape[0] - 1):
        if u[i] > 0.0:
            d = c[i] - c[i - 1]
        else:
            d = c[i + 1] - c[i]
        out[i] = c[i] - 0.5 * d


def at_the_ends(c, out):
    for i in range(c.shape[0]):
        if i > 0:
            d = c[i - 1]
        else:
            d = c[i]
        out[i] = d


def beyond(c, out):
    for i in range(c.shape[0]):
        if c[i] < 3.0:
            d = c[i]
        else:
            d = c[i + 1]
        out[i] = d


def stored_between(c, out):
    """c[i + k] is c[i], which nothing but the run shows."""
    for i in range(1, c.shape[0]):
        for k in range(out.shape[0] - c.shape[0] + 1):
            if c[i] > 0.0:
                c[i] = 7.0
                d = c[i + k]
            else:
                d = c[i - 1]
            out[i] = d


@pytest.mark.parametrize("function", [upwind, at_the_ends, beyond, stored_between])
def test_values_exceptions_and_what_was_written(function):
    twin = pyflat.twin(function, target="numba")
    for size in (0, 1, 2, 3, 40):
        arrays = [np.random.default_rng(size + k).normal(size=size) for k in range(function.__code__.co_argcount)]
        for last in (-5.0, 5.0):
            arrays[0][-1:] = last
            found, wanted = (outcome(call, [a.copy() for a in arrays]) for call in (twin, function))
            assert found == wanted, (size, last)


def test_arrays_that_overlap():
    buffer = np.random.default_rng(0).normal(size=41)
    assert_agree(at_the_ends, lambda: ((b := buffer.copy())[1:], b[:-1]))
    assert_agree(stored_between, lambda: ((b := buffer.copy())[:-1], b[1:]))


def test_nothing_behind_a_store_is_read_early():
    arms = {}
    for function in (upwind, stored_between):
        body = code_of(function, *[np.ones(5)] * function.__code__.co_argcount).kernel.function.body
        node = next(item for item in walk(body) if isinstance(item, If) and any(
            op.opcode == "load" for op in all_ops([*item.then[:1], *item.orelse[:1]]) if item.results))
        arms[function] = [sum(op.opcode == "load" for op in early_loads(items)) for items in (node.then, node.orelse)]
    assert arms == {upwind: [2, 2], stored_between: [0, 1]}


def lagged(w, out, lags, count):
    for i in range(count):
        out[i] = w[0]
        for j in range(lags):
            if i - 1 - j < 0:
                out[i] += w[j + 1] * 0.5
            else:
                out[i] += w[j + 1] * out[i - 1 - j]


def test_an_index_that_only_one_arm_has_inside_is_met_in_that_arm():
    twin = pyflat.twin(lagged, target="numba")
    before = twin.stats.replayed
    assert_agree(lagged, lambda: (np.full(4, 0.1), np.ones(20), 3, 20))
    assert twin.stats.replayed == before
