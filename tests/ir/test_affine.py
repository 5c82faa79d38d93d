"""Indices as sums: what they are, substitution, inversion, and their text."""

from __future__ import annotations

import random

import pytest

from pyflat.ir.affine import Affine, affine, parsed, symbol
from pyflat.ir.build import Builder
from pyflat.ir.nodes import Const, Param
from pyflat.ir.types import FLOAT, INT

I, J, N = Param(INT, "i"), Param(INT, "j"), Param(INT, "n")
NAMES = {"%i": I, "%j": J, "%n": N}
BY_VALUE = {value: name for name, value in NAMES.items()}


def value_of(form: Affine, at: dict[object, int]) -> int:
    return sum(times * at[each] for each, times in form.terms.items()) + form.offset


def drawn(rng: random.Random, symbols: list[Param]) -> Affine:
    terms = {each: rng.choice([-3, -1, 1, 2]) for each in symbols if rng.random() < 0.6}
    return Affine(terms, rng.randrange(-4, 5))


@pytest.mark.parametrize("seed", range(50))
def test_sums_substitution_and_inversion_agree_with_numbers(seed: int) -> None:
    rng = random.Random(seed)
    at: dict[object, int] = {each: rng.randrange(-9, 10) for each in (I, J, N)}
    first, second = (drawn(rng, [I, J, N]) for _ in range(2))
    factor = rng.randrange(-3, 4)
    assert value_of(first.plus(second, factor), at) == value_of(first, at) + factor * value_of(second, at)
    stand = {I: drawn(rng, [J, N])}
    inside = {**at, I: value_of(stand[I], at)}
    assert value_of(first.substituted(stand), at) == value_of(first, inside)
    solved = first.solved(I, second.without([I]))
    if solved is not None:
        inside = {**at, I: value_of(solved, at)}
        assert value_of(first, inside) == value_of(second.without([I]), at)
    assert parsed(first.text(BY_VALUE.__getitem__), NAMES.__getitem__) == first


def test_a_factor_other_than_one_is_not_inverted() -> None:
    assert Affine({I: 2}, 0).solved(I, symbol(J)) is None


def test_shapes() -> None:
    counters = {I, J}
    made = Builder().op("mul", I, J)
    assert Affine({}, 3).shape(counters) == "constant"
    assert symbol(I).shape(counters) == "iterator"
    assert symbol(I).shifted(1).shape(counters) == "affine"
    assert symbol(made).shape(counters) == "dynamic"


def test_operations_are_read_as_sums() -> None:
    b = Builder()
    inner = b.op("add", b.op("mul", Const(INT, 2), I), Const(INT, 3))
    assert affine(b.op("sub", inner, J)) == Affine({I: 2, J: -1}, 3)
    assert affine(b.op("sub", inner, J), exact=set()) is not None
    assert affine(inner, exact=set()) == symbol(inner)
    assert affine(Param(FLOAT, "x")) is None


@pytest.mark.parametrize("text", ["", "+", "2*", "1.5", "%i*2"])
def test_other_texts_are_refused(text: str) -> None:
    if not text:
        assert parsed(text, NAMES.__getitem__) == Affine({}, 0)
        return
    with pytest.raises(ValueError, match="is not a sum of symbols"):
        parsed(text, NAMES.__getitem__)
