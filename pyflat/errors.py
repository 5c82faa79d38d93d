"""Every error of pyflat: one exception class, stable codes, and a rendered message with a place and a remedy.

An error names the construct (in the user's words), its place, why it cannot be translated, and what to write
instead. The table `CODES` is the one list of codes; the docs page is generated from it.
"""

from __future__ import annotations

import linecache
import os
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

try:
    __version__: str = import_module("pyflat._version").__version__
except ImportError:  # a checkout from which nothing was installed
    __version__ = "0+unknown"
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
      "pyflat needs source code; compiled functions, and functions made by exec without a file, do not have any",
      "define the function in a file or a notebook cell, or pass its source (needed with `exec`, `-c`, a script on "
      "stdin, or the prompt of Python before 3.13): `pyflat.twin(fn, source=text)`")
_code("flatten/source-changed", "the source does not match the function",
      "pyflat reads the source from the function's file; the file was edited after the import, or the function's code "
      "was rewritten by something other than its import hook",
      "reload the edited module (importlib.reload, or a new process) and flatten its current function")
_code("flatten/not-a-function", "this object is not a Python function",
      "only functions written in Python can be flattened",
      "pass a def or lambda, a bound method, or a functools.partial of one")
_code("flatten/unsupported-statement", "this statement cannot run for each element",
      "a twin computes one value per element and must not have other effects",
      "move the statement out of the flattened function")
_code("flatten/unsupported-expression", "this expression cannot be flattened",
      "a twin computes with numbers: it consists of arithmetic, comparisons and selects",
      "use numbers, tuples and supported functions; in a kernel, write a loop over the elements of the array")
_code("flatten/while-unbounded", "the iteration count is not known while flattening",
      "a loop can be unrolled only if its iteration count is constant; here it depends on the data",
      "remove loops=\"unroll\", or write `for _ in range(LIMIT)` with a constant limit and `break` when done")
_code("flatten/loop-too-long", "unrolling exceeds the limit",
      "an unrolled loop repeats its code for every iteration",
      "raise max_unroll=, use a smaller constant bound, or remove loops=\"unroll\"")
_code("flatten/iterable-not-static", "pyflat cannot determine what the loop runs over",
      "loops can run over range, tuples, lists, dicts, arrays, enumerate, zip and reversed",
      "loop over range(...) or a sequence")
_code("flatten/too-large", "the twin would have too many operations",
      "each inlined call and each unrolled iteration adds operations; the notes list the largest loops and helpers",
      "pass loops=\"masked\", shorten the loop, or flatten the inner function on its own")
_code("flatten/recursion", "the depth of the recursion depends on the data",
      "calls are inlined, and inlining this recursion would never end",
      "write the recursion as a loop; its iteration count may depend on the data")
_code("flatten/unknown-call", "this call cannot be inlined",
      "pyflat does not know this function, and cannot read its Python source",
      "use arithmetic or a supported function instead, or pass the result as an argument")
_code("flatten/call-not-runnable", "this engine cannot make a whitelisted call",
      "whitelisted calls are not inlined; numba cannot make them, NumPy and the interpreter only if told how",
      "remove the name from whitelist=, use a backend that has it, or give Call(name, arrays=...) or python=...")
_code("flatten/fold-residual", "folding left an operation that it should have removed",
      "strict_fold=True rejects operations whose result is known, or is one of their operands",
      "the function is fine, pyflat's folding is incomplete: report it, or remove strict_fold=True")
_code("flatten/unbound-name", "the name is not defined",
      "it is not a local variable, a captured variable or a builtin",
      "define the name before the function is flattened")
_code("flatten/lane-to-object", "a computed value is used where a plain Python object is needed",
      "the value depends on the data, but the operation needs a value known while flattening",
      "choose between known values (`a if n == 1 else b`), or make the parameter static if it has one value per call")
_code("flatten/mixed-join", "two paths give values that cannot be merged",
      "arrays of different shapes or dtypes, iterators, and objects nested deeper in each iteration cannot be merged",
      "use one shape and dtype for arrays on all paths; look other objects up by a number")
_code("flatten/list-mutation", "a list or dict changes in a way that depends on the data",
      "here, the length of a list must not depend on the data; a dict must have the same keys on all paths",
      "use a fixed-size list and assign to its items")
_code("flatten/effect", "the function has a side effect",
      "I/O, and writes to captured objects, globals and attributes, cannot happen once per element",
      "return the value instead of writing it")
_code("flatten/result-kind", "a result of this kind cannot be stored in an array",
      "results can be numbers, strings, None, objects that the function names, arrays, and tuples, lists, dicts, "
      "namedtuples and dataclasses of them",
      "return numbers of one kind (0.0 with floats, not 0), strings, or a tuple or list of these")
_code("flatten/argument-kind", "an argument cannot be used element by element",
      "elements are bool, int or float",
      "make the argument static, or pass an array of numbers")
_code("flatten/static-name", "static= names an unknown parameter",
      "only parameters of the function can be static",
      "use the parameter's name")
_code("flatten/int-too-large", "an integer does not fit into 64 bits",
      "ints in a twin are int64",
      "use a float constant, or keep the value below 2**63")
_code("flatten/not-yet", "this is not implemented yet",
      "the construct or option is planned, but refused until it is exact",
      "see the help line of the message")
_code("flatten/generator", "this use of a generator, or a coroutine, cannot be flattened",
      "a twin computes one value per element and cannot be suspended",
      "loop over the generator where you create it, return a tuple instead of yielding, or pass the awaited value in "
      "as an argument")
_code("flatten/target-operation", "the target does not support this operation or constant",
      "the target language has fewer functions than Python, or different number types",
      "rewrite the expression, or run the twin on NumPy or numba")
_code("flatten/target-dtype", "the target does not support dtype=\"float32\"",
      "the target has its own number format; only numpy and numba support float32",
      'remove dtype="float32", or run the twin on NumPy or numba')
_code("flatten/target-unchecked", "the target cannot detect where Python raises",
      "a GPU computes in 32 bits: where Python divides by exactly zero, it may divide by almost zero",
      "pass errors=\"unchecked\": elements where the original raises then contain garbage")
_code("flatten/memory-mode", "an array of the kernel cannot be stored as memory= asks",
      "an array can be virtual or a buffer of rows only if results, exceptions and warnings stay the same",
      "remove it from memory=; `explain()` shows how each array is stored, and why")
_code("flatten/option", "the option does not apply to this form of twin or to its target",
      "lanes, kernels and targets support different options, and pyflat does not ignore one silently",
      "remove the option; docs/reference/options.md shows where each option applies")
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
    """A function, call or option that pyflat cannot handle. `.code` is stable; `.diagnostic` has the parts."""

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
    """A bug in pyflat, not in your code. The message shows the IR and marks the offending line."""
