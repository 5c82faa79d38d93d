"""The script behind the tables of docs/examples/: every contender runs, and the twins give the originals' bits."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmarks import fields


@pytest.mark.turns(3)
@pytest.mark.parametrize("case", fields.CASES, ids=lambda case: case.function)
def test_contenders(case: fields.FieldCase) -> None:
    columns = case.columns(np.random.default_rng(2), 200)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        results = {name: call(columns) for name, (call, _) in fields.contenders(case).items()}
    exact = results["Python's loop" if case.page == "series" else "`np.vectorize`"]
    assert {name: fields.other(result, exact) for name, result in results.items() if name.startswith("the twin")} == {
        "the twin, numba": 0, "the twin, numpy": 0}
    assert len(results) >= 4


def test_other_values_are_counted() -> None:
    assert fields.other((np.array([1.0, 2.0]), np.array([3, 4])), (np.array([1.0, 2.5]), np.array([3, 5]))) == 1
    assert fields.other(np.array([1.0]), np.array([1.0])) == 0


def test_every_page_is_measured() -> None:
    assert {case.page for case in fields.CASES} == {path.stem for path in fields.PAGES.glob("*.md")} - {"index"}


@pytest.mark.slow
def test_the_pictures_are_what_the_twins_compute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(fields.PAGES.parent)
    pictures = importlib.import_module("examples_pictures")
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    for draw in pictures.DRAWN:
        draw()
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in fields.PAGES.glob("*.svg")}
    for path in tmp_path.iterdir():
        assert path.read_text() == (fields.PAGES / path.name).read_text(), f"{path.name}: run make examples"
