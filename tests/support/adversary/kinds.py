"""Constants and tables of odd kinds, NumPy scalars, enums."""

from __future__ import annotations

import enum

import numpy as np


def case_int_in_range(n: int):
    return n in range(-5, 10, 3)


def case_int_in_range_rev(n: int):
    return n in range(9, -10, -3)


def case_bool_in_range(b: bool):
    return b in range(1, 4)


LTAB = ([1, 2], [3, 4])


def case_list_rows(n: int):
    return LTAB[n % 2] == [1, 2]


def case_list_rows_add(n: int):
    return len(LTAB[n % 2] + [1])


NPI = np.int64(5)

NPU8 = np.uint8(200)




def case_npi_shift(n: int):
    return NPI << n % 100


def case_isnan_mul(x: float):
    return np.isnan(x) * 3


def case_isnan_sum(x: float, y: float):
    return sum([np.isnan(x), np.isnan(y)])


def case_npabs_pow(n: int):
    return np.abs(n) ** 2


def case_npabs_shift(n: int):
    return np.abs(n) << 3


def case_npfloor_int(x: float):
    return int(np.floor(x))


def case_npsqrt_pow(x: float):
    return np.sqrt(x) ** 0.5


def case_npsign(x: float):
    return np.sign(x)


def case_npclip(x: float):
    return np.clip(x, -1.0, 1.0)


def case_npclip_i(n: int):
    return np.clip(n, 0, 10)


def case_npclip_if(n: int):
    return np.clip(n, 0.5, 10)


def case_npround0(x: float):
    return np.round(x)


def case_nppower_i(n: int):
    return np.power(n, 2)


def case_npadd_i(n: int, m: int):
    return np.add(n, m)


def case_nptrunc(x: float):
    return np.trunc(x)


def case_nphyp(x: float):
    return np.heaviside(x, 0.5)


def case_npint64(x: float):
    return np.int64(x)


def case_npless(n: int, x: float):
    return np.less(n, x)


def case_npeq(n: int, x: float):
    return np.equal(n, x)


def case_nplogical(x: float, y: float):
    return np.logical_and(x, y)


def case_npfloat(n: int):
    return np.float64(n) + 1


def case_npfloat_i(n: int):
    return np.float64(n) // 3


class Perm(enum.IntFlag):
    R = 4
    W = 2
    X = 1


class Col(enum.IntEnum):
    RED = 1
    BLUE = 2


class Plain(enum.Enum):
    A = 1
    B = 2








def case_intenum(n: int):
    return Col.RED + n if n % 5 == Col.BLUE else Col.RED * n


def case_enum_join(n: int):
    c = Plain.A if n > 0 else Plain.B
    return 1 if c is Plain.A else 2


def case_enum_value(n: int):
    c = Plain.A if n > 0 else Plain.B
    return c.value


def case_enum_eq(n: int):
    c = Plain.A if n > 0 else Plain.B
    return c == Plain.B


def case_enum_iter(n: int):
    return sum((c.value for c in Plain)) * n


def case_enum_int(n: int):
    return n == Plain.A


def case_intenum_dict(n: int):
    return {Col.RED: 10, Col.BLUE: 20}.get(n, 0)
