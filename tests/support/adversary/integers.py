"""Overflow, masks, shifts and powers."""

from __future__ import annotations


def case_add(n: int, m: int):
    return n + m


def case_mulmod(n: int, m: int):
    return n * m % 1000003


def case_addmod(n: int, m: int):
    return (n + m) % 7


def case_hash2(n: int):
    return (n << 13 ^ n) & 65535


def case_hash3(n: int, m: int):
    return (n * 31 + m ^ n >> 3) & 2147483647


def case_mask63(n: int):
    return n * 3 + 1 & 9223372036854775807


def case_maskneg(n: int, m: int):
    return n * m & -256


def case_masklane(n: int, m: int):
    return n * 3 & m


def case_maskdiv(n: int):
    return (n * 3 & 255) + (n * 3 >> 70)


def case_modpow2(n: int):
    return (n * 5 + 3) % 256


def case_modpow2neg(n: int):
    return (n * 5 + 3) % -256


def case_shl(n: int, m: int):
    return n << (m if m < 10**6 else 7)


def case_shr(n: int, m: int):
    return n >> m


def case_shlc(n: int):
    return n << 5


def case_shlr(n: int):
    return n << 40 >> 40


def case_shlmask(n: int, m: int):
    return n << (m if m < 10**6 else 7) & 255


def case_shl1(m: int):
    return 1 << (m if m < 10**6 else 7)


def case_shlb(b: bool, m: int):
    return b << (m if m < 10**6 else 7)


def case_ipow3(n: int):
    return n**3


def case_ipow0(n: int):
    return n**0


def case_ipowneg(n: int):
    return n ** (-2)


def case_0pow(m: int):
    return 0**m


def case_pow_signs(n: int, m: int):
    y = (n % 7 - 3) ** (m % 9 - 4)
    return y, -y, y > 2, y == 1


def case_pow_chain(n: int, m: int):
    y = 2 ** (n % 9 - 4) + 3 ** (m % 7 - 3)
    return y // 2 if m % 2 else y * 2 % 5


def case_pow_caught(n: int, m: int):
    try:
        return 0 ** (n % 3 - 1) + 1
    except ZeroDivisionError:
        return m % 4


def case_pow_index(n: int):
    return (3, 5, 7, 9)[2 ** (n % 3 - 1)]


def case_pow_sum(n: int):
    total = 0
    for i in range(n % 6):
        total += 2 ** (i - 2)
    return total


def case_bpow(b: bool, c: bool):
    return b**c


def case_bpow2(b: bool):
    return b ** (-1)


def case_fpow(x: float, y: float):
    return x**y


def case_fpow2(x: float):
    return x**2


def case_fpow3(x: float):
    return x**0.5


def case_fpowi(x: float, n: int):
    return x**n


def case_ipowf(n: int, x: float):
    return n**x


def case_fpowm1(x: float):
    return x ** (-1)


def case_powb(n: int):
    return pow(n, 2)
