"""`with` of context managers that concern warnings only."""

import contextlib
import warnings

import numpy as np


def errstate_that_ignores(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log(x)
        if y > 0:
            return y
    return np.sqrt(x)


def warnings_are_caught(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x * 2


def nullcontext(x):
    with contextlib.nullcontext(x) as y:
        return y + 1


def REFUSED_errstate_that_raises(x):
    with np.errstate(all="raise"):
        return np.exp(x)
