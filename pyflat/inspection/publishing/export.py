"""Twins as a file of NumPy text for a library that does not need pyflat at run time.

    # Made by `pyflat export` (pyflat 0.1.0) from functions of a library: change those, and make it again.
    # SPDX-License-Identifier: MIT
    # body: 51c0...                             a hash of all that follows the header: changes are seen
    # twin: mylib.heat:index kinds=f8,f8
    # of 3c5e...: mylib.heat:index mylib.heat:_saturation mylib.heat:LIMIT
                                                a hash of these functions' source texts and these values
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib
import inspect
import itertools
import linecache
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from pyflat.errors import __version__
from pyflat.frontend.callables import Parameters, unwrap
from pyflat.frontend.state.guards import ABSENT, Guards
from pyflat.inspection.listing import argument_shapes
from pyflat.inspection.publishing import around
from pyflat.inspection.publishing.project import Wanted
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Fault, Op
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.shape import Fixed, Leaf, Record, Shape
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.passes.pipelines import numbered, run
from pyflat.runtime.compiled import FlatForm, flatten
from pyflat.runtime.settings import resolve, settings
from pyflat.targets.text import globals_needed, render_numbered, standing_alone
from pyflat.targets.text.alone import IMPORT, needs_pyflat

MADE = "# Made by `pyflat export`"
_BODY, _TWIN, _OF = "# body: ", "# twin: ", "# of "
_KINDS = {BOOL: "?", INT: "i8", FLOAT: "f8"}
_ARRAYS = {BOOL: "np.bool_", INT: "np.int64", FLOAT: "np.float64"}
_TAKEN = frozenset({"np", "npt", "math", "lanes", "Any", "Sequence", "annotations", *vars(around)})
_MUTABLE = (list, dict, set, np.ndarray)


class NotExported(Exception):
    """Why a function is left out."""


@dataclass(frozen=True)
class Exported:
    """One function of a file: what was asked for, its text, and what it was made of."""

    wanted: Wanted
    name: str
    text: str
    parts: tuple[str, ...]


def export(wanted: Wanted, fn: Callable[..., Any]) -> Exported:
    """The text of the twin of `fn`. Raises NotExported, and FlattenError where it cannot be flattened."""
    callee = unwrap(fn)
    function = callee.function
    name = function.__name__
    if not name.isidentifier() or name in _TAKEN:
        raise NotExported(f"a file of NumPy text can have no function that is called {name}")
    options = resolve(settings({"target": "numpy", "errors": "raise", "math": "exact", "dtype": "float64"}))
    parameters = Parameters(callee, name)
    try:
        shapes = argument_shapes(function, parameters, options, wanted.kinds or None, {})
    except (TypeError, ValueError) as error:
        raise NotExported(" ".join(str(error).split())) from error
    done = flatten(function, shapes, options)
    if done.spec.opaque.entries or any(op.opcode == "call" for op in all_ops(done.flat.body)):
        raise NotExported("it makes calls that stay calls")
    parts = tuple(_parts(function, done.spec.guards, wanted.frozen))
    return Exported(wanted, name, _text(function, parameters, done, f"{function.__module__}:{name}"), parts)


# --- the text of one function
def _text(function: FunctionType, parameters: Parameters, done: FlatForm, spec: str) -> str:
    head, kinds = _head(parameters, done.spec.arguments)
    returns = _annotation(done.spec.result)
    if globals_needed(done.spec):
        raise NotExported(f"its results are made of objects ({', '.join(globals_needed(done.spec))})")
    opcodes = {op.span: op for op in all_ops(done.spec.function.body) if op.span and OPERATIONS[op.opcode].faults}
    faults = [op for op in all_ops(done.spelled.body) if op.opcode == "fault"]
    raised = [_raised(op.attr("fault"), opcodes.get(op.attr("fault").span), spec) for op in faults]
    each = list(dict.fromkeys(raised))
    numbers = {op: each.index(what) + 1 for op, what in zip(faults, raised, strict=True)}
    text = render_numbered(done.spec, run(done.spelled, numbered(numbers)), name=function.__name__)
    if needs_pyflat(text):
        raise NotExported(f"NumPy and math have no function for its {', '.join(sorted(needs_pyflat(text)))}")
    if re.search(rf"\b({'|'.join(_PRINTED)}|_shape)\b", text):
        raise NotExported("it has a variable that is called as a function of the file is")
    module = ast.parse(text)
    lines = text.split("\n")
    written, last = module.body[-1], module.body[-1].body[-1]  # type: ignore[attr-defined]
    assert isinstance(written, ast.FunctionDef) and isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)
    documented = ast.get_docstring(written) is not None
    start = written.body[0].end_lineno if documented else written.body[0].lineno - 1
    value, code = (ast.get_source_segment(text, part) or "" for part in last.value.elts)
    globals_of = [node for node in module.body if isinstance(node, ast.Assign)]
    aliases = [lines[node.lineno - 1] for node in globals_of if isinstance(node.value, ast.Name)]
    constants = [f"    {lines[node.lineno - 1]}" for node in globals_of if not isinstance(node.value, ast.Name)]
    names = ", ".join(["_shape", *(each.partition(": ")[0] for each in kinds)])
    returned = [f"    return _results(_shape, {value}" + (")" if code == "0" else f", {code}, (")]
    rows = [f"        ({error}, {message!r})," for error, message in each]
    said = (function.__doc__ or "").strip().split("\n")[0]
    return "\n".join([
        *aliases, *[""] * bool(aliases),
        '@np.errstate(all="ignore")',
        f"def {function.__name__}({head}) -> {returns}:",
        *([f"    {_docstring(said)}"] * bool(said)),
        f"    {names} = _arguments({', '.join(kinds)!r}, {names.partition(', ')[2]})".replace("'", '"'),
        *constants, *lines[start:last.lineno - 1], *returned, *([*rows, "    ))"] if code != "0" else [])])


def _docstring(line: str) -> str:
    return repr(line) if "\\" in line or '"' in line else f'"""{line}"""'


def _head(parameters: Parameters, shapes: dict[str, Shape]) -> tuple[str, list[str]]:
    """Parameters that are lanes, and "name: kind" of each. Those behind one that is left out are keywords."""
    written: list[str] = []
    kinds: list[str] = []
    left_out, marked = False, False
    found = parameters.signature.parameters.values()
    for place, each in enumerate(found):
        shape = shapes[each.name]
        if isinstance(shape, Fixed) or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            left_out = left_out or each.name not in (*parameters.preset, *parameters.names[:len(parameters.prefix)])
            left_out = left_out or each.name in parameters.preset
            continue
        if not (isinstance(shape, Leaf) or isinstance(shape, Record) and shape.cls is complex):
            raise NotExported(f"its parameter {each.name} is no number")
        if not marked and (left_out or each.kind is each.KEYWORD_ONLY):
            written.append("*")
            marked = True
        kinds.append(f"{each.name}: {_KINDS[shape.kind] if isinstance(shape, Leaf) else 'c16'}")
        default = "" if each.default is each.empty else f" = {_number(each.default)}"
        written.append(f"{each.name}: npt.ArrayLike{default}")
        last = [other.kind for other in found][place + 1:place + 2] != [each.POSITIONAL_ONLY]
        written += ["/"] * (each.kind is each.POSITIONAL_ONLY and last and not marked)
    if not kinds:
        raise NotExported("none of its parameters is a number")
    return ", ".join(written), kinds


def _number(value: Any) -> str:
    return repr(value) if isinstance(value, complex) or math.isfinite(value) else f'float("{value!r}")'


def _annotation(shape: Shape) -> str:
    """The type of results. `| Any`: numbers, where numbers were given."""
    match shape:
        case Leaf():
            return f"npt.NDArray[{_ARRAYS[shape.kind]}] | Any"
        case Fixed(value=bool() | int() | float() | str()):
            return "Any"
        case Record(cls=cls) if cls in (complex, np.uint64):
            return f"npt.NDArray[np.{'complex128' if cls is complex else 'uint64'}] | Any"
        case Record(cls=cls) if cls in (tuple, list, dict):
            inner = [_annotation(item) for item in shape.items]
            if cls is tuple:
                return f"tuple[{', '.join(inner)}]" if inner else "tuple[()]"
            return "list[Any]" if cls is list else "dict[str, Any]"
    raise NotExported("its results are no numbers, tuples, lists or dicts of numbers")


# --- what lanes raise
_DOMAIN = ("ValueError", "math domain error")
_ZERO = ("ZeroDivisionError", "division by zero")
_CERTAIN = {"zero_divisor": _ZERO, "floordiv": _ZERO, "index": ("IndexError", "index out of range"),
            "negative_count": ("ValueError", "negative shift count"), "fmod": _DOMAIN, "overflow": ("OverflowError", "math range error")}
"""What Python raises where the rule of an operation holds; of others it depends."""


def _raised(fault: Fault, op: Op | None, spec: str) -> tuple[str, str]:
    """The name of a built-in exception, and what it says. Raises NotExported for exceptions of a library."""
    place = fault.span
    line = linecache.getline(place.file, place.line).strip() if place else ""
    said = _raise_statement(fault, spec)
    if said is not None:
        return said
    rule = OPERATIONS[op.opcode].faults if op is not None else None
    if rule and isinstance(rule, tuple):
        return _DOMAIN
    if isinstance(rule, str) and rule in _CERTAIN:
        return _CERTAIN[rule]
    doubt = f"{spec} raises here, or computes what no lane holds (an int beyond 64 bits): {fault.message or line}"
    cls = getattr(builtins, fault.type, None)
    if op is None and isinstance(cls, type) and issubclass(cls, Exception) and not fault.message.startswith("returns "):
        return fault.type, fault.message or line
    return "OverflowError" if op is not None and op.kind is INT and rule != "int_range" else "ArithmeticError", doubt


def _raise_statement(fault: Fault, spec: str) -> tuple[str, str] | None:
    """What a `raise` or `assert` in the source says; None where none is there."""
    place = fault.span
    if place is None:
        return None
    text = "".join(linecache.getlines(place.file)[place.line - 1:place.end_line])
    try:
        (node,) = ast.parse(textwrap.dedent(text)).body
    except (SyntaxError, ValueError):
        return None
    if isinstance(node, ast.Assert):
        given = [node.msg] if node.msg is not None else []
        name = "AssertionError"
    elif isinstance(node, ast.Raise):
        called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        given = node.exc.args if isinstance(node.exc, ast.Call) else []
        name = called.id if isinstance(called, ast.Name) else "another exception"
    else:
        return None
    scopes = [vars(module) for module in list(sys.modules.values()) if getattr(module, "__file__", "") == place.file]
    cls = getattr(builtins, name, None)
    if not isinstance(cls, type) or not issubclass(cls, Exception) or any(name in scope for scope in scopes):
        raise NotExported(f"it raises {name}, which is no exception of Python's own: "
                          f"{textwrap.shorten(text, 80)}")
    words = [part.value for part in given if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return name, words[0] if len(words) == len(given) == 1 else "" if not given else f"{spec}: {ast.unparse(node)}"


# --- what a function is made of
def _parts(function: FunctionType, guards: Guards, frozen: bool) -> Iterator[str]:
    """The names of functions and values that went into a twin, "module:name"; "module:" for the whole of one of which
    a part has no name."""
    functions = {id(function): function}
    functions.update((id(fn), fn) for note in guards.journal if note.method == "code" and (fn := note.owner()))
    keywords = [fn.__kwdefaults__ for fn in functions.values()]
    held = [note.owner for note in guards.journal if note.method == "contents"]
    mutable = [value for value in held if isinstance(value, _MUTABLE) and all(value is not each for each in keywords)]
    if mutable and not frozen:
        raise NotExported(f"it reads a {type(mutable[0]).__name__} that may change; make it a tuple, or say that it "
                          f"does not: frozen = true")
    for fn in functions.values():
        if not _is_foreign(fn.__module__):
            yield _named(fn.__module__, fn.__qualname__, fn)
    for reading in guards.readings():
        module = reading.owner.get("__name__") if isinstance(reading.owner, dict) else \
            reading.owner.__name__ if isinstance(reading.owner, ModuleType) else None
        if isinstance(reading.value, FunctionType | ModuleType | type) or reading.value is ABSENT:
            continue
        if module is not None and not _is_foreign(module):
            yield _named(module, reading.name, reading.value)


def _is_foreign(module: str) -> bool:
    return module.partition(".")[0] in (*sys.stdlib_module_names, "numpy", "pyflat")


def _named(module: str, name: str, value: object) -> str:
    return f"{module}:{name}" if _find(f"{module}:{name}") is value else f"{module}:"


def _find(part: str) -> Any:
    module, _, path = part.partition(":")
    try:
        found: Any = sys.modules.get(module) or importlib.import_module(module)
        for name in path.split(".") if path else ():
            found = getattr(found, name)
    except (ImportError, AttributeError, ValueError):
        return ABSENT
    return found.__func__ if isinstance(found, staticmethod | classmethod) else getattr(found, "__wrapped__", found)


def _digest(parts: Iterable[str]) -> str:
    """Of the source texts of these functions, and of these values, as they are now."""
    return _hash("\0".join(map(_content, parts)))


def _content(part: str) -> str:
    found = _find(part)
    try:
        return inspect.getsource(found) if isinstance(found, FunctionType | ModuleType) else _shown(found)
    except (OSError, TypeError):
        return "gone"


def _shown(value: Any) -> str:
    return value.dtype.str + value.tobytes().hex() if isinstance(value, np.ndarray) else repr(value)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


# --- the file
_PRINTED = ("_arguments", "_results", "_spread")


def file_text(functions: Sequence[Exported], licence: str) -> str:
    """The text of a file with these functions, whose names differ."""
    whole = "\n\n\n".join([*(inspect.getsource(getattr(around, name)).rstrip() for name in _PRINTED),
                           *(each.text for each in functions)])
    imports = [["from __future__ import annotations"],
               ["from collections.abc import Sequence", "from typing import Any"], ["import numpy as np", "import numpy.typing as npt"], [IMPORT] * ("lanes." in whole)]
    text = "\n\n".join("\n".join(group) for group in imports if group) + f"\n\n\n{whole}\n"
    text = standing_alone(text, {}).replace("import math\n\nimport numpy as np", "import numpy as np")
    if re.search(r"\bmath\.", text):
        text = text.replace("from collections.abc import", "import math\nfrom collections.abc import", 1)
    head = [f"{MADE} (pyflat {__version__}) from functions of a library: change those, and make it again.",
            *([f"# SPDX-License-Identifier: {licence}"] if licence else []),
            "# mypy: ignore-errors", "# ruff: noqa", f"{_BODY}{_hash(text)}"]
    for each in functions:
        head += [f"{_TWIN}{each.wanted}", f"{_OF}{_digest(each.parts)}: {' '.join(each.parts)}"]
    return "\n".join(head) + "\n" + text


@dataclass(frozen=True)
class Written:
    """What an exported file says of itself. `changed`: it was not made by `pyflat export`, or was changed since."""

    made: dict[str, tuple[str, tuple[str, ...]]]
    changed: bool

    def stale(self, wanted: Wanted) -> str:
        """Why a function has to be exported again; "" where it has not."""
        if str(wanted) not in self.made:
            return "is not there"
        digest, parts = self.made[str(wanted)]
        return "" if _digest(parts) == digest else "has changed, or what it calls or reads"


def read(text: str) -> Written:
    """The header of a file."""
    head, _, body = text.partition("\nfrom __future__ import annotations\n")
    lines = head.split("\n")
    body = f"from __future__ import annotations\n{body}"
    known = lines[0].startswith(MADE) and f"{_BODY}{_hash(body)}" in lines
    made = {}
    for line, after in itertools.pairwise(lines):
        if line.startswith(_TWIN) and after.startswith(_OF):
            digest, _, parts = after.removeprefix(_OF).partition(": ")
            made[line.removeprefix(_TWIN)] = digest, tuple(parts.split())
    return Written(made, not known)
