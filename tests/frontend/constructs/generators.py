"""Generator functions, consumed where they are made."""

import itertools
import math


def _count(x, k=10):
    return int(abs(x)) % k if abs(x) < 1e6 else 0


def _pair(x):
    yield x
    yield x * 2.0


def _steps(x, n):
    for i in range(n):
        yield i * x


def _halves(x):
    while abs(x) > 1.0 and abs(x) < 1e4:
        yield x
        x /= 2.0


def _some(x):
    if x > 1.0:
        yield 1.0
        if x > 2.0:
            return
        yield x
    yield -x


def _endless(x):
    while True:
        yield x
        x = x * 0.5 - 1.0


def _tree(depth, x):
    if depth == 0:
        yield x
    else:
        yield from _tree(depth - 1, x + 1.0)
        yield from _tree(depth - 1, x * 0.5)


def for_over_two(x):
    total = 0.0
    for v in _pair(x):
        total += v
    return total


def for_over_a_range(x):
    total = 0.0
    for v in _steps(x, _count(x)):
        total = total * 0.5 + v
    return total


def for_over_a_known_range(x):
    total = 0.0
    for v in _steps(x, 4):
        total = total * 0.5 + v
    return total


def for_with_break_and_else(x):
    total = 0.0
    for v in _steps(x, _count(x)):
        if v > 20.0:
            break
        total += v
    else:
        total = -total
    return total


def for_with_continue(x):
    total = 0.0
    for v in _halves(x):
        if v < 3.0:
            continue
        total += v
    return total


def for_with_return(x):
    for v in _halves(x):
        if v < 3.0:
            return v
    return -1.0


def for_over_some(x):
    total = 1.0
    for v in _some(x):
        total = total * 3.0 + v
    return total


def break_of_an_endless_one(x):
    count = 0
    for v in _endless(x):
        count += 1
        if not v > -1.5 or v > 1e6:
            break
    return count


def sum_of(x):
    return sum(_steps(x, _count(x)))


def sum_of_some(x):
    return sum(_some(x)) + sum(_pair(x), 1.0)


def any_of(x):
    return any(v > 3.0 for v in _halves(x))


def any_of_items(x):
    return any(_pair(x))


def all_of(x):
    return all(v > 3.0 for v in _steps(x, _count(x)))


def all_of_items(x):
    return all(_some(x))


def least(x):
    return min(_halves(x), default=0.0) + max(_some(x)) + max(_pair(x), key=lambda v: -v)


def listed(x):
    values = list(_some(x))
    return len(values) + values[0]


def listed_in_a_loop(x):
    values = list(_halves(x))
    return sum(values) + len(values)


def tuple_of(x):
    a, b = tuple(_pair(x))
    return a - b


def unpacked(x):
    a, b = _pair(x)
    return a - b


def unpacked_too_many(x):
    try:
        a, b = _steps(x, 3)
    except ValueError:
        return 1.0
    return a - b


def unpacked_of_an_endless_one(x):
    log = []

    def values():
        while True:
            log.append(x)
            yield x

    try:
        a, b = values()
    except ValueError:
        return len(log)
    return a - b


def unpacked_with_a_star(x):
    a, *rest = _steps(x, 4)
    return a + len(rest) + rest[1]


def starred(x):
    return max(*_pair(x), 1.0)


def in_a_list(x):
    values = [1.0, *_pair(x)]
    return values[2]


def contained(x):
    return 2.5 in _steps(x, _count(x))


def contained_in_a_pair(x):
    return x in _pair(x)


def first(x):
    return next(_halves(x), -1.0)


def first_that_may_be_none(x):
    return next(_halves(x))


def first_caught(x):
    try:
        return next(_halves(x))
    except StopIteration:
        return 7.0


def sorted_ones(x):
    if x != x:
        return 0.0
    return sorted(_pair(x))[1] + sorted(_steps(x, 4), reverse=True)[1]


def set_of(x):
    return len(set(_steps(float(_count(x, 3)), 4)))


