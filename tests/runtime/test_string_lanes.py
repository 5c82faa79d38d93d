"""Columns of any number of strings, for functions that look at them: values, kinds and exceptions of the original, and
how often each string is looked at."""

from __future__ import annotations

import itertools
import string
import threading
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyflat

RATES = {"DE": 0.19, "FR": 0.2, "US": 0}
INFO = {"A": (1, 2.5), "B": (3, 0.5)}
NAMES = {"x1", "y2"}


def by_prefix(code, x):
    return x * 2 if code.startswith("A") else x


def by_table(code, x):
    return RATES[code[:2]] * x


def by_table_or_default(code, x):
    return RATES.get(code[:2], 0.5) * x + len(code)


def none_or_number(code, x):
    rate = RATES.get(code)
    return x if rate is None else rate * x


def number_in_it(code, x):
    return int(code[1:]) * x


def caught(code, x):
    try:
        n = int(code[1:])
    except ValueError:
        n = -1
    return n + x


def tuples(code, x):
    if code[0] in "AB":
        count, weight = INFO[code[0]]
        return count + weight * x
    return x


def in_a_set(code, x):
    return x if code.lower().strip() in NAMES else -x


def parts(code, x):
    found = code.split("-")
    return float(found[0].replace(",", ".")) + x if len(found) == 2 else x


def luhn(code):
    total = 0
    for k, digit in enumerate(reversed(code)):
        if not digit.isdigit():
            return False
        d = int(digit)
        if k % 2:
            d = d * 2 - 9 if d > 4 else d * 2
        total += d
    return total % 10 == 0


def by_a_function(code, x):
    return x + 1 if luhn(code) else x


def ordered(code, x):
    return (code > "M") + ord(code[0]) + x


def empty(code, x):
    return len(code) * x if code else x


def several_kinds(code, x):
    return x * (int(code) if code.isdigit() else 0.5)


def in_a_loop(code, x):
    total = 0.0
    for k in range(3):
        if len(code) > k:
            total += x * k
    return total


def asserted(code, x):
    assert code, "empty"
    return x


def in_a_branch(code, x):
    return int(code[1:], 16) + x if len(code) > 1 and x > 0 else x


def formatted(code, x):
    return f"{code}!" == "A!" or x > 0


def prefix(code, x):
    return code[:2]


def label(code, x):
    if x > 1:
        return "large"
    return code.upper() + "-" + code[:1]


def none_or_label(code, x):
    return None if x > 1 else f"<{code}>"


def an_instance(code, x):
    return isinstance(code, str) and x > len(code)


FUNCTIONS = [by_prefix, by_table, by_table_or_default, none_or_number, number_in_it, caught, tuples, in_a_set, parts,
             by_a_function, ordered, empty, several_kinds, in_a_loop, asserted, in_a_branch, formatted, prefix, label,
             none_or_label, an_instance]


def outcome(function, code, x):
    try:
        return function(code, x)
    except (KeyError, ValueError, IndexError, AssertionError) as error:
        return type(error)


def check(function, target, codes, xs):
    twin = pyflat.twin(function, target=target, errors="mask", none="object")
    values, faults = twin(np.array(codes, object), np.array(xs))
    values = np.broadcast_to(values, len(codes)).tolist()
    for code, x, value, fails in zip(codes, xs, values, faults.mask.tolist(), strict=True):
        want = outcome(function, code, x)
        if isinstance(want, type):
            assert fails, (code, x, want)
        else:
            assert not fails and value == want and isinstance(value, str) == isinstance(want, str), (code, x)
            assert isinstance(value, bool) == isinstance(want, bool)


def draws(rng):
    known = ["DE1", "FR22", "US", "A10", "B7", "Ax", "x1", " Y2 ", "1,5-x", "2.5-y", "4111111111111111", "79927398713",
             "", "7", "DE", "Z", "FR", "ä", "\0", "a\0"]
    return known + ["".join(rng.choices(string.ascii_letters + string.digits, k=rng.randint(1, 6))) for _ in range(200)]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_any_number_of_strings(function, target):
    rng = Random(function.__name__)
    pool = draws(rng)
    codes = pool + [rng.choice(pool) for _ in range(100)]
    rng.shuffle(codes)
    check(function, target, codes, [rng.uniform(-3, 3) for _ in codes])


