"""From SPEC to the function, and the list of codes."""

from __future__ import annotations

import colorsys
import subprocess
import sys

import pytest
from click.testing import CliRunner

from pyflat.cli.main import commands
from pyflat.cli.specs import BadSpec, find_function
from pyflat.errors import CODES


@pytest.mark.parametrize("spec", ["colorsys:rgb_to_hsv", "colorsys.rgb_to_hsv"])
def test_module_and_function(spec: str) -> None:
    assert find_function(spec) is colorsys.rgb_to_hsv


def test_nested_module_without_a_colon() -> None:
    import os.path

    assert find_function("os.path.join") is os.path.join


def test_relative_module_is_refused() -> None:
    with pytest.raises(BadSpec, match="relative"):
        find_function(".colorsys:rgb_to_hsv")


def test_every_code_is_listed() -> None:
    run = CliRunner().invoke(commands, ["codes"])
    assert run.exit_code == 0
    assert [line.split()[0] for line in run.output.splitlines()] == list(CODES)


def test_one_code_is_explained_with_or_without_its_prefix() -> None:
    short = CliRunner().invoke(commands, ["codes", "recursion"])
    full = CliRunner().invoke(commands, ["codes", "flatten/recursion"])
    assert short.output == full.output
    assert CODES["flatten/recursion"].help in full.output


def test_unknown_code_is_status_2() -> None:
    run = CliRunner().invoke(commands, ["codes", "recursoin"])
    assert run.exit_code == 2
    assert "did you mean 'flatten/recursion'?" in run.output


def test_heavy_libraries_stay_out_of_the_import() -> None:
    code = "import sys, pyflat; print(sorted({'libcst', 'numba', 'click', 'rich', 'hypothesis'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