def dict_of(x):
    table = dict(enumerate(_pair(x)))
    return table[1]


def joined(x):
    def letters(n):
        for i in range(n):
            yield "ab"[i % 2]
    return len("-".join(letters(3))) + x


def enumerated(x):
    total = 0.0
    for i, v in enumerate(_halves(x), 1):
        total += i * v
    return total


def mapped(x):
    return sum(map(lambda v: v + 1.0, _halves(x)))


def filtered(x):
    return sum(filter(lambda v: v > 3.0, _halves(x)))


def filtered_by_itself(x):
    return len(list(filter(None, _pair(x))))


def sliced(x):
    return sum(itertools.islice(_endless(x), 5))


def sliced_between(x):
    return list(itertools.islice(_endless(x), 1, 8, 3))[-1]


def taken_while(x):
    return sum(itertools.takewhile(lambda v: v > -1.0, _endless(min(x, 1e3))))


def chained(x):
    return sum(itertools.chain(_pair(x), (1.0, 2.0), _some(x)))


def accumulated(x):
    return max(itertools.accumulate(_steps(x, _count(x)), initial=0.5))


def accumulated_from_the_first(x):
    return sum(itertools.accumulate(_pair(x), lambda a, b: a * b))


def pairs(x):
    return sum(b - a for a, b in itertools.pairwise(_steps(x, 4)))


def starmapped(x):
    return sum(itertools.starmap(lambda i, v: i * v, enumerate(_pair(x))))


def delegated(x):
    return sum(_tree(2, x))


def result_of_a_delegation(x):
    def inner(x):
        yield x
        return x + 1.0

    def outer(x):
        got = yield from inner(x)
        yield got * 2.0

    return sum(outer(x))


def delegated_to_a_list(x):
    def outer(x):
        yield from [x, 2.0 * x]
        yield from range(_count(x))

    total = 0.0
    for v in outer(x):
        total = total * 0.5 + v
    return total


def nested_generators(x):
    def evens(items):
        for i, v in enumerate(items):
            if i % 2 == 0:
                yield v

    return sum(evens(_steps(x, _count(x))))


def passed_on(x):
    def total_of(items, limit):
        total = 0.0
        for v in items:
            if v > limit:
                return total
            total += v
        return -total

    return total_of(_halves(x), 5.0) + total_of(_pair(x), 3.0)


def expression_passed_on(x):
    k = 2.0

    def total_of(items):
        total = 0.0
        for v in items:
            total += v
        return total

    return total_of(v * k for v in _halves(x)) + total_of(i * k for i in range(_count(x)))


def loop_over_an_expression(x):
    total = 0.0
    for v in (v * 2.0 for v in _halves(x) if v > 2.0):
        total = total * 0.5 + v
    return total


def list_comprehension(x):
    return [v * 2.0 for v in _pair(x)][1]


def list_comprehension_in_a_loop(x):
    return sum([v * 2.0 for v in _halves(x)])


def two_clauses(x):
    return sum(v * w for v in _pair(x) for w in _some(v))


class _Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __iter__(self):
        yield self.x
        yield self.y

    def scaled(self, k):
        for v in self:
            yield v * k


def of_an_object(x):
    a, b = _Point(x, 2.0)
    total = 0.0
    for v in _Point(x, b):
        total = total * 3.0 + v
    return total + sum(_Point(a, x)) + max(_Point(x, 1.0))


def of_a_method(x):
    return sum(_Point(x, 1.5).scaled(2.0)) + list(_Point(x, 3.0))[1]


def effects_in_order(x):
    log = []

    def noisy(n):
        for i in range(n):
            log.append(i)
            yield i
        log.append(100)

    for v in noisy(3):
        log.append(10 * v)
        if v == 1 and x > 1.0:
            break
    total = 0
    for v in log:
        total = total * 3 + v
    return total


def effects_stop_with_any(x):
    point = _Point(0.0, 0.0)

    def noisy():
        point.x += 1.0
        yield x > 2.0
        point.x += 10.0
        yield x > 1.0
        point.x += 100.0

    found = any(noisy())
    return point.x + found


