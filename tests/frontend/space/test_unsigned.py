"""Ints of 64 bits without sign: hashes, random numbers, bitboards, and functions that try to break them."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import pyflat
from tests.generator.outcomes import Raised, observe

M = 0xFFFFFFFFFFFFFFFF
BEYOND_LANES = 2**63
TABLE = tuple((k * 0x9E3779B97F4A7C15 & M for k in range(16)))


def murmur(k: int):
    k &= M
    k ^= k >> 33
    k = k * 18397679294719823053 & M
    k ^= k >> 33
    k = k * 14181476777654086739 & M
    k ^= k >> 33
    return k


def rot(x: int, k: int):
    x &= M
    k &= 63
    return (x << k | x >> 64 - k) & M


def rot13(x: int):
    x = x & M
    return (x << 13 | x >> 51) & M


def pcg(state: int, inc: int):
    state = state * 6364136223846793005 + (inc | 1) & M
    word = (state >> (state >> 59) + 5 ^ state) * 12605985483714917081 & M
    return word >> 43 ^ word


def crc(x: int, y: int):
    c = x & M
    for _ in range(8):
        if c & 1:
            c = c >> 1 ^ 14514072000185962306
        else:
            c >>= 1
    return c ^ y & 255


def crcw(x: int, n: int):
    c = x & M
    k = 0
    while k < n % 20:
        c = c >> 1 ^ 14514072000185962306 if c & 1 else c >> 1
        k += 1
    return c


def loopfnv(n: int, x: int):
    h = 14695981039346656037
    for i in range(n % 9):
        h = (h ^ x >> 8 * (i % 8) & 255) * 1099511628211 & M
    return h


def latemask(n: int, x: int):
    h = 7
    for i in range(n % 9):
        h = h * 31 + (x & M)
    return h & M


def lowest(x: int):
    x &= M
    return x & -x


def clear(x: int):
    x &= M
    return x & x - 1


def count(x: int):
    x &= M
    n = 0
    while x:
        x &= x - 1
        n += 1
    return n


def cmp(x: int, y: int):
    a, b = (x & M, y & M)
    return (a < b, a <= b, a == b, a != b, a > b, a >= b, a < y, a <= y, a == y, a > y, y < a, y >= a, a != y)


def cmpc(x: int):
    a = x & M
    return (a < 5, a > 2 ** 63, a == M, a >= 0, a < 0, a < 2 ** 64, a <= -1, a != 2 ** 70, 2 ** 63 <= a, a == 2 ** 63)


def asfloat(x: int):
    return (float(x & M), (x & M) * 0.5, (x & M) / 2 ** 64, 1.0 + (x & M), (x & M) - 0.25)


def halves(x: int):
    a = x & M
    return (a >> 32, a & 4294967295, a >> 63, a >> 64, a >> 0)


def divs(x: int):
    a = x & M
    return (a // 3, a % 3, a // 10, a % 10, a // 2 ** 63, a % 2 ** 63, a // M, a % M, a // 1, a % 1, a // (2 ** 63 + 5), a % (2 ** 63 + 5), a % 2 ** 64, a // 7919)


def mods(x: int):
    return (x % 2 ** 64, x * 3 % 2 ** 64, (x - 1) % 2 ** 64, -x % 2 ** 64)


def joined(x: int, y: int):
    a = x & M
    if y > 3:
        a = 0
    elif y > 1:
        a = a ^ 61680
    else:
        a = 2 ** 64 - 1
    return a


def mixed(x: int, y: int):
    return x & M if y > 2 else 5


def mixed_lane(x: int, y: int):
    return x & M if y > 2 else y


def mixed_negative(x: int, y: int):
    return x & M if y > 2 else -1


def fortune(x: int, y: int):
    a = x & M
    if a < y & M:
        a, b = (y & M, a)
    else:
        b = y & M
    return a - b if a - b < 10 else 11


def diff(x: int, y: int):
    a, b = (x & M, y & M)
    return (a - b & M, (b - a) % 2 ** 64, a + b & M, a * b & M, a ^ b, a | b, a & b)


def table(x: int):
    x &= M
    return TABLE[x >> 60] ^ x


def knight(sq: int):
    b = 1 << (sq & 63)
    l1 = b >> 1 & 9187201950435737471
    l2 = b >> 2 & 4557430888798830399
    r1 = b << 1 & 18374403900871474942
    r2 = b << 2 & 18229723555195321596
    h1 = l1 | r1
    h2 = l2 | r2
    return (h1 << 16 | h1 >> 16 | h2 << 8 | h2 >> 8) & M


def tern(x: int, y: int):
    return max(y & M, x & M)


def boolmix(x: int, y: int):
    return (x & M ^ (y > 2)) + (y > 5) & M


def truthy(x: int):
    a = x * x & M
    return (1 if a else 2, not a, bool(a))


def inlist(x: int, y: int):
    state = [x & M, y + 1 & M]
    s1, s0 = state
    state[0] = s0
    s1 ^= s1 << 23 & M
    state[1] = (s1 ^ s0 ^ s1 >> 18 ^ s0 >> 5) & M
    return state[1] + s0 & M


def nested(x: int, y: int):

    def step(v):
        return v * 2685821657736338717 & M
    a = step(step(x)) ^ step(y)
    return a


class Rng:

    def __init__(self, seed):
        self.s = seed & M

    def next(self):
        self.s ^= self.s << 13 & M
        self.s ^= self.s >> 7
        self.s ^= self.s << 17 & M
        return self.s


def objects(x: int):
    r = Rng(x + 1)
    r.next()
    return r.next()


def raising(x: int, y: int):
    a = x & M
    if a > 2 ** 63:
        raise ValueError(a)
    return a << 1


def shiftl(x: int, y: int):
    return (x & M) << y % 70 & M


def shiftr(x: int, y: int):
    return (x & M) >> y % 70


def negshift(x: int, y: int):
    return (x & M) >> y


def negshiftl(x: int, y: int):
    return (x & M) << y & M


def none(x: int):
    return ~(x & M)


def zob(x: int, y: int):
    h = 0
    for i, v in enumerate((x, y, x ^ y)):
        if v & 1:
            h ^= TABLE[i]
    return h


def adler(x: int, y: int):
    return (x & M) + (y & M) >> 1


def twice(x: int):
    h = x & M
    return h * 2


def midpt(x: int, y: int):
    a, b = (x & M, y & M)
    return (a & b) + ((a ^ b) >> 1)


def fact(x: int):
    return ((x & M).bit_count(), (x & M).bit_length())


def minmax(x: int, y: int):
    return (min(x & M, y & M), max(x & M, 3))


def bigc(x: int):
    return (x ^ 9223372036854775808, x | 18446462598732840960)


def deep(x: int, y: int):
    a = x & M
    t = (a, y)
    return t


def eqf(x: int):
    return (x & M == 0.0, x & M < 1e+19)


REFUSED = (raising, none, twice)
"""They need more than 64 bits of an int: `a << 1`, `~a` and `a * 2` without a mask."""
BEYOND = (mixed_lane, mixed_negative, bigc, adler)
"""Some lanes return what no dtype of 64 bits holds beside the others."""
EDGES = (0, 1, -1, 2, 3, 5, 255, 256, 2**31, 2**32 - 1, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -2**63, -2**63 + 1, -5,
         -256, 123456789123, 2**63 - 512, 2**63 - 513)
COUNTS = (0, 1, 2, 3, 4, 5, 63, 64, 65, -1)
FUNCTIONS = [value for value in list(globals().values())
             if isinstance(value, FunctionType) and value.__module__ == __name__ and value not in REFUSED + BEYOND]


def rows_of(fn: FunctionType) -> list[tuple[int, ...]]:
    rng = random.Random(fn.__name__)
    xs = [*EDGES, *(rng.randrange(-2**63, 2**63) for _ in range(15))]
    if fn.__code__.co_argcount == 1:
        return [(x,) for x in xs]
    return [(x, rng.choice((*COUNTS, x, rng.choice(xs)))) for x in xs for _ in range(3)]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_each_lane_is_pythons(fn: FunctionType, target: Any) -> None:
    if target == "numba":
        pytest.importorskip("numba")
    twin = pyflat.twin(fn, target=target)
    rows = rows_of(fn)
    wanted = [observe(fn, list(row)) for row in rows]
    good = [k for k, want in enumerate(wanted) if not isinstance(want, Raised)]
    got = twin(*map(np.array, zip(*[rows[k] for k in good], strict=True)))
    for lane, k in enumerate(good):
        value = tuple(_lane(part, lane) for part in got) if isinstance(got, tuple) else _lane(got, lane)
        assert repr(value) == repr(wanted[k].value), rows[k]
    for k in [k for k, want in enumerate(wanted) if isinstance(want, Raised)][:3]:
        with pytest.raises(wanted[k].error):
            twin(*(np.array([item]) for item in rows[k]))


def _lane(part: Any, lane: int) -> Any:
    return part[lane].item() if np.ndim(part) else part.item() if isinstance(part, np.generic) else part


@pytest.mark.parametrize("fn", REFUSED, ids=lambda fn: fn.__name__)
def test_more_than_64_bits_are_refused(fn: Callable[..., Any]) -> None:
    with pytest.raises(pyflat.FlattenError, match="mask it first") as refused:
        pyflat.twin(fn)(*(np.arange(3),) * fn.__code__.co_argcount)
    assert refused.value.diagnostic.code == "flatten/int-too-large"


@pytest.mark.parametrize("fn", BEYOND, ids=lambda fn: fn.__name__)
def test_what_no_lane_holds_is_an_error_of_the_lane(fn: FunctionType) -> None:
    with pytest.raises(pyflat.LaneError):
        pyflat.twin(fn)(*map(np.array, zip(*rows_of(fn), strict=True)))


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_nothing_goes_to_the_original(target: Any) -> None:
    """A mask makes every lane whole."""
    if target == "numba":
        pytest.importorskip("numba")
    for fn in (murmur, rot, pcg, crc, latemask, diff, divs, cmp):
        twin = pyflat.twin(fn, target=target)
        twin(*map(np.array, zip(*rows_of(fn), strict=True)))
        assert twin.stats.replayed == 0


def test_results_are_arrays_of_uint64() -> None:
    twin = pyflat.twin(murmur)
    out = np.zeros(3, np.uint64)
    assert twin(np.arange(3), out=out) is out
    assert out.tolist() == [murmur(k) for k in range(3)]
    assert twin(np.arange(6).reshape(2, 3)).dtype == np.uint64
    assert type(twin(5)) is int
    assert twin(np.zeros(0, int)).dtype == np.uint64
    with pytest.raises(pyflat.FlattenError, match="a result of murmur_flat is not bool, int or float"):
        twin.ufunc  # noqa: B018


def test_arrays_of_uint64_have_all_values() -> None:
    xs = np.array([2**64 - 1, 2**63, 5], np.uint64)
    assert pyflat.twin(murmur)(xs).tolist() == [murmur(int(x)) for x in xs]


def test_printed_texts_run() -> None:
    namespace: dict[str, Any] = {}
    exec(str(pyflat.twin(rot13).show(target="numpy", kinds="i8")), namespace)
    xs = np.array(EDGES)
    assert namespace["rot13_flat"](xs).tolist() == [rot13(x) for x in EDGES]
    assert "low64(" in pyflat.twin(rot13).show(kinds="i8")


def quotient(x: int, y: int):
    return (x & M) // y


def folded(x: int):
    return x ^ BEYOND_LANES


def lambda_of(mask):
    def rest(x: int, y: int):
        return (x & mask) // y
    return rest


@pytest.mark.parametrize("fn", [quotient, folded, lambda_of(M)], ids=["global", "bits", "closure"])
def test_a_printed_text_takes_no_residue_for_a_captured_int(fn: Callable[..., Any]) -> None:
    """`M` in the text would be the constant that stands where the source has M."""
    twin = pyflat.twin(fn)
    rows = [(x, 3)[:fn.__code__.co_argcount] for x in (-1, 0, 5, 2**62)]
    namespace: dict[str, Any] = {"__name__": "printed"}
    exec(str(twin.show(target="numpy", faults=True, kinds=",".join(["i8"] * len(rows[0])))), namespace)
    columns = list(map(np.array, zip(*rows, strict=True)))
    suspect = np.broadcast_to(namespace[twin.__name__.replace("_flat", "_suspect")](*columns), len(rows))
    got = namespace[twin.__name__](*columns)
    assert all(suspect[k] or int(got[k]) == fn(*row) for k, row in enumerate(rows))
