"""Vector math with CPython's decisions: fast elementary functions where their last digits cannot change the outcome.

Before:                                   After (exp within 3 ulp of CPython's):
    %e = exp %x : f8                          %e = vec_exp %x : f8
    %c = gt %e, 2.5 : b                       %c = gt %e, 2.5 : b
    %r = select %c, %e, 0.0 : f8              %d = sub %e, 2.5 : f8
    yield %r                                  %a = abs %d : f8
                                              %g = gt %a, 1.7e-15 : b
                                              %n = not %g : b
                                              fault %n InexactDecision()
                                              %r = select %c, %e, 0.0 : f8
                                              yield %r

Each elementary function that the target computes faster becomes the fast one. Error bounds go along with the values
(`passes.accuracy.error_bounds`, `passes.accuracy.error_functions`). Where an inexact value decides something, the
lanes near the threshold are marked by a fault: they are run again exactly. So decisions are CPython's, and digits of
results may differ. In detail:

- a comparison that only chooses between its own operands (min, max, abs) is continuous and decides nothing;
- a comparison that only leads to faults becomes a wider one, which needs no mark: `log(y)` fails where y <= error;
- a mark counts where its decision is needed (`analysis.execution_masks`), not in the lanes of an arm not taken;
- what a loop changes and decides by has a bound that changes with it (`passes.accuracy.carried_bounds`);
- where no bound is known, or a decision follows on many others (a search that closes in on its own threshold), the
  functions behind it stay the C library's;
- a product, quotient or sum behind a decision that may overflow in CPython alone is marked too, and an operand that
  the digits alone take out of a domain (the root of `1 - sin(x)**2`).

The flat and the masked form; the loops of the latter must be canonical.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyflat.analysis.execution_masks import ExecutionMasks, depending
from pyflat.analysis.intervals import Intervals
from pyflat.analysis.liveness import sliced
from pyflat.ir.build import Builder, const
from pyflat.ir.faults import fault_condition
from pyflat.ir.loops import LoopParts, all_ops, has_loop, join_parts, take_apart
from pyflat.ir.nodes import (
    FALSE,
    INEXACT,
    TRUE,
    Block,
    Const,
    Function,
    Item,
    Loop,
    Op,
    Origin,
    Param,
    Value,
    Yield,
)
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.types import FLOAT, VOID
from pyflat.ir.uses import Key, results_of, with_args, with_body
from pyflat.passes.accuracy.carried_bounds import Carried, closing_in, is_fine, written_out
from pyflat.passes.accuracy.condition_roles import Roles
from pyflat.passes.accuracy.correlated_bounds import Correlated, flat
from pyflat.passes.accuracy.decisions import (
    CONTINUED,
    LARGEST,
    always,
    beyond_range,
    is_decision,
    nearness,
    tested_for_finiteness,
)
from pyflat.passes.accuracy.error_bounds import ARITHMETIC, EXACT, FINITE_RANGES, Bound, Case, Terms, largest
from pyflat.passes.accuracy.error_functions import elementary_bound
from pyflat.passes.accuracy.fast_functions import (
    LIBRARY_ULPS,
    NUMPY_ULPS,
    FastFunctions,
    as_product,
    cost,
    elementary_function,
    small_power,
)
from pyflat.passes.accuracy.inexact_faults import (
    UNFELT,
    has_sure_sign,
    looks_at_operands,
    looks_at_sign,
    may_overflow,
    widened_condition,
)

MAX_DEPTH = 4
"""A decision may depend on so many others with inexact operands, one after the other."""
ROUNDS = 12
"""So often is it tried again with more functions kept, before all are kept."""
WORTH_CARRYING = 1.5
"""So many times cheaper the function must be by what its loops carry: if most lanes run again, little is lost."""


def choose_math(fn: Function, math: FastFunctions, *, decide: bool = True) -> Function:
    """`fn` in flat or masked form with the functions of `math`, and faults where their digits may decide; `fn` itself
    where there is nothing to gain. `decide=False` takes every function and marks nothing: for measurements."""
    if not any(op.opcode in math for op in all_ops(fn.body)):
        return fn
    if any(op.opcode == "call" for op in all_ops(fn.body)):
        return fn  # what an opaque call does with its arguments is not known
    roles = Roles(fn)
    if not decide:
        draft = _Draft(fn, math, roles, frozenset(), Carried(frozenset()), decide=False)
        return with_body(fn, sliced(draft.items, list(map(draft.read, results_of(fn)))))
    kept = _settled(fn, math, roles, carry=False)
    exact = fn if kept is None or kept.keeps_all() else kept.finished()
    if not has_loop(fn.body) or (kept is not None and not kept.pinned):
        return exact
    carrying = _settled(fn, math, roles, carry=True, correlated=is_fine(fn))
    if carrying is None or carrying.keeps_all() or not carrying.loops.asked:
        return exact
    carried = carrying.finished()
    return carried if cost(carried, math) * WORTH_CARRYING <= cost(exact, math) else exact


def _settled(fn: Function, math: FastFunctions, roles: Roles, *, carry: bool, correlated: bool = False
             ) -> _Draft | None:
    """The draft in which no decision depends on what has no bound; None where too much has to be kept for that."""
    pinned, asked = set[Op](), set[Param]()
    for _ in range(ROUNDS):
        loops = Carried(frozenset(asked), allowed=carry, correlated=correlated)
        draft = _Draft(fn, math, roles, frozenset(pinned), loops)
        if draft.pins <= pinned and draft.loops.wanted <= asked:
            return draft
        pinned |= draft.pins
        asked |= draft.loops.wanted
    return None


@dataclass(frozen=True, slots=True)
class _Alarm:
    """In lanes in which `near` holds and `op` (of the input) is needed, something may be wrong."""

    op: Op
    near: Value


@dataclass(slots=True)
class _Written:
    """A block of the output: its alarms, and what stands for the values of the input that are visible at its end."""

    block: Block
    alarms: list[_Alarm]
    sizes: list[_Alarm]
    """Operations that may overflow, with their magnitudes for `near`."""
    visible: dict[Value, Value]
    made: dict[Key, Op]


class _Draft:
    """One attempt: the output without its alarms, which functions have to be kept beyond those given (`pins`), and
    which operations have to be guarded against overflow (`wanted`)."""

    def __init__(self, fn: Function, math: FastFunctions, roles: Roles, pinned: frozenset[Op], loops: Carried, *,
                 decide: bool = True):
        self.fn = fn
        self.decisions = decide
        self.math = math
        self.roles = roles
        self.pinned = pinned
        self.loops = loops
        self.closing = closing_in(fn) if loops.allowed else None
        self.continuous = {op for op in all_ops(fn.body) if op.opcode == "select" and op.args[0] in roles.continuous}
        self.functions = {(op.opcode, *op.args) for op in all_ops(fn.body) if op.opcode in math}
        self.pins: set[Op] = set()
        self.wanted: set[Op] = set()
        self.terms = Terms()
        self.intervals = Intervals(FINITE_RANGES)
        self.new: dict[Value, Value] = {}
        self.bounds: dict[Value, Bound] = {}
        self.depths: dict[Value, int] = {}
        self.alarms: list[_Alarm] = []
        self.sizes: list[_Alarm] = []
        self.blocks: list[_Written] = []
        self.new.update((param, param) for param in fn.params)
        self.items = self.write_list(fn.body)

    def read(self, value: Value) -> Value:
        return self.new.get(value, value)

    def bound(self, value: Value) -> Bound:
        return self.bounds.get(value, EXACT)

    def depth(self, value: Value) -> int:
        return self.depths.get(value, 0)

    def keeps_all(self) -> bool:
        return all(op in self.pinned for op in all_ops(self.fn.body) if op.opcode in self.math)

    # --- lists and loops

    def write_list(self, items: Sequence[Item]) -> list[Item]:
        done: list[Item] = []
        for item in items:
            match item:
                case Block():
                    done.append(self.write_block(item))
                case Loop():
                    done.append(self.write_loop(item))
        return done

    def write_block(self, block: Block) -> Block:
        self.terms.ops, self.alarms, self.sizes = [], [], []
        for op in block.ops:
            self.visit(op)
        end = Yield(list(map(self.read, block.end.values))) if block.end else None
        written = _Written(Block(self.terms.ops, end), self.alarms, self.sizes, dict(self.new), dict(self.terms.made))
        self.blocks.append(written)
        self.terms.ops = written.block.ops  # the bounds that a loop carries are added at the end
        return written.block

    def write_loop(self, loop: Loop) -> Loop:
        """Until the bounds of the parameters hold for every trip."""
        parts, inits = take_apart(loop), list(map(self.read, loop.inits))
        starts = [flat(self.bound(init), self.terms) for init in loop.inits]
        for param, init, bound in zip(loop.params, loop.inits, starts, strict=True):
            self.new[param] = param
            self.bounds[param], self.depths[param] = bound, self.depth(init)
        written, made, before, outside = len(self.blocks), dict(self.terms.made), self.terms.ops, dict(self.new)
        for trip in itertools.count():
            del self.blocks[written:]
            self.new = dict(outside)
            header = self.write_list(parts.header)
            go, leave = self.read(parts.go), list(map(self.read, parts.leave))
            left = [(flat(self.bound(value), self.terms), self.depth(value)) for value in parts.leave]
            rest = self.write_list(parts.rest)
            wider = [self.widened(*pair, trip) for pair in zip(loop.params, parts.next, strict=True)]
            if not any(wider):
                break
            self.terms.made = dict(made)
        params, results = list(loop.params), list(loop.results)
        carrying = [k for k, param in enumerate(params) if self.loops.carries(param, self.bound(param))]
        params += [self.loops.error(params[k]) for k in carrying]
        errors = [self.error(parts.next[k], self.bound(parts.next[k])) for k in carrying]
        end = rest[-1]
        assert isinstance(end, Block)
        end.end = Yield([*map(self.read, parts.next), *errors])
        self.new, self.terms.ops, self.terms.made = outside, before, made
        inits += [self.error(loop.inits[k], starts[k]) for k in carrying]
        for result, (bound, depth) in zip(loop.results, left, strict=True):
            self.new[result] = result
            self.bounds[result], self.depths[result] = self.loops.outside(result, bound), depth
            term = self.bound(result).term
            if term is not None and bound.term is not None:
                results.append(self.loops.error(result))
                leave.append(bound.term.value)
        return join_parts(loop, params, inits, LoopParts(header, go, rest, leave), results)

    def error(self, value: Value, bound: Bound) -> Value:
        """How far a value is from CPython's, at most, as a value."""
        op = Op("neg", (value,), FLOAT)
        interval = self.intervals.of(value)
        case = Case(op, [self.read(value)], op, [flat(bound, self.terms)], [interval], interval, self.terms)
        return written_out(case, limited=self.loops.correlated)

    def widened(self, param: Param, after: Value, trip: int) -> bool:
        """Make what is known of a loop parameter hold for what comes `after` too; whether that changed it."""
        depth = self.depth(after)
        if self.closing is not None and param not in self.closing and depth <= MAX_DEPTH:
            depth = 0
        deeper = depth > self.depth(param)
        if deeper:
            self.depths[param] = depth if trip == 0 and self.closing is None else MAX_DEPTH + 1
        bound = self.bound(param)
        self.bounds[param] = self.loops.widened(param, bound, self.bound(after), trip == 0)
        return deeper or self.bounds[param] is not bound

    # --- operations

    def visit(self, op: Op) -> None:
        args = list(map(self.read, op.args))
        self.intervals.note(op)
        self.depths[op] = max(map(self.depth, op.args), default=0)
        if op.opcode in self.math and op not in self.pinned and not all(isinstance(arg, Const) for arg in args):
            self.fast(op, args)
            if self.inexact(op):
                self.watch_domain(op)
            return
        if op.opcode == "fault" or not self.inexact(op):
            self.put(op, with_args(op, args))
        elif tested_for_finiteness(op) is not None or is_decision(op):
            self.decide(op, args)
        else:
            new = self.put(op, with_args(op, args))
            function = elementary_function(op.opcode)
            self.bounds[op] = self.bounded(op, args, new, function, lambda case: self.carried(op, case))
            self.guard(op, new)
            self.watch_domain(op)

    def inexact(self, op: Op) -> bool:
        tested = tested_for_finiteness(op)
        if tested is not None:
            return not self.bound(tested).exact
        return any(not self.bound(arg).exact for arg in op.args)

    def put(self, op: Op, new: Op) -> Op:
        """`new` stands for `op` from now on."""
        self.terms.append(new)
        self.new[op] = new
        return new

    def case(self, op: Op, args: Sequence[Value], value: Value) -> Case:
        bounds = [flat(self.bound(arg), self.terms) for arg in op.args]
        return self.case_of(op, args, value, bounds)

    def case_of(self, op: Op, args: Sequence[Value], value: Value, bounds: Sequence[Bound]) -> Case:
        return Case(op, args, value, bounds, [self.intervals.of(arg) for arg in op.args], self.intervals.of(op),
                    self.terms)

    def bounded(self, op: Op, args: Sequence[Value], new: Op, function: str | None,
                rule: Callable[[Case], Bound]) -> Bound:
        """The bound by `rule`; with slopes, where operands have some and there is a rule for them."""
        bounds = [self.bound(arg) for arg in op.args]
        if op not in self.continuous and any(bound.slopes for bound in bounds):
            made = Correlated(self.case_of(op, args, new, bounds), self.made).bound(function or op.opcode, rule)
            if made is not None:
                return made
        return rule(self.case(op, args, new))

    def made(self, function: str, args: Sequence[Value]) -> Value | None:
        """What stands for a function of these operands of the input, where the input has it anyway."""
        if function not in self.math or (function, *args) not in self.functions:
            return None
        return self.terms.op(self.math[function].opcode, *map(self.read, args))

    def fast(self, op: Op, args: Sequence[Value]) -> None:
        row = self.math[op.opcode]
        ulps = row.ulps
        power = small_power(*args) if op.opcode == "pow" else None
        if power is None:
            new = Op(row.opcode, args, FLOAT, name=op.name, origin=op.origin)
        else:
            value, ulps = as_product(self.terms.op, args[0], power)
            new = Op(value.opcode, value.args, FLOAT, name=op.name, origin=op.origin)
        new.statement = op.statement
        self.put(op, new)
        bound = self.bounded(op, args, new, op.opcode, lambda case: elementary_bound(case, op.opcode, ulps))
        self.bounds[op] = replace(bound, origins=bound.origins | {op})

    def carried(self, op: Op, case: Case) -> Bound:
        """The bound of an operation that decides nothing."""
        if op in self.continuous:
            rule = ARITHMETIC["continuous"]
        elif op.kind is not FLOAT:
            self.pins |= self.loops.without(case.bounds)
            return EXACT
        elif (function := elementary_function(op.opcode)) is not None:
            ulps = 2 * (NUMPY_ULPS if op.opcode.startswith("np_") else LIBRARY_ULPS[function])
            return elementary_bound(case, function, ulps)
        elif op.opcode in ARITHMETIC and all(bound.known for bound in case.bounds):
            rule = ARITHMETIC[op.opcode]
        else:
            return case.unknown
        return rule(case) if all(bound.known for bound in case.bounds) else case.unknown

    # --- decisions

    def decide(self, op: Op, args: Sequence[Value]) -> None:
        new = self.put(op, with_args(op, args))
        case = self.case(op, args, new)
        if op in self.roles.continuous:
            return
        tested = tested_for_finiteness(op)
        bounds = case.bounds if tested is None else [self.bound(tested)]
        known = all(bound.known for bound in bounds)
        if op.opcode in CONTINUED:
            self.bounds[op] = ARITHMETIC[op.opcode](case) if known else case.unknown
        if not known:
            self.pins |= self.loops.without(bounds)
            return
        if tested is not None and largest(self.intervals.of(tested)) <= LARGEST:
            self.new[op] = FALSE if op.opcode == "eq" else self.terms.op("ne", self.read(tested), self.read(tested))
            return
        near = nearness(case) if tested is None else beyond_range(case, op, self.read(tested))
        if always(near):
            self.pins |= case.origins
        elif near is not None:
            self.wanted |= frozenset[Op]().union(*[bound.hazards for bound in bounds]) - {*op.args, tested}
            self.mark(op, case, near, tested is not None)

    def mark(self, op: Op, case: Case, near: Value, finiteness: bool) -> None:
        """Say that `op` may not be CPython's where `near`."""
        only = self.roles.only_faults(op)
        if only is not None:
            if finiteness and only:
                self.new[op] = near
            elif self.decisions:
                self.new[op] = widened_condition(case, near, only)
            return
        self.depths[op] = min(self.depths[op] + 1, MAX_DEPTH + 1)
        if self.depths[op] > MAX_DEPTH:
            self.pins |= case.origins
        self.alarms.append(_Alarm(op, near))

    # --- overflow of inexact arithmetic

    def guard(self, op: Op, new: Op) -> None:
        """Note that CPython's value may be infinite where the twin's is not; an alarm, where a decision follows."""
        bound = self.bounds[op]
        if bound.exact or not may_overflow(op, self.intervals):
            return
        hazards, term = bound.hazards, bound.term
        if op.opcode in ("add", "sub") and term is not None and term.cover <= 1.0 and term.offset <= UNFELT:
            hazards, size = hazards - {*op.args}, term.value  # it is larger than both operands
        else:
            size = self.terms.magnitude(new)
        self.bounds[op] = replace(bound, hazards=hazards | {op})
        self.sizes.append(_Alarm(op, size))

    # --- operands that leave the domain in the twin alone

    def watch_domain(self, op: Op) -> None:
        """An alarm where the twin's operand is outside; where CPython's may be, the fault says so (`mark`)."""
        rule = OPERATIONS[op.opcode].faults
        if op.opcode == "pow":
            self.watch_base(op)
        if not rule or not looks_at_operands(rule) or op.kind is not FLOAT:
            return
        if looks_at_sign(rule) and self.has_sure_sign(op.args[-1]):
            return
        build = Builder()
        cond = fault_condition(build, op)
        for made in build.block.ops:
            self.intervals.note(made)
        if not isinstance(cond, Op) or self.intervals.decide(cond.opcode, cond.args) is not False:
            return
        build = Builder()
        outside = fault_condition(build, Op(op.opcode, list(map(self.read, op.args)), FLOAT))
        assert outside is not None
        self.terms.ops += build.block.ops
        self.alarms.append(_Alarm(op, outside))

    def watch_base(self, op: Op) -> None:
        """An alarm where the sign of the base of a power is not certain; its fault looks at the result."""
        base, exponent = op.args
        if not self.bound(base).known or self.has_sure_sign(base):
            return
        known = exponent.value if isinstance(exponent, Const) else None
        if known is not None and known >= 0 and float(known).is_integer():
            return
        case = self.case(op, list(map(self.read, op.args)), self.read(op))
        beside = self.terms.op("gt", case.size(0), self.terms.total(case.bounds[0].absolute, case.bounds[0].term))
        self.alarms.append(_Alarm(op, self.terms.op("not", beside)))

    def has_sure_sign(self, operand: Value) -> bool:
        return has_sure_sign(self.bound(operand), self.intervals.of(operand))

    # --- alarms

    def finished(self) -> Function:
        """The function with a fault for each alarm, in the lanes that need its operation."""
        doubtful = depending(self.fn, {alarm.op for written in self.blocks for alarm in written.alarms})
        masks = ExecutionMasks(self.fn, doubtful)
        for written in self.blocks:
            self.terms.ops, self.terms.made = written.block.ops, written.made
            sizes: dict[Value, Value] = {}
            for alarm in written.sizes:
                if alarm.op not in self.wanted:
                    continue
                needed = masks.condition(alarm.op, written.visible, self.terms.op)
                sizes[needed] = alarm.near if needed not in sizes else self.terms.op("add", sizes[needed], alarm.near)
            for needed, total in sizes.items():
                large = self.terms.op("not", self.terms.op("lt", total, const(LARGEST)))
                self.fault(needed, large, None)
            for alarm in written.alarms:
                self.fault(masks.condition(alarm.op, written.visible, self.terms.op), alarm.near, alarm.op.origin)
        results = list(map(self.read, results_of(self.fn)))
        return with_body(self.fn, sliced(self.items, results))

    def fault(self, needed: Value, near: Value, origin: Origin | None) -> None:
        if needed is FALSE:
            return
        cond = near if needed is TRUE else self.terms.op("and", needed, near)
        self.terms.ops.append(Op("fault", (cond,), VOID, attrs=(("fault", INEXACT),), origin=origin))
