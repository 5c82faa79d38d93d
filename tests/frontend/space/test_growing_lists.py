"""Lists that grow in loops whose trips differ from lane to lane, as a first course writes them, and against the rules."""

from __future__ import annotations

from types import FunctionType

import numpy as np
import pytest

import pyflat
from tests.frontend.constructs.test_constructs import XS, lanes_are_pythons


def _digits(x):
    n = int(abs(x)) % 100000
    out = []
    while n:
        out.append(n % 10)
        n //= 10
    return out


def sum_and_length(x):
    return sum(_digits(x)) * 10 + len(_digits(x))


def largest_prime_factor(x):
    n = int(abs(x)) % 3000
    factors = []
    d = 2
    while d * d <= n:
        while n % d == 0:
            factors.append(d)
            n //= d
        d += 1
    if n > 1:
        factors.append(n)
    return max(factors)


def binary_digits(x):
    n = int(abs(x)) % 500
    bits = []
    while n > 0:
        bits.append(n % 2)
        n //= 2
    value = 0
    for b in reversed(bits):
        value = value * 10 + b
    return value


def collatz(x):
    n = int(abs(x)) % 20 + 1
    path = [n]
    while path[-1] != 1:
        last = path[-1]
        path.append(last // 2 if last % 2 == 0 else 3 * last + 1)
    return max(path) * 1000 + len(path)


def pascal(x):
    n = int(abs(x)) % 9
    row = [1]
    for _ in range(n):
        new = [1]
        for j in range(len(row) - 1):
            new.append(row[j] + row[j + 1])
        new.append(1)
        row = new
    return row[len(row) // 2] + len(row)


def fibonacci(x):
    limit = abs(x) % 1000
    numbers = [1, 2]
    while numbers[-1] + numbers[-2] <= limit:
        numbers.append(numbers[-1] + numbers[-2])
    return sum([f for f in numbers if f % 2 == 0])


def sieve(x):
    n = int(abs(x)) % 40
    flags = [True] * (n + 2)
    i = 2
    while i < len(flags):
        if flags[i]:
            j = i * i
            while j < len(flags):
                flags[j] = False
                j += i
        i += 1
    return sum(flags)


def primes_by_primes(x):
    primes = []
    for n in range(2, int(abs(x)) % 30):
        for p in primes:
            if n % p == 0:
                break
        else:
            primes.append(n)
    return sum(primes) * 100 + len(primes)


def floats(x):
    values = [1.0]
    while values[-1] < abs(x) % 50.0:
        values.append(values[-1] * 1.5 + 0.1)
    mean = sum(values) / len(values)
    return sum((v - mean) ** 2 for v in values) / len(values)


def pairs(x):
    n = int(abs(x)) % 900 + 1
    found = []
    d = 2
    while n > 1:
        power = 0
        while n % d == 0:
            n //= d
            power += 1
        if power:
            found.append((d, power))
        d += 1
    total = 1
    for p, power in found:
        total *= power + p
    return total


def stack_of_a_walk(x):
    stack = [int(abs(x)) % 20]
    seen = 0
    while stack:
        top = stack.pop()
        seen += 1
        if top > 1:
            stack.append(top - 2)
            stack.append(top // 2)
    return seen


def queue_from_the_front(x):
    people = list(range(1, int(abs(x)) % 12 + 1))
    at = 0
    while len(people) > 1:
        at = (at + 2) % len(people)
        people.pop(at)
    return people[0]


def live_while_it_is_iterated(x):
    todo = []
    n = int(abs(x)) % 7
    while len(todo) < n:
        todo.append(n + len(todo))
    seen = 0
    for v in todo:
        seen += v
        if v > 4:
            todo.append(v // 2)
    return seen * 10 + len(todo)


def sorted_both_ways(x):
    digits = _digits(x)
    digits.sort()
    value = 0
    for d in digits:
        value = value * 10 + d
    for d in sorted(digits, reverse=True):
        value = value * 10 + d
    return value


def second_largest(x):
    return sorted(_digits(x))[-2]


def palindrome(x):
    digits = _digits(x)
    return digits == digits[::-1], digits != list(reversed(digits)), digits[:2] == [1, 1]


def inserted_and_removed(x):
    digits = _digits(x)
    digits.insert(1, 9)
    digits.insert(-1, 8)
    while 0 in digits:
        digits.remove(0)
    del digits[0]
    return digits.index(8) * 100 + digits.count(1) * 10 + len(digits)


def removed_what_is_missing(x):
    digits = _digits(x)
    digits.remove(1)
    return len(digits)


def joined_ends(x):
    a = _digits(x)
    b = a + [7]
    c = [5] + a
    a.extend([1, 2])
    a += b
    return len(a) * 10000 + sum(a) * 100 + sum(c) + a[-1] + b[0] + c[-1]


def names_that_change_hands(x):
    a, b = [int(abs(x)) % 50], []
    n = int(abs(x)) % 300
    while n > 0:
        b.append(n % 7)
        a, b = b, a[::-1]
        n //= 5
    return len(a) * 100 + len(b) * 10 + sum(a)


def emptied(x):
    out = []
    for k in range(int(abs(x)) % 9):
        if k % 4 == 3:
            out.clear()
        out.append(k)
        if len(out) > 2:
            out[0], out[-1] = out[-1], out[0]
    return sum(i * v for i, v in enumerate(out)) + sum(a * b for a, b in zip(out, out[1:]))


def an_index_that_is_caught(x):
    digits = _digits(x)
    try:
        return digits[2]
    except IndexError:
        return -1


def an_index_of_lanes(x):
    digits = _digits(x)
    return digits[int(x) % 3 - 1]


def unsigned(x):
    n, h, out = int(abs(x)) % 1000, 14695981039346656037, []
    while n:
        h = ((h ^ (n & 255)) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
        out.append(h)
        n >>= 3
    return out[-1] if out else 0


def longer_than_its_places(x):
    out = []
    for i in range(int(abs(x)) % 200):
        out.append(i)
    return sum(out) + len(out)


def shortened_under_a_condition(x):
    out = [x]
    n = int(abs(x)) % 9
    while n > 0:
        if out and n % 3 == 1:
            out.pop()
        n //= 2
    return len(out)


def REFUSED_rows(x):
    rows = []
    for i in range(int(abs(x)) % 5):
        rows.append([i, x])
    return len(rows)


def REFUSED_words(x):
    words = []
    for _ in range(int(abs(x)) % 5):
        words.append("a")
    return len(words)


def REFUSED_changed_while_enumerated(x):
    digits = _digits(x)
    for i, _ in enumerate(digits):
        if i < 3:
            digits.append(i)
    return len(digits)


def REFUSED_under_two_names_that_are_written(x):
    a = [x]
    b = a
    for _ in range(int(abs(x)) % 4):
        a = [x, x]
        b = a
        b.append(1.0)
    b.append(2.0)
    return len(a)


ALL = [fn for name, fn in list(globals().items()) if isinstance(fn, FunctionType) and fn.__module__ == __name__ and name[0] not in "_t"]
CODES = ("flatten/list-mutation", "flatten/result-kind", "flatten/mixed-join")


@pytest.mark.turns(2)
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [f for f in ALL if not f.__name__.startswith("REFUSED")], ids=lambda f: f.__name__)
def test_every_lane_is_pythons(fn, target):
    lanes_are_pythons(fn, target)


@pytest.mark.parametrize("fn", [f for f in ALL if f.__name__.startswith("REFUSED")], ids=lambda f: f.__name__)
def test_what_has_no_twin_is_refused(fn):
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(fn)(XS)
    assert caught.value.code in CODES


def grown_argument(values, x):
    while x > len(values):
        values.append(x)
    return len(values)


def test_an_argument_does_not_grow():
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(grown_argument)([np.array([1.0, 1.0])], np.array([1.0, 2.0]))
    assert caught.value.code == "flatten/effect"


def masked_too(x):
    out = []
    for i in range(100):
        out.append(x + i)
    return sum(out)


def test_a_known_number_of_items_has_no_bound():
    found = pyflat.twin(masked_too, loops="masked")
    values = np.array([0.5, 2.0])
    assert np.array_equal(found(values), [masked_too(v) for v in values.tolist()])


def signed_and_unsigned(x, n):
    h = x & 0xFFFFFFFFFFFFFFFF
    for i in range(n):
        h = x if i == 3 else (h * 31) & 0xFFFFFFFFFFFFFFFF
    return h


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_an_int_of_64_bits_may_become_a_signed_one_again(target):
    x, n = np.array([1, 2, 2**40, 3]), np.array([5, 2, 4, 0])
    assert pyflat.twin(signed_and_unsigned, target=target)(x, n).tolist() == [
        signed_and_unsigned(a, b) for a, b in zip(x.tolist(), n.tolist(), strict=True)]


def unsigned_or_true(x, n):
    return x & 0xFFFFFFFFFFFFFFFF if n > 2 else True


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_a_bool_among_unsigned_results_is_a_number(target):
    got = pyflat.twin(unsigned_or_true, target=target)(np.array([-1, -1, 4]), np.array([5, 0, 3]))
    assert got.dtype == np.uint64 and got.tolist() == [2**64 - 1, 1, 4]
