"""Functions of `math` and `bisect` on several numbers, as plain Python that is inlined (see `library`).

What is rare and long, overflow in a sum, a norm of tiny numbers, raises here: the lane is replayed through the
original, which gives its value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pyflat.frontend.state.undecided import UndecidedError


def same(fn: Any) -> Any:
    return fn


def exponent(x: float) -> int:
    raise AssertionError("replaced by the operation exponent")


def frexp(x: float) -> tuple[float, int]:
    if x == 0.0 or not math.isfinite(x):
        return x, 0
    power = exponent(x)
    return math.ldexp(x, -power), power


def ulp(x: float) -> float:
    x = abs(x)
    if not x < math.inf:
        return x
    return math.ldexp(1.0, max(exponent(x) - 53, -1074)) if x > 0.0 else 5e-324


_POWERS_OF_TEN = tuple(max(float(f"1e{k}"), 5e-324) for k in range(-324, 309))
_REACHED = tuple(math.nextafter(power, math.inf) if n * 10**max(-k, 0) < d * 10**max(k, 0) else power
                 for k, power in enumerate(_POWERS_OF_TEN, -324) for n, d in [power.as_integer_ratio()])
"""For each power of ten from 1e-324 on, the smallest float that reaches it."""


def round_to_significant(x: float, digits: int) -> float:
    """float() of x, written with so many digits."""
    size = abs(x)
    if size == 0.0 or not size < math.inf:
        return x
    place = (exponent(size) - 1) * 1292913986 >> 32  # log10 of a power of two, rounded down
    if size >= _REACHED[place + 325]:
        place += 1
    return round(x, digits - 1 - place)


def by_count(counts: Any) -> list[tuple[Any, Any]]:
    """What `Counter.most_common` gives."""
    return sorted(counts.items(), key=lambda pair: pair[1], reverse=True)


def fsum(items: Sequence[float]) -> float:
    """The correctly rounded sum (J. R. Shewchuk, 1997): exact partial sums, then one rounding, half to even."""
    partials: list[float] = []
    for x in items:
        x = float(x)
        for k in range(len(partials)):
            high = x + partials[k]
            part = high - x
            partials[k] = (x - (high - part)) + (partials[k] - part)
            x = high
        partials.append(x)
    if not partials:
        return 0.0
    total, rest, below, settled = partials[-1], 0.0, 0.0, False
    for part in partials[-2::-1]:
        if settled:
            if rest != 0.0 and part != 0.0 and below == 0.0:
                below = part
        else:
            high = total + part
            rest = part - (high - total)
            total, settled = high, rest != 0.0
    if not math.isfinite(total):
        raise UndecidedError("inf, nan or an error")
    if rest != 0.0 and below != 0.0 and (rest < 0.0) == (below < 0.0):
        twice = rest * 2.0
        nearest = total + twice
        if nearest - total == twice:
            total = nearest
    return total + 0.0


_HALF = 134217729.0


def mean(data: Sequence[Any]) -> Any:
    """`statistics.mean`: the sum as a fraction, divided exactly and rounded once; an int where it is one.

    The quotient of the rounded sum is put right by its exact remainder. Where what that gives is too near to the middle
    of two floats without being it, and out of the range where remainders are exact, the original decides.
    """
    n = len(data)
    whole = True
    for x in data:
        if isinstance(x, bool) or not isinstance(x, int | float):
            raise UndecidedError("the original decides")
        if not isinstance(x, int):
            whole = False
    if n == 0:
        raise UndecidedError("the original raises")
    if whole:
        count = sum(data)
        return count // n if count % n == 0 else count / n
    for x in data:
        if isinstance(x, int) and abs(x) > 2**53:
            raise UndecidedError("the original decides")
    total = fsum(data)
    if total == 0.0:
        return 0.0
    rest = fsum([*data, -total])
    quotient = total / n
    if not 1e-270 < abs(quotient) < 1e290:
        raise UndecidedError("the original decides")
    high = quotient * _HALF
    high = high - (high - quotient)
    product = quotient * n
    error = (high * n - product) + (quotient - high) * n
    below = (total - product) - error
    remainder = below + rest
    correction = remainder / n
    least = quotient + correction * (1.0 - 2.0**-40)
    if least == quotient + correction * (1.0 + 2.0**-40):
        return least
    exact = remainder - below == rest and remainder - rest == below and fsum([*data, -total, -rest]) == 0.0
    next_to = quotient + 2.0 * correction
    if exact and correction * n == remainder and next_to - quotient == 2.0 * correction:
        return quotient + correction  # just in the middle of two floats
    raise UndecidedError("the original decides")


def norm(scaled: Any, numbers: Sequence[float]) -> float:
    """The Euclidean norm, by `functions.norms`; `scaled` is the function for this Python."""
    sizes = [abs(float(x)) for x in numbers]
    for x in sizes:
        if x == math.inf:
            return x
    largest = 0.0
    for x in sizes:
        if x != x:
            return x
        largest = max(largest, x)
    if largest == 0.0:
        return 0.0
    power = exponent(largest)
    if power < -1023:
        raise UndecidedError("tiny numbers are left to the original")
    result: float = scaled(sizes, math.ldexp(1.0, -power), math.sqrt)
    return result


def dist(scaled: Any, p: Sequence[float], q: Sequence[float]) -> float:
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return norm(scaled, [a - b for a, b in zip(p, q, strict=True)])


def comb(n: int, k: int) -> int:
    if n < 0 or k < 0:
        raise ValueError("must be a non-negative integer")
    if k > n:
        return 0
    count = min(k, n - k)
    ways = 1
    for i in range(count):
        ways = ways * (n - i) // (i + 1)
    return ways


def perm(n: int, k: int | None = None) -> int:
    if k is None:
        k = n
    if n < 0 or k < 0:
        raise ValueError("must be a non-negative integer")
    if k > n:
        return 0
    ways = 1
    for i in range(k):
        ways = ways * (n - i)
    return ways


def power_of_ints(base: int, exponent: int, modulus: int) -> int:
    """pow(base, exponent, modulus)."""
    return power_below(base, exponent, modulus, power_modulo_any)


def power_of_ints_narrow(base: int, exponent: int, modulus: int) -> int:
    """`power_of_ints` where floats have 24 digits."""
    return power_below(base, exponent, modulus, power_modulo_narrow)


def power_below(base: int, exponent: int, modulus: int, power: Callable[[int, int, int], int]) -> int:
    """pow(base, exponent, modulus) by `power`, which takes exponents >= 0 and a modulus >= 1."""
    if modulus == 0:
        raise ValueError("pow() 3rd argument cannot be 0")
    size = abs(modulus)
    if exponent < 0:
        base, exponent = inverse_modulo(base, size), -exponent
    result = power(base, exponent, size)
    return result - size if modulus < 0 and result != 0 else result


def power_modulo_any(base: int, exponent: int, modulus: int) -> int:
    """pow(base, exponent, modulus), exponent >= 0 and modulus >= 1."""
    return power_modulo(base, exponent, modulus) if modulus <= 1 << 50 else power_modulo_wide(base, exponent, modulus)


def power_modulo(base: int, exponent: int, modulus: int) -> int:
    """pow(base, exponent, modulus) by squaring, exponent >= 0 and 1 <= modulus <= 2**50."""
    power = base % modulus
    result = 1 % modulus
    while exponent > 0:
        if exponent & 1:
            result = product_modulo(result, power, modulus)
        power = product_modulo(power, power, modulus)
        exponent = exponent >> 1
    return result


def power_modulo_wide(base: int, exponent: int, modulus: int) -> int:
    """`power_modulo` for a modulus below 2**63."""
    power = base % modulus
    result = 1
    while exponent > 0:
        if exponent & 1:
            result = product_modulo_wide(result, power, modulus)
        power = product_modulo_wide(power, power, modulus)
        exponent = exponent >> 1
    return result


def inverse_modulo(base: int, modulus: int) -> int:
    """pow(base, -1, modulus), 1 <= modulus, by the extended algorithm of Euclid."""
    old, new = base % modulus, modulus
    factor, next_factor = 1, 0
    while new != 0:
        quotient = old // new
        old, new = new, old - quotient * new
        factor, next_factor = next_factor, factor - quotient * next_factor
    if old != 1:
        raise ValueError("base is not invertible for the given modulus")
    return factor % modulus


def product_modulo(a: int, b: int, modulus: int) -> int:
    """a * b % modulus of numbers in range(modulus), modulus <= 2**50: the quotient of floats is off by one at most, and
    the remainder is small, so that its low bits have it all."""
    quotient = int(float(a) * float(b) / float(modulus))
    rest = (a * b - quotient * modulus) & 0x7FFFFFFFFFFFFFFF
    if rest >= 1 << 62:
        return rest - (1 << 62) - (1 << 62) + modulus
    return rest - modulus if rest >= modulus else rest


def product_modulo_wide(a: int, b: int, modulus: int) -> int:
    """`product_modulo` for a modulus below 2**63: the upper 31 bits of b, then the lower ones."""
    high = times_modulo(times_modulo(a, b >> 32, modulus), 1 << 32, modulus)
    difference = high - (modulus - times_modulo(a, b & 0xFFFFFFFF, modulus))
    return difference if difference >= 0 else difference + modulus


def times_modulo(a: int, factor: int, modulus: int) -> int:
    """a * factor % modulus, factor <= 2**32: the quotient has 32 bits, so that floats round it to one of the two
    nearest ints, and what the signed remainder is modulo 2**64 is the remainder."""
    quotient = int(float(a) * float(factor) / float(modulus) + 0.5)
    rest = (((a * factor - quotient * modulus) & 0xFFFFFFFFFFFFFFFF) ^ 0x8000000000000000) - 0x8000000000000000
    return rest + modulus if rest < 0 else rest


def power_modulo_narrow(base: int, exponent: int, modulus: int) -> int:
    """`power_modulo` where floats have 24 digits: products that overflow are left to the original."""
    power = base % modulus
    result = 1 % modulus
    while exponent > 0:
        if exponent & 1:
            result = result * power % modulus
        if exponent > 1:
            power = power * power % modulus
        exponent = exponent >> 1
    return result


def lcm(*numbers: int) -> int:
    least = 1
    for n in numbers:
        if n == 0:
            return 0
        least = least // math.gcd(least, n) * abs(n)
    return least


def as_integer_ratio(x: float) -> tuple[int, int]:
    """float.as_integer_ratio: the digits of the significand, without the zeros at their end, and a power of two."""
    if math.isnan(x):
        raise ValueError("cannot convert NaN to integer ratio")
    if math.isinf(x):
        raise OverflowError("cannot convert Infinity to integer ratio")
    significand, exponent = math.frexp(x)
    n = int(significand * 2.0**53)
    if n == 0:
        return 0, 1
    zeros = (n & -n).bit_length() - 1
    n, exponent = n >> zeros, exponent - 53 + zeros
    return (n << exponent, 1) if exponent >= 0 else (n, 1 << -exponent)


def bit_count(n: int) -> int:
    """The ones among the bits of |n|, added in parallel."""
    n = abs(n)
    n = n - ((n >> 1) & 0x5555555555555555)
    n = (n & 0x3333333333333333) + ((n >> 2) & 0x3333333333333333)
    n = (n + (n >> 4)) & 0x0F0F0F0F0F0F0F0F
    n = n + (n >> 8)
    n = n + (n >> 16)
    return (n + (n >> 32)) & 0x7F


def bisect_left(a: Sequence[Any], x: Any, lo: int = 0, hi: int | None = None, *, key: Callable[[Any], Any] | None = None
                ) -> int:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    for _ in range(len(a).bit_length()):
        if lo < hi:
            middle = (lo + hi) // 2
            if (a[middle] if key is None else key(a[middle])) < x:
                lo = middle + 1
            else:
                hi = middle
    if lo < hi:
        raise IndexError("list index out of range")
    return lo


def bisect_right(a: Sequence[Any], x: Any, lo: int = 0, hi: int | None = None, *,
                 key: Callable[[Any], Any] | None = None) -> int:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    for _ in range(len(a).bit_length()):
        if lo < hi:
            middle = (lo + hi) // 2
            if x < (a[middle] if key is None else key(a[middle])):
                hi = middle
            else:
                lo = middle + 1
    if lo < hi:
        raise IndexError("list index out of range")
    return lo
