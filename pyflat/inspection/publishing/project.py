"""The table `[tool.pyflat]` of a library's pyproject.toml: which twins it ships, and where they are written.

    [tool.pyflat]
    export = "mylib/_flat.py"                                         # NumPy text, by `pyflat export`
    build = "mylib/_fast"                                             # machine code, by `pyflat build`
    functions = [
        "mylib.heat",                                                 # the public functions of a module
        "mylib.heat:index", "mylib.sun:get_*",                        # one function, and those with such names
        { function = "mylib.tax:due", kinds = "f8,i8", static = { year = 2024 }, frozen = true },
    ]
"""

from __future__ import annotations

import os
import sysconfig
import tempfile
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
    frozen  captured lists, dicts, sets and arrays, and variables that functions assign, do not change
    setup   a statement that is run before in the function's module, "set_units(SI)": for `pyflat build`, which notes
            what variables have been changed to, and asks for that in each call
    errors  "raise" what the original raises in a lane, or "nan"; for `pyflat build`
    math    "exact", or "fast": functions within two units in the last place; for `pyflat build`
    """

    function: str
    kinds: str = ""
    static: Mapping[str, Any] = field(default_factory=dict)
    frozen: bool = False
    setup: str = ""
    errors: str = "raise"
    math: str = "exact"

    def __str__(self) -> str:
        options = [f"kinds={self.kinds}"] * bool(self.kinds) + ["frozen"] * self.frozen
        options += [f"setup={self.setup!r}"] * bool(self.setup) + ["errors=nan"] * (self.errors == "nan")
        options += ["math=fast"] * (self.math == "fast")
        fixed = [f"{name}={value!r}" for name, value in sorted(self.static.items())]
        return " ".join([self.function, *options, *fixed])


@dataclass(frozen=True)
class Project:
    """What a pyproject.toml says. `licence` is the SPDX expression of `project.license`, or ""."""

    licence: str = ""
    export: Path | None = None
    build: Path | None = None
    functions: tuple[Shipped, ...] = ()


_Keys = Mapping[str, tuple[type | tuple[str, ...], str]]
_TABLE: _Keys = {"export": (str, 'the path of the file to write, "mylib/_flat.py"'),
          "build": (str, 'the path of the module to write without its suffix, "mylib/_fast"'),
          "functions": (list, 'a list, ["mylib.heat:index"]')}
_WANTED: _Keys = {"function": (str, 'a string, "mylib.heat:index"'), "kinds": (str, 'a string, "f8,i8"'),
           "static": (dict, "a table of values, { year = 2024 }"), "frozen": (bool, "true or false"),
           "setup": (str, 'a statement, "set_units(SI)"'), "errors": (("raise", "nan"), '"raise" or "nan"'),
           "math": (("exact", "fast"), '"exact" or "fast"')}


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
                   folder / table["export"] if table.get("export") else None,
                   folder / table["build"] if table.get("build") else None, tuple(wanted))


def _wanted(entry: object, key: str) -> Shipped:
    return Shipped(**_checked({"function": entry} if isinstance(entry, str) else entry, _WANTED, key))


def _checked(table: Any, keys: _Keys, where: str) -> Mapping[str, Any]:
    """A table with these keys only, each of its type."""
    if not isinstance(table, dict):
        raise ProjectError(f"[tool.pyflat] {where}: {table!r} is not a table".replace(" :", ":"))
    for key, value in table.items():
        name = f"{where}.{key}" if where else key
        if key not in keys:
            raise ProjectError(f"[tool.pyflat] {name}: there is no such key; the keys are {', '.join(keys)}")
        known = keys[key][0]
        if value not in known if isinstance(known, tuple) else not isinstance(value, known):
            raise ProjectError(f"[tool.pyflat] {name}: {value!r} is not {keys[key][1]}")
    if keys is _WANTED and "function" not in table:
        raise ProjectError(f'[tool.pyflat] {where}: it names no function; function = "mylib.heat:index"')
    return table


def extension_path(module: Path) -> Path:
    """Where this Python's extension module is."""
    return module.with_name(module.name + str(sysconfig.get_config_var("EXT_SUFFIX")))


def module_name(file: Path) -> str:
    """What a file is imported as."""
    return ".".join(file.resolve().relative_to(package_root(file)).parts)


def package_root(file: Path) -> Path:
    """The folder that a file's package is imported from: the first above it without an __init__.py."""
    return next(folder for folder in file.resolve().parents if not (folder / "__init__.py").is_file())


def replace_file(path: Path, content: bytes) -> None:
    """The file with this content: at each moment the old one or the new one is there. Raises ProjectError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(name, path)
    except OSError as error:
        raise ProjectError(f"{path} cannot be written: {error.strerror}") from error
