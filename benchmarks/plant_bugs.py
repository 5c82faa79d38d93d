"""Plants one bug at a time into a copy of pyflat and counts the random programs until the fuzzer notices.

    python -m benchmarks.plant_bugs [--programs 2000] [--only NAME]

Each bug is a small wrong change in one part of the text; a change whose text is not found (because the part was
rewritten) is an error. The exit status is 1 when a bug survives.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.generator import check_program, generate

ROOT = Path(__file__).resolve().parents[1]
FOUND = re.compile(r"^FAILURE seed (\d+): (.*)$")


@dataclass(frozen=True)
class Bug:
    """In `file`, the text `old` (which occurs once) becomes `new`."""

    name: str
    file: str
    old: str
    new: str


BUGS = (
    Bug("lower_exits: the live mask after two exits forgets the second", "passes/lower_exits.py",
        "for flag in flags[1:]:", "for flag in flags[2:]:"),
    Bug("lower_exits: a raise is no fault", "passes/lower_exits.py",
        'Op("fault", (TRUE,), VOID', 'Op("fault", (FALSE,), VOID'),
    Bug("convert_ifs: faults of an else arm are expected under the condition of the then arm", "passes/convert_ifs.py",
        "_Predicate(under, cond, False)", "_Predicate(under, cond, True)"),
    Bug("convert_ifs: select(c, False, b) becomes c and b", "passes/convert_ifs.py",
        "self.conjunction(self.negation(cond), orelse, name)", "self.conjunction(cond, orelse, name)"),
    Bug("fold_constants: a fault that always happens is dropped", "passes/fold_constants.py",
        "isinstance(args[0], Const) and not args[0].value)", "isinstance(args[0], Const))"),
    Bug("fold_constants: x + 0.0 is x", "ir/identities.py",
        "return _either(x, y, _F_NEGATIVE_ZERO)", "return _either(x, y, _F_ZERO)"),
    Bug("share_subexpressions: x < y and x > y are the same", "ir/uses.py",
        "            args.reverse()\n", "            pass\n"),
    Bug("share_subexpressions: literals are compared by value", "ir/uses.py",
        "value.key if isinstance(value, Const) else value", "value.value if isinstance(value, Const) else value"),
    Bug("prune_dead: a dead store that faults is removed", "ir/liveness.py",
        "self.effects += [op, *tests]", "self.effects += tests"),
    Bug("gather_suspects: the last conditions are left out", "passes/gather_suspects.py",
        "        while self._waiting:\n            total =",
        "        while len(self._waiting) > 1:\n            total ="),
    Bug("faults: an int product is not checked", "ir/faults.py",
        "const(2.0**63 * (1 - 2.0**-48))", "const(2.0**64)"),
    Bug("specialise: min(a, b) gives b when they are equal", "specialise/known/__init__.py",
        'min: sequences.least("lt")', 'min: sequences.least("le")'),
    Bug("specialise: n < 2.5 becomes n <= 3", "specialise/numbers.py",
        'return s.build.op("le", n, const(math.floor(bound)))', 'return s.build.op("le", n, const(math.ceil(bound)))'),
    Bug("specialise: ~x is x", "specialise/numbers.py",
        'if opcode == "pos":', 'if opcode in ("pos", "invert") and number.kind is INT:'),
    Bug("numpy: round() rounds halves up", "lanes.py",
        "    return to_int(np.rint(a))", "    return to_int(np.floor(a + 0.5))"),
    Bug("replay: a lane that returns is not patched", "replay.py",
        "                leaf[lane] = value\n        else:", "                leaf[lane] = leaf[lane]\n        else:"),
)


def plant(bug: Bug, package: Path) -> None:
    """Apply the bug to a copy of the package."""
    path = package / bug.file
    text = path.read_text()
    count = text.count(bug.old)
    if count != 1:
        raise SystemExit(f"{bug.name}: {bug.old!r} occurs {count} times in {bug.file}; update benchmarks/plant_bugs.py")
    path.write_text(text.replace(bug.old, bug.new))


def hunt(bug: Bug, programs: int) -> str | None:
    """What the fuzzer says first about the planted bug, None when it finds nothing."""
    with tempfile.TemporaryDirectory(prefix="pyflat-bug-") as folder:
        for name in ("pyflat", "tests", "benchmarks"):
            shutil.copytree(ROOT / name, Path(folder) / name, ignore=shutil.ignore_patterns("__pycache__"))
        plant(bug, Path(folder) / "pyflat")
        command = [sys.executable, "-m", "benchmarks.fuzz", "--programs", str(programs), "--numba-every", "0",
                   "--stop-after", "1000", "--shrink", "0", "--processes", "0"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as fuzzer:
            assert fuzzer.stdout is not None
            try:
                return _first_difference(fuzzer.stdout)
            finally:
                fuzzer.kill()


def _first_difference(lines: Iterable[str]) -> str | None:
    """The first reported program that is right without the bug."""
    line = ""
    for line in lines:
        match = FOUND.match(line)
        if match and not check_program(generate(int(match[1]))).failures:
            return f"found after {int(match[1]) + 1:,} programs, {match[2][:90]}"
    if "programs," not in line:
        raise SystemExit("the fuzzer did not run to its end")
    return None


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--only", default="", help="only bugs whose name contains this")
    options = parser.parse_args(argv)
    survivors = 0
    for bug in BUGS:
        if options.only in bug.name:
            found = hunt(bug, options.programs)
            survivors += found is None
            print(f"{bug.name}: {found or f'NOT FOUND in {options.programs:,} programs'}", flush=True)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
