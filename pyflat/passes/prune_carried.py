"""Removes what loops and arms of a structured function carry without a use.

Before:                                          After:
    loop @l again @n (%i = 0, %seen = false) {       loop @l again @n (%i = 0) {
      %go = lt %i, %n                                  %go = lt %i, %n
      if %go { yield } else { exit @l %i, %seen }      if %go { yield } else { exit @l }
      %i.1 = add %i, 1                                 %i.1 = add %i, 1
      yield %i.1, true                                 yield %i.1
    } -> (%i.2, %seen.1)                             }

An operation that may fault or warn stays, as in Python; one that cannot goes where nothing needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pyflat.analysis.small_ints import small_ints
from pyflat.ir.edit.copying import copy_function
from pyflat.ir.faults import can_fault
from pyflat.ir.loops import definitions
from pyflat.ir.memory import may_warn
from pyflat.ir.nodes import FAULT, Block, Exit, Function, If, Item, Label, Loop, Op, Param, Region, Value, Yield, walk
from pyflat.ir.opaque_calls import has_effect
from pyflat.passes.record import Pass

_T = TypeVar("_T")


def prune_carried(fn: Function, lengths: Sequence[int] = ()) -> Function:
    """A structured function without unused parameters, results and operations; `fn` itself when there are none.
    The parameters at `lengths` are lengths of axes, of which sums are small."""
    uses = _CarriedUses(small_ints(fn, [fn.params[at] for at in lengths]) if lengths else set())
    needed = _needed(fn, uses)
    if all(value in needed for value in _removable(fn)):
        return fn
    copy = copy_function(fn)
    pairs = zip(definitions(fn.body), definitions(copy.body), strict=True)
    _Removal(copy, {copied for value, copied in pairs if value in needed}).items(copy.body, None)
    return copy


PASS = Pass(prune_carried)


def _removable(fn: Function) -> Iterator[Value]:
    for item in walk(fn.body):
        match item:
            case Block():
                yield from item.ops
            case Loop():
                yield from item.params
                yield from item.results
            case If() | Region():
                yield from item.results


@dataclass(slots=True)
class _CarriedUses:
    """What each parameter and result may come from, and what is needed for its own sake."""

    small: set[Value]
    takes: dict[Label, Sequence[Param]] = field(default_factory=dict)
    sources: dict[Value, list[Value]] = field(default_factory=dict)
    roots: list[Value] = field(default_factory=list)

    def stays(self, op: Op) -> bool:
        faults = can_fault(op) and (op not in self.small or op.opcode == "index")
        return faults or has_effect(op) or may_warn(op.opcode, op.kind)

    def flows(self, targets: Sequence[Param], values: Sequence[Value]) -> None:
        for target, value in zip(targets, values, strict=True):
            self.sources.setdefault(target, []).append(value)


def _needed(fn: Function, uses: _CarriedUses) -> set[Value]:
    _note(fn.body, None, fn, uses)
    needed: set[Value] = set()
    waiting = list(uses.roots)
    while waiting:
        value = waiting.pop()
        if value in needed:
            continue
        needed.add(value)
        waiting += value.args if isinstance(value, Op) else uses.sources.get(value, ())
    return needed


def _note(items: list[Item], takes: Sequence[Param] | None, fn: Function, uses: _CarriedUses) -> None:
    """`takes`: what the Yield of the list goes to; None: the results of the function."""
    for item in items:
        match item:
            case Block():
                for op in item.ops:
                    if uses.stays(op):
                        uses.roots.append(op)
                if item.end is not None:
                    _note_end(item.end, takes, fn, uses)
            case If():
                uses.roots.append(item.cond)  # arms hold what may fault, or leave
                _note(item.then, item.results, fn, uses)
                _note(item.orelse, item.results, fn, uses)
            case Region():
                uses.takes[item.label] = item.results
                _note(item.body, item.results, fn, uses)
            case Loop():
                uses.takes[item.label], uses.takes[item.again] = item.results, item.params
                uses.flows(item.params, item.inits)
                _note(item.body, item.params, fn, uses)


def _note_end(end: Yield | Exit | object, takes: Sequence[Param] | None, fn: Function, uses: _CarriedUses) -> None:
    if isinstance(end, Exit):
        if end.label is FAULT:
            return
        takes = None if end.label is fn.label else uses.takes[end.label]
    assert isinstance(end, Yield | Exit)
    if takes is None:
        uses.roots += end.values
    else:
        uses.flows(takes, end.values)


class _Removal:
    """Takes it out of a copy."""

    def __init__(self, fn: Function, needed: set[Value]):
        self.fn, self.needed = fn, needed
        self.takes: dict[Label, list[bool]] = {}

    def kept(self, params: Sequence[Param]) -> list[bool]:
        return [param in self.needed for param in params]

    def items(self, items: list[Item], takes: list[bool] | None) -> None:
        for item in items:
            match item:
                case Block():
                    item.ops = [op for op in item.ops if op in self.needed]
                    self.end(item, takes)
                case If():
                    kept = self.kept(item.results)
                    self.items(item.then, kept)
                    self.items(item.orelse, kept)
                    item.results = _of(item.results, kept)
                case Region():
                    kept = self.takes[item.label] = self.kept(item.results)
                    self.items(item.body, kept)
                    item.results = _of(item.results, kept)
                case Loop():
                    left, carried = self.kept(item.results), self.kept(item.params)
                    self.takes[item.label], self.takes[item.again] = left, carried
                    self.items(item.body, carried)
                    item.params, item.inits = _of(item.params, carried), _of(item.inits, carried)
                    item.results = _of(item.results, left)

    def end(self, block: Block, takes: list[bool] | None) -> None:
        end = block.end
        if isinstance(end, Exit):
            if end.label is FAULT or end.label is self.fn.label:
                return
            takes = self.takes[end.label]
        if end is not None and takes is not None:
            end.values = _of(end.values, takes)


def _of(values: Sequence[_T], kept: Sequence[bool]) -> list[_T]:
    return [value for value, stays in zip(values, kept, strict=True) if stays]
