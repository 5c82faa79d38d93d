"""`pyflat graph`: formats, steps, opaque calls and exit status."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pyflat.cli.main import commands

MODULE = """\
def noise(x):
    return x * 12.9898 % 1.0


def shade(x, y):
    if x > y:
        return noise(x) * 1.0
    return y


def loop(x):
    while x > 1.0:
        x = x / 2.0
    return x
"""


@pytest.fixture
def spec(tmp_path: Path) -> str:
    (tmp_path / "shaders.py").write_text(MODULE)
    return f"{tmp_path / 'shaders.py'}:"


def call(spec: str, *options: str) -> Result:
    return CliRunner().invoke(commands, ["graph", spec, *options])


def test_text_lists_the_nodes(spec: str) -> None:
    lines = call(spec + "shade", "--whitelist", "noise").stdout.splitlines()
    assert lines[0] == "%0: f8 = param() argument='x' path='' 'x'"
    assert lines[-1] == "result = %4"
    assert "select(%2, %3, %1)" in lines[-2]


def test_counts_before_and_after_folding(spec: str) -> None:
    assert call(spec + "shade", "--format", "counts", "--steps", "flatten").stdout.split()[-3:] == ["5", "in", "all"]
    assert call(spec + "shade", "--format", "counts", "--steps", "fold").stdout.split()[-3:] == ["4", "in", "all"]


def test_json(spec: str) -> None:
    found = json.loads(call(spec + "shade", "--format", "json", "--whitelist", "noise").stdout)
    assert found["counts"] == {"call": 1, "gt": 1, "select": 1}
    assert found["results"] == [{"name": "", "node": 4}]


def test_dot_names_every_node_and_edge(spec: str) -> None:
    text = call(spec + "shade", "--format", "dot").stdout
    assert text.startswith('digraph "shade" {')
    assert text.count("->") == sum(len(n["inputs"]) for n in json.loads(call(spec + "shade", "--format", "json").stdout)["nodes"]) + 1


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_svg_is_a_picture(spec: str) -> None:
    assert ET.fromstring(call(spec + "shade", "--format", "svg").stdout).tag.endswith("svg")


def test_svg_without_graphviz(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    result = call(spec + "shade", "--format", "svg")
    assert result.exit_code == 2
    assert "Graphviz" in result.stderr


def test_a_loop_is_refused(spec: str) -> None:
    result = call(spec + "loop")
    assert "flatten/while-unbounded" in str(result.exception)


def test_wrong_kinds(spec: str) -> None:
    result = call(spec + "shade", "--kinds", "f8")
    assert result.exit_code == 2
    assert "1 kinds for 2 parameters (x, y)" in result.stderr
