"""Which parameters are arrays, as a body says."""

from __future__ import annotations

import ast
from itertools import pairwise

from pyflat.frontend import roles


def test_a_helper_is_read_once_for_all_that_is_passed_to_it(monkeypatch):
    text = "def last(a, b, c, d, e):\n    return a[0] + b[0] + c[0] + d[0] + e[0]\n"
    names = ["last", *[f"f{k}" for k in range(5)]]
    for inner, name in pairwise(names):
        text += f"def {name}(a, b, c, d, e):\n    return {inner}(a, b, c, d, e)\n"
    made: dict = {}
    exec(text, made)
    read, body = [], ast.parse(text).body
    bodies = {node.name: node.body for node in body if isinstance(node, ast.FunctionDef)}
    monkeypatch.setattr(roles, "_body", lambda function: read.append(function) or bodies[function.__name__])
    assert set(roles.array_parameters(made["f4"])) == set("abcde")
    assert len(read) == len(names)
