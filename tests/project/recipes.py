"""The recipes of CONTRIBUTING.md, carried out in a copy of the tree: the page's own blocks are the edits."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
_BLOCK = re.compile(r"^```(python|diff) recipe=(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def copy_of_the_tree(to: Path) -> Path:
    """pyflat, its tests and its settings in another folder."""
    for name in ("pyflat", "tests", "benchmarks"):
        shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", to)
    return to


def blocks(recipe: str, page: str | None = None) -> list[tuple[str, str, str]]:
    """Each block of a recipe: "python" or "diff", the file, the text without the line that names it."""
    found = []
    for language, name, text in _BLOCK.findall(PAGE.read_text(encoding="utf-8") if page is None else page):
        first, _, rest = text.partition("\n")
        if name == recipe:
            found.append((language, first.removeprefix("# ").removeprefix("--- "), rest if language == "diff" else text))
    return found


def files(*recipes: str) -> list[str]:
    """The files that recipes make or change, without tests."""
    return sorted({file for recipe in recipes for _, file, _ in blocks(recipe) if not file.startswith("tests/")})


def carry_out(recipe: str, tree: Path) -> None:
    """Make the files of a recipe and change those that exist."""
    found = blocks(recipe)
    assert found, f"CONTRIBUTING.md has no recipe {recipe}"
    for language, file, text in found:
        path = tree / file
        if language == "python":
            assert not path.exists(), f"{file} exists already"
            path.write_text(text, encoding="utf-8")
        else:
            path.write_text(changed(path.read_text(encoding="utf-8"), text), encoding="utf-8")


def changed(text: str, diff: str) -> str:
    """A text after a diff without line numbers, whose old lines must stand in it once."""
    lines = diff.splitlines(keepends=True)
    old = "".join(line[1:] for line in lines if line[0] in " -")
    new = "".join(line[1:] for line in lines if line[0] in " +")
    if text.count(old) != 1:
        raise ValueError(f"stands there {text.count(old)} times, not once:\n{old}")
    return text.replace(old, new)