def reads_what_the_loop_changes(x):
    point = _Point(x, 1.0)

    def values():
        for _ in range(3):
            yield point.x + point.y

    total = 0.0
    for v in values():
        point.y = point.y * 2.0 + v
        total += v
    return total


def arguments_at_the_call(x):
    k = 2.0

    def scaled(v, k):
        yield v * k

    made = scaled(x, k)
    k = 100.0
    return sum(made) + k


def never_consumed(x):
    def raising(x):
        yield 1 / 0

    raising(x)
    return x


def faults_where_it_is_consumed(x):
    def inverses(n):
        for i in range(n):
            yield 1.0 / (x - i)

    total = 0.0
    for v in inverses(4):
        if v > 0.9:
            break
        total += v
    return total


def fault_caught_by_the_consumer(x):
    def inverses(n):
        for i in range(n):
            yield 1.0 / (x - i)

    total = 0.0
    try:
        for v in inverses(4):
            total += v
    except ZeroDivisionError:
        total = -total
    return total


def fault_caught_by_the_generator(x):
    def inverses(n):
        for i in range(n):
            try:
                v = 1.0 / (x - i)
            except ZeroDivisionError:
                v = 50.0
            yield v

    total = 0.0
    for v in inverses(4):
        total += 1.0 / v if v else 0.5
    return total


def fault_of_the_consumer_is_not_the_generators(x):
    def values():
        try:
            yield x
        except ZeroDivisionError:
            yield 100.0

    total = 0.0
    for v in values():
        total += 1.0 / v
    return total


def finally_of_a_whole_consumption(x):
    log = [0.0]

    def values():
        try:
            yield x
            yield x + 1.0
        finally:
            log[0] += 5.0

    return sum(values()) + log[0]


def stop_iteration_in_a_generator(x):
    def values():
        yield next(_halves(x))

    total = 0.0
    try:
        for v in values():
            total += v
    except StopIteration:
        return 1.0
    except RuntimeError:
        return 2.0
    return total


def generator_in_a_branch(x):
    made = _pair(x) if x > 1.0 else _some(x)
    total = 0.0
    for v in made:
        total = total * 2.0 + v
    return total


def generators_in_a_loop(x):
    total = 0.0
    n = _count(x)
    while n > 0:
        for v in _steps(x, n):
            if v > 9.0:
                break
            total += v
        n -= 2
    return total


def loop_variables_of_both(x):
    def counted(n):
        seen = 0
        for i in range(n):
            if i % 3 != 1:
                seen += 1
                yield seen

    seen = 0.0
    i = x
    for v in counted(_count(x)):
        seen += v * i
        i = i * 0.5
    return seen + i


def kinds_that_change(x):
    def values(n):
        last = None
        for i in range(n):
            yield last
            last = i * x

    total = 0
    for v in values(_count(x)):
        if v is not None:
            total = total + v
    return total


def closure_variables(x):
    k = 1.0

    def values():
        nonlocal k
        k += 1.0
        yield x * k
        k += 1.0
        yield x * k

    total = 0.0
    for v in values():
        k *= 2.0
        total += v
    return total + k


def calls_the_consumer_back(x):
    total = 0.0

    def values(f):
        for i in range(3):
            yield f(i)

    for v in values(lambda i: total + i * x):
        total += v
    return total


def yields_a_function(x):
    def scales():
        for k in (1.0, 2.0):
            yield lambda v, k=k: v * k

    total = 0.0
    for f in scales():
        total += f(x)
    return total


def next_of_a_filter(x):
    return next((v for v in _steps(x, _count(x)) if v > 3.0), -1.0)


def value_of_yield(x):
    def values():
        got = yield x
        yield 1.0 if got is None else 2.0

    return sum(values())


def iter_of(x):
    return sum(iter(_pair(x)))


def math_of(x):
    return math.fsum(_pair(x)) + math.prod(_steps(x, 3))


def zipped(x):
    return sum(a * b for a, b in zip(_pair(x), _steps(x, 5), strict=False))


