"""A stand-in for the flattener, used as long as the package has none: it runs the original lane by lane.

Its engine marks a lane as suspect when the original raises there, or when `stand_in.suspect` says so.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import pyflat.compiled as compiled
from pyflat.arrays import DTYPES
from pyflat.ir.shape import Fixed, Leaf, Record, leaves, rebuild, record_of
from pyflat.ir.types import kind_of
from pyflat.replay import call_plan, fit

PROBE = {"b": True, "i8": 1, "f8": 0.5}


def shape_of(value):
    if (kind := kind_of(value)) is not None:
        return Leaf(kind)
    if (parts := record_of(value)) is not None:
        return Record(parts[0], parts[1], tuple(map(shape_of, parts[2])))
    return Fixed(value)


class Always:
    def stale(self):
        return None


@dataclass
class StandIn:
    builds: list[Any] = field(default_factory=list)

    def build(self, fn, arguments, options):
        self.builds.append((fn, arguments, options))
        import inspect
        from types import SimpleNamespace

        signature = inspect.signature(fn)
        kinds = {p.kind: p.name for p in signature.parameters.values()}
        parameters = SimpleNamespace(
            signature=signature, extra=kinds.get(inspect.Parameter.VAR_POSITIONAL),
            keywords=kinds.get(inspect.Parameter.VAR_KEYWORD))
        args, kwargs = call_plan(arguments, parameters)
        inputs = [leaf for shape in arguments.values() for leaf in leaves(shape)]

        def run(values):
            source = iter(values)
            return fn(*[rebuild(s, source) for s in args], **{k: rebuild(s, source) for k, s in kwargs.items()})

        result = shape_of(run([PROBE[leaf.kind.value] for leaf in inputs]))
        kinds_out = [leaf.kind for leaf in leaves(result)]

        def engine(lanes, n):
            columns = [np.broadcast_to(lane, n).tolist() for lane in lanes]
            rows = list(zip(*columns)) if columns else [()] * n
            outs = [np.zeros(n, DTYPES[kind]) for kind in kinds_out]
            suspect = np.zeros(n, bool)
            for i, row in enumerate(rows):
                try:
                    for out, value in zip(outs, fit(run(row), result)):
                        out[i] = value
                except Exception:  # noqa: BLE001 - any exception makes the lane suspect
                    suspect[i] = True
            return outs, suspect if suspect.any() and options.errors == "raise" else None

        return compiled.Built(engine, result, Always(), arguments)


@pytest.fixture
def builds(monkeypatch):
    """What was built during the test: (function, arguments, options)."""
    try:
        from pyflat.specialise import specialise  # noqa: F401
    except ImportError:
        build = StandIn().build
    else:
        build = compiled.build
    made = []

    def counted(fn, arguments, options):
        made.append((fn, arguments, options))
        return build(fn, arguments, options)

    monkeypatch.setattr(compiled, "build", counted)
    return made


@pytest.fixture(autouse=True)
def _flattener(builds):
    return builds


@pytest.fixture
def fresh_defaults(monkeypatch):
    import pyflat.settings

    monkeypatch.setattr(pyflat.settings, "_defaults", ())
    monkeypatch.delenv("PYFLAT_TARGET", raising=False)
