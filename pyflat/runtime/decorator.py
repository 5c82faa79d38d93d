"""Two ways to get a twin: the decorator `flatten`, and `twin`, which leaves the function unchanged."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, Unpack, cast, overload

from pyflat.frontend.callables import unwrap
from pyflat.runtime.plans import OwnFrames
from pyflat.runtime.registry import cached, twin_of
from pyflat.runtime.settings import OptionArguments, Settings, resolve, settings
from pyflat.runtime.twins import Twin

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")


class Flattened(Protocol[P, R_co]):
    """The static type of a decorated function: the function, with its twin as `flat`."""

    @property
    def flat(self) -> Twin[P, R_co]: ...
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __get__(self, instance: None, owner: type, /) -> Flattened[P, R_co]: ...
    @overload
    def __get__(
        self: Flattened[Concatenate[S, Q], R], instance: S, owner: type | None = None, /
    ) -> Callable[Q, R]: ...


@overload
def flatten(
    fn: Callable[P, R], /, *, source: str | None = None, **options: Unpack[OptionArguments]
) -> Flattened[P, R]: ...
@overload
def flatten(
    fn: None = None, /, *, source: str | None = None, **options: Unpack[OptionArguments]
) -> Callable[[Callable[P, R]], Flattened[P, R]]: ...
@OwnFrames()
def flatten(
    fn: Callable[..., Any] | None = None, /, *, source: str | None = None, **options: Unpack[OptionArguments]
) -> Any:
    """Give a function a twin: `@pyflat.flatten`, or with options `@pyflat.flatten(target="numba")`.

    Returns the same function, with the twin as its attribute `flat`. For a module-level function, it also defines
    `<name>_flat` in the module (pass `inject=False` to disable this). Flattening happens on first use. `source` is as
    for `twin`.

    Raises TypeError if `fn` is not a plain function, ValueError if the module already defines `<name>_flat`.
    """
    if fn is None:
        made = functools.partial(_decorate, settings(cast("Mapping[str, Any]", options)), source=source)
        made.__pandas_udf__ = PandasEngine  # type: ignore[attr-defined]
        return made
    return _decorate(settings(cast("Mapping[str, Any]", options)), fn, source=source)


class PandasEngine:
    """What pandas calls for `engine=pyflat.flatten`, and for `engine=pyflat.flatten(target="numba")`."""

    @staticmethod
    def map(*args: Any, **kwargs: Any) -> Any:
        """`Series.map`."""
        from pyflat.runtime.containers import pandas_engine

        return pandas_engine.map(*args, **kwargs)

    @staticmethod
    def apply(*args: Any, **kwargs: Any) -> Any:
        """`DataFrame.apply`."""
        from pyflat.runtime.containers import pandas_engine

        return pandas_engine.apply(*args, **kwargs)


flatten.__pandas_udf__ = PandasEngine  # type: ignore[attr-defined]


@OwnFrames()
def twin(
    fn: Callable[P, R], /, *, source: str | None = None, **options: Unpack[OptionArguments]
) -> Twin[P, R]:
    """Return the twin of any Python function, bound method, functools.partial or lambda, without changing it.

    While a twin is in use, the same function and options return the same object. A decorated function keeps its
    decorator's options; `options` override them.

    source  the source code of the function, if Python does not keep it: from `exec`, `python -c`, a script on stdin, or
            the prompt of Python before 3.13. It may contain more than the function, and is checked against the
            function's code. Tracebacks and inspect.getsource use it too.

    Raises TypeError if `fn` is not a function, FlattenError `flatten/source-changed` if `source` is not its source.
    """
    if source is not None:
        _give_source(fn, source)
    if isinstance(fn, Twin):
        return fn.with_options(**options)
    decorated = flat_of(fn)
    given = {**dict(decorated.settings), **options} if decorated else options
    return twin_of(fn, cast("Mapping[str, Any]", given))


def flat_of(fn: object) -> Twin[..., Any] | None:
    """The twin that a decorator gave to this very function; one that functools.wraps copied is not believed."""
    function = fn.__func__ if isinstance(fn, MethodType) else fn
    found = getattr(function, "__dict__", {}).get("flat")
    return found if isinstance(found, Twin) and found.original is function else None


def _give_source(fn: Any, source: str) -> None:
    from pyflat.frontend.capture import give_source

    if not isinstance(source, str):
        raise TypeError(f"source={source!r}: expected the source of the function, a str")
    give_source(unwrap(fn.original if isinstance(fn, Twin) else fn).function, source)


@OwnFrames()
def _decorate(chosen: Settings, fn: Callable[P, R], *, source: str | None = None) -> Flattened[P, R]:
    if not isinstance(fn, FunctionType):
        unwrap(fn)
        raise TypeError(f"@pyflat.flatten takes a function; for a {type(fn).__name__} call pyflat.twin")
    if source is not None:
        _give_source(fn, source)
    made = cached(fn, chosen)
    if resolve(chosen).inject:
        _inject(fn, made)
    fn.flat = made  # type: ignore[attr-defined]
    return cast("Flattened[P, R]", fn)


def _inject(fn: FunctionType, made: Twin[..., Any]) -> None:
    """Put `<name>_flat` into the module of a module-level function."""
    if "." in fn.__qualname__ or not fn.__name__.isidentifier():
        return
    name, module = made.__name__, fn.__globals__
    old = module.get(name)
    ours = isinstance(old, Twin) and (old.__module__, old.__qualname__) == (made.__module__, made.__qualname__)
    if name in module and not ours:
        raise ValueError(f"@pyflat.flatten on {fn.__name__}: the module {fn.__module__} already has {name!r} "
                         f"({type(old).__name__}); rename it, or write @pyflat.flatten(inject=False) and use "
                         f"{fn.__name__}.flat")
    module[name] = made
