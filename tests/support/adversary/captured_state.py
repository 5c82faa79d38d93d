"""What functions keep outside of a call: scratch lists and dicts, caches, counters, variables of enclosing functions."""

import math

from tests.support.adversary import small

ROW = [0.0, 1.0, 2.0, 3.0]
ROWS = [[0.0, 0.0], [0.0, 0.0]]
BOX = {"x": 0.0, "y": 1.0, "n": 0}
DEEP = {"in": {"v": 0.0}}
CALLS = {"n": 0, "sum": 0.0}
KNOWN = {}
KNOWN2 = {}
KNOWN3 = {}
POWERS = {0: 1, 1: 2}
PAIRS = {}
LEVEL = 0.0
NUMBER = 0
FLAG = False
CONFIG = {"rate": 0.5, "limits": (0.0, 10.0), "names": ["a", "b"]}
HISTORY = []
STACK = [1.0]


class State:
    total = 0.0

    def __init__(self):
        self.last = 0.0
        self.count = 0
        self.rows = [0.0, 0.0]
        self.memo = {}
        self.on = True

    def put(self, v):
        self.last = v
        return self

    def get(self):
        return self.last * 2

    def bump(self):
        self.count += 1

    def remembered(self, n):
        if n in self.memo:
            return self.memo[n]
        self.memo[n] = n * 3 + 1
        return self.memo[n]


STATE = State()
OTHER = State()


def case_written_twice(x: "float"):
    ROW[0] = x
    ROW[0] = ROW[0] * 2
    ROW[1] = ROW[0] + 1
    return ROW[1] - ROW[0]


def case_negative_index(x: "float"):
    ROW[-1] = x
    return ROW[3] + ROW[2]


def case_same_place_two_names(x: "float"):
    a = ROW
    b = ROW
    a[0] = x
    b[0] += 1
    return ROW[0]


def case_swapped(x: "float", y: "float"):
    ROW[0], ROW[1] = x, y
    if ROW[0] > ROW[1]:
        ROW[0], ROW[1] = ROW[1], ROW[0]
    return ROW[0], ROW[1]


def case_condition_both(x: "float"):
    if x > 0:
        ROW[0] = x
        ROW[1] = 1.0
    else:
        ROW[1] = 2.0
        ROW[0] = -x
    return ROW[0] / ROW[1]


def case_read_one_path(x: "float"):
    if x > 0:
        ROW[0] = x
        return ROW[0] + 1
    return -1.0


def refused_read_other_path(x: "float"):
    """flatten/effect"""
    if x > 0:
        ROW[0] = x
    return ROW[0] if x > 0 else 0.0


def case_written_in_try(x: "float"):
    try:
        ROW[0] = 1 / x
    except ZeroDivisionError:
        ROW[0] = -1.0
    return ROW[0]


def case_half_written_in_try(x: "float"):
    ROW[0] = ROW[1] = 0.0
    try:
        ROW[0] = 1.0
        ROW[1] = 1 / x
        ROW[0] = 2.0
    except ZeroDivisionError:
        pass
    return ROW[0], ROW[1]


def case_written_in_finally(x: "float"):
    try:
        v = 1 / x
    except ZeroDivisionError:
        v = 0.0
    finally:
        ROW[0] = x
    return v + ROW[0]


def case_loop_scratch(x: "float"):
    ROW[0] = 1.0
    for k in range(3):
        ROW[0] = ROW[0] * x + k
    return ROW[0]


def case_while_scratch(n: "small"):
    ROW[0] = 0.0
    k = 0
    while k < n:
        ROW[0] += k
        k += 1
    return ROW[0]


def refused_loop_places(x: "float"):
    """flatten/effect"""
    for k in range(len(ROW)):
        ROW[k] = x * k
    return ROW[0] + ROW[1] + ROW[2] + ROW[3]


def case_sum_of_scratch(x: "float"):
    ROW[0] = ROW[1] = ROW[2] = ROW[3] = x
    return sum(ROW), max(ROW), len(ROW)


def case_partly_constant(x: "float"):
    ROW[0] = x
    return [v * 2 for v in ROW]


def case_copied(x: "float"):
    ROW[0] = x
    c = list(ROW)
    ROW[0] = 9.0
    return c[0], ROW[0]


def case_sliced(x: "float"):
    ROW[0] = x
    t = ROW[:2]
    ROW[0] = 7.0
    return t[0] + ROW[0]


def case_unpacked(x: "float"):
    ROW[0] = x
    a, *b = ROW
    return a, b[0]


