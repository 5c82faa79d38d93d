"""Words with a sense of their own lead to the page that defines them: on each page for users the first use of each.
Sphinx calls this for every page, so that authors write plain Markdown."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

PAGE = "explanation/lanes"
TABLE = "the-words"
LEFT_OUT = ("contributors/", PAGE)
NOT_INSIDE = (nodes.reference, nodes.literal, nodes.title, nodes.literal_block, nodes.FixedTextElement)


@cache
def definitions() -> dict[str, str]:
    """Each word with its definition, as the table of that page has it."""
    text = (Path(__file__).parent / f"{PAGE}.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", text.partition("## The words")[2], re.MULTILINE)
    return {word: said.replace("`", "").replace("*", "") for words, said in rows[1:] for word in words.split(", ")}


def uses(text: str) -> Iterator[re.Match[str]]:
    """Each use of a word, also in the plural."""
    words = "|".join(sorted(definitions(), key=len, reverse=True))
    return re.finditer(rf"\b(?:{words})e?s?\b", text, re.IGNORECASE)


def word_of(use: str) -> str:
    """The word that is used."""
    return max((word for word in definitions() if use.lower().startswith(word.lower())), key=len)


def link_first_uses(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Links with the definition as their title."""
    if docname.startswith(LEFT_OUT):
        return
    seen: set[str] = set()
    page = app.builder.get_relative_uri(docname, PAGE)
    for text in list(doctree.findall(nodes.Text)):
        inside = [type(node) for node in _parents(text)]
        if nodes.paragraph in inside and not any(issubclass(kind, NOT_INSIDE) for kind in inside):
            text.parent.replace(text, list(_linked(str(text), page, seen)))


def _linked(text: str, page: str, seen: set[str]) -> Iterator[nodes.Node]:
    done = 0
    for use in uses(text):
        word = word_of(use[0])
        if word not in seen:
            seen.add(word)
            yield nodes.Text(text[done:use.start()])
            yield nodes.reference("", use[0], refuri=f"{page}#{TABLE}", reftitle=f"{word}: {definitions()[word]}",
                                  internal=True, classes=["word"])
            done = use.end()
    yield nodes.Text(text[done:])


def _parents(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent is not None:
        node = node.parent
        yield node
