"""Whether one function flattens, and with which options: it is specialised and flattened for several sets of shapes.

    1. kinds from annotations, else defaults, else float; None, strings and flags static with their defaults
    2. where that is refused: parameters that default to None as float lanes; int lanes; one parameter static, tried
       with a sample value
    3. where a parameter is compared with strings: the other strings too

The refusal that is reported is the one of the first attempt. Nothing is compiled, and the function is not called.
"""

from __future__ import annotations

import inspect
import linecache
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pyflat.compiled import flatten
from pyflat.errors import FlattenError, Span
from pyflat.ir.shape import Fixed, Leaf, Record, Shape, leaves
from pyflat.ir.types import BOOL, FLOAT, INT, Kind, kind_of
from pyflat.settings import resolve
from pyflat.survey.find import Found

Shapes = dict[str, Shape]
SAMPLE = 2
"""The value of a parameter that is tried as a static one."""
MAX_SAMPLED = 6
MAX_STRINGS = 8
_STATIC_MAY_HELP = frozenset({
    "flatten/lane-to-object", "flatten/while-unbounded", "flatten/loop-too-long", "flatten/iterable-not-static",
    "flatten/recursion", "flatten/result-kind", "flatten/mixed-join", "flatten/list-mutation", "flatten/argument-kind",
    "flatten/unsupported-expression", "flatten/not-yet", "flatten/too-large", "flatten/unknown-call",
})
_ANNOTATED = {"b": BOOL, "bool": BOOL, "int": INT, "float": FLOAT}


@dataclass(slots=True)
class Row:
    """What the survey says about one function, or about a module that cannot be imported.

    verdict    "flattens", "refused", "skipped", "timeout", "import-failed" or "bug"
    kinds      how lane parameters were taken, by name: "float", "int" or "bool"
    fixed      static parameters and the value each was tried with, as text
    static     the parameters to name in static=, which are lanes otherwise
    loop       a loop stays a loop
    but        values of a string parameter that are refused, with the code
    code, message, construct, at, help    the refusal; why for the other verdicts is in `message`
    """

    function: str
    module: str
    file: str
    line: int
    verdict: str
    kinds: dict[str, str] = field(default_factory=dict)
    fixed: dict[str, str] = field(default_factory=dict)
    static: list[str] = field(default_factory=list)
    loop: bool = False
    but: dict[str, str] = field(default_factory=dict)
    code: str = ""
    message: str = ""
    construct: str = ""
    at: str = ""
    help: str = ""
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class TimeUp(BaseException):  # not an Exception: no handler of the code that runs should catch it
    """The time for one function is over."""


def attempt(found: Found, module: str, clock: Callable[[], float] = time.perf_counter) -> Row:
    """The row of one function."""
    code = found.function.__code__
    row = Row(found.name, module, code.co_filename, code.co_firstlineno, "skipped", message=found.reason)
    if found.reason:
        return row
    started = clock()
    try:
        _try(found, row)
    except TimeUp:
        row.verdict, row.message = "timeout", "flattening takes longer than the limit (--timeout)"
    except RecursionError:
        row.verdict, row.message = "bug", "RecursionError in pyflat: please report this function"
    except Exception as error:  # noqa: BLE001 - one function must not end the survey, and a bug is a result
        text = " ".join(str(error).split())
        row.verdict, row.message = "bug", f"{type(error).__name__}: {text[:200]}: please report this function"
    row.seconds = round(clock() - started, 3)
    return row


def _try(found: Found, row: Row) -> None:
    base = first_shapes(found)
    refused: FlattenError | None = None
    for static, shapes in _variants(found, base, lambda: refused):
        try:
            done = flatten(found.function, shapes, resolve())
        except FlattenError as error:
            refused = refused or error
            continue
        _flattens(row, found, shapes, static, done.spec.rolled is not None)
        if not _numbers(done.spec.result):
            row.verdict, row.message = "skipped", "returns no number"
            return
        _other_strings(row, found, shapes)
        return
    if refused is not None:
        describe(row, refused)


