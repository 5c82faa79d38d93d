# ruff: noqa: FURB161
"""Ints: bits, moduli, digits, limits."""

import math

from tests.support.adversary import small

M = (1 << 64) - 1


def case_bc(n: "int"):
    return n.bit_count()


def case_bl(n: "int"):
    return n.bit_length()


def case_bin(n: "int"):
    return bin(n).count("1")


def case_bin2(n: "int"):
    return bin(n & 0xFF).count("0")


def case_bin3(n: "int"):
    return len(bin(n)) - 2


def case_pow3(n: "int"):
    return pow(n, 5, 97)


def case_pow3neg(n: "int"):
    return pow(n, 3, -97)


def case_pow3inv(n: "int"):
    return pow(n, -1, 97)


def case_pow3zero(n: "int", k: "small"):
    return pow(3, abs(n) % 50, k)


def case_pow3lane(n: "int", k: "small"):
    return pow(n, k, 1000003)


def case_pow3big(n: "int"):
    return pow(n, 2, 2**62 - 57)


def case_mulmod(n: "int", k: "int"):
    return n * k % 1000000007


def case_mulmod2(n: "int", k: "int"):
    return (n * k + n) % (2**61 - 1)


def case_mulmodneg(n: "int", k: "int"):
    return n * k % -1000003


def case_muldiv(n: "int", k: "int"):
    return n * k // (10**9 + 7)


def case_lcg(n: "int"):
    return (n * 6364136223846793005 + 1442695040888963407) & M


def case_shift(n: "int"):
    return ((n & M) << 13 ^ (n & M) >> 7) & M


def case_rot(n: "int", k: "small"):
    return ((n & M) << (k & 63) | (n & M) >> (64 - (k & 63))) & M


def case_shneg(n: "int", k: "small"):
    return n >> k


def case_shl(n: "int", k: "small"):
    return n << k


def case_inv(n: "int"):
    return ~n & 0xFFFF


def case_floordiv(n: "int", k: "int"):
    return n // k, n % k


def case_divmod(n: "int", k: "int"):
    return divmod(n, k)


def case_truediv(n: "int", k: "int"):
    return n / k


def case_intpow(n: "small", k: "small"):
    return n**k


def case_powneg(n: "small"):
    return n**-2


def case_isqrt(n: "int"):
    return math.isqrt(n)


def case_gcd(n: "int", k: "int"):
    return math.gcd(n, k)


def case_lcm(n: "small", k: "small"):
    return math.lcm(n, k)


def case_comb(n: "small", k: "small"):
    return math.comb(n, k)


def case_perm(n: "small", k: "small"):
    return math.perm(n, k)


def case_fact(n: "small"):
    return math.factorial(n)


def case_round2(n: "int"):
    return round(n, -2)


def case_round3(n: "int"):
    return round(n, -1) + round(n, 3)


def case_float(n: "int"):
    return float(n)


def case_floatcmp(n: "int"):
    return n == float(n), n < 2.0**53, n >= 9.3e18


def case_intfloat(x: "float"):
    return int(x)


def case_floorf(x: "float"):
    return math.floor(x), math.ceil(x), math.trunc(x)


def case_roundf(x: "float"):
    return round(x)


def case_abs(n: "int"):
    return abs(n)


def case_neg(n: "int"):
    return -n


def case_cmpchain(n: "int", k: "int"):
    return 0 < n <= k != 5


def case_boolarith(b: "bool", n: "int"):
    return b + n, b * n, -b, ~b, b << 2, b // 2 if n else b


def case_boolops(b: "bool", n: "int"):
    return b & (n > 0), b | n, b ^ True


def case_digits(n: "small"):
    return sum(int(d) for d in str(abs(n) * 137))


def case_revdigits(n: "small"):
    return int(str(abs(n) * 1003)[::-1])


def case_pal(n: "small"):
    s = str(abs(n) * 11)
    return s == s[::-1]


def case_strlen(n: "int"):
    return len(str(n))


def case_hex(n: "small"):
    return hex(n)


def refused_tobytes(n: "int"):
    return (n & M).to_bytes(8, "little")[0]


def case_fnv(n: "int"):
    h = 0xCBF29CE484222325
    for i in range(8):
        h ^= (n >> (8 * i)) & 0xFF
        h = h * 0x100000001B3 & M
    return h


def case_collatz(n: "small"):
    n = abs(n) + 1
    c = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        c += 1
    return c


def case_signed(n: "int"):
    v = n & 0xFFFFFFFF
    return v - 0x100000000 if v & 0x80000000 else v


def case_clz(n: "int"):
    return 64 - (n & M).bit_length()


def case_parity(n: "int"):
    n &= M
    p = 0
    while n:
        n &= n - 1
        p ^= 1
        if p > 1:
            break
    return p


def case_sumbig(n: "int", k: "int"):
    return (n + k) // 2


def case_mid(n: "int", k: "int"):
    return n + (k - n) // 2


def case_ratio(n: "int"):
    return n / 2**60, n / 3


def case_intbool(x: "float"):
    return int(x > 0) - int(x < 0)


def case_crazymod(n: "int"):
    return n % 2**32, n % -8, n % True


def case_fs(x: "float"):
    return float(f"{x:.2f}")


def case_round_n(x: "float"):
    return round(x, 2), round(x, -1), round(x, 0)


def case_astype(x: "float"):
    import numpy as np

    return np.float64(x).astype(int) if -1e15 < x < 1e15 else 0
