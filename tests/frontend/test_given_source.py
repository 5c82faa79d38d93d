"""`source=`: the text of functions that Python keeps none of, compared with what they were compiled from."""

from __future__ import annotations

import inspect
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.testing import same_bits

XS = np.array([-1.5, 0.0, 0.5, 2.0])


def executed(text: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"pyflat": pyflat, "__name__": "executed"}
    exec(text, scope)
    return scope


TEXTS = {
    "def": "def f(x):\n    return x + 1.0 if x > 0.0 else -x\n",
    "among others": "import math\n\n\ndef g(x):\n    return x\n\ndef f(x):\n    return math.floor(x) + 1.0\n",
    "several of the name": "def f(x):\n    return x + 1.0\ndef f(x):\n    return x + 2.0\n",
    "lambda": "f = lambda x: x + 1.0\n",
    "lambdas in a line": "g, f = lambda x: x + 1.0, lambda x: (lambda y: y * 2.0)(x)\n",
    "closure": "def make(a):\n    def f(x):\n        return x + a\n    return f\nf = make(1.0)\n",
    "method": "class C:\n    __k = 2.0\n    def f(self, x):\n        return x * self.__k\nf = C().f\n",
    "nested function": "def f(x):\n    def g(y):\n        return y + 1.0\n    return g(x)\n",
    "indented": "\n    def f(x):\n        return x + 1.0\n",
    "a string with lines": 'def f(x):\n    """Some\ntext."""\n    return x + 1.0\n',
    "future": "from __future__ import annotations\ndef f(x: float) -> float:\n    return x + 1.0\n",
}


def defined(text: str) -> Any:
    return executed(textwrap.dedent(text))["f"]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_makes_the_twin(text: str) -> None:
    f = defined(text)
    with pytest.raises(pyflat.FlattenError, match="source="):
        pyflat.twin(f)(XS)
    expected = [f(x) for x in XS.tolist()]
    found = pyflat.twin(f, source=text)(XS)
    assert all(same_bits(value, want) for value, want in zip(found.tolist(), expected, strict=True))
    assert [f(x) for x in XS.tolist()] == expected
    assert inspect.getsource(f) in textwrap.dedent(text)


def test_the_text_of_the_function_alone() -> None:
    f = defined(TEXTS["closure"])
    assert pyflat.twin(f, source="def f(x):\n    return x  +  a")(XS).tolist() == (XS + 1.0).tolist()


def test_the_decorator_takes_it() -> None:
    text = "@pyflat.flatten(source=text)\ndef f(x):\n    return x + 1.0\n"
    scope: dict[str, Any] = {"pyflat": pyflat, "text": text, "__name__": "executed"}
    exec(text, scope)
    assert scope["f"].flat(XS).tolist() == (XS + 1.0).tolist()
    without = executed("def f(x):\n    return x + 2.0\n")["f"]
    assert pyflat.flatten(without, source="@decorated\ndef f(x): return x + 2.0") is without
    assert without.flat(XS).tolist() == (XS + 2.0).tolist()


def test_a_helper_that_has_got_its_text_is_inlined() -> None:
    text = "def g(x):\n    return x + 1.0\ndef f(x):\n    return g(x) * 2.0\n"
    scope = executed(text)
    twin = pyflat.twin(scope["f"], source=text)
    with pytest.raises(pyflat.FlattenError) as caught:
        twin(XS)
    assert caught.value.code == "flatten/source-missing" and "pyflat.twin(g, source=text)" in str(caught.value)
    pyflat.twin(scope["g"], source=text)
    assert twin(XS).tolist() == ((XS + 1.0) * 2.0).tolist()


OTHERS = {
    "constant": "def f(x):\n    return x + 2.0\n",
    "operator": "def f(x):\n    return x - 1.0\n",
    "sign of zero": "def f(x):\n    return x + -1.0\n",
    "name": "def f(y):\n    return y + 1.0\n",
    "other name": "def g(x):\n    return x + 1.0\n",
    "one statement more": "def f(x):\n    x = x\n    return x + 1.0\n",
    "lambda": "f = lambda x: x + 1.0\n",
    "no function": "x = 1.0\n",
    "empty": "",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_another_text_is_refused(text: str) -> None:
    f = defined("def f(x):\n    return x + 1.0\n")
    code = f.__code__
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(f, source=text)
    assert caught.value.code == "flatten/source-changed"
    assert f.__code__ is code


def test_wrong_arguments() -> None:
    f = defined(TEXTS["def"])
    for text in ("def f(x):\n    return return x\n", "def f(x):\0", "x = '\udc80'", "x = " + "-" * 100_000 + "1"):
        with pytest.raises(ValueError, match="source= of f is not valid Python: "):
            pyflat.twin(f, source=text)
    with pytest.raises(TypeError, match="source=3: expected the source of the function"):
        pyflat.twin(f, source=3)  # type: ignore[call-overload, unused-ignore]
    with pytest.raises(TypeError, match="class"):
        pyflat.twin(int, source="")


def test_coroutines_stay_what_they_are() -> None:
    text = "async def f(x):\n    return x\n"
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(defined(text), source=text)(XS)
    assert caught.value.code == "flatten/generator"


def test_defaults_are_the_functions_own() -> None:
    f = defined("def f(x, n=2.0):\n    return x * n\n")
    assert pyflat.twin(f, source="def f(x, n=3.0):\n\treturn x * n\n")(XS).tolist() == (XS * 2.0).tolist()


def test_refusals_and_tracebacks_show_the_lines() -> None:
    text = "def f(x):\n    if x > 1.0:\n        raise ValueError('too large')\n    return open(x)\n"
    f = defined(text)
    twin = pyflat.twin(f, source=text)
    with pytest.raises(pyflat.FlattenError, match=r"return open\(x\)"):
        twin(XS)
    with pytest.raises(ValueError, match="too large") as caught:
        f(2.0)
    assert "raise ValueError('too large')" in "".join(traceback.format_exception(caught.value))


SCRIPT = """
import numpy as np, pyflat
text = 'def f(x): return x + 1.0'
exec(text)
try:
    pyflat.twin(f)(np.ones(2))
except pyflat.FlattenError as error:
    print(error.diagnostic.help)
print(pyflat.twin(f, source=text)(np.ones(2)))
"""


@pytest.mark.parametrize("way", ["-c", "stdin"])
def test_scripts_without_a_file(way: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT] if way == "-c" else [sys.executable, "-"]
    done = subprocess.run(command, input=SCRIPT, capture_output=True, text=True, check=False, cwd=tmp_path)
    help, values = done.stdout.splitlines()
    assert values == "[2. 2.]", done.stderr
    assert help == ('pass the text: `pyflat.twin(f, source=text)`, where `text = "def f(x): ..."` and `exec(text)` has '
                    "defined it; or define the function in a file or a notebook cell")
