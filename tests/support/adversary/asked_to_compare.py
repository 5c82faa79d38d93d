# ruff: noqa: FURB171, FURB192
"""`==`, `!=` and `<` of classes that define some of their methods, also on top of tuple, int, str, Enum and dataclass."""

from collections import namedtuple
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NamedTuple

from tests.support.adversary import small


class P(NamedTuple):
    a: int
    b: int

    def __eq__(self, o):
        return self.a == o.a


class Q(namedtuple("Q", "a b")):
    def __eq__(self, o):
        return self[0] == o[0]

    __hash__ = tuple.__hash__


class Unequal(NamedTuple):
    a: int
    b: int

    def __ne__(self, o):
        return self.a == 3


class Lower(NamedTuple):
    a: int

    def __lt__(self, o):
        return True


class Declines(NamedTuple):
    a: int

    def __eq__(self, o):
        return NotImplemented

    def __lt__(self, o):
        return NotImplemented


class Member(Enum):
    A = 1
    B = 2

    def __eq__(self, o):
        return True

    __hash__ = Enum.__hash__


class Level(IntEnum):
    A = 1
    B = 2

    def __eq__(self, o):
        return True


class Word(str, Enum):
    A = "a"
    B = "b"

    def __eq__(self, o):
        return True

    __hash__ = str.__hash__


class Int(int):
    def __eq__(self, o):
        return True


class LessInt(int):
    def __lt__(self, o):
        return True


class PlainInt(int):
    pass


class Float(float):
    def __eq__(self, o):
        return True

    def __gt__(self, o):
        return NotImplemented


class Str(str):
    def __eq__(self, o):
        return True


class Row(list):
    def __eq__(self, o):
        return True


class Dict(dict):
    def __eq__(self, o):
        return True


@dataclass(eq=False)
class ByA:
    a: int

    def __eq__(self, o):
        return self.a == o.a


@dataclass
class OwnEq:
    a: int
    b: int

    def __eq__(self, o):
        return self.a == o.a


@dataclass(order=True)
class Ordered:
    a: int
    b: int


class Child(Ordered):
    def __eq__(self, o):
        return self.a == o.a

    def __ne__(self, o):
        return NotImplemented


class Sibling(Ordered):
    pass


@dataclass(eq=False)
class NoEq:
    a: int


class Nothing:
    def __init__(self, a):
        self.a = a

    def __eq__(self, o):
        return NotImplemented

    def __lt__(self, o):
        return NotImplemented


class OnlyNe:
    def __init__(self, a):
        self.a = a

    def __ne__(self, o):
        return self.a == 3


class Both(OnlyNe):
    def __eq__(self, o):
        return self.a == o.a


class SameNe:
    def __init__(self, a):
        self.a = a

    def __eq__(self, o):
        return self.a == o.a

    __ne__ = __eq__


class Base:
    def __init__(self, a):
        self.a = a

    def __eq__(self, o):
        return "base" == "base" and self.a > 1

    def __lt__(self, o):
        return self.a < 1


class Derived(Base):
    def __eq__(self, o):
        return self.a < 1


class Greater(Base):
    def __gt__(self, o):
        return self.a > 100


class Words:
    def __init__(self, a):
        self.a = a

    def __eq__(self, o):
        return self.a if self.a > 1 else 0

    def __le__(self, o):
        return "yes" if self.a > 1 else ""


INT, INT4, LESS, PLAIN, FLOAT, STR = Int(3), Int(4), LessInt(3), PlainInt(3), Float(2.5), Str("a")
KNOWN, ROW, DICT = Q(3, 1), Row([1, 2]), Dict(a=1)


def case_tuple_ne(n: "small"):
    return P(n, 1) != P(n, 2), P(n, n) != P(n, 3)


def case_tuple_not_eq(n: "small"):
    return not P(n, 1) == P(n, 2)


def case_tuple_eq_plain(n: "small"):
    return P(n, 1) != (n, 1), (n, 1) != P(n, 1)


def refused_tuple_asks_the_subclass(n: "small"):
    """flatten/unsupported-expression"""
    try:
        return (n, 1) == P(n, 1)
    except AttributeError:
        return None


def case_tuple_ne_by_items(n: "small"):
    return Q(n, 1) != Q(n, 2), Q(3, 1) != Q(3, 2)


def case_tuple_ne_known(n: "small"):
    return KNOWN != Q(n, 1), Q(n, 2) != KNOWN, KNOWN != (3, 1)


def case_tuple_only_ne(n: "small"):
    return Unequal(n, 1) != Unequal(n, 1), Unequal(n, 1) == Unequal(n, 1)


def case_tuple_order(n: "small"):
    return Lower(n) > Lower(4), Lower(n) < Lower(4), Lower(n) >= Lower(4)


def case_tuple_sorted(n: "small"):
    return sorted([Lower(n), Lower(4)])[0].a


def case_tuple_declines(n: "small"):
    return Declines(n) == Declines(3), Declines(n) != Declines(3)


def case_tuple_declines_order(n: "small"):
    try:
        return Declines(n) < Declines(3)
    except TypeError:
        return None


def case_tuple_in_list(n: "small"):
    return [P(n, 1)] != [P(n, 2)], P(n, 1) in [P(n, 2)], P(n, 1) not in [P(n, 2)]


