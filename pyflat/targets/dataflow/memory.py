"""Memory in the structured IR, as the dataflow target reads it: operations ordered by tokens.

    load(token, index) -> value          attr `memory` names the memory
    store(token, index, value) -> token  the token after it
    order(token, value, ...) -> token    a token for when `token` is there and the loads that gave `values` have read

A token is a value of kind VOID: a parameter, a loop parameter or a result of one of these operations, so that the
order of memory is plain SSA and merges at an If and at a loop as every other value does. A loop whose body touches
a memory carries its token.
"""

from __future__ import annotations

from pyflat.ir.build import Builder
from pyflat.ir.nodes import Op, Param, Value
from pyflat.ir.types import INT, VOID, Kind


def token(memory: str) -> Param:
    """A parameter that carries the token of `memory`."""
    return Param(VOID, memory)


def load(build: Builder, memory: str, before: Value, index: Value, kind: Kind = INT) -> tuple[Op, Op]:
    """The element, and the token after the load: what is stored later waits until it has been read."""
    value = build.append(Op("load", (before, index), kind, attrs=(("memory", memory),), origin=build.origin))
    return value, build.append(Op("order", (before, value), VOID, origin=build.origin))


def store(build: Builder, memory: str, before: Value, index: Value, value: Value) -> Op:
    """The token after the store."""
    return build.append(Op("store", (before, index, value), VOID, attrs=(("memory", memory),), origin=build.origin))
