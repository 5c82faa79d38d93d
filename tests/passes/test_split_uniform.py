"""What is the same in every lane goes into the preamble, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from pyflat.ir.interp import run
from pyflat.ir.nodes import Function
from pyflat.ir.validate import validate
from pyflat.passes.split_uniform import split_uniform
from tests.passes.flat_programs import FlatPrograms, body_of, flat, same_bits, samples
from tests.passes.sweeps import dies
from tests.support.edits import Edit


def test_what_varies_stays_in_the_body():
    fn = flat("%a = mul %x, %y : f8\n%b = sin %a : f8\nyield %b")
    split = split_uniform(fn, [fn.params[5]])
    assert split.links == () and not split.preamble.flat_block.ops
    assert body_of(split.body) == body_of(fn)


def test_uniform_operations_go_first():
    fn = flat("%a = sin %y : f8\n%b = mul %a, 2.0 : f8\n%c = mul %x, %b : f8\n%d = mul %x, %x : f8\nyield %c, %d, %b")
    split = split_uniform(fn, [fn.params[5]])
    for part in (split.preamble, split.body):
        validate(part)
    assert body_of(split.preamble) == "%a = sin %y : f8\n%b = mul %a, 2.0 : f8\nyield %b"
    assert body_of(split.body) == "%c = mul %x, %b : f8\n%d = mul %x, %x : f8\nyield %c, %d, %b"
    assert [p.name for p in split.links] == ["b"]


def halves(fn: Function, split: Any = split_uniform) -> None:
    """The preamble on its parameters, then the body on everything, give what the function gives."""
    uniform = fn.params[2:5]
    parts = split(fn, uniform)
    validate(parts.preamble)
    validate(parts.body)
    assert not any(op.opcode == "fault" for op in parts.preamble.flat_block.ops)
    for lane in samples(fn, 10):
        once = run(parts.preamble, lane[2:5])
        got, want = run(parts.body, [*lane, *once.values]), run(fn, lane)
        assert want.suspect == got.suspect
        assert want.suspect or all(map(same_bits, got.values, want.values))


def splits_right(split: Any = split_uniform) -> None:
    moved = 0
    for seed in range(40):
        fn = FlatPrograms(seed).function(25)
        halves(fn, split)
        moved += len(split(fn, fn.params[2:5]).preamble.flat_block.ops)
    assert moved > 100


def test_preambles_of_random_functions():
    splits_right()


MUTANTS = (
    ("_uniform_values", "is_barrier(op) or is_guarded(op) or has_effect(op)", "False"),
    ("split_uniform", "[*own, *made]", "[*made, *own]"),
    ("split_uniform", "op not in same", "op in links"),
)


@pytest.mark.parametrize("edit", MUTANTS)
def test_mutants_die(edit):
    dies(splits_right, "split_uniform", Edit(*edit))
