"""docs/reference/containers.md is true: every call of its table, where the library is installed."""

import importlib.util
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[3] / "docs"


def _cases():
    if "container_cases" not in sys.modules:
        spec = importlib.util.spec_from_file_location("container_cases", DOCS / "container_cases.py")
        sys.modules["container_cases"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["container_cases"]


CASES = _cases()
ROWS = list(CASES.rows())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.library}: {row.construct}")
def test_what_the_table_says_happens(row):
    if not CASES.installed(row.library):
        pytest.skip(f"{row.library} is not installed")
    found = CASES.outcome(row).replace("only length-1 arrays", "only 0-dimensional arrays")  # as NumPy 2.0 says it
    assert found == row.outcome


def test_the_table_has_a_hundred_rows_and_no_call_twice():
    assert len({(row.library, row.call) for row in ROWS}) == len(ROWS) >= 100
    assert {row.library for row in ROWS} == set(CASES.SETTINGS)


def test_outcomes_tell_values_kinds_and_labels_apart():
    pd = pytest.importorskip("pandas")
    series = [pd.Series([1, 2]), pd.Series([1, 3]), pd.Series([1.0, 2.0]), pd.Series([1, 2], name="n"),
              pd.Series([1, 2], index=["a", "b"]), pd.Series([1, 2], dtype="Int64"), pd.Index([1, 2])]
    assert len({CASES.shown(value) for value in series}) == len(series)
