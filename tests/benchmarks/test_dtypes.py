"""The rows of docs/contributors/dtypes.md: every case measures what it says, and peers with other lanes are left out."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import dtypes
from benchmarks.dtypes import CASES, Case, Measured


def row(case="int32", lanes=100, **seconds):
    given = {"numpy native": 2.0, "numpy": 3.0, "numba native": 1.0, "numba": 1.0, "np.where": 6.0}
    return Measured(case, lanes, given | seconds, {"numpy": 0.0, "numba": 0.5})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_native_arrays_have_the_same_lanes(case):
    given = case.arguments(100)
    dense = dtypes.native(given)
    assert np.broadcast_shapes(*[a.shape for a in given]) == dense[0].shape
    assert all(a.flags.c_contiguous and a.dtype in (np.int64, np.float64, np.bool_) for a in dense)
    assert all(np.array_equal(*np.broadcast_arrays(a, b)) for a, b in zip(given, dense, strict=True))
    assert sum(a.size for a in given) <= 300
    assert any(a.dtype != b.dtype or a.strides != b.strides for a, b in zip(given, dense, strict=True))


def test_the_quick_mode_has_sane_rows(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(dtypes, "ROWS", tmp_path / "out" / "rows.jsonl")
    dtypes.main(["--quick", "--sizes", "1,60", "--cases", "uint8;channels of an image"])
    text = capsys.readouterr().out
    rows = [line for line in text.split("\n") if line.startswith(("| uint8 ", "| channels "))]
    assert len(rows) == 6
    numbers = [float(number) for line in rows for cell in line.split("|")[2:-1] for number in cell.split(",")
               if number.strip() != "-"]
    assert len(numbers) >= 20
    assert all(0 <= number < 1e5 for number in numbers)
    assert "beside the result, of 60 lanes" in text
    monkeypatch.setattr(dtypes, "measure", None)  # what was measured is there
    dtypes.main(["--quick", "--sizes", "1,60", "--cases", "uint8", "--go-on"])
    assert [cell.strip() for cell in rows[0].split("|")] in [[cell.strip() for cell in line.split("|")]
                                                             for line in capsys.readouterr().out.split("\n")]


def test_a_twin_with_other_lanes_is_no_contender():
    wrong = Case("wrong", dtypes.change, lambda n, m: n, CASES[0].arguments)
    with pytest.raises(AssertionError, match="other lanes"):
        dict(dtypes.contenders(wrong, wrong.arguments(5)))


def test_a_peer_with_other_lanes_is_left_out():
    case = next(case for case in CASES if case.name == "float32")  # numba computes with them in float32
    assert "numba.vectorize" not in dict(dtypes.contenders(case, case.arguments(100)))


def test_ratios():
    one = row(**{"numba.vectorize": 2.0})
    assert one.to_native("numpy") == 1.5
    assert one.to_peer("numba", "np.where") == 6.0
    assert one.to_peer("numba", "numba.vectorize") == 2.0
    assert row().to_peer("numba", "numba.vectorize") is None


def test_tables():
    found = [row(lanes=1), row(lanes=1_000, numpy=4.0), row("uint8", 1, numpy=6.0)]
    natives = [[cell.strip() for cell in line.split("|")[1:-1]] for line in dtypes.natives(found).split("\n")]
    assert natives[0] == ["", "1", "1,000"]
    assert natives[2:] == [["int32", "1.50, 1.00", "2.00, 1.00"], ["uint8", "3.00, 1.00", ""],
                           ["geometric mean", "2.12, 1.00", "2.00, 1.00"]]
    assert "| int32          | -, 2.00 | -, 1.50 |" in dtypes.peers(found, "numpy")
    assert "of 1,000 lanes, at most: numpy 0.00, numba 0.50" in dtypes.memory(found)


def test_matrices_are_near_to_squares():
    assert [dtypes.width(count) for count in (1, 100, 1_000, 280_000)] == [1, 10, 25, 500]
