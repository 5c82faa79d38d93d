"""What a twin has captured is checked at each call: every sentence of the contract on captured names."""

import functools
import sys
import types

import numpy as np
import pytest

import pyflat

XS = np.array([1.0, 2.0, 3.0])


@pytest.fixture(params=["numpy", "numba"], autouse=True)
def target(request, monkeypatch):
    """On both engines: the guards of a plan (`pyflat.runtime.plans`) are others than those of a call without."""
    monkeypatch.setenv("PYFLAT_TARGET", request.param)


def module(text):
    """A module of its own that can be executed again, as a notebook cell is."""
    import linecache

    made = types.ModuleType("cells")
    made.__dict__["__name__"] = "cells"

    def execute(cell, number=[0]):
        number[0] += 1
        file = f"<cell {id(made)} {number[0]}>"
        linecache.cache[file] = (len(cell), None, cell.splitlines(keepends=True), file)
        exec(compile(cell, file, "exec"), made.__dict__)

    made.execute = execute
    execute(text)
    return made


def follows(twin, original, change, builds, *, rebuilt=True):
    """The twin agrees with the original before and after `change`, and was built again only if it must."""
    def agree():
        assert twin(XS).tolist() == [original(x) for x in XS.tolist()]

    agree()
    agree()
    count = len(builds)
    change()
    agree()
    assert len(builds) - count == rebuilt
    agree()
    assert len(builds) - count == rebuilt


def test_a_number(builds):
    m = module("K = 2.0\ndef f(x):\n    return x * K\n")
    follows(pyflat.twin(m.f), m.f, lambda: m.execute("K = 3.0"), builds)


def test_running_a_cell_again_recompiles_nothing(builds):
    m = module("K = 2.5\nS = 'mode a'\nB = 10**15\ndef f(x):\n    return x * K + B if S == 'mode a' else x\n")
    follows(pyflat.twin(m.f), m.f, lambda: m.execute("K = 5.0 / 2\nS = 'mode' + ' a'\nB = 10**15 + 0"), builds, rebuilt=False)


@pytest.mark.parametrize(("old", "new"), [("1", "1.0"), ("1", "True"), ("0.0", "-0.0"), ("'a'", "'b'"), ("float('nan')", "1.0")])
def test_by_type_and_value(old, new, builds):
    m = module(f"K = {old}\ndef f(x):\n    return x + 1 if K == 'a' else math.copysign(x, K if K != 'b' else 1) / 2\nimport math\n")
    follows(pyflat.twin(m.f), m.f, lambda: m.execute(f"K = {new}"), builds)


def test_nan_equals_nan(builds):
    m = module("K = float('nan')\ndef f(x):\n    return x if K != K else 0.0\n")
    follows(pyflat.twin(m.f), m.f, lambda: m.execute("K = float('nan')"), builds, rebuilt=False)


def test_a_helper_by_identity(builds):
    m = module("def g(x):\n    return x + 1\ndef f(x):\n    return g(x) * 2\n")
    follows(pyflat.twin(m.f), m.f, lambda: m.execute("def g(x):\n    return x - 1\n"), builds)


def test_what_a_helper_captures(builds):
    m = module("K = 1.0\ndef g(x):\n    return x + K\ndef f(x):\n    return g(x) * 2\n")
    follows(pyflat.twin(m.f), m.f, lambda: m.execute("K = 2.0"), builds)


def test_a_name_that_becomes_bound_or_unbound(builds):
    m = module("def f(x):\n    return abs(x - 2.0)\n")
    twin = pyflat.twin(m.f)
    follows(twin, m.f, lambda: m.execute("def abs(x):\n    return x\n"), builds)
    follows(twin, m.f, lambda: m.__dict__.pop("abs"), builds)


def test_a_builtin_that_is_another_one(builds, monkeypatch):
    m = module("def f(x):\n    return later(x) + 1.0\n")
    monkeypatch.setattr("builtins.later", m.execute("def g(x):\n    return x * 2.0\n") or m.g, raising=False)
    m.execute("def h(x):\n    return x * 3.0\n")
    follows(pyflat.twin(m.f), m.f, lambda: monkeypatch.setattr("builtins.later", m.h), builds)


