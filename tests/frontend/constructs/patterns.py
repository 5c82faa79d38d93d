"""`match` on sequences, mappings and classes, and `del` of items."""

import dataclasses


@dataclasses.dataclass
class _Point:
    x: float
    y: float = 1.0


class _Corner(_Point):
    pass


def sequence_with_a_star(x):
    match [x, 1.0, 2.0]:
        case [0.0, *_]:
            return 0.0
        case [a, *b, 3.0]:
            return 1.0
        case [a, *b] if a > 1:
            return a + sum(b)
        case _:
            return -1.0


def mapping_with_a_rest(x):
    match {"k": x, "m": 2.0}:
        case {"z": 1}:
            return 1.0
        case {"k": 1.0}:
            return 10.0
        case {"k": v, **r} if v > 0:
            return v + r["m"] + len(r)
        case {}:
            return 7.0


def classes_by_keyword_and_position(x):
    p = _Point(x) if x > 0 else _Corner(-x, 2.0)
    match p:
        case _Corner(x=v):
            return v * 10
        case _Point(x=v, y=1.0) if v > 1:
            return v
        case _Point(0.5):
            return 33.0
        case _Point():
            return 5.0


def builtin_classes(x):
    n = int(x) if abs(x) < 100 else 0
    match n:
        case int(v) if v > 3:
            return v
        case bool():
            return 1
        case 0 | 1 | 2:
            return 50
        case -1:
            return 51
    return 2


def sequence_of_classes(x):
    match (x > 0, x):
        case (True, float(v)):
            return v
        case (False, 0.0):
            return 1.0
        case (False, _):
            return 2.0


def alternatives_of_floats(x):
    match x:
        case 1.0 | 2.0:
            return 5.0
        case float(y):
            return y * 2


def alternatives_that_capture(x):
    y = 3.0
    try:
        match (x > 1, x):
            case (True, ((0.0 | 2.0) as y)) | (False, y) if y > -2:
                return y + 1
            case (_, *y) | [*y, _, 1]:
                return y[0] * 4
    except UnboundLocalError:
        return -1.0


def alternatives_at_other_places(x):
    match (x, x - 1):
        case (0.0, y) | (y, 0.0) | (y, 1.0):
            return y * 10.0
    return 5.0


def alternatives_with_other_parts(x):
    match _Point(x, x - 1), {"k": x, "m": 2.0}:
        case (_Point(1.0, y=v), {**r}) | (_Point(v, 0.5), {"k": _, **r}) | ({"k": v}, {**r}):
            return v + len(r)
        case (_Point(y=v) as p, {"m": 2.0, **r}) | (p, {"k": v, **r}):
            return v * p.x + r["k"]


def patterns_of_other_types(x):
    match x:
        case [a, b]:
            return 1.0
        case str():
            return 2.0
        case None:
            return 3.0
        case int():
            return 4.0
        case z:
            return z


def strings_and_captures(x):
    match ("add" if x > 0 else "mul", x):
        case ("add", v):
            return v + 1
        case ("mul", v):
            return v * 3


def items_are_deleted(x):
    a = [x, 1.0, 2.0, 3.0]
    del a[1:3]
    d = {"a": x, "b": 1.0}
    del d["b"]
    return a[0] + a[1] + d["a"] + len(d)
