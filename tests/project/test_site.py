"""The site's generated pages name everything that is public, and tools that read docstrings see twins as functions."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import pyflat
from pyflat.runtime.settings import NAMES
from tests.project.test_docs import GENERATE, ROOT

REFERENCE = GENERATE.REFERENCE
MODULE = '''\
"""A user's module."""

import pyflat


@pyflat.flatten
def shade(x: float, reach: float = 10.0) -> float:
    """Brightness at a distance.

    >>> shade(2.5)
    0.75
    >>> shade_flat([2.5, 20.0]), shade.flat(20.0)
    (array([0.75, 0.  ]), 0.0)
    """
    return 0.0 if x > reach else (reach - x) / reach


class Lamp:
    """A lamp."""

    @pyflat.flatten
    def at(self, x: float) -> float:
        """Its light at a place."""
        return x * 2.0
'''


@pytest.fixture(scope="module")
def shading(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The module, and `shading.__file__` where it is."""
    path = tmp_path_factory.mktemp("user") / "shading.py"
    path.write_text(MODULE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("shading", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_doctest_finds_the_examples_of_a_function_and_of_its_twin(shading: ModuleType) -> None:
    found = doctest.DocTestFinder().find(shading)
    assert {test.name for test in found if test.examples} == {"shading.shade", "shading.shade_flat"}
    runner = doctest.DocTestRunner()
    for test in found:
        runner.run(test)
    assert runner.summarize().attempted == 4
    assert runner.summarize().failed == 0


def test_doctest_sees_a_wrong_example(shading: ModuleType) -> None:
    twin = shading.shade_flat
    test = doctest.DocTestParser().get_doctest(
        twin.__doc__.replace("0.75", "0.5"), vars(shading), twin.__qualname__, None, None)
    assert doctest.DocTestRunner().run(test, out=lambda text: None).failed == 2


def test_autodoc_shows_a_twin_as_the_function_that_it_is(shading: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text("extensions = ['sphinx.ext.autodoc']\nautodoc_typehints_format = 'short'\n")
    (tmp_path / "index.rst").write_text(
        "User\n====\n\n.. automodule:: shading\n   :members:\n\n.. autofunction:: shading.shade_flat\n"
        "\n.. autofunction:: shading.shade.flat\n   :no-index:\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-E", "-b", "text", tmp_path, tmp_path / "out"]
    folder = Path(str(shading.__file__)).parent
    done = subprocess.run(command, env={"PYTHONPATH": f"{folder}:{Path.cwd()}"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out" / "index.txt").read_text(encoding="utf-8")
    for name in ("shade", "shade_flat", "shade.flat"):
        assert f"shading.{name}(x: float, reach: float = 10.0) -> float" in text
    assert text.count("Brightness at a distance.") == 3
    assert "at(x: float) -> float\n\n      Its light at a place." in text


def test_every_member_of_a_twin_is_on_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = pyflat.twin(lambda x: x + 1)
    monkeypatch.setattr(pyflat.Twin, "newest", pyflat.Twin.show, raising=False)
    shown = {name for _, names in REFERENCE._groups() for name in names}
    assert {name for name in dir(twin) if not name.startswith("_")} | {"__call__"} == shown | REFERENCE.INTERNAL
    assert "automethod:: pyflat.Twin.newest" in REFERENCE.twin_page()


def test_every_public_name_is_on_a_page() -> None:
    shown = [name for names in REFERENCE.NAMES.values() for name in names]
    assert sorted([*shown, *REFERENCE.ELSEWHERE]) == sorted(pyflat.__all__)


def test_every_option_and_every_verb_has_a_section() -> None:
    options = REFERENCE.options_page()
    assert all(f"\n## `{name}`\n" in options for name in NAMES)
    for name, command in REFERENCE._verbs():
        _, _, section = REFERENCE.command_line_page().partition(f"\n## `pyflat {name}`\n")
        section = section.partition("\n## ")[0]
        assert all(option in section for option in (p.opts[0] for p in command.params if p.param_type_name == "option"))


def test_the_first_sentence_of_a_docstring() -> None:
    summary = GENERATE.beside("docstrings").summary
    assert summary("The text, as\n    `show()` gives it. More.") == "The text, as `show()` gives it."
    assert summary("Reads it. Then\n\nmore") == "Reads it."


def test_docstrings_as_markup() -> None:
    lines = ["Reads `x_` of a*b.", "", "name   what it", "       is", "other_ second", "", "    code(1)", "after"]
    assert GENERATE.beside("docstrings").restructured(lines) == [
        "Reads ``x_`` of a\\*b.", "", "", "``name``", "    what it", "    is", "", "``other_``", "    second", "", "::", "", "    code(1)", "after"]


def test_the_first_use_of_a_word_leads_to_its_definition() -> None:
    pytest.importorskip("sphinx")
    words = GENERATE.beside("private_words")
    seen = {"mask"}
    found = list(words._linked("Lanes of a live mask, one lane, in the mask of trips; flattens.", "words.html", seen))
    links = [(str(node.children[0]), node["refuri"], node["reftitle"].partition(":")[0])
             for node in found if hasattr(node, "children") and node.children]
    place = "words.html#the-words"
    assert links == [("Lanes", place, "lane"), ("live mask", place, "live mask"), ("trips", place, "trip"),
                     ("flattens", place, "flatten")]
    assert "".join(node.astext() for node in found) == "Lanes of a live mask, one lane, in the mask of trips; flattens."
    assert "| trip | " + words.definitions()["trip"] + " |" in (ROOT / "docs" / f"{words.PAGE}.md").read_text(encoding="utf-8")
    assert len(words.definitions()) > 25


def test_every_how_to_page_is_in_the_sidebar_once() -> None:
    listed = re.findall(r"(?m)^how-to/.*$", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(f"how-to/{page.stem}" for page in (ROOT / "docs" / "how-to").glob("*.md"))


def pages_found(site: Path, word: str) -> list[str]:
    """The pages that a search in the built site shows, in order; classes and functions of a page are not counted."""
    browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    address = f"{(site / 'search.html').as_uri()}?q={word}"
    dom = subprocess.run([*browser, address], capture_output=True, text=True, check=True).stdout
    pages = re.findall(r'<li class="kind-(?!object)[a-z]+"><a href="([^"#]+)\.html', dom)
    assert pages, dom
    return pages


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs a browser")
def test_a_search_shows_first_what_users_look_for(tmp_path: Path) -> None:
    pytest.importorskip("furo")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-d", tmp_path / "trees", ROOT / "docs", tmp_path / "site"]
    subprocess.run(command, check=True, cwd=ROOT)
    pages = {word: pages_found(tmp_path / "site", word) for word in ("slow", "install", "pandas", "numba")}
    assert {word: len(listed) for word, listed in pages.items()} == {word: len(set(p)) for word, p in pages.items()}
    assert {word: listed[0] for word, listed in pages.items()} == {
        "slow": "explanation/performance", "install": "tutorial", "pandas": "how-to/arrays", "numba": "how-to/coming-from"}
    assert not pages_found(tmp_path / "site", "passes")[0].startswith("contributors/")
    names = (tmp_path / "site" / "reference" / "names.html").read_text(encoding="utf-8")
    assert "Faults.group" in names and "__init__" not in names
