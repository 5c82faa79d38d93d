"""What a refusal says: the place is the construct, the remedy is one that the user can carry out."""

import datetime
import json
import statistics
import sys

import numpy as np
import pytest

import pyflat
import pyflat.errors
from tests.support.twins import refused

XS, NS = np.array([1.5, 2.5]), np.array([1, 2])
SEEN: list[float] = []
TABLE: dict[str, float] = {}


async def wait():
    return 1.0


async def awaits(x: float):
    return x + await wait()


async def awaits_in_a_list(x: float):
    return [await wait() for _ in (x,)][0]


def yields(x: float):
    y = x + 1.0
    yield y


def global_append(x: float):
    SEEN.append(x)
    return x


def global_update(x: float):
    TABLE.update(a=x)
    return x


def arange_of_a_lane(n: int):
    return np.arange(n).sum()


def arange_of_an_expression(n: int):
    m = n * 2
    return np.arange(m)[0]


def ones_of_a_lane(n: int):
    return np.ones(n)[0]


def slice_of_a_lane(n: int):
    return (1.0, 2.0, 3.0)[:n][0]


def slice_of_a_float(x: float):
    return (1.0, 2.0, 3.0)[: int(x)][0]


def prints(x: float):
    print(x)
    return x


def keys_that_are_numbers(x: float):
    return {"a": x, 1: x}


def returns_text(x: float):
    return f"{x:.2f}".upper()


def library_inside(x: float):
    return statistics.variance([x, 1.0])


def library_deep_inside(x: float):
    return len(json.dumps(x))


def date_of_floats(x: float):
    return datetime.date(x, 1, 1)


def index_of_a_number(x: float):
    return x[0]


def matmul_of_numbers(x: float):
    return x @ x


def int_with_a_base(x: float):
    return int(x, 10)


CASES = [
    (awaits, "await wait()", "pass the result as an argument"),
    # since Python 3.12 a comprehension is no function of its own, so that what it awaits is found
    (awaits_in_a_list, "await wait()" if sys.version_info >= (3, 12) else "[await wait() for _ in (x,)]", "pass the result as an argument"),
    (yields, "yield y", "return a tuple instead of yielding"),
    (global_append, "SEEN.append(x)", "return the value instead"),
    (global_update, "TABLE.update(a=x)", "return the value instead"),
    (arange_of_a_lane, "np.arange(n)", "static='n'"),
    (arange_of_an_expression, "np.arange(m)", "choose between known values"),
    (ones_of_a_lane, "np.ones(n)", "static='n'"),
    (slice_of_a_lane, ":n", "static='n'"),
    (slice_of_a_float, ": int(x)", "where x is one value for the whole call"),
    (prints, "print(x)", "write it in the caller"),
    (keys_that_are_numbers, 'return {"a": x, 1: x}', "strings for keys"),
    (returns_text, 'return f"{x:.2f}".upper()', "return numbers"),
    (index_of_a_number, "x[0]", "check the operands"),
    (matmul_of_numbers, "x @ x", "check the operands"),
    (int_with_a_base, "int(x, 10)", "remove the second argument"),
]


def refusal(fn):
    kinds = [NS if kind is int else XS for name, kind in fn.__annotations__.items() if name != "return"]
    return refused(fn, *kinds).diagnostic


@pytest.mark.parametrize(("fn", "construct", "remedy"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_the_construct_is_marked_and_the_remedy_helps(fn, construct, remedy):
    found = refusal(fn)
    line = found.render().split("\n")[2].split("| ", 1)[1]
    assert line[found.span.column:found.span.end_column] == construct
    assert remedy in found.help
    assert '("name",)' not in found.render()


@pytest.mark.parametrize(("fn", "call"), [
    (library_inside, "variance"), (library_deep_inside, "dumps"), (date_of_floats, "__new__"),
])
def test_a_refusal_inside_a_library_is_about_the_users_call(fn, call):
    found = refusal(fn)
    assert found.span.file != __file__
    assert f"replace your call of {call} at {__file__}:{fn.__code__.co_firstlineno + 1}:" in found.help


def test_a_path_that_never_returns_says_why():
    assert refusal(index_of_a_number).message == "no path returns: a number is not subscriptable"
    assert refusal(date_of_floats).message == "no path returns: Python raises a TypeError here"


def test_an_async_function_is_not_called_a_generator():
    assert "coroutine (`async def`)" in refusal(awaits).message
    assert "it has a `yield`" in refusal(yields).message


def test_general_sentences_speak_of_no_other_target():
    """A row of the table is shown on every target, unless the place that refuses has words of its own."""
    for code, row in pyflat.errors.CODES.items():
        if "unchecked" in code:
            continue
        assert not {"shading", "shader", "GPU", "SQL", "32-bit"} & set(" ".join(row).replace(",", " ").split()), code
