"""What all tests share: twins are compared with their originals bit for bit, so that elementary functions are the C
library's where a test says nothing else."""

import signal

import pytest

from pyflat import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell without job control starts what is in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _exact_functions(monkeypatch):
    monkeypatch.setattr(settings, "_defaults", (("math", "libm"),))
