"""Products that become parts of sums: what stays first, then what is fused, with one rounding and its own zeros."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import pyflat
from pyflat.functions.vmath import fused
from pyflat.ir.formats import F4
from pyflat.ir.interp import run
from pyflat.ir.parse import parse_function
from pyflat.ir.validate import validate
from pyflat.passes.contract_products import contract_products
from pyflat.testing import same_bits
from tests.passes.flat_programs import flat
from tests.passes.sweeps import lines, stays, swept
from tests.passes.test_demote_floats import function

OTHERS = (True, False, 3, 4)
EDGES = (0.0, -0.0, 1.0, -1.0, 1e200, -1e200, 5e-324, 0.1, math.inf, -math.inf, math.nan)
SUM = "%a = mul %x, %y : f8\n%b = add %a, %x : f8\nyield %b"
TAKEN = "%a = mul %x, %y : f8\n%b = sub %x, %a : f8\nyield %b"
LESS = "%a = mul %x, %y : f8\n%b = sub %a, %x : f8\nyield %b"


def test_what_is_no_part_of_a_sum_somewhere_stays():
    stays(contract_products, "%a = mul %x, %y : f8\n%b = add %a, %x : f8\n%c = mul %a, %b : f8\nyield %c")
    stays(contract_products, "%a = mul %x, %y : f8\n%b = add %a, %a : f8\n%c = add %a, %b : f8\nyield %c")
    stays(contract_products, "%a = mul %x, %y : f8\n%b = add %a, %a : f8\nyield %b")
    stays(contract_products, "%a = mul %x, %y : f8\n%b = add %a, %x : f8\nyield %b, %a")


def test_what_is_no_product_stays():
    stays(contract_products, "%a = truediv %x, %y : f8\n%b = add %a, %x : f8\nyield %b")
    stays(contract_products, "%a = mul %i, %i : i8\n%b = add %a, %i : i8\nyield %b")


def test_sums_and_differences_are_fused():
    assert swept(contract_products, SUM) == lines("%b = fma %x, %y, %x : f8\nyield %b")
    assert swept(contract_products, TAKEN) == lines("%0 = neg %x : f8\n%b = fma %0, %y, %x : f8\nyield %b")
    assert swept(contract_products, LESS) == lines("%0 = neg %x : f8\n%b = fma %x, %y, %0 : f8\nyield %b")


def test_of_two_products_one_is_rounded():
    after = swept(contract_products, "%a = mul %x, %y : f8\n%b = mul %x, %x : f8\n%c = add %a, %b : f8\nyield %c")
    assert after == lines("%b = mul %x, %x : f8\n%c = fma %x, %y, %b : f8\nyield %c")


def test_each_sum_of_a_product_fuses_it():
    after = swept(contract_products, "%a = mul %x, %y : f8\n%b = add %a, %x : f8\n%c = sub %b, %a : f8\nyield %b, %c")
    assert after == lines("%b = fma %x, %y, %x : f8\n%0 = neg %x : f8\n%c = fma %0, %y, %b : f8\nyield %b, %c")


def test_of_two_products_with_the_same_sums_one_is_rounded():
    squares = "%a = mul %x, %x : f8\n%b = mul %y, %y : f8\n%c = add %a, %b : f8\n%d = sub %a, %b : f8\nyield %c, %d"
    assert swept(contract_products, squares) == lines("""
        %b = mul %y, %y : f8
        %c = fma %x, %x, %b : f8
        %0 = neg %b : f8
        %d = fma %x, %x, %0 : f8
        yield %c, %d""")


@pytest.mark.parametrize(("text", "sign", "of_term"), [(SUM, 1.0, 1.0), (TAKEN, -1.0, 1.0), (LESS, 1.0, -1.0)])
def test_there_is_one_rounding_and_special_values_are_those_of_the_sum(text, sign, of_term):
    fn = contract_products(flat(text))
    validate(fn)
    plain = flat(text)
    random = np.random.default_rng(3).normal(size=(200, 2)).tolist()
    for x, y in [*itertools.product(EDGES, repeat=2), *random]:
        (found,), (twice,) = run(fn, (*OTHERS, x, y)).values, run(plain, (*OTHERS, x, y)).values
        assert same_bits(found, fused.exact(sign * x, y, of_term * x))
        if not (math.isfinite(x) and math.isfinite(y)) or 0.0 in (x, y):
            assert same_bits(found, twice)


def test_float32_is_rounded_once():
    text = "%a = mul %x, %y : f4\n%b = add %a, %x : f4\nyield %b"
    fn = contract_products(parse_function(function(text, "f4")))
    for x, y in np.random.default_rng(4).normal(size=(300, 2)).astype(np.float32).tolist():
        exact = fused.exact(x, y, x)
        (found,) = run(fn, (x, y, 0)).values
        assert abs(found - exact) <= 0.5 * float(np.spacing(np.float32(abs(exact))))
        assert found == F4.rounded(found)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_lanes_of_a_twin_have_the_same_bits_wherever_they_stand(dtype):
    """In the body of the loop, in what is left of it, and alone; with a loop of its own in the function."""
    pytest.importorskip("llvmlite")

    def iterated(x: float, y: float) -> float:
        total = x * y - 0.3
        while total * total + y * y < 4.0 and y < 1.9:
            total = total * total - y * x + 0.1
            y = y + 0.125
        return total - x * y

    x, y = np.random.default_rng(5).uniform(-1.2, 1.2, (2, 1037)).astype(dtype)
    twin = pyflat.twin(iterated, target="numba", math="fast", dtype="input")
    whole = twin(x, y)
    assert "fma" in twin.show("flat")
    assert same_bits(whole[::-1], twin(x[::-1], y[::-1]))
    for n in (1, 3, 17):
        assert same_bits(whole[5 : 5 + n], twin(x[5 : 5 + n], y[5 : 5 + n]))
    assert twin.verify(x, y).lanes == 1037
