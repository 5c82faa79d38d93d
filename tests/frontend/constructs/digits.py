"""The digits of an int: `str(n)`, `bin(n)`, and what is asked of them."""


def _whole(x):
    return int(x) if abs(x) < 1e15 else 907


def sum_of_digits(x):
    return sum(int(c) for c in str(abs(_whole(x * 37))))


def sum_of_digits_of_what_may_be_negative(x):
    return sum(int(c) for c in str(_whole(x * 37)))


def is_a_palindrome(x):
    n = _whole(x * 11)
    return str(n) == str(n)[::-1]


def number_of_digits(x):
    return len(str(_whole(x * 1e6)))


def reversed_number(x):
    return int(str(abs(_whole(x * 104)))[::-1])


def reversed_negative_number(x):
    return int(str(_whole(x * 104))[::-1])


def reversed_with_a_sign(x):
    n = _whole(x * 104)
    return -int(str(-n)[::-1]) if n < 0 else int(str(n)[::-1])


def is_an_armstrong_number(x):
    n = abs(_whole(x * 153))
    k = len(str(n))
    return sum(int(d) ** k for d in str(n)) == n


def count_of_a_digit(x):
    return str(_whole(x * 37.7)).count("7")


def first_and_last_digit(x):
    s = str(abs(_whole(x * 91)))
    return int(s[0]) * 10 + int(s[-1])


def second_digit_that_may_be_missing(x):
    s = str(_whole(x))
    try:
        return int(s[1])
    except IndexError:
        return -1


def contains_a_digit(x):
    return "3" in str(_whole(x * 7)) or "-" in str(_whole(x))


def is_among_known_characters(x):
    total = 0
    for c in str(_whole(x * 17)):
        if c in "02468":
            total += 1
        elif c not in ("1", "3", "-"):
            total += 10
    return total


def loop_over_the_characters(x):
    total = 0
    for c in str(_whole(x * 17)):
        if c == "-":
            continue
        total = total * 3 + int(c)
    return total


def luhn(x):
    digits = [int(d) for d in str(abs(_whole(x * 79)))]
    total = 0
    for i, d in enumerate(reversed(digits)):
        if i % 2 == 1:
            d *= 2
            if d > 9:
                d -= 9
        total += d
    return total % 10 == 0


def list_of_digits(x):
    digits = list(map(int, str(abs(_whole(x * 31)))))
    return max(digits) - min(digits), len(digits), digits[0]


def sum_of_map(x):
    return sum(map(int, str(abs(_whole(x)))))


def happy(x):
    n = abs(_whole(x))
    for _ in range(3):
        n = sum(int(c) ** 2 for c in str(n))
    return n == 1


def ones_in_binary(x):
    return bin(_whole(x)).count("1")


def length_in_binary(x):
    return len(bin(_whole(x))) - 2


def zeros_in_binary(x):
    return bin(abs(_whole(x)))[2:].count("0")


def hexadecimal(x):
    s = hex(_whole(x * 255))
    return len(s), s[-1] == "f", s.count("a"), "x" in s


def octal(x):
    return sum(int(c) for c in oct(abs(_whole(x)))[2:])


def formatted(x):
    n = _whole(x * 100)
    return len(f"{n}") + int(f"{n}"[-1])


def slices_of_digits(x):
    s = str(abs(_whole(x * 12345)))
    return int(s[1:] or "0"), int(s[:2]), int(s[-2:]), len(s[1:-1])


def concatenated_numbers(x):
    a, b = abs(_whole(x)), abs(_whole(x / 2))
    return int(str(a) + str(b)) if a < 10**6 else 0


def joined_backwards(x):
    s = str(abs(_whole(x * 3)))
    return int("".join(reversed(s))), "".join([c for c in s if c != "1"]) == s


def compared_with_known_texts(x):
    s = str(_whole(x))
    return s == "5", s != "100", s == "x", s == "", s[-1] == "0", s == 5


def ordinals(x):
    return sum(ord(c) - ord("0") for c in str(abs(_whole(x * 9))))


def order_of_characters(x):
    s = str(abs(_whole(x * 48)))
    return sum(1 for c in s if c > "4"), s[0] <= s[-1]


def truth_of_a_slice(x):
    s = str(_whole(x))
    return 1 if s[2:] else 0


def digits_by_index(x):
    s = str(abs(_whole(x)))
    total = 0
    for i in range(len(s)):
        total += int(s[i]) * (i + 1)
    return total


def largest_character(x):
    best = "0"
    for c in str(abs(_whole(x * 7))):
        if c > best:
            best = c
    return int(best)


def is_digit(x):
    return sum(c.isdigit() for c in str(_whole(x)))


def parse_what_is_no_number(x):
    return int(str(_whole(x))[1:])


def parsed_in_try(x):
    try:
        return int(str(_whole(x))[:1])
    except ValueError:
        return -5


def harshad(x):
    n = abs(_whole(x * 3)) + 1
    return n % sum(int(c) for c in str(n)) == 0


def one_of_two_texts(x):
    n = _whole(x)
    s = str(n) if x > 0 else str(n * 3)
    return len(s), int(s)


def none_of_them(x):
    return str(_whole(x)) is None, str(_whole(x)) == None, str(_whole(x)) in ("1", "2")  # noqa: E711


def REFUSED_returned(x):
    return str(_whole(x))


def REFUSED_as_a_key(x):
    return {"1": 1.0, "2": 2.0}[str(_whole(x))]


def REFUSED_order_of_texts(x):
    return str(_whole(x)) < "5"


def REFUSED_padded(x):
    return len(str(_whole(x)).zfill(5))


def REFUSED_floats(x):
    return len(str(x))
