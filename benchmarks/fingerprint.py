"""One hash of everything that pyflat writes: `python -m benchmarks.fingerprint [--corpus PATH] [--out FILE]`.

For the seventeen kernels, and for each entry of an open corpus: the text of the IR after specialising, after flattening
and with the suspect bit, the text that the NumPy engine runs, and the LLVM IR that the numba engine writes (not
compiled). A change that only moves code leaves the hash as it is; `--out` writes a line for each text, to be compared.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pyflat
from benchmarks import corpus_roundtrip
from benchmarks.kernels import KERNELS
from pyflat.targets.numba import compilation

_ADDRESS = re.compile(r"0x[0-9a-f]{6,}|\b\d{12,}\b")


class Written(Exception):
    """The LLVM text of a kernel: raised in the place of compiling it."""


def _stop(text: str, *rest: object, called: Mapping[str, str], **options: object) -> Any:
    raise Written("\n".join([text, *called.values()]))


def texts(fn: Callable[..., Any], call: Callable[[Any], object], options: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and text of each form of a function; `call` calls a twin with its arguments."""
    for math in ("exact", "fast"):
        twin = pyflat.twin(fn, math=math, **options)
        call(twin)
        for stage in ("structured", "flat"):
            yield f"{math} {stage}", twin.show(stage=stage)
        yield f"{math} numpy", twin._caller.compilations.last(twin.options).engine.source
        with mock.patch.object(compilation, "compile_ir", _stop):
            try:
                call(twin.to("numba"))
            except Written as written:
                yield f"{math} llvm", _ADDRESS.sub("#", str(written))
            except pyflat.FlattenError as error:
                yield f"{math} llvm", error.code


def _kernels() -> Iterator[tuple[str, str, str]]:
    for kernel in KERNELS.values():
        lanes = kernel.lanes(32)
        for form, text in texts(kernel.function, lambda twin, lanes=lanes: twin(*lanes), {}):
            yield kernel.name, form, text


def _corpus(path: Path) -> Iterator[tuple[str, str, str]]:
    harness = corpus_roundtrip.harness(path)
    _, entries = harness.load_corpus([path / "corpus.toml"])
    for entry in entries:
        if harness.prepare(entry.pk):
            continue
        fn = harness.resolve(entry)
        static = {name: harness.value(value) for name, value in entry.static.items()}
        kinds = {name: harness.spec_type(harness.spec_parse(spec)) for name, spec in entry.args.items()}
        lanes = corpus_roundtrip.columns(kinds)
        name = f"{entry.pk}:{getattr(fn, '__qualname__', fn)}"
        try:
            for form, text in texts(fn, lambda twin, a=lanes, s=static: twin(**a, **s), {"static": tuple(static)}):
                yield name, form, text
        except pyflat.FlattenError as error:
            yield name, "refused", error.code


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="the directory with run_corpus.py and corpus.toml")
    parser.add_argument("--out", type=Path, help="a line for each text: its hash, function and form")
    options = parser.parse_args(argv)
    os.environ["PYFLAT_CACHE"] = "0"  # a twin from disk writes nothing
    whole, rows = hashlib.sha256(), []
    with warnings.catch_warnings(), open(os.devnull, "w") as quiet:
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(quiet):
            for name, form, text in (*_kernels(), *(_corpus(options.corpus) if options.corpus else ())):
                digest = hashlib.sha256(text.encode()).hexdigest()[:16]
                rows.append(f"{digest} {name} {form}")
                whole.update(rows[-1].encode())
    if options.out:
        options.out.write_text("\n".join(rows) + "\n")
    print(f"{whole.hexdigest()[:16]}  {len(rows):,} texts")


if __name__ == "__main__":
    main()
