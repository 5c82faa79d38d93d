"""Which library the functions run in: what its identity tells apart, and what is believed of which."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyflat.functions import libm, loaded_files, loaded_library
from pyflat.functions.loaded_library import Build, library_of, standing, trusts

SHOW = """
from pyflat.functions import loaded_library as loaded
for name in ("sin", "exp"):
    print(loaded.library_of(name).identity, loaded.standing(name))
print(loaded.libm.symbol_address("sin") - loaded.libm.symbol_address("cbrt"))
"""

needs_gnu = pytest.mark.skipif(not library_of("exp").is_gnu, reason="needs the GNU C library")


def shown(**environment: str) -> list[list[str]]:
    """Identity and standing of sin and exp in a process of its own, and how far sin is from cbrt."""
    done = subprocess.run([sys.executable, "-c", SHOW], env={**os.environ, **environment}, capture_output=True,
                          text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


@pytest.fixture
def table(monkeypatch):
    """The table of verified builds, as a dict to fill."""
    found: dict[str, Build] = {}
    monkeypatch.setattr(loaded_library, "verified_builds", lambda: found)
    return found


@needs_gnu
def test_another_process_has_the_same_identity():
    (sine, _), (exponential, _), _ = shown()
    assert sine == exponential == library_of("sin").identity


@needs_gnu
def test_a_variant_of_the_library_is_another_build():
    _, (ours, _), place = shown()
    _, (masked, how), other = shown(GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2_Usable,-AVX2,-FMA,-FMA_Usable")
    if place == other:
        pytest.skip("this library has no variants, or this processor only one of them")
    assert masked != ours
    assert how == "bounded"


@needs_gnu
def test_a_preloaded_function_is_called_and_the_others_are_as_ever(tmp_path: Path):
    source, made = tmp_path / "own.c", tmp_path / "own.so"
    source.write_text("#include <math.h>\ndouble sin(double x) { return sinl(x); }")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", made, source, "-lm"], check=True)
    (sine, how), (exponential, _), _ = shown(LD_PRELOAD=str(made))
    assert how == "called"
    assert sine != exponential == library_of("exp").identity


@needs_gnu
def test_only_what_was_compared_in_this_very_library_is_trusted(table):
    assert not trusts("exp")
    assert standing("exp") == "bounded"
    table[library_of("exp").identity] = Build("this one", {"exp": 10})
    assert trusts("exp")
    assert standing("exp") == "verified"
    assert not trusts("sin")
    assert standing("sin") == "bounded"


@needs_gnu
def test_what_is_not_the_library_is_called(table, monkeypatch):
    table[library_of("exp").identity] = Build("this one", {"exp": 10})
    monkeypatch.setattr(libm, "from_library", lambda name: False)
    assert standing("exp") == "called"


def test_a_linker_that_does_not_tell_gives_no_identity(monkeypatch):
    monkeypatch.setattr(loaded_files, "_loaded_files", list)
    library_of.cache_clear()
    try:
        assert library_of("exp").identity is None
        assert standing("exp") == "called"
    finally:
        library_of.cache_clear()


def test_the_table_has_rows_of_functions():
    for identity, build in loaded_library.verified_builds().items():
        assert len(identity) == 32
        assert build.library
        assert set(build.functions) <= libm.NAMES | libm.CALLED
        assert all(lanes >= 10**8 for lanes in build.functions.values())
