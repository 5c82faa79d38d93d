"""What becomes of NumPy's warnings, by the filters of now.

Python shows a warning once at each place, as long as no filter changes. What a kernel would warn of again is then
nothing to anyone: the original has run where it was shown, and need not run for it again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Errors = Mapping[str, Any]
"""NumPy's error state."""
_SHOWN_ONCE = {"default", "module", "once", "ignore"}


class _Probe(PendingDeprecationWarning):
    """A warning that hardly any filter lets through."""


class ShownWarnings:
    """The warnings of one version of a kernel that its original has shown. `expected`: the last call had some."""

    def __init__(self) -> None:
        self.expected = False
        self._known: dict[Any, frozenset[int]] = {}
        """By the filters and NumPy's error state: at most one entry."""

    def has(self, found: frozenset[int], errors: Errors) -> bool:
        """Whether all of these have been shown, and would not be shown again."""
        self.expected = bool(found) and bool(self._known) and found <= self._known.get(_state(errors), frozenset())
        return self.expected

    @contextmanager
    def showing(self, found: frozenset[int], errors: Errors) -> Iterator[None]:
        """A run of the original that shows them."""
        before = _state(errors) if found else None
        yield
        if before is not None and before == _state(errors):
            self._known = {before: found | self._known.get(before, frozenset())}
            self.expected = True


def _state(errors: Errors) -> Any:
    """Changes where a warning that has been shown may be shown again; None where each is shown."""
    if not set(errors.values()) <= {"warn", "ignore"} or not set(_actions(RuntimeWarning)) <= _SHOWN_ONCE:
        return None
    if set(_actions(_Probe)) != {"ignore"}:
        return None
    registry: dict[Any, int] = {}
    warnings.warn_explicit("", _Probe, "", 1, registry=registry)  # writes the number of the filters there
    number = registry.get("version")
    return None if number is None else (number, tuple(errors.items()))


def _actions(category: type[Warning]) -> Iterator[str]:
    """What filters may make of a warning of this class."""
    for action, message, each, module, line in warnings.filters:
        if issubclass(category, each):
            yield action
            if message is None and module is None and not line:
                return  # no filter behind it is asked
    yield getattr(warnings, "defaultaction", "")


def warnings_may_raise(errors: Errors) -> bool:
    """Whether a warning of NumPy's may end what runs, in this error state and with the filters of now."""
    if any(how not in ("ignore", "warn") for how in errors.values()):
        return True
    if warnings.showwarning is not getattr(warnings, "_showwarning_orig", None):
        return True
    return "error" in _actions(RuntimeWarning)


def warnings_are_wanted(errors: Errors) -> bool:
    """Whether a warning of NumPy's is anything to anyone, in this error state and with the filters of now."""
    hows = set(errors.values())
    return bool(hows - {"ignore", "warn"}) or "warn" in hows and set(_actions(RuntimeWarning)) != {"ignore"}
