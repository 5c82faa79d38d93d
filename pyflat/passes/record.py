"""What a pass declares about itself: `pipelines.run` holds it to that with PYFLAT_VALIDATE=1, as all tests do."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyflat.ir.loops import canonical_parts
from pyflat.ir.nodes import Block, Exit, Function, If, Loop, Region, walk


class Construct(enum.Enum):
    """What some passes take out of a function and others cannot read."""

    EARLY_EXIT = "exits other than those of canonical loops, and regions for them to leave"
    BRANCH = "If nodes other than the tests of canonical loops"
    LOOP = "loops"
    FAULT = "fault operations"


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass: a function from Function to Function that never modifies its input.

    `needs_gone` must not occur in its input, and `removes` does not occur in its output (rewritten or refused). A pass
    that has nothing to do returns the very object it was given. `options` are bound where a pipeline is written.
    """

    run: Callable[..., Function]
    needs_gone: frozenset[Construct] = frozenset()
    removes: frozenset[Construct] = frozenset()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.run.__name__

    def bind(self, **options: Any) -> Pass:
        """The pass with these options."""
        return replace(self, options={**self.options, **options})

    def __call__(self, fn: Function) -> Function:
        return self.run(fn, **self.options)


TOTAL = frozenset({Construct.EARLY_EXIT, Construct.BRANCH})
"""What the flat and the masked form do not contain."""
STRAIGHT = TOTAL | {Construct.LOOP}
"""What the flat form does not contain."""


def constructs_in(fn: Function) -> frozenset[Construct]:
    """What of all that occurs in a function."""
    found: set[Construct] = set()
    loop_exits, tests = set[int](), set[int]()
    for item in walk(fn.body):
        match item:
            case Region():
                found.add(Construct.EARLY_EXIT)
            case Loop():
                found.add(Construct.LOOP)
                if canonical_parts(item) is not None:
                    test = item.body[-2]
                    assert isinstance(test, If)
                    tests.add(id(test))
                    loop_exits.add(id(test.orelse[0]))
            case If() if id(item) not in tests:
                found.add(Construct.BRANCH)
            case Block():
                if isinstance(item.end, Exit) and id(item) not in loop_exits:
                    found.add(Construct.EARLY_EXIT)
                if any(op.opcode == "fault" for op in item.ops):
                    found.add(Construct.FAULT)
    return frozenset(found)
