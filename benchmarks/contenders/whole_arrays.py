"""The kernels of `examples/kernels/` as a good user of NumPy writes them: whole arrays, views, `out=`.

Sums have NumPy's own order, so that bits may differ. `seidel_2d` and `crc16` cannot be written so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def jacobi_1d(steps: int, a: Array, b: Array) -> None:
    for _ in range(steps):
        b[1:-1] = (1.0 / 3.0) * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = (1.0 / 3.0) * (b[:-2] + b[1:-1] + b[2:])


def jacobi_2d(steps: int, a: Array, b: Array) -> None:
    for _ in range(steps):
        for x, y in ((a, b), (b, a)):
            y[1:-1, 1:-1] = 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1])


def heat_3d(steps: int, a: Array, b: Array) -> None:
    for _ in range(steps):
        for x, y in ((a, b), (b, a)):
            middle = x[1:-1, 1:-1, 1:-1]
            y[1:-1, 1:-1, 1:-1] = (0.125 * (x[2:, 1:-1, 1:-1] - 2.0 * middle + x[:-2, 1:-1, 1:-1])
                                   + 0.125 * (x[1:-1, 2:, 1:-1] - 2.0 * middle + x[1:-1, :-2, 1:-1])
                                   + 0.125 * (x[1:-1, 1:-1, 2:] - 2.0 * middle + x[1:-1, 1:-1, :-2]) + middle)


def fdtd_2d(steps: int, ex: Array, ey: Array, hz: Array, source: Array) -> None:
    for t in range(steps):
        ey[0] = source[t]
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def upwind(steps: int, c: Array, after: Array, u: Array, v: Array, dt: float) -> None:
    inner = np.s_[1:-1, 1:-1]
    east, north = u[inner] > 0.0, v[inner] > 0.0
    for _ in range(steps):
        middle = c[inner]
        dx = np.where(east, middle - c[1:-1, :-2], c[1:-1, 2:] - middle)
        dy = np.where(north, middle - c[:-2, 1:-1], c[2:, 1:-1] - middle)
        after[inner] = middle - dt * (u[inner] * dx + v[inner] * dy)
        c[inner] = after[inner]


def hdiff(field: Array, out: Array, strength: Array) -> None:
    around = field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
    curvature = 4.0 * field[1:-1, 1:-1] - around
    x = np.diff(curvature[:, 1:-1], axis=0)
    x[x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0.0] = 0.0
    y = np.diff(curvature[1:-1], axis=1)
    y[y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0.0] = 0.0
    out[:] = field[2:-2, 2:-2] - strength * (x[1:] - x[:-1] + y[:, 1:] - y[:, :-1])


def thomas(lower: Array, diagonal: Array, upper: Array, right: Array, x: Array) -> None:
    c, d = np.empty_like(diagonal), np.empty_like(diagonal)
    c[0], d[0] = upper[0] / diagonal[0], right[0] / diagonal[0]
    for k in range(1, len(diagonal)):
        pivot = diagonal[k] - lower[k] * c[k - 1]
        c[k] = upper[k] / pivot
        d[k] = (right[k] - lower[k] * d[k - 1]) / pivot
    x[-1] = d[-1]
    for k in range(len(diagonal) - 2, -1, -1):
        x[k] = d[k] - c[k] * x[k + 1]


def conv2d(images: Array, weights: Array, bias: Array) -> Array:
    count, rows, columns, _ = images.shape
    height, width, _, features = weights.shape
    rows, columns = rows - height + 1, columns - width + 1
    out = np.zeros((count, rows, columns, features))
    for dy in range(height):
        for dx in range(width):
            out += images[:, dy:dy + rows, dx:dx + columns] @ weights[dy, dx]
    return np.maximum(out + bias, 0.0, out=out)


def mm2(alpha: float, beta: float, a: Array, b: Array, c: Array, d: Array) -> None:
    d[:] = alpha * a @ b @ c + beta * d


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    e /= e.sum(axis=1, keepdims=True)
    return e


def spmv(start: Array, column: Array, value: Array, x: Array, y: Array) -> None:
    row = np.repeat(np.arange(len(y)), np.diff(start))
    y[:] = np.bincount(row, weights=value * x[column], minlength=len(y))


def floyd_warshall(distance: Array) -> None:
    for k in range(len(distance)):
        np.minimum(distance, distance[:, k, None] + distance[k], out=distance)


def azimuthal(data: Array, px: Array, py: Array, cx: float, cy: float, scale: float, bins: int) -> Array:
    ring = (np.hypot(px - cx, py - cy) * scale).astype(np.int64)
    inside = ring < bins
    count = np.bincount(ring[inside], minlength=bins)
    total = np.bincount(ring[inside], weights=data[inside], minlength=bins)
    return np.divide(total, count, out=np.zeros(bins), where=count > 0)


def prefix(rows: Array, limit: float, sums: Array, stop: Array) -> None:
    length = rows.shape[1]
    running = np.cumsum(rows, axis=1)
    over = running > limit
    stop[:] = np.where(over.any(axis=1), over.argmax(axis=1), length)
    np.copyto(sums, running, where=np.arange(length) <= stop[:, None])


def go_fast(a: Array, width: int) -> Array:
    result: Array = a + sum(np.tanh(np.diagonal(a, d)).sum() for d in range(width))
    return result


def mandelbrot(left: float, right: float, bottom: float, top: float, limit: int, count: Array) -> None:
    rows, columns = count.shape
    cy = np.repeat(bottom + (top - bottom) * np.arange(rows) / rows, columns)
    cx = np.tile(left + (right - left) * np.arange(columns) / columns, rows)
    flat, place = count.reshape(-1), np.arange(count.size)
    flat[:] = limit
    x, y = np.zeros(count.size), np.zeros(count.size)
    for n in range(limit):
        xx, yy = x * x, y * y
        near = xx + yy <= 4.0
        if not near.all():
            flat[place[~near]] = n
            place, cx, cy, x, y, xx, yy = (part[near] for part in (place, cx, cy, x, y, xx, yy))
        y = 2.0 * x * y + cy
        x = xx - yy + cx


def lcs(a: Array, b: Array) -> Array:
    last, row = np.zeros(len(a) + 1, np.int32), np.zeros(len(b) + 1, np.int32)
    equal = {symbol: b == symbol for symbol in np.unique(a)}
    for i, symbol in enumerate(a):
        after = row.copy()
        np.maximum(after[1:], row[:-1] + equal[symbol], out=after[1:])
        row = np.maximum.accumulate(after)
        last[i + 1] = row[-1]
    return last
