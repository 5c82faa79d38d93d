"""A refusal as too large names the loops and helpers that most operations come from, and what helps."""

import pytest

import pyflat
from pyflat.ir.build import Builder, const
from pyflat.ir.large import too_large
from pyflat.targets.numba import engine


def poly(x, a):
    return ((x * a + 1.0) * a - x) * 0.5


def in_a_loop(x):
    for k in range(100):
        x = poly(x, k + 0.25) if x > k else x + k
    return x


def of_helpers(x):
    y = poly(poly(poly(x, x), 1.5), 2.5)
    return poly(y, x) + poly(y, 7.5)


def in_a_comprehension(x):
    return sum([x * k - 1.0 for k in range(50)])


def refused(fn, monkeypatch, **options):
    monkeypatch.setattr(engine, "MAX_OPERATIONS", 20)
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(fn, target="numba", **options)(1.0)
    assert caught.value.code == "flatten/too-large"
    return caught.value.diagnostic


def test_a_helper_in_a_loop(monkeypatch):
    pytest.importorskip("numba")
    found = refused(in_a_loop, monkeypatch, loops="unroll")
    helper, loop = found.notes[:2]
    assert helper.message == "500 operations are those of poly, inlined 100 times"
    assert helper.span.line == poly.__code__.co_firstlineno
    assert loop.message == "200 operations are those of a loop in in_a_loop; `x > k` is 100 of them"
    assert loop.span.line == in_a_loop.__code__.co_firstlineno + 1
    assert found.help == ('loops="masked" keeps a loop whose body needs no known index; call poly fewer times, or pass '
                          'its results as arguments; target="numpy" takes more operations')


def test_what_is_advised_helps(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(engine, "MAX_OPERATIONS", 40)
    assert pyflat.twin(in_a_loop, target="numba", loops="masked")(150.0) == in_a_loop(150.0)


def test_helpers_without_a_loop(monkeypatch):
    pytest.importorskip("numba")
    found = refused(of_helpers, monkeypatch)
    assert found.notes[0].message.endswith("operations are those of poly, inlined 5 times")
    assert found.help.startswith('call poly fewer times, or in a loop with loops="masked", or pass its results')


def test_a_comprehension_is_a_loop(monkeypatch):
    pytest.importorskip("numba")
    notes = [note.message for note in refused(in_a_comprehension, monkeypatch).notes]  # since 3.12 sum() has more operations
    assert "99 operations are those of a loop in in_a_comprehension; `x * k - 1.0` is 50 of them" in notes


def test_where_there_is_no_source():
    assert too_large("large", []).diagnostic.notes == ()
    build = Builder(max_ops=1)
    build.op("add", const(1.0), const(2.0))
    with pytest.raises(pyflat.FlattenError, match="more than 1 operations"):
        build.op("add", const(1.0), const(2.0))
