"""Prose and names use the field's words: a list of words that the code and the docs do without."""

from __future__ import annotations

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


# --- words with a sense of their own

PRIVATE = {
    "original", "twin", "lane", "flatten", "select", "target", "engine", "kind", "static", "arm", "trip", "mask", "fault",
    "suspect", "replay", "kernel", "ulp", "gang", "opaque call", "kept loop", "live mask", "flat form", "IR", "residual",
    "uniform", "straight-line",
}
"""What a newcomer does not know, or knows in another sense; docs/reference/words.md defines each, and the site links the
first use on each page to it (docs/private_words.py)."""
INSIDE = (r"suspect bits?|regroup\w*|manifest|heap|object space|partial evaluat\w+|structured IR|masked IR|predicates?|"
          r"rerun|lane plans?|refill\w*|frontend|passes run")
"""Words about the inside, for contributors only."""
USER_PAGES = [name for name in TEXTS if name == "README.md" or name.endswith(".md") and name.startswith("docs/")
              and not name.startswith("docs/contributors/")]


def test_each_private_word_is_defined_for_users():
    text = TEXTS["docs/reference/words.md"]
    assert set(re.findall(r"^## (.+)$", text, re.MULTILINE)) == PRIVATE
    assert all(len(said.split()) > 3 for said in re.split(r"^## .+$", text, flags=re.MULTILINE)[1:])


@pytest.mark.parametrize("name", USER_PAGES)
def test_user_pages_do_without_words_about_the_inside(name):
    prose = re.sub(r"^```.*?^```$|`[^`]*`", "", TEXTS[name], flags=re.MULTILINE | re.DOTALL)
    assert re.findall(rf"(?i)\b(?:{INSIDE})\b", prose) == []


def test_user_pages_are_looked_at():
    assert len(USER_PAGES) > 20
    assert re.findall(rf"(?i)\b(?:{INSIDE})\b", "The suspect bits of the Manifest") == ["suspect bits", "Manifest"]
