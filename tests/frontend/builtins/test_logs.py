"""Calls of logging in a function: nothing where no logger takes the message, as a warning where one does."""

import logging

import numpy as np
import pytest

import pyflat

log = logging.getLogger("pyflat_tests.logs")
XS = np.array([1.0, -2.0, 3.0])


def noted(x):
    log.debug("x is %s", x)
    if x < 0:
        log.warning(f"negative: {x}")
        return -x
    logging.getLogger("pyflat_tests.others").info("%d", x)
    return 2 * x


def always(x):
    log.critical("here")
    return x


class Gauge:
    def __init__(self, scale):
        self.scale = scale
        self.log = logging.LoggerAdapter(logging.getLogger("pyflat_tests.gauge"), {})

    def read(self, x):
        self.log.info("reading %s", x)
        return self.scale * x


def through_an_object(scale, x):
    return Gauge(scale).read(x)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_a_lane_logs_what_the_original_logs(caplog, target):
    caplog.set_level(logging.WARNING)
    assert pyflat.twin(noted, target=target)(XS).tolist() == [2.0, 2.0, 6.0]
    assert [record.getMessage() for record in caplog.records] == ["negative: -2.0"]


def test_levels_are_compared_at_each_call(caplog):
    twin = pyflat.twin(noted)
    caplog.set_level(logging.ERROR, "pyflat_tests")
    assert twin(XS).tolist() == [2.0, 2.0, 6.0]
    assert not caplog.records
    caplog.set_level(logging.WARNING, "pyflat_tests")
    assert twin(XS).tolist() == [2.0, 2.0, 6.0]
    assert len(caplog.records) == 1
    caplog.set_level(logging.DEBUG, "pyflat_tests")
    with pytest.raises(pyflat.FlattenError, match="the function logs on every path"):
        twin(XS)
    caplog.set_level(logging.CRITICAL, "pyflat_tests")
    assert twin(XS).tolist() == [2.0, 2.0, 6.0]
    assert len(caplog.records) == 1


def test_every_lane_would_log():
    with pytest.raises(pyflat.FlattenError, match="the function logs on every path"):
        pyflat.twin(always)(XS)


def test_a_logger_in_an_object():
    assert pyflat.twin(through_an_object)(2.0, XS).tolist() == [2.0, -4.0, 6.0]
