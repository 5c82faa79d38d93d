"""Twins and flattened functions inside of numba's own functions: `@njit def total(xs): ... shade(x, t) ...`.

numba asks the entry point "numba_extensions" (`init`) before it compiles anything, which imports nothing of pyflat. It
tells numba of functions with a twin; a twin says itself what it is (`_numba_type_`). A call becomes one of the loop
that a ufunc of the twin has, over one lane or over the lanes of arrays: the compiled twin runs, and in suspect lanes
Python, which takes the GIL.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Sequence
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

    from pyflat.ir.types import Kind


_TYPES = "numba.core.types"


class TypedLoop(Protocol):
    """The loop for some kinds: `pyflat.runtime.loop_addresses.LoopOfTwin`."""

    @property
    def text(self) -> str: ...
    @property
    def inputs(self) -> Sequence[np.dtype[Any]]: ...
    @property
    def outputs(self) -> Sequence[np.dtype[Any]]: ...
    @property
    def single(self) -> bool: ...


class TypedLoops(Protocol):
    """The loops of one twin."""

    @property
    def name(self) -> str: ...
    @property
    def signature(self) -> inspect.Signature: ...
    def loop(self, kinds: Sequence[Kind]) -> TypedLoop: ...


def init() -> None:
    """For numba: functions with a twin are called as their twins."""
    from numba.core.typing.typeof import typeof_impl

    below = typeof_impl.dispatch(FunctionType)

    def type_of_function(function: FunctionType, context: Any) -> Any:
        twin: Any = vars(function).get("flat")
        if getattr(twin, "original", None) is function and hasattr(type(twin), "_numba_type_"):
            return twin._numba_type_
        return below(function, context)

    typeof_impl.register(FunctionType, type_of_function)


_types: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def type_of(twin: Any, loops: Callable[[], TypedLoops], home: str) -> Any:
    """numba's type of a twin. `home` is the module whose `address` gives the address of a loop."""
    found = _types.get(twin)
    if found is None:
        from numba.core import types
        from numba.core.typing.templates import make_overload_template

        made = loops()
        options = {"no_cpython_wrapper": True, "nopython": True}
        template = make_overload_template(twin, _overload(made, home), options, False, "never")
        found = _types[twin] = types.Function(template)
    return found


def _overload(loops: TypedLoops, home: str) -> Callable[..., Any]:
    """What numba calls with the types of arguments: gives Python code for them."""
    names = list(loops.signature.parameters)
    defaults = {f"_default_{k}": p.default for k, p in enumerate(loops.signature.parameters.values())
                if p.default is not p.empty}
    head = ", ".join(f"{name}=_default_{k}" if f"_default_{k}" in defaults else name for k, name in enumerate(names))

    def implementation(*given: Any) -> Any:
        return _implementation(loops, home, names, head, defaults, given)

    space: dict[str, Any] = {"implementation": implementation, **defaults}
    exec(f"def overload({head}): return implementation({', '.join(names)})", space)
    found: Callable[..., Any] = space["overload"]
    return found


def _implementation(loops: TypedLoops, home: str, names: list[str], head: str, defaults: dict[str, Any],
                    given: Sequence[Any]) -> Any:
    """The text of a call with arguments of these types."""
    import numpy as np
    from numba import from_dtype, types

    found = list(map(_type, given))
    loop = loops.loop([_kind(loops.name, name, one) for name, one in zip(names, found, strict=True)])
    arrays = [name for name, one in zip(names, found, strict=True) if isinstance(one, types.Array)]
    run = _invocation(loop, home, bool(arrays))
    space: dict[str, Any] = {"run": run, "np": np, "flat": _flattening(), **defaults}
    lines = [f"def call({head}):"]
    if not arrays:
        lines.append(f"    return run(({', '.join(names)},))")
    else:
        lines.append(f"    shape = np.broadcast_shapes({', '.join(f'{name}.shape' for name in arrays)})")
        operands = []
        for k, (name, one) in enumerate(zip(names, found, strict=True)):
            if name in arrays:
                space[f"d{k}"] = own = from_dtype(loop.inputs[k])
                text = name if one.dtype == own and one.mutable else f"{name}.astype(d{k})"
                lines.append(f"    a{k} = flat({text}, shape)")
            operands.append(f"a{k}" if name in arrays else name)
        results = [f"r{k}" for k in range(len(loop.outputs))]
        space |= {f"t{k}": from_dtype(dtype) for k, dtype in enumerate(loop.outputs)}
        lines += [f"    r{k} = np.empty(shape, t{k})" for k in range(len(results))]
        lines += [f"    run(({', '.join([*operands, *[f'{r}.reshape(-1)' for r in results]])},))",
                  f"    return {results[0] if loop.single else ', '.join(results) + ','}"]
    exec("\n".join(lines), space)
    return space["call"]


def _type(value: Any) -> Any:
    """The type of an argument, of a default that is not passed its value's."""
    import numba

    types: Any = import_module(_TYPES)
    if isinstance(value, types.Omitted):
        return numba.typeof(value.value)
    return types.unliteral(value) if isinstance(value, types.Type) else numba.typeof(value)


