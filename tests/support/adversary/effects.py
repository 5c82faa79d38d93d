"""Effects: captured state, caches, counters, nonlocal names."""

import math

from tests.support.adversary import small

BUF = [0.0, 0.0, 0.0]
GRID = [[0.0, 0.0], [0.0, 0.0]]
OUT = {"a": 0.0, "b": 1.0}
MEMO = {}
MEMO2 = {0: 1.0}
SEEN = set()
CALLS = []
LIMITS = {"low": 1.0, "high": 5.0}
TOTAL = 0.0


class Cfg:
    rate = 0.5
    n = 0


CFG = Cfg()


class Acc:
    def __init__(self):
        self.t = 0.0
        self.items = []

    def add(self, v):
        self.t += v
        self.items.append(v)
        return self


ACC = Acc()


def helper_fill(b, x):
    for i in range(3):
        b[i] = x * i


def refused_fill(x: "float"):
    helper_fill(BUF, x)
    return BUF[2] + BUF[1]


def case_fill_partial(x: "float"):
    BUF[0] = x
    return BUF[0] + BUF[1]


def case_fill_cond(x: "float"):
    if x > 0:
        BUF[0] = 1.0
    else:
        BUF[0] = 2.0
    return BUF[0]


def refused_fill_maybe(x: "float"):
    if x > 0:
        BUF[0] = 1.0
    return BUF[0]


def refused_fill_lane(n: "small", x: "float"):
    BUF[0] = BUF[1] = BUF[2] = 0.0
    BUF[n % 3] = x
    return BUF[0] * 100 + BUF[2]


def refused_grid(x: "float"):
    for i in range(2):
        for j in range(2):
            GRID[i][j] = x + i * 10 + j
    return GRID[1][0] - GRID[0][1]


def case_row_alias(x: "float"):
    r = GRID[0]
    r[0] = x
    r[1] = 2.0
    return GRID[0][0] * GRID[0][1]


def case_outdict(x: "float"):
    OUT["a"] = x
    OUT["b"] = OUT["a"] + 1
    return OUT["b"]


def case_outdict_new(x: "float"):
    OUT["c"] = x
    return OUT["c"]


def case_memo(n: "small"):
    if n not in MEMO:
        MEMO[n] = math.sqrt(abs(n))
    return MEMO[n]


def case_memo_get(n: "small"):
    v = MEMO.get(n)
    if v is None:
        v = n * 2.0
        MEMO[n] = v
    return v


def case_memo_try(n: "small"):
    try:
        return MEMO2[n]
    except KeyError:
        MEMO2[n] = r = n * 1.5 + 1
        return r


def refused_seen(n: "small"):
    if n in SEEN:
        return 0
    SEEN.add(n)
    return 1


def refused_calls(x: "float"):
    CALLS.append(x)
    return len(CALLS) * 0 + x


def refused_calls_clear(x: "float"):
    CALLS.clear()
    CALLS.append(x)
    CALLS.append(2.0)
    return sum(CALLS)


def case_total(x: "float"):
    global TOTAL
    TOTAL = x
    TOTAL += 1
    return TOTAL


def refused_total_read(x: "float"):
    global TOTAL
    y = TOTAL
    TOTAL = 0.0
    return x + y * 0


def case_cfg(x: "float"):
    return x * CFG.rate * Cfg.rate


def refused_cfg_write(x: "float"):
    CFG.rate = x
    return CFG.rate


def refused_cfg_count(x: "float"):
    CFG.n += 1
    return x


def case_acc(x: "float"):
    a = Acc().add(x).add(2.0)
    return a.t, len(a.items), a.items[-1]


def refused_acc_global(x: "float"):
    ACC.t = 0.0
    ACC.items.clear()
    ACC.add(x)
    return ACC.t


def case_sort_global(x: "float"):
    l = sorted(LIMITS.values())
    l.append(x)
    return l[-1] + l[0]


def case_copy_global(x: "float"):
    d = dict(LIMITS)
    d["low"] = x
    l = list(BUF)
    l[0] = x
    return d["low"] + l[0] + LIMITS["low"]


def case_nl_counter(x: "float"):
    c = 0

    def step(v):
        nonlocal c
        c += 1
        return v * c

    return step(x) + step(x) + c


def case_nl_cond(x: "float"):
    best = -math.inf

    def see(v):
        nonlocal best
        if v > best:
            best = v

    for v in (x, 1.0, -x):
        see(v)
    return best


def case_nl_loop(n: "small"):
    s = 1

    def mul(k):
        nonlocal s
        s = s * k % 1000

    i = 0
    while i < n:
        i += 1
        mul(i)
    return s


def case_nl_nested(x: "float"):
    a = x

    def f():
        b = 1.0

        def g():
            nonlocal a, b
            a += 1
            b *= 2
            return b

        return g() + g()

    return f() + a


def case_nl_exc(x: "float"):
    st = 0

    def risky():
        nonlocal st
        st = 1
        v = 1 / x
        st = 2
        return v

    try:
        risky()
    except ZeroDivisionError:
        st += 10
    return st


def case_make_counter(x: "float"):
    def make():
        n = 0

        def c():
            nonlocal n
            n += 1
            return n

        return c

    p, q = make(), make()
    return p() + p() * 10 + q() * 100 + x


def case_closure_list(x: "float"):
    l = []

    def put(v):
        l.append(v)
        return l

    put(x)
    put(1.0)[0] += 2
    return l


def refused_del_global_item(x: "float"):
    BUF[0] = x
    t = BUF[:]
    del t[0]
    return len(t), BUF[0]


def case_swap_global(x: "float"):
    BUF[0] = x
    BUF[1] = 1.0
    BUF[0], BUF[1] = BUF[1], BUF[0]
    return BUF[0], BUF[1]


def case_aug_global(x: "float"):
    BUF[0] = x
    BUF[0] += 1
    BUF[0] *= 2
    return BUF[0]


def refused_slice_global(x: "float"):
    BUF[:] = [x, x + 1, x + 2]
    return BUF[-1]


def refused_setattr(x: "float"):
    a = Acc()
    setattr(a, "t", x)
    a.__dict__["z"] = 1.0
    return a.t


def case_vars(x: "float"):
    a = Acc()
    a.t = x
    return getattr(a, "t") + len(a.items)


def case_default_arg(x: "float", l=[1.0, 2.0]):
    return x + l[0]


def case_default_arg_write(x: "float", l=[1.0, 2.0]):
    l[0] = x
    return l[0]


def case_raise_after_write(x: "float"):
    BUF[0] = x
    if x > 1:
        raise ValueError
    return BUF[0]


def case_order_write_read(x: "float"):
    def w():
        BUF[1] = x
        return 1.0

    return w() + BUF[1]
