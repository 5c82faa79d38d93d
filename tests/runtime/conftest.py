"""What the runtime tests share."""

import pytest

from pyflat.runtime import compiled, settings


@pytest.fixture
def builds(monkeypatch):
    """What is built during the test: (function, arguments, options)."""
    build, made = compiled.build, []

    def counted(fn, arguments, options):
        made.append((fn, arguments, options))
        return build(fn, arguments, options)

    monkeypatch.setattr(compiled, "build", counted)
    return made


@pytest.fixture
def fresh_defaults(monkeypatch):
    monkeypatch.setattr(settings, "_defaults", ())
    monkeypatch.delenv("PYFLAT_TARGET", raising=False)
