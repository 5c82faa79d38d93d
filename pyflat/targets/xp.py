"""The way out for array namespaces: a function as straight code over `xp`, with `xp.where` for its branches.

    def blend(a0, a1):                              twin = function(blend, jax.numpy)
        t0 = a1 > c0
        t1 = xp.sqrt(xp.where(t0, a1, c1))          the operand of the arm not taken is harmless
        return xp.where(t0, t1, a0)

It runs on what has the functions of the Python array API standard: NumPy, JAX, PyTorch, CuPy. Both arms of a branch are
computed, and one is dropped. A derivative would not drop it: 0 times the infinite slope of the other arm is nan. So an
operation that may have no finite slope has harmless operands in the lanes that do not take its path.

Before:                              After:
    t = sqrt(x)                          h = select(c, x, 1.0)
    y = select(c, t, 0.0)                t = sqrt(h)
                                         y = select(c, t, 0.0)

A select multiplies the slope of the arm not taken by 0, and 0 times infinity is nan. So its operands are replaced.
"""

from __future__ import annotations

import builtins
import inspect
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from keyword import iskeyword
from types import FunctionType
from typing import Any, Literal

from pyflat.backend import FlatFunction
from pyflat.errors import refuse
from pyflat.frontend.callables import unwrap
from pyflat.functions.records import RECORDS, spellings
from pyflat.functions.stacking import DATES
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.ops import ROUNDED, SIGNS
from pyflat.ir.recursion import with_room
from pyflat.ir.shape import UNSIGNED, Fixed, Labels, Leaf, Ragged, Record, Shape, Texts, rebuild
from pyflat.ir.types import FLOAT, INT
from pyflat.passes.rules.expansions import floordiv_whole, mod_whole
from pyflat.passes.rules.legalise import Expansions, legal
from pyflat.targets.columns import ColumnsEngine, Given, flattened, terms_of
from pyflat.targets.columns.printer import in_order
from pyflat.targets.columns.terms import Terms
from pyflat.targets.numpy.spelling import of_namespace

_HARMLESS: dict[str, tuple[float | None, ...]] = {
    "truediv": (None, 1.0),
    **{record.name: record.harmless for record in RECORDS.values() if record.harmless is not None},
}
"""Operations whose slope may be infinite or nan, and operands at which it is not; None: that one does not matter."""

Conjunction = frozenset[tuple[Value, bool]]
ALWAYS: frozenset[Conjunction] = frozenset([frozenset()])
MANY = 8


class Slopes:
    """The results again, so that no slope of an arm not taken is infinite or nan.

    Conditions, and what is rounded, are computed as they are: no derivative goes through them. Everything else is made
    anew from operands that are harmless where no result depends on them (`needed`: a disjunction of conjunctions)."""

    def __init__(self, t: Terms, suspect: Value):
        self.t = t
        never = isinstance(suspect, Const) and not suspect.value
        self.start = ALWAYS if never else frozenset([frozenset([(suspect, False)])])
        self.needed: dict[Value, frozenset[Conjunction]] = {}
        self.rank: dict[Value, int] = {}

    def results(self, roots: Sequence[Value]) -> list[Value]:
        order = in_order(roots)
        self.rank = {term: k for k, term in enumerate([*order, *in_order(term for term, _ in self._started())])}
        for root in roots:
            self._need(root, self.start)
        for term in reversed(order):
            self._spread(term)
        new: dict[Value, Value] = {}
        for term in order:
            new[term] = self._again(term, new)
        return [new[root] for root in roots]

    def _started(self) -> Conjunction:
        return frozenset().union(*self.start)

    def _need(self, term: Value, where: frozenset[Conjunction]) -> None:
        self.needed[term] = _either(self.needed.get(term, frozenset()), where)

    def _spread(self, term: Value) -> None:
        where = self.needed.get(term)
        if where is None or not isinstance(term, Op) or not _is_smooth(term):
            return
        if term.opcode != "select":
            for arg in term.args:
                self._need(arg, where)
            return
        condition, then, otherwise = term.args
        self._need(then, _also(where, condition, True))
        self._need(otherwise, _also(where, condition, False))

    def _again(self, term: Value, new: dict[Value, Value]) -> Value:
        if not isinstance(term, Op) or not _is_smooth(term) or term not in self.needed:
            return term
        args = [new[arg] if arg.kind is FLOAT else arg for arg in term.args]
        harmless = _HARMLESS.get(term.opcode)
        where = self.needed[term]
        if harmless is not None and where != ALWAYS:
            condition = self._condition(where)
            args = [arg if value is None or isinstance(arg, Const) else self.t.raw("select", condition, arg, value)
                    for arg, value in zip(args, harmless, strict=True)]
        return self.t.raw(term.opcode, *args)

    def _condition(self, where: frozenset[Conjunction]) -> Value:
        t = self.t
        parts = []
        for ranked in sorted(sorted((self.rank[term], holds, term) for term, holds in each) for each in where):
            tests = [term if holds else t("not", term) for _, holds, term in ranked]
            parts.append(reduce(lambda a, b: t("and", a, b), tests))
        return reduce(lambda a, b: t("or", a, b), parts)


