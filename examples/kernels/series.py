"""Sums, histograms, scans and iterations: what reads data once and counts, or goes on until something holds."""

from __future__ import annotations

import math

import numpy as np


def azimuthal(data, px, py, cx, cy, scale, bins):
    """The mean of data in rings around a centre."""
    total = np.zeros(bins)
    count = np.zeros(bins, np.int64)
    for i in range(data.shape[0]):
        dx = px[i] - cx
        dy = py[i] - cy
        ring = int(math.sqrt(dx * dx + dy * dy) * scale)
        if ring < bins:
            total[ring] += data[i]
            count[ring] += 1
    mean = np.zeros(bins)
    for ring in range(bins):
        if count[ring] > 0:
            mean[ring] = total[ring] / count[ring]
    return mean


def prefix(rows, limit, sums, stop):
    """The running sum of each row until it passes the limit, and where that was."""
    count, length = rows.shape
    for i in range(count):
        s = 0.0
        stop[i] = length
        for j in range(length):
            s += rows[i, j]
            sums[i, j] = s
            if s > limit:
                stop[i] = j
                break


def go_fast(a, width):
    """The sum of tanh along some diagonals, added to every element."""
    n = a.shape[0]
    trace = 0.0
    for d in range(width):
        for i in range(n - d):
            trace += math.tanh(a[i, i + d])
    out = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            out[i, j] = a[i, j] + trace
    return out


def mandelbrot(left, right, bottom, top, limit, count):
    """How many steps each point of a picture stays near."""
    rows, columns = count.shape
    for i in range(rows):
        cy = bottom + (top - bottom) * i / rows
        for j in range(columns):
            cx = left + (right - left) * j / columns
            x = 0.0
            y = 0.0
            n = 0
            while n < limit and x * x + y * y <= 4.0:
                t = x * x - y * y + cx
                y = 2.0 * x * y + cy
                x = t
                n += 1
            count[i, j] = n


def lcs(a, b):
    """The length of the longest common subsequence of each prefix of `a` with all of `b`."""
    n = a.shape[0]
    m = b.shape[0]
    table = np.zeros((n + 1, m + 1), np.int32)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                table[i, j] = table[i - 1, j - 1] + 1
            elif table[i - 1, j] >= table[i, j - 1]:
                table[i, j] = table[i - 1, j]
            else:
                table[i, j] = table[i, j - 1]
    last = np.empty(n + 1, np.int32)
    for i in range(n + 1):
        last[i] = table[i, m]
    return last


def crc16(data, out):
    """The checksum of bytes, as Modbus has it: each step needs the one before."""
    crc = 0xFFFF
    for i in range(data.shape[0]):
        crc = crc ^ int(data[i])
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0xA001
            else:
                crc = crc >> 1
    out[0] = crc
