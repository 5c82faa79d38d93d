"""The pictures of docs/examples/, as SVG text, of what the twins there compute: `python docs/examples_pictures.py`."""

from __future__ import annotations

import colorsys
import sys
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import pyflat  # noqa: E402
from benchmarks.bars import STYLE  # noqa: E402
from benchmarks.fields import PAGES, page  # noqa: E402

FOLDER = PAGES
WIDTH, LEFT, RIGHT, TOP, BOTTOM = 760, 64, 36, 20, 52
COLOURS = ("#3b78c4", "#d97b2b", "#3f9b52", "#c44e52", "#8268b0", "#8c8c8c", "#e0e4ea")


class Plot:
    """A frame with two scales, and what is drawn in it."""

    def __init__(self, title: str, x: tuple[float, float], y: tuple[float, float], height: int = 340,
                 top: int = TOP) -> None:
        self.title, self.height, self.ends, self.top = title, height, (x, y), top
        self.parts: list[str] = []

    def at(self, x: float, y: float) -> tuple[float, float]:
        (x0, x1), (y0, y1) = self.ends
        return (LEFT + (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT),
                self.height - BOTTOM - (y - y0) / (y1 - y0) * (self.height - self.top - BOTTOM))

    def text(self, x: float, y: float, text: str, anchor: str = "middle", place: str = "") -> None:
        self.parts.append(f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{place}>{escape(text)}</text>')

    def axes(self, x: dict[float, str], y: dict[float, str], x_name: str, y_name: str) -> None:
        for value, name in x.items():
            self.text(self.at(value, 0.0)[0], self.height - BOTTOM + 18, name)
        for value, name in y.items():
            self.text(LEFT - 8, self.at(0.0, value)[1] + 4, name, "end")
        self.text((LEFT + WIDTH - RIGHT) / 2, self.height - 10, x_name)
        middle = (self.top + self.height - BOTTOM) / 2
        self.text(14, middle, y_name, place=f' transform="rotate(-90 14 {middle:.0f})"')

    def curve(self, xs: Iterable[float], ys: Iterable[float], colour: str, width: float = 2.0) -> None:
        points = [self.at(x, y) for x, y in zip(xs, ys, strict=True) if y == y]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self.parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')

    def level(self, y: float) -> None:
        (x0, x1), _ = self.ends
        (left, height), (right, _) = self.at(x0, y), self.at(x1, y)
        self.parts.append(f'<path d="M{left:.1f} {height:.1f}H{right:.1f}" stroke="#777" stroke-dasharray="2 3"/>')

    def cells(self, rows: np.ndarray, colours: Sequence[str]) -> None:
        """A colour for each number of an array, its first row at the bottom; neighbours of a row are one box."""
        (x0, x1), (y0, y1) = self.ends
        (left, bottom), (right, top) = self.at(x0, y0), self.at(x1, y1)
        wide, high = (right - left) / rows.shape[1], (bottom - top) / rows.shape[0]
        for number, colour in enumerate(colours):
            boxes = []
            for j, row in enumerate(rows == number):
                edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(int)))
                boxes += [f"M{left + start * wide:.1f} {bottom - (j + 1) * high:.1f}h{(stop - start) * wide:.1f}"
                          f"v{high + 0.3:.1f}h{(start - stop) * wide:.1f}z" for start, stop in edges.reshape(-1, 2)]
            self.parts.append(f'<path d="{"".join(boxes)}" fill="{colour}"/>')

    def legend(self, x: float, y: float, names: Iterable[tuple[str, str]], *, row: bool = False) -> None:
        """Names with their colours, below each other or in a row, from a place in pixels."""
        for name, colour in names:
            self.parts.append(f'<rect x="{x:.0f}" y="{y - 11:.0f}" width="14" height="12" fill="{colour}"/>')
            self.text(x + 20, y, name, "start")
            x, y = (x + 38 + 8 * len(name), y) if row else (x, y + 20)

    def write(self, name: str) -> None:
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.height}" viewBox="0 0 {WIDTH} '
                f'{self.height}" font-family="DejaVu Sans, Arial, sans-serif" font-size="14">')
        style = f'<style>{STYLE}</style><rect class="paper" width="100%" height="100%"/>'
        text = "\n".join([head, f"<title>{escape(self.title)}</title>", style, *self.parts, "</svg>", ""])
        (FOLDER / f"{name}.svg").write_text(text, encoding="utf-8")


def finance() -> None:
    plot = Plot("implied volatility against price", (0.0, 25.0), (0.0, 0.8))
    plot.axes({price: str(price) for price in range(0, 30, 5)}, {v / 10: f"{v * 10}%" for v in range(0, 9, 2)},
              "price of a call for half a year, the share at 100", "implied volatility")
    prices = np.linspace(0.05, 25.0, 500)
    volatility = pyflat.twin(page("finance").implied, target="numba", errors="nan")
    for strike, colour in zip((90, 100, 110), COLOURS, strict=False):
        found = volatility(prices, 100.0, float(strike), 0.5, 0.02)
        shown = found <= 0.8
        plot.curve(prices[shown], found[shown], colour)
    plot.legend(LEFT + 20, TOP + 20, [(f"strike {strike}", colour)
                                      for strike, colour in zip((90, 100, 110), COLOURS, strict=False)])
    plot.write("finance")


