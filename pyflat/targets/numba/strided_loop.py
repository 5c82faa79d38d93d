"""A loop of NumPy's newer interface (`PyArrayMethod_StridedLoop`) around a kernel: it may fail with an exception.

    int loop(context, data, dims, steps, auxiliary)
        operands that results do not overlap: kernel(data, dims, steps, state)
        others: the same for blocks of lanes that are copied to and from dense buffers
        where some lane is suspect: python(data, dims, steps, state); the exception that it gives is raised

NumPy holds no GIL here, and the kernel needs none. `python` is a ctypes callback, which takes it; a callback cannot
leave an exception behind, so that it gives the object (a new reference, or 0) and this code raises it.

Where a result overlaps an operand (`out=x`, a reduction) the block's results are copied there at the end: when a lane
turns out to be suspect, its operands must still be there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyflat.targets.numba.jit import MachineCode, compile_ir, processor

if TYPE_CHECKING:
    from pyflat.targets.numba.compiled_kernel import InnerLoop

_HEAD = """
declare i64 @python(ptr, ptr, ptr, ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyObject_Type(ptr)
declare void @PyErr_SetObject(ptr, ptr)
declare void @Py_DecRef(ptr)

define internal i32 @finish(i64 %error) {
entry:
  %fine = icmp eq i64 %error, 0
  br i1 %fine, label %done, label %raise
done:
  ret i32 0
raise:
  %held = call i32 @PyGILState_Ensure()
  %exception = inttoptr i64 %error to ptr
  %type = call ptr @PyObject_Type(ptr %exception)
  call void @PyErr_SetObject(ptr %type, ptr %exception)
  call void @Py_DecRef(ptr %type)
  call void @Py_DecRef(ptr %exception)
  call void @PyGILState_Release(i32 %held)
  ret i32 -1
}
"""
_RUN = """
declare void @kernel(ptr, ptr, ptr, ptr)
@state = external global i64

define internal i1 @run(ptr %data, ptr %dims, ptr %steps) {
  %interrupted_at = getelementptr i64, ptr @state, i64 1
  %before = load i64, ptr @state
  call void @kernel(ptr %data, ptr %dims, ptr %steps, ptr @state)
  %after = load i64, ptr @state
  %interrupted = load i64, ptr %interrupted_at
  %same = icmp eq i64 %before, %after
  %whole = icmp eq i64 %interrupted, 0
  %good = and i1 %same, %whole
  ret i1 %good
}
"""
"""Whether the kernel has computed all lanes, and suspects none."""

BUFFERS = 2**16
"""Bytes on the stack for blocks of lanes."""

PYTHON = ("PyGILState_Ensure", "PyGILState_Release", "PyObject_Type", "PyErr_SetObject", "Py_DecRef")


@dataclass(frozen=True, slots=True)
class StridedLoop:
    """Where the loop starts; valid as long as this object lives."""

    address: int
    _kept: tuple[object, ...]


def strided_loop(inner: InnerLoop | None, sizes: Sequence[int], inputs: int, python: int) -> StridedLoop:
    """The loop for operands with these item sizes, of which the first `inputs` are read. Without a kernel every call
    goes to `python`, the address of `size_t python(data, dims, steps, state)`."""
    if inner is None:
        return _compiled(_HEAD + _loop("ptr %context, ptr %data, ptr %dims, ptr %steps, ptr %auxiliary", [
            "  %error = call i64 @python(ptr %data, ptr %dims, ptr %steps, ptr null)"]), {"python": python}, None)
    symbols = {"python": python, "kernel": inner.address, "state": inner.state.address}
    return _compiled(loop_text(sizes, inputs), symbols, inner)


def loop_text(sizes: Sequence[int], inputs: int) -> str:
    """The module with the function `loop`, around `kernel` and `python`, which share `state`."""
    return _HEAD + _RUN + _copies() + _loop("ptr %context, ptr %data, ptr %dims, ptr %steps, ptr %auxiliary", [
        *_fast(sizes, inputs), "slow:",
        "  %error = call i64 @python(ptr %data, ptr %dims, ptr %steps, ptr @state)"])


def promoter(python: int) -> StridedLoop:
    """`int promoter(ufunc, dtypes, signature, new dtypes)` around a callback with the same arguments."""
    return _compiled(_HEAD + _loop("ptr %ufunc, ptr %dtypes, ptr %signature, ptr %new", [
        "  %error = call i64 @python(ptr %ufunc, ptr %dtypes, ptr %signature, ptr %new)"]), {"python": python}, None)


def _loop(parameters: str, lines: Sequence[str]) -> str:
    """A function that raises the `error` which its lines come to."""
    return "\n".join([f"define i32 @loop({parameters}) {{", "entry:", *lines,
                      "  %status = call i32 @finish(i64 %error)", "  ret i32 %status", "}", ""])


def _compiled(text: str, symbols: dict[str, int], inner: object) -> StridedLoop:
    for name in PYTHON:
        symbols[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    code: MachineCode = compile_ir(text, "loop", symbols, processor())
    return StridedLoop(code.address, (code, inner))


def _fast(sizes: Sequence[int], inputs: int) -> list[str]:
    """What the kernel can do, with labels of where to go on: `slow` only after all of it."""
    lines = ["  %n = load i64, ptr %dims", "  %any = icmp sgt i64 %n, 0", "  br i1 %any, label %look, label %fine",
             "fine:", "  ret i32 0", "look:", "  %last = sub i64 %n, 1", "  %single = icmp eq i64 %n, 1"]
    for k, size in enumerate(sizes):
        lines += [
            f"  %place{k} = getelementptr ptr, ptr %data, i64 {k}",
            f"  %step_at{k} = getelementptr i64, ptr %steps, i64 {k}",
            f"  %base{k} = load i64, ptr %place{k}", f"  %step{k} = load i64, ptr %step_at{k}",
            f"  %span{k} = mul i64 %step{k}, %last", f"  %back{k} = icmp slt i64 %span{k}, 0",
            f"  %under{k} = select i1 %back{k}, i64 %span{k}, i64 0",
            f"  %over{k} = select i1 %back{k}, i64 0, i64 %span{k}", f"  %low{k} = add i64 %base{k}, %under{k}",
            f"  %end{k} = add i64 %base{k}, %over{k}", f"  %high{k} = add i64 %end{k}, {size}",
            f"  %unit{k} = icmp eq i64 %step{k}, {size}", f"  %dense{k} = or i1 %unit{k}, %single",
            f"  %still{k} = icmp eq i64 %step{k}, 0", f"  %moves{k} = xor i1 %still{k}, true",
        ]
    overlap, chain = "false", "false"
    for a in range(inputs):
        for b in range(inputs, len(sizes)):
            i = f"{a}.{b}"
            lines += [
                f"  %x{i} = icmp ult i64 %low{a}, %high{b}", f"  %y{i} = icmp ult i64 %low{b}, %high{a}",
                f"  %z{i} = and i1 %x{i}, %y{i}", f"  %o{i} = or i1 {overlap}, %z{i}",
                f"  %place_same{i} = icmp eq i64 %base{a}, %base{b}",
                f"  %step_same{i} = icmp eq i64 %step{a}, %step{b}",
                f"  %along{i} = and i1 %step_same{i}, %moves{a}", f"  %alike{i} = or i1 %along{i}, %single",
                f"  %same{i} = and i1 %place_same{i}, %alike{i}", f"  %other{i} = xor i1 %same{i}, true",
                f"  %waits{i} = and i1 %z{i}, %other{i}", f"  %c{i} = or i1 {chain}, %waits{i}",
            ]
            overlap, chain = f"%o{i}", f"%c{i}"
    lines += [f"  br i1 {overlap}, label %blocks, label %direct", "direct:",
              "  %good = call i1 @run(ptr %data, ptr %dims, ptr %steps)",
              "  br i1 %good, label %fine, label %slow"]
    return [*lines, *_blocks(sizes, inputs, chain)]


def _blocks(sizes: Sequence[int], inputs: int, chain: str) -> list[str]:
    """Operands that results overlap: copied to dense buffers and back, a block of lanes at a time. Where a lane
    reads what an earlier one has written (`chain`), a block is one lane."""
    count, lanes = len(sizes), max(64, BUFFERS // (8 * len(sizes)) // 64 * 64)
    lines = ["blocks:", f"  %most = select i1 {chain}, i64 1, i64 {lanes}", f"  %places = alloca [{count} x ptr]",
             f"  %units = alloca [{count} x i64]", f"  %whole = alloca [{count} x ptr]", "  %m = alloca i64"]
    for k, size in enumerate(sizes):
        lines += [
            f"  %room{k} = alloca [{lanes} x i64], align 64",
            f"  %put{k} = getelementptr ptr, ptr %places, i64 {k}",
            f"  %real{k} = getelementptr ptr, ptr %whole, i64 {k}",
            f"  %unit_at{k} = getelementptr i64, ptr %units, i64 {k}", f"  store i64 {size}, ptr %unit_at{k}",
        ]
        if k < inputs:  # what is the same in all lanes is copied once, unless a lane writes there
            lines += [f"  %loose{k} = xor i1 {chain}, true", f"  %fixed{k} = and i1 %still{k}, %loose{k}",
                      f"  %once{k} = select i1 %fixed{k}, i64 {lanes}, i64 0",
                      f"  %first{k} = inttoptr i64 %base{k} to ptr",
                      f"  call void @pack{size}(ptr %room{k}, ptr %first{k}, i64 %step{k}, i64 %once{k})",
                      f"  %ready{k} = or i1 %dense{k}, %fixed{k}"]
    lines += ["  br label %block", "block:", "  %start = phi i64 [0, %blocks], [%next, %stored]",
              "  %left = sub i64 %n, %start", "  %short = icmp slt i64 %left, %most",
              "  %size = select i1 %short, i64 %left, i64 %most", "  store i64 %size, ptr %m",
              "  %next = add i64 %start, %size"]
    for k, size in enumerate(sizes):
        lines += [f"  %away{k} = mul i64 %start, %step{k}", f"  %at{k} = add i64 %base{k}, %away{k}",
                  f"  %here{k} = inttoptr i64 %at{k} to ptr", f"  store ptr %here{k}, ptr %real{k}",
                  f"  %used{k} = select i1 {f'%dense{k}' if k < inputs else 'false'}, ptr %here{k}, ptr %room{k}",
                  f"  store ptr %used{k}, ptr %put{k}"]
        if k < inputs:
            lines += [f"  %each{k} = select i1 %ready{k}, i64 0, i64 %size",
                      f"  call void @pack{size}(ptr %room{k}, ptr %here{k}, i64 %step{k}, i64 %each{k})"]
    lines += ["  %fits = call i1 @run(ptr %places, ptr %m, ptr %units)",
              "  br i1 %fits, label %store, label %settle", "settle:",
              "  %failure = call i64 @python(ptr %whole, ptr %m, ptr %steps, ptr @state)",
              "  %ended = call i32 @finish(i64 %failure)", "  %went = icmp eq i32 %ended, 0",
              "  br i1 %went, label %stored, label %failed", "failed:", "  ret i32 -1", "store:"]
    for k, size in enumerate(sizes[inputs:], inputs):
        lines += [f"  call void @unpack{size}(ptr %here{k}, i64 %step{k}, ptr %room{k}, i64 %size)"]
    return [*lines, "  br label %stored", "stored:", "  %more = icmp slt i64 %next, %n",
            "  br i1 %more, label %block, label %fine"]


def _copies() -> str:
    """`pack` gathers strided elements, `unpack` scatters them."""
    loops = []
    for size in (1, 4, 8):
        element = f"i{8 * size}"
        for name, order in (("pack", "ptr %dense, ptr %far, i64 %step"), ("unpack", "ptr %far, i64 %step, ptr %dense")):
            source, target = ("%b", "%a") if name == "pack" else ("%a", "%b")
            loops.append(f"""
define internal void @{name}{size}({order}, i64 %n) {{
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %each, label %done
each:
  %k = phi i64 [0, %entry], [%next, %each]
  %a = getelementptr {element}, ptr %dense, i64 %k
  %offset = mul i64 %k, %step
  %b = getelementptr i8, ptr %far, i64 %offset
  %x = load {element}, ptr {source}
  store {element} %x, ptr {target}
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %each, label %done
done:
  ret void
}}
""")
    return "".join(loops)
