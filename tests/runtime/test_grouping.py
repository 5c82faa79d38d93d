"""Columns of static arguments: grouped by value, one twin for each, scattered back."""

from __future__ import annotations

import enum
import warnings
from typing import NamedTuple

import numpy as np
import pytest

import pyflat
from pyflat.runtime import grouping

XS = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
HOW = ["net", "gross", "net", "tax", "gross"]


class Mode(enum.Enum):
    UP = 1
    DOWN = 2


class Pair(NamedTuple):
    first: float
    second: float


def price(x: float, how: str = "net") -> float:
    if how == "net":
        return x
    if how == "gross":
        return x * 1.2 if x > 2 else x + 1
    if how == "tax":
        return 10.0 / (x - 4.0)
    raise ValueError(f"unknown {how}")


def plain(x, how):
    return price(x, how) + (0.0 if how is None else 1.0)


def pair(x, how):
    if how == "net":
        return x, 1
    return x * 2, x


def named(x, how):
    return Pair(x, 1.0) if how == "net" else Pair(-x, x)


def moved(x, mode):
    return x + 1 if mode is Mode.UP else x - 1


def counted(n, how):
    return n if how.lower() == "int" else n * 0.5


def shaped(x, how):
    return (x, x) if how == "two" else x


def maybe(x, how):
    return None if how == "none" else x


def flagged(x, how, flag):
    return x if how == "a" and flag == "u" else -x


def rows(fn, *columns):
    return [fn(*(c.item() if isinstance(c, np.generic) else c for c in row)) for row in zip(*columns, strict=True)]


# --- what is not a column


def test_scalars_and_static_lists_are_as_before(monkeypatch):
    monkeypatch.setattr("pyflat.runtime.calls.run_grouped", None)

    def first(x, names):
        return x if names[0] == "a" else -x

    assert pyflat.twin(price)(XS, "net").tolist() == XS.tolist()
    assert pyflat.twin(first)(XS, ["a", "b"]).tolist() == XS.tolist()
    assert pyflat.twin(first, static="names")(XS, ("b", "a")).tolist() == (-XS).tolist()
    assert pyflat.twin(first, static="names")(XS, np.array([3, 4])).tolist() == (-XS).tolist()


@pytest.mark.parametrize("bad", [["net", float("nan")], [1.0, "net"]])
def test_strings_and_other_objects_are_a_type_error(bad):
    with pytest.raises(TypeError, match="argument 'how' is an array of objects with .* in lane"):
        pyflat.twin(price)(XS[:2], np.array(bad, object))


# --- what is one


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("options", [{}, {"static": "how"}])
def test_strings_are_grouped(target, options):
    xs = XS + 0.5
    got = pyflat.twin(price, target=target, **options)(xs, np.array(HOW))
    assert got.dtype == np.float64 and got.tolist() == rows(price, xs, HOW)


@pytest.mark.parametrize("column", [
    HOW, np.array(HOW, object), np.array(HOW, np.dtypes.StringDType()), np.array([*HOW, "gross"])[:-1],
])
def test_forms_of_a_column(column):
    xs = XS + 0.5
    assert pyflat.twin(price)(xs, how=column).tolist() == rows(price, xs, HOW)


def test_none_bytes_and_enums():
    modes = np.array([Mode.UP, Mode.DOWN, Mode.UP, Mode.UP, Mode.DOWN], object)
    assert pyflat.twin(moved)(XS, modes).tolist() == rows(moved, XS, modes)

    def kind(x, tag):
        return x if tag is None else x + 1 if tag == b"a" else x + 2

    tags = np.array([None, b"a", b"b", None, "a"], object)
    assert pyflat.twin(kind)(XS, tags).tolist() == rows(kind, XS, tags)
    assert pyflat.twin(kind)(XS, np.array([b"a", b"b", b"a", b"a", b"b"])).tolist() == [2, 4, 4, 5, 7]


