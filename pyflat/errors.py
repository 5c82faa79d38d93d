"""Every refusal of pyflat: one exception class, stable codes, and a rendered message with a place and a remedy.

A refusal says what construct it is about (in the user's words), where it stands, why it cannot become a
select, and what to write instead. The table `CODES` is the one list of codes; the docs page is made from it.
"""

from __future__ import annotations

import linecache
import os
from dataclasses import dataclass
from typing import NamedTuple

try:
    from pyflat._version import __version__ as _installed  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # a checkout from which nothing was installed
    _installed = "0+unknown"
__version__: str = _installed
PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
"""Where pyflat's own files are: no place that a message or warning should name."""


class Span(NamedTuple):
    """A region of a source file: 1-based lines, 0-based columns, end exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column + 1}"


class Note(NamedTuple):
    """A related place, e.g. the call through which a helper was inlined."""

    message: str
    span: Span | None = None


class Code(NamedTuple):
    """A row of the refusal table: what the code means in general."""

    title: str
    why: str
    help: str


CODES: dict[str, Code] = {}


def _code(name: str, title: str, why: str, help: str) -> None:
    CODES[name] = Code(title, why, help)


_code("flatten/source-missing", "the source of the function cannot be read",
      "pyflat reads the text of the function; a compiled function or one made by exec without a file has none",
      "define the function in a file or a notebook cell; where `exec`, `-c`, a script on stdin or the prompt of Python "
      "before 3.13 has kept no text, pass it: `pyflat.twin(fn, source=text)`")
_code("flatten/source-changed", "the text of the function is not the one that it was compiled from",
      "pyflat reads the text of the function from its file; where the file was edited after the import, or something "
      "else than its import hook has rewritten the code, text and function are two programs",
      "import the edited module anew (importlib.reload, a new process) and flatten the function that it has now")
_code("flatten/not-a-function", "this object is not a Python function",
      "only functions written in Python can be flattened",
      "pass a def or lambda, a bound method, or a functools.partial of one")
_code("flatten/unsupported-statement", "this statement cannot be done for each element",
      "a twin computes one value for each element and has no other effects",
      "move the statement out of the flattened function")
_code("flatten/unsupported-expression", "this expression cannot be flattened",
      "a twin computes with numbers: it is made of arithmetic, comparisons and selects",
      "rewrite it with numbers, tuples and supported functions; in a kernel, as a loop over the elements of the array")
_code("flatten/while-unbounded", "the number of iterations is not known while flattening",
      "straight-line code needs the trip count; here it depends on the data",
      "leave out loops=\"unroll\", or use `for _ in range(LIMIT)` with a constant limit and `break` when done")
_code("flatten/loop-too-long", "unrolling exceeds the limit",
      "every iteration becomes straight-line code",
      "raise max_unroll=, make the constant bound smaller, or leave out loops=\"unroll\"")
_code("flatten/iterable-not-static", "the loop does not run over something known while flattening",
      "a loop runs over range, tuples, lists, dicts, arrays, enumerate, zip and reversed",
      "loop over range(...) or a sequence")
_code("flatten/too-large", "the twin would have too many operations",
      "each inlined call and each iteration adds its operations; notes name the loops and helpers that most are of",
      "pass loops=\"masked\", shorten the loop, or flatten the inner function on its own")
_code("flatten/recursion", "the function calls itself without a static end",
      "a call is evaluated in place; a recursion whose end depends on the data never ends in place",
      "write the recursion as a loop; its trips may depend on the data")
_code("flatten/unknown-call", "this call cannot be inlined",
      "it is neither a Python function whose text can be read nor one of the functions that pyflat knows",
      "replace it by arithmetic or a supported function, or pass its result as an argument")
_code("flatten/call-not-runnable", "a call was kept for a backend, and this engine cannot make it",
      "a whitelisted call stays a call; numba cannot make it, NumPy and the interpreter only when they are told how",
      "leave the name out of whitelist=, use a backend that has it, or give Call(name, arrays=...) or python=...")
_code("flatten/fold-residual", "an operation is left that folding should have taken",
      "strict_fold=True asks that nothing is computed whose value is known or is one of its operands",
      "this is a gap in pyflat's folding, not an error of the function: report it, or leave out strict_fold=True")
_code("flatten/unbound-name", "the name is not defined",
      "it is neither a local, nor captured, nor a builtin",
      "define the name before the function is flattened")
_code("flatten/lane-to-object", "a computed value is used where a plain Python object is needed",
      "the value depends on the data, and the operation needs one that is known while flattening",
      "choose between known values (`a if n == 1 else b`), or make the parameter static where it is one value for the "
      "whole call")
_code("flatten/mixed-join", "two paths give values that one variable of the twin cannot hold",
      "arrays of two shapes or dtypes, iterators, and what gets deeper in each turn of a loop have no common form",
      "give arrays one shape and dtype on all paths, and look other objects up by a number")
_code("flatten/list-mutation", "a list or dict changes in a way that depends on the data",
      "the length of a list may depend on the data, but not here; a dict must have the same keys on all paths",
      "use a fixed-size list and assign to its items")
_code("flatten/effect", "an effect in the flattened path",
      "I/O, writes to captured objects, globals and attributes cannot happen once for each element",
      "return the value instead of writing it")
_code("flatten/result-kind", "an array cannot hold such a result",
      "results are numbers, strings, None and objects that the function names, tuples, lists, dicts, namedtuples and "
      "dataclasses of them, and arrays",
      "return numbers of one kind (0.0 beside floats), strings, or a tuple or list of these")
_code("flatten/argument-kind", "an argument cannot be a lane",
      "lanes hold bool, int and float",
      "make the argument static, or pass an array of numbers")
_code("flatten/static-name", "static= names an unknown parameter",
      "only parameters of the function can be static",
      "use the parameter's name")
_code("flatten/int-too-large", "an integer does not fit into 64 bits",
      "int lanes are int64",
      "use a float constant, or keep the value below 2**63")
_code("flatten/not-yet", "this is not built yet",
      "the construct or option is planned, and is refused until it is exact",
      "see the help line of the message")
_code("flatten/generator", "this use of a generator, or a coroutine, cannot be flattened",
      "a twin computes and returns one value for each element, without stops in between",
      "loop over the generator where it is made, return a tuple instead of yielding, pass what would be awaited as an "
      "argument")
_code("flatten/target-operation", "the target has no such operation or constant",
      "the language of the target has fewer functions than Python, or other numbers",
      "rewrite the expression, or run the twin on NumPy or numba")
_code("flatten/target-dtype", "the target does not compute in float32 on purpose",
      "its numbers have a format of their own: only the numpy and numba targets have lanes of float32",
      'leave dtype="float32" out, or run the twin on NumPy or numba')
_code("flatten/target-unchecked", "the target cannot tell in which lanes Python raises",
      "a GPU computes in 32 bits: where Python divides by exactly zero, it may divide by almost zero",
      "add errors=\"unchecked\": lanes in which the original raises then mean nothing")
_code("flatten/memory-mode", "an array that the kernel makes cannot be what memory= asks for",
      "an array is virtual or keeps a few of its rows only where results, exceptions and warnings stay the same",
      "leave it out of memory=; `explain()` says what each array is, and why")
_code("flatten/option", "the option does not go with this form of twin, or with its target",
      "lanes, kernels over arrays and targets differ in what there is to set, and no option is ignored without a word",
      "leave the option out; docs/reference/options.md says what each does where")
_code("flatten/bad-call", "the arguments do not fit the called function",
      "Python would raise TypeError here on every path that reaches it",
      "fix the call")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What a FlattenError says, as data."""

    code: str
    message: str
    span: Span | None
    label: str
    why: str
    help: str
    notes: tuple[Note, ...] = ()
    argument: str = ""
    """The parameter whose argument is no number where one is needed, if that is what is refused."""

    def render(self) -> str:
        lines = [f"{self.message} [{self.code}]"]
        if self.span is not None:
            lines += _snippet(self.span, self.label)
        lines.append(f"  why:  {self.why}")
        lines.append(f"  help: {self.help}")
        for note in self.notes:
            where = f" at {note.span}" if note.span else ""
            lines.append(f"  note: {note.message}{where}")
        return "\n".join(lines)


