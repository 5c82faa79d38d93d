"""Names, values and precedence of options."""

import contextvars
import threading

import numpy as np
import pytest

import pyflat
from pyflat.runtime.settings import NAMES, resolve
from tests.runtime import functions as f

pytestmark = pytest.mark.usefixtures("fresh_defaults")


def test_the_names_are_the_same_everywhere():
    assert NAMES == ("target", "static", "arrays", "signature", "core_dims", "loops", "max_unroll", "max_tracing_dim",
                     "max_trips", "errors", "math", "dtype", "fast_math", "parallel", "cache", "strict_fold", "max_visits",
                     "inline_scalar_constexprs", "inline_simple_computations", "inline_complex_computations",
                     "enable_device_only", "memory", "whitelist", "results", "none", "audit", "inject")
    made = pyflat.Options()
    assert (made.target, made.static, made.loops, made.max_unroll) == ("numpy", (), "auto", 4096)
    assert (made.errors, made.math, made.dtype, made.cache, made.inject) == ("raise", "exact", "float64", True, True)


def places(**given):
    """Each place that takes options."""
    def block():
        with pyflat.options(**given):
            pass

    return [lambda: pyflat.twin(f.inverse, **given), lambda: pyflat.flatten(**given), block,
            lambda: pyflat.twin(f.inverse).with_options(**given), lambda: pyflat.set_defaults(**given)]


@pytest.mark.parametrize(("given", "error", "message"), [
    ({"targt": "numpy"}, TypeError, r"unknown option 'targt' \(did you mean 'target'\?\)"),
    ({"out": 1}, TypeError, "unknown option 'out'.*the options are target, static"),
    ({"target": "nunba"}, ValueError, r"target='nunba' \(did you mean 'numba'\?\): expected one of 'numpy', 'numba'"),
    ({"target": 3}, TypeError, "target=3: expected a string"),
    ({"errors": "ignore"}, ValueError, "errors='ignore'"),
    ({"max_unroll": 0}, ValueError, "at least 1"),
    ({"max_unroll": True}, TypeError, "expected an int"),
    ({"max_unroll": 1e3}, TypeError, "expected an int"),
    ({"max_tracing_dim": 0}, ValueError, "max_tracing_dim=0: expected an int of at least 1"),
    ({"max_tracing_dim": None}, TypeError, "max_tracing_dim=None: expected an int"),
    ({"max_visits": -1}, ValueError, "max_visits=-1: expected an int of at least 0"),
    ({"max_visits": "once"}, TypeError, "max_visits='once': expected an int"),
    ({"inline_simple_computations": None}, TypeError, "inline_simple_computations=None: expected True or False"),
    ({"inline_complex_computations": 1}, TypeError, "inline_complex_computations=1: expected True or False"),
    ({"enable_device_only": 0}, TypeError, "enable_device_only=0: expected True or False"),
    ({"memory": "t"}, TypeError, "memory='t': expected modes by the names of arrays"),
    ({"memory": {1: "stored"}}, TypeError, "expected modes by the names of arrays"),
    ({"memory": {"t": 1}}, TypeError, "memory={'t': 1}: expected a string, one of 'virtual', 'buffer', 'stored'"),
    ({"memory": {"t": "stord"}}, ValueError, r"memory={'t': 'stord'} \(did you mean 'stored'\?\): expected one of"),
    ({"parallel": 1}, TypeError, "parallel=1: expected True or False"),
    ({"static": 3}, TypeError, "expected a name or several names"),
    ({"static": ("a", 3)}, TypeError, "expected names, not int"),
    ({"static": "a b"}, ValueError, "'a b' is not a name"),
])
def test_wrong_options(given, error, message):
    for place in places(**given):
        with pytest.raises(error, match=message):
            place()


@pytest.mark.parametrize("given", [
    {"fast_math": True},
])
def test_what_is_not_built_yet_is_refused(given):
    for place in places(**given):
        with pytest.raises(pyflat.FlattenError, match=next(iter(given))) as error:
            place()
        assert error.value.code == "flatten/not-yet"


