"""The layout of the code keeps its limits (ARCHITECTURE.md, benchmarks/house.py)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import house

LINES = 108_693
"""Of `pyflat/`, at most. Last changed: rows of frames with dates and what is missing, generators, calls that run as Python under
watch, strings of any number, numbers with methods (2,900 lines); `pyflat export` (700 lines); kernels in `pyflat build` (260)."""


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
    """With imports inside functions and for type checkers."""
    assert len(measured.circle) <= 4


def test_lines(measured):
    """A commit that needs more raises the limit, and says there for what; one that removes lines lowers it."""
    assert measured.lines <= LINES


def test_pyproject_is_short(measured):
    assert measured.settings <= 150


def test_a_name_is_one_class(measured):
    assert len(measured.shared) <= 17


def test_a_mathematical_function_is_a_record_and_a_kernel(measured):
    """tests/project/test_recipes.py carries the recipe out and uses the function."""
    assert measured.places == ("pyflat/functions/records.py", "pyflat/functions/vmath/bessel.py")


PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md")
DESIGN = sorted((house.ROOT / "docs" / "contributors" / "design").glob("*.md"))
EXAMPLES = {"file.py", "pyflat"}
"""Words of those pages that name no file."""


def prose(page: str) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", (house.ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def named_paths(page: str) -> set[str]:
    """The paths in a page: folders by their slash, files by their ending."""
    words = re.findall(r"`[^`\n]+`|\]\([^)]+\)|\bdocs/[\w./-]+", prose(page))
    return {part.rstrip(".") for word in words for part in re.findall(r"[\w./-]+", word)
            if re.search(r"\w/|\.(py|md)$", part)} - EXAMPLES


def exists(path: str, folder: Path = house.PACKAGE) -> bool:
    """Whether there is such a file or folder, in the repository or in any folder below this one; what make writes below
    `out/` need not be there."""
    return path.startswith("out/") or (house.ROOT / path).exists() or any(folder.rglob(path.rstrip("/")))


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_files_that_exist(page):
    found = named_paths(page)
    assert len(found) > 10
    assert {path for path in found if not exists(path)} == set()


@pytest.mark.parametrize("page", DESIGN, ids=lambda page: page.name)
def test_decisions_name_files_that_exist(page):
    found = named_paths(page.relative_to(house.ROOT).as_posix())
    assert {path for path in found if not exists(path) and not (page.parent / path).exists()} == set()


def test_the_map_names_modules_that_exist():
    """In a row of the table: the packages first, then what they hold."""
    rows = re.findall(r"^\| (`[^|]+) \| ([^|]+) \|$", prose("ARCHITECTURE.md").partition("## Where would")[0], re.MULTILINE)
    packages = [[house.PACKAGE / name for name in re.findall(r"`([\w./]+)`", first)] for first, _ in rows]
    missing = {
        name for folders, (_, text) in zip(packages, rows, strict=True) for name in re.findall(r"`(\w+)`", text)
        if not any(exists(name + ending, folder) for folder in folders for ending in ("", ".py"))}
    assert missing <= EXAMPLES
    assert {path.name for path in house.PACKAGE.iterdir() if path.is_dir()} - {"__pycache__"} == {
        folder.name for folders in packages for folder in folders if folder.is_dir()}


def test_the_map_says_how_large_attachments_are():
    rows = re.findall(r"^\| [^|`]+ \| (`[^|]+) \| ([\d,]+) \|$", prose("ARCHITECTURE.md"), re.MULTILINE)
    assert len(rows) > 5
    for where, lines in rows:
        places = [house.PACKAGE / path for path in re.findall(r"`([^`]+)`", where)]
        files = [file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place])]
        found = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
        assert abs(found - int(lines.replace(",", ""))) <= 0.1 * found, f"{where}: {found}"


def test_what_does_not_exist_is_seen():
    assert not exists("runtime/nowhere.py")
    assert exists("runtime/plans.py")
    assert exists("space/scalars.py")
