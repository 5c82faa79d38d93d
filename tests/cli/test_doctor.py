"""`pyflat doctor`: what it prints and its exit status."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from pyflat.cli.main import commands


@pytest.fixture
def doctor(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return lambda *words: CliRunner().invoke(commands, ["doctor", *words])


def test_without_a_function_it_says_what_decides_here(doctor):
    done = doctor()
    assert done.exit_code == 0
    assert done.output.startswith("versions\n")
    assert "refill" in done.output
    assert json.loads(doctor("--json").output)["versions"]["numpy"] in done.output


def test_a_function_that_agrees(doctor):
    done = doctor("userlib:clamp", "0.75")
    assert done.exit_code == 0
    assert "numba    as decided               agrees" in done.output
    found = json.loads(doctor("userlib:clamp", "0.75", "--json").stdout)
    assert {each["outcome"] for each in found["findings"]} == {"agrees"}
    assert found["report"] == ""


def test_a_function_that_is_refused(doctor):
    done = doctor("userlib:endless", "0.75")
    assert done.exit_code == 1
    assert "refused: " in done.output


def test_a_difference_is_printed_as_a_report(doctor, monkeypatch):
    from pyflat.runtime import compiled

    right = compiled.Built.run

    def spoiled(self, given, count, *rest):
        ran = right(self, given, count, *rest)
        ran.leaves[0][:1] += 1.0
        return ran

    monkeypatch.setattr(compiled.Built, "run", spoiled)
    done = doctor("userlib:clamp", "0.25")
    assert done.exit_code == 1
    assert "def clamp(x: float) -> float:" in done.output
    assert "differs from its original" in done.output
    assert "versions\n  python" in done.output
