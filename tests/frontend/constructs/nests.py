"""Nests of constant loops with more iterations than are unrolled."""


def a_nest_of_ten_thousand(x):
    s = 0.0
    for i in range(100):
        for j in range(100):
            s += x / (1 + i + j)
    return s


def a_triangle_with_break(x):
    s = 0.0
    for i in range(120):
        for j in range(i):
            if j * x > 50:
                break
            s += x / (1 + i + j)
    return s


def three_loops(x):
    s = 0.0
    for i in range(30):
        for j in range(20):
            for k in range(10):
                s += x / (1 + i + j * k)
    return s


_TABLE = [0.5, 1.5, 2.5]


def a_table_and_a_long_loop(x):
    s = 0.0
    for i in range(3):
        for j in range(2000):
            s += x * _TABLE[i] / (j + 1)
    return s
