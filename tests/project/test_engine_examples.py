"""The examples of other engines run, and check themselves."""

from __future__ import annotations

import contextlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def sixty_four_bits_only_here() -> Iterator[None]:
    yield
    with contextlib.suppress(ImportError):
        import jax

        jax.config.update("jax_enable_x64", False)


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"engine_example_{name}", ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "library", "shown"), [
    ("polars_tax", "polars", r"pl\.when\(pl\.col\('income'\)\.is_null\(\)\)\.then\(None\)"),
    ("sql_comfort", "duckdb", r"Phoenix +40\.7 3\n"),
    ("jax_gradients", "jax", r"delta  1\.0000  vega   0\.0000  delta by hand     nan"),
])
def test_example(name: str, library: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`main` gives 0 when the engine has computed what Python does."""
    pytest.importorskip(library)
    assert loaded(name).main() == 0
    assert re.search(shown, capsys.readouterr().out)
