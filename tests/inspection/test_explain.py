"""`twin.explain()`: what a twin costs, from the forms that the engines get."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import pyflat
from pyflat.cli.main import commands
from pyflat.errors import FlattenError


def arms(x: float, y: float) -> float:
    total = 0.0
    for k in range(3):
        if x > k:
            total += y
    while total > 10.0:
        total = total * 0.5
    if x > y:
        return math.exp(x) + total
    return total / x


def plain(x: float) -> float:
    return x * 2.0 + 1.0


def line_of(text):
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if line.strip() == text)


def test_operations_and_cost():
    found = pyflat.twin(plain).explain()
    assert [(f.name, f.count, f.cost) for f in found.operations] == [("arithmetic", 2, 2)]
    assert (found.cost, found.selects, found.faults, found.detection) == (2, 0, 0, 0)
    assert (found.kinds, found.form, found.target) == ("x: f8", "flat", "numpy")
    assert [reason.split(";")[0] for reason in found.slower] == ["each operation is a separate pass over a block"]


def test_kinds_change_what_it_costs():
    floats, ints = pyflat.twin(plain).explain("f8"), pyflat.twin(lambda x: x * 2 + 1).explain("i8")
    assert (floats.faults, ints.faults > 0, ints.detection > 0) == (0, True, True)


def test_branches_stand_with_their_line_and_copies():
    found = pyflat.twin(arms).explain()
    rows = {row.condition: row for row in found.branches}
    assert set(rows) == {"x > k", "x > y"}
    assert rows["x > k"].copies == 3
    assert rows["x > k"].place.line == line_of("if x > k:")
    assert (rows["x > y"].then, rows["x > y"].orelse) == (41, 0)
    assert rows["x > y"].place.file == __file__


def test_loops_say_what_became_of_them():
    found = {place.line: what for place, what in pyflat.twin(arms).explain().loops}
    assert found[line_of("for k in range(3):")] == "unrolled: straight-line code"
    assert found[line_of("while total > 10.0:")].startswith("stays a loop")


def test_loops_say_whether_lanes_get_new_elements():
    pytest.importorskip("numba")

    def divergent(n: int):
        steps = 0
        while n != 1 and steps < 256:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    found = pyflat.twin(divergent, target="numba").explain()
    assert found.refilled
    assert "are replaced by the next" in str(found)
    assert not pyflat.twin(divergent).explain().refilled
    assert not pyflat.twin(plain, target="numba").explain().refilled


def test_elementary_functions_say_whose_they_are(monkeypatch):
    pytest.importorskip("numba")
    from pyflat.functions import loaded_library
    from pyflat.targets.numba.library import has_library_vectors

    def error_function(x: float) -> float:
        return math.erf(x) if x > 0.0 else x

    identity = loaded_library.library_of("exp").identity
    known = {identity: loaded_library.Build("this one", {"exp": 10})}
    monkeypatch.setattr(loaded_library, "verified_builds", lambda: known)
    followed = pyflat.twin(arms, target="numba", math="exact").explain()
    monkeypatch.setattr(loaded_library, "verified_builds", dict)
    exact = pyflat.twin(arms, target="numba", math="exact").explain()
    fast = pyflat.twin(arms, target="numba", math="fast").explain()
    called = pyflat.twin(error_function, target="numba", math="exact").explain()
    told = "exact" if has_library_vectors() else "libm"
    assert [(c.name, c.whose, c.count) for c in exact.functions] == [("exp", told, 1)]
    if told == "exact":
        assert "a call for a few percent of the elements" in exact.functions[0].why
        assert "the vector code was checked against" in followed.functions[0].why
    assert [(c.name, c.whose, c.count) for c in fast.functions] == [("exp", "fast", 1)]
    assert [(c.name, c.whose, c.count) for c in called.functions] == [("erf", "libm", 1)]
    assert any('math="fast" avoids them' in reason for reason in called.slower)
    assert str(fast).splitlines()[0].endswith(f", cost {fast.cost:,} (an addition is 1)")
    assert fast.cost < exact.cost
    assert exact.arms_kept >= 1


def test_arms_for_which_lanes_wait():
    pytest.importorskip("numba")
    from pyflat.targets.numba.jit import processor

    def rare(x: float, y: float) -> float:
        return x**y + y ** math.exp(x) if x > y else y

    found = pyflat.twin(rare, target="numba", math="fast").explain()
    assert found.arms_waited == (1 if processor().vector_bytes == 64 else 0)
    assert ("lanes wait" in str(found)) == bool(found.arms_waited)
    assert pyflat.twin(plain, target="numba").explain().arms_waited == 0


def test_ints_in_32_bits():
    pytest.importorskip("numba")

    def hashed(n: int) -> int:
        h = (n * 2654435761) & 0xFFFFFFFF
        for shift in (15, 13, 16):
            h = ((h ^ (h >> shift)) * 2246822519) & 0xFFFFFFFF
        return h

    found = pyflat.twin(hashed, target="numba").explain()
    assert (found.integers, found.narrowed) == (14, 14)
    assert "  14 of 14 operations on ints use 32 bits" in str(found).splitlines()
    assert "in 32 bits" not in str(pyflat.twin(arms, target="numba").explain())
    assert "in 32 bits" not in str(pyflat.twin(hashed).explain())


def test_the_engine_chooses_the_width():
    pytest.importorskip("numba")
    from pyflat.targets.numba.jit import processor
    from pyflat.targets.numba.library import has_library_vectors

    def divided(x: float, y: float) -> float:
        return x / y

    def by_functions(x: float) -> float:
        return math.exp(x) / x

    light, expensive, functions, looping = (pyflat.twin(f, target="numba").explain()
                                            for f in (plain, divided, by_functions, arms))
    assert light.width == expensive.width == looping.width == processor().vector_bytes // 8
    many = 4 if has_library_vectors() else 2
    assert (light.registers, expensive.registers, functions.registers, looping.registers) == (4, 2, many, 4)
    functions = pyflat.twin(by_functions, target="numba", math="fast").explain()
    assert functions.registers == 4
    assert pyflat.twin(plain).explain().width == 16_384


def test_what_has_run_is_said():
    twin = pyflat.twin(lambda x: (x * x) // 3)
    assert "so far" not in str(twin.explain("i8"))
    twin(np.array([2**31, 2**32, 3]))
    found = twin.explain("i8")
    assert (found.lanes, found.replayed) == (3, 1)
    assert any("1 of 3 elements fell back to the original" in reason for reason in found.slower)


def test_the_page_has_everything():
    text = str(pyflat.twin(arms).explain())
    assert f"line {line_of('if x > y:')}" in text
    for word in ("operations", "select", "branches", "loops", "elementary functions", "(3 copies)"):
        assert word in text


def test_machine_code_can_be_seen_after_a_call():
    pytest.importorskip("numba")
    twin = pyflat.twin(lambda x: x * 3.0, target="numba")
    with pytest.raises(ValueError, match="has not run yet"):
        twin.inspect_llvm()
    twin(np.ones(100))
    assert "fmul" in twin.inspect_llvm()
    assert "mul" in twin.inspect_asm()
    with pytest.raises(ValueError, match="only the numba target"):
        pyflat.twin(plain).inspect_asm()


def test_refusals_come_through():
    with pytest.raises(FlattenError):
        pyflat.twin(lambda x: print(x)).explain()


def test_command_line(tmp_path):
    (tmp_path / "mine.py").write_text("def step(x, k=2.0):\n    return x * k if x > 0 else 0.0\n")
    spec = f"{tmp_path / 'mine.py'}:step"
    done = CliRunner().invoke(commands, ["explain", spec])
    assert done.exit_code == 0 and "x > 0" in done.output
    found = json.loads(CliRunner().invoke(commands, ["explain", spec, "--json", "--kinds", "i8,f8"]).output)
    assert found["kinds"] == "x: i8, k: f8"
    assert CliRunner().invoke(commands, ["explain", spec, "--kinds", "f8"]).exit_code == 2