def taxes() -> None:
    plot = Plot("share of additional earnings that is lost", (0.0, 60_000.0), (-0.45, 0.4))
    plot.axes({x: f"{x:,}" for x in range(0, 60_001, 10_000)}, {y / 10: f"{y * 10}%" for y in range(-4, 5, 2)},
              "earnings of a year", "lost of 100 more")
    plot.level(0.0)
    household = pyflat.twin(page("taxes").net, target="numba")
    earned = np.arange(0.0, 60_000.0, 100.0)
    shown = list(zip((0, 2), ("no child", "two children"), COLOURS, strict=False))
    for children, _, colour in shown:
        lost = 1.0 - (household(earned + 100.0, children, False) - household(earned, children, False)) / 100.0
        plot.curve(earned, lost, colour)
    plot.legend(WIDTH - 160, plot.height - BOTTOM - 40, [(name, colour) for _, name, colour in shown])
    plot.write("taxes")


def comfort() -> None:
    names = ("none", "caution", "extreme caution", "danger", "extreme danger")
    colours = ("#cfe8d5", "#f7e48b", "#f2b25c", "#df6b4a", "#a8324a")
    plot = Plot("advice by temperature and humidity", (70.0, 115.0), (0.0, 100.0), 400, top=36)
    plot.axes({t: f"{t} °F" for t in range(70, 116, 5)}, {h: f"{h}%" for h in range(0, 101, 20)},
              "temperature", "relative humidity")
    t, humidity = np.linspace(70.0, 115.0, 136), np.linspace(0.0, 100.0, 81)
    found = pyflat.twin(page("comfort").advice)(t, humidity[:, None])
    plot.cells(np.searchsorted(sorted(names), found), [colours[names.index(name)] for name in sorted(names)])
    plot.legend(LEFT, 16, zip(names, colours, strict=True), row=True)
    plot.write("comfort")


def calendars() -> None:
    plot = Plot("how often Easter falls on each date", (321.5, 356.5), (0.0, 4.0), 300)
    first = {322: "22 March", 332: "1 April", 341: "10 April", 351: "20 April"}
    plot.axes(first, {y: f"{y}%" for y in range(5)}, "date of Easter", "of 5,700,000 years")
    dates, years = np.unique(pyflat.twin(page("calendars").easter, target="numba")(np.arange(2000, 5_702_000)),
                             return_counts=True)
    for date, share in zip(dates, years / 57_000.0, strict=True):
        day = date if date < 400 else date - 400 + 331  # after 31 March
        (left, top), (right, bottom) = plot.at(day - 0.4, share), plot.at(day + 0.4, 0.0)
        plot.parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" '
                          f'fill="{COLOURS[0]}"/>')
    plot.write("calendars")


def colour() -> None:
    plot = Plot("colours that count as foliage", (0.0, 1.0), (0.0, 1.0), 300)
    plot.axes({h / 6: f"{h * 60}°" for h in range(7)}, {s / 4: f"{s * 25}%" for s in range(5)}, "hue", "saturation")
    hues, saturations = (np.arange(48) + 0.5) / 48, (np.arange(16) + 0.5) / 16
    rgb = pyflat.twin(colorsys.hsv_to_rgb)(hues, saturations[:, None], 0.75)
    leaf = pyflat.twin(page("colour").foliage)(*rgb)
    for (j, i), is_leaf in np.ndenumerate(leaf):
        (left, top), (right, bottom) = plot.at(i / 48, (j + 1) / 16), plot.at((i + 1) / 48, j / 16)
        red, green, blue = (int(255 * part[j, i]) for part in rgb)
        x, y = (left + right) / 2, (top + bottom) / 2
        size = 1.0 if is_leaf else 0.35
        wide, high = (right - left) * size, (bottom - top) * size
        plot.parts.append(f'<rect x="{x - wide / 2:.1f}" y="{y - high / 2:.1f}" width="{wide:.1f}" height="{high:.1f}" '
                          f'fill="#{red:02x}{green:02x}{blue:02x}"/>')
    plot.write("colour")


def series() -> None:
    module = page("series")
    plot = Plot("a switch with hysteresis", (0.0, 400.0), (-3.2, 1.8))
    plot.axes({x: str(x) for x in range(0, 401, 50)}, {0.5: "high", -0.5: "low", -2.9: "off", -2.2: "on"},
              "sample", "signal")
    plot.level(0.5)
    plot.level(-0.5)
    plot.curve(module.t, module.signal, COLOURS[0], 1.3)
    plot.curve(np.repeat(module.t, 2)[1:], (-2.9 + 0.7 * np.repeat(module.state, 2))[:-1], COLOURS[1])
    plot.write("series")


def games() -> None:
    plot = Plot("terrain by biome", (0.0, 9.0), (0.0, 6.0), 470)
    y, x = np.mgrid[0:6:80j, 0:9:120j]
    names = ("deep water", "shallows", "beach", "grass", "wood", "rock", "snow")
    colours = ("#2f5d9b", "#5b93cf", "#e3d29a", "#8fbf63", "#3f7d46", "#8a8580", "#f4f6f8")
    plot.cells(pyflat.twin(page("games").biome, target="numba")(x, y, 7), colours)
    plot.legend(LEFT, plot.height - 20, zip(names, colours, strict=True), row=True)
    plot.write("games")


DRAWN = (finance, taxes, comfort, calendars, colour, series, games)

if __name__ == "__main__":
    for draw in DRAWN:
        draw()
