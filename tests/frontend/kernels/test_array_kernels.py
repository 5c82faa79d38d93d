"""The nineteen kernels: Python's loops = the interpreter before and after the passes = each target, bit for bit."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import pyflat
from benchmarks.array_kernels import ARRAY_KERNELS
from pyflat.frontend.kernels import specialise_kernel
from pyflat.frontend.roles import array_parameters
from pyflat.ir.interp import run
from pyflat.ir.memory import ArrayArgument
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.shape import Leaf
from pyflat.ir.types import FLOAT, INT
from pyflat.ir.validate import validate
from pyflat.passes import pipelines

SLOW = ("crc16", "mm2", "heat_3d", "floyd_warshall", "jacobi_2d", "fdtd_2d", "upwind", "conv2d", "azimuthal", "lcs")
"""Interpreted once, after the passes."""


def arrays_of(result, args):
    found = () if result is None else result if isinstance(result, tuple) else (result,)
    return [np.asarray(x) for x in (*found, *(a for a in args if isinstance(a, np.ndarray)))]


def assert_same(found, wanted, what):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), what


@pytest.mark.parametrize("kernel", ARRAY_KERNELS.values(), ids=lambda kernel: kernel.name)
def test_python_the_interpreter_and_the_targets_agree(kernel):
    original = kernel.arguments("small")
    wanted = arrays_of(kernel.function(*original), original)
    for target in ("numpy", "numba"):
        given = kernel.arguments("small")
        assert_same(arrays_of(pyflat.twin(kernel.function, target=target)(*given), given), wanted, target)
    made = described(kernel)
    pruned = pipelines.run(made.function, pipelines.kernel(made))
    for fn in (made.function, pruned):
        validate(fn)
        assert format_function(parse_function(format_function(fn))) == format_function(fn)
    for fn in (made.function, pruned)[kernel.name in SLOW:]:
        given = kernel.arguments("small")
        values = [part for name, a in zip(made.arguments, given, strict=True)
                  for part in ([{name: a}, *a.shape] if isinstance(a, np.ndarray) else [a])]
        found = run(fn, values, max_trips=10**9).values
        returned = [a for memory in found if isinstance(memory, dict) for name, a in memory.items()
                    if name not in made.arguments]
        assert_same(arrays_of(tuple(returned), given), wanted, "interpreter")


def described(kernel):
    arguments = {}
    for number, (name, value) in enumerate(zip(inspect.signature(kernel.function).parameters,
                                               kernel.arguments("small"), strict=True)):
        if isinstance(value, np.ndarray):
            arguments[name] = ArrayArgument(value.dtype.str[1:], value.ndim, number)
        else:
            arguments[name] = Leaf(INT if isinstance(value, int) else FLOAT)
    return specialise_kernel(kernel.function, arguments)


@pytest.mark.parametrize("kernel", ARRAY_KERNELS.values(), ids=lambda kernel: kernel.name)
def test_the_arrays_among_the_parameters_are_found(kernel):
    arrays = {name for name, value in zip(inspect.signature(kernel.function).parameters,
                                          kernel.arguments("small"), strict=True) if isinstance(value, np.ndarray)}
    assert set(array_parameters(kernel.function)) == arrays


# --- layouts and places


def shifted(a, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i - 1, j] + 2.0 * a[i, j - 1]  # the first row and column wrap around


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("layout", [
    lambda x: x, np.asfortranarray, lambda x: np.repeat(x, 2, 1)[:, ::2], lambda x: x[::-1, ::-1], lambda x: x.T,
    lambda x: np.pad(x, 3)[3:-3, 3:-3], lambda x: x.astype(">f8"), lambda x: x[:0], lambda x: x[:1, :1],
])
def test_arrays_may_lie_anyhow(layout, target):
    a = layout(np.random.default_rng(1).random((6, 5)))
    ours, theirs = layout(np.zeros((6, 5))), layout(np.zeros((6, 5)))
    pyflat.twin(shifted, target=target)(a, ours)
    shifted(a, theirs)
    assert ours.tobytes() == theirs.tobytes()


def running(a, out):
    for i in range(1, len(a)):
        out[i] = out[i - 1] + a[i]


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_arguments_may_be_parts_of_one_array(target):
    ours, theirs = np.arange(9.0), np.arange(9.0)
    pyflat.twin(running, target=target)(ours[1:], ours[:-1])
    running(theirs[1:], theirs[:-1])
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("dtype", [">f8", "unaligned"])
def test_converted_arguments_that_overlap_are_refused(dtype, target):
    a = np.zeros(73, np.uint8)[1:].view(float) if dtype == "unaligned" else np.zeros(9, dtype)
    a[...] = range(9)
    for one, other in ((a[1:], a[:-1]), (a, a), (a, a[::-1])):
        with pytest.raises(pyflat.FlattenError, match="overlaps another argument"):
            pyflat.twin(running, target=target)(one, other)
    assert a.tolist() == list(range(9))


def doubled(a):
    out = np.zeros_like(a)
    for i in range(len(a)):
        out[i] = a[i] * 2
    return [1, (out, a)]


def of_equal_dtypes(a, b):
    if a.dtype != b.dtype:
        return None
    for i in range(len(a)):
        a[i] += b[i]
    return a


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_what_shows_the_byte_order_is_refused(target):
    swapped, plain = np.arange(3).astype(">i8"), np.arange(3)
    with pytest.raises(pyflat.FlattenError, match="a new array is returned"):
        pyflat.twin(doubled, target=target)(swapped)
    for given in ((swapped, plain), (plain, swapped)):
        with pytest.raises(pyflat.FlattenError, match="the dtype of an array"):
            pyflat.twin(of_equal_dtypes, target=target)(*given)
    assert pyflat.twin(of_equal_dtypes, target=target)(plain, plain) is plain


def unless_the_same(a, b):
    if a is b:
        return "same"
    for i in range(len(a)):
        a[i] += b[i]
    return a is a


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_the_identity_of_two_arguments_is_refused(target):
    a = np.arange(3.0)
    for given in ((a, a), (a, a[:]), (a[:0], a[:0]), (a, a + 1)):
        with pytest.raises(pyflat.FlattenError, match="the identity of two arrays"):
            pyflat.twin(unless_the_same, target=target)(*given)


def fails_at(a, out, k):
    for i in range(len(a)):
        out[i] = 1.0 + a[i]
        if i == k:
            out[i + len(a)] = 0.0


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_an_exception_leaves_the_partial_writes_of_python(target):
    ours, theirs = np.zeros(6), np.zeros(6)
    for fn, out in ((pyflat.twin(fails_at, target=target), ours), (fails_at, theirs)):
        with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 6"):
            fn(np.arange(6.0), out, 3)
    assert ours.tolist() == theirs.tolist() == [1.0, 2.0, 3.0, 4.0, 0.0, 0.0]


def test_a_read_only_array_is_refused_before_anything_is_written():
    a, out = np.arange(6.0), np.zeros(6)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only.*'out'"):
        pyflat.twin(fails_at)(a, out, 3)


FACTOR = 2.0


def by_a_global(a):
    for i in range(len(a)):
        a[i] *= FACTOR


def test_guards_of_a_kernel_are_checked_at_each_call(monkeypatch):
    twin = pyflat.twin(by_a_global)
    a = np.ones(2)
    twin(a)
    monkeypatch.setitem(by_a_global.__globals__, "FACTOR", 5.0)
    twin(a)
    assert a.tolist() == [10.0, 10.0]


def scaled(a, factor):
    for i in range(len(a)):
        a[i] = a[i] * factor


def numbered(x, n):
    return sum(i * v for i, v in enumerate((x, 2.0), n)) + sum(i for i, _ in enumerate((x, x), start=n))


def test_the_start_of_enumerate_is_a_number():
    twin = pyflat.twin(numbered, errors="mask")
    assert set(twin.roles.values()) == {"lanes"}
    result, faults = twin(np.array([0.5, 1.5]), np.array([3, -2]))
    assert result.tolist() == [numbered(0.5, 3), numbered(1.5, -2)]
    assert not any(faults)


def test_what_a_parameter_is_can_be_said():
    twin = pyflat.twin(scaled)
    assert twin.roles == {"a": "array", "factor": "lanes"}
    assert "array: len() is taken of it" in repr(twin.roles) or "array: it is subscripted" in repr(twin.roles)
    assert pyflat.twin(scaled, arrays="a").roles["a"] == "array"
    with pytest.raises(pyflat.FlattenError, match="static-name"):
        _ = pyflat.twin(scaled, arrays="b").roles


@pytest.mark.parametrize("bad", [np.zeros(3, complex), np.zeros(3, "M8[s]"), np.zeros(3, [("x", float)]),
                                 np.zeros(3, np.float16), np.ma.zeros(3)])
def test_other_arrays_are_a_type_error_that_names_the_argument(bad):
    with pytest.raises(TypeError, match="argument 'a' is"):
        pyflat.twin(scaled)(bad, 2.0)


@pytest.mark.parametrize("errors", ["mask", "nan"])
def test_a_kernel_has_no_failing_lanes(errors):
    with pytest.raises(pyflat.FlattenError, match="runs once on whole arrays"):
        pyflat.twin(scaled, errors=errors)(np.zeros(3), 2.0)


def test_a_text_of_a_kernel_is_shown():
    twin = pyflat.twin(scaled)
    assert "store" in twin.show(kinds="f8[:],f8", stage="kernel")
    twin(np.ones(3), 2.0)
    assert "def scaled" in twin.source
    assert "load" in twin.show(target="numba", stage="kernel")
    text, array, made = twin.show(target="numba"), np.arange(3.0), {}
    assert "for i in range(a.shape[0])" in text
    exec(text, made)
    made["scaled"](array, 2.0)
    assert array.tolist() == [0.0, 2.0, 4.0]


def joined(a, b):
    return np.concatenate((a, b))


def of_numbers(x, y):
    return np.concatenate(([x], [y]))[0] - y


def digits(number, fmt="%.1f"):
    text = fmt % number
    return text if number[0] == "0" else text + "0"


def test_what_concatenate_joins_are_arrays():
    assert set(pyflat.twin(joined).roles.values()) == {"array"}
    assert pyflat.twin(joined)(np.ones(2), np.zeros(3)).tolist() == [1, 1, 0, 0, 0]
    assert pyflat.twin(of_numbers)(np.array([1.0, 2.0]), 0.5).tolist() == [0.5, 1.5]


@pytest.mark.parametrize("options", [{}, {"errors": "mask"}, {"errors": "nan"}])
@pytest.mark.parametrize("use", [lambda twin: twin(np.ones(2)), lambda twin: twin.compile("f8[:]")])
def test_a_refused_kernel_says_why_it_is_one(options, use):
    with pytest.raises(pyflat.FlattenError) as refused:
        use(pyflat.twin(digits, **options))
    assert refused.value.diagnostic.notes[-1].message == (
        "'number' is treated as an array: it is subscripted; pass arrays=() if no parameter is one")
    with pytest.raises(pyflat.FlattenError) as said:
        pyflat.twin(digits, arrays="number", **options)(np.ones(2))
    assert not said.value.diagnostic.notes


STEPS, HELD = np.arange(6.0), type("Held", (), {"steps": np.arange(6.0)})


def stepped(a):
    for i in range(1, len(a)):
        a[i] = a[i - 1] + STEPS[i] * HELD.steps[-i]
    return STEPS[2]


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_captured_arrays_may_be_written_as_arguments(target):
    twin, seen = pyflat.twin(stepped, target=target), {stepped: [], None: []}
    others = [np.ones(6)] * 8
    for fn in seen:
        for a in [*others, STEPS, STEPS[::-1], *others, STEPS[1:], HELD.steps, np.ones(3)]:
            STEPS[:] = HELD.steps[:] = range(6)
            seen[fn].append(((fn or twin)(a.copy() if a.base is None and a is others[0] else a), STEPS.tolist(), a.tolist()))
    assert seen[stepped] == seen[None]
