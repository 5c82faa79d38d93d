"""The table of options, forms of twins and targets, by trying: each cell is what a twin with the option set does."""

from __future__ import annotations

import inspect
import math
import sys
import types
import warnings

import numpy as np
import pytest

import pyflat
from pyflat.backend import Call
from pyflat.ir.print import format_function
from pyflat.passes import pipelines
from pyflat.runtime import option_effects
from pyflat.runtime.option_effects import FORMS
from pyflat.runtime.settings import NAMES, Options
from pyflat.targets import target as targets
from pyflat.targets import threads

TARGETS = ("numpy", "numba", "dataflow")
DEFAULTS = Options()
CALLED = []
ARRAY, MANY = np.array([0.5, 1.5, 2.5]), np.array([[0.5, 1.5, 2.5], [1.0, 2.0, 3.0]])


def helper(x):
    return x + 1.0


def note(x):
    CALLED.append(len(x))
    return x + 1.0


# --- a function of each form
def lanes(x: float) -> float:
    return helper(math.exp(x) / 3.0) * 1.0


def kernel(a):
    s = 0.0
    for i in range(len(a)):
        s += helper(math.exp(a[i]) / 3.0)
    return s


def gufunc(a):
    s = 0.0
    for i in range(len(a)):
        s += helper(math.exp(a[i]) / 3.0)
    return s


# --- functions for single options
def exponentials(a, out):
    for i in range(len(a)):
        out[i] = math.exp(math.sin(a[i]) / 3.0)


def endless(x: float) -> float:
    while x > 0.0:
        x = x + 1.0
    return x


def ten(x: float) -> float:
    for i in range(10):
        x = x * 0.5 + i
    return x


def inverse(x: float) -> float:
    return 1.0 / (x - 0.5)


def word(x: float) -> str:
    return "big" if x > 1.0 else "small"


def maybe(x: float):
    return None if x > 1.0 else x


def scaled(x, n: int = 2):
    return x * n


def scaled_total(a, n=2, b=None):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * n
    return s if b is None else s * b[0]


def one_element(a):
    return np.sum(a) * 2.0


def in_two_steps(a, out):
    t = np.empty((a.shape[0], a.shape[0]))
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            t[i, j] = a[i] * math.exp(a[j])
    for i in range(1, a.shape[0]):
        s = 0.0
        for j in range(a.shape[0]):
            s += t[i - 1, j] * t[i, j]
        out[i] = s


def five_times(a, out):
    for i in range(len(a)):
        s = 0.0
        for _ in range(5):
            s += a[i]
        out[i] = s


SAMPLES = {
    "target": "numba", "static": ("n",), "arrays": ("x",), "signature": "(n)->()", "core_dims": {"a": "time"},
    "loops": "unroll", "max_unroll": 3, "max_trips": 5, "errors": "mask", "math": "fast", "dtype": "float32",
    "fast_math": True, "parallel": True, "cache": False, "strict_fold": True,
    "max_tracing_dim": 4, "max_visits": 3, "inline_scalar_constexprs": False, "inline_simple_computations": False,
    "inline_complex_computations": True, "enable_device_only": False, "memory": {"t": "stored"}, "whitelist": {"helper": None},
    "results": "codes", "none": "masked", "audit": 1.0, "inject": False,
}
KEEPING = (Call("helper", arrays=note),)


def new(function, **options):
    """The twin of a copy, which has compiled nothing."""
    copied = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    copied.__annotations__ = function.__annotations__
    return pyflat.twin(copied, **options)


def basic(form, target):
    """A function of this form, its options, and an argument."""
    given = {"target": target, **({"signature": "(n)->()"} if form == "gufunc" else {})}
    return {"lanes": lanes, "kernel": kernel, "gufunc": gufunc}[form], given, MANY if form == "gufunc" else ARRAY


@pytest.fixture
def compiled(monkeypatch):
    """What targets compile: "engine" or "kernel", its target, and the request."""
    found = []
    for name in ("engine", "kernel"):
        def spy(self, *given, name=name, before=getattr(targets.Target, name)):
            found.append((name, self.name, given[0]))
            return before(self, *given)

        monkeypatch.setattr(targets.Target, name, spy)
    return found


