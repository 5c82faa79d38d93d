"""The decorator gives back the function; the module gets its twin."""

import functools
import inspect
import pickle
import pydoc
import rlcompleter
import types
import typing

import numpy as np
import pytest

import pyflat
from pyflat.passes import pipelines as pipeline
from tests.runtime import functions as f


def module(source, name="made_module"):
    """Run `source` as a module of its own."""
    made = types.ModuleType(name)
    made.pyflat = pyflat
    exec(source, made.__dict__)
    return made


DECORATED = """
@pyflat.flatten
def f(x):
    return x + 1
"""


def test_the_same_function_comes_back():
    def g(x):
        """Add one."""
        return x + 1

    assert pyflat.flatten(g, inject=False) is g
    assert g(1) == 2
    assert g.__doc__ == "Add one."
    assert isinstance(g.flat, pyflat.Twin)
    assert pickle.loads(pickle.dumps(f.shade)) is f.shade
    assert f.shade.flat is f.shade_flat


def test_with_options():
    for decorate in (pyflat.flatten(), pyflat.flatten(max_unroll=7), functools.partial(pyflat.flatten, max_unroll=7)):
        def g(x):
            return x

        assert decorate(g) is g
    assert g.flat.options.max_unroll == 7


def test_nothing_is_flattened_when_decorating(builds):
    module(DECORATED)
    assert builds == []


def test_a_module_function_is_injected():
    made = module(DECORATED)
    assert made.f_flat is made.f.flat
    assert not hasattr(module(DECORATED.replace("flatten", "flatten(inject=False)")), "f_flat")


def test_local_functions_and_lambdas_are_not_injected():
    @pyflat.flatten
    def local_one(x):
        return x

    assert "local_one_flat" not in globals()
    made = module("f = pyflat.flatten(lambda x: x)")
    assert not any(name.endswith("_flat") for name in vars(made))


def test_a_rerun_replaces_the_twin_silently():
    made = module(DECORATED)
    old = made.f_flat
    exec(DECORATED, made.__dict__)
    assert made.f_flat is made.f.flat
    assert made.f_flat is not old


@pytest.mark.parametrize("taken", ["f_flat = 3", "def f_flat(x): pass", "import pyflat as f_flat",
                                   "f_flat = pyflat.twin(lambda x: x)"])
def test_another_object_of_that_name_is_an_error(taken):
    with pytest.raises(ValueError, match=r"already has 'f_flat'.*inject=False"):
        module(taken + "\n" + DECORATED)


def test_methods():
    scale = f.Scale(3.0)
    xs = np.array([1.0, 2.0])
    assert scale.decorated(2.0) == 6.0
    assert pyflat.twin(scale.decorated)(xs).tolist() == [3.0, 6.0]
    assert f.Scale.decorated.flat(scale, xs).tolist() == [3.0, 6.0]
    assert f.Scale.double.flat(xs).tolist() == [2.0, 4.0]
    assert pyflat.twin(f.Scale.halve)(xs).tolist() == [0.5, 1.0]
    assert not hasattr(f, "decorated_flat")


def test_the_twin_of_a_method_called_as_if_bound():
    with pytest.raises(TypeError, match=r"Scale.decorated.flat is the twin of the plain function.*"
                                        r"pyflat.twin\(obj.decorated\)\(5\)"):
        f.Scale(3.0).decorated.flat(5)
    with pytest.raises(TypeError, match=r"pyflat.twin\(Scale.halve\)\(5\)"):
        f.Scale.halve.flat(5)

    class Local:
        @pyflat.flatten
        def method(self, x=1.0):
            return x

    with pytest.raises(TypeError, match=r"pyflat.twin\(obj.method\)\(5\)"):
        Local().method.flat(5)
    assert Local.method.flat(Local(), 5) == 5


