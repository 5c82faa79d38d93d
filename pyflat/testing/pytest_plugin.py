"""The pytest plugin: one line in conftest.py verifies every flattened function of a module.

    pyflat_verify = "mypackage.kernels"                        # in conftest.py; or several:
    pyflat_verify = {"mypackage.kernels": {"examples": 500}, "mypackage.colours": {}}

or in the configuration (`pyflat_verify = ["mypackage.kernels"]` under [tool.pytest.ini_options]), on the command
line (`pytest --pyflat-verify mypackage.kernels`), or as a marker of a test module or function, which adds the
functions next to it:

    pytestmark = pytest.mark.pyflat_verify("mypackage.kernels", examples=500)

Each flattened function becomes a test of its own: `pyflat.testing.verify` on both targets. What cannot be verified
without further words (a method, a static argument without a default) is skipped with the reason.
Loading the plugin loads nothing: pyflat is imported when such a test is collected.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

NAME = "pyflat_verify"


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "modules whose flattened functions are verified against their originals"
    parser.addini(NAME, text, type="args", default=[])
    parser.getgroup("pyflat").addoption("--pyflat-verify", action="append", default=[], metavar="MODULE", help=text)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{NAME}(*modules, **options): verify the flattened functions of these modules")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    wanted = _wanted(config, items)
    for module, options in wanted.items():
        items += _tests(session, module, options)


def _wanted(config: pytest.Config, items: list[pytest.Item]) -> dict[str, Mapping[str, Any]]:
    """Module names with the options of `verify`, each once."""
    found: dict[str, Mapping[str, Any]] = {}
    for item in items:
        for marker in item.iter_markers(NAME):
            found.update(dict.fromkeys(marker.args, marker.kwargs))
    if not any("::" in arg for arg in config.args):  # who names one test wants that one
        for plugin in config.pluginmanager.get_plugins():
            if isinstance(plugin, ModuleType) and hasattr(plugin, NAME):
                found.update(_as_mapping(getattr(plugin, NAME)))
        found.update({name: {} for name in config.getini(NAME)})
    found.update({name: {} for name in config.getoption("--pyflat-verify")})
    return found


def _as_mapping(value: Any) -> dict[str, Mapping[str, Any]]:
    match value:
        case str():
            return {value: {}}
        case Mapping():
            return dict(value)
    return {name: {} for name in value}


def _tests(session: pytest.Session, name: str, options: Mapping[str, Any]) -> Iterator[pytest.Item]:
    from pyflat.testing.flattened import flattened_functions

    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise pytest.UsageError(f"{NAME}: cannot import {name!r}: {error}") from error
    functions = list(flattened_functions(module))
    if not functions:
        raise pytest.UsageError(f"{NAME}: the module {name!r} has no flattened function")
    for inner, fn in functions:
        yield TwinTest.from_parent(session, name=f"{name}:{inner}", function=fn, title=inner, options=options)


class TwinTest(pytest.Item):
    """One flattened function, verified."""

    def __init__(self, *, function: FunctionType, title: str, options: Mapping[str, Any], **rest: Any):
        super().__init__(**rest)
        self.function = function
        self.title = title
        self.options = options

    def runtest(self) -> None:
        from pyflat.testing.flattened import NotVerifiableError, verify_flattened

        try:
            verify_flattened(self.title, self.function, self.options)
        except NotVerifiableError as reason:
            pytest.skip(str(reason))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What differs, or why it is refused, without pyflat's own frames."""
        from pyflat.errors import FlattenError

        if isinstance(excinfo.value, AssertionError | FlattenError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        code = self.function.__code__
        return Path(inspect.getsourcefile(self.function) or code.co_filename), code.co_firstlineno - 1, self.name
