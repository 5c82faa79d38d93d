"""Functions of the NumPy engine for another process: their code, as Python keeps that of modules, and in words the
objects that it names."""

from __future__ import annotations

import base64
import marshal
from collections.abc import Mapping
from types import CodeType
from typing import Any

import numpy as np

from pyflat.functions import libm
from pyflat.ir.formats import FORMATS
from pyflat.targets.kept import Made
from pyflat.targets.numpy.library import LibraryFunction, library_function
from pyflat.targets.numpy.memory import Layout


def made_of(code: CodeType, objects: Mapping[str, Any], block: int) -> Made | None:
    """What another process needs, None where an object is of this one: compiled code, a call of the user's."""
    notes = {name: _note(value) for name, value in objects.items()}
    return None if None in notes.values() else Made({"objects": notes, "block": block}, marshal.dumps(code))


def of_made(made: Made) -> tuple[CodeType, dict[str, Any], int]:
    """The code, its objects, and for how many lanes at a time it is."""
    objects = {name: _object(*note) for name, note in made.facts["objects"].items()}
    code: CodeType = marshal.loads(made.code)
    return code, objects, made.facts["block"]


def _note(value: Any) -> list[Any] | None:
    match value:
        case Layout():
            return ["layout", value.slots]
        case LibraryFunction():
            opcode, exponent, uniform, _, floats = value.key
            return ["library", opcode, None if exponent is None else exponent.hex(), uniform, floats.name]
        case np.ndarray():
            return ["table", value.dtype.str, base64.b64encode(value.tobytes()).decode()]
        case np.ufunc():
            names = [name for name in sorted(libm.NAMES | libm.CALLED) if libm.ufunc(name) is value]
            return ["ufunc", names[0]] if names else None
        case [int() as number]:
            return ["number", number]
    return None


def _object(what: str, *words: Any) -> Any:
    match what, *words:
        case "layout", slots:
            return Layout([tuple(slot) for slot in slots])
        case "library", opcode, exponent, uniform, floats:
            power = None if exponent is None else float.fromhex(exponent)
            return library_function(opcode, power, tuple(uniform), FORMATS[floats])
        case "table", dtype, text:
            return np.frombuffer(base64.b64decode(text), dtype).copy()
        case "ufunc", name:
            return libm.ufunc(name)
        case "number", number:
            return [number]
    raise ValueError(what)
