"""Applies each mutant of `tests/mutants.py` to a copy of pyflat and sees who notices.

    python -m benchmarks.mutants [--only TEXT] [--programs 400] [--both] [--missing] [--write]

The quick tests of the part that is changed hunt a mutant, and where they find nothing, random programs against their
originals; with `--both` each hunts on its own. A table says which test failed first, and how many programs it took;
`--write` puts it into docs/contributors/mutants.md. The exit status is 1 when a mutant lives.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.generator import check_program, generate
from tests.mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "contributors" / "mutants.md"
FOUND = re.compile(r"^FAILURE seed (\d+): (.*)$", re.MULTILINE)
FAILED = re.compile(r"^(?:FAILED|ERROR) tests/([^\s\[]+)", re.MULTILINE)
TEST_SECONDS = 240
FUZZ_SECONDS = 600
MEMORY = 6 << 30
INNER = ("tests/passes", "tests/backend/test_pack.py")
NOT_NOTICED = "-"
ALIVE = f"| {NOT_NOTICED} | {NOT_NOTICED} |"
HEAD = """# Mutants

Small wrong changes to pyflat, at least three in each pass, and who notices: the first of the quick tests of that part
that fails, or else how many random programs it takes until one differs from its original; `--both` lets each hunt on
its own. `make mutants` runs it and writes this page; the changes are in `tests/mutants.py`.

"""


@dataclass(frozen=True)
class Verdict:
    """Who noticed a mutant; NOBODY where none did."""

    mutant: Mutant
    test: str
    programs: str

    @property
    def killed(self) -> bool:
        return (self.test, self.programs) != (NOT_NOTICED, NOT_NOTICED)

    def row(self) -> str:
        programs = NOT_NOTICED if self.programs == NOT_NOTICED else f"after {self.programs}"
        return f"| {key(self.mutant)} | {self.test if self.test == NOT_NOTICED else f'`{self.test}`'} | {programs} |"


def key(mutant: Mutant) -> str:
    return f"{mutant.part} | {mutant.what}"


def hunt(mutant: Mutant, programs: int, both: bool) -> Verdict:
    with _mutated(mutant) as folder:
        test = _failing_test(mutant, folder)
        found = _differing_program(mutant, folder, programs) if both or test == NOT_NOTICED else NOT_NOTICED
        return Verdict(mutant, test, found)


@contextmanager
def _mutated(mutant: Mutant) -> Iterator[Path]:
    """A copy of everything that is needed, with the mutant in it."""
    with tempfile.TemporaryDirectory(prefix="pyflat-mutant-") as name:
        folder = Path(name)
        for part in ("pyflat", "tests", "benchmarks", "examples", "docs"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        mutant.apply(folder / "pyflat")
        yield folder


def _run(arguments: list[str], folder: Path, seconds: int) -> str | None:
    """The output of a Python program in a folder; None when it takes more of the processor's time."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    there = {**os.environ, "PYTHONPATH": str(folder)}  # also for processes that the program starts elsewhere
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=folder, preexec_fn=limit, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, env=there)
    return None if done.returncode < 0 else done.stdout


def _failing_test(mutant: Mutant, folder: Path) -> str:
    options = ["-x", "-q", "--no-header", "--tb=no", "-rfE", "-p", "no:cacheprovider", "-p", "no:xdist"]
    text = _run(["pytest", *options, *mutant.tests], folder, TEST_SECONDS)
    if text is None:
        return "a test does not end"
    failed = FAILED.search(text)
    if failed is None and " passed" not in text:
        raise SystemExit(f"{key(mutant)}: the tests did not run\n{text[-2000:]}")
    return failed[1] if failed else NOT_NOTICED


