"""Division, rounding, conversion, comparison."""

from __future__ import annotations

import math


def case_fd(x: float, y: float):
    return x // y


def case_md(x: float, y: float):
    return x % y


def case_dm(x: float, y: float):
    return divmod(x, y)


def case_ifd(n: int, m: int):
    return n // m


def case_imd(n: int, m: int):
    return n % m


def case_ifd_c(n: int):
    return n // -7


def case_imd_c(n: int):
    return n % -7


def case_imixfd(n: int, x: float):
    return n // x


def case_imixmd(x: float, n: int):
    return x % n


def case_bfd(b: bool, n: int):
    return b // n


def case_tdiv(n: int, m: int):
    return n / m


def case_tdivc(n: int):
    return n / 3


def case_tdivc2(n: int):
    return 3 / n


def case_round0(x: float):
    return round(x)


def case_round1(x: float):
    return round(x, 1)


def case_roundm1(x: float):
    return round(x, -1)


def case_round0n(x: float):
    return round(x, 0)


def case_roundn(x: float, n: int):
    return round(x, n)


def case_round20(x: float):
    return round(x, 20)


def case_round400(x: float):
    return round(x, 400)


def case_roundm400(x: float):
    return round(x, -400)


def case_roundnone(x: float):
    return round(x, None)


def case_roundkw(x: float):
    return round(number=x, ndigits=1)


def case_roundint(n: int):
    return round(n, 2)


def case_roundb(b: bool):
    return round(b)


def case_roundtrue(x: float):
    return round(x, True)


def case_int_(x: float):
    return int(x)


def case_intb(b: bool):
    return int(b)


def case_floatn(n: int):
    return float(n)


def case_floatcmp(n: int):
    return float(n) == n


def case_cmp_if(n: int, x: float):
    return (n < x, n <= x, n == x, n != x, n >= x, n > x)


def case_cmp_bf(b: bool, x: float):
    return (b < x, b == x)


def case_cmp_ci(x: float):
    return (x < 2**53 + 1, x == 2**53 + 1, x >= 2**63, x > -(2**63) - 1, x != 10**400, x < 10**400)


def case_cmp_cf(n: int):
    return (n < 0.5, n >= -0.5, n == 1.5, n < 1e300, n > -math.inf, n == math.nan, n != math.nan, n <= 2.0**63)


def case_chain(x: float, y: float, z: float):
    return x < y <= z


def case_chain2(x: float):
    return 1 < x < 3 > x != 2
