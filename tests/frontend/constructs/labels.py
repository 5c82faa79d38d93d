"""Results and values that are one of a few objects by lane: strings, enum members, None, dates, types."""

import datetime
import enum
import fractions
import functools
import math
from decimal import Decimal
from typing import NamedTuple


class Grade(enum.Enum):
    LOW = 1
    MIDDLE = 2
    HIGH = 2.5
    TOP = HIGH  # an alias


class Level(enum.IntEnum):
    ONE = 1
    TWO = 2


class Word(str, enum.Enum):
    YES = "yes"
    NO = "no"


class Side(enum.Flag):
    LEFT = enum.auto()
    RIGHT = enum.auto()


class Verdict(NamedTuple):
    name: str
    score: float


class Plain:
    """Compared by identity."""


class Odd:
    """Equal to everything, and of no truth."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


FIRST, SECOND, ODD = Plain(), Plain(), Odd()
RATES = {"low": 0.1, "middle": 0.2, "high": 0.4}
BY_GRADE = {Grade.LOW: 1.0, Grade.MIDDLE: 2.0, Grade.HIGH: 4.0}
NAMES = ("zero", "one", "two", "three")
TABLE = {"a": {"x": 1.0, "y": 2.0}, "b": {"x": 3.0, "y": 4.0}}


def _label(x):
    if x < 0:
        return "low"
    if x < 5:
        return "middle"
    return "high"


def _grade(x):
    return Grade.LOW if x < 0 else Grade.MIDDLE if x < 5 else Grade.HIGH


def three_strings(x):
    return _label(x)


def one_string(x):
    return "always"


def one_string_or_an_error(x):
    if 1 / x > 0:
        return "positive"
    return "negative"


def empty_strings(x):
    return "" if x > 0 else "-"


def zeros_at_the_end(x):
    return "a\0" if x > 0 else "a"


def zeros_inside(x):
    return "a\0b" if x > 0 else "a"


def other_alphabets(x):
    return "größer" if x > 1 else "小" if x > 0 else "🦆"


def members(x):
    return _grade(x)


def aliases_are_one_member(x):
    return Grade.TOP if x > 1 else Grade.HIGH


def members_of_int_enums(x):
    return Level.ONE if x > 1 else Level.TWO


def members_that_are_strings(x):
    return Word.YES if x > 1 else Word.NO


def strings_and_members_that_equal_them(x):
    return Word.YES if x > 1 else "yes"


def flags(x):
    return Side.LEFT | Side.RIGHT if x > 1 else Side.LEFT if x > 0 else Side(0)


def values_of_members(x):
    return _grade(x).value * x


def names_of_members(x):
    return _grade(x).name


def members_by_value(x):
    return Grade(1) if x > 0 else Grade["MIDDLE"]


def None_among_strings(x):
    if x > 1:
        return "big"
    if x > 0:
        return None
    return "small"


def falls_off_the_end(x):
    if x > 2:
        return "big"


def nothing_at_all(x):
    if x > 2:
        return None


def in_a_tuple(x):
    return x * 2, _label(x), None, _grade(x)


def in_a_namedtuple(x):
    return Verdict("good", x) if x > 1 else Verdict("bad", -x)


def in_a_dict(x):
    return {"name": _label(x), "value": x, "grade": _grade(x)}


def in_nested_tuples(x):
    return ((_label(x), 1), ("c" if x > 3 else "d", (x, None)))


def known_tuples(x):
    return ("a", 1) if x > 1 else ("b", 2)


def bytes_of_lanes(x):
    return b"big" if x > 1 else b"small"


def strings_and_bytes(x):
    return b"a" if x > 1 else "a"


def decimals(x):
    return Decimal("1.0") if x > 2 else Decimal("1.00") if x > 0 else Decimal(2)


def fractions_and_strings(x):
    return fractions.Fraction(1, 3) if x > 0 else "none"


def durations(x):
    return datetime.timedelta(days=1) if x > 0 else datetime.timedelta(0)


def times(x):
    return datetime.time(12, 30) if x > 0 else None


def classes(x):
    return int if x > 1 else float if x > 0 else None


def functions(x):
    return math.sin if x > 1 else math.cos


def objects_by_identity(x):
    return FIRST if x > 1 else SECOND


def the_ellipsis(x):
    return ... if x > 1 else NotImplemented if x > 0 else None


def an_object_that_equals_everything(x):
    return ODD if x > 1 else "a"


def compared_with_a_label(x):
    label = _label(x)
    if label == "low":
        return -x
    return x * 2 if label != "high" else x * 3


def compared_with_two_labels(x):
    a, b = _label(x), _label(-x)
    return "same" if a == b else "other"


def ordered_labels(x):
    return _label(x) < "m"


def membership(x):
    return 1 if _label(x) in ("low", "high") else 2 if _label(x) in {"middle", "other"} else 3


def part_of_a_label(x):
    return "i" in _label(x)


def is_none(x):
    label = _label(x) if x > 0 else None
    if label is None:
        return "nothing"
    return label


def identity_of_members(x):
    grade = _grade(x)
    return "low" if grade is Grade.LOW else "top" if grade is Grade.TOP else "else"


def truth_of_labels(x):
    label = "" if x > 1 else "a" if x > 0 else None
    return "yes" if label else "no"


def short_circuits(x):
    label = (None if x > 1 else "a") or "b"
    return label if x > 0 else (x > -1 and "c") or "d"


def looked_up(x):
    return RATES[_label(x)] * x


def looked_up_by_members(x):
    return BY_GRADE[_grade(x)] + x


def looked_up_twice(x):
    return TABLE["a" if x > 1 else "b"]["x" if x > 3 else "y"]


def keys_that_may_be_missing(x):
    return RATES.get("none" if x > 1 else "low", x)


def missing_keys_raise(x):
    return RATES["other" if x > 9 else "low"]


def names_of_a_tuple(x):
    return NAMES[2 if x > 1 else 1 if x > 0 else -1]


def names_by_a_lane(x):
    k = int(x) if -5 < x < 5 else 9
    return NAMES[k]


def matched(x):
    match _label(x):
        case "low":
            return 1.0
        case "middle" | "high" if x > 1:
            return 2.0
        case other:
            return 3.0 if other == "middle" else 4.0


def matched_members(x):
    match _grade(x):
        case Grade.LOW:
            return "l"
        case Grade.TOP:
            return "t"
    return None


def kept_in_a_loop(x):
    state = "start"
    for k in range(4):
        if state == "start" and x > k:
            state = "running"
        elif state == "running" and x < k * k:
            state = "done"
    return state


def kept_in_a_while(x):
    state, n = "even", 0
    while n < x and n < 6:
        state = "odd" if state == "even" else "even"
        n += 1
    return state, n


def collected_in_a_list(x):
    found = [_label(x), _label(x - 3), "end"]
    return found[1], len(found[0])


def made_of_labels(x):
    return f"{_label(x)}-{'up' if x > 1 else 'down'}"


def joined_labels(x):
    return _label(x) + "!" if x > 0 else "-" + _label(x)


def methods_of_labels(x):
    return _label(x).upper().replace("L", "_")


def lengths_of_labels(x):
    return len(_label(x)) * x


def items_of_labels(x):
    return _label(x)[0], _label(x)[-2:]


def through_a_closure(x):
    prefix = _label(x)

    def tell(y):
        return prefix if y > 0 else None

    return tell(x - 1)


def through_a_partial(x):
    choose = functools.partial(lambda a, b: a if x > 1 else b, "first")
    return choose("second")


def caught(x):
    try:
        return "small" if 1 / x < 1 else "large"
    except ZeroDivisionError:
        return "zero"


def caught_keys(x):
    try:
        return RATES["low" if x > 1 else "missing"]
    except KeyError:
        return -1.0


def chosen_functions(x):
    fn = math.floor if _label(x) == "high" else math.ceil
    return fn(min(max(x, -9.0), 9.0)) if x == x else 0


def raises_a_label(x):
    if x > 9:
        raise ValueError(_label(x))
    return _label(x)


def asserts(x):
    label = _label(x)
    assert label != "low", label
    return label


def isinstance_of_labels(x):
    value = "text" if x > 1 else None if x > 0 else Grade.LOW
    return 1 if isinstance(value, str) else 2 if isinstance(value, Grade) else 3


def unbound_in_some_lanes(x):
    if x > 0:
        label = "positive"
    return label


def made_of_numbers(x):
    return f"{x:.1f}"


def REFUSED_numbers_of_numpy_without_lanes(x):
    import numpy as np

    return np.longdouble(1) if x > 1 else np.longdouble(2)


def REFUSED_lists_of_the_module(x):
    return {} if x > 1 else {1: 2}
