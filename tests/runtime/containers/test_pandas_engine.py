"""`engine=pyflat.flatten` gives what pandas gives without it."""

import math
import warnings

import numpy as np
import pytest

import pyflat

pd = pytest.importorskip("pandas", "3")
FRAME = pd.DataFrame({"a": [1, 2, -3], "b": [0.5, 0.0, -1.5], "unit price": [1.0, 2.0, 3.0]}, index=list("xyz"))
WORDS = FRAME.assign(kind=["u", "v", "u"], when=pd.Timestamp("2020-01-01"), note=["p", "q", "r"])


def quotient(row):
    return row["a"] / row["b"]


def by_attribute(row, k=1):
    return row.a * k + row["unit price"] if row.b > 0 else -1.0


def several(row):
    return row.a, row.b * 2


def halves(row):
    return row["a"] // 2


def by_kind(row):
    return row.a * 2 if row.kind == "u" else row["b"]


def constant(row):
    return 1.5


def same(function, frame, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's scalars warn where they divide by zero
        wanted = frame.apply(function, axis=1, **options)
        for engine in (pyflat.flatten, pyflat.flatten(target="numba")):
            pd.testing.assert_series_equal(frame.apply(function, axis=1, engine=engine, **options), wanted)


@pytest.mark.parametrize("function", [quotient, by_attribute, several, halves, constant])
def test_rows_have_the_scalars_of_pandas(function):
    same(function, FRAME)


@pytest.mark.parametrize("function", [by_attribute, several, halves, by_kind])
def test_rows_with_strings_have_python_s(function):
    same(function, WORDS)


def test_rows_of_ints_divide_as_numpy_does():
    frame = pd.DataFrame({"a": [7, -7], "b": [2, 0]})
    same(quotient, frame)
    same(lambda row: row.a // row.b, frame)


def test_arguments_are_handed_over():
    same(by_attribute, FRAME, args=(3,))
    same(by_attribute, FRAME, k=4)


def test_raw_rows_are_read_by_position():
    raw = FRAME.apply(lambda row: row[0] + row[1], axis=1, raw=True, engine=pyflat.flatten)
    pd.testing.assert_series_equal(raw, FRAME["a"] + FRAME["b"])


@pytest.mark.parametrize("na_action", [None, "ignore"])
@pytest.mark.parametrize("function", [lambda x: x * 2 if x > 2 else 0.0, lambda x: 1 if x > 2 else 0, lambda x: x > 2])
def test_map_is_that_of_pandas(function, na_action):
    series = pd.Series([1.0, math.nan, 4.0], name="n", index=list("abc"))
    found = series.map(function, na_action=na_action, engine=pyflat.flatten)
    wanted = series.map(function, na_action=na_action)
    if wanted.dtype == object:  # bools and nan: nan among numbers
        wanted = wanted.astype(float)
    pd.testing.assert_series_equal(found, wanted)


def test_map_has_python_s_ints():
    series = pd.Series(np.array([127, -128], np.int8))
    pd.testing.assert_series_equal(series.map(lambda n: n * 3, engine=pyflat.flatten), series.map(lambda n: n * 3))


def test_map_takes_arguments_and_keeps_missing_ones():
    found = pd.Series([1, None], dtype="Int64").map(lambda n, k: n * k, k=3, engine=pyflat.flatten)
    assert found.tolist() == [3, pd.NA]


@pytest.mark.parametrize(("run", "error", "message"), [
    (lambda: FRAME.apply(quotient, engine=pyflat.flatten), TypeError, "axis=1"),
    (lambda: FRAME.astype("float32").apply(quotient, axis=1, engine=pyflat.flatten), TypeError, "float32 numbers"),
    (lambda: FRAME.apply(lambda row: row.sum(), axis=1, engine=pyflat.flatten), pyflat.FlattenError, "attribute 'sum'"),
    (lambda: FRAME.apply(lambda row: np.where(row.b > 1, 1, 0), axis=1, engine=pyflat.flatten), pyflat.FlattenError,
     "TypeError"),
    (lambda: FRAME.apply(lambda row: row["c"], axis=1, engine=pyflat.flatten), KeyError, "c"),
    (lambda: FRAME["b"].map(lambda x: x * 2, engine=pyflat.flatten(errors="mask")), TypeError, "two results"),
    (lambda: FRAME["b"].map(np.sqrt, engine=pyflat.flatten), TypeError, "a Python function"),
])
def test_what_the_engine_does_not_do(run, error, message):
    with pytest.raises(error, match=message):
        run()


LEVELS = pd.DataFrame({("p", "x"): pd.array([1, None, 3], dtype="Int64"), ("p", "y"): [1.5, np.nan, 2.0],
                       ("q", "x"): ["u", None, "v"]})


@pytest.mark.parametrize("function", [lambda row: row["p", "x"] * 2, lambda row: row["q", "x"] == "u",
                                      lambda row: 0.0 if pd.isna(row["p", "y"]) else row["p", "y"]])
def test_labels_of_several_levels_are_names(function):
    pd.testing.assert_series_equal(LEVELS.apply(function, axis=1, engine=pyflat.flatten), LEVELS.apply(function, axis=1))


@pytest.mark.parametrize("function", [lambda row: row["p"].sum(), lambda row: row.p["x"], lambda row: row["p"]["x"],
                                      lambda row: row[["p"]].sum(), lambda row: row[0:2].sum()])
def test_parts_of_rows_are_refused(function):
    LEVELS.apply(function, axis=1)
    with pytest.raises(pyflat.FlattenError) as refused:
        LEVELS.apply(function, axis=1, engine=pyflat.flatten)
    assert "Row" in str(refused.value) or "rows are read" in refused.value.__notes__[-1]


def test_columns_that_are_named_by_a_list_are_refused():
    with pytest.raises(pyflat.FlattenError):
        FRAME.apply(lambda row: row[["a", "b"]].sum(), axis=1, engine=pyflat.flatten)


def test_the_function_and_its_module_stay_as_they_are():
    FRAME.apply(constant, axis=1, engine=pyflat.flatten)
    FRAME["b"].map(constant, engine=pyflat.flatten)
    assert not hasattr(constant, "flat")
    assert "constant_flat" not in globals()
