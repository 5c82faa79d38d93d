"""Ninety-nine functions as a first-year course writes them, with the lanes that they are called with.

The functions were written before their answers were known: numbers and labels in, numbers, labels and texts out. `EXERCISES`
names each one with the lanes of its arguments; `tests/programs/test_first_year.py` counts those that flatten.
"""

import math
import random
import statistics
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Exercise(NamedTuple):
    """A function of the course and the lanes of its arguments."""

    function: Callable[..., object]
    lanes: tuple[npt.NDArray[np.generic], ...]


EXERCISES: dict[str, Exercise] = {}


def course(function: Callable[..., object], *lanes: list[object]) -> None:
    """Adds `function` to the course: every argument's values, in an order of its own, over 60 lanes."""
    order = random.Random(function.__name__)
    columns = tuple(np.array([order.choice(values) for _ in range(60)]) for values in lanes)
    EXERCISES[function.__name__] = Exercise(function, columns)


MARKS = [0, 1, 39, 40, 49, 50, 59, 60, 64, 65, 69, 70, 79, 80, 89, 90, 99, 100, 101, -1]
SMALL = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
NATURALS = [0, 1, 2, 3, 5, 6, 7, 9, 10, 12, 15, 16, 25, 28, 30, 49, 60, 97, 99, 100]
NUMBERS = [0, 1, -1, 5, 7, 10, 11, 15, 90, 121, 153, 370, 496, 900, 999, 1000, 1221, 12345, -45, -121]
YEARS = [1, 4, 100, 400, 1582, 1700, 1896, 1900, 1999, 2000, 2004, 2020, 2023, 2024, 2100]
MONTHS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]
FLOATS = [0.0, -0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.3, 10.0, 12.25, 36.6, 99.99, 1e6, -1.0, -2.5, -40.0]
LENGTHS = [0.0, 0.5, 1.0, 1.62, 1.75, 2.0, 3.0, 4.0, 5.0, 10.0, 55.5, 72.0]
MONEY = [0.0, 0.01, 0.99, 1.0, 19.99, 100.0, 999.5, 1000.0, 9999.0, 12500.0, 50270.0, 125140.0, 1234567.891]
DICE = [1, 2, 3, 4, 5, 6]


# Week 1: expressions.


def to_fahrenheit(celsius):
    return celsius * 9 / 5 + 32


course(to_fahrenheit, FLOATS)


def to_celsius(fahrenheit):
    return round((fahrenheit - 32) * 5 / 9, 1)


course(to_celsius, FLOATS)


def circle_area(radius):
    return math.pi * radius**2


course(circle_area, FLOATS)


def hypotenuse(a, b):
    return math.sqrt(a**2 + b**2)


course(hypotenuse, FLOATS, FLOATS)


def average_of_three(a, b, c):
    return (a + b + c) / 3


course(average_of_three, MARKS, MARKS, MARKS)


def split_seconds(seconds):
    hours = seconds // 3600
    minutes = seconds % 3600 // 60
    return hours, minutes, seconds % 60


course(split_seconds, [0, 1, 59, 60, 61, 3599, 3600, 3661, 86399, 86400])


def compound_interest(principal, rate, years):
    return round(principal * (1 + rate / 100) ** years, 2)


course(compound_interest, MONEY, [0.0, 0.5, 1.0, 2.5, 5.0, 12.0], SMALL)


def swap_two_digits(number):
    tens = number // 10
    ones = number % 10
    return ones * 10 + tens


course(swap_two_digits, NATURALS)


def make_change(cents):
    quarters, cents = divmod(cents, 25)
    dimes, cents = divmod(cents, 10)
    nickels, pennies = divmod(cents, 5)
    return quarters, dimes, nickels, pennies


course(make_change, NATURALS)


def distance(x1, y1, x2, y2):
    return ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5


course(distance, FLOATS, FLOATS, FLOATS, FLOATS)


# Week 2: decisions.


def letter_grade(score):
    if score >= 90:
        return "A"
    elif score >= 80:
        return "B"
    elif score >= 70:
        return "C"
    elif score >= 60:
        return "D"
    else:
        return "F"


course(letter_grade, MARKS)


def is_leap_year(year):
    return (year % 4 == 0 and year % 100 != 0) or year % 400 == 0


course(is_leap_year, YEARS)


def bmi_label(weight, height):
    bmi = weight / height**2
    if bmi < 18.5:
        return "underweight"
    if bmi < 25:
        return "normal"
    if bmi < 30:
        return "overweight"
    return "obese"


course(bmi_label, LENGTHS, LENGTHS)


