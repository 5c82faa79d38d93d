"""Exports functions of a corpus as NumPy text: `python -m benchmarks.exported --corpus .../corpus/run_corpus.py`.

The corpus harness (see `benchmarks/corpus_adapter.py`) has the functions and their arguments. Each that flattens is
exported; the files run in one process in which pyflat cannot be imported, on the rows that the harness draws. Counted
are functions with the originals' bits in all lanes that return, those with lanes in doubt, and those that are left out,
by reason. The exit status is 1 when a lane differs.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import importlib.util
import inspect
import io
import pickle
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from pyflat.errors import FlattenError
from pyflat.inspection.publishing.export import NotExported, export, file_text
from pyflat.inspection.publishing.project import Shipped
from pyflat.testing import in_kind, same_bits

RUN = '''
import importlib.util, pickle, sys
sys.modules["pyflat"] = None
tasks, results = pickle.load(sys.stdin.buffer), []
for file, name, rows in tasks:
    spec = importlib.util.spec_from_file_location("exported", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = []
    for row in rows:
        try:
            found.append(("returns", getattr(module, name)(**row)))
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    results.append(found)
sys.stdout.buffer.write(pickle.dumps(results))
'''
KINDS = {float: "f8", int: "i8", bool: "b", complex: "c16"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True, help="run_corpus.py of the corpus")
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--only", default="", help="entries with this text in their names")
    asked = parser.parse_args()
    harness = _loaded(asked.corpus)
    _, entries = harness.load_corpus([asked.corpus.with_name("corpus.toml")])
    counts: collections.Counter[str] = collections.Counter()
    tasks, wanted = [], []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, entry in enumerate(each for each in entries if asked.only in each.id):
            try:
                fn, rows, found = _exported(harness, entry, asked.rows)
            except (FlattenError, NotExported, TypeError) as error:
                counts["left out: " + _reason(error)] += 1
                continue
            except Exception as error:  # noqa: BLE001 - a package that is not installed, or does not import
                counts[f"not reached: {type(error).__name__}"] += 1
                continue
            file = Path(folder) / f"exported_{number}.py"
            file.write_text(file_text([found], ""), encoding="utf-8")
            tasks.append((str(file), found.name, rows))
            wanted.append((entry.id, fn))
        done = subprocess.run([sys.executable, "-c", RUN], input=pickle.dumps(tasks), capture_output=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.decode())
    wrong = 0
    for (name, fn), (_, _, rows), results in zip(wanted, tasks, pickle.loads(done.stdout), strict=True):
        sorts = collections.Counter(_sort(fn, row, got) for row, got in zip(rows, results, strict=True))
        counts["in doubt in some lanes" if sorts["doubt"] and not sorts["differs"] else
               "differs" if sorts["differs"] else "same bits"] += 1
        if sorts["differs"]:
            wrong += 1
            print(f"{name}: {dict(sorts)}")
    for what, count in counts.most_common():
        print(f"{count:6} {what}")
    sys.exit(bool(wrong))


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_corpus", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules["run_corpus"] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def _exported(harness: Any, entry: Any, count: int) -> tuple[Any, list[dict[str, Any]], Any]:
    """The function with its static arguments, rows of the others, and its exported text."""
    with contextlib.redirect_stdout(io.StringIO()):
        if why := harness.prepare(entry.pk):
            raise LookupError(why)
        fn = harness.resolve(entry)
        specs, rows, _ = harness.build_rows(entry, fn, count, 1)
    kinds = [KINDS.get(harness.spec_type(specs[name]), "tuple") for name in harness.params_in_order(fn, specs)]
    static = {name: harness.value(given) for name, given in entry.static.items()}
    bound = functools.partial(fn, **static) if static else fn
    settled = inspect.signature(bound).parameters.values()
    others = {each.name: each.default for each in settled if each.name not in specs and each.name not in static
              and each.default is not each.empty}
    bound = functools.partial(fn, **static, **others) if others else bound
    with harness.limit(60):
        return bound, rows, export(Shipped(entry.id, ",".join(kinds), frozen=True), bound)


def _sort(fn: Any, row: dict[str, Any], got: tuple[str, Any]) -> str:
    how, value = got
    try:
        with np.errstate(all="ignore"):
            want = fn(**row)
    except Exception as error:  # noqa: BLE001 - whatever the original raises
        same = how == type(error).__name__
        return "raises" if same else "doubt" if how in ("OverflowError", "ArithmeticError") else "differs"
    if how in ("OverflowError", "ArithmeticError"):
        return "doubt"
    return "same" if how == "returns" and same_bits(in_kind(want, value, value), value) else "differs"


def _reason(error: Exception) -> str:
    """The code of a refusal, or the sentence without the names in it."""
    if isinstance(error, FlattenError):
        return error.code
    return re.sub(r"(parameter|reads a|raises|\(|nothing for|depends on the) .*", r"\1 ...", str(error))[:90]


if __name__ == "__main__":
    main()
