"""What is put in front of or behind a string that gets longer in a loop (`state.templates`)."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from pyflat.frontend.space import growing, scalars
from pyflat.frontend.state import templates, written
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import Abstract, Cells, GrownText, Seq, Static, Text


def around(s: Evaluator, parts: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """The strings one after the other, of which one gets longer."""
    at = next(k for k, part in enumerate(parts) if isinstance(part, GrownText))
    middle, front, back = parts[at], written.joined(parts[:at]), written.joined(parts[at + 1:])
    if any(isinstance(part, GrownText) for part in parts[at + 1:]) or front is None or back is None:
        return Text()
    if not templates.can_grow(front) or not templates.can_grow(back):
        return Text()
    assert isinstance(middle, GrownText)
    for text, in_front in ((back, False), (front, True)):
        if not isinstance(text, Static) or text.value:
            middle = _longer(s, middle, text, in_front, node)
    return middle


def _longer(s: Evaluator, whole: GrownText, text: Abstract, in_front: bool, node: cst.CSTNode) -> GrownText:
    piece = templates.piece(whole.table, text, s.build.op)
    count, *places = templates.padded_cells(whole, whole.table).items
    longer = scalars.binary(s, "add", count, Static(1))
    growing.check_room(s, longer, len(places), node)
    places = [piece, *places[:-1]] if in_front else growing.put(s, places, count, piece)
    return GrownText(whole.table, Seq(Cells, (longer, *places)))
