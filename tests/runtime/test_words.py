"""Arrays of strings that are compared with known ones: one twin, lanes of codes. What is done else with them is a column."""

import enum

import numpy as np
import pytest

import pyflat
from pyflat.testing import lane_of, same_bits

TARGETS = ["numpy", "numba"]
WORDS = ("C", "F", "K", "c", "", "CC", "C ", " ", "ß", "🦆", "other", "none")
RATES = {"C": 1.0, "F": 2.5, "K": -3.0}
NESTED = {"C": {"low": 1.0}, "F": {"low": 2.0}}
KNOWN = frozenset({"C", "CC"})


class Side(enum.Enum):
    LEFT = 1
    RIGHT = 2

    def __eq__(self, other):
        return self is other or other == "both"

    def __hash__(self):
        return 1


class Text(str, enum.Enum):
    C = "C"
    F = "F"


def equal(x, u):
    return x * 2 if u == "C" else x + 1 if u != "F" else -x


def member(x, u):
    return 1 if u in ("C", "F") else 2 if u not in KNOWN else 3 if u in ["CC", "CCC"] else 4


def looked_up(x, u):
    return RATES[u] * x


def looked_up_with_default(x, u):
    return RATES.get(u, x)


def in_a_dict(x, u):
    return RATES[u] if u in RATES else None


def nested(x, u):
    return NESTED[u]["low"] + x


def matched(x, u):
    match u:
        case "C" | "K":
            return "first"
        case "" if x > 0:
            return "second"
        case _:
            return "third"


def nothing_like_it(x, u):
    return u == 1 or u is None or u == ("C",) or u == b"C"


def compared_with_members(x, u):
    return u == Text.C


def reversed_comparison(x, u):
    return "C" == u != "K"


def through_a_helper(x, u):
    return equal(looked_up_with_default(x, u), u)


def in_a_loop(x, u):
    total = 0.0
    for word in ("C", "F", "K", "C"):
        if word == u:
            total += x
    return total


def renamed(x, u):
    v = u if x > 0 else "C"
    return 1.0 if v == "C" else 2.0 if v == "F" else 3.0


def raised(x, u):
    if u == "K":
        raise ValueError(f"not {u} with {x}")
    return 1.0 / x if u == "" else x


def caught(x, u):
    try:
        return RATES[u]
    except KeyError:
        return -x


def is_a_string(x, u):
    return isinstance(u, str) and not isinstance(u, bytes)


def with_a_zero(x, u):
    return 1 if u == "C\0" else 2 if u == "C" else 3


def closure(x, u):
    def same(word):
        return word == u

    return x if same("C") or same("F") else -x


# what is no comparison
def lowered(x, u):
    return x if u.lower() == "c" else -x


def ordered(x, u):
    return u < "D"


def truth(x, u):
    return 1 if u else 2


def length(x, u):
    return len(u) * x


def added(x, u):
    return u + "!" == "C!"


def first_character(x, u):
    return u[:1] == "C"


def part(x, u):
    return "C" in u, u in "CCF"


def started(x, u):
    return u.startswith("C") or "Celsius".startswith(u)


def caught_type_error(x, u):
    try:
        return u + 1
    except TypeError:
        return x


def caught_attribute_error(x, u):
    try:
        return u.nothing
    except AttributeError:
        return x


def returned(x, u):
    return u


def returned_with_others(x, u):
    return u if x > 1 else "small"


def formatted(x, u):
    return f"{u}-{'a' if x > 1 else 'b'}"


def joined(x, u):
    return "".join([u, "!"]) == "C!"


def chosen(x, u):
    return {True: "C", False: u}[x > 1] if x != 1 else u or "empty"


def differing_kinds(x, u):
    return (x, x) if u == "pair" else x


def largest(x, u):
    return max(u, "D") == "D"


COMPARED = [equal, member, looked_up, looked_up_with_default, in_a_dict, nested, matched, nothing_like_it,
            reversed_comparison, through_a_helper, in_a_loop, renamed, raised, caught, is_a_string, with_a_zero, closure]
OTHERWISE = [lowered, ordered, truth, length, added, first_character, part, started,
             returned, returned_with_others, formatted, joined, chosen, differing_kinds, largest,
             compared_with_members]
REFUSED = [caught_type_error, caught_attribute_error]
XS = np.array([0.0, 1.0, -2.5, 3.0, np.nan, 7.0])


def outcome(fn, *row):
    try:
        return fn(*row), None
    except Exception as error:  # noqa: BLE001 - what is compared
        return None, type(error)


