"""The site: these pages by Sphinx and MyST, `make site`. Warnings are errors there, so links and anchors hold."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers.special import TextLexer

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(DOCS)]

import docstrings  # noqa: E402
import private_words  # noqa: E402

import pyflat  # noqa: E402

project = "pyflat"
author = "The pyflat authors"
copyright = author
version = release = pyflat.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["README.md"]
nitpicky = True
nitpick_ignore_regex = [("py:class", ".*")]  # types in signatures: many are NumPy's, or names of pyflat's own modules
smartquotes = False  # a value is to be copied with its quotes
autodoc_class_signature = "separated"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
default_role = "code"
myst_heading_anchors = 4
myst_links_external_new_tab = True

html_theme = "furo"
html_static_path = ["assets"]
html_css_files = ["site.css"]
html_title = f"pyflat {version}"
html_show_sphinx = False
html_copy_source = False
linkcheck_anchors = False  # many pages make theirs by a script

OF_THE_ROOT = {
    "contributors/architecture": "ARCHITECTURE.md",
    "contributors/contributing": "CONTRIBUTING.md",
    "contributors/changelog": "CHANGELOG.md",
}
"""Pages that stand at the top of the repository, where its readers look for them; the files here lead there."""
LINK = re.compile(r"(?<=\]\()(?!\w+:|#|<)([^)#\s]+)")


def take_root_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """The text of a page of the top of the repository, and links to such pages as links to pages of the site."""
    page = ROOT / OF_THE_ROOT[docname] if docname in OF_THE_ROOT else DOCS / f"{docname}.md"
    if docname in OF_THE_ROOT:
        source[0] = page.read_text(encoding="utf-8")
        app.env.note_dependency(str(page))
    pages = {ROOT / name: f"{DOCS / doc}.md" for doc, name in OF_THE_ROOT.items()}
    pages[ROOT / "README.md"] = pages[DOCS / "README.md"] = str(DOCS / "index.md")

    def place(link: re.Match[str]) -> str:
        target = (page.parent / link[0]).resolve()
        target = Path(pages.get(target, target))
        return Path(os.path.relpath(target, (DOCS / docname).parent)).as_posix()

    source[0] = LINK.sub(place, source[0])


def mark_up(app: Sphinx, what: str, name: str, found: object, options: object, lines: list[str]) -> None:
    """Docstrings are plain text with code in backquotes."""
    lines[:] = docstrings.restructured(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_lexer("output", TextLexer)  # what a block prints, which the tests compare
    app.connect("source-read", take_root_pages)
    app.connect("doctree-resolved", private_words.link_first_uses)
    app.connect("autodoc-process-docstring", mark_up)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
