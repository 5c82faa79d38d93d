"""Targets: what a target is, which there are, and how one is added.

A target runs twins, or shows them, or both. Everything that the rest of pyflat asks about one is a field of its
`Target`; nothing else keeps names of targets. Built-in targets are the records of `BUILT_IN`; other people's come as
objects (`register`, or `target=` with the object itself) or as entry points of the group "pyflat.targets", each a
`Target` or only a function (docs/how-to/backend.md). All of them are asked in the same way. CONTRIBUTING.md has the
recipe for one of pyflat's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pyflat.analysis.kernels import Kernel
    from pyflat.backend.registered import Registered
    from pyflat.frontend.result import Specialised
    from pyflat.ir.nodes import Function, Loop, Op
    from pyflat.ir.opaque_calls import OpaqueCalls
    from pyflat.ir.shape import Shape
    from pyflat.targets.kept import Shelf

EngineName = Literal["numpy", "numba", "dataflow", "wgsl"]
"""The built-in targets that run, for type checkers."""

ShownName = Literal["numpy", "numba", "dataflow", "wgsl", "glsl", "neutral"]
"""The built-in targets that show a text, for type checkers."""


class Engine(Protocol):
    """A compiled function."""

    @property
    def source(self) -> str: ...
    def __call__(
        self, lanes: Sequence[npt.NDArray[Any] | np.generic], n: int, /
    ) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any] | None]: ...


@runtime_checkable
class Prepared(Protocol):
    """An engine that compiles at its first run, or before."""

    def prepare(self, lanes: Sequence[Any], /) -> None:
        """Compile what a run over lanes like these takes, also where some are suspect; nothing runs."""


@runtime_checkable
class Keepable(Protocol):
    """An engine that another process can have again: see `Target.restore`. It keeps on the shelf what it compiles."""

    shelf: Shelf | None

    @property
    def fused(self) -> Function: ...
    def to_keep(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Request:
    """The input of a target.

    function   the flat form, or the masked form if a loop was kept; structured IR for targets that take it
    spec       the specialised function: the shape of its result, its source
    arguments  the shapes of the parameters
    unchecked  errors="unchecked": failing elements need not be detected
    max_trips  the iteration limit of loops that stayed loops; None: no limit, or the target does not support it
    calls      how to make opaque calls on arrays; None if there are none, or the target makes them itself
    """

    function: Function
    spec: Specialised
    arguments: Mapping[str, Shape]
    unchecked: bool = False
    max_trips: int | None = None
    calls: OpaqueCalls | None = None

    def fused(self) -> Function:
        """The function as engines take it: its last result marks the lanes that fall back to the original."""
        from pyflat.passes import pipelines

        return pipelines.run(self.function, pipelines.engine(self.max_trips))


_Holder = TypeVar("_Holder", Request, "Kernel")


class Lanes(NamedTuple):
    """How a target holds lanes: so many in a register or block, so many registers; arms with a branch of their own,
    arms for which lanes wait, whether lanes that are done get new elements, operations on ints in 32 bits."""

    width: int = 1
    registers: int = 1
    arms_kept: int = 0
    arms_waited: int = 0
    refilled: bool = False
    narrowed: int = 0


class Costs:
    """What `twin.explain()` asks a target; this one knows the rough costs of one lane."""

    @staticmethod
    def lanes(fused: Function, unchecked: bool) -> Lanes:
        return Lanes()

    @staticmethod
    def price(op: Op, width: int) -> float:
        """What an operation costs, for so many lanes together."""
        from pyflat.ir.ops import OPERATIONS

        return OPERATIONS[op.opcode].cost

    @staticmethod
    def exact(op: Op) -> bool:
        """Whether an operation of the C library is computed in registers, with the same bits."""
        return False

    @staticmethod
    def library(name: str) -> str | None:
        """How calls of this function of the C library run, where there is more to say than that they are calls."""
        return None

    @staticmethod
    def about(lanes: Lanes, integers: int) -> Iterator[str]:
        """Lines below the title of the page; `integers`: operations on ints."""
        yield from ()

    @staticmethod
    def slower(lanes: Lanes, form: str) -> Iterator[str]:
        """What keeps twins of a form ("flat", "masked") on this target from being faster."""
        yield from ()

    parallel_loops = "its iterations do not depend on each other"
    """What becomes of a loop of a kernel of which that is so."""
    parallel_around = ""
    """The same of one around other loops, where it is something else."""
    loops_inside = ""
    """What becomes of a loop inside of such a one, where there is more to say."""

    @staticmethod
    def tested_before(kernel: Kernel, layouts: Mapping[str, str], lanes: set[Loop]) -> set[Op]:
        """The indices of a kernel that are tested for all iterations of a loop at once; `lanes`: its parallel loops,
        and those inside."""
        return set()

    @staticmethod
    def never_tested(kernel: Kernel) -> set[Op]:
        """The indices that are known to be inside."""
        return set()

    @staticmethod
    def decided(kernel: Kernel, layouts: Mapping[str, str]) -> tuple[dict[Loop, str], dict[str, int | str]]:
        """What else is known of loops of a kernel; how many rows arrays that are made inside keep, or why all."""
        return {}, dict.fromkeys(kernel.local, "target")


@dataclass(frozen=True, slots=True)
class Target:
    """A target: its name, its features, and the functions that compile and show (docs/how-to/backend.md).

    compile     from a `Request` to an `Engine`, or "module:function"; None: it only shows
    show        from a `Request` to a text, or "module:function"; None: see `python`
    spelled     "module:name" of the operations that it has: others become those before it is asked
                (`pyflat.passes.rules.expansions`); None: the target does that itself
    restore     "module:function" from the result of an engine's `to_keep()` in another process, and a
                `pyflat.targets.kept.Shelf`, to the engine; None: engines are not kept on disk
    python      `show` is the twin in Python, as `pyflat.targets.text` spells it for this name
    structured  takes structured IR, with every loop over a range still a loop
    loops       "kept": loops beyond a few iterations stay loops; "kept in engines": in engines, but not when shown;
                "unrolled": loops with a constant iteration count are unrolled, within the option max_unroll
    kept_calls  calls in `whitelist=`: "refused"; "on arrays": made if an entry has `arrays=`; "any": the target makes
                them itself
    float32     takes dtype="float32" and "input"
    faults      marks the elements where Python raises; False: it needs errors="unchecked"
    max_trips   takes the option max_trips; the result leaf before the last marks the lanes that exceeded it
    parallel    the engine is a `pyflat.targets.threads.Splittable`, and may run on several threads
    ufuncs      `twin.ufunc` runs on it
    machine_code  the engine has `inspect_llvm()` and `inspect_asm()`
    converts    the engine takes arrays of all numeric dtypes, byte orders and strides, and a `Spread`
                (`pyflat.targets.operands`)
    plans       the dtypes whose repeated calls take the fast path (`pyflat.runtime.plans`), through the engine's
                `entry_point`, as in NumPy and numba
    shading     the module of a shading language, with `function` and `fragment`, for `pyflat.graphics`
    verified    `pyflat verify` and `pyflat.testing.verify_flattened` compare it by default
    explain     "module:name" of a `Costs`, for `twin.explain()`; None: rough costs
    fast        "module:name" of the faster functions that math="fast" takes, by opcode; None: there are none
    contracts   "module:name" of a function that says whether math="fast" fuses products with sums; None: it does not
    kernels     "module:function" from a kernel over arrays (`pyflat.analysis.kernels`) and arguments of a call to what
                runs calls like it (`pyflat.runtime.kernels`); None: no kernels
    needs       libraries that must be installed, by the names that are imported
    """

    name: str
    compile: str | Callable[[Request], Engine] | None = None
    show: str | Callable[[Request], str] | None = None
    spelled: str | None = None
    restore: str | None = None
    python: bool = False
    structured: bool = False
    loops: Literal["kept", "kept in engines", "unrolled"] = "unrolled"
    kept_calls: Literal["refused", "on arrays", "any"] = "refused"
    float32: bool = False
    faults: bool = True
    max_trips: bool = False
    parallel: bool = False
    ufuncs: bool = False
    machine_code: bool = False
    converts: bool = False
    plans: tuple[str, ...] = ()
    shading: str | None = None
    verified: bool = False
    explain: str | None = None
    fast: str | None = None
    contracts: str | None = None
    kernels: str | None = None
    needs: tuple[str, ...] = ()

    def kernel(self, kernel: Kernel, arguments: Mapping[str, Any]) -> Any:
        """What runs calls of a kernel with arguments like these."""
        self._require()
        return _loaded(self.kernels)(self._spelled(kernel), arguments)

    def engine(self, request: Request) -> Engine:
        """The engine of a function. Raises FlattenError, ImportError where a library is missing."""
        self._require()
        made: Engine = _loaded(self.compile)(self._spelled(request))
        return made

    def _spelled(self, of: _Holder) -> _Holder:
        """A request or a kernel in the operations that the target has."""
        from pyflat.ir.loops import all_ops
        from pyflat.ir.ops import PRIMITIVES

        missing = frozenset() if self.spelled is None else PRIMITIVES.keys() - _loaded(self.spelled)
        if missing.isdisjoint(op.opcode for op in all_ops(of.function.body)):
            return of
        from pyflat.passes.rules.expansions import in_terms_of

        return replace(of, function=in_terms_of(of.function, PRIMITIVES.keys() - missing))

    def _require(self) -> None:
        """Raises ImportError where a library is missing."""
        for library in self.needs:
            require(library, f'the target "{self.name}"')

    def restored(self, kept: Mapping[str, Any], shelf: Shelf) -> Engine:
        """The engine that another process has made. Raises ImportError where a library is missing."""
        self._require()
        made: Engine = _loaded(self.restore)(kept, shelf)
        return made

    def text(self, request: Request) -> str:
        """What `show` gives."""
        return str(_loaded(self.show)(request))

    def costs(self) -> type[Costs]:
        """What `twin.explain()` asks."""
        if self.explain is None:
            return Costs
        self._require()
        found: type[Costs] = _loaded(self.explain)
        return found

    def fast_functions(self) -> Mapping[str, str]:
        """What may stand for the C library's functions."""
        found: Mapping[str, str] = {} if self.fast is None else _loaded(self.fast)
        return found

    def fuses_products(self) -> bool:
        """Whether a sum and its product are one operation with math="fast"."""
        if self.contracts is None:
            return False
        self._require()
        return bool(_loaded(self.contracts)())

    @property
    def runs(self) -> bool:
        return self.compile is not None

    @property
    def installed(self) -> bool:
        """Whether its libraries are."""
        return all(map(find_spec, self.needs))

    @property
    def shows(self) -> bool:
        return self.python or self.show is not None


