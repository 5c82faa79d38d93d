"""The pictures of the scoreboard, as SVG text: how much faster than what people use, all functions together, and each
function against numba.vectorize. Exact twins and fast ones stand apart. What is drawn is in a table too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import log10

from benchmarks.measuring import geomean
from benchmarks.report import Row, groups

OURS = {"numba": ("exact", "the bits of CPython", "#3b78c4"), "fast": ("fast", 'math="fast"', "#d97b2b")}
"""Our contenders: what they are called, what that means, and their colour."""
PEERS = {"np.vectorize": "than np.vectorize", "np.where": "than np.where, by hand",
         "numba.vectorize": "than numba.vectorize"}
FUNCTIONS = {
    "bs": "Black-Scholes price", "srgb": "sRGB to linear light", "hsv": "score of a colour's hue",
    "haversine": "distance on the globe", "piecewise": "piecewise polynomial", "noise": "value noise",
    "mand32": "Mandelbrot, 32 steps", "mand256": "Mandelbrot, 256 steps", "raymarch": "ray marching",
    "kepler": "Kepler's equation", "collatz": "Collatz steps", "steam": "regions of steam",
    "orbit": "height of a satellite", "comfort": "heat index", "tax": "income tax", "perlin": "Perlin noise",
    "implied": "implied volatility",
}
WIDTH, LABELS, LINE = 560, 190, 27
"""Narrow, so that a telephone's 420 pixels leave the words readable."""


def chosen(rows: Sequence[Row]) -> list[Row]:
    """The rows that are drawn: those of float64 and the middle size, where they were measured."""
    kinds = groups(rows)
    return kinds.get(("f8", 262144)) or next(iter(kinds.values()), [])


def summary(rows: Sequence[Row], peers: Mapping[str, str] = PEERS) -> str:
    """How much faster than each, all functions together that both run: a bar from 1 on a scale of powers of ten, and a
    thin line from the least to the most."""
    shown = {ours: {peer: found for peer in peers if (found := ratios(rows, ours, peer))} for ours in OURS}
    every = [ratio for found in shown.values() for each in found.values() for ratio in each] or [1.0, 10.0]
    left, right = min(log10(min(every)), 0.0), log10(max(every))
    scale = (WIDTH - LABELS - 58) / max(right - left, 1e-9)

    def at(ratio: float) -> float:
        return LABELS + (log10(ratio) - left) * scale

    parts, y = [], 10
    for ours, found in shown.items():
        name, meaning, colour = OURS[ours]
        parts.append(_text(10, y + 16, f"{name}: {meaning}", bold=True))
        y += LINE
        for peer, each in found.items():
            mean = geomean(each)
            few = "" if len(each) == len(rows) else f" ({len(each)})"
            parts += [_text(LABELS - 14, y + 17, peers[peer] + few, end=True),
                      _bar(at(1.0), y + 4, at(mean) - at(1.0), colour),
                      _line(at(min(each)), y + 13, at(max(each)), y + 13),
                      _text(at(max(each)) + 6, y + 18, f"× {short(mean)}", bold=True)]
            y += LINE
        y += 12
    parts += _axis({short(10.0**k): at(10.0**k) for k in range(4) if at(10.0**k) <= WIDTH - 40}, y)
    return _svg(y + 26, "times as fast, on a scale of powers of ten", parts)


def functions(rows: Sequence[Row]) -> str:
    """Each function against numba.vectorize: a bar for exact digits, one for fast ones."""
    found = sorted(rows, key=lambda row: -(row.ratio("numba") or 0.0))
    top = max((row.ratio(ours) or 0.0 for row in rows for ours in OURS), default=1.0)
    room = WIDTH - LABELS - 58
    parts = []
    for column, (name, meaning, colour) in enumerate(OURS.values()):
        parts += [_bar(LABELS, 10 + column * 22, 14, colour, 14),
                  _text(LABELS + 22, 22 + column * 22, f"{name}: {meaning}")]
    for place, row in enumerate(found):
        y = 62 + place * 42
        parts.append(_text(LABELS - 10, y + 22, FUNCTIONS.get(row.kernel, row.kernel), end=True))
        for column, (ours, (_, _, colour)) in enumerate(OURS.items()):
            ratio, line = row.ratio(ours), y + column * 18
            if ratio is not None:
                parts += [_bar(LABELS, line, room * ratio / top, colour, 16),
                          _text(LABELS + room * ratio / top + 6, line + 13, f"× {short(ratio)}")]
    bottom = 62 + len(found) * 42
    parts += [_line(LABELS + room / top, 58, LABELS + room / top, bottom, dashed=True),
              _text(LABELS + room / top - 4, bottom + 16, "1: as fast", small=True)]
    return _svg(bottom + 24, "times as fast as numba.vectorize of the unmodified function", parts)


def ratios(rows: Iterable[Row], ours: str, peer: str) -> list[float]:
    """How many times as fast, for each function that both run."""
    return [ratio for row in rows if (ratio := row.ratio(ours, to=peer)) is not None]


def short(ratio: float) -> str:
    """Two digits, as many as a measurement has."""
    return f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"


def _axis(ticks: Mapping[str, float], y: float) -> list[str]:
    lines = [_line(x, 6, x, y - 6, dashed=True) for x in ticks.values()]
    return [*lines, *(_text(x - 4, y + 10, f"× {name}" if name != "1.0" else "1: as fast", small=True)
                      for name, x in ticks.items())]


def _text(x: float, y: float, text: str, *, bold: bool = False, end: bool = False, small: bool = False) -> str:
    style = ' font-weight="bold"' * bold + ' text-anchor="end"' * end + ' font-size="12"' * small
    return f'<text x="{x:.0f}" y="{y:.0f}"{style}>{escape(text)}</text>'


def _bar(x: float, y: float, width: float, colour: str, height: int = 18) -> str:
    return f'<rect x="{min(x, x + width):.1f}" y="{y:.0f}" width="{abs(width):.1f}" height="{height}" fill="{colour}"/>'


def _line(x: float, y: float, x2: float, y2: float, *, dashed: bool = False) -> str:
    style = 'stroke="#777" stroke-dasharray="2 3"' if dashed else 'class="line"'
    return f'<line x1="{x:.1f}" y1="{y:.0f}" x2="{x2:.1f}" y2="{y2:.0f}" {style}/>'


STYLE = ("text { fill: #1f2328 } .line { stroke: #1f2328 } .paper { fill: #fff } @media (prefers-color-scheme: dark) "
         "{ text { fill: #e6edf3 } .line { stroke: #e6edf3 } .paper { fill: #0d1117 } }")


def _svg(height: float, title: str, parts: Sequence[str]) -> str:
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
            f'viewBox="0 0 {WIDTH} {height:.0f}" font-family="DejaVu Sans, Arial, sans-serif" font-size="14">')
    paper = f'<style>{STYLE}</style><rect class="paper" width="100%" height="100%"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", paper, *parts, "</svg>", ""])
