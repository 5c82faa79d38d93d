"""Functions whose arms cost, for `benchmarks.arms`: the first argument alone decides which arm a lane takes.

It is the number of the arm, as a float. So a mix of lanes is a mix of numbers, and no decision depends on an
elementary function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

TOLERANCE = 1e-12


def two_heavy(arm: float, x: float, y: float) -> float:
    """Both arms cost about the same."""
    if arm < 1.0:
        return math.exp(-x) * math.log(1.0 + y) + y ** (x + 0.25)
    return math.log(x + y) * math.exp(-y) + x ** (y + 0.75)


def one_heavy(arm: float, x: float, y: float) -> float:
    """A correction that costs, and a line."""
    result = x * y + 1.0
    if arm < 1.0:
        result += math.exp(-x * y) * x**y + math.log(x / y)
    return result


def nested(arm: float, x: float, y: float) -> float:
    """A heavy condition around two heavy arms, and a cheap arm."""
    if arm < 2.0:
        scale = math.exp(-x) + math.log(y)
        if arm < 1.0:
            return scale * x**y
        return scale + math.sin(x) * math.exp(-y)
    return x - y


def chain(arm: float, x: float, y: float) -> float:
    """Four heavy arms."""
    if arm < 1.0:
        return math.exp(-x * y) + math.log(x)
    if arm < 2.0:
        return x**y
    if arm < 3.0:
        return math.sin(x) * math.cos(y)
    return math.log(x) * math.exp(-y) + math.atan2(y, x)


def loop_in_arm(arm: float, x: float, y: float) -> float:
    """w*exp(w) = y by Newton's method, from a start that takes four to seven trips; or a line."""
    if arm < 1.0:
        w = x
        for _ in range(40):
            power = math.exp(w)
            step = (w * power - y) / (power * (w + 1.0))
            w -= step
            if abs(step) < TOLERANCE:
                break
        return w
    return x + y


def cheap(arm: float, x: float, y: float) -> float:
    """Arithmetic on both sides."""
    if arm < 1.0:
        return (x * 0.25 + y) * x - 1.0
    return y / (x + 1.0) + 2.0


def early_return(arm: float, x: float, y: float) -> float:
    """Only the lanes of the last arm come to the end."""
    if arm < 1.0:
        return 0.0
    spread = math.log(x / y)
    if arm < 2.0:
        return spread
    root = math.sqrt(x + y)
    return math.exp(-spread * spread) * math.erf(root) + x ** (1.5 + root)


@dataclass(frozen=True, slots=True)
class Branchy:
    function: Callable[..., float]
    arms: int
    about: str


BRANCHY = {fn.__name__: Branchy(fn, arms, about) for fn, arms, about in (
    (two_heavy, 2, "two heavy arms"),
    (one_heavy, 2, "one heavy arm"),
    (nested, 3, "heavy arms in a heavy arm"),
    (chain, 4, "four heavy arms"),
    (loop_in_arm, 2, "a loop in an arm"),
    (early_return, 3, "early returns"),
    (cheap, 2, "cheap arms"),
)}
