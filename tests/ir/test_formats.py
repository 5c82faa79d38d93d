"""Float formats: rounding, ints that become floats, what operations mean in float32, and functions that say so."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest

import pyflat
from pyflat.analysis.intervals import Interval, Intervals
from pyflat.errors import InternalError
from pyflat.ir.build import const
from pyflat.ir.formats import F4, F8
from pyflat.ir.interp import LaneFault, run
from pyflat.ir.nodes import Op, Param
from pyflat.ir.ops import OPERATIONS, OutOfLane
from pyflat.ir.parse import ParseError, parse_function
from pyflat.ir.print import format_function
from pyflat.ir.semantics import meaning
from pyflat.ir.types import FLOAT, INT
from pyflat.ir.validate import validate
from pyflat.passes.demote_floats import demote_floats
from pyflat.passes.fold_constants import fold_constants
from pyflat.passes.pipelines import flatten_ir
from pyflat.testing import same_bits

NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 2.5, -7.25, 1e-45, -3e-45, 1e-38, 1e-30, 1e30, F4.largest, -F4.largest, 2.0**24, 2.0**63,
           math.inf, -math.inf, math.nan)
NARROW = tuple(map(F4.rounded, NUMBERS))


def test_numbers_are_rounded_as_numpy_rounds_them():
    beside = [math.nextafter(x, y) for x in NUMBERS for y in (math.inf, -math.inf)]
    ties = [float(np.float32(x)) + float(np.spacing(np.float32(x))) / 2 for x in (1.0, 1.5, 3.0, 1e-40, 2.0**100)]
    with np.errstate(over="ignore"):
        for x in (*NUMBERS, *beside, *ties, 3.4028235677973366e38, 3.4028235677973362e38, 1e300, -1e300):
            assert same_bits(F4.rounded(x), float(np.float32(x))), x
            assert F8.rounded(x) is x
    assert F4.holds(0.5) and F4.holds(math.nan) and not F4.holds(0.1) and F8.holds(0.1)


def test_there_is_one_object_for_each_format():
    assert pickle.loads(pickle.dumps(F4)) is F4 and copy.deepcopy([F8])[0] is F8 and repr(F4) == "F4"


def test_ints_are_rounded_once():
    near_ties = [2**e + (1 + 2 * odd) * 2 ** (e - 24) + d for e in range(24, 62) for odd in (0, 1) for d in (-1, 0, 1)]
    numbers = [0, 1, -1, 2**24 + 1, 2**63 - 1, -(2**63), *near_ties, *[-n for n in near_ties]]
    found = np.array(numbers, np.int64).astype(np.float32)
    assert [F4.from_int(n) for n in numbers] == found.tolist()
    assert any(F4.from_int(n) != F4.rounded(float(n)) for n in numbers)


@pytest.mark.parametrize("opcode", ["add", "sub", "mul", "truediv", "floordiv", "mod", "fmod", "copysign", "nextafter"])
def test_arithmetic_is_numpys(opcode):
    names = {"sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder"}
    ufunc = getattr(np, names.get(opcode, opcode))
    for x, y in itertools.product(NARROW, repeat=2):
        if opcode == "copysign" and y != y:
            continue
        with np.errstate(all="ignore"):
            expected = float(ufunc(np.float32(x), np.float32(y)))
        assert same_bits(meaning(opcode, F4)(x, y), expected), (x, y)


@pytest.mark.parametrize("opcode", ["sqrt", "floor", "ceil", "trunc", "rint", "neg", "abs"])
def test_functions_that_are_exact_are_numpys(opcode):
    ufunc = getattr(np, {"neg": "negative"}.get(opcode, opcode))
    for x in NARROW:
        with np.errstate(all="ignore"):
            assert same_bits(meaning(opcode, F4)(x), float(ufunc(np.float32(x)))), x


def test_float_operations_are_total_and_give_numbers_of_float32():
    for name, row in OPERATIONS.items():
        for kinds, result in row.signatures:
            if result is not FLOAT or name in ("gather", "np_dot", "part", "call", "ufunc") or set(kinds) - {FLOAT, INT}:
                continue
            if name in ("clamp", "mad", "fma", "lerp", "recip", "min", "max", "divide", "rounded", "narrow"):
                continue  # backends' own, and those of kernels, which have lanes of float64
            choices = [NARROW if kind is FLOAT else (0, 1, -1, 7, -160, 400) for kind in kinds]
            for args in itertools.islice(itertools.product(*choices), 0, None, 3):
                value = meaning(name, F4)(*args)
                assert isinstance(value, float) and F4.holds(value), (name, args, value)


def test_whole_numbers_fail_as_ever():
    for opcode in ("to_int", "floor_int", "round_int"):
        with pytest.raises((ValueError, OverflowError)):
            meaning(opcode, F4)(math.nan)
    with pytest.raises(ZeroDivisionError):
        meaning("floordiv", F4)(1, 0)
    with pytest.raises(OutOfLane):
        meaning("ipow", F4)(3, 100)


TEXT = """\
func @scaled(%x: f4, %n: i8) -> (f4, b) structured f4 @return {
  %0 = to_float %n : f4
  %1 = mul %x, 0.10000000149011612 : f4
  %y = add %0, %1 : f4
  %2 = gt %y, undefined:f4 : b
  yield %y, %2
}
"""


def test_a_function_says_which_floats_it_has():
    fn = parse_function(TEXT)
    validate(fn)
    assert fn.floats is F4 and format_function(fn) == TEXT
    wide = parse_function(TEXT.replace("f4", "f8").replace("structured f8", "structured"))
    assert wide.floats is F8
    assert format_function(demote_floats(wide)) == TEXT
    assert demote_floats(fn) is fn
    assert flatten_ir(fn).floats is F4 and fold_constants(flatten_ir(fn)).floats is F4


@pytest.mark.parametrize(("old", "new"), [("%x: f4", "%x: f8"), ("structured f4", "structured"), ("add %0, %1 : f4", "add %0, %1 : f8")])
def test_two_formats_in_one_text_are_an_error(old, new):
    with pytest.raises(ParseError, match="the floats of this function are f"):
        parse_function(TEXT.replace(old, new))


def test_literals_are_of_the_format():
    with pytest.raises(InternalError, match="invariant 10: the literal .* does not fit f4"):
        validate(parse_function(TEXT.replace("0.10000000149011612", "0.1")))
    table = """\
