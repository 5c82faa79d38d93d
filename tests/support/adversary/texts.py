# ruff: noqa: F504, F505, F507, F522, F524
"""Strings made from lanes: what making them raises, and what is asked of them."""

from tests.support.adversary import small


def case_format_of_a_float_as_int(n: "small"):
    try:
        f"{n * 0.5:d}"
        return 3
    except ValueError:
        return -1


def case_format_unknown(n: "small"):
    try:
        f"{n:q}"
        return 3
    except ValueError:
        return -1


def case_format_with_precision(n: "small"):
    try:
        f"{n:.2d}"
        return 3
    except ValueError:
        return -1


def case_format_of_a_list(n: "small"):
    try:
        f"{[n]:d}"
        return 3
    except TypeError:
        return -1


def case_format_of_a_tuple(n: "small"):
    try:
        f"{(n, 1):>5}"
        return 3
    except TypeError:
        return -1


def case_format_of_none(n: "small"):
    try:
        f"{None if n > 0 else n:d}"
        return 3
    except TypeError:
        return -1


def case_format_of_either(n: "small"):
    try:
        f"{n * 0.5 if n > 0 else n:d}"
        return 3
    except ValueError:
        return -1


def case_format_call(n: "small"):
    try:
        format(n, "q")
        return 3
    except ValueError:
        return -1


def case_percent_too_few(n: "small"):
    try:
        "%d %d" % n
        return 3
    except TypeError:
        return -1


def case_percent_too_many(n: "small"):
    try:
        "%d" % (n, 1)
        return 3
    except TypeError:
        return -1


def case_percent_of_a_string(n: "small"):
    try:
        "%d" % f"{n}"
        return 3
    except TypeError:
        return -1


def case_percent_hexadecimal(n: "small"):
    try:
        "%x" % (n * 0.5)
        return 3
    except TypeError:
        return -1


def case_percent_names(n: "small"):
    try:
        "%(a)s" % {"b": n}
        return 3
    except KeyError:
        return -1


def case_braces_too_few(n: "small"):
    try:
        "{} {}".format(n)
        return 3
    except IndexError:
        return -1


def case_braces_names(n: "small"):
    try:
        "{a}".format(b=n)
        return 3
    except KeyError:
        return -1


def case_added_number(n: "small"):
    try:
        "a" + n
        return 3
    except TypeError:
        return -1


def case_added_to_number(n: "small"):
    try:
        n + "a"
        return 3
    except TypeError:
        return -1


def case_added_number_to_text(n: "small"):
    try:
        f"{n * 0.5}" + 1
        return 3
    except TypeError:
        return -1


def case_joined_numbers(n: "small"):
    try:
        ",".join([n])
        return 3
    except TypeError:
        return -1


def refused_negated(n: "small"):
    """flatten/unsupported-expression"""
    try:
        -f"{n * 0.5}"
        return 3
    except TypeError:
        return -1


def refused_of_bytes(n: "small"):
    """flatten/unsupported-expression"""
    try:
        str(n, "utf8")
        return 3
    except TypeError:
        return -1


def refused_int_of_a_float(n: "small"):
    """flatten/unsupported-expression"""
    try:
        int(f"{n * 0.5}")
        return 3
    except ValueError:
        return -1


def case_index(n: "small"):
    try:
        f"{n}".index("z")
        return 3
    except ValueError:
        return -1


def case_subtracted(n: "small"):
    try:
        f"{n * 0.5}" - "a"
        return 3
    except TypeError:
        return -1


def case_repeated_by_float(n: "small"):
    try:
        "ab" * (n * 0.5)
        return 3
    except TypeError:
        return -1


def case_later_part(n: "small"):
    try:
        f"{n:.2f} {1 // n}"
        return 3
    except ZeroDivisionError:
        return -1


def case_later_part_behind_braces(n: "small"):
    try:
        f"{{ {1 // n}"
        return 3
    except ZeroDivisionError:
        return -1