def _is_smooth(term: Op) -> bool:
    """A derivative goes through it."""
    return term.kind is FLOAT and term.opcode not in (*ROUNDED.values(), "to_float")


def _also(where: frozenset[Conjunction], condition: Value, holds: bool) -> frozenset[Conjunction]:
    return frozenset(each | {(condition, holds)} for each in where if (condition, not holds) not in each)


def _either(a: frozenset[Conjunction], b: frozenset[Conjunction]) -> frozenset[Conjunction]:
    """a or b, simplified; when there are many, what they have in common, which is needed at least as often."""
    found = set(a | b)
    changed = True
    while changed:
        changed = False
        for each in list(found):
            for condition, holds in each:
                rest = each - {(condition, holds)}
                if rest | {(condition, not holds)} in found and rest not in found:
                    found.add(rest)
                    changed = True
        found = {each for each in found if not any(other < each for other in found)}
    return frozenset(found) if len(found) <= MANY else frozenset([frozenset.intersection(*found)])


Faults = Literal["nan", "mask", "unchecked"]
Extra = Mapping[str, tuple[str, Any]]
"""More operations of a namespace: name -> how the text calls it, and what that is."""
_SPELLINGS = {
    **of_namespace("xp"), **spellings("xp", "xp.{name}({operands})"), "signbit": "xp.signbit({0})",
    "shl": "xp.bitwise_left_shift({0}, {1})", "shr": "xp.bitwise_right_shift({0}, {1})", "abs": "xp.abs({0})",
    **{f"{name}:b": f"{{0}} {SIGNS[name]} {{1}}" for name in ("eq", "ne", "xor")},
    "rint": "xp.round({0})", "to_float": "cast({0}, F)", "to_whole": "cast({0}, I)",
}
RULES: Expansions = {"mod:i8": mod_whole, "floordiv:i8": floordiv_whole}
ENGINE = ColumnsEngine("the namespace", _SPELLINGS, repr, RULES, legal(_SPELLINGS, "xp"), ("", 0), 0)


@with_room
def function(fn: Callable[..., Any], xp: Any, /, *, faults: Faults = "nan", kinds: str | None = None,
             dtype: Literal["float64", "float32"] = "float64", extra: Extra | None = None, **static: Any
             ) -> ArrayTwin:
    """`fn` over arrays of the namespace `xp`: it takes arrays or numbers that broadcast, in the order of the parameters
    (records as `fn` takes them), and gives what `fn` gives, of arrays.

    faults  lanes in which Python raises: "nan" (float results only), "mask": `(result, mask)`, "unchecked"
    kinds   of the plain parameters, "f8,i8,b"; without it annotations and default values say so, or it is float
    dtype   of floats
    extra   more operations that the namespace has
    static  parameters that are constants

    Its `source` is the code. Raises FlattenError where `fn` cannot be flattened or the namespace lacks an operation,
    ValueError where its floats are not of that dtype (JAX without `jax_enable_x64`).
    """
    flat, _ = flattened(fn, static, faults, ("nan", "mask", "unchecked"), kinds, none=False)
    original = fn if isinstance(fn, FunctionType) else unwrap(fn).function
    if any(cls is complex for cls in _classes(flat.result)):
        raise refuse("flatten/result-kind", f"{flat.name} gives complex numbers", help="return the two parts")
    if any(cls is UNSIGNED.cls for cls in _classes(flat.result)):
        raise refuse("flatten/result-kind", f"{flat.name} gives ints beyond 63 bits", help="return halves of 32 bits")
    if any(cls is str for cls in _classes(flat.result)):
        raise refuse("flatten/result-kind", f"{flat.name} gives strings or lists that are made from lanes",
                     help="return the numbers that they are made of")
    if any(cls in DATES for cls in _classes(flat.result)):
        raise refuse("flatten/result-kind", f"{flat.name} gives dates", help="return their parts, d.year and so on")
    return ArrayTwin(flat, compiled(flat, xp, faults, dtype, extra), inspect.signature(original), xp, faults == "mask")


