"""Functions with ints that fit 32 bits, nearly fit, or only seem to; and numbers at the edges of 32 and 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

EDGES = np.array([s * (2**k + d) for s in (1, -1) for k in (0, 1, 7, 15, 16, 30, 31, 32, 33, 62) for d in (-1, 0, 1)]
                 + [2**63 - 1, -(2**63), -(2**63) + 1, 10, -10, 123456789, -987654321, 0xDEADBEEF, 5 * 2**32 + 3])
NUMBERS = np.concatenate([EDGES, np.linspace(-70000, 70000, 61).astype(np.int64),
                          np.random.default_rng(8).integers(-(2**63), 2**63 - 1, 64)])
TABLE = (0.5, -1.5, 2.25, 1e300, -0.0)
INTS = (7, -(2**31), 2**31 - 1, 4_000_000_000, 0, 5)
FAR = (1, 2**40, -3)


def fnv(n: int):
    h = 2166136261
    for k in range(8):
        h = ((h ^ ((n >> (8 * k)) & 255)) * 16777619) & 0xFFFFFFFF
    return h


def mixed(n: int):
    h = (n * 374761393 + 668265263) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 1274126177) & 0xFFFFFFFF
    return (h ^ (h >> 16)) >> 3 & 7


def xorshift(n: int):
    x = n & 0xFFFFFFFF
    x = x ^ ((x << 13) & 0xFFFFFFFF)
    x = x ^ (x >> 17)
    x = x ^ ((x << 5) & 0xFFFFFFFF)
    return x / 4294967296.0, x >= 2**31, x < 2**31, x == 2**31


def unsigned(n: int):
    h = n & 0xFFFFFFFF
    d = (n >> 5 & 0xFFFF0000) + 1
    return h % 1000, h // 1000, h // 65536, h % 65536, h // d, h % d, h > d, h + 0.5


def signed(n: int):
    s = (n & 0xFFFF) - 40000
    d = (n >> 16 & 0xFF) - 300
    return s // 7, s % 7, s // -7, s % -7, s // 8, s % 8, s >> 3, abs(s), -s, ~s, s // d, s % d, s < d, s + 0.5, s * d


def lowest(n: int):
    """-2**31 and what leaves 32 bits from there."""
    s = (n & 0xFFFFFFFF) - 2**31
    return abs(s), -s, s // -1, s - 1, ~s, s // 2**31, s % 2**31, s % 2**32, s * s, s >> 31


def sums(n: int):
    """Each operand fits, the result need not."""
    a, b = n & 0x7FFFFFFF, n >> 8 & 0x7FFFFFFF
    return a + b, a - b, a * 2, a * b, (a + b) >> 1, (a + b) // 3, (a << 1) + 1, min(a, b) + max(a, b), a + b > 2**31


def upper_bits(n: int):
    """Something needs more than the low bits."""
    p = (n & 0xFFFFFF) * (n >> 3 & 0xFFFFFF)
    q = p ^ (p >> 32)
    return q & 0xFFFF, (p & 0xFF) + (1 if p > 2**33 else 0)


def low_only(n: int):
    """Low bits of numbers that leave 32 bits, by every operation that keeps them."""
    a = (n & 0xFFFFFFF) * 48271
    b = -(a * 40503) - (~a << 3)
    c = (a | b) ^ (b if n > 5 else a - 1)
    return c & 0xFFFFFFFF, c % 4096, (c + 1) & 0xFF


def tables(n: int):
    k = n % 5
    i = (n & 7) % 6
    return TABLE[k], TABLE[k - 5], INTS[i], INTS[-1 - i], INTS[i] // 3, FAR[n % 3] + 1, INTS[i] > 2**31


def selected(n: int, m: int):
    a = n & 0xFFFF if m > 0 else m & 0xFFFFFFFF
    b = a if n > m else -1
    return a, b, (a if n % 2 else b) + 1, max(min(n, 100), -100) * 3


def rounded(n: int):
    x = (n & 0xFFFFF) / 7.0
    y = x * 12345.0
    return int(x), int(-x) % 10, round(x) & 255, int(y) % 1000, int(y) & 0xFFFF, (n > 3) + (n > 7) * 2


def counts(n: int):
    k, s = 0, 0
    for i in range(min(n & 255, 40)):
        if (n >> (i % 8)) & 1:
            k += 1
        s += i * k
        if s > 500:
            break
    return k, s


def counts_down(n: int):
    k = 0
    for i in range(n & 31, -7, -3):
        k = k * 3 + i
        k = k & 0xFFF
    return k


def hashes_in_a_loop(n: int):
    """The hash is masked behind the loop only."""
    h, k = n & 0xFFFFFFFF, 0
    while k < (n & 15):
        h = (h * 31 + k) & 0x7FFFFFFFFFFF
        k += 1
    return h & 0xFFFFFFFF


def grows_in_a_loop(n: int):
    """No interval holds the sum."""
    s, k = 1, n & 31
    while k > 0:
        s = s + s
        k -= 1
    return s, s > 2**31


def limit_near_the_edge(n: int):
    """A counter that goes beyond 2**31 in its last step."""
    i = 2**31 - 10 + (n & 7)
    k = 0
    while i < 2**31 - 2:
        i += 5
        k += 1
    return i, k


def nested(n: int):
    t = 0
    for i in range(n & 7):
        for j in range(i):
            t += (i ^ j) * 3
            if t > 60:
                return t * 2, i
    return t, -1


def collatz(n: int):
    n, k = (n & 255) + 1, 0
    while n != 1 and k < 50:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return n, k


def takes_undefined(n: int):
    for i in range(n & 3):
        last = (i + 1) * 1000
    return last


STRAIGHT: list[Callable[..., Any]] = [fnv, mixed, xorshift, unsigned, signed, lowest, sums, upper_bits, low_only, tables,
                                      selected, rounded]
LOOPS: list[Callable[..., Any]] = [counts, counts_down, hashes_in_a_loop, grows_in_a_loop, limit_near_the_edge, nested, collatz,
                                   takes_undefined]