def _loaded(what: Any) -> Any:
    if not isinstance(what, str):
        return what
    module, _, name = what.partition(":")
    return getattr(import_module(module), name)


ALL_DTYPES = ("float64", "float32", "input")
NEUTRAL = "neutral"
"""What `show` gives where nothing is said."""

BUILT_IN = (
    Target("numpy", "pyflat.targets.numpy.engine:engine", python=True, loops="kept in engines", kept_calls="on arrays",
           float32=True, max_trips=True, parallel=True, ufuncs=True, converts=True, plans=ALL_DTYPES, verified=True,
           kernels="pyflat.targets.numpy.kernels.engine:engine", restore="pyflat.targets.numpy.engine:restored",
           fast="pyflat.targets.numpy.blocks:NUMPY_MATH", spelled="pyflat.targets.numpy.spelling:SPELLED",
           explain="pyflat.targets.numpy.explain:BlockCosts"),
    Target("numba", "pyflat.targets.numba.engine:engine", python=True, loops="kept", float32=True, max_trips=True,
           parallel=True, ufuncs=True, converts=True, plans=ALL_DTYPES, verified=True, needs=("llvmlite",),
           kernels="pyflat.targets.numba.kernels.engine:engine", machine_code=True,
           restore="pyflat.targets.numba.engine:restored", contracts="pyflat.targets.numba.library:multiplies_and_adds",
           fast="pyflat.targets.numba.costs:VECTOR_MATH", spelled="pyflat.targets.numba.ops:SPELLED",
           explain="pyflat.targets.numba.explain:RegisterCosts"),
    Target("dataflow", "pyflat.targets.dataflow.engine:engine", "pyflat.targets.dataflow.engine:text", structured=True),
    Target("wgsl", "pyflat.targets.wgsl.shaders:engine", "pyflat.targets.wgsl.shaders:text", faults=False,
           needs=("wgpu",), shading="pyflat.targets.wgsl"),
    Target("glsl", None, "pyflat.targets.glsl:text", shading="pyflat.targets.glsl"),
    Target(NEUTRAL, python=True, float32=True),
)

