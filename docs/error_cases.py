"""For each code of a refusal a script that is refused with it, and one that does the same and is not:
docs/reference/errors.md shows both. tests/project/test_errors_page.py runs them, after HEAD. The last line of each is
the call in question."""

from __future__ import annotations

from typing import NamedTuple


class Example(NamedTuple):
    bad: str
    good: str


HEAD = """\
import math
from typing import NamedTuple
import numpy as np
import pyflat

xs = np.array([-1.5, 0.25, 2.0])
ns = np.array([0, 3, 5])
"""
NEVER = {"flatten/fold-residual": "No known function raises this error; each would show a gap in pyflat."}
"""Codes without an example, and why."""
EXAMPLES = {
    "flatten/source-missing": Example(
        '''
f = eval("lambda x: max(x, 0.0)")
pyflat.twin(f)(xs)
''', '''
f = lambda x: max(x, 0.0)
pyflat.twin(f)(xs)
'''),
    "flatten/source-changed": Example(
        '''
def f(x):
    return x + 1.0

f.__code__ = f.__code__.replace(co_consts=(None, 2.0))
pyflat.twin(f)(xs)
''', '''
def f(x, step=2.0):
    return x + step

pyflat.twin(f)(xs)
'''),
    "flatten/not-a-function": Example(
        '''
pyflat.twin("x + 1")(xs)
''', '''
f = lambda x: x + 1
pyflat.twin(f)(xs)
'''),
    "flatten/unsupported-statement": Example(
        '''
@pyflat.flatten
def f(x):
    with open("rate.txt") as file:
        return x * float(file.read())

f.flat(xs)
''', '''
@pyflat.flatten
def f(x, rate):
    return x * rate

rate = 1.25  # read once, before
f.flat(xs, rate)
'''),
    "flatten/unsupported-expression": Example(
        '''
@pyflat.flatten
def f(x):
    return np.interp(x, [1.0, 0.0], [2.0, 3.0])  # the table falls

f.flat(xs)
''', '''
@pyflat.flatten
def f(x):
    return np.interp(x, [0.0, 1.0], [3.0, 2.0])

f.flat(xs)
'''),
    "flatten/while-unbounded": Example(
        '''
@pyflat.flatten(loops="unroll")
def f(x):
    while abs(x) > 1.0:
        x = x / 2.0
    return x

f.flat(xs)
''', '''
@pyflat.flatten
def f(x):
    while abs(x) > 1.0:
        x = x / 2.0
    return x

f.flat(xs)
'''),
    "flatten/loop-too-long": Example(
        '''
@pyflat.flatten(loops="unroll")
def f(x):
    for _ in range(10_000):
        x = x * 0.5 + 1.0
    return x

f.flat(xs)
''', '''
@pyflat.flatten
def f(x):
    for _ in range(10_000):
        x = x * 0.5 + 1.0
    return x

f.flat(xs)
'''),
    "flatten/iterable-not-static": Example(
        '''
@pyflat.flatten
def f(n):
    total = 0
    for k in {n, n + 1}:  # the order of a set is that of its hash table
        total = total * 10 + k
    return total

f.flat(ns)
''', '''
@pyflat.flatten
def f(n):
    total = 0
    for k in (n, n + 1):
        total = total * 10 + k
    return total

f.flat(ns)
'''),
    "flatten/too-large": Example(
        '''
@pyflat.flatten
def f(x):
    return np.sum(np.arange(20_000) * x)  # 20,000 numbers for each element of xs

f.flat(xs)
''', '''
@pyflat.flatten
def f(x):
    total = 0.0
    for k in range(20_000):
        total += k * x
    return total

f.flat(xs)
'''),
    "flatten/recursion": Example(
        '''
@pyflat.flatten
def f(n):
    return 1 + sum(f(k) for k in range(n))

f.flat(ns)
''', '''
@pyflat.flatten
def f(n):
    count = 1
    while n > 0:
        count, n = 2 * count, n - 1
    return count

f.flat(ns)
'''),
    "flatten/unknown-call": Example(
        '''
@pyflat.flatten
def f(x):
    print(x)
    return x * 2.0

f.flat(xs)
''', '''
@pyflat.flatten
def f(x):
    return x * 2.0

print(f.flat(xs))
f.flat(xs)
'''),
    "flatten/call-not-runnable": Example(
        '''
def noise(x):
    return math.sin(x * 12.9898) * 43758.5453 % 1.0

@pyflat.flatten(whitelist=["noise"])
def f(x):
    return noise(x) + 1.0

f.flat(xs)
''', '''
def noise(x):
    return math.sin(x * 12.9898) * 43758.5453 % 1.0

@pyflat.flatten
def f(x):
    return noise(x) + 1.0

f.flat(xs)
'''),
    "flatten/unbound-name": Example(
        '''
@pyflat.flatten
def f(x):
    return x * rate

f.flat(xs)
''', '''
rate = 1.25

@pyflat.flatten
def f(x):
    return x * rate

f.flat(xs)
'''),
    "flatten/lane-to-object": Example(
        '''
@pyflat.flatten
def f(x):
    values = np.array([x, 1.0])
    return values[values > 0.0].sum()

f.flat(xs)
''', '''
@pyflat.flatten
def f(x):
    values = np.array([x, 1.0])
    return np.where(values > 0.0, values, 0.0).sum()

f.flat(xs)
'''),
    "flatten/mixed-join": Example(
        '''
def ends(x, how):
    return np.array([0.0, x]) if how == "two" else x

pyflat.twin(ends)(xs, np.array(["two", "one", "two"]))
''', '''
def ends(x, how):
    return np.array([0.0, x]) if how == "two" else x

pyflat.twin(ends)(xs, "two")
'''),
    "flatten/list-mutation": Example(
        '''
@pyflat.flatten
def f(n):
    rows = []
    for i in range(n):
        rows.append([i, i * 0.5])
    return sum(row[1] for row in rows)

f.flat(ns)
''', '''
@pyflat.flatten
def f(n):
    rows = []
    for i in range(n):
        rows.append((i, i * 0.5))
    return sum(row[1] for row in rows)

f.flat(ns)
'''),
    "flatten/effect": Example(
        '''
total = 0.0

@pyflat.flatten
def f(x):
    global total
    total = x
    return x * 2.0

f.flat(xs)
''', '''
@pyflat.flatten
def f(x):
    return x * 2.0

total = xs[-1]
f.flat(xs)
'''),
    "flatten/result-kind": Example(
        '''
@pyflat.flatten
def f(x):
    return f"{x:.2f}".upper()

f.flat(xs)
''', '''
@pyflat.flatten
def f(x):
    return round(x, 2)

f.flat(xs)
'''),
    "flatten/argument-kind": Example(
        '''
class Line(NamedTuple):
    slope: float
    start: float

@pyflat.flatten
def f(x, line: Line):
    return x * line.slope + line.start

f.flat.ufunc(xs, Line(1.0, 2.0))
''', '''
@pyflat.flatten
def f(x, slope: float, start: float):
    return x * slope + start

f.flat.ufunc(xs, 1.0, 2.0)
'''),
    "flatten/static-name": Example(
        '''
@pyflat.flatten(static="mod")
def f(x, mode="up"):
    return math.ceil(x) if mode == "up" else math.floor(x)

f.flat(xs)
''', '''
@pyflat.flatten(static="mode")
def f(x, mode="up"):
    return math.ceil(x) if mode == "up" else math.floor(x)

f.flat(xs)
'''),
    "flatten/int-too-large": Example(
        '''
@pyflat.flatten
def f(n):
    return n + 2**70

f.flat(ns)
''', '''
@pyflat.flatten
def f(n):
    return n + 2.0**70

f.flat(ns)
'''),
    "flatten/not-yet": Example(
        '''
@pyflat.flatten
def f(n):
    return round(n, -n)

f.flat(ns)
''', '''
@pyflat.flatten
def f(n):
    return round(n, -2) if n > 100 else round(n, -1)

f.flat(ns)
'''),
    "flatten/generator": Example(
        '''
@pyflat.flatten
def f(x):
    yield x
    yield x * 2.0

f.flat(xs)
''', '''
@pyflat.flatten
def f(x):
    return x, x * 2.0

f.flat(xs)
'''),
    "flatten/target-operation": Example(
        '''
@pyflat.flatten
def f(x):
    return math.gamma(x)

f.flat.show(target="wgsl")
''', '''
@pyflat.flatten
def f(x):
    return math.exp(x)

f.flat.show(target="wgsl")
'''),
    "flatten/target-dtype": Example(
        '''
@pyflat.flatten(dtype="float32")
def f(x):
    return x * 2.0

f.flat.show(target="wgsl")
''', '''
@pyflat.flatten
def f(x):
    return x * 2.0

f.flat.show(target="wgsl")
'''),
    "flatten/target-unchecked": Example(
        '''
@pyflat.flatten(target="wgsl")
def f(x):
    return 1.0 / x

f.flat(xs)
''', '''
@pyflat.flatten(target="numba")
def f(x):
    return 1.0 / x

f.flat(xs)
'''),
    "flatten/memory-mode": Example(
        '''
@pyflat.flatten(memory={"t": "virtual"})
def f(a):
    t = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        t[i] = a[i] + 1.0
    return t

f.flat(xs)
''', '''
@pyflat.flatten(memory={"t": "stored"})
def f(a):
    t = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        t[i] = a[i] + 1.0
    return t

f.flat(xs)
'''),
    "flatten/option": Example(
        '''
@pyflat.flatten(max_trips=1000)
def total(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s

total.flat(xs)
''', '''
@pyflat.flatten(max_trips=1000)
def halved(x):
    while x > 1.0:
        x = x / 2.0
    return x

halved.flat(xs)
'''),
    "flatten/bad-call": Example(
        '''
def scaled(x, rate):
    return x * rate

@pyflat.flatten
def f(x):
    return scaled(x)

f.flat(xs)
''', '''
def scaled(x, rate=2.0):
    return x * rate

@pyflat.flatten
def f(x):
    return scaled(x)

f.flat(xs)
'''),
}
