"""A loop of NumPy's newer interface (`PyArrayMethod_StridedLoop`) around a kernel: it may fail with an exception.

    int loop(context, data, dims, steps, auxiliary)
        operands that do not overlap: kernel(data, dims, steps, state); no lane suspect: 0
        everything else: python(data, dims, steps); the exception that it gives is raised

NumPy holds no GIL here, and the kernel needs none. `python` is a ctypes callback, which takes it; a callback cannot
leave an exception behind, so that it gives the object (a new reference, or 0) and this code raises it.

A result that overlaps an operand (`out=x`, a reduction) goes to `python`: when a lane turns out to be suspect, its
operands must still be there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyflat.targets.numba_jit import Code, compile_ir, processor

if TYPE_CHECKING:
    from pyflat.targets.numba import InnerLoop

_HEAD = """
declare void @kernel(ptr, ptr, ptr, ptr)
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
_PYTHON = ("PyGILState_Ensure", "PyGILState_Release", "PyObject_Type", "PyErr_SetObject", "Py_DecRef")


@dataclass(frozen=True, slots=True)
class Glue:
    """Where the loop starts; valid as long as this object lives."""

    address: int
    _kept: tuple[object, ...]


def strided_loop(inner: InnerLoop | None, sizes: Sequence[int], inputs: int, python: int) -> Glue:
    """The loop for operands with these item sizes, of which the first `inputs` are read. Without a kernel every call
    goes to `python`, the address of `size_t python(data, dims, steps, NULL)`."""
    lines = ["define i32 @loop(ptr %context, ptr %data, ptr %dims, ptr %steps, ptr %auxiliary) {", "entry:"]
    if inner is not None:
        lines += _fast(sizes, inputs, inner.state)
    lines += ["  br label %slow", "slow:",
              "  %error = call i64 @python(ptr %data, ptr %dims, ptr %steps, ptr null)",
              "  %status = call i32 @finish(i64 %error)", "  ret i32 %status", "}"]
    symbols = {"python": python, **({} if inner is None else {"kernel": inner.address})}
    return _compiled(lines, symbols, inner)


def promoter(python: int) -> Glue:
    """`int promoter(ufunc, dtypes, signature, new dtypes)` around a callback with the same arguments."""
    lines = ["define i32 @loop(ptr %ufunc, ptr %dtypes, ptr %signature, ptr %new) {",
             "  %error = call i64 @python(ptr %ufunc, ptr %dtypes, ptr %signature, ptr %new)",
             "  %status = call i32 @finish(i64 %error)", "  ret i32 %status", "}"]
    return _compiled(lines, {"python": python}, None)


def _compiled(lines: Sequence[str], symbols: dict[str, int], inner: object) -> Glue:
    import ctypes

    for name in _PYTHON:
        symbols[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    code: Code = compile_ir(_HEAD + "\n".join(lines) + "\n", "loop", symbols, processor())
    return Glue(code.address, (code, inner))


def _fast(sizes: Sequence[int], inputs: int, state: int) -> list[str]:
    """Nothing to do, or operands apart and no lane suspect: done."""
    lines = ["  %n = load i64, ptr %dims", "  %any = icmp sgt i64 %n, 0", "  br i1 %any, label %apart, label %fine",
             "fine:", "  ret i32 0", "apart:", "  %last = sub i64 %n, 1"]
    for k, size in enumerate(sizes):
        lines += [
            f"  %place{k} = getelementptr ptr, ptr %data, i64 {k}",
            f"  %step_at{k} = getelementptr i64, ptr %steps, i64 {k}",
            f"  %base{k} = load i64, ptr %place{k}", f"  %step{k} = load i64, ptr %step_at{k}",
            f"  %span{k} = mul i64 %step{k}, %last", f"  %back{k} = icmp slt i64 %span{k}, 0",
            f"  %under{k} = select i1 %back{k}, i64 %span{k}, i64 0",
            f"  %over{k} = select i1 %back{k}, i64 0, i64 %span{k}", f"  %low{k} = add i64 %base{k}, %under{k}",
            f"  %end{k} = add i64 %base{k}, %over{k}", f"  %high{k} = add i64 %end{k}, {size}",
        ]
    overlap = "false"
    for a in range(inputs):
        for b in range(inputs, len(sizes)):
            name = f"{a}.{b}"
            lines += [f"  %x{name} = icmp ult i64 %low{a}, %high{b}", f"  %y{name} = icmp ult i64 %low{b}, %high{a}",
                      f"  %z{name} = and i1 %x{name}, %y{name}", f"  %o{name} = or i1 {overlap}, %z{name}"]
            overlap = f"%o{name}"
    return [
        *lines, f"  br i1 {overlap}, label %slow, label %run", "run:", f"  %state = inttoptr i64 {state} to ptr",
        "  %interrupted_at = getelementptr i64, ptr %state, i64 1", "  %before = load i64, ptr %state",
        "  call void @kernel(ptr %data, ptr %dims, ptr %steps, ptr %state)", "  %after = load i64, ptr %state",
        "  %interrupted = load i64, ptr %interrupted_at", "  %same = icmp eq i64 %before, %after",
        "  %whole = icmp eq i64 %interrupted, 0", "  %good = and i1 %same, %whole",
        "  br i1 %good, label %fine, label %again", "again:",
    ]
