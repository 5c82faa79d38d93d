"""The twin as text, and as a function made of that text."""

import enum
import functools
import inspect
import math
import traceback

import numpy as np
import pytest

import pyflat
from tests.runtime import functions as f


def test_source_is_the_neutral_text():
    twin = pyflat.twin(f.shade)
    assert twin.source == twin.show()
    assert "def shade_flat(x, t=0.5):" in twin.source
    assert "select(" in twin.source
    assert twin.show(target="numpy") != twin.source


def test_stages():
    twin = pyflat.twin(f.shade)
    assert twin.show(stage="captured") == inspect.getsource(f.shade)
    assert "if " in twin.show(stage="structured")
    flat = twin.show(stage="flat")
    assert "select" in flat
    assert "fault" in flat
    assert "def shade_suspect" in twin.show(stage="suspect")
    with pytest.raises(ValueError, match="stage='flatt'.*'captured', 'structured'"):
        twin.show(stage="flatt")
    with pytest.raises(ValueError, match="target='cuda'"):
        twin.show(target="cuda")


def test_notebooks_show_the_text_escaped():
    text = pyflat.twin(lambda x, y: x < y).show(stage="captured")
    assert isinstance(text, str)
    assert text._repr_html_().startswith("<pre>")
    assert "&lt;" in text._repr_html_()


def kinds_of(fn, *args, **options):
    """The parameters in the header of the structured IR."""
    return pyflat.twin(fn, **options).show("structured", None, *args).splitlines()[0]


def test_kinds_come_from_annotations_then_defaults_then_float():
    def g(a: int, b: "bool", c: float, d, e=1, h=True, i=2.0):
        return a

    head = kinds_of(g)
    for name, kind in {"a": "i8", "b": "b", "c": "f8", "d": "f8", "e": "i8", "h": "b", "i": "f8"}.items():
        assert f"{name}: {kind}" in head
    head = kinds_of(f.product, "i8,b")
    assert "a: i8" in head
    assert "b: b" in head
    assert kinds_of(f.product, ("int", "bool")) == head


@pytest.mark.parametrize(("kinds", "message"), [
    ("f8", r"1 kinds for 2 lane parameters \(a, b\)"), ("f8,f8,f8", "3 kinds for 2"), ("f8,f4", "'f4' is not a kind"),
])
def test_wrong_kinds(kinds, message):
    with pytest.raises(ValueError, match=message):
        pyflat.twin(f.product).show(kinds=kinds)


def test_kinds_that_are_no_words() -> None:
    with pytest.raises(TypeError, match=r"kinds=1\.0: expected one string"):
        pyflat.twin(lambda x: x + 1.0).explain(1.0)


def test_static_parameters_in_a_text():
    assert "how" not in kinds_of(f.labelled)

    def power(x, n):
        return x**n

    twin = pyflat.twin(power, static="n")
    with pytest.raises(TypeError, match="static argument 'n', which has no default: call the twin once"):
        twin.show()
    twin(np.ones(2), 3)
    assert "x" in twin.source
    assert "x" in pyflat.twin(functools.partial(power, n=2)).source


RATES = {"single": 0.1, "married": 0.2}


class Status(enum.Enum):
    SINGLE = 1
    MARRIED = 2


def levy(income: float, status: str) -> float:
    return income * RATES[status]


def charged(status, income: float):
    if status in ("single", "alone") and income > 1.0:
        return "high"
    return "low" if status != "married" else "none"


def passed_on(income, status):
    return income if charged(status, income) == "low" else -income


def of_members(status: Status, income):
    return income * 0.5 if status is Status.MARRIED else income


def of_none(status, income):
    return 0.0 if status is None else income


WORDS = np.array(["single", "married", "alone", "single"])
INCOMES = np.array([1.0, 2.0, 3.0, 4.0])


def test_strings_by_lane_in_a_text():
    def levy(income: float, status: str) -> float:
        return income * RATES[status]

    twin = pyflat.twin(levy)
    assert "status == 'single'" in twin.source
    assert twin.explain().kinds == "income: f8, status: str"
    twin(np.ones(2), "married")
    assert "return income * 0.2" in twin.source
    assert "return income * 0.1" in pyflat.twin(functools.partial(levy, status="single")).source


