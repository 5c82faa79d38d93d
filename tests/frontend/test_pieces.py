"""A text that is read in pieces gives the tree and the places of the whole text."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from pyflat.frontend import capture as places
from pyflat.frontend import pieces
from pyflat.frontend.pieces import MAX_NESTING

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*ROOT.glob("pyflat/frontend/*.py"), *ROOT.glob("tests/frontend/*.py")])


def definitions(file: Path) -> list[str]:
    text = file.read_text(encoding="utf-8")
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            own = "".join(text.splitlines(keepends=True)[first - 1:node.end_lineno])
            found.append("if True:\n" + own if own.startswith(" ") else own)
    return found


def cut(text: str) -> list[str]:
    return [piece.text for piece in pieces.cut(text)]


@pytest.fixture
def lines(monkeypatch):
    """Pieces of so many lines, also of short texts."""
    def set_lines(count: int) -> None:
        monkeypatch.setattr(pieces, "LINES", count)
        monkeypatch.setattr(pieces, "MAX_NESTING", 0)

    return set_lines


# --- no change
@pytest.mark.parametrize("text", [
    "def f(x):\n    return x\n",
    "(\n    lambda x: x\n)\n",
    "def f(x):\r\n" + "    x = x + 1\r\n" * 2_000,
    "def f(x):\n    x = x + 1\n\f" + "    x = x + 1\n" * 2_000,
])
def test_what_is_short_or_no_function_is_one_piece(text):
    assert cut(text) == [text]


# --- cutting
def test_pieces_are_whole_statements():
    body = "".join(f"    x{k} = 1\n" for k in range(1_000))
    first, *others = cut(f"def f():\n{body}    return x0")
    assert first.startswith("def f():\n    x0 = 1\n")
    assert len(others) == 5
    assert all(each.startswith("if True:\n    x") for each in others)
    assert others[-1].endswith("return x0")


@pytest.mark.parametrize("inside", [
    '    y = """\n' + "    text\n" * 999 + '    """\n',
    "    y = (1,\n" + "    1,\n" * 999 + "    1)\n",
    "    if x:\n" + "        x = x + 1\n" * 999 + "    else:\n        x = 2\n",
    "    @first\n    def g():\n" + "        x = x + 1\n" * 999,
    "    x = 1; \\\n" * 999 + "    x = 2\n",
    "    # a remark\n" * 999,
    "\n" * 999,
])
def test_no_piece_ends_inside_of_a_statement(inside):
    text = "def f(x):\n" + inside + "    x = x * 2\n" * 999
    modules = [cst.parse_module(piece) for piece in cut(text)]
    assert len(modules) >= 3
    assert pieces.parse(cut(text)).deep_equals(cst.parse_module(text))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_tree_is_that_of_the_whole_text(lines, count):
    lines(count)
    found = 0
    for file in FILES:
        for text in definitions(file):
            parts = cut(text)
            found += len(parts) - 1
            assert pieces.parse(parts).deep_equals(cst.parse_module(text)), text
    assert found > 100


def test_what_nests_too_deep_is_found_in_its_piece():
    body = "    x = x + 1\n" * 1_000
    deep = f"    y = {'-' * (MAX_NESTING + 5)}x\n"
    found = [piece.deep for piece in pieces.cut(f"def f(x):\n{body}{deep}{body}") if piece.deep]
    assert [place.line for place in found] == [1_002]
    assert [piece.deep for piece in pieces.cut(f"if True:\n    def f(x):\n{textwrap.indent(body + deep + body, '    ')}")
            if piece.deep][0].line == 1_003


# --- places
def test_places_are_those_of_libcst():
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        found, spelled = places.written(wrapper.module, {}, "", 0)
        assert spelled == text
        for node, place in wrapper.resolve(PositionProvider).items():
            own = found.of(node)
            if type(node) not in (*places._WITHOUT_PLACE, cst.Module):
                start, end = place.start, place.end
                assert own == ("", start.line, start.column, end.line, end.column), node
