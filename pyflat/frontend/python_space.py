"""The object space of Python: which function answers what the evaluator asks (`state.object_space`)."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar, cast

from pyflat.frontend.space import comparisons, containers, item_writes, numbers, objects, operators
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.syntax import calls, comprehensions, expressions, statements

P = ParamSpec("P")
R = TypeVar("R")


class PythonSpace:
    """An `ObjectSpace`: each of its methods is a function whose first argument is the evaluator."""

    def __init__(self, s: Evaluator) -> None:
        def method(function: Callable[Concatenate[Evaluator, P], R]) -> Callable[P, R]:
            return cast(Callable[P, R], types.MethodType(function, s))

        self.wrap = method(objects.wrap)
        self.truth = method(numbers.truth)
        self.unary = method(operators.unary)
        self.binary = method(operators.binary)
        self.compare = method(comparisons.compare)
        self.identical = method(comparisons.identical)
        self.contains = method(comparisons.contains)
        self.isinstance = method(objects.isinstance_of)
        self.getattr = method(objects.attribute)
        self.setattr = method(objects.store_attribute)
        self.getitem = method(containers.index)
        self.setitem = method(item_writes.store_item)
        self.delitem = method(item_writes.delete_item)
        self.iterate = method(containers.iterate)
        self.items = method(containers.items_now)
        self.sequence_items = method(containers.sequence_items)
        self.dict_entries = method(containers.dict_entries)
        self.fold = method(comprehensions.fold)
        self.call = method(calls.call)
        self.inline = method(calls.inline)
        self.evaluate = method(expressions.evaluate)
        self.condition = method(expressions.condition)
        self.execute = method(statements.execute_suite)
        self.assign = method(statements.assign)
