"""pow(a, b, m) of ints, also where the products on the way leave 64 bits."""

import math

import numpy as np
import pytest

import pyflat
from pyflat.frontend.library.stdlib import product_modulo, product_modulo_wide


def power(a, b, m):
    return pow(a, b, m)


def fermat(n):
    return all(pow(a, n - 1, n) == 1 for a in (2, 3, 5, 7)) if n > 10 else n in (2, 3, 5, 7)


def in_try(a, m):
    try:
        return pow(a, (a > 3) - 1, m)
    except (ValueError, OverflowError):
        return -1


def known_modulus(a, b):
    return pow(a, b, 1_000_000_007)


AS = np.array([0, 1, -1, 2, 3, 10, -7, 2**31, 2**50 - 1, -(2**50), 2**62, 2**63 - 1, -(2**63), 123456789012345678])
BS = np.array([0, 1, 2, 3, 10, 63, 64, 1000, 2**31 - 1, 2**62, 2**63 - 1])
MS = np.array([1, 2, 3, 7, 10, 97, 2**31 - 1, 10**9 + 7, 2**50 - 27, 2**50 - 1, 2**50, 2**50 + 1, 2**61 - 1, 2**62 + 1, 2**63 - 1, -1, -7, -(2**40)])
PRIMES = np.array([2, 4, 11, 15, 97, 341, 561, 7919, 1_000_003, 2**31 - 1, 2**31 + 11, 10**12 + 39, 2**49 - 1, 562949953421231])


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_every_lane_is_pythons(target):
    a, b, m = (grid.ravel() for grid in np.meshgrid(AS[::3] if target == "numpy" else AS, BS, MS))
    got = pyflat.twin(power, target=target)(a, b, m)
    assert got.tolist() == [pow(*lane) for lane in zip(a.tolist(), b.tolist(), m.tolist(), strict=True)]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("fn", "columns"), [(fermat, [PRIMES]), (in_try, [AS[:8], MS[:8]]), (known_modulus, [AS[:11], BS])],
                         ids=["fermat", "in_try", "known_modulus"])
def test_functions(fn, columns, target):
    with np.errstate(all="ignore"):
        got = pyflat.twin(fn, target=target)(*columns)
    assert got.tolist() == [fn(*lane) for lane in zip(*(c.tolist() for c in columns), strict=True)]


def test_errors_are_pythons():
    with pytest.raises(ValueError, match="pow\\(\\) 3rd argument cannot be 0"):
        pyflat.twin(power)(np.array([2, 3]), np.array([2, 3]), np.array([5, 0]))
    with pytest.raises(pyflat.FlattenError, match="takes ints"):
        pyflat.twin(power)(np.array([2.0]), np.array([2]), np.array([5]))


def inverse(a, m):
    return pow(a, -1, m)


def cubed_inverse(a, m):
    try:
        return pow(a, -3, m)
    except ValueError:
        return -1


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_inverses_are_pythons(target):
    lanes = [(a, m) for a in AS.tolist() for m in MS.tolist()]
    prime_to = [(a, m) for a, m in lanes if math.gcd(a, m) == 1]
    got = pyflat.twin(inverse, target=target)(*map(np.array, zip(*prime_to, strict=True)))
    assert got.tolist() == [inverse(*lane) for lane in prime_to]
    got = pyflat.twin(cubed_inverse, target=target)(*map(np.array, zip(*lanes, strict=True)))
    assert got.tolist() == [cubed_inverse(*lane) for lane in lanes]
    with pytest.raises(ValueError, match="base is not invertible for the given modulus"):
        pyflat.twin(inverse, target=target)(np.array([3, 6]), np.array([7, 9]))


def test_products_at_the_edges():
    for m in (1, 2, 3, 2**50, 2**50 - 1, 2**50 - 27, 2**49 + 1):
        for a in {0, 1 % m, m // 2, m // 3, m - 1, max(m - 2, 0)}:
            for b in {0, 1 % m, m // 2, m // 5, m - 1}:
                assert product_modulo(a, b, m) == a * b % m, (a, b, m)
    rng = np.random.default_rng(5)
    for m in rng.integers(1, 2**50, 20000, endpoint=True).tolist():
        a, b = (int(rng.integers(0, m)) for _ in range(2))
        assert product_modulo(a, b, m) == a * b % m, (a, b, m)
    for m in (2**50 + 1, 2**52 - 1, 2**61 - 1, 2**62 - 1, 2**62, 2**62 + 1, 2**63 - 25, 2**63 - 1, *rng.integers(2**50, 2**63 - 1, 20000).tolist()):
        for a, b in ((m - 1, m - 1), (m // 2, m // 2 + 1), (int(rng.integers(0, m)), int(rng.integers(0, m)))):
            assert product_modulo_wide(a, b, m) == a * b % m, (a, b, m)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_negative_exponents_by_lane(target):
    lanes = [(a, b, m) for a in (0, 1, 3, -7, 2**62, 10**18 + 9) for b in (-3, -1, 0, 2) for m in (1, -1, 7, -10, 2**61 - 1, 2**63 - 1)
             if b >= 0 or math.gcd(a, m) == 1]
    got = pyflat.twin(power, target=target)(*map(np.array, zip(*lanes, strict=True)))
    assert got.tolist() == [pow(*lane) for lane in lanes]
