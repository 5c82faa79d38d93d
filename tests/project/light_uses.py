"""Uses of pyflat, in a process in which some libraries cannot be imported: python -m tests.project.light_uses numba,rich

Prints as JSON what each use gives: the bits of its results, a text, or the exception. `test_light` compares processes.
"""

from __future__ import annotations

import inspect
import json
import linecache
import math
import pickle
import sys
from importlib.machinery import PathFinder

BLOCKED = frozenset(sys.argv[1].split(",")) if __name__ == "__main__" else frozenset()


class Without(PathFinder):
    """Python's finder of installed packages, as if some were not."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in BLOCKED else super().find_spec(name, path, target)


sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]

import numpy as np  # noqa: E402
import pandas  # noqa: E402

import pyflat  # noqa: E402
import pyflat.testing  # noqa: E402
from tests.analysis import affine_kernels  # noqa: E402
from tests.analysis.affine_programs import LENGTH, Program  # noqa: E402

EDGES = [*pyflat.testing.EDGE_FLOATS, *np.random.default_rng(1).normal(0.0, 3.0, 40_000).tolist()]
XS = np.array(EDGES)
SOME = [x for x in EDGES[:2000] if 0.0 < abs(x) <= 1.0]
TAKEN = {f"math.{name}": values for values, names in (
    ([x for x in EDGES[:2000] if 1.0 <= x < 170.0], "acosh gamma lgamma log log10 log2 sqrt"), ([x / 2.0 for x in SOME], "atanh log1p"),
) for name in names.split()}
"""Where these do not raise; the others take the numbers of `SOME`."""
USES = {}


def use(function):
    USES[function.__name__] = function
    return function


def bits(found):
    return [(type(one).__name__, np.asarray(one).dtype.str, np.asarray(one).tobytes().hex()[:64],
             hash(np.asarray(one).tobytes())) for one in (found if isinstance(found, tuple) else (found,))]


def outcome(act):
    """What a use gives, for JSON."""
    try:
        found = act()
    except Exception as error:  # noqa: BLE001 - what it is is compared
        return [*(kind.__name__ for kind in type(error).__mro__[:-3]), str(error), getattr(error, "name", None)]
    return found if isinstance(found, str | list) or found is None else bits(found)


# --- functions

def exact(x: float) -> float:
    if x < -1.0:
        return math.sin(x) * math.exp(x / 400.0) + math.atan2(x, 0.5)
    if x < 0.0:
        return math.tan(x) + math.expm1(x) + math.erf(x)
    return math.log1p(x) + math.cbrt(x) + math.tanh(x) + math.pow(x + 1.0, 0.3)


def steps(n: int, x: float) -> float:
    total = 0.0
    while n > 0:
        total = total * x + n
        n -= 2
    return total


def faulty(x: float) -> float:
    return 1.0 / math.sqrt(x) if x != 2.0 else math.log(x)


def code(text: str) -> int:
    return len(text.strip()) if text.startswith("a") else text.count("b") * 10


def smooth(xs, out):
    total = 0.0
    for i in range(1, len(xs) - 1):
        out[i] = math.exp(-abs(xs[i])) + xs[i - 1] * 0.5
        total += out[i]
    for i in range(1, len(out)):
        out[i] += out[i - 1] * 0.25
    return total


@pyflat.flatten
def decorated(x: float, y: float) -> float:
    return x / y if y > 0.0 else math.hypot(x, y)


TAME = XS[np.isfinite(XS) & (np.abs(XS) < 100.0)]


@use
def twins():
    return pyflat.twin(exact)(TAME), pyflat.twin(steps)(np.arange(len(TAME)) % 9, TAME), decorated.flat(TAME, TAME[::-1])


@use
def each_function():
    """Python's and NumPy's functions of one number, on the edges too, against the originals."""
    found = []
    for place in [f"math.{name}" for name in sorted(vars(math))] + ["np.exp", "np.sin", "np.cbrt", "np.log1p", "np.tanh"]:
        if not callable(eval(place)):
            continue
        source = f"def one(x: float): return {place}(x)"
        linecache.cache[f"<{place}>"] = len(source), None, [source], f"<{place}>"
        exec(compile(source, f"<{place}>", "exec"), {"math": math, "np": np}, space := {})
        try:
            values = pyflat.twin(space["one"])(np.array(TAKEN.get(place, SOME)))
        except (pyflat.FlattenError, TypeError) as error:
            found.append([place, type(error).__name__])
        else:
            assert values.tolist() == [space["one"](x) for x in TAKEN.get(place, SOME)], place
            found.append([place, bits(values)])
    assert sum(isinstance(row[1], list) for row in found) > 30
    return found


@use
def same_as_the_original():
    found = pyflat.twin(exact)(TAME).tolist()
    assert [one.hex() for one in found] == [exact(x).hex() for x in TAME.tolist()]


@use
def fast():
    """Its digits may differ between processes: with vector code they are others."""
    assert np.allclose(pyflat.twin(exact, math="fast")(TAME), pyflat.twin(exact)(TAME), rtol=1e-9, atol=1e-9)


@use
def first_error():
    return pyflat.twin(faulty)(XS)


@use
def errors():
    twin = pyflat.twin(faulty)
    values, faults = pyflat.twin(faulty, errors="mask")(TAME[:100])
    return [bits((pyflat.twin(faulty, errors="nan")(TAME[:100]), values, twin.to(errors="unchecked")(abs(TAME) + 1.0))),
            str(faults)]


@use
def strings():
    return pyflat.twin(code)(np.array(["abba ", " b", "a", ""])), pyflat.twin(code)(pandas.Series(["ab", "bb"])).to_numpy()


@use
def kernels():
    out = np.zeros_like(TAME)
    return pyflat.twin(smooth)(TAME, out), out


@use
def affine():
    """Kernels and random nests, many of which take islpy to see that their iterations do not meet."""
    found = []
    square, line = np.arange(25.0).reshape(5, 5) + np.eye(5) * 9.0, np.arange(1.0, 6.0)
    for function in (affine_kernels.lu, affine_kernels.transpose_in_place, affine_kernels.reverse_in_place,
                     affine_kernels.line_sweeps, affine_kernels.periodic, affine_kernels.odd_even_sort):
        for array in (square.copy(), line.copy()):
            twin = pyflat.twin(function)
            if len(inspect.signature(function).parameters) == 1:
                found.append([function.__name__, outcome(lambda twin=twin, array=array: twin(array)), bits(array)])
    for seed in range(2000, 2006):
        twin = pyflat.twin(Program(seed).function())
        for numbers in ((5, 6, 1), (12, 39, -2)):
            a, b = np.random.default_rng(seed).random((2, LENGTH, LENGTH))
            found.append([seed, outcome(lambda twin=twin, a=a, b=b, n=numbers: twin(a, b, *n)), bits((a, b))])
    return found


@use
def why_in_order():
    twin = pyflat.twin(affine_kernels.reverse_in_place)
    twin(np.arange(4.0))
    return twin.explain().loops[0].why


@use
def pages():
    twin = pyflat.twin(exact)
    assert "numpy" in str(twin.explain()) and "lanes" in str(twin.profile(TAME[:100]))
    twin.verify(TAME[:100])
    return twin.show() + twin.show(target="numba")


@use
def pickled():
    return pickle.loads(pickle.dumps(pyflat.twin(exact)))(TAME)


@use
def frames():
    frame = pandas.DataFrame({"x": TAME, "y": TAME[::-1]})
    return (frame.apply(lambda row: row.x / row.y if row.y > 1.0 else 0.5, axis=1, engine=pyflat.flatten).to_numpy(),
            frame.x.map(exact, engine=pyflat.flatten).to_numpy(), pyflat.twin(decorated)(frame.x, frame.y).to_numpy())


@use
def cache():
    from pyflat.targets.numba.disk_cache import opened, place
    assert opened() is not None
    return place()


@use
def verify():
    return pyflat.testing.verify(exact, target="numpy", examples=3)


@use
def verify_kernel():
    return pyflat.testing.verify(smooth, kinds="f8[:],f8[:]", target="numpy", examples=3)


@use
def numba():
    return pyflat.twin(exact, target="numba")(TAME)


@use
def numba_kernel():
    out = np.zeros_like(TAME)
    return pyflat.twin(smooth, target="numba")(TAME, out), out


@use
def ufunc():
    return pyflat.twin(exact).ufunc(TAME)


@use
def prove():
    from pyflat.inspection.prove import prove
    return prove(absolute).verdict


def absolute(x: float) -> float:
    return x if x > 0.0 else -x


@use
def plot():
    return type(pyflat.twin(exact).profile(TAME[:100]).plot()).__name__


if __name__ == "__main__":
    print(json.dumps({name: outcome(act) for name, act in USES.items()}))