def test_axes_broadcast_and_come_back_in_order():
    xs = np.arange(6.0).reshape(2, 3) + 0.25
    how = np.array([["gross"], ["net"]])
    got = pyflat.twin(price)(xs, how)
    assert got.tolist() == [[price(x, h) for x in row.tolist()] for row, (h,) in zip(xs, how.tolist(), strict=True)]
    assert pyflat.twin(price)(3.0, np.array(["net", "gross"])).tolist() == [3.0, price(3.0, "gross")]
    assert pyflat.twin(price)(XS, np.array(["net"])).tolist() == XS.tolist()
    single = pyflat.twin(price)(2.5, np.array("gross"))
    assert isinstance(single, np.float64) and single == price(2.5, "gross")
    with pytest.raises(ValueError, match=r"x has \(5,\), how has \(2,\)"):
        pyflat.twin(price)(XS, np.array(["net", "gross"]))


def test_two_columns_are_grouped_by_their_combinations():
    how, flag = np.array(list("aabba")), np.array(list("uvuvu"))
    assert pyflat.twin(flagged)(XS, how, flag).tolist() == rows(flagged, XS, how, flag)


def test_columns_in_star_arguments():
    def starred(x, *rest, **named):
        return x if rest[0] == "a" and named["b"] == "b" else -x

    got = pyflat.twin(starred)(XS[:3], np.array(["a", "b", "a"]), b=np.array(["b", "b", "c"]))
    assert got.tolist() == [1.0, -2.0, -3.0]


# --- results


def test_tuples_join_item_by_item():
    first, second = pyflat.twin(pair)(XS, np.array(HOW))
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == rows(pair, XS, HOW)
    got = pyflat.twin(named)(XS, np.array(HOW))
    assert isinstance(got, Pair) and got.first.tolist() == [r.first for r in rows(named, XS, HOW)]
    assert got.second.tolist() == [r.second for r in rows(named, XS, HOW)]


def test_int_and_float_become_float_and_what_no_float_holds_fails():
    how = np.array(["int", "half", "int"])
    assert pyflat.twin(counted)(np.array([3, 3, 4]), how).tolist() == [3.0, 1.5, 4.0]
    values, faults = pyflat.twin(counted, errors="mask")(np.array([3, 3, 2**53 + 1]), how)
    assert values[:2].tolist() == [3.0, 1.5] and faults.lanes.tolist() == [2]
    assert "is not a float exactly" in faults[2].message
    edge, faults = pyflat.twin(counted, errors="mask")(np.array([2**63 - 1, 3, -(2**63)]), how)
    assert faults.lanes.tolist() == [0] and edge[2] == -(2.0**63)
    assert pyflat.twin(counted)(np.array([3, 4]), np.array(["int", "int"])).dtype == np.float64  # whatever strings there are


def test_tuples_in_one_group_and_numbers_in_another_are_objects():
    how = ["two", "one"]
    assert pyflat.twin(shaped)(XS[:2], np.array(how)).tolist() == rows(shaped, XS[:2], how)


def test_none_for_some_options():
    for fn in (maybe, lambda x, how: maybe(x, how.lower())):
        with pytest.raises(pyflat.LaneError, match='none="masked"'):
            pyflat.twin(fn)(XS[:2], np.array(["none", "one"]))
        assert pyflat.twin(fn, none="object")(XS[:2], np.array(["none", "one"])).tolist() == [None, XS[1]]
        masked = pyflat.twin(fn, none="masked")(XS[:2], np.array(["one", "none"]))
        assert masked.mask.tolist() == [False, True] and masked[0] == XS[0]


def test_empty_columns():
    empty = np.array([], "U5")
    made = pyflat.twin(price)(np.array([]), empty)
    assert made.shape == (0,) and made.dtype == np.float64

    def own(x, how):
        return pair(x, how.strip())

    twin = pyflat.twin(own)
    with pytest.raises(ValueError, match="argument 'how' is empty"):
        twin(np.array([]), empty)
    twin(XS, "net")
    first, second = twin(np.array([]), empty)
    assert first.shape == second.shape == (0,)
    assert pyflat.twin(price)(np.zeros((0, 3)), np.array(["net", "tax", "net"])).shape == (0, 3)
    assert pyflat.twin(price, errors="mask")(np.array([]), empty)[1].shape == (0,)


