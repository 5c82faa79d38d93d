"""The IR's text at every stage of every corpus function: `python -m benchmarks.corpus_roundtrip path/to/corpus`.

Each entry of the corpus is flattened for the kinds of its arguments, and after specialising, after each pass and after
gather_suspects the function is validated, printed, read back and printed again: the same text, and a valid function.
The exit status is 1 when a text came back changed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

import pyflat
from pyflat.ir.nodes import Function
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.validate import validate
from pyflat.passes import pipelines


class Stages:
    """Checks the functions that it is shown; counts them by stage."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.changed: list[str] = []

    def check(self, stage: str, fn: Function) -> None:
        validate(fn)
        text = format_function(fn)
        again = parse_function(text)
        validate(again)
        self.seen[stage] += 1
        if format_function(again) != text:
            self.changed.append(f"{fn.name} after {stage}")

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Every function that is flattened inside is checked at each stage."""
        run = pipelines.run

        def watched(fn: Function, passes: pipelines.Pipeline, on_pass: pipelines.OnPass | None = None) -> Function:
            if passes is pipelines.FLATTEN:
                self.check("specialise", fn)
            return run(fn, passes, self.check)

        with mock.patch.object(pipelines, "run", watched):
            yield


def harness(corpus: Path) -> ModuleType:
    """The module that reads the corpus and resolves its functions."""
    spec = importlib.util.spec_from_file_location("run_corpus", corpus / "run_corpus.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["run_corpus"] = module
    spec.loader.exec_module(module)
    return module


def columns(kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Empty lanes of the kinds of the arguments: enough to flatten for them."""
    return {name: column(kind) for name, kind in kinds.items()}


def column(kind: Any) -> Any:
    if isinstance(kind, tuple):
        return tuple(map(column, kind))
    return np.zeros(0, {bool: np.bool_, int: np.int64}.get(kind, np.float64))


def flatten(run_corpus: ModuleType, entry: Any) -> str:
    """Flatten one entry; gives "flattened", "refused" or why the entry cannot be used."""
    why = run_corpus.prepare(entry.pk)
    if why:
        return f"skipped: {why}"
    fn = run_corpus.resolve(entry)
    static = {name: run_corpus.value(value) for name, value in entry.static.items()}
    kinds = {name: run_corpus.spec_type(run_corpus.spec_parse(spec)) for name, spec in entry.args.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pyflat.twin(fn, static=tuple(static), math="exact")(**columns(kinds), **static)
    except pyflat.FlattenError:
        return "refused"
    return "flattened"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="the directory with run_corpus.py and corpus.toml")
    options = parser.parse_args(argv)
    run_corpus = harness(options.corpus)
    _, entries = run_corpus.load_corpus([options.corpus / "corpus.toml"])
    stages, outcomes = Stages(), Counter[str]()
    with stages.watching():
        for entry in entries:
            with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet):
                outcomes[flatten(run_corpus, entry)] += 1
    for outcome, count in outcomes.most_common():
        print(f"{count:6,}  {outcome}")
    total, functions = sum(stages.seen.values()), stages.seen["specialise"]
    print(f"{total:,} texts of {functions} functions, {len(stages.changed)} changed")
    for stage, count in stages.seen.items():
        print(f"{count:6,}  {stage}")
    for changed in stages.changed:
        print(f"changed: {changed}")
    return 1 if stages.changed else 0


if __name__ == "__main__":
    raise SystemExit(main())