# --- what shows that an option works
def works_target(form, target, compiled, patch):
    function, given, argument = basic(form, target)
    new(function, **given)(argument)
    return {name for _, name, _ in compiled} == {target}


def works_static(form, target, compiled, patch):
    if form == "gufunc":
        plain, twin = [new(scaled_total, target=target, signature="(k),(k)->()", **more)
                       for more in ({}, {"static": "n"})]
        with pytest.raises(TypeError, match="missing n"):
            plain(MANY, b=MANY)
        return twin(MANY, b=MANY).tolist() == [scaled_total(row, 2, row) for row in MANY]
    function, counts = scaled if form == "lanes" else scaled_total, []
    for static in ((), "n"):
        compiled.clear()
        twin = new(function, target=target, static=static)
        for n in (3, 44):
            wanted = [scaled(x, n) for x in ARRAY] if form == "lanes" else scaled_total(ARRAY, n)
            assert np.array_equal(twin(ARRAY, n), wanted)
        counts.append(len(compiled))
    return counts == [1, 2]


def works_arrays(form, target, compiled, patch):
    with warnings.catch_warnings(action="ignore"):  # the sum of one number
        by_lane = new(one_element, target=target)(ARRAY)
        whole = new(one_element, target=target, arrays="a")(ARRAY)
    return [name for name, *_ in compiled] == ["engine", "kernel"] and by_lane.shape == (3,) and whole == 9.0


def works_signature(form, target, compiled, patch):
    return new(gufunc, target=target, signature="(n)->()")(MANY).tolist() == [gufunc(row) for row in MANY]


def works_core_dims(form, target, compiled, patch):
    xr = pytest.importorskip("xarray")
    twin = new(gufunc, target=target, signature="(n)->()", core_dims={"a": "time"})
    return twin(xr.DataArray(MANY.T, dims=("time", "place"))).dims == ("place",)


def works_loops(form, target, compiled, patch):
    if target == "dataflow":
        return new(ten, target=target, loops="masked")(ARRAY).tolist() == [ten(x) for x in ARRAY]
    with pytest.raises(pyflat.FlattenError, match="while-unbounded"):
        new(endless, target=target, loops="unroll")(ARRAY)
    return True


def works_max_unroll(form, target, compiled, patch):
    with pytest.raises(pyflat.FlattenError, match="loop-too-long"):
        new(ten, target=target, loops="unroll", max_unroll=3)(ARRAY)
    return True


def works_max_trips(form, target, compiled, patch):
    with pytest.raises(pyflat.TripLimitError):
        new(endless, target=target, max_trips=5)(ARRAY)
    return True


def works_errors(form, target, compiled, patch):
    _, faults = new(inverse, target=target, errors="mask")(ARRAY)
    return faults.mask.tolist() == [True, False, False]


def works_math(form, target, compiled, patch):
    if form != "lanes":
        array, results = np.linspace(-3.0, 3.0, 500), {chosen: np.zeros(500) for chosen in ("exact", "fast")}
        for chosen, out in results.items():
            new(exponentials, target=target, math=chosen)(array, out)
        exact, fast = results.values()
        return bool(np.any(exact != fast)) and np.allclose(exact, fast, rtol=1e-14, atol=0.0)
    for chosen in ("exact", "fast"):
        new(lanes, target=target, math=chosen)(ARRAY)
    exact, fast = (format_function(request.function) for *_, request in compiled)
    return exact != fast


def works_dtype(form, target, compiled, patch):
    return new(lanes, target=target, dtype="float32")(ARRAY).dtype == np.float32


def works_parallel(form, target, compiled, patch):
    asked, run = [], threads.run
    if form != "lanes":
        wanted = threads.wanted
        patch.setattr(threads, "wanted", lambda *given: (asked.append(given[-1]), wanted(*given))[1])
        function, given, argument = basic(form, target)
        twin = new(function, parallel=True, **given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pyflat.PerformanceWarning)  # a kernel that is one sum
            (twin.gufunc if form == "gufunc" else twin)(argument)
        return asked == [True]
    patch.setattr(threads, "run", lambda *given: (asked.append(given[-1]), run(*given))[1])
    new(lanes, target=target, parallel=True)(ARRAY)
    return asked == [True]


