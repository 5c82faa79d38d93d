"""Who runs the kernels, a module for each family. What is not installed is left out, with a note."""

from __future__ import annotations

from benchmarks.contenders import (
    blosc2_text,
    drjit_text,
    extensions,
    ispc,
    jax_text,
    native,
    numexpr_text,
    numpy_text,
    originals,
    polars_text,
    twins,
)
from benchmarks.contenders.originals import UNIT
from benchmarks.contenders.record import Contender, UnavailableError

CONTENDERS: dict[str, Contender] = {
    contender.name: contender
    for family in (originals, numpy_text, numexpr_text, polars_text, jax_text, native, ispc, drjit_text, extensions,
                   blosc2_text, twins)
    for contender in family.CONTENDERS
}

__all__ = ["CONTENDERS", "UNIT", "Contender", "UnavailableError"]
