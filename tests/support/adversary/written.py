# ruff: noqa: F501, F504, F505, F507, F509, F521, F522, F524, F525
"""Strings made from lanes, as results: what is written, what it asks of objects, and what it raises."""

import collections
import dataclasses

import numpy as np

from tests.support.adversary import small


class Own:
    def __init__(self, v):
        self.v = v

    def __str__(self):
        return f"own {self.v}"


class OwnFormat:
    def __init__(self, v):
        self.v = v

    def __format__(self, spec):
        return f"<{self.v}|{spec}>"


class Indexed:
    def __init__(self, v):
        self.v = v

    def __index__(self):
        return self.v


class Bad:
    def __init__(self, v):
        self.v = v

    def __str__(self):
        return self.v


class Raises:
    def __init__(self, v):
        self.v = v

    def __str__(self):
        raise KeyError(self.v)


@dataclasses.dataclass
class Data:
    v: int


Pair = collections.namedtuple("Pair", "a b")


def case_own(n: "small"):
    return f"{Own(n)}"


def refused_own_width(n: "small"):
    """flatten/unsupported-expression"""
    return f"{Own(n):>12}"


def refused_own_s_width(n: "small"):
    """flatten/result-kind"""
    return f"{Own(n)!s:>12}"


def case_own_percent(n: "small"):
    return "%s" % Own(n)


def refused_own_percent_width(n: "small"):
    """flatten/result-kind"""
    return "%12s|" % Own(n)


def refused_own_d(n: "small"):
    """flatten/unsupported-expression"""
    return "%d" % Own(n)


def case_ownformat(n: "small"):
    return f"{OwnFormat(n):>5}"


def refused_indexed_d(n: "small"):
    """flatten/unsupported-expression"""
    return "%d" % Indexed(n)


def refused_indexed_chr(n: "small"):
    """flatten/unsupported-expression"""
    return chr(Indexed(n + 65))


def refused_indexed_mul(n: "small"):
    """flatten/unsupported-expression"""
    return "ab" * Indexed(n)


def refused_bad(n: "small"):
    """flatten/unsupported-expression"""
    return str(Bad(n))


def refused_bad_some(n: "small"):
    """flatten/unsupported-expression"""
    return str(Bad(n if n > 0 else "k"))


def case_raises(n: "small"):
    try:
        return "%s" % Raises(n)
    except KeyError:
        return "raised"


def refused_raises_discarded(n: "small"):
    """flatten/unsupported-expression"""
    "%s-%c" % (Raises(n), "x") if n > 0 else 0
    return n


def refused_raises_attr(n: "small"):
    """flatten/unsupported-expression"""
    "{0!a}".format(Raises(n))
    return n


def refused_data(n: "small"):
    """flatten/result-kind"""
    return f"{Data(n)}"


def case_data_repr_discarded(n: "small"):
    repr(Data(n))
    return n


def case_mixed_numbering(n: "small"):
    return "{} {0}".format(n)


def case_mixed_numbering2(n: "small"):
    return "{0} {}".format(n)


def case_missing(n: "small"):
    return "{} {}".format(n)


def case_missing_named(n: "small"):
    return "{a}".format(b=n)


def case_brace(n: "small"):
    return "{".format(n)


def case_brace2(n: "small"):
    return "{} }".format(n)


def case_conv(n: "small"):
    return "{!r:>4}|{!s}|{!a}".format(n, n, n)


def case_badconv(n: "small"):
    return "{!z}".format(n)


def case_incomplete(n: "small"):
    return "%s %" % n


def refused_mapping(n: "small"):
    """flatten/result-kind"""
    return "%(a)s" % {"a": n}


def case_mapping_missing(n: "small"):
    return "%(b)s" % {"a": n}


def refused_toomany(n: "small"):
    """flatten/unsupported-expression"""
    return "%s" % (n, n)


def refused_toofew(n: "small"):
    """flatten/unsupported-expression"""
    return "%s %s" % (n,)


def case_named(n: "small"):
    return "%s %s" % Pair(n, n + 1)


def refused_named_one(n: "small"):
    """flatten/unsupported-expression"""
    return "%s" % Pair(n, n + 1)


def refused_leftover(n: "small"):
    """flatten/unsupported-expression"""
    return "abc" % n


def refused_leftover_list(n: "small"):
    """flatten/result-kind"""
    return "abc" % [n]


def case_badcode(n: "small"):
    return "%y" % n