def _kind(function: str, name: str, found: Any) -> Kind:
    from numba.core.errors import TypingError

    from pyflat.ir.types import BOOL, FLOAT, INT

    types: Any = import_module(_TYPES)
    one = found.dtype if isinstance(found, types.Array) else found
    match one:
        case types.Boolean():
            return BOOL
        case types.Integer() if one.signed or one.bitwidth < 64:
            return INT
        case types.Float():
            return FLOAT
    raise TypingError(f"the twin of {function} takes bool, integers that fit into int64, floats and arrays of them; "
                      f"{name!r} is {found} here")


def _flattening() -> Any:
    """The lanes of an array in one row."""
    import numba
    import numpy as np

    global _flat  # noqa: PLW0603 - compiled once
    if _flat is None:
        @numba.njit  # type: ignore[untyped-decorator]
        def flat(array: Any, shape: Any) -> Any:
            if array.shape == shape:
                return np.ascontiguousarray(array).reshape(-1)
            return np.broadcast_to(array, shape).copy().reshape(-1)

        _flat = flat
    return _flat


_flat: Any = None


def _invocation(loop: TypedLoop, home: str, arrays: bool) -> Any:
    """An intrinsic of numba: calls the loop with a tuple of operands. Without arrays it gives the results."""
    from numba import from_dtype
    from numba.extending import intrinsic

    types: Any = import_module(_TYPES)
    inputs, outputs = list(map(from_dtype, loop.inputs)), list(map(from_dtype, loop.outputs))

    @intrinsic  # type: ignore[untyped-decorator]
    def run(context: Any, operands: Any) -> Any:
        result = types.void if arrays else outputs[0] if loop.single else types.Tuple(outputs)
        return result(operands), lambda *given: _calls(loop, home, inputs, outputs, arrays, *given)

    return run


def _calls(loop: TypedLoop, home: str, inputs: list[Any], outputs: list[Any], arrays: bool, context: Any, builder: Any,
           signature: Any, args: Any) -> Any:
    from llvmlite import ir
    from numba.core import cgutils, types

    word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
    operands, given = args[0], signature.args[0]
    places, steps, count = [], [], word(1)
    for k, own in enumerate([*inputs, *outputs]):
        model = context.data_model_manager[own]
        if k < len(given) and isinstance(given[k], types.Array):
            array = context.make_array(given[k])(context, builder, builder.extract_value(operands, k))
            place, step = array.data, context.get_abi_sizeof(model.get_data_type())
            count = builder.extract_value(array.shape, 0)
        else:
            place, step = cgutils.alloca_once(builder, model.get_data_type()), 0
            if k < len(given):
                value = context.cast(builder, builder.extract_value(operands, k), given[k], own)
                builder.store(model.as_data(builder, value), place)
        places.append(builder.bitcast(place, pointer))
        steps.append(word(step))
    rows = [cgutils.pack_array(builder, row) for row in (places, [count], steps)]
    held = [cgutils.alloca_once_value(builder, value) for value in rows]
    code = _address(context, builder, loop.text, home)
    kind = ir.FunctionType(ir.IntType(32), [pointer] * 5)
    null = pointer(None)
    status = builder.call(builder.bitcast(code, kind.as_pointer()),
                          [null, *[builder.bitcast(one, pointer) for one in held], null])
    with builder.if_then(builder.icmp_signed("!=", status, status.type(0)), likely=False):
        context.call_conv.return_exc(builder)
    if arrays:
        return context.get_dummy_value()
    found = []
    for k, own in enumerate(outputs):
        at = builder.bitcast(places[len(inputs) + k], context.get_data_type(own).as_pointer())
        found.append(context.data_model_manager[own].from_data(builder, builder.load(at)))
    return found[0] if loop.single else context.make_tuple(builder, signature.return_type, found)


def _address(context: Any, builder: Any, text: str, home: str) -> Any:
    """The address of the loop: asked for once, and kept beside the code, which another process may run."""
    from hashlib import sha256

    from llvmlite import ir
    from numba.core import cgutils

    pointer = ir.IntType(8).as_pointer()
    name = f"pyflat.{sha256(text.encode()).hexdigest()[:32]}"
    slot = builder.module.globals.get(name)
    if slot is None:
        slot = ir.GlobalVariable(builder.module, pointer, name)
        slot.linkage, slot.initializer = "internal", pointer(None)
    with builder.if_then(cgutils.is_null(builder, builder.load(slot)), likely=False):
        api = context.get_python_api(builder)
        gil = api.gil_ensure()
        module = api.import_module(context.insert_const_string(builder.module, home))
        with builder.if_then(cgutils.is_not_null(builder, module)):
            given = api.string_from_string(context.insert_const_string(builder.module, text))
            found = api.call_method(module, "address", [given])
            with builder.if_then(cgutils.is_not_null(builder, found)):
                builder.store(api.long_as_voidptr(found), slot)
                api.decref(found)
            api.decref(module)
        api.gil_release(gil)
    code = builder.load(slot)
    with builder.if_then(cgutils.is_null(builder, code), likely=False):
        context.call_conv.return_exc(builder)
    return code
