# ruff: noqa: FURB171
"""Lists, dicts, sets, captured state, closures."""

import math

from tests.support.adversary import small

SCRATCH = [0.0] * 4
CACHE = {}
COUNT = 0
LOG = []
STATE = {"last": 0.0}
TAB = [1.0, 2.0, 4.0]


def case_scratch(x: "float"):
    SCRATCH[0] = x
    SCRATCH[1] = SCRATCH[0] * 2
    return SCRATCH[1] + 1


def refused_scratch_stale(x: "float"):
    if x > 0:
        SCRATCH[2] = x
    return x * 2


def case_cache(n: "small"):
    if n in CACHE:
        return CACHE[n]
    CACHE[n] = n * n + 1
    return CACHE[n]


def case_counter(x: "float"):
    global COUNT
    COUNT += 1
    return x + 1


def refused_counter_read(x: "float"):
    global COUNT
    COUNT += 1
    return x + COUNT * 0


def refused_log(x: "float"):
    LOG.append(x)
    v = LOG.pop()
    return v * 2


def case_state(x: "float"):
    STATE["last"] = x
    return STATE["last"] * 2


def refused_state_old(x: "float"):
    old = STATE["last"]
    STATE["last"] = x
    return x


def case_nonlocal(x: "float"):
    t = 0.0

    def add(v):
        nonlocal t
        t += v
        return t

    add(x)
    add(2.0)
    return t + add(x) * 10


def refused_nonlocal2(x: "float"):
    n = 0

    def a():
        nonlocal n
        n += 1
        if n < 3:
            b()

    def b():
        nonlocal n
        n *= 2
        a()

    a()
    return n + x


def refused_closure_late(x: "float"):
    fs = [lambda: i * x for i in range(3)]
    return fs[0]()


def case_closure_default(x: "float"):
    fs = [lambda i=i: i * x for i in range(3)]
    return fs[0]() + fs[2]()


def case_mutdefault(x: "float"):
    def g(v, l=[]):
        l.append(v)
        return len(l)

    return g(x) + g(x) * 10


def case_alias_list(x: "float"):
    a = [x, 1.0]
    b = a
    b.append(2.0)
    a += [3.0]
    return len(b), b[-1], a is b


def case_listcopy(x: "float"):
    a = [[x], [1.0]]
    b = a[:]
    b[0][0] += 1
    b[1] = [9.0]
    return a[0][0], a[1][0]


def case_mul_alias(x: "float"):
    a = [[0.0]] * 3
    a[0][0] = x
    return a[2][0]


def case_swap(x: "float", y: "float"):
    a = [x, y]
    i = 0
    i, a[i] = 1, 7.0
    return a, i


def case_aug_order(x: "float"):
    a = [x, 2.0]

    def g():
        a[0] = 10.0
        return 1.0

    a[0] += g()
    return a[0]


def case_aug_order2(x: "float"):
    t = x

    def g():
        nonlocal t
        t = 100.0
        return 1.0

    t = t + g()
    return t


def case_eval_order(x: "float"):
    l = []

    def p(v):
        l.append(v)
        return v

    r = p(1.0) * x + p(2.0) ** p(3.0)
    return r, l


def case_dict_order(x: "float"):
    d = {"b": 1.0}
    d["a"] = x
    d["b"] = 2.0
    del d["b"]
    d["b"] = 3.0
    return list(d), list(d.values())


def case_remove(x: "float"):
    l = [1.0, x, 2.0, x]
    l.remove(x)
    return l


def case_insert(n: "small", x: "float"):
    l = [1.0, 2.0, 3.0]
    l.insert(n, x)
    return l


def case_pop_i(n: "small"):
    l = [1.0, 2.0, 3.0]
    v = l.pop(n)
    return v, l


def case_index(x: "float"):
    return [1.0, 2.5, -1.0, 2.5].index(x)


def refused_index_from(x: "float", n: "small"):
    return [1.0, 2.5, -1.0, 2.5].index(x, n)


def case_count(x: "float"):
    return [1.0, 2.5, -1.0, 2.5, x].count(x)


def case_filter(x: "float", y: "float"):
    return len([v for v in (x, y, 1.0, -1.0) if v > 0])


def case_filter_list(x: "float", y: "float"):
    l = [v * 2 for v in (x, y, 1.0) if v > 0]
    return l[0] + len(l)


