"""The layout of the code keeps its limits (ARCHITECTURE.md, benchmarks/house.py)."""

from __future__ import annotations

import pytest

from benchmarks import house


@pytest.fixture(scope="module")
def measured() -> house.House:
    return house.measure()


def test_circles_are_found():
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": set(), "f": {"g", "a"}, "g": {"f"}}
    assert sorted(house.circles(graph)) == [("a", "b", "c"), ("f", "g")]


def test_rooms(measured):
    assert len(measured.rooms) <= 16


def test_exempted_imports(measured):
    assert measured.exempted <= 10


def test_the_largest_circle_of_imports(measured):
    assert len(measured.circle) <= 4


def test_pyproject_is_short(measured):
    assert measured.settings <= 150


def test_a_mathematical_function_is_a_record_and_a_kernel(measured):
    """tests/test_recipes.py carries the recipe out and uses the function."""
    assert measured.places == ("pyflat/functions/records.py", "pyflat/functions/vmath/bessel.py")
