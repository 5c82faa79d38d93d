"""The reference pages that are read off the code: options, the twin, the command line, the public names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click
import docstrings

import pyflat
from pyflat.cli.main import commands
from pyflat.functions import ways
from pyflat.runtime import option_effects, settings
from pyflat.targets import target as targets

NOTE = "<!-- written by docs/generate.py; do not edit -->"
MEMBERS = {
    "Calling": ("__call__", "by_name", "compile", "ufunc", "gufunc"),
    "Options and targets": ("options", "with_options", "to", "settings"),
    "Elements that fail": ("faults", "replay"),
    "Checking": ("verify",),
    "Reading": ("source", "show", "function", "explain", "profile", "roles", "stats", "inspect_llvm", "inspect_asm"),
    "As a function": ("original",),
}
"""The public members of a twin, by what they are for; others come last."""
INTERNAL = {"array_parameters", "check_static"}
"""Members without an underscore that pyflat's own modules ask."""
PLAIN = {
    "original": "The function as it was written; the same as `__wrapped__`.",
    "settings": "The options that were given for this twin, as pairs.",
}
"""Attributes that have no docstring of their own."""
NAMES = {
    "Making twins": ("flatten", "twin", "Flattened"),
    "Options": ("options", "set_defaults"),
    "Elements that fail": ("Faults", "Failure", "LaneError", "TripLimitError"),
    "Errors and warnings": ("FlattenError", "LaneWarning", "PerformanceWarning", "VersionWarning",
                                    "InternalError"),
}
ELSEWHERE = {"Twin": "twin.md", "Options": "options.md"}


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    shown = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {row} |" for row in shown)]


# --- options

def options_page() -> str:
    said = docstrings.entries(settings.Options.__doc__)
    hints = get_type_hints(settings.Options, localns={"EngineName": str, "Registered": str, "Call": str})
    rows = [(f"[`{f.name}`](#{f.name})", f"`{_spelt(f.default)}`", _values(f.name, hints[f.name]))
            for f in fields(settings.Options)]
    lines = ["# Options", "", NOTE, "",
             "`@pyflat.flatten(...)`, `pyflat.twin(f, ...)`, `twin.with_options(...)`, `with pyflat.options(...)` and",
             "`pyflat.set_defaults(...)` take the same options. Each call uses the first setting in this list:", "",
             "1. the options given to the decorator, to `pyflat.twin` or to `with_options`;",
             "2. the innermost `with pyflat.options(...)` block of this thread or task;",
             "3. `pyflat.set_defaults(...)`;",
             "4. the environment variable `PYFLAT_TARGET`, for the target;",
             "5. the default.", "",
             "A wrong name or type raises `TypeError`, a wrong value `ValueError`. Options are not keywords of a call:",
             "there, every keyword except `out` is a parameter of the function.", "",
             *_table(("option", "default", "values"), rows), "", *_forms()]
    for f in fields(settings.Options):
        lines += ["", f"## `{f.name}`", "", f"Default `{_spelt(f.default)}`. {_sentence(_marked(said[f.name]))}"]
        lines += _elsewhere(f.name)
    return "\n".join(lines) + "\n"


_CELLS: dict[str, tuple[option_effects.Form, str]] = {
    **{f"lanes on {name}": ("lanes", name) for name in ("numpy", "numba", "dataflow")},
    "kernels": ("kernel", "numpy"), "gufuncs": ("gufunc", "numpy"),
}


def _forms() -> list[str]:
    """The table of options and forms of twins, which a test makes by trying."""
    rows = [(f"[`{f.name}`](#{f.name})", *("; ".join(map(_shown, _effects(f.name, cell))) for cell in _CELLS.values()))
            for f in fields(settings.Options) if f.name != "fast_math"]
    return ["## Where each option applies", "",
            "A twin works element by element (*lanes*), is a [kernel](../how-to/kernels.md) over arrays or, with",
            "`signature=`, is a gufunc of a kernel. Kernels and gufuncs behave alike on numpy and numba; other targets",
            "refuse them. An option that does not apply is handled in one of these ways:", "",
            "- *refused*: an error (`flatten/option`, or the code given below) wherever the option is set, because it",
            "  would change the results; to reset it, give the default at the function or to `with_options()`;",
            "- *refused by need*: an error only if the function has an opaque call, or the arguments ask for float32;",
            "- *refused at the function*: an error at the decorator, `pyflat.twin` or `with_options()`; ignored in a",
            "  block or `set_defaults`, which still applies to other twins;",
            "- *warns at the function*: no effect, and the first call emits a `PerformanceWarning`;",
            "- *no effect*: the option cannot change the results.", "",
            *_table(("option", *_CELLS), rows)]


