"""Where and with what something was measured."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _cpuinfo() -> dict[str, str]:
    """Of the first core; empty where the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    facts: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    return facts


def processor_flags() -> frozenset[str]:
    """What it can do, by the names of Linux: "avx2", "avx512f"."""
    return frozenset(_cpuinfo().get("flags", "").split())


def processor_family() -> str:
    """The maker and the family, which share a microarchitecture more or less; "" where the system does not say."""
    facts = _cpuinfo()
    return " ".join(facts[key] for key in ("vendor_id", "cpu family") if key in facts)


def processor() -> str:
    """Its name, and the widest vectors."""
    facts = _cpuinfo()
    if not facts:
        return platform.processor() or platform.machine()
    flags = processor_flags()
    width = next((name for name, flag in (("AVX-512", "avx512f"), ("AVX2", "avx2")) if flag in flags), "")
    name = facts.get("model name", platform.machine())
    where = " ".join(f"{key} {facts[key]}" for key in ("cpu family", "model") if key in facts)
    return ", ".join(part for part in (name, where.replace("cpu ", ""), width) if part)


def commit() -> str:
    """Of the working tree; `+` for one with changes; "unknown" outside git."""
    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True).stdout

    try:
        changed = git("status", "--porcelain", "--untracked-files=no").strip()
        return git("rev-parse", "--short", "HEAD").strip() + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def sources() -> str:
    """A hash of pyflat, of the contenders and of how they are measured: what figures belong to, whatever the commit."""
    folders = [ROOT / "pyflat", *[ROOT / "benchmarks" / name for name in ("contenders", "kernels", "native")]]
    suffixes = {".py", ".json", ".c", ".ispc"}
    files = [path for folder in folders for path in folder.rglob("*.*") if path.suffix in suffixes]
    files += [ROOT / "benchmarks" / f"{name}.py" for name in ("row", "measuring", "agreement")]
    found = hashlib.sha256()
    for path in sorted(files):
        found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return found.hexdigest()[:12]


def describe() -> dict[str, str]:
    """Names and versions, for provenance beside figures."""
    facts = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "sources": sources(),
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for package in ("numpy", "numba", "llvmlite"):
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            continue
    return facts


ONE_THREAD = {
    "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1", "NUMEXPR_MAX_THREADS": "1", "PYFLAT_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
"""Environment of processes that measure: every contender has one thread."""


def pin() -> None:
    """This process runs on the first of its cores only, where the system can say so."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
