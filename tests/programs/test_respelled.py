"""However a program is spelled, what is flattened is what Python has compiled."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import pyflat
from pyflat.testing import same_bits
from tests.generator import Program, check_program, generate
from tests.generator.differential import loaded
from tests.generator.respelled import respelled

PROGRAMS = 40
BATCH = 10


@pytest.mark.turns(8)
@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_programs_in_another_spelling_do_what_their_originals_do(first: int) -> None:
    for seed in range(first, first + BATCH):
        plain = generate(seed)
        program = Program(respelled(plain.source, Random(seed)), plain.kinds)
        assert program.source != plain.source
        outcome = check_program(program, count=15, stages=False)
        assert not outcome.failures, f"seed {seed}: {outcome.failures[0]}\n{program.source}"
        assert outcome.refusal not in ("flatten/source-missing", "flatten/source-changed"), outcome.refusal_text
        if outcome.refusal:
            assert outcome.refusal == check_program(plain, count=1, stages=False).refusal


def test_the_generator_uses_every_spelling() -> None:
    text = "".join(respelled(generate(seed).source, Random(seed)) for seed in (0, 20, 32, 41, 48))
    for each in ("\f", "\r\n", "\t", "\\\n", ";", "if(", "return(", ")else(", "not(", ")in(", "for(", ")or(", "ａ", "ｘ",
                 "lambda ", "#at the end", "#\f far", "while(", "elif("):
        assert each in text, each


SPELLINGS = {
    "a loop target and a conditional between brackets":
        "def main(x):\n    t = {1.0: 2.0}\n    for(p,k)in(t if isinstance(t,dict)else x).items():\n        x = x+p*k\n    return(x)\n",
    "form feed before the def": "\x0cdef main(x):\n    return x + 1.0\n",
    "form feed after spaces": "  \x0cdef main(x):\n\t\x0c    return x + 1.0\n",
    "form feed in a string": "def main(x):\n    s = 'a\x0cb'\n    if(x)if(s)else(x):\n        return x + len(s)\n    return x\n",
    "lambdas between brackets": "def main(x):\n    f=(lambda:1.0)if(lambda:1)()else(lambda:2.0)\n    return x+f()\n",
    "number before a keyword": "def main(x):\n    return 1.if x>0.else.5\n",
    "not between brackets": "def main(x):\n    return(not(x>0.0))or(x<-1.0)\n",
    "names not in their normal form": "def main(ｘ):\n    ﬁ = ｘ + 1.0\n    def ｇ(*, ｋ):\n        return ｋ\n    return fi * g(ｋ=x)\n",
    "attributes not in their normal form": "class A:\n    ﬁ = 2.0\ndef main(x):\n    return x * A.ﬁ * A.fi\n",
    "backslashes": "def main \\\n (x):\n    if \\\n  x > 0.0: \\\n  return x\n    return \\\n-x\n",
    "comments to the left": "def main(x):\n    if x > 0.0:\n# one\n  # two\n        return x\n            # three\n    return -x\n",
    "all in a line": "def main(x): y=x;y+=1.0;return y\n",
    "tabs and spaces": "def main(x):\n  if x>0.0:\n  \treturn x\n  else:\n  \tx=-x\n  return x\n",
}


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("source", SPELLINGS.values(), ids=SPELLINGS)
def test_spellings(source: str, target: str) -> None:
    xs = np.array([-2.0, -0.5, 0.0, 0.5, 3.0])
    with loaded(source) as fn:
        got = pyflat.twin(fn, target=target, math="exact")(xs).tolist()
        assert all(same_bits(value, fn(x)) for value, x in zip(got, xs.tolist(), strict=True))
        shown = pyflat.twin(fn).show(target="numpy")
        scope: dict = {}
        exec(compile(shown, "<shown>", "exec"), scope)
        assert np.array_equal(np.asarray(scope["main_flat"](xs), float), np.asarray(got, float))


def test_a_refusal_points_to_the_text_as_it_was_written() -> None:
    source = "def main(x):\n    return(1.0 if(x>0.0)else(2.0))if(x)else.5+input(x)\n"
    with loaded(source) as fn, pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(fn)(1.0)
    lines = str(caught.value).split("\n")
    gutter = lines[2].index("return")
    assert lines[3].index("^") - gutter == source.split("\n")[1].index("input") - 4
