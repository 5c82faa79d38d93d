# ruff: noqa: F524
"""What a raise statement evaluates before it raises, and which handler gets what it raises."""

import decimal
import math

from tests.support.adversary import small


class MyError(Exception):
    pass


class Own(Exception):
    def __init__(self, a):
        super().__init__(a)
        self.a = a


class Deep(ValueError):
    def __init__(self, v, k=2):
        super().__init__(f"bad {v}")
        self.v = 1 / v
        self.k = k


class First(Exception):
    pass


class Second(First):
    def __init__(self):
        First.__init__(self, "x")


class errors:
    MyError = MyError
    Own = Own

    class inner:
        Bad = KeyError


def dotted(x):
    raise decimal.InvalidOperation("x")


def dotted_own(x):
    raise errors.MyError(x, x * 2)


def dotted_class(x):
    raise errors.MyError


def dotted_deep(x):
    raise errors.inner.Bad("x", x)


def with_init(x):
    raise errors.Own(x)


def formatted(x):
    raise ValueError(f"bad {x + 1:.2f} of {x}")


def concatenated(x):
    raise ValueError("bad " + str(x))


def percent(x):
    raise ValueError("bad %s" % x) from None


def braces(x):
    raise ValueError("bad {} {k}".format(x, k=1))


def joined(x):
    raise ValueError(", ".join(["a", str(x)]))


def containers(x):
    raise ValueError(math.sqrt(x), [x], {"a": x}, (x, None))


def divides(x):
    raise ValueError(1 // x)


def indexed(x):
    raise ValueError(f"{[1, 2][x]}")


def case_dotted(n: "small"):
    try:
        return dotted(n)
    except decimal.InvalidOperation:
        return 3.0


def case_dotted_own(n: "small"):
    try:
        return dotted_own(n)
    except MyError:
        return 3.0


def case_dotted_class(n: "small"):
    try:
        return dotted_class(n)
    except errors.MyError:
        return 3.0


def case_dotted_deep(n: "small"):
    try:
        return dotted_deep(n)
    except LookupError:
        return 3.0


def case_with_init(n: "small"):
    try:
        return with_init(n)
    except Own:
        return 3.0


def case_formatted(n: "small"):
    try:
        return formatted(n)
    except ValueError:
        return 3.0


def case_concatenated(n: "small"):
    try:
        return concatenated(n)
    except ValueError:
        return 3.0


def case_percent(n: "small"):
    try:
        return percent(n)
    except ValueError:
        return 3.0


def case_braces(n: "small"):
    try:
        return braces(n)
    except ValueError:
        return 3.0


def case_joined(n: "small"):
    try:
        return joined(n)
    except ValueError:
        return 3.0


def case_containers(n: "small"):
    try:
        return containers(n)
    except ValueError:
        return 3.0


def case_divides(n: "small"):
    try:
        return divides(n)
    except ValueError:
        return 3.0
    except ZeroDivisionError:
        return 4.0


def case_indexed(n: "small"):
    try:
        return indexed(n)
    except ValueError:
        return 3.0
    except IndexError:
        return 4.0


def case_in_one_path(n: "small"):
    try:
        return dotted_own(n) if n > 0 else n * 1.0
    except errors.MyError:
        return 3.0


def case_not_caught(n: "small"):
    try:
        return dotted(n) if n > 3 else 1
    except KeyError:
        return 2


def case_by_a_base(n: "small"):
    try:
        return dotted(n)
    except ArithmeticError:
        return 2


def case_own_init_divides(n: "small"):
    try:
        if n < 3:
            raise Deep(n)
        return 1
    except Deep:
        return 2
    except ZeroDivisionError:
        return 3


def case_own_init_default(n: "small"):
    try:
        if n < 3:
            raise Deep(n, 4)
        return 1
    except ValueError:
        return 2


def case_own_init_missing(n: "small"):
    try:
        if n < 3:
            raise Deep
        return 1
    except TypeError:
        return 2


def case_own_init_of_the_base(n: "small"):
    try:
        if n < 3:
            raise Second()
        return 1
    except First:
        return 2


def case_own_init_class(n: "small"):
    try:
        if n < 3:
            raise Second
        return 1
    except First:
        return 2


def case_keyword(n: "small"):
    try:
        if n < 3:
            raise ValueError(msg=1)
        return 1
    except TypeError:
        return 2


def case_os_error(n: "small"):
    try:
        if n < 3:
            raise OSError(2, "no")
        return 1
    except FileNotFoundError:
        return 2


def case_os_error_text(n: "small"):
    try:
        if n < 3:
            raise OSError("no")
        return 1
    except OSError:
        return 2


def case_from_caught(n: "small"):
    try:
        try:
            return 1 // n
        except ZeroDivisionError as e:
            raise errors.MyError(n) from e
    except MyError:
        return 9


def case_from_unbound(n: "small"):
    try:
        if n < 3:
            raise ValueError from n
        return 1
    except TypeError:
        return 2
    except ValueError:
        return 7


def case_raises_a_number(n: "small"):
    try:
        if n < 3:
            raise n
        return 1
    except TypeError:
        return 2


def case_unbound_argument(n: "small"):
    try:
        if n < 3:
            raise ValueError(late)
        late = 1
        return late
    except NameError:
        return 2


def case_walrus_argument(n: "small"):
    k = 0
    try:
        if n < 3:
            raise ValueError(k := n)
    except ValueError:
        pass
    return k


def case_call_argument(n: "small"):
    l = []
    try:
        if n < 3:
            raise ValueError(l.append(1))
    except ValueError:
        l.append(2)
    return len(l)


def case_assert_message(n: "small"):
    try:
        assert n > 0, f"{1 // n}"
        return 1
    except AssertionError:
        return 3
    except ZeroDivisionError:
        return 4


def case_assert_message_format(n: "small"):
    try:
        assert n > 0, "%d %d" % n
        return 1
    except AssertionError:
        return 3
    except TypeError:
        return 4


def case_wrong_percent(n: "small"):
    try:
        raise ValueError("%d %d" % n)
    except ValueError:
        return 3
    except TypeError:
        return -1


def case_wrong_braces(n: "small"):
    try:
        raise ValueError("{} {}".format(n))
    except ValueError:
        return 3
    except IndexError:
        return -1


def case_wrong_format(n: "small"):
    try:
        raise TypeError(f"{n * 0.5:d}")
    except ValueError:
        return 3
    except TypeError:
        return -1


def case_wrong_addition(n: "small"):
    try:
        raise KeyError(f"{n:x}" + 1)
    except KeyError:
        return 3
    except TypeError:
        return -1


def case_wrong_join(n: "small"):
    try:
        raise KeyError(",".join([n]))
    except KeyError:
        return 3
    except TypeError:
        return -1