def _differing_program(mutant: Mutant, folder: Path, programs: int) -> str:
    """The number of the first program that differs with the mutant and does not without it."""
    numba = "1" if mutant.numba else "0"
    options = ["--numba-every", numba, "--stages-every", "1", "--stop-after", "1", "--shrink", "0", "--processes", "0"]
    first = 0
    while first < programs:
        span = ["--seed", str(first), "--programs", str(programs - first)]
        text = _run(["benchmarks.fuzz", *span, *options], folder, FUZZ_SECONDS) or ""
        found = FOUND.search(text)
        if found is None:
            if text and "programs (" not in text:
                raise SystemExit(f"{key(mutant)}: the fuzzer did not run to its end\n{text[-2000:]}")
            return NOT_NOTICED
        seed = int(found[1])
        if not check_program(generate(seed), numba=mutant.numba).failures:
            return str(seed + 1)
        first = seed + 1
    return NOT_NOTICED


def _inner_mutants(folder: Path) -> str:
    """Runs the mutants that tests make for themselves: of rewrite rules, and of passes for backends."""
    options = ["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-k", "mutants_die"]
    text = _run(["pytest", *options, *INNER], folder, FUZZ_SECONDS)
    passed = re.search(r"(\d+) passed", text or "")
    if passed is None or " failed" in (text or ""):
        raise SystemExit(f"mutants of {' and '.join(INNER)} live\n{(text or '')[-2000:]}")
    return f"{inner_count():,} mutants of rewrite rules and of passes for backends die in {' and '.join(INNER)}"


def inner_count() -> int:
    """How many mutants those tests make."""
    from tests.passes import rule_checks
    from tests.passes.rules.test_rules import RULES

    rules = sum(len(list(rule_checks.mutants(rule))) for rule in RULES)
    return rules + sum(map(len, edits_in_tests().values()))


def edits_in_tests() -> dict[str, tuple[tuple[str, str, str], ...]]:
    """The mutants that a test makes for itself, by the part that it tests."""
    paths = [ROOT / path for path in INNER]
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("test_*.py"))]
    found: dict[str, tuple[tuple[str, str, str], ...]] = {}
    for file in sorted(files):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MUTANTS":
                found[file.stem.removeprefix("test_")] = ast.literal_eval(node.value)
    return found


def write_page(verdicts: dict[str, str]) -> None:
    """The page with the rows of this run, and those of earlier ones for what was not run."""
    rows = known_rows() | verdicts
    lines = [rows[key(m)] for m in MUTANTS if key(m) in rows]
    dead = sum(not line.endswith(ALIVE) for line in lines)
    table = ["| part | mutant | test | random programs |", "|---|---|---|---|", *lines]
    count = f"{HEAD}{dead} of {len(MUTANTS)} mutants are noticed."
    inner = (f"Beside them {inner_count():,} mutants of rewrite rules and of passes for backends, made by "
             f"{' and '.join(f'`{path}`' for path in INNER)}, die in `make test`.")
    PAGE.write_text("\n".join([count, "", *table, "", inner, ""]))


def known_rows() -> dict[str, str]:
    """The rows of the page by part and mutant."""
    if not PAGE.exists():
        return {}
    cells = (line.split(" | ") for line in PAGE.read_text().splitlines() if line.count(" | ") == 3)
    rows = {" | ".join(c[:2])[2:]: " | ".join(c) for c in cells}
    return {name: rows[name] for name in map(key, MUTANTS) if name in rows}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=400)
    parser.add_argument("--only", default="", help="only mutants whose part or text contains this")
    parser.add_argument("--both", action="store_true", help="random programs hunt those that a test has found, too")
    parser.add_argument("--missing", action="store_true", help="only mutants that are not in the table or live there")
    parser.add_argument("--write", action="store_true", help="write docs/contributors/mutants.md")
    options = parser.parse_args(argv)
    known = known_rows() if options.missing else {}
    chosen = [m for m in MUTANTS if options.only in key(m) and known.get(key(m), ALIVE).endswith(ALIVE)]
    if not options.only and not options.missing:
        print(f"{_inner_mutants(ROOT)}", flush=True)
    killed, rows = 0, {}
    for mutant in chosen:
        verdict = hunt(mutant, options.programs, options.both)
        killed += verdict.killed
        rows[key(mutant)] = verdict.row()
        print(f"{'' if verdict.killed else 'LIVES: '}{verdict.row()}", flush=True)
        if options.write:
            write_page(rows)
    print(f"{killed} of {len(chosen)} mutants killed")
    return int(killed < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