def case_joined_with_fault(n: "small"):
    try:
        ",".join(str(1 // v) for v in (n, 1))
        return 3
    except ZeroDivisionError:
        return -1


def case_percent_d_of_float(n: "small"):
    try:
        "%d" % (n * 0.5)
        return 3
    except ValueError:
        return -1


def case_padded(n: "small"):
    try:
        "x".ljust(n, "ab")
        return 3
    except TypeError:
        return -1


def refused_width_of_a_lane(n: "small"):
    """flatten/lane-to-object"""
    try:
        f"{n:{n}}"
        return 3
    except ValueError:
        return -1


def refused_character(n: "small"):
    """flatten/unsupported-expression"""
    try:
        "%c" % n
        return 3
    except OverflowError:
        return -1


def case_no_attribute(n: "small"):
    try:
        f"{n}".nothing
        return 3
    except AttributeError:
        return -1


def case_percent_d_of_infinity(x: "float"):
    try:
        "%d" % x
        return 1
    except OverflowError:
        return 2
    except ValueError:
        return 3


def case_is_digit(n: "small"):
    return 1 if str(n).isdigit() else 2


def refused_float_is_digit(n: "small"):
    """flatten/unsupported-expression"""
    return 1 if f"{n * 0.5}".isdigit() else 2


def case_truth(n: "small"):
    return 1 if f"{n * 0.5}" else 2


def case_truth_of_part(n: "small"):
    return 1 if str(n)[5:] else 2


def refused_length(n: "small"):
    """flatten/unsupported-expression"""
    return len(f"{n * 0.5:.1f}")


def refused_starts(n: "small"):
    """flatten/unsupported-expression"""
    return 1 if f"{n * 0.5:.1f}".startswith("-") else 2


def refused_find(n: "small"):
    """flatten/unsupported-expression"""
    return f"{n * 0.5:.1f}".find(".")


def refused_split(n: "small"):
    """flatten/unsupported-expression"""
    return 1 if f"{n * 0.5:.1f}".split(".")[0] == "1" else 2


def refused_is_none(n: "small"):
    """flatten/unsupported-expression"""
    return f"{n * 0.5}" is None, f"{n * 0.5}" != None, isinstance(f"{n * 0.5}", str)


def refused_equals_number(n: "small"):
    """flatten/unsupported-expression"""
    return f"{n * 0.5}" == 3


def refused_in_tuple(n: "small"):
    """flatten/unsupported-expression"""
    return f"{n * 0.5}" in ("a", 3)


def refused_as_key(n: "small"):
    """flatten/unsupported-expression"""
    return {f"{n * 0.5}": 1}.get("1.5", 2)


def refused_in_set(n: "small"):
    """flatten/unsupported-expression"""
    return len({f"{n * 0.5}", "1.5"})


def refused_ordered(n: "small"):
    """flatten/unsupported-expression"""
    return f"{n * 0.5}" > "1"


def refused_greatest(n: "small"):
    """flatten/unsupported-expression"""
    return max([f"{n}", "a"]) == "a"


def refused_stripped(n: "small"):
    """flatten/unsupported-expression"""
    return 1 if f"{n * 0.5}".strip("0123456789.-") else 2


def case_label_joined(n: "small"):
    return len("".join(["" if n > 0 else "a"]))


def case_label_formatted(n: "small"):
    return 1 if "{}".format("" if n > 0 else "a") else 2


def case_label_or_text(n: "small"):
    return 1 if (f"{n}" if n > 0 else "") else 2


def case_last_item(n: "small"):
    try:
        return f"{n}"[99]
    except IndexError:
        return -1


def refused_first_of_loop(n: "small"):
    """flatten/iterable-not-static"""
    for c in f"{n * 0.5}":
        return 1


def case_message_unused(n: "small"):
    what = f"{n:.1f} of {n * 2:>8.3f}"
    if n > 2:
        raise ValueError(what)
    return n
