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
