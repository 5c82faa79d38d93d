"""The NumPy way out: straight-line array operations over blocks of lanes.

`spelling` is the table of how each operation is written with NumPy; the text printer uses it too. `compile` makes an
engine from a *fused* flat or masked function (no `fault` operations, the last result is the suspect bit): one line per
operation, run on blocks that fit into the cache, a temporary deleted after its last use.

    c0 = np.float64(2.0)
    def block(a0, a1):                        a0 = array([1., 2.]), a1 = float64(0.5)
        t0 = a0 < c0
        t1 = a0 * a1
        m0 = bits(t0)
        t2 = choose_float(m0, t1, c0)
        del t0, m0, t1
        return t2,

A loop is two functions, its header and its rest, that `numpy_loops.run_loop` calls in turn until no lane is live.

A select is written with bit operations: `np.where` branches at every lane, which costs four times as much where the
condition is hard to predict.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeGuard

import numpy as np

from pyflat import lanes as lane_functions
from pyflat.errors import InternalError
from pyflat.ir.formats import F8, FloatFormat, dtypes
from pyflat.ir.kept import KeptCalls
from pyflat.ir.liveness import captured, last_uses, outer_values, sliced
from pyflat.ir.loops import has_loop, take_apart
from pyflat.ir.nodes import Block, Const, Function, Item, Loop, Op, Value
from pyflat.ir.ops import NUMPY_BINARY, NUMPY_UNARY, PRIMITIVES, Accuracy
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.ir.uses import results_of
from pyflat.libm import saved_status
from pyflat.targets.numpy_loops import bits, bits_narrow, choose_float, choose_int, choose_narrow, run_loop

BLOCK = 16_384
"""Lanes computed at a time: a few temporaries of this size stay in the cache."""

Lane = np.ndarray | np.generic
Choice = tuple[Value, bool]

_SPELLINGS: dict[str, str] = {
    **{name: f"{{0}} {sign} {{1}}" for name, sign in (
        ("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("floordiv", "//"), ("mod", "%"), ("and", "&"),
        ("or", "|"), ("xor", "^"), ("shl", "<<"), ("shr", ">>"), ("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="),
        ("gt", ">"), ("ge", ">="))},
    "neg": "-{0}", "invert": "~{0}", "not": "np.logical_not({0})", "abs": "abs({0})",
    "select": "np.where({0}, {1}, {2})",
    "to_float": "lanes.to_float({0})", "exact_float": "lanes.to_float({0})", "to_int": "lanes.to_int({0})",
    "floor_int": "lanes.floor_int({0})", "ceil_int": "lanes.ceil_int({0})", "round_int": "lanes.round_int({0})",
    **{name: f"np.{name}({{0}})" for name in ("floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite", "sqrt")},
    **{name: f"np.{name}({{0}}, {{1}})" for name in ("copysign", "fmod", "nextafter")},
    "exponent": "lanes.exponent({0})",
    "remainder": "lanes.remainder({0}, {1})", "ldexp": "lanes.ldexp({0}, {1})", "ipow": "lanes.ipow({0}, {1})",
    "round_digits": "lanes.round_digits({0}, {1})", "gather": "lanes.gather({table}, {0})",
    **{"np_" + name: f"np.{name}({{0}})" for name in (*NUMPY_UNARY, "sqrt")},
    **{"np_" + name: f"np.{name}({{0}}, {{1}})" for name in NUMPY_BINARY},
    "np_power": "lanes.power({0}, {1})",
    "np_powers": "lanes.powers({0}, {1})",
}
for _row in PRIMITIVES.values():
    if _row.name not in _SPELLINGS and _row.accuracy in (Accuracy.LIBM, Accuracy.CALL):
        _operands = ", ".join(f"{{{k}}}" for k in range(len(_row.signatures[0][0])))
        _SPELLINGS[_row.name] = f"lanes.{_row.name}({_operands})"


_NARROW: dict[str, str] = {
    "to_float": "np.float32({0})", "exact_float": "np.float32({0})",
    "ldexp": "np.float32(lanes.ldexp(np.float64({0}), {1}))",
}
"""How operations of float32 lanes are written that the same text as for float64 would not compute."""


def _narrow_spelling(op: Op) -> str:
    """What is defined as the float64 function, rounded, is written like that; NumPy's own functions and operators take
    float32 as they are."""
    if op.opcode in _NARROW:
        return _NARROW[op.opcode]
    text = _wide_spelling(op)
    return f"np.float32({text})" if is_rounded(op.opcode) else text


def is_rounded(opcode: str) -> bool:
    """On float32 lanes this is the float64 function, rounded."""
    row = PRIMITIVES.get(opcode)
    return opcode in ("remainder", "ufunc", "ldexp") or (row is not None
                                                         and row.accuracy in (Accuracy.LIBM, Accuracy.CALL))


def spelling(op: Op, floats: FloatFormat = F8) -> str:
    """How `op` is written with NumPy, for lanes of a float format."""
    return _wide_spelling(op) if floats is F8 else _narrow_spelling(op)


def _wide_spelling(op: Op) -> str:
    """How `op` is written with NumPy: a format string with {0}, {1}, ... for the operands and the names of attributes.

    The text needs `import numpy as np` and `from pyflat import lanes`, and has Python's precedences: operands that
    are operators themselves need parentheses.
    """
    if op.opcode == "ufunc":
        operands = ", ".join(f"{{{k}}}" for k in range(len(op.args)))
        options = ", ".join(f"{name}={value!r}" for name, value in op.attrs)
        return f"lanes.ufunc({operands}, {options})"
    if op.opcode == "np_dot":
        return f"lanes.np_dot({', '.join(f'{{{k}}}' for k in range(len(op.args)))})"
    text = _SPELLINGS.get(op.opcode)
    if text is None:
        raise InternalError(f"the NumPy target has no spelling of {op.opcode}")
    return text


def literal(kind: Kind, value: bool | int | float | None, floats: FloatFormat = F8) -> str:
    """A NumPy scalar of `kind`, as an expression; an undefined value is zero."""
    number = 0 if value is None else value
    match kind:
        case Kind.BOOL:
            return f"np.bool_({bool(number)})"
        case Kind.INT:
            return f"np.int64({int(number)})"
        case _:
            cls = "np.float64" if floats is F8 else "np.float32"
            text = repr(float(number)) if floats is F8 else str(np.float32(number))
            return f"{cls}({text})" if text.strip("-")[0].isdigit() else f'{cls}("{text}")'


Selects = Literal["bits", "where", "if"]
"""How a select is written: with bit operations, with np.where, which is faster for few lanes, and for scalars `if`. All
give the same bits."""

_quiet = Context()
_quiet.run(np.seterr, all="ignore")
quietly = _quiet.run
"""Calls a function as np.errstate(all="ignore") does, in an eighth of the time: NumPy keeps its settings in a context
variable. RuntimeError where another thread is in it."""

FEW = 1024
"""Lanes for which np.where takes less time."""


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """The functions of an engine for callers who make the arrays themselves (`pyflat.plans`): the arguments are scalars
    and C-contiguous arrays of one shape, of at most `BLOCK` lanes, under np.errstate(all="ignore")."""

    small: Callable[..., tuple[Any, ...]]
    """For up to `FEW` lanes."""
    block: Callable[..., tuple[Any, ...]]
    dtypes: tuple[np.dtype[Any], ...]
    fresh: tuple[bool, ...]
    """Which results are arrays that nobody else has, unless they are the same in all lanes: then they are scalars."""
    checked: bool
    """Whether the last value that the functions give says which lanes are suspect."""
    values: int
    """How many values the functions give."""
    loops: bool
    """Arrays must have one axis."""


@dataclass(slots=True)
class Engine:
    """A compiled function. `source` is the generated text; call it with lanes and their number."""

    source: str
    block: Callable[..., tuple[Any, ...]]
    dtypes: tuple[np.dtype[Any], ...]
    unchecked: bool
    entry_point: Callable[[Sequence[bool]], EntryPoint]
    """For a pattern of arguments: whether each is a scalar."""
    pace: float = math.inf
    """Seconds that a lane has taken, as far as that was measured."""

    def __call__(self, lanes: Sequence[Lane], n: int) -> tuple[list[np.ndarray], np.ndarray | None]:
        """Run `n` lanes: the result arrays, and the mask of suspect lanes or None when there is none.

        `lanes` are arrays of length n or NumPy scalars, of bool_, int64 or float64, in the order of the parameters.
        """
        results = [np.empty(n, dtype) for dtype in self.dtypes]
        return results, self.into(lanes, n, results)

    def into(self, lanes: Sequence[Lane], n: int, results: list[np.ndarray]) -> np.ndarray | None:
        """The same, with the results written into these arrays; gives the mask."""
        with saved_status(), np.errstate(all="ignore"):
            return self._run(lanes, n, results)

    def stop(self, stopped: bool) -> None:
        """Python itself ends a run of this engine."""

    def _run(self, lanes: Sequence[Lane], n: int, results: list[np.ndarray]) -> np.ndarray | None:
        suspects: np.ndarray | None = None
        for start in range(0, n, BLOCK):
            stop = min(start + BLOCK, n)
            values = self.block(*[_part(a, start, stop) for a in lanes])
            for result, value in zip(results, values, strict=False):
                result[start:stop] = value
            if self.unchecked or not np.any(values[-1]):
                continue
            if suspects is None:
                suspects = np.zeros(n, dtype=np.bool_)
            suspects[start:stop] = values[-1]
        return suspects


def compile(fused: Function, *, unchecked: bool = False, calls: KeptCalls | None = None) -> Engine:
    """The engine of a fused function: its last result is the suspect bit, which `unchecked` leaves out. `calls` says
    how kept calls are made on arrays."""
    *roots, suspect = results_of(fused)
    kinds = dtypes(fused.floats)
    wanted = roots if unchecked else [*roots, suspect]

    @cache
    def block(selects: Selects) -> tuple[str, Callable[..., tuple[Any, ...]]]:
        writer = _Writer(fused.name, calls, fused.floats, selects)
        source = writer.source(fused, wanted)
        namespace: dict[str, Any] = {
            "np": np, "lanes": lane_functions, "bits": bits, "choose_int": choose_int, "choose_float": choose_float,
            "choose_narrow": choose_narrow, "bits_narrow": bits_narrow, "run_loop": run_loop, **writer.tables,
        }
        exec(_code(source, fused.name), namespace)
        return source, namespace["block"]

    loops = has_loop(fused.body)
    checked = not unchecked and not (isinstance(suspect, Const) and not suspect.value)
    fresh = tuple(_is_fresh(root) and roots.count(root) == 1 and not loops for root in roots)

    def entry_point(pattern: Sequence[bool]) -> EntryPoint:
        small = block("bits" if loops else "if" if all(pattern) else "where")[1]
        return EntryPoint(small, whole, tuple(kinds[root.kind] for root in roots), fresh, checked, len(wanted), loops)

    source, whole = block("bits")
    return Engine(source, whole, tuple(kinds[root.kind] for root in roots), unchecked, entry_point)


def _is_fresh(root: Value) -> bool:
    """Whether a result is an array that nobody else has."""
    if not isinstance(root, Op) or root.opcode in ("part", "call"):
        return False
    return root.opcode == "select" or _SPELLINGS.get(root.opcode, "").startswith(("{0} ", "np."))


def _code(source: str, name: str) -> Any:
    return builtins.compile(source, f"<numpy twin of {name}>", "exec")


def _part(lane: Lane, start: int, stop: int) -> Lane:
    """A block of an argument. A bool whose byte is neither 0 nor 1 (a view of other memory) becomes an ordinary one."""
    if not isinstance(lane, np.ndarray):
        return lane
    part = lane[start:stop]
    return part.view(np.uint8) != 0 if part.dtype == np.bool_ else part


class _Writer:
    """The text of an engine: constants, tables and kept calls by name, the functions of loops, the block function."""

    def __init__(self, name: str, calls: KeptCalls | None = None, floats: FloatFormat = F8, selects: Selects = "bits"):
        self.name = name
        self.selects = selects
        self.floats = floats
        self.calls = calls
        self.constants: dict[tuple[str, str], str] = {}
        self.head: list[str] = []
        self.loops: list[str] = []
        self.tables: dict[str, Any] = {}
        self.loop_count = 0

    def source(self, fused: Function, roots: Sequence[Value]) -> str:
        """Writes everything; `tables` are the arrays that the text names."""
        names: dict[Value, str] = {param: f"a{k}" for k, param in enumerate(fused.params)}
        parameters = ", ".join(names.values())
        body = _Lines(self, names, "None").write(sliced(fused.body, roots), roots)
        body[-1] += self.tuple_of(roots, names) or "()"
        return "\n".join([*self.head, *self.loops, f"def block({parameters}):", *_indented(body), ""])

    def value(self, value: Value, names: Mapping[Value, str]) -> str:
        if not isinstance(value, Const):
            return names[value]
        if value.key not in self.constants:
            self.constants[value.key] = f"c{len(self.constants)}"
            self.head.append(f"{self.constants[value.key]} = {literal(value.kind, value.value, self.floats)}")
        return self.constants[value.key]

    def tuple_of(self, values: Iterable[Value], names: Mapping[Value, str]) -> str:
        return "".join(self.value(v, names) + ", " for v in values).rstrip()

    def loop(self, loop: Loop, outer: Sequence[Value]) -> tuple[str, str]:
        """Write the header and the rest of a loop as functions; gives their names."""
        number = self.loop_count
        self.loop_count += 1
        parts = take_apart(loop)
        needed = [v for v in outer_values(parts.rest, parts.next) if v not in {*outer, *loop.params}]
        names: dict[Value, str] = {value: f"p{k}" for k, value in enumerate([*loop.params, *outer])}
        head = ", ".join([*names.values(), "live"])
        lines = _Lines(self, names, "live")
        text = lines.write(parts.header, [parts.go, *needed, *parts.leave])
        go, carried, leave = (self.tuple_of(values, names) for values in ([parts.go], needed, parts.leave))
        text[-1] += f"{go} ({carried}), ({leave})"
        self.loops += [f"def head{number}({head}):", *_indented(text)]
        names = {value: f"p{k}" for k, value in enumerate([*loop.params, *outer, *needed])}
        head = ", ".join([*names.values(), "live"])
        text = _Lines(self, names, "live").write(parts.rest, parts.next)
        text[-1] += self.tuple_of(parts.next, names) or "()"
        self.loops += [f"def rest{number}({head}):", *_indented(text)]
        return f"head{number}", f"rest{number}"


def _indented(lines: Iterable[str]) -> list[str]:
    return ["    " + line for line in lines]


class _Lines:
    """The lines of one function; `live` is the text of the mask of the lanes that run it."""

    def __init__(self, writer: _Writer, names: dict[Value, str], live: str):
        self.writer = writer
        self.names = names
        self.live = live
        self.floats = writer.floats
        self.masks: dict[Choice, str] = {}
        self.body: list[str] = []

    def write(self, items: Sequence[Item], roots: Sequence[Value]) -> list[str]:
        """The lines of a list; the last one is `return` without its values."""
        steps: list[Op | Loop] = []
        for item in items:
            if isinstance(item, Block):
                steps += item.ops
            elif isinstance(item, Loop):
                steps.append(item)
        uses = [step.args if isinstance(step, Op) else [*step.inits, *captured(step)] for step in steps]
        last_select = {self._choice(step): step for step in steps if _is_choice(step)}
        for step, dying in zip(steps, last_uses(uses, roots), strict=True):
            if isinstance(step, Loop):
                self._loop(step)
            else:
                name = f"t{len(self.names)}"
                text = self._expression(step)
                self.names[step] = name
                self.body.append(f"{name} = {text}")
            dead = [self.names[value] for value in dying]
            if isinstance(step, Op) and _is_choice(step) and last_select[self._choice(step)] is step and self.masks:
                dead.append(self.masks[self._choice(step)])
            if dead:
                self.body.append("del " + ", ".join(dead))
        return [*self.body, "return "]

    def _choice(self, op: Op) -> Choice:
        """What selects of one mask have in common: the condition, and whether the mask is one of 32 bits."""
        return op.args[0], op.kind is FLOAT and self.floats is not F8

    def _loop(self, loop: Loop) -> None:
        outer = captured(loop)
        head, rest = self.writer.loop(loop, outer)
        inits, values = (self.writer.tuple_of(each, self.names) for each in (loop.inits, outer))
        for result in loop.results:
            self.names[result] = f"t{len(self.names)}"
        targets = self.writer.tuple_of(loop.results, self.names)
        call = f"run_loop({head}, {rest}, ({inits}), ({values}), {self.live})"
        self.body.append(f"{targets} = {call}" if targets else call)

    def _expression(self, op: Op) -> str:
        operands = [self.writer.value(arg, self.names) for arg in op.args]
        if op.opcode == "gather":
            tables = self.writer.tables
            table = f"table{len(tables)}"
            tables[table] = np.array(op.attr("table"), dtype=dtypes(self.floats)[op.kind])
            return spelling(op, self.floats).format(*operands, table=table)
        if op.opcode == "call" and self.writer.calls is not None:
            call = f"call{len(self.writer.tables)}"
            self.writer.tables[call] = self.writer.calls.on_arrays(op)
            return f"{call}({', '.join(operands)})"
        if op.opcode == "part":
            return f"{operands[0]}[{op.attr('index')}]"
        if op.opcode in ("floordiv", "mod") and (power := _power_of_two(op.args[1])):
            sign, amount = (">>", power.bit_length() - 1) if op.opcode == "floordiv" else ("&", power - 1)
            return f"{operands[0]} {sign} {self.writer.value(Const(INT, amount), self.names)}"
        if op.opcode != "select":
            return spelling(op, self.floats).format(*operands)
        condition, a, b = operands
        if self.writer.selects == "if":
            return f"{a} if {condition} else {b}"
        if self.writer.selects == "where":
            return f"np.where({condition}, {a}, {b})"
        if op.kind is BOOL:
            return f"(({a} ^ {b}) & {condition}) ^ {b}"
        choice = self._choice(op)
        _, narrow = choice
        mask = self.masks.get(choice)
        if mask is None:
            mask = self.masks[choice] = f"m{len(self.masks)}"
            self.body.append(f"{mask} = {'bits_narrow' if narrow else 'bits'}({condition})")
        return f"choose_{'int' if op.kind is INT else 'narrow' if narrow else 'float'}({mask}, {a}, {b})"


def _power_of_two(divisor: Value) -> int:
    """An int literal that is a power of two, 0 for everything else: shifts and masks are many times faster."""
    known = divisor.value if isinstance(divisor, Const) else None
    return known if isinstance(known, int) and known > 0 and known & (known - 1) == 0 else 0


def _is_choice(step: Op | Loop) -> TypeGuard[Op]:
    """A select that is written with bits of an int64."""
    return isinstance(step, Op) and step.opcode == "select" and step.kind is not BOOL
