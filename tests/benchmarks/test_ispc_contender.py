"""ISPC as a contender: the width that is fastest, the text of the kernels, and what happens where there is no ispc."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks.agreement import agrees, tolerance
from benchmarks.contenders import CONTENDERS, UnavailableError, ispc
from benchmarks.contenders.record import result_type
from benchmarks.kernels import KERNELS
from benchmarks.row import TYPES, Limits, lanes_of, measure


def there() -> bool:
    try:
        return bool(ispc.compiler() and ispc.targets())
    except UnavailableError:
        return False


needs_ispc = pytest.mark.skipif(not there(), reason="needs ispc and a processor with AVX2")


def test_without_ispc_it_is_left_out_with_a_note(monkeypatch, tmp_path):
    monkeypatch.delenv("ISPC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = measure(KERNELS["bs"], "f8", 64, ["ispc"], Limits(1, 0.0))
    assert found["seconds"] == {}
    assert found["notes"] == {"ispc": "ispc is not installed"}


def test_the_environment_names_the_compiler(monkeypatch, tmp_path):
    path = tmp_path / "another-ispc"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setenv("ISPC", str(path))
    assert ispc.compiler() == str(path)
    monkeypatch.setenv("ISPC", str(tmp_path / "nowhere"))
    with pytest.raises(UnavailableError):
        ispc.compiler()


def test_an_ispc_that_cannot_compile_says_why(monkeypatch, tmp_path):
    path = tmp_path / "ispc"
    path.write_text("#!/bin/sh\n[ $1 = --version ] && echo 'ispc 0' && exit\necho 'no such target' >&2\nexit 1\n")
    path.chmod(0o755)
    monkeypatch.setenv("ISPC", str(path))
    monkeypatch.setattr(ispc, "targets", lambda: ["made-up-x8"])
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    with pytest.raises(UnavailableError, match="made-up-x8: no such target"):
        CONTENDERS["ispc"].make(KERNELS["piecewise"], [np.zeros(8)])


def test_a_processor_gets_only_targets_that_it_can_run(monkeypatch):
    monkeypatch.setattr(ispc, "processor_flags", lambda: frozenset({"avx2", "fma", "f16c", "bmi2"}))
    assert ispc.targets() == ["avx2-i32x8"]
    monkeypatch.setattr(ispc, "processor_flags", frozenset)
    assert ispc.targets() == []
    with pytest.raises(UnavailableError, match="no target"):
        ispc.fastest(None, [])


def test_the_shortest_turn_decides_and_targets_without_a_run_are_named(monkeypatch):
    taken = {"slow": [5.0] * ispc.TRIALS, "noisy": [9.0, 9.0, 1.0, 9.0, 9.0]}
    ran = []

    def make(name):
        if name == "missing":
            raise UnavailableError("not built")
        return lambda: ran.append(name)

    order = iter([seconds for turn in zip(*taken.values(), strict=True) for seconds in turn])
    monkeypatch.setattr(ispc, "once", lambda run: next(order))
    assert ispc.fastest(make, ["slow", "missing", "noisy"]) == ("noisy", ["missing"])
    assert ran == ["slow", "noisy"], "one turn before those that count"


@needs_ispc
@pytest.mark.parametrize("target", ispc.targets())
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", ["bs", "perlin", "collatz", "steam"])
def test_every_target_computes_the_kernel(name, kind, target):
    kernel = KERNELS[name]
    lanes = lanes_of(kernel, kind, 1009)
    found = ispc._on(target, kernel, lanes)()
    assert found.dtype == result_type(kernel, lanes)
    wanted = np.array([kernel.function(*row) for row in zip(*[column.tolist() for column in lanes], strict=True)])
    assert agrees(found, wanted, tolerance(name, kind == "f4"))


@needs_ispc
@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_agrees_and_its_width_is_in_the_record(name):
    found = measure(KERNELS[name], "f8", 4096, ["ispc"], Limits(1, 0.0))
    assert found["notes"] == {}
    assert found["choices"]["ispc"] in ispc.TARGETS
    assert "ispc" in found["environment"]


def test_the_text_has_every_kernel():
    text = Path(ispc.SOURCE).read_text(encoding="utf-8")
    for name in KERNELS:
        assert f" {name}(" in text
