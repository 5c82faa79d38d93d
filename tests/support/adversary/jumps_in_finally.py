"""return, break and continue in `finally`: they drop exceptions and other jumps."""

import math

from tests.support.adversary import small


class Low(Exception):
    pass


def fails(x):
    if x < 0:
        raise Low(x)
    return math.sqrt(x)


def drops(x):
    try:
        return fails(x)
    finally:
        return -1.0


def case_drops_a_return(x: "float"):
    try:
        return x
    finally:
        return -x


def case_drops_an_exception(x: "float"):
    try:
        v = 1 / x
    finally:
        return 2.0


def case_value_of_the_body(x: "float"):
    v = 0.0
    try:
        v = 1 / x
        v += 1
    finally:
        return v


def case_some_lanes_only(x: "float"):
    try:
        v = 1 / x
    finally:
        if x >= 0:
            return 5.0
    return v


def case_exception_of_other_lanes(x: "float"):
    try:
        v = math.sqrt(x)
    finally:
        if x > -2:
            return 5.0
    return v


def case_overflow(x: "float"):
    v = 1.0
    try:
        v = math.exp(x)
    finally:
        return v


def case_int_overflow(n: "int"):
    v = 1
    try:
        v = n * n
    finally:
        return v % 1000


def case_raise(x: "float"):
    try:
        if x > 1:
            raise Low
        return 1
    finally:
        return 3 if x > 2 else 4


def case_raise_in_a_helper(x: "float"):
    try:
        fails(x)
    finally:
        return 7.0


def case_helper_drops(x: "float"):
    return drops(x) + 1


def case_helper_drops_in_try(x: "float"):
    try:
        return drops(x) / x
    except ZeroDivisionError:
        return 0.0


def case_after_a_handler(x: "float"):
    t = 0
    try:
        try:
            t = 1
            1 / x
        except ZeroDivisionError:
            t = 2
            math.sqrt(x - 1)
        finally:
            t += 10
            if x > 1:
                return t * 100
    except ValueError:
        t += 1000
    return t


def case_handler_returns(x: "float"):
    try:
        return 1 / x
    except ZeroDivisionError:
        return 8.0
    finally:
        if x != x or x == 0:
            return 9.0


def case_nested(x: "float"):
    try:
        try:
            return 1 / x
        finally:
            if x > 1:
                return 1.5
    except ZeroDivisionError:
        return 0.0
    finally:
        if x < -1:
            return -1.5


def case_both_return(x: "float"):
    try:
        try:
            return 1
        finally:
            return 2
    finally:
        if x > 0:
            return 3


def case_inner_raises(x: "float"):
    try:
        try:
            1 / x
        finally:
            math.sqrt(x)
    finally:
        return 4


def case_break(n: "small"):
    t = 0
    for k in range(4):
        try:
            t += 6 // (k - n)
        finally:
            if k == 2:
                break
        t += 100
    return t


def case_break_drops(n: "small"):
    t = 0
    for k in range(4):
        try:
            t += 6 // (k - n)
        finally:
            break
    return t


def case_continue_drops(n: "small"):
    t = 0
    for k in range(4):
        try:
            t += 6 // (k - n)
        finally:
            continue
        t += 1000
    return t


def case_continue_drops_a_return(n: "small"):
    t = 0
    for k in range(4):
        try:
            if k == n:
                return -1
            t += k
        finally:
            if k < 2:
                continue
        t += 10
    return t


def case_break_drops_a_continue(n: "small"):
    t = 0
    for k in range(4):
        t += 1
        try:
            if k < n:
                continue
            t += 10
        finally:
            if k == 1:
                break
    else:
        t += 1000
    return t


def case_return_drops_a_break(n: "small"):
    for k in range(4):
        try:
            if k == n:
                break
        finally:
            if k == 2:
                return 50
    return k


def case_while(n: "small"):
    k, t = n, 0
    while True:
        k -= 1
        try:
            t += 12 // k
        finally:
            if k <= 0:
                break
    return t


def case_kept_loop(n: "small"):
    t = 0
    for k in range(abs(n) + 300):
        try:
            t += 10 // (k - n)
        finally:
            continue
    return t


def case_kept_loop_returns(n: "small"):
    t = 0
    for k in range(abs(n) + 300):
        try:
            t += 10 // (k - n)
        finally:
            if k > 4:
                return t
    return -1


def case_loop_inside(n: "small"):
    t = 0
    try:
        t = 6 // n
    finally:
        for k in range(3):
            if k == n:
                break
            t += k
    return t


def case_effects(x: "float"):
    log = []
    for k in range(3):
        try:
            log.append(k)
            1 / (x - k)
            log.append(10)
        finally:
            log.append(20)
            if k == 1:
                break
    return sum(log)


def case_none(x: "float"):
    try:
        return 1 / x
    finally:
        if x > 0:
            return


def case_labels(x: "float"):
    try:
        return "a" if 1 / x > 0 else "b"
    finally:
        if x == 0:
            return "zero"


def case_with_inside(x: "float"):
    class_ = 0
    try:
        assert x > 0, f"{1 / x}"
        class_ = 1
    finally:
        return class_


def case_unbound(x: "float"):
    try:
        if x > 0:
            v = 1
        return v
    finally:
        if x < -1:
            return 0


def refused_type_error(x: "float"):
    """flatten/unsupported-expression"""
    try:
        return None + x
    finally:
        return 3.0


def case_nonlocal(x: "float"):
    n = 0

    def f():
        nonlocal n
        try:
            n = 1
            1 / x
            n = 2
        finally:
            n += 10
            return n

    return f() + n


def case_recursion(n: "small"):
    def f(k):
        try:
            return 1 // k
        finally:
            if k < 0:
                return -k
    return f(n) + f(1)