def case_tuple_in_tuple(n: "small"):
    return (P(n, 1), 1) != (P(n, 2), 1), (P(n, 1), 1) == (P(n, 2), 1)


def case_member(n: "small"):
    return Member.A != Member.B, (Member.A if n > 0 else Member.B) != Member.B


def case_int_member(n: "small"):
    return Level.A != Level.B, (Level.A if n > 0 else Level.B) != Level.B


def case_int_member_and_lane(n: "small"):
    return Level.A != n, Level.A == n, n != Level.A, n == Level.A


def case_str_member(n: "small"):
    return (Word.A if n > 0 else Word.B) != Word.B, Word.A != ("a" if n > 3 else "b")


def case_str_member_eq(n: "small"):
    return (Word.A if n > 0 else Word.B) == "q", ("a" if n > 3 else "b") == Word.A


def case_int(n: "small"):
    return INT != n, INT != INT4, n != INT, n == INT, INT == n, INT < n, n <= INT


def case_int_and_float(x: "float"):
    return INT != x, x != INT, x == INT, INT == x, x < INT


def case_int_and_bool(b: "bool"):
    return INT != b, b == INT, INT > b


def case_int_less(n: "small"):
    return LESS < n, n > LESS, LESS > n, n < LESS, LESS == n


def case_int_plain(n: "small"):
    return PLAIN == n, PLAIN != n, n < PLAIN, PLAIN >= n


def case_float(n: "small"):
    return FLOAT != n * 0.5, FLOAT == n * 0.5, n * 0.5 == FLOAT, n != FLOAT


def refused_float_declines(n: "small"):
    """flatten/unsupported-expression"""
    return FLOAT > n, n < FLOAT, FLOAT > n * 0.5


def case_str(n: "small"):
    return STR != ("a" if n > 0 else "b"), ("a" if n > 0 else "b") != STR, ("a" if n > 0 else "b") == STR


def case_list(n: "small"):
    return ROW != [n, 2], [n, 2] != ROW, [n, 2] == ROW, ROW == [n]


def case_dict(n: "small"):
    return DICT != {"a": n}, {"a": n} != DICT, DICT == {"b": n}


def case_dataclass_by_a(n: "small"):
    return ByA(n) != ByA(n), ByA(n) == ByA(3)


def case_dataclass_own(n: "small"):
    return OwnEq(n, 1) != OwnEq(n, 2), OwnEq(n, 1) == OwnEq(3, 2)


def case_dataclass_child(n: "small"):
    return Child(n, 1) != Child(n, 2), Child(n, 1) != Child(4, 1), Child(n, 1) < Child(3, 3)


def case_dataclass_of_two_classes(n: "small"):
    return Ordered(n, 1) == Sibling(n, 1), Sibling(n, 1) != Ordered(n, 1), Sibling(n, 1) == Sibling(3, 1)


def case_dataclass_child_and_parent(n: "small"):
    return Ordered(n, 1) == Child(n, 2), Child(n, 2) == Ordered(n, 1), Ordered(n, 1) != Child(n, 1)


def case_dataclass_order_of_two(n: "small"):
    try:
        return Ordered(n, 1) < Child(n, 2)
    except TypeError:
        return None


def case_dataclass_without(n: "small"):
    a = NoEq(n)
    return a == a, a != a, NoEq(n) == NoEq(n), a == n


def case_nothing(n: "small"):
    t = Nothing(n)
    return t != t, t == t, Nothing(n) == Nothing(n), Nothing(n) != 3


def case_nothing_order(n: "small"):
    try:
        return Nothing(n) < Nothing(3)
    except TypeError:
        return None


def case_only_ne(n: "small"):
    return OnlyNe(n) != OnlyNe(n), OnlyNe(n) == OnlyNe(n), OnlyNe(n) != n


def case_both(n: "small"):
    return Both(n) != Both(n), Both(n) == Both(3), OnlyNe(n) != Both(n), Both(n) != OnlyNe(n)


def case_same_ne(n: "small"):
    return SameNe(n) != SameNe(3), SameNe(n) == SameNe(3)


def case_derived_first(n: "small"):
    return Base(n) == Derived(n), Derived(n) == Base(n), Base(n) != Derived(n)


def case_inherited_first(n: "small"):
    return Base(n) < Greater(n), Greater(n) > Base(n), Base(n) > Greater(n)


def case_not_a_bool(n: "small"):
    return (Words(n) == 3) + 1, 1 if Words(n) <= 3 else 2


def case_not_a_bool_ne(n: "small"):
    return Words(n) != 3


def case_number_and_object(n: "small"):
    return n == ByA(n) if n > 5 else 0, 3 != OnlyNe(n), n * 0.5 != OnlyNe(3)


def case_none_and_object(n: "small"):
    return None == Nothing(n), Nothing(n) != None, Words(n) == None


def case_match_class(n: "small"):
    match P(n, 1):
        case P(a=3):
            return 1
        case (a, b):
            return a + b
    return 2


def case_max(n: "small"):
    return max([Base(n), Base(0)]).a, min(Base(n), Greater(3)).a


def case_chained(n: "small"):
    return Base(0) < Base(n) < 3, 0 < LESS < n


def refused_identity_of_tuples(n: "small"):
    t = (n, 1)
    u = t if n > 0 else (n, 1)
    return u is t
