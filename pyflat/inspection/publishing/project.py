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


class ProjectError(ValueError):
    """Something in the table is not as it should be: a sentence that names the key."""


@dataclass(frozen=True)
class Shipped:
    """A function, or the public functions of a module, and how it is to be flattened.

    kinds   the kinds of its lane parameters, "f8,i8"; "" where annotations and defaults say them
    static  values of parameters that are no lanes
    frozen  captured lists, dicts, sets and arrays do not change
    """

    function: str
    kinds: str = ""
    static: Mapping[str, Any] = field(default_factory=dict)
    frozen: bool = False

    def __str__(self) -> str:
        options = [f"kinds={self.kinds}"] * bool(self.kinds) + ["frozen"] * self.frozen
        fixed = [f"{name}={value!r}" for name, value in sorted(self.static.items())]
        return " ".join([self.function, *options, *fixed])


@dataclass(frozen=True)
class Project:
    """What a pyproject.toml says. `licence` is the SPDX expression of `project.license`, or ""."""

    licence: str = ""
    export: Path | None = None
    functions: tuple[Shipped, ...] = ()


_TABLE = {"export": (str, 'the path of the file to write, "mylib/_flat.py"'),
          "functions": (list, 'a list, ["mylib.heat:index"]')}
_WANTED = {"function": (str, 'a string, "mylib.heat:index"'), "kinds": (str, 'a string, "f8,i8"'),
           "static": (dict, "a table of values, { year = 2024 }"), "frozen": (bool, "true or false")}


def project_at(place: Path) -> Project:
    """What the pyproject.toml of a folder, or of the nearest one above it, says. Raises ProjectError."""
    folders = (place.resolve(), *place.resolve().parents)
    folder = next((each for each in folders if (each / "pyproject.toml").is_file()), None)
    if folder is None:
        return Project()
    file = folder / "pyproject.toml"
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ProjectError(f"{file}: {error}") from error
    table = _checked(content.get("tool", {}).get("pyflat", {}), _TABLE, "")
    licence = content.get("project", {}).get("license", "")
    wanted = [_wanted(entry, f"functions[{k}]") for k, entry in enumerate(table.get("functions", []))]
    return Project(licence if isinstance(licence, str) else "",
                   folder / table["export"] if table.get("export") else None, tuple(wanted))


def _wanted(entry: object, key: str) -> Shipped:
    return Shipped(**_checked({"function": entry} if isinstance(entry, str) else entry, _WANTED, key))


def _checked(table: Any, keys: Mapping[str, tuple[type, str]], where: str) -> Mapping[str, Any]:
    """A table with these keys only, each of its type."""
    if not isinstance(table, dict):
        raise ProjectError(f"[tool.pyflat] {where}: {table!r} is no table".replace(" :", ":"))
    for key, value in table.items():
        name = f"{where}.{key}" if where else key
        if key not in keys:
            raise ProjectError(f"[tool.pyflat] {name}: there is no such key; there are {', '.join(keys)}")
        if not isinstance(value, keys[key][0]):
            raise ProjectError(f"[tool.pyflat] {name}: {value!r} is not {keys[key][1]}")
    if keys is _WANTED and "function" not in table:
        raise ProjectError(f'[tool.pyflat] {where}: it names no function; function = "mylib.heat:index"')
    return table
