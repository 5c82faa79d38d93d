"""Kernels over uint64: 64 bits, NumPy's promotion, and warnings where a sum or product wraps around."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat
from tests.generator.kernels.differential import Outcome, compare
from tests.generator.kernels.inputs import Written

MANY = "np.array([0, 1, 7, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 12345, 2**64 - 1, 6364136223846793005], np.uint64)"
PRIME = np.uint64(0x100000001B3)
TARGETS = pytest.mark.parametrize("target", ["numpy", "numba"])


def checked(fn, target, arguments, mode="ignore", vain=0):
    outcome = Outcome()
    twin = pyflat.twin(fn, target=target)
    compare(fn, twin, Written(arguments, mode), outcome)
    assert not outcome.failures, str(outcome.failures[0])
    assert not outcome.refusals, outcome.refusals
    assert outcome.vain <= vain, "the original ran"
    return twin


def fnv1a(a, out):
    for i in range(a.shape[0]):
        h = np.uint64(0xCBF29CE484222325)
        for j in range(8):
            h = (h ^ ((a[i] >> np.uint64(8 * j)) & np.uint64(255))) * PRIME
        out[i] = h
    return h


def splitmix(state, out):
    for i in range(len(out)):
        state[0] += np.uint64(0x9E3779B97F4A7C15)
        z = state[0]
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out[i] = z ^ (z >> np.uint64(31))


def xorshift(a, out):
    for i in range(len(a)):
        x = a[i]
        x ^= x << 13
        x ^= x >> 7
        x ^= x << 17
        out[i] = ((x * np.uint64(2685821657736338717)) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@TARGETS
@pytest.mark.parametrize("mode", ["ignore", "default"])
def test_a_hash(target, mode):
    checked(fnv1a, target, f"{MANY}, np.zeros(9, np.uint64)", mode)


@TARGETS
def test_a_generator_of_random_numbers_with_a_state(target):
    checked(splitmix, target, "np.array([2**63 + 99], np.uint64), np.zeros(12, np.uint64)")


@TARGETS
def test_shifts_by_ints_of_python_and_a_quotient_of_floats(target):
    checked(xorshift, target, f"{MANY}, np.zeros(9)")


@pytest.mark.filterwarnings("ignore:overflow")
def test_wraps_in_compiled_code_where_overflows_are_ignored():
    twin = pyflat.twin(fnv1a, target="numba")
    with np.errstate(over="ignore"):
        twin(np.arange(5, dtype=np.uint64), np.zeros(5, np.uint64))
    assert twin.stats.replayed == 0
    twin(np.arange(5, dtype=np.uint64), np.zeros(5, np.uint64))
    assert twin.stats.replayed == 1  # to say where it overflows


def overflows_in_vain(a):
    total = np.uint64(0)
    for i in range(len(a)):
        t = a[i] * a[i]
        total = np.uint64(i)
        a[i] = 1
    return total


@TARGETS
@pytest.mark.parametrize("mode", ["default", "error", "ignore"])
def test_an_overflow_of_what_nothing_needs_is_told(target, mode):
    """With warnings as errors, the elements before it are written."""
    checked(overflows_in_vain, target, "np.array([5, 7, 2**33, 3], np.uint64)", mode)
    checked(splitmix, target, "np.array([3], np.uint64), np.zeros(3, np.uint64)", mode)


def beyond_floats(a, q, out):
    for i in range(len(a)):
        out[i] = float(a[i]) * 1e300
        out[i] += a[i] * 1e300
    return q * 1e300


@TARGETS
@pytest.mark.parametrize("mode", ["default", "error", "ignore"])
@pytest.mark.parametrize("given", ["2**63", "5"])
def test_an_overflow_of_floats_is_told_of_numbers_of_numpys(target, mode, given):
    checked(beyond_floats, target, f"np.array([1, 2, {given}], np.uint64), np.uint64(7), np.zeros(3)", mode, vain=3)
    checked(beyond_floats, target, f"np.zeros(0, np.uint64), np.uint64({given}), np.zeros(0)", mode)


def arithmetic(a, b, out):
    for i in range(len(a)):
        out[i, 0] = a[i] + b[i]
        out[i, 1] = a[i] - b[i]
        out[i, 2] = a[i] * b[i]
        out[i, 3] = a[i] // (b[i] | np.uint64(1))
        out[i, 4] = a[i] % (b[i] | np.uint64(1))
        out[i, 5] = ~a[i] ^ -b[i]
        out[i, 6] = a[i] << (b[i] & np.uint64(127))
        out[i, 7] = a[i] >> (b[i] & np.uint64(127))
        out[i, 8] = a[i] + np.uint8(3) + True


def conversions(a, out, bits):
    for i in range(len(a)):
        out[i, 0] = float(a[i])
        out[i, 1] = a[i] / 2**64
        out[i, 2] = a[i] * 0.5
        out[i, 3] = a[i] + np.int64(-1)
        out[i, 4] = np.float64(a[i]) - a[0]
        out[i, 5] = a[i] ** 0.5
        bits[i] = np.int64(a[i])


def comparisons(a, b, out):
    for i in range(len(a)):
        out[i, 0] = a[i] > b[i]
        out[i, 1] = a[i] >= 2**63
        out[i, 2] = a[i] > -1
        out[i, 3] = a[i] == 2**70
        out[i, 4] = a[i] < np.int64(i - 3)
        out[i, 5] = a[i] <= 9.3e18
        out[i, 6] = not a[i]
        out[i, 7] = 7 < a[i] != b[i]
    return a[0] > b[1], a[2] == 7


@TARGETS
def test_operators(target):
    checked(arithmetic, target, f"{MANY}, {MANY}[::-1].copy(), np.zeros((9, 9), np.uint64)")


@TARGETS
def test_conversions(target):
    checked(conversions, target, f"{MANY}, np.zeros((9, 6)), np.zeros(9, np.int64)")


@TARGETS
def test_comparisons(target):
    checked(comparisons, target, f"{MANY}, {MANY}[::-1].copy(), np.zeros((9, 8), bool)")


def starts_as_pythons(a):
    h = 5381
    for i in range(len(a)):
        h = (h * 33) ^ a[i]
    return h


def chosen(a, c, out):
    for i in range(len(a)):
        t = a[i] if c[i] else np.uint64(2**63)
        out[i] = t // np.uint64(3)
    return t


def a_scalar(a, key):
    for i in range(len(a)):
        a[i] ^= key
    return key, key + np.uint64(1)


def with_an_index(a, table, out):
    for i in range(len(a)):
        out[i] = table[a[i] % np.uint64(5)] + table[a[i] & np.uint64(3)]


@TARGETS
def test_joins_scalars_and_indices(target):
    checked(starts_as_pythons, target, MANY)
    checked(starts_as_pythons, target, "np.zeros(0, np.uint64)")
    checked(chosen, target, f"{MANY}, np.arange(9) % 2 == 0, np.zeros(9, np.uint64)")
    checked(a_scalar, target, f"{MANY}, np.uint64(2**63 + 77)")
    checked(with_an_index, target, f"{MANY}, np.linspace(0, 1, 5), np.zeros(9)")


def beside_an_int64(a, b):
    if b[1]:
        a[1] = a[0] & b[0]
    return a[0] + np.uint64(1)


def below_zero(a, y):
    return a[0] + y


@TARGETS
def test_what_numpy_raises(target):
    checked(beside_an_int64, target, f"{MANY}, np.arange(3)")
    checked(below_zero, target, f"{MANY}, -1")


def whole(a, b, mask):
    a[1:4] = b[1:4]
    a[mask] = 5
    return a + np.uint64(1)


def test_whole_arrays():
    checked(whole, "numpy", "np.array([1, 2**63, 3, 2**64 - 7, 5], np.uint64), np.array([2**63] * 5, np.uint64), "
            "np.array([True, False, True, False, False])", vain=1)


def below_zero(a, out):
    for i in range(len(a)):
        out[i] = a[i] + (-1) if a[i] > 5 else a[i]


@TARGETS
def test_a_negative_int_beside_uint64_is_an_overflow_error(target):
    checked(below_zero, target, f"{MANY}, np.zeros(9, np.uint64)")
    checked(below_zero, target, "np.arange(5, dtype=np.uint64), np.zeros(9, np.uint64)")


def products(a, b):
    return sum(x * y for x, y in zip(a, b, strict=False))


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_sum_of_numbers_of_uint64_is_one(size, target):
    a = np.arange(size).astype(np.uint64) + np.uint64(2**63)
    with np.errstate(all="ignore"):
        wanted, got = products(a, a), pyflat.twin(products, target=target)(a, a)
    assert (type(got), got) == (type(wanted), wanted)