_targets = {target.name: target for target in BUILT_IN}


def register(target: Target) -> Registered:
    """Make a target known in this process; gives its name. ValueError where another one has it."""
    from pyflat.backend import registered

    taken = target.name not in _targets and target.name in registered.registered()
    if taken or _targets.setdefault(target.name, target) != target:
        raise ValueError(f"there is another target {target.name!r} already")
    return registered.Registered(target.name)


def name_of(target: str | Target) -> str:
    """The name of a target; one that is given as an object is registered."""
    return register(target) if isinstance(target, Target) else target


def at_hand(name: str) -> Target | None:
    """The target of this name where that takes no look at installed packages: for what is asked at each call."""
    return _targets.get(name)


def find(name: str) -> Target | None:
    """The target of this name: built in, registered, or of an entry point. Other people's modules are imported."""
    if name in _targets:
        return _targets[name]
    from pyflat.backend import registered

    point = registered.registered().get(name)
    return None if point is None else _foreign(name, point.load())


def of(name: str) -> Target:
    """The target of this name. ValueError with the names that there are."""
    found = find(name)
    if found is None:
        raise ValueError(f"target={name!r}: expected one of {', '.join(map(repr, _targets))}")
    return found


def having(ability: str) -> tuple[str, ...]:
    """The names of the targets for which this field or property is true, but those of entry points."""
    return tuple(target.name for target in _targets.values() if getattr(target, ability))


