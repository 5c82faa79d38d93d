"""Memory in the IR: printed, parsed back, validated, interpreted."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pyflat.errors import InternalError
from pyflat.ir.interp import LaneFault, run
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.validate import validate

SQUARES = """func @f(%a: mem, %n: i8, %b: mem, %k: i8) -> (mem) structured @return {
  %i = index %k, %n : i8
  %x = load %a, %i {array = "a"} {dtype = "f4"} : f8
  %y = mul %x, %x : f8
  %z = rounded %y {dtype = "f4"} : f8
  %c = store %b, %i, %z {array = "b"} {dtype = "f4"} : mem
  yield %c
}
"""


def parsed(text: str):
    fn = parse_function(text)
    validate(fn)
    return fn


def test_it_is_printed_as_it_was_read():
    text = format_function(parsed(SQUARES))
    assert re.sub("    ;.*", "", text) == SQUARES
    assert re.findall("; (.*)", text) == ["a[%k]", "b[%k]"]
    assert format_function(parsed(text)) == text


def test_a_store_writes_the_array_of_the_caller():
    a, b = np.array([1.5, 0.1, 3.0], np.float32), np.zeros(3, np.float32)
    run(parsed(SQUARES), [{"a": a}, 3, {"b": b}, -2])
    assert b.tolist() == [0.0, float(np.float32(0.1) * np.float32(0.1)), 0.0]


def test_an_index_outside_faults_as_in_python():
    with pytest.raises(LaneFault) as found:
        run(parsed(SQUARES), [{"a": np.zeros(3)}, 3, {"b": np.zeros(3)}, 3])
    assert found.value.fault.type == "IndexError"


def test_an_array_that_is_made_has_its_shape_and_values():
    fn = parsed("""func @f(%n: i8) -> (mem) structured @return {
  %m = alloc %n, 2, 7 {array = "t"} {dtype = "i4"} : mem
  yield %m
}
""")
    (made,) = run(fn, [3]).values
    assert made["t"].dtype == np.int32 and made["t"].tolist() == [[7, 7]] * 3


def test_an_int_that_leaves_its_dtype_faults():
    fn = parsed("""func @f(%n: i8) -> (i8) structured @return {
  %m = fitted %n {dtype = "u1"} : i8
  yield %m
}
""")
    assert run(fn, [255]).values == (255,)
    with pytest.raises(LaneFault):
        run(fn, [256])


@pytest.mark.parametrize("line", ["%x = load %a, %k : f8", '%x = load %a, %k {array = "a"} : f8',
                                  '%x = load %k, %k {array = "a"} {dtype = "f8"} : f8'])
def test_an_access_without_its_array_is_invalid(line):
    fn = parse_function(f"func @f(%a: mem, %k: i8) -> (f8) structured @return {{\n  {line}\n  yield %x\n}}\n")
    with pytest.raises(InternalError):
        validate(fn)
