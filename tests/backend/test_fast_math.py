"""Fast math is off by default, and each part is its own: what one part allows no other part does."""

from __future__ import annotations

import dataclasses
import math

import pytest

from pyflat.backend import FastMath, flatten_fold, flatten_function, flatten_fuse, flatten_optimize
from pyflat.passes.fold_fast import RULES, _allowed, fold_fast
from tests.backend.test_steps import as_flat
from tests.passes.flat_programs import flat, same_bits
from tests.passes.rule_checks import text

PARTS = [f.name for f in dataclasses.fields(FastMath)]


def zero(x):
    return x * 0.0


def difference(x):
    return x - x


def no_order(x, y):
    return 1.0 if not (x > y) else 2.0


def shifted(x):
    return (x + 0.1) + 0.2


def third(x):
    return x / 3.0


def fused(x, y, z):
    return x * y + z


def cube(x):
    return x**3


def plus_zero(x):
    return x + 0.0


CASES = [
    (zero, {"finite", "no_signed_zeros"}, 0), (difference, {"finite"}, 0), (plus_zero, {"no_signed_zeros"}, 0),
    (shifted, {"reassoc"}, 1), (fused, {"contract"}, 1),
]  # fmt: skip
VALUES = (0.0, -0.0, 1.0, -2.5, 0.1, 1e308, 5e-324, math.inf, -math.inf, math.nan)


def steps(fn, fast):
    folded = flatten_fold(flatten_function(fn))
    return flatten_fuse(flatten_optimize(folded, fast_math=fast), fast_math=fast)


def with_parts(parts):
    return FastMath(**{name: ("mad" if name == "contract" else True) for name in parts})


@pytest.mark.parametrize(("fn", "parts", "size"), CASES, ids=lambda x: getattr(x, "__name__", None))
def test_a_rewrite_needs_its_parts(fn, parts, size):
    plain = steps(fn, FastMath())
    assert steps(fn, with_parts(parts)).size == size < plain.size
    for missing in parts:
        assert steps(fn, with_parts(set(PARTS) - {missing})).size > size


@pytest.mark.parametrize("fn", [zero, difference, no_order, shifted, third, fused, cube, plus_zero])
def test_off_by_default_and_then_every_bit_is_kept(fn):
    exact = steps(fn, False)
    names = len(exact.params)
    for x in VALUES:
        for y in VALUES[: 1 if names < 2 else None]:
            lane = (x, y, -0.0)[:names]
            try:
                wanted = fn(*lane)
            except (OverflowError, ZeroDivisionError):
                continue
            assert same_bits(exact.run(*lane), wanted), (lane, exact.run(*lane), wanted)


def test_divisions_and_powers():
    assert steps(third, FastMath(reciprocal=True)).counts() == {"mul": 1}
    assert steps(third, FastMath(reassoc=True, approx=True)).counts() == {"truediv": 1}
    assert steps(cube, FastMath(approx=True)).counts() == {"mul": 2}
    assert steps(cube, False).counts() == {"pow": 1}
    assert steps(lambda x, y, d: x / d + y / d * x, FastMath(reciprocal=True)).counts()["recip"] == 1
    assert steps(lambda x: x / 4.0, False).counts() == {"mul": 1}  # exact: a power of two


def test_contraction_as_the_backend_has_it():
    assert steps(fused, FastMath(contract="mad")).counts() == {"mad": 1}
    once = steps(fused, FastMath(contract="fma"))
    assert once.counts() == {"fma": 1}
    x = 1.0 + 2.0**-30
    assert once.run(x, x, -1.0) != fused(x, x, -1.0)
    assert steps(fused, FastMath(contract="mad")).run(x, x, -1.0) == fused(x, x, -1.0)


def test_orderings_of_floats_keep_their_negation():
    assert "gt" in steps(no_order, False).counts()
    flipped = steps(lambda x, y: not (x > y), FastMath(finite=True))
    assert flipped.counts() == {"le": 1} and steps(lambda x, y: not (x > y), False).counts() == {"gt": 1, "not": 1}


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.part} {r.before} {r.after}".replace(" ", "_"))
def test_each_rule_is_kept_out_by_each_of_its_parts(rule):
    needed = rule.part.split("+")
    assert needed == sorted(set(needed)) and set(needed) <= set(PARTS) and text(rule.pattern)
    for missing in needed:
        rules = _allowed(frozenset(PARTS) - {missing})
        assert all(rule is not each for found in rules.by_opcode.values() for each, _ in found)


def test_without_parts_nothing_is_done():
    fn = flat("%a = mul %x, 0.0 : f8\n%b = sub %y, %y : f8\n%c = add %a, %b : f8\nyield %c")
    assert fold_fast(fn, ()) is fn
    assert as_flat(fn).size == 3


def test_faults_show_as_nan_and_infinity():
    flat = flatten_function(lambda x: math.exp(x), faults="mask")
    with pytest.raises(ValueError, match='needs faults="drop"'):
        flatten_optimize(flat, fast_math=True)
    with pytest.raises(ValueError, match='needs faults="drop"'):
        flatten_fuse(flat, fast_math=FastMath(finite=True))
    assert flatten_optimize(flat, fast_math=FastMath(reassoc=True)).run_leaves([1000.0]).values[1] is True


def test_all_and_none():
    assert FastMath.all().parts == set(PARTS) and FastMath.all("fma").contract == "fma"
    assert FastMath().parts == frozenset()
