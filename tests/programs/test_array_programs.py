"""Random programs with arrays: the twin has the original's bits, or the refusal is one that is meant."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import pyflat
from tests.generator.array_programs import source
from tests.support.twins import agree

FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 3.0, -7.0, 1e300, float("inf"), float("nan"))
MEANT = {"flatten/list-mutation", "flatten/mixed-join"}


def program(seed: int, folder: Path) -> Any:
    path = folder / f"arrays_{seed}.py"
    path.write_text(source(seed), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


@pytest.mark.parametrize("seed", range(40))
def test_random_arrays_agree(seed: int, tmp_path: Path) -> None:
    r = Random(seed)
    rows = [(r.choice(FLOATS), r.choice(FLOATS), r.randrange(-3, 3), r.randrange(-4, 4)) for _ in range(24)]
    try:
        with np.errstate(all="ignore"):
            agree(program(seed, tmp_path), "ffii", target="numba" if seed % 5 == 0 else "numpy", rows=rows)
    except pyflat.FlattenError as refusal:
        assert refusal.code in MEANT, refusal  # noqa: PT017 - only these are right to refuse


def test_few_programs_are_refused(tmp_path: Path) -> None:
    refused = 0
    for seed in range(1000, 1020):
        try:
            pyflat.twin(program(seed, tmp_path))(1.0, 2.0, 0, 1)
        except pyflat.FlattenError:
            refused += 1
    assert refused <= 4