def _effects(name: str, cell: tuple[option_effects.Form, str]) -> tuple[option_effects.Effect, ...]:
    return option_effects.effects(name, cell[0], targets.of(cell[1]))


def _shown(effect: option_effects.Effect) -> str:
    return f"{', '.join(f'`{_spelt(value)}`' for value in effect.values)} {effect.how}".strip()


def _elsewhere(name: str) -> list[str]:
    """The reasons of what does not work."""
    found: dict[str, None] = {}
    for cell in _CELLS.values():
        found.update((f"{_sentence(_shown(effect))[:-1]}: {effect.why}.", None) for effect in _effects(name, cell)
                     if effect.why and name != "fast_math")
    return ["", *(f"- {_marked(line)}" for line in found)] if found else []


def _values(name: str, hint: Any) -> str:
    if name == "target":
        return ", ".join(f'`"{one}"`' for one in targets.runnable())
    return ", ".join(dict.fromkeys(_words(hint)))


def _words(hint: Any) -> Iterator[str]:
    if get_origin(hint) is Literal:
        yield from (f'`"{one}"`' for one in get_args(hint))
    elif get_origin(hint) in (tuple, frozenset):
        yield "names" if get_origin(hint) is tuple else "names or `Call`s"
    elif hint is bool:
        yield from ("`True`", "`False`")
    elif hint is type(None):
        yield "`None`"
    elif hint in (int, str):
        yield "a whole number" if hint is int else "a string"
    else:
        for part in get_args(hint):
            yield from _words(part)


def _spelt(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _marked(text: str) -> str:
    """Paths of pages as links, values as code."""
    text = re.sub(r"docs/reference/([\w-]+)\.md", r"[\1](\1.md)", text)
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r'(\w+=)?"[^" ]*"', r"`\g<0>`", part) for part in parts)


def _sentence(text: str) -> str:
    text = text[0].upper() + text[1:] if text[0].islower() else text
    return text if text.endswith((".", "!", "?")) else f"{text}."


# --- the twin

def twin_page() -> str:
    lines = ["# The twin", "", NOTE, "",
             "The twin is `f.flat` of a decorated function, or the result of `pyflat.twin(f)`. It behaves like a",
             "function: `help`, `inspect.signature`, `doctest` and `functools.wraps` see the original's signature,",
             "docstring and module, and its name with `_flat` appended.", "",
             *_directive("autoclass", "pyflat.Twin", "no-index-entry")]
    for title, names in _groups():
        rows = [(f"`{_spelled(name)}`", _said(name)) for name in names]
        lines += ["", f"## {title}", "", *_table(("member", "what it is"), rows)]
        for name in names:
            if name in PLAIN:
                lines += ["", "```{eval-rst}", f".. py:attribute:: pyflat.Twin.{name}", "",
                          f"   {PLAIN[name].replace('`', '``')}", "```"]
            elif name != "__call__":
                lines += ["", *_directive(_kind(name), f"pyflat.Twin.{name}")]
    return "\n".join(lines) + "\n"


def _groups() -> Iterator[tuple[str, Sequence[str]]]:
    yield from MEMBERS.items()
    named = {name for names in MEMBERS.values() for name in names} | INTERNAL
    if more := [name for name in dir(pyflat.Twin) if not name.startswith("_") and name not in named]:
        yield "More", more


def _said(name: str) -> str:
    if name == "__call__":
        return "Compute the result for each element of the arguments, which are broadcast together."
    return PLAIN.get(name) or str(docstrings.summary(inspect.getattr_static(pyflat.Twin, name).__doc__))


def _kind(name: str) -> str:
    return "automethod" if inspect.isfunction(inspect.getattr_static(pyflat.Twin, name)) else "autoproperty"


def _spelled(name: str) -> str:
    if name == "__call__":
        return "twin(...)"
    return f"twin.{name}" if name in PLAIN or _kind(name) == "autoproperty" else f"twin.{name}(...)"


def _directive(kind: str, name: str, *flags: str) -> list[str]:
    return ["```{eval-rst}", f".. {kind}:: {name}", *(f"   :{flag}:" for flag in flags), "```"]


# --- public names

def names_page() -> str:
    lines = ["# Public names", "", NOTE, "",
             "Names in `pyflat`; [the twin](twin.md) and [the options](options.md) have their own pages."]
    for title, names in NAMES.items():
        lines += ["", f"## {title}"]
        for name in names:
            found = getattr(pyflat, name)
            members = ("members",) if name in ("Faults", "Failure", "FlattenError") else ()
            kind = "autofunction" if inspect.isfunction(found) else "autoclass"
            lines += ["", *_directive(kind, f"pyflat.{name}", *members)]
    modules = [(f"`pyflat.{name}`", _module_says(name)) for name in sorted(pyflat._MODULES)]
    lines += ["", "## Modules", "", "Attributes of `pyflat` (`pyflat.testing`, ...), loaded on first use.", "",
              *_table(("module", "what it is for"), modules)]
    return "\n".join(lines) + "\n"


