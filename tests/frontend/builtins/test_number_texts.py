# ruff: noqa: FURB116
"""Numbers as format() writes them: characters of padded ints, and what float() and int() read again."""

import random
from types import FunctionType

import numpy as np
import pytest

import pyflat
from pyflat.testing import lane_of

RNG = random.Random(5)
NS = [0, 1, -1, 233, 201, 2, 5, 7, 8, 10, 100, -5, -255, 255, 256, 1023, 999999, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63) + 1, 585,
      -909, *(RNG.getrandbits(RNG.randint(1, 62)) * RNG.choice((1, -1)) for _ in range(40))]
XS = [*(RNG.uniform(-10.0, 10.0) * 10.0**RNG.randint(-320, 307) for _ in range(60)), *(float(f"1e{k}") for k in range(-323, 309)),
      *(np.nextafter(float(f"1e{k}"), 0.0).item() for k in range(-300, 309, 7)), 9.995, 99.95, 9.9995e22, 5e-324, 1e-323, 2.5, 0.25, 9.5,
      95.0, 0.5, 1.5, 12345.5, 1.25, -1.25, 1.7976931348623157e308, 1e-310, -0.0, 0.0, float("nan"), float("inf"), -float("inf")]


# --- floats
def read_one_digit(x: float):
    return float(f"{x:.1g}")


def read_three_digits(x: float):
    return float(f"{x:.3g}")


def read_by_default(x: float):
    return float(f"{x:g}"), float(f"{x:f}"), float("%e" % x)  # noqa: UP031


def read_exponents(x: float):
    return float(f"{x:.0e}"), float(f"{x:.17e}"), float(format(x, ".2E"))


def read_wide(x: float):
    return float("{:>30.15G}".format(x)), float(f"{x:+.3g}"), float(f"{x: .4f}")  # noqa: UP032


def read_all(x: float):
    return float(repr(x)), float(str(x)), float(f"{x}")


def read_whole(x: float):
    return int(f"{x % 1000.0:.0f}")


def read_whole_in_try(x: float):
    try:
        return int(f"{x:.0f}") if abs(x) < 1e15 or abs(x) == np.inf else 3
    except ValueError:
        return -1


# --- ints
def filled(n: int):
    return bin(n)[2:].zfill(8), str(n).zfill(5), str(n).rjust(6, "0"), f"{n:<8}", f"{n:*^12}"


def written_in_bases(n: int):
    return hex(n)[2:].upper(), f"{n:08b}"[::-1], f"{n:#010x}", format(n, "o")


def read_in_bases(n: int):
    return int(hex(n), 16) == n, int(bin(n), 2) == int(f"{n:o}", 8), int(f"{n:+d}"), int(f"{n:8d}")


def bits_backwards(n: int):
    return int(bin(n & 255)[2:].zfill(8)[::-1], 2)


def bits_as_a_list(n: int):
    return [int(b) for b in format(n & 15, "04b")]


def counted(n: int):
    return format(n, "08b").count("0"), bin(n).replace("0b", "").count("0"), f"{n:X}".count("F"), f"{n:>70}".count(" ")


def is_a_palindrome_in_base_2(n: int):
    return bin(n)[2:] == bin(n)[:1:-1], f"{n:b}" == f"{n:b}"[::-1]


def without_zeros(n: int):
    return len(format(n & 255, "08b").lstrip("0")), len(bin(n | 256).rstrip("0")), str(n).strip("-0"), f"{n:*^12}".strip("*")


def begins_and_ends(n: int):
    return bin(n).endswith("1"), str(n).startswith("-1"), hex(n).removeprefix("0x").startswith("f"), f"{n:03d}".endswith("00")


def found(n: int):
    return str(n).find("5"), f"{n:^8}".find("-"), bin(n).index("1") if n else -1


def replaced(n: int):
    return str(n).replace("1", "22").count("2"), bin(n & 255)[2:].zfill(8).replace("1", "#").replace("0", ".")


def characters_of_padded(n: int):
    text = f"{n:03d}"
    return text[0] == text[-1], f"{n:*^12}"[3], [c == " " for c in f"{n % 10:3d}"]


def parsed_in_base_8(n: int):
    try:
        return int(str(abs(n) % 100000), 8)
    except ValueError:
        return -7


def parsed_characters(n: int):
    return int(chr(abs(n) % 3000 + 20)) if chr(abs(n) % 3000 + 20).isdigit() else 5


def letters_in_case(n: int):
    return chr(n % 1114112).lower() == "é", chr(abs(n) % 400).upper() == "É"


def cut_backwards(n: int):
    return str(n)[-2::-1], bin(n)[-1:0:-1], str(n)[:2:-1]


def truths_as_digits(n: int):
    return f"{n > 3:d}".count("1"), format(n % 2 == 0, "3d")


ALL = [fn for fn in list(globals().values()) if isinstance(fn, FunctionType) and fn.__module__ == __name__]


def outcome(fn, n):
    try:
        return fn(n)
    except ValueError:
        return None


def same(a, b):
    if isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b and np.copysign(1.0, a) == np.copysign(1.0, b) if isinstance(b, float) and b == b else a == b or a != a


@pytest.mark.turns(2)
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", ALL, ids=lambda fn: fn.__name__)
def test_every_lane_is_pythons(fn, target):
    given = XS if "x" in fn.__code__.co_varnames else NS
    lanes = [value for value in given if outcome(fn, value) is not None]
    values = pyflat.twin(fn, target=target)(np.array(lanes))
    for k, value in enumerate(lanes):
        assert same(lane_of(values, k, len(lanes)), fn(value)), value


def read_in_base_2(n: int):
    return int(str(n), 2)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("fn", "lanes"), [(read_whole, [np.nan, np.inf]), (read_in_base_2, [7, -12])])
def test_lanes_that_raise(fn, lanes, target):
    for value in lanes:
        with pytest.raises(ValueError):
            fn(value)
        with pytest.raises(ValueError):
            pyflat.twin(fn, target=target)(np.array([value]))


def wide(n: int):
    return len(f"{n:200d}")


def no_ascii(n: int):
    return len(f"{n:ß>5}".upper())


def other_characters(n: int):
    return int(f"{n}_000")


def order(n: int):
    return str(n).zfill(5) < "00500"


@pytest.mark.parametrize("fn", [wide, other_characters, order], ids=lambda fn: fn.__name__)
def test_other_questions_are_refused(fn):
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(fn)(np.array(NS))
    assert caught.value.code == "flatten/unsupported-expression"
