"""Dicts whose keys differ by lane, counters, sets, powers with a modulus, numbers beside other objects."""

import collections
import enum
import math
from collections import Counter, defaultdict

from tests.support.adversary import small


class Grade(enum.Enum):
    LOW = 1
    HIGH = 2


def case_most_common(a: "small", b: "small", c: "small"):
    counts = {}
    for x in (a, b, c):
        counts[x] = counts.get(x, 0) + 1
    return max(counts, key=counts.get)


def case_first_place_stays(a: "small", b: "small", c: "small"):
    d = {a: 1}
    d[b] = 2
    d[c] = 3
    d[a] = 4
    return [key * 100 + value for key, value in d.items()]


def case_key_stays_what_it_was(a: "small", b: "float"):
    d = {b: "first"}
    d[a] = "second"
    return [repr(key) for key in d], d[b]


def case_bool_is_a_key(a: "small", b: "bool"):
    d = {b: 10}
    d[a] = 20
    return len(d), list(d)


def case_missing_key(a: "small", b: "small"):
    return {a: 1}[b]


def case_missing_key_caught(a: "small", b: "small", c: "small"):
    d = {}
    d[a] = b
    try:
        return d[c]
    except KeyError:
        return -99


def case_key_that_a_handler_adds(a: "small", b: "small"):
    d = {a: 5}
    try:
        d[b] += 1
    except KeyError:
        d[b] = 0
    return sum(d.values()), len(d)


def case_deleted_and_put_back(a: "small", b: "small", c: "small"):
    d = {a: 1}
    d[b] = 2
    del d[a]
    d[c] = 3
    return list(d.items())


def case_delete_missing(a: "small", b: "small"):
    d = {a: 1}
    del d[b]
    return len(d)


def case_pop_default(a: "small", b: "small", c: "small"):
    d = {a: 1, b: 2}
    return d.pop(c, 7), len(d), d.pop(a, 8)


def case_setdefault(a: "small", b: "small"):
    d = {}
    return d.setdefault(a, b), d.setdefault(b, a), d[a], len(d)


def case_grows_while_iterated(a: "small", b: "small"):
    d = {a: 1}
    for key in d:
        d[b] = key
    return len(d)


def case_values_change_while_iterated(a: "small", b: "small", c: "small"):
    d = {a: 1, b: 2}
    total = 0
    for key, value in d.items():
        if c > 0:
            d[a] = 50
            d[b] = 60
        total = total * 100 + value + key
    return total


def case_swapped_while_iterated(a: "small", b: "small", c: "small"):
    d = {a: 1, b: 2}
    seen = 0
    for key in list(d):
        d.pop(key)
        d[c] = key
        seen += 1
    return seen, list(d.items())


def case_defaultdict(a: "small", b: "small", c: "small"):
    d = defaultdict(int)
    for x in (a, b, c):
        d[x % 3] += x
    return sorted(d.items()), d[a], len(d)


def case_defaultdict_get_adds_nothing(a: "small", b: "small"):
    d = defaultdict(int)
    d[a] += 1
    before = d.get(b, -1)
    return before, b in d, len(d), d[b], len(d)


def case_defaultdict_of_lists(a: "small", b: "small", c: "small"):
    d = defaultdict(list)
    for x in (a, b, c):
        d[x > 1].append(x)
    return d[True], d[False]


def case_defaultdict_without_factory(a: "small", b: "small"):
    d = defaultdict(None, {a: 1})
    return d[b]


def case_defaultdict_of_function(a: "small", b: "small"):
    d = collections.defaultdict(lambda: a + 100)
    d[b] += 1
    return d[b], d[a]


def case_counter(a: "small", b: "small", c: "small"):
    counts = Counter((a, b, c, a))
    return counts.most_common(1)[0], counts[77], len(counts)


def case_counter_order(a: "small", b: "small", c: "small"):
    return Counter([a, b, c]).most_common()


def case_counter_update(a: "small", b: "small"):
    counts = Counter([a])
    counts.update([b, b])
    counts[a] -= 1
    return list(counts.items()), sum(counts.values())


def case_is_a_dict(a: "small"):
    d = Counter([a])
    return isinstance(d, dict), type(d) is dict, type(d) is Counter, type(defaultdict(int)) is dict


def case_digits(n: "int"):
    counts = {}
    n = abs(n) if n > -(2**63) else 7
    while n:
        counts[n % 10] = counts.get(n % 10, 0) + 1
        n //= 10
    best = None
    for digit, count in counts.items():
        if best is None or count > counts[best]:
            best = digit
    return len(counts), best is None


def case_digits_last_seen(n: "int"):
    seen = {}
    at = gap = 0
    n = abs(n) if n > -(2**63) else 7
    while n:
        if n % 10 in seen:
            gap = max(gap, at - seen[n % 10])
        seen[n % 10] = at
        at += 1
        n //= 10
    return gap


