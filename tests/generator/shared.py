"""Helpers that are called from many places, with the same and with other signatures: what a second call may take from
the first one, and what it may not.

Known arguments that are equal but not alike (1, True, 1.0, -0.0), defaults that are None or mutable, lists that a call
changes and that two parameters may share, functions as arguments, results that are known in some calls, exceptions.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

SHARED = """\
UNIT = (1.0, 2.0)


def pick(e, mode=None, *, scale=1):
    if mode is None:
        return e * scale
    if mode == "low" or e < 0:
        return -e
    return e + len(mode)


def fold(e, n=2):
    s = 0
    for j in range(n):
        s = s * 0.5 + e
        if s > 40.0:
            break
    return s if n > 1 else n


def keep(e, table=[0.5, -1.5, 8.0]):
    best = table[0]
    for each in table:
        if each < e:
            best = each
    return best


def bump(z, e):
    if e > 1.0:
        z[0] = z[0] * 0.5 + e
    return z[-1] - e


def swap(z, o):
    z[0], o[-1] = o[-1] * 0.5, z[0] + 1.0
    return z[0] - o[0]


def make(e):
    return [e, e * 0.5]


def same(z, o):
    return 1.5 if z is o else z[0] - o[0]


def strict(e, low=-1e3):
    if e < low:
        raise ValueError("too low")
    return math.sqrt(e - low)


def apply(h, e):
    return h(e) - h(e * 0.5)


def describe(e):
    if isinstance(e, bool):
        return 3
    if isinstance(e, int):
        return e * 2 if e == e & 255 else 7
    return e * 0.25


def sign(e):
    return math.copysign(1.0, e)


def deep(e, n=1):
    return pick(bump(make(e), 2.0)) + fold(strict(abs(e)), n)
"""

ALIKE = ("0.0", "-0.0", "0", "False", "1", "1.0", "True")


def shared_call(rng: Random, atom: Callable[[], str], function: Callable[[], str], lists: list[str]) -> str:
    """A float: a call of one of the helpers. `atom` draws a float, `function` one of a float, `lists` are lists of
    floats."""
    pick = rng.choice

    def one() -> str:
        return pick(lists) if lists and rng.random() < 0.6 else f"[{atom()}, {atom()}]"

    return pick((
        lambda: f"pick({atom()})", lambda: f"pick({atom()}, {pick(('None', repr('low'), repr('high')))})",
        lambda: f"pick({atom()}, scale={pick(ALIKE)})", lambda: f"fold({atom()}, {pick(('1', '2', '3', 'True'))})",
        lambda: f"keep({atom()})", lambda: f"keep({atom()}, UNIT)", lambda: f"bump({one()}, {atom()})",
        lambda: f"swap({one()}, {one()})", lambda: f"same({one()}, {one()})",
        lambda: f"same(make({atom()}), make({atom()}))", lambda: f"make({atom()})[{pick('01')}]",
        lambda: f"strict({atom()})", lambda: f"strict({atom()}, {pick(('-2', '-2.0', '-1e9'))})",
        lambda: f"apply({pick((function(), 'pick', 'sign', 'abs'))}, {atom()})",
        lambda: f"float(describe({pick((pick(ALIKE), atom()))}))", lambda: f"sign({pick((pick(ALIKE), atom()))})",
        lambda: f"deep({atom()})", lambda: f"deep({atom()}, {pick('12')})",
    ))()
