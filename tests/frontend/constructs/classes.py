"""Classes: special methods that builtins ask, super, __new__, properties, enums of lanes, objects made and changed."""

import collections
import copy
import dataclasses
import enum
import functools
import math
from typing import NamedTuple


def _n(x):
    return int(x) % 5 if abs(x) < 1e6 else 3


class _Point(collections.namedtuple("_Point", "x y")):
    __slots__ = ()

    def __new__(cls, x, y=None):
        return super().__new__(cls, float(x), float(x if y is None else y))

    def __add__(self, other):
        return _Point(self.x + other.x, self.y + other.y)

    @property
    def turned(self):
        return type(self)(-self.y, self.x)


class _Old(collections.namedtuple("_Old", "x y")):
    def __new__(cls, x, y=2.0):
        return super(_Old, cls).__new__(cls, y, x)


class _Colour(tuple):
    def __new__(cls, *channels):
        return tuple.__new__(cls, channels)

    @property
    def red(self):
        return self[0]

    def grey(self):
        return 0.25 * self[0] + 0.5 * self[1] + 0.25 * self[2]


class _Row(NamedTuple):
    a: float
    b: float = 2.0

    @classmethod
    def made(cls, v):
        return cls(v, v * v)


def namedtuple_with_new(x):
    return _Point(x).x - _Point(x, 2.0).turned.x


def namedtuple_with_new_adds(x):
    return (_Point(x) + _Point(1.0, x)).y


def namedtuple_whose_new_exchanges(x):
    return _Old(x).x - _Old(x, 5.0).y


def replace_does_not_ask_new(x):
    return _Old(x)._replace(y=9.0).x + _Old(x)._replace(y=9.0).y


def make_does_not_ask_new(x):
    return _Old._make((x, 4.0)).x


def namedtuple_with_new_returned(x):
    return _Old(x)


def tuple_subclass(x):
    return _Colour(x, 1.0, 2.0).grey() + _Colour(x, x, x).red


def tuple_subclass_unpacked(x):
    r, g, b = _Colour(x, 2.0, 3.0)
    return r * g - b + len(_Colour(x))


def class_method_of_a_namedtuple(x):
    return _Row.made(x).b - _Row(x).b


def REFUSED_tuple_subclass_returned(x):
    return _Colour(x, 1.0, 2.0)


class _Base:
    k = 2.0
    made = (1, 2)

    def __init__(self, v):
        self.v = v

    def f(self):
        return self.v * self.k

    @property
    def twice(self):
        return self.v * 2

    @classmethod
    def two(cls):
        return cls(2.0)

    @staticmethod
    def three():
        return 3.0


class _Derived(_Base):
    k = 3.0

    def __init__(self, v, w):
        super(_Derived, self).__init__(v)
        self.w = w

    def f(self):
        return super(_Derived, self).f() + self.w + super().k + len(super().made)

    @property
    def twice(self):
        return super().twice + 1

    @staticmethod
    def three():
        return super(_Derived, _Derived).three() + 1


def super_with_arguments(x):
    return _Derived(x, 1.0).f()


def super_of_a_property(x):
    return _Derived(x, 1.0).twice


def super_of_a_static_method(x):
    return _Derived.three() + x


def class_method_makes(x):
    return _Base.two().f() + x


class _Quantity:
    def __init__(self, v):
        self.v = v

    def __float__(self):
        return self.v * 2.0

    def __int__(self):
        return _n(self.v) + 1

    def __index__(self):
        return _n(self.v)

    def __bool__(self):
        return self.v > 1

    def __abs__(self):
        return abs(self.v)

    def __round__(self, digits=None):
        return 1.0 if digits is None else round(self.v, digits)

    def __floor__(self):
        return _n(self.v)

    def __ceil__(self):
        return _n(self.v) + 1

    def __trunc__(self):
        return 7

    def __divmod__(self, other):
        return divmod(self.v, other)

    def __rdivmod__(self, other):
        return divmod(other, 3.0)

    def __iter__(self):
        return iter((self.v, self.v + 1))

    def __contains__(self, item):
        return item < self.v

    def __radd__(self, other):
        return other + self.v


class _Sized:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n


class _Lying:
    def __float__(self):
        return 1

    def __bool__(self):
        return 2

    def __index__(self):
        return 3


def float_of_an_object(x):
    return float(_Quantity(x)) + 1


def math_of_an_object(x):
    return math.atan(_Quantity(x)) + math.hypot(_Quantity(x), 1.0)


def int_of_an_object(x):
    return int(_Quantity(x)) * 2


def index_of_an_object(x):
    return (1.0, 2.0, 3.0, 4.0, 5.0)[_Quantity(x)]


def truth_of_an_object(x):
    if _Quantity(x):
        return 1.0
    return 2.0 if not _Quantity(-x) else 3.0


def truth_of_objects_joined(x):
    return 1 if _Quantity(x) and _Quantity(x / 2) or bool(_Quantity(-x)) else 0


def truth_by_length(x):
    return 5 if _Sized(_n(x)) else 6


def negative_length(x):
    return 1 if _Sized(_n(x) - 2) else 2


def length_of_an_object(x):
    return len(_Sized(_n(x) - 1)) + 1


def rounded_object(x):
    return round(_Quantity(x), 1) + round(_Quantity(x))


def whole_numbers_of_an_object(x):
    return math.floor(_Quantity(x)) + math.ceil(_Quantity(x)) * 10 + math.trunc(_Quantity(x))