def test_a_module_by_identity(builds):
    m = module("import math as lib\ndef f(x):\n    return lib.sqrt(x)\n")

    class Other:
        @staticmethod
        def sqrt(x):
            return x * 10.0

    follows(pyflat.twin(m.f), m.f, lambda: m.__dict__.update(lib=Other), builds)


def test_an_attribute_of_a_module(builds, monkeypatch):
    made = types.ModuleType("settings_of_a_user")
    made.K = 2.0
    monkeypatch.setitem(sys.modules, made.__name__, made)
    m = module("import settings_of_a_user as s\ndef f(x):\n    return x * s.K\n")
    follows(pyflat.twin(m.f), m.f, lambda: setattr(made, "K", 5.0), builds)


def test_a_closure_cell(builds):
    k = 2.0

    def f(x):
        return x * k

    def change():
        nonlocal k
        k = 7.0

    follows(pyflat.twin(f), f, change, builds)


def test_a_default(builds):
    def f(x, k=2.0):
        return x * k

    follows(pyflat.twin(f), f, lambda: setattr(f, "__defaults__", (4.0,)), builds)


@pytest.mark.parametrize("change", [
    lambda table: table.__setitem__(0, 5.0), lambda table: table.__setitem__(slice(None), [7.0, 8.0, 9.0]),
    lambda table: table.append(1.0), lambda table: table.clear(), lambda table: table.reverse(),
])
def test_items_of_a_list(change, builds):
    table = [1.0, 2.0, 3.0]

    def f(x):
        s = x
        for t in table:
            s = s * 2.0 + t
        return s

    follows(pyflat.twin(f), f, lambda: change(table), builds)


def test_one_item_of_a_list(builds):
    table = [1.0, 2.0, 3.0]

    def f(x):
        return x + table[0]

    follows(pyflat.twin(f), f, lambda: table.__setitem__(0, 5.0), builds)
    follows(pyflat.twin(f), f, lambda: table.__setitem__(2, 5.0), builds)  # a container is compared as a whole


def test_a_table_indexed_by_lanes(builds):
    table = [1.0, 2.0, 3.0, 4.0]

    def f(x):
        return table[int(x)]

    follows(pyflat.twin(f), f, lambda: table.__setitem__(2, -5.0), builds)


def test_items_of_a_dict(builds):
    params = {"r": 2.0, "other": 1.0}

    def f(x):
        return x * params["r"]

    follows(pyflat.twin(f), f, lambda: params.__setitem__("r", 3.0), builds)
    follows(pyflat.twin(f), f, lambda: params.__setitem__("other", 3.0), builds)


def test_keys_of_a_dict(builds):
    params = {"r": 2.0}

    def f(x):
        if "shift" in params:
            x = x + 1.0
        for name in params:
            x = x * params[name]
        return x * params.get("late", 1.0)

    follows(pyflat.twin(f), f, lambda: params.__setitem__("late", 3.0), builds)
    follows(pyflat.twin(f), f, lambda: params.__setitem__("shift", 3.0), builds)


def test_members_of_a_set(builds):
    members = {"a"}

    def f(x):
        return x * 2.0 if "b" in members else x

    follows(pyflat.twin(f), f, lambda: members.add("b"), builds)


def test_items_of_an_array(builds):
    table = np.array([1.0, 2.0, 3.0, 4.0])

    def f(x):
        return float(table[1]) * x

    follows(pyflat.twin(f), f, lambda: table.__setitem__(1, 5.0), builds)


def test_nested_containers(builds):
    table = {"rows": [[1.0, 2.0], [3.0, 4.0]]}

    def f(x):
        return x * table["rows"][1][0]

    follows(pyflat.twin(f), f, lambda: table["rows"][1].__setitem__(0, 9.0), builds)
    follows(pyflat.twin(f), f, lambda: table["rows"].__setitem__(1, [10.0, 0.0]), builds)


