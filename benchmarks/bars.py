"""Two pictures of the benchmark page, as SVG text: how much faster than what people use, all functions together, and
each function against numba.vectorize. Exact twins and fast ones stand apart. What is drawn is in a table too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import log10

from benchmarks.measuring import geomean
from benchmarks.report import Row, groups, markdown

OURS = {"numba": ("exact", "the bits of CPython", "#3b78c4"), "fast": ("fast", 'math="fast"', "#d97b2b")}
"""Our contenders: what they are called, what that means, and their colour."""
PEERS = {"np.vectorize": "than np.vectorize", "np.where": "than np.where, by hand",
         "numba.vectorize": "than numba.vectorize"}
FUNCTIONS = {
    "bs": "Black-Scholes price", "srgb": "sRGB to linear light", "hsv": "score of a colour's hue",
    "haversine": "distance on the globe", "piecewise": "piecewise polynomial", "noise": "value noise",
    "mand32": "Mandelbrot, 32 trips", "mand256": "Mandelbrot, 256 trips", "raymarch": "ray marching",
    "kepler": "Kepler's equation", "collatz": "Collatz steps", "steam": "regions of steam",
    "orbit": "height of a satellite", "comfort": "heat index", "tax": "income tax", "perlin": "Perlin noise",
    "implied": "implied volatility",
}
WIDTH, LABELS, LINE = 760, 215, 30


def chosen(rows: Sequence[Row]) -> list[Row]:
    """The rows that are drawn: those of float64 and the middle size, where they were measured."""
    kinds = groups(rows)
    return kinds.get(("f8", 262144)) or next(iter(kinds.values()), [])


def summary(rows: Sequence[Row]) -> str:
    """How much faster than each of the three, all functions together: a bar from 1 on a scale of powers of ten, and a
    thin line from the least to the most."""
    shown = {ours: {peer: _ratios(rows, ours, peer) for peer in PEERS} for ours in OURS}
    top = max((ratio for peers in shown.values() for ratios in peers.values() for ratio in ratios), default=10.0)
    low = min((ratio for peers in shown.values() for ratios in peers.values() for ratio in ratios), default=1.0)
    left, right = min(log10(low), 0.0), log10(top)
    scale = (WIDTH - LABELS - 70) / max(right - left, 1e-9)

    def at(ratio: float) -> float:
        return LABELS + (log10(ratio) - left) * scale

    parts, y = [], 10
    for ours, peers in shown.items():
        name, meaning, colour = OURS[ours]
        parts.append(_text(10, y + 16, f"{name}: {meaning}", bold=True))
        y += LINE
        for peer, ratios in peers.items():
            if ratios:
                mean = geomean(ratios)
                parts += [_text(LABELS - 14, y + 17, PEERS[peer], end=True),
                          _bar(at(1.0), y + 4, at(mean) - at(1.0), colour),
                          _line(at(min(ratios)), y + 13, at(max(ratios)), y + 13),
                          _text(at(max(ratios)) + 8, y + 17, f"× {_short(mean)}", bold=True)]
                y += LINE
        y += 12
    parts += _axis({_short(10.0**k): at(10.0**k) for k in range(4) if at(10.0**k) <= WIDTH}, y)
    return _svg(y + 26, "times as fast, on a scale of powers of ten", parts)


def functions(rows: Sequence[Row]) -> str:
    """Each function against numba.vectorize, exact and fast side by side."""
    found = sorted(rows, key=lambda row: -(row.ratio("numba") or 0.0))
    top = max((row.ratio(ours) or 0.0 for row in rows for ours in OURS), default=1.0)
    room = (WIDTH - LABELS - 115) / 2
    parts = []
    bottom = 44 + len(found) * 24
    for column, (ours, (name, meaning, colour)) in enumerate(OURS.items()):
        start = LABELS + column * (room + 60)
        parts.append(_text(start, 26, f"{name}: {meaning}", bold=True))
        for place, row in enumerate(found):
            ratio, y = row.ratio(ours), 40 + place * 24
            if not column:
                parts.append(_text(LABELS - 10, y + 14, FUNCTIONS.get(row.kernel, row.kernel), end=True))
            if ratio is not None:
                parts += [_bar(start, y + 2, room * ratio / top, colour, 16),
                          _text(start + room * ratio / top + 6, y + 14, f"× {_short(ratio)}")]
        parts.append(_line(start + room / top, 36, start + room / top, bottom, dashed=True))
        parts.append(_text(start + room / top - 4, bottom + 16, "1: as fast", small=True))
    return _svg(66 + len(found) * 24, "times as fast as numba.vectorize of the unmodified function", parts)


def table(rows: Sequence[Row]) -> str:
    """What the pictures show."""
    pairs = [(ours, peer) for ours in OURS for peer in PEERS]
    return markdown([
        ["function", *(f"{OURS[ours][0]} / {peer}" for ours, peer in pairs)],
        *([f"{FUNCTIONS.get(row.kernel, row.kernel)} (`{row.kernel}`)",
           *(_cell(row.ratio(ours, to=peer)) for ours, peer in pairs)] for row in rows),
        ["all, geometric mean", *(_cell(_mean(_ratios(rows, ours, peer))) for ours, peer in pairs)],
    ])


def _ratios(rows: Iterable[Row], ours: str, peer: str) -> list[float]:
    return [ratio for row in rows if (ratio := row.ratio(ours, to=peer)) is not None]


def _mean(ratios: Sequence[float]) -> float | None:
    return geomean(ratios) if ratios else None


def _cell(ratio: float | None) -> str:
    return "-" if ratio is None else _short(ratio)


def _short(ratio: float) -> str:
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
