"""Where control goes in a structured list: the labels it exits to, whether it falls off the end, how loops start."""

from __future__ import annotations

from dataclasses import dataclass

from pyflat.ir.faults import can_fault
from pyflat.ir.loops import all_ops, has_loop
from pyflat.ir.nodes import FAULT, Block, Exit, If, Item, Label, Loop, Node, Region, Value, child_lists, walk


@dataclass(slots=True)
class Flow:
    """The labels that a list exits to beyond itself, whether it falls through, how many of its nodes exit."""

    labels: frozenset[Label]
    falls: bool
    rungs: int


class FlowFacts:
    """The flow of lists, each found once. They must not be dropped or changed while this is in use."""

    def __init__(self) -> None:
        self._known: dict[int, Flow] = {}

    def of(self, items: list[Item]) -> Flow:
        known = self._known.get(id(items))
        if known is None:
            known = self._known[id(items)] = self._find(items)
        return known

    def _find(self, items: list[Item]) -> Flow:
        labels: set[Label] = set()
        rungs = 0
        for item in items:
            if isinstance(item, Block):
                continue
            found, falls = self.of_node(item)
            labels |= found
            rungs += bool(found)
            if not falls:
                return Flow(frozenset(labels), False, rungs)
        last = items[-1]
        assert isinstance(last, Block)
        if not isinstance(last.end, Exit):
            return Flow(frozenset(labels), True, rungs)
        return Flow(frozenset(labels | {last.end.label} - {FAULT}), False, rungs)

    def of_node(self, node: Node) -> tuple[frozenset[Label], bool]:
        """The labels that a node exits to beyond itself, and whether control goes on after it."""
        inner = [self.of(each) for each in child_lists(node)]
        found: frozenset[Label] = frozenset().union(*(each.labels for each in inner))
        match node:
            case If():
                return found, any(each.falls for each in inner)
            case Region():
                return found - {node.label}, inner[0].falls or node.label in found
            case Loop():
                return found - {node.label, node.again}, node.label in found

    def first_exiting(self, items: list[Item]) -> int:
        """Where the first node stands that a lane can leave by an exit or a raise; the end if there is none."""
        for index, item in enumerate(items):
            if not isinstance(item, Block) and self.of_node(item) != (frozenset(), True):
                return index
        return len(items) - 1


@dataclass(slots=True)
class LoopEntry:
    """The test with which the body of a loop starts: where it fails, the loop gives `leave`."""

    header: list[Item]
    test: If
    goes_on_if: bool
    leave: list[Value]
    leaves_later: bool
    """The loop is also left elsewhere."""


def find_entry(loop: Loop, facts: FlowFacts) -> LoopEntry | None:
    """The test at the start of the body that leaves the loop at once, where it can be the test of the header: its
    operations must be harmless in lanes that have left the loop elsewhere."""
    index = facts.first_exiting(loop.body)
    item = loop.body[index]
    leave = _leaving(item, loop.label) if isinstance(item, If) else None
    if leave is None or not isinstance(item, If):
        return None
    goes_on_if = leave is item.orelse
    arm = item.then if goes_on_if else item.orelse
    later = (_labels_out(arm) | _labels_out(loop.body[index + 1 :])) - {loop.again}
    header = loop.body[:index]
    if later and not _is_harmless(header):
        return None
    end = leave[0]
    assert isinstance(end, Block)
    assert isinstance(end.end, Exit)
    return LoopEntry(header, item, goes_on_if, end.end.values, bool(later))


def _is_harmless(items: list[Item]) -> bool:
    """Nothing in a list can fault, raise, or run for long."""
    raises = any(isinstance(item, Block) and isinstance(item.end, Exit) for item in walk(items))
    return not raises and not has_loop(items) and not any(map(can_fault, all_ops(items)))


def _leaving(test: If, label: Label) -> list[Item] | None:
    """The arm that does nothing but exit to `label`."""
    for arm in (test.then, test.orelse):
        first = arm[0]
        end = first.end if isinstance(first, Block) and not first.ops else None
        if len(arm) == 1 and isinstance(end, Exit) and end.label is label:
            return arm
    return None


def _labels_out(items: list[Item]) -> set[Label]:
    """The labels beyond `items` to which they exit."""
    owned: set[Label] = {FAULT}
    found: set[Label] = set()
    for item in walk(items):
        match item:
            case Block():
                if isinstance(item.end, Exit):
                    found.add(item.end.label)
            case Region():
                owned.add(item.label)
            case Loop():
                owned |= {item.label, item.again}
    return found - owned
