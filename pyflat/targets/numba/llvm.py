"""Small pieces of LLVM's IR that the numba target writes again and again: stack slots, counted loops, splats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

I1, I8, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
POINTER = ir.PointerType()
ALIGNMENT = 64
"""Bytes: the widest register and the cache line."""


_NO_OWN_VECTORS = '"min-legal-vector-width"="0"'


class _Attributes(ir.FunctionAttributes):  # type: ignore[misc]
    _known = ir.FunctionAttributes._known | {_NO_OWN_VECTORS}


def without_own_vectors(function: ir.Function) -> None:
    """Only LLVM makes vectors of this function. Where the processor is better off with half of its widest registers,
    as LLVM says of Intel's with AVX-512, it then uses these everywhere; else it would shuffle half registers in whole
    ones."""
    function.attributes = _Attributes(function.attributes)
    function.attributes.add(_NO_OWN_VECTORS)


def i64(number: int) -> ir.Constant:
    return ir.Constant(I64, number)


class Splat(ir.Constant):  # type: ignore[misc]
    """A scalar constant in every lane of a vector; llvmlite knows only the long spelling."""

    def __init__(self, constant: ir.Constant, width: int):
        self.type = ir.VectorType(constant.type, width)
        self.constant = constant

    def _to_string(self) -> str:
        return f"{self.type} {self.get_reference()}"

    def _get_reference(self) -> str:
        return f"splat ({self.constant.type} {self.constant.get_reference()})"


def stack(builder: ir.IRBuilder, element: ir.Type, count: int = 1) -> Any:
    """Room for `count` elements in the frame of the function, whatever loop the builder is in."""
    with builder.goto_entry_block():
        place = builder.alloca(ir.ArrayType(element, count))
    place.align = ALIGNMENT
    place.type = POINTER
    return place


def constants(module: ir.Module, element: ir.Type, numbers: Sequence[Any]) -> ir.GlobalVariable:
    """A constant array in the module."""
    array = ir.ArrayType(element, len(numbers))
    variable = ir.GlobalVariable(module, array, module.get_unique_name("pyflat.table"))
    variable.linkage, variable.global_constant = "internal", True
    variable.initializer = ir.Constant(array, [ir.Constant(element, number) for number in numbers])
    return variable


def element_at(builder: ir.IRBuilder, pointer: Any, index: Any, element: ir.Type) -> Any:
    """The address of an element, or of as many as the index has lanes."""
    place = builder.gep(pointer, [index], source_etype=element)
    place.type = ir.VectorType(POINTER, index.type.count) if isinstance(index.type, ir.VectorType) else POINTER
    return place


def phi_of(builder: ir.IRBuilder, *ways: tuple[Any, Any]) -> Any:
    """A phi of values, each with the block that it comes from."""
    phi = builder.phi(ways[0][0].type)
    for value, block in ways:
        phi.add_incoming(value, block)
    return phi


@contextmanager
def counted(builder: ir.IRBuilder, count: Any, step: int = 1, start: Any = None, *, rolled: bool = False
            ) -> Iterator[Any]:
    """A loop `for index in range(start, count, step)` around what is written inside; `rolled`: LLVM must not unroll
    it, for what runs seldom."""
    before = builder.block
    head, body, end = (builder.append_basic_block(name) for name in ("for", "do", "done"))
    builder.branch(head)
    builder.position_at_end(head)
    index = phi_of(builder, (i64(0) if start is None else start, before))
    builder.cbranch(builder.icmp_signed("<", index, count), body, end)
    builder.position_at_end(body)
    yield index
    index.add_incoming(builder.add(index, i64(step), flags=["nsw"]), builder.block)
    again = builder.branch(head)
    if rolled:
        keep_rolled(builder.module, again)
    builder.position_at_end(end)


@contextmanager
def set_lanes(builder: ir.IRBuilder, bits: Any) -> Iterator[Any]:
    """A loop over the numbers of the bits that are set in an int64 around what is written inside."""
    before = builder.block
    head, body, end = (builder.append_basic_block(name) for name in ("bits", "do", "done"))
    builder.branch(head)
    builder.position_at_end(head)
    left = phi_of(builder, (bits, before))
    builder.cbranch(builder.icmp_unsigned("!=", left, i64(0)), body, end)
    builder.position_at_end(body)
    yield builder.cttz(left, ir.Constant(I1, 1))
    left.add_incoming(builder.and_(left, builder.sub(left, i64(1))), builder.block)
    keep_rolled(builder.module, builder.branch(head))
    builder.position_at_end(end)


def keep_rolled(module: ir.Module, branch: Any) -> None:
    """The metadata of a loop names itself first, which makes it the loop's own."""
    hint = module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])
    node = ir.values.MDValue(module, [], name=str(len(module.metadata)))
    node.operands = (node, hint)
    branch.set_metadata("llvm.loop", node)


def suffix(type_: ir.Type) -> str:
    """How LLVM names the type in an overloaded intrinsic: f64, i32, v8f64."""
    if isinstance(type_, ir.VectorType):
        return f"v{type_.count}{suffix(type_.element)}"
    return {F64: "f64", F32: "f32"}.get(type_) or str(type_)


def freeze(builder: ir.IRBuilder, value: Any) -> Any:
    """`value`, and some number, always the same, where it is poison."""
    instruction = ir.Instruction(builder.block, value.type, "freeze", [value])
    builder._insert(instruction)
    return instruction


def spread(builder: ir.IRBuilder, scalar: Any, width: int) -> Any:
    """A computed scalar in every lane of a vector."""
    none = ir.Constant(ir.VectorType(scalar.type, width), ir.Undefined)
    first = builder.insert_element(none, scalar, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, none, ir.Constant(ir.VectorType(I32, width), None))


def joined(builder: ir.IRBuilder, registers: list[Any]) -> Any:
    """Vectors of one type as one; their number is a power of two."""
    while len(registers) > 1:
        places = ir.Constant(ir.VectorType(I32, 2 * registers[0].type.count), list(range(2 * registers[0].type.count)))
        registers = [builder.shuffle_vector(a, b, places)
                     for a, b in zip(registers[::2], registers[1::2], strict=True)]
    return registers[0]


def parted(builder: ir.IRBuilder, vector: Any, lanes: int) -> list[Any]:
    """A vector in pieces of so many lanes each."""
    count = vector.type.count
    if count == lanes:
        return [vector]
    none = ir.Constant(vector.type, ir.Undefined)
    return [builder.shuffle_vector(vector, none, ir.Constant(ir.VectorType(I32, lanes), list(range(k, k + lanes))))
            for k in range(0, count, lanes)]


def internal_function(module: ir.Module, prototype: ir.FunctionType, name: str, *attributes: str) -> ir.Function:
    """A function that its module alone calls."""
    function = ir.Function(module, prototype, name)
    function.linkage = "internal"
    for attribute in attributes:
        function.attributes.add(attribute)
    return function
