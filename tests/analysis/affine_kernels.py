"""Kernels with affine indices as scientists write them. A comment says of each loop whether its iterations meet.

`# lanes`: no iteration touches an element that another one stores; `# in order`: some do, or a number is carried;
`# lanes, missed`: they do not meet, which the analysis does not find.
"""

import numpy as np


def forward_substitution(a, x):
    for j in range(x.shape[0]):  # in order
        x[j] = x[j] / a[j, j]
        for i in range(j + 1, x.shape[0]):  # lanes
            x[i] = x[i] - a[i, j] * x[j]


def back_substitution(a, x):
    n = x.shape[0]
    for j in range(n - 1, -1, -1):  # in order
        x[j] = x[j] / a[j, j]
        for i in range(j):  # lanes
            x[i] -= a[i, j] * x[j]


def lu(a):
    n = a.shape[0]
    for k in range(n):  # in order
        for i in range(k + 1, n):  # lanes
            a[i, k] = a[i, k] / a[k, k]
        for i in range(k + 1, n):  # lanes
            for j in range(k + 1, n):  # lanes
                a[i, j] = a[i, j] - a[i, k] * a[k, j]


def lu_with_rows(a):
    n = a.shape[0]
    for k in range(n - 1):  # in order
        for i in range(k + 1, n):  # lanes
            f = a[i, k] / a[k, k]
            a[i, k] = f
            for j in range(k + 1, n):  # lanes
                a[i, j] -= f * a[k, j]


def gauss_jordan(a, b):
    n = a.shape[0]
    for k in range(n):  # in order
        for i in range(n):  # lanes
            if i != k:
                f = a[i, k] / a[k, k]
                for j in range(k, n):  # lanes
                    a[i, j] -= f * a[k, j]
                b[i] -= f * b[k]


def cholesky(a, low):
    n = a.shape[0]
    for j in range(n):  # in order
        s = a[j, j]
        for k in range(j):  # in order
            s -= low[j, k] * low[j, k]
        low[j, j] = np.sqrt(s)
        for i in range(j + 1, n):  # lanes
            s = a[i, j]
            for k in range(j):  # in order
                s -= low[i, k] * low[j, k]
            low[i, j] = s / low[j, j]


def gram_schmidt(q, r):
    n, m = q.shape
    for k in range(m):  # in order
        s = 0.0
        for i in range(n):  # in order
            s += q[i, k] * q[i, k]
        r[k, k] = np.sqrt(s)
        for i in range(n):  # lanes
            q[i, k] /= r[k, k]
        for j in range(k + 1, m):  # lanes
            s = 0.0
            for i in range(n):  # in order
                s += q[i, k] * q[i, j]
            r[k, j] = s
            for i in range(n):  # lanes
                q[i, j] -= s * q[i, k]


def floyd_warshall(d):
    n = d.shape[0]
    for k in range(n):  # in order
        for i in range(n):  # in order
            for j in range(n):  # in order
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])


def distances(x, d):
    n = x.shape[0]
    for i in range(n):  # lanes
        d[i, i] = 0.0
        for j in range(i + 1, n):  # lanes
            s = abs(x[i] - x[j])
            d[i, j] = s
            d[j, i] = s


def correlations(x, c):
    n, m = x.shape
    for i in range(m):  # lanes
        for j in range(i, m):  # lanes
            s = 0.0
            for k in range(n):  # in order
                s += x[k, i] * x[k, j]
            c[i, j] = s
            c[j, i] = s


def transpose_in_place(a):
    for i in range(a.shape[0]):  # lanes
        for j in range(i):  # lanes
            t = a[i, j]
            a[i, j] = a[j, i]
            a[j, i] = t