def test_defaults_written_out_are_accepted():
    given = {"target": "numpy", "static": (), "arrays": None, "signature": None, "core_dims": (), "loops": "auto", "max_unroll": 4096, "max_tracing_dim": 16, "max_trips": None, "errors": "raise",
             "math": "exact", "dtype": "float64", "fast_math": False, "parallel": None, "cache": True,
             "max_visits": None, "inline_scalar_constexprs": True, "inline_simple_computations": True,
             "inline_complex_computations": None, "enable_device_only": True, "memory": {}, "whitelist": None, "audit": 0.0, "inject": True}
    assert pyflat.twin(f.inverse, **given).options == pyflat.Options()


def test_modes_of_arrays_are_sorted_pairs():
    twin = pyflat.twin(f.inverse, memory={"u": "stored", "t": "virtual"})
    assert twin.options.memory == (("t", "virtual"), ("u", "stored"))
    assert pyflat.twin(f.inverse, memory=twin.options.memory) is twin


@pytest.mark.parametrize(("former", "name"), [("libm", "exact"), ("vector", "fast")])
def test_former_names_of_mathematics_warn_at_the_line_that_has_them(former, name):
    for place in places(math=former):
        with pytest.warns(DeprecationWarning, match=f"math='{former}' is deprecated; use math='{name}'") as told:
            place()
        assert told[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        assert pyflat.twin(f.inverse, math=former) is pyflat.twin(f.inverse, math=name)


def test_precedence(monkeypatch):
    twin, explicit = pyflat.twin(f.inverse), pyflat.twin(f.inverse, target="numpy")
    monkeypatch.setenv("PYFLAT_TARGET", "numba")
    assert twin.options.target == "numba"
    pyflat.set_defaults(target="numpy", max_unroll=10)
    assert (twin.options.target, twin.options.max_unroll) == ("numpy", 10)
    with pyflat.options(target="numba"):
        assert (twin.options.target, twin.options.max_unroll) == ("numba", 10)
        assert explicit.options.target == "numpy"
        with pyflat.options(max_unroll=20):
            assert (twin.options.target, twin.options.max_unroll) == ("numba", 20)
    assert (twin.options.target, twin.options.max_unroll) == ("numpy", 10)


def test_a_wrong_environment_is_named(monkeypatch):
    monkeypatch.setenv("PYFLAT_TARGET", "numbo")
    with pytest.raises(ValueError, match=r"PYFLAT_TARGET='numbo' \(did you mean 'numba'\?\)"):
        pyflat.twin(f.inverse)(1.0)


def test_a_block_holds_for_its_own_thread():
    seen = []
    with pyflat.options(max_unroll=5):
        thread = threading.Thread(target=lambda: seen.append(resolve().max_unroll))
        thread.start()
        thread.join()
        contextvars.copy_context().run(lambda: seen.append(resolve().max_unroll))
    assert seen == [4096, 5]


def test_the_block_decides_how_a_call_runs(builds):
    twin = pyflat.twin(lambda x: x + 1)
    twin(np.ones(1))
    with pyflat.options(errors="unchecked"):
        twin(np.ones(1))
    twin(np.ones(1))
    assert [options.errors for _, _, options in builds] == ["raise", "unchecked"]


def test_without_cache_each_call_flattens(builds):
    twin = pyflat.twin(lambda x: x + 1, cache=False)
    twin(np.ones(1))
    twin(np.ones(1))
    assert len(builds) == 2


def test_unknown_static_names():
    for place in (lambda: pyflat.twin(f.power, static="m"), lambda: pyflat.flatten(static=["n", "m"])(f.power)):
        with pytest.raises(pyflat.FlattenError, match="'m'.*no such parameter") as error:
            place()
        assert error.value.code == "flatten/static-name"
        assert "x, n" in str(error.value)
    with pyflat.options(static="m"), pytest.raises(pyflat.FlattenError, match="'m'"):
        pyflat.twin(f.power)(1.0, 2)


def test_parameters_may_be_named_like_options():
    twin = pyflat.twin(lambda out, where, target, self=1.0: out + where + target + self)
    assert twin(1.0, where=2.0, target=3.0, self=4.0) == 10.0