def _module_says(name: str) -> str:
    return str(docstrings.summary(getattr(pyflat, name).__doc__))


# --- the command line

def command_line_page() -> str:
    assert isinstance(commands, click.Group)
    rows = [(f"[`pyflat {name}`](#pyflat-{name})", command.get_short_help_str(200)) for name, command in _verbs()]
    lines = ["# The command line", "", NOTE, "",
             "Run `pyflat COMMAND ...` or `python -m pyflat COMMAND ...`. SPEC names a function: `module:function`,",
             "`module:Class.method` or `path/to/file.py:function`.", "", *_table(("command", "what it does"), rows), "",
             "The exit status is 0 for success, 1 for a refused function or a missing library, 2 for a wrong name",
             "or option, and 3 for a bug in pyflat."]
    for name, command in _verbs():
        lines += ["", f"## `pyflat {name}`", "", "```text", " ".join(["pyflat", name, *_usage(command)]), "```", "",
                  *_help(command)]
        options = [p for p in command.params if isinstance(p, click.Option)]
        if options:
            lines += ["", *_table(("option", "meaning", "default"), [_option(p) for p in options])]
    return "\n".join(lines) + "\n"


def _verbs() -> list[tuple[str, click.Command]]:
    assert isinstance(commands, click.Group)
    return sorted(commands.commands.items())


def _usage(command: click.Command) -> list[str]:
    return command.collect_usage_pieces(click.Context(command))


def _help(command: click.Command) -> list[str]:
    return inspect.cleandoc(command.help or "").replace("\b", "").splitlines()


def _option(option: click.Option) -> tuple[str, str, str]:
    with click.Context(click.Command("pyflat")) as context:
        spelled, _ = option.get_help_record(context) or ("", "")
    limit = f" At least {option.type.min}." if isinstance(option.type, click.IntRange | click.FloatRange) else ""
    default = f"`{option.default}`" if isinstance(option.default, int | float | str) and not option.is_flag else ""
    return f"`{spelled.replace(' RANGE', '')}`", f"{option.help}{limit}", default


# --- ways

_WAYS = """# Ways

pyflat can often compute a result in several *ways*: short arrays run different code than long ones, an expensive branch
is skipped or computed, elements that have finished a loop wait or make room for the next. pyflat chooses by cost, by
timing, by the number of elements or calls, or by the processor. All ways return the same bits. `twin.stats.ways` lists
the ones that have run. A *lane* is one element of the arrays.

```python
import numpy as np, pyflat
from pyflat.functions import ways

@pyflat.flatten(target="numba")
def halvings(x: float):
    n = 0
    while x > 1.0:
        x = x / 2.0
        n += 1
    return n

with ways.forced(refill="refilled"):                    # for twins made in this block
    twin = pyflat.twin(halvings)
    assert twin(np.array([1.0, 5.0])).tolist() == [0, 3]
assert twin.stats.ways["refill"] == ("refilled",)
```

The environment variable `PYFLAT_WAYS="arms=branch,refill=plain"` forces ways for a whole process. Use it to find a way
that returns a different value or is slower. A forced way runs wherever it is possible.
"""
_HOW_THEY_ARE_TESTED = """## How they are tested

Every choice between ways goes through a `Way` in `pyflat/functions/ways.py`. `tests/targets/test_ways.py` checks that
each value of each way produces different code. `tests/generator/ways.py` has a table that covers each pair of values of
two ways. Random programs (`make fuzz`, and some in the tests) run each row of it, with code for each of the levels
x86-64-v2, x86-64-v3 and x86-64-v4 that the machine supports. To add a choice, add a `Way`: the test fails until its
values differ, and the random programs include it automatically."""


def ways_page() -> str:
    """The registry of ways."""
    rows = [(f"`{way.name}`", ", ".join(f"`{value}`" for value in way.values), way.decided_by, way.about)
            for way in ways.REGISTRY.values()]
    head, *text = _WAYS.splitlines()
    return "\n".join([head, "", NOTE, *text, "", *_table(("way", "values", "decided by", "what it is"), rows), "",
                      *_HOW_THEY_ARE_TESTED.splitlines(), ""])


PAGES = {"options.md": options_page, "twin.md": twin_page, "names.md": names_page, "command-line.md": command_line_page,
         "ways.md": ways_page}