@dataclass(frozen=True, eq=False)
class ArrayTwin:
    """What `function` gives. `code` has arrays for the numbers of its arguments and gives arrays for those of the
    result."""

    flat: FlatFunction
    code: Callable[..., tuple[Any, ...]]
    signature: inspect.Signature
    xp: Any
    masked: bool

    @property
    def source(self) -> str:
        return str(self.code.__doc__)

    @property
    def categories(self) -> tuple[tuple[Any, ...], ...]:
        """For each result that is no number the objects that its codes stand for."""
        return tuple(_tables(self.flat.result))

    @property
    def __name__(self) -> str:
        return self.flat.name

    def __call__(self, *args: Any, **named: Any) -> Any:
        bound = self.signature.bind_partial(*args, **named)
        bound.apply_defaults()
        lanes: list[Any] = []
        for name, shape in self.flat.arguments.items():
            if not isinstance(shape, Fixed):
                lanes.extend(_numbers(shape, bound.arguments[name]))
        *values, mask = [*self.code(*lanes), None] if not self.masked else self.code(*lanes)
        result = rebuild(_codes(self.flat.result), iter(values))
        return (result, mask) if self.masked else result


def _classes(shape: Shape) -> Iterator[type]:
    if isinstance(shape, Texts | Ragged):
        yield str
    if isinstance(shape, Record):
        yield shape.cls
        for item in shape.items:
            yield from _classes(item)


def _codes(shape: Shape) -> Shape:
    """The result with ints for objects."""
    match shape:
        case Record():
            return replace(shape, items=tuple(map(_codes, shape.items)))
        case Labels():
            return Leaf(INT)
    return shape


def _tables(shape: Shape) -> Iterator[tuple[Any, ...]]:
    match shape:
        case Record():
            for item in shape.items:
                yield from _tables(item)
        case Labels():
            yield tuple(shape.table)


def _numbers(shape: Shape, value: Any) -> list[Any]:
    if not isinstance(shape, Record):
        return [value]
    items = value if isinstance(value, tuple | list) else [getattr(value, name) for name in shape.names]
    return [number for part, item in zip(shape.items, items, strict=True) for number in _numbers(part, item)]


@with_room
def compiled(flat: FlatFunction, xp: Any, faults: str = "nan", dtype: str = "float64", extra: Extra | None = None
             ) -> Callable[..., tuple[Any, ...]]:
    """The code of a flat function: arrays for its params, in order, to a tuple of arrays. Its docstring is the text."""
    extra = extra or {}
    results, t = terms_of(flat, RULES, stay(xp, extra))
    suspect = t.const(False)
    if faults != "unchecked":
        *results, suspect = results
        suspect = reduce(lambda a, b: t("or", a, b), t.doubts, suspect)
    results = Slopes(t, suspect).results(results)
    if faults == "nan" and (not isinstance(suspect, Const) or suspect.value):
        if any(root.kind is not FLOAT for root in results):
            raise refuse("flatten/result-kind", f"{flat.name} can fail, and its results are not all floats: no nan "
                         "for them", help='faults="mask" adds the mask to the results, "unchecked" any value')
        results = [t("select", suspect, math.nan, root) for root in results]
    if faults == "mask":
        results = [*results, suspect]
    return TextWriter(xp, dtype, extra).compiled(flat.name, [node.kind for node in flat.params], results)


def stay(xp: Any, extra: Extra) -> frozenset[str]:
    """What the namespace has itself, and what is refused."""
    return ENGINE.stay - {name for name in ("erf", "erfc", "fmod") if not hasattr(xp, name) and name not in extra}