def refused_d_float(x: "float"):
    """flatten/result-kind"""
    return "%d" % x


def refused_x_float(x: "float"):
    """flatten/unsupported-expression"""
    return "%x" % x


def case_r(x: "float"):
    return "%r %a" % (x, x)


def case_r_width(x: "float"):
    return "%8r|%-8r|" % (x, x)


def case_pp(n: "small"):
    return "%5%" % () if n > 5 else "%d%%" % n


def case_f_d(x: "float"):
    return f"{x:d}"


def case_n_s(n: "small"):
    return f"{n:s}"


def refused_eq(n: "small"):
    """flatten/result-kind"""
    return f"{n=}"


def case_eq_disc(n: "small"):
    f"{n=:s}"
    return n


def case_eq_disc_ok(n: "small"):
    f"{n=} {n=:>4} {n = !s:>4}"
    return n


def case_ascii(n: "small"):
    return f"{n!a}|{n!a:>5}"


def case_chr(n: "int"):
    return chr(n)


def refused_char_format(n: "small"):
    """flatten/unsupported-expression"""
    return f"{n + 66:c}"


def case_none_format(n: "small"):
    v = None if n > 0 else n
    return f"{v:>4}"


def case_none_text(n: "small"):
    v = None if n > 0 else n
    return f"{v}"


def refused_list_text(n: "small"):
    """flatten/result-kind"""
    return f"{[n, 2]}"


def refused_list_spec(n: "small"):
    """flatten/unsupported-expression"""
    f"{[n, 2]:>4}"
    return n


def case_plus_none(n: "small"):
    try:
        return f"{n}" + (None if n > 0 else "x")
    except TypeError:
        return "typeerror"


def case_plus_num(n: "small"):
    try:
        return f"{n}" + (n if n > 0 else "x")
    except TypeError:
        return "typeerror"


def refused_num_plus(n: "small"):
    """flatten/unsupported-expression"""
    return n + f"{n}"


def refused_num_mod(n: "small"):
    """flatten/unsupported-expression"""
    return n % f"{n}"


def refused_five_mod(n: "small"):
    """flatten/unsupported-expression"""
    return 5 % f"{n}"


def refused_text_mod(n: "small"):
    """flatten/unsupported-expression"""
    return f"{n} %s" % n


def refused_text_minus(n: "small"):
    """flatten/unsupported-expression"""
    return f"{n}" - "1"


def refused_text_mul_text(n: "small"):
    """flatten/unsupported-expression"""
    return f"{n}" * "a"


def refused_text_mul_float(n: "small"):
    """flatten/unsupported-expression"""
    return "a" * (n + 0.5)


def refused_text_mul_none(n: "small"):
    """flatten/unsupported-expression"""
    return f"{n}" * None


def case_text_mul_bool(n: "small"):
    return f"{n}|" * True + "k" * (n > 1)


def refused_text_mul_lane(n: "small"):
    """flatten/result-kind"""
    return f"{n}|" * n


def refused_join_num(n: "small"):
    """flatten/unsupported-expression"""
    return ",".join([f"{n}", n])


def case_join_maybe(n: "small"):
    return ",".join([f"{n}", "a" if n > 0 else None])


def refused_join_gaps(n: "small"):
    """flatten/unsupported-expression"""
    l = ["a"]
    if n > 0:
        l.append(n)
    return ",".join(l)


def refused_join_gaps_empty(n: "small"):
    """flatten/unsupported-expression"""
    l = ["a"]
    if n > 0:
        l.append(3)
    return "".join(l)


def case_join_gaps_ok(n: "small"):
    l = ["a"]
    if n > 0:
        l.append("b")
    return "".join(l)


def refused_join_gaps_sep(n: "small"):
    """flatten/result-kind"""
    l = ["a"]
    if n > 0:
        l.append("b")
    return ",".join(l)


def case_join_gaps_nums(n: "small"):
    l = ["a"]
    if n > 0:
        l.append(f"{n}")
    return "".join(l)


def refused_fill(n: "small"):
    """flatten/unsupported-expression"""
    "a".ljust(5, f"{n * 50}")
    return n


def refused_fill_bad(n: "small"):
    """flatten/unsupported-expression"""
    "a".ljust(5, n)
    return n


def refused_nested(n: "small"):
    """flatten/lane-to-object"""
    return f"{n:{n}}"


def refused_nested_label(n: "small"):
    """flatten/lane-to-object"""
    return f"{3:{'>4' if n > 0 else '<4'}}|"


