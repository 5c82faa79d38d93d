"""The example backend of the docs: a hundred lines that run what they are given."""

from __future__ import annotations

import importlib.util
import itertools
import math
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import pyflat
from pyflat.backend import flatten_fold, flatten_function, flatten_fuse, flatten_optimize, registered, target
from tests.passes.flat_programs import same_bits

FILE = Path(__file__).resolve().parents[2] / "examples" / "stack_backend.py"
SPEC = importlib.util.spec_from_file_location("stack_backend", FILE)
assert SPEC is not None and SPEC.loader is not None
stack = importlib.util.module_from_spec(SPEC)
sys.modules["stack_backend"] = stack
SPEC.loader.exec_module(stack)
EDGES = (0.0, -0.0, 0.5, -0.3, 1.0, 0.31, math.inf, -math.inf, math.nan, 1e200)


def test_it_runs_as_a_script():
    done = subprocess.run([sys.executable, str(FILE)], capture_output=True, text=True, check=True)
    assert "; shade:" in done.stdout and "select 3" in done.stdout and "@" in done.stdout


@pytest.mark.parametrize("steps", [(), (flatten_fold,), (flatten_fold, flatten_optimize, flatten_fuse)])
def test_its_programs_compute_what_the_function_computes(steps):
    flat = flatten_function(stack.shade)
    for step in steps:
        flat = step(flat)
    lanes = list(itertools.product(EDGES, repeat=3))
    (got,) = stack.compile(flat)([np.array(column) for column in zip(*lanes, strict=True)], len(lanes))
    assert all(same_bits(float(a), stack.shade(*lane)) for a, lane in zip(got, lanes, strict=True))


def test_a_value_that_is_used_twice_is_computed_once():
    def twice(x):
        y = x * 3.0
        return y + y * y

    code = stack.compile(flatten_function(twice)).code
    assert [opcode for opcode, _ in code].count("mul") == 2


def test_it_is_a_target(monkeypatch):
    point = metadata.EntryPoint("stack", "stack_backend:compile", registered.GROUP)
    monkeypatch.setattr(registered.metadata, "entry_points", lambda group: [point])
    twin = pyflat.twin(stack.shade).to(target("stack"))
    xs = np.linspace(-1.0, 1.0, 40).reshape(4, 10)
    got = twin(xs, 0.25, light=2.0)
    assert got.shape == xs.shape
    assert np.array_equal(got, np.vectorize(stack.shade)(xs, 0.25, 2.0))
    assert twin(0.5, 0.25, 2.0) == stack.shade(0.5, 0.25, 2.0)


def test_what_it_does_not_know_is_said_with_a_place():
    with pytest.raises(ValueError, match=r"the stack machine has no atan2 \(.*test_stack_backend.py:\d+"):
        stack.compile(flatten_function(lambda x, y: math.atan2(x, y)))