def triangle_type(a, b, c):
    if a <= 0 or b <= 0 or c <= 0:
        return "invalid"
    if a + b <= c or a + c <= b or b + c <= a:
        return "not a triangle"
    if a == b == c:
        return "equilateral"
    if a == b or b == c or a == c:
        return "isosceles"
    return "scalene"


course(triangle_type, SMALL, SMALL, SMALL)


def max_of_three(a, b, c):
    biggest = a
    if b > biggest:
        biggest = b
    if c > biggest:
        biggest = c
    return biggest


course(max_of_three, NUMBERS, NUMBERS, NUMBERS)


def sign_word(n):
    if n > 0:
        return "positive"
    elif n < 0:
        return "negative"
    return "zero"


course(sign_word, NUMBERS)


def income_tax(income):
    tax = 0
    if income > 50270:
        tax += (income - 50270) * 0.4
        income = 50270
    if income > 12570:
        tax += (income - 12570) * 0.2
    return tax


course(income_tax, MONEY)


def tax_by_brackets(income):
    brackets = [(10000, 0.0), (40000, 0.2), (85000, 0.3), (float("inf"), 0.4)]
    tax = 0.0
    lower = 0
    for upper, rate in brackets:
        if income > lower:
            tax += (min(income, upper) - lower) * rate
        lower = upper
    return tax


course(tax_by_brackets, MONEY)


def ticket_price(age, is_student):
    if age < 0:
        raise ValueError("age must not be negative")
    if age < 5:
        return 0
    if age < 18 or is_student:
        return 7.5
    if age >= 65:
        return 8
    return 12


course(ticket_price, MARKS, [True, False])


def days_in_month(year, month):
    if month == 2:
        if (year % 4 == 0 and year % 100 != 0) or year % 400 == 0:
            return 29
        return 28
    if month in [4, 6, 9, 11]:
        return 30
    return 31


course(days_in_month, YEARS, MONTHS)


def quadrant(x, y):
    if x == 0 or y == 0:
        return "on an axis"
    if x > 0:
        return "I" if y > 0 else "IV"
    return "II" if y > 0 else "III"


course(quadrant, FLOATS, FLOATS)


def fizzbuzz(n):
    if n % 15 == 0:
        return "FizzBuzz"
    if n % 3 == 0:
        return "Fizz"
    if n % 5 == 0:
        return "Buzz"
    return str(n)


course(fizzbuzz, NATURALS)


def quadratic_roots(a, b, c):
    d = b**2 - 4 * a * c
    if d < 0:
        return None
    root = math.sqrt(d)
    return (-b + root) / (2 * a), (-b - root) / (2 * a)


course(quadratic_roots, FLOATS, FLOATS, FLOATS)


def calculator(a, op, b):
    if op == "+":
        return a + b
    elif op == "-":
        return a - b
    elif op == "*":
        return a * b
    elif op == "/":
        if b == 0:
            return "cannot divide by zero"
        return a / b
    return "unknown operator"


course(calculator, FLOATS, ["+", "-", "*", "/", "%"], FLOATS)


def rock_paper_scissors(first, second):
    beats = {"rock": "scissors", "paper": "rock", "scissors": "paper"}
    if first == second:
        return "draw"
    if beats[first] == second:
        return "first wins"
    return "second wins"


course(rock_paper_scissors, ["rock", "paper", "scissors"], ["rock", "paper", "scissors"])


def season(month):
    if month in (12, 1, 2):
        return "winter"
    elif month in (3, 4, 5):
        return "spring"
    elif month in (6, 7, 8):
        return "summer"
    elif month in (9, 10, 11):
        return "autumn"
    else:
        raise ValueError("no such month")


course(season, MONTHS)


def sort_three(a, b, c):
    if a > b:
        a, b = b, a
    if b > c:
        b, c = c, b
    if a > b:
        a, b = b, a
    return a, b, c


course(sort_three, NUMBERS, NUMBERS, NUMBERS)


def shipping_cost(weight, express=False):
    if weight <= 0:
        return 0.0
    cost = 4.99 + math.ceil(weight) * 1.25
    if express:
        cost *= 2
    return round(cost, 2)


course(shipping_cost, FLOATS)


def weekday_name(number):
    names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    return names[number % 7]


course(weekday_name, NUMBERS)