_MIXES = frozenset(SIGNS) - {"shl", "shr"}
"""Operations of arrays with Python numbers, too."""


class TextWriter:
    """The text of a function, and what it names."""

    def __init__(self, xp: Any, dtype: str, extra: Extra):
        self.xp = xp
        self.extra = extra
        self.dtypes = {"f8": getattr(xp, dtype), "i8": xp.int64, "b": getattr(xp, "bool", None) or xp.bool_}
        self.names: dict[str, Any] = {"xp": xp, "F": self.dtypes["f8"], "I": self.dtypes["i8"], "cast": self._cast}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # JAX warns here; below it is an error
            one = xp.asarray(1.0, dtype=self.dtypes["f8"])
        if one.dtype != self.dtypes["f8"]:
            raise ValueError(f"{xp.__name__} has no {dtype} here (JAX: jax.config.update('jax_enable_x64', True))")

    def compiled(self, name: str, kinds: Sequence[str], results: Sequence[Value]) -> Callable[..., tuple[Any, ...]]:
        texts: dict[Value, str] = {}
        head: list[str] = []
        body: list[str] = []
        for term in in_order(results):
            match term:
                case Given():
                    texts[term] = f"a{term.number}"
                case Const():
                    texts[term] = f"c{len(head)}"
                    head.append(f"c{len(head)} = xp.asarray({_number(term.value)}, dtype={term.kind})")
                case Op():
                    body.append(f"t{len(body)} = {self._spelled(term, texts)}")
                    texts[term] = f"t{len(body) - 1}"
        title = name if name.isidentifier() and not iskeyword(name) else "twin"
        lines = [f"def {title}({', '.join(f'a{k}' for k in range(len(kinds)))}):", *body,
                 f"return {''.join(texts[root] + ', ' for root in results).rstrip()}"]
        text = "\n".join([*head, "\n    ".join(lines)])
        space = {**self.names, **self.dtypes}
        exec(builtins.compile(text, f"<{self.xp.__name__} twin of {name}>", "exec"), space)
        code, asarray, types = space[title], self.xp.asarray, [self.dtypes[kind] for kind in kinds]

        def run(*lanes: Any) -> tuple[Any, ...]:
            arrays = [self._array(lane, dtype, asarray) for lane, dtype in zip(lanes, types, strict=True)]
            made: tuple[Any, ...] = code(*arrays)
            return made

        run.__doc__ = text
        return run

    def _cast(self, lanes: Any, dtype: Any) -> Any:
        """As the standard has it, as NumPy 2.0 does, or as PyTorch."""
        if hasattr(self.xp, "astype"):
            return self.xp.astype(lanes, dtype)
        return lanes.astype(dtype) if hasattr(lanes, "astype") else lanes.to(dtype)

    def _array(self, lane: Any, dtype: Any, asarray: Callable[..., Any]) -> Any:
        """A lane as an array of that type, with its gradient. TypeError for floats where an int is wanted."""
        if not hasattr(lane, "dtype"):
            lane = asarray(lane)
        if lane.dtype == dtype:
            return lane
        if "float" in str(lane.dtype) and "float" not in str(dtype):
            raise TypeError(f"an array of {lane.dtype} for a parameter of kind {dtype}")
        return self._cast(lane, dtype)

    def _spelled(self, term: Op, texts: Mapping[Value, str]) -> str:
        numbers = term.opcode in _MIXES and any(not isinstance(arg, Const) for arg in term.args)
        operands = [_bracketed(arg) if numbers and isinstance(arg, Const) else texts[arg] for arg in term.args]
        if term.opcode in self.extra:
            called, self.names[called] = self.extra[term.opcode]
            return f"{called}({', '.join(operands)})"
        text = ENGINE.spelling(term)
        for wanted in re.findall(r"xp\.(\w+)", text):
            if not hasattr(self.xp, wanted):
                raise refuse("flatten/target-operation", f"{self.xp.__name__} has no {wanted}",
                             term.span)
        return text.format(*operands)


def _number(value: Any) -> str:
    return f"float('{value}')" if isinstance(value, float) and not math.isfinite(value) else repr(value)


def _bracketed(term: Const) -> str:
    text = _number(term.value)
    return f"({text})" if text.startswith("-") else text
