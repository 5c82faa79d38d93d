"""Random programs for differential testing: grammar, lanes, oracle and shrinker.

`generate(seed)` gives a `Program`: the text of a module whose function `main` is to be flattened. `programs()`
is the same as a hypothesis strategy. `check_program` compares the original with every stage of the flattener.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.generator.differential import check_program
from tests.generator.outcomes import Failure, Outcome
from tests.generator.program import Program, generate, generate_labelled, generate_with

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Failure", "Outcome", "Program", "check_program", "generate", "generate_labelled", "generate_with", "programs"]


def programs() -> SearchStrategy[Program]:
    """Random programs as a hypothesis strategy; hypothesis shrinks the random choices behind them."""
    from hypothesis import strategies as st

    return st.randoms(use_true_random=False).map(generate_with)
