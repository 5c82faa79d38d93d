"""Linear algebra: systems, products, a convolution, a sparse matrix, shortest paths."""

from __future__ import annotations

import math

import numpy as np


def thomas(lower, diagonal, upper, right, x):
    """A tridiagonal system in each column: the first axis is the level, the second the column."""
    levels, columns = diagonal.shape
    c = np.empty((levels, columns))
    d = np.empty((levels, columns))
    for i in range(columns):
        c[0, i] = upper[0, i] / diagonal[0, i]
        d[0, i] = right[0, i] / diagonal[0, i]
        for k in range(1, levels):
            pivot = diagonal[k, i] - lower[k, i] * c[k - 1, i]
            c[k, i] = upper[k, i] / pivot
            d[k, i] = (right[k, i] - lower[k, i] * d[k - 1, i]) / pivot
        x[levels - 1, i] = d[levels - 1, i]
        for k in range(levels - 2, -1, -1):
            x[k, i] = d[k, i] - c[k, i] * x[k + 1, i]


def conv2d(images, weights, bias):
    """A layer of a neural network: (image, row, column, channel) with (dy, dx, channel, feature), bias, rectified."""
    count, rows, columns, channels = images.shape
    height, width, _, features = weights.shape
    out = np.empty((count, rows - height + 1, columns - width + 1, features))
    for n in range(count):
        for y in range(rows - height + 1):
            for x in range(columns - width + 1):
                for f in range(features):
                    total = 0.0
                    for dy in range(height):
                        for dx in range(width):
                            for c in range(channels):
                                total += images[n, y + dy, x + dx, c] * weights[dy, dx, c, f]
                    total += bias[f]
                    if total < 0.0:
                        total = 0.0
                    out[n, y, x, f] = total
    return out


def mm2(alpha, beta, a, b, c, d):
    """d = alpha * a @ b @ c + beta * d."""
    rows, inner = a.shape
    middle = b.shape[1]
    columns = c.shape[1]
    product = np.empty((rows, middle))
    for i in range(rows):
        for j in range(middle):
            total = 0.0
            for k in range(inner):
                total += alpha * a[i, k] * b[k, j]
            product[i, j] = total
    for i in range(rows):
        for j in range(columns):
            total = d[i, j] * beta
            for k in range(middle):
                total += product[i, k] * c[k, j]
            d[i, j] = total


def softmax(x):
    """exp of each row over its sum, without overflow."""
    rows, columns = x.shape
    out = np.empty((rows, columns))
    for i in range(rows):
        largest = x[i, 0]
        for j in range(1, columns):
            if x[i, j] > largest:
                largest = x[i, j]
        total = 0.0
        for j in range(columns):
            e = math.exp(x[i, j] - largest)
            out[i, j] = e
            total += e
        for j in range(columns):
            out[i, j] = out[i, j] / total
    return out


def spmv(start, column, value, x, y):
    """y = A x of a sparse matrix in rows: row i has the entries start[i] up to start[i + 1]."""
    for i in range(y.shape[0]):
        total = 0.0
        for p in range(start[i], start[i + 1]):
            total += value[p] * x[column[p]]
        y[i] = total


def floyd_warshall(distance):
    """All shortest paths of a graph, in place."""
    n = distance.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = distance[i, k] + distance[k, j]
                if through < distance[i, j]:
                    distance[i, j] = through