def case_cycle(n: "small"):
    seen = {}
    x, at = abs(n) + 2, 0
    while x not in seen and at < 40:
        seen[x] = at
        x = (x * x + 1) % 31
        at += 1
    return at - seen.get(x, 0)


def case_prime_factors(n: "small"):
    n = (abs(n) + 3) * 12
    powers = defaultdict(int)
    f = 2
    while n > 1:
        while n % f == 0:
            powers[f] += 1
            n //= f
        f += 1
    divisors = 1
    for p in powers:
        divisors *= powers[p] + 1
    return divisors, max(powers)


def case_keys_on_one_path(a: "small", b: "small"):
    d = {}
    if a > 0:
        d["a"] = a
    if b > 0:
        d["b"] = b
    elif b < 0:
        d["a"] = -1
    return len(d), d.get("a", 0), "b" in d, list(d.values())


def case_other_order_on_other_paths(a: "small"):
    if a > 2:
        d = {"x": 1, "y": 2}
    else:
        d = {"y": 2}
        d["x"] = 1
    return list(d)[0], d["x"]


def case_words(unit: "str", n: "small"):
    prices = {}
    prices[unit] = n
    prices["kg"] = 10
    return prices[unit], len(prices)


def case_tuple_keys(a: "small", b: "small"):
    grid = {}
    for i in (a, b):
        for j in (0, a):
            grid[i, j] = grid.get((i, j), 0) + 1
    return len(grid), grid[(a, 0)], max(grid.values())


def case_float_keys(x: "float", y: "float"):
    d = {x: 1}
    d[y] = 2
    return len(d), d.get(0.0, 5)


def case_nan_key(x: "float"):
    d = {}
    d[x] = 1
    d[x] = 2
    return len(d), x in d


def case_comprehension(a: "small", b: "small", c: "small"):
    d = {x: x * x for x in (a, b, c) if x > 1}
    return sum(d.values()), len(d), bool(d)


def case_of_pairs(a: "small", b: "small", c: "small"):
    d = dict(zip((a, b), (b, c), strict=True))
    return d.get(b, a), dict(d)[a]


def case_copy(a: "small", b: "small"):
    d = {a: 1}
    other = d.copy()
    other[b] = 2
    d.clear()
    d[b] = 3
    return len(other), other.get(a), d[b], len(d)


def case_aliased(a: "small", b: "small"):
    d = {}
    other = d
    other[a] = 1
    d[b] = 2
    return len(other), other is d


def case_inner_function(a: "small", b: "small", c: "small"):
    memo = {}

    def double(n):
        if n not in memo:
            memo[n] = 2 * n
        return memo[n]

    return double(a) + double(b) + double(c), len(memo)


def case_sets_of_digits(n: "int"):
    n = abs(n) if n > -(2**63) else 7
    seen = set()
    twice = 0
    while n:
        twice += n % 10 in seen
        seen.add(n % 10)
        n //= 10
    return len(seen), twice, sum(seen)


def case_large_set(a: "small", b: "small"):
    seen = set()
    for i in range(60):
        seen.add((a * i + b) % 37)
    return len(seen), max(seen), 5 in seen


def case_set_discards(a: "small", b: "small", c: "small"):
    s = {a, b}
    s.discard(c)
    s.add(a)
    s.remove(b)
    return len(s), sum(s)


def case_power(a: "int", b: "small", m: "int"):
    return pow(a, b, m)


def case_power_wide(a: "int", b: "int"):
    return pow(a, b, 2**61 - 1), pow(b, 3, -(2**62))


def case_power_inverse(a: "int", m: "int"):
    try:
        return pow(a, -1, m)
    except ValueError:
        return -1


def case_power_zero_modulus(a: "small", m: "small"):
    try:
        return pow(a, 2, m)
    except ValueError:
        return None


def case_number_or_string(x: "float"):
    return math.sqrt(x) if x >= 0 else "n/a"


def case_kinds(x: "float", n: "small"):
    if n == 0:
        return "zero"
    if n == 1:
        return n
    if n == 2:
        return True
    if n == 3:
        return None
    if n == 4:
        return Grade.HIGH
    return x if n > 4 else f"{n} of {x}"


def case_big_int_or_string(n: "int"):
    return n * n if n > 0 else "negative"


def case_item_of_a_tuple(x: "float", n: "small"):
    return (n, x if n > 2 else Grade.LOW), n


def case_complex_or_string(x: "float"):
    return complex(x, 1.0) if x > 0 else "real"


def case_string_or_fault(a: "small", b: "small"):
    return "none" if a > 3 else a / b


def case_operator(op: "str", a: "float"):
    if op == "a":
        return a + 1
    if op == "b":
        return a > 1
    return "unknown"


def refused_dict_of_lanes_returned(a: "small"):
    """flatten/result-kind"""
    return {a: 1}