def works_cache(form, target, compiled, patch):
    function, given, argument = basic(form, target)
    counts = []
    for cache in (True, False):
        compiled.clear()
        twin = new(function, cache=cache, **given)
        for _ in range(5):
            twin(argument)
        counts.append(len(compiled))
    return counts[1] >= 5 * counts[0]


def works_strict_fold(form, target, compiled, patch):
    patch.setattr(pipelines, "fold", lambda evaluate: ())
    patch.setattr(pipelines, "FLATTEN", tuple(p for p in pipelines.FLATTEN if p.name != "fold_constants"))
    new(lanes, target=target)(ARRAY)
    with pytest.raises(pyflat.FlattenError, match="fold-residual"):
        new(lanes, target=target, strict_fold=True)(ARRAY)
    return True


def works_whitelist(form, target, compiled, patch):
    CALLED.clear()
    new(lanes, target=target, whitelist=KEEPING)(ARRAY)
    return CALLED == [3]


def explained(form, target, function, **options):
    """What a kernel becomes that writes into its second argument."""
    twin = new(function, target=target, **options, **({"signature": "(n)->(n)"} if form == "gufunc" else {}))
    twin(*((ARRAY,) if form == "gufunc" else (ARRAY, np.zeros_like(ARRAY))))
    return twin.explain()


def works_max_tracing_dim(form, target, compiled, patch):
    counts = [len(explained(form, target, five_times, max_tracing_dim=most).loops) for most in (4, 5)]
    return counts == [2, 1]


def is_passed_on(option, form, target, patch):
    """Whether the passes get what is set."""
    function, given, argument = basic(form, target)
    found = []
    before = pipelines.kernel
    patch.setattr(pipelines, "kernel", lambda made, tangled, to, **more: found.append(to) or before(made, tangled, to, **more))
    new(function, **given)(argument)
    new(function, **given, **{option: SAMPLES[option]})(argument)
    return [getattr(to, option) for to in found] == [getattr(DEFAULTS, option), SAMPLES[option]]


def works_max_visits(form, target, compiled, patch):
    return is_passed_on("max_visits", form, target, patch)


def works_inline_scalar_constexprs(form, target, compiled, patch):
    return is_passed_on("inline_scalar_constexprs", form, target, patch)


def works_inline_simple_computations(form, target, compiled, patch):
    return is_passed_on("inline_simple_computations", form, target, patch)


def works_inline_complex_computations(form, target, compiled, patch):
    return is_passed_on("inline_complex_computations", form, target, patch)


def kept(form, target, **options):
    found = explained(form, target, in_two_steps, inline_complex_computations=False, **options)
    return next(array.kept for array in found.arrays if array.name == "t")


def works_enable_device_only(form, target, compiled, patch):
    return "buffer of 2" in kept(form, target) and "206 asked" in kept(form, target, enable_device_only=False)


def works_memory(form, target, compiled, patch):
    return target == "numpy" or "206 asked" in kept(form, target, memory={"t": "stored"})


def works_results(form, target, compiled, patch):
    codes, categories = new(word, target=target, results="codes")(ARRAY)
    return categories[codes].tolist() == [word(x) for x in ARRAY]


def works_none(form, target, compiled, patch):
    return new(maybe, target=target, none="masked")(ARRAY).mask.tolist() == [False, True, True]


def works_audit(form, target, compiled, patch):
    """The original runs beside the twin."""
    function, given, argument = basic(form, target)
    runs = []
    for share in (0.0, 1.0):
        twin, called = new(function, audit=share, **given), []
        twin(argument)
        code = twin.original.__code__
        sys.setprofile(lambda frame, event, _: called.append(event) if event == "call" and frame.f_code is code else None)
        try:
            twin(argument)
        finally:
            sys.setprofile(None)
        runs.append(len(called))
    return runs == [0, len(argument) if form == "lanes" else 1]


