"""The process in which surveyed modules are imported: one line of JSON for each thing that begins or is done.

    python -m pyflat.inspection.survey.worker    with the order as JSON on stdin

Everything that imported code prints goes nowhere. A function that takes too long is interrupted by an alarm where the
system has one; the parent ends a process that hangs all the same, and starts another one after the place where it was.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from pyflat.inspection.prove import TimeUp, alarm
from pyflat.inspection.survey.attempt import Row, attempt
from pyflat.inspection.survey.find import Found, functions

Say = Callable[[dict[str, Any]], None]
ATTEMPTS = 2
"""A proof keeps its own limit, in seconds of the clock; this one is for what never looks at it."""


def work() -> None:
    """Carry out the order on stdin: {"path", "modules", "timeout", "skip", "prove", "trust", "root"}."""
    order = json.load(sys.stdin)
    say = _silence()
    sys.path[:0] = [p for p in order["path"] if p not in sys.path]
    sys.argv = ["survey"]
    warnings.simplefilter("ignore")
    skip = {tuple(item) for item in order["skip"]}
    _load()
    if not order["trust"]:
        sys.addaudithook(_refuse)
    for name in order["modules"]:
        say({"begin": [name, ""]})
        module = _import(name, say, order["timeout"], order["root"])
        if module is not None:
            _survey(module, name, order["timeout"], order["prove"], skip, say)
    say({"end": True})


def _load() -> None:
    """Import what flattening imports when it is first used: an alarm in the middle would leave half a module."""
    for name in ("pyflat.frontend.specialise", "pyflat.passes.pipelines"):
        importlib.import_module(name)


def _silence() -> Say:
    """Take stdout for the answers alone: prints of imported code, also of C code, and its questions go nowhere."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    return say


_PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "os.fork",
             "os.forkpty", "pty.spawn")
_NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.bind")


def _refuse(event: str, details: tuple[Any, ...]) -> None:
    """Imported code may not start programs or use the network. An OSError, which many a library is prepared for."""
    if event in _PROGRAMS:
        what = next((part for part in details if isinstance(part, list | tuple)), details[:1])
        said = " ".join(str(word) for word in what)[:80]
        raise PermissionError(f"it starts a program ({said}), which only --trust allows")
    if event in _NETWORK:
        raise PermissionError("it uses the network, which only --trust allows")


def _import(name: str, say: Say, timeout: float, root: str = "") -> ModuleType | None:
    try:
        with alarm(max(60.0, timeout)):
            module = _import_file(Path(name)) if name.endswith(".py") else importlib.import_module(name)
        other = getattr(module, "__file__", None) or "a module that is built in"
        if not root or other.startswith(root + os.sep):
            return module
        text = f"{name.partition('.')[0]} is the name of another module too, which is imported: {other}"
    except TimeUp:
        text = "the import takes longer than a minute"
    except BaseException as error:  # noqa: BLE001 - a module may raise anything, and that is its row
        said = " ".join(str(error).split())
        text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    say({"row": Row("", name, name if name.endswith(".py") else "", 0, "import-failed", message=text).as_dict()})
    return None


def _import_file(path: Path) -> ModuleType:
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    name = path.stem if path.stem not in sys.modules and path.stem.isidentifier() else f"{path.stem}__surveyed"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{str(path)!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _survey(
    module: ModuleType, name: str, timeout: float, prove: float | None, skip: set[tuple[str, ...]], say: Say
) -> None:
    for found in _functions(module, name, say):
        if (name, found.name) in skip:
            continue
        say({"begin": [name, found.name]})
        with alarm(timeout + ATTEMPTS * (prove or 0.0), processor=True):
            row = attempt(found, name, prove=prove)
        say({"row": row.as_dict()})


def _functions(module: ModuleType, name: str, say: Say) -> list[Found]:
    try:
        return list(functions(module))
    except Exception as error:  # noqa: BLE001 - one module must not end the survey, and a bug is a result
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}: please report this module"
        say({"row": Row("", name, getattr(module, "__file__", None) or "", 0, "bug", message=text).as_dict()})
        return []


if __name__ == "__main__":
    work()
