"""The documentation is true: generated pages are current, code blocks run, the support table holds."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.errors import CODES, FlattenError
from pyflat.testing import same_bits

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def _generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = _generate()
CASES = GENERATE.support_cases().CASES


@pytest.mark.parametrize("name", GENERATE.PAGES)
def test_generated_page_is_current(name: str) -> None:
    assert (DOCS / "reference" / name).read_text(encoding="utf-8") == GENERATE.PAGES[name](), "run `make docs`"


def test_every_code_that_the_table_names_exists() -> None:
    assert {case.code for case in CASES if case.code} <= set(CODES)


# --- the support table

FLATTENING = [case for case in CASES if not case.code]
REFUSED = [case for case in CASES if case.code]


def _leaf_items(value: Any) -> Iterator[Any]:
    """The numbers of a result, also of a list or dataclass."""
    if isinstance(value, tuple | list):
        for item in value:
            yield from _leaf_items(item)
    elif isinstance(value, dict):
        yield from _leaf_items(list(value.values()))
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from _leaf_items(getattr(value, name))
    else:
        yield value


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("case", FLATTENING, ids=lambda case: case.function.__name__)
def test_case_flattens_and_agrees(case: Any, target: str) -> None:
    expected = [case.function(*row) for row in zip(*case.lanes, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pyflat.LaneWarning)
        result = pyflat.twin(case.function, target=target, **case.options)(*map(np.array, case.lanes))
    if isinstance(expected[0], list) and isinstance(result, np.ndarray):  # of several lengths: an array of lists
        assert list(map(repr, result.tolist())) == list(map(repr, expected))
        return
    structured = isinstance(expected[0], tuple | list | dict) or hasattr(expected[0], "__dataclass_fields__")
    assert type(result) is (type(expected[0]) if structured else np.ndarray)
    columns = [np.broadcast_to(part, len(expected)) for leaf in _leaf_items(result) for part in _parts(leaf)]
    for lane, value in enumerate(expected):
        items = [part for leaf in _leaf_items(value) for part in np.ravel(leaf).tolist()]
        assert len(items) == len(columns)
        for item, column in zip(items, columns, strict=True):
            # a join of int and float is a float lane (docs/semantics.md, kinds)
            wanted = float(item) if column.dtype.kind == "f" else item
            got = column.item(lane)
            assert type(got) is type(wanted)
            assert same_bits(got, wanted), f"lane {lane}: {got!r}, the original gives {item!r}"


def _parts(leaf: Any) -> list[Any]:
    """The elements of an array that is a result in each lane: its axes come last."""
    return list(np.moveaxis(leaf, -1, 0)) if np.ndim(leaf) > 1 else [leaf]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.function.__name__)
def test_case_is_refused_with_its_code(case: Any) -> None:
    with pytest.raises(FlattenError) as caught:
        pyflat.twin(case.function, **case.options)(*map(np.array, case.lanes))
    assert caught.value.code == case.code
    assert "help:" in str(caught.value)


# --- code blocks

PAGES = ["README.md", *(str(path.relative_to(ROOT)) for path in sorted(DOCS.rglob("*.md")))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str]]:
    """(language, text) of each fenced block of a page."""
    return FENCE.findall((ROOT / page).read_text(encoding="utf-8"))


def python_script(page: str) -> tuple[str, str]:
    """The page's python blocks as one script, and what its `output` blocks say they print."""
    found = blocks(page)
    code = "\n".join(text for language, text in found if language == "python")
    return code, "".join(text for language, text in found if language == "output")


@pytest.mark.turns(2)
@pytest.mark.parametrize("page", [page for page in PAGES if python_script(page)[0]
                                  and page != "docs/compare/index.md"])  # tests/benchmarks/test_compare.py
def test_python_blocks_run_and_print_what_the_page_says(page: str, tmp_path: Path) -> None:
    code, prints = python_script(page)
    for library in re.findall(r"^import (polars|jax)\b", code, re.MULTILINE):
        pytest.importorskip(library)
    script = tmp_path / "page.py"
    script.write_text(code, encoding="utf-8")
    command = [sys.executable, "-W", "error", str(script)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == prints


CONSOLE = [(page, text) for page in PAGES for language, text in blocks(page) if language == "console"]


@pytest.mark.parametrize(("page", "text"), CONSOLE)
def test_console_blocks_print_what_the_page_says(page: str, text: str, tmp_path: Path) -> None:
    """`$ pyflat ...` followed by what it prints, as far as a last line of three dots; the page's python blocks are its
    shade.py."""
    command, _, expected = text.partition("\n")
    assert command.startswith("$ pyflat ")
    (tmp_path / "shade.py").write_text(python_script(page)[0], encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "pyflat", *command.removeprefix("$ pyflat ").split()],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )
    begins = expected.removesuffix("...\n")
    printed = run.stdout if begins == expected else run.stdout[:len(begins)]
    assert printed == begins, run.stderr  # what the script itself prints goes to stderr


LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("page", [*PAGES, "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(page: str) -> None:
    source = ROOT / page
    missing = [link for link in LINK.findall(source.read_text(encoding="utf-8")) if not (source.parent / link).exists()]
    assert missing == []
