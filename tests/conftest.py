"""What all tests share: twins are compared with their originals bit for bit, so that elementary functions are the C
library's where a test says nothing else."""

import pytest

from pyflat import settings


@pytest.fixture(autouse=True)
def _exact_functions(monkeypatch):
    monkeypatch.setattr(settings, "_defaults", (("math", "libm"),))