class Model:
    scale = 2.0

    def __init__(self, k):
        self.k = k

    def apply(self, x):
        return self.shifted(x) * self.k * self.scale

    def shifted(self, x):
        return x + 1.0

    @property
    def double(self):
        return self.k * 2

    def doubled(self, x):
        return x * self.double


def test_attributes_of_self(builds):
    model = Model(3.0)
    twin = pyflat.twin(model.apply)
    follows(twin, model.apply, lambda: setattr(model, "k", 4.0), builds)
    follows(twin, model.apply, lambda: setattr(model, "scale", 4.0), builds)
    follows(twin, model.apply, lambda: setattr(model, "unread", 4.0), builds, rebuilt=False)


def test_attributes_of_the_class(builds, monkeypatch):
    model = Model(3.0)
    follows(pyflat.twin(model.apply), model.apply, lambda: monkeypatch.setattr(Model, "scale", 8.0), builds)


def test_methods_of_the_class(builds, monkeypatch):
    model = Model(3.0)
    twin = pyflat.twin(model.apply)
    follows(twin, model.apply, lambda: monkeypatch.setattr(Model, "shifted", lambda self, x: x - 1.0), builds)


def test_properties(builds):
    model = Model(3.0)
    follows(pyflat.twin(model.doubled), model.doubled, lambda: setattr(model, "k", 5.0), builds)


def test_what_a_partial_holds(builds):
    table = [2.0]

    def f(table, x):
        return x * table[0]

    twin = pyflat.twin(functools.partial(f, table))
    follows(twin, functools.partial(f, table), lambda: table.__setitem__(0, 6.0), builds)


def test_many_leaves(builds):
    table = [float(i) for i in range(1000)]

    def f(x):
        s = x
        for t in table:
            s = s + t
        return s

    follows(pyflat.twin(f), f, lambda: table.__setitem__(977, 0.5), builds)


def test_the_same_values_in_new_objects_rebuild_nothing(builds):
    table = [float(i) for i in range(100)]

    def f(x):
        s = x
        for t in table:
            s = s + t
        return s

    follows(pyflat.twin(f), f, lambda: table.__setitem__(slice(None), [float(i) for i in range(100)]), builds, rebuilt=False)


# --- classes


CLASSES = """
from dataclasses import dataclass, field
from typing import NamedTuple

class Base:
    def scaled(self, x):
        return x * 2.0

class Other:
    def scaled(self, x):
        return x * 3.0
    def __bool__(self):
        return False

class Plain(Base):
    calls = 0
    def __init__(self, k):
        self.k = k

class Child(Plain):
    pass

class Vector:
    def __init__(self, x):
        self.x = x
    def __add__(self, other):
        return Vector(self.x + other.x)
    def __eq__(self, other):
        return self.x == other.x

@dataclass
class Data:
    a: float
    b: float = 2.0
    def __post_init__(self):
        self.a = self.a + 1.0

class Pair(NamedTuple):
    a: float
    b: float = 1.0

p = Plain(2.0)
c = Child(2.0)
"""


def zero(self):
    return False


def other_add(self, other):
    return type(self)(self.x - other.x)


