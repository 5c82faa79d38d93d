"""The versions of Python that the tests run on are said alike everywhere; on others the first flattening warns."""

import re
import sys
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

import pyflat
from pyflat.frontend import notices
from pyflat.functions import python_versions
from pyflat.targets.numba.jit import LEVELS

ROOT = Path(__file__).parent.parent.parent
TESTED = [f"{major}.{minor}" for major, minor in python_versions.TESTED]


@pytest.fixture(autouse=True)
def _not_warned_yet():
    notices.warn_of_an_untested_python.cache_clear()
    yield
    notices.warn_of_an_untested_python.cache_clear()


def test_classifiers_are_the_tested_versions():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert re.findall(r"Python :: (\d\.\d+)", " ".join(project["classifiers"])) == TESTED
    assert project["requires-python"] == f">={TESTED[0]}"


def test_the_page_of_versions_names_them():
    page = (ROOT / "docs" / "reference" / "versions.md").read_text()
    assert re.findall(r"CPython (\d\.\d+)", page) == TESTED


def test_the_readme_names_them_and_leaves_terms_to_the_page():
    support = (ROOT / "README.md").read_text().partition("## Support")[2].partition("\n## ")[0]
    assert f"Python {TESTED[0]} to {TESTED[-1]}" in support
    assert "docs/reference/versions.md" in support
    assert not re.search("minor|years", support)


def test_the_page_names_the_extras_of_the_lowest_versions_and_the_levels():
    page, script = (ROOT / "docs" / "reference" / "versions.md").read_text(), (ROOT / ".ci" / "pythons").read_text()
    (extras,) = re.findall(r"lowest\.txt \\\n +--editable '\.\[([\w,]+)\]'", script)
    assert re.findall(r"`(\w+)`", re.findall(r"its extras (.*?) ask", page, re.DOTALL)[0]) == extras.split(",")
    assert [name for name in LEVELS if name != "generic"] == re.findall(r"`(x86-64-v\d)`", page)


def test_continuous_integration_runs_them():
    assert re.findall(r"^for version in (.*); do$", (ROOT / ".ci" / "pythons").read_text(), re.MULTILINE) == [" ".join(TESTED)]


def test_this_python_is_tested():
    assert python_versions.is_tested()


def double(x):
    return x * 2.0 if x > 0.0 else x


@pytest.mark.parametrize("what", ["version_info", "implementation"])
def test_another_python_warns_once_at_the_callers_line(what, monkeypatch):
    other = {"version_info": (3, 99, 0), "implementation": type(sys.implementation)(name="pypy", cache_tag=None)}
    monkeypatch.setattr(python_versions.sys, what, other[what])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            assert pyflat.twin(double, target="numpy", cache=False)(np.array([1.0, -1.0])).tolist() == [2.0, -1.0]
    seen = [each for each in caught if issubclass(each.category, pyflat.VersionWarning)]
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert "pyflat.testing.verify" in str(seen[0].message)


def test_a_tested_python_does_not_warn():
    pyflat.twin(double, target="numpy", cache=False)(np.array([1.0, -1.0]))