func @f(%i: i8) -> (f4) structured f4 @return {
  %0 = gather %i {table = (0.5, 0.1)} : f4
  yield %0
}
"""
    with pytest.raises(InternalError, match="invariant 10: the table is not of f4"):
        validate(parse_function(table))
    wide = parse_function(table.replace("f4", "f8").replace("structured f8", "structured"))
    narrow = demote_floats(wide)
    validate(narrow)
    assert run(narrow, (1,)).values == (F4.rounded(0.1),)


def test_the_interpreter_rounds_arguments_and_counts_in_float32():
    fn = parse_function(TEXT)
    assert run(fn, (0.1, 2**24 + 1)).values[0] == float(np.float32(2**24) + np.float32(0.1) * np.float32(0.1))
    divided = parse_function("func @f(%x: f4, %y: f4) -> (f4) structured f4 @return {\n  %0 = truediv %x, %y : f4\n  yield %0\n}\n")
    assert run(divided, (1.0, 0.0)).values == (math.inf,)  # no exception of Python's: the value of IEEE arithmetic
    with pytest.raises(LaneFault):
        run(parse_function(format_function(divided).replace("f4", "f8").replace("structured f8", "structured")), (1.0, 0.0))


# --- what is decided before any lane runs


def test_constants_are_folded_in_float32():
    text = """\
func @f(%n: i8) -> (f4, f4, f4) flat f4 @return {
  %0 = add 16777216.0, 1.0 : f4
  %1 = exp 100.0 : f4
  %2 = floordiv 1.0, 0.10000000149011612 : f4
  yield %0, %1, %2
}
"""
    folded = fold_constants(parse_function(text))
    assert "yield 16777216.0, inf, 9.0" in format_function(folded)


def test_intervals_are_those_of_rounded_numbers():
    x, n = Param(FLOAT, "x"), Param(INT, "n")
    more = Op("add", (x, const(F4.rounded(1e-9))), FLOAT)
    for floats, outcome in ((F8, True), (F4, None)):
        known = Intervals(floats=floats)
        known.narrow(x, Interval(1.0, 2.0))
        known.note(more)
        assert known.decide("gt", (more, const(1.0))) is outcome
    known = Intervals(floats=F4)
    known.narrow(n, known.of(const(2**60 + 3 * 2**36 - 1)))
    known.note(back := Op("to_float", (n,), FLOAT))
    assert known.of(back).bounds == (float(np.int64(2**60 + 3 * 2**36 - 1).astype(np.float32)),) * 2


def climb(x):
    if x <= 1.0:
        return climb(max(x, 1.0) + 1e-9)
    return x


def test_recursion_ends_where_it_ends_in_float32():
    pyflat.twin(climb)(np.array([0.5]))
    with pytest.raises(pyflat.LaneError, match="a deep recursion"):  # 1.0 + 1e-9 is 1.0
        pyflat.twin(climb, dtype="float32")(np.float32([0.5]))


def saturated(n: int):
    return (n & 3) + 1.0 + 1e-9 > 1.0, (n & 3) * 1e38 < 4e38


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_comparisons_are_decided_as_float32_decides_them(target):
    n = np.arange(5)
    first, second = pyflat.twin(saturated, dtype="float32", target=target)(n)
    assert first.tolist() == [False, True, True, True, False]
    assert second.tolist() == [True, True, True, True, True]  # 4e38 is infinite, and 3e38 is not
    first, second = pyflat.twin(saturated, target=target)(n)
    assert first.all() and second.all()
