"""Results that are no numbers, in columns of pandas, Polars and Arrow: what the table has no place for."""

import pytest

import pyflat

pd = pytest.importorskip("pandas")


def grade(x):
    return "low" if 1.0 / x < 0.5 else "high"


def kept(x):
    return x if x > 0.5 else None


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_the_second_call_is_as_the_first(target):
    series = pd.Series([0.0, 1.0, 9.0])
    twin = pyflat.twin(grade, target=target)
    for _ in range(2):
        assert twin(series[1:]).tolist() == ["high", "low"]
        with pytest.raises(ZeroDivisionError) as raised:
            twin(series)
        assert raised.value.__notes__[0].startswith("lane 0 (x=0.0)")
        found, faults = twin.with_options(errors="mask")(series)
        assert found.isna().tolist() == [True, False, False] and faults.lanes.tolist() == [0]
        assert pyflat.twin(kept, target=target)(series).isna().tolist() == [True, False, False]


def test_options_that_were_asked_for_stay():
    series = pd.Series([0.25, 1.0])
    assert str(pyflat.twin(grade, results="string")(series).dtype) != "category"
    assert pyflat.twin(kept, none="object")(series).tolist() == [None, 1.0]
    assert pyflat.twin(kept, none="nan")(series).isna().tolist() == [True, False]


def test_a_record_of_labels_and_numbers():
    frame = pd.DataFrame({"x": pd.array([2.0, None, -1.0], dtype="Float64")})
    twin = pyflat.twin(lambda x: {"sign": "plus" if x > 0 else "minus", "size": int(abs(x))}, errors="nan")
    found = twin.by_name(frame)
    assert found.sign.cat.categories.tolist() == ["plus", "minus"]
    assert found.isna().to_numpy().tolist() == [[False, False], [True, True], [False, False]]
    assert found["size"].tolist()[::2] == [2, 1]


def test_map_gives_what_pandas_gives():
    series = pd.Series([0.25, 4.0], name="q")
    pd.testing.assert_series_equal(series.map(grade, engine=pyflat.flatten), series.map(grade))
