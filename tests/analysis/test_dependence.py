"""Which iterations meet in memory: kernels as scientists write them, and random loop nests against runs of them."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import numpy as np
import pytest

import pyflat
from pyflat.analysis import dependence
from pyflat.analysis.parallel_loops import is_around_ragged, meeting_arrays, nest_of
from pyflat.frontend.kernels import specialise_kernel
from pyflat.inspection.source_map import SourceMap
from pyflat.ir.loops import recognise_counted
from pyflat.ir.memory import ArrayArgument
from pyflat.ir.shape import Leaf
from pyflat.ir.types import FLOAT, INT
from pyflat.passes import pipelines
from tests.analysis import affine_kernels
from tests.analysis.affine_programs import LENGTH, Program, Run

KERNELS = [each for each in vars(affine_kernels).values() if inspect.isfunction(each)]
MISSED = {"flat_rows": 1}
"""Kernel -> loops of which the analysis does not find that they are parallel."""


def kernel_of(function):
    text = re.sub(r"(\w+)\.shape\[", "(", inspect.getsource(function))
    arguments = {}
    for number, name in enumerate(inspect.signature(function).parameters):
        place = re.search(rf"\b{name}\[([^\]]*)\]", text)
        arguments[name] = ArrayArgument("f8", place[1].count(",") + 1, number) if place else Leaf(
            FLOAT if name == "r" else INT)
    kernel = specialise_kernel(function, arguments)
    kernel.function = pipelines.run(kernel.function, pipelines.kernel(kernel))
    return kernel


def kernel_from(program):
    arguments = {"a": ArrayArgument("f8", 2, 0), "b": ArrayArgument("f8", 2, 1), **dict.fromkeys("nmp", Leaf(INT))}
    kernel = specialise_kernel(program.function(), arguments)
    kernel.function = pipelines.run(kernel.function, pipelines.kernel(kernel))
    return kernel


def apart(kernel, around):
    """Line -> whether iterations of the loop in it never meet in memory."""
    return {found.place.line: recognise_counted(found.node) is not None and not meeting_arrays(
        found.node, recognise_counted(found.node), around) for found in SourceMap(kernel.function).loops}


def parallel(kernel):
    """The lines of the loops that are lanes, or could be if the loops in them were none."""
    around = kernel.surroundings()
    lines = set()
    for found in SourceMap(kernel.function).loops:
        counted = recognise_counted(found.node)
        if counted is not None and (nest_of(found.node, around) or is_around_ragged(found.node, counted, around)):
            lines.add(found.place.line)
    return lines


@pytest.mark.parametrize("function", KERNELS, ids=lambda each: each.__name__)
def test_a_kernel_as_scientists_write_it(function, monkeypatch):
    monkeypatch.setattr(dependence, "MOST_OPERATIONS", 0)  # no limit: what isl refuses is its syntax
    lines, first = inspect.getsourcelines(function)
    kernel = kernel_of(function)
    expected = {first + k for k, line in enumerate(lines) if line.rstrip().endswith("# lanes")}
    assert parallel(kernel) == expected
    assert sum("missed" in line for line in lines) == MISSED.get(function.__name__, 0)


@pytest.mark.parametrize("seed", range(150))
def test_loops_whose_iterations_meet_are_never_taken_for_parallel(seed):
    program = Program(seed)
    runs = [Run(program, numbers) for numbers in ((5, 6, 1), (8, 4, 2), (7, 9, 0), (3, 3, 5))]
    meeting = set().union(*(run.meeting for run in runs if not run.wraps))
    kernel = kernel_from(program)
    found = apart(kernel, kernel.surroundings())
    assert not meeting & {line for line, is_apart in found.items() if is_apart}, program.source


@pytest.mark.parametrize("seed", range(2000, 2040))
def test_a_random_nest_has_the_bits_of_its_loops(seed):
    function = Program(seed).function()
    twin = pyflat.twin(function, target="numpy")
    for numbers in ((5, 6, 1), (7, 9, 0), (12, 39, -2), (0, 0, 0), (6, 7, -1)):
        seen = []
        for each in (function, twin):
            r = np.random.default_rng(3)
            a, b = r.random((LENGTH, LENGTH)), r.random((LENGTH, LENGTH))
            try:
                each(a, b, *numbers)
                raised = ""
            except IndexError as error:
                raised = str(error)
            seen.append((a.tobytes(), b.tobytes(), raised))
        assert seen[0] == seen[1]


def test_lu_on_numpy_is_slices():
    twin = pyflat.twin(affine_kernels.lu, target="numpy")
    twin(np.eye(5) + 1.0)
    assert "for j in" not in twin.source and "a[start1:stop1, k + 1:a.shape[0]] = " in twin.source


def test_beyond_the_limit_a_loop_is_in_order(monkeypatch):
    monkeypatch.setattr(dependence, "MOST_OPERATIONS", 10)
    twin = pyflat.twin(affine_kernels.reverse_in_place, target="numpy")
    a = np.arange(7.0)
    twin(a)
    assert a.tolist() == [6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]
    (loop,) = twin.explain().loops
    assert (loop.parallel, loop.why) == (False, "whether iterations meet in `a` was not found within the limit")


def test_many_accesses_are_not_asked_of(monkeypatch):
    monkeypatch.setattr(dependence, "MOST_PAIRS", 2)
    kernel = kernel_of(affine_kernels.reverse_in_place)
    assert not parallel(kernel)


def test_a_loop_around_loops_of_differing_lengths_stays_in_order():
    twin = pyflat.twin(affine_kernels.distances, target="numpy")
    twin(np.arange(4.0), np.zeros((4, 4)))
    outer, inner = twin.explain().loops
    assert (outer.parallel, inner.parallel) == (False, True)
    assert outer.why == "the loops in it are vectorised, and their lengths vary by iteration"


def test_isl_is_imported_where_the_quick_test_leaves_something_open():
    program = """
import sys, numpy as np, pyflat
from tests.analysis import affine_kernels as kernels
def imported():
    return "islpy" in sys.modules
assert not imported()
pyflat.twin(kernels.seven_points, target="numpy")(np.ones((4, 4, 4)), np.ones((4, 4, 4)))
pyflat.twin(kernels.gauss_seidel, target="numpy")(np.ones((4, 4)))
assert not imported()
pyflat.twin(kernels.reverse_in_place, target="numpy")(np.ones(4))
assert imported()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
