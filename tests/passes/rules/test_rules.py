"""All rewrite rules together; each by itself is tested with its pass."""

from __future__ import annotations

from collections import Counter

from pyflat.passes import fold_fast, fold_identities, fuse_multiply_add, fuse_selects, recognise_extrema, recognise_lerp
from pyflat.passes.rules.patterns import Rule

RULES: tuple[Rule, ...] = (
    *fold_identities.RULES, *fuse_selects.RULES, *recognise_extrema.RULES, *fold_fast.RULES, *recognise_lerp.RULES,
    *fuse_multiply_add.fusing("mad"), *fuse_multiply_add.fusing("fma"),
)  # fmt: skip


def test_no_rule_is_there_twice():
    assert [item for item, count in Counter((r.kind, r.part, r.before, r.after) for r in RULES).items() if count > 1] == []
