"""Opaque calls: arguments lowered, results in parts, guards, barriers, effects, and what folding may do to them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from pyflat.backend import (
    Call,
    FlattenError,
    flatten_fold,
    flatten_function,
    flatten_fuse,
    flatten_optimize,
    fold_residuals,
    preshader,
)
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function


class Colour(NamedTuple):
    r: float
    g: float
    b: float


@dataclass
class Hit:
    near: bool
    layer: int
    depth: float


def noise(x, y=0.0):
    return math.sin(x * 12.9898 + y)


def texture(name, uv):
    return Colour(uv[0], uv[1], 0.5)


def probe(x):
    return Hit(x < 1.0, 3, x * 2.0)


SEEN: list[tuple[str, float]] = []


def emit(x):
    SEEN.append(("emit", x))


def all_steps(fn, whitelist, **options):
    flat = flatten_function(fn, whitelist, **options)
    done = flatten_fuse(flatten_optimize(flatten_fold(flat, strict=True)))
    assert fold_residuals(done) == []
    assert format_function(parse_function(format_function(done.ir))) == format_function(done.ir)
    return done


def calls(flat):
    return [n for n in flat.nodes if n.opcode == "call"]


def test_a_plain_name_is_a_pure_call_that_gives_a_float():
    def f(x):
        return noise(x * 1.0) + 1.0

    flat = all_steps(f, "noise")
    (call,) = calls(flat)
    assert call.inputs == (flat.params[0],) and call.kind == "f8" and call.attrs["name"] == "noise"
    assert call.attrs["args"] == ("f8",) and not call.attrs["barrier"] and not call.attrs["guarded"]
    assert flat.run(0.25) == f(0.25)


def test_it_wins_over_inlining_and_over_operations():
    def f(x):
        return noise(x) + math.sqrt(x)

    assert all_steps(f, ["noise", "sqrt"]).counts() == {"call": 2, "add": 1}
    assert "sin" in all_steps(f, []).counts()


def test_matched_by_simple_name():
    class Library:
        noise = staticmethod(noise)

    renamed = noise

    def f(x):
        return Library.noise(x) + renamed(x + 1.0)

    assert all_steps(f, ["noise"]).counts() == {"add": 2, "call": 2}


def test_nested_functions_by_their_name():
    def f(x):
        def noise(y):
            return y * 3.0

        return noise(x)

    flat = all_steps(f, ["noise"])
    assert flat.counts() == {"call": 1}
    with pytest.raises(FlattenError) as error:
        flat.run(1.0)
    assert error.value.code == "flatten/call-not-runnable"
    assert flatten_function(f, [Call("noise", python=lambda y: y * 3.0)]).run(2.0) == 6.0


def test_records_and_constants_as_arguments_and_results():
    def f(u: float, v: float):
        c = texture("albedo", (u, v * 1.0))
        return Colour(c.r, c.b, 0.0)

    flat = all_steps(f, [Call("texture", result=Colour)])
    (call,) = calls(flat)
    assert call.kind == "pack" and call.attrs["args"] == (("=", "albedo"), ("tuple", "f8", "f8"))
    assert [n.attrs["index"] for n in flat.nodes if n.opcode == "part"] == [0, 2]
    assert flat.size == 1
    assert flat.run(0.25, 0.5) == f(0.25, 0.5)


def test_results_of_several_kinds():
    def f(x):
        hit = probe(x)
        return hit.depth if hit.near else hit.layer + 0.5

    flat = all_steps(f, [Call("probe", result=Hit)])
    with_fields = [n.kind for n in flat.nodes if n.opcode == "part"]
    assert sorted(with_fields) == ["b", "f8", "i8"] or sorted(with_fields) == ["b", "f8"]
    assert flat.run(0.5) == f(0.5) and flat.run(2.0) == f(2.0)


@pytest.mark.parametrize(("result", "kinds"), [
    ("float", ["f8"]), ("int", ["i8"]), ("bool", ["b"]), ("vec3", ["pack"]), (("int", "bool"), ["pack"]),
    (int, ["i8"]), (Colour, ["pack"]), (texture, ["f8"]),
])
def test_result_descriptions(result, kinds):
    if result is texture:
        with pytest.raises(ValueError, match="expected a kind"):
            Call("noise", result=result)
        return

    def f(x):
        return noise(x)

    assert [n.kind for n in calls(flatten_function(f, Call("noise", result=result)))] == kinds


def test_join_gives_the_kind_of_the_arguments():
    def f(x, n: int):
        return noise(n) + noise(x, n)

    assert [n.kind for n in calls(flatten_function(f, Call("noise", result="join")))] == ["i8", "f8"]


def test_keywords_and_defaults():
    def f(x):
        return noise(y=1.0, x=x) + noise(x)

    flat = flatten_function(f, "noise")
    assert [len(n.inputs) for n in calls(flat)] == [2, 1]
    assert flat.run(0.5) == f(0.5)


def test_pure_calls_are_shared_and_dropped():
    def f(x):
        unused = noise(x, 2.0)  # noqa: F841
        return noise(x) * noise(x)

    assert all_steps(f, "noise").counts() == {"call": 1, "mul": 1}


def test_barriers_are_neither_shared_nor_merged():
    def f(x, c: bool):
        a = noise(x) * noise(x)
        return a + (noise(x + 1.0) if c else noise(x + 2.0))

    assert all_steps(f, Call("noise")).counts()["call"] == 2
    assert all_steps(f, Call("noise", barrier=True)).counts()["call"] == 4


def test_two_taps_of_a_branch_are_one_of_a_chosen_place():
    def f(x, y, c: bool):
        return noise(x) if c else noise(y)

    assert all_steps(f, "noise").counts() == {"call": 1, "select": 1}
    assert all_steps(f, Call("noise", barrier=True)).counts() == {"call": 2, "select": 1}
    assert all_steps(f, "noise").run(0.5, 0.25, True) == noise(0.5)


def test_as_many_barriers_as_calls_are_reached():
    def f(x):
        total = 0.0
        for k in range(4):
            if k == 2:
                continue
            total += noise(x)
        return total

    assert all_steps(f, Call("noise", barrier=True)).counts()["call"] == 3


def test_a_barrier_is_not_hoisted_into_the_preamble():
    def f(x, t):
        return noise(t) + noise(t + 1.0) * x

    for barrier, once in ((True, 0), (False, 2)):
        split = preshader(all_steps(f, Call("noise", barrier=barrier)), ["t"])
        assert len(calls(split.preamble)) == once
        assert split.run(0.5, 0.25) == f(0.5, 0.25)


def test_a_choice_of_kinds_does_not_duplicate_a_call():
    def f(x, c: bool):
        return noise(1 if c else x)

    assert len(calls(flatten_function(f, Call("noise", barrier=True)))) == 1


def test_a_call_that_may_not_run_off_its_path_keeps_its_predicate():
    def f(x, y):
        if x > 0.5:
            if y > 0.5:
                return noise(x)
        return y

    flat = all_steps(f, Call("noise", where="taken"))
    (call,) = calls(flat)
    guard = call.inputs[0]
    assert guard.kind == "b" and call.attrs["guarded"] and len(call.inputs) == 2
    assert guard.opcode == "and" and {n.opcode for n in guard.inputs} == {"gt"}
    assert flat.run(0.75, 0.75) == noise(0.75) and flat.run(0.75, 0.25) == 0.25


def test_after_an_early_return_the_guard_is_the_live_mask():
    def f(x):
        if x > 0.5:
            return 0.0
        return noise(x)

    (call,) = calls(all_steps(f, Call("noise", where="taken")))
    assert call.inputs[0].opcode == "not" and call.inputs[0].inputs[0].opcode == "gt"


def test_effects_stay_in_order_and_under_their_guards():
    def f(x):
        emit(x)
        if x > 0.5:
            emit(x * 2.0)
        emit(3.0)
        return x

    flat = all_steps(f, Call("emit", pure=False, result=None))
    assert [n.kind for n in flat.effects] == ["none"] * 3
    for x in (0.25, 0.75):
        SEEN.clear()
        f(x)
        wanted = list(SEEN)
        SEEN.clear()
        flat.run(x)
        assert wanted == SEEN


def test_an_effect_that_is_never_reached_goes():
    def f(x):
        for k in range(2):
            if k > 5:
                emit(x)
        y = 1.0
        if x != x and x == x:
            emit(y)
        return x

    assert all_steps(f, Call("emit", pure=False, result=None)).effects == ()


def test_constant_calls_fold_where_the_entry_says_how():
    def f(x):
        c = texture("albedo", (0.25, 0.5))
        return x * c.r + noise(0.0)

    known = [Call("texture", result=Colour, python=texture), Call("noise", python=noise)]
    assert all_steps(f, known).counts() == {"add": 1, "mul": 1}
    assert all_steps(f, [Call("texture", result=Colour), "noise"]).counts() == {"call": 2, "add": 1, "mul": 1}
    kept = [Call("texture", result=Colour, python=texture, barrier=True), Call("noise", python=noise, where="taken")]
    assert len(calls(all_steps(f, kept))) == 2


def test_constants_that_only_folding_finds():
    def f(x, y):
        flag = x * 0.0 if y != y and y == y else 0.25
        return noise(flag)

    flat = flatten_function(f, Call("noise", python=noise))
    assert len(calls(flat)) == 1
    assert flatten_fold(flat, strict=True).size == 0


def test_a_call_that_raises_on_its_constants_is_a_fault_of_its_path():
    def f(x):
        if x > 0.5:
            return root(-1.0) + x
        return x

    flat = flatten_function(f, [Call("root", python=math.sqrt)], faults="mask")
    assert calls(flat) == []
    assert flat.run_leaves([0.75]).values[1] is True
    assert flat.run_leaves([0.25]).values == (0.25, False)


def root(x):
    return math.sqrt(x)


@pytest.mark.parametrize("argument", [object(), {"a": 1.0}])
def test_objects_are_no_arguments(argument):
    def f(x):
        return noise(x, argument)

    with pytest.raises(FlattenError) as error:
        flatten_function(f, "noise")
    assert error.value.code == "flatten/lane-to-object"


def test_entries_are_checked():
    with pytest.raises(ValueError, match="simple name"):
        Call("math.sin")
    with pytest.raises(ValueError, match="where='sometimes'"):
        Call("noise", where="sometimes")
    with pytest.raises(ValueError, match="result='matrix'"):
        Call("noise", result="matrix")
    with pytest.raises(TypeError, match="names and Call entries"):
        flatten_function(test_entries_are_checked, [3])


def test_an_effect_is_a_barrier_and_guarded():
    entry = Call("emit", pure=False, result=None)
    assert entry.barrier and entry.where == "taken"