def case_nested_rows(x: "float"):
    ROWS[0][0] = x
    ROWS[1][0] = ROWS[0][0] + 1
    return ROWS[1][0] * ROWS[0][0]


def refused_row_of_rows(x: "float"):
    """flatten/effect"""
    r = ROWS[1]
    r[1] = x
    for row in ROWS:
        row[0] = 2.0
    return ROWS[1][1] + ROWS[0][0]


def case_dict_entry(x: "float"):
    BOX["x"] = x
    BOX["x"] *= 2
    return BOX["x"] + BOX["y"]


def refused_dict_get(x: "float"):
    """flatten/effect"""
    BOX["x"] = x
    return BOX.get("x"), BOX.get("nothing", 1.0)


def refused_dict_update(x: "float"):
    """flatten/effect"""
    BOX.update(x=x, y=2.0)
    return BOX["x"] * BOX["y"]


def refused_dict_values(x: "float"):
    """flatten/unknown-call"""
    BOX["x"] = x
    return sum(BOX.values())


def refused_dict_membership(x: "float"):
    """flatten/effect"""
    BOX["x"] = x
    return "x" in BOX, "q" in BOX


def case_dict_deep(x: "float"):
    DEEP["in"]["v"] = x
    return DEEP["in"]["v"] + 1


def refused_dict_setdefault(x: "float"):
    """flatten/effect"""
    return BOX.setdefault("y", x)


def case_entry_of_a_lane(s: "str", x: "float"):
    BOX[s] = x
    return BOX[s]


def case_counter(x: "float"):
    CALLS["n"] += 1
    return x + 1


def case_counter_by_lane(x: "float"):
    CALLS["sum"] += x
    return x


def case_counter_in_branch(x: "float"):
    if x > 0:
        CALLS["n"] += 1
    else:
        CALLS["n"] -= 1
    return -x


def case_counter_in_loop(n: "small"):
    t = 0
    for k in range(n):
        CALLS["n"] += 1
        t += k
    return t


def refused_counter_read(x: "float"):
    """flatten/effect"""
    CALLS["n"] += 1
    return CALLS["n"] * 0 + x


def refused_counter_and_test(x: "float"):
    """flatten/effect"""
    CALLS["n"] += 1
    if CALLS["n"] < 0:
        return 0.0
    return x


def case_counter_global(x: "float"):
    global NUMBER
    NUMBER += 1
    return x * 2


def case_counter_object(x: "float"):
    STATE.count += 1
    return x


def case_counter_method(x: "float"):
    OTHER.bump()
    return x


def refused_counter_class(x: "float"):
    """flatten/effect"""
    State.total += x
    return x


def case_global_scratch(x: "float"):
    global LEVEL
    LEVEL = x
    LEVEL = LEVEL + 1
    return LEVEL * 2


def case_global_flag(x: "float"):
    global FLAG
    FLAG = x > 0
    return 1 if FLAG else 2


def _set_level(v):
    global LEVEL
    LEVEL = v


def _get_level():
    return LEVEL


def case_global_by_helpers(x: "float"):
    _set_level(x)
    a = _get_level()
    _set_level(a * 2)
    return a + _get_level()


def refused_global_one_path(x: "float"):
    """flatten/effect"""
    global LEVEL
    if x > 0:
        LEVEL = x
    return LEVEL


def case_object_scratch(x: "float"):
    STATE.last = x
    return STATE.get() + STATE.last


def case_object_chain(x: "float"):
    return STATE.put(x).put(x + 1).get()


def case_object_rows(x: "float"):
    STATE.rows[0] = x
    STATE.rows[1] = STATE.rows[0] * 2
    return sum(STATE.rows)


def case_two_objects(x: "float"):
    STATE.last = x
    OTHER.last = 2.0
    return STATE.get() - OTHER.get()


def case_object_flag(x: "float"):
    STATE.on = x > 0
    return "on" if STATE.on else "off"


def case_object_swap(x: "float"):
    STATE.last, OTHER.last = x, -x
    STATE.last, OTHER.last = OTHER.last, STATE.last
    return STATE.last, OTHER.last


def refused_object_new_attribute(x: "float"):
    """flatten/effect"""
    STATE.fresh = x
    return STATE.fresh


def case_memo(n: "small"):
    if n in KNOWN:
        return KNOWN[n]
    KNOWN[n] = v = n * n - 1
    return v


