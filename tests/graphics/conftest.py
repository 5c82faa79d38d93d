"""The device that shaders run on, where there is one; and the shaders of the gallery."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "examples"))


@pytest.fixture(scope="session")
def device() -> Any:
    """The wgpu device; skips without wgpu or without an adapter."""
    pytest.importorskip("wgpu")
    from pyflat.targets.wgsl import run

    try:
        return run.device()
    except run.NoAdapter as error:
        pytest.skip(str(error))
