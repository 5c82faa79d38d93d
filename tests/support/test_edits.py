"""An edit finds its place by the tree, and says where it does not."""

from __future__ import annotations

import ast

import pytest

from tests.support.edits import Edit

SOURCE = """
RULES = {("eq", 1): f(2)}

class Sweep:
    def visit(self, op):
        if op in self.seen and (
            op.kind is not None  # a comment
        ):
            self.keep(op)
            return op
        return g(op, 1)

    def keep(self, op):
        self.seen.add(op)
        return g(op, 1)
"""


def changed(*edit: str) -> str:
    return Edit(*edit).apply(SOURCE)


@pytest.mark.parametrize(("edit", "message"), [
    (("Sweep.visit", "g(op, 2)", "op"), "occurs 0 times"),
    (("Sweep", "g(op, 1)", "op"), "occurs 2 times"),
    (("Sweep.vist", "g(op, 1)", "op"), "Sweep.vist is defined 0 times"),
    (("Sweep.visit", "if op in self.seen: ...", "if True: ..."), "occurs 0 times"),
])
def test_what_does_not_fit(edit, message):
    with pytest.raises(ValueError, match=message):
        changed(*edit)


@pytest.mark.parametrize(("edit", "old", "new"), [
    (("Sweep.visit", "g(op, 1)", "op"), "return op\n        return g(op, 1)", "return op\n        return op"),
    (("Sweep.visit", "op in self.seen and\\\n  op.kind is not None", "True"), "if op in self.seen and op.kind is not None:", "if True:"),
    (("Sweep.visit", "if op in self.seen and op.kind is not None: ...", "while op: ..."), "if op in self.seen and op.kind is not None:", "while op:"),
    (("Sweep.visit", "self.keep(op)\nreturn op", "return 1"), "self.keep(op)\n            return op", "return 1"),
    (("RULES", "('eq', 1)", "('ne', 1)"), "eq", "ne"),
    (("", "self.seen.add(op)", "pass"), "self.seen.add(op)", "pass"),
])
def test_what_changes(edit, old, new):
    plain = ast.unparse(ast.parse(SOURCE))
    assert plain.count(old) == 1
    assert changed(*edit) == plain.replace(old, new)