def case_memo_of_two(n: "small", b: "bool"):
    k = (n, b)
    if k not in PAIRS:
        PAIRS[k] = n + 10 * b
    return PAIRS[k]


def case_memo_filled(n: "small"):
    try:
        return POWERS[n]
    except KeyError:
        POWERS[n] = 2**n if n >= 0 else 0
    return POWERS[n]


def case_memo_method(n: "small"):
    return STATE.remembered(n) + STATE.remembered(n)


def case_memo_none(n: "small"):
    v = KNOWN2.get(n)
    if v is None:
        v = "even" if n % 2 == 0 else "odd"
        KNOWN2[n] = v
    return v


def refused_memo_list(n: "small"):
    """flatten/effect"""
    if n not in KNOWN3:
        KNOWN3[n] = [n, 1]
    r = KNOWN3[n]
    r.append(2)
    return len(r)


def case_memo_list_read(n: "small"):
    if n not in KNOWN3:
        KNOWN3[n] = [n, 1]
    return KNOWN3[n][0]


def refused_memo_wrong(n: "small", x: "float"):
    """flatten/effect"""
    if n not in KNOWN2:
        KNOWN2[n] = x
    return KNOWN2[n]


def refused_memo_identity(n: "small"):
    """flatten/unsupported-expression"""
    if n not in KNOWN3:
        KNOWN3[n] = [n, 1]
    return KNOWN3[n] is KNOWN3[n]


def refused_memo_length(n: "small"):
    """flatten/unsupported-expression"""
    KNOWN[n] = n
    return len(KNOWN)


def refused_history(x: "float"):
    """flatten/effect"""
    HISTORY.append(x)
    return x


def refused_history_last(x: "float"):
    """flatten/effect"""
    HISTORY.append(x)
    return HISTORY[-1]


def refused_pushed_and_popped(x: "float"):
    """flatten/effect"""
    STACK.append(x)
    return STACK.pop()


def case_config(x: "float"):
    low, high = CONFIG["limits"]
    return min(max(x * CONFIG["rate"], low), high), CONFIG["names"][0]


def case_config_list(x: "float"):
    CONFIG["names"][0] = "hot" if x > 0 else "cold"
    return CONFIG["names"][0]


def case_nonlocal_both(x: "float"):
    a, b = x, 1.0

    def f():
        nonlocal a
        a += b
        return g()

    def g():
        nonlocal b
        b *= 2
        return a

    return f() + f(), a, b


def case_nonlocal_loop(x: "float"):
    last = None

    def changed(v):
        nonlocal last
        before, last = last, v
        return before is None or before != v

    return [changed(v) for v in (x, 1.0, x)]


def case_nonlocal_while(n: "small"):
    left = n

    def take():
        nonlocal left
        left -= 1
        return left

    t = 0
    while left > 0:
        t += take()
    return t, left


def case_nonlocal_three(x: "float"):
    v = x

    def outer():
        def inner():
            nonlocal v
            v = v + 1
            return v

        return inner() + inner()

    return outer() + v


def case_nonlocal_try(x: "float"):
    tries = 0

    def attempt(k):
        nonlocal tries
        tries += 1
        return 1 / (x - k)

    for k in range(3):
        try:
            return attempt(k), tries
        except ZeroDivisionError:
            continue
    return 0.0, tries


def case_nonlocal_default(x: "float"):
    v = x

    def f(a=v):
        nonlocal v
        v = 5.0
        return a

    return f() + v


def case_nonlocal_lambda(x: "float"):
    v = x
    f = lambda: v

    def g():
        nonlocal v
        v += 1

    a = f()
    g()
    return a, f()


def refused_late_binding(x: "float"):
    """flatten/unsupported-expression"""
    fs = [lambda: k * x for k in range(3)]
    gs = [lambda k=k: k + x for k in range(3)]
    return fs[0](), gs[0]()


def case_counter_object_local(x: "float"):
    s = State()
    s.put(x).bump()
    s.bump()
    s.rows[0] += x
    return s.get(), s.count, s.rows


def case_shared_default(x: "float", seen=[0.0]):
    seen[0] = x
    return seen[0] + len(seen)


def refused_shared_default_grows(x: "float", seen=[]):
    """flatten/effect"""
    seen.append(x)
    return len(seen)


def case_function_attribute(x: "float"):
    case_function_attribute.last = x
    return case_function_attribute.last


case_function_attribute.last = 0.0


def case_nan_scratch(x: "float"):
    ROW[0] = math.nan
    ROW[0] = x if x == x else 0.0
    return ROW[0]