@pytest.mark.parametrize(("thing", "error", "message"), [
    (staticmethod(f.inverse), TypeError, "write @staticmethod above @pyflat.flatten"),
    (classmethod(f.inverse), TypeError, "write @classmethod above @pyflat.flatten"),
    (f.Point, TypeError, "the class Point"),
    (f.Scale(1.0).apply, TypeError, "pyflat.twin"),
    (functools.partial(f.product, 1.0), TypeError, "pyflat.twin"),
    (abs, pyflat.FlattenError, "'abs' is not a Python function"),
    (np.vectorize(f.inverse), pyflat.FlattenError, r"pyflat.twin\(inverse\)"),
    (3, pyflat.FlattenError, "an object of type int is not a Python function"),
])
def test_what_cannot_be_decorated(thing, error, message):
    with pytest.raises(error, match=message):
        pyflat.flatten(thing)


def test_a_twin_copied_by_wraps_is_not_believed():
    @functools.wraps(f.shade)
    def outer(x, t=0.5):
        return 2.0 * f.shade(x, t)

    assert outer.flat is f.shade.flat
    assert pyflat.twin(outer) is not f.shade.flat
    assert pyflat.twin(outer)(1.0) == 1.0
    assert pyflat.flatten(outer, inject=False).flat(1.0) == 1.0


def test_twin_of_a_decorated_function_keeps_its_options():
    @pyflat.flatten(static="n")
    def g(x, n):
        return x * n

    assert pyflat.twin(g) is g.flat
    assert pyflat.twin(g, max_unroll=9).settings == (("max_unroll", 9), ("static", ("n",)))


def test_signature_and_documentation():
    twin = f.shade.flat
    assert inspect.signature(twin) == inspect.signature(f.shade)
    assert twin.__doc__ == "The share of x above t."
    assert (twin.__name__, twin.__qualname__, twin.__module__) == ("shade_flat", "shade_flat", f.__name__)
    assert twin.__wrapped__ is twin.original is f.shade
    assert inspect.signature(pyflat.Twin) is not None


def test_strict_fold_takes_what_is_known():
    @pyflat.flatten(strict_fold=True)
    def known(x: float) -> float:
        total = 0
        for i in range(3):
            total = total + i * 1
        return min(x, x) * 1.0 + total if True or x > 0.0 else 0.0

    assert known.flat(np.array([1.5, -0.0])).tolist() == [4.5, 3.0]
    assert known.flat.show("flat").count(" = ") == 1
    loop = pyflat.twin(known, loops="masked", strict_fold=True)
    assert loop(2.0) == 5.0


@pytest.mark.parametrize("use", [lambda twin: twin(np.ones(2)), lambda twin: twin.show(), lambda twin: twin.function])
def test_strict_fold_refuses_what_folding_has_missed(use, monkeypatch):
    def missed(x: float) -> float:
        return x * 1.0

    monkeypatch.setattr(pipeline, "fold", lambda evaluate: ())
    monkeypatch.setattr(pipeline, "FLATTEN", tuple(p for p in pipeline.FLATTEN if p.name != "fold_constants"))
    assert pyflat.twin(missed)(2.0) == 2.0
    with pytest.raises(pyflat.FlattenError) as caught:
        use(pyflat.flatten(strict_fold=True)(missed).flat)
    assert caught.value.code == "flatten/fold-residual"


def test_strict_fold_is_a_flag():
    with pytest.raises(TypeError, match="strict_fold=1: expected True or False"):
        pyflat.flatten(strict_fold=1)


def test_help_and_completion_are_those_of_a_function():
    """help() of a twin has its signature and text; the prompt completes its methods and flattens nothing."""
    twin = f.shade.flat
    assert typing.get_type_hints(twin) == typing.get_type_hints(f.shade)
    shown = pydoc.render_doc(twin, renderer=pydoc.plaintext)
    assert str(inspect.signature(f.shade)) in shown and inspect.getdoc(f.shade) in shown

    def bare(x: float = 1.0):
        return x

    fresh = pyflat.twin(bare)
    assert f"The twin of {bare.__qualname__}" in pydoc.render_doc(fresh, renderer=pydoc.plaintext)
    completed = rlcompleter.Completer({"fresh": fresh}).attr_matches("fresh.")
    assert {"fresh.verify(", "fresh.show(", "fresh.source", "fresh.original("} <= {each.rstrip(")") for each in completed}
    assert "not flattened yet" in repr(fresh)
    with pytest.raises(AttributeError):
        functools.reduce(getattr, ["__annotations__"], pyflat.twin(functools.partial(bare, 1.0)))