def reverse_in_place(a):
    n = a.shape[0]
    for i in range(n // 2):  # lanes
        t = a[i]
        a[i] = a[n - 1 - i]
        a[n - 1 - i] = t


def reverse_too_far(a):
    n = a.shape[0]
    for i in range(n):  # in order
        a[i] = a[n - 1 - i]


def mirrored_edge(a, k):
    for i in range(k):  # lanes
        a[k - 1 - i] = a[k + i]


def levinson_update(a, k, r):
    for i in range(1, k // 2 + 1):  # lanes
        s = a[i]
        t = a[k - i]
        a[i] = s + r * t
        a[k - i] = t + r * s


def exchange_halves(a, h):
    for i in range(h):  # lanes
        t = a[i]
        a[i] = a[i + h]
        a[i + h] = t


def butterflies(a, half):
    s = 0
    while s + 2 * half <= a.shape[0]:  # in order
        for k in range(half):  # lanes
            u, v = a[s + k], a[s + k + half]
            a[s + k] = u + v
            a[s + k + half] = u - v
        s += 2 * half


def lifting(a):
    for i in range(a.shape[0] // 2):  # lanes
        d = a[2 * i + 1] - a[2 * i]
        a[2 * i] += 0.5 * d
        a[2 * i + 1] = d


def lifting_with_neighbours(a):
    for i in range(1, a.shape[0] // 2):  # lanes
        a[2 * i] += 0.5 * (a[2 * i - 1] + a[2 * i + 1])


def halve_in_place(a):
    for i in range(a.shape[0] // 2):  # in order
        a[i] = 0.5 * (a[2 * i] + a[2 * i + 1])


def red_line(a):
    for i in range(1, a.shape[0] - 1, 2):  # lanes
        a[i] = 0.5 * (a[i - 1] + a[i + 1])


def red_black(a, c):
    n, m = a.shape
    for i in range(1, n - 1):  # lanes
        for j in range(1 + (i + c) % 2, m - 1, 2):  # lanes
            a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def red_black_tested(a, c):
    n, m = a.shape
    for i in range(1, n - 1):  # lanes
        for j in range(1, m - 1):  # lanes
            if (i + j) % 2 == c:
                a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def gauss_seidel(a):
    n, m = a.shape
    for i in range(1, n - 1):  # in order
        for j in range(1, m - 1):  # in order
            a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def odd_even_sort(a):
    n = a.shape[0]
    for p in range(n):  # in order
        for i in range(p % 2, n - 1, 2):  # lanes
            if a[i] > a[i + 1]:
                t = a[i]
                a[i] = a[i + 1]
                a[i + 1] = t


def wavefront(a):
    n, m = a.shape
    for d in range(2, n + m - 1):  # in order
        for i in range(max(1, d - m + 1), min(n, d)):  # lanes
            a[i, d - i] = a[i - 1, d - i] + a[i, d - i - 1]


def edit_distance(a):
    n, m = a.shape
    for i in range(1, n):  # in order
        for j in range(1, m):  # in order
            a[i, j] = min(a[i - 1, j], a[i, j - 1], a[i - 1, j - 1]) + 1.0


def heat_levels(u):
    for t in range(u.shape[0] - 1):  # in order
        for i in range(1, u.shape[1] - 1):  # lanes
            u[t + 1, i] = u[t, i] + 0.1 * (u[t, i - 1] - 2.0 * u[t, i] + u[t, i + 1])


def heat_two_levels(u, steps):
    for t in range(steps):  # in order
        for i in range(1, u.shape[1] - 1):  # lanes
            u[(t + 1) % 2, i] = u[t % 2, i] + 0.1 * (u[t % 2, i - 1] - 2.0 * u[t % 2, i] + u[t % 2, i + 1])


def pascal(a):
    for i in range(1, a.shape[0]):  # in order
        for j in range(1, i):  # lanes
            a[i, j] = a[i - 1, j - 1] + a[i - 1, j]


def knapsack(best, weight):
    for i in range(1, best.shape[0]):  # in order
        for w in range(weight, best.shape[1]):  # lanes
            best[i, w] = max(best[i - 1, w], best[i - 1, w - weight] + 1.0)


def blocks(a, out):
    for b in range(a.shape[0] // 32):  # lanes
        for k in range(32):  # lanes
            out[32 * b + k] = a[32 * b + k] * 2.0


def flat_rows(a, out):
    n, m = a.shape
    for i in range(n):  # lanes, missed
        for j in range(m):  # lanes
            out[i * m + j] = a[i, j]


def bands_to_dense(bands, a):
    n, w = bands.shape
    for i in range(n - w):  # lanes
        for k in range(w):  # lanes
            a[i, i + k] = bands[i, k]


def band_product(bands, x, y):
    n, w = bands.shape
    for i in range(n - w):  # lanes
        s = 0.0
        for k in range(w):  # in order
            s += bands[i, k] * x[i + k]
        y[i] = s


def skewed(a, out):
    n, m = a.shape
    for i in range(n):  # lanes
        for j in range(i, i + m):  # lanes
            out[i, j - i] = a[i, j - i] + 1.0


def second_half(a, n):
    for i in range(n):  # lanes
        a[i] = a[i] + a[i + n]


def shift(a):
    for i in range(a.shape[0] - 1):  # in order
        a[i] = a[i + 1]


def convolution(a, b, c):
    for i in range(a.shape[0]):  # in order
        for j in range(b.shape[0]):  # lanes
            c[i + j] += a[i] * b[j]


def row_buffer(a, out):
    n, m = a.shape
    row = np.empty(m)
    for i in range(n):  # in order
        for j in range(m):  # lanes
            row[j] = a[i, j] * 2.0
        for j in range(m):  # lanes
            out[i, j] = row[j] + row[m - 1 - j]


def periodic(a):
    n, m = a.shape
    for j in range(m):  # lanes
        a[0, j] = a[n - 2, j]
        a[n - 1, j] = a[1, j]


def seven_points(a, out):
    n, m, k = a.shape
    for x in range(1, n - 1):  # lanes
        for y in range(1, m - 1):  # lanes
            for z in range(1, k - 1):  # lanes
                out[x, y, z] = a[x - 1, y, z] + a[x + 1, y, z] + a[x, y - 1, z] + a[x, y, z + 1] - a[x, y, z]


def line_sweeps(a):
    n, m, k = a.shape
    for x in range(n):  # lanes
        for y in range(1, m):  # in order
            for z in range(k):  # lanes
                a[x, y, z] += 0.5 * a[x, y - 1, z]


def upsample(a, out):
    for i in range(a.shape[0]):  # lanes
        for j in range(a.shape[1]):  # lanes
            out[2 * i, 2 * j] = a[i, j]
            out[2 * i + 1, 2 * j] = a[i, j]
            out[2 * i, 2 * j + 1] = a[i, j]
            out[2 * i + 1, 2 * j + 1] = a[i, j]


def rotate(a):
    n = a.shape[0]
    for k in range(n // 2):  # lanes
        for i in range(k, n - k - 1):  # lanes
            t = a[k, i]
            a[k, i] = a[n - 1 - i, k]
            a[n - 1 - i, k] = a[n - 1 - k, n - 1 - i]
            a[n - 1 - k, n - 1 - i] = a[i, n - 1 - k]
            a[i, n - 1 - k] = t


def recurrence(a):
    for i in range(2, a.shape[0]):  # in order
        a[i] = a[i - 1] + a[i - 2]


def running_sums(a):
    for i in range(a.shape[0]):  # in order
        if i == 0:
            a[i] = 0.0
        else:
            a[i] = a[i] + a[i - 1]


def add_the_last(a):
    for i in range(a.shape[0]):  # in order
        a[i] = a[i] + a[-1]
