"""Results that are strings made from lanes: what Python writes, in every lane and on both targets."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import pyflat
from pyflat.testing import lane_of
from tests.support.twins import refused

XS = (0.0, -0.0, 1.0, -1.5, 2.675, 0.125, 1e16, 1e22, 123456789.0, 5e-324, 1e300, math.inf, -math.inf, math.nan)
NS = (0, 1, -1, 2, 7, 10, 11, 12, 13, 21, 65, 90, 97, 112, 255, 2**31, 2**63 - 1, -(2**63))


def plain(x: float, n: int):
    return f"{n} of {x}"


def formatted(x: float, n: int):
    return f"<{x:.2f}|{x:>12.3e}|{x!s:>8}|{n:+,}|{n:08d}|{n:#x}|{x!r}>"


def braces_and_escapes(x: float, n: int):
    return f"{{{n}}}\t\x41 {'x'}" rf"\n{n}" "{}"  # noqa: ISC001


def nested_width(x: float, n: int):
    width = 9
    return f"{n:{width}d}"


def truths(x: float, n: int):
    return f"{x > 1} {n == 1!s:>6}"


def by_format(x: float, n: int):
    return "{0} {1:.1f} {name}".format(n, x, name=n + 1) + "{} {:>4}".format(n, "a")


def by_percent(x: float, n: int):
    return "%d%% %5.1f %-6d| %s %s %+i %x" % (n, x, n, n, "s", n, n)


def one_percent(x: float, n: int):
    return "%.3f" % x


def added(x: float, n: int):
    text = "n = " + str(n)
    text += ", x = "
    return text + repr(x)


def multiplied(x: float, n: int):
    return "=" * (n % 7) + (n % 3) * "-" + ">"


def characters(x: float, n: int):
    return chr(97 + n % 26) + chr(abs(n) % 300)


def faulty_characters(x: float, n: int):
    try:
        return chr(n)
    except ValueError:
        return "none"
    except OverflowError:
        return "never"


def joined(x: float, n: int):
    return ", ".join([str(n), f"{x}", "end"]) + "".join(c for c in str(n) if c != "1")


def reversed_digits(x: float, n: int):
    return str(n)[::-1] + bin(n) + hex(n)


def several(x: float, n: int):
    if n == 1:
        return "one"
    if n % 2 == 0:
        return f"{n} is even"
    suffix = "st" if n % 10 == 1 else "nd" if n % 10 == 2 else "rd" if n % 10 == 3 else "th"
    return f"{n}{suffix}" if x > 0 else f"x is {x}"


def built_up(x: float, n: int):
    text = ""
    if x < 0:
        text += "negative "
    if n < 0:
        text = text + f"({n}) "
    for k in range(3):
        if n % (k + 2) == 0:
            text += f"{k + 2} "
    return text


TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
ONES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen")


def words(x: float, n: int):
    n = n % 80 + 20
    return TENS[n // 10] + "-" + ONES[n % 10] + "!"


def of_union(x: float, n: int):
    best = n if x > 1 else x
    return f"best: {best}"


class Money:
    def __init__(self, amount):
        self.amount = amount

    def __str__(self):
        return f"${self.amount:.2f}"

    def __format__(self, spec):
        return f"[{spec}]" + str(self)


class Shown:
    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"Shown({self.n})"


def objects(x: float, n: int):
    return str(Money(x)) + f" {Money(x):wide} {Money(x)!s} {Shown(n)} {Shown(n)!r}" + repr(Shown(n))


@dataclass
class Labelled:
    label: str
    value: float


def in_records(x: float, n: int):
    return Labelled(f"no {n}", x), {"text": f"{x:.1f}", "n": n}


def among_members(x: float, n: int):
    return None if n == 2 else f"{n}" if n > 2 else "few"


def rounded_either_way(x: float, n: int):
    return float(f"{x:.2f}" if x > 1 else f"{x:.1f}")


def truth_of_texts(x: float, n: int):
    return (1 if str(n) else 0) + (2 if "ab" * (n % 5 - 2) else 0) + (4 if f"{x}" else 0)


EVERY = [plain, formatted, braces_and_escapes, nested_width, truths, by_format, by_percent, one_percent, added, multiplied,
         characters, faulty_characters, joined, reversed_digits, several, built_up, words, of_union, objects,
         in_records, among_members, rounded_either_way, truth_of_texts]


def grid(cycles=1):
    rows = [(x, n) for x in XS for n in NS] * cycles
    return np.array([x for x, _ in rows]), np.array([n for _, n in rows])


def as_shown(value):
    """What tells values apart by their bits."""
    return (type(value).__name__, vars(value)) if isinstance(value, Labelled) else repr(value)


@pytest.mark.turns(2)
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", EVERY, ids=lambda fn: fn.__name__)
def test_every_lane_has_what_python_writes(fn, target):
    xs, ns = grid()
    known, expected = [], []
    for lane, (x, n) in enumerate(zip(xs.tolist(), ns.tolist(), strict=True)):
        try:
            expected.append(fn(x, n))
        except OverflowError:
            continue
        known.append(lane)
    xs, ns = xs[known], ns[known]
    twin = pyflat.twin(fn, target=target, none="object")
    got = twin(xs, ns)
    for lane, value in enumerate(expected):
        assert as_shown(lane_of(got, lane, len(xs))) == as_shown(value), (xs[lane], ns[lane])
    assert as_shown(twin(xs[0].item(), ns[0].item())) == as_shown(expected[0])


def test_strings_have_the_dtype_that_is_asked_for():
    def text(n):
        return f"{n} apples" if n != 1 else "1 apple"

    ns = np.array([1, 2, 1, 300])
    twin = pyflat.twin(text)
    assert twin(ns).dtype == np.dtype("<U10")
    strings = pyflat.twin(text, results="string")(ns)
    assert strings.dtype == np.dtypes.StringDType() and strings.tolist() == ["1 apple", "2 apples", "1 apple", "300 apples"]
    codes, categories = pyflat.twin(text, results="codes")(ns)
    assert categories[codes].tolist() == strings.tolist()
    assert twin(ns.reshape(2, 2)).shape == (2, 2)
    assert twin(np.int64(3)) == "3 apples"


def test_a_zero_at_the_end_is_kept():
    assert pyflat.twin(lambda n: "a" + chr(n))(np.array([0, 65])).tolist() == ["a\0", "aA"]


def test_none_among_strings():
    twin = pyflat.twin(among_members, none="masked")
    assert twin(np.ones(3), np.array([1, 2, 3])).tolist() == ["few", None, "3"]


def test_lanes_that_fail():
    def share(n):
        return f"{60 // n} each"

    twin = pyflat.twin(share, errors="mask")
    value, faults = twin(np.array([1, 0, 7]))
    assert value.tolist() == ["60 each", "", "8 each"] and faults.mask.tolist() == [False, True, False]
    with pytest.raises(ZeroDivisionError):
        pyflat.twin(share)(np.array([1, 0, 7]))


def test_lanes_that_the_original_runs():
    def power(n):
        return f"{n} ** 9 = {n ** 9}"

    ns = np.array([2, 10, 1000, -1000])
    assert pyflat.twin(power)(ns).tolist() == [power(n) for n in ns.tolist()]


def test_none_lanes_do_not_matter_where_nothing_is_written():
    def letter(n):
        if n < 0:
            return None
        return n, chr(64 + n)

    assert pyflat.twin(letter, none="object")(np.array([1, -9000, 2])).tolist() == [(1, "A"), None, (2, "B")]
    numbers, letters = pyflat.twin(letter, none="masked")(np.array([1, -9000, 2]))
    assert numbers.tolist() == [1, None, 2] and letters.tolist() == ["A", None, "B"]


def test_groups_by_strings_that_are_used():
    def line(item, n):
        if item == "nothing":
            return "nothing"
        return item.upper() + f": {n}" if n > 1 else f"{n * 0.5} {item}"

    items = np.array(["tea", "milk", "nothing", "tea"])
    got = pyflat.twin(line)(items, np.array([1, 2, 3, 4]))
    assert got.tolist() == [line(*row) for row in zip(items.tolist(), [1, 2, 3, 4], strict=True)]


def test_float32_lanes_are_written_as_the_numbers_that_they_are():
    twin = pyflat.twin(lambda x: f"{x}", dtype="float32")
    assert twin(np.array([0.1, 0.5], np.float32)).tolist() == [str(float(np.float32(0.1))), "0.5"]


def test_an_array_of_the_caller_cannot_take_them():
    with pytest.raises(TypeError, match="pass None"):
        pyflat.twin(plain)(np.ones(2), np.ones(2, int), out=np.empty(2, "<U20"))


def test_verify_compares_what_is_written():
    xs, ns = grid()
    pyflat.twin(several).verify(xs, ns)
    pyflat.twin(in_records).verify(xs, ns)


@pytest.mark.parametrize("fn", EVERY, ids=lambda fn: fn.__name__)
def test_the_printed_twin_gives_the_same(fn):
    printed = pyflat.twin(fn, none="object").function
    xs, ns = np.array([2.5, -0.0, math.nan]), np.array([12, 1, 97])
    got = printed(xs, ns)
    for lane in range(3):
        assert as_shown(lane_of(got, lane, 3)) == as_shown(fn(xs[lane].item(), ns[lane].item()))


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_numbers_and_strings_on_different_paths_are_objects(target):
    def either(n):
        return f"{n}" if n > 1 else n

    got = pyflat.twin(either, target=target)(np.arange(4))
    assert got.dtype == object and got.tolist() == [0, 1, "2", "3"]


def REFUSED_compared(n):
    return 1 if f"{n * 0.5}" == "1.0" else 0


def REFUSED_upper_case(n):
    return f"{n:e}".upper()


@pytest.mark.parametrize("fn", [REFUSED_compared, REFUSED_upper_case], ids=lambda fn: fn.__name__)
def test_what_has_no_twin_is_refused(fn):
    assert refused(fn, np.arange(4)).code in ("flatten/result-kind", "flatten/unsupported-expression")
