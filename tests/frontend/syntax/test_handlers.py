"""try/except and match: the twin does in every lane what the original does."""

from __future__ import annotations

import math

import pytest

import pyflat
from tests.support.twins import agree


def division(x: float):
    try:
        return 1 / x
    except ZeroDivisionError:
        return 0.0


def else_and_two_handlers(x: float, y: float):
    try:
        a = x / y
        b = math.sqrt(a)
    except ZeroDivisionError:
        return -1.0
    except ValueError:
        b = -2.0
    else:
        b += 100
    return b


def the_first_that_fits(x: float, y: float):
    r = 0.0
    try:
        r = x / y
    except ZeroDivisionError:
        r += 1.0
    except ArithmeticError:
        r += 20.0
    except (ValueError, ArithmeticError):
        r += 300.0
    return r


def _div(a, b):
    return a / b


def in_a_loop_through_a_helper(x: float, y: float):
    r = 0
    for i in range(3):
        try:
            r += _div(x, y - i)
        except (ZeroDivisionError, ValueError) as e:
            r -= 5
            continue
        r += 1
    return r


class MyErr(ValueError):
    pass


def _chk(x):
    if x < 0:
        raise MyErr("neg")
    return math.log(x)


def class_of_the_user(x: float):
    try:
        return _chk(x)
    except MyErr:
        return -1
    except ValueError:
        return -2


def raise_to_a_handler(x: float):
    try:
        if x > 1:
            raise KeyError("a")
        return 1 / x
    except KeyError:
        return 9


def index(i: int):
    T = (1, 2, 3)
    try:
        return T[i]
    except IndexError:
        return -1


def overflow_by_replay(x: float):
    try:
        y = math.exp(x)
    except OverflowError:
        y = math.inf
    return y


def nested(x: float):
    try:
        try:
            return 1 / x
        except ValueError:
            return 3
    except ZeroDivisionError:
        return 4


def bare_except_and_finally(x: float):
    try:
        y = 1 / x
    except:
        y = 0
    finally:
        z = 2
    return y + z


def reraise(x: float):
    try:
        assert x > 0
        k = 5
    except AssertionError:
        if x == 0:
            raise
        k = 6
    return k


def integers(a: int, b: int):
    try:
        return a // b, a % b
    except ZeroDivisionError:
        return 0, 0


def match_values(i: int):
    match i:
        case 1 | 2:
            return 10
        case 3 if i > 0:
            return 30
        case -1:
            r = 5
        case n:
            r = n * 2
    return r


def match_sequences(x: float, y: float):
    match (x, y):
        case (0.0, 0.0):
            return 0
        case (0.0, b):
            return b
        case (a, 0.0):
            return a
        case (a, b):
            return a + b


def match_static(x: float, mode="a"):
    match mode:
        case "b":
            return x
        case "a" if x > 0:
            return 2 * x
        case None:
            return 3
        case _:
            return 4


def shifts(a: int, n: int):
    try:
        b = a >> n
        return (b & 7) << (n % 9 - 1)
    except ValueError:
        return -1


def _nothing(x):
    pass


def only_the_handler_returns(a: int):
    try:
        b = a >> a
        assert _nothing(b), "checked"
    except ValueError:
        pass
    return 0.0


def integer_of_float(x: float):
    try:
        return math.floor(x) + int(x / 2)
    except ValueError:
        return -1
    except OverflowError:
        return -2


def power(x: float, y: float):
    try:
        return abs(x) ** y
    except ZeroDivisionError:
        return -1.0
    except OverflowError:
        return -2.0


def power_of_a_literal(x: float):
    try:
        r = (x - 1.0) ** -2
    except ZeroDivisionError:
        return 7.5
    return r


def too_large_in_a_loop(p: int):
    if p > 0:
        return p
    for _ in range(1, 4):
        return 18446744073709551626
    return 0


def nothing_fits(p: int):
    if p:
        pass
    else:
        for _ in range(1, 4):
            return 2 - -18446744073709551616


CASES = [
    (division, "f"),
    (else_and_two_handlers, "ff"),
    (the_first_that_fits, "ff"),
    (in_a_loop_through_a_helper, "ff"),
    (class_of_the_user, "f"),
    (raise_to_a_handler, "f"),
    (index, "i"),
    (overflow_by_replay, "f"),
    (nested, "f"),
    (bare_except_and_finally, "f"),
    (reraise, "f"),
    (integers, "ii"),
    (too_large_in_a_loop, "i"),
    (shifts, "ii"),
    (only_the_handler_returns, "i"),
    (integer_of_float, "f"),
    (power, "ff"),
    (power_of_a_literal, "f"),
    (match_values, "i"),
    (match_sequences, "ff"),
    (match_static, "f"),
]


@pytest.mark.parametrize(("fn", "kinds"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_on_numpy(fn, kinds):
    agree(fn, kinds)


@pytest.mark.parametrize(("fn", "kinds"), CASES[::4], ids=[fn.__name__ for fn, _ in CASES[::4]])
def test_on_numba(fn, kinds):
    agree(fn, kinds, target="numba")


def only_a_replayed_handler_returns(x: float):
    try:
        math.exp(x)
        assert _nothing(x)
    except OverflowError:
        return 1.0
    return 0.0


def test_what_only_a_replay_could_tell_is_refused():
    with pytest.raises(pyflat.FlattenError, match="no path is known to return"):
        pyflat.twin(only_a_replayed_handler_returns).show()


def test_where_no_lane_can_hold_any_result_each_is_an_error():
    with pytest.raises(pyflat.LaneError):
        pyflat.twin(nothing_fits)(0)
    assert pyflat.twin(nothing_fits)(3) is None