@pytest.mark.parametrize(("function", "arrays"), [
    (charged, (WORDS, INCOMES)), (passed_on, (INCOMES, WORDS)), (levy, (INCOMES[[0, 1, 3]], WORDS[[0, 1, 3]])),
])
def test_texts_take_arrays_of_strings(function, arrays):
    expected = [function(*row) for row in zip(*(array.tolist() for array in arrays), strict=True)]
    for twin in (pyflat.twin(function), called := pyflat.twin(function)):
        found = twin.function(*arrays)
        assert found.tolist() == expected
        called(*arrays)


def test_texts_take_arrays_of_members_and_none():
    members = np.array([Status.MARRIED, Status.SINGLE], object)
    twin = pyflat.twin(of_members)
    assert "status == Status.SINGLE" in twin.source
    assert twin.function(members, INCOMES[:2]).tolist() == [0.5, 2.0]
    twin = pyflat.twin(of_none)
    words = np.array(["a", None], object)
    assert twin(words, INCOMES[:2]).tolist() == [1.0, 0.0]
    assert twin.function(words, INCOMES[:2]).tolist() == [1.0, 0.0]


def optional(status: str | None, income):
    return 0.0 if status is None else -income if status == "a" else income


def test_texts_of_optional_strings_know_none():
    words = np.array(["a", None, "b"], object)
    assert pyflat.twin(optional).function(words, INCOMES[:3]).tolist() == [-1.0, 0.0, 3.0]


def test_a_string_that_is_more_than_compared_in_a_text():
    def spelled(income: float, status: str) -> float:
        return income * len(status)

    twin = pyflat.twin(spelled)
    for show in (twin.show, twin.explain, twin.report):
        with pytest.raises(TypeError, match=r"on the string 'status', .* once with one string, .* --static status=\.\.\."):
            show()
    twin(np.ones(2), "married")
    assert "return income * 7" in twin.source


def test_methods_in_a_text():
    assert "x" in pyflat.twin(f.Scale(2.0).apply).source
    assert pyflat.twin(f.Scale.double).source
    assert pyflat.twin(f.Scale.halve).source
    assert "self.radius * self.radius" in pyflat.twin(f.Circle.area).source
    assert "x + self.offset" in pyflat.twin(f.Offset.apply).source


def test_the_function_is_real():
    function = pyflat.twin(f.shade).function
    xs = np.array([0.25, 1.0, 2.0])
    assert inspect.isfunction(function)
    assert function(xs).tolist() == [f.shade(x) for x in xs.tolist()]
    assert "def shade_flat" in inspect.getsource(function)
    assert function.__doc__ == f.shade.__doc__
    assert pyflat.twin(f.shade).function is function
    with pytest.raises(TypeError) as error:
        function("a")
    frame = traceback.extract_tb(error.value.__traceback__)[-1]
    assert frame.line in inspect.getsource(function)


def test_the_function_makes_the_result_class():
    got = pyflat.twin(f.ordered).function(np.array([1.0, 5.0]), np.array([2.0, 3.0]))
    assert type(got) is f.Pair


def test_a_refusal_is_raised_by_the_twin_only():
    @pyflat.flatten
    def named(x):
        return f"{x}".upper()

    assert named(8.0) == "8.0"
    for use in (lambda: named.flat(np.ones(2)), lambda: named.flat.source, lambda: named.flat.function):
        with pytest.raises(pyflat.FlattenError) as error:
            use()
        assert error.value.code.startswith("flatten/")


def test_a_loop_that_stays_one_has_stages():
    @pyflat.flatten
    def halved(x):
        while x > 1.0:
            x = x / 2.0
        return x

    assert halved.flat(np.array([8.0, 5.0])).tolist() == [1.0, 0.625]
    assert "loop" in halved.flat.show(stage="structured")


LIMIT = 1.0


def test_the_function_follows_what_was_captured(monkeypatch):
    def g(x):
        return x + LIMIT

    twin = pyflat.twin(g)
    assert twin.function(np.zeros(1)).tolist() == [1.0]
    monkeypatch.setitem(globals(), "LIMIT", 3.0)
    assert twin.function(np.zeros(1)).tolist() == [3.0]


def test_a_refusal_is_tried_again(monkeypatch):
    def g(x):
        return x + LIMIT

    monkeypatch.setitem(globals(), "LIMIT", "text")
    twin = pyflat.twin(g)
    with pytest.raises((pyflat.FlattenError, TypeError)):
        twin(np.ones(2))
    monkeypatch.setitem(globals(), "LIMIT", math.pi)
    assert twin(np.zeros(1)).tolist() == [math.pi]
    monkeypatch.setitem(globals(), "LIMIT", 2)
    assert twin(np.zeros(1)).tolist() == [2.0]