def works_inject(form, target, compiled, patch):
    function, given, argument = basic(form, target)
    found = []
    for inject in (True, False):
        module = {"__name__": __name__, "math": math, "helper": helper}
        copied = types.FunctionType(function.__code__, module, function.__name__)
        pyflat.flatten(inject=inject, **given)(copied)
        found.append(f"{function.__name__}_flat" in module)
    return found == [True, False]


CELLS = [(option, form, target) for option in NAMES for form in FORMS for target in TARGETS]


@pytest.mark.parametrize(("option", "form", "target"), CELLS)
def test_the_option_does_what_the_table_says(option, form, target, compiled, monkeypatch):
    found = option_effects.effects(option, form, targets.of(target))
    if target == "dataflow" and form != "lanes":
        assert {effect.how for effect in found} == {"refused"}
        function, given, argument = basic(form, target)
        with pytest.raises(pyflat.FlattenError, match="dataflow"):
            new(function, **given)(argument)
        return
    for effect in found:
        for value in effect.values or (SAMPLES[option],):
            value = KEEPING if option == "whitelist" else value
            TRY[effect.how](option, value, effect, form, target, compiled, monkeypatch)


def works(option, value, effect, form, target, compiled, patch):
    assert globals()[f"works_{option}"](form, target, compiled, patch)


def by_name(option, code):
    """The refusal, which names the option."""
    return pytest.raises(pyflat.FlattenError, match=rf"{option}=(.|\n)*\[{code}\]|\[{code}\](.|\n)*{option}=")


def refused(option, value, effect, form, target, compiled, patch):
    function, given, argument = basic(form, target)
    with by_name(option, effect.code):
        new(function, **given, **{option: value})(argument.astype("f4") if value == "input" else argument)
    if effect.how != "refused" or option == "fast_math":  # which no layer takes
        return
    default = getattr(DEFAULTS, option)
    with pyflat.options(**{option: value}):
        with by_name(option, effect.code):
            new(function, **given)(argument)
        new(function, **given, **{option: default})(argument)


def refused_at_the_function(option, value, effect, form, target, compiled, patch):
    refused(option, value, effect, form, target, compiled, patch)
    same_around(option, value, form, target)


def same_around(option, value, form, target):
    """In a block that sets it the twin is what it is without."""
    function, given, argument = basic(form, target)
    wanted = new(function, **given)(argument)
    with warnings.catch_warnings(action="error"), pyflat.options(**{option: value}):
        assert np.array_equal(new(function, **given)(argument), wanted)


def warns_at_the_function(option, value, effect, form, target, compiled, patch):
    function, given, argument = basic(form, target)
    twin = new(function, **given, **{option: value})
    with pytest.warns(pyflat.PerformanceWarning, match=f"{option}="):
        found = twin(argument)
    with warnings.catch_warnings(action="error"):
        assert np.array_equal(twin(argument), found)
    assert np.array_equal(new(function, **given)(argument), found)
    same_around(option, value, form, target)


def no_effect(option, value, effect, form, target, compiled, patch):
    function, given, argument = basic(form, target)
    if option == "arrays":
        value = tuple(inspect.signature(function).parameters)
    with warnings.catch_warnings(action="error"):
        found = new(function, **given, **{option: value})(argument)
    assert type(found) is type(new(function, **given)(argument))
    assert np.array_equal(found, new(function, **given)(argument))


TRY = {"works": works, "refused": refused, "refused by need": refused, "refused at the function": refused_at_the_function,
       "warns at the function": warns_at_the_function, "no effect": no_effect}


def test_all_ways_of_calling_refuse_alike():
    wrong = new(kernel, errors="mask")
    for use in (lambda: wrong(ARRAY), lambda: wrong.compile("f8[:]"), lambda: wrong.verify(ARRAY)):
        with by_name("errors", "flatten/option"):
            use()
    with by_name("loops", "flatten/option"):
        _ = new(gufunc, signature="(n)->()", loops="unroll").gufunc


def test_a_plan_is_not_used_where_a_block_sets_what_is_refused():
    twin = new(kernel, target="numba")
    for _ in range(5):
        twin(ARRAY)
    with pyflat.options(max_trips=10), by_name("max_trips", "flatten/option"):
        twin(ARRAY)
