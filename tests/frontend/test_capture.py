"""The text of a captured function is what `inspect` finds, whichever way it is found."""

from __future__ import annotations

import inspect
import linecache
import warnings
from pathlib import Path

import pytest

from pyflat.frontend import recompiled as blocks

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*ROOT.glob("benchmarks/kernels/*.py"), *ROOT.glob("examples/*.py"), *ROOT.glob("tests/frontend/*/*.py")])


def lines_of(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def test_blocks_found_by_their_indentation_are_those_of_inspect():
    found = 0
    for file in FILES:
        lines = linecache.getlines(str(file))
        for start in range(len(lines)):
            if not blocks._STARTS.match(lines[start]):
                continue
            block = blocks._indented(lines[start:])
            if block is not None:
                found += 1
                assert block == inspect.getblock(lines[start:]), f"{file.name}:{start + 1}"
    assert found > 500


@pytest.mark.parametrize("below", ["", "x = 1\n", "\n\n# a remark\n\ndef g():\n    pass\n", "    # a remark further in\n"])
@pytest.mark.parametrize("text", [
    "def f(x):\n    return x\n",
    "@first\n@second(\n    1)\ndef f(x):\n    return x\n",
    "@first\ndef f(\n    x,\n):\n    return x\n",
    "def f(x):\n    '''One\ntwo'''\n    return x\n",
    "def f(x):\n    y = x \\\n+ 1\n    return y\n",
    "def f(x):\n    y = (x\n+ 1)\n    return y\n",
    "def f(x): return x\n",
    "def f(x):\n\n    # first\n# left\n    return x\n\n    # last\n",
    "def f(x):\n    y = x\n# left\n    return y\n",
    "def f(x):\n\treturn x\n",
    "async def f(x):\n    return x\n",
    "    def f(x):\n        return x\n",
    "    @first\n    def f(x):\n        '''One\n    two'''\n        return x\n",
])
def test_no_other_block_is_found(text, below):
    lines = lines_of(text + below)
    found = blocks._indented(lines)
    assert found is None or found == inspect.getblock(lines)


def test_the_text_is_not_warned_of_a_second_time():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        blocks._indented(lines_of("def f(x):\n    y = '\\d'\n    return x\n"))
    assert seen == []


def test_a_plain_function_needs_no_tokens(monkeypatch):
    monkeypatch.setattr(inspect, "getblock", None)
    found = blocks.find_def(lines_of, blocks.file_lines(lines_of))
    assert found.text == 'def lines_of(text: str) -> list[str]:\n    return text.splitlines(keepends=True)\n'
    assert found.first_line == lines_of.__code__.co_firstlineno
