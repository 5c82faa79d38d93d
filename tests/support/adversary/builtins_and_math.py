"""min, max, bool operators, math, iterators."""

from __future__ import annotations

import math


def case_min_(x: float, y: float):
    return (min(x, y), max(x, y))


def case_min3(x: float, n: int, y: float):
    return min(x, n, y)


def case_abs_(n: int):
    return abs(n)


def case_absf(x: float):
    return abs(x)


def case_absb(b: bool):
    return abs(b)


def case_neg(n: int):
    return -n


def case_negb(b: bool):
    return (-b, +b, ~b, not b)


def case_inv(n: int):
    return ~n


def case_boolops(b: bool, c: bool):
    return (b & c, b | c, b ^ c, b + c, b * c, b - c, b < c)


def case_boolint(b: bool, n: int):
    return (b & n, b | n, b ^ n)


def case_andor(x: float, y: float):
    return (x and y, x or y)


def case_andor_i(n: int, x: float):
    return n and x


def case_notnan(x: float):
    return (not x, bool(x))


def case_xnan(x: float):
    return (x != x, x == x)


def case_isint(x: float):
    return x.is_integer()


def case_bitlen(n: int):
    return n.bit_length()


def case_real(x: float):
    return (x.real, x.imag, x.conjugate())


def case_realb(b: bool):
    return b.real


def case_floor(x: float):
    return (math.floor(x), math.ceil(x), math.trunc(x))


def case_floori(n: int):
    return (math.floor(n), math.ceil(n), math.trunc(n))


def case_floorb(b: bool):
    return math.floor(b)


def case_fmod(x: float, y: float):
    return math.fmod(x, y)


def case_rem(x: float, y: float):
    return math.remainder(x, y)


def case_cps(x: float, y: float):
    return math.copysign(x, y)


def case_isclose(x: float, y: float):
    return math.isclose(x, y)


def case_isclose2(x: float, y: float):
    return math.isclose(x, y, abs_tol=0.5, rel_tol=0.0)


def case_modf(x: float):
    return math.modf(x)


def case_ldexp(x: float, n: int):
    return math.ldexp(x, n)


def case_isqrt(n: int):
    return math.isqrt(n)


def case_fact(n: int):
    return math.factorial(n if n < 101 else 3)


def case_sqrt(x: float):
    return math.sqrt(x)


def case_sqrti(n: int):
    return math.sqrt(n)


def case_hypot(x: float, y: float):
    return math.hypot(x, y)


def case_fabs(n: int):
    return math.fabs(n)


def case_isnan(x: float):
    return (math.isnan(x), math.isinf(x), math.isfinite(x))


def case_isnani(n: int):
    return math.isfinite(n)


def case_next_(x: float, y: float):
    return math.nextafter(x, y)


def case_deg(x: float):
    return (math.degrees(x), math.radians(x))


def case_cbrt(n: int):
    return math.cbrt(n)


def case_prod(x: float, y: float, n: int):
    return math.prod((x, y, n), start=2)


def case_sumrange(n: int):
    return sum(range(10)) + n


def case_sumgen(x: float):
    return sum((x * i for i in range(5)))


def case_sumsq(x: float, y: float):
    return sum((v * v for v in (x, y)))


def case_any_(x: float, y: float):
    return (any((x, y)), all((x, y)), any((v > 1 for v in (x, y))))


def case_enum(x: float):
    return [i * v for i, v in enumerate((x, 2.0), 1)]


def case_zip_(x: float, y: float):
    return [a - b for a, b in zip((x, y), (y, x))]


def case_rev(x: float, y: float):
    return list(reversed([x, y]))


def case_map_(x: float, y: float):
    return tuple(map(lambda a, b: a * b, (x, y), (2, 3)))


def case_range_(n: int):
    return (n in range(10), len(range(3, 10, 2)), range(5)[-1], range(5)[1:3][0])


def case_rangeidx(n: int):
    return range(10, 20)[n]


def case_rangeindex(n: int):
    return range(10, 20).index(n)
