"""Dead operations go, faults and what they need stay."""

from __future__ import annotations

import pytest

from pyflat.passes.prune_dead import prune_dead
from tests.passes.flat_programs import FlatPrograms, becomes, check_pass, unchanged


@pytest.mark.parametrize(
    "body",
    [
        "yield",
        "yield %x",
        "%a = neg %x : f8\nyield %a",
        "%a = eq %x, 0.0 : b\nfault %a ZeroDivisionError()\nyield 1.0",
        "fault %p ValueError()\nyield",
        "%a = neg %x : f8\n%b = neg %a : f8\n%c = lt %b, 0.0 : b\nfault %c ValueError()\nyield",
    ],
)
def test_what_is_needed_stays(body):
    unchanged(prune_dead, body)


def test_what_no_result_needs_goes():
    becomes(
        prune_dead,
        """
        %a = exp %x : f8
        %b = mul %x, 2.0 : f8
        %c = eq %x, 0.0 : b
        fault %c ZeroDivisionError()
        %d = add %a, %b : f8
        yield %b
        """,
        """
        %b = mul %x, 2.0 : f8
        %c = eq %x, 0.0 : b
        fault %c ZeroDivisionError()
        yield %b
        """,
    )


def test_a_chain_of_dead_operations_goes_at_once():
    becomes(prune_dead, "%a = neg %x : f8\n%b = neg %a : f8\n%c = neg %b : f8\nyield %x", "yield %x")


@pytest.mark.parametrize("seed", range(80))
def test_random_functions_keep_their_meaning(seed):
    check_pass(prune_dead, FlatPrograms(seed).function(), seed=seed)
