"""Each behaviour that the seed document describes or its implementation got wrong: one small function each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.twins import agree

# --- what the seed promises


def early_guard(x: float) -> float:
    if x < 0:
        return -1.0
    return x * 2.0


def return_in_else_nested_if(x: float, y: float) -> float:
    if x > 0.5:
        y = y + 1
    else:
        if y > 1:
            return y * 10
        y = y - 1
    return x + y


def four_quadrants(x: float, y: float) -> int:
    if x > 0:
        if y > 0:
            return 1
        else:
            return 4
    else:
        if y > 0:
            return 2
        else:
            return 3


def both_inner_arms_return(x: float, y: float) -> float:
    if x > 0:
        if y > 0:
            return x
        else:
            return y
    return x - y


def break_persists(x: float) -> float:
    s = 0.0
    for i in range(5):
        if s > x:
            break
        s += i
    return s


def continue_resets(x: float) -> float:
    s = 0.0
    for i in range(5):
        if i * 0.5 == x:
            continue
        s += i
    return s


def break_in_nested_if(x: float, y: float) -> float:
    s = x
    for i in range(4):
        if s > 0:
            if s > y:
                break
            s = s + 0.5
        else:
            s = s + 2
    return s


def inner_break_leaves_outer_alone(x: float) -> float:
    s = 0.0
    for i in range(3):
        for j in range(3):
            if j > x:
                break
            s += 1
        s += 10
    return s


def outer_break_after_inner(x: float) -> float:
    s = 0.0
    for i in range(3):
        for j in range(2):
            s += x
        if s > 3:
            break
        s += 1
    return s


def _nested_return(x: float, limit: float) -> float:
    for i in range(3):
        for j in range(3):
            if i * j > x:
                return limit + i
    return limit - 1


def return_inside_nested_loops_inside_callee_in_loop(x: float) -> float:
    total = 0.0
    for k in range(3):
        total += _nested_return(x + k, total)
        if total > 50:
            break
    return total


def _clamp(v: float) -> float:
    if v < 0:
        return 0.0
    if v > 1:
        return 1.0
    return v


def callee_return_leaves_caller_alone(x: float) -> float:
    y = _clamp(x)
    y = y + 1
    if x > 2:
        return y
    return y * 3


def helper_used_twice(x: float, y: float) -> float:
    return _clamp(x) + 2 * _clamp(y)


def _collides(x: float) -> float:
    y = x + 1
    t = y * 2
    return t - y


def local_names_collide_with_callee(x: float, y: float) -> float:
    t = x * 3
    z = _collides(y)
    return t + y + z


def same_local_in_sibling_arms(x: float) -> float:
    if x > 0:
        t = x * 2
        r = t + 1
    else:
        t = x - 5
        r = t * t
    return r + t


def same_local_in_successive_loops(x: float) -> float:
    s = 0.0
    for i in range(3):
        t = x + i
        s += t
    for i in range(2):
        t = x - i
        s *= t
    return s + t + i


def local_reused_over_unrolled_copies(x: float) -> float:
    s = 0.0
    for i in range(4):
        t = x * i
        if t > 1:
            u = t
        else:
            u = -t
        s += u
    return s


def names_that_look_generated(x_1: float, select: float) -> float:
    live = x_1 > 0
    _ret = select
    t0 = x_1 + 1
    np = t0 * 2
    if live:
        _ret = np
        c0 = _ret - 1
        return c0 + select
    x_1 = _ret
    return x_1 - t0


# --- what the seed's implementation gets wrong


def evaluation_order_with_shared_list(g: float) -> float:
    box = [g]

    def inc() -> float:
        box[0] = box[0] + 1
        return box[0]

    return box[0] * 100 + inc()


def effect_in_arm_not_taken(x: float) -> float:
    box = [0.0]

    def hit(v: float) -> float:
        box[0] = box[0] + 1
        return v

    y = hit(x) if x > 0 else -x
    if x > 1:
        y = y + hit(2.0)
    return y + 10 * box[0]


def effect_in_short_circuit(x: float, y: float) -> float:
    box = [0.0]

    def hit(v: float) -> bool:
        box[0] = box[0] + 1
        return v > 0

    a = hit(x) and hit(y)
    b = hit(y) or hit(x)
    return box[0] + (100 if a else 0) + (1000 if b else 0)


def loop_over_items_while_the_body_changes_them(a: float) -> float:
    s = 0.0
    for v in [a, a + 1]:
        a = a * 10
        s = s + v
    return s + a


def not_greater_with_nan(x: float, t: float) -> float:
    if not (x > t):
        return 1.0
    return 2.0


def _sibling_arms(x: float) -> float:
    if x > 0:
        v = x + 1
    else:
        v = x - 1
    return v * v


def same_local_in_sibling_arms_of_callee(x: float, y: float) -> float:
    v = y
    w = _sibling_arms(x)
    return v + w + _sibling_arms(v)


def _positive(x: float) -> bool:
    if x != x:
        return False
    return x > 0


def helper_call_in_condition(x: float, y: float) -> float:
    if _positive(x):
        return y
    elif _positive(y) and not _positive(-x):
        return x
    return x - y


def local_named_like_renamed_copy(x: float) -> float:
    t = x
    t_1 = x + 1
    t_2 = 5.0
    for i in range(2):
        t = t * 2
        t_1 = t_1 + t
    if x > 0:
        t_2 = t
    return t + t_1 * 10 + t_2 * 100


# --- faults belong to the lanes that reach them


def division_in_arm_not_taken(x: float, y: float) -> float:
    return x / y if y != 0 else 0.0


def root_after_guard(x: float) -> float:
    if x < 0 or x != x:
        return -1.0
    return math.sqrt(x)


def raise_in_guard(x: float) -> float:
    if x < 0:
        raise ValueError("negative")
    return x


def raise_after_break(x: float) -> float:
    for i in range(3):
        if i > x:
            break
        if i == 2:
            raise ArithmeticError("reached", i)
    return x


def bound_on_some_paths(x: float) -> float:
    if x > 0:
        y = x
    if x > -1:
        return y
    return x


def dead_store_that_faults(x: float) -> float:
    unused = 1 / x
    return x + 1


def else_of_loop(x: float) -> float:
    for i in range(3):
        if i == x:
            r = 10.0
            break
    else:
        r = -1.0
    return r + i


def loop_variable_of_empty_loop(x: float) -> float:
    for i in range(0):
        x = x + 1
    if x > 1:
        return i
    return x


CASES: list[tuple[Callable[..., Any], str]] = [
    (early_guard, "f"), (return_in_else_nested_if, "ff"), (four_quadrants, "ff"), (both_inner_arms_return, "ff"),
    (break_persists, "f"), (continue_resets, "f"), (break_in_nested_if, "ff"), (inner_break_leaves_outer_alone, "f"),
    (outer_break_after_inner, "f"), (return_inside_nested_loops_inside_callee_in_loop, "f"),
    (callee_return_leaves_caller_alone, "f"), (helper_used_twice, "ff"), (local_names_collide_with_callee, "ff"),
    (same_local_in_sibling_arms, "f"), (same_local_in_successive_loops, "f"), (local_reused_over_unrolled_copies, "f"),
    (names_that_look_generated, "ff"), (evaluation_order_with_shared_list, "f"), (effect_in_arm_not_taken, "f"),
    (effect_in_short_circuit, "ff"), (loop_over_items_while_the_body_changes_them, "f"), (not_greater_with_nan, "ff"),
    (same_local_in_sibling_arms_of_callee, "ff"), (helper_call_in_condition, "ff"), (local_named_like_renamed_copy, "f"),
    (division_in_arm_not_taken, "ff"), (root_after_guard, "f"), (raise_in_guard, "f"), (raise_after_break, "f"),
    (bound_on_some_paths, "f"), (dead_store_that_faults, "f"), (else_of_loop, "f"), (loop_variable_of_empty_loop, "f"),
]
BY_NAME = {fn.__name__: (fn, kinds) for fn, kinds in CASES}
ON_NUMBA = ("early_guard", "four_quadrants", "break_in_nested_if", "return_inside_nested_loops_inside_callee_in_loop",
            "names_that_look_generated", "effect_in_short_circuit", "raise_after_break", "division_in_arm_not_taken")


@pytest.mark.parametrize("name", BY_NAME)
def test_behaviour_on_numpy(name: str) -> None:
    fn, kinds = BY_NAME[name]
    agree(fn, kinds, target="numpy")


@pytest.mark.parametrize("name", ON_NUMBA)
def test_behaviour_on_numba(name: str) -> None:
    fn, kinds = BY_NAME[name]
    agree(fn, kinds, target="numba")


@pytest.mark.parametrize("name", ["early_guard", "break_persists", "effect_in_short_circuit", "raise_in_guard"])
def test_int_lanes(name: str) -> None:
    fn, kinds = BY_NAME[name]
    agree(fn, "i" * len(kinds))


def test_the_functions_are_all_tested() -> None:
    here = [n for n, v in globals().items() if callable(v) and getattr(v, "__module__", "") == __name__]
    untested = [n for n in here if not n.startswith(("_", "test_")) and n not in BY_NAME]
    assert not untested
