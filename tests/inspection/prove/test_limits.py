"""The limit of time is kept wherever a proof is: no test looks at a clock, each stands still where nothing stops it."""

import threading
import time

import pytest

pytest.importorskip("z3")
import z3

from pyflat.inspection import prove as proofs
from pyflat.inspection.prove import loops as comparison
from pyflat.inspection.prove import solving
from pyflat.inspection.prove.terms import Terms
from pyflat.passes import pipelines
from tests.inspection.prove.test_prove import early, forms, pair

PATIENCE = 60.0
"""Seconds until something that was not interrupted gives up; then its test fails."""


class Deaf:
    """A solver that looks at no limit, and forgets the first interrupts."""

    def __init__(self, forgotten):
        self.ctx = self
        self.left = forgotten
        self.stopped = threading.Event()

    def set(self, name, value):
        pass

    def interrupt(self):
        self.left -= 1
        if self.left < 0:
            self.stopped.set()

    def check(self, asked):
        assert self.stopped.wait(PATIENCE), "nobody has interrupted z3"
        raise z3.Z3Exception(b"canceled")


@pytest.mark.parametrize("forgotten", [0, 2])
def test_a_solver_that_does_not_look_is_interrupted_until_it_stops(forgotten, monkeypatch):
    monkeypatch.setattr(solving, "INTERRUPT_EVERY", 0.001)
    budget = solving.Budget(time.monotonic() + 0.01)
    assert budget.check(Deaf(forgotten), None) == z3.unknown


def test_nothing_is_interrupted_after_the_question():
    deaf, before = Deaf(0), threading.active_count()
    with solving.Budget(time.monotonic() + PATIENCE).ending(deaf):
        pass
    assert not deaf.stopped.is_set()
    assert threading.active_count() == before


def test_no_question_is_put_and_no_term_built_when_the_time_is_over(monkeypatch):
    built = []
    monkeypatch.setattr(Terms, "apply", lambda self, op, args: built.append(op))
    answer = proofs.compare("f", *forms(early), seconds=0.0)
    assert str(answer) == "f: outside the provable part, because z3 did not decide it in 0 s"
    assert not built


def test_edge_rows_end_with_the_time(monkeypatch):
    monkeypatch.setattr(comparison, "differs", lambda *args: pytest.fail("a row is run after the time"))
    assert proofs.compare("f", *forms(early), seconds=0.0).verdict == "outside"


def test_the_loop_of_lessons_ends_with_the_time():
    budget = solving.Budget(time.monotonic() - 1.0)
    with pytest.raises(solving.OutOfTimeError):
        budget.pay()
    assert solving.Solver(Terms(), budget).impossible(z3.BoolVal(True)) == "time"


def test_flattening_that_does_not_end_is_interrupted(monkeypatch):
    def endless(*args):
        for _ in range(10**10):
            pass

    monkeypatch.setattr(pipelines, "flatten_ir", endless)
    answer = proofs.prove(early, seconds=0.05)
    assert answer.verdict == "outside"
    assert answer.reason == "flattening it took longer than 0.05 s"


def test_in_a_thread_there_is_no_alarm_but_an_answer():
    found = []
    thread = threading.Thread(target=lambda: found.append(proofs.prove(early, seconds=PATIENCE).verdict))
    thread.start()
    thread.join()
    assert found == ["proved"]


@pytest.mark.parametrize("over", [True, False])
def test_an_interrupt_that_comes_after_the_last_check(monkeypatch, over):
    asked = []

    def model(_):
        asked.append(1)
        raise z3.Z3Exception(b"canceled")

    monkeypatch.setattr(z3.Solver, "model", model)
    monkeypatch.setattr(solving.Budget, "spent", property(lambda _: over and bool(asked)))
    question = pair("truediv %x, 3.0", ["%0 = mul %x, 5.0 : f8", "%1 = truediv %0, 15.0 : f8", "yield %1"])
    if over:
        assert proofs.compare("f", *question).verdict == "outside"
    else:
        with pytest.raises(z3.Z3Exception):
            proofs.compare("f", *question)
    assert asked
