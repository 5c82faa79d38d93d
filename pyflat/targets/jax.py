"""JAX: `pyflat.targets.xp` over jax.numpy, with what JAX keeps elsewhere; and the target "jax" of twins.

    price = pyflat.targets.jax.function(option_price)
    delta = jax.vmap(jax.grad(price))(spots, ...)
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache, partial, reduce
from typing import Any, Literal

from pyflat.backend import FlatFunction
from pyflat.errors import refuse
from pyflat.ir.loops import take_apart
from pyflat.ir.nodes import Block, Const, Function, Item, Loop, Value
from pyflat.targets.columns import Given, Terms
from pyflat.targets.target import require
from pyflat.targets.xp import RULES, ArrayTwin, Extra, Faults, Slopes, TextWriter, compiled, stay
from pyflat.targets.xp import function as function_over


def function(fn: Callable[..., Any], /, *, faults: Faults = "nan", kinds: str | None = None,
             dtype: Literal["float64", "float32"] = "float64", **static: Any) -> ArrayTwin:
    """`fn` over JAX arrays, for `jax.jit`, `jax.grad` and `jax.vmap`; the options are those of `xp.function`."""
    require("jax", "pyflat.targets.jax.function")
    import jax.numpy as jnp

    return function_over(fn, jnp, faults=faults, kinds=kinds, dtype=dtype, extra=extra(), **static)


def compile(flat: FlatFunction) -> Callable[[Sequence[Any], int], Sequence[Any]]:
    """The engine of a twin, for `twin.to("jax")`: compiled by XLA. Needs `jax_enable_x64`."""
    require("jax", 'the target "jax"')
    import jax
    import jax.numpy as jnp

    code = compiled(flat, jnp, "mask", extra=extra())
    jitted = jax.jit(code)

    def run(lanes: Sequence[Any], n: int) -> Sequence[Any]:
        found: Sequence[Any] = jitted(*lanes)
        return found

    run.source = code.__doc__  # type: ignore[attr-defined]
    return run


def extra() -> Extra:
    """Operations that JAX has elsewhere than in jax.numpy."""
    from jax.scipy import special

    names = {"erf": special.erf, "erfc": special.erfc, "lgamma": special.gammaln}
    return {name: (name, called) for name, called in names.items()}


# --- functions with loops whose trips differ by lane: loops over whole arrays, with a mask of the lanes in them
#
#     state: what the loop carries, what lanes have left with, which lanes are in it
#     step:  header; lanes that do not go on leave with their values; the rest of the body for those that do
#
# Without a bound it is a `lax.while_loop`, until no lane is left; JAX has no reverse gradient of that. With
# `max_trips=` it is a `lax.scan` of so many steps and has one. Lanes that are not in the loop compute, too: what they
# read there has no gradient, so that the infinite slope of a value without a use does not become nan.

Arrays = dict[Value, Any]


def looped(fn: Function, xp: Any, dtype: str, extra: Extra, max_trips: int | None, faults: str
           ) -> Callable[..., tuple[Any, ...]]:
    """The code of a fused function in which loops were kept, and where they give up. Lanes in which Python may raise,
    or that do not end in time, are what `xp.function` makes of them: nan, a mask, or anything ("unchecked")."""
    code = _LoopCode(fn, xp, dtype, extra, max_trips)

    def run(*lanes: Any) -> tuple[Any, ...]:
        *values, suspect = code(*lanes)
        if max_trips is not None:
            suspect = values.pop() | suspect
        if faults == "mask":
            return (*values, suspect)
        if faults == "unchecked":
            return tuple(values)
        if any(value.dtype != code.dtypes["f8"] for value in values):
            raise refuse("flatten/result-kind", f"{fn.name} can fail, and its results are not all floats: no nan "
                         "for them", help='errors="mask" adds the mask to the results, "unchecked" any value')
        return tuple(xp.where(suspect, xp.nan, value) for value in values)

    return run


class _LoopCode:
    def __init__(self, fn: Function, xp: Any, dtype: str, extra: Extra, max_trips: int | None):
        self.fn, self.xp, self.max_trips = fn, xp, max_trips
        self.writer: Callable[[], TextWriter] = partial(TextWriter, xp, dtype, extra)
        self.dtypes: Mapping[str, Any] = self.writer().dtypes
        self.blocks = {id(block): _BlockCode(self, block, stay(xp, extra)) for block in _blocks(fn.body)}

    def __call__(self, *lanes: Any) -> tuple[Any, ...]:
        xp = self.xp
        shape = xp.broadcast_shapes(*[xp.shape(lane) for lane in lanes])
        arrays = [xp.broadcast_to(xp.asarray(lane).astype(self.dtypes[str(param.kind)]), shape)
                  for lane, param in zip(lanes, self.fn.params, strict=True)]
        env: Arrays = dict(zip(self.fn.params, arrays, strict=True))
        live = xp.ones(shape, self.dtypes["b"])
        doubt = self.run(self.fn.body, env, live)
        last = self.fn.body[-1]
        assert isinstance(last, Block)
        *values, suspect = [xp.broadcast_to(self.read(value, env), shape) for value in _ends(last)]
        return (*values, suspect | doubt)

    def read(self, value: Value, env: Arrays) -> Any:
        if isinstance(value, Const):
            known = value.value if value.value is not None else 0  # undefined: no lane reads it
            return self.xp.asarray(known, dtype=self.dtypes[str(value.kind)])
        return env[value]

    def run(self, items: Sequence[Item], env: Arrays, live: Any) -> Any:
        """Add what the items compute; the lanes of which nothing is promised."""
        doubt = self.xp.zeros(live.shape, self.dtypes["b"])
        for item in items:
            if isinstance(item, Block):
                found = self.blocks[id(item)].run(env)
                doubt = doubt if found is None else doubt | (found & live)
            elif isinstance(item, Loop):
                doubt = doubt | self.loop(item, env, live)
        return doubt

    def loop(self, loop: Loop, env: Arrays, live: Any) -> Any:
        from jax import lax

        def blank(value: Value) -> Any:
            return self.xp.zeros(live.shape, self.dtypes[str(value.kind)])

        started = tuple(self.xp.broadcast_to(self.read(value, env), live.shape) for value in loop.inits)
        state = started, tuple(map(blank, loop.results)), live, self.xp.zeros(live.shape, self.dtypes["b"])
        step = self.step(loop, env)
        if self.max_trips is None:
            _, left, _, doubt = lax.while_loop(lambda state: state[2].any(), step, state)
            left = tuple(_without_reverse(value) if value.dtype == self.dtypes["f8"] else value for value in left)
        else:
            trips = self.max_trips + 1
            (_, left, still, doubt), _ = lax.scan(lambda state, _: (step(state), None), state, None, trips)
            doubt = doubt | still
        env.update(zip(loop.results, left, strict=True))
        return doubt

    def step(self, loop: Loop, env: Arrays) -> Callable[[Any], Any]:
        """One trip of all lanes that are in the loop."""
        parts = take_apart(loop)
        rest = [*_read(parts.rest), *parts.next]

        def step(state: Any) -> Any:
            carried, left, live, doubt = state
            inner = env | dict(zip(loop.params, carried, strict=True))
            self.guard(inner, _read(parts.header), live)
            doubt = doubt | self.run(parts.header, inner, live)
            go = live & self.read(parts.go, inner)
            left = self.chosen(live & ~go, parts.leave, left, inner)
            self.guard(inner, rest, go)
            doubt = doubt | self.run(parts.rest, inner, go)
            return self.chosen(go, parts.next, carried, inner), left, go, doubt

        return step

    def chosen(self, where: Any, values: Sequence[Value], others: Sequence[Any], env: Arrays) -> tuple[Any, ...]:
        """The values in some lanes, and what was there in the others."""
        pairs = zip(values, others, strict=True)
        return tuple(self.xp.where(where, self.read(value, env), old) for value, old in pairs)

    def guard(self, env: Arrays, values: Iterable[Value], live: Any) -> None:
        """No gradient goes to what other lanes read."""
        from jax import lax

        for value in values:
            if value in env and str(value.kind) == "f8":
                env[value] = self.xp.where(live, env[value], lax.stop_gradient(env[value]))


class _BlockCode:
    """A block as one function of the arrays that it reads, to those that are read elsewhere."""

    def __init__(self, code: _LoopCode, block: Block, stay: Container[str]):
        self.code = code
        own = set(block.ops)
        self.reads = [v for v in _read([block]) if v not in own and not isinstance(v, Const)]
        elsewhere = {v for other in _blocks(code.fn.body) if other is not block for v in _read([other])}
        ends = set(_loop_values(code.fn.body)) | {v for b in _blocks(code.fn.body) for v in _ends(b)}
        self.gives = [op for op in block.ops if op in elsewhere or op in ends]
        terms = Terms(RULES, stay)
        terms.of.update((v, Given(v.kind, k, v.name)) for k, v in enumerate(self.reads))
        terms.add(block.ops, {})
        doubts = reduce(lambda a, b: terms("or", a, b), terms.doubts, terms.const(False))
        roots = Slopes(terms, terms.const(False)).results([terms.of[op] for op in self.gives])
        self.doubts = bool(terms.doubts)
        kinds = [str(value.kind) for value in self.reads]
        self.compiled = code.writer().compiled("block", kinds, [*roots, doubts] if self.doubts else roots)

    def run(self, env: Arrays) -> Any:
        """Put what it gives into `env`; its doubts, None where there are none."""
        if not self.gives and not self.doubts:
            return None
        made = list(self.compiled(*[env[value] for value in self.reads]))
        doubt = made.pop() if self.doubts else None
        env.update(zip(self.gives, made, strict=True))
        return doubt


def _blocks(items: Sequence[Item]) -> list[Block]:
    """All blocks, those of loops too."""
    found: list[Block] = []
    for item in items:
        if isinstance(item, Block):
            found.append(item)
        elif isinstance(item, Loop):
            parts = take_apart(item)
            found += [*_blocks(parts.header), *_blocks(parts.rest)]
    return found


def _loop_values(items: Sequence[Item]) -> list[Value]:
    """What loops start with, leave with and go on with."""
    found: list[Value] = []
    for item in items:
        if isinstance(item, Loop):
            parts = take_apart(item)
            found += [*item.inits, parts.go, *parts.leave, *parts.next]
            found += [*_loop_values(parts.header), *_loop_values(parts.rest)]
    return found


def _read(items: Sequence[Item]) -> list[Value]:
    """What operations read, each once, and what loops in there do."""
    found: dict[Value, None] = {}
    for block in _blocks(items):
        found.update((arg, None) for op in block.ops for arg in op.args)
    found.update((value, None) for value in _loop_values(items))
    return list(found)


def _ends(block: Block) -> list[Value]:
    return list(getattr(block.end, "values", ()))


@cache
def _reverse_refused() -> Any:
    """The identity, without a reverse gradient."""
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    identity = Primitive("pyflat_loop_without_bound")
    identity.def_impl(lambda value: value)
    identity.def_abstract_eval(lambda value: value)
    mlir.register_lowering(identity, lambda context, value: [value])
    batching.defvectorized(identity)

    def refused(*_: Any) -> Any:
        raise ValueError("a reverse gradient (jax.grad, jax.vjp) through a loop whose iteration count varies by "
                         "element needs a limit: pyflat.twin(f, max_trips=100), which makes it a lax.scan")

    ad.deflinear2(identity, refused)
    return identity


def _without_reverse(value: Any) -> Any:
    return _reverse_refused().bind(value)
