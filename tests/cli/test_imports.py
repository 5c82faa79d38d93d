"""The commands that import the module of SPEC say so."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pyflat.cli.main import commands


@pytest.mark.parametrize("command", ["show", "explain", "profile", "verify", "prove", "graph", "dataflow", "stubs"])
def test_help_says_that_the_module_is_imported(command):
    text = " ".join(CliRunner().invoke(commands, [command, "--help"]).output.split())
    assert "imported" in text
    assert ("runs thousands of times" in text) is (command == "verify")