def divmod_of_objects(x):
    q, r = divmod(_Quantity(x), 2.5)
    return q + r + divmod(7.5, _Quantity(x))[1]


def unpacked_object(x):
    a, b = _Quantity(x)
    return a * b + sum(_Quantity(x))


def sum_of_objects(x):
    return sum([_Quantity(x), _Quantity(2.0)])


def float_that_gives_an_int(x):
    return float(_Lying()) if x > 0 else x


def bool_that_gives_an_int(x):
    return 1 if x > 0 and _Lying() else 0


def float_by_index(x):
    class_index = _Sized(2)
    return float(_Lying().__index__()) + x + len(class_index)


class _Mode(enum.IntEnum):
    OFF = 0
    LOW = 1
    HIGH = 2


class _Kind(enum.Enum):
    A = 1
    B = 2
    C = 3.5
    ALSO_A = 1
    NAME = "name"


class _Gear(enum.Enum):
    P = ("park", 0.0)
    D = ("drive", 1.5)

    def __init__(self, label, ratio):
        self.label, self.ratio = label, ratio

    def torque(self, v):
        return v * self.ratio


class _Missing(enum.Enum):
    A = 1

    @classmethod
    def _missing_(cls, value):
        return cls.A


class _Access(enum.IntFlag):
    R = 1
    W = 2


def enum_of_a_lane(x):
    m = _Mode(_n(x))
    if m is _Mode.OFF:
        return 0.0
    return 1.5 if m == _Mode.LOW else 2.5


def enum_of_a_float(x):
    try:
        return _Kind(x).value * 2
    except ValueError:
        return -1


def enum_of_a_lane_counts(x):
    return _Mode(_n(x) % 3) * 2 + 1


def enum_of_a_lane_in(x):
    return 1 if _Kind(_n(x) % 2 + 1) in (_Kind.A, _Kind.C) else 0


def enum_of_a_lane_is_a_key(x):
    return {_Kind.A: 1.0, _Kind.B: 4.0}[_Kind(_n(x))]


def enum_of_a_lane_matched(x):
    match _Mode(_n(x) % 3):
        case _Mode.OFF:
            return 0
        case _Mode.LOW:
            return x
        case _:
            return 2.0


def enum_with_attributes(x):
    return (_Gear.D if x > 1 else _Gear.P).torque(x)


def int_enum_and_number(x):
    return (_Mode.LOW + 1) * _n(x) + (_n(x) >= _Mode.HIGH)


def REFUSED_enum_with_missing(x):
    return _Missing(_n(x)).value


def REFUSED_flags_of_a_lane(x):
    return 1 if _n(x) & _Access.R else 0


@dataclasses.dataclass
class _State:
    pos: float
    vel: float = 1.0
    seen: list = dataclasses.field(default_factory=list)

    @functools.cached_property
    def twice(self):
        return self.pos * 2

    def step(self, dt):
        self.pos += self.vel * dt
        self.seen.append(self.pos)
        return self


@dataclasses.dataclass(frozen=True)
class _Frozen:
    x: float
    y: float = 0.0

    def __post_init__(self):
        object.__setattr__(self, "y", self.x + 1)


class _Slots:
    __slots__ = ("s", "n")

    def __init__(self):
        self.s, self.n = 0.0, 0

    def add(self, v):
        self.s += v
        self.n += 1
        return self

    @property
    def mean(self):
        return self.s / self.n

    @mean.setter
    def mean(self, v):
        self.s = v * self.n


class _Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return getattr(instance, self.name)

    def __set__(self, instance, value):
        if value < 0:
            raise ValueError("negative")
        setattr(instance, self.name, value)


class _Checked:
    width = _Positive()

    def __init__(self, width):
        self.width = width


def replaced(x):
    return dataclasses.replace(_State(x), vel=2.0).step(0.5).pos


def cached_once(x):
    s = _State(x)
    first = s.twice
    s.pos = 100.0
    return first + s.twice


def made_changed_returned(x):
    s = _State(x)
    for _ in range(3):
        s.step(0.5)
    if x > 1:
        s.vel = -1.0
    return s.pos, s.vel, s.seen[1]


def frozen_that_sets_itself(x):
    return _Frozen(x).y * 2


def frozen_stays_frozen(x):
    f = _Frozen(x)
    if x > 0:
        f.y = 3.0
    return f.y


def setter_of_a_class_with_slots(x):
    a = _Slots().add(x).add(1.0)
    a.mean = a.mean + 1
    return a.mean


def attribute_that_has_no_slot(x):
    a = _Slots()
    if x > 2:
        a.other = x
    return a.n


def set_by_name(x):
    s = _State(x)
    setattr(s, "vel", x + 1)
    return s.vel * s.pos


def descriptor(x):
    return _Checked(x).width * 2


def copied(x):
    s = _State(x)
    other = copy.copy(s)
    other.pos += 1
    other.seen.append(1.0)
    return s.pos + other.pos + len(s.seen)


def copied_containers(x):
    a, d = [x, 1.0], {"k": x}
    b, e = copy.copy(a), copy.copy(d)
    b[0], e["k"] = 5.0, 6.0
    return a[0] + b[0] + d["k"] + e["k"] + copy.copy((x, 1))[0]


class _Int(int):
    pass


def subclass_of_int(x):
    return _Int(_n(x)) + 1
