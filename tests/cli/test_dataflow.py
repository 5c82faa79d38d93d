"""`pyflat dataflow`: text, JSON, trace, exports and exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pyflat.cli.main import commands

EXAMPLE = str(Path(__file__).resolve().parents[2] / "examples" / "dataflow_gcd.py")


def call(function: str, *options: str) -> Result:
    return CliRunner().invoke(commands, ["dataflow", f"{EXAMPLE}:{function}", *options])


def test_json_of_gcd() -> None:
    result = call("gcd", "--args", "[48, 18]", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["result"], found["done"], found["residual"], found["deadlock"]) == (6, 1, 0, None)
    assert found["tokens"]["gate"] == {"value": 4, "cond": 4, "after_value": 3, "after_cond": 3}
    assert found["loops"] == [{"name": "while", "raw": 4, "body": 3, "exits": 1}]
    assert found["nodes"]["carry"] == 3
    assert "trace" not in found


def test_json_without_a_trip() -> None:
    found = json.loads(call("gcd", "--args", "[7, 0]", "--json").stdout)
    assert (found["result"], found["done"], found["residual"]) == (7, 1, 0)
    assert found["loops"] == [{"name": "while", "raw": 1, "body": 0, "exits": 1}]


def test_trace_prints_steps_and_streams() -> None:
    result = call("triangle", "--args", "[4]", "--trace")
    assert result.exit_code == 0
    assert "stream_i(start=0, step=1, stop=4) -> raw_index=0, raw_will_continue=T" in result.stdout
    assert "triangle: 11\ndone 1, 0 tokens left\n" in result.stdout
    assert "for_i: raw 5, body 4, exits 1\n  raw  T T T T F\n" in result.stdout
    assert "for_j: raw 9, body 6, exits 3\n" in result.stdout


def test_trace_in_json() -> None:
    found = json.loads(call("gcd", "--args", "[48, 18]", "--json", "--trace", "--figures", "--clocked").stdout)
    assert found["trace"]["carry_a.o"] == [48, 18, 12, 6]
    assert len(found["steps"]) == found["firings"]
    assert found["cycles"] == found["figures"]["cycles"]["unbounded"] == 18
    assert found["figures"]["intervals"] == {"while": 4}


def test_literal_rules_fail_and_say_why() -> None:
    result = call("increment_evens", "--args", "[5]", "--literal")
    assert result.exit_code == 1
    assert "increment_evens: 2\n" in result.stdout
    assert "2 extra tokens on add_s.o -> mux_s.true: 5 sent, 3 taken" in result.stdout
    found = json.loads(call("gcd", "--args", "[7, 0]", "--literal", "--json").stdout)
    assert found["done"] == 0
    assert "gate" in found["deadlock"]
    assert found["result"] is None


@pytest.mark.parametrize("options", [["--order", "3"], ["--capacity", "1"], ["--clocked"], ["--figures"]])
def test_other_ways_to_run(options: list[str]) -> None:
    result = call("triangle", "--args", "[4]", *options)
    assert result.exit_code == 0
    assert result.stdout.startswith("triangle: 11\n")


@pytest.mark.parametrize(("name", "start"), [("mlir", "handshake.func @gcd("), ("json", "{"), ("dot", 'digraph "gcd"'),
                                             ("svg", "<svg ")])
def test_exports(name: str, start: str) -> None:
    result = call("gcd", "--args", "[48, 18]", "--export", name)
    assert result.exit_code == 0
    assert result.stdout.startswith(start)


@pytest.mark.parametrize("arguments", ["[48", "48", "[1, 2, 3]", "nothing"])
def test_bad_arguments_are_one_line(arguments: str) -> None:
    result = call("gcd", "--args", arguments)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


def test_a_fault_is_told(tmp_path: Path) -> None:
    module = tmp_path / "inverse.py"
    module.write_text("def inverse(x: float) -> float:\n    return 1.0 / x\n")
    result = CliRunner().invoke(commands, ["dataflow", f"{module}:inverse", "--args", "[0.0]", "--json"])
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["result"] is None
    assert found["fault"]["type"] == "ZeroDivisionError"
    assert found["fault"]["message"] == "float division by zero"


def test_a_run_can_be_cut_off() -> None:
    result = call("triangle", "--args", "[4]", "--max-firings", "10")
    assert result.exit_code == 1
    assert "deadlock: no end after 10 firings" in result.stdout
