"""Order of evaluation, walrus, closures, genuine type errors."""

from __future__ import annotations

GEN = (v for v in (1.0, 2.0))


def case_walrus_and(x: float, y: float):
    return (a := x) and (b := y) or a


def case_walrus_masked(x: float):
    if x > 0 and (k := (x * 2)) > 1:
        return k
    try:
        return k
    except UnboundLocalError:
        return -1.0


def case_walrus_unset(x: float):
    x > 0 and (k := 5)
    return k


def case_walrus_while(n: int):
    k = 0
    while (k := (k + 1)) < 5:
        pass
    return k + n


def case_ternary_order(x: float):
    l = []

    def f(v):
        l.append(v)
        return v

    r = f(1) if f(x) > 0 else f(2)
    return len(l) + r + l[-1]


def case_kwarg_order(x: float):
    l = []

    def f(v):
        l.append(v)
        return v

    def g(a, b):
        return a - b

    g(b=f(1), a=f(2))
    return l[0]


def case_dict_eval_order(x: float):
    l = []

    def f(v):
        l.append(v)
        return v

    d = {f(1): f(2)}
    return l[0]


def case_sub_eval_order(x: float):
    l = []

    def f(v):
        l.append(v)
        return v

    a = [0, 0, 0]
    a[f(1)] = f(2)
    return l[0]


def case_cmp_order(x: float):
    l = []

    def f(v):
        l.append(v)
        return v

    f(1) < f(0) < f(x)
    return len(l)


def case_default_order(x: float):
    k = 1

    def f(v=k):
        return v

    k = 2
    return f() + x


def case_rec_closure(x: float):

    def f(k):
        return x if k == 0 else f(k - 1) + 1

    return f(4)


def case_closure_counter(x: float):
    c = [0]

    def inc():
        c[0] += 1
        return c[0]

    return inc() * 100 + inc() * 10 + inc() + x


def case_closure_factory(x: float):

    def mk(k):
        return lambda v: v * k

    a, b = (mk(2), mk(3))
    return a(x) - b(x)


def case_closure_loopvar(x: float):
    fs = []
    for k in range(3):

        def f(v, k=k):
            return v * k

        fs.append(f)
    return fs[0](x) + fs[2](x)


def case_closure_unbound(x: float):

    def f():
        return z

    if x > 0:
        z = 1.0
    return f()


def case_closure_after(x: float):

    def f():
        return z

    z = 1.0
    r = f()
    z = x
    return r + f()


def case_posonly(x: float):

    def f(a, /, b, *, c):
        return a - b * c

    return f(x, b=2.0, c=3.0)


def case_exc_type_branch(x: float):
    if x > 0:
        return x + "a"
    return x


def case_none_add(x: float):
    v = None
    if x > 0:
        v = 1.0
    return v + 1


def case_idx_scalar(x: float):
    if x > 0:
        return x[0]
    return x
