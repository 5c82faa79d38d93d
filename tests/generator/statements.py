"""Random statements: assignments, branches, loops, exits, and the functions around them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.generator.expressions import TABLES, Expressions
from tests.generator.scope import BOOL, FLOAT, INT, MIXED, NAMES, Helper, Parameter, Scope, join

ERRORS = ('ValueError("bad")', 'ZeroDivisionError("zero")', "ArithmeticError", 'RuntimeError("no", 3)', 'ValueError("two words")')
HANDLERS = ("except ZeroDivisionError:", "except (ValueError, OverflowError):", "except ArithmeticError:",
            "except ValueError as error:", "except IndexError:")
PATTERNS = ("0", "1 | 2", "-1", "3 | 4 | 7", "10")
Lines = list[str]
Writer = Callable[[], tuple[Lines, bool]]


def indent(lines: Lines) -> Lines:
    return ["    " + line for line in lines] or ["    pass"]


class Statements(Expressions):
    """Draws the body of one function. A writer gives its lines and whether control never falls out of them."""

    def __init__(self, rng: Random, results: tuple[str, ...]):
        super().__init__(rng)
        self.results = results
        self.loops = 0
        self.loop_kinds: dict[str, str] = {}
        self.depth = 0
        self.serial = 0
        self.broke = False

    # --- names to assign

    def target(self, kind: str) -> str:
        """A name that may be assigned a value of `kind` here: inside a loop a name keeps its kind."""
        usable = [n for n in NAMES if n not in self.scope.frozen and n not in self.scope.lists]
        if self.loops:
            usable = [n for n in usable if self.loop_kinds.get(n, kind) == kind and self.known(n, kind) == kind]
        same = [n for n in usable if self.scope.bound.get(n) == kind]
        if same and self.chance(0.65):
            return self.rng.choice(same)
        if not self.chance(0.08):
            usable = [n for n in usable if self.known(n, kind) == kind] or usable
        return self.rng.choice(usable) if usable else self.fresh()

    def known(self, name: str, default: str) -> str:
        return self.scope.bound.get(name) or self.scope.maybe.get(name) or default

    def fresh(self) -> str:
        self.serial += 1
        return f"z{self.serial}"

    def bind(self, name: str, kind: str) -> None:
        self.scope.bind(name, kind)
        if self.loops:
            self.loop_kinds[name] = kind

    def kind(self) -> str:
        return self.rng.choices((FLOAT, INT, BOOL, MIXED), (10, 5, 2, 0.4))[0]

    # --- simple statements

    def assign(self) -> tuple[Lines, bool]:
        kind = self.kind()
        value = self.of(kind, 3)
        name = self.target(kind)
        self.bind(name, kind)
        return [f"{name} = {value}"], False

    def annotated(self) -> tuple[Lines, bool]:
        value = self.real(2)
        name = self.target(FLOAT)
        self.bind(name, FLOAT)
        return [f"{name}: float = {value}"], False

    def augmented(self) -> tuple[Lines, bool]:
        kind = self.rng.choice((FLOAT, FLOAT, INT))
        names = [n for n in self.scope.names(kind) if n not in self.scope.frozen]
        if not names:
            return self.assign()
        name = self.rng.choice(names)
        if kind == FLOAT:
            op = self.rng.choice(("+", "+", "-", "*", "/"))
            draw = self.number if self.chance(0.2) else self.real
            return [f"{name} {op}= {self.divisor(draw, 2) if op == '/' else draw(2)}"], False
        if self.chance(0.15):
            return [f"{name} {self.rng.choice(('%', '//'))}= {self.rng.choice((self.divisor(self.integer, 1), '5'))}"], False
        return [f"{name} {self.rng.choice(('+', '-', '^', '|', '&'))}= {self.integer(2)}"], False

    def pair(self) -> tuple[Lines, bool]:
        """Swaps and tuple assignment; divmod; a helper with a tuple result."""
        tuples = [h for h in self.helpers if len(h.results) > 1 and self.affordable(h)]
        if tuples and self.chance(0.6):
            helper = self.rng.choice(tuples)
            return self.unpack(helper.results, self.call(helper, 2))
        if self.chance(0.15):
            return self.unpack((INT, INT), f"divmod({self.integer(2)}, {self.rng.choice((self.divisor(self.integer, 1), '3', '-2'))})")
        names = [n for n in self.scope.names(FLOAT) if n not in self.scope.frozen]
        if len(names) >= 2 and self.chance(0.5):
            a, b = self.rng.sample(names, 2)
            return [f"{a}, {b} = {b}, {self.rng.choice((a, self.real(1)))}"], False
        kinds = (self.kind(), self.kind())
        return self.unpack(kinds, ", ".join(self.of(k, 2) for k in kinds))

    def unpack(self, kinds: tuple[str, ...], value: str) -> tuple[Lines, bool]:
        names: list[str] = []
        for kind in kinds:
            name = self.target(kind)
            names.append(self.fresh() if name in names else name)
        for name, kind in zip(names, kinds, strict=True):
            self.bind(name, kind)
        return [f"{', '.join(names)} = {value}"], False

    def chain(self) -> tuple[Lines, bool]:
        value = self.real(2)
        first, second = self.target(FLOAT), self.target(FLOAT)
        self.bind(first, FLOAT)
        self.bind(second, FLOAT)
        return [f"{first} = {second} = {value}"], False

    def new_list(self) -> tuple[Lines, bool]:
        """A local list; not inside branches or loops, where its length could differ."""
        if self.depth or self.scope.lists:
            return self.store()
        kind = self.rng.choice((FLOAT, FLOAT, INT))
        length = self.rng.randint(2, 4)
        items = ", ".join(self.of(kind, 1) for _ in range(length))
        name = self.rng.choice(("xs", "ys", "tab"))
        self.scope.bind_list(name, kind, length)
        return [f"{name} = [{items}]"], False

    def store(self) -> tuple[Lines, bool]:
        if not self.scope.lists:
            return self.assign()
        name = self.rng.choice(list(self.scope.lists))
        kind = self.scope.lists[name][0]
        return [f"{self.item(name)} {self.rng.choice(('=', '=', '+='))} {self.of(kind, 2)}"], False

    def nothing(self) -> tuple[Lines, bool]:
        return [self.rng.choice(("pass", "pass  # nothing", '"a string"', self.real(2)))], False

    def check(self) -> tuple[Lines, bool]:
        return [f"assert {self.truth(2)}{'' if self.chance(self.wild) else ' or True'}, 'checked'"], False

    def walrus(self) -> tuple[Lines, bool]:
        value = self.real(2)
        name = self.target(FLOAT)
        self.bind(name, FLOAT)
        return self.branch(first=f"(({name} := {value}) > {self.real(1)})")

    def local_function(self) -> tuple[Lines, bool]:
        """A closure over names that may change before it is called."""
        if self.depth:
            return self.assign()
        self.serial += 1
        name = f"inner{self.serial}"
        body = self.inner_float(("h", FLOAT), 2)
        self.scope.freeze(name)
        self.helpers = [*self.helpers, Helper(name, (Parameter("h", FLOAT),), (FLOAT,), 4)]
        if self.chance(0.4):
            return [f"{name} = lambda h: {body}"], False
        return [f"def {name}(h):", *indent([f"if {self.inner_condition(body)}:", f"    return {body}", "return h"])], False

    def inner_condition(self, body: str) -> str:
        return f"h {self.comparison()} {self.rng.choice(('0.5', 'h', body))}"

    # --- leaving

    def result(self) -> str:
        kinds = list(self.results)
        if kinds == [FLOAT] and self.chance(0.04):
            kinds = [INT]
        if kinds == [INT] and self.chance(0.04):
            kinds = [BOOL]
        texts = [self.of(k, 2) for k in kinds]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

    def leave(self) -> tuple[Lines, bool]:
        """return, raise, break or continue."""
        choices = [(5.0, f"return {self.result()}"), (0.7, f"raise {self.rng.choice(ERRORS)}")]
        if self.loops:
            choices += [(4.0, "break"), (4.0, "continue")]
        (text,) = self.rng.choices([c for _, c in choices], [w for w, _ in choices])
        self.broke = self.broke or text == "break"
        return [text], True

    # --- compound statements

    def branch(self, first: str = "") -> tuple[Lines, bool]:
        lines = [f"if {first or self.condition(2)}:"]
        before = self.scope
        ways: list[Scope] = []
        arms = self.rng.choices((1, 2, 3, 4), (5, 6, 2, 1))[0]
        for arm in range(arms):
            if arm:
                last = arm == arms - 1
                self.scope = before.copy()
                lines.append("else:" if last else f"elif {self.condition(2)}:")
            self.scope = before.copy()
            body, left = self.body(self.rng.randint(1, 3), leave=0.3)
            lines += indent(body)
            if not left:
                ways.append(self.scope)
        if arms == 1:
            ways.append(before.copy())
        before.replace(join(ways) if ways else before.copy())
        self.scope = before
        return lines, not ways

    def arm(self, start: Scope, head: str, ways: list[Scope], leave: float = 0.2) -> Lines:
        """One alternative of a compound statement, from the scope `start`; `ways` gets the scope it falls out with."""
        self.scope = start.copy()
        body, left = self.body(self.rng.randint(1, 2), leave)
        if not left:
            ways.append(self.scope)
        return [head, *indent(body)]

    def attempt(self) -> tuple[Lines, bool]:
        """try with handlers: what the body binds may be unbound in them."""
        before = self.scope
        ways: list[Scope] = []
        lines = self.arm(before, "try:", ways)
        inside = join([before.copy(), self.scope])
        heads = self.rng.sample(HANDLERS, self.rng.randint(1, 2))
        if self.chance(0.2):
            fallen, ways = ways, []
            handlers = [line for head in heads for line in self.arm(inside, head, ways)]
            lines += [*handlers, *self.arm(fallen[0] if fallen else before, "else:", ways)]
        else:
            lines += [line for head in heads for line in self.arm(inside, head, ways)]
        before.replace(join(ways) if ways else before.copy())
        self.scope = before
        return lines, not ways

    def match(self) -> tuple[Lines, bool]:
        before = self.scope
        ways: list[Scope] = []
        lines = [f"match {self.integer(2)}:"]
        for pattern in self.rng.sample(PATTERNS, self.rng.randint(1, 3)):
            guard = f" if {self.condition(1)}" if self.chance(0.3) else ""
            lines += indent(self.arm(before, f"case {pattern}{guard}:", ways))
        if self.chance(0.5):
            lines += indent(self.arm(before, "case _:", ways))
        else:
            ways.append(before.copy())
        before.replace(join(ways) if ways else before.copy())
        self.scope = before
        return lines, not ways

    def loop(self) -> tuple[Lines, bool]:
        if self.times * 4 > 40 or self.budget < 40 * self.times:
            return self.branch()
        if not self.loops:
            self.loop_kinds = {**self.scope.maybe, **self.scope.bound}
        outer_broke, self.broke = self.broke, False
        before = self.scope
        entry = before.copy()
        self.scope = entry.copy()
        head, trips, prologue, preface = self.loop_head()
        self.loops += 1
        self.times *= max(1, trips)
        body, _ = self.body(self.rng.randint(1, 4), leave=0.12)
        self.times //= max(1, trips)
        self.loops -= 1
        lines = [*preface, head, *indent(prologue + body)]
        after = join([entry, self.scope])
        self.scope = after
        if self.chance(0.25):
            self.scope = after.copy()
            orelse, left = self.body(self.rng.randint(1, 2), leave=0.2)
            lines += ["else:", *indent(orelse)]
            after = after if left else join([after, self.scope]) if self.broke else self.scope
        before.replace(after)
        self.scope = before
        self.broke = outer_broke
        return lines, False

    def loop_head(self) -> tuple[str, int, Lines, Lines]:
        """The head line, the number of trips, the first lines of the body, the lines before the loop."""
        heads = [self.over_lanes, self.over_range, self.over_range, self.over_items, self.over_table, self.over_enumerate, self.over_zip,
                 self.over_reversed, self.over_list, self.while_counter]
        return self.rng.choice(heads)()

    def loop_name(self, kind: str) -> str:
        name = self.rng.choice(("i", "j", "k", "i", "v")) if self.chance(0.8) else self.target(kind)
        taken = name in self.scope.frozen or self.loop_kinds.get(name, kind) != kind or self.known(name, kind) != kind
        name = self.fresh() if taken or name in self.scope.lists else name
        self.bind(name, kind)
        self.loop_kinds[name] = kind
        return name

    def over_range(self) -> tuple[str, int, Lines, Lines]:
        text, trips = self.rng.choice((("3", 3), ("2", 2), ("1, 4", 3), ("4, 0, -1", 4), ("5, -1, -2", 3), ("0", 0), ("2, 2", 0),
                                       ("-1, 2", 3), ("len(ITAB)", 4), ("1", 1), ("6", 6), ("9, 2, -1", 7)))
        return f"for {self.loop_name(INT)} in range({text}):", trips, [], []

    def over_lanes(self) -> tuple[str, int, Lines, Lines]:
        """A range whose bound differs from lane to lane: kept as a loop."""
        bound = f"({self.integer(1)}) % 4"
        counter = self.loop_name(INT)
        if self.chance(0.6):
            return f"for {counter} in range({bound}):", 3, [], []
        # What fails, fails for the counter alone: in the same trip of all lanes that get there.
        name = self.fresh()
        self.bind(name, FLOAT)
        bound = f"({self.integer(1)}) % 6"
        fails = [f"{name} += 1 / ({counter} - {self.rng.randint(0, 5)})"]
        return f"for {counter} in range({bound}):", 5, fails, [f"{name} = 0.0"]

    def over_items(self) -> tuple[str, int, Lines, Lines]:
        kind = self.rng.choice((FLOAT, FLOAT, INT))
        items = [self.of(kind, 1) for _ in range(self.rng.randint(1, 3))]
        text = f"[{', '.join(items)}]" if self.chance(0.5) else f"({', '.join(items)},)"
        return f"for {self.loop_name(kind)} in {text}:", len(items), [], []

    def over_table(self) -> tuple[str, int, Lines, Lines]:
        table = self.rng.choice(list(TABLES))
        kind, trips = TABLES[table]
        return f"for {self.loop_name(kind)} in {table}:", trips, [], []

    def over_enumerate(self) -> tuple[str, int, Lines, Lines]:
        items = [self.real(1) for _ in range(self.rng.randint(1, 3))]
        start = self.rng.choice(("", ", 1", ", start=-1"))
        first = self.loop_name(INT)
        second = self.loop_name(FLOAT)
        return f"for {first}, {second} in enumerate(({', '.join(items)},){start}):", len(items), [], []

    def over_zip(self) -> tuple[str, int, Lines, Lines]:
        items = ", ".join(self.integer(1) for _ in range(3))
        first = self.loop_name(FLOAT)
        second = self.loop_name(INT)
        return f"for {first}, {second} in zip(FTAB, ({items})):", 3, [], []

    def over_reversed(self) -> tuple[str, int, Lines, Lines]:
        if self.chance(0.5):
            return f"for {self.loop_name(INT)} in reversed(range(1, 4)):", 3, [], []
        items = ", ".join(self.real(1) for _ in range(2))
        return f"for {self.loop_name(FLOAT)} in reversed([{items}]):", 2, [], []

    def over_list(self) -> tuple[str, int, Lines, Lines]:
        if not self.scope.lists:
            return self.over_range()
        name = self.rng.choice(list(self.scope.lists))
        kind, length = self.scope.lists[name]
        return f"for {self.loop_name(kind)} in {name}:", length, [], []

    def while_counter(self) -> tuple[str, int, Lines, Lines]:
        name = self.fresh()
        trips = self.rng.randint(1, 4)
        self.scope.freeze(name)
        self.bind(name, INT)
        if self.chance(0.3):
            self.broke = True
            return "while True:", trips, [f"{name} += 1", f"if {name} > {trips}:", "    break"], [f"{name} = 0"]
        if self.chance(0.35):
            return f"while {name} < {trips} and {self.condition(1)}:", trips, [f"{name} += 1"], [f"{name} = 0"]
        if self.chance(0.5):
            return f"while {name} < {trips}:", trips, [f"{name} += 1"], [f"{name} = 0"]
        return f"while {name}:", trips, [f"{name} -= 1"], [f"{name} = {trips}"]

    # --- bodies

    def statement(self) -> tuple[Lines, bool]:
        self.budget -= self.times
        writers: list[tuple[float, Writer]] = [
            (8, self.assign), (4, self.augmented), (2, self.pair), (0.6, self.chain), (0.5, self.annotated), (1, self.store),
            (0.8, self.new_list), (0.4, self.nothing), (0.2, self.check), (0.3, self.walrus), (0.7, self.local_function)]
        if self.depth < 3 and self.budget > 10 * self.times:
            writers += [(7, self.branch), (4, self.loop), (1.2, self.attempt), (0.8, self.match)]
        writers += self.more_statements()
        (writer,) = self.rng.choices([w for _, w in writers], [p for p, _ in writers])
        return writer()

    def more_statements(self) -> list[tuple[float, Writer]]:
        """A hook of `wide.Wide`."""
        return []

    def body(self, size: int, leave: float) -> tuple[Lines, bool]:
        """A nested block; with probability `leave` it ends by leaving."""
        self.depth += 1
        try:
            lines: Lines = []
            for _ in range(size):
                more, left = self.statement()
                lines += more
                if left:
                    return lines, True
            if self.chance(leave):
                more, left = self.leave()
                return lines + more, left
            return lines, False
        finally:
            self.depth -= 1

    def function(self, name: str, parameters: tuple[Parameter, ...], size: int) -> Lines:
        """A whole function that returns `results` on every path that does not raise."""
        head = ", ".join(self.parameter_texts(parameters))
        lines: Lines = []
        if self.chance(0.2):
            lines.append('"""A docstring."""')
        left = False
        for _ in range(size):
            more, left = self.statement()
            lines += more
            if left:
                break
        if not left:
            lines.append(f"return {self.result()}")
        return [f"def {name}({head}):", *indent(lines)]

    def parameter_texts(self, parameters: tuple[Parameter, ...]) -> Lines:
        texts: Lines = []
        for parameter in parameters:
            if parameter.keyword_only and "*" not in texts:
                texts.append("*")
            texts.append(f"{parameter.name}={parameter.default}" if parameter.default else parameter.name)
        return texts
