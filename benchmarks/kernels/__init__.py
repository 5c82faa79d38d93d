"""What the benchmarks run: branchy scalar functions as people write them, and the arrays they are run on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.kernels import images, prices, sciences

Columns = list[np.ndarray]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function of scalars, and a maker of `n` lanes for it."""

    name: str
    function: Callable[..., Any]
    lanes: Callable[[int], Columns]
    core: bool = True
    """One of the eleven that the goal is stated for."""


def _random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _image(n: int, x: tuple[float, float], y: tuple[float, float]) -> Columns:
    """The pixels of a square image: neighbours are alike, as in every real use."""
    width = max(math.isqrt(n), 1)
    height = -(-n // width)
    columns = np.tile(np.linspace(*x, width), height)[:n], np.repeat(np.linspace(*y, height), width)[:n]
    return [np.ascontiguousarray(column) for column in columns]


def _uniform(seed: int, *limits: tuple[float, float]) -> Callable[[int], Columns]:
    return lambda n: [random.uniform(low, high, n) for random in [_random(seed)] for low, high in limits]


def _options(n: int) -> Columns:
    random = _random(1)
    return [np.where(random.random(n) < 0.5, 1.0, -1.0), random.uniform(5, 30, n), random.uniform(1, 100, n),
            random.uniform(0.25, 10, n), random.uniform(0.05, 0.6, n)]


def _quotes(n: int) -> Columns:
    random = _random(12)
    spot, strike, years = random.uniform(50, 150, n), random.uniform(50, 150, n), random.uniform(0.1, 3.0, n)
    intrinsic = np.maximum(spot - strike * np.exp(-prices.RATE * years), 0.0)
    return [intrinsic + random.uniform(0.0, 0.3, n) * spot, spot, strike, years]


def _satellites(n: int) -> Columns:
    random = _random(13)
    angle, height = random.uniform(0, 2 * math.pi, n), random.uniform(6380, 7500, n)
    speed = np.sqrt(398600.4418 / height) * random.uniform(0.9, 1.1, n)
    return [height * np.cos(angle), height * np.sin(angle), -speed * np.sin(angle), speed * np.cos(angle)]


def _households(n: int) -> Columns:
    random = _random(14)
    return [random.lognormal(11, 0.8, n), random.lognormal(10.5, 0.8, n), random.integers(0, 2, n).astype(float),
            random.integers(0, 4, n).astype(float)]


KERNELS: dict[str, Kernel] = {kernel.name: kernel for kernel in (
    Kernel("bs", prices.black_scholes, _options),
    Kernel("srgb", images.srgb_to_linear, _uniform(2, (-0.02, 1.02))),
    Kernel("hsv", images.hsv_score, _uniform(3, (0, 1), (0, 1), (0, 1))),
    Kernel("haversine", sciences.haversine, _uniform(4, (-90, 90), (-180, 180), (-90, 90), (-180, 180))),
    Kernel("piecewise", sciences.piecewise, _uniform(8, (-3, 3))),
    Kernel("noise", images.noise, _uniform(10, (-100, 100), (-100, 100))),
    Kernel("mand32", images.mandelbrot_32, lambda n: _image(n, (-2.0, 0.6), (-1.2, 1.2))),
    Kernel("mand256", images.mandelbrot_256, lambda n: _image(n, (-2.0, 0.6), (-1.2, 1.2))),
    Kernel("raymarch", images.raymarch, lambda n: _image(n, (-1.0, 1.0), (-1.0, 1.0))),
    Kernel("kepler", sciences.kepler, _uniform(7, (0, 2 * math.pi), (0, 0.9))),
    Kernel("collatz", sciences.collatz, lambda n: [_random(9).integers(1, 1 << 16, n)]),
    Kernel("steam", sciences.steam_region, _uniform(15, (0.01, 60), (270, 2300)), core=False),
    Kernel("orbit", sciences.orbit_height, _satellites, core=False),
    Kernel("comfort", sciences.heat_index, _uniform(16, (50, 115), (5, 100)), core=False),
    Kernel("tax", prices.income_tax, _households, core=False),
    Kernel("perlin", images.perlin, _uniform(17, (-50, 50), (-50, 50), (-50, 50)), core=False),
    Kernel("implied", prices.implied_volatility, _quotes, core=False),
)}
