"""What a twin shows of itself: its text, its stages, and a real function made from the text.

A text needs argument kinds before there is a call. They come from `kinds=`, else from annotations, else from
default values, else they are float; a parameter with another default (None, a string) is static with that value, and
one that is annotated as a string needs a default or a call.
"""

from __future__ import annotations

import dataclasses
import dis
import enum
import inspect
import itertools
import linecache
import os
from collections.abc import Callable, Collection, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, cast

from pyflat.errors import FlattenError
from pyflat.frontend.callables import Parameters, owner_of
from pyflat.inspection.source_map import float_powers
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import TRIP_LIMIT, Function
from pyflat.ir.opaque_calls import notes_of, result_shape
from pyflat.ir.recursion import with_room
from pyflat.ir.shape import COMPLEX, MAX_WORDS, Fixed, Labels, Leaf, Record, Shape, UnknownWordsError
from pyflat.ir.types import BOOL, FLOAT, INT, kind_of
from pyflat.runtime.compiled import FlatForm, Guarded, flatten, keep_loops, require_format, specialised
from pyflat.runtime.settings import Options
from pyflat.targets import target as targets
from pyflat.targets.target import Request, Target

if TYPE_CHECKING:
    from pyflat.runtime.words import Words
    from pyflat.targets.text.spelling import Target as TextTarget

Stage = Literal["captured", "structured", "flat", "suspect", "kernel"]
STAGES = ("captured", "structured", "flat", "suspect", "kernel")
_KINDS: dict[str, Shape] = {"b": Leaf(BOOL), "bool": Leaf(BOOL), "i8": Leaf(INT), "int": Leaf(INT), "f8": Leaf(FLOAT),
                            "float": Leaf(FLOAT), "c16": COMPLEX, "complex": COMPLEX}
_numbers = itertools.count(1)


