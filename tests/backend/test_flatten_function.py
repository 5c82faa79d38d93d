"""flatten_function: parameters, refusals by choice, faults, the walk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import pyflat
from pyflat.backend import FlattenError, flatten_fold, flatten_function
from pyflat.ir.shape import Fixed


def shade(x, t):
    if x > t:
        return (x - t) / x
    return 0.0


class Point(NamedTuple):
    x: float
    y: float


@dataclass
class Light:
    place: Point
    on: bool
    steps: int = 3


def lit(p: Point, light: Light, scale: float = 2.0, mode: str = "plain") -> Point:
    if light.on and mode == "plain":
        return Point(p.x * scale, p.y + light.place.y)
    return p


def test_the_walk_has_each_node_after_its_inputs():
    flat = flatten_function(shade)
    seen = set()
    for position, node in enumerate(flat.nodes):
        assert node.index == position
        assert seen.issuperset(node.inputs)
        seen.add(node)
    assert [n.opcode for n in flat.nodes] == ["param", "param", "gt", "sub", "truediv", "const", "select"]
    assert [n.name for n in flat.params] == ["x", "t"]
    assert flat.results == (flat.nodes[-1],) and flat.result_names == ("",)
    assert flat.counts() == {"gt": 1, "select": 1, "sub": 1, "truediv": 1} and flat.size == 4


def test_spans_are_places_in_the_source():
    flat = flatten_function(shade)
    line = shade.__code__.co_firstlineno
    assert {n.opcode: n.span.line - line for n in flat.nodes if n.span} == {"gt": 1, "sub": 2, "truediv": 2}


def test_records_in_and_out():
    flat = flatten_function(lit)
    assert [(n.attrs["argument"], n.attrs["path"], n.kind) for n in flat.params] == [
        ("p", "x", "f8"), ("p", "y", "f8"), ("light", "place.x", "f8"), ("light", "place.y", "f8"), ("light", "on", "b"),
        ("light", "steps", "i8"), ("scale", "", "f8")]  # fmt: skip
    assert flat.result_names == ("x", "y")
    given = (Point(1.0, 2.0), Light(Point(0.0, 5.0), True), 3.0)
    assert flat.run(*given) == lit(*given) == Point(3.0, 7.0)


@dataclass
class Out:
    r: float
    g: float


def paint(x: float, out: Out):
    if x > 0.5:
        out.r = x
    out.g = 2.0 * x


def test_what_a_function_writes_are_results():
    flat = flatten_fold(flatten_function(paint))
    assert flat.result_names == ("out_r", "out_g")
    assert flat.counts() == {"gt": 1, "mul": 1, "select": 1}
    for x in (0.25, 0.75):
        out = Out(9.0, 9.0)
        paint(x, out)
        assert flat.run_leaves([x, 9.0, 9.0]).values == (out.r, out.g)


def test_arrays_dicts_and_complex_numbers_are_results():
    array = flatten_function(lambda x: np.array([x, 2.0 * x]))
    assert array.result_names == ("[0]", "[1]") and array.run(1.5).tolist() == [1.5, 3.0]
    assert flatten_function(lambda x: {"low": x, "high": x + 1.0}).result_names == ("low", "high")
    number = flatten_function(lambda x: complex(x, 2.0) * 1j)
    assert number.result_names == ("real", "imag") and number.run(3.0) == complex(3.0, 2.0) * 1j


def test_a_default_that_is_no_number_is_a_constant():
    flat = flatten_function(lit)
    assert "mode" not in flat.arguments
    other = flatten_function(lit, static={"mode": "off"})
    assert other.arguments["mode"] == Fixed("off")
    assert other.size == 0


def test_arguments_by_description_and_by_example():
    def f(a, b, c):
        return a[0] + a[1] * b + c.x

    flat = flatten_function(f, arguments={"a": (1.0, 2), "b": "int", "c": Point})
    assert [n.kind for n in flat.params] == ["f8", "i8", "i8", "f8", "f8"]
    assert flat.run((0.5, 3), 4, Point(1.0, 0.0)) == 13.5


def test_kinds_in_order():
    flat = flatten_function(shade, kinds="i8,f8")
    assert [n.kind for n in flat.params] == ["i8", "f8"]
    with pytest.raises(ValueError, match=r"1 kinds for 2 parameters \(x, t\)"):
        flatten_function(shade, kinds="i8")
    with pytest.raises(ValueError, match="'f4' is not a kind"):
        flatten_function(shade, kinds="f4,f8")


def test_unknown_names_are_refused():
    for given in ({"static": {"z": 1}}, {"arguments": {"z": 1.0}}):
        with pytest.raises(FlattenError) as error:
            flatten_function(shade, **given)
        assert error.value.code == "flatten/static-name"


def test_what_is_no_argument():
    with pytest.raises(TypeError, match="a constant goes into static="):
        flatten_function(shade, arguments={"x": object()})


def unbounded(x):
    while x > 1.0:
        x = x / 2.0
    return x


def test_an_error_by_choice():
    with pytest.raises(FlattenError) as error:
        flatten_function(unbounded)
    assert error.value.code == "flatten/while-unbounded"
    flat = flatten_function(unbounded, raises=False)
    assert not flat.ok and flat.error.code == "flatten/while-unbounded" and flat.name == "unbounded"
    with pytest.raises(FlattenError):
        flat.nodes  # noqa: B018
    assert str(flat) == str(flat.error)
    assert flatten_function(shade, raises=False).ok


@pytest.mark.parametrize("fn", [
    lambda x: print(x), lambda x: input(str(x)), lambda x: open(str(x)),
])
def test_boundaries_are_loud(fn):
    assert not flatten_function(fn, raises=False).ok


def recursive(x):
    return recursive(x - 1.0) if x > 0.0 else x


def test_recursion_is_refused():
    assert flatten_function(recursive, raises=False).error.code == "flatten/recursion"


def test_faults_dropped_masked_and_kept():
    dropped, masked, kept = (flatten_fold(flatten_function(shade, faults=f)) for f in ("drop", "mask", "keep"))
    assert dropped.counts().keys() == {"gt", "sub", "truediv", "select"}
    assert masked.result_names == ("", "suspect")
    assert masked.run_leaves([0.0, -1.0]).values[1] is True and masked.run_leaves([2.0, 1.0]).values == (0.5, False)
    (fault,) = kept.effects
    assert fault.opcode == "fault" and fault.attrs["fault"].type == "ZeroDivisionError" and fault.kind == "none"
    assert kept.run_leaves([0.0, -1.0]).suspect and not kept.run_leaves([2.0, 1.0]).suspect
    with pytest.raises(ValueError, match="faults='ignore'"):
        flatten_function(shade, faults="ignore")


def total(*values):
    return values[0] + values[1] * 2.0


def test_variable_arguments_are_a_tuple():
    assert flatten_function(total, arguments={"values": (1.0, 2.0)}).run(1.0, 3.0) == 7.0


def test_a_function_that_always_raises_is_refused():
    for fn in (total, lambda x: [x][3]):
        assert flatten_function(fn, raises=False).error.code == "flatten/result-kind"


def test_a_twin_is_its_original():
    assert flatten_function(pyflat.twin(shade)).counts() == flatten_function(shade).counts()


def test_methods_and_partials():
    from functools import partial

    assert flatten_function(partial(shade, t=0.5)).run(1.0) == 0.5

    class Curve:
        k = 2.0

        def value(self, x):
            return x * self.k

    assert flatten_function(Curve().value).run(3.0) == 6.0


def test_nothing_is_folded_before_the_fold():
    flat = flatten_function(lambda x: x * 1.0)
    assert flat.size == 1 and flatten_fold(flat).size == 0
    assert flatten_function(lambda x: x * 1.0, strict_fold=True).size == 0


def test_undefined_values_are_zeros_in_the_walk():
    def f(x, c: bool):
        if c:
            y = x
        if c:
            return y
        return 0.0

    flat = flatten_function(f)
    assert not any(n.opcode == "const" and n.attrs["value"] is None for n in flat.nodes)
    assert flat.run(2.0, True) == 2.0


def test_a_step_of_ones_own_is_validated():
    from pyflat.errors import InternalError
    from pyflat.ir.edit.copying import copy_function

    flat = flatten_function(shade)
    broken = copy_function(flat.ir)
    broken.flat_block.ops.reverse()
    with pytest.raises(InternalError, match="invariant 4"):
        flat.with_ir(broken, "mine")
    assert flat.with_ir(copy_function(flat.ir), "mine").steps == ("flatten", "mine")


def test_ints_bools_and_gather():
    def pick(i: int, on: bool) -> float:
        table = (1.0, 2.0, 4.0)
        return table[i % 3] if on else math.floor(2.5) + 0.0

    flat = flatten_fold(flatten_function(pick))
    (node,) = [n for n in flat.nodes if n.opcode == "gather"]
    assert node.attrs["table"] == (1.0, 2.0, 4.0)
    assert flat.run(5, True) == 4.0 and flat.run(5, False) == 2.0
