"""Results that are not numbers, and strings by lane."""

import datetime
import enum
from dataclasses import dataclass
from typing import NamedTuple

from tests.support.adversary import small


class Col(enum.Enum):
    RED = 1
    GREEN = "g"
    BLUE = 3.5

    @property
    def pretty(self):
        return self.name.title()


class St(str, enum.Enum):
    A = "a"
    B = "b"


class Lv(enum.IntEnum):
    LOW = 1
    HIGH = 7


class Fl(enum.Flag):
    X = 1
    Y = 2
    Z = 4


class P(NamedTuple):
    name: str
    v: float
    tag: object = None


@dataclass(frozen=True)
class Q:
    label: str
    v: float


TABLE = {"a": "alpha", "b": "beta", "C": "celsius"}
D0 = datetime.date(2020, 2, 29)


def case_bmi(x: "float"):
    if x != x:
        return "nan"
    return "under" if x < 0 else "normal" if x < 2 else "obese"


def case_label_or_none(x: "float"):
    if x > 1:
        return "big"
    if x < -1:
        return None


def case_none_num(x: "float"):
    if x < 0:
        return None
    return x * 2


def case_none_int(n: "int"):
    return n if n % 2 else None


def case_tuple_label_num(x: "float"):
    return ("pos", x) if x > 0 else ("neg", -x)


def case_tuple_none(x: "float"):
    return (x, None) if x > 0 else (None, x)


def case_enum(x: "float"):
    return Col.RED if x > 0 else Col.GREEN if x < 0 else Col.BLUE


def case_enum_name(x: "float"):
    c = Col.RED if x > 0 else Col.BLUE
    return c.name.lower() + "!"


def case_enum_prop(x: "float"):
    c = Col.RED if x > 0 else Col.GREEN
    return c.pretty


def case_enum_value_mixed(x: "float"):
    c = Col.RED if x > 0 else Col.BLUE
    return c.value


def case_strenum(x: "float"):
    return St.A if x > 0 else St.B


def case_strenum_cmp(s: "str"):
    return 1 if s == St.A else 2 if St.B == s else 3


def case_intenum(x: "float"):
    return Lv.LOW if x > 0 else Lv.HIGH


def case_intenum_add(x: "float"):
    return (Lv.LOW if x > 0 else Lv.HIGH) + 1


def case_intenum_or_int(x: "float"):
    return Lv.LOW if x > 0 else 5


def case_bool_or_none(x: "float"):
    return None if x == 0 else x > 0


def case_bool_or_str(x: "float"):
    return "zero" if x == 0 else x > 0


def case_str_or_num(x: "float"):
    return "n/a" if x != x else x


def case_date(n: "small"):
    return D0 if n > 2 else datetime.date(2021, 1, 1)


def case_nested_tuple(x: "float", s: "str"):
    return ((s == "a", "lab" if x > 0 else None), (x, ("q", 1 if x > 1 else 2)))


def case_namedtuple_label(x: "float"):
    return P("hi", x) if x > 0 else P("lo", -x, "tagged")


def case_dataclass_label(x: "float"):
    return Q("hi", x) if x > 0 else Q("lo", 0.0)


def case_cmp_lit(s: "str", x: "float"):
    return x if s == "C" else x * 1.8 + 32 if s == "F" else x + 273.15


def case_in_lit(s: "str"):
    return s in ("a", "b") and s not in {"b", "C"}


def case_ret_same(s: "str"):
    return "same" if s == "a" else "other" if s < "b" else "x"


def case_dictget(s: "str"):
    return TABLE.get(s, "none")


def case_dictitem(s: "str"):
    return TABLE[s]


def case_dict_in(s: "str"):
    return 1.5 if s in TABLE else 0.25


def refused_two_strs(s: "str", t: "str"):
    return 1 if s == t else 2 if s == "a" else 3


def case_str_truth(s: "str"):
    return 1 if s else 0


def case_not_str(s: "str"):
    return not s or s == "kg"


def case_str_or_default(s: "str"):
    u = s or "K"
    return 1.0 if u == "K" else 2.0


def case_match_str(s: "str", x: "float"):
    match s:
        case "a" | "A":
            return x
        case "":
            return None
        case "kg" if x > 0:
            return x * 1000
        case _:
            return -x


def case_upper(s: "str"):
    return 1 if s.upper() == "A" else 0


def case_strip_lower(s: "str"):
    return s.strip().lower() == "a"


def case_startswith(s: "str"):
    return s.startswith("k") or s.endswith("h")


def case_len(s: "str"):
    return len(s)


def case_chained_none(x: "float"):
    r = None
    if x > 0:
        r = x
    if r is None:
        return -1.0
    return r + 1


def case_none_cmp_eq(x: "float"):
    r = "p" if x > 0 else None
    return 1 if r == None else 2 if r != "p" else 3


def case_is_label(x: "float"):
    a = "hot" if x > 0 else "cold"
    return a is None or a == "hot"


def case_concat(x: "float"):
    a = "hot" if x > 0 else "cold"
    b = "est" if x > 2 else "er"
    return a + "-" + b


def case_repeat(x: "float"):
    return ("ab" if x > 0 else "c") * 2


def case_index_label(n: "small"):
    return "abcdefg"[n]


def refused_slice_label(n: "small"):
    return "abcdefg"[:n]


def case_list_labels(n: "small"):
    return ["zero", "one", "two", "three"][n]


def refused_label_cmp(x: "float"):
    a = "b" if x > 0 else "a"
    return a < "b", a >= "ab", max(a, "aa")


def case_join(x: "float"):
    return ",".join(["a" if x > 0 else "b", "c"])


def case_format_label(x: "float"):
    a = "hot" if x > 0 else "cold"
    return f"<{a:>5}>"


def case_ellipsis(x: "float"):
    return ... if x > 0 else NotImplemented


def case_bytes(x: "float"):
    return b"a" if x > 0 else b"\x00"


def case_complex_or_none(x: "float"):
    return None if x < 0 else complex(x, 1)


def case_empty_str(x: "float"):
    return "" if x > 0 else "long string here"


def case_zero_end(x: "float"):
    return "a\0" if x > 0 else "a"


def case_tuple_varlen(x: "float"):
    return (1.0,) if x > 0 else (1.0, 2.0)


def case_label_through_helper(x: "float", s: "str"):
    def h(u, v="K"):
        if u == v:
            return "same"
        return "diff" if u != "a" else v

    return h(s), h(s, "a") if x > 0 else h("a")


def case_flag(x: "float"):
    f = Fl.X | Fl.Y if x > 0 else Fl.Z
    return 1 if f & Fl.X else 0


def case_raise_with_label(s: "str"):
    if s == "":
        raise KeyError(s)
    if s == "a":
        raise ValueError("bad " + s)
    return s == "b"


def case_assert_label(s: "str"):
    assert s != "a", s
    return "ok"


def case_none_in_arith(x: "float"):
    r = None if x > 5 else x
    return r + 1


def case_none_fallback(x: "float"):
    r = None if x > 1 else x
    return r or 7.0


def case_default_dict_none(s: "str"):
    return {"a": 1.0, "b": None}.get(s)
