"""Kernels over arrays in an extension: their machine code, and what C (`kernels.c`) and Python (`run_kernels`) do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pyflat.frontend.callables import Parameters, unwrap
from pyflat.inspection.publishing import run_kernels
from pyflat.inspection.publishing.export import NotExported, changing_readings, keywords, parts_of
from pyflat.inspection.publishing.project import Shipped
from pyflat.ir.kernel_results import ArrayResult, ChoiceResult, ConstantResult, NumberResult, RecordResult, Result
from pyflat.ir.memory import ArrayArgument
from pyflat.ir.shape import Leaf
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.runtime.kernels import _DTYPES, MAX_OVERLAP_WORK, Kernels, parsed_kinds
from pyflat.runtime.settings import resolve, settings
from pyflat.runtime.shown_warnings import _actions

if TYPE_CHECKING:
    from pyflat.inspection.publishing.build import BuiltLoop
    from pyflat.targets.numba.kernels.engine import NumbaKernel
    from pyflat.targets.numba.objects import LoopVersion, Objects

_C = Path(__file__).with_name("kernels.c")
_OBJECTS = {id(eval(text)): text for text in ("np.ndarray", "True", "False", "None", "NotImplemented", "...", "float",
                                              "int", "bool", *(f"np.dtype('{dtype}')" for dtype in _DTYPES))}
"""What tables have the addresses of."""


def build_kernel(before: Sequence[BuiltLoop], wanted: Shipped, fn: Callable[..., Any], objects: Objects
                 ) -> tuple[dict[str, Any], tuple[str, ...], list[LoopVersion]]:
    """What Python is told, what went into it, and its machine code. Raises as `Extension.add`, and ValueError."""
    from pyflat.targets.numba.kernels import boxed
    callee = unwrap(fn)
    parameters = Parameters(callee, callee.function.__name__)
    left = [each.replace(annotation=each.empty) for name, each in parameters.signature.parameters.items()
            if name not in parameters.preset and type(each.default) in (type, bool, int, float)]  # others keep theirs
    for one in before:
        same = one.wanted.function == wanted.function and one.wanted.kinds != wanted.kinds and not one.inputs
        if one.name == parameters.name and not same:
            raise NotExported(f"the module has another function {one.name}, for {one.wanted}")
    if wanted.setup or wanted.errors != "raise" or callee.prefix or parameters.extra or parameters.keywords:
        raise NotExported("a kernel over arrays has no setup, no errors, no *args and no **kwargs, and is not a method")
    head, names = inspect.Signature(left), [each.name for each in left]
    given = {name: np.empty((2,) * each.rank, each.dtype) if isinstance(each, ArrayArgument)
             else {FLOAT: 0.0, INT: 0, BOOL: False}[cast("Leaf", each).kind]
             for name, each in parsed_kinds(wanted.kinds, names).items()}
    made = Kernels(callee, parameters, lambda *_: None).version({**parameters.preset, **given}, resolve(settings(
        {"target": "numba", "math": wanted.math, "static": tuple(parameters.preset)})))
    kernel, compiled = made.kernel, cast("NumbaKernel", made.compiled)
    if changing := changing_readings(callee.function, kernel.guards, wanted.frozen):
        raise NotExported(f"it reads {changing[0][0]}.{changing[0][1]}, which functions assign; if it does not change: "
                          f"{{ function = ..., frozen = true }} in [tool.pyflat]")
    first, count = len(compiled.kinds), len(compiled.kinds + compiled.returned)
    numbers = [f"n[{k}]" for k in range(count)] if count > 1 else ["n"]
    places = {name: f"given[{k}]" for k, name in enumerate(names)} | {
        name: f"made.get({number})" for name, number in zip(compiled.returned, numbers[first:], strict=False)}
    versions, codes = objects.add_kernel(f"k{len(before)}", kernel, compiled.layouts, compiled.returned)
    ends = [None if any(plan.raises for plan in code.outlined.values()) else code.ends for code in codes]
    saved = [{each for end in ends for each in kernel.undone(end, strict=strict)} for strict in (False, True)]
    unused = max(sum(code.kept) + len(code.met) for code in codes)
    calls: list[Any] = [compiled.direct(given, which, watch=watch, release=False) for which, watch in zip(
        (saved[0], *saved, ()), (False, True, True, True), strict=True)]
    tables = [[_OBJECTS.get(word, word * (at != boxed.KERNEL) + unused * (at == boxed.RESULTS))
               for at, word in enumerate(getattr(call, "call", call).__self__.tolist())] for call in calls]
    return {
        "function": wanted.function, "name": parameters.name, "names": names, "static": dict(wanted.static),
        "keywords": keywords(parameters, names), "reads": [], "kinds": "", "symbol": f"k{len(before)}",
        "tables": tables, "versions": [(each.level, each.follows) for each in versions],
        "result": f"lambda given, n, made: {_written(kernel.result, iter(numbers), places)}",
        "arguments": [(each.dtype.str, each.ndim, name in kernel.written) if isinstance(each, np.ndarray) else
                      ("", 0, False) for name, each in given.items()],
        "strict": made.depends_on_filters, "warns": any(code.warns for code in codes), "waits": made.may_wait,
        "ordered": bool(kernel.models or kernel.in_c_order), "about": inspect.getdoc(callee.function) or "",
        "text": f"def {parameters.name}{head}:\n    return call({', '.join(names)})",
        "sites": [("u1", 1), *((op.attr("dtype") or "u1", len(op.args) - 1) for op in codes[0].sites)],
    }, parts_of(callee.function, kernel.guards, wanted), versions


def source(built: Sequence[BuiltLoop]) -> Iterator[str]:
    """In C, behind extension.c."""
    from pyflat.targets.numba.kernels.boxed import KERNEL

    versions = [version for each in built for version in each.versions]
    yield f"#define KERNEL {KERNEL}\ntypedef struct {{ int dtype, axes; }} Array;"
    yield "PyObject *pyflat_call_kernel(PyObject *, PyObject *const *, Py_ssize_t);"
    yield from (f"extern char {version.symbol};" for version in versions)
    yield from (f"HIDDEN int64_t {state}[WORDS] = {{[FEED] = (int64_t)&pyflat_feed_{version.level}, "
                f"[CONVERSIONS ... WORDS - 1] = LANES}};" for version in versions for state in version.states)
    states = ", ".join([*(state for version in versions for state in version.states), "NULL"])
    rows = [f"(void *const[]){{{', '.join(f'&{version.symbol}' for version in each.versions)}}}" for each in built]
    yield f"static int64_t *const states[] = {{{states}}};"
    yield f"static void *const *const kernels[] = {{{', '.join(rows)}}};"
    yield _C.read_text(encoding="utf-8")
    for each in built:
        sites = ", ".join(f"{{{np.dtype(one).num}, {axes}}}" for one, axes in each.description["sites"])
        yield (f"HIDDEN void *pyflat_allocate_{each.description['symbol']}(int64_t own, int64_t site, int64_t *shape)\n"
               f"{{ return allocate((const Array[]){{{sites}}}, site, shape); }}")


def text(loops: int) -> tuple[str, str]:
    """In Python: what is defined, and what is run when the extension is imported, behind so many loops."""
    names = "part", "overlaps_itself", "overlap", "warnings_are_wanted", "warnings_may_raise"
    called: Any = [_actions, *map(vars(run_kernels).__getitem__, names), run_kernels]
    return ("\n".join([f"import warnings\nMAX_OVERLAP_WORK = {MAX_OVERLAP_WORK}", *map(inspect.getsource, called)]),
            f"    add_kernels(given[0], given[1][{loops}:], found[0][{loops}:], names)")


def _written(result: Result, leaves: Iterator[str], places: dict[str, str]) -> str:
    """An expression for what a call gives (`pyflat.ir.kernel_results.made`)."""
    match result:
        case ConstantResult(value=None | bool() | int() | float() | str() as value):
            return repr(value)
        case NumberResult():
            number, *tags = [next(leaves) + " % 2**64" * (not k and result.unsigned) for k in range(result.leaves())]
            made = [number if dtype is None else f"np.dtype({dtype!r}).type({number}{' % 2**64' * (dtype == 'u8')})"
                    for dtype in result.dtypes]
        case ArrayResult(array=name, axes=axes, rank=rank):
            bounds = ", ".join(next(leaves) for _ in range(result.leaves()))
            return places[name] if axes is None else f"part({places[name]}, [{bounds}], {rank}, {axes})"
        case RecordResult(cls=cls, items=items) if cls in (tuple, list):
            return f"{cls.__name__}([{', '.join(_written(each, leaves, places) for each in items)}])"
        case ChoiceResult(options=options):
            tags = [next(leaves) for _ in options[1:]]
            made = [_written(each, leaves, places) for each in options]
        case _:
            raise NotExported("its result is neither numbers and arrays nor a tuple or list of them")
    return f"({''.join(f'{one} if {tag} else ' for one, tag in zip(made, tags, strict=False))}{made[-1]})"
