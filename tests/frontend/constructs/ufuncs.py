"""Compiled ufuncs that pyflat does not know by name: one operation each."""

import numpy as np


def spacing_and_logaddexp(x):
    return np.logaddexp(x, 1.0) + np.spacing(abs(x) + 1)


def in_a_loop(x):
    trips = 0.0
    while x < 3:
        x = np.logaddexp(x, 1.0)
        trips += 1
    return x + trips
