"""Commands that take long say on a terminal that they work, and nothing elsewhere."""

import io
import sys
import threading

import pytest

from pyflat.cli import output


class Terminal(io.StringIO):
    def __init__(self):
        super().__init__()
        self.said = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        if "flattening f" in text:
            self.said.set()
        return super().write(text)


def test_a_long_command_says_that_it_works(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm-256color")
    with output.working("flattening f"):
        assert terminal.said.wait(30)


@pytest.mark.parametrize("terminal", [Terminal, io.StringIO])
def test_a_short_command_and_a_pipe_stay_silent(monkeypatch, terminal):
    written = terminal()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(output, "PATIENCE", 3600.0 if terminal is Terminal else 0.0)
    with output.working("flattening f"):
        pass
    assert "flattening" not in written.getvalue()
