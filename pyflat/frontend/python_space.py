"""The object space of Python: which function answers what the evaluator asks (`state.object_space`)."""

from __future__ import annotations

from typing import Any

from pyflat.frontend.space import comparisons, containers, item_writes, looking, numbers, objects, operators, scratch
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.syntax import calls, comprehensions, expressions, generators, rolled_loops, statements


class PythonEvaluator(Evaluator):
    """The evaluator is its own `ObjectSpace`: a function that takes the evaluator first is a method of it, so that
    asking `s.space` costs no more than calling the function."""

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.space = self

    wrap = objects.wrap
    truth = looking.truth(numbers.truth)
    unary = looking.unary(operators.unary)
    binary = looking.binary(operators.binary)
    compare = looking.binary(comparisons.compare)
    identical = looking.identical(comparisons.identical)
    contains = looking.contains(comparisons.contains)
    isinstance = looking.instance(objects.isinstance_of)
    getattr = looking.attribute(objects.attribute)
    setattr = objects.store_attribute
    getitem = looking.item(containers.index)
    setitem = item_writes.store_item
    delitem = item_writes.delete_item
    scratch_item = scratch.get_item
    iterate = containers.iterate
    items = containers.items_now
    sequence_items = containers.sequence_items
    dict_entries = containers.dict_entries
    fold = comprehensions.fold
    listed = comprehensions.listed
    repeat = rolled_loops.roll_counter
    consume = generators.run
    iterator = generators.iterator
    steps = generators.steps
    call = calls.call
    inline = calls.inline
    evaluate = expressions.evaluate
    condition = expressions.condition
    execute = statements.execute_suite
    assign = statements.assign
