"""Strings that get longer in a loop whose trips differ from lane to lane, against Python in every lane."""

import numpy as np
import pytest

import pyflat
from pyflat.testing import lane_of

NS = (-3, 0, 1, 2, 3, 4, 5, 9, 10, 27, 100, 999)


def binary(n):
    if n == 0:
        return "0"
    bits = ""
    while n > 0:
        bits = str(n % 2) + bits
        n //= 2
    return bits


def countdown(n):
    text = ""
    n = n % 20
    while n > 0:
        text += str(n) + "... "
        n -= 1
    return text + "Liftoff!"


def roman(n):
    result = ""
    for value, symbol in ((1000, "M"), (900, "CM"), (500, "D"), (100, "C"), (50, "L"), (10, "X"), (9, "IX"), (5, "V"), (1, "I")):
        while n >= value:
            result += symbol
            n -= value
    return result


def separated(n):
    out = ""
    for i in range(n % 15):
        if out:
            out += ", "
        out += f"{i * i:03d}"
    return "[" + out + "]"


def of_several_pieces(n):
    text = "start"
    k = 0
    while k < n % 12:
        if k % 3 == 0:
            text = text + "|" + str(k) + f"({k * 0.5:.1f})"
        elif k % 3 == 1:
            text = "<" + text + ">"
        else:
            text += "-" * k
        k += 1
    return text if n != 3 else "three"


def begun_again(n):
    text = "a"
    while n > 0:
        text = "" if n % 5 == 0 else f"{text}{n % 10}"
        n -= 3
        if len(str(n)) > 2:
            return "long"
    return text


def letters(n):
    word = ""
    while n > 0:
        word = chr(65 + n % 26) + word
        n //= 26
    return word, len(str(n))


def two_at_once(n):
    digits, marks = "", ""
    while n > 0:
        digits += str(n % 10)
        marks = ("+" if n % 2 else "-") + marks
        n //= 10
    return f"{digits}/{marks}" if False else (digits, marks)


def none_or_longer(n):
    if n < 0:
        return None
    text = "x"
    while n > 1:
        text += "y"
        n //= 2
    return text


def nested(n):
    text = ""
    for i in range(n % 4):
        for j in range(n % 3):
            text += f"{i}{j}"
        text += ";"
    return text


EVERY = [binary, countdown, roman, separated, of_several_pieces, begun_again, letters, two_at_once, none_or_longer, nested]


@pytest.mark.turns(2)
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", EVERY, ids=lambda fn: fn.__name__)
def test_every_lane_is_pythons(fn, target):
    ns = np.array(NS)
    result = pyflat.twin(fn, target=target, none="object")(ns)
    assert [lane_of(result, lane, len(ns)) for lane in range(len(ns))] == [fn(n) for n in NS]


def test_a_string_of_more_pieces_than_places_is_the_originals():
    def marks(n):
        text = ""
        while n > 0:
            text += "."
            n -= 1
        return text

    assert pyflat.twin(marks)(np.array([3, 64, 65, 200])).tolist() == ["." * k for k in (3, 64, 65, 200)]


def test_the_dtype_and_verify():
    twin = pyflat.twin(binary)
    assert twin(np.array([5, 1])).dtype == np.dtype("<U3")
    twin.verify(np.array(NS))


def test_what_is_asked_of_it_is_refused():
    def length(n):
        text = ""
        while n > 0:
            text += f"{n * 0.5}"
            n -= 1
        return len(text)

    with pytest.raises(pyflat.FlattenError):
        pyflat.twin(length)(np.array([1, 2]))