def verified() -> tuple[str, ...]:
    """The targets that are compared with the original where nothing is said."""
    return tuple(name for name in having("verified") if _targets[name].installed)


def runnable() -> tuple[str, ...]:
    """The targets that run, with those of entry points; their modules are not imported for that."""
    from pyflat.backend import registered

    return tuple(dict.fromkeys((*having("runs"), *registered.registered())))


def _foreign(name: str, loaded: Any) -> Target:
    """What an entry point names: a target, or only a function from a `pyflat.backend.FlatFunction`."""
    if isinstance(loaded, Target):
        return replace(loaded, name=name)
    return Target(name, partial(_registered_engine, loaded), kept_calls="any")


def _registered_engine(compile: Callable[[Any], Any], request: Request) -> Engine:
    made: Engine = _loaded("pyflat.backend.engine:registered_engine")(
        compile, request.spec, request.function, request.arguments)
    return made


# --- optional libraries: an ImportError that says what needs the library, and which extra of pyflat installs it

EXTRAS = {"jax": "jax", "matplotlib": "plot", "polars": "polars", "wgpu": "wgsl", "z3": "prove"}
"""The library, by the name that is imported -> the extra (pyproject.toml)."""


class MissingLibraryError(ImportError):
    """Something needs a library that is not installed."""


def require(library: str, what: str) -> Any:
    """Import a library; the module. Raises MissingLibraryError where it is not installed."""
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:  # it is there, and lacks something itself
            raise
        package = f"'pyflat[{EXTRAS[library]}]'" if library in EXTRAS else library
        message = f"{what} needs {library}, which is not installed: pip install {package}"
        raise MissingLibraryError(message, name=library) from error
