"""Frames and the evaluator's context: where we are, what is bound, and how control splits and joins.

`Evaluator` holds the builder, the current state and the stack of inlined frames. `branch` and `region` are the
only places where paths split and meet; whoever leaves a list (return, break, continue, raise) ends it in the
builder and raises ControlLeft, which unwinds to them.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import libcst as cst
import numpy as np

from pyflat.errors import FlattenError, InternalError, Note, Span, refuse
from pyflat.frontend import remedies
from pyflat.frontend.spelling import names_in
from pyflat.frontend.state.aliasing import Reached
from pyflat.frontend.state.facts import Fact
from pyflat.frontend.state.guards import Guards
from pyflat.frontend.state.kinds import alternatives
from pyflat.frontend.state.merge import Joiner
from pyflat.frontend.state.object_space import ObjectSpace
from pyflat.frontend.state.undecided import UndecidedError
from pyflat.frontend.state.values import (
    NONE,
    Abstract,
    BoxRef,
    Closure,
    Complex,
    Frame,
    GuardedUnion,
    IncomingEdge,
    Lazy,
    OtherText,
    Ranges,
    Ref,
    Scope,
    Scratch,
    State,
    Static,
    Unsigned,
    View,
)
from pyflat.frontend.state.widths import OF_KIND, PYTHON, Widths
from pyflat.ir import recursion
from pyflat.ir.build import Builder
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.nodes import FALSE, FAULT, Const, Exit, Fault, If, Item, Label, Op, Origin, Param, Region, Value, Yield
from pyflat.ir.opaque_calls import OpaqueCalls
from pyflat.ir.shape import Strings

MAX_NOTES = 8
"""Calls that a refusal names."""



class ControlLeft(Exception):
    """The current control-flow list has been ended; unwinds to the branch or region that owns it."""


@dataclass(eq=False)
class TryScope:
    """A running `try` body: where its handlers are, and the classes that they catch."""

    raised: Scope
    catches: tuple[type[BaseException], ...]
    frame: Frame


@dataclass(eq=False, slots=True)
class Cleanup:
    """What is done however a block is left (`syntax.cleanups`), and the situation before the block: the loops of its
    frame, the running `try` bodies, and the check before operations."""

    run: Callable[[], object]
    frame: Frame
    loops: int
    tries: int
    check: Callable[[Op], None] | None


@dataclass(eq=False)
class Nest:
    """Iterations unrolled so far in the outermost running loop."""

    count: int = 0
    fresh: bool = True
    """The iteration that runs now has not met an inner loop yet."""
    depth_lengths: list[int] = field(default_factory=list)
    """The known lengths of the running loops, for the projected count in a refusal."""


@dataclass
class KeptLoop:
    """A loop that stays one, over the rounds in which the kept loop around it is built again: they meet the same loops
    inside, whose variables hold what they held in the round before, or more."""

    layouts: dict[str, Any] = field(default_factory=dict)
    """Of its variables, in the last round."""
    inner: dict[Hashable, KeptLoop] = field(default_factory=dict)
    """The loops inside, by their places."""
    met: Counter[Hashable] = field(default_factory=Counter)
    """How often this round has met each place."""

    def next(self, place: Hashable) -> KeptLoop:
        """The loop inside that is met now."""
        self.met[place] += 1
        return self.inner.setdefault((place, self.met[place]), KeptLoop())


Naming = tuple[int, str, Origin | None]
"""When a value was stored in a variable, its name and the statement."""


@dataclass(slots=True)
class Effects:
    """Messages of the original: warnings, logs and prints.

    passed      a path goes on behind one, for the kind of its result
    met         a path has gone on
    handling    handlers of exceptions that the current place is in
    catching    it is inside `with warnings.catch_warnings()`
    """

    passed: bool = False
    met: bool = False
    handling: int = 0
    catching: bool = False


@dataclass
class Trace:
    """What has been asked and done since the start: `syntax.repeated_calls` looks at what one call has added."""

    called: list[tuple[Any, Any]] = field(default_factory=list)
    """Of all frames, in the order of the calls: their identities, and what recursion asks of their arguments
    (`progress.known_part`)."""
    named: dict[Value, list[Naming]] = field(default_factory=dict)
    """The variables that values were stored in, whether they got its name or had one, in their order."""
    namings: int = 0
    outside_reads: int = 0
    """How often something was asked that depends on more than the arguments of the running call: on the conditions
    around it, on what else means its objects, on how its lanes are computed, on which of equal constants it has."""
    evaluated: dict[Hashable, Any] = field(default_factory=dict)
    """Calls by their signatures."""
    cached: dict[Hashable, tuple[Abstract, Abstract]] = field(default_factory=dict)
    """Known results of cached functions, and the functions."""


class _At:
    """What `Evaluator.at` gives. It is entered for every node that is evaluated: a generator takes three times as
    long."""

    __slots__ = ("node", "s", "saved")

    def __init__(self, s: Evaluator, node: cst.CSTNode):
        self.s, self.node = s, node

    def __enter__(self) -> None:
        build = self.s.build
        self.saved = build.origin
        build.origin = self.s.origin(self.node)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and issubclass(kind, RecursionError):
            try:  # where there is no room for this message either, it is the surrounding node's
                raise self.s.refuse("flatten/too-large", "this nests too deeply", self.node, why=recursion.WHY,
                                    help=recursion.HELP) from None
            finally:
                self.s.build.origin = self.saved
        self.s.build.origin = self.saved



class Evaluator:
    space: ObjectSpace
    """What Python's operations mean; `python_space.PythonEvaluator` has one."""
    nest: Nest | None = None
    rolled: FlattenError | None = None
    stacked = False
    """A recursion runs as a loop over a stack."""
    grows = True
    """Lists may grow in loops that stay loops, to a bounded number of items."""
    none = True
    """A result may be None in some lanes and numbers in others."""
    ints = False
    """A power of ints is an int, or the lane is one that only the original can decide."""
    frozen: WeakSet[Ref | Closure]
    """Lists and objects that a rolled loop copies and that more than one name may mean, and what is `shared`: not to be
    written or compared by identity."""
    shared: WeakSet[Ref | Closure]
    """What cached functions have seen or returned (`syntax.cached_calls`)."""
    in_cache = 0
    """Cached functions that are being called."""

    joins_have_no_arrays = False
    """The class of a joined number was asked for, while no array without axes was known."""
    def __init__(self, *, loops: str, max_unroll: int, max_ops: int, long: int, floats: FloatFormat = F8,
                 reuse: bool = True):
        self.floats = floats
        self.build = Builder(max_ops)
        self.guards = Guards()
        self.loops = loops
        self.max_unroll = max_unroll
        self.unrolled = max_unroll
        """The most iterations of a nest that are unrolled at the current place: fewer in one that is kept."""
        self.kept_loop = KeptLoop()
        self.long = long
        self.frames: list[Frame] = []
        self.state = State({}, WeakKeyDictionary())
        self.round = 0
        """Iterators with a lower serial were made before the loop around the place, which stays a loop."""
        self.counter = 0
        self.tries: list[TryScope] = []
        self.cleanups: list[Cleanup] = []
        self.scratch: dict[int, Scratch] = {}
        """Captured objects that are written, by identity."""
        self.unwritten: dict[Span, str] = {}
        """Writes to captured objects that the twin leaves out: where, and to what."""
        self.opaque = OpaqueCalls()
        self.widths = Widths()
        self.constants: dict[int, str] = {}
        """Identities of the values of arguments that have no lanes and are no numbers -> their parameters."""
        self.parameter = self.binding = ""
        """The parameter that is bound, and the same while an argument without lanes is looked at."""
        self.frozen, self.shared = WeakSet(), WeakSet()
        self.facts: list[Fact] = []
        """The conditions that hold at the current place."""
        self.combined: dict[Value, tuple[bool, tuple[Value, ...]]] = {}
        """What a short circuit has joined: (is `and`, its parts)."""
        self.effects = Effects()
        self.two_readings: dict[Span, str] = {}
        """Reductions of one number: where, and by which function."""
        self.saw_turned = self.replayed_handlers = False
        """A known array of several axes, in another order than C's, was read; a handler may run after a fault that is
        no edge to it."""
        self.reuse = reuse
        self.texts: list[OtherText] = []
        self.strings: dict[str, Strings] = {}
        """The arguments that are any strings by lane, and what is asked of them; `asked` has the parameters for it."""
        self.asked: dict[str, dict[Hashable, Param]] = {}
        self.places: dict[str, int] = {}
        """Behind how many parameters those are."""
        """Of the arguments that are strings by lane."""
        self.trace = Trace()
        self.doubtful: FlattenError | None = None
        """The refusal for the first TypeError that a path ends in, where no path returns: genuine Python, or an
        operation that pyflat does not know."""

    def close(self) -> None:
        """Forget the space, which is the evaluator itself, so that it is freed at once."""
        del self.space

    def use_up(self, iterator: Lazy | Ranges, node: cst.CSTNode | None) -> None:
        self.require_unused(iterator, node)
        iterator.used = True

    def require_unused(self, iterator: Lazy | Ranges, node: cst.CSTNode | None) -> None:
        """An iterator gives its items once: not to a second loop, nor in every iteration of a loop that stays one."""
        if iterator.used or iterator.serial < self.round:
            raise self.refuse("flatten/unsupported-expression", "an iterator is used a second time", node,
                              help="make it a tuple(...) first, or make the iterator where it is used")

    def share(self, found: Reached) -> None:
        """Objects that other calls may have from now on."""
        for each in (*found.refs, *found.closures):
            self.frozen.add(each)
            self.shared.add(each)

    def mark_numpy(self, value: Abstract, given: Sequence[Abstract] = ()) -> Abstract:
        """A NumPy function has made this value; one of `given`, which it returns as it is, stays what it was."""
        if not isinstance(value, Value):
            return value
        own = all(value is not each for each in given)
        if own or self.widths.of(value) <= {None, OF_KIND[value.kind]}:
            return self.widths.as_numpy(self.build, value, own=own)
        if self.widths.of(value) & {None, "?"}:
            raise self.refuse("flatten/mixed-join", "the dtype of this number is not known",
                              help="convert it: np.float64(x), np.float32(x)")
        return value

    def mark_python(self, value: Abstract, given: Sequence[Abstract]) -> Abstract:
        """float(), int() or a function of `math` has made this value: a Python number, also of a NumPy scalar."""
        if not isinstance(value, Value) or isinstance(value, Const) or not self.widths.seen:
            return value
        if any(value is each for each in given):
            if not self.may_be_numpy(value):
                return value
            value = self.build.op("select", FALSE, value, value)
        return self.widths.mark(value, PYTHON)

    def is_numpy(self, value: Abstract) -> bool:
        """The value certainly is a NumPy scalar, which has methods of its own."""
        if not isinstance(value, Value):
            return isinstance(value, Static) and isinstance(value.value, np.generic)
        return not self.widths.of(value) & {None, "?"}

    def may_be_numpy(self, value: Abstract) -> bool:
        """The value may be a NumPy scalar, whose rounding, truth arithmetic and powers are not Python's."""
        return any(isinstance(each.value, np.generic) if isinstance(each, Static)
                   else isinstance(each, Value) and self.widths.of(each) != PYTHON for each in alternatives(value))

    # --- places
    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def span(self, node: cst.CSTNode | None = None) -> Span | None:
        if node is not None:
            found = self.frame.captured.span(node)
            if found is not None:
                return found
            self.trace.outside_reads += 1
        return self.build.origin.span if self.build.origin else None

    def at(self, node: cst.CSTNode) -> _At:
        """Operations built inside come from `node`."""
        return _At(self, node)

    def origin(self, node: cst.CSTNode) -> Origin:
        """The one of `node` in this frame, made once where it has a place."""
        frame = self.frame
        found = frame.origins.get(id(node))
        if found is None:
            span = frame.captured.span(node)
            if span is None:
                return Origin(self.span(node), node, frame.ident)
            found = frame.origins[id(node)] = Origin(span, node, frame.ident)
        return found

    @contextmanager
    def at_place(self, span: Span | None) -> Iterator[None]:
        """What is refused inside stands at `span`, where there is one."""
        saved = self.build.origin
        if span is not None and saved is not None:
            self.build.origin = replace(saved, span=span)
        try:
            yield
        finally:
            self.build.origin = saved

    def refuse(self, code: str, message: str, node: cst.CSTNode | None = None, *, label: str = "", why: str = "",
               help: str = "", needs_number: bool = False, argument: str = "") -> FlattenError:
        """A refusal at `node`, with the chain of inlined calls as notes. `needs_number`: an operand is none;
        `argument`: the parameter whose value is the reason."""
        calls = [Note(f"inlined from the call of {f.captured.name}", f.call_span) for f in reversed(self.frames[1:])]
        if len(calls) > MAX_NOTES:
            half = MAX_NOTES // 2
            calls[half:-half] = [Note(f"and from {len(calls) - 2 * half:,} calls between these")]
        notes = tuple(calls)
        if not help and code == "flatten/lane-to-object":
            own = self.state.locals.items() if len(self.frames) == 1 else ()
            help = remedies.make_known(node, {name for name, value in own
                                              if isinstance(value, Param) and value in self.widths.arguments})
        help = remedies.in_library([(frame.captured, frame.call_span) for frame in self.frames]) or help
        return refuse(code, message, self.span(node), label=label, why=why, help=help, notes=notes,
                      argument=argument or self.binding or (self._constant_operand(node) if needs_number else ""))

    @property
    def one_number(self) -> str:
        """The remedy where a number is taken for several."""
        return "" if self.widths.kernel else remedies.ONE_NUMBER

    def _constant_operand(self, node: cst.CSTNode | None) -> str:
        """The parameter of an argument without lanes that is read in an expression, "" where there is none."""
        node = node or (self.build.origin.node if self.build.origin else None)
        names = names_in(node) if isinstance(node, cst.CSTNode) else ()
        values = map(self.state.locals.get, names)
        return next((self.constants[id(value)] for value in values if id(value) in self.constants), "")

    def require_float64(self, what: str, node: cst.CSTNode | None = None, *, help: str = "") -> None:
        """Refuse what is an algorithm for float64, in a twin of float32 lanes."""
        if self.floats is not F8:
            raise self.refuse("flatten/not-yet", f"{what} in float32", node, help=help or 'dtype="float64"',
                              why="its algorithm is for float64")

    def fresh(self, stem: str) -> Label:
        self.counter += 1
        return Label(f"{stem}_{self.counter}")

    def note_unwritten(self, what: str, node: cst.CSTNode) -> None:
        """A write to a captured object, which the twin leaves out."""
        span = self.span(node)
        if span is not None:
            self.unwritten.setdefault(span, what)

    def store(self, name: str, value: Abstract) -> None:
        """Write a local variable of the running frame."""
        box = self.state.locals.get(name)
        if isinstance(box, BoxRef) and name not in self.frame.hidden:
            if box in self.frozen:
                raise self.refuse("flatten/effect", f"{name!r}, which a cached function has read, is written")
            self.state.heap[box] = (value,)
        else:
            self.state.locals[name] = value

    # --- leaving
    def leave(self, scope: Scope, value: Abstract | None = None) -> ControlLeft:
        """Exit to a label: ends the list; the caller raises what this returns."""
        end = self.build.end(Exit(scope.label))
        scope.edges.append(IncomingEdge(self.build.block, end, self.state, value, span=self.span()))
        return ControlLeft()

    def fault(self, type_name: str, message: str = "", node: cst.CSTNode | None = None) -> ControlLeft:
        """Python raises here: the lane leaves the function as a fault."""
        fault = Fault(type_name, message, self.span(node))
        if self.texts and type_name in ("TypeError", "AttributeError"):
            raise self.refuse("flatten/unsupported-expression", "an operation that strings do not have here", node)
        if type_name in ("TypeError", "AttributeError"):
            self.doubt(fault.message or f"Python raises a {type_name} here", node)
        self.build.end(Exit(FAULT, fault=fault))
        return ControlLeft()

    def is_conditional(self) -> bool:
        """Whether some lanes may not come here: the path is in an arm, behind one that has left, or in a handler."""
        return bool(self.facts) or self.effects.handling > 0

    def catches(self, cls: type[BaseException]) -> bool:
        """Whether a `try` around this place catches the exception."""
        return any(issubclass(cls, scope.catches) for scope in self.tries)

    def doubt(self, what: str, node: cst.CSTNode | None = None) -> None:
        """What to refuse where no path returns: the first such place is the one that is told."""
        if self.doubtful is None:
            why = "every path ends in an exception of Python, or in what pyflat treats as one"
            self.doubtful = self.refuse("flatten/unsupported-expression", f"no path returns: {what}", node, why=why,
                                        help="check the operands: they are Python's own numbers, one element of "
                                             "each array argument", needs_number=True)

    def raised(self, cls: type[BaseException], node: cst.CSTNode | None = None, message: str = "") -> ControlLeft:
        """A certain exception: goes to the innermost `try` that catches it, otherwise the lane is a fault."""
        if cls is UndecidedError:
            return self.fault("Undecided", message, node)
        for scope in reversed(self.tries if not self.texts or cls not in (TypeError, AttributeError) else ()):
            if issubclass(cls, StopIteration) and any(f.give for f in self.frames[self.frames.index(scope.frame) + 1:]):
                cls = RuntimeError  # a generator lets none out (PEP 479)
            if issubclass(cls, scope.catches):
                state = self.state
                if scope.frame is not self.frame:
                    state = State(dict(self.locals_of(scope.frame)), self.state.heap)
                end = self.build.end(Exit(scope.raised.label))
                scope.raised.edges.append(IncomingEdge(self.build.block, end, state, Static(cls)))
                return ControlLeft()
        return self.fault(cls.__name__, message, node)

    # --- splitting and joining
    def _arm(self, run: Callable[[], Abstract | None], before: State, fact: Fact | None = None
             ) -> tuple[list[Item], list[IncomingEdge]]:
        """Runs one list from a copy of `before`, where `fact` holds: its items and the edge that falls off its end, if
        any."""
        self.state = before.copy()
        known = len(self.facts)
        if fact is not None:
            self.facts.append(fact)
        with self.build.detached() as items:
            try:
                value = run()
                edges = [IncomingEdge(self.build.block, self.build.end(Yield()), self.state, value)]
            except ControlLeft:
                if not self.build.ended:
                    raise InternalError("control left a list that has no end") from None
                block = self.build.block
                dead = isinstance(block.end, Yield)
                edges = [IncomingEdge(block, block.end, self.state, None, dead=True)] if dead and block.end else []
        del self.facts[known:]
        return items, edges

    def branch(self, cond: Value, then: Callable[[], Abstract | None], orelse: Callable[[], Abstract | None],
               name: str = "", *, test: cst.CSTNode | Origin | None = None) -> Abstract:
        """An If: runs both arms from the same state and joins them. `name` is the variable the value goes to, `test`
        what the source tests, an empty Origin where it tests nothing."""
        before = self.state
        then_items, edges = self._arm(then, before, (cond, True))
        else_items, more = self._arm(orelse, before, (cond, False))
        if not edges or not more:  # the rest of the list runs for the lanes of one arm only
            self.facts.append((cond, bool(edges)))
        origin = self.origin(test) if isinstance(test, cst.CSTNode) else test
        return self._close(edges + more, before, lambda results: If(cond, then_items, else_items, results, origin),
                           name)

    def region(self, scope: Scope, run: Callable[[], Abstract | None], name: str = "") -> Abstract:
        """A Region whose label is `scope`: joins the fall-through with every exit to it."""
        before = self.state
        items, edges = self._arm(run, before)
        edges = scope.edges + edges
        live = [e for e in edges if not e.dead]
        if len(live) == 1 and live[0].block is items[-1]:
            return self._splice(items, live[0])
        return self._close(edges, before, lambda results: Region(scope.label, items, results), name)

    def _splice(self, items: list[Item], edge: IncomingEdge) -> Abstract:
        """A list that is only left at its end needs no node: its items continue the current list."""
        self.build.continue_with(items)
        self.build.block.end = None
        self.state = edge.state
        return NONE if edge.value is None else edge.value

    def _close(self, edges: list[IncomingEdge], before: State, node: Callable[[list[Any]], If | Region], name: str
               ) -> Abstract:
        joiner = Joiner(edges, self.span(), self.outer_states, self.frozen, self.widths)
        if not joiner.edges:
            self.state = before
            self.build.node(node([]))
            self.build.end(Yield())
            raise ControlLeft
        state = joiner.state(before)
        values = [e.value for e in joiner.edges]
        joiner.names = 0
        value = NONE if all(v is None for v in values) else joiner.join([v or NONE for v in values], name)
        state.heap.update(joiner.made)
        self.state = state
        self.build.node(node(joiner.results))
        return value

    def split(self, choice: GuardedUnion, use: Callable[[Abstract], Abstract | None], name: str = "") -> Abstract:
        """Do something with each alternative of a GuardedUnion, under its predicate, and join."""
        return self.branch(choice.cond, lambda: use(choice.then), lambda: use(choice.orelse), name,
                           test=Origin())

    def each(self, value: Abstract, use: Callable[[Abstract], Abstract | None]) -> Abstract:
        """`use` of the value, or of each of its alternatives (see `kinds.per_alternative`)."""
        if isinstance(value, GuardedUnion):
            return self.split(value, lambda one: self.each(one, use))
        return use(value) or NONE

    def split_first(self, row: Sequence[Abstract], use: Callable[..., Abstract],
                    unless: Callable[[Abstract], bool] | None = None) -> Abstract | None:
        """`use` of the row's values, with each alternative of the first union among them for which `unless` does not
        hold, and of others with its condition; None where there is none."""
        for value in row:
            if isinstance(value, GuardedUnion) and (unless is None or not unless(value)):
                then, orelse = (
                    [getattr(v, arm) if isinstance(v, GuardedUnion) and v.cond is value.cond else v for v in row]
                    for arm in ("then", "orelse"))
                return self.branch(value.cond, functools.partial(use, *then), functools.partial(use, *orelse),
                                   test=Origin())
        return None

    def outer_states(self) -> list[State]:
        """The states of the frames below the running one."""
        self.trace.outside_reads += 1
        return [frame.state for frame in self.frames[:-1] if frame.state is not None]

    # --- generators
    def resume(self, frame: Frame, other: Frame) -> None:
        """`frame` runs on, its generator or consumer `other` waits: `x` of the one that waits is `x@7` among the locals
        of the one that runs, 7 being its number, so that paths and loops join the variables of both."""
        mine = f"@{frame.ident}"
        names = {name.removesuffix(mine) if "@" in name else f"{name}@{other.ident}": value
                 for name, value in self.state.locals.items()}
        self.state = State(names, self.state.heap)
        frame.holder, other.holder, frame.state, other.state = None, frame, None, None

    def locals_of(self, frame: Frame, node: cst.CSTNode | None = None) -> dict[str, Abstract]:
        """The variables of a frame, which need not run."""
        holder = frame
        while holder.holder is not None:
            holder = holder.holder
        state = self.state if self.frames and holder is self.frame else holder.state
        if state is None:
            raise self.refuse("flatten/generator", "a function reads the variables of a generator that has ended", node,
                              help="give it their values as defaults")
        mine = f"@{frame.ident}"
        return state.locals if holder is frame else {
            name.removesuffix(mine): value for name, value in state.locals.items() if "@" in name}

    def forget_waiting(self, before: State) -> None:
        """Generators that were begun since `before` do not go on: their variables are dropped."""
        names = {name: value for name, value in self.state.locals.items() if "@" not in name or name in before.locals}
        self.state = State(names, self.state.heap)

    # --- naming
    def name_value(self, value: Abstract, name: str, statement: cst.CSTNode | None) -> Abstract:
        """Gives a fresh operation the name of the variable that it is stored in."""
        if isinstance(value, Complex):
            self.name_value(value.real, f"{name}_real", None)
            self.name_value(value.imag, f"{name}_imag", None)
        if isinstance(value, Unsigned):
            self.name_value(value.bits, name, statement)
        if isinstance(value, View):
            self.widths.array_names.setdefault(value.array, name)
        if isinstance(value, (Op, Param)):  # a union is made anew each time
            self.give_name(value, name, None if statement is None else self.origin(statement))
        return value

    def give_name(self, value: Op | Param, name: str, statement: Origin | None) -> None:
        """The first name stays."""
        self.trace.namings += 1
        self.trace.named.setdefault(value, []).append((self.trace.namings, name, statement))
        if value.name:
            return
        value.name = name
        if isinstance(value, Op) and statement is not None:
            value.statement = statement
