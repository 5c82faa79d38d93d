# ruff: noqa: FURB171
"""Results that are no numbers: strings, members, None, dates and tuples of them; strings as arguments."""

import datetime
import enum
from collections import namedtuple
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Optional

from tests.support.adversary import small


class Size(enum.Enum):
    S = "s"
    M = "m"
    L = "l"

    @classmethod
    def of(cls, v):
        return cls.S if v < 0 else cls.M if v < 2 else cls.L

    @property
    def next(self):
        return {Size.S: Size.M, Size.M: Size.L, Size.L: Size.S}[self]

    def __str__(self):
        return f"<{self.value}>"


class Prio(enum.IntEnum):
    LOW = 1
    MID = 5
    TOP = 9


class Word(enum.StrEnum):
    ON = enum.auto()
    OFF = enum.auto()


class Twice(enum.Enum):
    A = 1
    B = 1
    C = 2


class Perm(enum.IntFlag):
    R = 4
    W = 2
    X = 1


class Odd(enum.Enum):
    NONE = None
    ZERO = 0
    EMPTY = ""
    YES = True


Pair = namedtuple("Pair", "label value")


class Grade(NamedTuple):
    letter: str
    points: int = 0

    @property
    def passed(self):
        return self.letter != "F"


@dataclass
class Report:
    title: str
    notes: list = field(default_factory=list)
    size: Optional[Size] = None


@dataclass(frozen=True, order=True)
class Rank:
    label: str
    k: int


NAMES = {1: "one", 2: "two", 3: None}
UNITS = {"kg": 1.0, "K": 2.0, "a": None}
KINDS = {"a": Size.S, "b": Size.M, "C": Size.L}
LEAP = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 1, 1, 12, 30)
MISSING = object()


def case_member_by_method(x: "float"):
    return Size.of(x)


def case_member_next(x: "float"):
    return Size.of(x).next.next


def case_member_identity(x: "float"):
    return Size.of(x) is Size.M, Size.of(x) is not Size.S, Size.of(x) == Size.L


def case_member_in(x: "float"):
    return Size.of(x) in (Size.S, Size.L), Size.of(x) not in {Size.M}


def case_member_of_value(s: "str"):
    try:
        return Size(s)
    except ValueError:
        return None


def case_member_of_name(s: "str"):
    return Size["S"] if s == "a" else Size["L"]


def case_member_as_key(x: "float"):
    return {Size.S: 1.5, Size.M: x, Size.L: None}[Size.of(x)]


def case_member_text(x: "float"):
    return str(Size.of(x)), repr(Prio.LOW if x > 0 else Prio.TOP)


def case_member_fstring(x: "float"):
    return f"{Size.of(x)}!"


def case_member_value_joined(x: "float"):
    return "-".join([Size.of(x).value, "x"])


def case_alias(x: "float"):
    a = Twice.A if x > 0 else Twice.C
    return a is Twice.B, a.name, a


def case_int_member_arithmetic(x: "float"):
    p = Prio.LOW if x > 0 else Prio.MID
    return p * 2 + 1, p > Prio.LOW, max(p, Prio.MID), p / 2


def case_int_member_of_lane(n: "small"):
    try:
        return Prio(n)
    except ValueError:
        return Prio.LOW


def case_int_member_or_none(n: "small"):
    return Prio.TOP if n > 2 else None


def refused_str_member(x: "float"):
    """flatten/unknown-call"""
    w = Word.ON if x > 0 else Word.OFF
    return w, w == "on", w.upper(), w + "!"


def case_flag_union(x: "float", b: "bool"):
    p = Perm.R | (Perm.W if x > 0 else Perm.X)
    return int(p), bool(p & Perm.W), Perm.X in p


def case_flag_returned(b: "bool"):
    return Perm.R if b else Perm.W


def case_falsy_values(x: "float"):
    o = Odd.NONE if x > 1 else Odd.ZERO if x > 0 else Odd.EMPTY if x == 0 else Odd.YES
    return o, bool(o)


def case_falsy_value_of(x: "float"):
    o = Odd.NONE if x > 1 else Odd.EMPTY
    return o.value


def case_truth_of_strings(x: "float"):
    s = "" if x > 0 else "0"
    return bool(s), not s, s or "none", s and "some"


def case_none_and_false(x: "float"):
    r = None if x > 1 else False if x > 0 else 0
    return r is None, r is False, r == 0, not r


def case_none_in_tuple(x: "float"):
    return None in (1, None) if x > 0 else None in (x, 2)


def case_none_default(n: "small"):
    return NAMES.get(n, "many")


def case_none_or_text(n: "small"):
    return NAMES.get(n) or "unknown"


def case_missing_is(n: "small"):
    found = NAMES.get(n, MISSING)
    return "no" if found is MISSING else found


def case_unit_none(s: "str", x: "float"):
    u = UNITS.get(s)
    return None if u is None else u * x


def case_kind_of(s: "str"):
    k = KINDS.get(s)
    return k.value if k else "?"


def case_kinds_of(s: "str", b: "bool"):
    return KINDS.get(s, Size.M) is Size.M, KINDS.get(s)


def case_text_order(s: "str"):
    return s < "b", "a" <= s, s > ""


def case_text_find(s: "str"):
    return s.find("g"), s.count("a"), s.isupper(), s.isdigit()


def case_text_slice(s: "str"):
    return s[:1], s[-1:], s[1:]


def case_text_first(s: "str"):
    return s[0] if s else "-"


def case_text_in_text(s: "str"):
    return "o" in s, s in "kgK", s.startswith(("a", "k"))


def case_text_added(s: "str"):
    return s + "!" if s in ("a", "b") else "no"


def case_text_replaced(s: "str"):
    return s.replace("a", "b") == "b"


