"""What Python says of ~True (from 3.12 on a warning) does not come from flattening."""

import warnings

import numpy as np

import pyflat


def turned(x):
    return ~True + x


def test_no_warning_while_flattening():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pyflat.twin(turned)(np.array([1.0])).tolist() == [-1.0]
