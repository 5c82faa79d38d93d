"""Grids that are updated from their neighbours: diffusion, waves, advection, as one writes them with index loops."""

from __future__ import annotations

import numpy as np


def jacobi_1d(steps, a, b):
    """Smooth a line: `steps` times from `a` to `b` and back."""
    weight = 1.0 / 3.0
    for _ in range(steps):
        for i in range(1, len(a) - 1):
            b[i] = weight * (a[i - 1] + a[i] + a[i + 1])
        for i in range(1, len(a) - 1):
            a[i] = weight * (b[i - 1] + b[i] + b[i + 1])


def jacobi_2d(steps, a, b):
    """The mean of a cell and its four neighbours, to and fro."""
    rows, columns = a.shape
    for _ in range(steps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])


def heat_3d(steps, a, b):
    """Heat in a block: second differences along three axes."""
    nx, ny, nz = a.shape
    for _ in range(steps):
        for i in range(1, nx - 1):
            for j in range(1, ny - 1):
                for k in range(1, nz - 1):
                    x = 0.125 * (a[i + 1, j, k] - 2.0 * a[i, j, k] + a[i - 1, j, k])
                    y = 0.125 * (a[i, j + 1, k] - 2.0 * a[i, j, k] + a[i, j - 1, k])
                    z = 0.125 * (a[i, j, k + 1] - 2.0 * a[i, j, k] + a[i, j, k - 1])
                    b[i, j, k] = x + y + z + a[i, j, k]
        for i in range(1, nx - 1):
            for j in range(1, ny - 1):
                for k in range(1, nz - 1):
                    x = 0.125 * (b[i + 1, j, k] - 2.0 * b[i, j, k] + b[i - 1, j, k])
                    y = 0.125 * (b[i, j + 1, k] - 2.0 * b[i, j, k] + b[i, j - 1, k])
                    z = 0.125 * (b[i, j, k + 1] - 2.0 * b[i, j, k] + b[i, j, k - 1])
                    a[i, j, k] = x + y + z + b[i, j, k]


def fdtd_2d(steps, ex, ey, hz, source):
    """Maxwell's equations in a plane: two electric fields, a magnetic one, a source at the first row."""
    rows, columns = hz.shape
    for t in range(steps):
        for j in range(columns):
            ey[0, j] = source[t]
        for i in range(1, rows):
            for j in range(columns):
                ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(rows):
            for j in range(1, columns):
                ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(rows - 1):
            for j in range(columns - 1):
                hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def upwind(steps, c, after, u, v, dt):
    """What a wind (u, v) carries: each difference is taken from the side that the wind comes from."""
    rows, columns = c.shape
    for _ in range(steps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                if u[i, j] > 0.0:
                    dx = c[i, j] - c[i, j - 1]
                else:
                    dx = c[i, j + 1] - c[i, j]
                if v[i, j] > 0.0:
                    dy = c[i, j] - c[i - 1, j]
                else:
                    dy = c[i + 1, j] - c[i, j]
                after[i, j] = c[i, j] - dt * (u[i, j] * dx + v[i, j] * dy)
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                c[i, j] = after[i, j]


def hdiff(field, out, strength):
    """Horizontal diffusion with limited fluxes, of a weather model; `field` has two cells more on each side."""
    nx, ny, nz = out.shape
    curvature = np.empty((nx + 2, ny + 2, nz))
    along_x = np.empty((nx + 1, ny, nz))
    along_y = np.empty((nx, ny + 1, nz))
    for i in range(nx + 2):
        for j in range(ny + 2):
            for k in range(nz):
                around = field[i + 2, j + 1, k] + field[i, j + 1, k] + field[i + 1, j + 2, k] + field[i + 1, j, k]
                curvature[i, j, k] = 4.0 * field[i + 1, j + 1, k] - around
    for i in range(nx + 1):
        for j in range(ny):
            for k in range(nz):
                flux = curvature[i + 1, j + 1, k] - curvature[i, j + 1, k]
                if flux * (field[i + 2, j + 2, k] - field[i + 1, j + 2, k]) > 0.0:
                    flux = 0.0
                along_x[i, j, k] = flux
    for i in range(nx):
        for j in range(ny + 1):
            for k in range(nz):
                flux = curvature[i + 1, j + 1, k] - curvature[i + 1, j, k]
                if flux * (field[i + 2, j + 2, k] - field[i + 2, j + 1, k]) > 0.0:
                    flux = 0.0
                along_y[i, j, k] = flux
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                change = along_x[i + 1, j, k] - along_x[i, j, k] + along_y[i, j + 1, k] - along_y[i, j, k]
                out[i, j, k] = field[i + 2, j + 2, k] - strength[i, j, k] * change


def seidel_2d(steps, a):
    """Gauss and Seidel: each cell already sees its new neighbours, so that the loops stay one after the other."""
    rows, columns = a.shape
    for _ in range(steps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                a[i, j] = (a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j]
                           + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]) / 9.0