def _snippet(span: Span, label: str) -> list[str]:
    text = linecache.getline(span.file, span.line).rstrip("\n")
    head = [f"  --> {span}"]
    if not text.strip():
        return head
    end = span.end_column if span.end_line == span.line else len(text)
    caret = " " * span.column + "^" * max(1, end - span.column)
    gutter = f"{span.line:5d} | "
    return [*head, gutter + text, " " * 5 + " | " + caret + (f" {label}" if label else "")]


class FlattenError(Exception):
    """A function, call or option that pyflat refuses; `.code` is stable, `.diagnostic` has the parts."""

    def __init__(self, diagnostic: Diagnostic):
        super().__init__(diagnostic.render())
        self.diagnostic = diagnostic

    @property
    def code(self) -> str:
        return self.diagnostic.code

    def __reduce__(self) -> tuple[type[FlattenError], tuple[Diagnostic]]:
        return type(self), (self.diagnostic,)


def refuse(
    code: str,
    message: str,
    span: Span | None = None,
    *,
    label: str = "",
    why: str = "",
    help: str = "",
    notes: tuple[Note, ...] = (),
    argument: str = "",
) -> FlattenError:
    """The FlattenError for `code`; `why` and `help` default to the table's general sentences."""
    row = CODES[code]
    return FlattenError(Diagnostic(code, message, span, label, why or row.why, help or row.help, notes, argument))


class InternalError(AssertionError):
    """A bug of pyflat, not of the user: the message shows the IR and marks the offending line."""
