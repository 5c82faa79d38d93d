"""The twin of a function: called with arrays, it returns for every element what the original returns for scalars."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar, Unpack, cast, overload

from pyflat.frontend.callables import Parameters, explain_method_call, unwrap
from pyflat.functions.locks import making
from pyflat.runtime.plans import OwnFrames, Plans
from pyflat.runtime.settings import OptionArguments, Options, Settings, resolve, where_options_go
from pyflat.targets import target as targets

if TYPE_CHECKING:
    import numpy as np

    from pyflat.backend.registered import Registered
    from pyflat.inspection import listing
    from pyflat.inspection.explain import Explanation, KernelExplanation
    from pyflat.inspection.lane_trace import LaneTrace
    from pyflat.inspection.profile import Profile
    from pyflat.inspection.report import Report
    from pyflat.inspection.verify import Verified
    from pyflat.ir.shape import Shape
    from pyflat.runtime import gufuncs, ufuncs
    from pyflat.runtime.calls import Caller
    from pyflat.runtime.compiled import Built
    from pyflat.runtime.faults import Faults
    from pyflat.runtime.interfaces import Stats
    from pyflat.runtime.kernels import Roles
    from pyflat.targets.target import EngineName, ShownName, Target

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class Twin(Generic[P, R_co]):
    """The twin of `original`. Call it with scalars or arrays; they are broadcast together, as in NumPy.

    Python scalars give Python scalars, NumPy scalars and 0-d arrays give NumPy scalars, and arrays give arrays, in the
    structure (tuple, namedtuple, dataclass) that the original returns. `out=` takes arrays for the results, unless the
    function has a parameter of that name (docs/reference/semantics.md). The function is flattened at the first call
    with each combination of argument kinds. If the original raises for an element, the call raises that exception.

    Raises FlattenError if the original cannot be flattened, TypeError for unsupported arguments.
    """

    def __init__(self, original: Callable[P, R_co], settings: Settings):
        callee = unwrap(original)
        function: FunctionType = callee.function
        self.original = original
        self.__wrapped__ = original
        self.__name__ = twin_name(function)
        self.__qualname__ = function.__qualname__.removesuffix(function.__name__) + self.__name__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__ or f"The twin of {function.__qualname__}, over arrays (help(pyflat.Twin))."
        self.settings = settings
        self._callee = callee
        self._plans = Plans()
        self._made: Caller | None = None
        self._function: listing.MadeFunction | None = None
        self._ufunc: ufuncs.MadeUfunc | None = None
        self._gufunc: gufuncs.MadeGufunc | None = None

    @property
    def _caller(self) -> Caller:
        return self._made or self._make_caller()

    def _make_caller(self) -> Caller:
        from pyflat.functions.originals import keep_own

        keep_own()  # before what is imported now
        from pyflat.runtime.calls import Caller
        from pyflat.runtime.compiled import compilations

        with making:
            if self._made is None:
                self._made = Caller(self._callee, self._parameters, compilations(self.original), self._plans,
                                    self.settings)
            return self._made

    @property
    def stats(self) -> Stats:
        """Calls, elements, and elements that fell back to the original, so far."""
        return self._caller.stats

    @cached_property
    def _parameters(self) -> Parameters:
        return Parameters(self._callee, self.__name__)

    @property
    def options(self) -> Options:
        """The current options: those given for this twin, then the surrounding defaults."""
        return resolve(self.settings)

    @overload
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        with OwnFrames(self._callee.function):
            self._check_receiver(args)
            options = resolve(self.settings)
            if options.signature is not None:
                writes = "out" in self._parameters.names
                return self._gufunc_for(options)(args, kwargs, None if writes else kwargs.pop("out", None))
            out = None if self._parameters.takes_out else kwargs.pop("out", None)
            try:
                return self._caller(args, kwargs, options, self, out)
            except TypeError as error:
                for name, value in kwargs.items():
                    if str(error) == f"{self.__name__}() got an unexpected keyword argument {name!r}":
                        raise TypeError(f"{error}{where_options_go(name, value)}") from None
                raise

    def _check_receiver(self, args: Sequence[Any]) -> None:
        """`obj.method.flat(5)` would bind 5 to self."""
        if "." not in self._callee.function.__qualname__ or self._callee.prefix:
            return
        shown = ", ".join(repr(a) if isinstance(a, bool | int | float) else "..." for a in args)
        mistake = explain_method_call(self._callee.function, args, f"({shown})")
        if mistake is not None:
            raise TypeError(mistake)

    @OwnFrames()
    def by_name(self, table: Any, /, **columns: Any) -> Any:
        """Call the twin with the columns of a table: a pandas, Polars or Arrow frame, an xarray Dataset, a dict of
        arrays, or a structured array.

            price.flat.by_name(orders, amount="gross", rate=0.2)

        columns  for each parameter, the name of its column, or the argument itself if it is not a string; default: the
                 column with the parameter's name, then the parameter's default

        A single result is returned as a column, several as a table. Raises TypeError for a parameter without a column.
        """
        from pyflat.runtime import containers

        return containers.by_name(self._caller, table, columns, self.options, self)

    @OwnFrames()
    def compile(self, /, *args: Any, **kwargs: Any) -> Self:
        """Flatten and compile now for calls with such arguments, and return the twin. Later calls of this kind do not
        compile anything. The function does not run.

        Pass examples, as in a call, or dtypes: `np.float32`, "f4", `float` and `np.dtype(...)` stand for a long array.
        For a parameter in `static=`, or one that takes a string, pass the value itself. For a kernel over arrays, pass
        arrays, or kinds such as "f8[:,:]".

        Raises the errors that a call would raise before it runs: FlattenError, TypeError, ValueError.
        """
        self._check_receiver(args)
        self._require_no_outer_dimensions("compile")
        self._caller.compile(args, kwargs, self.options, self)
        return self

    @OwnFrames()
    def faults(self, /, *args: Any, **kwargs: Any) -> Faults:
        """Return the elements where the original raises, without the values: `twin.faults(xs)[417].exception()`, or
        `raise twin.faults(xs).group()` for all of them at once. See `pyflat.Faults`."""
        self._check_receiver(args)
        self._require_lanes("faults", "call the twin: it raises the original's exception", args, kwargs)
        _, found = self._caller(args, kwargs, dataclasses.replace(self.options, errors="mask"))
        return cast("Faults", found)

    @OwnFrames()
    def replay(
        self, /, *args: Any, lane: int | tuple[int, ...] | None = None, pdb: bool = False, **kwargs: Any
    ) -> LaneTrace:
        """Trace one element of a call: compare the original and the twin line by line, and report the first line that
        differs and the pass that introduced the difference.

        lane   the index of the element, as in NumPy; optional if there is only one
        pdb    first step through the original in Python's debugger, with that element's arguments

        Pass a parameter of the function that is named `lane` or `pdb` by position.
        """
        from pyflat.inspection.lane_trace import trace_lane

        self._check_receiver(args)
        self._require_lanes("replay", "twin.verify(*arrays) compares it with the original", args, kwargs)
        return trace_lane(self._caller, args, kwargs, self.options, lane, pdb=pdb)

    @OwnFrames()
    def verify(self, /, *args: Any, **kwargs: Any) -> Verified:
        """Run the original for every element of this call and compare, bit for bit. With `math="fast"`, report how far
        the results are off. Raises DifferenceError, an AssertionError, for the first element that differs (a fast twin
        is compared with an interpreter that uses the same functions)."""
        from pyflat.inspection.verify import verify

        self._check_receiver(args)
        self._require_no_outer_dimensions("verify")
        return verify(self._caller, args, kwargs, self.options)

    def check_static(self, static: Sequence[str]) -> None:
        """Raise FlattenError `flatten/static-name` for a name that is not a parameter."""
        self._parameters.check_static(static)

    def to(self, target: EngineName | Registered | Target) -> Self:
        """Return this twin on another engine: the engine's name, a `pyflat.targets.Target`, or
        `pyflat.backend.target(name)` for an engine from another package."""
        return cast("Self", self.with_options(target=target))

    def with_options(self, **options: Unpack[OptionArguments]) -> Twin[P, R_co]:
        """Return the twin with some options changed; the same object for the same options."""
        from pyflat.runtime.registry import twin_of

        return twin_of(self.original, {**dict(self.settings), **options})

    @OwnFrames()
    def show(
        self,
        stage: listing.Stage | None = None,
        target: ShownName | Registered | Target | None = None,
        kinds: str | Sequence[str] | None = None,
        *,
        faults: bool = False,
    ) -> listing.Listing:
        """Return the code of the twin, or one of its stages, as text.

        stage   None: the twin as Python code; "captured": the original's source; "structured", "flat": the IR before
                and after flattening; "suspect": Python code that computes which elements fall back to the original;
                "kernel": the IR of a kernel over arrays
        target  None: neutral code with `select`; "numpy" or "numba": code that runs as it is; "dataflow": the graph;
                "wgsl", "glsl": a compute shader; or a target from another package that can be shown
        kinds   argument kinds, as "f8,i8,b,c16" or ("float", "int", ...), for a kernel over arrays "f8[:,:],i8";
                default: from annotations, then defaults, then float
        faults  also show `<name>_suspect`, which is true for the elements where the original may raise; the code of the
                twin is not valid for these
        """
        from pyflat.inspection import listing

        function, options = self._callee.function, self.options
        if self._is_kernel(options, kinds) or stage != "captured" and self._is_kernel_first(options, kinds):
            chosen = targets.name_of(target or options.target)
            return listing.of_kernel(self._caller.kernels.shown(chosen, kinds, options), stage)
        shapes = self._shapes(options, kinds)
        return listing.listing(
            function, shapes, options, stage=stage, target=targets.name_of(target or targets.NEUTRAL),
            name=self.__name__, faults=faults,
        )

    def _require_no_outer_dimensions(self, method: str) -> None:
        """Raise ValueError if signature= makes this twin a gufunc."""
        if self.options.signature is not None:
            raise ValueError(f"{method}() of {self.__name__} with signature={self.options.signature!r}: it takes the "
                             f"arrays of one item, twin.with_options(signature=None).{method}(...)")

    def _require_lanes(self, method: str, instead: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """ValueError for a call of a kernel."""
        if self._caller.kernels.takes(args, kwargs, self.options):
            raise self._caller.kernels.no_lanes(f"{method}()", instead)

    def _is_kernel_first(self, options: Options, kinds: str | Sequence[str] | None = None) -> bool:
        """Whether it is a kernel, or an array parameter has no default and nothing has been compiled."""
        if self._is_kernel(options, kinds) or kinds is not None or self._last(options) is not None:
            return self._is_kernel(options, kinds)
        return bool(self.array_parameters())

    def array_parameters(self) -> list[str]:
        """The parameters that have to be arrays: those used as arrays that are neither bound, static nor have a
        default."""
        options, parameters = self.options, self._parameters.signature.parameters
        bound = {*self._parameters.names[:len(self._callee.prefix)], *self._callee.preset, *options.static}
        return [name for name in self._caller.kernels.roles(options)
                if name not in bound and parameters[name].default is inspect.Parameter.empty]

    def _is_kernel(self, options: Options, kinds: str | Sequence[str] | None) -> bool:
        """What is looked at is a kernel over arrays: one has been called, or kinds name an array."""
        found = self._made.kernels.latest if self._made is not None else None
        named = isinstance(kinds, Sequence) and any("[" in str(word) for word in kinds)
        return named or kinds is None and found is not None and self._last(options) is None

    @property
    @OwnFrames()
    def roles(self) -> Roles:
        """The parameters that are whole arrays of a kernel, with the reason; others are lanes or static. Raises
        FlattenError for a name in arrays= that is not a parameter."""
        from pyflat.runtime.kernels import Roles

        return Roles(self._parameters.names, self._caller.kernels.roles(self.options), self.options.static)

    def _shapes(self, options: Options, kinds: str | Sequence[str] | None) -> dict[str, Shape]:
        from pyflat.inspection import listing

        self._parameters.check_static(options.static)
        last = self._last(options)
        known = dict(last.arguments) if last else {}
        return listing.argument_shapes(
            self._callee.function, self._parameters, options, kinds, known, self._caller.words)

    def _last(self, options: Options) -> Built | None:
        """What was built last with these options."""
        found = (self._caller.compilations.last(built) for built in options.all_built)
        return next((built for built in found if built is not None), None)

    @property
    @OwnFrames()
    def source(self) -> str:
        """The code of the twin, as returned by `show()`."""
        return self.show()

    @property
    @OwnFrames()
    def function(self) -> Callable[..., Any]:
        """The twin as a plain function of NumPy code: inspect.getsource, tracebacks and pdb work on it. It computes
        values only and does not detect errors."""
        from pyflat.inspection import listing

        options = self.options
        if self._is_kernel_first(options):
            raise self._caller.kernels.no_lanes("function", "call the twin itself; twin.source is its text")
        if self._function is None or not self._function.holds(options):
            shapes = self._shapes(options, None)
            self._function = listing.make_function(self._callee.function, shapes, options, self.__name__)
            self._function.function.__doc__ = self.__doc__
        return self._function.function

    @property
    @OwnFrames()
    def ufunc(self) -> np.ufunc:
        """The twin as a numpy.ufunc, with NumPy's broadcasting, `out=`, `where=`, casting and reductions.

        Its operands are the parameters that are not static or arrays, typed by annotation, default value, or as float.
        If the original raises for an element, the call raises (with `errors="nan"`, the result is nan there). See
        docs/explanation/performance.md. Raises FlattenError if an operand or result is not a number, ValueError with
        errors="mask".
        """
        from pyflat.runtime import ufuncs
        from pyflat.runtime.pickling import pickle_ufuncs

        pickle_ufuncs()
        options = self.options
        if self._is_kernel_first(options):
            raise self._caller.kernels.no_lanes("ufunc", 'signature="(n)->(n)" and twin.gufunc make it one over outer '
                                                         "dimensions")
        made = self._ufunc
        if made is None or not made.holds(options):
            made = self._ufunc = ufuncs.make_ufunc(self, self._caller, self._shapes(options, None), options)
        return made.ufunc

    @property
    @OwnFrames()
    def gufunc(self) -> np.ufunc:
        """The kernel as a generalised numpy.ufunc, by the option signature=. Core dimensions come last, leading ones
        broadcast; `out=`, `axes=` and casting follow NumPy's rules.

        If the original raises for an item, the call raises. Raises ValueError if the signature does not fit the
        parameters, FlattenError if the kernel writes an input or reads an output.
        """
        from pyflat.runtime.pickling import pickle_ufuncs

        pickle_ufuncs()
        return self._gufunc_for(self.options).ufunc

    def _gufunc_for(self, options: Options) -> gufuncs.MadeGufunc:
        from pyflat.runtime import gufuncs

        made = self._gufunc
        if made is None or not options.cache or not made.holds(options):
            made = self._gufunc = gufuncs.make_gufunc(self, self._caller, options)
        return made

    @OwnFrames()
    def explain(self, kinds: str | Sequence[str] | None = None) -> Explanation | KernelExplanation:
        """Explain what the twin costs and why: operations, branches, loops, elementary functions, vector width, and
        obstacles to speed. Print the result, or read its attributes.

        For a kernel over arrays: its arrays, its loops, and why some loops run sequentially.

        kinds   as in `show`
        """
        from pyflat.inspection.explain import explain, explain_kernel

        options = self.options
        if self._is_kernel_first(options, kinds):
            version = self._caller.kernels.shown(options.target, kinds, options)
            return explain_kernel(version, options.target, self.__name__, self.stats)
        shapes = self._shapes(options, kinds)
        last = self._last(options)
        found = explain(self._callee.function, shapes, options, self.__name__, self.stats)
        return found if last is None else dataclasses.replace(found, not_kept=last.not_kept)

    def report(self, kinds: str | Sequence[str] | None = None, *, profile: Profile | None = None) -> Report:
        """Show the original next to the twin, with each line linked to its translation. Notebooks display the report;
        `twin.report().save("page.html")` writes a self-contained page.

        kinds    as in `show`
        profile  the result of `twin.profile(*arrays)`, to show how many elements take each branch

        A refused function has a report too, with the error at its place.
        """
        from pyflat.errors import FlattenError
        from pyflat.inspection import report

        options = self.options
        try:
            explained = self.explain(kinds)
            if self._is_kernel_first(options, kinds):
                version = self._caller.kernels.shown(options.target, kinds, options)
                return report.report_kernel(version, cast("KernelExplanation", explained), self.__name__)
            shapes = self._shapes(options, kinds)
            return report.report(self._callee.function, shapes, options, self.__name__,
                                 cast("Explanation", explained), profile)
        except FlattenError as refusal:
            return report.report_refusal(self._callee.function, refusal, self.__name__)

    def _repr_html_(self) -> str | None:
        """The report for notebooks; None (plain text) while a static argument is unknown."""
        try:
            found: str = self.report()._repr_html_()
            return found
        except (TypeError, ValueError):
            return None

    @OwnFrames()
    def profile(self, /, *args: Any, **kwargs: Any) -> Profile:
        """Count how many elements of this call take each branch and how many iterations their loops make, and list
        branches never taken. Nothing is run or compiled. Very long arrays are sampled; the profile has the count."""
        from pyflat.inspection.profile import profile

        self._check_receiver(args)
        self._require_lanes("profile", "twin.explain() shows how its loops are compiled", args, kwargs)
        return profile(self._caller, self.__name__.removesuffix("_flat"), args, kwargs, self.options)

    def inspect_llvm(self) -> str:
        """Return the optimised LLVM IR of the code compiled for the latest kinds of arguments.

        Raises ValueError before the first call, and on targets other than numba.
        """
        return str(self._compiled_engine().inspect_llvm())

    def inspect_asm(self) -> str:
        """Return the machine code as text. Raises ValueError like `inspect_llvm`."""
        return str(self._compiled_engine().inspect_asm())

    def _compiled_engine(self) -> Any:
        options = self.options
        if not targets.of(options.target).machine_code:
            raise ValueError(f"target={options.target!r}: only the numba target produces machine code")
        built = self._last(options)
        kernel = self._caller.kernels.latest_for(options)
        if built is None and kernel is not None:
            return kernel.compiled
        if built is None:
            raise ValueError(f"{self.__name__} has not run yet: call it once first")
        return built.engine

    if not TYPE_CHECKING:  # type checkers would accept any attribute

        def __getattr__(self, name: str) -> Any:
            if name == "__signature__":
                return inspect.signature(self.original, follow_wrapped=False)
            if name == "__annotations__":
                return self.original.__annotations__
            raise AttributeError(f"{type(self).__name__} object has no attribute {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        options = self.options
        count = sum(self._caller.compilations.count(built) for built in options.all_built)
        kernels = self._made.kernels.count(options) if self._made is not None else 0
        parts = [f"{number} {what}{'s' * (number > 1)}" for number, what in ((count, "kind"), (kernels, "kernel"))
                 if number]
        state = f"{' and '.join(parts)} compiled" if parts else "not flattened yet"
        format = "" if options.dtype == "float64" else f"dtype={options.dtype!r}, "
        return f"<pyflat twin {self.__name__}{inspect.signature(self)}, target={options.target!r}, {format}{state}>"

    def __copy__(self) -> Twin[P, R_co]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Twin[P, R_co]:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        from pyflat.runtime.pickling import reduced

        return reduced(self)

    @property
    def _numba_type_(self) -> Any:
        """What numba asks a value for, inside of its functions."""
        from pyflat.runtime.loop_addresses import numba_type
        from pyflat.runtime.pickling import dumps

        return numba_type(self, dumps)

    def _content(self) -> tuple[Any, Settings]:
        """What `pyflat.runtime.content` takes it for."""
        return self.original, self.settings

    def __dask_tokenize__(self) -> object:
        from pyflat.runtime.content import content_hash

        return "pyflat", content_hash(self.original, self.options)


def twin_name(function: FunctionType) -> str:
    name = function.__name__
    return f"{name}_flat" if name.isidentifier() else "lambda_flat"
