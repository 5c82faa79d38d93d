"""Targets are records: all are asked in the same way, and one is added as `pyflat.targets.target` says."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from click.testing import CliRunner

import pyflat
from pyflat.backend import registered
from pyflat.cli.main import commands
from pyflat.graphics import Language, shader
from pyflat.ir.print import format_function
from pyflat.targets import target as targets
from pyflat.targets.target import BUILT_IN, Costs, Request, Target

NAMES = [target.name for target in BUILT_IN]
PACKAGE = Path(pyflat.__file__).parent
_numbers = itertools.count(1)


def ratio(x: float, y: float) -> float:
    if x > y:
        return (x - y) / y
    return 0.5


XS = np.linspace(-2.0, 2.0, 9)
EXPECTED = [ratio(x, 1.0) for x in XS.tolist()]


# --- the records


def test_type_checkers_know_the_names_of_the_registry():
    assert get_args(targets.EngineName) == tuple(target.name for target in BUILT_IN if target.runs)
    assert get_args(Language) == targets.having("shading")
    assert get_args(targets.ShownName) == tuple(target.name for target in BUILT_IN if target.shows)


def test_names_are_different():
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("target", BUILT_IN, ids=NAMES)
def test_what_a_record_names_is_there(target):
    for field in dataclasses.fields(target):
        value = getattr(target, field.name)
        if isinstance(value, str) and ":" in value:
            module, _, name = value.partition(":")
            assert hasattr(import_module(module), name), f"{field.name}={value!r}"
    assert target.runs or target.shows
    assert not (target.python and target.show), "one text"
    assert issubclass(target.costs(), Costs)


@pytest.mark.parametrize("target", [t for t in BUILT_IN if t.runs and not t.needs or t.name == "numba"],
                         ids=lambda t: t.name)
def test_an_engine_does_what_the_protocol_says(target):
    assert np.array_equal(pyflat.twin(ratio).to(target.name)(XS, 1.0), EXPECTED)
    twin = pyflat.twin(ratio, target=target.name)
    with pytest.raises(ZeroDivisionError):
        twin(np.array([1.0, -1.0]), 0.0)
    twin(XS, 1.0)
    built = twin._last(twin.options)
    assert isinstance(built.engine.source, str)
    assert (built.split is not None) == target.parallel
    assert not target.parallel or (hasattr(built.engine, "into") and hasattr(built.engine, "shares"))
    if target.machine_code:
        assert "define" in twin.inspect_llvm()
    else:
        with pytest.raises(ValueError, match="only the numba target produces machine code"):
            twin.inspect_llvm()


@pytest.mark.parametrize("target", [t for t in BUILT_IN if t.shows], ids=lambda t: t.name)
def test_what_a_target_shows(target):
    text = pyflat.twin(ratio).show(target=target.name)
    assert text and text == pyflat.twin(ratio).show(target=target)
    if target.python:
        ast.parse(text)
        assert "ratio_suspect" in pyflat.twin(ratio).show(target=target.name, faults=True)
    else:
        with pytest.raises(ValueError, match="faults=True"):
            pyflat.twin(ratio).show(target=target.name, faults=True)
    assert str(pyflat.twin(ratio).show(target=target.name, stage="flat")).startswith("func @ratio")


@pytest.mark.parametrize("target", [t for t in BUILT_IN if t.runs], ids=lambda t: t.name)
def test_a_format_or_faults_that_a_target_does_not_have_are_refused(target):
    if not target.float32:
        with pytest.raises(pyflat.FlattenError, match=f"in float32 on the target {target.name}") as error:
            pyflat.twin(ratio, target=target.name, dtype="float32", errors="unchecked")(np.float32([1.0]), 2.0)
        assert error.value.code == "flatten/target-dtype"
    if not target.faults:
        with pytest.raises(pyflat.FlattenError, match=target.name) as error:
            pyflat.twin(ratio, target=target.name)(XS, 1.0)
        assert error.value.code == "flatten/target-unchecked"
    if not target.ufuncs:
        with pytest.raises(ValueError, match="a ufunc runs on numpy or numba"):
            _ = pyflat.twin(ratio, target=target.name).ufunc


def names_in(tree: ast.Module) -> list[int]:
    """The lines in which names of targets are compared with, or listed."""
    found = []
    literals = {id(node.slice) for node in ast.walk(tree)
                if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Literal"}
    for node in ast.walk(tree):
        if id(node) in literals:
            continue
        match node:
            case ast.Compare(left=left, comparators=others):
                sides = [left, *others]
                asked = any(getattr(side, "attr", getattr(side, "id", "")) == "target" for side in sides)
                words = {part.value for side in sides for part in ast.walk(side) if isinstance(part, ast.Constant)}
                if asked and words & set(NAMES):
                    found.append(node.lineno)
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items) | ast.Dict(keys=items):
                if sum(isinstance(item, ast.Constant) and item.value in NAMES for item in items) > 1:
                    found.append(node.lineno)
    return found


def test_chains_and_lists_are_found():
    for text in ("options.target == 'numba'", "target not in ('numpy', 'wgsl')", "X = ('numpy', 'numba')",
                 "X = {'numpy': 1, 'glsl': 2}"):
        assert names_in(ast.parse(text)), text
    assert not names_in(ast.parse("module == 'numpy' or target == 'f8' or Literal['wgsl', 'glsl'] or x in ('numpy', 'builtins')"))


def test_names_of_targets_are_kept_in_one_place():
    for file in sorted(PACKAGE.rglob("*.py")):
        if file.relative_to(PACKAGE).parts[0] != "targets":
            assert not names_in(ast.parse(file.read_text())), file


# --- names that there are not


def test_unknown_names_are_refused_with_the_list():
    for name in ("nunba", "", "glsl", "neutral"):  # the last two show texts only
        with pytest.raises(ValueError, match="'numpy', 'numba', 'dataflow', 'wgsl'"):
            pyflat.twin(ratio, target=name)
    with pytest.raises(ValueError, match="'numpy', 'numba', 'dataflow', 'wgsl', 'glsl', 'neutral'"):
        pyflat.twin(ratio).show(target="hlsl")
    with pytest.raises(TypeError, match="target=3: expected a string"):
        pyflat.twin(ratio, target=3)
    with pytest.raises(ValueError, match="target='gone': expected one of 'numpy'"):
        targets.of("gone")


def test_the_list_has_the_targets_of_entry_points(monkeypatch):
    installed(monkeypatch, "walker", None)
    with pytest.raises(ValueError, match="did you mean 'walker'.*'wgsl', 'walker'"):
        pyflat.twin(ratio, target="walkr")


def test_unknown_shading_languages_are_refused():
    made = shader(ratio)
    for language in get_args(Language):
        assert made.fragment(language)
    with pytest.raises(ValueError, match="language='hlsl': expected one of 'wgsl', 'glsl'"):
        made.fragment("hlsl")


def test_the_command_line_has_the_names_of_the_registry():
    told = CliRunner().invoke(commands, ["show", f"{__file__}:ratio", "--target", "hlsl"])
    assert told.exit_code == 2 and all(repr(name) in told.output for name in targets.having("shows"))
    told = CliRunner().invoke(commands, ["verify", f"{__file__}:ratio", "--target", "wgsl"])
    assert told.exit_code == 2 and all(repr(name) in told.output for name in targets.verified())


def test_settings_import_no_engine():
    code = ("import sys, pyflat; pyflat.set_defaults(target='numba'); pyflat.set_defaults(target='wgsl'); "
            "print([m for m in ('numba', 'llvmlite', 'libcst', 'pyflat.targets.numba.engine', "
            "'pyflat.targets.wgsl.shaders', 'pyflat.targets.dataflow') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- other people's


class Negated:
    """An engine that says less than NumPy's, and shows that it has run."""

    made: list[Request] = []

    def __init__(self, request: Request):
        Negated.made.append(request)
        self.inner = import_module("pyflat.targets.numpy.engine").engine(request)

    @property
    def source(self) -> str:
        return "negated"

    def __call__(self, lanes, n):
        results, suspect = self.inner(lanes, n)
        return [found if found.dtype == bool else -found for found in results], suspect


