"""Programs of every shape, small and large: the twin is right, or the function is refused as too large. Nothing else.

`make shapes` runs all sizes on all targets, and measures time and memory.
"""

from __future__ import annotations

import sys

import pytest

import pyflat
from pyflat.frontend import pieces
from pyflat.frontend.syntax import narrowing
from pyflat.ir import recursion
from tests.generator.shapes import SHAPES, UNROLLED, differences, make

MANY = 200
"""Times the lanes: beyond 1,000 lanes engines choose arms."""
LIMITS = {
    "helpers in a chain": 400, "helpers that return early": 400, "closures in a chain": 400,
    "strings chosen under conditions": 128,
}
"""Shapes with a limit of their own below 1,000."""


def _check(name, size, folder, **options):
    """Whether the twin is right; False where it is refused as too large."""
    shape = make(name, size, folder)
    if shape is None:
        pytest.skip("CPython does not compile this")
    limit = sys.getrecursionlimit()
    try:
        values, faults = pyflat.twin(shape.main, errors="mask", **options)(*shape.arguments(MANY))
    except pyflat.FlattenError as error:
        refused = error
    else:
        refused = None
        assert not differences(shape, values, faults)
    assert sys.getrecursionlimit() == limit
    if refused is not None:
        assert refused.code == "flatten/too-large"
        assert refused.diagnostic.span is not None
    return refused is None


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("size", [10, 100])
def test_small_programs_are_right(name, size, tmp_path):
    assert _check(name, size, tmp_path)


@pytest.mark.turns(6)
@pytest.mark.parametrize("name", SHAPES)
def test_large_programs_are_right(name, tmp_path):
    assert _check(name, 1_000, tmp_path) is (name not in LIMITS)


@pytest.mark.parametrize("name", [name for name, limit in LIMITS.items() if limit > 300])
def test_helpers_call_each_other_300_deep(name, tmp_path):
    assert _check(name, 300, tmp_path)


@pytest.mark.parametrize("name", UNROLLED)
def test_600_trips_are_unrolled(name, tmp_path):
    assert _check(name, 600, tmp_path, loops="unroll")


@pytest.mark.turns(6)
@pytest.mark.parametrize("name", SHAPES)
def test_numba_is_right(name, tmp_path):
    assert _check(name, 100, tmp_path, target="numba")


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", ["or of tests", "early returns", "tuple loop with return"])
def test_long_chains_of_masks_on_numba(name, tmp_path):
    assert _check(name, 1_000, tmp_path, target="numba")


def test_a_test_is_not_walked_for_names_that_mean_one_thing(tmp_path, monkeypatch):
    """Each test of a chain has all before it inside."""
    monkeypatch.setattr(narrowing, "_names", None)
    assert _check("or of tests", 100, tmp_path)


@pytest.mark.turns(6)
@pytest.mark.parametrize("target", ["neutral", "numpy", "wgsl", "glsl"])
@pytest.mark.parametrize("name", ["sum", "elifs", "early returns", "negations", "ternaries", "or of values", "match"])
def test_texts_of_large_programs(name, target, tmp_path):
    shape = make(name, 1_000, tmp_path)
    text = pyflat.twin(shape.main).show(target=None if target == "neutral" else target)
    if target in ("neutral", "numpy"):
        compile(text, "<twin>", "exec")


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", ["or of tests", "ternaries", "elifs", "match"])
def test_explain_and_profile_of_large_programs(name, tmp_path):
    shape = make(name, 1_000, tmp_path)
    twin = pyflat.twin(shape.main)
    assert str(twin.explain())
    assert str(twin.profile(*shape.arguments()))


def test_nesting_is_refused_before_it_is_parsed(tmp_path):
    shape = make("sum", 1_250, tmp_path)
    with pytest.raises(pyflat.FlattenError, match="nests more than 1,200 levels deep") as caught:
        pyflat.twin(shape.main)(1.0)
    assert caught.value.code == "flatten/too-large"
    assert caught.value.diagnostic.span.line == 2


@pytest.mark.parametrize("name", ["or of tests", "and of tests"])
def test_what_nests_in_libcst_only_is_refused(name, tmp_path):
    """Python's tree has one node for `a or b or c`, LibCST's nests."""
    assert not _check(name, 5_000, tmp_path)


def test_what_has_room_for_its_nesting_is_parsed_on_a_small_stack():
    """LibCST's parser needs 2 kB of the C stack for each level."""
    import threading

    text = SHAPES["negations"](1_000)
    found = []
    size = threading.stack_size(768 * 1024)
    try:
        thread = threading.Thread(target=lambda: found.append(pieces.parse([text])))
        thread.start()
    finally:
        threading.stack_size(size)
    thread.join()
    assert len(found) == 1


def test_recursion_of_the_user_inside_of_flattening_is_refused(tmp_path):
    """A function that is called while flattening, and never ends."""
    def endless(n):
        return endless(n + 1)

    class Table:
        def __getattr__(self, name):
            return getattr(self, name + "_")

    table = Table()

    def main(x):
        return x + table.width

    with pytest.raises((pyflat.FlattenError, RecursionError)) as caught:
        pyflat.twin(main)(1.0)
    assert isinstance(caught.value, pyflat.FlattenError)
    assert sys.getrecursionlimit() < recursion.LIMIT


def test_the_limit_comes_back_when_two_rooms_overlap():
    limit = sys.getrecursionlimit()
    with recursion.room_to_recurse(len):
        assert sys.getrecursionlimit() >= recursion.LIMIT
        with recursion.room_to_recurse(len):
            pass
        assert sys.getrecursionlimit() >= recursion.LIMIT
    assert sys.getrecursionlimit() == limit


def test_a_refusal_names_some_of_the_calls(tmp_path):
    shape = make("helpers in a chain", 500, tmp_path)
    with pytest.raises(pyflat.FlattenError, match="400 calls are inside each other") as caught:
        pyflat.twin(shape.main)(1.0)
    assert len(caught.value.diagnostic.notes) == 9
    assert "and from 391 calls between these" in str(caught.value)