# --- failing lanes


def test_the_first_failing_lane_of_the_whole_call_is_raised():
    xs = np.array([1.0, 4.0, 4.0, 1.0])
    with pytest.raises(ZeroDivisionError) as caught:
        pyflat.twin(price)(xs, np.array(["net", "gross", "tax", "wrong"]))
    assert "lane 2 (x=4.0, how='tax'); 2 of 4 lanes failed" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match="unknown wrong") as other:
        pyflat.twin(price)(xs.reshape(2, 2), np.array([["net", "wrong"], ["tax", "net"]]))
    assert "lane (0, 1)" in other.value.__notes__[0]


def test_a_value_that_fails_everywhere_says_nothing_about_the_result():
    with pytest.raises(ValueError, match="unknown wrong"):
        pyflat.twin(price)(XS, np.array(["wrong"]))
    (first, second), faults = pyflat.twin(lambda x, how: (x, price(x, how)), errors="mask")(
        XS[:3], np.array(["net", "wrong", "gross"]))
    assert faults.lanes.tolist() == [1] and first[[0, 2]].tolist() == [1.0, 3.0]
    assert second[[0, 2]].tolist() == [1.0, price(3.0, "gross")]


def test_masks_and_faults_keep_the_lanes():
    xs, how = np.array([1.0, 4.0, 4.0, 1.0, 4.0]), np.array(["net", "tax", "gross", "wrong", "tax"])
    values, faults = pyflat.twin(price, errors="mask")(xs, how)
    assert faults.lanes.tolist() == [1, 3, 4] and [f.type for f in faults] == [
        ZeroDivisionError, ValueError, ZeroDivisionError]
    assert faults[3].arguments == {"x": 1.0, "how": "wrong"} and faults[3].message == "unknown wrong"
    assert np.isnan(values[[1, 3, 4]]).all() and values[[0, 2]].tolist() == [1.0, 4.8]
    assert np.isnan(pyflat.twin(price, errors="nan")(xs, how)[3])
    assert pyflat.twin(price).faults(xs, how).lanes.tolist() == [1, 3, 4]
    assert isinstance(faults[1].exception(), ZeroDivisionError)


def test_integers_beyond_64_bits_are_replayed():
    big = np.array([2**64 - 1, 3], np.uint64)
    got = pyflat.twin(counted)(big[::-1], np.array(["half", "half"]))
    assert got.tolist() == [1.5, (2**64 - 1) * 0.5]


# --- limits


def test_too_many_values():
    def spelled(x, how):
        return sum([ord(each) * x for each in how])

    many = np.array([f"m{i}" for i in range(grouping.MAX_GROUPS + 1)])
    with pytest.raises(ValueError, match="argument 'how' has more than 64 different values"):
        pyflat.twin(spelled)(1.0, many)
    some = many[:9]
    with pytest.raises(ValueError, match="'how' and 'flag' have more than 64 different combinations"):
        pyflat.twin(lambda x, how, flag: spelled(x, how) + (flag == how))(1.0, some[:, None], some)
    assert len(pyflat.twin(pair)(1.0, many)[0]) == 65


def test_disabled_runs_the_originals(monkeypatch):
    monkeypatch.setenv("PYFLAT_DISABLE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert pyflat.twin(price)(XS[:3], np.array(HOW[:3])).tolist() == rows(price, XS[:3], HOW[:3])


def test_statistics_count_the_whole_call():
    def own(x, how):
        return x if how == "a" else -x

    twin = pyflat.twin(own)
    twin(XS, np.array(list("ababa")))
    assert (twin.stats.calls, twin.stats.lanes, twin.stats.replayed) == (1, 5, 0)