def listed(request: Request) -> str:
    return "listed\n" + format_function(request.function)


def foreign(**given) -> Target:
    """A target with a name of its own: names are for the whole process."""
    return Target(f"negated_{next(_numbers)}", Negated, listed, **given)


def installed(monkeypatch, name, loaded):
    point = metadata.EntryPoint(name, "somewhere:something", registered.GROUP)
    monkeypatch.setattr(registered.metadata, "entry_points", lambda group: [point] if group == registered.GROUP else [])
    monkeypatch.setattr(metadata.EntryPoint, "load", lambda self: loaded)


def check_negated(twin):
    assert np.array_equal(twin(XS, 1.0), np.negative(EXPECTED))
    with pytest.raises(ZeroDivisionError):
        twin(np.array([1.0, -1.0]), 0.0)
    assert "cost" in str(twin.explain())


def test_an_object_is_a_target():
    target = foreign()
    check_negated(pyflat.twin(ratio).to(target))
    check_negated(pyflat.twin(ratio, target=target))
    assert pyflat.twin(ratio).to(target) is pyflat.twin(ratio).to(target)
    assert pyflat.twin(ratio).to(target).options.target == target.name
    assert pyflat.twin(ratio).show(target=target).startswith("listed\nfunc @ratio")
    with pyflat.options(target=target):
        assert np.array_equal(pyflat.twin(ratio)(XS, 1.0), np.negative(EXPECTED))
    with pytest.raises(ValueError, match="expected one of"):
        pyflat.twin(ratio, target=Target(f"silent_{next(_numbers)}", show=listed))


