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
html_js_files = ["copy.js"]
html_favicon = "assets/favicon.svg"
html_search_scorer = str(DOCS / "assets" / "scorer.js")
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


FOUND_BY = {
    "tutorial": ("install", "pip", "start", "example"),
    "compare/index": ("compare", "alternatives", "cython", "pythran", "blosc2", "drjit"),
    "compare/scoreboard": ("benchmark", "benchmarks", "scoreboard"),
    "explanation/performance": ("slow", "fast", "speed", "performance", "parallel", "threads"),
    "explanation/limits": ("unsupported",),
    "how-to/arrays": ("pandas", "dataframe", "frame", "xarray", "arrow"),
    "how-to/coming-from": ("numba", "njit", "vectorize", "where"),
    "how-to/engines": ("polars", "sql", "duckdb", "jax", "pytorch"),
    "how-to/graphics": ("shader", "gpu", "glsl", "wgsl"),
    "how-to/kernels": ("kernel", "loop", "stencil"),
    "how-to/processes": ("dask", "pickle", "multiprocessing"),
    "reference/errors": ("refused", "flattenerror"),
}
"""What people search for, and the page that a search shows first."""


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

    title, _, text = LINK.sub(place, source[0]).partition("\n")
    words = ", ".join(f"! {word}" for word in FOUND_BY.get(docname, ()))
    source[0] = f"{title}\n\n```{{index}} {words}\n```\n{text}" if words else f"{title}\n{text}"


def mark_up(app: Sphinx, what: str, name: str, found: object, options: object, lines: list[str]) -> None:
    """Docstrings are plain text with code in backquotes."""
    lines[:] = docstrings.restructured(lines)


def without_constructors(app: Sphinx, what: str, name: str, *rest: object) -> bool | None:
    """Users make none of these objects by their classes: `__init__` is no entry of its own."""
    return True if name in ("__init__", "__new__") else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_lexer("output", TextLexer)  # what a block prints, which the tests compare
    app.connect("source-read", take_root_pages)
    app.connect("doctree-resolved", private_words.link_first_uses)
    app.connect("autodoc-process-docstring", mark_up)
    app.connect("autodoc-skip-member", without_constructors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