def agrees(fn, xs, us, target):
    values, faults = pyflat.twin(fn, target=target, errors="mask", none="object")(xs, us)
    for lane, row in enumerate(zip(xs.tolist(), us.tolist(), strict=True)):
        wanted, error = outcome(fn, *row)
        fault = faults[lane]
        assert (fault.type if fault else None) is error, (row, fault)
        if error is None:
            got = lane_of(values, lane, len(xs))
            assert same_bits(got, float(wanted) if isinstance(got, float) else wanted), (row, wanted, got)


def lanes():
    xs = np.repeat(XS, len(WORDS))
    return xs, np.array(WORDS * len(XS))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fn", COMPARED, ids=lambda fn: fn.__name__)
def test_every_lane_is_pythons_in_one_twin(fn, target, monkeypatch):
    monkeypatch.setattr("pyflat.runtime.calls.run_grouped", None)
    xs, us = lanes()
    agrees(fn, xs, us, target)
    agrees(fn, xs, us.astype(object), target)
    agrees(fn, xs, us.astype(np.dtypes.StringDType()), target)


@pytest.mark.parametrize("fn", OTHERWISE, ids=lambda fn: fn.__name__)
def test_what_is_no_comparison_is_a_column(fn):
    xs, us = lanes()
    if fn is differing_kinds:
        us = np.array([*["one", "two"] * (len(xs) // 2)])
    agrees(fn, xs, us, "numpy")


@pytest.mark.parametrize("fn", REFUSED, ids=lambda fn: fn.__name__)
def test_arrays_of_strings_are_looked_at_where_one_string_is_an_argument_of_the_wrong_kind(fn):
    with pytest.raises(TypeError, match="argument 'u' of"):
        pyflat.twin(fn)(1.0, "C")
    assert pyflat.twin(fn)(1.0, np.array(["C", "F"])).tolist() == [1.0, 1.0]


def test_more_strings_than_twins():
    many = np.array([f"u{k}" for k in range(500)] + ["C"])
    assert pyflat.twin(equal)(np.ones(501), many).tolist() == [2.0] * 501


def test_none_among_strings():
    def told(x, u):
        return "nothing" if u is None else "celsius" if u == "C" else "else"

    us = np.array(["C", None, "F", None], object)
    assert pyflat.twin(told)(1.0, us).tolist() == ["celsius", "nothing", "else", "nothing"]


@pytest.mark.parametrize("target", TARGETS)
def test_members_are_codes_of_their_class(target, monkeypatch):
    monkeypatch.setattr("pyflat.runtime.calls.run_grouped", None)

    def by_side(side):
        return side.name if side.value > 1 else "one"

    sides = np.array([Side.LEFT, Side.RIGHT, None], object)

    def side_or_none(x, side):
        return "none" if side is None else by_side(side) if side is Side.RIGHT else "left"

    assert pyflat.twin(side_or_none, target=target)(1.0, sides).tolist() == ["left", "RIGHT", "none"]


def test_shapes_and_empty_arrays():
    twin = pyflat.twin(equal)
    us = np.array(["C", "F"])
    assert twin(np.zeros((3, 1)), us).shape == (3, 2)
    assert twin(np.zeros(0), us[:0]).shape == (0,) and twin(1.0, np.array("C")) == 2.0
    assert twin(2.0, us[::-1]).tolist() == [-2.0, 4.0]
    assert twin(2.0, us.astype(us.dtype.newbyteorder())).tolist() == [4.0, -2.0]
    with pytest.raises(ValueError, match="broadcast"):
        twin(np.zeros(3), us)


def test_an_exception_names_the_lane_and_the_string():
    with pytest.raises(ValueError, match="not K with 2.0") as caught:
        pyflat.twin(raised)(np.array([1.0, 2.0]), np.array(["C", "K"]))
    assert "lane 1 (x=2.0, u='K')" in caught.value.__notes__[0]


def test_a_dict_that_changes_is_seen(monkeypatch):
    us = np.array(["C", "new"])
    monkeypatch.setitem(RATES, "new", 7.0)
    assert pyflat.twin(looked_up_with_default)(0.0, us).tolist() == [1.0, 7.0]
    monkeypatch.setitem(RATES, "new", 8.0)
    assert pyflat.twin(looked_up_with_default)(0.0, us).tolist() == [1.0, 8.0]


def test_float32_out_and_compile():
    us, xs = np.array(["C", "F", "K"]), np.array([0.1, 0.2, 0.3], np.float32)
    assert pyflat.twin(equal, dtype="float32")(xs, us).dtype == np.float32
    out = np.empty(3)
    assert pyflat.twin(equal)(XS[:3], us, out=out) is out and out[1] == -1.0
    twin = pyflat.twin(equal, target="numba").compile(np.zeros(3), us)
    assert twin(XS[:3], us).tolist() == out.tolist()
    raising, faults = pyflat.twin(raised, errors="mask")(XS[:3], us)
    assert faults.lanes.tolist() == [2] and np.isnan(raising[2])