CHANGES = {
    "__bool__ of a captured object": ("return x if p else -x", lambda m: setattr(m.Plain, "__bool__", zero)),
    "__bool__ of its base": ("return x if c else -x", lambda m: setattr(m.Base, "__bool__", zero)),
    "__len__ of a captured object": ("return x if p else -x", lambda m: setattr(m.Plain, "__len__", lambda self: 0)),
    "__bool__ of an object made in the twin": ("v = Vector(x)\n    return x if v else -x", lambda m: setattr(m.Vector, "__bool__", zero)),
    "__add__ that was there": ("return (Vector(x) + Vector(1.0)).x", lambda m: setattr(m.Vector, "__add__", other_add)),
    "__eq__ that was there": ("return x if Vector(x) == Vector(2.0) else -x", lambda m: setattr(m.Vector, "__eq__", lambda a, b: True)),
    "__eq__ taken away": ("return x if Vector(x) == Vector(2.0) else -x", lambda m: delattr(m.Vector, "__eq__")),
    "__ne__ added": ("return x if Vector(x) != Vector(2.0) else -x", lambda m: setattr(m.Vector, "__ne__", lambda a, b: True)),
    "the class of an object": ("return p.scaled(x)", lambda m: setattr(m.p, "__class__", m.Other)),
    "the class of an object whose truth is asked": ("return x if p else -x", lambda m: setattr(m.p, "__class__", m.Other)),
    "the bases of a class": ("return p.scaled(x)", lambda m: setattr(m.Plain, "__bases__", (m.Other,))),
    "the bases of a base": ("return c.scaled(x)", lambda m: setattr(m.Plain, "__bases__", (m.Other,))),
    "a method in between": ("return c.scaled(x)", lambda m: setattr(m.Plain, "scaled", lambda self, x: x)),
    "__init__ of a plain class": ("return Vector(x).x", lambda m: setattr(m.Vector, "__init__", lambda self, x: setattr(self, "x", -x))),
    "__init__ of a dataclass": ("return Data(x).b", lambda m: setattr(m.Data.__init__, "__defaults__", (7.0,))),
    "__post_init__ of a dataclass": ("return Data(x).a", lambda m: setattr(m.Data, "__post_init__", lambda self: None)),
    "defaults of a namedtuple": ("return Pair(x).b", lambda m: setattr(m.Pair.__new__, "__defaults__", (9.0,))),
    "__getattr__ added": ("return p.k * x if hasattr(p, 'late') else x", lambda m: setattr(m.Plain, "__getattr__", lambda self, name: 1.0)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_class(name, builds):
    body, change = CHANGES[name]
    m = module(f"{CLASSES}\ndef f(x):\n    {body}\n")
    twin = pyflat.twin(m.f)
    assert twin(XS).tolist() == [m.f(x) for x in XS.tolist()]
    change(m)
    wanted = [m.f(x) for x in XS.tolist()]
    try:
        got = twin(XS).tolist()
    except pyflat.FlattenError:
        return  # what the class does now cannot be flattened
    assert got == wanted


def test_what_no_operator_looks_at_rebuilds_nothing(builds):
    m = module(f"{CLASSES}\ndef f(x):\n    return p.scaled(x) if p else Data(x).a\n")

    def change():
        m.Plain.calls += 1
        m.Plain.__doc__ = "counted"
        m.Data.unread = 5.0

    follows(pyflat.twin(m.f), m.f, change, builds, rebuilt=False)


def test_the_class_of_an_argument():
    m = module(f"{CLASSES}\ndef f(q):\n    return q.a if q else -q.a\n")
    twin = pyflat.twin(m.f)
    assert twin(m.Pair(XS)).tolist() == [1.0, 2.0, 3.0]
    m.Pair.__bool__ = lambda self: self.a > 1.5
    assert twin(m.Pair(XS)).tolist() == [-1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", ["__getitem__", "__iter__", "__len__", "__contains__"])
def test_a_namedtuple_that_is_no_plain_tuple_is_no_argument(name):
    m = module(f"{CLASSES}\ndef f(q):\n    a, b = q\n    return a + q[1]\n")
    twin = pyflat.twin(m.f)
    assert twin(m.Pair(XS)).tolist() == [2.0, 3.0, 4.0]
    setattr(m.Pair, name, lambda self, *args: iter((0.0, 0.0)) if name == "__iter__" else 0)
    with pytest.raises(pyflat.FlattenError):
        twin(m.Pair(XS))


def test_shown_text_follows_too():
    m = module("K = 2.0\ndef f(x):\n    if x > K:\n        return x * K\n    return x\n")
    twin = pyflat.twin(m.f)
    assert twin.function(XS).tolist() == [1.0, 2.0, 6.0]
    m.execute("K = 1.0")
    assert twin.function(XS).tolist() == [1.0, 2.0, 3.0]