def case_nested_static(n: "small"):
    w = 6
    return f"{n:>{w}}"


def refused_nested_order(n: "small"):
    """flatten/lane-to-object"""
    return f"{n:>{1 // n}}"


def case_format_spec(n: "small"):
    return format(n, ">5") + format(n, "") + format(n)


def refused_format_spec_bad(n: "small"):
    """flatten/lane-to-object"""
    return format(n, 5)


def refused_fun(n: "small"):
    """flatten/unsupported-expression"""
    def g():
        return n
    return "x" + g


def refused_fun_spec(n: "small"):
    """flatten/unsupported-expression"""
    def g():
        return n
    f"{g:>5}"
    return n


def case_split(n: "small"):
    return f"{n}".split("")


def case_upper(n: "small"):
    return f"a{n}".upper()


def case_many(n: "small"):
    a = "a" if n > 0 else "b" if n < -1 else "c"
    b = "a" if n > 1 else "b" if n < -2 else "c"
    c = "a" if n > 2 else "b" if n < 0 else "c"
    d = "a" if n > 3 else "b" if n < 1 else "c"
    return "{} {} {} {}".format(a, b, c, d) + f"{a}{b}{c}{d}" + "%s%s%s%s" % (a, b, c, d)


def case_many_wrong(n: "small"):
    a = "a" if n > 0 else 1 if n < -1 else None
    b = "a" if n > 1 else 2.5 if n < -2 else "c"
    return f"{a:>3}{b:>4}"


def refused_many_wrong_percent(n: "small"):
    """flatten/result-kind"""
    a = "a" if n > 0 else 1 if n < -1 else None
    b = 4 if n > 1 else 2.5 if n < -2 else "c"
    return "%s %d" % (a, b)


def case_bool(n: "small"):
    return f"{n > 0} {n > 0:d} {n > 0:>6} " + "%d %s" % (n > 0, n > 1)


def case_big(n: "int"):
    return f"{n * n} {n:x} {n:,}"


def case_float(x: "float"):
    return f"{x} {x:.3e} {x:g} {x:%} {x:08.2f}" + "%05.1f %g" % (x, x)


def refused_exc(n: "small"):
    """flatten/result-kind"""
    return str(ValueError(n))


def refused_caught(n: "small"):
    """flatten/result-kind"""
    try:
        1 // n
    except ZeroDivisionError as e:
        return f"{e}"
    return "ok"


def case_caught_args(n: "small"):
    try:
        1 // n
    except ZeroDivisionError as e:
        f"{e:d}"
    return "ok"


class Slots:
    def __repr__(self):
        return "slots"


def refused_named_one_disc(n: "small"):
    """flatten/unsupported-expression"""
    "%s" % Pair(n, n + 1)
    return n


def case_named_ok(n: "small"):
    f"{Pair(n, 2)}"
    return n


def refused_named_spec(n: "small"):
    """flatten/unsupported-expression"""
    f"{Pair(n, 2):>4}"
    return n


def case_data_spec(n: "small"):
    try:
        f"{Data(n):>4}"
    except TypeError:
        return -7
    return n


def case_data_in_list(n: "small"):
    if n > 3:
        raise ValueError(f"bad {[Data(n)]} {Data(n)!r}")
    return n


def case_array(n: "small"):
    a = np.array([n, 2])
    if n > 3:
        raise ValueError(f"bad {a}")
    return n


def refused_array_spec(n: "small"):
    """flatten/unsupported-expression"""
    a = np.array([n, 2])
    f"{a:>4}"
    return n


def case_array_percent(n: "small"):
    a = np.array([n, 2])
    if n > 3:
        raise ValueError("bad %s" % a)
    return n


def case_array_list(n: "small"):
    a = np.array([n, 2])
    if n > 3:
        raise ValueError("bad %s" % [a, n])
    return n


def case_grown(n: "small"):
    l = []
    for i in range(n):
        l.append(i)
    if n > 3:
        raise ValueError(f"bad {l}")
    return n


def case_exotic(n: "small"):
    z = zip([n], [2])
    s = {n, 2}
    d = {1: n, 2: Slots}
    if n > 3:
        raise ValueError(f"bad {z} {s} {d} {len} {n.real}")
    return n


def refused_repr_obj_list(n: "small"):
    """flatten/unsupported-expression"""
    f"{[Slots()]}"
    return n
