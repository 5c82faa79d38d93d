"""forward_stores: what was just stored is not loaded, and what the next store overwrites is not stored."""

from __future__ import annotations

import numpy as np
import pytest

from pyflat.ir.interp import LaneFault, run
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.validate import validate
from pyflat.passes.forward_stores import forward_stores

ACCESS = '{array = "a"} {dtype = "f8"}'


def forwarded(lines: str, dtype: str = "f8", *, kind: str = "f8", tangled: tuple[str, ...] = ()):
    """Of lines with LOAD and STORE of a memory %a, an index %i, %n elements and numbers %x and %y."""
    access = f'{{array = "a"}} {{dtype = "{dtype}"}}'
    lines = lines.replace("LOAD", access + f" : {kind}").replace("STORE", access + " : mem").replace("OTHER", (
        access + " : mem").replace('"a"', '"b"'))
    fn = parse_function(f"func @f(%a: mem, %i: i8, %n: i8, %x: {kind}, %y: {kind}) -> (mem) structured @return {{\n{lines}}}\n")
    validate(fn)
    found = forward_stores(fn, tangled=tangled)
    validate(found)
    return fn, found, format_function(found)


def results(fn, at: int, x, y, dtype: str = "f8"):
    array = np.arange(4).astype(dtype)
    run(fn, [{"a": array, "b": array[::-1]}, at, 4, x, y])
    return array.tobytes()


TWICE = """  %p = index %i, %n : i8
  %b = store %a, %p, %x STORE
  %z = load %b, %p LOAD
  %w = add %z, %y : f8
  %c = store %b, %p, %w STORE
  yield %c
"""


def test_a_load_of_what_was_stored_is_that_and_the_first_store_goes():
    fn, found, text = forwarded(TWICE)
    assert "load" not in text and text.count("store") == 1
    assert "select true, %x, %x" in text  # a number of NumPy's
    for at in (-1, 2):
        assert results(fn, at, 1.5, 2.0) == results(found, at, 1.5, 2.0)


@pytest.mark.parametrize("between", [
    "  %q = index %i, %n : i8\n", "  %q = sqrt %x : f8\n", "  %q = load %b, 0 LOAD\n", "  %q = truediv %x, %y : f8\n"])
def test_a_store_stays_where_it_may_be_seen(between):
    lines = TWICE.replace("  %w = ", between + "  %w = ")
    fn, found, text = forwarded(lines)
    assert text.count("store") == 2
    assert results(fn, 1, 1.5, 2.0) == results(found, 1, 1.5, 2.0)


def test_partial_writes_are_those_of_the_original():
    fn, found, _ = forwarded(TWICE.replace("  %w = ", "  %q = sqrt %y : f8\n  %w = "))
    for each in (fn, found):
        array = np.zeros(4)
        with pytest.raises(LaneFault):
            run(each, [{"a": array}, 1, 4, 7.0, -1.0])
        assert array[1] == 7.0


@pytest.mark.parametrize(("first", "second", "taken"), [
    ("0", "1", True), ("-1", "-2", True), ("0", "-1", False), ("%i", "%n", False), ("%i", "1", False)])
def test_stores_between_have_to_be_to_other_elements(first, second, taken):
    lines = f"""  %p = index {first}, %n : i8
  %q = index {second}, %n : i8
  %b = store %a, %p, %x STORE
  %c = store %b, %q, %y STORE
  %z = load %c, %p LOAD
  %d = store %c, 2, %z STORE
  yield %d
"""
    assert ("load" not in forwarded(lines)[2]) == taken
    assert "load" in forwarded(lines, tangled=("a",))[2]


def test_another_array_may_have_the_same_elements():
    lines = """  %b = store %a, 1, %x STORE
  %c = store %b, 1, %y OTHER
  %z = load %c, 1 LOAD
  %d = store %c, 2, %z STORE
  yield %d
"""
    fn, found, text = forwarded(lines)
    assert "load" in text
    assert results(fn, 1, 1.5, 2.0) == results(found, 1, 1.5, 2.0)


def test_equal_sums_are_one_element():
    lines = """  %k = add %i, 1 : i8
  %j = sub %k, 1 : i8
  %p = index %i, %n : i8
  %q = index %j, %n : i8
  %b = store %a, %p, %x STORE
  %z = load %b, %q LOAD
  %c = store %b, 0, %z STORE
  yield %c
"""
    fn, found, text = forwarded(lines)
    assert "load" not in text
    assert results(fn, 1, 1.5, 2.0) == results(found, 1, 1.5, 2.0)


@pytest.mark.parametrize(("number", "dtype", "kind", "taken"), [
    ("%x", "f4", "f8", False), ("%r", "f4", "f8", True), ("0.1", "f4", "f8", False), ("0.5", "f4", "f8", True),
    ("%x", "u1", "i8", False), ("%r", "u1", "i8", True), ("300", "u1", "i8", False), ("3", "u1", "i8", True),
    ("-1", "u8", "i8", True), ("%x", "u8", "i8", True), ("%x", "b1", "b", True), ("%x", "i8", "i8", True)])
def test_the_number_is_what_the_dtype_leaves_of_it(number, dtype, kind, taken):
    made = {"f8": f'  %r = rounded %x {{dtype = "{dtype}"}} : f8\n', "i8": f'  %r = fitted %x {{dtype = "{dtype}"}} : i8\n'}
    lines = made.get(kind, "") * ("%r" == number) + f"""  %b = store %a, 1, {number} STORE
  %z = load %b, 1 LOAD
  %c = store %b, 2, %z STORE
  yield %c
"""
    fn, found, text = forwarded(lines, dtype, kind=kind)
    assert ("load" not in text) == taken
    x = {"f8": 0.1, "i8": 7, "b": True}[kind]
    native = {"u8": "u8", "b1": "?"}.get(dtype, dtype)
    assert results(fn, 0, x, x, native) == results(found, 0, x, x, native)


def test_a_number_of_numpys_needs_no_mark():
    text = forwarded(TWICE.replace("%b = store %a, %p, %x STORE", "%u = load %a, 0 LOAD\n  %v = mul %u, 2.0 : f8\n"
                                   "  %b = store %a, %p, %v STORE"))[2]
    assert "select" not in text and text.count("load") == 1


def test_what_has_no_store_is_the_same_function():
    fn, found, _ = forwarded("  %z = load %a, 0 LOAD\n  yield %a\n")
    assert found is fn
