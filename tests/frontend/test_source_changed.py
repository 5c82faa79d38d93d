"""The captured text is the function's own: it compiles to the function's code object, or the function is refused."""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import itertools
import linecache
import os
import subprocess
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.testing import same_bits
from tests.support.patience import HANG

XS = np.array([-1.5, 0.0, 0.5, 2.0])
_numbers = itertools.count()


def imported(folder: Path, text: str | bytes, name: str = "") -> Any:
    """The module with this text, imported by Python's own loader from a file in `folder`."""
    name = name or f"pyflat_edited_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def edit(module: Any, old: str, new: str) -> None:
    path = Path(module.__file__)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    os.utime(path, ns=(1, 1))  # an edit within the clock's resolution would not be seen


def refused(fn: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(fn)(*args or (XS,))
    return caught.value.code


def agrees(fn: Callable[..., Any], xs: Any = XS) -> None:
    assert all(same_bits(value, fn(x)) for value, x in zip(pyflat.twin(fn)(xs).tolist(), xs.tolist(), strict=True))


# --- edited after the import
EDITED = {
    "function": ("def f(x):\n    return x + 1.0\n", "1.0", "2.0"),
    "constant of the same value": ("def f(x):\n    return x * 0.0\n", "0.0", "-0.0"),
    "name": ("A = 1.0\nB = 2.0\ndef f(x):\n    return x + A\n", "x + A", "x + B"),
    "helper": ("def g(x):\n    return x + 1.0\ndef f(x):\n    return g(x) * 2.0\n", "1.0", "2.0"),
    "lambda": ("f = lambda x: x + 1.0\n", "1.0", "2.0"),
    "nested function": ("def f(x):\n    def g(y):\n        return y + 1.0\n    return g(x)\n", "1.0", "2.0"),
    "function of a factory": ("def make(a):\n    def f(x):\n        return x + a\n    return f\nf = make(1.0)\n", "+", "-"),
    "method": ("class C:\n    def m(self, x):\n        return x + 1.0\nf = C().m\n", "1.0", "2.0"),
    "default's place": ("def f(x, y=(lambda: 1.0)()):\n    return x + y + 3.0\n", "3.0", "4.0"),
    "another function at the line": ("def f(x):\n    return x + 1.0\n", "def f(", "def f(x): return x\ndef f("),
    "no def at the line": ("def f(x):\n    return x + 1.0\n", "def f(", "\n\n\ndef f("),
    "only the columns": ("def f(x):\n    return x + 1.0\n", "x + 1.0", "x +  1.0"),
    "no longer Python": ("def f(x):\n    return x + 1.0\n", "return x", "return return x"),
    "lambda, no longer Python": ("f = lambda x: x + 1.0\n", "lambda", "lambda lambda"),
    "deleted": ("def f(x):\n    return x + 1.0\n", "def f(x):\n    return x + 1.0\n", "\n"),
}


@pytest.mark.parametrize(("text", "old", "new"), EDITED.values(), ids=EDITED)
def test_a_function_whose_file_was_edited_is_refused(tmp_path, text, old, new):
    module = imported(tmp_path, text)
    edit(module, old, new)
    assert refused(module.f) == "flatten/source-changed"


@pytest.mark.parametrize(("text", "old", "new"), EDITED.values(), ids=EDITED)
def test_a_twin_keeps_the_text_that_it_was_made_from(tmp_path, text, old, new):
    """Kinds that are flattened later are flattened from the same text."""
    module = imported(tmp_path, text)
    twin = pyflat.twin(module.f)
    before = twin(XS)
    edit(module, old, new)
    assert same_bits(twin(XS), before)
    for kind in (np.int64, np.bool_):
        column = np.array([0, 1]).astype(kind)
        assert twin(column).tolist() == [module.f(x) for x in column.tolist()]


def test_a_comment_is_no_other_function(tmp_path):
    module = imported(tmp_path, "def f(x):\n    return x + 1.0\n")
    edit(module, "1.0\n", "1.0  # one\n")
    agrees(module.f)


def test_the_old_object_after_a_reload_is_refused_and_the_new_one_is_not(tmp_path):
    module = imported(tmp_path, "def f(x):\n    return x + 1.0\n")
    old = module.f
    edit(module, "1.0", "2.0")
    exec(compile(Path(module.__file__).read_text(), module.__file__, "exec"), vars(module))
    assert refused(old) == "flatten/source-changed"
    agrees(module.f)


def test_code_that_names_a_file_which_it_is_not_from_is_refused(tmp_path):
    path = tmp_path / "other.py"
    path.write_text("def f(x):\n    return x + 2.0\n")
    scope: dict[str, Any] = {}
    exec(compile("def f(x):\n    return x + 1.0\n", str(path), "exec"), scope)
    assert refused(scope["f"]) == "flatten/source-changed"


def test_code_that_was_compiled_otherwise_is_refused(tmp_path):
    path = tmp_path / "checked.py"
    path.write_text(text := "def f(x):\n    assert x > 0.0\n    return x\n")
    scope: dict[str, Any] = {}
    exec(compile(text, str(path), "exec", optimize=1), scope)
    assert refused(scope["f"]) == "flatten/source-changed"


def test_the_refusal_names_the_place_and_the_remedy(tmp_path):
    module = imported(tmp_path, "def f(x):\n    return x + 1.0\n")
    edit(module, "1.0", "2.0")
    with pytest.raises(pyflat.FlattenError, match=r"importlib\.reload") as caught:
        pyflat.twin(module.f)(XS)
    assert f"{module.__file__}:1:1" in str(caught.value)


# --- what is not edited is taken, wherever it stands
WHOLE = {
    "future statement": "from __future__ import annotations\ndef f(x: Nothing) -> Nothing:\n    return x + 1.0\n",
    "form feed": "\x0c\ndef g(x):\n    return x\n\x0c\n\x0cdef f(x):\n\x0c    return g(x) + 1.0\n",
    "form feed in a class": "class C:\n    pass\n\x0c\n    \x0c    def m(self, x):\n        return x + 1.0\nf = C().m\n",
    "decorators": "import functools\n@functools.cache\n@functools.lru_cache(\n    10)\ndef f(x):\n    return x + 1.0\n",
    "decorator with a lambda": "def d(g):\n    return lambda f: f\n@d(lambda x: x + 1.0)\ndef f(x):\n    return x - 1.0\n",
    "lambdas on a line": "a, f, b = lambda x: x + 1.0, lambda x: x + 2.0, lambda x: x + 3.0\n",
    "lambda in a lambda": "f = (lambda y: lambda x: x + y)(2.0)\n",
    "equal lambdas on a line": "é, f = lambda x: x + 1.0, lambda x: x + 1.0\n",
    "lambda of several lines": "f = (lambda x:\n  x +\n1.0)\n",
    "lambda in a class": "class C:\n    __a = 1.0\n    g = lambda self, x: x + self.__a\nf = C().g\n",
    "lambda in a comprehension": "f = [lambda x: x + y for y in (1.0, 2.0)][0]\n",
    "lambda in a default": "def g(x, h=lambda x: x + 1.0):\n    return h(x)\nf = g\n",
    "imported module": "import math\ndef f(x):\n    return math.fabs(x)\n",
    "local of an imported name": "import math\nimport numpy as y\ndef f(x):\n    y = math.fabs(x)\n    return y.real + 1.0\n",
    "import under a condition": "try:\n    import numpy as np\nexcept ImportError:\n    np = None\n"
                                "def f(x):\n    return np.minimum(x, 1.0)\n",
    "instance that was imported": "from decimal import MAX_EMAX, DefaultContext as c\n"
                                  "def f(x):\n    return x if x > 0.0 else c.prec.real + x\n",
    "super": "class A:\n    def m(self, x):\n        return x + 1.0\n"
             "class B(A):\n    def m(self, x):\n        return super().m(x) * 2.0\nf = B().m\n",
    "nested in a method": "class A:\n    __k = 2.0\n    def make(self):\n        def g(x):\n            return x * self.__k\n"
                          "        return g\nf = A().make()\n",
    "declared global": "def make():\n    global f\n    def f(x):\n        return x + 1.0\nmake()\n",
    "docstring with lines to the left": 'class A:\n    def m(self, x):\n        """One\n  two\nthree"""\n        return x\nf = A().m\n',
    "text in a nested function": "def make():\n    def g(x):\n        return x + len('''\n    four''')\n    return g\nf = make()\n",
    "assert": "def f(x):\n    assert x == x, 'nan'\n    return x\n",
    "windows": b"def f(x):\r\n    y = '''a\r\nb'''\r\n    return x + len(y)\r\n",
    "byte order mark": b"\xef\xbb\xbfdef f(x):\n    return x + len('\xc3\xa9')\n",
    "cookie": b"# -*- coding: latin-1 -*-\ndef f(x):\n    return x + len('\xe9')\n",
    "tabs": "class A:\n\tdef m(self, x):\n\t\tif x > 0.0:\n\t\t\treturn x\n\t\treturn -x\nf = A().m\n",
    "no end of line": "def f(x):\n    return x + 1.0",
    "warned of": "def f(x):\n    assert (x, 1)\n    return x + len('\\d')\n",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_a_function_is_found_wherever_it_stands(tmp_path, text):
    agrees(imported(tmp_path, text).f)


@pytest.mark.filterwarnings("ignore")
def test_a_second_compilation_does_not_warn(tmp_path):
    f = imported(tmp_path, "def f(x):\n    assert (x, 1)\n    return x + len('\\d')\n").f
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        pyflat.twin(f).show()
    assert seen == []


def test_a_traced_function_is_its_own(tmp_path):
    f = imported(tmp_path, "def f(x):\n    return x + 1.0\n").f
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        for _ in range(100):
            f(1.0)
    finally:
        sys.settrace(before)
    agrees(f)


def test_a_notebook_cell_needs_no_file():
    name, text = "<cell 1>", "def f(x):\n    return x + 1.0\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {}
    exec(compile(text, name, "exec"), scope)
    agrees(scope["f"])
    changed = text.replace("1.0", "2.0")
    linecache.cache[name] = (len(changed), None, changed.splitlines(keepends=True), name)
    agrees(scope["f"])  # what was captured is kept
    exec(compile(text.replace("1.0", "3.0"), name, "exec"), scope)
    assert refused(scope["f"]) == "flatten/source-changed"


def test_code_that_a_library_has_exchanged_is_refused():
    def f(x):
        return x + 1.0

    f.__code__ = f.__code__.replace(co_consts=(None, 2.0))
    assert refused(f) == "flatten/source-changed"


# --- import hooks
class Loud(importlib.machinery.SourceFileLoader):
    """Rewrites the module: every 1.0 is 10.0."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> types.CodeType:
        return compile(data.replace(b"+ 1.0", b"+ 10."), path, "exec", dont_inherit=True, optimize=_optimize)


def hooked(folder: Path, text: str) -> Any:
    path = folder / f"pyflat_hooked_{next(_numbers)}.py"
    path.write_text(text)
    loader = Loud(path.stem, str(path))
    spec = importlib.util.spec_from_file_location(path.stem, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_what_an_import_hook_has_rewritten_is_compared_by_the_hook(tmp_path):
    module = hooked(tmp_path, "def f(x):\n    return x + 1.0\n")
    assert module.f(1.0) == 11.0
    assert pyflat.twin(module.f)(1.0) == 2.0, "a twin is made from the text"
    module = hooked(tmp_path, "def f(x):\n    return x + 1.0\n")
    edit(module, "x + 1.0", "x - 1.0")
    assert refused(module.f) == "flatten/source-changed"


REWRITTEN = """
import math
import numpy as np
import pyflat

class A:
    __limit = 5.0
    def m(self, x):
        assert x < self.__limit and math.fabs(x) < 9.0, f"too large: {x}"
        return x * 2.0

def checked(x):
    def inner(y):
        assert y == y
        return y + 1.0
    assert (y := inner(x)) > -5.0
    return y

def test_asserts_are_rewritten():
    assert "@py_assert" in " ".join(checked.__code__.co_varnames)

def test_the_twin_is_made():
    xs = np.array([0.5, 2.0])
    assert pyflat.twin(checked)(xs).tolist() == [1.5, 3.0]
    assert pyflat.twin(A().m)(xs).tolist() == [1.0, 4.0]

def test_an_edited_one_is_refused():
    import os, pathlib
    text = pathlib.Path(__file__).read_text()
    pathlib.Path(__file__).write_text(text.replace("return y +" + " 1.0", "return y -" + " 1.0"))
    os.utime(__file__, ns=(1, 1))
    checked.__code__ = checked.__code__.replace()  # another object: nothing is known of it
    try:
        pyflat.twin(checked)(np.array([1]))
    except pyflat.FlattenError as error:
        assert error.code == "flatten/source-changed"
    else:
        raise RuntimeError("not refused")
"""


def test_functions_with_asserts_that_pytest_has_rewritten(tmp_path):
    path = tmp_path / "test_rewritten.py"
    path.write_text(REWRITTEN)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)], cwd=tmp_path,
                          capture_output=True, text=True, timeout=HANG)
    assert "3 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("flags", [["-O"], ["-OO"], ["-X", "no_debug_ranges"]])
def test_under_other_flags_of_the_interpreter(tmp_path, flags):
    script = tmp_path / "script.py"
    script.write_text('import numpy as np\nimport pyflat\n\n@pyflat.flatten\ndef f(x):\n    """Doc."""\n'
                      "    assert x > 0.0\n    return x + 1.0 if __debug__ else x - 1.0\n\n"
                      "g, h = lambda x: x + 1.0, lambda x: x + 2.0\n"
                      "for one in (f, g, h):\n"
                      "    if pyflat.twin(one)(np.array([2.0])).tolist() != [one(2.0)]:\n        raise SystemExit(1)\n"
                      "print('done')\n")  # no assert: -O takes them out
    done = subprocess.run([sys.executable, *flags, str(script)], capture_output=True, text=True, timeout=HANG)
    assert done.stdout == "done\n", done.stderr


def test_code_without_columns_is_compared_by_its_lines(tmp_path):
    """Compiled to a file under -X no_debug_ranges, read by an interpreter that has columns."""
    path = tmp_path / "no_columns.py"
    path.write_text("def f(x):\n    y = x + 1.0\n    return y\n")
    subprocess.run([sys.executable, "-X", "no_debug_ranges", "-c", "import no_columns"], cwd=tmp_path, check=True, timeout=HANG,
                   env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": ""})
    assert list(tmp_path.glob("__pycache__/*.pyc"))
    module = imported(tmp_path, path.read_text(), "no_columns")
    assert functools.reduce(lambda a, b: a and b[2] is None, module.f.__code__.co_positions(), True)
    agrees(module.f)
