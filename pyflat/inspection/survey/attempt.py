"""Whether one function flattens, and with which options: it is specialised and flattened for several sets of shapes.

    1. kinds from annotations, else of defaults, else int where the body uses the parameter as one, else float; None,
       strings and flags static with their defaults
    2. where that is refused: parameters that default to None as float lanes; int lanes; one parameter static, tried
       with a sample value
    3. where a parameter is compared with strings or is an enum: its other values too

The refusal that is reported is the one of the first attempt that says something about the function. Where all of them
only say that a number is the wrong argument, the function is no scalar kernel. Nothing is compiled, and the function is
not called.
"""

from __future__ import annotations

import inspect
import linecache
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pyflat.analysis.kernels import Argument
from pyflat.errors import FlattenError, Span
from pyflat.frontend.kernels import specialise_kernel
from pyflat.frontend.roles import array_parameters
from pyflat.inspection.prove import TimeUp, prove_shapes
from pyflat.inspection.survey.find import NO_OBJECT, Found
from pyflat.ir.memory import ArrayArgument
from pyflat.ir.shape import COMPLEX, Fixed, Leaf, Record, Shape, leaves
from pyflat.ir.types import BOOL, FLOAT, INT, Kind, kind_of
from pyflat.runtime.compiled import flatten
from pyflat.runtime.settings import resolve

Shapes = dict[str, Shape]
SAMPLE = 2
"""The value of a parameter that is tried as a static one."""
MAX_SAMPLED = 6
SLOW = 1.0
"""Seconds of a first attempt after which there is no second one."""
MAX_CHOICES = 8
_STATIC_MAY_HELP = frozenset({
    "flatten/lane-to-object", "flatten/while-unbounded", "flatten/loop-too-long", "flatten/iterable-not-static",
    "flatten/recursion", "flatten/result-kind", "flatten/mixed-join", "flatten/list-mutation", "flatten/argument-kind",
    "flatten/unsupported-expression", "flatten/not-yet", "flatten/too-large", "flatten/unknown-call",
})
_RAISES = "raises for every number: takes something else"
_ANNOTATED: dict[str, Shape] = {"b": Leaf(BOOL), "bool": Leaf(BOOL), "int": Leaf(INT), "float": Leaf(FLOAT),
                                "complex": COMPLEX}


