"""The table `[tool.pyflat]` of a library's pyproject.toml: which twins it ships, and where they are written.

    [tool.pyflat]
    export = "mylib/_flat.py"
    functions = [
        "mylib.heat",                                                 # the public functions of a module
        "mylib.heat:index",                                           # one function
        { function = "mylib.tax:due", kinds = "f8,i8", static = { year = 2024 }, frozen = true },
    ]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = "pyproject.toml"


class ProjectError(ValueError):
    """Something in the table is not as it should be: a sentence that names the key."""


@dataclass(frozen=True)
class Wanted:
    """A function, or the public functions of a module, and how it is to be flattened.

    kinds   the kinds of its lane parameters, "f8,i8"; "" where annotations and defaults say them
    static  values of parameters that are no lanes
    frozen  captured lists, dicts, sets and arrays are taken as they are
    """

    spec: str
    kinds: str = ""
    static: Mapping[str, Any] = field(default_factory=dict)
    frozen: bool = False

    def __str__(self) -> str:
        options = [f"kinds={self.kinds}"] * bool(self.kinds) + ["frozen"] * self.frozen
        return " ".join([self.spec, *options, *(f"{name}={value!r}" for name, value in sorted(self.static.items()))])


@dataclass(frozen=True)
class Project:
    """What a pyproject.toml says. `folder` is where it lies, `licence` the SPDX expression of `project.license`, or
    ""."""

    folder: Path
    licence: str = ""
    export: Path | None = None
    functions: tuple[Wanted, ...] = ()


def project_at(place: Path) -> Project | None:
    """What the pyproject.toml of a folder or of the nearest one above it says, None where there is none. Raises
    ProjectError."""
    for folder in (place.resolve(), *place.resolve().parents):
        if (folder / FILE).is_file():
            try:
                content = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise ProjectError(f"{folder / FILE} is no TOML: {error}") from error
            return _project(folder, content)
    return None


def _project(folder: Path, content: Mapping[str, Any]) -> Project:
    about, tool = content.get("project", {}), content.get("tool", {})
    licence = about.get("license", "") if isinstance(about, dict) else ""
    table = _is(tool.get("pyflat", {}) if isinstance(tool, dict) else {}, dict, "pyflat", "a table")
    _known(table, ("export", "functions"), "[tool.pyflat]")
    export = _is(table.get("export", ""), str, "export", 'the path of the file to write, "mylib/_flat.py"')
    if export and not export.endswith(".py"):
        raise ProjectError(f"export in [tool.pyflat]: {export!r} does not end in .py")
    functions = _is(table.get("functions", []), list, "functions", 'a list, ["mylib.heat:index"]')
    wanted = tuple(_wanted(entry, f"functions[{k}]") for k, entry in enumerate(functions))
    return Project(folder, licence if isinstance(licence, str) else "", folder / export if export else None, wanted)


def _wanted(entry: object, key: str) -> Wanted:
    if isinstance(entry, str):
        return Wanted(entry)
    table = _is(entry, dict, key, 'a string, "mylib.heat:index", or a table { function = "mylib.heat:index" }')
    _known(table, ("function", "kinds", "static", "frozen"), key)
    if "function" not in table:
        raise ProjectError(f'{key} in [tool.pyflat] names no function: function = "mylib.heat:index"')
    return Wanted(
        _is(table["function"], str, f"{key}.function", 'a string, "mylib.heat:index"'),
        _is(table.get("kinds", ""), str, f"{key}.kinds", 'a string, "f8,i8"'),
        _is(table.get("static", {}), dict, f"{key}.static", "a table of values, { year = 2024 }"),
        _is(table.get("frozen", False), bool, f"{key}.frozen", "true or false"))


def _is(value: Any, cls: type, key: str, what: str) -> Any:
    if not isinstance(value, cls):
        raise ProjectError(f"{key} in [tool.pyflat]: {value!r} is not {what}")
    return value


def _known(table: Mapping[str, Any], keys: tuple[str, ...], where: str) -> None:
    for key in table.keys() - keys:
        raise ProjectError(f"{where} has no key {key!r}; the keys are {', '.join(keys)}")