def case_text_matches(s: "str", n: "small"):
    match (s, n):
        case ("a", 1) | ("b", 2):
            return "pair"
        case ("a" | "b" as t, k) if k > 0:
            return t
        case ("", _):
            return None
    return "rest"


def case_text_chain(s: "str"):
    return "" < s <= "b" < "c"


def case_text_min(s: "str"):
    return min(s, "b") == "a", max("a", s) == s


def case_text_set(s: "str"):
    return len({s, "a"}), len({"a", "b"} | {s})


def case_text_index(s: "str"):
    return ("a", "b", "C").index(s) if s in ("a", "b", "C") else -1


def case_text_list(s: "str"):
    return ["a", "b", "a"].count(s), [s, "a"] == ["a", "a"]


def case_text_dict_of(s: "str", x: "float"):
    return dict(a=x, b=2.0).get(s, -1.0)


def case_text_loop(s: "str"):
    t = 0
    for k, name in enumerate(("a", "b", "low")):
        if s == name:
            t += 10**k
    return t


def case_text_passed(s: "str"):
    def unit(u="kg", *rest, **named):
        return u if not rest else named.get("k", u)

    return unit(s) == "kg", unit(k=s, u="a") == "a"


def case_text_swapped(s: "str", x: "float"):
    a, b = s, "K"
    if x > 0:
        a, b = b, a
    return a == "K", b == "K"


def case_date_of_lane(n: "small"):
    return LEAP if n > 0 else None


def case_date_parts(n: "small"):
    d = LEAP if n > 0 else datetime.date(2023, 12, 31)
    return d.year, d.month, d.isoformat(), d.weekday()


def case_date_compared(n: "small"):
    d = LEAP if n > 0 else datetime.date(2023, 12, 31)
    return d > datetime.date(2024, 1, 1), d == LEAP, (d - LEAP).days


def case_date_shifted(n: "small"):
    return (LEAP + datetime.timedelta(days=1) if n > 0 else LEAP).isoformat()


def case_datetime(n: "small"):
    return NOON if n > 0 else NOON.replace(hour=1)


def case_grade(x: "float"):
    g = Grade("A", 4) if x > 2 else Grade("F")
    return g, g.passed, g[0], g._replace(points=1)


def case_grade_unpacked(x: "float"):
    letter, points = Grade("A", 4) if x > 2 else Grade("F")
    return letter, points


def case_pair_nested(x: "float"):
    return Pair("out", Pair("in", None if x > 0 else x))


def case_pair_asdict(x: "float"):
    return Pair("p" if x > 0 else "q", x)._asdict()


def case_report(x: "float"):
    r = Report("big" if x > 0 else "small")
    r.size = Size.of(x)
    return r.title, r.size, len(r.notes)


def case_report_notes(x: "float"):
    r = Report("t")
    r.notes.append("hot" if x > 0 else "cold")
    return r.notes[0], r.title


def case_rank(x: "float"):
    a, b = Rank("a", 1 if x > 0 else 3), Rank("a", 2)
    return a < b, a == b, max(a, b).k


def case_rank_replaced(x: "float"):
    return replace(Rank("a", 1), label="z" if x > 0 else "y")


def case_tuple_of_labels(x: "float"):
    t = ("a", None, Size.S) if x > 0 else ("b", 1.5, Size.L)
    return t[::-1]


def case_list_of_labels(x: "float"):
    l = ["a"] * 2
    l[x > 0] = "b"
    return l


def case_dict_of_labels(x: "float"):
    return {"kind": "hot" if x > 0 else None, "n": 1}


def case_label_loop(n: "small"):
    s = ""
    for k in range(3):
        s += "x" if k < n else "-"
    return s


def case_label_percent(n: "small"):
    return "%s-%d" % ("a" if n > 0 else "b", 3)


def case_label_format(n: "small"):
    return "{}/{}".format("a" if n > 0 else "b", Size.S.value)


def case_label_title(n: "small"):
    return ("hot day" if n > 0 else "cold").title().split()[0]


def case_label_length(n: "small"):
    return len("abc" if n > 0 else "") * n


def case_label_int(n: "small"):
    return int("12" if n > 0 else "-3") + float("1e2" if n > 2 else "nan" if n > 1 else "0.5") * 0


def case_label_ord(n: "small"):
    return ord("a" if n > 0 else "z"), chr(65 + 3)


def case_label_equal(x: "float"):
    a, b = ("p" if x > 0 else "q"), ("p" if x > 1 else "q")
    return a == b, a != b, (a, b) == ("p", "q")


def case_label_raise(x: "float"):
    kind = "bad" if x < 0 else "worse" if x > 5 else None
    if kind is not None:
        raise {"bad": ValueError, "worse": KeyError}[kind](kind)
    return "fine"


def case_label_finally(x: "float"):
    r = None
    try:
        r = "div" if 1 / x > 1 else "low"
    except ZeroDivisionError:
        r = "zero"
    finally:
        r = r + "."
    return r


def case_none_from_every_path(x: "float"):
    if x > 0:
        return None


def case_ends_without(x: "float"):
    if x > 0:
        return "a"
    if x < 0:
        return ("b",)[0]


def case_bool_int_float_none(x: "float"):
    return True if x > 2 else 1 if x > 1 else 1.0 if x > 0 else None


def case_text_or_member(x: "float"):
    return "s" if x > 0 else Size.S


def case_members_of_two(x: "float"):
    return Size.S if x > 0 else Word.ON


def case_member_list(x: "float"):
    return [m.value for m in Size if m is not Size.of(x)]


def case_member_loop(x: "float"):
    t = 0
    for k, m in enumerate(Size):
        t += k * 10 if m is Size.of(x) else 1
    return t, len(Size)