def case_filter_last(x: "float"):
    l = [v for v in (x, -x, x + 1) if v > 0]
    return l[-1]


def case_sum_gen(x: "float"):
    return sum(v * v for v in (x, 1.0, 2.0) if v != 1.0)


def case_minkey(x: "float", y: "float"):
    return min((x, y, 1.0), key=lambda v: abs(v - 1)), max([x, y], key=abs)


def case_min_default(x: "float"):
    return min([v for v in (x, -x) if v > 1], default=7.0)


def case_max_empty(x: "float"):
    return max([v for v in (x,) if v > 1])


def case_sorted2(x: "float", y: "float"):
    return sorted([x, y, 1.0], reverse=True)


def case_sortkey(x: "float", y: "float"):
    l = [(x, 1), (y, 2), (1.0, 3)]
    l.sort(key=lambda p: p[0])
    return l[0][1], l[2][1]


def case_prod(x: "float", y: "float"):
    return math.prod([x, y, 2.0]), math.prod([], start=x)


def case_fsum(x: "float", y: "float"):
    return math.fsum([x, y, 1e300, -1e300])


def case_anyall(x: "float", y: "float"):
    return any(v > 0 for v in (x, y)), all([x, y]), any([]), all([])


def refused_set(n: "small", k: "small"):
    return len({n, k, 1, 2}), n in {k, 3}, {n, k} == {1, 2}


def refused_setops(n: "small", k: "small"):
    return len({n, k} | {1}), len({n, 1, 2} & {k, 2}), len({n, 1} - {k}), {n} <= {k, n}


def case_counter2(n: "small", k: "small"):
    d = {}
    for v in (n, k, n, 1):
        d[v] = d.get(v, 0) + 1
    return d[n], len(d), max(d.values())


def case_dictlane(n: "small", k: "small"):
    d = {1: 1.0, 2: 2.0}
    d[n] = 5.0
    return d.get(k, -1.0), len(d), d[1]


def case_dictpop(n: "small"):
    d = {1: 1.0, 2: 2.0}
    return d.pop(n), len(d)


def case_setdefault(n: "small"):
    d = {1: [1.0]}
    d.setdefault(1, []).append(2.0)
    return len(d[1]) + n


def case_growing(n: "small"):
    l = []
    for i in range(abs(n)):
        l.append(i * i)
    return sum(l), len(l)


def case_growing_idx(n: "small"):
    l = [0.0]
    for i in range(n):
        l.append(l[-1] + i)
    return l[-1], l[n]


def case_while_pop(n: "small"):
    l = [1, 2, 3, 4, 5]
    s = 0
    while len(l) > abs(n) and l:
        s = s * 10 + l.pop(0)
    return s


def case_enum_break(x: "float"):
    for i, v in enumerate([0.5, 1.5, 2.5]):
        if x < v:
            break
    else:
        i = -1
    return i


def case_del_item(n: "small"):
    l = [1.0, 2.0, 3.0]
    del l[n]
    return l


def case_slice_assign(x: "float"):
    l = [1.0, 2.0, 3.0, 4.0]
    l[1:3] = [x]
    return l


def case_list_eq(x: "float", y: "float"):
    return [x, 1.0] == [y, 1.0], (x, y) < (y, x), [x] > [1.0, 2.0]


def case_in_nan(x: "float"):
    return x in [x], x in (1.0, math.nan), [x] == [x]


def case_extend_self(x: "float"):
    l = [x, 1.0]
    l.extend(l)
    return l


def case_reversed(x: "float"):
    l = [x, 1.0, 2.0]
    return list(reversed(l)), l[::-1], l[-1:0:-1]


def case_zip(x: "float"):
    return [a * b for a, b in zip([x, 2.0, 3.0], (1.0, x))]


def case_nestedcomp(x: "float"):
    return [[i * j + x for j in range(i)] for i in range(3)]


def case_mutate_iter(x: "float"):
    l = [1.0, x, 3.0]
    s = 0.0
    for v in l:
        s += v
        if len(l) < 5:
            l.append(v)
    return s


def case_unpack(x: "float"):
    a, *b, c = [x, 1.0, 2.0, 3.0]
    (d, e), f = (b[0], b[1]), c
    return a, b, c, d + e + f
