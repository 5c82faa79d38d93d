"""What the demo and the benchmark run: a function, and lanes for it that include the edges of its branches."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from black_scholes import call_price, option_price
from kepler import eccentric_anomaly

Lanes = tuple[NDArray[Any], ...]


@dataclass(frozen=True)
class Kernel:
    """`edges` are the values at which branches tip; every combination of them is among the lanes."""

    name: str
    function: Callable[..., Any]
    ranges: tuple[tuple[float, float], ...]
    edges: tuple[tuple[Any, ...], ...]

    def edge_lanes(self) -> Lanes:
        return tuple(grid.ravel() for grid in np.meshgrid(*(np.array(column) for column in self.edges)))

    def random_lanes(self, count: int, rng: np.random.Generator) -> Lanes:
        """Uniform over `ranges`; a column whose edges are bools is a coin."""
        return tuple(
            rng.random(count) < 0.5 if isinstance(edges[0], bool) else rng.uniform(*bounds, count)
            for bounds, edges in zip(self.ranges, self.edges, strict=True)
        )

    def lanes(self, count: int, seed: int = 1) -> Lanes:
        """`count` lanes: all edge lanes first, random ones after them."""
        edges = self.edge_lanes()
        rest = self.random_lanes(max(count - len(edges[0]), 0), np.random.default_rng(seed))
        return tuple(np.concatenate(columns)[:count] for columns in zip(edges, rest, strict=True))


UNIT = (0.0, 1.0)
SHADES = (0.0, -0.0, 0.25, 0.5, 1.0)  # equal ones are greys and ties
TURNS = (0.0, 1 / 6, 1 / 3, 0.5, 2 / 3, 5 / 6, 1.0, -1 / 3, 1.5)

KERNELS = (
    Kernel("rgb_to_hsv", colorsys.rgb_to_hsv, (UNIT,) * 3, (SHADES,) * 3),
    Kernel("rgb_to_hls", colorsys.rgb_to_hls, (UNIT,) * 3, (SHADES,) * 3),
    Kernel("hls_to_rgb", colorsys.hls_to_rgb, (UNIT,) * 3, (TURNS, SHADES, SHADES)),
    Kernel("hsv_to_rgb", colorsys.hsv_to_rgb, (UNIT,) * 3, (TURNS, SHADES, SHADES)),
    Kernel(
        "call_price",
        call_price,
        ((10.0, 200.0), (10.0, 200.0), (-0.1, 3.0), (0.0, 0.1), (0.0, 0.8)),
        ((0.0, -1.0, 100.0), (0.0, 100.0), (0.0, -0.5, 1.0), (0.0, 0.05), (0.0, 0.2)),
    ),
    Kernel(
        "option_price",
        option_price,
        ((10.0, 200.0), (10.0, 200.0), (-0.1, 3.0), (0.0, 0.1), (0.0, 0.8), UNIT),
        ((0.0, 100.0), (0.0, 100.0), (0.0, 1.0), (0.0, 0.05), (0.0, 0.2), (False, True)),
    ),
    Kernel(
        "eccentric_anomaly",
        eccentric_anomaly,
        ((-math.pi, math.pi), (0.0, 0.97)),
        ((0.0, -0.0, math.pi, -math.pi, 1e-9), (0.0, 0.1, math.nextafter(0.8, 0.0), 0.8, 0.95)),
    ),
)
