"""What a kernel is made of, tests ask of those for many lanes; `test_few_lanes.py` is about the others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyflat.functions import ways


@pytest.fixture(autouse=True)
def _many_lanes(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.path.stem == "test_few_lanes":
        yield
        return
    pytest.importorskip("llvmlite")
    with ways.forced(few="many"):
        yield
