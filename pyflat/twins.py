"""The twin of a function: called with arrays, it gives for every lane what the original gives for its scalars."""

from __future__ import annotations

import inspect
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, Generic, Literal, ParamSpec, TypeVar, Unpack, overload

from pyflat import arrays, listing
from pyflat.callables import Parameters, explain_method_call, unwrap
from pyflat.compiled import Built, Compilations
from pyflat.replay import PerformanceWarning, Replay
from pyflat.settings import OptionArguments, Options, Settings, resolve

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

LARGE_CALL = 100_000
SLOW_SHARE = 0.01
"""Above this share of replayed lanes a large call warns."""


@dataclass(slots=True)
class Stats:
    """What a twin has done so far: calls, their lanes, and the lanes that were replayed through the original."""

    calls: int = 0
    lanes: int = 0
    replayed: int = 0


class Twin(Generic[P, R_co]):
    """The twin of `original`. Call it with scalars or arrays, broadcast together as NumPy does.

    Python scalars give Python scalars, NumPy scalars and 0-d arrays give NumPy scalars, arrays give arrays, in the
    structure (tuple, namedtuple, dataclass) that the original returns. It is flattened at the first call with each
    combination of argument kinds. A lane in which the original raises makes the call raise that exception.

    Raises FlattenError where the original cannot be flattened, TypeError for arguments that are not lanes.
    """

    def __init__(self, original: Callable[P, R_co], settings: Settings, compilations: Compilations):
        callee = unwrap(original)
        function: FunctionType = callee.function
        self.original = original
        self.__wrapped__ = original
        self.__name__ = twin_name(function)
        self.__qualname__ = function.__qualname__.removesuffix(function.__name__) + self.__name__
        self.__module__ = function.__module__
        self.__doc__ = getattr(original, "__doc__", None) if isinstance(original, FunctionType) else function.__doc__
        self.stats = Stats()
        self.settings = settings
        self._callee = callee
        self._compilations = compilations
        self._counting = threading.Lock()
        self._warned = False

    @cached_property
    def _parameters(self) -> Parameters:
        return Parameters(self._callee, self.__name__)

    @property
    def options(self) -> Options:
        """The options in force now: those given for this twin, and below them the surrounding defaults."""
        return resolve(self.settings)

    @overload
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        options = resolve(self.settings)
        parameters = self._parameters
        if options.static:
            parameters.check_static(options.static)
        self._check_receiver(args)
        call = arrays.classify(parameters.bind(args, kwargs), parameters, options.static)
        built = self._compilations.get(self._callee.function, call.arguments, options)
        return self._run(built, call)

    def _run(self, built: Built, call: arrays.Call) -> Any:
        lanes = arrays.prepare(call)
        leaves, suspect = built.engine(lanes.inputs, lanes.count)
        if lanes.suspect is not None:
            suspect = lanes.suspect if suspect is None else suspect | lanes.suspect
        replayed = 0
        try:
            if suspect is not None and suspect.any():
                replayed = int(suspect.sum())
                Replay(self._callee, self._parameters, call, lanes, built.result).patch(suspect, leaves)
        finally:
            self._count(lanes.count, replayed)
        if replayed > SLOW_SHARE * lanes.count and lanes.count >= LARGE_CALL and not self._warned:
            self._warned = True
            text = (f"{self.__name__}: {replayed:,} of {lanes.count:,} lanes were run one by one through the original, "
                    f"because an operation in them may overflow or fail")
            warnings.warn(text, PerformanceWarning, stacklevel=3)
        return arrays.collect(built.result, leaves, lanes)

    def _count(self, lanes: int, replayed: int) -> None:
        with self._counting:
            self.stats.calls += 1
            self.stats.lanes += lanes
            self.stats.replayed += replayed

    def _check_receiver(self, args: Sequence[Any]) -> None:
        """`obj.method.flat(5)` would bind 5 to self."""
        if "." not in self._callee.function.__qualname__ or self._callee.prefix:
            return
        shown = ", ".join(repr(a) if isinstance(a, bool | int | float) else "..." for a in args)
        mistake = explain_method_call(self._callee.function, args, f"({shown})")
        if mistake is not None:
            raise TypeError(mistake)

    def check_static(self, static: Sequence[str]) -> None:
        """Raises FlattenError `flatten/static-name` for a name that is no parameter."""
        self._parameters.check_static(static)

    def to(self, target: Literal["numpy", "numba"]) -> Twin[P, R_co]:
        """The same twin on another engine."""
        return self.with_options(target=target)

    def with_options(self, **options: Unpack[OptionArguments]) -> Twin[P, R_co]:
        """The twin with some options changed; the same object for the same options."""
        from pyflat.api import twin_of

        return twin_of(self.original, {**dict(self.settings), **options})

    def show(
        self,
        stage: listing.Stage | None = None,
        target: Literal["numpy", "numba"] | None = None,
        kinds: str | Sequence[str] | None = None,
    ) -> listing.Listing:
        """The text of the twin, or of one of its stages.

        stage   None: the twin as Python text; "captured": the original's source; "structured", "flat": the
                IR before and after flattening; "suspect": the IR with the test for failing lanes, as engines run it
        target  None: neutral text with `select`; "numpy" or "numba": text that runs as it stands
        kinds   argument kinds, as "f8,i8,b" or ("float", "int", "bool"); else from annotations, from defaults, or float
        """
        options = self.options
        self._parameters.check_static(options.static)
        last = self._compilations.last(options)
        known = dict(last.arguments) if last else {}
        shapes = listing.argument_shapes(self._parameters, options, kinds, known)
        return listing.listing(self._callee.function, shapes, options, stage, target, self.__name__)

    @property
    def source(self) -> str:
        """The text of the twin, as `show()` gives it."""
        return self.show()

    @cached_property
    def function(self) -> Callable[..., Any]:
        """A plain function made from the NumPy text: inspect.getsource, tracebacks and pdb work on it. It computes
        the values only, without detecting failing lanes."""
        made = listing.make_function(self.show(target="numpy"), self.__name__)
        made.__doc__ = made.__doc__ or self.__doc__
        return made

    def __getattr__(self, name: str) -> Any:
        if name == "__signature__":
            return inspect.signature(self.original, follow_wrapped=False)
        raise AttributeError(f"{type(self).__name__} object has no attribute {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        options = self.options
        count = self._compilations.count(options)
        state = f"{count} kind{'s' * (count > 1)} compiled" if count else "not flattened yet"
        return f"<pyflat twin {self.__name__}{inspect.signature(self)}, target={options.target!r}, {state}>"

    def __copy__(self) -> Twin[P, R_co]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Twin[P, R_co]:
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, Settings]]:
        function = self._callee.function
        if find(function.__module__, function.__qualname__) is None:
            raise pickle.PicklingError(f"cannot pickle the twin of {function.__qualname__}: pickle stores it as a "
                                       f"reference, and {function.__module__} has no such name")
        return _restore, (self.original, self.settings)


def _restore(original: Callable[..., Any], settings: Settings) -> Twin[..., Any]:
    from pyflat.api import twin_of

    return twin_of(original, dict(settings))


def twin_name(function: FunctionType) -> str:
    name = function.__name__
    return f"{name}_flat" if name.isidentifier() else "lambda_flat"


def find(module: str, qualname: str) -> object | None:
    """What a module has under a qualified name, None when there is nothing."""
    found: object | None = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


