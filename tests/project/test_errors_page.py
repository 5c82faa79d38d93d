"""Every code of a refusal has two examples on its page: one is refused with this code, the other agrees with Python."""

from __future__ import annotations

import importlib.util
import re
import runpy
from pathlib import Path
from types import ModuleType

import pytest

import pyflat
from pyflat.errors import CODES

DOCS = Path(__file__).resolve().parents[2] / "docs"


def _cases() -> ModuleType:
    spec = importlib.util.spec_from_file_location("error_cases", DOCS / "error_cases.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CASES = _cases()


CALL = re.compile(r"(\.flat|pyflat\.twin\(\w+\))(\.ufunc)?\(")


def run(text: str, path: Path) -> None:
    path.write_text(CASES.HEAD + text, encoding="utf-8")
    runpy.run_path(str(path))


def test_every_code_has_examples() -> None:
    assert list(CASES.EXAMPLES) == [code for code in CODES if code not in CASES.NEVER]


@pytest.mark.parametrize("code", CASES.EXAMPLES)
def test_the_bad_example_is_refused_with_its_code(code: str, tmp_path: Path) -> None:
    *before, _ = CASES.EXAMPLES[code].bad.rstrip().splitlines(keepends=True)
    with pytest.raises(pyflat.FlattenError) as refused:
        run(CASES.EXAMPLES[code].bad, tmp_path / "bad.py")
    assert refused.value.code == code
    if code != "flatten/static-name":  # refused by the decorator
        run("".join(before), tmp_path / "before.py")


@pytest.mark.parametrize("code", CASES.EXAMPLES)
def test_the_good_example_agrees_with_its_original(code: str, tmp_path: Path) -> None:
    *before, call = CASES.EXAMPLES[code].good.rstrip().splitlines()
    checks = CALL.sub(r"\1.verify(", call)
    if ".show(" not in call:
        assert checks != call
    run("\n".join([*before, call, checks, ""]), tmp_path / "good.py")