class Listing(str):
    """A text that a notebook shows as it is."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self)}</pre>"


def argument_shapes(
    fn: FunctionType,
    parameters: Parameters,
    options: Options,
    kinds: str | Sequence[str] | None,
    known: dict[str, Shape],
    words: Words | None = None,
) -> dict[str, Shape]:
    """The shapes to show a twin for. `known` has static arguments of an earlier call, for parameters without default.
    With `words`, string parameters vary by lane, and take those strings and the others that the function asks for.

    Raises TypeError for a static parameter or a string without any known value, ValueError for wrong kinds.
    """
    shapes = _shapes(fn, parameters, options, kinds, known, words)
    while words is not None and any(isinstance(shape, Labels) for shape in shapes.values()):
        try:
            specialised(fn, shapes, options)
        except UnknownWordsError as unknown:
            if words.learn(unknown.words):
                for name in unknown.words:
                    shapes[name] = Labels(words.table(name, cast("Labels", shapes[name]).table))
                continue
            return _shapes(fn, parameters, options, kinds, known, None)
        except FlattenError:
            return _shapes(fn, parameters, options, kinds, known, None)
        break
    return shapes


def _shapes(
    fn: FunctionType, parameters: Parameters, options: Options, kinds: str | Sequence[str] | None,
    known: dict[str, Shape], words: Words | None,
) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    fixed = _fixed_by_callable(parameters)
    receiver = _receiver(fn)
    lanes: list[str] = []
    notes = notes_of(fn)
    for name, parameter in parameters.signature.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            shapes[name] = Record(tuple, (), tuple(map(Fixed, fixed.get(name, ()))))
        elif parameter.kind is parameter.VAR_KEYWORD:
            shapes[name] = Fixed(fixed.get(name, {}))
        elif name in fixed:
            shapes[name] = Fixed(fixed[name])
        elif receiver is not None and name == parameters.names[0]:
            shapes[name] = receiver
        elif name in options.static:
            shapes[name] = _static_shape(name, parameter, parameters.name, known)
        elif words is not None and (objects := _objects(parameters, name, notes.get(name), known.get(name), words)):
            shapes[name] = objects
            if parameter.annotation is parameter.empty:
                lanes.append(name)
        elif parameter.default is parameter.empty and notes.get(name) in (str, "str"):
            shapes[name] = _static_shape(name, parameter, parameters.name, known, "string")
        elif parameter.default is parameter.empty and (record := _declared_record(notes.get(name))) is not None:
            shapes[name] = record
        elif (shape := _default_shape(parameter)) is None:
            shapes[name] = Fixed(parameter.default)
        else:
            shapes[name] = shape
            lanes.append(name)
    if kinds is not None:
        shapes.update(zip(lanes, parse_kinds(kinds, lanes), strict=True))
    return shapes


def _objects(parameters: Parameters, name: str, note: object, known: Shape | None, words: Words) -> Labels | None:
    """What a parameter holds by lane: by the last call, or else by the annotation, or what the function does with a
    parameter that has no default."""
    if isinstance(known, Labels):
        return known
    if known is not None or parameters.signature.parameters[name].default is not inspect.Parameter.empty:
        return None
    if isinstance(note, type) and issubclass(note, enum.Enum):
        return None if issubclass(note, enum.Flag | int) or len(note) > MAX_WORDS else Labels((*note,))
    if not parameters.takes_string(name):
        return None
    optional = "None" in str(note) or "Optional" in str(note)
    return Labels(words.table(name, (None,) if optional else ()))


def _declared_record(annotation: object) -> Record | None:
    """Lanes for the fields of an annotation that is a namedtuple or dataclass."""
    if not isinstance(annotation, type):
        return None
    try:
        shape = result_shape(annotation)
    except ValueError:
        return None
    return shape if isinstance(shape, Record) else None


def _fixed_by_callable(parameters: Parameters) -> dict[str, Any]:
    bound = parameters.signature.bind_partial(*parameters.prefix, **parameters.preset)
    return dict(bound.arguments)


def _receiver(fn: FunctionType) -> Shape | None:
    """The shape of self for a method that is shown without an object: lanes for the fields of a dataclass or
    namedtuple, else for the attributes that __init__ stores. None for other functions."""
    _, cls, descriptor = owner_of(fn)
    if cls is None or isinstance(descriptor, staticmethod) or not fn.__code__.co_argcount:
        return None
    if isinstance(descriptor, classmethod):
        return Fixed(cls)
    fields = getattr(cls, "_fields", None) or _stored_by_init(cls)
    notes = {name: note for base in reversed(cls.__mro__) for name, note in inspect.get_annotations(base).items()}
    return Record(cls, tuple(fields), tuple(_annotated_shape(notes.get(name)) or Leaf(FLOAT) for name in fields))


def _stored_by_init(cls: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(cls):
        return tuple(f.name for f in dataclasses.fields(cls))
    inits = [base.__dict__.get("__init__") for base in reversed(cls.__mro__)]
    code = [step for init in inits if inspect.isfunction(init) for step in dis.get_instructions(init)]
    return tuple(dict.fromkeys(step.argval for step in code if step.opname == "STORE_ATTR"))


def _annotated_shape(annotation: object) -> Shape | None:
    return _KINDS.get(annotation if isinstance(annotation, str) else getattr(annotation, "__name__", ""))


def _static_shape(name: str, parameter: inspect.Parameter, function: str, known: dict[str, Shape],
                  what: str = "static argument") -> Fixed:
    if parameter.default is not parameter.empty:
        return Fixed(parameter.default)
    shape = known.get(name)
    if isinstance(shape, Fixed):
        return shape
    raise TypeError(f"the code of {function} depends on the {what} {name!r}, which has no default: "
                    f"call the twin once{' with one string' * (what == 'string')}, or show "
                    f"pyflat.twin(functools.partial(f, {name}=...)), on the command line --static {name}=...")


def _default_shape(parameter: inspect.Parameter) -> Shape | None:
    """What a parameter is as a lane, None when its default is no number."""
    default = parameter.default
    known = Leaf(FLOAT) if default is parameter.empty else shape_of_number(default)
    return None if known is None else _annotated_shape(parameter.annotation) or known


def shape_of_number(value: object) -> Shape | None:
    """What a number is as a lane, None for other objects."""
    if isinstance(value, complex):
        return COMPLEX
    kind = kind_of(value)
    return None if kind is None else Leaf(kind)


def parse_kinds(kinds: str | Sequence[str], lanes: Sequence[str]) -> list[Shape]:
    """Kinds written as "f8,i8,b" or ("float", "int", "bool"), one for each lane parameter."""
    if not isinstance(kinds, Sequence):
        raise TypeError(f"kinds={kinds!r}: expected one string, as \"f8,i8\", or a sequence of words")
    words = [word.strip() for word in kinds.split(",")] if isinstance(kinds, str) else list(kinds)
    for word in words:
        if word not in _KINDS:
            raise ValueError(f"kinds={kinds!r}: {word!r} is not a kind; the kinds are f8, i8, b and c16")
    if len(words) != len(lanes):
        raise ValueError(f"kinds={kinds!r}: {len(words)} kinds for {len(lanes)} lane parameters ({', '.join(lanes)})")
    return [_KINDS[word] for word in words]


def _is_one_of(given: object, names: Collection[str]) -> bool:
    """Not for an array, which is compared item by item."""
    return isinstance(given, str) and given in names


def of_kernel(version: Any, stage: str | None) -> Listing:
    """The text of a kernel over arrays in Python: for the NumPy target the code that runs, for others its loops; or one
    of its stages."""
    from pyflat.ir.print import format_function
    from pyflat.targets.numpy.kernels.engine import sourced_lines

    if stage is not None and not _is_one_of(stage, ("captured", "structured", "kernel")):
        raise ValueError(f"stage={stage!r}: a kernel over arrays has \"captured\", \"structured\" and \"kernel\"")
    if stage == "captured":
        return Listing(version.kernel.captured.source)
    if stage is None:
        text = getattr(version.compiled, "source", None)
        return Listing(text or "\n".join(sourced_lines(version.kernel, lanes=False)) + "\n")
    return Listing(format_function(version.kernel.source if stage == "structured" else version.kernel.function))


@with_room
def listing(
    fn: FunctionType, shapes: dict[str, Shape], options: Options, *, stage: Stage | None, target: str, name: str,
    faults: bool = False,
) -> Listing:
    """The text of one stage; the twin itself when `stage` is None, with `faults` its test for lanes beside it."""
    if stage is not None and not _is_one_of(stage, STAGES):
        raise ValueError(f"stage={stage!r}: expected one of {', '.join(map(repr, STAGES))}, or None for the twin")
    if stage == "kernel":
        raise ValueError(f"stage='kernel': {name} is not a kernel over arrays here; name its array parameters, as "
                         f'kinds="f8[:,:],i8"')
    chosen = targets.find(target)
    if chosen is None or not chosen.shows:
        raise ValueError(f"target={target!r}: expected one of {', '.join(map(repr, targets.having('shows')))}")
    if faults and (stage is not None or not chosen.python):
        raise ValueError("faults=True shows the twin in Python with its test: it cannot be combined with stage=, or "
                         "with targets that are not shown in Python")
    if stage is None and not chosen.python:
        return _own_text(fn, shapes, options, chosen)
    from pyflat.ir.print import format_function
    from pyflat.targets.text import globals_needed, standing_alone
    text_target = cast("TextTarget", target if chosen.python else targets.NEUTRAL)
    if stage in ("captured", "structured"):
        spec = specialised(fn, shapes, options)
        return Listing(spec.captured.source if stage == "captured" else format_function(spec.function))
    done = flatten(fn, shapes, options)
    if stage == "flat":
        return Listing(format_function(done.flat))
    if stage == "suspect":
        return Listing(standing_alone(_suspect(done, text_target, name), {}))
    text = with_notes(_text(done, text_target, name), done.spec.function, done.spelled)
    text = beside(text, _suspect(done, text_target, name)) if faults else text
    return Listing(standing_alone(text, globals_needed(done.spec)))


def _own_text(fn: FunctionType, shapes: dict[str, Shape], options: Options, target: Target) -> Listing:
    """The text that the target itself makes."""
    require_format(fn, target, options)
    if target.structured:
        spec = keep_loops(fn, shapes)
        return Listing(target.text(Request(spec.function, spec, shapes)))
    done = flatten(fn, shapes, options)
    return Listing(target.text(Request(done.spelled, done.spec, shapes, options.errors == "unchecked")))


def _suspect(done: FlatForm, target: TextTarget, name: str) -> str:
    from pyflat.passes.pipelines import engine, run
    from pyflat.targets.text import render_suspect

    name = name.removesuffix("_flat") + "_suspect"
    return render_suspect(done.spec, run(done.spelled, engine()), target=target, name=name)


def _text(done: FlatForm, target: TextTarget, name: str) -> str:
    from pyflat.passes.pipelines import ENDING, VALUES, run
    from pyflat.targets.text import render

    shown = run(done.spelled, VALUES if target == targets.NEUTRAL else ENDING)
    return render(done.spec, shown, target=target, name=name)


@dataclasses.dataclass(frozen=True, slots=True)
class MadeFunction:
    """A function made from a text, and what the text depends on."""

    function: Callable[..., Any]
    options: Options
    guards: Guarded

    def holds(self, options: Options) -> bool:
        return options == self.options and self.guards.stale() is None


@with_room
def make_function(fn: FunctionType, shapes: dict[str, Shape], options: Options, name: str) -> MadeFunction:
    """A function that is the NumPy text of the twin; inspect.getsource, tracebacks and pdb find it in linecache."""
    from pyflat.targets.text import globals_needed

    done = flatten(fn, shapes, options)
    text = _text(done, "numpy", name)
    file = f"<pyflat {name} {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": f"pyflat.{name}", **globals_needed(done.spec)}
    exec(compile(text, file, "exec"), namespace)
    return MadeFunction(namespace[name], options, done.spec.guards)


# --- what a printed twin says of the lanes that it does not answer for, and its test for them beside it

MOST = 20
"""Places that are named."""
WIDTH = 100


def with_notes(text: str, structured: Function, flat: Function) -> str:
    """The text with comments, below its title, of where `flat` may raise, and of powers of ints that are floats."""
    notes = [f"# always a float, since its exponent may be negative: line {place.line}  {place.text}"
             for place in float_powers(structured)]
    places = _places(flat)
    if places:
        notes.append("# not valid where the original raises or an int exceeds 64 bits, in")
    notes += [f"#   {place}" for place in places[:MOST]]
    if len(places) > MOST:
        notes.append(f"#   and {len(places) - MOST} more places")
    lines = text.split("\n")
    end = next(k for k, line in enumerate(lines) if not line.startswith("#"))
    return "\n".join([*lines[:end], *notes, *lines[end:]])


def _places(flat: Function) -> list[str]:
    """Exception, line and its text, once each and in the order of the program."""
    found: dict[str, None] = {}
    for op in all_ops(flat.body):
        if op.opcode != "fault" or (fault := op.attr("fault")) == TRIP_LIMIT:
            continue
        span = fault.span or op.span
        where = "" if span is None else f"{os.path.basename(span.file)}:{span.line}"
        line = "" if span is None else linecache.getline(span.file, span.line).strip()
        found[f"{where}  {fault.type}: {line}"[:WIDTH].strip(": ")] = None
    return list(found)


def beside(text: str, test: str) -> str:
    """Two modules as one: the imports and constants of both, and both functions."""
    _, first, function = _taken_apart(text)
    title, _, _ = _taken_apart(text)
    _, second, other = _taken_apart(test)
    more = [line for line in second if line not in first]
    return "\n".join([*title, *first, *more, *([""] * bool(more)), *function, "", *other])


def _taken_apart(text: str) -> tuple[list[str], list[str], list[str]]:
    """The comment at the top, imports and constants, the function with its decorator."""
    lines = text.rstrip("\n").split("\n")
    top = next(k for k, line in enumerate(lines) if not line.startswith("#"))
    start = next(k for k, line in enumerate(lines) if line.startswith(("@", "def ")))
    return lines[:top], lines[top:start], [*lines[start:], ""]