def first_shapes(found: Found) -> Shapes:
    """How the parameters are taken in the first attempt."""
    shapes: Shapes = {}
    for name, parameter in inspect.signature(found.function, follow_wrapped=False).parameters.items():
        default = parameter.default
        if parameter.kind is parameter.VAR_POSITIONAL:
            shapes[name] = Record(tuple, (), ())
        elif parameter.kind is parameter.VAR_KEYWORD:
            shapes[name] = Fixed({})
        elif default is not parameter.empty and (kind_of(default) is None or isinstance(default, bool)):
            shapes[name] = Fixed(default)
        elif name in found.strings and default is parameter.empty:
            shapes[name] = Fixed(found.strings[name][0])
        else:
            shapes[name] = Leaf(_kind(parameter))
    return shapes


def _kind(parameter: inspect.Parameter) -> Kind:
    note = parameter.annotation
    kind = _ANNOTATED.get(note if isinstance(note, str) else getattr(note, "__name__", ""))
    default = FLOAT if parameter.default is parameter.empty else kind_of(parameter.default)
    return kind or default or FLOAT


def _variants(
    found: Found, base: Shapes, refused: Callable[[], FlattenError | None]
) -> Iterator[tuple[tuple[str, ...], Shapes]]:
    """Sets of shapes to try, and the parameters that are static in them though they could be lanes."""
    yield (), base
    nones = {name: Leaf(FLOAT) for name, shape in base.items() if isinstance(shape, Fixed) and shape.value is None}
    if nones:
        yield (), {**base, **nones}
    lanes = [name for name, shape in base.items() if isinstance(shape, Leaf)]
    if any(base[name] == Leaf(FLOAT) for name in lanes):
        yield (), {**base, **{name: Leaf(INT) for name in lanes if base[name] == Leaf(FLOAT)}}
    first = refused()
    if first is None or first.code not in _STATIC_MAY_HELP:
        return
    defaults = inspect.signature(found.function, follow_wrapped=False).parameters
    for name in lanes[:MAX_SAMPLED] if len(lanes) > 1 else ():
        default = defaults[name].default
        value = SAMPLE if default is inspect.Parameter.empty else default
        yield (name,), {**base, name: Fixed(value)}


def _flattens(row: Row, found: Found, shapes: Mapping[str, Shape], static: tuple[str, ...], loop: bool) -> None:
    row.verdict, row.static, row.loop = "flattens", list(static), loop
    row.kinds = {name: shape.kind.name.lower() for name, shape in shapes.items() if isinstance(shape, Leaf)}
    row.fixed = {name: short(repr(shape.value)) for name, shape in shapes.items()
                 if isinstance(shape, Fixed) and shape.value != {}}


def _numbers(result: Shape) -> bool:
    """Whether there is a number in the result, lane by lane or the same in all lanes."""
    if any(True for _ in leaves(result)):
        return True
    match result:
        case Fixed():
            items = result.value if isinstance(result.value, tuple) else (result.value,)
            return any(kind_of(item) is not None for item in items)
        case Record():
            return any(map(_numbers, result.items))
    return False


def _other_strings(row: Row, found: Found, shapes: Shapes) -> None:
    for name, values in found.strings.items():
        shape = shapes.get(name)
        if not isinstance(shape, Fixed):
            continue
        for value in values[:MAX_STRINGS]:
            if value == shape.value:
                continue
            try:
                flatten(found.function, {**shapes, name: Fixed(value)}, resolve())
            except FlattenError as error:
                row.but[f"{name}={value!r}"] = error.code


def describe(row: Row, error: FlattenError) -> None:
    """Write a refusal into a row."""
    said = error.diagnostic
    row.verdict, row.code, row.message, row.help = "refused", said.code, said.message, said.help
    if said.span is not None:
        row.construct = construct(said.span)
        row.at = f"{said.span.file}:{said.span.line}"


def construct(span: Span) -> str:
    """The text that a refusal is about, on one line."""
    line = linecache.getline(span.file, span.line).rstrip("\n")
    end = span.end_column if span.end_line == span.line else len(line)
    text = line[span.column:end] or line
    return short(" ".join(text.split()) + (" ..." if span.end_line > span.line else ""))


def short(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