@pytest.mark.turns(2)
@pytest.mark.parametrize("function", FUNCTIONS)
@settings(max_examples=25)
@given(codes=st.lists(st.text(alphabet="ADE1y2x- ,.", max_size=4), min_size=1, max_size=12))
def test_strings_that_come_later(function, codes):
    twin_codes = list(itertools.chain.from_iterable((code, "DE7") for code in codes))
    check(function, "numpy", twin_codes, [(-1.5) ** k for k in range(len(twin_codes))])


def test_each_string_is_looked_at_once():
    class Counted(dict):
        asked = 0

        def __missing__(self, key):
            Counted.asked += 1
            return 0.5

    table = Counted()

    def looked_up(code, x):
        return table[code] * x

    twin = pyflat.twin(looked_up)
    codes = np.array([str(k % 100) for k in range(20_000)], object)
    assert twin(codes, np.ones(20_000)).sum() == 10_000
    assert Counted.asked <= 500
    before = Counted.asked
    twin(codes, np.ones(20_000))
    assert Counted.asked == before


def test_what_is_not_only_looked_at_has_a_twin_for_each_string():
    def spelled(code, x):
        total = 0.0
        for character in code:
            total += ord(character) * x
        return total

    twin = pyflat.twin(spelled)
    assert twin(np.array(["A", "bc"], object), np.ones(2)).tolist() == [65.0, 98.0 + 99.0]
    with pytest.raises(ValueError, match="more than 64 different values"):
        twin(np.array([str(k) for k in range(100)], object), np.ones(100))


def test_a_table_that_changes_is_read_again():
    table = {"a": 1.0, "b": 2.0}

    def looked_up(code, x):
        return table[code[0]] * x

    twin, codes = pyflat.twin(looked_up), np.array(["a1", "b1"], object)
    assert twin(codes, np.ones(2)).tolist() == [1.0, 2.0]
    table["a"] = 5.0
    assert twin(codes, np.ones(2)).tolist() == [5.0, 2.0]


def test_tuples_of_another_length_come_later():
    weights = {"A": (1.0, 2.0), "B": (3.0, 4.0, 5.0)}

    def weighed(code, x):
        total = 0.0
        for each in weights.get(code[:1], (0.0, 0.5)):
            total += each * x
        return total

    twin = pyflat.twin(weighed)
    for codes in (["A1", "A2", "c"], ["A1", "B2", "c"]):
        got = twin(np.array(codes, object), np.ones(3))
        assert got.tolist() == [weighed(code, 1.0) for code in codes]


def test_none_among_the_strings():
    def length(code, x):
        return x if code is None else len(code) * x

    codes = np.array(["abc", None, "d"] * 50 + [str(k) for k in range(100)], object)
    got = pyflat.twin(length)(codes, np.full(len(codes), 2.0))
    assert got.tolist() == [length(code, 2.0) for code in codes]


def test_two_columns_and_scalars():
    def both(code, unit, x):
        return (2.0 if code.endswith("1") else 1.0) * (x if unit == "kg" else x * 1000)

    rng = Random(1)
    codes = [str(rng.randrange(500)) for _ in range(1000)]
    units = [rng.choice(["kg", "t"]) for _ in codes]
    got = pyflat.twin(both)(np.array(codes, object), np.array(units, object), 3.0)
    assert got.tolist() == [both(c, u, 3.0) for c, u in zip(codes, units, strict=True)]
    assert pyflat.twin(both)("a1", "kg", 3.0) == 6.0


def test_results_have_the_strings_of_their_own_call():
    twin = pyflat.twin(prefix)
    assert twin(np.array(["longer", "xyz"], object), np.ones(2)).dtype == "<U2"

    def upper(code, x):
        return code.upper() if x > 0 else "none"

    twin = pyflat.twin(upper)
    assert twin(np.array(["a long string"], object), np.ones(1)).tolist() == ["A LONG STRING"]
    found = twin(np.array(["a", "b"], object), np.ones(2))
    assert found.tolist() == ["A", "B"] and found.dtype == "<U1"
    codes, categories = twin.with_options(results="codes")(np.array(["a", "c", "a"], object), np.ones(3))
    assert categories[codes].tolist() == ["A", "C", "A"] and len(categories) == 2


def test_threads_share_a_twin():
    twin = pyflat.twin(label)
    rng = Random(5)
    columns = [[f"k{rng.randrange(10_000)}" for _ in range(500)] for _ in range(8)]
    found: dict[int, list[str]] = {}

    def work(number):
        for _ in range(3):
            found[number] = twin(np.array(columns[number], object), np.zeros(500)).tolist()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, codes in enumerate(columns):
        assert found[number] == [label(code, 0.0) for code in codes]
