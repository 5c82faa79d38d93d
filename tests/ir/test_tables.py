"""Long tuples as tables: exactly one type, the very bits, and one number for tables with the same bits."""

from __future__ import annotations

import marshal
import math
from fractions import Fraction

import numpy as np
import pytest

from pyflat.analysis.ranges import Interval, of_table
from pyflat.ir.parse import ParseError, parse_function
from pyflat.ir.print import MANY, format_function
from pyflat.ir.tables import LONG, array_of, table_of
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN

FLOATS = tuple([k * 0.125 - 3.0 for k in range(LONG)])
INTS = tuple(range(-50, LONG))


class Sub(float):
    pass


class Whole(int):
    pass


@pytest.mark.parametrize("other", [
    1, True, None, "g", b"12345678", Sub(1.0), np.float64(1.0), Fraction(1), 1j, (1.0,), [1.0]], ids=repr)
@pytest.mark.parametrize("at", [0, 1, LONG - 1])
def test_what_is_not_all_floats_is_no_table(other, at):
    assert table_of((*FLOATS[:at], other, *FLOATS[at + 1:])) is None


@pytest.mark.parametrize("other", [1.0, True, None, "iiii", Whole(1), np.int32(1), INT_MAX + 1, INT_MIN - 1], ids=repr)
def test_what_is_not_all_ints_of_64_bits_is_no_table(other):
    assert table_of((*INTS, other)) is None


def test_letters_inside_of_strings_are_no_entries():
    """9 bytes for each entry, as if all were floats."""
    value = (*FLOATS, "g" * 68, *[None] * 8)
    assert len(marshal.dumps(value, 2)) == 5 + 9 * len(value)
    assert table_of(value) is None


def test_short_tuples_and_other_types_are_no_tables():
    for value in (FLOATS[1:], [*FLOATS], np.array(FLOATS), "x" * 200, None):
        assert table_of(value) is None


@pytest.mark.parametrize(("numbers", "kind", "dtype"), [
    ((*FLOATS, math.nan, math.inf, -0.0, 5e-324), FLOAT, "f8"), (INTS, INT, "i8"),
    ((*INTS, INT_MAX, INT_MIN), INT, "i8"), ((True, False) * LONG, BOOL, "?")])
def test_a_table_has_the_bits_of_its_numbers(numbers, kind, dtype):
    table = table_of(numbers)
    assert table is not None and table.kind is kind
    for wanted in {dtype, "f4" if kind is FLOAT else "i8"}:
        assert array_of(numbers, wanted).tobytes() == np.array(numbers, wanted).tobytes()
    assert table.array.dtype == np.dtype(dtype)


def test_an_array_of_a_table_is_its_owners():
    array_of(FLOATS, "f8")[0] = 7.0
    assert array_of(FLOATS, "f8")[0] == FLOATS[0]


def test_equal_bits_are_one_number():
    again, zeros, minus = tuple([x + 0.0 for x in FLOATS]), (0.0,) * LONG, (-0.0,) * LONG
    numbers = [table_of(t).number for t in (FLOATS, again, zeros, minus, (0,) * LONG, (False,) * LONG)]
    assert numbers[0] == numbers[1] and len(set(numbers)) == 5


@pytest.mark.parametrize("count", [3, LONG])
def test_the_interval_of_a_table(count):
    for numbers, wanted in [((-1.5, 4.0), Interval(-1.5, 4.0)), ((math.nan, 2.0), Interval(2.0, 2.0, True)),
                            ((math.nan,), None), ((-7, 9), Interval(-7, 9)), ((math.inf,), Interval(math.inf, math.inf))]:
        found = of_table(numbers * count)
        assert found == wanted
        assert found is None or type(found.low) is type(numbers[-1])


def looked_up(table: tuple, kind: str) -> str:
    """The text of a function that reads a table."""
    fn = parse_function(f"func @f(%i: i8) -> ({kind}) flat @return {{\n  %0 = gather %i {{table = (0, 1)}} : {kind}\n  yield %0\n}}")
    fn.flat_block.ops[0].attrs = (("table", table),)
    return format_function(fn)


@pytest.mark.parametrize(("numbers", "kind"), [
    ((math.nan, -0.0, math.inf, *FLOATS), "f8"), ((INT_MAX, INT_MIN, *INTS), "i8"), ((True, False, *(True,) * LONG), "b")])
def test_a_table_of_many_numbers_is_written_as_its_bytes(numbers, kind):
    numbers = numbers * (MANY // LONG)
    text = looked_up(numbers, kind)
    assert len(text) < 12 * len(numbers)
    again = parse_function(text).flat_block.ops[0].attr("table")
    assert marshal.dumps(again, 2) == marshal.dumps(numbers, 2)
    for broken in (text.replace("==", "="), text.replace('" "', '" "!'), text.replace('"<', '"?<').replace('"|', '"?|')):
        if broken != text:
            with pytest.raises(ParseError, match="no table"):
                parse_function(broken)
