"""What pyflat can do for a file, a module or an installed package, function by function.

    found = pyflat.inspection.survey.survey("mypackage")
    found.rows        a Row for each function: flattens (with which options), refused (why and where), skipped, ...
    found.summary()   counts by verdict, code and reason, and the share

The modules are imported in a separate process, but their functions are not run. If the process hangs, it is killed, and
another one continues after that place.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from pyflat.errors import PACKAGE
from pyflat.inspection.survey.attempt import Row
from pyflat.inspection.survey.find import NoPlaceError, Place, find_place
from pyflat.inspection.survey.worker import ATTEMPTS
from pyflat.targets.target import require

SCHEMA = 1
IMPORT_SECONDS = 75.0
"""How long the process may be silent while it imports; it gives an import up by itself after a minute."""
GRACE = 5.0
SHARE = 10
"""A function that waits, or has so small a part of the processor, ends the process."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The rows, by module and line. `cut`: the survey stopped at `limit`, and there may be more functions."""

    place: Place
    rows: list[Row]
    cut: bool = False

    def count(self, verdict: str) -> int:
        return sum(row.verdict == verdict for row in self.rows)

    @property
    def kernels(self) -> list[Row]:
        """The rows of functions that look like functions of numbers."""
        return [row for row in self.rows if row.verdict not in ("skipped", "import-failed")]

    def summary(self) -> dict[str, Any]:
        """Counts, as in the JSON form."""
        kernels = len(self.kernels)
        refused = [row for row in self.rows if row.verdict == "refused"]
        reasons = Counter((row.code, row.message, row.construct, row.at) for row in refused)
        return {
            "kernels": kernels,
            "flattens": self.count("flattens"),
            "refused": len(refused),
            "timeout": self.count("timeout"),
            "bug": self.count("bug"),
            "import-failed": self.count("import-failed"),
            "share": round(self.count("flattens") / kernels, 4) if kernels else None,
            "proved": sum(row.proved == "proved" for row in self.rows),
            "by_code": dict(Counter(row.code for row in refused).most_common()),
            "by_reason": [{"code": code, "message": message, "construct": construct, "at": at, "count": count}
                          for (code, message, construct, at), count in reasons.most_common()],
            "skipped": dict(Counter(row.message for row in self.rows if row.verdict == "skipped").most_common()),
            "cut": self.cut,
        }

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON form: schema, place, modules, rows, summary."""
        return {"schema": SCHEMA, "place": self.place.title, "modules": list(self.place.modules),
                "rows": [row.as_dict() for row in self.rows], "summary": self.summary()}


def survey(
    spec: str,
    *,
    limit: int | None = None,
    timeout: float = 5.0,
    prove: float | None = None,
    trust: bool = False,
    on_row: Callable[[Row], None] | None = None,
) -> Survey:
    """Try to flatten each function, method and callable object that looks like a function of numbers in a file, folder,
    module or installed package.

    limit    the most functions to try
    timeout  seconds of processor time per function
    prove    seconds for z3 to prove each function that flattens (`pyflat.inspection.prove`)
    trust    also import tests, scripts and set-up files; let imported code start programs and use the network
    on_row   called with each row as soon as it is known

    Raises NoPlaceError, a ValueError, if `spec` names nothing, and ImportError if z3 is needed and missing.
    """
    if prove is not None:
        require("z3", "prove=")
    working = os.getcwd()
    place = find_place(spec, working, trust=trust)
    work = _SurveyWork(place, [*place.path, *sys.path], limit, timeout, prove, trust, on_row)
    modules = list(place.modules)
    while modules and not work.full:
        at = work.run(modules)
        if at is None:
            break
        modules = modules[modules.index(at):] if at in modules else []
    return Survey(place, work.rows, work.full)


class _SurveyWork:
    """The rows so far, and the processes that make them."""

    def __init__(
        self, place: Place, path: list[str], limit: int | None, timeout: float, prove: float | None,
        trust: bool, on_row: Callable[[Row], None] | None
    ):
        self.place = place
        self.path = path
        self.limit = limit
        self.timeout = timeout
        self.prove = prove
        self.trust = trust
        self.on_row = on_row
        self.rows: list[Row] = []
        self.full = False
        self._skip: set[tuple[str, str]] = set()
        self._kernels = 0

    def run(self, modules: list[str]) -> str | None:
        """One process over these modules. The module to go on with where it ended early, None when all is done."""
        order = {"path": self.path, "modules": modules, "timeout": self.timeout, "skip": sorted(self._skip),
                 "prove": self.prove, "trust": self.trust, "root": self.place.root}
        command = [sys.executable, "-P", "-m", "pyflat.inspection.survey.worker"]  # here may be a json.py
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=_environment(), text=True, encoding="utf-8") as process:
            assert process.stdin is not None and process.stdout is not None
            answers = _reader(process.stdout)
            try:
                process.stdin.write(json.dumps(order))
                process.stdin.close()
                return self._listen(answers, modules)
            except BrokenPipeError:
                return self._died("", "", modules)
            finally:
                process.kill()

    def _listen(self, answers: queue.Queue[str | None], modules: list[str]) -> str | None:
        module, function = "", ""
        while True:
            patience = SHARE * (self.timeout + ATTEMPTS * (self.prove or 0.0)) + GRACE if function else IMPORT_SECONDS
            try:
                line = answers.get(timeout=patience)
            except queue.Empty:
                return self._stuck(module, function, modules)
            if line is None:
                return self._died(module, function, modules)
            message = json.loads(line)
            if "end" in message:
                return None
            if "begin" in message:
                module, function = message["begin"]
            else:
                function = ""
                self._take(Row(**message["row"]))
                if self.full:
                    return None

    def _take(self, row: Row) -> None:
        self._skip.add((row.module, row.function))
        self._kernels += row.verdict not in ("skipped", "import-failed")
        self.rows.append(row)
        if self.on_row is not None:
            self.on_row(row)
        self.full = self.limit is not None and self._kernels >= self.limit

    def _stuck(self, module: str, function: str, modules: list[str]) -> str | None:
        said = "flattening takes longer than the limit (--timeout), and could not be interrupted"
        return self._ended(module, function, modules, "timeout", said if function else "the import does not end")

    def _died(self, module: str, function: str, modules: list[str]) -> str | None:
        said = "the process ended while this function was flattened: please report it"
        return self._ended(module, function, modules, "bug", said if function else "the import ended the process")

    def _ended(self, module: str, function: str, modules: list[str], verdict: str, message: str) -> str | None:
        """The row for what the process was at, and the module to go on with."""
        if not module:
            raise RuntimeError("the process of the survey did not start")
        file = module if module.endswith(".py") else ""
        self._take(Row(function, module, file, 0, verdict if function else "import-failed", message=message))
        if function:
            return module
        rest = modules[modules.index(module) + 1:]
        return rest[0] if rest else None


def _environment() -> dict[str, str]:
    """The environment for imports: no window opens, and pyflat is found where it is now."""
    here = os.path.dirname(PACKAGE.rstrip(os.sep))
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([here, inherited] if inherited else [here])
    return {**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1"}


def _reader(stream: IO[str]) -> queue.Queue[str | None]:
    """The lines of a process as they come, None at the end."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        with contextlib.suppress(ValueError):  # closed, because the rest is not wanted
            for line in stream:
                lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


__all__ = ["NoPlaceError", "Place", "Row", "Survey", "survey"]
