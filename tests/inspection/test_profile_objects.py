"""`twin.profile` of functions whose lanes are strings, members and None, and of loops that are kept: the counts
of each `if` against the lines that the original runs."""

from __future__ import annotations

import enum
import inspect
import sys

import numpy as np
import pytest

import pyflat


class Mode(enum.Enum):
    HEAT = 1
    COOL = 2
    OFF = 3


UNITS = np.array(["C", "K", "F", "Rankine"])
MODES = np.array([*Mode], object)
RATES = {"C": 1.8, "K": 0.5, "F": 2.0, "Rankine": 3.0}


def celsius(unit, x):
    if unit == "C":
        x = x * 1.8
    elif unit == "K" or x > 1.0:
        x = x - 273.15
    if unit in ("F", "C"):
        x = x + 1.0
    return x


def limited(value, unit):
    if unit != "K":
        value = value + 1.0
    if value > 2.0:
        return 2.0
    return value


def by_helper(unit, x):
    total = limited(x, unit) + limited(x - 1.0, unit)
    if not unit == "F" and total > 0.0:
        total = -total
    return total


def looked_up(unit, x):
    y = x * RATES[unit]
    for k in range(3):
        if y > k:
            y = y - 1.0
    return y


def stepped(unit, x):
    steps = {"C": 1, "K": 2, "F": 0, "Rankine": 5}[unit]
    done = 0
    while done < steps:
        if x > done:
            x = x - 0.5
        done = done + 1
    return x


def of_members(mode, x):
    if mode is Mode.HEAT:
        x = x + 1.0
    elif mode == Mode.COOL:
        x = x - 1.0
    if mode in (Mode.OFF, Mode.COOL):
        if x > 0.0:
            x = x * 2.0
    return x


def of_none(x):
    y = None
    if x > 0.0:
        y = x * 2.0
    if y is None:
        y = 5.0
    if y > 3.0:
        y = y - 1.0
    return y


def kept(n, x):
    total = x
    for k in range(n):
        if total > k:
            total = total - 1.5
        j = 0
        while j < k:
            j = j + 1
            if total + j < 0.0:
                break
    if total < 0.0:
        total = 0.0
    return total


def lines_run(function, rows):
    """How often each line of this file is run, by Python's own tracing."""
    counts: dict[int, int] = {}

    def trace(frame, event, _):
        if frame.f_code.co_filename != __file__:
            return None
        if event == "line":
            counts[frame.f_lineno] = counts.get(frame.f_lineno, 0) + 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for row in rows:
            function(*row)
    finally:
        sys.settrace(before)
    return counts


def column(random, kind, size):
    match kind:
        case "unit":
            return random.choice(UNITS, size)
        case "mode":
            return random.choice(MODES, size)
        case "n":
            return random.integers(0, 9, size)
    return random.normal(size=size) * 2.0


CASES = [
    (celsius, "unit x", {}), (by_helper, "unit x", {}), (looked_up, "unit x", {}), (stepped, "unit x", {}),
    (of_members, "mode x", {}), (of_none, "x", {}),
    (kept, "n x", {"loops": "masked"}), (kept, "n x", {"target": "numba"}), (stepped, "unit x", {"target": "numba"}),
]


@pytest.mark.parametrize(("function", "kinds", "options"), CASES)
@pytest.mark.parametrize("size", [1, 60])
def test_each_if_has_the_counts_of_its_lines(function, kinds, options, size):
    random = np.random.default_rng([size, len(kinds), len(function.__name__)])
    columns = [column(random, kind, size) for kind in kinds.split()]
    found = pyflat.twin(function, **options).profile(*columns)
    counts = lines_run(function, zip(*(one.tolist() for one in columns), strict=True))
    rows = [row for row in found.branches if row.place.text in (f"if {row.shown}:", f"elif {row.shown}:")]
    assert found.failed == found.unfinished == 0
    assert {row.place.line for row in rows} == ifs_of(function)
    for row in rows:
        line = row.place.line
        assert (row.shown, row.then, row.then + row.orelse) == (row.shown, counts.get(line + 1, 0), counts.get(line, 0))
    for loop in found.loops:
        assert round(loop.mean * loop.entries) == counts.get(loop.place.line + 1, 0)


def ifs_of(function):
    """The lines of the function, and of what it calls, that begin with `if` or `elif`."""
    lines = set()
    for each in (function, limited) if function is by_helper else (function,):
        text, first = inspect.getsourcelines(each)
        lines |= {first + at for at, line in enumerate(text) if line.strip().startswith(("if ", "elif "))}
    return lines


def test_a_test_that_is_known_when_the_twin_is_made_is_no_branch():
    def cooled(unit, x):
        return limited(x, unit) + limited(x, "K")

    found = pyflat.twin(cooled).profile(UNITS, np.zeros(4))
    counts = {row.shown: row.then + row.orelse for row in found.branches}
    assert counts == {'unit != "K"': 4, "value > 2.0": 8}


def test_strings_with_a_twin_for_each_are_named():
    def spelled(unit, x):
        return x + len(unit)

    twin = pyflat.twin(spelled)
    assert twin(UNITS, np.zeros(4)).tolist() == [1.0, 1.0, 1.0, 7.0]
    with pytest.raises(TypeError, match="argument 'unit' of spelled.* each has its own twin: pass one"):
        twin.profile(UNITS, np.zeros(4))
    assert twin.profile("K", np.zeros(4)).lanes == 4