def zipped_with_a_table(x):
    return sum(a * b for a, b in zip((1.0, 2.0, 3.0), _endless(x), strict=False))


def one_after_the_other(x):
    steps = _steps(x, 4)
    a = next(steps)
    b = next(steps)
    total = 0.0
    for v in steps:
        total = total * 3.0 + v
    return a + b * 2.0 + total + next(steps, -5.0)


def some_of_an_endless_one(x):
    values = _endless(x)
    a = next(values)
    if x > 2.0:
        a = a * next(values)
    else:
        next(values)
    return a + next(values)


def stepping_while_the_argument_changes(x):
    values = [x, 1.0]

    def of(items):
        yield items[0]
        yield items[1]

    steps = of(values)
    a = next(steps)
    values[1] = a * 5.0
    return a


def first_of_a_named_one(x):
    steps = _some(x)
    return next(steps)


def first_of_a_named_one_that_returns_early(x):
    steps = _early(x)
    return next(steps, 0.5)


def _early(x):
    if x > 2.0:
        return
    yield x
    if x > 1.0:
        return
    yield 2.0


def rows_that_change(x):
    row = next(_rows(x))
    return row[0]


def _rows(x):
    row = [x]
    yield row
    row[0] = 100.0
    yield row


def REFUSED_rows_one_by_one(x):
    rows = _rows(x)
    a = next(rows)[0]
    return a + next(rows)[0]


def _items(row):
    yield row[0]
    yield row[1]


def REFUSED_argument_that_changes(x):
    row = [x, 1.0]
    items = _items(row)
    a = next(items)
    row[1] = a * 5.0
    return a + next(items)


def REFUSED_zip_that_may_see(x):
    row = [x, 1.0]
    total = 0.0
    for a, b in zip(_items(row), _pair(x), strict=True):
        row[1] = a
        total += b
    return total + row[1]


def _plain(x):
    yield x
    yield x + 1.0
    yield x + 2.0


def REFUSED_begun_in_a_branch(x):
    steps = _plain(x)
    a = next(steps) if x > 1.0 else 0.0
    return a + next(steps)


def REFUSED_moved_in_a_branch(x):
    steps = _plain(x)
    a = next(steps)
    if x > 1.0:
        a += next(steps)
    return a + next(steps)


def REFUSED_begun_in_a_branch_and_looped_over(x):
    steps = _plain(x)
    a = 0.0
    if x > 1.0:
        a = next(steps)
    for v in steps:
        a = a * 2.0 + v
    return a


def REFUSED_made_and_begun_in_branches(x):
    steps = _plain(x) if x > 0.5 else _pair(x)
    a = next(steps) if x > 1.0 else 0.0
    return a + next(steps)


def REFUSED_next_of_one_of_two(x):
    steps = _plain(x) if x > 0.5 else _pair(x)
    a = next(steps)
    return a + next(steps) * 2.0 + sum(steps)


def begun_in_a_branch_that_ends(x):
    steps = _plain(x)
    if x > 1.0:
        a = next(steps)
        return a + next(steps)
    return x


def REFUSED_at_other_places_by_lane(x):
    steps = _some(x)
    a = next(steps)
    return a + next(steps)


def REFUSED_more_than_were_made(x):
    steps = _endless(x)
    total = 0.0
    for _ in range(40):
        total += next(steps)
    return total


def REFUSED_sent_to(x):
    made = _pair(x)
    made.send(None)
    return x


def REFUSED_consumed_twice(x):
    made = _pair(x)
    return sum(made) + sum(made)


def REFUSED_returned(x):
    return _pair(x)


def REFUSED_finally_of_a_broken_loop(x):
    def values():
        try:
            yield x
            yield x
        finally:
            x * 2.0

    for v in values():
        if v > 2.0:
            break
    return x


def REFUSED_function_of_a_generator_that_ended(x):
    def scales():
        for k in (1.0, 2.0):
            yield lambda v: v * k

    fs = list(scales())
    return fs[0](x)