def safe_divide(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return None


course(safe_divide, FLOATS, FLOATS)


def describe_number(n):
    words = ""
    if n < 0:
        words = words + "negative "
    if n % 2 == 0:
        words = words + "even"
    else:
        words = words + "odd"
    return words


course(describe_number, NUMBERS)


def next_light(color):
    match color:
        case "green":
            return "yellow"
        case "yellow":
            return "red"
        case "red":
            return "green"
        case _:
            return "broken"


course(next_light, ["green", "yellow", "red", "blue"])


def day_of_week(year, month, day):
    if month < 3:
        month += 12
        year -= 1
    k = year % 100
    j = year // 100
    h = (day + 13 * (month + 1) // 5 + k + k // 4 + j // 4 + 5 * j) % 7
    return ["Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri"][h]


course(day_of_week, YEARS, MONTHS[1:-1], [1, 2, 15, 28])


# Week 3: loops.


def factorial(n):
    result = 1
    for i in range(2, n + 1):
        result *= i
    return result


course(factorial, [*SMALL, 20])


def sum_to_n(n):
    total = 0
    i = 1
    while i <= n:
        total += i
        i += 1
    return total


course(sum_to_n, NATURALS)


def is_prime(n):
    if n < 2:
        return False
    for d in range(2, int(n**0.5) + 1):
        if n % d == 0:
            return False
    return True


course(is_prime, NATURALS)


def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


course(gcd, NUMBERS, NUMBERS)


def lcm(a, b):
    if a == 0 or b == 0:
        return 0
    return abs(a * b) // math.gcd(a, b)


course(lcm, NUMBERS, NUMBERS)


def collatz_steps(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


course(collatz_steps, NATURALS[1:])


def digit_sum(n):
    total = 0
    for digit in str(n):
        total += int(digit)
    return total


course(digit_sum, NATURALS)


def reverse_number(n):
    result = 0
    while n > 0:
        result = result * 10 + n % 10
        n //= 10
    return result


course(reverse_number, NUMBERS)


def is_palindrome(n):
    text = str(n)
    return text == text[::-1]


course(is_palindrome, NUMBERS)


def count_digits(n):
    return len(str(abs(n)))


course(count_digits, NUMBERS)


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


course(fibonacci, NATURALS[:15])


def power(base, exponent):
    result = 1
    for _ in range(exponent):
        result = result * base
    return result


course(power, FLOATS, SMALL)


def is_perfect(n):
    total = 0
    for i in range(1, n):
        if n % i == 0:
            total += i
    return total == n and n > 0


course(is_perfect, NUMBERS)


def is_armstrong(n):
    digits = [int(d) for d in str(n)]
    return n == sum(d ** len(digits) for d in digits)


course(is_armstrong, NATURALS + [153, 370, 371, 407, 1634])


def to_binary(n):
    if n == 0:
        return "0"
    bits = ""
    while n > 0:
        bits = str(n % 2) + bits
        n = n // 2
    return bits


course(to_binary, NATURALS)


def digital_root(n):
    while n > 9:
        total = 0
        while n > 0:
            total += n % 10
            n //= 10
        n = total
    return n


course(digital_root, NUMBERS)


def count_divisors(n):
    return len([d for d in range(1, n + 1) if n % d == 0])


course(count_divisors, NATURALS)


def divisors(n):
    result = []
    for d in range(1, n + 1):
        if n % d == 0:
            result.append(d)
    return result


course(divisors, NATURALS)


def newton_sqrt(x):
    if x < 0:
        raise ValueError("no real root")
    if x == 0:
        return 0.0
    guess = x / 2
    while abs(guess * guess - x) > 1e-6:
        guess = (guess + x / guess) / 2
    return guess


course(newton_sqrt, FLOATS)


def leibniz_pi(terms):
    total = 0.0
    for k in range(terms):
        total += (-1) ** k / (2 * k + 1)
    return 4 * total


course(leibniz_pi, NATURALS)


def years_to_double(amount, rate):
    target = amount * 2
    years = 0
    while amount < target:
        amount = amount * (1 + rate / 100)
        years += 1
    return years


course(years_to_double, MONEY, [2.0, 3.5, 5.0, 12.0])


def table_row(n):
    return [n * i for i in range(1, 11)]


course(table_row, NUMBERS)


def star_row(n):
    return "*" * n


course(star_row, SMALL)


def countdown(n):
    text = ""
    while n > 0:
        text += str(n) + "... "
        n -= 1
    return text + "Liftoff!"


course(countdown, SMALL)


def nth_prime(n):
    count = 0
    candidate = 1
    while count < n:
        candidate += 1
        prime = True
        for d in range(2, candidate):
            if candidate % d == 0:
                prime = False
                break
        if prime:
            count += 1
    return candidate


course(nth_prime, SMALL)


def multiples_of_3_or_5(limit):
    return sum(i for i in range(limit) if i % 3 == 0 or i % 5 == 0)


course(multiples_of_3_or_5, NATURALS)


def prime_factors(n):
    factors = []
    d = 2
    while n > 1:
        while n % d == 0:
            factors.append(d)
            n //= d
        d += 1
    return factors


course(prime_factors, NATURALS[1:])


def guesses_needed(secret):
    low, high = 1, 100
    guesses = 0
    while True:
        guesses += 1
        middle = (low + high) // 2
        if middle == secret:
            return guesses
        if middle < secret:
            low = middle + 1
        else:
            high = middle - 1


course(guesses_needed, NATURALS[1:])


# Week 4: functions and recursion.


def factorial_recursive(n):
    if n <= 1:
        return 1
    return n * factorial_recursive(n - 1)


course(factorial_recursive, [*SMALL, 20])


def fib_recursive(n):
    if n < 2:
        return n
    return fib_recursive(n - 1) + fib_recursive(n - 2)


course(fib_recursive, SMALL)


def power_recursive(x, n):
    if n == 0:
        return 1
    if n < 0:
        return 1 / power_recursive(x, -n)
    return x * power_recursive(x, n - 1)


course(power_recursive, FLOATS, [0, 1, 2, 3, 5, 10, -1, -2])


def gcd_recursive(a, b):
    if b == 0:
        return a
    return gcd_recursive(b, a % b)


course(gcd_recursive, NUMBERS, NUMBERS)


def digit_sum_recursive(n):
    if n < 10:
        return n
    return n % 10 + digit_sum_recursive(n // 10)


course(digit_sum_recursive, NUMBERS)


def hanoi_moves(disks):
    if disks == 0:
        return 0
    return 2 * hanoi_moves(disks - 1) + 1


course(hanoi_moves, SMALL)


def binary_recursive(n):
    if n < 2:
        return str(n)
    return binary_recursive(n // 2) + str(n % 2)


course(binary_recursive, NATURALS)


def choose(n, k):
    def fact(m):
        result = 1
        for i in range(1, m + 1):
            result *= i
        return result

    if k < 0 or k > n:
        return 0
    return fact(n) // (fact(k) * fact(n - k))


course(choose, SMALL, SMALL)


def apply_twice(x):
    double_plus_one = lambda v: 2 * v + 1  # noqa: E731
    return double_plus_one(double_plus_one(x))


course(apply_twice, NUMBERS)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


course(ackermann, [0, 1, 2], [0, 1, 2, 3])


# Week 5: texts.


def temperature_report(celsius):
    fahrenheit = celsius * 9 / 5 + 32
    return f"{celsius}C is {fahrenheit:.1f}F"


course(temperature_report, FLOATS)


def caesar_code(code, shift):
    if 65 <= code <= 90:
        return (code - 65 + shift) % 26 + 65
    if 97 <= code <= 122:
        return (code - 97 + shift) % 26 + 97
    return code


course(caesar_code, [32, 65, 77, 90, 97, 109, 122, 200], SMALL)


def caesar_letter(letter, shift):
    if letter.isupper():
        return chr((ord(letter) - ord("A") + shift) % 26 + ord("A"))
    return letter


course(caesar_letter, ["A", "B", "M", "Z", "a", "!"], SMALL)


def is_vowel(letter):
    return letter.lower() in "aeiou"


course(is_vowel, ["a", "b", "E", "X", "u", "y"])


def number_to_words(n):
    ones = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
            "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
    tens = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    if n < 20:
        return ones[n]
    if n % 10 == 0:
        return tens[n // 10]
    return tens[n // 10] + "-" + ones[n % 10]


course(number_to_words, NATURALS[:-1])


def roman_numeral(n):
    values = [1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1]
    symbols = ["M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"]
    result = ""
    for i in range(len(values)):
        while n >= values[i]:
            result += symbols[i]
            n -= values[i]
    return result


course(roman_numeral, YEARS)


def ordinal(n):
    if 10 <= n % 100 <= 20:
        suffix = "th"
    else:
        suffix = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return str(n) + suffix


course(ordinal, NATURALS)


def column_letter(index):
    return chr(ord("A") + index)


course(column_letter, SMALL)


def price_tag(amount):
    return f"${amount:,.2f}"


course(price_tag, MONEY)


def clock(minutes):
    hours = minutes // 60 % 24
    suffix = "am" if hours < 12 else "pm"
    hours = hours % 12
    if hours == 0:
        hours = 12
    return f"{hours}:{minutes % 60:02d} {suffix}"


course(clock, [0, 1, 59, 60, 61, 719, 720, 780, 1439, 1440])


def apples(count):
    if count == 1:
        return "1 apple"
    return f"{count} apples"


course(apples, SMALL)


def grade_message(score):
    grade = "F"
    if score >= 70:
        grade = "A"
    elif score >= 40:
        grade = "C"
    return "Grade: " + grade


course(grade_message, MARKS)


# Week 6: collections.


def mean_of_scores(a, b, c, d):
    return statistics.mean([a, b, c, d])


course(mean_of_scores, FLOATS, FLOATS, FLOATS, FLOATS)


def median_of_five(a, b, c, d, e):
    values = sorted([a, b, c, d, e])
    return values[2]


course(median_of_five, MARKS, MARKS, MARKS, MARKS, MARKS)


def most_common_roll(a, b, c, d):
    counts = {}
    for roll in [a, b, c, d]:
        if roll in counts:
            counts[roll] += 1
        else:
            counts[roll] = 1
    best = 0
    for roll in counts:
        if best == 0 or counts[roll] > counts[best]:
            best = roll
    return best


course(most_common_roll, DICE, DICE, DICE, DICE)


def distinct_rolls(a, b, c, d, e):
    return len({a, b, c, d, e})


course(distinct_rolls, DICE, DICE, DICE, DICE, DICE)


def second_largest(a, b, c, d):
    numbers = [a, b, c, d]
    numbers.remove(max(numbers))
    return max(numbers)


course(second_largest, MARKS, MARKS, MARKS, MARKS)


def price_of(item, quantity):
    prices = {"apple": 0.5, "bread": 2.25, "milk": 1.1}
    if item not in prices:
        return -1
    return prices[item] * quantity


course(price_of, ["apple", "bread", "milk", "gold"], SMALL)


def above_average(a, b, c, d):
    scores = [a, b, c, d]
    average = sum(scores) / len(scores)
    count = 0
    for score in scores:
        if score > average:
            count += 1
    return count


course(above_average, MARKS, MARKS, MARKS, MARKS)


def dot_product(x1, y1, z1, x2, y2, z2):
    v = (x1, y1, z1)
    w = (x2, y2, z2)
    return sum(p * q for p, q in zip(v, w))


course(dot_product, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS)


def determinant(a, b, c, d):
    matrix = [[a, b], [c, d]]
    return matrix[0][0] * matrix[1][1] - matrix[0][1] * matrix[1][0]


course(determinant, FLOATS, FLOATS, FLOATS, FLOATS)


def find_position(target):
    primes = [2, 3, 5, 7, 11, 13, 17, 19]
    for position, prime in enumerate(primes):
        if prime == target:
            return position
    return -1


course(find_position, NATURALS)


def yahtzee_score(a, b, c, d, e):
    dice = [a, b, c, d, e]
    for face in range(1, 7):
        if dice.count(face) == 5:
            return 50
        if dice.count(face) == 4:
            return sum(dice)
    if sorted(dice) in ([1, 2, 3, 4, 5], [2, 3, 4, 5, 6]):
        return 40
    return 0


course(yahtzee_score, DICE, DICE, DICE, DICE, DICE)


def standard_deviation(a, b, c):
    data = [a, b, c]
    mean = sum(data) / len(data)
    variance = sum((x - mean) ** 2 for x in data) / (len(data) - 1)
    return math.sqrt(variance)


course(standard_deviation, FLOATS, FLOATS, FLOATS)


# Week 7: classes.


class BankAccount:
    def __init__(self, balance):
        self.balance = balance

    def deposit(self, amount):
        self.balance += amount

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError("not enough money")
        self.balance -= amount


def balance_after(start, deposit, withdrawal):
    account = BankAccount(start)
    account.deposit(deposit)
    try:
        account.withdraw(withdrawal)
    except ValueError:
        return -1
    return account.balance


course(balance_after, MONEY, MONEY, MONEY)


class Vector:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def length(self):
        return math.sqrt(self.x**2 + self.y**2)


def walk_length(dx1, dy1, dx2, dy2):
    walk = Vector(dx1, dy1) + Vector(dx2, dy2)
    return walk.length()


course(walk_length, FLOATS, FLOATS, FLOATS, FLOATS)


def rectangle_facts(width, height):
    class Rectangle:
        def __init__(self, width, height):
            self.width = width
            self.height = height

        def area(self):
            return self.width * self.height

        def is_square(self):
            return self.width == self.height

    shape = Rectangle(width, height)
    return shape.area(), shape.is_square()


course(rectangle_facts, LENGTHS, LENGTHS)


class Student:
    def __init__(self, name, score):
        self.name = name
        self.score = score

    def __str__(self):
        return f"{self.name}: {self.score}"


def report_line(score):
    student = Student("Ada", score)
    return str(student)


course(report_line, MARKS)
