"""Writes the generated pages of docs/reference: errors.md from the refusal table and docs/error_cases.py, support.md
from docs/support_cases.py, values.md from docs/value_cases.py, containers.md from docs/container_cases.txt; options.md,
twin.md, names.md, ways.md and command-line.md from the code itself (docs/reference_pages.py)."""

from __future__ import annotations

import importlib.util
import sys
from itertools import groupby
from pathlib import Path
from types import ModuleType

from pyflat.errors import CODES

DOCS = Path(__file__).resolve().parent


def support_cases() -> ModuleType:
    return beside("support_cases")


def values_page() -> str:
    return str(beside("values").page())


def beside(name: str) -> ModuleType:
    """A module next to this one, imported by its path: docs/ is no package."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def errors_page() -> str:
    cases = beside("error_cases")
    lines = [
        "# Errors",
        "",
        "<!-- written by docs/generate.py from docs/error_cases.py; do not edit -->",
        "",
        "Code that cannot be flattened raises `pyflat.FlattenError` before anything runs; the original still works.",
        "The message shows the place, the reason and what to write instead. `error.code` is stable; `pyflat codes`",
        "lists the codes. This page shows each code with a script that is refused and one that works. The tests run",
        "them after these lines:",
        "",
        *_script(cases.HEAD),
    ]
    for name, row in CODES.items():
        lines += ["", f"## `{name}`", "", f"{_sentence(row.title)} {_sentence(row.why)}", "",
                  f"**Instead:** {_sentence(row.help)}"]
        if name in cases.NEVER:
            lines += ["", cases.NEVER[name]]
            continue
        example = cases.EXAMPLES[name]
        lines += ["", "Refused:", "", *_script(example.bad), "", "Works:", "", *_script(example.good)]
    return "\n".join(lines) + "\n"


def _script(text: str) -> list[str]:
    """A block that is no part of the page's own script."""
    return ["```python example", *text.strip().splitlines(), "```"]


def _sentence(text: str) -> str:
    start = text if text.startswith(("`", "pyflat")) else text[0].upper() + text[1:]
    return start if start.endswith((".", "!", "?")) else start + "."


def support_page() -> str:
    lines = [
        "# What flattens",
        "",
        "<!-- written by docs/generate.py from docs/support_cases.py; do not edit -->",
        "",
        "Each row is a small function in [support_cases.py](../support_cases.py). The tests run it on NumPy and numba",
        "and compare each element with the original, or check that it is refused with the given [code](errors.md).",
    ]
    for section, cases in groupby(support_cases().CASES, key=lambda case: case.section):
        lines += ["", f"## {section}", "", "| construct | flattens | function |", "|---|---|---|"]
        for case in cases:
            verdict = f"no: `{case.code}`" if case.code else "yes"
            lines.append(f"| {case.title} | {verdict} | `{case.function.__name__}` |")
    return "\n".join(lines) + "\n"


def containers_page() -> str:
    cases = beside("container_cases")
    lines = [
        "# Arrays of other libraries",
        "",
        "<!-- written by docs/generate.py from docs/container_cases.txt; do not edit -->",
        "",
        "This page shows what a twin does with arrays, columns and tables of other libraries; for an introduction, see",
        "[the arrays you have](../how-to/arrays.md). The tests run these calls, with twins of the functions",
        "at the top of [container_cases.py](../container_cases.py): `fee(amount, rate=0.5)` divides by `rate` if",
        "`amount` is above 100, `share(part, whole)` divides ints, `pair(x, n)` returns two results, `label(x, how)`",
        "takes a string, `grade(x)` returns one, `maybe(n)` may return None, `bits(n)` returns a 64-bit int.",
        "`nan_fee` and `mask_fee` have `errors=\"nan\"` and `\"mask\"`. Exceptions name their element (*lane*).",
    ]
    for library, rows in groupby(cases.rows(), key=lambda row: row.library):
        setting = cases.SETTINGS[library].text.strip()
        lines += ["", f"## {library}", "", *(["```text", *setting.splitlines(), "```", ""] if setting else []),
                  "| construct | call | what happens |", "|---|---|---|"]
        lines += [f"| {row.construct} | {_code(row.call)} | {_code(row.outcome)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


beside("docstrings")  # which the next one imports
REFERENCE = beside("reference_pages")
PAGES = {"errors.md": errors_page, "support.md": support_page, "values.md": values_page,
         "containers.md": containers_page, **REFERENCE.PAGES}


def main() -> None:
    for name, page in PAGES.items():
        (DOCS / "reference" / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