@dataclass(slots=True)
class Row:
    """The survey's result for one function, or for a module that cannot be imported.

    verdict    "flattens", "refused", "skipped", "timeout", "import-failed" or "bug"
    kinds      the kind of each parameter: "float", "int", "bool" or "complex", or "array" for a kernel
    fixed      the static parameters, with the value that each was tried with, as text
    static     the parameters that must be named in static=
    loop       whether a loop stays a loop
    but        the values of a string parameter that are refused, with the code
    use        for a method: how it was tried, with an object made from numbers
    proved     the result of the proof, if one was requested
    code, message, construct, at, help    the error; for other verdicts, `message` has the reason
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
    use: str = ""
    proved: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def attempt(
    found: Found, module: str, clock: Callable[[], float] = time.perf_counter, prove: float | None = None
) -> Row:
    """The row of one function; `prove`: seconds that z3 has for it."""
    code = found.written or found.function.__code__
    row = Row(found.name, module, code.co_filename, code.co_firstlineno, "skipped", message=found.reason, use=found.use)
    if found.reason:
        return row
    started = clock()
    try:
        _try(found, row, prove)
    except TimeUp:
        row.verdict, row.message = "timeout", "flattening takes longer than the limit (--timeout)"
    except RecursionError:
        row.verdict, row.message = "bug", "RecursionError in pyflat: please report this function"
    except Exception as error:  # noqa: BLE001 - one function must not end the survey, and a bug is a result
        text = " ".join(str(error).split())
        row.verdict, row.message = "bug", f"{type(error).__name__}: {text[:200]}: please report this function"
    row.seconds = round(clock() - started, 3)
    return row


def _try(found: Found, row: Row, prove: float | None) -> None:
    refusals: list[FlattenError] = []
    for static, shapes in _variants(found, first_shapes(found), refusals):
        try:
            done = flatten(found.function, shapes, resolve(), engine=True)
        except FlattenError as error:
            refusals.append(error)
            continue
        _flattens(row, shapes, static, done.spec.rolled is not None)
        if not _numbers(done.spec.result):
            row.verdict, row.message = "skipped", "returns no number"
            return
        if arrays := [name for name in array_parameters(found.function) if isinstance(shapes.get(name), Leaf)]:
            _as_kernel(row, found, shapes, arrays)
            return
        _other_choices(row, found, shapes)
        if prove is not None:
            answer = prove_shapes(found.function, shapes, resolve(), seconds=prove)
            row.proved = "proved" if answer.verdict == "proved" else f"{answer.verdict}: {answer.reason}"
        return
    said = [error for error in refusals if not no_kernel(error)]
    if found.maker is not None and not _is_made(found):
        row.verdict, row.message = "skipped", NO_OBJECT
    elif said:
        describe(row, said[0])
        if found.written is not None and found.function.__code__.co_filename in row.at:  # the text made of the method
            row.construct, row.at = "", f"{row.file}:{row.line}"
    else:
        row.verdict, row.message = "skipped", no_kernel(refusals[0])


def _as_kernel(row: Row, found: Found, shapes: Shapes, arrays: Collection[str]) -> None:
    """A call with arrays for these parameters is one of a kernel: with one axis, or two."""
    refusals: list[FlattenError] = []
    for rank in (1, 2):
        given: dict[str, Argument] = {
            name: ArrayArgument("f8", rank, number) if name in arrays else shape
            for number, (name, shape) in enumerate(shapes.items()) if isinstance(shape, Leaf | Fixed)}
        try:
            specialise_kernel(found.function, given)
        except FlattenError as error:
            refusals.append(error)
        else:
            row.kinds.update(dict.fromkeys(arrays, f"array of {rank} axes" if rank > 1 else "array"))
            return
    describe(row, refusals[0])


def _is_made(found: Found) -> bool:
    """Whether an object can be made of numbers, as the class of a method wants them."""
    maker: Any = found.maker
    try:
        flatten(maker, first_shapes(replace(found, function=maker)), resolve())
    except FlattenError:
        return False
    return True


_NUMBER = "(a float|an int|a bool)"


def no_kernel(error: FlattenError) -> str:
    """What a refusal shows about the function when it is not about its code: that it does not take numbers, or does
    not give any. Python too would raise TypeError or AttributeError for these numbers."""
    message = error.diagnostic.message
    if re.match(rf"cannot iterate over {_NUMBER}|{_NUMBER} cannot be (sliced|indexed)|len\(\) of {_NUMBER}", message):
        return "takes a container, as a callee shows"
    if re.match(rf"{_NUMBER} is called", message):
        return "takes a function, as a callee shows"
    if re.match(r"attribute \.\w+ of a number", message):
        return "takes an object, as a callee shows"
    if message.startswith("no path returns"):
        return _RAISES
    returned = r"the function returns (['\"]|a computed string|a function)"
    if error.code == "flatten/result-kind" and re.match(returned, message):
        return "returns no number"
    return ""


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
        elif name in found.choices and default is parameter.empty:
            shapes[name] = Fixed(found.choices[name][0])
        else:
            shapes[name] = _lane(parameter, INT if name in found.ints else FLOAT)
    return shapes


def _lane(parameter: inspect.Parameter, kind: Kind) -> Shape:
    note = parameter.annotation
    shape = _ANNOTATED.get(note if isinstance(note, str) else getattr(note, "__name__", ""))
    default = None if parameter.default is parameter.empty else kind_of(parameter.default)
    return shape or Leaf(default or kind)


def _variants(found: Found, base: Shapes, refusals: list[FlattenError]) -> Iterator[tuple[tuple[str, ...], Shapes]]:
    """Sets of shapes to try, and the parameters that are static in them though they could be lanes. `refusals` are
    those of the sets so far. A function that takes long to be refused is not tried again."""
    started = time.perf_counter()
    yield (), base
    if time.perf_counter() - started > SLOW:
        return
    nones = {name: Leaf(FLOAT) for name, shape in base.items() if isinstance(shape, Fixed) and shape.value is None}
    if nones:
        yield (), {**base, **nones}
    lanes = [name for name, shape in base.items() if isinstance(shape, Leaf)]
    if any(base[name] == Leaf(FLOAT) for name in lanes):
        yield (), {**base, **{name: Leaf(INT) for name in lanes if base[name] == Leaf(FLOAT)}}
    if refusals[0].code not in _STATIC_MAY_HELP or no_kernel(refusals[0]) not in ("", _RAISES):
        return
    defaults = inspect.signature(found.function, follow_wrapped=False).parameters
    for name in lanes[:MAX_SAMPLED] if len(lanes) > 1 else ():
        default = defaults[name].default
        value = SAMPLE if default is inspect.Parameter.empty else default
        yield (name,), {**base, name: Fixed(value)}


def _flattens(row: Row, shapes: Mapping[str, Shape], static: tuple[str, ...], loop: bool) -> None:
    row.verdict, row.static, row.loop = "flattens", list(static), loop
    row.kinds = {name: shape.kind.name.lower() for name, shape in shapes.items() if isinstance(shape, Leaf)}
    row.kinds.update({name: "complex" for name, shape in shapes.items() if shape == COMPLEX})
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


def _other_choices(row: Row, found: Found, shapes: Shapes) -> None:
    for name, values in found.choices.items():
        shape = shapes.get(name)
        if not isinstance(shape, Fixed):
            continue
        for value in values[:MAX_CHOICES]:
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
        text = construct(said.span)
        row.construct = "" if text.startswith(("def ", "@")) else text  # the function as a whole
        row.at = f"{said.span.file}:{said.span.line}"


def construct(span: Span) -> str:
    """The text that a refusal is about, on one line."""
    line = linecache.getline(span.file, span.line).rstrip("\n")
    end = span.end_column if span.end_line == span.line else len(line)
    text = line[span.column:end] or line
    return short(" ".join(text.split()) + (" ..." if span.end_line > span.line else ""))


def short(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
