"""Twins as text: `render` prints a flat function as the Python that a careful person would have written."""

from pyflat.targets.text.alone import standing_alone
from pyflat.targets.text.printer import (
    globals_needed,
    render,
    render_condition,
    render_linked,
    render_numbered,
    render_suspect,
)
from pyflat.targets.text.spelling import Target

__all__ = ["Target", "globals_needed", "render", "render_condition", "render_linked", "render_numbered",
           "render_suspect", "standing_alone"]
