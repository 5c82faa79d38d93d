"""The order in which BLAS adds the terms of a product is found by trial: here of kernels that are known."""

import itertools
import math

import numpy as np
import pytest

import pyflat
from pyflat.frontend.space import blas
from pyflat.frontend.space.blas import Chain, Strides, plain
from pyflat.functions import lanes
from pyflat.ir.ops import FUSED, PRIMITIVES
from pyflat.testing import same_bits

fma = FUSED["fma"].python


def cell_by_cell(cell):
    """A product of matrices whose every cell is computed by `cell(row, column)`."""
    return lambda a, b: np.array([[cell(row.tolist(), column.tolist()) for column in b.T] for row in a])


def fused(order, plus_zero=True):
    def cell(a, b):
        total = 0.0
        for i in order:
            total = fma(a[i], b[i], total)
        return total + 0.0 if plus_zero else total

    return cell


def unfused(a, b):
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def by_pairs(a, b):
    return (a[0] * b[0] + a[2] * b[2]) + a[1] * b[1]


@pytest.fixture
def kernel(monkeypatch):
    def use(function):
        blas.orders.cache_clear()
        monkeypatch.setitem(blas._FUNCTIONS, "matmul", function)

    yield use
    blas.orders.cache_clear()


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_every_order_of_three_terms_is_found(kernel, order):
    kernel(cell_by_cell(fused(order)))
    for chain in blas.orders("matmul", plain((2, 3)), plain((3, 2))).flat:
        assert (chain.order, chain.fused, chain.plus_zero) == (order, True, True)


def test_a_kernel_that_keeps_the_sign_of_zero_is_told_apart(kernel):
    kernel(cell_by_cell(fused((0, 1, 2), plus_zero=False)))
    found = blas.orders("matmul", plain((2, 3)), plain((3, 2)))
    assert all(chain == Chain((0, 1, 2), plus_zero=False) for chain in found.flat)


def test_a_kernel_without_fused_multiply_adds_is_found(kernel):
    kernel(cell_by_cell(unfused))
    assert not any(chain.fused for chain in blas.orders("matmul", plain((3, 3)), plain((3, 3))).flat)


def test_a_kernel_that_is_no_chain_is_not_taken_for_one(kernel):
    kernel(cell_by_cell(by_pairs))
    assert blas.orders("matmul", plain((3, 3)), plain((3, 3))) is None


def test_a_product_with_itself_is_tried_on_one_memory(kernel):
    """NumPy computes a @ a.T by another routine, which it knows by the address."""
    natural, other = cell_by_cell(fused((0, 1, 2))), cell_by_cell(fused((2, 0, 1)))
    kernel(lambda a, b: (other if np.shares_memory(a, b) else natural)(a, b))
    square, turned = plain((3, 3)), Strides((3, 3), (1, 3))
    assert {c.order for c in blas.orders("matmul", square, turned).flat} == {(0, 1, 2)}
    assert {c.order for c in blas.orders("matmul", square, turned, 0).flat} == {(2, 0, 1)}


def test_operands_of_one_memory_lie_as_far_apart_as_in_the_program(kernel):
    seen = []

    def product(a, b):
        seen.append((b.ctypes.data - a.ctypes.data) // 8)
        return natural(a, b)

    natural = cell_by_cell(fused((0, 1)))
    kernel(product)
    part = Strides((2, 2), (3, 1))
    for apart in (4, -4, 0):
        seen.clear()
        assert blas.orders("matmul", part, part, apart) is not None
        assert set(seen) == {apart}


@pytest.mark.parametrize("terms", [2, 3, 7, 15])
@pytest.mark.parametrize("native", [True, False])
def test_the_operation_is_the_exact_chain_on_every_machine(monkeypatch, terms, native):
    if not native:
        monkeypatch.setattr(lanes, "_vecdot_is_chain", lambda terms: False)
    rng = np.random.default_rng(terms)
    rows = np.concatenate([rng.standard_normal((40, 2 * terms)) * 10.0 ** rng.integers(-3, 4, (40, 2 * terms)),
                           rng.choice(blas._SPECIAL, (40, 2 * terms)), rng.choice([5e-324, -1e-200], (40, 2 * terms))])
    with np.errstate(all="ignore"):
        found = lanes.np_dot(*rows.T)
    expected = np.array([PRIMITIVES["np_dot"].python(*row) for row in rows.tolist()])
    natural = [fused(range(terms))(row[:terms], row[terms:]) for row in rows.tolist()]
    assert np.array_equal(found.view(np.int64), expected.view(np.int64))
    assert np.array_equal(found.view(np.int64), np.array(natural).view(np.int64))


SCALED = {
    "vector": lambda k, x, y, z: np.dot(np.array([x, y, z]), k),
    "number_first": lambda k, x, y, z: np.dot(k, np.array([[x, y], [z, 1.0]])),
    "method": lambda k, x, y, z: np.array([x, z]).dot(k),
    "inner": lambda k, x, y, z: np.inner(np.array([x, z]), k),
    "ints": lambda k, x, y, z: np.dot(np.array([1, 0, -3]), k),
    "one_element": lambda k, x, y, z: np.dot(np.array([x]), k),
    "three_axes": lambda k, x, y, z: np.dot(np.array([[[x], [y]]]), k),
    "column_and_one_element": lambda k, x, y, z: np.dot(np.array([[x], [y], [z]]), np.array([k])),
    "one_element_and_row": lambda k, x, y, z: np.dot(np.array([k]), np.array([[x, y, z]])),
    "columns": lambda k, x, y, z: np.dot(np.array([[x, y, z]]).T, np.array([[k]])),
    "operator": lambda k, x, y, z: np.array([[x], [y]]) @ np.array([k]),
    "outer": lambda k, x, y, z: np.dot(np.array([[k], [x]]), np.array([[y, z]])),
}
SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, -5e-324, 1e-200, -1e200)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", SCALED.values(), ids=SCALED)
def test_multiples_have_the_zeros_of_blas(fn, target):
    """BLAS adds them to 0.0, and leaves 0.0 where the number is 0, also beside an infinity."""
    rows = [(k, x, y, SPECIAL[(i + j) % 10]) for k in SPECIAL for i, x in enumerate(SPECIAL) for j, y in enumerate(SPECIAL[::3])]
    with np.errstate(all="ignore"):
        got = pyflat.twin(fn, target=target)(*map(np.array, zip(*rows, strict=True)))
        assert same_bits(got, np.array([fn(*row) for row in rows]))


def test_a_layout_reads_nothing_outside_of_its_memory():
    reversed_pairs = Strides((2, 2), (2, -1))
    assert reversed_pairs.view(np.arange(4.0), 1).tolist() == [[1.0, 0.0], [3.0, 2.0]]
    with pytest.raises(ValueError, match="buffer"):
        reversed_pairs.view(np.arange(3.0), 1)
