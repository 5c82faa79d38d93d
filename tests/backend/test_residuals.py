"""fold_residuals: each oracle sees its residual, none sees one that is none, and a fold that is lost shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyflat.backend import Call, FlattenError, flatten_fold, flatten_function, fold_residuals
from pyflat.passes.record import Pass
from tests.backend.test_steps import as_flat
from tests.passes.flat_programs import flat


def kinds(body: str) -> list[str]:
    return [found.kind for found in fold_residuals(as_flat(flat(body)))]


@pytest.mark.parametrize(("kind", "body"), [
    ("constant-operation", "%a = add 2.0, 3.0 : f8\nyield %a"),
    ("constant-operation", "%a = not true : b\nyield %a"),
    ("constant-operation", "%a = sqrt 4.0 : f8\nyield %a"),
    ("constant-operation", "%a = exp 1.0 : f8\nyield %a"),
    ("constant-operation", "%a = gather 1 {table = (1.0, 2.0)} : f8\nyield %a"),
    ("constant-result", "%a = mul %i, 0 : i8\nyield %a"),
    ("constant-result", "%a = sub %i, %i : i8\nyield %a"),
    ("constant-result", "%a = and %i, 0 : i8\nyield %a"),
    ("constant-result", "%a = mod %i, 1 : i8\nyield %a"),
    ("constant-result", "%a = lt %i, %i : b\nyield %a"),
    ("constant-result", "%a = lt %x, nan : b\nyield %a"),
    ("constant-result", "%a = gather %i {table = (2.0, 2.0)} : f8\nyield %a"),
    ("identity", "%a = mul %x, 1.0 : f8\nyield %a"),
    ("identity", "%a = add %x, -0.0 : f8\nyield %a"),
    ("identity", "%a = sub %x, 0.0 : f8\nyield %a"),
    ("identity", "%a = truediv %x, 1.0 : f8\nyield %a"),
    ("identity", "%a = add %i, 0 : i8\nyield %a"),
    ("identity", "%a = and %i, -1 : i8\nyield %a"),
    ("identity", "%a = and %p, true : b\nyield %a"),
    ("identity", "%a = or %i, %i : i8\nyield %a"),
    ("constant-condition", "%a = select true, %x, %y : f8\nyield %a"),
    ("equal-arms", "%a = select %p, %x, %x : f8\nyield %a"),
    ("same-condition", "%a = select %p, %x, %y : f8\n%b = select %p, %y, %a : f8\nyield %b"),
    ("boolean-select", "%a = select %p, true, %q : b\nyield %a"),
    ("double-negation", "%a = not %p : b\n%b = not %a : b\nyield %b"),
    ("boolean-tree", "%a = not %p : b\n%b = and %a, %q : b\n%c = or %b, %p : b\n%d = and %c, %p : b\nyield %d"),
    ("boolean-tree", "%a = not %p : b\n%b = and %a, %p : b\nyield %b"),
    ("repeated", "%a = add %x, %y : f8\n%b = add %x, %y : f8\n%c = mul %a, %b : f8\nyield %c"),
    ("dead", "%a = add %x, %y : f8\nyield %x"),
])
def test_each_kind_is_seen(kind, body):
    assert kind in kinds(body)
    assert kinds(body)[0] == kind
    folded = flatten_fold(as_flat(flat(body)))
    assert fold_residuals(folded) == []


@pytest.mark.parametrize("body", [
    "%a = add %x, 0.0 : f8\nyield %a",  # -0.0 becomes 0.0
    "%a = mul %x, 0.0 : f8\nyield %a",
    "%a = sub %x, %x : f8\nyield %a",
    "%a = truediv %x, %x : f8\nyield %a",
    "%a = eq %x, %x : b\nyield %a",
    "%a = abs %x : f8\nyield %a",
    "%a = mul %x, 1.0000000000000002 : f8\nyield %a",
    "%a = eq %x, 12345.678 : b\nyield %a",
    "%a = lt %x, 1e-320 : b\nyield %a",
    "%a = and %i, 255 : i8\nyield %a",
    "%a = mod %i, 9223372036854775807 : i8\nyield %a",
    "%a = truediv 1.0, 0.0 : f8\nyield %a",
    "%a = sqrt -1.0 : f8\nyield %a",
    "%a = xor %p, %q : b\nyield %a",
    "%a = select %p, %x, %y : f8\n%b = select %q, %a, %y : f8\nyield %b",
    "fault %p ValueError()\nyield %x",
])
def test_what_is_no_residual(body):
    assert kinds(body) == []


def test_calls_and_vectors():
    def f(x):
        return noise(0.5) + noise(x)

    known, unknown = (flatten_function(f, Call("noise", python=p, barrier=p is None)) for p in (noise, None))
    assert "constant-call" not in [r.kind for r in fold_residuals(unknown)]
    late = replace(unknown, calls=replace(unknown.calls, entries={"noise": Call("noise", python=noise)}))
    assert [r.kind for r in fold_residuals(late)] == ["constant-call"]
    assert fold_residuals(flatten_fold(late, strict=True)) == []
    assert [n.opcode for n in known.nodes].count("call") == 1


def noise(x):
    return x * 3.0


def test_a_residual_says_where_it_is():
    def f(x):
        return x * 1.0 + 2.0

    (found,) = fold_residuals(flatten_function(f))
    assert str(found) == "identity: mul(x, 1.0) is its operand"
    assert found.node.span is not None and found.node.span.line == f.__code__.co_firstlineno + 1


LOST = {
    "fold_constants": "%a = mul %x, 1.0 : f8\nyield %a",
    "fold_identities": "%a = floordiv %i, %i : i8\nyield %a",
    "fold_calls": "%a = gather %i {table = (2.0, 2.0)} : f8\nyield %a",
    "share_subexpressions": "%a = sin %x : f8\n%b = sin %x : f8\n%c = mul %a, %b : f8\nyield %c",
    "simplify_bools": "%a = xor %p, %q : b\n%b = xor %a, %q : b\nyield %b",
    "prune_dead": "%a = sin %x : f8\nyield %x",
}


@pytest.mark.parametrize("name", LOST)
def test_a_pass_that_is_lost_shows(name, monkeypatch):
    """Whatever folding forgets, strict_fold refuses: the oracles do not rest on the passes."""
    function = as_flat(flat(LOST[name]))
    assert fold_residuals(flatten_fold(function, strict=True)) == []
    monkeypatch.setattr(f"pyflat.passes.{name}.PASS", Pass(lambda fn, **_: fn))
    with pytest.raises(FlattenError) as error:
        flatten_fold(function, strict=True)
    assert error.value.code == "flatten/fold-residual"


def test_strict_fold_is_an_error_with_a_code(monkeypatch):
    def f(x):
        return x * 1.0

    assert flatten_function(f, strict_fold=True).size == 0
    monkeypatch.setattr("pyflat.passes.fold_constants.PASS", Pass(lambda fn: fn))
    with pytest.raises(FlattenError, match=r"identity: mul\(x, 1.0\) is its operand") as error:
        flatten_function(f, strict_fold=True)
    assert error.value.code == "flatten/fold-residual"
    assert flatten_function(f, strict_fold=True, raises=False).error.code == "flatten/fold-residual"
