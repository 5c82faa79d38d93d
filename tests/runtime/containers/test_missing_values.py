"""Missing values of pandas: a row gives what pandas' own `apply` gives there, or the call is refused."""

import random
import warnings

import numpy as np
import pytest

import pyflat

pd = pytest.importorskip("pandas", "3")
PANDAS = tuple(map(int, pd.__version__.split(".")[:2]))
KINDS = {
    "Int64": lambda rng: rng.choice((-3, 0, 1, 2, 7)), "Float64": lambda rng: rng.choice((-1.5, 0.0, 2.0, 1e300)),
    "float64": lambda rng: rng.choice((-1.5, 0.0, 2.0)), "int64": lambda rng: rng.choice((-3, 0, 1, 2)),
    "boolean": lambda rng: rng.random() < 0.5, "string": lambda rng: rng.choice("uv"),
    "str": lambda rng: rng.choice("uv"), "object": lambda rng: rng.choice((1, 2, 5)),
    "object of str": lambda rng: rng.choice("uv"), "datetime64[ns]": lambda rng: pd.Timestamp(2020, 1, rng.randint(1, 9)),
    "double[pyarrow]": lambda rng: rng.choice((-1.5, 2.0)), "category": lambda rng: rng.choice("uv"),
}
NUMBERS = ("Int64", "Float64", "float64", "int64", "object", "double[pyarrow]", "boolean")
TEXTS = ("string", "str", "object of str", "category")


def propagates(row):
    return row.a * 2 + row["b"]


def compares(row):
    return row.a > row.b


def guarded(row):
    if pd.isna(row.a):
        return 0
    return row.b * 2 if row.a > 1 else row.b


def by_identity(row):
    return "none" if row.a is pd.NA or row.a is None else "some"


def in_some_rows(row):
    if row.b > 0:
        return row.a + 1
    return row.b


def logic(row):
    return (row.a > 1) & (row.b > 0) | (row.a < row.b)


def first_only(row):
    return row["a"] - 1.0


def by_word(row):
    return row.a if row.c == "u" else row.b


def of_words(row):
    return None if pd.isna(row.c) else row.c + "!"


def pairs(row):
    return row.a, row.b * 2


def read_by(row, name):
    return row[name]


def through_a_helper(row):
    return read_by(row, "ab"[0]) * 2


FUNCTIONS = (propagates, compares, guarded, by_identity, in_some_rows, logic, first_only, by_word, of_words, pairs,
             through_a_helper)
JOINED = (guarded, in_some_rows, by_word)
"""Functions that return numbers of two kinds: lanes have the wider one in all rows."""


def column(rng, kind, count, share):
    values = [None if rng.random() < share else KINDS[kind](rng) for _ in range(count)]
    if kind == "int64":
        values = [1 if value is None else value for value in values]
    return pd.Series(values, dtype=kind.partition(" ")[0])


def drawn(rng):
    """A frame whose columns are read by the functions, and one that none reads."""
    count = rng.choice((0, 1, 3, 6))
    share = rng.choice((0.0, 0.3, 0.3, 1.0))
    kinds = {"a": rng.choice(NUMBERS), "b": rng.choice(NUMBERS)}
    if rng.random() < 0.6:
        kinds["c"] = rng.choice(TEXTS)
    if rng.random() < 0.6:
        kinds["unread"] = rng.choice(list(KINDS))
    return pd.DataFrame({name: column(rng, kind, count, share) for name, kind in kinds.items()})


def outcome(run):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            found = run()
        except Exception as error:  # noqa: BLE001 - whatever is raised is compared
            return error
    return found


def shown(value, joined):
    """A value by its kind: NA, None, nan and NaT are four; True is no 1, but where kinds are joined."""
    item = value.item() if isinstance(value, np.generic) else value
    if joined and type(item) in (bool, int):
        item = float(item)
    return type(item).__name__, repr([shown(part, joined) for part in item] if type(item) is tuple else item)


def is_refusal(error):
    return isinstance(error, pyflat.FlattenError) or (
        isinstance(error, TypeError | pyflat.LaneError) and any(
            text in str(error) for text in ("lanes hold", "rows hold", "fill the column")))


def check(rng):
    """One call against pandas. AssertionError where it is not the same; else what came of it."""
    frame, function = drawn(rng), rng.choice(FUNCTIONS)
    if "c" not in frame and function in (by_word, of_words):
        function = propagates
    wanted = outcome(lambda: frame.apply(function, axis=1))
    found = outcome(lambda: frame.apply(function, axis=1, engine=pyflat.flatten(target=rng.choice(("numpy", "numba")))))
    what = f"{function.__name__}\n{frame}\n{frame.dtypes}\n{found!r}\n{wanted!r}"
    if isinstance(found, Exception) and is_refusal(found):
        return "refused"
    if isinstance(wanted, Exception):
        assert (type(found), str(found)) == (type(wanted), str(wanted)), what
        return "raised"
    assert not isinstance(found, Exception), what
    joined = function in JOINED
    assert [shown(value, joined) for value in found] == [shown(value, joined) for value in wanted], what
    numbers = joined and {found.dtype.kind, wanted.dtype.kind} <= set("bifO")
    assert (numbers or found.dtype == wanted.dtype) and found.index.equals(wanted.index), what
    return "gaps" if frame.isna().any(axis=None) else "whole"


