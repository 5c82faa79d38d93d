"""Masks and arrays of indices as subscripts of a kernel's arrays: read, and written with numbers and arrays."""

import numpy as np
import pytest

import pyflat
from tests.generator.kernels.differential import Outcome, compare
from tests.generator.kernels.inputs import Written


def masked(a, b):
    m = b > 0.2
    a[m] = b[m]
    a[a < 0.0] *= -2.0
    a[b > 0.8] = 1.0
    return a[m] + 1.0


def by_indices(a, k):
    a[k] = a[k] * 2
    a[k] += 1
    a[k[:2]] = a[1:3]
    a[[0, -1]] = 5
    return a[k], a[[1, 0]], a[k[::-1]]


def rows(m, k, chosen):
    m[k] = m[0]
    m[chosen] = m[k[0]] * 2.0
    return m[k], m[chosen], m[chosen, 1:], m[k, k[::-1] % 3]


def columns(m, k):
    m[:, k] += 1.0
    return m[:, k], m[1:, [0, 2]].sum(axis=0), m[..., k], m[:, np.array([0, 2])][0]


def pairs(m, i, j):
    m[i, j] = i * 2.0
    m[j, j] = 0.5
    m[j, 0] = m[i, -1]
    m[1, j] += 1.0
    return m[0, i], m[i, j], m[i[:, None], j[None]]


def whole_mask(m):
    m[m > 0.3] = m[m > 0.3] - 1.0
    return m[m < 0.0]


LINE, ROWS, K = "np.sin(np.arange(6.0))", "np.cos(np.arange(12.0)).reshape(4, 3)", "np.array([2, 0, 1])"
MASK = "np.array([True, False, True, False])"


@pytest.mark.parametrize("target", ["numba", "numpy"])
@pytest.mark.parametrize(("function", "arguments"), [
    (masked, f"{LINE}, {LINE}[::-1].copy()"), (masked, f"{LINE}, {LINE}[:4] + 1"), (masked, f"a = {LINE}; a, a"),
    (masked, f"{LINE}.astype('f4'), {LINE}"), (by_indices, f"{LINE}, {K}"), (by_indices, f"{LINE}, {K} - 3"),
    (by_indices, f"{LINE}, {K} + 4"), (by_indices, f"{LINE}, {K}.astype('u1')"), (by_indices, f"{LINE}, {K} * 1.0"),
    (by_indices, f"np.arange(6), {K}"), (by_indices, "a = np.arange(6); a, a[:3]"), (rows, f"{ROWS}, {K}, {MASK}"),
    (rows, f"{ROWS}, {K}, {MASK}[:3]"), (rows, f"{ROWS}.T.copy().T, {K}, {MASK}"), (columns, f"{ROWS}, {K}"),
    (columns, f"np.asfortranarray({ROWS}), {K}"), (columns, f"{ROWS}[:0], {K}"), (columns, f"{ROWS}, {K} + 1"),
    (pairs, f"{ROWS}, {K}, {K}[::-1]"), (pairs, f"{ROWS}, {K}, {K}[:2]"), (pairs, f"{ROWS}, {K} + 1, {K}"),
    (whole_mask, ROWS), (whole_mask, f"{ROWS}.T"), (whole_mask, f"{ROWS}[:0]"),
])
def test_selected_elements(function, arguments, target):
    outcome = Outcome()
    compare(function, pyflat.twin(function, target=target), Written(arguments), outcome)
    assert not outcome.failures, str(outcome.failures[0])
    assert not outcome.refusals, outcome.refusals[0]
    assert not outcome.vain


def apart(m, k):
    return m[k, :, k]


def beside_none(m, k):
    return m[k, None]


def of_a_table(a, k):
    a[k[None]] = a[:3]


@pytest.mark.parametrize("function", [apart, beside_none, of_a_table])
def test_other_subscripts_are_refused(function):
    with pytest.raises(pyflat.FlattenError, match="write the loop over the elements"):
        pyflat.twin(function)(np.ones((3, 3, 3)), np.arange(3))
