"""Prose and names use the field's words: a list of words that the code and the docs do without."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORDS = {  # a pattern, and what to write instead
    r"(?i)\b(nobody|somebody|anybody)": "what is meant: nothing, no other user, not known",
    r"(?i)\bdear(er|est)?\b": "expensive",
    r"(?i)magnif": "lane trace",
    r"(?i)\bkept calls?\b": "opaque call",
    r"\bforeign\b": "external, of another program",
    r"\bRerun\b": "ExactRetry",
    r"\bNarrowLanes\b": "Float32Reference",
    r"\bSpecialiser\b": "Evaluator",
    r"\b(Queues|plan_queues)\b": "Regrouping",
    r"`(numba|numpy)_(arms|blocks|choice|costs|engine|frames|glue|jit|kernel|library|loops|memory|narrow|ops|queues|refill|slots|uniform)\b":
        "the module's path",
    r"\bpyflat/specialise/|\bpyflat/pipeline\.py": "the module's path",
}


def files() -> list[Path]:
    found = [path for folder, ends in (("pyflat", "*.py"), ("docs", "*.md"), ("docs", "*.py"))
             for path in sorted((ROOT / folder).rglob(ends))]
    return [*found, *(ROOT / name for name in ("README.md", "ARCHITECTURE.md"))]


TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files()}


@pytest.mark.parametrize("word", WORDS)
def test_words(word):
    found = [f"{name}:{number}: {line.strip()}" for name, text in TEXTS.items()
             for number, line in enumerate(text.splitlines(), 1) if re.search(word, line)]
    assert not found, f"instead: {WORDS[word]}\n" + "\n".join(found)


def test_the_words_are_looked_for():
    assert len(TEXTS) > 300
    line = "nobody knows dear parts of the Magnified kept call, foreign to `numba_queues`"
    assert sum(re.search(word, line) is not None for word in WORDS) == 6


# --- refusals are worded once, for twins over lanes and for kernels
LANES_ONLY = ("results.py",)  # what a twin over lanes returns; kernels have `kernels/results.py`


def said(path: Path) -> list[str]:
    """The texts of a module's refusals."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    refusals = [call for call in calls if ast.unparse(call.func).split(".")[-1] in ("refuse", "doubt", "describe")]
    return [text.value for call in refusals for argument in [*call.args, *(each.value for each in call.keywords)]
            for text in ast.walk(argument) if isinstance(text, ast.Constant) and isinstance(text.value, str)
            and not text.value.startswith("flatten/")]


def test_refusals_of_what_kernels_have_as_well_do_not_speak_of_lanes():
    modules = [path for path in (ROOT / "pyflat" / "frontend").rglob("*.py")
               if path.relative_to(ROOT / "pyflat" / "frontend").as_posix() not in LANES_ONLY]
    texts = {f"{path.name}: {text}" for path in modules for text in said(path)}
    assert len(texts) > 400
    assert not [text for text in texts if re.search(r"\blanes?\b", text)]


# --- words that pages explain
LANES = (ROOT / "docs" / "explanation" / "lanes.md").read_text(encoding="utf-8")
EXPLAINED = [word for row in re.findall(r"^\| (.+?) \|", LANES, re.MULTILINE)[1:] for word in row.split(", ") if "-" not in word]
NOT_ASKED = ("gallery.md", "lanes.md")  # written by a program; the table itself
FOR_USERS = [ROOT / "README.md", ROOT / "docs" / "tutorial.md",
             *(path for folder in ("tutorial", "how-to", "explanation", "examples", "compare")
               for path in sorted((ROOT / "docs" / folder).glob("*.md")) if path.name not in NOT_ASKED)]


def unexplained(text: str) -> list[str]:
    """The words of pyflat's own that a page uses, where it neither leads to the table nor sets the word in italics or
    bold."""
    if "lanes.md" in text:
        return []
    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", text, flags=re.DOTALL)
    return [word for word in EXPLAINED
            if re.search(rf"(?<![*\w]){re.escape(word)}s?(?![*\w])", prose) and not re.search(rf"\*{re.escape(word)}s?\*", prose)]


@pytest.mark.parametrize("page", FOR_USERS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_explains_its_words(page):
    text = page.read_text(encoding="utf-8")
    assert unexplained(text) == [], "link to docs/explanation/lanes.md, or set the word in italics where it is defined"


def test_unexplained_words_are_found():
    assert {"lane", "suspect", "gang", "flat form", "ulp"} <= set(EXPLAINED)
    assert unexplained("Each lane of a gang is suspect, in *roles*; `mask`") == ["lane", "suspect", "gang"]
    assert len(FOR_USERS) > 15


# --- words that pages for users do without

INSIDE = (r"suspect bits?|regroup\w*|manifest|heap|object space|partial evaluat\w+|structured IR|masked IR|predicates?|"
          r"rerun|lane plans?|refill\w*|frontend|scalar kernels?|lane-wise|primitives?|speciali[sz]\w+|OCANNL\w*|masked form")
"""Words about the inside, for contributors."""
TITLES = {"docs/explanation/seeds.md": {"OCANNL"}}
"""Page -> such words in the titles of what it is about."""
USER_PAGES = [name for name in TEXTS if name == "README.md" or name.endswith(".md") and name.startswith("docs/")
              and not name.startswith("docs/contributors/")]


@pytest.mark.parametrize("name", USER_PAGES)
def test_user_pages_do_without_words_about_the_inside(name):
    prose = re.sub(r"^```.*?^```$|`[^`]*`|\]\([^)]*\)", "", TEXTS[name], flags=re.MULTILINE | re.DOTALL)
    assert set(re.findall(rf"(?i)\b(?:{INSIDE})\b", prose)) <= TITLES.get(name, set())


def test_user_pages_are_looked_at():
    assert len(USER_PAGES) > 20
    assert re.findall(rf"(?i)\b(?:{INSIDE})\b", "The suspect bits of the Manifest, specialised") == [
        "suspect bits", "Manifest", "specialised"]