@pytest.mark.turns(2)
@pytest.mark.parametrize("seed", range(4))
def test_rows_are_those_of_pandas(seed):
    rng = random.Random(seed)
    counts = {}
    for _ in range(60):
        kind = check(rng)
        counts[kind] = counts.get(kind, 0) + 1
    assert counts["gaps"] + counts["raised"] > 20, counts
    assert counts.get("refused", 0) < 25, counts


def allowance(kids, income):
    if kids is pd.NA or kids is None:
        return 0.0
    return kids * 0.1 * income


HOUSES = pd.DataFrame({"kids": pd.array([2, None, 1], dtype="Int64"), "income": [10.0, 20.0, 30.0],
                       "note": [None, None, None]})


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("dtype", ["Int64", "Float64", "int64[pyarrow]", "object"])
def test_by_name_and_plain_calls_run_the_original_where_a_value_is_missing(target, dtype):
    frame = HOUSES.astype({"kids": dtype})
    twin = pyflat.twin(allowance, target=target)
    wanted = [allowance(*row) for row in zip(frame.kids.astype(object), frame.income, strict=True)]
    assert twin.by_name(frame).tolist() == twin(frame.kids, frame.income).tolist() == wanted
    assert pyflat.twin(lambda kids, income: income, target=target).by_name(frame).tolist() == [10.0, 20.0, 30.0]


def per_other_kid(kids, income):
    return income / (kids - 1) if kids > 0 else -income


def test_what_the_original_raises_has_its_lane_and_the_column():
    with pytest.raises(TypeError, match="boolean value of NA is ambiguous") as raised:
        pyflat.twin(per_other_kid).by_name(HOUSES)
    first, second = raised.value.__notes__
    assert first.startswith("lane 1 (kids=<NA>, income=20.0)")
    assert second == "missing values in 'kids': errors=\"nan\" or \"mask\" keeps the rest"
    with pytest.raises(ZeroDivisionError) as raised:
        pyflat.twin(per_other_kid)(HOUSES.kids[::-1], HOUSES.income[::-1])
    assert raised.value.__notes__[0].startswith("lane 0 (kids=1, income=30.0)")


def test_failures_with_and_without_gaps_are_one_set_of_faults():
    assert pyflat.twin(per_other_kid, errors="nan").by_name(HOUSES).tolist() == [10.0, pd.NA, pd.NA]
    twin = pyflat.twin(per_other_kid, errors="mask")
    found, faults = twin.by_name(HOUSES)
    assert found.tolist()[0] == 10.0 and faults.lanes.tolist() == [1, 2]
    assert [failure.type for failure in faults] == [TypeError, ZeroDivisionError]
    assert faults[1].arguments == {"kids": pd.NA, "income": 20.0} and type(faults[1].exception()) is TypeError
    assert twin.stats.failed == 2


def total(values):
    found = 0.0
    for k in range(len(values)):
        found += values[k]
    return found


def test_a_whole_array_has_no_gaps():
    with pytest.raises(TypeError, match=r"'values' has missing values.*fillna"):
        pyflat.twin(total)(pd.Series([1.0, None, 2.0], dtype="Float64"))
    assert pyflat.twin(total)(pd.Series([1.0, 2.0], dtype="Float64")) == 3.0


def size(kids, income):
    return (kids, "none") if pd.isna(kids) else (kids * 2, "some")


def test_results_that_others_cannot_hold():
    assert pyflat.twin(size).by_name(HOUSES)["1"].astype(object).tolist() == ["some", "none", "some"]
    mixed = pyflat.twin(lambda kids: "none" if pd.isna(kids) else kids * 2)(HOUSES.kids)
    assert mixed.tolist() == [4, "none", 2]
    with pytest.raises(pyflat.LaneError, match="where 'kids' is missing, and a tuple of 2"):
        pyflat.twin(lambda kids: None if pd.isna(kids) else (kids, 1))(HOUSES.kids)


def test_map_leaves_out_what_is_missing_where_it_is_asked_to():
    series = pd.Series([2, None, 5], dtype="Int64", name="n")
    for action in (None, "ignore"):
        function = (lambda n: n + 1) if action is None else (lambda n: 10 // n if n > 2 else 0)
        found = series.map(function, na_action=action, engine=pyflat.flatten)
        own = series.map(function, na_action=action)
        pd.testing.assert_series_equal(found, own, check_dtype=PANDAS >= (3, 1))  # before, map made float64 of Int64


def test_columns_that_are_not_read_may_be_anything():
    frame = HOUSES.assign(when=pd.Timestamp("2020-01-01"), span=pd.period_range("2020", periods=3, freq="Y"))
    assert frame.apply(lambda row: row.income, axis=1, engine=pyflat.flatten).tolist() == [10.0, 20.0, 30.0]
    assert frame.apply(lambda row: read_by(row, "wh" + "en"[:2]).year, axis=1, engine=pyflat.flatten).eq(2020).all()
    with pytest.raises(TypeError, match="column 'span' has dtype period"):
        frame.apply(lambda row: row.span.year, axis=1, engine=pyflat.flatten)
