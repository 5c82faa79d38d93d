"""The digits of an int: `str(n)`, `bin(n)`, and what is asked of them, against Python in every lane."""

from types import FunctionType

import numpy as np
import pytest

import pyflat
from pyflat.testing import lane_of

NS = np.array([0, 1, -1, 5, 7, 9, 10, -10, 12, 33, -33, 99, 100, 101, 121, -121, 153, 370, 407, 1000, 1221, 4539578763621486, 65535, -255, 2**31,
               999999999, 10**9, 10**17, 10**18 - 1, 10**18, -(10**18), 2**62, 2**63 - 1, -(2**63) + 1, -(2**63), 1234567890123456789,
               1000000000000000001, -1000000000000000001])



def sum_of_digits(n):
    return sum(int(c) for c in str(abs(n)))


def sum_of_digits_of_what_may_be_negative(n):
    return sum(int(c) for c in str(n))


def is_a_palindrome(n):
    return str(n) == str(n)[::-1]


def number_of_digits(n):
    return len(str(n))


def reversed_number(n):
    return int(str(abs(n))[::-1])


def reversed_negative_number(n):
    return int(str(n)[::-1])


def reversed_with_a_sign(n):
    return -int(str(-n)[::-1]) if n < 0 else int(str(n)[::-1])


def is_an_armstrong_number(n):
    n = abs(n)
    k = len(str(n))
    return sum(int(d) ** k for d in str(n)) == n


def count_of_a_digit(n):
    return str(n).count("7")


def first_and_last_digit(n):
    s = str(abs(n))
    return int(s[0]) * 10 + int(s[-1])


def second_digit_that_may_be_missing(n):
    s = str(n)
    try:
        return int(s[1])
    except IndexError:
        return -1


def contains_a_digit(n):
    return "3" in str(n) or "-" in str(n)


def is_among_known_characters(n):
    total = 0
    for c in str(n):
        if c in "02468":
            total += 1
        elif c not in ("1", "3", "-"):
            total += 10
    return total


def loop_over_the_characters(n):
    total = 0
    for c in str(n):
        if c == "-":
            continue
        total = total * 3 + int(c)
    return total


def luhn(n):
    digits = [int(d) for d in str(abs(n))]
    total = 0
    for i, d in enumerate(reversed(digits)):
        if i % 2 == 1:
            d *= 2
            if d > 9:
                d -= 9
        total += d
    return total % 10 == 0


def list_of_digits(n):
    digits = list(map(int, str(abs(n))))
    return max(digits) - min(digits), len(digits), digits[0]


def sum_of_map(n):
    return sum(map(int, str(abs(n))))


def happy(n):
    n = abs(n)
    for _ in range(3):
        n = sum(int(c) ** 2 for c in str(n))
    return n == 1


def ones_in_binary(n):
    return (n).bit_count()


def length_in_binary(n):
    return len(bin(n)) - 2


def zeros_in_binary(n):
    return bin(abs(n))[2:].count("0")  # noqa: FURB116


def hexadecimal(n):
    s = hex(n)
    return len(s), s[-1] == "f", s.count("a"), "x" in s


def octal(n):
    return sum(int(c) for c in oct(abs(n))[2:])  # noqa: FURB116


def formatted(n):
    return len(f"{n}") + int(f"{n}"[-1])


def slices_of_digits(n):
    s = str(abs(n))
    return int(s[1:] or "0"), int(s[:2]), int(s[-2:]), len(s[1:-1])


def concatenated_numbers(n):
    a, b = abs(n), abs(n // 2)
    return int(str(a) + str(b)) if a < 10**6 else 0


def joined_backwards(n):
    s = str(abs(n))
    return int("".join(reversed(s))), "".join([c for c in s if c != "1"]) == s


def compared_with_known_texts(n):
    s = str(n)
    return s == "5", s != "100", s == "x", s == "", s[-1] == "0", s == 5


def ordinals(n):
    return sum(ord(c) - ord("0") for c in str(abs(n)))


def order_of_characters(n):
    s = str(abs(n))
    return sum(1 for c in s if c > "4"), s[0] <= s[-1]


def truth_of_a_slice(n):
    s = str(n)
    return 1 if s[2:] else 0


def digits_by_index(n):
    s = str(abs(n))
    total = 0
    for i in range(len(s)):
        total += int(s[i]) * (i + 1)
    return total


def largest_character(n):
    best = "0"
    for c in str(abs(n)):
        if c > best:
            best = c
    return int(best)


def is_digit(n):
    return sum(c.isdigit() for c in str(n))


def parse_what_is_no_number(n):
    return int(str(n)[1:])


def parsed_in_try(n):
    try:
        return int(str(n)[:1])
    except ValueError:
        return -5


def harshad(n):
    n = abs(n) + 1
    return n % sum(int(c) for c in str(n)) == 0


def one_of_two_texts(n):
    s = str(n) if n > 0 else str(n // 3)
    return len(s), int(s)


def none_of_them(n):
    return str(n) is None, str(n) == None, str(n) in ("1", "2")  # noqa: E711


def REFUSED_as_a_key(n):
    return {"1": 1.0, "2": 2.0}[str(n)]


def REFUSED_order_of_texts(n):
    return str(n) < "5"


def padded(n):
    return len(str(n).zfill(5)), str(n).zfill(5)[0] == "0"


def REFUSED_floats(n):
    return len(str(n / 3))


ALL = [fn for name, fn in list(globals().items()) if isinstance(fn, FunctionType) and fn.__module__ == __name__]
REFUSED = [fn for fn in ALL if fn.__name__.startswith("REFUSED_")]


def outcome(fn, n):
    try:
        return fn(n), None
    except Exception as error:  # noqa: BLE001 - whatever the original raises
        return None, type(error)


def too_large(value):
    return any(type(part) is int and abs(part) >= 2**63 for part in (value if isinstance(value, tuple) else (value,)))


@pytest.mark.turns(2)
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [fn for fn in ALL if fn not in REFUSED], ids=lambda fn: fn.__name__)
def test_every_lane_is_pythons(fn, target):
    expected = [outcome(fn, n) for n in NS.tolist()]
    fits = [i for i, (value, _) in enumerate(expected) if not too_large(value)]
    values, faults = pyflat.twin(fn, target=target, errors="mask")(NS[fits])
    for lane, (value, error) in enumerate(expected[i] for i in fits):
        fault = faults[lane]
        assert (fault.type if fault else None) is error, (NS[fits][lane], value, fault)
        assert error is not None or lane_of(values, lane, len(fits)) == value, (NS[fits][lane], value)


@pytest.mark.parametrize("fn", REFUSED, ids=lambda fn: fn.__name__)
def test_other_strings_are_refused(fn):
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(fn)(NS)
    assert caught.value.code.startswith("flatten/")
