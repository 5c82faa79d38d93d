"""What a loop that stays a loop carries from one iteration to the next, other than numbers."""

import enum
import math


class _Epoch:
    def __init__(self, t):
        self.t = t

    def __add__(self, b):
        return _Epoch(self.t + b)

    def __iadd__(self, b):
        return self + b

    def get(self):
        return self.t


def an_object_that_is_replaced(x):
    e = _Epoch(x)
    c = 1.0
    n = 0
    while abs(c) > 0.01 and n < 60:
        c = -e.get() / 2
        e += c
        n += 1
    e -= c if False else 0
    return e.t


_Epoch.__sub__ = lambda self, b: _Epoch(self.t - b)


def a_list_that_is_replaced(x):
    v = [x, 1.0, 2.0]
    n = 0
    while abs(v[0]) > 0.5 and n < 40:
        v = [v[1] / 2, v[2] / 3, v[0] / 4]
        n += 1
    return v[0] + v[1] * 10 + v[2] * 100


def a_list_made_in_the_loop(x):
    v = [x, 1.0, 2.0]
    n = 0
    while abs(v[0]) > 0.5 and n < 40:
        w = [a / 2 for a in v]
        v = w
        v[1] += 1
        n += 1
    return v[0] + v[1] * 10 + v[2] * 100


def REFUSED_written_through_another_name(x):
    v = [x, 1.0]
    w = v
    n = 0
    while abs(v[0]) > 0.5 and n < 40:
        v = [v[0] / 2, v[1]]
        v[1] += 1
        w[1] += 2
        n += 1
    return v[0] + v[1] * 10 + w[1] * 100


def two_lists_that_swap(x):
    a = [x, 1.0]
    b = [2.0, 3.0]
    n = 0
    while abs(a[0]) > 0.1 and n < 30:
        a, b = b, [a[0] / 3, a[1] + 1]
        n += 1
    return a[0] + b[0] * 10 + a[1] * 100 + b[1] * 1000


def a_dict_that_is_replaced(x):
    d = {"a": x, "n": 0}
    while abs(d["a"]) > 0.5 and d["n"] < 40:
        d = {"a": d["a"] / 2, "n": d["n"] + 1}
    return d["a"] + d["n"]


def REFUSED_identity_of_lists(x):
    v = [x, 1.0]
    prev = v
    n = 0
    while abs(v[0]) > 0.5 and n < 40:
        prev = v
        v = [v[0] / 2, v[1] + 1]
        n += 1
    return v[0] + prev[0] * 10 + (1000 if prev is v else 0)


def REFUSED_written_after_the_loop(x):
    v = [x, 1.0]
    prev = v
    n = 0
    while abs(v[0]) > 0.5 and n < 40:
        prev = v
        v = [v[0] / 2, v[1] + 1]
        n += 1
        if n == 2:
            v = prev
    prev[0] = 99.0
    return v[0]


def a_list_of_lists(x):
    m = [[x, 1.0], [2.0, 3.0]]
    n = 0
    while abs(m[0][0]) > 0.5 and n < 20:
        m = [[m[0][0] / 2, m[1][0] / 3], [m[0][1] / 5, m[1][1] / 7]]
        n += 1
    return m[0][0] + m[1][1] * 10 + m[0][1] * 100


def a_list_of_objects(x):
    es = [_Epoch(x), _Epoch(1.0)]
    n = 0
    while abs(es[0].t) > 0.5 and n < 30:
        es = [es[1], _Epoch(es[0].t / 2)]
        n += 1
    return es[0].t + es[1].t * 10


_THREE = [1.0, 2.0, 3.0]
_TWO = [4.0, 5.0]


def a_captured_list_chosen_in_the_loop(x):
    n = 0
    while abs(x) > 1 and n < 40:
        n += 1
        if x > 10:
            points = _THREE
        else:
            points = _TWO
        for p in points:
            x = x / (p + 1) + 0.1
    return x


def a_string_of_the_iteration(x):
    n = 0
    while abs(x) > 1 and n < 40:
        n += 1
        mode = "a" if x > 5 else "b"
        x = x / 2 if mode == "a" else x / 3
    return x


def a_string_that_changes(x):
    n = 0
    mode = "z"
    while abs(x) > 1 and n < 40:
        n += 1
        x = x / 2 if mode == "a" else x / 3
        mode = "a" if x > 5 else "b"
    return x


def none_before_the_loop(x):
    n = 0
    last = None
    while abs(x) > 1 and n < 40:
        n += 1
        if last is not None and x > last:
            x -= 1
        last = x
        x = x / 2
    return x


class _Direction(enum.Enum):
    UP = 1
    DOWN = 2


def a_state_machine_of_enums(x):
    st = _Direction.UP
    n = 0
    y = 0.0
    while n < 20 and abs(y) < 100:
        n += 1
        if st is _Direction.UP:
            y += x
            if y > 5:
                st = _Direction.DOWN
        else:
            y -= 2 * x
            if y < -5:
                st = _Direction.UP
    return y + n


def a_function_that_changes(x):
    f = math.sqrt
    n = 0
    while abs(x) > 1.5 and n < 30:
        n += 1
        x = f(abs(x))
        f = math.floor if x > 3 else math.sqrt
    return x


def none_then_strings(x):
    m = None
    n = 0
    while abs(x) > 1 and n < 30:
        n += 1
        if m is None:
            m = "q"
        elif m == "q":
            m = "r"
            x /= 2
        x /= 1.5
    return x + (0 if m is None else len(m))


def a_constant_string_in_the_loop(x):
    n = 0
    while abs(x) > 1 and n < 30:
        n += 1
        k = "a"
        x /= 2 if k == "a" else 3
    return x


def a_string_read_after_the_loop(x):
    n = 0
    while abs(x) > 1 and n < 30:
        n += 1
        k = "a" if x > 3 else "bb"
        x /= 2
    return x + (len(k) if n else 0)
