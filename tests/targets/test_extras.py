"""Where an optional library is missing, the error says what needed it and which extra installs it."""

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import pyflat
from pyflat.targets.target import EXTRAS
from tests.runtime import functions as f


def jax_twin():
    return pyflat.twin(f.product).to("jax")(np.ones(3), 2.0)


def jax_function():
    return importlib.import_module("pyflat.targets.jax").function(f.product)


def polars_expression():
    return importlib.import_module("pyflat.targets.polars").expression(f.product)


def polars_expressions():
    return importlib.import_module("pyflat.targets.polars").expressions(f.product)


def shader():
    importlib.import_module("pyflat.targets.wgsl.run").device.cache_clear()
    return pyflat.twin(f.product, target="wgsl", errors="unchecked")(np.ones(3), 2.0)


def proof():
    return importlib.import_module("pyflat.inspection.prove").prove(f.product)


def plot():
    return pyflat.twin(f.product).profile(np.ones(3), 2.0).plot()


NEEDED = [(jax_twin, "jax"), (jax_function, "jax"), (polars_expression, "polars"), (polars_expressions, "polars"),
          (shader, "wgpu"), (proof, "z3"), (plot, "matplotlib")]


@pytest.mark.parametrize(("use", "library"), NEEDED, ids=lambda v: getattr(v, "__name__", v))
def test_a_missing_library_is_named_with_its_extra(monkeypatch, use, library):
    for name in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_Without(library), *sys.meta_path])
    with pytest.raises(ImportError, match=rf"needs {library}, .*pip install 'pyflat\[{EXTRAS[library]}\]'") as caught:
        use()
    assert caught.value.name == library


class _Without:
    """A finder as if the library were not installed."""

    def __init__(self, library):
        self.library = library

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == self.library:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_every_library_is_tried_and_every_extra_exists():
    declared = tomllib.loads(Path("pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {library for _, library in NEEDED} == set(EXTRAS)
    assert set(EXTRAS.values()) <= set(declared)


def test_the_command_line_says_it_in_a_line():
    code = "import sys; sys.modules['z3'] = None; from pyflat.cli.main import main; main()"
    ran = subprocess.run([sys.executable, "-c", code, "prove", "colorsys:rgb_to_yiq"], capture_output=True, text=True)
    assert ran.returncode != 0
    assert "pyflat[prove]" in ran.stderr + ran.stdout
    assert "Traceback" not in ran.stderr