def test_an_entry_point_is_a_target(monkeypatch):
    installed(monkeypatch, "walker", foreign())
    check_negated(pyflat.twin(ratio).to(pyflat.backend.target("walker")))
    check_negated(pyflat.twin(ratio, target="walker"))
    assert pyflat.twin(ratio).show(target="walker").startswith("listed\nfunc @ratio")
    monkeypatch.setenv("PYFLAT_TARGET", "walker")
    assert np.array_equal(pyflat.twin(ratio)(XS, 1.0), np.negative(EXPECTED))


def test_an_entry_point_of_a_function_shows_nothing(monkeypatch):
    installed(monkeypatch, "walker", lambda flat: None)
    with pytest.raises(ValueError, match="target='walker': expected one of"):
        pyflat.twin(ratio).show(target="walker")


def root(x: float, n: int) -> float:
    while n > 1:
        x, n = x / 2.0, n // 2
    return x


@pytest.mark.parametrize("takes", [False, True])
def test_options_reach_targets_that_take_them(takes):
    target = foreign(max_trips=takes)
    twin = pyflat.twin(root, target=target, max_trips=3)
    if takes:
        with pytest.raises(pyflat.TripLimitError):
            twin(np.array([8.0]), 100)
    else:
        with pytest.raises(pyflat.FlattenError, match="max_trips=3 does not go with root, on the target"):
            twin(np.array([8.0]), 100)
        assert twin.with_options(max_trips=None)(np.array([8.0]), 100) == [-8.0 / 2**6]
    assert Negated.made[-1].max_trips == (3 if takes else None)
    assert not Negated.made[-1].unchecked


def test_a_missing_library_is_named():
    target = foreign(needs=("no_such_library",))
    message = f'the target "{target.name}" needs no_such_library.*pip install no_such_library'
    with pytest.raises(ImportError, match=message) as error:
        pyflat.twin(ratio, target=target)(XS, 1.0)
    assert error.value.name == "no_such_library"


def test_two_targets_of_one_name_are_refused(monkeypatch):
    first = foreign()
    targets.register(first)
    assert targets.register(first) == first.name
    for second in (dataclasses.replace(first, parallel=True), dataclasses.replace(BUILT_IN[0], ufuncs=False)):
        with pytest.raises(ValueError, match=f"another target '{second.name}'"):
            pyflat.twin(ratio, target=second)
    installed(monkeypatch, "walker", first)
    with pytest.raises(ValueError, match="another target 'walker'"):
        targets.register(dataclasses.replace(first, name="walker"))
