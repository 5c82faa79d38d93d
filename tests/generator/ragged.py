"""Lists whose length differs from lane to lane: made by filters and conditional appends, changed, and read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.generator.scope import FLOAT, INT

if TYPE_CHECKING:
    from tests.generator.statements import Lines, Statements


def filtered(self: Statements) -> tuple[Lines, bool]:
    """A block that makes such a list, changes it, and binds one name to what it reads."""
    name = self.fresh()
    items = ", ".join(self.real(1) for _ in range(self.rng.randint(1, 3)))
    test = f"v {self.comparison()} {self.real(1)}"
    lines = [f"{name} = [v for v in ({items},) if {test}]" if self.chance(0.6) else f"{name} = [{items}]"]
    for _ in range(self.rng.randint(1, 3)):
        lines += _change(self, name)
    kind, read = _read(self, name)
    target = self.target(kind)
    self.bind(target, kind)
    return [*lines, f"{target} = {read}"], False


def _change(self: Statements, name: str) -> Lines:
    value = self.real(1)
    change = self.rng.choice((
        f"{name}.append({value})", f"{name}.append({value})", f"{name}.pop()", f"{name}.insert({self.integer(1)}, {value})",
        f"{name}.extend([v * 2 for v in {name} if v < {value}])", f"{name}.sort()", f"{name}.reverse()", f"{name}[0] = {value}",
        f"{name} = {name}[1:]", f"{name} = [v - 1 for v in {name} if v != {value}]", f"{name}.remove({value})", f"del {name}[-1]"))
    if self.chance(0.25):
        return [change]
    return [f"if {self.truth(1)}{'' if self.chance(0.4) else f' and {name}'}:", f"    {change}"]


def _read(self: Statements, name: str) -> tuple[str, str]:
    return self.rng.choice((
        (INT, f"len({name})"), (FLOAT, f"sum({name}, 0.0)"), (FLOAT, f"max({name}, default={self.real(1)})"),
        (FLOAT, f"({name}[0] if {name} else {self.real(1)})"), (FLOAT, f"({name}[-1] if len({name}) > 1 else {self.real(1)})"),
        (FLOAT, f"sum(k * v for k, v in enumerate({name}, 1)) + 0.0"), (INT, f"int({self.real(1)} in {name})"),
        (FLOAT, f"sum(sorted({name})[:1], 0.5)"),
        (INT, f"len(set({name}))"), (INT, f"len(str({self.integer(1)}))"), (INT, f"sum(c == '1' for c in str({self.integer(1)}))"),
        (INT, f"{name}.count({self.real(1)})"), (FLOAT, f"{name}[{self.integer(1)}]"),
        (INT, f"len([v for v in {name} if v > {self.real(1)}])"), (FLOAT, f"sum(map(abs, reversed({name})), 0.0)")))
